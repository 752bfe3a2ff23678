//! What TensorFlow's `quantization_utils.h` does with one number, step by step: where it rounds is a part of its results.

use crate::interval::Interval;

/// The codes of a type: so many, from the least on.
#[derive(Clone, Copy)]
pub(super) struct Codes {
    count: f64,
    least: i64,
}

impl Codes {
    pub(super) const U8: Self = Self { count: 256.0, least: 0 };
    pub(super) const I32: Self = Self { count: 4294967296.0, least: -2147483648 };

    fn range(self, interval: Interval) -> f64 {
        f64::from(interval.max - interval.min) * (self.count / (self.count - 1.0))
    }

    /// How much greater the code of a number is that is greater by 1, but for roundings.
    pub(super) fn slope(self, interval: Interval) -> f64 {
        if interval.is_zero() { 0.0 } else { self.count / self.range(interval) }
    }

    /// The code of `x`, be it one of the type's or not: `FloatToQuantizedUnclamped`. There are two roundings, of `x` and of
    /// the least number, so that there is an integer for 0.
    pub(super) fn unclamped(self, x: f32, interval: Interval) -> i64 {
        if interval.is_zero() {
            return self.least;
        }
        let scale = self.slope(interval);
        let [x, min] = [x, interval.min].map(|x| (f64::from(x) * scale).round());
        ((x - min) as i64).wrapping_add(self.least)
    }

    /// `FloatToQuantized`.
    pub(super) fn code(self, x: f32, interval: Interval) -> i64 {
        self.clamped(self.unclamped(x, interval))
    }

    pub(super) fn clamped(self, code: i64) -> i64 {
        code.clamp(self.least, self.least + self.count as i64 - 1)
    }

    /// What a code stands for: `QuantizedToFloat`.
    pub(super) fn real(self, code: i64, interval: Interval) -> f32 {
        if interval.is_zero() {
            return interval.min;
        }
        let scale = self.range(interval) / self.count;
        let least = (interval.min / scale as f32).round() * scale as f32;
        (f64::from(least) + (code - self.least) as f64 * scale) as f32
    }
}
