//! Preparing the lines of a side: packed as the kernels read them, with their sums.

use super::{Input, Source, Space};
use crate::matrix::{Lines, Operand, Order};
use crate::packed::Side;
use crate::prepare::{Prepared, Room};
use crate::reading::Reading;
use std::ops::Range;

impl<'a> Source<'a> {
    /// What so many lines take when they are prepared.
    pub(crate) fn room(&self, lines: usize) -> Room {
        let depth = self.line.depth;
        let lines_of_panels = lines.next_multiple_of(self.kernel.width);
        match &self.input {
            Input::Windows(windows) => {
                let sums = if self.is_summed { windows.sums(lines) } else { 0 };
                return Room { bytes: windows.bytes(lines), sums, ..Room::default() };
            }
            Input::Spaced(..) => {
                let sums = if self.is_summed { lines_of_panels } else { 0 };
                return Room { bytes: lines_of_panels * self.pitch, sums, ..Room::default() };
            }
            _ => {}
        }
        let bytes = match (self.side, self.segments) {
            (Side::Lhs, None) => self.kernel.room_for_lines(lines, depth).bytes,
            (Side::Lhs, Some(_)) => lines * self.line.pieces() * self.slot(),
            (Side::Rhs, _) => lines_of_panels * self.line.len(self.kernel.groups),
        };
        // Beside an LHS with segments, sums are taken of parts of panels.
        let sums = match self.side {
            Side::Lhs => lines * self.pieces,
            Side::Rhs if self.segment.is_some() && self.segments.is_none() => 0,
            Side::Rhs => lines_of_panels * self.pieces,
        };
        Room {
            bytes: if self.in_place().is_some() { 0 } else { bytes },
            sums: if self.is_summed { sums } else { 0 },
            unpacked: if matches!(self.input, Input::Otherwise(_)) { lines * depth } else { 0 },
            originals: if self.reading.is_compensated() { lines } else { 0 },
        }
    }

    /// The bytes of a segment of a line of an LHS that has them: whole groups, in which the segment may begin and end anywhere.
    pub(super) fn slot(&self) -> usize {
        (self.kernel.pad(self.line.piece()) + self.kernel.groups.len()) * self.kernel.groups.lhs_size()
    }

    /// Packs `lines` and sums them.
    pub(crate) fn prepare<'s>(&self, lines: Range<usize>, space: &'s mut Space) -> Prepared<'s>
    where
        'a: 's,
    {
        let Space { bytes, sums, unpacked, originals } = space.first(self.room(lines.len()));
        match &self.input {
            Input::Ready(prepared) => *prepared,
            Input::Operand(operand) => {
                self.pack(operand, &self.reading, lines.clone(), lines.start, (bytes, sums, originals))
            }
            Input::Patches(patches) => {
                self.kernel.pack_patches(patches, &self.reading, lines.clone(), bytes, sums);
                Prepared { first: lines.start, bytes, sums, originals: &[] }
            }
            Input::Windows(windows) => {
                windows.pack(&self.reading, lines.clone(), bytes, sums);
                let count = lines.len().min(sums.len());
                Prepared { first: lines.start, bytes, sums: &sums[..count], originals: &[] }
            }
            Input::Spaced(panels, run) => {
                let (kernel, width) = (self.kernel, self.kernel.width);
                let of_panel = width * kernel.pad(self.line.depth);
                let from = panels.bytes[(lines.start - panels.first) / width * of_panel..].chunks_exact(of_panel);
                for (from, to) in from.zip(bytes.chunks_exact_mut(width * self.pitch)) {
                    kernel.groups.space(from, width, *run, to);
                }
                sums.copy_from_slice(&panels.sums[lines.start - panels.first..][..sums.len()]);
                Prepared { first: lines.start, bytes, sums, originals: &[] }
            }
            Input::Otherwise(packed) => {
                packed.unpack(lines.clone(), unpacked);
                let (shape, stride) = ((lines.len(), self.line.depth), self.line.depth);
                let operand = Operand::new(unpacked, shape, stride, Order::DepthContiguous, packed.encoding());
                let reading = Reading { first_line: lines.start, ..self.reading };
                self.pack(&operand, &reading, 0..lines.len(), lines.start, (bytes, sums, originals))
            }
        }
    }

    /// Packs `lines` of an operand, the first of which is line `first` of this side, and sums them.
    fn pack<'s>(
        &self,
        operand: &Operand,
        reading: &Reading,
        lines: Range<usize>,
        first: usize,
        (bytes, sums, originals): (&'s mut [u8], &'s mut [i32], &'s mut [i32]),
    ) -> Prepared<'s>
    where
        'a: 's,
    {
        let (kernel, count) = (self.kernel, lines.len());
        if let Some(requantization) = reading.requantization.filter(|_| reading.is_compensated()) {
            requantization.sum_lines(operand, lines.clone(), originals);
        }
        match self.side {
            Side::Lhs => {
                if self.segments.is_some() {
                    self.pack_slots(operand, lines, bytes);
                } else if self.in_place().is_none() {
                    // Beside segments, parts of the lines are summed.
                    let whole = self.segment.is_none();
                    kernel.pack_lines(operand, reading, lines, bytes, if whole { &mut *sums } else { &mut [] });
                    if whole {
                        return Prepared { first, bytes, sums, originals };
                    }
                }
                let prepared = Prepared { first, bytes, sums: &[], originals };
                let sum = |lines: Lines, sums: &mut [i32]| match self.in_place() {
                    Some(_) => kernel.sum_in_place(lines, reading, sums),
                    None => kernel.sum_lines(lines, self.encoding(), sums),
                };
                for (piece, depth) in self.each_piece().enumerate() {
                    let all = self.lines(&prepared, first..first + count, depth);
                    match self.pieces {
                        0 | 1 => sum(all, sums),
                        pieces => {
                            for (line, sums) in sums.chunks_exact_mut(pieces).enumerate() {
                                sum(all.part(line..line + 1), &mut sums[piece..piece + 1]);
                            }
                        }
                    }
                }
                Prepared { sums, ..prepared }
            }
            Side::Rhs if self.segments.is_some() => {
                self.pack_segments(operand, lines, bytes, sums);
                Prepared { first, bytes, sums, originals }
            }
            Side::Rhs => {
                kernel.pack_panels(operand, reading, lines, bytes, sums);
                Prepared { first, bytes, sums, originals }
            }
        }
    }

    /// The depths that are summed together.
    fn each_piece(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (depth, step) = (self.line.depth, self.segment.unwrap_or(self.line.depth).max(1));
        let whole = (self.segment.is_none() && depth == 0).then_some(0..0);
        whole.into_iter().chain((0..depth).step_by(step).map(move |from| from..depth.min(from + step)))
    }

    /// Packs each segment of lines into a slot of its own, in groups as the other side's panels have them.
    fn pack_slots(&self, operand: &Operand, lines: Range<usize>, bytes: &mut [u8]) {
        let (groups, mut slots) = (self.kernel.groups, bytes.chunks_exact_mut(self.slot()));
        for line in lines {
            for depth in self.line.each_piece() {
                let slot = slots.next().expect("a slot for each segment");
                let (before, rest) = slot.split_at_mut(depth.start % groups.len() * groups.lhs_size());
                before.fill(0);
                self.kernel.pack_line(&operand.part(line..line + 1, depth), &self.reading, rest);
            }
        }
    }

    /// Packs and sums each segment of panels.
    fn pack_segments(&self, operand: &Operand, lines: Range<usize>, bytes: &mut [u8], sums: &mut [i32]) {
        let (kernel, width) = (self.kernel, self.kernel.width);
        let (mut bytes, mut sums) = (bytes, sums.chunks_exact_mut(width));
        for first in lines.clone().step_by(width) {
            for depth in self.line.each_piece() {
                let part = operand.part(first..lines.end.min(first + width), depth);
                let padded = self.line.padded(part.depth, kernel.groups);
                let panel = bytes.split_off_mut(..padded * width).expect("room for all segments");
                let sums = sums.next().unwrap_or_default();
                kernel.pack_panels(&part, &self.reading, 0..part.lines, panel, sums);
                panel[kernel.pad(part.depth) * width..].fill(0);
            }
        }
    }
}
