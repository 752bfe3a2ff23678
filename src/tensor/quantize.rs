//! Real numbers become integers, and the other way round.

use super::{Channels, Each, Formula, Integers, IntegersMut, PARAMETERS, Task};
use crate::context::Context;
use crate::elements::{Elements, ElementsMut};
use crate::fixed_point::{confined, rounded_small, rounded_small_away};
use crate::range::ElementRange;

/// How a real number x becomes an integer, before the zero point is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToInteger {
    /// x / scale, rounded to f32, and then to the nearest integer, ties to even: ONNX.
    Divide,
    /// x · (1 / scale), the quotient rounded to f32 and the product too, and then to the nearest integer, ties to even.
    Multiply,
    /// x / scale, rounded to f32, and then to the nearest integer, ties away from zero: TFLite.
    DivideAway,
}

/// Makes integers of real numbers: those of a range, whatever the type can hold. NaN becomes what stands for 0.
pub(crate) fn quantize(
    context: &Context,
    rule: ToInteger,
    (scales, zero_points): (&[f32], Option<&[i32]>),
    range: ElementRange,
    channels: Channels,
    from: Elements<f32>,
    to: IntegersMut,
) {
    let zero_points = Each::ints(zero_points);
    let spread = |scales| [scales, zero_points, Each::All(range.least), Each::All(range.greatest)];
    match rule {
        ToInteger::Divide => {
            Task { formula: Divide, parameters: spread(Each::floats(scales)), channels, from, to }.run(context);
        }
        ToInteger::Multiply => {
            Task { formula: Multiply, parameters: spread(Each::inverses(scales)), channels, from, to }.run(context);
        }
        ToInteger::DivideAway => {
            Task { formula: DivideAway, parameters: spread(Each::floats(scales)), channels, from, to }.run(context);
        }
    }
}

/// Makes real numbers of integers: (x - zero point) · scale, the difference modulo 2³², rounded to f32 before it is
/// multiplied and after.
pub(crate) fn dequantize(
    context: &Context,
    (scales, zero_points): (&[f32], Option<&[i32]>),
    channels: Channels,
    from: Integers,
    to: ElementsMut<f32>,
) {
    let parameters = [Each::floats(scales), Each::ints(zero_points), Each::All(0), Each::All(0)];
    Task { formula: Dequantize, parameters, channels, from, to }.run(context);
}

/// The parameters are scale, zero point, least and greatest.
#[derive(Clone, Copy)]
pub(super) struct Divide;

impl Formula for Divide {
    #[inline(always)]
    fn of(&self, x: i32, [scale, zero_point, least, greatest]: [i32; PARAMETERS]) -> i32 {
        within(float(x) / float(scale), zero_point, least, greatest, rounded_small)
    }
}

/// The parameters are one over the scale, zero point, least and greatest.
#[derive(Clone, Copy)]
pub(super) struct Multiply;

impl Formula for Multiply {
    #[inline(always)]
    fn of(&self, x: i32, [inverse, zero_point, least, greatest]: [i32; PARAMETERS]) -> i32 {
        within(float(x) * float(inverse), zero_point, least, greatest, rounded_small)
    }
}

/// As [`Divide`].
#[derive(Clone, Copy)]
pub(super) struct DivideAway;

impl Formula for DivideAway {
    #[inline(always)]
    fn of(&self, x: i32, [scale, zero_point, least, greatest]: [i32; PARAMETERS]) -> i32 {
        within(float(x) / float(scale), zero_point, least, greatest, rounded_small_away)
    }
}

#[derive(Clone, Copy)]
struct Dequantize;

impl Formula for Dequantize {
    #[inline(always)]
    fn of(&self, x: i32, [scale, zero_point, ..]: [i32; PARAMETERS]) -> i32 {
        (x.wrapping_sub(zero_point) as f32 * float(scale)).to_bits() as i32
    }
}

/// Rounds `x`, adds the zero point, and confines the sum; NaN counts as 0. All integers are of 16 bits and a sign.
#[inline(always)]
pub(super) fn within(x: f32, zero_point: i32, least: i32, greatest: i32, round: impl Fn(f32) -> i32) -> i32 {
    // Confined first, to integers, which rounding leaves alone, and to small numbers.
    let (below, above) = (least.wrapping_sub(zero_point) as f32, greatest.wrapping_sub(zero_point) as f32);
    round(confined(x, below, above)).wrapping_add(zero_point)
}

#[inline(always)]
pub(super) fn float(word: i32) -> f32 {
    f32::from_bits(word as u32)
}
