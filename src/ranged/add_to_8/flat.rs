//! nnlib's arithmetic for tensors of the same shape, in f32 and 16 bits as nnlib has it.

use super::{AddTo8, Adder};
use crate::error::Error;
use crate::interval::Interval;
use crate::kernel::{LOW, Weighted};

/// The sum is `(a · a_multiplier + b · b_multiplier) / 2⁸`, rounded down; the code `(sum + offset) / 2^shift`, rounded up.
pub(super) struct Flat {
    multipliers: [i32; 2],
    offset: i32,
    shift: u32,
    /// The sum that stands for 0.
    zero: i32,
    /// What 1 in a sum stands for.
    unit: f32,
}

/// Neither of the multipliers, nor their sum, reaches 2¹⁴.
const ROOM: f32 = 16384.0 / 16380.0;

impl Adder for Flat {
    type Sum = i32;

    fn new(add: &AddTo8, result: Interval) -> Result<Self, Error> {
        let scale = 255.0 / (result.max - result.min);
        let levels = [add.a, add.b].map(|from| (from.max - from.min) / 255.0 * scale);
        // The least power of two above the sum of both.
        let bits = ((levels[0] + levels[1]) * ROOM).to_bits();
        let exponent = (bits >> 23) as i32 - 126;
        if exponent > 6 {
            let (argument, value) = ("guess->max", result.max.into());
            let expected = "so that the range is at least 1/63 of the sum of a's and b's";
            return Err(Error::Parameter { argument, value, expected });
        }
        let shift = (6 - exponent).min(7) as u32;
        let power = (1 << shift) as f32;
        let multipliers = levels.map(|level| (level * (power * 256.0)).round() as i32);
        let zeros = [add.a, add.b].map(|from| match from.is_zero() {
            true => 0,
            false => (-from.min * (255.0 / (from.max - from.min))).round() as i32,
        });
        let zero = (multipliers[0] * zeros[0] + multipliers[1] * zeros[1]) >> 8;
        let offset = ((-result.min * scale * power).round() as i32 - zero).clamp(-32768, 32767);
        Ok(Self { multipliers, offset, shift, zero, unit: 1.0 / (scale * power) })
    }

    #[inline(always)]
    fn sum(&self, a: u8, b: u8) -> i32 {
        (i32::from(a) * self.multipliers[0] + i32::from(b) * self.multipliers[1]) >> 8
    }

    #[inline(always)]
    fn code(&self, sum: i32) -> u8 {
        let shifted = (sum + self.offset).min(32767);
        let half = (1 << self.shift) >> 1;
        ((shifted + half) >> self.shift).clamp(0, 255) as u8
    }

    fn weighted(&self) -> Option<Weighted> {
        // Quotients of quotients are those of the product of both divisors.
        let shift = 8 + self.shift;
        let half = i64::from((1 << self.shift) >> 1);
        let offset = ((i64::from(self.offset) + half) << (8 + LOW)) - (1 << (shift + LOW - 1));
        Weighted::nearest(self.multipliers.map(|multiplier| i64::from(multiplier) << LOW), offset, shift, [0; 2])
    }

    fn first(add: &AddTo8) -> Result<Option<Interval>, Error> {
        let mut whole = add.whole();
        whole.max = whole.max.max(whole.min + 0.001);
        let Some(guess) = add.guess else {
            let eighth = Interval { min: 0.125 * whole.min, max: 0.125 * whole.max };
            return Ok(Some(eighth.nudged(255.0, add.fixed)));
        };
        // At least 1/32 of all that there may be, so that the multipliers reach.
        let all = whole.max - whole.min;
        let lack = all - 32.0 * (guess.max - guess.min);
        let mut result = guess;
        if lack > 0.0 {
            let share = lack / (32.0 * (all - (guess.max - guess.min)));
            if !add.fixed.min {
                result.min += ((whole.min - guess.min) * share).min(0.0);
            }
            if !add.fixed.max {
                result.max += ((whole.max - guess.max) * share).max(0.0);
            }
        }
        Ok(Some(result.nudged(255.0, add.fixed)))
    }

    fn wider(&self, add: &AddTo8, before: Option<Interval>, found: [i32; 2]) -> Option<Interval> {
        let before = before?;
        // 0 is among the numbers always.
        let least = (found[0].min(self.zero) - self.zero) as f32 * self.unit;
        let greatest = (found[1].max(self.zero) - self.zero) as f32 * self.unit;
        let width = greatest - least;
        let padded = width + (0.15 * width).max(1e-4);
        let is_below = !add.fixed.min && least < before.min;
        let is_above = !add.fixed.max && greatest > before.max;
        let min = if is_below { (greatest - padded).min(0.0) } else { before.min };
        let max = if is_above { (least + padded).max(0.0) } else { before.max };
        (is_below || is_above).then(|| Interval { min, max }.nudged(255.0, add.fixed))
    }
}
