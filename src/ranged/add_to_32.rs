//! Bytes added to sums of 32 bits, with an interval so wide that further sums have room.

use super::tensorflow::Codes;
use crate::code::{nearest, nearest_f32};
use crate::context::Context;
use crate::error::Error;
use crate::grid::{Grid, Tensors, Zip, zip};
use crate::interval::{Interval, Names};
use crate::kernel::Loop;

/// Whose way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way32 {
    /// nnlib's `QuantizedAdd_8p8to32`: integers only.
    Nnlib,
    /// nnlib's `QuantizedBiasAdd_8p8to32`, in f32.
    NnlibBias,
    /// TensorFlow's template helper `QuantizedAdd`, and its `QuantizedBiasAdd`.
    TensorflowHelper,
    /// TensorFlow's registered operation `QuantizedAdd`.
    TensorflowOperation,
    /// With the helper's interval, but rounded once.
    Exact,
}

/// A sum, and the interval of its codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AddTo32 {
    way: Way32,
    a: Interval,
    b: Interval,
    result: Interval,
}

/// nnlib's multiplier of the tensor whose codes are farther apart.
const GREATER_MULTIPLIER: f32 = 0x7f80 as f32;

impl AddTo32 {
    /// # Errors
    /// Unless the intervals are some, around 0 and not too narrow where the way asks for it, and the result's ends are finite.
    pub(crate) fn new(way: Way32, a: Interval, b: Interval) -> Result<Self, Error> {
        let a_names = ["a_range.min", "a_range.max"];
        let b_names = ["b_range.min", "b_range.max"];
        let (a, b) = match way {
            Way32::Nnlib | Way32::NnlibBias => (with_zero(a, a_names)?, with_zero(b, b_names)?),
            _ => (a.checked(a_names)?, b.checked(b_names)?),
        };
        let max = match way {
            Way32::Nnlib => 2f32.powi(31) / GREATER_MULTIPLIER * level(a).max(level(b)),
            Way32::TensorflowOperation => a.min.min(b.min).abs().max(a.max.max(b.max).abs()) * 2f32.powi(14),
            _ => a.magnitude().max(b.magnitude()) * 2f32.powi(17),
        };
        let result = Interval { min: -max, max };
        if !(result.max - result.min).is_finite() {
            let expected = "finite, and so the difference of it and its negative";
            return Err(Error::Parameter { argument: "c_range->max", value: max.into(), expected });
        }
        Ok(Self { way, a, b, result })
    }

    pub(crate) fn result(&self) -> Interval {
        self.result
    }

    pub(crate) fn run(&self, context: &Context, grid: &Grid, tensors: &Tensors<u8, u8, i32>) {
        let Self { way, a, b, result } = *self;
        if result.is_zero() {
            return zip(context, &Multiples { multipliers: [0; 2], offset: 0 }, grid, tensors);
        }
        match way {
            Way32::Nnlib => {
                let levels = [level(a), level(b)];
                let greater = levels[0].max(levels[1]);
                let multipliers = levels.map(|level| (level / greater * GREATER_MULTIPLIER).round() as i32);
                let offset = -(multipliers[0] * zero(a) + multipliers[1] * zero(b));
                zip(context, &Multiples { multipliers, offset }, grid, tensors);
            }
            Way32::NnlibBias => {
                let step = (result.max - result.min) / 2f32.powi(32);
                let ratios = [level(a) / step, level(b) / step];
                zip(context, &Ratios { ratios, zeros: [zero(a), zero(b)] }, grid, tensors);
            }
            Way32::TensorflowHelper => {
                let of = |code: i64, from: Interval| Codes::I32.code(Codes::U8.real(code, from), result) as i32;
                let zero = Codes::I32.code(0.0, result) as i32;
                let tables = Tables::new(|x| of(x, a).wrapping_add(zero), |x| of(x, b));
                let slope = |from: Interval| match from.is_zero() {
                    true => 0.0,
                    false => Codes::I32.slope(result) / Codes::U8.slope(from),
                };
                tables.run(context, [slope(a), slope(b)], grid, tensors);
            }
            Way32::TensorflowOperation => {
                let numbers =
                    |from: Interval| [0, 1].map(|code| Codes::I32.unclamped(Codes::U8.real(code, from), result));
                let ([a0, a1], [b0, b1]) = (numbers(a), numbers(b));
                let [a_slope, b_slope] = [a1 - a0, b1 - b0].map(|slope| i64::from(slope as i32));
                let of = |number: i64| Codes::I32.clamped(number) as i32;
                let tables = Tables::new(|x| of(a0 + x * a_slope), |x| of(b0 + x * b_slope));
                tables.run(context, [a_slope as f64, b_slope as f64], grid, tensors);
            }
            Way32::Exact => {
                // The middle of 2³² codes stands for 0.
                let step = f64::from(result.max) / 2f64.powi(31);
                let term = |from: Interval| {
                    let level = from.step(255.0);
                    let zero = if from.is_zero() { 0.0 } else { (-f64::from(from.min) * 255.0 / from.width()).round() };
                    (level / step, zero)
                };
                let [(a_ratio, a_zero), (b_ratio, b_zero)] = [term(a), term(b)];
                let exact = Exact { ratios: [a_ratio, b_ratio], zeros: [a_zero, b_zero] };
                exact.run(context, grid, tensors);
            }
        }
    }
}

/// An interval around 0 in which nnlib finds the code of 0.
fn with_zero(interval: Interval, names: Names) -> Result<Interval, Error> {
    let Interval { min, max } = interval.around_zero(names)?;
    if max > min && !(255.0 / (max - min)).is_finite() {
        let expected = "so far from min that a float holds 255 / the difference";
        return Err(Error::Parameter { argument: names[1], value: max.into(), expected });
    }
    Ok(interval)
}

/// From one code to the next, as nnlib has it.
fn level(interval: Interval) -> f32 {
    (interval.max - interval.min) / 255.0
}

/// The code of 0, as nnlib has it; the interval is around 0.
fn zero(interval: Interval) -> i32 {
    if interval.is_zero() { 0 } else { (-interval.min * (255.0 / (interval.max - interval.min))).round() as i32 }
}

/// Sums of multiples.
struct Multiples {
    multipliers: [i32; 2],
    offset: i32,
}

impl Zip for Multiples {
    type A = u8;
    type B = u8;
    type To = i32;

    const IS_QUICK: bool = true;

    #[inline(always)]
    fn of(&self, a: u8, b: u8) -> i32 {
        i32::from(a) * self.multipliers[0] + i32::from(b) * self.multipliers[1] + self.offset
    }
}

/// Sums in f32, of less than 2¹⁶ in magnitude.
struct Ratios {
    ratios: [f32; 2],
    zeros: [i32; 2],
}

impl Zip for Ratios {
    type A = u8;
    type B = u8;
    type To = i32;

    const IS_QUICK: bool = true;

    #[inline(always)]
    fn of(&self, a: u8, b: u8) -> i32 {
        let a = (i32::from(a) - self.zeros[0]) as f32 * self.ratios[0];
        let b = (i32::from(b) - self.zeros[1]) as f32 * self.ratios[1];
        nearest_f32(a + b)
    }
}

/// What each byte adds.
struct Tables {
    a: [i32; 256],
    b: [i32; 256],
}

impl Tables {
    fn new(a: impl Fn(i64) -> i32, b: impl Fn(i64) -> i32) -> Self {
        Self { a: std::array::from_fn(|code| a(code as i64)), b: std::array::from_fn(|code| b(code as i64)) }
    }

    /// Adds tensors by lines of these slopes if the tables are such.
    fn run(&self, context: &Context, slopes: [f64; 2], grid: &Grid, tensors: &Tensors<u8, u8, i32>) {
        /// Fewer elements take less time than to look for lines.
        const WORTH_LINES: usize = 1024;
        let are_many = context.kernel.vectors.have_products() && grid.len().is_some_and(|len| len >= WORTH_LINES);
        let line = |table, slope| if are_many { Line::of(table, slope) } else { None };
        match (line(&self.a, slopes[0]), line(&self.b, slopes[1])) {
            (Some(a), Some(b)) => zip(context, &Lines { a, b }, grid, tensors),
            _ => zip(context, self, grid, tensors),
        }
    }
}

impl Zip for Tables {
    type A = u8;
    type B = u8;
    type To = i32;

    #[inline(always)]
    fn of(&self, a: u8, b: u8) -> i32 {
        self.a[usize::from(a)].wrapping_add(self.b[usize::from(b)])
    }
}

/// What a byte `x` adds, if that grows so evenly: `x · whole + (x · part + offset) / 2²² + base`, rounded down. Neither product
/// overflows, and vectors have no tables of 256 numbers.
struct Line {
    whole: i32,
    part: i32,
    offset: i32,
    base: i32,
}

impl Line {
    const FRACTION: u32 = 22;

    /// The one that gives all of a table; None if none of this slope does.
    fn of(table: &[i32; 256], slope: f64) -> Option<Self> {
        let unit = 1i64 << Self::FRACTION;
        let slope = (slope * unit as f64).round() as i64;
        // Each number needs at least so much at 0, and less than one unit more.
        let (mut least, mut greatest) = (i64::MIN, i64::MAX);
        for (number, x) in table.iter().zip(0..) {
            let need = i64::from(*number) * unit - x * slope;
            (least, greatest) = (least.max(need), greatest.min(need + unit - 1));
        }
        let middle = least + (greatest - least) / 2;
        let parts = |x: i64| ((x >> Self::FRACTION) as i32, (x & (unit - 1)) as i32);
        let ((whole, part), (base, offset)) = (parts(slope), parts(middle));
        (least <= greatest).then_some(Self { whole, part, offset, base })
    }

    #[inline(always)]
    fn at(&self, x: u8) -> i32 {
        let x = i32::from(x);
        let fraction = (x * self.part + self.offset) >> Self::FRACTION;
        x.wrapping_mul(self.whole).wrapping_add(fraction).wrapping_add(self.base)
    }
}

/// As [`Tables`].
struct Lines {
    a: Line,
    b: Line,
}

impl Zip for Lines {
    type A = u8;
    type B = u8;
    type To = i32;

    const IS_QUICK: bool = true;

    #[inline(always)]
    fn of(&self, a: u8, b: u8) -> i32 {
        self.a.at(a).wrapping_add(self.b.at(b))
    }
}

/// Sums in f64.
struct Exact {
    ratios: [f64; 2],
    zeros: [f64; 2],
}

impl Exact {
    /// In integers if these give the same for all pairs of bytes, which are tried.
    fn run(&self, context: &Context, grid: &Grid, tensors: &Tensors<u8, u8, i32>) {
        /// Fewer elements take less time than that.
        const WORTH_PROOF: usize = 1 << 19;
        let (fixed, vectors) = (Fixed::of(self), context.kernel.vectors);
        let is_worth_it = vectors.have_products() && grid.len().is_some_and(|len| len >= WORTH_PROOF);
        if is_worth_it && vectors.run(Comparison { exact: self, fixed: &fixed }) {
            zip(context, &fixed, grid, tensors);
        } else {
            zip(context, self, grid, tensors);
        }
    }
}

impl Zip for Exact {
    type A = u8;
    type B = u8;
    type To = i32;

    const IS_QUICK: bool = true;

    #[inline(always)]
    fn of(&self, a: u8, b: u8) -> i32 {
        let a = (f64::from(i32::from(a)) - self.zeros[0]) * self.ratios[0];
        let b = (f64::from(i32::from(b)) - self.zeros[1]) * self.ratios[1];
        nearest(a + b)
    }
}

/// Sums of less than 2¹⁶ in magnitude in fixed point, in two halves of 15 bits behind the point each, ties up:
/// `(a · high[0] + b · high[1] + offset + (a · low[0] + b · low[1] + low_offset) / 2¹⁵) / 2¹⁵`, each quotient rounded down.
struct Fixed {
    high: [i32; 2],
    low: [i32; 2],
    offset: i32,
    low_offset: i32,
}

impl Fixed {
    const HALF: u32 = 15;

    /// What wraps around here is found to be wrong.
    fn of(exact: &Exact) -> Self {
        let fixed = |x: f64| (x * f64::from(1u32 << (2 * Self::HALF))).round() as i64;
        let halves = |x: i64| ((x >> Self::HALF) as i32, (x & ((1 << Self::HALF) - 1)) as i32);
        let Exact { ratios: [a_ratio, b_ratio], zeros: [a_zero, b_zero] } = *exact;
        let ((a_high, a_low), (b_high, b_low)) = (halves(fixed(a_ratio)), halves(fixed(b_ratio)));
        let (offset, low_offset) = halves(fixed(0.5 - a_zero * a_ratio - b_zero * b_ratio));
        Self { high: [a_high, b_high], low: [a_low, b_low], offset, low_offset }
    }
}

impl Zip for Fixed {
    type A = u8;
    type B = u8;
    type To = i32;

    const IS_QUICK: bool = true;

    #[inline(always)]
    fn of(&self, a: u8, b: u8) -> i32 {
        let (a, b) = (i32::from(a), i32::from(b));
        let low = (a * self.low[0] + b * self.low[1] + self.low_offset) >> Self::HALF;
        let high = a.wrapping_mul(self.high[0]).wrapping_add(b.wrapping_mul(self.high[1])).wrapping_add(self.offset);
        high.wrapping_add(low) >> Self::HALF
    }
}

/// Whether both give the same for all pairs.
struct Comparison<'a> {
    exact: &'a Exact,
    fixed: &'a Fixed,
}

impl Loop for Comparison<'_> {
    type Result = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let mut b = [0; 256];
        for (code, b) in (0..=255).zip(&mut b) {
            *b = code;
        }
        for a in 0..=255 {
            let mut differ = 0;
            for b in b {
                differ |= self.exact.of(a, b) ^ self.fixed.of(a, b);
            }
            if differ != 0 {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
