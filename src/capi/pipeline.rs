//! A pipeline's stages, checked.

use super::function::*;
use super::matrix::{
    Frame, Major, QGEMM_PER_COL, QGEMM_PER_ELEMENT, QGEMM_PER_ROW, QGEMM_TYPE_BF16, QGEMM_TYPE_F16, QGEMM_TYPE_F32,
    QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_S32, QGEMM_TYPE_U8, QGEMM_UNIFORM, check_pointer, encoding_of, major,
    stride,
};
use super::stage::*;
use super::{Failure, Place};
use crate::error::Error;
use crate::output::{
    Activation, Binary, Cast, Element, Logistic, Operation, QuantizeDown, Residual, Rounding, Scale, Stage, Table, Tanh,
};
use smallvec::SmallVec;
use std::ffi::c_void;

/// Pipelines up to this length take no memory from the heap.
const USUAL: usize = 8;

/// The stages of a pipeline, and its cast.
pub(super) struct Stages<'a> {
    pub stages: SmallVec<[Stage<'a>; USUAL]>,
    pub gives: Gives,
}

/// What comes out of a stage.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Gives {
    Integers,
    Floats,
    Narrow(Cast),
}

impl<'a> Stages<'a> {
    /// None yet; the first takes what `sums` says.
    pub(super) fn new(sums: Gives) -> Self {
        Self { stages: SmallVec::new(), gives: sums }
    }

    /// Reads `count` stages.
    ///
    /// # Safety
    /// `stages` has `count` stages, and what they point at has the sizes that they say, unchanged for `'a`.
    pub(super) unsafe fn read(&mut self, stages: *const RawStage, count: usize, frame: &Frame) -> Result<(), Failure> {
        if count > 0 {
            check_pointer("stages", stages)?;
        }
        // SAFETY: this function's own promise.
        let raw = unsafe { crate::matrix::slice(stages, count) }.ok_or(Error::TooLarge { argument: "stages" })?;
        for (i, raw) in raw.iter().enumerate() {
            // SAFETY: this function's own promise.
            unsafe { self.push(raw, frame) }.map_err(|error| Failure { error, place: Place::Stage(i) })?;
        }
        Ok(())
    }

    /// What QGEMM_VERBOSE calls them.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        let cast = match self.gives {
            Gives::Narrow(Cast::Saturating) => Some("cast_saturating"),
            Gives::Narrow(Cast::Truncating) => Some("cast_truncating"),
            _ => None,
        };
        self.stages.iter().map(Stage::name).chain(cast)
    }

    /// # Safety
    /// As for `read`.
    unsafe fn push(&mut self, raw: &RawStage, frame: &Frame) -> Result<(), Error> {
        if raw.reserved != 0 {
            return Err(Error::Reserved { argument: "reserved" });
        }
        let (takes, gives) = match raw.kind {
            QGEMM_STAGE_BIAS..=QGEMM_STAGE_RESIDUAL | QGEMM_STAGE_TABLE => (Gives::Integers, Gives::Integers),
            QGEMM_STAGE_DEQUANTIZE => (Gives::Integers, Gives::Floats),
            QGEMM_STAGE_BIAS_F32..=QGEMM_STAGE_RESIDUAL_F32 | QGEMM_STAGE_MULTIPLY_F32..=QGEMM_STAGE_BINARY_F32 => {
                (Gives::Floats, Gives::Floats)
            }
            QGEMM_STAGE_QUANTIZE | QGEMM_STAGE_QUANTIZE_ZERO_FIRST => (Gives::Floats, Gives::Integers),
            QGEMM_STAGE_CAST_SATURATING => (Gives::Integers, Gives::Narrow(Cast::Saturating)),
            QGEMM_STAGE_CAST_TRUNCATING => (Gives::Integers, Gives::Narrow(Cast::Truncating)),
            value => return Err(Error::Option { argument: "kind", value }),
        };
        let problem = match (self.gives, takes) {
            (Gives::Narrow(_), _) => Some("the stage comes after a cast, which has to be the last"),
            (Gives::Floats, Gives::Integers) if self.stages.is_empty() => {
                Some("the stage takes integers, but the sums of groups with scales are floats")
            }
            (Gives::Floats, Gives::Integers) => Some("the stage takes integers, but the one before it gives floats"),
            (Gives::Integers, Gives::Floats) => Some("the stage takes floats, but the one before it gives integers"),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(Error::StageOrder { problem });
        }
        self.gives = gives;
        if !matches!(gives, Gives::Narrow(_)) {
            // SAFETY: this function's own promise.
            self.stages.push(unsafe { stage(raw, frame)? });
        }
        Ok(())
    }
}

/// The stage that C describes, checked, and turned over if the library computes the transpose.
///
/// # Safety
/// What the stage points at has the sizes that it says, unchanged for `'a`.
unsafe fn stage<'a>(raw: &RawStage, frame: &Frame) -> Result<Stage<'a>, Error> {
    let u = &raw.u;
    // SAFETY: any bytes make a valid value of each field; and this function's own promise.
    unsafe {
        Ok(match raw.kind {
            QGEMM_STAGE_BIAS => Stage::Bias(frame.integers("u.bias.bias", &u.bias.bias)?),
            QGEMM_STAGE_QUANTIZE_DOWN => {
                let shift = frame.integers("u.quantize_down.shift", &u.quantize_down.shift)?;
                if let Some(&value) = shift.all().iter().find(|shift| !(0..=31).contains(*shift)) {
                    return Err(Error::Shift { argument: "u.quantize_down.shift", value: value.into() });
                }
                Stage::QuantizeDown(QuantizeDown {
                    offset: frame.integers("u.quantize_down.offset", &u.quantize_down.offset)?,
                    multiplier: frame.integers("u.quantize_down.multiplier", &u.quantize_down.multiplier)?,
                    shift,
                })
            }
            QGEMM_STAGE_SCALE => {
                let exponent = frame.integers("u.scale.exponent", &u.scale.exponent)?;
                exponent.all().iter().try_for_each(|&x| check_exponent("u.scale.exponent", x))?;
                let multiplier = frame.integers("u.scale.multiplier", &u.scale.multiplier)?;
                let rounding = checked_rounding("u.scale.rounding", u.scale.rounding)?;
                Stage::Scale(Scale::new(multiplier, exponent, u.scale.offset_after, rounding))
            }
            QGEMM_STAGE_CLAMP => Stage::Clamp { min: u.clamp.min, max: u.clamp.max },
            QGEMM_STAGE_TANH => Stage::Tanh(Tanh::new(u.tanh.zero, u.tanh.amplitude).ok_or(Error::Parameter {
                argument: "u.tanh.amplitude",
                value: u.tanh.amplitude.into(),
                expected: "at least 0, and zero + 8 * amplitude and zero - 8 * amplitude fit 32 bits",
            })?),
            QGEMM_STAGE_LOGISTIC => {
                let StageLogistic { zero, amplitude, result_zero, result_amplitude } = u.logistic;
                let stage = Logistic::new(zero, amplitude, result_zero, result_amplitude);
                Stage::Logistic(stage.ok_or(Error::Parameter {
                    argument: "u.logistic.amplitude",
                    value: amplitude.into(),
                    expected: "positive, and result_amplitude not negative, and all integers between fit 32 bits",
                })?)
            }
            QGEMM_STAGE_SCALE_F32 => Stage::ScaleF32 {
                scale: frame.floats("u.scale_f32.scale", &u.scale_f32.scale)?,
                offset_after: u.scale_f32.offset_after,
            },
            QGEMM_STAGE_RESIDUAL => {
                let raw = u.residual;
                check_exponent("u.residual.exponent", raw.exponent)?;
                let element = element(raw.r#type)?;
                if element.is_float() {
                    let expected = "QGEMM_TYPE_U8, _S8, _S16 or _S32";
                    return Err(Error::Type { argument: "u.residual.type", value: raw.r#type, expected });
                }
                Stage::Residual {
                    residual: residual(raw.data, element, raw.order, raw.stride, frame)?,
                    zero_point: raw.zero_point,
                    multiplier: raw.multiplier,
                    exponent: raw.exponent,
                    rounding: checked_rounding("u.residual.rounding", raw.rounding)?,
                }
            }
            QGEMM_STAGE_DEQUANTIZE => Stage::Dequantize(frame.floats("u.dequantize.scale", &u.dequantize.scale)?),
            QGEMM_STAGE_BIAS_F32 => Stage::BiasF32(frame.floats("u.bias_f32.bias", &u.bias_f32.bias)?),
            QGEMM_STAGE_CLAMP_F32 => {
                let StageClampF32 { min, max } = u.clamp_f32;
                for (argument, bound) in [("u.clamp_f32.min", min), ("u.clamp_f32.max", max)] {
                    if bound.is_nan() {
                        return Err(Error::Parameter { argument, value: bound.into(), expected: "a number" });
                    }
                }
                Stage::ClampF32 { min, max }
            }
            QGEMM_STAGE_RESIDUAL_F32 => {
                let raw = u.residual_f32;
                check_finite("u.residual_f32.scale", raw.scale)?;
                let element = element(raw.r#type)?;
                check_zero_point("u.residual_f32.zero_point", raw.zero_point, element)?;
                Stage::ResidualF32 {
                    residual: residual(raw.data, element, raw.order, raw.stride, frame)?,
                    zero_point: raw.zero_point,
                    scale: raw.scale,
                }
            }
            QGEMM_STAGE_QUANTIZE => Stage::Quantize {
                scale: frame.floats("u.quantize.scale", &u.quantize.scale)?,
                zero_point: u.quantize.zero_point,
            },
            QGEMM_STAGE_MULTIPLY_F32 => {
                Stage::MultiplyF32(frame.floats("u.multiply_f32.scale", &u.multiply_f32.scale)?)
            }
            QGEMM_STAGE_ACTIVATION_F32 => Stage::ActivationF32(activation(u.activation_f32)?),
            QGEMM_STAGE_BINARY_F32 => {
                let raw = u.binary_f32;
                check_finite("u.binary_f32.scale", raw.scale)?;
                let element = element(raw.r#type)?;
                check_zero_point("u.binary_f32.zero_point", raw.zero_point, element)?;
                let tensor = match raw.axis {
                    QGEMM_PER_ELEMENT => residual(raw.data, element, raw.order, raw.stride, frame)?,
                    axis => spread(raw.data, element, axis, frame)?,
                };
                let operation = operation(raw.operation)?;
                Stage::BinaryF32(Binary { tensor, zero_point: raw.zero_point, scale: raw.scale, operation })
            }
            QGEMM_STAGE_QUANTIZE_ZERO_FIRST => Stage::QuantizeZeroFirst {
                scale: frame.floats("u.quantize_zero_first.scale", &u.quantize_zero_first.scale)?,
                zero_point: u.quantize_zero_first.zero_point,
            },
            QGEMM_STAGE_TABLE => {
                let entries = u.table.entries.cast::<[u8; 256]>();
                check_pointer("u.table.entries", entries)?;
                let from = encoding_of("u.table.from_type", u.table.from_type)?;
                let to = encoding_of("u.table.to_type", u.table.to_type)?;
                Stage::Table(Table { entries: &*entries, from, to })
            }
            _ => unreachable!("casts and unknown kinds do not come here"),
        })
    }
}

pub(super) fn check_exponent(argument: &'static str, value: i32) -> Result<(), Error> {
    match value {
        -31..=30 => Ok(()),
        _ => Err(Error::Exponent { argument, value: value.into() }),
    }
}

pub(super) fn checked_rounding(argument: &'static str, value: u32) -> Result<Rounding, Error> {
    match value {
        QGEMM_ROUND_TWICE => Ok(Rounding::Twice),
        QGEMM_ROUND_TWICE_UP => Ok(Rounding::TwiceUp),
        QGEMM_ROUND_ONCE => Ok(Rounding::Once),
        value => Err(Error::Option { argument, value }),
    }
}

fn check_finite(argument: &'static str, value: f32) -> Result<(), Error> {
    if value.is_finite() { Ok(()) } else { Err(Error::Parameter { argument, value: value.into(), expected: "finite" }) }
}

fn check_zero_point(argument: &'static str, value: i32, element: Element) -> Result<(), Error> {
    if element.is_float() && value != 0 {
        return Err(Error::Parameter { argument, value: value.into(), expected: "0 for floats" });
    }
    Ok(())
}

fn activation(raw: StageActivationF32) -> Result<Activation, Error> {
    let StageActivationF32 { function, alpha, beta } = raw;
    let (has_alpha, has_beta) = match function {
        QGEMM_FUNCTION_RELU | QGEMM_FUNCTION_SWISH | QGEMM_FUNCTION_ELU => (true, false),
        QGEMM_FUNCTION_HARDSWISH | QGEMM_FUNCTION_HARDSIGMOID | QGEMM_FUNCTION_LINEAR => (true, true),
        _ => (false, false),
    };
    let parameters = [("u.activation_f32.alpha", alpha, has_alpha), ("u.activation_f32.beta", beta, has_beta)];
    for (argument, value, is_used) in parameters {
        if is_used {
            check_finite(argument, value)?;
        }
        if function == QGEMM_FUNCTION_CLIP && value.is_nan() {
            return Err(Error::Parameter { argument, value: value.into(), expected: "a number" });
        }
    }
    Ok(match function {
        QGEMM_FUNCTION_RELU => Activation::Relu { alpha },
        QGEMM_FUNCTION_TANH => Activation::Tanh,
        QGEMM_FUNCTION_LOGISTIC => Activation::Logistic,
        QGEMM_FUNCTION_GELU_ERF => Activation::GeluErf,
        QGEMM_FUNCTION_GELU_TANH => Activation::GeluTanh,
        QGEMM_FUNCTION_SWISH => Activation::Swish { alpha },
        QGEMM_FUNCTION_HARDSWISH => Activation::HardSwish { alpha, beta },
        QGEMM_FUNCTION_HARDSIGMOID => Activation::HardSigmoid { alpha, beta },
        QGEMM_FUNCTION_ELU => Activation::Elu { alpha },
        QGEMM_FUNCTION_EXP => Activation::Exp,
        QGEMM_FUNCTION_MISH => Activation::Mish,
        QGEMM_FUNCTION_LINEAR => Activation::Linear { alpha, beta },
        QGEMM_FUNCTION_CLIP => Activation::Clip { least: alpha, most: beta },
        value => return Err(Error::Option { argument: "u.activation_f32.function", value }),
    })
}

fn operation(value: u32) -> Result<Operation, Error> {
    match value {
        QGEMM_BINARY_ADD => Ok(Operation::Add),
        QGEMM_BINARY_SUB => Ok(Operation::Subtract),
        QGEMM_BINARY_MUL => Ok(Operation::Multiply),
        QGEMM_BINARY_DIV => Ok(Operation::Divide),
        QGEMM_BINARY_MIN => Ok(Operation::Min),
        QGEMM_BINARY_MAX => Ok(Operation::Max),
        value => Err(Error::Option { argument: "u.binary_f32.operation", value }),
    }
}

fn element(r#type: u32) -> Result<Element, Error> {
    match r#type {
        QGEMM_TYPE_U8 => Ok(Element::U8),
        QGEMM_TYPE_S8 => Ok(Element::I8),
        QGEMM_TYPE_S16 => Ok(Element::I16),
        QGEMM_TYPE_S32 => Ok(Element::I32),
        QGEMM_TYPE_F32 => Ok(Element::F32),
        QGEMM_TYPE_BF16 => Ok(Element::Bf16),
        QGEMM_TYPE_F16 => Ok(Element::F16),
        value => Err(Error::Type { argument: "type", value, expected: "one of QGEMM_TYPE_U8 to _F16" }),
    }
}

fn check_elements(data: *const c_void, element: Element, frame: &Frame) -> Result<(), Error> {
    if frame.rows > 0 && frame.cols > 0 {
        if data.is_null() {
            return Err(Error::Null { argument: "data" });
        }
        if !data.addr().is_multiple_of(element.size()) {
            return Err(Error::Alignment { argument: "data", unit: element.size() });
        }
    }
    Ok(())
}

/// # Safety
/// `data` reaches as far as the result's shape and `step` say, unchanged for `'a`.
unsafe fn residual<'a>(
    data: *const c_void,
    element: Element,
    order: u32,
    step: i64,
    frame: &Frame,
) -> Result<Residual<'a>, Error> {
    let major = major("order", order)?;
    let runs = if major == Major::Row { (frame.rows, frame.cols) } else { (frame.cols, frame.rows) };
    let stride = stride(step, runs, 1)?;
    check_elements(data, element, frame)?;
    let steps = if major == frame.major { (stride, 1) } else { (1, stride) };
    // SAFETY: this function's own promise.
    unsafe { Residual::from_raw(data.cast(), element, frame.computed(), steps) }
        .ok_or(Error::TooLarge { argument: "data" })
}

/// # Safety
/// `data` has as many elements as there are rows or columns, or one, unchanged for `'a`.
unsafe fn spread<'a>(data: *const c_void, element: Element, axis: u32, frame: &Frame) -> Result<Residual<'a>, Error> {
    let (row_step, col_step) = match axis {
        QGEMM_UNIFORM => (0, 0),
        QGEMM_PER_ROW => (1, 0),
        QGEMM_PER_COL => (0, 1),
        value => return Err(Error::Option { argument: "u.binary_f32.axis", value }),
    };
    check_elements(data, element, frame)?;
    // The rows of the transpose are the columns.
    let steps = if frame.major == Major::Row { (row_step, col_step) } else { (col_step, row_step) };
    // SAFETY: this function's own promise.
    unsafe { Residual::spread(data.cast(), element, frame.computed(), steps) }
        .ok_or(Error::TooLarge { argument: "data" })
}
