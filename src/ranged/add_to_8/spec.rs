//! nnlib's former arithmetic: of the two tensors the one with the wider interval is brought to the steps of the other, and
//! the sum to those of the result. It was done in 16 bits, which overflow; here in 32, which do not.

use super::{AddTo8, Adder};
use crate::error::Error;
use crate::interval::{Fixed, Interval};

/// The sum is `((wide - 128) · slope + 64) / 2⁷ + narrow + base`, the code `(sum · gain + 2¹⁴) / 2¹⁵ - offset`, each quotient
/// rounded down.
pub(super) struct Spec {
    /// Whether it is `b` that has the wider interval.
    swap: bool,
    slope: i32,
    base: i32,
    gain: i32,
    offset: i32,
    /// The width of the narrower interval.
    unit: f32,
}

/// The wider interval, and the narrower one.
fn ordered(add: &AddTo8) -> (Interval, Interval) {
    if is_swapped(add) { (add.b, add.a) } else { (add.a, add.b) }
}

/// Where both are as wide it makes no difference.
fn is_swapped(add: &AddTo8) -> bool {
    add.b.width() > add.a.width()
}

/// At least as wide as the wider of the two, or the gain is more than 15 bits hold; or else None.
fn widened(add: &AddTo8, result: Interval) -> Option<Interval> {
    let (wide, _) = ordered(add);
    let least = wide.max - wide.min;
    match add.fixed {
        _ if result.max - result.min >= least => Some(result),
        Fixed { max: false, .. } => Some(Interval { max: result.min + least, ..result }),
        Fixed { min: false, .. } => Some(Interval { min: result.max - least, ..result }),
        _ => None,
    }
}

impl Adder for Spec {
    type Sum = i32;

    fn new(add: &AddTo8, result: Interval) -> Result<Self, Error> {
        let (wide, narrow) = ordered(add);
        let unit = narrow.max - narrow.min;
        let ratio = (wide.max - wide.min) / unit;
        // 0 / 0 is none either.
        if ratio.is_nan() || ratio >= 256.0 {
            let (argument, value) = ("the ratio of the widths of a_range and b_range", ratio.into());
            return Err(Error::Parameter { argument, value, expected: "below 256 in this mode" });
        }
        let least = 255.0 * wide.min + 255.0 * narrow.min;
        if !least.is_finite() {
            let (argument, value) = ("a_range.min + b_range.min", (wide.min + narrow.min).into());
            return Err(Error::Parameter { argument, value, expected: "a float when multiplied by 255, in this mode" });
        }
        let [min, max] = [result.min, result.max].map(|end| end * 255.0 / unit);
        let gain = (255.0 * 32768.0 / (max - min)).min(32767.0);
        Ok(Self {
            swap: is_swapped(add),
            slope: (128.0 * ratio) as i32,
            base: (128.0 * ratio + least / unit) as i32,
            gain: gain as i32,
            offset: (255.0 * min / (max - min) - 0.5) as i32,
            unit,
        })
    }

    #[inline(always)]
    fn sum(&self, a: u8, b: u8) -> i32 {
        let (wide, narrow) = if self.swap { (b, a) } else { (a, b) };
        (((i32::from(wide) - 128) * self.slope + 64) >> 7) + i32::from(narrow) + self.base
    }

    #[inline(always)]
    fn code(&self, sum: i32) -> u8 {
        (((sum * self.gain + (1 << 14)) >> 15) - self.offset).clamp(0, 255) as u8
    }

    fn first(add: &AddTo8) -> Result<Option<Interval>, Error> {
        let guess = add.guess.unwrap_or(Interval { min: 0.0, max: 0.5 });
        let error = Error::Parameter {
            argument: "guess->max",
            value: guess.max.into(),
            expected: "so that the range is at least as wide as a's and b's in this mode",
        };
        let first = widened(add, guess).ok_or(error)?;
        // With room for what sums may add to it.
        let (_, narrow) = ordered(add);
        if !narrow.is_zero() && first.width() * 255.0 * 512.0 > f64::from(f32::MAX) * narrow.width().min(1.0) {
            let (argument, value) = ("guess->max", first.max.into());
            return Err(Error::Parameter {
                argument,
                value,
                expected: "less: this mode's floats do not hold a range so wide",
            });
        }
        Ok(Some(first))
    }

    fn wider(&self, add: &AddTo8, before: Option<Interval>, found: [i32; 2]) -> Option<Interval> {
        let before = before?;
        let [least, greatest] = found.map(|sum| sum as f32 * self.unit / 255.0);
        let is_below = !add.fixed.min && least < before.min;
        let is_above = !add.fixed.max && greatest > before.max;
        let min = if is_below { least } else { before.min };
        let max = if is_above { greatest } else { before.max };
        if is_below || is_above { widened(add, Interval { min, max }) } else { None }
    }
}
