//! Stages of output pipelines, as C describes them.

use super::matrix::{F32Values, I32Values};
use std::ffi::c_void;

/// Stage: adds u.bias.bias to integers, wrapping around. gemmlowp's OutputStageBiasAddition.
pub const QGEMM_STAGE_BIAS: u32 = 1;
/// Stage: (x + offset) * multiplier / 2^shift by u.quantize_down, rounded to nearest, ties away from zero; sum and product
/// wrap around. gemmlowp's OutputStageQuantizeDownInt32ToUint8Scale.
pub const QGEMM_STAGE_QUANTIZE_DOWN: u32 = 2;
/// Stage: x * multiplier / 2^31 * 2^exponent + offset_after by u.scale. gemmlowp's
/// OutputStageScaleInt32ByFixedPointAndExponent; with minus the shift for an exponent its
/// OutputStageQuantizeDownInt32ByFixedPoint.
pub const QGEMM_STAGE_SCALE: u32 = 3;
/// Stage: confines integers to u.clamp.min and u.clamp.max; to max where min is greater. gemmlowp's OutputStageClamp.
pub const QGEMM_STAGE_CLAMP: u32 = 4;
/// Stage: zero + amplitude * tanh((x - zero) / amplitude) by u.tanh, in fixed point. gemmlowp's OutputStageTanh.
pub const QGEMM_STAGE_TANH: u32 = 5;
/// Stage: result_zero + result_amplitude * logistic((x - zero) / amplitude) by u.logistic, in fixed point, where
/// logistic(t) is 1 / (1 + exp(-t)).
pub const QGEMM_STAGE_LOGISTIC: u32 = 6;
/// Stage: rounds (float)x * scale to an integer, ties to even, saturating, and adds offset_after, by u.scale_f32.
pub const QGEMM_STAGE_SCALE_F32: u32 = 7;
/// Stage: adds another quantized tensor to integers: x + scaled(r - zero_point), by u.residual.
pub const QGEMM_STAGE_RESIDUAL: u32 = 8;
/// Stage: integers become floats: (float)x * scale, each step rounded to nearest, ties to even, by u.dequantize.
pub const QGEMM_STAGE_DEQUANTIZE: u32 = 9;
/// Stage: adds u.bias_f32.bias to floats.
pub const QGEMM_STAGE_BIAS_F32: u32 = 10;
/// Stage: confines floats to u.clamp_f32.min and u.clamp_f32.max; to max where min is greater.
pub const QGEMM_STAGE_CLAMP_F32: u32 = 11;
/// Stage: adds another tensor to floats: x + (float)(r - zero_point) * scale, by u.residual_f32.
pub const QGEMM_STAGE_RESIDUAL_F32: u32 = 12;
/// Stage: floats become integers: x * scale rounded, ties to even, saturating, plus zero_point, by u.quantize.
pub const QGEMM_STAGE_QUANTIZE: u32 = 13;
/// Stage, the last: integers become those of the result's type, u8, s8 or s16; out of range, the nearest in range.
pub const QGEMM_STAGE_CAST_SATURATING: u32 = 14;
/// Stage, the last: integers become those of the result's type, u8, s8 or s16, by their low bits.
pub const QGEMM_STAGE_CAST_TRUNCATING: u32 = 15;
/// Stage: floats times u.multiply_f32.scale. With a scale per row here and one per column in the DEQUANTIZE before it, both
/// sides have scales of their own.
pub const QGEMM_STAGE_MULTIPLY_F32: u32 = 16;
/// Stage: a function of floats, by u.activation_f32. Each result is the exact one, rounded to nearest after an error of at
/// most 0.01 units in the last place; the same bits on every processor.
pub const QGEMM_STAGE_ACTIVATION_F32: u32 = 17;
/// Stage: floats x become x + y, x - y, x * y, x / y, or the lesser or the greater of both, where
/// y = (float)(r - zero_point) * scale, r being another tensor, by u.binary_f32.
pub const QGEMM_STAGE_BINARY_F32: u32 = 18;
/// Stage: floats become integers: x * scale + (float)zero_point, each step rounded to 32 bits, then rounded to an integer,
/// ties to even, saturating, by u.quantize_zero_first. As oneDNN's compiled kernels, scale being one over the result's; its
/// reference divides by the scale of the result instead: to do so, have a BINARY_F32 with QGEMM_BINARY_DIV before this, and
/// a scale of 1 here. QUANTIZE adds the zero point after rounding: the results differ, by 1, only where x * scale ends in a
/// half, or so near to one that the sum with the zero point rounds to it.
pub const QGEMM_STAGE_QUANTIZE_ZERO_FIRST: u32 = 19;
/// Stage: integers, confined to those of 8 bits, become the table's entries of u.table.
pub const QGEMM_STAGE_TABLE: u32 = 20;

/// Operation: x + y.
pub const QGEMM_BINARY_ADD: u32 = 1;
/// Operation: x - y.
pub const QGEMM_BINARY_SUB: u32 = 2;
/// Operation: x * y.
pub const QGEMM_BINARY_MUL: u32 = 3;
/// Operation: x / y.
pub const QGEMM_BINARY_DIV: u32 = 4;
/// Operation: y if it is less than x, else x; so x if y is NaN.
pub const QGEMM_BINARY_MIN: u32 = 5;
/// Operation: y if it is greater than x, else x; so x if y is NaN.
pub const QGEMM_BINARY_MAX: u32 = 6;

/// Rounding: twice, as gemmlowp and TFLite's reference do. x, shifted left by a positive exponent (saturating), is multiplied
/// to the upper half of a 64-bit product, doubled, rounded to nearest with ties up; then divided by a power of two for a
/// negative exponent, rounded to nearest with ties away from zero.
pub const QGEMM_ROUND_TWICE: u32 = 0;
/// Rounding: as QGEMM_ROUND_TWICE, but the ties of the division go up: ruy on x86, TFLite's NEON kernels.
pub const QGEMM_ROUND_TWICE_UP: u32 = 1;
/// Rounding: once, to nearest, ties up: (x * multiplier + 2^(30 - exponent)) >> (31 - exponent) in 64 bits, saturated.
/// TFLite's single rounding, ruy on Arm.
pub const QGEMM_ROUND_ONCE: u32 = 2;

/// Parameters of QGEMM_STAGE_BIAS.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageBias {
    /// What is added.
    pub bias: I32Values,
}

/// Parameters of QGEMM_STAGE_QUANTIZE_DOWN.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageQuantizeDown {
    /// Added first.
    pub offset: I32Values,
    /// What the sum is multiplied by.
    pub multiplier: I32Values,
    /// Which power of two the product is divided by: 0 to 31.
    pub shift: I32Values,
}

/// Parameters of QGEMM_STAGE_SCALE.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageScale {
    /// A fraction of 2^31, usually at least 2^30: see qgemm_quantize_multiplier().
    pub multiplier: I32Values,
    /// The power of two that goes with it: -31 to 30.
    pub exponent: I32Values,
    /// Added after rounding, wrapping around: the zero point of the result.
    pub offset_after: i32,
    /// QGEMM_ROUND_TWICE, QGEMM_ROUND_TWICE_UP or QGEMM_ROUND_ONCE.
    pub rounding: u32,
}

/// Parameters of QGEMM_STAGE_CLAMP.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageClamp {
    /// The least integer that is left as it is.
    pub min: i32,
    /// The greatest.
    pub max: i32,
}

/// Parameters of QGEMM_STAGE_TANH.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageTanh {
    /// The integer that stands for 0, before and after.
    pub zero: i32,
    /// By how much the integer that stands for 1 exceeds that: at least 0; zero plus and minus 8 times that fit 32 bits.
    pub amplitude: i32,
}

/// Parameters of QGEMM_STAGE_LOGISTIC.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageLogistic {
    /// The integer that stands for 0 before.
    pub zero: i32,
    /// By how much the integer that stands for 1 before exceeds that.
    pub amplitude: i32,
    /// The integer that stands for 0 after.
    pub result_zero: i32,
    /// By how much the integer that stands for 1 after exceeds that.
    pub result_amplitude: i32,
}

/// Parameters of QGEMM_STAGE_SCALE_F32.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageScaleF32 {
    /// What is multiplied by: finite.
    pub scale: F32Values,
    /// Added after rounding, wrapping around: the zero point of the result.
    pub offset_after: i32,
}

/// Parameters of QGEMM_STAGE_RESIDUAL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageResidual {
    /// The elements r, as many rows and columns as the result. They may be those of the result itself, if order, stride and
    /// size of an element are the same: then it is added to.
    pub data: *const c_void,
    /// Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next; 0 for no gaps.
    pub stride: i64,
    /// QGEMM_TYPE_U8, _S8, _S16 or _S32.
    pub r#type: u32,
    /// QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR.
    pub order: u32,
    /// Subtracted from every element, wrapping around.
    pub zero_point: i32,
    /// As that of QGEMM_STAGE_SCALE.
    pub multiplier: i32,
    /// As that of QGEMM_STAGE_SCALE.
    pub exponent: i32,
    /// As that of QGEMM_STAGE_SCALE.
    pub rounding: u32,
}

/// Parameters of QGEMM_STAGE_DEQUANTIZE.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageDequantize {
    /// What is multiplied by, usually the product of both operands' scales: finite.
    pub scale: F32Values,
}

/// Parameters of QGEMM_STAGE_BIAS_F32.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageBiasF32 {
    /// What is added: finite.
    pub bias: F32Values,
}

/// Parameters of QGEMM_STAGE_CLAMP_F32. NaN stays NaN.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageClampF32 {
    /// The least number that is left as it is; may be minus infinity, but not NaN.
    pub min: f32,
    /// The greatest; may be infinity, but not NaN.
    pub max: f32,
}

/// Parameters of QGEMM_STAGE_RESIDUAL_F32.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageResidualF32 {
    /// As that of QGEMM_STAGE_RESIDUAL.
    pub data: *const c_void,
    /// As that of QGEMM_STAGE_RESIDUAL.
    pub stride: i64,
    /// QGEMM_TYPE_U8, _S8, _S16, _S32, _F32, _BF16 or _F16.
    pub r#type: u32,
    /// QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR.
    pub order: u32,
    /// Subtracted from every element, wrapping around; 0 for floats.
    pub zero_point: i32,
    /// What the difference is multiplied by: finite.
    pub scale: f32,
}

/// Parameters of QGEMM_STAGE_QUANTIZE.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageQuantize {
    /// What is multiplied by, usually one over the result's scale: finite.
    pub scale: F32Values,
    /// Added after rounding, wrapping around.
    pub zero_point: i32,
}

/// Parameters of QGEMM_STAGE_MULTIPLY_F32.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageMultiplyF32 {
    /// What is multiplied by: finite.
    pub scale: F32Values,
}

/// Parameters of QGEMM_STAGE_ACTIVATION_F32.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageActivationF32 {
    /// One of QGEMM_FUNCTION_RELU to QGEMM_FUNCTION_CLIP.
    pub function: u32,
    /// As the function says; finite where it says so, and of QGEMM_FUNCTION_CLIP not NaN. Else not looked at.
    pub alpha: f32,
    /// As alpha.
    pub beta: f32,
}

/// Parameters of QGEMM_STAGE_BINARY_F32.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageBinaryF32 {
    /// The elements r. With axis QGEMM_PER_ELEMENT as those of QGEMM_STAGE_RESIDUAL_F32; else one after the other, and none of
    /// them in the result.
    pub data: *const c_void,
    /// As that of QGEMM_STAGE_RESIDUAL, with axis QGEMM_PER_ELEMENT; else not looked at.
    pub stride: i64,
    /// QGEMM_TYPE_U8, _S8, _S16, _S32, _F32, _BF16 or _F16.
    pub r#type: u32,
    /// QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR, with axis QGEMM_PER_ELEMENT; else not looked at.
    pub order: u32,
    /// Subtracted from every element, wrapping around; 0 for floats.
    pub zero_point: i32,
    /// What the difference is multiplied by: finite.
    pub scale: f32,
    /// One of QGEMM_BINARY_ADD to QGEMM_BINARY_MAX.
    pub operation: u32,
    /// QGEMM_PER_ELEMENT; QGEMM_PER_ROW or QGEMM_PER_COL for as many elements as there are rows or columns; QGEMM_UNIFORM for
    /// one.
    pub axis: u32,
}

/// Parameters of QGEMM_STAGE_QUANTIZE_ZERO_FIRST.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageQuantizeZeroFirst {
    /// What is multiplied by, usually one over the result's scale: finite.
    pub scale: F32Values,
    /// Added before rounding.
    pub zero_point: i32,
}

/// Parameters of QGEMM_STAGE_TABLE.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StageTable {
    /// 256 bytes: that of a number x is entries[(uint8_t)x].
    pub entries: *const c_void,
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8: which numbers are looked up. Others become the nearest of these.
    pub from_type: u32,
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8: what the entries are.
    pub to_type: u32,
}

/// The parameters of a stage: those that its kind names.
#[repr(C)]
#[derive(Clone, Copy)]
pub union StageParameters {
    /// Of QGEMM_STAGE_BIAS.
    pub bias: StageBias,
    /// Of QGEMM_STAGE_QUANTIZE_DOWN.
    pub quantize_down: StageQuantizeDown,
    /// Of QGEMM_STAGE_SCALE.
    pub scale: StageScale,
    /// Of QGEMM_STAGE_CLAMP.
    pub clamp: StageClamp,
    /// Of QGEMM_STAGE_TANH.
    pub tanh: StageTanh,
    /// Of QGEMM_STAGE_LOGISTIC.
    pub logistic: StageLogistic,
    /// Of QGEMM_STAGE_SCALE_F32.
    pub scale_f32: StageScaleF32,
    /// Of QGEMM_STAGE_RESIDUAL.
    pub residual: StageResidual,
    /// Of QGEMM_STAGE_DEQUANTIZE.
    pub dequantize: StageDequantize,
    /// Of QGEMM_STAGE_BIAS_F32.
    pub bias_f32: StageBiasF32,
    /// Of QGEMM_STAGE_CLAMP_F32.
    pub clamp_f32: StageClampF32,
    /// Of QGEMM_STAGE_RESIDUAL_F32.
    pub residual_f32: StageResidualF32,
    /// Of QGEMM_STAGE_QUANTIZE.
    pub quantize: StageQuantize,
    /// Of QGEMM_STAGE_MULTIPLY_F32.
    pub multiply_f32: StageMultiplyF32,
    /// Of QGEMM_STAGE_ACTIVATION_F32.
    pub activation_f32: StageActivationF32,
    /// Of QGEMM_STAGE_BINARY_F32.
    pub binary_f32: StageBinaryF32,
    /// Of QGEMM_STAGE_QUANTIZE_ZERO_FIRST.
    pub quantize_zero_first: StageQuantizeZeroFirst,
    /// Of QGEMM_STAGE_TABLE.
    pub table: StageTable,
    /// Makes room for kinds to come.
    pub reserved: [u64; 16],
}

/// One step from sums to results: 136 bytes in every version.
///
/// A pipeline starts with the sums, integers of 32 bits. Stages follow in any number and order, as long as each takes what the
/// one before it gives:
///
///   - integers to integers: BIAS, QUANTIZE_DOWN, SCALE, CLAMP, TANH, LOGISTIC, SCALE_F32, RESIDUAL, TABLE
///   - integers to floats: DEQUANTIZE
///   - floats to floats: BIAS_F32, CLAMP_F32, RESIDUAL_F32, MULTIPLY_F32, ACTIVATION_F32, BINARY_F32
///   - floats to integers: QUANTIZE, QUANTIZE_ZERO_FIRST
///   - integers to u8, s8 or s16: CAST_SATURATING, CAST_TRUNCATING, and then nothing more
///
/// What the last one gives has to be the result's type; no stage at all gives QGEMM_TYPE_S32. Floats may become any of
/// QGEMM_TYPE_F32, QGEMM_TYPE_BF16 and QGEMM_TYPE_F16: these are rounded to nearest, ties to even.
///
/// What oneDNN calls attributes are operands, options and stages here, and all of them are run-time arguments:
///
///   - zero points of source and weights: minus offset of qgemm_operand, for all or for each row of lhs and column of rhs;
///     of groups along k: zero_points of qgemm_pack_options
///   - scales of source and weights: DEQUANTIZE by their product where both are for whole tensors, or the weights' per
///     channel, or DEQUANTIZE by the weights' per column and MULTIPLY_F32 by the source's per row; of groups along k: scales
///     of qgemm_pack_options
///   - bias s32: BIAS before DEQUANTIZE; bias f32: BIAS_F32; of other types: BINARY_F32 with QGEMM_PER_COL
///   - eltwise: ACTIVATION_F32, and CLAMP_F32 for clip; linear is QGEMM_FUNCTION_LINEAR, or MULTIPLY_F32 and BIAS_F32
///   - sum, with its scale and zero point: RESIDUAL_F32, from the result itself or any other place
///   - binary: BINARY_F32, its tensor of the result's shape, or broadcast along rows, columns or both
///   - scale and zero point of the destination: QUANTIZE_ZERO_FIRST, and CAST_SATURATING; for floats MULTIPLY_F32
///   - rounding mode: to nearest, ties to even, whatever the thread's floating point environment is
///   - dnnl_gemm_u8s8s32: qgemm_gemm_u8s8s32()
///   - prelu, the fusion of a depthwise convolution, dropout, stochastic rounding, and scales of other types than f32 are not
///     here
///
/// Those post-ops are stages in the list's order.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawStage {
    /// Which stage: QGEMM_STAGE_BIAS to QGEMM_STAGE_TABLE.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// The parameters; only those of this kind are looked at.
    pub u: StageParameters,
}

const _: () = assert!(size_of::<RawStage>() == 136);
