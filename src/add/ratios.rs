//! Sums in f32.

use super::Add;
use super::codes::Codes;
use crate::code::{Code, nearest_f32};
use crate::grid::Zip;

/// `(a - a_zero_point) · a_ratio + (b - b_zero_point) · b_ratio` in f32, rounded, and the zero point. `CONFINED` has sums
/// confined before they are rounded, too.
pub(super) struct Ratios<T, const CONFINED: bool> {
    zero_points: [i32; 2],
    ratios: [f32; 2],
    least: f32,
    greatest: f32,
    codes: Codes<T>,
}

fn ratios(add: &Add) -> [f32; 2] {
    [0, 1].map(|i| f32::from_bits(add.multipliers[i] as u32))
}

/// Whether sums may be so great that rounding them in f32 needs them confined first.
pub(super) fn may_be_great<T: Code>(add: &Add) -> bool {
    let [a, b] = ratios(add).map(|ratio| ratio.abs() * (2 * (T::GREATEST - T::LEAST)) as f32);
    // Neither may be NaN in parameters that were found, but then they need not have been.
    a.is_nan() || b.is_nan() || a + b >= (1 << 22) as f32
}

impl<T: Code, const CONFINED: bool> Ratios<T, CONFINED> {
    pub(super) fn new(add: &Add) -> Self {
        let [a_zero_point, b_zero_point, zero_point] = add.zero_points;
        Self {
            zero_points: [a_zero_point, b_zero_point],
            ratios: ratios(add),
            least: add.least.wrapping_sub(zero_point) as f32,
            greatest: add.greatest.wrapping_sub(zero_point) as f32,
            codes: Codes::new(zero_point, add.least, add.greatest),
        }
    }
}

impl<T: Code, const CONFINED: bool> Zip for Ratios<T, CONFINED> {
    type A = T;
    type B = T;
    type To = T;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        self.all([a], [b])[0]
    }

    #[inline(always)]
    fn all<const N: usize>(&self, a: [T; N], b: [T; N]) -> [T; N] {
        let ([a_zero_point, b_zero_point], [a_ratio, b_ratio]) = (self.zero_points, self.ratios);
        let mut numbers = [0; N];
        for i in 0..N {
            let a = a[i].number().wrapping_sub(a_zero_point) as f32 * a_ratio;
            let b = b[i].number().wrapping_sub(b_zero_point) as f32 * b_ratio;
            let mut sum = a + b;
            if CONFINED {
                // To integers, which is the same.
                sum = if sum < self.least { self.least } else { sum };
                sum = if sum > self.greatest { self.greatest } else { sum };
            }
            numbers[i] = nearest_f32(sum);
        }
        self.codes.of(numbers)
    }
}
