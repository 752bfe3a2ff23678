//! Integers become integers of another scale and zero point.

use super::near::{self, Near};
use super::{Channels, Each, Formula, Integers, IntegersMut, PARAMETERS, Real, Rounded, Task, float};
use crate::context::Context;
use crate::kernel::Loop;
use crate::matrix::Encoding;
use crate::output::{Rounding, scaled_once, scaled_twice, scaled_twice_up};
use crate::range::ElementRange;
use crate::table::{self, Table};

/// How integers less their zero point are scaled.
#[derive(Clone, Copy)]
pub(crate) enum Arithmetic<'a> {
    /// By multiplier · 2^(exponent - 31) in fixed point.
    FixedPoint {
        rounding: Rounding,
        multipliers: &'a [i32],
        /// Each -31 to 30.
        exponents: &'a [i32],
    },
    /// Rounded to f32, times a scale, which rounds again; then to the nearest integer, ties to even.
    Float { scales: &'a [f32], zero_point: ZeroPoint },
}

/// When the zero point of the result is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZeroPoint {
    AfterRounding,
    /// In f32, which may round, too.
    BeforeRounding,
}

/// Makes integers of a range of others. What is subtracted from them is a zero point, modulo 2³²; what is added to the
/// scaled ones another.
pub(crate) fn requantize(
    context: &Context,
    arithmetic: Arithmetic,
    (from_zero_points, to_zero_points): (Option<&[i32]>, Option<&[i32]>),
    range: ElementRange,
    channels: Channels,
    from: Integers,
    to: IntegersMut,
) {
    let (from_zero, to_zero) = (Each::ints(from_zero_points), Each::ints(to_zero_points));
    let ElementRange { least, greatest } = range;
    match arithmetic {
        Arithmetic::FixedPoint { rounding, multipliers, exponents } => {
            let factor = Each::ints(Some(multipliers));
            let integers = [factor, Each::ints(Some(exponents)), Each::All(0), from_zero, to_zero];
            let is_below_one = multipliers.iter().all(|&x| x != i32::MIN) && exponents.iter().all(|&x| x <= 0);
            let is_near = is_below_one && to.bytes().is_some() && near::suits(multipliers, exponents);
            let (nudge, scale) = (Each::nudges(exponents), Each::scales(multipliers, exponents));
            let floats = [factor, nudge, scale, from_zero, Each::raises(to_zero_points)];
            match rounding {
                Rounding::Twice if is_near => {
                    let exact = FixedPoint { least, greatest, scaled: twice_below_one };
                    let formula = Near { exact, nudged: |z: f32, nudge: f32, x| z + nudge.copysign(x) };
                    by_table_or_one_by_one(context, Task { formula, parameters: floats, channels, from, to });
                }
                Rounding::TwiceUp if is_near => {
                    let exact = FixedPoint { least, greatest, scaled: twice_up_below_one };
                    let formula = Near { exact, nudged: |z, nudge, _| z + nudge };
                    by_table_or_one_by_one(context, Task { formula, parameters: floats, channels, from, to });
                }
                Rounding::Once if is_near => {
                    let exact = FixedPoint { least, greatest, scaled: once_below_one };
                    let formula = Near { exact, nudged: |z, _, _| z };
                    by_table_or_one_by_one(context, Task { formula, parameters: floats, channels, from, to });
                }
                Rounding::Twice if is_below_one => {
                    let formula = FixedPoint { least, greatest, scaled: twice_below_one };
                    by_table_or_one_by_one(context, Task { formula, parameters: integers, channels, from, to });
                }
                Rounding::TwiceUp if is_below_one => {
                    let formula = FixedPoint { least, greatest, scaled: twice_up_below_one };
                    by_table_or_one_by_one(context, Task { formula, parameters: integers, channels, from, to });
                }
                Rounding::Once if is_below_one => {
                    let formula = FixedPoint { least, greatest, scaled: once_below_one };
                    by_table_or_one_by_one(context, Task { formula, parameters: integers, channels, from, to });
                }
                Rounding::Twice => {
                    let formula = FixedPoint { least, greatest, scaled: scaled_twice };
                    by_table_or_one_by_one(context, Task { formula, parameters: integers, channels, from, to });
                }
                Rounding::TwiceUp => {
                    let formula = FixedPoint { least, greatest, scaled: scaled_twice_up };
                    by_table_or_one_by_one(context, Task { formula, parameters: integers, channels, from, to });
                }
                Rounding::Once => {
                    let formula = FixedPoint { least, greatest, scaled: scaled_once };
                    by_table_or_one_by_one(context, Task { formula, parameters: integers, channels, from, to });
                }
            }
        }
        Arithmetic::Float { scales, zero_point } => {
            let parameters = [Each::floats(scales), Each::All(0), Each::All(0), from_zero, to_zero];
            match zero_point {
                ZeroPoint::AfterRounding => {
                    let formula = Rounded { real: After, range };
                    by_table_or_one_by_one(context, Task { formula, parameters, channels, from, to });
                }
                ZeroPoint::BeforeRounding => {
                    let formula = Rounded { real: Before, range };
                    by_table_or_one_by_one(context, Task { formula, parameters, channels, from, to });
                }
            }
        }
    }
}

/// From so many bytes on, making a table of what becomes of each is the faster way.
const WORTH_A_TABLE: usize = 1024;

/// Does a task: where many bytes become bytes by the same parameters, by looking up what becomes of each of the 256.
fn by_table_or_one_by_one<F: Formula>(context: &Context, task: Task<F, Integers, IntegersMut>) {
    if task.channels.len() >= WORTH_A_TABLE
        && let [Each::All(a), Each::All(b), Each::All(c), Each::All(d), Each::All(e)] = task.parameters
        && let (Some((from, encoding)), Some(to)) = (task.from.bytes(), task.to.bytes())
    {
        let entries = Entries { formula: task.formula, parameters: [a, b, c, d, e], encoding };
        return table::apply(context, &context.kernel.vectors.run(entries), from, to);
    }
    task.run(context);
}

/// What becomes of each byte.
struct Entries<F> {
    formula: F,
    parameters: [i32; PARAMETERS],
    encoding: Encoding,
}

impl<F: Formula> Loop for Entries<F> {
    type Result = Table;

    #[inline(always)]
    fn run(self) -> Table {
        // Flips the sign bit and takes it off again: of -128 to 127 that makes a byte's number.
        let sign = if self.encoding == Encoding::S8 { 128 } else { 0 };
        let mut table = [0; 256];
        for (byte, entry) in (0..256).zip(&mut table) {
            *entry = self.formula.of((byte ^ sign) - sign, self.parameters) as u8;
        }
        table
    }
}

/// As [`scaled_twice`] of exponents up to 0 and multipliers but -2³¹, where nothing saturates: both roundings at once, for
/// ⌊(⌊(x + a) / 2ⁱ⌋ + b) / 2ʲ⌋ = ⌊(x + a + b · 2ⁱ) / 2ⁱ⁺ʲ⌋.
#[inline(always)]
fn twice_below_one(x: i32, multiplier: i32, exponent: i32) -> i32 {
    let (product, right) = (i64::from(x) * i64::from(multiplier), exponent.wrapping_neg() & 31);
    // Ties of the second rounding go away from zero. Where the first one makes 0 of a negative product, 0 it stays.
    let (second, away) = if right > 0 { (1 << (30 + right), 1 << 31) } else { (0, 0) };
    let away = if product < 0 { away } else { 0 };
    shifted(product - away, (1 << 30) + second, right)
}

/// As [`scaled_twice_up`], likewise.
#[inline(always)]
fn twice_up_below_one(x: i32, multiplier: i32, exponent: i32) -> i32 {
    let right = exponent.wrapping_neg() & 31;
    let second = if right > 0 { 1 << (30 + right) } else { 0 };
    shifted(i64::from(x) * i64::from(multiplier), (1 << 30) + second, right)
}

/// As [`scaled_once`], likewise.
#[inline(always)]
fn once_below_one(x: i32, multiplier: i32, exponent: i32) -> i32 {
    let right = exponent.wrapping_neg() & 31;
    shifted(i64::from(x) * i64::from(multiplier), 1 << (30 + right), right)
}

/// `⌊(product + added) / 2³¹⁺ʳⁱᵍʰᵗ⌋`, which is more than -2⁶² before it is divided.
#[inline(always)]
fn shifted(product: i64, added: i64, right: i32) -> i32 {
    // AVX2 cannot shift numbers of 64 bits that may be negative, and what the compiler makes of it takes longer: 2⁶² is added.
    let positive = product.wrapping_add(added.wrapping_add(1 << 62)) as u64;
    ((positive >> (31 + right)) as i32).wrapping_sub((1u32 << (31 - right)) as i32)
}

/// The factors are multiplier and exponent.
#[derive(Clone, Copy)]
pub(super) struct FixedPoint<S> {
    pub(super) least: i32,
    pub(super) greatest: i32,
    scaled: S,
}

impl<S> FixedPoint<S> {
    /// What scaled integers are confined to before this zero point is added: the sum fits.
    #[inline(always)]
    pub(super) fn ends(&self, to_zero: i32) -> (i32, i32) {
        (self.least.wrapping_sub(to_zero), self.greatest.wrapping_sub(to_zero))
    }
}

impl<S: Fn(i32, i32, i32) -> i32 + Copy + Sync> Formula for FixedPoint<S> {
    #[inline(always)]
    fn of(&self, x: i32, [multiplier, exponent, _, from_zero, to_zero]: [i32; PARAMETERS]) -> i32 {
        let scaled = (self.scaled)(x.wrapping_sub(from_zero), multiplier, exponent);
        let (least, greatest) = self.ends(to_zero);
        scaled.max(least).min(greatest).wrapping_add(to_zero)
    }
}

/// The factor is the scale.
#[derive(Clone, Copy)]
struct After;

impl Real for After {
    const MAY_BE_NAN: bool = false;

    #[inline(always)]
    fn of(&self, x: i32, [scale, _, _, from_zero, _]: [i32; PARAMETERS]) -> f32 {
        x.wrapping_sub(from_zero) as f32 * float(scale)
    }
}

/// As [`After`].
#[derive(Clone, Copy)]
struct Before;

impl Real for Before {
    const MAY_BE_NAN: bool = false;

    #[inline(always)]
    fn of(&self, x: i32, [scale, _, _, from_zero, to_zero]: [i32; PARAMETERS]) -> f32 {
        x.wrapping_sub(from_zero) as f32 * float(scale) + to_zero as f32
    }

    #[inline(always)]
    fn zero_point(_: [i32; PARAMETERS]) -> i32 {
        0
    }
}
