//! Scaling sums of requantized numbers back up.

use super::Region;
use super::compensation::Compensation;
use crate::fixed_point::Fraction;
use crate::kernel::{Loop, MAX_ROWS};
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
    /// Up to which depth no sum of products leaves 31 bits.
    shallow: usize,
    /// If both sides are to be compensated.
    compensation: Option<Compensation>,
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
            shallow: (i32::MAX / (l * r)) as usize,
            compensation: lhs.is_compensated().then_some(Compensation { row_levels: l, col_levels: r }),
        })
    }

    #[inline(always)]
    fn apply<const W: usize>(&self, region: &Region, acc: &mut [[i32; W]]) {
        let depth = region.depth as i32;
        let (row_shift, col_shift) = (self.row_shift, self.col_shift);
        let (mut row_sums, mut col_sums) = ([0; MAX_ROWS], [0; W]);
        row_sums.iter_mut().zip(region.row_sums).for_each(|(to, sum)| *to = *sum);
        col_sums.iter_mut().zip(region.col_sums).for_each(|(to, sum)| *to = *sum);

        // Σ l·r as it would be had nothing been added to l and r, and so the sums.
        let (mut row_terms, mut col_terms) = ([0; MAX_ROWS], [0; W]);
        let rows = acc.len();
        for (term, sum) in row_terms[..rows].iter_mut().zip(&mut row_sums) {
            let unshifted = sum.wrapping_sub(depth.wrapping_mul(row_shift));
            *term = unshifted.wrapping_mul(col_shift);
            *sum = unshifted;
        }
        for (term, sum) in col_terms.iter_mut().zip(&mut col_sums) {
            *term = sum.wrapping_mul(row_shift);
            *sum = sum.wrapping_sub(depth.wrapping_mul(col_shift));
        }

        match (region.row_offsets.uniform(), region.col_offsets.uniform()) {
            (Some(a), Some(b)) if region.depth <= self.shallow => {
                let constant = a.wrapping_mul(b).wrapping_mul(depth);
                let (mut of_rows, mut of_cols) = ([0; MAX_ROWS], [0; W]);
                for (term, sum) in of_rows[..rows].iter_mut().zip(&row_sums) {
                    *term = self.row_sums.of(sum.wrapping_mul(b)).wrapping_add(constant);
                }
                for (term, sum) in of_cols.iter_mut().zip(&col_sums) {
                    *term = self.col_sums.of(sum.wrapping_mul(a));
                }
                // Of its own: behind a black box it could be another.
                let fraction = self.products;
                for ((acc, row_term), of_row) in acc.iter_mut().zip(&row_terms).zip(&of_rows) {
                    // As in `add_offsets`.
                    let (row_term, of_row) = std::hint::black_box((*row_term, *of_row));
                    for ((x, col_term), of_col) in acc.iter_mut().zip(&col_terms).zip(&of_cols) {
                        let products = fraction.of_natural(x.wrapping_sub(row_term).wrapping_sub(*col_term));
                        *x = products.wrapping_add(of_row).wrapping_add(*of_col);
                    }
                }
            }
            _ => {
                let (row_offsets, col_offsets) = offsets::<W>(region);
                for (i, acc) in acc.iter_mut().enumerate() {
                    let (row_term, row_sum, a) = (row_terms[i], row_sums[i], row_offsets[i]);
                    for (j, x) in acc.iter_mut().enumerate() {
                        let (col_term, col_sum, b) = (col_terms[j], col_sums[j], col_offsets[j]);
                        let terms = [
                            self.products.of(x.wrapping_sub(row_term).wrapping_sub(col_term)),
                            self.row_sums.of(row_sum.wrapping_mul(b)),
                            self.col_sums.of(col_sum.wrapping_mul(a)),
                            a.wrapping_mul(b).wrapping_mul(depth),
                        ];
                        *x = terms.into_iter().fold(0, i32::wrapping_add);
                    }
                }
            }
        }
        if let Some(compensation) = &self.compensation {
            let (row_offsets, col_offsets) = offsets::<W>(region);
            compensation.apply(region, (&row_sums, &row_offsets), (&col_sums, &col_offsets), acc);
        }
    }
}

/// Rescaling a tile. Compiled by itself, or the compiler finds no registers for what all rows need.
pub(super) struct Rescaling<'a, const W: usize> {
    pub rescale: &'a Rescale,
    pub region: &'a Region<'a>,
    pub acc: &'a mut [[i32; W]],
}

impl<const W: usize> Loop for Rescaling<'_, W> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        self.rescale.apply(self.region, self.acc);
    }
}

/// What is added to the numbers of each of the region's rows and columns.
#[inline(always)]
fn offsets<const W: usize>(region: &Region) -> ([i32; MAX_ROWS], [i32; W]) {
    let (mut rows, mut cols) = ([0; MAX_ROWS], [0; W]);
    rows.iter_mut().zip(region.rows.clone()).for_each(|(a, row)| *a = region.row_offsets.of(row));
    cols.iter_mut().zip(region.cols.clone()).for_each(|(b, col)| *b = region.col_offsets.of(col));
    (rows, cols)
}
