//! Sums of natural numbers, as those that elements were requantized to, scaled by a fraction.

use super::MAX_ROWS;
use crate::fixed_point::Fraction;

/// What is taken off the sums of each row, or column, before they are scaled, so that none is negative, and what is added after that.
pub(crate) struct Terms<const N: usize> {
    pub before: [i32; N],
    pub after: [i32; N],
}

/// With what the function around it is compiled for.
#[inline(always)]
pub(super) fn scale<const W: usize>(
    fraction: Fraction,
    rows: &Terms<MAX_ROWS>,
    cols: &Terms<W>,
    sums: &mut [[i32; W]],
) {
    for (sums, row) in sums.iter_mut().zip(rows.before.iter().zip(&rows.after)) {
        // Of what it knows of, the compiler would make vectors of whole columns, gathered and scattered.
        let (before, after) = std::hint::black_box((*row.0, *row.1));
        for (x, (col_before, col_after)) in sums.iter_mut().zip(cols.before.iter().zip(&cols.after)) {
            let scaled = fraction.of_natural(x.wrapping_sub(before).wrapping_sub(*col_before));
            *x = scaled.wrapping_add(after).wrapping_add(*col_after);
        }
    }
}

/// The compiler does not multiply numbers of 32 bits in the lanes where they lie.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use super::Terms;
    use crate::fixed_point::Fraction;
    use crate::kernel::MAX_ROWS;
    use crate::kernel::vector256::{Vector, put, resume, spread};
    use std::arch::x86_64::*;

    pub(in crate::kernel) const LANES: usize = 8;

    /// As [`super::scale`], of rows of whole vectors.
    #[target_feature(enable = "avx2")]
    pub(in crate::kernel) fn scale<const W: usize>(
        fraction: Fraction,
        rows: &Terms<MAX_ROWS>,
        cols: &Terms<W>,
        sums: &mut [[i32; W]],
    ) {
        let scale = Scale::new(fraction);
        for (sums, row) in sums.iter_mut().zip(rows.before.iter().zip(&rows.after)) {
            let (before, after) = (all(*row.0), all(*row.1));
            let cols = cols.before.as_chunks().0.iter().zip(cols.after.as_chunks().0);
            for (x, (col_before, col_after)) in sums.as_chunks_mut::<LANES>().0.iter_mut().zip(cols) {
                let natural = _mm256_sub_epi32(resume(x), _mm256_add_epi32(before, resume(col_before)));
                put(x, _mm256_add_epi32(scale.of(natural), _mm256_add_epi32(after, resume(col_after))));
            }
        }
    }

    /// [`Fraction::of_natural`] of eight numbers.
    struct Scale {
        integer: Vector,
        rest: Vector,
        nudge: Vector,
    }

    impl Scale {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn new(fraction: Fraction) -> Self {
            let (integer, rest, nudge) = fraction.natural();
            Self { integer: all(integer), rest: all(rest as i32), nudge: _mm256_set1_epi64x(nudge as i64) }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn of(&self, x: Vector) -> Vector {
            let (even, odd) = (_mm256_mul_epu32(x, self.rest), _mm256_mul_epu32(_mm256_srli_epi64::<32>(x), self.rest));
            let (even, odd) = (_mm256_add_epi64(even, self.nudge), _mm256_add_epi64(odd, self.nudge));
            // The odd ones' bits from the 31st on are brought to the upper half.
            let (even, odd) = (_mm256_srli_epi64::<31>(even), _mm256_add_epi64(odd, odd));
            let rounded = _mm256_blend_epi32::<0b_1010_1010>(even, odd);
            _mm256_add_epi32(_mm256_mullo_epi32(x, self.integer), rounded)
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(x: i32) -> Vector {
        spread(x.to_ne_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn every_kernel_agrees_with_the_fraction_of_each_sum() {
        let hash = |i: usize| (i as i32).wrapping_mul(-1_640_531_527);
        let levels = |bits: i32| (1 << bits) - 1;
        let rows = Terms::<MAX_ROWS> {
            before: std::array::from_fn(|i| hash(i) >> 3),
            after: std::array::from_fn(|i| hash(i + 1)),
        };
        let cols =
            Terms::<16> { before: std::array::from_fn(|j| hash(j) >> 5), after: std::array::from_fn(|j| hash(j + 2)) };
        // The least and the greatest, and any others.
        let natural = |i: usize, j: usize| match i * 16 + j {
            0..4 => [0, 1, i32::MAX, i32::MAX - 1][j],
            place => (hash(place) & i32::MAX) >> (place % 31),
        };
        let fraction = |pair: i32| Fraction::new(255 * 255, levels(pair / 8 + 1) * levels(pair % 8 + 1));
        for (kernel, fraction) in
            Kernel::available().flat_map(|kernel| (0..64).map(move |pair| (kernel, fraction(pair))))
        {
            let mut sums: [[i32; 16]; 5] = std::array::from_fn(|i| {
                std::array::from_fn(|j| natural(i, j).wrapping_add(rows.before[i]).wrapping_add(cols.before[j]))
            });
            kernel.vectors.scale_naturals(fraction, &rows, &cols, &mut sums);
            for (i, sums) in sums.iter().enumerate() {
                for (j, &sum) in sums.iter().enumerate() {
                    let want = fraction.of(natural(i, j)).wrapping_add(rows.after[i]).wrapping_add(cols.after[j]);
                    assert_eq!(sum, want, "{}, {fraction:?}, row {i}, column {j}", kernel.name);
                }
            }
        }
    }
}
