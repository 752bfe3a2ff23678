//! Scaling by a real number in fixed point, and the three ways in which others round it.
//!
//! The number is `multiplier · 2^(exponent - 31)`; most are below 1, with an exponent of at most 0. Where a loop knows
//! that all of its exponents are, it says so by `exponent.min(0)`, and the compiler drops what only others need.

use super::{Tile, Values};
use crate::fixed_point::{
    rounding_divide_by_pot, rounding_shift_right_up, saturating_rounding_doubling_high_mul, saturating_shift_left,
};

/// How a scaled number is rounded to an integer. Each rounds to nearest; they differ in ties, and in what is a tie.
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
    /// What is multiplied by, over 2³¹.
    pub multiplier: Values<'a, i32>,
    /// The power of two that goes with it: -31 to 30.
    pub exponent: Values<'a, i32>,
    /// Added at last.
    pub offset_after: i32,
    /// How the product is rounded.
    pub rounding: Rounding,
}

impl Scale<'_> {
    #[inline(always)]
    pub(super) fn apply<const W: usize>(&self, tile: &mut Tile<W>) {
        match self.rounding {
            Rounding::Twice => self.apply_as(tile, scaled_twice),
            Rounding::TwiceUp => self.apply_as(tile, scaled_twice_up),
            Rounding::Once => self.apply_as(tile, scaled_once),
        }
    }

    #[inline(always)]
    fn apply_as<const W: usize>(&self, tile: &mut Tile<W>, scaled: impl Fn(i32, i32, i32) -> i32) {
        let Self { multiplier, exponent, offset_after, .. } = self;
        // Most exponents are at most 0, and then nothing is shifted to the left.
        if exponent.all().iter().any(|&exponent| exponent > 0) {
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
