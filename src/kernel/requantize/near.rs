//! Scaling in floats of 32 bits where that surely gives what fixed point does, which takes more instructions.
//!
//! Each rule of fixed point rounds z = x · factor / 2^(31 + right) + nudge to nearest, if z is no tie. The nudge is 0 for
//! `Rule::Once`, and where `right` is 0. Else it is 2^-(right + 1): what the first of two roundings may lift up to a tie, which the
//! second one then rounds up; or for `Rule::Twice`, where the product is negative, minus that, for its ties go down.
//!
//! In floats z is off by at most |z| · 3 / 2²⁴: x, the factor, and the sum of their product and the nudge, which is fused, are rounded. So
//! whatever is farther than [`DOUBT`] from a tie is rounded as it should be if |z| < 257; and if it is greater, it is beyond all bytes,
//! for what [`suits`] are bytes that stand for numbers of at most 256. Nor does an offset make it wrap around, if `right` is not 0.

use super::{Last, Rule};

/// How close to a tie a number has to lie to be in doubt.
const DOUBT: f32 = 5.0 / 65536.0;

/// How far from an integer numbers are in doubt.
pub(super) const SURE: f32 = 0.5 - DOUBT;

/// Numbers are also rounded to integers of so many to one.
pub(super) const UNITS: f32 = 65536.0;

/// Added to such an integer, it makes the upper word the number rounded, and the lower one less than [`IN_DOUBT`] if that is in doubt.
const HALF: i32 = (0.5 * UNITS) as i32 + LEAST_SURE - 1;
pub(in crate::kernel) const IN_DOUBT: u16 = 2 * LEAST_SURE as u16 - 1;
const LEAST_SURE: i32 = 4;

/// That and an offset, in units, which together with a nudge are added to a product, all rounded once, fused. Where that becomes a
/// byte, it is at most 2²⁴ units, and off by 2 · 257 / 2⁸ of these for the product, 1 for what is added, and 3 / 4 for the sum.
#[inline(always)]
pub(in crate::kernel) fn half_and(offset: i32) -> i32 {
    HALF + (offset << 16)
}

/// The least factor of fixed point, besides 0.
pub(super) const LEAST: i32 = 1 << 30;

/// If the last so many bits of a factor are 0, and as many more as numbers are shifted to the right, then too many numbers are
/// ties.
pub(super) const COARSE: i32 = 21;

/// The most that a scale of [`super::Rule::Float`] may be, so that the sum of a product and an offset is in range.
pub(super) const MOST: f32 = 0.5;

/// If a scale of [`super::Rule::Float`] times this is an integer, then too many numbers are ties.
pub(super) const COARSE_FLOAT: f32 = 1024.0;

/// So few rows go the exact way: to get ready for floats takes as long as they save.
pub(super) const EXACT_ROWS: usize = 2;

/// Whether the nudge's sign matters. It does not if negative numbers become the least byte, as they do where a layer ends with a
/// ReLU: neither nudge makes them positive.
#[inline(always)]
pub(super) fn has_signs(rule: Rule, last: &Last) -> bool {
    matches!(rule, Rule::Twice) && last.least < last.offset
}

/// Whether the numbers that become bytes other than the least and the greatest are small enough.
#[inline(always)]
pub(super) fn suits(last: &Last) -> bool {
    let is_small = |byte: i32| byte.checked_sub(last.offset).is_some_and(|number| number.unsigned_abs() <= 256);
    is_small(last.least) && is_small(last.greatest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Rounding;
    use proptest::prelude::*;

    /// The scale, and the nudge of x.
    fn scaling(rule: Rule, x: i32, factor: i32, right: u32) -> (f32, f32) {
        let scale = factor as f32 * f32::from_bits((96 - right) << 23);
        let nudge = match rule {
            Rule::Once => 0.0,
            _ if right == 0 => 0.0,
            Rule::Twice => f32::from_bits((126 - right) << 23).copysign(x as f32),
            _ => f32::from_bits((126 - right) << 23),
        };
        (scale, nudge)
    }

    /// As vectors do it; None if it is in doubt.
    fn near(rule: Rule, x: i32, factor: i32, right: u32) -> Option<i32> {
        let (scale, nudge) = scaling(rule, x, factor, right);
        let z = (x as f32).mul_add(scale, nudge);
        let rounded = z.round_ties_even();
        ((z - rounded).abs() <= SURE).then_some(rounded as i32)
    }

    /// As [`near`], in units, with an offset.
    fn near_with_offset(rule: Rule, x: i32, factor: i32, right: u32, offset: i32) -> Option<i32> {
        let (scale, nudge) = scaling(rule, x, factor, right);
        let added = nudge.mul_add(UNITS, half_and(offset) as f32);
        let z = (x as f32).mul_add(scale * UNITS, added).round_ties_even();
        // What is out of range becomes the least integer.
        let units = if z.abs() < 2f32.powi(31) { z as i32 } else { i32::MIN };
        (units as u16 >= IN_DOUBT).then_some(units >> 16)
    }

    /// For bytes from one to another.
    fn agree_with_offset(x: i32, factor: i32, right: u32, last: &Last) {
        assert!(suits(last));
        for (rule, rounding) in
            [(Rule::Twice, Rounding::Twice), (Rule::TwiceUp, Rounding::TwiceUp), (Rule::Once, Rounding::Once)]
        {
            let exact = i64::from(rounding.scaled(x, factor, -(right as i32))) + i64::from(last.offset);
            let confined = |x: i64| x.clamp(last.least.into(), last.greatest.into());
            if let Some(found) = near_with_offset(rule, x, factor, right, last.offset) {
                assert_eq!(
                    confined(found.into()),
                    confined(exact),
                    "{rounding:?}: {x} * {factor} * 2^-(31 + {right}) + {}",
                    last.offset
                );
            }
        }
    }

    fn agree(x: i32, factor: i32, right: u32) {
        let rules = [(Rule::Twice, Rounding::Twice), (Rule::TwiceUp, Rounding::TwiceUp), (Rule::Once, Rounding::Once)];
        for (rule, rounding) in rules {
            let exact = rounding.scaled(x, factor, -(right as i32));
            let confined = |x: i32| x.clamp(-256, 256);
            if let Some(found) = near(rule, x, factor, right) {
                assert_eq!(confined(found), confined(exact), "{rounding:?}: {x} * {factor} * 2^-(31 + {right})");
            }
        }
    }

    #[test]
    fn what_is_not_in_doubt_is_exact_around_ties() {
        for right in 0..=31 {
            for factor in [LEAST, LEAST + 1, LEAST + 127, 1_518_500_250, 0x5555_5555, i32::MAX - 127, i32::MAX, 0] {
                for half in (-1024..=1024).chain([i64::from(i32::MIN), i64::from(i32::MAX)]) {
                    // What becomes half a number.
                    let x = half as f64 / 2.0 / (f64::from(factor) / 2f64.powi(31 + right as i32));
                    for step in -3..=3 {
                        let x = (x as i32).saturating_add(step);
                        agree(x, factor, right);
                        for (least, greatest, offset) in
                            [(0, 255, 128), (0, 255, 256), (-128, 127, -128), (127, 127, 383)]
                        {
                            agree_with_offset(x, factor, right, &Last { least, greatest, offset });
                        }
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_not_in_doubt_is_exact(x: i32, bits in 0u32..32, factor in LEAST..=i32::MAX, right in 0u32..32) {
            agree(x >> bits, factor, right);
        }

        #[test]
        fn with_an_offset_it_is_exact(
            x: i32,
            bits in 0u32..32,
            factor in LEAST..=i32::MAX,
            right in 0u32..32,
            (least, greatest, offset) in (prop_oneof![Just(0), Just(-128)], 0..256, 0..256).prop_flat_map(|(from, a, b): (i32, i32, i32)| {
                let (least, greatest) = (from + a.min(b), from + a.max(b));
                (Just(least), Just(greatest), greatest - 256..=least + 256)
            }),
        ) {
            agree_with_offset(x >> bits, factor, right, &Last { least, greatest, offset });
        }
    }

    proptest! {
        #[test]
        fn no_nudge_makes_a_negative_number_positive(x in i32::MIN..0, factor in LEAST..=i32::MAX, right in 0u32..32) {
            prop_assert!(near(Rule::TwiceUp, x, factor, right).is_none_or(|number| number <= 0));
        }
    }

    #[test]
    fn few_numbers_are_in_doubt() {
        let in_doubt = (0..1 << 16).filter(|x| near(Rule::Twice, *x, 1_518_500_250, 7).is_none());
        assert!(in_doubt.count() < 1 << 6);
    }
}
