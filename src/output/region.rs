//! A tile's place in the result, and what its operands add to its sums.

use crate::matrix::Offset;
use crate::output::Rescale;
use std::ops::Range;

/// A tile's place in the result, and what the offsets of the operands add to its accumulators.
pub(crate) struct Region<'a> {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
    pub depth: usize,
    /// The sum of each of the region's rows of the LHS; empty if the RHS has no offset.
    pub row_sums: &'a [i32],
    /// The sum of each of the panel's columns of the RHS; empty if the LHS has no offset.
    pub col_sums: &'a [i32],
    /// As these, of the elements before they were requantized, if they are compensated.
    pub row_originals: &'a [i32],
    pub col_originals: &'a [i32],
    pub row_offsets: LineOffsets<'a>,
    pub col_offsets: LineOffsets<'a>,
    /// If either operand was requantized.
    pub rescale: Option<&'a Rescale>,
}

impl Region<'_> {
    /// A region to whose accumulators nothing is to be added.
    pub(crate) fn complete(rows: Range<usize>, cols: Range<usize>) -> Self {
        let none = LineOffsets { offset: Offset::Uniform(0), shift: 0 };
        Self {
            rows,
            cols,
            depth: 0,
            row_sums: &[],
            col_sums: &[],
            row_originals: &[],
            col_originals: &[],
            row_offsets: none,
            col_offsets: none,
            rescale: None,
        }
    }

    /// The same rows in some of the columns.
    pub(crate) fn part(&self, cols: Range<usize>) -> Region<'_> {
        let first = cols.start - self.cols.start;
        Region {
            rows: self.rows.clone(),
            col_sums: self.col_sums.get(first..).unwrap_or_default(),
            col_originals: self.col_originals.get(first..).unwrap_or_default(),
            cols,
            ..*self
        }
    }

    /// Some of the rows, from the region's row `first` on, and all columns.
    #[inline(always)]
    pub(super) fn rows_from(&self, first: usize, count: usize) -> Region<'_> {
        let start = self.rows.start + first;
        Region {
            rows: start..start + count,
            row_sums: self.row_sums.get(first..).unwrap_or_default(),
            row_originals: self.row_originals.get(first..).unwrap_or_default(),
            cols: self.cols.clone(),
            ..*self
        }
    }

    /// The offsets of all rows and of all columns, if they are known to be the same.
    #[inline(always)]
    pub(crate) fn uniform(&self) -> Option<(i32, i32)> {
        Some((self.row_offsets.uniform()?, self.col_offsets.uniform()?))
    }

    /// The sums of the panel's columns, of which there may be fewer; 0 if nobody needs them.
    #[inline(always)]
    pub(super) fn panel_sums<const W: usize>(&self) -> [i32; W] {
        if let Some(sums) = self.col_sums.first_chunk() {
            return *sums;
        }
        let mut sums = [0; W];
        sums[..self.col_sums.len()].copy_from_slice(self.col_sums);
        sums
    }

    /// The sum of the region's row `i`, to each of whose numbers `a` is added.
    #[inline(always)]
    pub(super) fn row_sum(&self, i: usize, a: i32) -> i32 {
        let sum = self.row_sums.get(i).copied().unwrap_or(0);
        sum.wrapping_add(a.wrapping_mul(self.depth as i32))
    }

    /// What uniform offsets add to the sums of row `i`.
    #[inline(always)]
    pub(super) fn of_row(&self, i: usize, (a, b): (i32, i32)) -> i32 {
        self.row_sum(i, a).wrapping_mul(b)
    }

    /// What they add to the sums of each row, from the region's row `first` on. In loops that become vectors.
    #[inline(always)]
    pub(super) fn fill_terms(&self, first: usize, (a, b): (i32, i32), terms: &mut [i32]) {
        let of_depth = a.wrapping_mul(self.depth as i32);
        match self.row_sums.get(first..first + terms.len()) {
            Some(sums) => {
                terms.iter_mut().zip(sums).for_each(|(x, sum)| *x = sum.wrapping_add(of_depth).wrapping_mul(b))
            }
            None => terms.fill(of_depth.wrapping_mul(b)),
        }
    }

    /// The same, where all columns have an offset `b`, but rows may differ: besides what they add to each column.
    #[inline(always)]
    pub(super) fn fill_row_terms(&self, first: usize, b: i32, terms: &mut [i32]) {
        match self.row_offsets.uniform() {
            Some(a) => self.fill_terms(first, (a, b), terms),
            None => terms.iter_mut().zip(first..).for_each(|(term, i)| {
                *term = if b == 0 { 0 } else { self.of_row(i, (self.row_offsets.of(self.rows.start + i), b)) };
            }),
        }
    }

    /// What they add to those of each column.
    #[inline(always)]
    pub(super) fn of_cols<const W: usize>(&self, (a, _): (i32, i32)) -> [i32; W] {
        let mut terms = self.panel_sums();
        terms.iter_mut().for_each(|sum| *sum = i32::wrapping_mul(*sum, a));
        terms
    }
}

/// What is added to the numbers of each line as the kernels read them: `offset` less `shift`, what reading them as another
/// encoding has added already.
#[derive(Clone, Copy)]
pub(crate) struct LineOffsets<'a> {
    pub offset: Offset<'a>,
    pub shift: i32,
}

impl LineOffsets<'_> {
    #[inline(always)]
    pub(crate) fn of(&self, line: usize) -> i32 {
        match self.offset {
            Offset::Uniform(offset) => offset.wrapping_sub(self.shift),
            Offset::PerLine(offsets) => offsets[line].wrapping_sub(self.shift),
        }
    }

    /// The offset of all lines, if it is known to be the same.
    #[inline(always)]
    pub(crate) fn uniform(&self) -> Option<i32> {
        match self.offset {
            Offset::Uniform(offset) => Some(offset.wrapping_sub(self.shift)),
            Offset::PerLine(_) => None,
        }
    }
}
