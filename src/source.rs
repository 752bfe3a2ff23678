//! One side of a product: where its lines come from, and how they become what the kernels read.

use crate::conv::{Patches, Windows};
use crate::kernel::{Kernel, MAX_ROWS, MAX_WIDTH};
use crate::matrix::{Encoding, Lines, Operand, Order};
use crate::output::LineOffsets;
use crate::packed::{Line, Packed, Side};
use crate::planes::Planes;
use crate::prepare::Prepared;
use crate::reading::Reading;
use crate::segment::{Edge, sum_part};
use crate::span::{self, Spans};
use std::ops::Range;

mod factor;
mod prepare;
mod sides;
mod space;

pub use factor::Factor;
pub(crate) use sides::{Narrow, Sides, lhs_encoding};
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
                if self.side == Side::Lhs && self.kernel.groups.can_read_in_place(operand, &self.reading) =>
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

    /// Lines of the LHS over a stretch of the depth. Of windows, a row over all of it, or rows that are joined.
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

    /// The end of those lines of windows from `first` on, which begins a row, that [`Source::lines`] gives at once.
    pub(crate) fn end_of_joined(&self, first: usize) -> Option<usize> {
        match &self.input {
            Input::Windows(windows) => Some(windows.end_of_joined(first)),
            _ => None,
        }
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

    /// All panels of these lines of the RHS, the first of which begins one, over the whole depth, if they need not be widened.
    pub(crate) fn panels<'s>(&self, from: &Prepared<'s>, lines: Range<usize>) -> &'s [u8] {
        let count = lines.len().next_multiple_of(self.kernel.width);
        &from.bytes[(lines.start - from.first) * self.pitch..][..count * self.pitch]
    }

    /// How many groups of a panel sums of 16 bits hold over a stretch of the depth, if `span` of any.
    pub(crate) fn spans(&self, line: usize, depth: Range<usize>, span: u8) -> Spans<'a> {
        match self.spans {
            Some(spans) if span < FAR => {
                let per_panel = self.line.depth.div_ceil(span::DEPTHS);
                let panel = &spans[line / self.kernel.width * per_panel..][..per_panel];
                let depths = depth.len();
                Spans::of_stretches(&panel[depth.start / span::DEPTHS..depth.end.div_ceil(span::DEPTHS)], depths)
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
