//! Scaling by fixed point in floats of 32 bits where that surely gives the same, which takes fewer instructions.
//!
//! Each rule rounds z = x · multiplier / 2^(31 + right) + nudge to nearest, if z is no tie. The nudge is 0 if the rule rounds once,
//! and where `right` is 0. Else it is 2^-(right + 1): what the first of two roundings may lift up to a tie, which the second one
//! then rounds up; or where ties go away from zero and the product is negative, minus that.
//!
//! Where |z| is up to [`MOST`], z in floats is off by at most |z| · 5 / 2²⁴: x, the multiplier, their product and the sum are rounded,
//! which loses at most 1 / 2²⁴ each. It is counted in 65536ths: that makes 5.1 of them, and less than one more is lost where they
//! are cut to an integer. So whatever is [`DOUBT`] from a tie is rounded as it should be. What is greater than [`MOST`] is beyond
//! all bytes, for zero points are bytes, too.

use super::requantize::FixedPoint;
use super::rounded::{between, float};
use super::{Formula, PARAMETERS, Parameters};

/// What z is counted in.
const UNIT: f32 = 1.0 / (1 << PLACES) as f32;

/// Bits of its fraction.
const PLACES: i32 = 16;

/// How close to a tie a number has to lie to be in doubt, in units: a power of two, so that one bit mask tells.
const DOUBT: i32 = 8;

/// Beyond all differences of two bytes.
const MOST: f32 = 257.0;

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

/// Half of the last place of the first of two roundings, in units, as the word of a float. Exponents are -31 to 0.
pub(super) fn nudge(exponent: i32) -> i32 {
    if exponent == 0 { 0 } else { power(exponent - 1 + PLACES) }
}

/// multiplier · 2^(exponent - 31) in units, as the word of a float.
pub(super) fn scale(multiplier: i32, exponent: i32) -> i32 {
    (multiplier as f32 * float(power(exponent - 31 + PLACES))).to_bits() as i32
}

/// What is added to a number before its fraction is cut off: the result's zero point, one half, and [`DOUBT`].
pub(super) fn raise(to_zero: i32) -> i32 {
    to_zero.wrapping_shl(PLACES as u32).wrapping_add((1 << (PLACES - 1)) + DOUBT)
}

/// The zero point it was made of.
#[inline(always)]
fn lowered(raise: i32) -> i32 {
    raise >> PLACES
}

/// The exponent it was made of.
#[inline(always)]
fn exponent(nudge: i32) -> i32 {
    if nudge == 0 { 0 } else { (nudge >> 23).wrapping_sub(126 + PLACES) }
}

/// The word of a power of two.
fn power(exponent: i32) -> i32 {
    exponent.wrapping_add(127).wrapping_shl(23)
}

/// As [`FixedPoint`], to bytes, of multipliers and exponents that [`suits`]; but [`nudge`] stands where the exponent did,
/// [`raise`] where the result's zero point did, and [`scale`] comes third. `nudged` adds a nudge of this magnitude to what a
/// third number became, whose sign may count.
#[derive(Clone, Copy)]
pub(super) struct Near<S, N> {
    pub exact: FixedPoint<S>,
    pub nudged: N,
}

impl<S: Fn(i32, i32, i32) -> i32 + Copy + Sync, N: Fn(f32, f32, f32) -> f32 + Copy + Sync> Formula for Near<S, N> {
    #[inline(always)]
    fn of(&self, x: i32, parameters: [i32; PARAMETERS]) -> i32 {
        self.exact.of(x, as_exact(parameters))
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
            let [_, nudge, scale, from_zero, raise] = parameters.of(i);
            let x = x.wrapping_sub(from_zero) as f32;
            let z = (self.nudged)(x * float(scale), float(nudge), x);
            // To integers, which are never in doubt; or by what takes less where zero points differ.
            let (least, greatest) = self.exact.ends(lowered(raise));
            let z = match P::ARE_ZERO_POINTS_SAME {
                true => between(z, least as f32 / UNIT, greatest as f32 / UNIT),
                false => between(z, -MOST / UNIT, MOST / UNIT),
            };
            // SAFETY: no more than the greatest difference of two bytes, in units: less than 2³¹ in magnitude.
            let sum = unsafe { z.to_int_unchecked::<i32>() }.wrapping_add(raise);
            is_in_doubt |= sum & ((1 << PLACES) - 2 * DOUBT) == 0;
            let sum = sum >> PLACES;
            *found = if P::ARE_ZERO_POINTS_SAME { sum } else { sum.max(self.exact.least).min(self.exact.greatest) };
        }
        if is_in_doubt {
            let parameters = parameters.seldom();
            for (i, x) in words.iter_mut().enumerate() {
                *x = self.exact.of(*x, as_exact(parameters.of(i)));
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

    #[inline(always)]
    fn seldom(self) -> Self {
        Self { parameters: self.parameters.seldom(), ..self }
    }
}

/// The parameters that [`FixedPoint`] takes.
#[inline(always)]
fn as_exact([multiplier, nudge, scale, from_zero, raise]: [i32; PARAMETERS]) -> [i32; PARAMETERS] {
    [multiplier, exponent(nudge), scale, from_zero, lowered(raise)]
}
