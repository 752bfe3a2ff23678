//! Scale and zero point, from the range of real numbers that they have to cover.

use crate::error::Error;

/// The integer x stands for the real number `scale · (x - zero_point)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantization {
    /// From one integer to the next.
    pub scale: f32,
    /// What stands for 0.
    pub zero_point: i32,
}

impl Quantization {
    /// Lets `qmin` to `qmax` stand for the real numbers from `min` to `max`, widened so that 0 is among them, and shifted
    /// by at most half a scale so that an integer stands for 0: gemmlowp's `ChooseQuantizationParams`, for any `qmin` and
    /// `qmax`.
    ///
    /// The scale is `(max - min) / (qmax - qmin)` in f32, or the least normal f32 where that is less. Where `min` and
    /// `max` are both 0, it is 1, and the zero point is the integer nearest to 0.
    ///
    /// # Errors
    /// Unless `min` ≤ `max`, both are finite, so is their difference, and `qmin` < `qmax`.
    pub fn covering(min: f32, max: f32, qmin: i32, qmax: i32) -> Result<Self, Error> {
        let check = |is_right, argument, value, expected| match is_right {
            true => Ok(()),
            false => Err(Error::Parameter { argument, value, expected }),
        };
        check(min.is_finite(), "min", min.into(), "finite")?;
        check(max.is_finite(), "max", max.into(), "finite")?;
        check(min <= max, "max", max.into(), "at least min")?;
        check(qmin < qmax, "qmax", qmax.into(), "greater than qmin")?;
        let (min, max) = (min.min(0.0), max.max(0.0));
        check((max - min).is_finite(), "max - min", f64::from(max) - f64::from(min), "finite as a float")?;
        Ok(Self::spanning((min, max), (qmin, qmax)))
    }

    /// As [`Quantization::covering`], where `min` ≤ 0 ≤ `max`, both are finite, and `qmin` < `qmax`.
    pub(super) fn spanning((min, max): (f32, f32), (qmin, qmax): (i32, i32)) -> Self {
        if min == max {
            return Self { scale: 1.0, zero_point: 0.clamp(qmin, qmax) };
        }
        let steps = (i64::from(qmax) - i64::from(qmin)) as f32;
        let width = max - min;
        let scale = if width.is_finite() { width / steps } else { max / steps - min / steps };
        let scale = scale.max(f32::MIN_POSITIVE);
        let zero_point = f64::from(qmin) - f64::from(min) / f64::from(scale);
        let zero_point = zero_point.clamp(qmin.into(), qmax.into());
        // Rounded without a call: with the greatest number below a half, the sum reaches an integer only where a half is there.
        let zero_point = (zero_point + 0.5f64.next_down().copysign(zero_point)) as i32;
        Self { scale, zero_point }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn covering(min: f32, max: f32, qmin: i32, qmax: i32) -> (f32, i32) {
        let found = Quantization::covering(min, max, qmin, qmax).expect("a range");
        (found.scale, found.zero_point)
    }

    #[test]
    fn by_hand() {
        // 2 / 255 becomes a float that is a bit greater, so that 1 is 127.49999 of it.
        assert_eq!(covering(-1.0, 1.0, 0, 255), (2.0 / 255.0, 127));
        assert_eq!(covering(-1.0, 1.0, -128, 127), (2.0 / 255.0, -1));
        assert_eq!(covering(-1.0, 1.0, -127, 127), (1.0 / 127.0, 0));
        assert_eq!(covering(0.0, 510.0, 0, 255), (2.0, 0));
        assert_eq!(covering(-510.0, 0.0, 0, 255), (2.0, 255));
        assert_eq!(covering(-1.0, 3.0, -2, 2), (1.0, -1));
        // 1.5 and -1.5: ties go away from zero.
        assert_eq!(covering(-1.5, 2.5, 0, 4), (1.0, 2));
        assert_eq!(covering(-1.5, 2.5, -3, 1), (1.0, -2));
        assert_eq!(covering(-1.0, 1.0, i32::MIN, i32::MAX), (2f32.powi(-31), 0));
    }

    #[test]
    fn the_range_is_widened_to_include_0() {
        assert_eq!(covering(2.0, 510.0, 0, 255), (2.0, 0));
        assert_eq!(covering(-510.0, -2.0, 0, 255), (2.0, 255));
        assert_eq!(covering(255.0, 255.0, 0, 255), (1.0, 0));
    }

    #[test]
    fn a_range_of_nothing_but_0_has_scale_1() {
        assert_eq!(covering(0.0, 0.0, 0, 255), (1.0, 0));
        assert_eq!(covering(-0.0, 0.0, -128, 127), (1.0, 0));
        assert_eq!(covering(0.0, -0.0, 5, 9), (1.0, 5));
        assert_eq!(covering(0.0, 0.0, -9, -5), (1.0, -5));
    }

    #[test]
    fn the_scale_is_a_normal_float() {
        assert_eq!(covering(0.0, 1e-45, 0, 255), (f32::MIN_POSITIVE, 0));
        assert_eq!(covering(-1e-45, 0.0, 0, 255), (f32::MIN_POSITIVE, 0));
        assert_eq!(covering(-f32::MIN_POSITIVE, 0.0, i32::MIN, i32::MAX), (f32::MIN_POSITIVE, i32::MIN + 1));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        let argument = |min, max, qmin, qmax| match Quantization::covering(min, max, qmin, qmax) {
            Err(Error::Parameter { argument, .. }) => argument,
            other => panic!("{other:?}"),
        };
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(argument(bad, 1.0, 0, 255), "min");
            assert_eq!(argument(0.0, bad, 0, 255), "max");
        }
        assert_eq!(argument(1.0, 0.5, 0, 255), "max");
        assert_eq!(argument(f32::MIN, f32::MAX, 0, 255), "max - min");
        assert_eq!(argument(0.0, 1.0, 255, 255), "qmax");
        assert_eq!(argument(0.0, 1.0, i32::MAX, i32::MIN), "qmax");
    }

    proptest! {
        #[test]
        fn both_ends_are_within_a_scale_of_what_is_covered(
            a in -1e3f32..1e3, b in -1e3f32..1e3, (qmin, qmax) in (-40_000..40_000, 1..70_000).prop_map(|(q, n)| (q, q + n)),
        ) {
            let (min, max) = (a.min(b), a.max(b));
            let (scale, zero_point) = covering(min, max, qmin, qmax);
            prop_assert!(qmin <= zero_point && zero_point <= qmax);
            let real = |q: i32| f64::from(scale) * f64::from(q - zero_point);
            let slack = 0.501 * f64::from(scale) + 1e-6 * f64::from(max - min);
            prop_assert!(real(qmin) <= f64::from(min) + slack && real(qmax) >= f64::from(max) - slack);
        }
    }
}
