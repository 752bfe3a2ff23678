//! Scaling by a real number in fixed point, and the three ways in which others round it.
//!
//! The number is `multiplier · 2^(exponent - 31)`; most are below 1, with an exponent of at most 0. Where a loop knows
//! that all of its exponents are, it says so by `exponent.min(0)`, and the compiler drops what only others need.

use super::{Tile, Values};
use crate::fixed_point::{
    rounding_divide_by_pot, rounding_shift_right_up, saturating_rounding_doubling_high_mul, saturating_shift_left,
};

/// How a scaled number is rounded to an integer. Each rounds to nearest; they differ in ties, and in what is a tie.
///
/// | x | multiplier | exponent | exact | `Twice` | `TwiceUp` | `Once` |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | 5 | 2³⁰ | -1 | 1.25 | 2 | 2 | 1 |
/// | -6 | 2³⁰ | -1 | -1.5 | -2 | -1 | -1 |
/// | 22 | 1518500250 | -5 | 0.486 | 1 | 1 | 0 |
/// | 2³⁰ | 2³⁰ | 2 | 2³¹ | 2³⁰ | 2³⁰ | 2³¹ - 1 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// After the product, ties up; and after a shift to the right, ties away from zero: gemmlowp, TFLite's reference.
    Twice,
    /// After the product, ties up; and after a shift to the right, ties up: ruy on x86, TFLite's helpers for NEON.
    TwiceUp,
    /// At the very end, ties up: ruy on Arm, TFLite with single rounding, XNNPACK's integer arithmetic.
    Once,
}

/// Multiplies by `multiplier · 2^(exponent - 31)`, rounds, and adds `offset_after`, which wraps around.
///
/// gemmlowp's `OutputStageScaleInt32ByFixedPointAndExponent`, and with minus the shift for an exponent its
/// `OutputStageQuantizeDownInt32ByFixedPoint`.
#[derive(Clone, Copy, Debug)]
pub struct Scale<'a> {
    pub(crate) multiplier: Values<'a, i32>,
    pub(crate) exponent: Values<'a, i32>,
    pub(super) offset_after: i32,
    pub(super) rounding: Rounding,
    /// Whether anything is shifted to the left. Most exponents are at most 0.
    pub(super) is_left: bool,
}

impl<'a> Scale<'a> {
    /// Every exponent is -31 to 30.
    ///
    /// # Errors
    /// If one is not: that one.
    #[inline]
    pub fn new(
        multiplier: Values<'a, i32>,
        exponent: Values<'a, i32>,
        offset_after: i32,
        rounding: Rounding,
    ) -> Result<Self, i32> {
        let is_left = !exponent.are_right_shifts();
        if is_left && let Some(exponent) = exponent.except(|exponent| (-31..=30).contains(&exponent)) {
            return Err(exponent);
        }
        Ok(Self { multiplier, exponent, offset_after, rounding, is_left })
    }

    /// Whether nothing is shifted to the left, and no product saturates.
    pub(super) fn is_plain(&self) -> bool {
        !self.is_left && (self.multiplier.are_natural() || self.multiplier.are_all(|multiplier| multiplier != i32::MIN))
    }

    #[inline(always)]
    pub(super) fn apply(&self, tile: &mut Tile) {
        match self.rounding {
            Rounding::Twice => self.apply_as(tile, scaled_twice),
            Rounding::TwiceUp => self.apply_as(tile, scaled_twice_up),
            Rounding::Once => self.apply_as(tile, scaled_once),
        }
    }

    #[inline(always)]
    fn apply_as(&self, tile: &mut Tile, scaled: impl Fn(i32, i32, i32) -> i32) {
        let Self { multiplier, exponent, offset_after, is_left, .. } = self;
        if *is_left {
            multiplier.apply_both(exponent, tile, |x, m, e| scaled(x, m, e).wrapping_add(*offset_after));
        } else {
            multiplier.apply_both(exponent, tile, |x, m, e| scaled(x, m, e.min(0)).wrapping_add(*offset_after));
        }
    }
}

impl Rounding {
    /// Scales numbers by the same real number.
    #[inline(always)]
    pub(super) fn scale(self, numbers: &mut [i32], multiplier: i32, exponent: i32) {
        match self {
            Rounding::Twice => numbers.iter_mut().for_each(|x| *x = scaled_twice(*x, multiplier, exponent)),
            Rounding::TwiceUp => numbers.iter_mut().for_each(|x| *x = scaled_twice_up(*x, multiplier, exponent)),
            Rounding::Once => numbers.iter_mut().for_each(|x| *x = scaled_once(*x, multiplier, exponent)),
        }
    }

    /// `x · multiplier · 2^(exponent - 31)`; `exponent` is -31 to 30. For one number: a loop matches outside of it.
    pub(crate) fn scaled(self, x: i32, multiplier: i32, exponent: i32) -> i32 {
        match self {
            Rounding::Twice => scaled_twice(x, multiplier, exponent),
            Rounding::TwiceUp => scaled_twice_up(x, multiplier, exponent),
            Rounding::Once => scaled_once(x, multiplier, exponent),
        }
    }
}

/// `x · multiplier · 2^(exponent - 31)` by [`Rounding::Twice`]; `exponent` is -31 to 30.
///
/// `x · 2^exponent` saturates before the product does. So does gemmlowp on scalars; its vectors wrap around.
#[inline(always)]
pub(crate) fn scaled_twice(x: i32, multiplier: i32, exponent: i32) -> i32 {
    rounding_divide_by_pot(product(x, multiplier, exponent), right(exponent))
}

/// `x · multiplier · 2^(exponent - 31)` by [`Rounding::TwiceUp`]; `exponent` is -31 to 30.
///
/// `x · 2^exponent` saturates before the product does.
#[inline(always)]
pub(crate) fn scaled_twice_up(x: i32, multiplier: i32, exponent: i32) -> i32 {
    rounding_shift_right_up(product(x, multiplier, exponent), right(exponent))
}

/// `x · multiplier · 2^(exponent - 31)` by [`Rounding::Once`], saturated at the end; `exponent` is -31 to 30.
///
/// Tried where no exponent is positive: a biased sum, so that a logical shift will do, and a check of 32 bits. 14 instead
/// of 23 instructions for 8 numbers under AVX2, but 15 instead of 12 for 16 under AVX-512, which does all that by itself.
#[inline(always)]
pub(crate) fn scaled_once(x: i32, multiplier: i32, exponent: i32) -> i32 {
    // |product| ≤ 2⁶² and half ≤ 2⁶¹: the sum fits.
    let product = i64::from(x) * i64::from(multiplier);
    let shift = 31 - exponent;
    let rounded = (product + (1i64 << (shift - 1))) >> shift;
    rounded.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// `x · 2^exponent · multiplier / 2³¹` where `exponent` is positive, `x · multiplier / 2³¹` elsewhere.
#[inline(always)]
fn product(x: i32, multiplier: i32, exponent: i32) -> i32 {
    saturating_rounding_doubling_high_mul(saturating_shift_left(x, exponent.max(0) as u32), multiplier)
}

/// How far the product is still to be shifted to the right.
#[inline(always)]
fn right(exponent: i32) -> u32 {
    -exponent.min(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{nearest_away, nearest_up, saturated};
    use proptest::prelude::*;

    const ALL: [Rounding; 3] = [Rounding::Twice, Rounding::TwiceUp, Rounding::Once];

    fn defined(rounding: Rounding, x: i32, multiplier: i32, exponent: i32) -> i32 {
        let (x, multiplier) = (i128::from(x), i128::from(multiplier));
        if rounding == Rounding::Once {
            return saturated(nearest_up(x * multiplier, (31 - exponent) as u32));
        }
        let shifted = saturated(x << exponent.max(0));
        let product = i128::from(saturated(nearest_up(i128::from(shifted) * multiplier, 31)));
        let divided = if rounding == Rounding::Twice { nearest_away } else { nearest_up };
        saturated(divided(product, (-exponent).max(0) as u32))
    }

    fn agree(x: i32, multiplier: i32, exponent: i32) {
        for rounding in ALL {
            let found = rounding.scaled(x, multiplier, exponent);
            let defined = defined(rounding, x, multiplier, exponent);
            assert_eq!(found, defined, "{rounding:?}: {x} * {multiplier} * 2^({exponent} - 31)");
        }
    }

    #[test]
    fn the_table_of_examples_is_true() {
        let all = |x, multiplier, exponent| ALL.map(|rounding| rounding.scaled(x, multiplier, exponent));
        assert_eq!(all(5, 1 << 30, -1), [2, 2, 1]);
        assert_eq!(all(-6, 1 << 30, -1), [-2, -1, -1]);
        assert_eq!(all(22, 1518500250, -5), [1, 1, 0]);
        assert_eq!(all(1 << 30, 1 << 30, 2), [1 << 30, 1 << 30, i32::MAX]);
    }

    #[test]
    fn every_rounding_is_as_defined_at_ties_and_extremes() {
        let powers = [0, 1, 2, 3, 7, 15, 16, 28, 29, 30, 31].map(|e| (1i64 << e) as i32);
        let around = |x: i32| [-1, 0, 1].map(|step| x.wrapping_add(step));
        let odd: Vec<i32> = powers.into_iter().flat_map(|x| [x, x.wrapping_mul(-3)]).flat_map(around).collect();
        for exponent in -31..=30 {
            for &x in &odd {
                odd.iter().for_each(|&multiplier| agree(x, multiplier, exponent));
            }
        }
    }

    #[test]
    fn every_rounding_is_as_defined_for_all_small_sums() {
        for (multiplier, exponent) in [(1 << 30, 0), (1 << 30, -7), (1518500250, -5), (i32::MAX, 3), (0x5555_5555, -12)]
        {
            (-1 << 15..1 << 15).for_each(|x| agree(x, multiplier, exponent));
        }
    }

    proptest! {
        #[test]
        fn every_rounding_is_as_defined(x: i32, bits in 0u32..32, multiplier: i32, exponent in -31..=30) {
            agree(x >> bits, multiplier, exponent);
        }
    }
}
