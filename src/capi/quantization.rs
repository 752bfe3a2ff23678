//! Tensors of real numbers that become integers, and the other way round.

use super::channels::{RawChannels, integer_values, read_channels, scales};
use super::context::{CallContext, ContextHandle};
use super::elements::{check_apart, elements, elements_mut};
use super::integers::{ANY, check_in_place, integers, integers_mut, limits, range_of};
use super::matrix::QGEMM_TYPE_S32;
use super::versioned::{self, Versioned};
use super::{Status, Within, guard};
use crate::error::Error;
use crate::matrix::bytes_of;
use crate::range::ElementRange;
use crate::tensor::{self, Channels, ToInteger};
use std::ffi::c_void;

/// Quantizing: x / scale, rounded to float, and then to the nearest integer, ties to even. As ONNX's QuantizeLinear.
pub const QGEMM_QUANTIZE_DIVIDE: u32 = 0;
/// Quantizing: x * (1 / scale), both rounded to float, and then to the nearest integer, ties to even.
pub const QGEMM_QUANTIZE_MULTIPLY: u32 = 1;
/// Quantizing: x / scale, rounded to float, and then to the nearest integer, ties away from zero. As TFLite's Quantize.
pub const QGEMM_QUANTIZE_DIVIDE_AWAY: u32 = 2;

/// How integers stand for real numbers: (q - zero point) * scale, with those of their channel. Begin with
/// QGEMM_QUANTIZATION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawQuantization {
    /// sizeof(qgemm_quantization).
    pub struct_size: usize,
    /// QGEMM_TYPE_U8, _S8 or _S16; to dequantize also QGEMM_TYPE_S32.
    pub r#type: u32,
    /// How real numbers are rounded: QGEMM_QUANTIZE_DIVIDE, _MULTIPLY or _DIVIDE_AWAY. Only looked at by qgemm_quantize_f32().
    pub rounding: u32,
    /// A scale for each channel: finite, and at least FLT_MIN.
    pub scales: *const f32,
    /// A zero point for each channel, each among the integers of the type; NULL for 0 everywhere.
    pub zero_points: *const i32,
    /// The least integer that may come of quantizing. If it and greatest are 0, all of the type may. -64 or 0 for 7 bits.
    pub least: i32,
    /// The greatest: more than least. 63 or 127 for 7 bits.
    pub greatest: i32,
}

// SAFETY: repr(C), the size first, then integers and pointers.
unsafe impl Versioned for RawQuantization {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Quantizes floats: rounded(x / scale) + zero point, confined to the integers that there may be. NaN becomes the zero point,
/// confined, as 0 does.
///
/// @param context       the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param from          the floats; NULL if there are none
/// @param to            receives as many integers of quantization->type; may not overlap from
/// @param channels      how many there are, and which of them belong together
/// @param quantization  their scales and zero points
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, TYPE, OPTION (rounding),
///         PARAMETER (a scale, a zero point, least or greatest), TOO_LARGE, OVERLAP, UNSUPPORTED (QGEMM_ISA)
///
/// # Safety
/// from and to reach as far as the channels say, and scales and zero points are as many as there are channels. Nobody writes to
/// what is read, or uses what is written, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_quantize_f32(
    context: *const ContextHandle,
    from: *const f32,
    to: *mut c_void,
    channels: *const RawChannels,
    quantization: *const RawQuantization,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let channels = read_channels(channels)?;
            let raw = versioned::read("quantization", quantization)?;
            let rule = to_integer("rounding", raw.rounding).within("quantization")?;
            let range = range_of("type", raw.r#type, raw.least, raw.greatest).within("quantization")?;
            let (scales, zero_points) = raw.values(&channels, limits(raw.r#type)).within("quantization")?;
            let from = elements("from", from, channels.len())?;
            let to = integers_mut("to", "quantization->type", to, raw.r#type, channels.len())?;
            let written = to.runs();
            check_apart(&written, &[("from", from.runs()), ("quantization->scales", bytes_of(scales))])?;
            check_apart(&written, &[("quantization->zero_points", bytes_of(zero_points.unwrap_or_default()))])?;
            let context = CallContext::new(context)?;
            tensor::quantize(&context, rule, (scales, zero_points), range, channels, from, to);
            Ok(())
        }
    })
}

/// Makes floats of integers: (q - zero point) * scale. The difference, which wraps around at 32 bits, is rounded to float, and so
/// is the product. As ONNX's DequantizeLinear.
///
/// @param context       the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param from          integers of quantization->type; NULL if there are none
/// @param to            receives as many floats; may not overlap from, but lie in the very same place if they are QGEMM_TYPE_S32
/// @param channels      how many there are, and which of them belong together
/// @param quantization  their scales and zero points
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, TYPE, PARAMETER (a scale,
///         or a zero point), TOO_LARGE, OVERLAP, UNSUPPORTED (QGEMM_ISA)
///
/// # Safety
/// As for qgemm_quantize_f32().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_dequantize(
    context: *const ContextHandle,
    from: *const c_void,
    to: *mut f32,
    channels: *const RawChannels,
    quantization: *const RawQuantization,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let channels = read_channels(channels)?;
            let raw = versioned::read("quantization", quantization)?;
            let limits = if raw.r#type == QGEMM_TYPE_S32 { ANY } else { limits(raw.r#type) };
            let (scales, zero_points) = raw.values(&channels, limits).within("quantization")?;
            let from = integers("from", "quantization->type", from, raw.r#type, channels.len())?;
            let to = elements_mut("to", to, channels.len())?;
            let written = to.runs();
            check_in_place(&written, &from)?;
            check_apart(&written, &[("quantization->scales", bytes_of(scales))])?;
            check_apart(&written, &[("quantization->zero_points", bytes_of(zero_points.unwrap_or_default()))])?;
            let context = CallContext::new(context)?;
            tensor::dequantize(&context, (scales, zero_points), channels, from, to);
            Ok(())
        }
    })
}

impl RawQuantization {
    /// Scales and zero points.
    ///
    /// # Safety
    /// They are as many as there are channels, unchanged for `'a`.
    unsafe fn values<'a>(
        &self,
        channels: &Channels,
        limits: ElementRange,
    ) -> Result<(&'a [f32], Option<&'a [i32]>), Error> {
        // SAFETY: this function's own promise.
        let scales = unsafe { scales("scales", self.scales, channels.channels)? };
        // SAFETY: as above.
        let zero_points = unsafe { integer_values("zero_points", self.zero_points, channels, limits)? };
        Ok((scales, zero_points))
    }
}

pub(super) fn to_integer(argument: &'static str, value: u32) -> Result<ToInteger, Error> {
    match value {
        QGEMM_QUANTIZE_DIVIDE => Ok(ToInteger::Divide),
        QGEMM_QUANTIZE_MULTIPLY => Ok(ToInteger::Multiply),
        QGEMM_QUANTIZE_DIVIDE_AWAY => Ok(ToInteger::DivideAway),
        value => Err(Error::Option { argument, value }),
    }
}
