//! One side of a product: where its lines come from, and how they become what the kernels read.

use crate::conv::{Patches, Windows};
use crate::kernel::{Kernel, MAX_ROWS, MAX_WIDTH};
use crate::matrix::{Encoding, Lines, Operand, Order};
use crate::output::LineOffsets;
use crate::packed::{Line, Packed, Side};
use crate::planes::Planes;
use crate::prepare::{Prepared, Room};
use crate::reading::Reading;
use crate::segment::{Edge, sum_part};
use crate::span::{self, Spans};
use std::ops::Range;

mod factor;
mod sides;
mod space;

pub use factor::Factor;
pub(crate) use sides::{Sides, lhs_encoding};
pub(crate) use space::Space;

/// One side of a product, as a kernel is to read it.
pub(crate) struct Source<'a> {
    kernel: &'static Kernel,
    side: Side,
    input: Input<'a>,
    /// How its own lines lie in panels, and the bytes that one takes there.
    line: Line,
    pitch: usize,
    /// The planes in which the numbers of panels lie that are ready, if they do.
    planes: Option<Planes>,
    /// Its scales and zero points, if it has segments.
    segments: Option<&'a Packed>,
    /// How many numbers a segment has, if either side has any, and how many sums each line.
    segment: Option<usize>,
    pieces: usize,
    reading: Reading,
    /// For each panel how many groups of its stretches sums of 16 bits hold, if that is known.
    spans: Option<&'a [u8]>,
    pub offset: LineOffsets<'a>,
    /// Whether the sums of this side's lines are needed, because something is added to the other side's elements.
    is_summed: bool,
}

enum Input<'a> {
    /// To be packed, or read in place.
    Operand(Operand<'a>),
    /// To be packed.
    Patches(Patches<'a>),
    /// Patches to be read where the rows of their images are packed.
    Windows(Windows<'a>),
    /// Packed as the kernel reads it.
    Ready(Prepared<'a>),
    /// The same, but runs of so many numbers are to begin groups, as those of windows do.
    Spaced(Prepared<'a>, usize),
    /// Packed otherwise: for another kernel, for the other side, or for another encoding of the other side.
    Otherwise(&'a Packed),
}

/// With such a span for all numbers, those of single stretches are not worth looking at.
const FAR: u8 = 8;

impl<'a> Source<'a> {
    /// What its bytes are read as.
    pub(crate) fn encoding(&self) -> Encoding {
        self.reading.to
    }

    /// Whether kernels turn signed bytes of the LHS, which lie in place or are packed as they were, into unsigned ones.
    pub(crate) fn is_turned(&self) -> bool {
        self.reading.is_turn() && (matches!(self.input, Input::Ready(_)) || self.in_place().is_some())
    }

    /// Which way the memory runs that lines are packed from.
    pub(crate) fn order(&self) -> Order {
        match &self.input {
            Input::Operand(operand) => operand.order,
            _ => Order::DepthContiguous,
        }
    }

    /// All of this side, if nothing is to be prepared.
    pub(crate) fn ready(&self) -> Option<Prepared<'a>> {
        match self.input {
            Input::Ready(prepared) => Some(prepared),
            _ if self.in_place().is_some() && !self.is_summed => {
                Some(Prepared { first: 0, bytes: &[], sums: &[], originals: &[] })
            }
            _ => None,
        }
    }

    fn in_place(&self) -> Option<&Operand<'a>> {
        match &self.input {
            Input::Operand(operand)
                if self.side == Side::Lhs && self.kernel.groups.read_in_place(operand, &self.reading) =>
            {
                Some(operand)
            }
            _ => None,
        }
    }

    /// The patches of this side as windows beside `rhs`, if they had better be read so.
    pub(crate) fn windows(&self, rhs: &Self) -> Option<Windows<'a>> {
        let Input::Patches(patches) = &self.input else { return None };
        if self.segment.is_some() || !rhs.line.is_plain() || rhs.spans.is_some() {
            return None;
        }
        // Only panels that are ready can be spaced.
        let is_spaced = |windows: &Windows| windows.run() == self.kernel.pad(windows.run());
        let is_ready = matches!(rhs.input, Input::Ready(_));
        Windows::new(self.kernel, patches, &self.reading).filter(|windows| is_ready || is_spaced(windows))
    }

    pub(crate) fn become_windows(&mut self, windows: Windows<'a>) {
        self.input = Input::Windows(windows);
    }

    /// Has each run of so many numbers of its panels, which are ready, begin a group.
    pub(crate) fn space(&mut self, run: usize) {
        let padded = self.kernel.pad(run);
        if let Input::Ready(panels) = self.input
            && run != padded
        {
            self.pitch = self.line.depth / run * padded;
            self.input = Input::Spaced(panels, run);
        }
    }

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
    fn slot(&self) -> usize {
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

    /// Lines of the LHS over a stretch of the depth. Of windows, a row over all of it.
    #[inline]
    pub(crate) fn lines<'s>(&self, from: &Prepared<'s>, lines: Range<usize>, depth: Range<usize>) -> Lines<'s>
    where
        'a: 's,
    {
        if let Some(operand) = self.in_place() {
            return operand.part(lines, depth).lines();
        }
        if let Input::Windows(windows) = &self.input {
            return windows.lines(from.bytes, from.first, lines);
        }
        let (kernel, line) = (self.kernel, &self.line);
        let (groups, size) = (kernel.groups, kernel.groups.lhs_size());
        let (pitch, stretch) = if self.segments.is_some() {
            let start = depth.start / line.piece() * self.slot();
            let len = groups.pad(depth.start % groups.len() + depth.len());
            (line.pieces() * self.slot(), start..start + len * size)
        } else {
            // Beside segments a line ends with each of them: the next one's numbers are not to be summed with it.
            let end = if self.segment.is_some() { depth.end } else { groups.pad(depth.end) };
            (kernel.pitch(line.depth), depth.start * size..end * size)
        };
        Lines::packed(&from.bytes[(lines.start - from.first) * pitch..], lines.len(), pitch, stretch)
    }

    /// Whether its panels have to be widened.
    pub(crate) fn is_widened(&self) -> bool {
        self.planes.is_some()
    }

    /// The memory that a panel over so much of the depth has to be widened into.
    pub(crate) fn widened_len(&self, depth: usize) -> usize {
        self.planes.map_or(0, |_| self.line.padded(depth, self.kernel.groups) * self.kernel.width)
    }

    /// A panel of the RHS over a stretch of the depth, and over what there is before it of its first group, in `room` if it has
    /// to be widened.
    #[inline]
    pub(crate) fn panel<'s>(
        &self,
        from: &Prepared<'s>,
        line: usize,
        depth: Range<usize>,
        room: &'s mut [u8],
    ) -> &'s [u8] {
        let Self { kernel, line: own, .. } = self;
        if let Input::Spaced(..) = self.input {
            return &from.bytes[(line - from.first) * self.pitch..][..self.pitch * kernel.width];
        }
        let place = own.place(depth.start, kernel.groups);
        let before = place % kernel.groups.len();
        let len = own.padded(before + depth.len(), kernel.groups) * kernel.width;
        let panel = &from.bytes[(line - from.first) * self.pitch..];
        let bytes = &panel[own.bytes(place - before) * kernel.width..][..own.bytes(len)];
        let Some(planes) = &self.planes else { return bytes };
        kernel.expand(planes, bytes, &mut room[..len]);
        &room[..len]
    }

    /// How many groups of a panel sums of 16 bits hold over a stretch of the depth, if `span` of any.
    pub(crate) fn spans(&self, line: usize, depth: Range<usize>, span: u8) -> Spans<'a> {
        match self.spans {
            Some(spans) if span < FAR => {
                let per_panel = self.line.depth.div_ceil(span::DEPTHS);
                let panel = &spans[line / self.kernel.width * per_panel..][..per_panel];
                Spans::PerStretch(&panel[depth.start / span::DEPTHS..depth.end.div_ceil(span::DEPTHS)])
            }
            _ => Spans::Uniform(span),
        }
    }

    /// What there is to know of lines of the LHS in a segment.
    pub(crate) fn rows_in(&self, from: &Prepared, rows: Range<usize>, segment: usize) -> Edge<MAX_ROWS> {
        let mut edge = Edge::new();
        for (sum, row) in edge.sums.iter_mut().zip(rows.clone()) {
            *sum = from.sums.get((row - from.first) * self.pieces + segment).copied().unwrap_or(0);
        }
        self.parameters_in(rows, segment, &mut edge.offsets, &mut edge.scales);
        edge
    }

    /// What there is to know of lines of the RHS in a segment, of whose panel the products are with `panel`.
    pub(crate) fn cols_in(
        &self,
        from: &Prepared,
        cols: Range<usize>,
        (segment, depth, panel): (usize, Range<usize>, &[u8]),
        edge: &mut Edge<MAX_WIDTH>,
    ) {
        let width = self.kernel.width;
        if self.segments.is_some() {
            let at = ((cols.start - from.first) / width * self.pieces + segment) * width;
            let sums = from.sums.get(at..at + cols.len()).unwrap_or_default();
            edge.sums[..sums.len()].copy_from_slice(sums);
        } else if self.is_summed {
            let before = depth.start % self.kernel.groups.len();
            let depths = before..before + depth.len();
            sum_part(panel, self.kernel.groups, self.encoding(), depths, &mut edge.sums[..width]);
        }
        self.parameters_in(cols, segment, &mut edge.offsets, &mut edge.scales);
    }

    fn parameters_in(&self, lines: Range<usize>, segment: usize, offsets: &mut [i32], scales: &mut [f32]) {
        match self.segments {
            None => offsets.iter_mut().zip(lines).for_each(|(to, line)| *to = self.offset.of(line)),
            Some(packed) => {
                packed.scales(lines.clone(), segment, scales);
                packed.zero_points(lines.clone(), segment, offsets);
                offsets.iter_mut().zip(lines).for_each(|(to, line)| *to = self.offset.of(line).wrapping_sub(*to));
            }
        }
    }
}
