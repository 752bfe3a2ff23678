//! In f64: where everything is exact but the last bits of the steps.

use super::{AddTo8, Adder, Keys};
use crate::add::linear;
use crate::code::nearest;
use crate::error::Error;
use crate::interval::Interval;
use crate::kernel::{LOW, Weighted};

/// The code is `(a · a_step + b · b_step) · gain + offset`, rounded, ties to even.
pub(super) struct Exact {
    steps: [f64; 2],
    /// What the sum of two codes 0 stands for.
    base: f64,
    gain: f64,
    offset: f64,
}

/// Sums that are less than this beside the interval, of its width, are in it, for its ends are but f32.
const TOLERANCE: f64 = 1.0 / (1 << 20) as f64;

impl Adder for Exact {
    type Sum = f64;

    fn new(add: &AddTo8, result: Interval) -> Result<Self, Error> {
        let base = f64::from(add.a.min) + f64::from(add.b.min);
        let gain = if result.is_zero() { 0.0 } else { 255.0 / result.width() };
        let offset = (base - f64::from(result.min)) * gain;
        Ok(Self { steps: [add.a.step(255.0), add.b.step(255.0)], base, gain, offset })
    }

    #[inline(always)]
    fn sum(&self, a: u8, b: u8) -> f64 {
        f64::from(i32::from(a)) * self.steps[0] + f64::from(i32::from(b)) * self.steps[1]
    }

    #[inline(always)]
    fn code(&self, sum: f64) -> u8 {
        let code = sum * self.gain + self.offset;
        let code = if code < 0.0 { 0.0 } else { code };
        let code = if code > 255.0 { 255.0 } else { code };
        nearest(code) as u8
    }

    fn weighted(&self) -> Option<Weighted> {
        let factors = self.steps.map(|step| step * self.gain);
        let bits = (factors[0].max(factors[1]).to_bits() >> 52) as i32 - 1022;
        let shift = linear::shift(bits)?;
        let fixed = |x: f64| (x * 2f64.powi(shift + LOW as i32)).round() as i64;
        Weighted::nearest(factors.map(fixed), fixed(self.offset), shift as u32, [0; 2])
    }

    fn keys(&self) -> Option<Keys> {
        Keys::of(self.steps)
    }

    fn first(add: &AddTo8) -> Result<Option<Interval>, Error> {
        Ok(add.guess.map(|guess| guess.nudged(255.0, add.fixed)))
    }

    fn wider(&self, add: &AddTo8, before: Option<Interval>, found: [f64; 2]) -> Option<Interval> {
        let [least, greatest] = found.map(|sum| sum + self.base);
        let Some(before) = before else {
            let found = Interval { min: (least as f32).min(0.0), max: (greatest as f32).max(0.0) };
            return Some(found.nudged(255.0, add.fixed));
        };
        let tolerance = before.width() * TOLERANCE;
        let is_below = !add.fixed.min && least < f64::from(before.min) - tolerance;
        let is_above = !add.fixed.max && greatest > f64::from(before.max) + tolerance;
        // The other end is the one that was guessed, so that nudges do not add up.
        let guess = add.guess.unwrap_or(before);
        let min = if is_below { least as f32 } else { guess.min };
        let max = if is_above { greatest as f32 } else { guess.max };
        (is_below || is_above).then(|| Interval { min, max }.nudged(255.0, add.fixed))
    }
}
