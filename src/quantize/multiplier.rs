//! A real multiplier as integers.

use crate::error::Error;
use crate::output::Rounding;

/// The real number `multiplier · 2^(exponent - 31)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplier {
    /// 2³⁰ to 2³¹ - 1, or 0.
    pub multiplier: i32,
    /// -31 to 30.
    pub exponent: i32,
}

impl Multiplier {
    /// What is at least this rounds to 2³⁰ or more.
    pub(super) const END: f64 = (1 << 30) as f64 - 0.25;

    /// The nearest to `real`, ties up: TFLite's `QuantizeMultiplier`. What rounds to less than 2⁻³² is 0.
    ///
    /// # Errors
    /// Unless 0 ≤ `real` < 2³⁰ - 1/4: from there on it rounds to 2³⁰.
    pub fn of(real: f64) -> Result<Self, Error> {
        if !(0.0..Self::END).contains(&real) {
            let expected = "0 to just below 2 to the 30";
            return Err(Error::Parameter { argument: "real", value: real, expected });
        }
        let (multiplier, exponent) = rounded_to_31_bits(real);
        Ok(if exponent < -31 { Self { multiplier: 0, exponent: 0 } } else { Self { multiplier, exponent } })
    }

    /// As [`Multiplier::of`], but never above 1, so that the exponent is at most 0: gemmlowp's
    /// `QuantizeMultiplierSmallerThanOne`, whose right shift is the exponent's negative. What rounds to 1 becomes the
    /// number before it, which is (2³¹ - 1) / 2³¹; gemmlowp allows for no such thing.
    ///
    /// # Errors
    /// Unless 0 < `real` < 1.
    pub fn smaller_than_one(real: f64) -> Result<Self, Error> {
        if !(real > 0.0 && real < 1.0) {
            return Err(Error::Parameter { argument: "real", value: real, expected: "above 0 and below 1" });
        }
        let nearest = Self::of(real)?;
        Ok(if nearest.exponent > 0 { Self { multiplier: i32::MAX, exponent: 0 } } else { nearest })
    }

    /// `x` times this number.
    pub fn scaled(self, x: i32, rounding: Rounding) -> i32 {
        rounding.scaled(x, self.multiplier, self.exponent)
    }
}

/// Multiplier and exponent of the nearest number to one that is at least 0 and finite. Subnormal numbers come out wrong,
/// but small.
fn rounded_to_31_bits(real: f64) -> (i32, i32) {
    // 1, and then the 52 bits of the fraction.
    let mantissa = real.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let exponent = (real.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    let multiplier = (mantissa + (1 << 21)) >> 22;
    if multiplier == 1 << 31 { (1 << 30, exponent + 1) } else { (multiplier as i32, exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(real: f64) -> (i32, i32) {
        let found = Multiplier::of(real).expect("in range");
        (found.multiplier, found.exponent)
    }

    /// What TFLite does, in f64: halve or double until 1/2 ≤ real < 1, round.
    fn defined(mut real: f64) -> (i32, i32) {
        let mut exponent = 0;
        while real >= 1.0 {
            (real, exponent) = (real / 2.0, exponent + 1);
        }
        while real < 0.5 && exponent > -100 {
            (real, exponent) = (real * 2.0, exponent - 1);
        }
        let mut multiplier = (real * 2f64.powi(31)).round() as i64;
        if multiplier == 1 << 31 {
            (multiplier, exponent) = (1 << 30, exponent + 1);
        }
        if exponent < -31 { (0, 0) } else { (multiplier as i32, exponent) }
    }

    #[test]
    fn powers_of_two_and_their_neighbours_are_as_defined() {
        for power in -40..30 {
            let real = 2f64.powi(power);
            assert_eq!(of(real), if power < -32 { (0, 0) } else { (1 << 30, power + 1) });
            for real in [real, real.next_up(), real * (1.0 + 2f64.powi(-31)), real * 1.5, real * (2.0 - 2f64.powi(-30))]
            {
                assert_eq!(of(real), defined(real), "{real:e}");
            }
            assert_eq!(of(real.next_down()), defined(real.next_down()), "just below 2^{power}");
        }
    }

    #[test]
    fn ties_go_up() {
        // 2³⁰ + 1/2 and 2³¹ - 1/2, over 2³¹.
        assert_eq!(of(0.5 + 2f64.powi(-32)), ((1 << 30) + 1, 0));
        assert_eq!(of(1.0 - 2f64.powi(-32)), (1 << 30, 1));
        assert_eq!(of((1.0 - 2f64.powi(-32)).next_down()), (i32::MAX, 0));
    }

    #[test]
    fn the_ends_of_the_range() {
        for nothing in [0.0, -0.0, f64::MIN_POSITIVE, 5e-324, 2f64.powi(-32) * (1.0 - 2f64.powi(-31))] {
            assert_eq!(of(nothing), (0, 0), "{nothing:e}");
        }
        assert_eq!(of(2f64.powi(-32)), (1 << 30, -31));
        assert_eq!(of(2f64.powi(-32).next_down()), (1 << 30, -31));
        assert_eq!(of((2f64.powi(30) - 0.25).next_down()), (i32::MAX, 30));
        for bad in [2f64.powi(30) - 0.25, 2f64.powi(30), f64::INFINITY, f64::NAN, -1.0, -5e-324, f64::NEG_INFINITY] {
            assert!(matches!(Multiplier::of(bad), Err(Error::Parameter { .. })), "{bad:e}");
        }
    }

    #[test]
    fn what_is_smaller_than_one_stays_so() {
        let below = |real| Multiplier::smaller_than_one(real).map(|found| (found.multiplier, -found.exponent));
        assert_eq!(below(0.75), Ok((3 << 29, 0)));
        assert_eq!(below(0.1), Ok((1717986918, 3)));
        assert_eq!(below(1f64.next_down()), Ok((i32::MAX, 0)));
        assert_eq!(below(2f64.powi(-32)), Ok((1 << 30, 31)));
        assert_eq!(below(2f64.powi(-33)), Ok((0, 0)));
        for bad in [0.0, -0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(below(bad), Err(Error::Parameter { .. })), "{bad:e}");
        }
    }

    proptest! {
        #[test]
        fn any_number_is_as_defined(mantissa in 1.0..2.0, power in -40..29) {
            let real = mantissa * 2f64.powi(power);
            prop_assert_eq!(of(real), defined(real));
        }

        #[test]
        fn products_are_near_the_real_ones(x: i32, mantissa in 1.0..2.0, power in -32..0) {
            let real = mantissa * 2f64.powi(power);
            let product = Multiplier::of(real).expect("in range").scaled(x, Rounding::Once);
            // Half a unit for the last rounding, and x / 2³² for that of the multiplier.
            prop_assert!((f64::from(product) - f64::from(x) * real).abs() <= 1.0);
        }
    }
}
