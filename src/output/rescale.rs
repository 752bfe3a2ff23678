//! Scaling sums of requantized numbers back up.

use super::Region;
use super::compensation::Compensation;
use crate::fixed_point::Fraction;
use crate::kernel::{Loop, MAX_ROWS, NaturalTerms, Vectors};
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

    /// No more than [`MAX_ROWS`] rows.
    #[inline(always)]
    fn apply<const W: usize>(&self, region: &Region, acc: &mut [[i32; W]], vectors: Vectors) {
        assert!(acc.len() <= MAX_ROWS, "each row has terms");
        let depth = region.depth as i32;
        let (row_shift, col_shift) = (self.row_shift, self.col_shift);
        // The sums as they would be had nothing been added to l and r, and what was added to Σ l·r.
        let row_sums = less::<MAX_ROWS>(region.row_sums, depth.wrapping_mul(row_shift));
        let col_sums = less::<W>(region.col_sums, depth.wrapping_mul(col_shift));
        let of_rows = times(&row_sums, col_shift, depth.wrapping_mul(row_shift).wrapping_mul(col_shift));
        let of_cols = times(&col_sums, row_shift, 0);

        match (region.row_offsets.uniform(), region.col_offsets.uniform()) {
            (Some(a), Some(b)) if region.depth <= self.shallow => {
                let (mut row_terms, mut col_terms) = (times(&row_sums, b, 0), times(&col_sums, a, 0));
                let constant = a.wrapping_mul(b).wrapping_mul(depth);
                row_terms.iter_mut().for_each(|term| *term = self.row_sums.of(*term).wrapping_add(constant));
                col_terms.iter_mut().for_each(|term| *term = self.col_sums.of(*term));
                let rows = NaturalTerms { before: of_rows, after: row_terms };
                let cols = NaturalTerms { before: of_cols, after: col_terms };
                vectors.scale_naturals(self.products, &rows, &cols, acc);
            }
            _ => {
                let (row_offsets, col_offsets) = offsets::<W>(region);
                for (i, acc) in acc.iter_mut().enumerate() {
                    let (of_row, row_sum, a) = (of_rows[i], row_sums[i], row_offsets[i]);
                    for (j, x) in acc.iter_mut().enumerate() {
                        let (of_col, col_sum, b) = (of_cols[j], col_sums[j], col_offsets[j]);
                        let terms = [
                            self.products.of(x.wrapping_sub(of_row).wrapping_sub(of_col)),
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

/// The first sums less so much, by a loop that becomes vectors: nobody needs those that there are too many or too few.
#[inline(always)]
fn less<const N: usize>(sums: &[i32], taken: i32) -> [i32; N] {
    let mut to = [0; N];
    match sums.first_chunk() {
        Some(first) => to = *first,
        None => to[..sums.len()].copy_from_slice(sums),
    }
    to.iter_mut().for_each(|x| *x = x.wrapping_sub(taken));
    to
}

#[inline(always)]
fn times<const N: usize>(numbers: &[i32; N], factor: i32, added: i32) -> [i32; N] {
    let mut to = *numbers;
    to.iter_mut().for_each(|x| *x = x.wrapping_mul(factor).wrapping_add(added));
    to
}

/// Rescaling tiles. Compiled by itself, or the compiler finds no registers for what all rows need.
pub(super) struct Rescaling<'a, const W: usize> {
    pub rescale: &'a Rescale,
    pub region: &'a Region<'a>,
    pub acc: &'a mut [[i32; W]],
    pub vectors: Vectors,
}

impl<const W: usize> Loop for Rescaling<'_, W> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        for (i, acc) in self.acc.chunks_mut(MAX_ROWS).enumerate() {
            let region = self.region.rows_from(i * MAX_ROWS, acc.len());
            self.rescale.apply(&region, acc, self.vectors);
        }
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
