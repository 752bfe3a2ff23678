//! Real numbers become integers, and the other way round.

use super::{Channels, Each, Formula, Integers, IntegersMut, PARAMETERS, Real, Rounded, Task, Write, float};
use crate::context::Context;
use crate::elements::{Elements, ElementsMut};
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
    match to.bytes() {
        Some(bytes) => to_range(context, rule, (scales, zero_points), range, channels, from, bytes),
        None => to_range(context, rule, (scales, zero_points), range, channels, from, to),
    }
}

fn to_range(
    context: &Context,
    rule: ToInteger,
    (scales, zero_points): (&[f32], Option<&[i32]>),
    range: ElementRange,
    channels: Channels,
    from: Elements<f32>,
    to: impl Write,
) {
    let zero_points = Each::ints(zero_points);
    let parameters = |scales| [scales, Each::All(0), Each::All(0), Each::All(0), zero_points];
    match rule {
        ToInteger::Divide => {
            let formula = Rounded { real: Divide, range };
            Task { formula, parameters: parameters(Each::floats(scales)), channels, from, to }.run(context);
        }
        ToInteger::Multiply => {
            let formula = Rounded { real: Multiply, range };
            Task { formula, parameters: parameters(Each::inverses(scales)), channels, from, to }.run(context);
        }
        ToInteger::DivideAway => {
            let formula = Rounded { real: DivideAway, range };
            Task { formula, parameters: parameters(Each::floats(scales)), channels, from, to }.run(context);
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
    let parameters = [Each::floats(scales), Each::All(0), Each::All(0), Each::ints(zero_points), Each::All(0)];
    Task { formula: Dequantize, parameters, channels, from, to }.run(context);
}

/// The factor is the scale.
#[derive(Clone, Copy)]
pub(super) struct Divide;

impl Real for Divide {
    #[inline(always)]
    fn of(&self, x: i32, [scale, ..]: [i32; PARAMETERS]) -> f32 {
        float(x) / float(scale)
    }
}

/// The factor is one over the scale.
#[derive(Clone, Copy)]
pub(super) struct Multiply;

impl Real for Multiply {
    #[inline(always)]
    fn of(&self, x: i32, [inverse, ..]: [i32; PARAMETERS]) -> f32 {
        float(x) * float(inverse)
    }
}

/// As [`Divide`].
#[derive(Clone, Copy)]
pub(super) struct DivideAway;

impl Real for DivideAway {
    const ARE_TIES_AWAY: bool = true;

    #[inline(always)]
    fn of(&self, x: i32, [scale, ..]: [i32; PARAMETERS]) -> f32 {
        float(x) / float(scale)
    }
}

#[derive(Clone, Copy)]
struct Dequantize;

impl Formula for Dequantize {
    #[inline(always)]
    fn of(&self, x: i32, [scale, _, _, zero_point, _]: [i32; PARAMETERS]) -> i32 {
        (x.wrapping_sub(zero_point) as f32 * float(scale)).to_bits() as i32
    }
}
