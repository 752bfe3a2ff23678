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
    pub centre: Centre,
    /// As [`Packing::are_patches`]; forgotten once it is packed.
    pub are_patches: bool,
}

/// What becomes the number 0 in panels of signed bytes, or what is nearest to it if not all elements would fit then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Centre {
    /// The declared one: nothing has to be added for it, and most weights are near to it.
    ZeroPoint,
    /// Midway between the least and the greatest element.
    Middle,
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
        let Packing { offset, purpose, bits, segments, are_patches } = *packing;
        // Longer segments than the depth are one that is as long.
        let segment = segments.map_or(0, |segments| segments.size.clamp(1, depth.max(1)));
        let zero_points = segments.is_some_and(|segments| segments.zero_points.is_some());
        let line = Line { depth, bits, segment };
        Self {
            lines,
            line,
            encoding,
            purpose,
            declared: Declared::of(offset),
            zero_points,
            spans: false,
            centre: Centre::ZeroPoint,
            are_patches,
        }
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
            Form::Panels => {
                let groups = kernel.groups;
                let read_as =
                    if self.are_patches { groups.patches_as(other, own) } else { groups.read_as(other, own, shape) };
                groups.rhs_encoding(read_as, own)
            }
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
            (Form::Panels, true, Encoding::S8) => {
                let centre = match (self.centre, self.declared) {
                    (Centre::Middle, _) => (range.least + range.greatest + 1) >> 1,
                    (Centre::ZeroPoint, Declared::Uniform(offset)) => offset.saturating_neg(),
                    (Centre::ZeroPoint, Declared::PerLine) => 0,
                };
                -centre.clamp(range.greatest - 127, range.least + 128)
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

    /// What may become 0 for the narrow kernel `narrow`, the best first, and what will do at last: the middle if the numbers, which are
    /// within `range`, fit more often into sums of 16 bits then, as far as the range tells, and are so many that this outweighs the sums
    /// of the other operand's lines, which the zero point may do without.
    pub(super) fn centres(self, narrow: &Kernel, range: ElementRange) -> &'static [Centre] {
        const LEAST_LINES: usize = 32;
        const LEAST_DEPTH: usize = 48;
        let stored = self.stored(narrow, range);
        let span = |centre| {
            let shift = Self { centre, ..self }.shift(narrow, stored, range);
            let numbers = ElementRange { least: range.least + shift, greatest: range.greatest + shift };
            span::span(ElementRange::all(self.purpose.other), numbers, span::room(narrow.groups, stored))
        };
        let are_many = self.lines >= LEAST_LINES && self.line.depth >= LEAST_DEPTH;
        match are_many && stored == Encoding::S8 && span(Centre::Middle) > span(Centre::ZeroPoint) {
            true => &[Centre::Middle, Centre::ZeroPoint],
            false => &[Centre::ZeroPoint],
        }
    }

    /// Where `kernel` has everything lie.
    pub(super) fn place(&self, kernel: &Kernel) -> Option<(Layout, Sections)> {
        let layout = Layout::of(kernel, self.purpose.form(), self.line)?;
        Some((layout, Sections::new(&layout, self)?))
    }
}
