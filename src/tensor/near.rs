//! Scaling by fixed point in floats of 32 bits where that surely gives the same, which takes fewer instructions.
//!
//! Each rule rounds z = x · multiplier / 2^(31 + right) + nudge to nearest, if z is no tie. The nudge is 0 if the rule rounds once,
//! and where `right` is 0. Else it is 2^-(right + 1): what the first of two roundings may lift up to a tie, which the second one
//! then rounds up; or where ties go away from zero and the product is negative, minus that.
//!
//! In floats z is off by at most |z| · 5 / 2²⁴: x, the multiplier, their product and the sum are rounded, which loses at most
//! 1 / 2²⁴ each. So whatever is farther than [`DOUBT`] from a tie is rounded as it should be if |z| < 257; and if it is greater,
//! it is beyond all bytes, for zero points are bytes, too.

use super::requantize::FixedPoint;
use super::rounded::{FAR, between, float};
use super::{Formula, PARAMETERS, Parameters};
use crate::fixed_point::rounded_small;

/// How close to a tie a number has to lie to be in doubt.
const DOUBT: f32 = 3.0 / 32768.0;

/// How far from an integer numbers are in doubt.
const SURE: f32 = 0.5 - DOUBT;

/// If the last so many bits of a multiplier are 0, and as many more as numbers are shifted to the right, then too many numbers
/// are ties.
const COARSE: u32 = 21;

/// Whether no multiplier is negative, and few numbers are in doubt, with exponents of which none is greater than 0.
pub(super) fn suits(multipliers: &[i32], exponents: &[i32]) -> bool {
    multipliers.iter().zip(exponents).all(|(multiplier, exponent)| {
        multiplier.trailing_zeros() < COARSE + exponent.unsigned_abs() && *multiplier > 0 || *multiplier == 0
    })
}

/// Numbers of which one in doubt makes all be computed as it is: with AVX2 more leave their registers.
const PART: usize = 32;

/// From 2²³ to 2²⁴ floats are the integers.
const MIDDLE: f32 = (3 << 22) as f32;

/// Half of the last place of the first of two roundings, whose word tells the exponent: -31 to 0.
pub(super) fn nudge(exponent: i32) -> i32 {
    if exponent == 0 { 0 } else { power(exponent - 1) }
}

/// multiplier · 2^(exponent - 31) in f32.
pub(super) fn scale(multiplier: i32, exponent: i32) -> i32 {
    (multiplier as f32 * float(power(exponent - 31))).to_bits() as i32
}

/// The word of a power of two.
fn power(exponent: i32) -> i32 {
    exponent.wrapping_add(127).wrapping_shl(23)
}

/// As [`FixedPoint`], to bytes, of multipliers and exponents that [`suits`]; but [`nudge`] stands where the exponent did, and
/// [`scale`] comes last. `nudged` adds a nudge of this magnitude to what a third number became, whose sign may count.
#[derive(Clone, Copy)]
pub(super) struct Near<S, N> {
    pub exact: FixedPoint<S>,
    pub nudged: N,
}

impl<S: Fn(i32, i32, i32) -> i32 + Copy + Sync, N: Fn(f32, f32, f32) -> f32 + Copy + Sync> Formula for Near<S, N> {
    #[inline(always)]
    fn of(&self, x: i32, parameters: [i32; PARAMETERS]) -> i32 {
        self.exact.of(x, with_exponent(parameters))
    }

    #[inline(always)]
    fn each<P: Parameters>(&self, words: &mut [i32], parameters: P) {
        for (i, some) in words.chunks_mut(PART).enumerate() {
            self.some(some, Onward { parameters, first: i * PART });
        }
    }
}

impl<S: Fn(i32, i32, i32) -> i32 + Copy + Sync, N: Fn(f32, f32, f32) -> f32 + Copy + Sync> Near<S, N> {
    #[inline(always)]
    fn some<P: Parameters>(&self, words: &mut [i32], parameters: Onward<P>) {
        let mut found = [0; PART];
        let found = &mut found[..words.len()];
        let mut is_in_doubt = false;
        for (i, (found, x)) in found.iter_mut().zip(words.iter()).enumerate() {
            let [from_zero, _, nudge, to_zero, scale] = parameters.of(i);
            let x = x.wrapping_sub(from_zero) as f32;
            let z = (self.nudged)(x * float(scale), float(nudge), x);
            let (least, greatest) = self.exact.ends(to_zero);
            // To integers, which are never in doubt; or by what takes less where zero points differ.
            let z = match P::ARE_SAME {
                true => between(z, least as f32, greatest as f32),
                false => between(z, -FAR, FAR),
            };
            is_in_doubt |= (z - ((z + MIDDLE) - MIDDLE)).abs() > SURE;
            let sum = rounded_small(z).wrapping_add(to_zero);
            *found = if P::ARE_SAME { sum } else { sum.max(self.exact.least).min(self.exact.greatest) };
        }
        if is_in_doubt {
            for (i, x) in words.iter_mut().enumerate() {
                *x = self.exact.of(*x, with_exponent(parameters.of(i)));
            }
        } else {
            words.copy_from_slice(found);
        }
    }
}

/// The parameters from index `first` on.
#[derive(Clone, Copy)]
struct Onward<P> {
    parameters: P,
    first: usize,
}

impl<P: Parameters> Onward<P> {
    #[inline(always)]
    fn of(&self, i: usize) -> [i32; PARAMETERS] {
        self.parameters.of(self.first + i)
    }
}

#[inline(always)]
fn with_exponent([from_zero, multiplier, nudge, to_zero, scale]: [i32; PARAMETERS]) -> [i32; PARAMETERS] {
    let exponent = if nudge == 0 { 0 } else { (nudge >> 23).wrapping_sub(126) };
    [from_zero, multiplier, exponent, to_zero, scale]
}
