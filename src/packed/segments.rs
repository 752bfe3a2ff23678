//! Scales and zero points of stretches of the depth.

use super::Packed;
use crate::buffer::ints;
use std::ops::Range;

/// Segments of the depth, each of which has a scale of its own for every line, and a zero point perhaps.
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    /// How many numbers of a line a segment has, at least 1; the last one may have fewer.
    pub size: usize,
    /// For each line the scale of each of its segments.
    pub scales: &'a [f32],
    /// For each line the zero point of each of its segments, which is subtracted from its numbers.
    pub zero_points: Option<&'a [i32]>,
}

impl Packed {
    /// How many numbers of a line a segment has, if there are segments.
    pub(crate) fn segment(&self) -> Option<usize> {
        Some(self.label.line.segment).filter(|&segment| segment > 0)
    }

    /// The scales of a segment of these lines.
    pub(crate) fn scales(&self, lines: Range<usize>, segment: usize, to: &mut [f32]) {
        let words = ints(&self.blob()[self.sections.scales.clone()]);
        let mut to = to;
        self.each_run(lines, segment, |run| {
            let (now, later) = std::mem::take(&mut to).split_at_mut(run.len());
            now.iter_mut().zip(&words[run]).for_each(|(to, &word)| *to = f32::from_bits(word as u32));
            to = later;
        });
    }

    /// The zero points of a segment of these lines.
    pub(crate) fn zero_points(&self, lines: Range<usize>, segment: usize, to: &mut [i32]) {
        if !self.label.zero_points {
            return to[..lines.len()].fill(0);
        }
        let words = ints(&self.blob()[self.sections.zero_points.clone()]);
        let mut to = to;
        self.each_run(lines, segment, |run| {
            let (now, later) = std::mem::take(&mut to).split_at_mut(run.len());
            now.copy_from_slice(&words[run]);
            to = later;
        });
    }

    /// Where the values of a segment of these lines lie, run by run.
    fn each_run(&self, lines: Range<usize>, segment: usize, mut run: impl FnMut(Range<usize>)) {
        let (width, mut line) = (self.layout.width, lines.start);
        while line < lines.end {
            let next = lines.end.min((line / width + 1) * width);
            let from = self.place_of(line, segment);
            run(from..from + next - line);
            line = next;
        }
    }

    /// Where the value of a piece of a line lies among the sums, the scales or the zero points.
    pub(super) fn place_of(&self, line: usize, piece: usize) -> usize {
        let (width, pieces) = (self.layout.width, self.label.line.pieces());
        (line / width * pieces + piece) * width + line % width
    }
}
