//! Writing a packed operand.

use super::header::{self, Content, Header};
use super::layout::Sections;
use super::memory::{Memory, ints_mut};
use super::{Crew, Form, Label, Layout, Packed, Packing};
use crate::buffer::Buffer;
use crate::elements::ElementsMut;
use crate::matrix::{Offset, Operand, Order};
use crate::range::ElementRange;
use crc32fast::Hasher;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes that are packed together before their checksum is found: fewer than the second cache holds.
const AT_ONCE: usize = 1 << 17;

/// Lines that are packed together at least if they lie side by side, so that memory is read in long runs.
const SIDE_BY_SIDE: usize = 512;

/// What is known of lines that were written.
pub(super) struct Written {
    /// Of all their bytes.
    pub checksum: Hasher,
    /// What [`Packed`] says of their numbers.
    pub range: ElementRange,
    pub bound: u64,
}

impl Packed {
    /// Packs into its memory. `proven` are the spans, if they are known. In `room` there is as much as one step of packing numbers of few bits takes.
    pub(super) fn fill(&mut self, crew: Crew, operand: &Operand, packing: &Packing, proven: &[u8], room: &mut [u8]) {
        self.fill_by(packing, proven, |packed, bytes, sums| {
            let checksum = packed.fill_lines(crew, operand, bytes, sums, room);
            Written { checksum, range: packed.range, bound: packed.bound }
        });
    }

    /// Packs into its memory lines that `write` writes with their sums.
    pub(super) fn fill_by(
        &mut self,
        packing: &Packing,
        proven: &[u8],
        write: impl FnOnce(&Self, &mut [u8], &mut [i32]) -> Written,
    ) {
        let mut memory = std::mem::replace(&mut self.memory, Memory::Own(Buffer::empty()));
        let Sections { sums, offsets, scales, zero_points, spans, bytes } = self.sections.clone();
        let (head, content) = memory.as_mut_slice()[..self.sections.end()].split_at_mut(header::LEN);
        let within = |section: Range<usize>| section.start - header::LEN..section.end - header::LEN;
        let before = bytes.start - header::LEN;
        content[..before].fill(0);
        let sections = content.get_disjoint_mut([sums, offsets, scales, zero_points, spans, bytes].map(within));
        let [sums, offsets, scales, zero_points, spans, bytes] = sections.expect("sections are apart");
        if let Offset::PerLine(declared) = packing.offset {
            ints_mut(offsets).copy_from_slice(&declared[..self.label.lines]);
        }
        if let Some(segments) = &packing.segments {
            self.place(segments.scales.iter().map(|scale| scale.to_bits() as i32), ints_mut(scales));
            self.place(segments.zero_points.unwrap_or_default().iter().copied(), ints_mut(zero_points));
        }
        spans.copy_from_slice(proven);
        let Written { checksum: of_lines, range, bound } = write(self, bytes, ints_mut(sums));
        (self.range, self.bound) = (range, bound);
        let mut all = Hasher::new();
        all.update(&content[..before]);
        all.combine(&of_lines);
        let (checksum, layout, stored) = (all.finalize(), self.layout, self.stored);
        let content = Content::Packed { layout, stored, bound, range };
        head.copy_from_slice(&Header { label: self.label, content, checksum }.to_bytes());
        self.memory = memory;
    }

    /// Puts values, for each line those of all its segments, in the order of the sums.
    fn place(&self, values: impl Iterator<Item = i32>, to: &mut [i32]) {
        if to.is_empty() {
            return;
        }
        let pieces = self.label.line.pieces();
        for (i, value) in values.take(self.label.lines * pieces).enumerate() {
            to[self.place_of(i / pieces, i % pieces)] = value;
        }
    }

    fn fill_lines(&self, crew: Crew, operand: &Operand, bytes: &mut [u8], sums: &mut [i32], room: &mut [u8]) -> Hasher {
        let Self { label, layout, .. } = self;
        let is_empty = operand.lines == 0 || operand.depth == 0;
        match (layout.form, label.line.is_plain()) {
            _ if is_empty => bytes.fill(0),
            (Form::Panels, false) => {
                for (i, panel) in bytes.chunks_exact_mut(layout.width * layout.pitch).enumerate() {
                    let lines = i * layout.width..operand.lines.min((i + 1) * layout.width);
                    self.fill_panel(operand, lines, panel, sums, room);
                }
            }
            (Form::Lines, _) if label.line.bits.are_few() => {
                let least = label.line.bits.least(operand.encoding) as u8;
                for (line, bytes) in bytes.chunks_exact_mut(layout.pitch).enumerate() {
                    operand.copy_line(line, &mut room[..operand.depth]);
                    let codes = &mut room[..operand.depth.next_multiple_of(8)];
                    codes.iter_mut().for_each(|b| *b = b.wrapping_add(least));
                    codes[operand.depth..].fill(0);
                    layout.planes(label.line, least).store(codes, bytes);
                }
            }
            _ => {
                let least = if operand.order == Order::LineContiguous { SIDE_BY_SIDE } else { 0 };
                let at_once = (AT_ONCE / layout.pitch).max(least);
                return self.in_parts(crew, at_once, bytes, sums, |_, lines, bytes, sums| {
                    self.pack_some(operand, lines, bytes, sums);
                });
            }
        }
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        hasher
    }

    /// Packs lines of an operand as the kernels read them, whose bytes and sums go there.
    pub(super) fn pack_some(&self, operand: &Operand, lines: Range<usize>, bytes: &mut [u8], sums: &mut [i32]) {
        match self.layout.form {
            Form::Panels => self.kernel.pack_panels(operand, &self.reading(), lines, bytes, sums),
            Form::Lines => self.kernel.pack_lines(operand, &self.reading(), lines, bytes, sums),
        }
    }

    /// Calls `pack` with lines, of whole panels if that is how they lie, and the places of their bytes and sums: with so many
    /// at once, the checksum of whose bytes is found while the caches have them. Before them it is told the first line of those that
    /// the same thread packs.
    pub(super) fn in_parts(
        &self,
        crew: Crew,
        at_once: usize,
        bytes: &mut [u8],
        sums: &mut [i32],
        pack: impl Fn(usize, Range<usize>, &mut [u8], &mut [i32]) + Sync,
    ) -> Hasher {
        let Label { lines: count, line, .. } = self.label;
        let Layout { width, pitch, .. } = self.layout;
        let (bytes, sums) = (ElementsMut::from(bytes), ElementsMut::from(sums));
        let step = (at_once / width).max(1) * width;
        let parts = Mutex::new(Vec::new());
        crew.share(count.div_ceil(width), width * (line.depth + pitch), |panels| {
            let mut hasher = Hasher::new();
            for start in (panels.start * width..panels.end * width).step_by(step) {
                let lines = start..(panels.end * width).min(start + step);
                let bytes = bytes.part(lines.start * pitch..lines.end * pitch);
                // Of lines with segments there are no sums.
                let sums = sums.part(lines.start.min(sums.len())..lines.end.min(sums.len()));
                // SAFETY: the lines of different threads are apart.
                let (bytes, sums) = unsafe { (bytes.as_mut_slice(), sums.as_mut_slice()) };
                pack(panels.start * width, lines.start..lines.end.min(count), bytes, sums);
                hasher.update(bytes);
            }
            parts.lock().unwrap_or_else(PoisonError::into_inner).push((panels.start, hasher));
        });
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|&(start, _)| start);
        let mut all = Hasher::new();
        parts.iter().for_each(|(_, part)| all.combine(part));
        all
    }

    /// Packs one panel piece by piece.
    fn fill_panel(&self, operand: &Operand, lines: Range<usize>, panel: &mut [u8], sums: &mut [i32], room: &mut [u8]) {
        let Self { kernel, label: Label { line, .. }, layout, stored, .. } = self;
        let (width, groups) = (layout.width, kernel.groups);
        let reading = self.reading();
        let mut rest = panel;
        for (i, depths) in line.each_piece().enumerate() {
            let part = operand.part(lines.clone(), depths);
            let len = line.padded(part.depth, groups);
            let to = rest.split_off_mut(..line.bytes(len) * width).expect("room for all pieces");
            let sums = &mut sums[self.place_of(lines.start, i)..][..width];
            if !line.bits.are_few() {
                kernel.pack_panels(&part, &reading, 0..lines.len(), to, sums);
                to[groups.pad(part.depth) * width..].fill(0);
                continue;
            }
            let numbers = &mut room[..len * width];
            kernel.pack_panels(&part, &reading, 0..lines.len(), numbers, sums);
            numbers[groups.pad(part.depth) * width..].fill(0);
            let planes = layout.planes(*line, self.label.zero(*stored));
            numbers.iter_mut().for_each(|number| *number = number.wrapping_add(planes.zero));
            planes.store(numbers, to);
        }
    }
}
