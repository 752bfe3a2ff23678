//! Choosing how integers stand for the real numbers of a tensor.

use super::channels::{RawChannels, read_channels};
use super::context::{CallContext, ContextHandle};
use super::elements::{check_apart, elements, elements_mut};
use super::integers::range_of;
use super::{Status, guard};
use crate::error::Error;
use crate::quantize::Scheme;
use crate::tensor::{self, Chosen};

/// Scheme: the integers stand for all from the least real number to the greatest, widened to include 0, as
/// qgemm_choose_quantization() has it.
pub const QGEMM_SCHEME_AFFINE: u32 = 0;
/// Scheme: the zero point is 0, of unsigned integers the middle, (least + greatest + 1) / 2 rounded down; the scale is the
/// greatest magnitude of the real numbers divided by (greatest - zero point), in float: max|x| / 127.
pub const QGEMM_SCHEME_SYMMETRIC: u32 = 1;
/// Scheme: the scale as with QGEMM_SCHEME_AFFINE; the zero point is least - min / scale in float, rounded to nearest, ties to even.
/// With type QGEMM_TYPE_U8 and QGEMM_QUANTIZE_DIVIDE that is ONNX's DynamicQuantizeLinear.
pub const QGEMM_SCHEME_DYNAMIC_LINEAR: u32 = 2;

/// Finds the least and the greatest float of each channel, in one pass. NaN and infinities do not count; where there are no
/// numbers, both are 0. A zero is never negative.
///
/// @param context   the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param from      the floats; NULL if there are none
/// @param channels  how many there are, and which of them belong together
/// @param min       receives the least of each channel
/// @param max       receives the greatest of each
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE, TOO_LARGE, OVERLAP (of any two),
///         UNSUPPORTED (QGEMM_ISA)
///
/// # Safety
/// from reaches as far as the channels say, and min and max have room for as many as there are channels. Nobody writes to
/// what is read, or uses what is written, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_min_max_f32(
    context: *const ContextHandle,
    from: *const f32,
    channels: *const RawChannels,
    min: *mut f32,
    max: *mut f32,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let channels = read_channels(channels)?;
            let from = elements("from", from, channels.len())?;
            let min = elements_mut("min", min, channels.channels)?;
            let max = elements_mut("max", max, channels.channels)?;
            check_apart(&min.runs(), &[("from", from.runs())])?;
            check_apart(&max.runs(), &[("from", from.runs()), ("min", min.runs())])?;
            tensor::min_max(&*CallContext::new(context)?, from, channels, |channel, ends| {
                min.set(channel, [ends.0]);
                max.set(channel, [ends.1]);
            });
            Ok(())
        }
    })
}

/// Chooses a scale and a zero point for each channel, from its elements: qgemm_min_max_f32(), and what the scheme makes of that.
///
/// NaN and infinities do not count. Where all numbers are 0, or there are none, the scale is 1. A scale is finite and never less than
/// FLT_MIN. 0 is always represented exactly.
///
/// @param context      the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param from         the floats; NULL if there are none
/// @param channels     how many there are, and which of them belong together
/// @param scheme       QGEMM_SCHEME_AFFINE, QGEMM_SCHEME_SYMMETRIC or QGEMM_SCHEME_DYNAMIC_LINEAR
/// @param type         QGEMM_TYPE_U8, _S8 or _S16
/// @param least        the least integer to use; if it and greatest are 0, all of the type are used
/// @param greatest     the greatest: more than least
/// @param scales       receives the scale of each channel
/// @param zero_points  receives the zero point of each, from least to greatest
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE, TYPE, OPTION (scheme), PARAMETER (least or
///         greatest), TOO_LARGE, OVERLAP (of any two), UNSUPPORTED (QGEMM_ISA)
///
/// # Safety
/// As for qgemm_min_max_f32().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_choose_quantization_of(
    context: *const ContextHandle,
    from: *const f32,
    channels: *const RawChannels,
    scheme: u32,
    r#type: u32,
    least: i32,
    greatest: i32,
    scales: *mut f32,
    zero_points: *mut i32,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let channels = read_channels(channels)?;
            let scheme = checked_scheme("scheme", scheme)?;
            let range = range_of("type", r#type, least, greatest)?;
            let from = elements("from", from, channels.len())?;
            let scales = elements_mut("scales", scales, channels.channels)?;
            let zero_points = elements_mut("zero_points", zero_points, channels.channels)?;
            check_apart(&scales.runs(), &[("from", from.runs())])?;
            check_apart(&zero_points.runs(), &[("from", from.runs()), ("scales", scales.runs())])?;
            let context = CallContext::new(context)?;
            tensor::choose(&context, scheme, range, channels, from, Chosen { scales, zero_points });
            Ok(())
        }
    })
}

pub(super) fn checked_scheme(argument: &'static str, value: u32) -> Result<Scheme, Error> {
    match value {
        QGEMM_SCHEME_AFFINE => Ok(Scheme::Affine),
        QGEMM_SCHEME_SYMMETRIC => Ok(Scheme::Symmetric),
        QGEMM_SCHEME_DYNAMIC_LINEAR => Ok(Scheme::DynamicLinear),
        value => Err(Error::Option { argument, value }),
    }
}
