//! What a packed operand is, however it lies.

use super::layout::{Layout, Sections};
use super::{Form, Line, Packing, Purpose};
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset};
use crate::range::ElementRange;
use crate::reading::Reading;
use crate::span;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Label {
    pub lines: usize,
    pub line: Line,
    pub encoding: Encoding,
    pub purpose: Purpose,
    pub declared: Declared,
    /// Whether segments have zero points.
    pub zero_points: bool,
    /// Whether it is known how many groups sums of 16 bits hold.
    pub spans: bool,
}

/// The offset for which the bound was computed. Those of single lines lie elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Declared {
    Uniform(i32),
    PerLine,
}

impl Declared {
    pub(super) fn of(offset: Offset) -> Self {
        match offset {
            Offset::Uniform(offset) => Declared::Uniform(offset),
            Offset::PerLine(_) => Declared::PerLine,
        }
    }

    pub(super) fn offset(self, per_line: &[i32]) -> Offset<'_> {
        match self {
            Declared::Uniform(offset) => Offset::Uniform(offset),
            Declared::PerLine => Offset::PerLine(per_line),
        }
    }
}

impl Label {
    /// Of lines × depth numbers that are packed so.
    pub(super) fn of((lines, depth): (usize, usize), encoding: Encoding, packing: &Packing) -> Self {
        let Packing { offset, purpose, bits, segments } = *packing;
        // Longer segments than the depth are one that is as long.
        let segment = segments.map_or(0, |segments| segments.size.clamp(1, depth.max(1)));
        let zero_points = segments.is_some_and(|segments| segments.zero_points.is_some());
        let line = Line { depth, bits, segment };
        Self { lines, line, encoding, purpose, declared: Declared::of(offset), zero_points, spans: false }
    }

    /// How many offsets go with the lines.
    pub(super) fn offsets(&self) -> usize {
        match self.declared {
            Declared::Uniform(_) => 0,
            Declared::PerLine => self.lines,
        }
    }

    /// The encoding in which `kernel` stores the numbers, which are within `range`.
    pub(super) fn stored(&self, kernel: &Kernel, range: ElementRange) -> Encoding {
        let (own, other, shape) = (self.encoding, self.purpose.other, (self.lines, self.line.depth));
        match self.purpose.form() {
            Form::Lines => own,
            // Signed unless only as what they are there is nothing to be added to them, so that nobody sums the other's lines.
            Form::Panels
                if own == other && !self.line.bits.are_few() && kernel.packs_for_any(self.lines, self.line.depth) =>
            {
                let is_free = |to| self.declared == Declared::Uniform(self.shift(kernel, to, range));
                if is_free(own) && !is_free(Encoding::S8) { own } else { Encoding::S8 }
            }
            Form::Panels => kernel.groups.rhs_encoding(kernel.groups.read_as(other, own, shape), own),
        }
    }

    /// Which code stands for the number 0 where kernels read the numbers as `stored`. Those of up to 6 bits are read as what
    /// they are, 0 and greater, which is the same in both encodings. Those of 7 are -64 to 63 beside an unsigned operand: the
    /// sum of two products then fits 16 bits.
    pub(super) fn zero(&self, stored: Encoding) -> u8 {
        if self.line.bits.get() == 7 && stored == Encoding::S8 { 64 } else { 0 }
    }

    /// What is added to the numbers, which are within `range`, when `kernel` stores them as `stored`.
    pub(super) fn shift(&self, kernel: &Kernel, stored: Encoding, range: ElementRange) -> i32 {
        if self.line.bits.are_few() {
            return self.line.bits.least(self.encoding) - i32::from(self.zero(stored));
        }
        match (self.purpose.form(), kernel.groups.are_bytes(), stored) {
            (Form::Panels, true, Encoding::U8) => -range.least,
            // The declared zero point becomes 0, as near as there is room: most weights are near to it.
            (Form::Panels, true, Encoding::S8) => {
                let zero_point = match self.declared {
                    Declared::Uniform(offset) => offset.saturating_neg(),
                    Declared::PerLine => 0,
                };
                -zero_point.clamp(range.greatest - 127, range.least + 128)
            }
            _ => self.encoding.shift_to(stored),
        }
    }

    /// How the numbers, which are within `range`, become those that `kernel` stores.
    #[inline]
    pub(super) fn reading(&self, kernel: &Kernel, stored: Encoding, range: ElementRange) -> Reading {
        Reading { shift: self.shift(kernel, stored, range), ..Reading::plain(self.encoding, stored) }
    }

    /// The narrow kernel of `kernel`, if it is up to the values which of them they are packed for.
    pub(super) fn proven(&self, kernel: &Kernel) -> Option<&'static Kernel> {
        // Over less depth the ends of tiles cost more than 16 bits gain.
        let is_deep = self.line.depth >= if cfg!(target_arch = "x86_64") { 8 } else { span::DEPTHS };
        kernel.narrow.filter(|_| is_deep && self.purpose.form() == Form::Panels && self.line.is_plain())
    }

    /// Where `kernel` has everything lie.
    pub(super) fn place(&self, kernel: &Kernel) -> Option<(Layout, Sections)> {
        let layout = Layout::of(kernel, self.purpose.form(), self.line)?;
        Some((layout, Sections::new(&layout, self)?))
    }
}
