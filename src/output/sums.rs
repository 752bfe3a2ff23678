//! Sums that are the result: nothing but offsets is added to them.

#[cfg(target_arch = "x86_64")]
use crate::kernel::relay::Terms;
use crate::kernel::{Loop, Vectors};
use crate::matrix::{Block, Output};
use std::ops::Range;

/// Where a tile's sums go, and what uniform offsets of the operands add to them.
#[derive(Clone)]
pub(crate) struct Sums<'a> {
    pub out: &'a Output<'a, i32>,
    /// The tile's first row.
    pub row: usize,
    pub cols: Range<usize>,
    /// The sums of the tile's rows of the LHS, and of the panel's columns of the RHS; empty if nobody needs them.
    pub row_sums: &'a [i32],
    pub col_sums: &'a [i32],
    /// What is added to the numbers of the LHS and to those of the RHS.
    pub offsets: (i32, i32),
    pub depth: usize,
}

impl Sums<'_> {
    /// Those of a tile so many rows further down.
    #[inline(always)]
    pub(crate) fn part(&self, row: usize) -> Self {
        let row_sums = self.row_sums.get(row..).unwrap_or_default();
        Self { row: self.row + row, cols: self.cols.clone(), row_sums, ..*self }
    }

    /// Those of the panel that is so many panels of `W` columns further on.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn panel<const W: usize>(&self, panel: usize) -> Self {
        let start = self.cols.start + panel * W;
        let col_sums = self.col_sums.get(panel * W..).unwrap_or_default();
        Self { cols: start..self.cols.end.min(start + W), col_sums, ..*self }
    }

    /// The places of so many rows.
    ///
    /// # Safety
    /// Nobody else uses them.
    #[inline(always)]
    pub(crate) unsafe fn rows(&self, count: usize) -> Block<'_, i32> {
        // SAFETY: this function's own promise.
        unsafe { self.out.block(self.row..self.row + count, self.cols.clone()) }
    }

    /// Where so many rows begin, and how many elements they are apart.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn place(&self, rows: usize) -> (*mut i32, usize) {
        assert!(self.row + rows <= self.out.rows && self.cols.end <= self.out.cols);
        let (first, stride) = self.out.place();
        (first.wrapping_add(self.row * stride + self.cols.start), stride)
    }

    /// What is added to so many rows.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn terms(&self, rows: usize) -> Terms<'_> {
        assert!(self.row_sums.is_empty() || self.row_sums.len() >= rows);
        let (a, b) = self.offsets;
        Terms { sums: self.row_sums, depth: a.wrapping_mul(self.depth as i32), times: b, bias: &[] }
    }

    /// What is added to the rows of a tile of `N`.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn of_rows<const N: usize>(&self) -> [i32; N] {
        assert!(self.row_sums.is_empty() || self.row_sums.len() >= N);
        let mut terms = self.row_sums.first_chunk().copied().unwrap_or([0; N]);
        terms.iter_mut().for_each(|sum| *sum = self.of_row(*sum));
        terms
    }

    /// What is added to a row whose sum is this.
    #[inline(always)]
    fn of_row(&self, sum: i32) -> i32 {
        let (a, b) = self.offsets;
        sum.wrapping_add(a.wrapping_mul(self.depth as i32)).wrapping_mul(b)
    }

    /// What is added to each column of a panel.
    #[inline(always)]
    pub(crate) fn of_cols<const W: usize>(&self) -> [i32; W] {
        let mut terms = self.col_sums.first_chunk().copied().unwrap_or([0; W]);
        terms.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(self.offsets.0));
        terms
    }

    /// Brings so many rows of sums to their place, `pitch` from one row's first to the next one's, of however many columns.
    ///
    /// # Safety
    /// Nobody else uses it.
    pub(crate) unsafe fn write_wide(&self, count: usize, from: &[i32], pitch: usize, vectors: Vectors) {
        // SAFETY: this function's own promise.
        let to = unsafe { self.rows(count) };
        vectors.run(Writing { sums: self, from, pitch, to });
    }

    /// Brings so many rows of sums to their place.
    ///
    /// # Safety
    /// Nobody else uses it.
    #[inline(always)]
    pub(crate) unsafe fn write<const W: usize>(&self, count: usize, acc: &[i32]) {
        let of_cols = self.of_cols::<W>();
        // SAFETY: this function's own promise.
        let rows = unsafe { self.rows(count) };
        for (i, (to, acc)) in rows.zip(acc.as_chunks::<W>().0).enumerate() {
            let of_row = self.of_row(self.row_sums.get(i).copied().unwrap_or(0));
            let (eights, rest) = to.as_chunks_mut::<8>();
            let done = 8 * eights.len();
            for ((to, acc), of_cols) in eights.iter_mut().zip(acc.as_chunks().0).zip(of_cols.as_chunks::<8>().0) {
                // All are read before any is written: else the compiler adds them one by one, for it sees no difference
                // between where they lie and where they go.
                let mut sums: [i32; 8] = *acc;
                for (x, of_col) in sums.iter_mut().zip(of_cols) {
                    *x = x.wrapping_add(*of_col).wrapping_add(of_row);
                }
                *to = sums;
            }
            for ((to, x), of_col) in rest.iter_mut().zip(&acc[done..]).zip(&of_cols[done..]) {
                *to = x.wrapping_add(*of_col).wrapping_add(of_row);
            }
        }
    }
}

/// Rows of sums on their way.
struct Writing<'w> {
    sums: &'w Sums<'w>,
    from: &'w [i32],
    pitch: usize,
    to: Block<'w, i32>,
}

impl Loop for Writing<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Self { sums, from, pitch, to } = self;
        for (i, to) in to.enumerate() {
            let from = &from[i * pitch..][..to.len()];
            let of_row = sums.of_row(sums.row_sums.get(i).copied().unwrap_or(0));
            match (sums.offsets.0, sums.col_sums.get(..to.len())) {
                (1.. | ..=-1, Some(col_sums)) => {
                    for ((to, x), sum) in to.iter_mut().zip(from).zip(col_sums) {
                        *to = x.wrapping_add(sum.wrapping_mul(sums.offsets.0)).wrapping_add(of_row);
                    }
                }
                _ => to.iter_mut().zip(from).for_each(|(to, x)| *to = x.wrapping_add(of_row)),
            }
        }
    }
}
