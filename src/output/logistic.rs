//! The logistic function on accumulators, in fixed point.

use super::scale::scaled_once;
use crate::fixed_point::{logistic, saturating_rounding_doubling_high_mul};

/// `result_zero + result_amplitude · logistic((x - zero) / amplitude)`, with logistic(a) = 1 / (1 + exp(-a)): 0 is `zero`
/// of the accumulators and `result_zero` of the results, 1 is `amplitude` of the former and `result_amplitude` of the
/// latter.
///
/// The argument has 5 integer bits, so it is cut off at ±32, where logistic has reached its limits to the last of 31 bits.
/// The result is off by at most 1/2 + `result_amplitude` / 2²³, and may fall by 1 + `result_amplitude` / 2²⁷, where a
/// monotone one would not.
#[derive(Clone, Copy, Debug)]
pub struct Logistic {
    zero: i32,
    /// `zero` ± 32 amplitudes, as far as an i32 reaches.
    least: i32,
    most: i32,
    /// `2²⁶ / amplitude`, from accumulators to 5 integer bits, is `multiplier · 2^(exponent - 31)`.
    multiplier: i32,
    exponent: i32,
    result_zero: i32,
    result_amplitude: i32,
}

impl Logistic {
    /// None unless `amplitude` is 1 to 2²⁶ - 1, so that 32 of them fit an i32, `result_amplitude` is at least 0, and
    /// `result_zero + result_amplitude` fits an i32.
    pub fn new(zero: i32, amplitude: i32, result_zero: i32, result_amplitude: i32) -> Option<Self> {
        if !(1..1 << 26).contains(&amplitude) || result_amplitude < 0 {
            return None;
        }
        result_zero.checked_add(result_amplitude)?;
        let log = (amplitude as u64).next_power_of_two().ilog2();
        // Rounded to nearest; 2³⁰ to just below 2³¹.
        let multiplier = ((1u64 << (30 + log)) + amplitude as u64 / 2) / amplitude as u64;
        Some(Self {
            zero,
            least: zero.saturating_sub(32 * amplitude),
            most: zero.saturating_add(32 * amplitude),
            multiplier: multiplier as i32,
            exponent: 27 - log as i32,
            result_zero,
            result_amplitude,
        })
    }

    /// `x` may be anything.
    #[inline(always)]
    pub(super) fn of(&self, x: i32) -> i32 {
        let centered = x.max(self.least).min(self.most) - self.zero;
        let angle = scaled_once(centered, self.multiplier, self.exponent);
        self.result_zero + saturating_rounding_doubling_high_mul(logistic::<5>(angle), self.result_amplitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined(x: i32, (zero, amplitude): (i32, i32), (result_zero, result_amplitude): (i32, i32)) -> f64 {
        let a = (f64::from(x) - f64::from(zero)) / f64::from(amplitude);
        f64::from(result_zero) + f64::from(result_amplitude) / (1.0 + (-a).exp())
    }

    #[test]
    fn the_result_is_near_the_real_one_and_nearly_monotone() {
        for from @ (zero, amplitude) in
            [(0, 1), (5, 3), (-1000, 1000), (i32::MIN, 4096), (i32::MAX, 10_000_019), (0, (1 << 26) - 1)]
        {
            for to @ (result_zero, result_amplitude) in
                [(0, 0), (0, 255), (-128, 255), (-32_768, 65_535), (7, 1 << 20), (i32::MIN, i32::MAX), (0, i32::MAX)]
            {
                let stage = Logistic::new(zero, amplitude, result_zero, result_amplitude).expect("all fit");
                let (centre, step) = (i64::from(zero), (i64::from(amplitude) / 61).max(1));
                let reach = if amplitude < 61 { 40 * i64::from(amplitude) } else { 40 * 61 };
                let mut before = i32::MIN;
                for i in -reach..=reach {
                    let x = (centre + i * step).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                    let found = stage.of(x);
                    let error = (f64::from(found) - defined(x, from, to)).abs();
                    let bound = 0.5 + f64::from(result_amplitude) / 2f64.powi(23);
                    assert!(error <= bound, "{stage:?}: {found} of {x} is off by {error}");
                    let fall = before.saturating_sub(found);
                    assert!(fall <= 1 + (result_amplitude >> 27), "{stage:?}: {found} of {x} falls by {fall}");
                    before = found;
                }
            }
        }
    }

    #[test]
    fn far_away_are_the_limits() {
        for (zero, amplitude) in [(0, 1), (1 << 30, 12_345), (-1 << 30, (1 << 25) - 1)] {
            let stage = Logistic::new(zero, amplitude, -128, 255).expect("all fit");
            for x in [i32::MIN, i32::MIN + 1, zero - 32 * amplitude] {
                assert_eq!(stage.of(x), -128, "{zero}, {amplitude}: {x}");
            }
            for x in [i32::MAX, i32::MAX - 1, zero + 32 * amplitude] {
                assert_eq!(stage.of(x), 127, "{zero}, {amplitude}: {x}");
            }
            assert_eq!(stage.of(zero), 0);
        }
    }

    #[test]
    fn what_leaves_32_bits_is_refused() {
        let is_refused = |amplitude, result_zero, result_amplitude| {
            Logistic::new(0, amplitude, result_zero, result_amplitude).is_none()
        };
        assert!([i32::MIN, -1, 0, 1 << 26, i32::MAX].into_iter().all(|amplitude| is_refused(amplitude, 0, 255)));
        assert!(is_refused(1, 0, -1) && is_refused(1, 1, i32::MAX) && is_refused(1, i32::MAX, 1));
        assert!(!is_refused(1, 0, i32::MAX) && !is_refused(1, i32::MAX, 0) && !is_refused((1 << 26) - 1, -1, i32::MAX));
    }
}
