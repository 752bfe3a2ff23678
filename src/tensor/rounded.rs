//! The last step of formulas with real numbers: they become integers of a range.

use super::{Formula, PARAMETERS, Parameters, Same};
use crate::fixed_point::rounded_small;
use crate::range::ElementRange;

/// More than any difference of two integers of 16 bits and a sign.
pub(super) const FAR: f32 = (1 << 18) as f32;

/// A real number that an element becomes.
pub(super) trait Real: Copy + Sync {
    /// Whether it may be NaN, which counts as 0.
    const MAY_BE_NAN: bool = true;

    /// Whether it is rounded with ties away from zero, not to even.
    const ARE_TIES_AWAY: bool = false;

    /// Always inlined; see [`crate::kernel::Loop::run`].
    fn of(&self, x: i32, parameters: [i32; PARAMETERS]) -> f32;

    /// What is added once it is rounded: the last parameter.
    #[inline(always)]
    fn zero_point([.., zero_point]: [i32; PARAMETERS]) -> i32 {
        zero_point
    }
}

/// Rounds real numbers, adds the zero point, and confines the sums. All integers are of 16 bits and a sign.
#[derive(Clone, Copy)]
pub(super) struct Rounded<R> {
    pub real: R,
    pub range: ElementRange,
}

impl<R: Real> Formula for Rounded<R> {
    #[inline(always)]
    fn of(&self, x: i32, parameters: [i32; PARAMETERS]) -> i32 {
        let real = self.real.of(x, parameters);
        self.integer::<Same>(if real.is_nan() { 0.0 } else { real }, parameters)
    }

    #[inline(always)]
    fn each<P: Parameters>(&self, words: &mut [i32], parameters: P) {
        if !R::MAY_BE_NAN {
            for (i, word) in words.iter_mut().enumerate() {
                *word = self.integer::<P>(self.real.of(*word, parameters.of(i)), parameters.of(i));
            }
            return;
        }
        // NaN is rare, and to look for it in two numbers at once takes no longer than in one.
        let mut is_some_nan = false;
        for (i, word) in words.iter_mut().enumerate() {
            let real = self.real.of(*word, parameters.of(i));
            is_some_nan |= real.is_nan();
            *word = real.to_bits() as i32;
        }
        if is_some_nan {
            for word in words.iter_mut() {
                *word = if float(*word).is_nan() { 0 } else { *word };
            }
        }
        for (i, word) in words.iter_mut().enumerate() {
            *word = self.integer::<P>(float(*word), parameters.of(i));
        }
    }
}

impl<R: Real> Rounded<R> {
    /// Of a number. If many have the same zero point, they are confined before it is added, which takes less.
    #[inline(always)]
    fn integer<P: Parameters>(&self, x: f32, parameters: [i32; PARAMETERS]) -> i32 {
        let ElementRange { least, greatest } = self.range;
        let zero_point = R::zero_point(parameters);
        if P::ARE_ZERO_POINTS_SAME {
            // To integers, which rounding leaves alone.
            let (below, above) = (least.wrapping_sub(zero_point) as f32, greatest.wrapping_sub(zero_point) as f32);
            return Self::nearest(between(x, below, above)).wrapping_add(zero_point);
        }
        let sum = Self::nearest(between(x, -FAR, FAR)).wrapping_add(zero_point);
        sum.max(least).min(greatest)
    }

    /// The nearest integer to a number of less than 2²².
    #[inline(always)]
    fn nearest(x: f32) -> i32 {
        if !R::ARE_TIES_AWAY {
            return rounded_small(x);
        }
        // Cut toward zero: with the greatest float below a half, the sum is rounded to an integer only where a half is there.
        // SAFETY: a sum of less than 2³¹ in magnitude.
        unsafe { (x + 0.5f32.next_down().copysign(x)).to_int_unchecked() }
    }
}

/// `x`, which is not NaN, confined.
#[inline(always)]
pub(super) fn between(x: f32, least: f32, greatest: f32) -> f32 {
    let x = if x < least { least } else { x };
    if x > greatest { greatest } else { x }
}

#[inline(always)]
pub(super) fn float(word: i32) -> f32 {
    f32::from_bits(word as u32)
}
