//! The bytes of a packed operand as they were before.

use super::layout::LINE_BLOCK;
use super::line::STRETCH;
use super::{Form, Line, Packed};
use crate::kernel::MAX_WIDTH;
use crate::pack::Groups;
use std::ops::Range;

/// As many numbers as lie together.
const BLOCK: usize = STRETCH * MAX_WIDTH;
const _: () = assert!(BLOCK >= LINE_BLOCK);

impl Packed {
    /// Writes `lines`, one after the other, in the operand's own encoding.
    ///
    /// # Panics
    /// If there are no such lines, or `to` is not just as long as they are.
    pub(crate) fn unpack(&self, lines: Range<usize>, to: &mut [u8]) {
        let depth = self.label.line.depth;
        assert!(lines.start <= lines.end && lines.end <= self.label.lines);
        assert_eq!(to.len(), lines.len() * depth);
        if depth == 0 {
            return;
        }
        let mut block = [0; BLOCK];
        let (mut line, width) = (lines.start, self.layout.width);
        while line < lines.end {
            let next = lines.end.min((line / width + 1) * width);
            let to = &mut to[(line - lines.start) * depth..(next - lines.start) * depth];
            if self.layout.form == Form::Lines && !self.label.line.bits.are_few() {
                self.unpack_line(line, to);
            } else {
                for depths in self.stretches() {
                    let numbers = self.stretch(line, &depths, &mut block);
                    for (to, line) in to.chunks_exact_mut(depth).zip(line..next) {
                        self.gather(numbers, line, &mut to[depths.clone()]);
                    }
                }
            }
            line = next;
        }
        let added = self.reading().added();
        if added != 0 && !self.label.line.bits.are_few() {
            to.iter_mut().for_each(|b| *b = b.wrapping_sub(added));
        }
    }

    /// Hands out the numbers of one line, a few at a time, if they lie in planes.
    pub(super) fn each_number(&self, line: usize, mut each: impl FnMut(u8)) {
        let (mut block, mut numbers) = ([0; BLOCK], [0; LINE_BLOCK]);
        for depths in self.stretches() {
            let numbers = &mut numbers[..depths.len()];
            self.gather(self.stretch(line, &depths, &mut block), line, numbers);
            numbers.iter().for_each(|&number| each(number));
        }
    }

    /// A line of bytes, or of numbers of 16 bits, of which the low byte is what it was before.
    fn unpack_line(&self, line: usize, to: &mut [u8]) {
        let pitch = self.layout.pitch;
        let bytes = &self.bytes()[line * pitch..][..pitch];
        if self.kernel.groups.are_bytes() {
            to.copy_from_slice(&bytes[..to.len()]);
        } else {
            let numbers = bytes.as_chunks::<2>().0;
            to.iter_mut().zip(numbers).for_each(|(to, &number)| *to = i16::from_ne_bytes(number) as u8);
        }
    }

    /// The depths that lie together.
    fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (line, step) = match self.layout.form {
            Form::Lines => (Line { segment: 0, ..self.label.line }, LINE_BLOCK),
            Form::Panels => (self.label.line, STRETCH),
        };
        line.each_piece().flat_map(move |piece| {
            let end = piece.end;
            piece.step_by(step).map(move |from| from..end.min(from + step))
        })
    }

    /// A stretch of the panel that a line is in, as bytes.
    fn stretch<'b>(&'b self, line: usize, depths: &Range<usize>, block: &'b mut [u8; BLOCK]) -> &'b [u8] {
        let (width, kind, groups) = (self.layout.width, self.label.line, self.kernel.groups);
        let start = match self.layout.form {
            Form::Lines => depths.start,
            Form::Panels => kind.place(depths.start, groups),
        };
        let len = kind.padded(depths.len(), groups) * width;
        let panel = &self.bytes()[line / width * width * self.layout.pitch..];
        let bytes = &panel[kind.bytes(start) * width..];
        if !kind.bits.are_few() {
            return &bytes[..len];
        }
        let planes = self.layout.planes(kind, kind.bits.least(self.label.encoding) as u8);
        self.kernel.expand(&planes, &bytes[..planes.size(len)], &mut block[..len]);
        &block[..len]
    }

    /// Collects a line from a stretch of its panel.
    fn gather(&self, stretch: &[u8], line: usize, to: &mut [u8]) {
        let width = self.layout.width;
        match self.kernel.groups {
            Groups::LikeOctets => gather::<8>(stretch, (line % width, width), to),
            Groups::Quads | Groups::FreeQuads | Groups::AnyQuads | Groups::LikeQuads => {
                gather::<4>(stretch, (line % width, width), to)
            }
            Groups::Pairs => gather::<2>(stretch, (line % width, width), to),
        }
    }
}

/// Collects one line, of so many, of a stretch of a panel in groups of `G` bytes.
fn gather<const G: usize>(numbers: &[u8], (line, width): (usize, usize), to: &mut [u8]) {
    let mut groups = numbers.as_chunks::<G>().0.iter().skip(line).step_by(width);
    let (whole, rest) = to.as_chunks_mut();
    for (to, group) in whole.iter_mut().zip(&mut groups) {
        *to = *group;
    }
    if let Some(group) = groups.next() {
        rest.copy_from_slice(&group[..rest.len()]);
    }
}
