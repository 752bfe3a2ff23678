//! An operand of real numbers becomes one of bytes, with a scale and a zero point for each line, or for each segment of
//! one. They follow from the numbers, or are given.

use super::min_max::{Bounds, COLUMNS, Columns, rows_ahead};
use super::quantize::{Divide, DivideAway, Multiply};
use super::{FEW, Formula, Own, Read, Real, Rounded, ToInteger, block, each_block, part};
use crate::context::Context;
use crate::elements::{CHUNK, Elements, ElementsMut, Strided};
use crate::kernel::{Loop, Vectors};
use crate::matrix::{Order, Runs};
use crate::quantize::{Quantization, Scheme};
use crate::range::ElementRange;
use std::ops::Range;

/// Lines × depth real numbers, and how they become bytes.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'a> {
    pub from: Strided<'a, f32>,
    pub order: Order,
    pub lines: usize,
    pub depth: usize,
    /// How many numbers along the depth have the same scale and zero point, at least 1; all if None.
    pub segment: Option<usize>,
    pub rule: ToInteger,
    /// None if scales and zero points are given.
    pub scheme: Option<Scheme>,
    pub range: ElementRange,
}

/// So many bytes ahead numbers are fetched, at least.
const AHEAD: usize = 1 << 14;

/// A scale and a zero point for each segment of each line.
pub(crate) struct Found<'a> {
    pub scales: ElementsMut<'a, f32>,
    /// Zero points times `sign`; None if all are 0.
    pub zero_points: Option<ElementsMut<'a, i32>>,
    pub sign: i32,
}

impl Found<'_> {
    /// Those of some segments.
    fn part(&self, range: Range<usize>) -> Self {
        let zero_points = self.zero_points.as_ref().map(|zero_points| zero_points.part(range.clone()));
        Self { scales: self.scales.part(range), zero_points, sign: self.sign }
    }

    /// Those of index `i`, by the words that formulas take: chosen by a scheme and noted, or as given.
    #[inline(always)]
    fn words(&self, lines: &Lines, i: usize, ends: (f32, f32)) -> [i32; 2] {
        let ElementRange { least, greatest } = lines.range;
        let Quantization { scale, zero_point } = match lines.scheme {
            None => {
                let zero_point = self.zero_points.as_ref().map_or(0, |zero_points| zero_points.get(i));
                Quantization { scale: self.scales.get(i), zero_point: self.sign * zero_point }
            }
            Some(scheme) => {
                let found = scheme.of(ends, (least, greatest));
                // SAFETY: only who works on this line uses what is its.
                unsafe { self.scales.set(i, [found.scale]) };
                if let Some(zero_points) = &self.zero_points {
                    // SAFETY: as above.
                    unsafe { zero_points.set(i, [self.sign * found.zero_point]) };
                }
                found
            }
        };
        let factor = if lines.rule == ToInteger::Multiply { 1.0 / scale } else { scale };
        [factor.to_bits() as i32, zero_point]
    }
}

impl Lines<'_> {
    /// Segments of a line.
    pub(crate) fn segments(&self) -> usize {
        self.segment.map_or(1, |segment| self.depth.div_ceil(segment))
    }

    /// Makes bytes of the numbers, in the same order, without gaps, on as many threads as pays.
    pub(crate) fn quantize(&self, context: &Context, found: &Found, to: &ElementsMut<u8>) {
        let vectors = context.kernel.vectors;
        match self.order {
            Order::DepthContiguous => context.in_lines(self.lines, 5 * self.depth, |range| {
                vectors.run(Along { lines: self, found, to, range });
            }),
            Order::LineContiguous => context.in_columns(self.lines, 5 * self.depth, |range| {
                vectors.run(Across { lines: self, found, to, range });
            }),
        }
    }

    /// From where to where the bytes go, if some line reaches both ends.
    pub(crate) fn likely_range(&self) -> ElementRange {
        let ElementRange { least, greatest } = self.range;
        match self.scheme {
            Some(Scheme::Symmetric) => {
                ElementRange { least: least.max(2 * Scheme::middle(least, greatest) - greatest), greatest }
            }
            _ => self.range,
        }
    }

    /// As [`Lines::quantize`], of some lines, which are contiguous, alone, and on the calling thread.
    pub(crate) fn quantize_some(&self, vectors: Vectors, range: Range<usize>, found: &Found, to: &ElementsMut<u8>) {
        debug_assert!(self.order == Order::DepthContiguous);
        let segments = self.segments();
        let found = &found.part(range.start * segments..range.end * segments);
        let lines = &Lines { from: self.from.part(range.clone()), lines: range.len(), ..*self };
        vectors.run(Along { lines, found, to, range: 0..range.len() });
    }

    /// The depths of each segment.
    #[inline(always)]
    fn depths(&self, segment: usize) -> Range<usize> {
        let len = self.segment.unwrap_or(self.depth);
        segment * len..self.depth.min((segment + 1) * len)
    }
}

/// Lines that are contiguous.
struct Along<'a> {
    lines: &'a Lines<'a>,
    found: &'a Found<'a>,
    to: &'a ElementsMut<'a, u8>,
    range: Range<usize>,
}

impl Loop for Along<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let segments = self.lines.segments();
        let all = self.range.start * segments..self.range.end * segments;
        let ahead = (AHEAD / (4 * self.lines.depths(0).len()).max(1)).max(1);
        let mut parameters = [0; 2];
        // Before each but the last becomes bytes, the parameters of the next are found: that takes long, but few instructions.
        for index in all.start..all.end + 1 {
            let coming = if index < all.end { self.parameters(index) } else { parameters };
            if index > all.start {
                self.write(index - 1, parameters, self.segment((index + ahead).min(all.end - 1)));
            }
            parameters = coming;
        }
    }
}

impl<'a> Along<'a> {
    /// Where the segment of this index lies, line by line.
    #[inline(always)]
    fn place(&self, index: usize) -> (usize, Range<usize>) {
        let segments = self.lines.segments();
        (index / segments, self.lines.depths(index % segments))
    }

    /// Its numbers.
    #[inline(always)]
    fn segment(&self, index: usize) -> Elements<'a, f32> {
        let (line, depths) = self.place(index);
        self.lines.from.run(line).part(depths)
    }

    #[inline(always)]
    fn parameters(&self, index: usize) -> [i32; 2] {
        let ends = if self.lines.scheme.is_some() { Bounds::of(self.segment(index)).ends() } else { (0.0, 0.0) };
        self.found.words(self.lines, index, ends)
    }

    /// Makes bytes of its numbers, while those of another come from memory.
    #[inline(always)]
    fn write(&self, index: usize, [factor, zero_point]: [i32; 2], next: Elements<'a, f32>) {
        let (line, depths) = self.place(index);
        let begin = line * self.lines.depth;
        let to = &self.to.part(begin + depths.start..begin + depths.end);
        let from = &Followed { from: self.segment(index), next };
        let (parameters, all, range) = ([factor, 0, 0, 0, zero_point], 0..depths.len(), self.lines.range);
        match self.lines.rule {
            ToInteger::Divide => each_block(Rounded { real: Divide, range }, parameters, from, to, all, true),
            ToInteger::Multiply => each_block(Rounded { real: Multiply, range }, parameters, from, to, all, true),
            ToInteger::DivideAway => each_block(Rounded { real: DivideAway, range }, parameters, from, to, all, true),
        }
    }
}

/// Numbers to read, and those that are fetched meanwhile.
#[derive(Clone, Copy)]
struct Followed<'a> {
    from: Elements<'a, f32>,
    next: Elements<'a, f32>,
}

impl Read for Followed<'_> {
    fn runs(&self) -> Runs {
        self.from.runs()
    }

    fn element(&self) -> usize {
        4
    }

    #[inline(always)]
    fn read(&self, i: usize, words: &mut [i32]) {
        Read::read(&self.from, i, words);
    }

    #[inline(always)]
    fn fetch_ahead(&self, i: usize) {
        self.next.fetch(i, CHUNK);
    }

    #[inline(always)]
    fn fetch(&self, i: usize) {
        Read::fetch(&self.from, i);
    }
}

/// Lines that lie side by side.
struct Across<'a> {
    lines: &'a Lines<'a>,
    found: &'a Found<'a>,
    to: &'a ElementsMut<'a, u8>,
    range: Range<usize>,
}

impl Loop for Across<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let (lines, segments) = (self.lines, self.lines.segments());
        let (mut columns, mut parameters) = (Columns::NONE, [[0; COLUMNS]; 2]);
        let mut first = self.range.start;
        while first < self.range.end {
            let block = first..self.range.end.min(first + COLUMNS);
            for segment in 0..segments {
                if lines.scheme.is_some() {
                    let row = |depth| lines.from.run(depth).part(block.clone());
                    columns.look(block.len(), lines.depths(segment), row);
                }
                for (i, line) in block.clone().enumerate() {
                    let words = self.found.words(lines, line * segments + segment, columns.ends(i));
                    [parameters[0][i], parameters[1][i]] = words;
                }
                match lines.rule {
                    ToInteger::Divide => self.rows(Divide, &parameters, &block, segment),
                    ToInteger::Multiply => self.rows(Multiply, &parameters, &block, segment),
                    ToInteger::DivideAway => self.rows(DivideAway, &parameters, &block, segment),
                }
            }
            first = block.end;
        }
    }
}

impl Across<'_> {
    /// Makes bytes of the numbers of a segment of these lines.
    #[inline(always)]
    fn rows(&self, real: impl Real, parameters: &[[i32; COLUMNS]; 2], block: &Range<usize>, segment: usize) {
        let formula = Rounded { real, range: self.lines.range };
        let ahead = rows_ahead(block.len()) * self.lines.from.stride();
        for depth in self.lines.depths(segment) {
            let from = self.lines.from.run(depth).part(block.clone());
            let begin = depth * self.lines.lines + block.start;
            let to = self.to.part(begin..begin + block.len());
            let mut at = 0;
            while from.len() - at >= CHUNK {
                from.fetch(at + ahead, CHUNK);
                some::<CHUNK>(formula, parameters, from, &to, at, CHUNK);
                at += CHUNK;
            }
            if from.len() - at >= 2 * FEW {
                some::<{ 2 * FEW }>(formula, parameters, from, &to, at, 2 * FEW);
                at += 2 * FEW;
            }
            if from.len() - at >= FEW {
                some::<FEW>(formula, parameters, from, &to, at, FEW);
                at += FEW;
            }
            if from.len() > at {
                some::<FEW>(formula, parameters, from, &to, at, from.len() - at);
            }
        }
    }
}

/// `count` numbers of a row, up to `N`, from index `at` on.
#[inline(always)]
fn some<const N: usize>(
    formula: impl Formula,
    [factors, zero_points]: &[[i32; COLUMNS]; 2],
    from: Elements<f32>,
    to: &ElementsMut<u8>,
    at: usize,
    count: usize,
) {
    let (factors, zero_points) = (part::<N>(factors, at), part(zero_points, at));
    let each = [factors, factors, factors, zero_points, zero_points];
    let own = Own::<N, false> { each, zero_points: [0; 2] };
    block::<_, N>(formula, own, &from, to, at, count);
}
