//! The steps of a pipeline.

use super::tile::Tile;
use super::values::Word;
use super::{Activation, Binary, Logistic, QuantizeDown, Residual, Rounding, Scale, Table, Tanh, Values, Weighted};
use crate::fixed_point::rounded;
use crate::matrix::Runs;

/// One step of a pipeline. Integer arithmetic wraps around.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'a> {
    /// Adds a bias to integers.
    Bias(Values<'a, i32>),
    /// Scales integers down as gemmlowp's `EightBitIntGemm` does.
    QuantizeDown(QuantizeDown<'a>),
    /// Confines integers; to the maximum, if that is less than the minimum.
    Clamp {
        /// The least that is left as it is.
        min: i32,
        /// The greatest.
        max: i32,
    },
    /// Scales integers in fixed point.
    Scale(Scale<'a>),
    /// tanh of integers.
    Tanh(Tanh),
    /// The logistic function of integers.
    Logistic(Logistic),
    /// Adds scaled (residual − zero point) to integers.
    Residual {
        /// What is added.
        residual: Residual<'a>,
        /// Subtracted from the residual's integers.
        zero_point: i32,
        /// The difference times this, over 2³¹, ...
        multiplier: i32,
        /// ... and times 2 to this power, -31 to 30.
        exponent: i32,
        /// How that is rounded.
        rounding: Rounding,
    },
    /// Integers times floats, rounded to integers again, ties to even, saturating.
    ScaleF32 {
        /// What the rounded float of each is multiplied by.
        scale: Values<'a, f32>,
        /// Added after rounding.
        offset_after: i32,
    },
    /// Integers become floats, rounded, and are multiplied by a scale, which rounds again.
    Dequantize(Values<'a, f32>),
    /// Adds a bias to floats.
    BiasF32(Values<'a, f32>),
    /// Confines floats; to the maximum, if that is less than the minimum. NaN stays what it is.
    ClampF32 {
        /// The least that is left as it is.
        min: f32,
        /// The greatest.
        max: f32,
    },
    /// Adds (residual − zero point) · scale to floats.
    ResidualF32 {
        /// What is added.
        residual: Residual<'a>,
        /// Subtracted from the residual's integers.
        zero_point: i32,
        /// What the difference is multiplied by.
        scale: f32,
    },
    /// Floats times a scale become integers, ties to even, saturating.
    Quantize {
        /// One over the scale of the result.
        scale: Values<'a, f32>,
        /// Added after rounding.
        zero_point: i32,
    },
    /// Floats times a scale.
    MultiplyF32(Values<'a, f32>),
    /// A function of floats.
    ActivationF32(Activation),
    /// Floats and another tensor.
    BinaryF32(Binary<'a>),
    /// Floats times a scale, plus a zero point, become integers, ties to even, saturating.
    QuantizeZeroFirst {
        /// One over the scale of the result.
        scale: Values<'a, f32>,
        /// Added before rounding, as a float.
        zero_point: i32,
    },
    /// Integers become entries of a table.
    Table(Table<'a>),
    /// Integers and what the result was before, with their weights.
    Weighted(Weighted<'a>),
}

impl Stage<'_> {
    /// In lower case, as C names it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Stage::Bias(_) => "bias",
            Stage::QuantizeDown(_) => "quantize_down",
            Stage::Scale(_) => "scale",
            Stage::Clamp { .. } => "clamp",
            Stage::Tanh(_) => "tanh",
            Stage::Logistic(_) => "logistic",
            Stage::ScaleF32 { .. } => "scale_f32",
            Stage::Residual { .. } => "residual",
            Stage::Dequantize(_) => "dequantize",
            Stage::BiasF32(_) => "bias_f32",
            Stage::ClampF32 { .. } => "clamp_f32",
            Stage::ResidualF32 { .. } => "residual_f32",
            Stage::Quantize { .. } => "quantize",
            Stage::MultiplyF32(_) => "multiply_f32",
            Stage::ActivationF32(_) => "activation_f32",
            Stage::BinaryF32(_) => "binary_f32",
            Stage::QuantizeZeroFirst { .. } => "quantize_zero_first",
            Stage::Table(_) => "table",
            Stage::Weighted(_) => "weighted",
        }
    }

    /// What the stage reads beside its parameters.
    pub(crate) fn residual(&self) -> Option<&Residual<'_>> {
        match self {
            Stage::Residual { residual, .. } | Stage::ResidualF32 { residual, .. } => Some(residual),
            Stage::BinaryF32(binary) => Some(&binary.tensor),
            Stage::Weighted(weighted) => weighted.before.as_ref(),
            _ => None,
        }
    }

    /// Whether any of the stage's parameters lies where it `is_so`.
    #[inline(always)]
    pub(crate) fn any_parameter(&self, mut is_so: impl FnMut(Runs) -> bool) -> bool {
        let mut any = |runs: Option<Runs>| runs.is_some_and(&mut is_so);
        match self {
            Stage::Bias(bias) => any(bias.runs()),
            Stage::QuantizeDown(stage) => {
                any(stage.offset.runs()) || any(stage.multiplier.runs()) || any(stage.shift.runs())
            }
            Stage::Scale(stage) => any(stage.multiplier.runs()) || any(stage.exponent.runs()),
            Stage::ScaleF32 { scale, .. } | Stage::Quantize { scale, .. } | Stage::QuantizeZeroFirst { scale, .. } => {
                any(scale.runs())
            }
            Stage::Dequantize(values) | Stage::BiasF32(values) | Stage::MultiplyF32(values) => any(values.runs()),
            Stage::Table(table) => any(Some(table.runs())),
            Stage::Weighted(weighted) => any(weighted.offset.runs()),
            _ => false,
        }
    }

    /// Whether any value of the stage's parameters lies there.
    #[inline(always)]
    pub(crate) fn has_parameters_in(&self, runs: &Runs) -> bool {
        self.any_parameter(|values| runs.overlap(&values))
    }

    /// Whether anything lies there that the stage reads.
    pub(crate) fn reads(&self, runs: &Runs) -> bool {
        self.has_parameters_in(runs) || self.residual().is_some_and(|residual| runs.overlap(&residual.runs()))
    }

    #[inline(always)]
    pub(super) fn apply(&self, tile: &mut Tile) {
        let (float, word) = (f32::from_word, f32::to_word);
        match self {
            Stage::Bias(bias) => bias.apply(tile, i32::wrapping_add),
            Stage::QuantizeDown(stage) => stage.apply(tile),
            Stage::Scale(stage) => stage.apply(tile),
            &Stage::Clamp { min, max } => tile.each(|x| x.max(min).min(max)),
            Stage::Tanh(tanh) => {
                for x in tile.acc.iter_mut() {
                    *x = tanh.of(*x);
                }
            }
            Stage::Logistic(logistic) => {
                for x in tile.acc.iter_mut() {
                    *x = logistic.of(*x);
                }
            }
            &Stage::Residual { ref residual, zero_point, multiplier, exponent, rounding } => {
                let added = tile.read(residual);
                added.iter_mut().for_each(|r| *r = r.wrapping_sub(zero_point));
                rounding.scale(added, multiplier, exponent);
                tile.each_with_read(i32::wrapping_add);
            }
            &Stage::ScaleF32 { scale, offset_after } => {
                scale.apply(tile, |x, scale| rounded(x as f32 * scale).wrapping_add(offset_after));
            }
            Stage::Dequantize(scale) => scale.apply(tile, |x, scale| word(x as f32 * scale)),
            Stage::BiasF32(bias) => bias.apply(tile, |x, bias| word(float(x) + bias)),
            &Stage::ClampF32 { min, max } => {
                // Not `f32::max`: which zero is the greater differs between instruction sets.
                let least = |x: f32| if x < min { min } else { x };
                let most = |x: f32| if x > max { max } else { x };
                tile.each(|x| word(most(least(float(x)))));
            }
            &Stage::ResidualF32 { ref residual, zero_point, scale } => {
                tile.read_floats(residual, zero_point);
                tile.each_with_read(|x, r| word(float(x) + float(r) * scale));
            }
            &Stage::Quantize { scale, zero_point } => {
                scale.apply(tile, |x, scale| rounded(float(x) * scale).wrapping_add(zero_point));
            }
            Stage::MultiplyF32(scale) => scale.apply(tile, |x, scale| word(float(x) * scale)),
            Stage::ActivationF32(activation) => activation.apply(tile),
            Stage::BinaryF32(binary) => binary.apply(tile),
            &Stage::QuantizeZeroFirst { scale, zero_point } => {
                let zero_point = zero_point as f32;
                scale.apply(tile, |x, scale| rounded(float(x) * scale + zero_point));
            }
            Stage::Table(table) => table.apply(tile),
            Stage::Weighted(weighted) => weighted.apply(tile),
        }
    }
}
