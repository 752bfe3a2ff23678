//! What a packed operand is, however it lies.

use super::layout::{Layout, Sections};
use super::{Form, Purpose};
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Label {
    pub lines: usize,
    pub depth: usize,
    pub encoding: Encoding,
    pub purpose: Purpose,
    pub declared: Declared,
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
    /// How many offsets go with the lines.
    pub(super) fn offsets(&self) -> usize {
        match self.declared {
            Declared::Uniform(_) => 0,
            Declared::PerLine => self.lines,
        }
    }

    /// The encoding in which `kernel` stores the numbers.
    pub(super) fn stored(&self, kernel: &Kernel) -> Encoding {
        match self.purpose.form() {
            Form::Lines => self.encoding,
            Form::Panels => kernel.groups.rhs_encoding(self.purpose.other),
        }
    }

    /// Where `kernel` has everything lie.
    pub(super) fn place(&self, kernel: &Kernel) -> Option<(Layout, Sections)> {
        let layout = Layout::of(kernel, self.purpose.form(), self.depth)?;
        Some((layout, Sections::new(&layout, self.lines, self.offsets())?))
    }
}
