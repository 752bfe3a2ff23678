//! Scaling sums of requantized numbers back up.

use super::Region;
use crate::fixed_point::Fraction;
use crate::reading::Reading;

/// How the four terms of Σ (l + a)(r + b) = Σ l·r + b · Σ l + a · Σ r + depth · a · b are scaled, where l and r were
/// requantized to numbers from 0 to L and R, but the offsets a and b were not: each by itself, as gemmlowp did, the last
/// not at all.
#[derive(Debug)]
pub(crate) struct Rescale {
    /// By 255² / (L · R).
    products: Fraction,
    /// The sums of rows, by 255 / L.
    row_sums: Fraction,
    /// The sums of columns, by 255 / R.
    col_sums: Fraction,
    /// What was added to the requantized numbers of the rows when they were stored.
    row_shift: i32,
    /// And of the columns.
    col_shift: i32,
}

impl Rescale {
    /// None if neither side was requantized.
    pub(crate) fn new(lhs: &Reading, rhs: &Reading) -> Option<Self> {
        if lhs.requantization.is_none() && rhs.requantization.is_none() {
            return None;
        }
        let (l, r) = (lhs.levels(), rhs.levels());
        Some(Self {
            products: Fraction::new(255 * 255, l * r),
            row_sums: Fraction::new(255, l),
            col_sums: Fraction::new(255, r),
            row_shift: lhs.shift,
            col_shift: rhs.shift,
        })
    }

    #[inline(always)]
    pub(super) fn apply<const W: usize>(&self, region: &Region, acc: &mut [[i32; W]]) {
        let depth = region.depth as i32;
        let (row_shift, col_shift) = (self.row_shift, self.col_shift);
        let stored_cols: [i32; W] = region.col_sums.first_chunk().copied().unwrap_or([0; W]);
        let mut cols = stored_cols;
        cols.iter_mut().for_each(|sum| *sum = sum.wrapping_sub(depth.wrapping_mul(col_shift)));
        let mut offsets = [0; W];
        offsets.iter_mut().zip(region.cols.clone()).for_each(|(b, col)| *b = region.col_offsets.of(col));
        let constant = depth.wrapping_mul(row_shift).wrapping_mul(col_shift);
        for (i, (acc, row)) in acc.iter_mut().zip(region.rows.clone()).enumerate() {
            let stored_row = region.row_sums.get(i).copied().unwrap_or(0);
            let sum = stored_row.wrapping_sub(depth.wrapping_mul(row_shift));
            let a = region.row_offsets.of(row);
            // Σ l·r as it would be had nothing been added to l and r.
            let unshifted = constant.wrapping_sub(stored_row.wrapping_mul(col_shift));
            for (x, col) in acc.iter_mut().zip(&stored_cols) {
                let product = x.wrapping_add(unshifted).wrapping_sub(col.wrapping_mul(row_shift));
                *x = self.products.of(product);
            }
            for (x, b) in acc.iter_mut().zip(&offsets) {
                let row_term = self.row_sums.of(sum.wrapping_mul(*b));
                *x = x.wrapping_add(row_term).wrapping_add(a.wrapping_mul(*b).wrapping_mul(depth));
            }
            for (x, col) in acc.iter_mut().zip(&cols) {
                *x = x.wrapping_add(self.col_sums.of(col.wrapping_mul(a)));
            }
        }
    }
}
