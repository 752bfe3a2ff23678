//! The real numbers that the codes of a tensor are spread over.

use crate::error::Error;

/// The least code stands for `min`, the greatest for `max`. Both 0: every code stands for 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub min: f32,
    pub max: f32,
}

/// Which ends may not be moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Fixed {
    pub min: bool,
    pub max: bool,
}

/// What an argument's ends are called.
pub(crate) type Names = [&'static str; 2];

/// A zero that is as near as this to a code counts as one.
const CLOSE: f64 = 1.0 / 16384.0;

impl Interval {
    pub(crate) const ZERO: Self = Self { min: 0.0, max: 0.0 };

    /// # Errors
    /// Unless the ends are finite and so is their distance, and the first is the lesser; or both are 0.
    pub(crate) fn checked(self, names: Names) -> Result<Self, Error> {
        let Self { min, max } = self;
        let check = |is_right, argument, value, expected| match is_right {
            true => Ok(()),
            false => Err(Error::Parameter { argument, value, expected }),
        };
        check(min.is_finite(), names[0], min.into(), "finite")?;
        check(max.is_finite(), names[1], max.into(), "finite")?;
        check(min < max || (min, max) == (0.0, 0.0), names[1], max.into(), "above min, or both are 0")?;
        check((max - min).is_finite(), names[1], max.into(), "so near to min that a float holds the difference")?;
        Ok(self)
    }

    /// As `checked`.
    ///
    /// # Errors
    /// Also unless 0 is among the numbers.
    pub(crate) fn around_zero(self, names: Names) -> Result<Self, Error> {
        self.checked(names)?;
        for (argument, value, is_right, expected) in
            [(names[0], self.min, self.min <= 0.0, "at most 0"), (names[1], self.max, self.max >= 0.0, "at least 0")]
        {
            if !is_right {
                return Err(Error::Parameter { argument, value: value.into(), expected });
            }
        }
        Ok(self)
    }

    pub(crate) fn is_zero(self) -> bool {
        self.width() == 0.0
    }

    pub(crate) fn width(self) -> f64 {
        f64::from(self.max) - f64::from(self.min)
    }

    /// From one code to the next, if there are so many steps.
    pub(crate) fn step(self, steps: f64) -> f64 {
        self.width() / steps
    }

    /// The greatest magnitude.
    pub(crate) fn magnitude(self) -> f32 {
        self.max.abs().max(self.min.abs())
    }

    /// What the codes 0 to `steps` stand for, so that one of them stands for 0: an end that may be moved is moved outward,
    /// as little as possible. It stays as it is if no such end is left, or 0 is so near to the other one that there is no
    /// code between. nnlib's `quantize_adjust_range`, of an interval around 0.
    pub(crate) fn nudged(self, steps: f64, fixed: Fixed) -> Self {
        let (min, max) = (f64::from(self.min), f64::from(self.max));
        if min >= 0.0 || max <= 0.0 {
            return self;
        }
        let zero = -min / self.step(steps);
        let below = zero.floor();
        if !(CLOSE..=1.0 - CLOSE).contains(&(zero - below)) {
            return self;
        }
        let upward = Self { max: (-min * (steps - below) / below) as f32, ..self };
        let downward = Self { min: (-max * (below + 1.0) / (steps - below - 1.0)) as f32, ..self };
        let may_go_up = !fixed.max && below > 0.0 && upward.width() <= f64::from(f32::MAX);
        let may_go_down = !fixed.min && below + 1.0 < steps && downward.width() <= f64::from(f32::MAX);
        match (may_go_up, may_go_down) {
            (true, true) => {
                if upward.width() <= downward.width() {
                    upward
                } else {
                    downward
                }
            }
            (true, false) => upward,
            (false, true) => downward,
            (false, false) => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: Names = ["min", "max"];

    fn interval(min: f32, max: f32) -> Interval {
        Interval { min, max }
    }

    #[test]
    fn only_intervals_are_accepted() {
        for (min, max, argument) in [
            (f32::NAN, 1.0, "min"),
            (0.0, f32::NAN, "max"),
            (f32::NEG_INFINITY, 1.0, "min"),
            (0.0, f32::INFINITY, "max"),
            (1.0, 1.0, "max"),
            (1.0, 0.5, "max"),
            (-f32::MAX, f32::MAX, "max"),
        ] {
            let error = interval(min, max).checked(NAMES).unwrap_err();
            assert!(matches!(error, Error::Parameter { argument: at, .. } if at == argument), "{min} {max}: {error}");
        }
        for (min, max) in [(0.0, 0.0), (-0.0, 0.0), (1.0, 2.0), (-2.0, -1.0), (-f32::MAX, 0.0)] {
            assert!(interval(min, max).checked(NAMES).is_ok(), "{min} {max}");
        }
        assert!(interval(1.0, 2.0).around_zero(NAMES).is_err() && interval(-2.0, -1.0).around_zero(NAMES).is_err());
    }

    #[test]
    fn by_hand() {
        // The zero of -1 to 1 is 127.5: to 127 it costs 2/127 of max, to 128 as much of min.
        let found = interval(-1.0, 1.0).nudged(255.0, Fixed::default());
        assert_eq!(found, interval(-1.0, (128.0f64 / 127.0) as f32));
        let fixed = Fixed { max: true, min: false };
        assert_eq!(interval(-1.0, 1.0).nudged(255.0, fixed), interval((-128.0f64 / 127.0) as f32, 1.0));
        let both = Fixed { max: true, min: true };
        for kept in [interval(-1.0, 1.0), interval(0.0, 3.0), interval(-3.0, 0.0), interval(-1.0, 254.0)] {
            assert_eq!(kept.nudged(255.0, both), kept);
        }
        assert_eq!(interval(-1.0, 254.0).nudged(255.0, Fixed::default()), interval(-1.0, 254.0));
        // There is no code below 0, or above.
        assert_eq!(interval(-1.0, 1e6).nudged(255.0, Fixed { min: true, max: false }), interval(-1.0, 1e6));
        assert_eq!(interval(-1e6, 1.0).nudged(255.0, Fixed { min: false, max: true }), interval(-1e6, 1.0));
    }

    proptest! {
        #[test]
        fn a_code_stands_for_zero_and_nothing_is_lost(min in -100f32..-1e-3, max in 1e-3f32..100.0, wide: bool) {
            let steps = if wide { 65535.0 } else { 255.0 };
            let found = interval(min, max).nudged(steps, Fixed::default());
            prop_assert!(found.min <= min && found.max >= max);
            let zero = -f64::from(found.min) / found.step(steps);
            prop_assert!((zero - zero.round()).abs() <= CLOSE + steps * 1e-6, "{}", zero);
            prop_assert!(found.width() <= interval(min, max).width() * (1.0 + 1.0 / zero.min(steps - zero).max(0.5)));
        }
    }
}
