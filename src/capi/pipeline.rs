//! A pipeline's stages, checked.

use super::matrix::{Frame, QGEMM_PER_ELEMENT, check_pointer, encoding_of};
use super::stage::*;
use super::{Failure, Place};
use crate::error::Error;
use crate::output::{Binary, Cast, Logistic, QuantizeDown, Rounding, Scale, Stage, Table, Tanh};
use elements::{check_zero_point, element, residual, spread};
use floats::{activation, operation};
use smallvec::SmallVec;

mod elements;
mod floats;

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
            unsafe { push(&mut self.stages, raw, frame)? }
        }
        Ok(())
    }
}

/// Adds the stage that C describes, checked, and turned over if the library computes the transpose.
///
/// # Safety
/// What the stage points at has the sizes that it says, unchanged for `'a`.
unsafe fn push<'a>(stages: &mut SmallVec<[Stage<'a>; USUAL]>, raw: &RawStage, frame: &Frame) -> Result<(), Error> {
    let u = &raw.u;
    // SAFETY: any bytes make a valid value of each field; and this function's own promise.
    unsafe {
        // The usual ones each by itself, so that they are made where they go.
        match raw.kind {
            QGEMM_STAGE_BIAS => {
                stages.push(Stage::Bias(frame.integers("u.bias.bias", &u.bias.bias)?));
                return Ok(());
            }
            QGEMM_STAGE_SCALE => {
                let exponent = frame.integers("u.scale.exponent", &u.scale.exponent)?;
                let multiplier = frame.integers("u.scale.multiplier", &u.scale.multiplier)?;
                let rounding = checked_rounding("u.scale.rounding", u.scale.rounding)?;
                let scale = Scale::new(multiplier, exponent, u.scale.offset_after, rounding);
                stages.push(Stage::Scale(scale.map_err(|value| no_exponent("u.scale.exponent", value))?));
                return Ok(());
            }
            QGEMM_STAGE_CLAMP => {
                stages.push(Stage::Clamp { min: u.clamp.min, max: u.clamp.max });
                return Ok(());
            }
            _ => {}
        }
        stages.push(match raw.kind {
            QGEMM_STAGE_QUANTIZE_DOWN => {
                let shift = frame.integers("u.quantize_down.shift", &u.quantize_down.shift)?;
                if let Some(value) = shift.except(|shift| (0..=31).contains(&shift)) {
                    return Err(Error::Shift { argument: "u.quantize_down.shift", value: value.into() });
                }
                Stage::QuantizeDown(QuantizeDown {
                    offset: frame.integers("u.quantize_down.offset", &u.quantize_down.offset)?,
                    multiplier: frame.integers("u.quantize_down.multiplier", &u.quantize_down.multiplier)?,
                    shift,
                })
            }
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
        });
    }
    Ok(())
}

pub(super) fn check_exponent(argument: &'static str, value: i32) -> Result<(), Error> {
    match value {
        -31..=30 => Ok(()),
        _ => Err(no_exponent(argument, value)),
    }
}

pub(super) fn no_exponent(argument: &'static str, value: i32) -> Error {
    Error::Exponent { argument, value: value.into() }
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
