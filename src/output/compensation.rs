//! Taking off sums what requantizing added to the means of their lines.

use super::Region;
use crate::fixed_point::rounded;
use crate::kernel::MAX_ROWS;

/// What rounding to nearest leaves is not zero on average where few values are frequent. But the means are known, X of a
/// line's elements and X' of what they were rounded to, and so Y and Y' of the other side: the product of the latter is
/// replaced by that of the former. With sums in place of means, e = (X' - X) / depth and f = (Y' - Y) / depth,
///
/// ```text
/// Σ - (X' Y' - X Y) / depth = Σ - (e (Y + Y') / 2 + (X + X') / 2 · f)
/// ```
///
/// in which neither side comes first.
#[derive(Debug)]
pub(super) struct Compensation {
    pub row_levels: i32,
    pub col_levels: i32,
}

/// Lines of one side, offsets included.
struct Means<const N: usize> {
    /// The sum, between what it was and what it became.
    middle: [f32; N],
    /// By how much an element grew, on average.
    error: [f32; N],
}

impl<const N: usize> Means<N> {
    #[inline(always)]
    fn new(levels: i32, depth: usize, requantized: &[i32; N], originals: &[i32; N], offsets: &[i32; N]) -> Self {
        let (levels, depth) = (f64::from(levels), depth as f64);
        let (step, share) = (levels.recip(), depth.recip());
        let (mut middle, mut error) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            let original = f64::from(originals[i]);
            let growth = (255.0 * f64::from(requantized[i]) - levels * original) * step;
            let sum = original + f64::from(offsets[i]) * depth;
            (middle[i], error[i]) = ((sum + growth * 0.5) as f32, (growth * share) as f32);
        }
        Self { middle, error }
    }
}

impl Compensation {
    /// The sums are those of the requantized numbers of rows and columns, offsets not included.
    #[inline(always)]
    pub(super) fn apply<const W: usize>(
        &self,
        region: &Region,
        (row_sums, row_offsets): (&[i32; MAX_ROWS], &[i32; MAX_ROWS]),
        (col_sums, col_offsets): (&[i32; W], &[i32; W]),
        acc: &mut [[i32; W]],
    ) {
        let (mut row_originals, mut col_originals) = ([0; MAX_ROWS], [0; W]);
        row_originals.iter_mut().zip(region.row_originals).for_each(|(to, sum)| *to = *sum);
        col_originals.iter_mut().zip(region.col_originals).for_each(|(to, sum)| *to = *sum);
        let rows = Means::new(self.row_levels, region.depth, row_sums, &row_originals, row_offsets);
        let cols = Means::new(self.col_levels, region.depth, col_sums, &col_originals, col_offsets);
        for ((acc, row_error), row_middle) in acc.iter_mut().zip(&rows.error).zip(&rows.middle) {
            for ((x, col_error), col_middle) in acc.iter_mut().zip(&cols.error).zip(&cols.middle) {
                *x = x.wrapping_sub(rounded(row_error * col_middle + row_middle * col_error));
            }
        }
    }
}
