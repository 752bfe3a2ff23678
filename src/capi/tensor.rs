//! Tensors of real numbers and of integers, and from one to the other.

use super::context::{CallContext, ContextHandle};
use super::matrix::{QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_S32, QGEMM_TYPE_U8, check_pointer, size};
use super::pipeline::{check_exponent, checked_rounding};
use super::versioned::{self, Versioned};
use super::{Failure, Status, Within, guard};
use crate::elements::{Elements, ElementsMut};
use crate::error::Error;
use crate::matrix::{Runs, bytes_of, extent, slice};
use crate::quantize::Scheme;
use crate::range::ElementRange;
use crate::tensor::{self, Arithmetic, Channels, Chosen, Integers, IntegersMut, ToInteger, ZeroPoint};
use std::ffi::c_void;

/// Quantizing: x / scale, rounded to float, and then to the nearest integer, ties to even. As ONNX's QuantizeLinear.
pub const QGEMM_QUANTIZE_DIVIDE: u32 = 0;
/// Quantizing: x * (1 / scale), both rounded to float, and then to the nearest integer, ties to even.
pub const QGEMM_QUANTIZE_MULTIPLY: u32 = 1;
/// Quantizing: x / scale, rounded to float, and then to the nearest integer, ties away from zero. As TFLite's Quantize.
pub const QGEMM_QUANTIZE_DIVIDE_AWAY: u32 = 2;

/// Requantizing: in fixed point, by multipliers and exponents, rounded as QGEMM_ROUND_TWICE says. As TFLite's reference.
pub const QGEMM_REQUANTIZE_TWICE: u32 = 0;
/// Requantizing: in fixed point, by multipliers and exponents, rounded as QGEMM_ROUND_TWICE_UP says.
pub const QGEMM_REQUANTIZE_TWICE_UP: u32 = 1;
/// Requantizing: in fixed point, by multipliers and exponents, rounded as QGEMM_ROUND_ONCE says.
pub const QGEMM_REQUANTIZE_ONCE: u32 = 2;
/// Requantizing: x as a float times a scale, each rounded, and then to the nearest integer, ties to even; then the zero point.
/// As XNNPACK, FBGEMM and ONNX Runtime.
pub const QGEMM_REQUANTIZE_F32: u32 = 3;
/// Requantizing: x as a float times a scale, plus the zero point, each rounded, and then to the nearest integer, ties to even.
/// As oneDNN.
pub const QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST: u32 = 4;

/// Scheme: the integers stand for all from the least real number to the greatest, widened to include 0, as
/// qgemm_choose_quantization() has it.
pub const QGEMM_SCHEME_AFFINE: u32 = 0;
/// Scheme: the zero point is 0, of unsigned integers the middle, (least + greatest + 1) / 2 rounded down; the scale is the
/// greatest magnitude of the real numbers divided by (greatest - zero point), in float: max|x| / 127.
pub const QGEMM_SCHEME_SYMMETRIC: u32 = 1;
/// Scheme: the scale as with QGEMM_SCHEME_AFFINE; the zero point is least - min / scale in float, rounded to nearest, ties to even.
/// With type QGEMM_TYPE_U8 and QGEMM_QUANTIZE_DIVIDE that is ONNX's DynamicQuantizeLinear.
pub const QGEMM_SCHEME_DYNAMIC_LINEAR: u32 = 2;

/// A tensor as outer * channels * inner contiguous elements: element (o, c, i) is number (o * channels + c) * inner + i.
/// Whatever axis of a tensor the channels are, outer is the product of the dimensions before it and inner that of those
/// after it. Parameters for a whole tensor: outer = 1, channels = 1, and inner the number of elements.
///
/// This struct stays as it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawChannels {
    /// At least 0.
    pub outer: i64,
    /// How many scales, zero points and so on there are: at least 1 if there are elements.
    pub channels: i64,
    /// At least 0.
    pub inner: i64,
}

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

/// How integers become integers of another scale. Begin with QGEMM_REQUANTIZATION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawRequantization {
    /// sizeof(qgemm_requantization).
    pub struct_size: usize,
    /// What is requantized: QGEMM_TYPE_U8, _S8, _S16 or _S32.
    pub from_type: u32,
    /// What it becomes: QGEMM_TYPE_U8, _S8 or _S16.
    pub to_type: u32,
    /// QGEMM_REQUANTIZE_TWICE to QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST.
    pub arithmetic: u32,
    /// 0.
    pub reserved: u32,
    /// For each channel what is subtracted first, wrapping around at 32 bits; NULL for 0 everywhere.
    pub from_zero_points: *const i32,
    /// For each channel what is added last, among the integers of to_type; NULL for 0 everywhere.
    pub to_zero_points: *const i32,
    /// For arithmetic in fixed point: for each channel a multiplier, as of qgemm_quantize_multiplier() and
    /// qgemm_multiplier_from_scales(), which with 1 for its rhs_scale derives the quotient of two scales.
    pub multipliers: *const i32,
    /// And an exponent, -31 to 30.
    pub exponents: *const i32,
    /// For arithmetic in floats: for each channel what is multiplied by, the scale of from over that of to; finite and at least
    /// FLT_MIN.
    pub scales: *const f32,
    /// As in qgemm_quantization.
    pub least: i32,
    /// As in qgemm_quantization.
    pub greatest: i32,
}

// SAFETY: repr(C), the size first, then integers and pointers.
unsafe impl Versioned for RawQuantization {
    const FIRST_SIZE: usize = size_of::<Self>();
}

// SAFETY: as above.
unsafe impl Versioned for RawRequantization {
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
            let range = range_of(raw.r#type, raw.least, raw.greatest).within("quantization")?;
            let (scales, zero_points) = raw.values(&channels, limits(raw.r#type)).within("quantization")?;
            let from = elements("from", from, channels.len())?;
            let to = integers_mut("to", "type", to, raw.r#type, channels.len())?;
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
            let from = integers("from", "type", from, raw.r#type, channels.len())?;
            let to = elements_mut("to", to, channels.len())?;
            let written = to.runs();
            check_overlap(&written, &from)?;
            check_apart(&written, &[("quantization->scales", bytes_of(scales))])?;
            check_apart(&written, &[("quantization->zero_points", bytes_of(zero_points.unwrap_or_default()))])?;
            let context = CallContext::new(context)?;
            tensor::dequantize(&context, (scales, zero_points), channels, from, to);
            Ok(())
        }
    })
}

/// Makes integers of integers: rounded((q - from_zero_point) * multiplier) + to_zero_point, confined to the integers that there
/// may be. From sums of products to bytes or 16 bits; and from bytes to bytes of another scale, zero point or type, as TFLite's
/// Quantize does.
///
/// @param context         the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param from            integers of from_type; NULL if there are none
/// @param to              receives as many integers of to_type; may not overlap from, but lie in the very same place if one takes
///                        as many bytes as the other
/// @param channels        how many there are, and which of them belong together
/// @param requantization  what is done with them
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, TYPE, OPTION (arithmetic, or
///         reserved), SHIFT_RANGE (an exponent), PARAMETER (a scale, a zero point, least or greatest), TOO_LARGE, OVERLAP,
///         UNSUPPORTED (QGEMM_ISA)
///
/// # Safety
/// As for qgemm_quantize_f32().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_requantize(
    context: *const ContextHandle,
    from: *const c_void,
    to: *mut c_void,
    channels: *const RawChannels,
    requantization: *const RawRequantization,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let channels = read_channels(channels)?;
            let raw = versioned::read("requantization", requantization)?;
            let range = range_of(raw.to_type, raw.least, raw.greatest).within("requantization")?;
            let arithmetic = raw.arithmetic(&channels).within("requantization")?;
            let from_zero_points =
                integer_values("from_zero_points", raw.from_zero_points, &channels, ANY).within("requantization")?;
            let to_zero_points = integer_values("to_zero_points", raw.to_zero_points, &channels, limits(raw.to_type))
                .within("requantization")?;
            let from = integers("from", "from_type", from, raw.from_type, channels.len())?;
            let to = integers_mut("to", "to_type", to, raw.to_type, channels.len())?;
            let written = to.runs();
            check_overlap(&written, &from)?;
            for values in [from_zero_points, to_zero_points].into_iter().flatten() {
                check_apart(&written, &[("the zero points", bytes_of(values))])?;
            }
            let parameters = match arithmetic {
                Arithmetic::FixedPoint { multipliers, exponents, .. } => [bytes_of(multipliers), bytes_of(exponents)],
                Arithmetic::Float { scales, .. } => [bytes_of(scales); 2],
            };
            check_apart(&written, &parameters.map(|runs| ("the multipliers", runs)))?;
            let context = CallContext::new(context)?;
            let zero_points = (from_zero_points, to_zero_points);
            tensor::requantize(&context, arithmetic, zero_points, range, channels, from, to);
            Ok(())
        }
    })
}

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
            let range = range_of(r#type, least, greatest)?;
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

impl RawRequantization {
    /// # Safety
    /// The parameters are as many as there are channels, unchanged for `'a`.
    unsafe fn arithmetic<'a>(&self, channels: &Channels) -> Result<Arithmetic<'a>, Error> {
        if self.reserved != 0 {
            return Err(Error::Reserved { argument: "reserved" });
        }
        let count = channels.channels;
        let zero_point = match self.arithmetic {
            QGEMM_REQUANTIZE_F32 => ZeroPoint::AfterRounding,
            QGEMM_REQUANTIZE_F32_ZERO_POINT_FIRST => ZeroPoint::BeforeRounding,
            value => {
                let rounding = checked_rounding("arithmetic", value)?;
                // SAFETY: this function's own promise.
                let multipliers = unsafe { values("multipliers", self.multipliers, count)? };
                // SAFETY: as above.
                let exponents = unsafe { values("exponents", self.exponents, count)? };
                exponents.iter().try_for_each(|&exponent| check_exponent("exponents", exponent))?;
                return Ok(Arithmetic::FixedPoint { rounding, multipliers, exponents });
            }
        };
        // SAFETY: this function's own promise.
        Ok(Arithmetic::Float { scales: unsafe { scales("scales", self.scales, count)? }, zero_point })
    }
}

/// Any integer.
const ANY: ElementRange = ElementRange { least: i32::MIN, greatest: i32::MAX };

/// The integers of a type of at most 16 bits; of another, any.
fn limits(r#type: u32) -> ElementRange {
    match r#type {
        QGEMM_TYPE_U8 => ElementRange { least: 0, greatest: 255 },
        QGEMM_TYPE_S8 => ElementRange { least: -128, greatest: 127 },
        QGEMM_TYPE_S16 => ElementRange { least: -32768, greatest: 32767 },
        _ => ANY,
    }
}

/// The integers that may come of quantizing.
pub(super) fn range_of(r#type: u32, least: i32, greatest: i32) -> Result<ElementRange, Error> {
    let all = limits(r#type);
    if all == ANY {
        let expected = "QGEMM_TYPE_U8, _S8 or _S16";
        return Err(Error::Type { argument: "type", value: r#type, expected });
    }
    if (least, greatest) == (0, 0) {
        return Ok(all);
    }
    for (argument, value) in [("least", least), ("greatest", greatest)] {
        if !(all.least..=all.greatest).contains(&value) {
            return Err(Error::Parameter { argument, value: value.into(), expected: "among the integers of the type" });
        }
    }
    if greatest <= least {
        return Err(Error::Parameter { argument: "greatest", value: greatest.into(), expected: "more than least is" });
    }
    Ok(ElementRange { least, greatest })
}

pub(super) fn to_integer(argument: &'static str, value: u32) -> Result<ToInteger, Error> {
    match value {
        QGEMM_QUANTIZE_DIVIDE => Ok(ToInteger::Divide),
        QGEMM_QUANTIZE_MULTIPLY => Ok(ToInteger::Multiply),
        QGEMM_QUANTIZE_DIVIDE_AWAY => Ok(ToInteger::DivideAway),
        value => Err(Error::Option { argument, value }),
    }
}

pub(super) fn checked_scheme(argument: &'static str, value: u32) -> Result<Scheme, Error> {
    match value {
        QGEMM_SCHEME_AFFINE => Ok(Scheme::Affine),
        QGEMM_SCHEME_SYMMETRIC => Ok(Scheme::Symmetric),
        QGEMM_SCHEME_DYNAMIC_LINEAR => Ok(Scheme::DynamicLinear),
        value => Err(Error::Option { argument, value }),
    }
}

/// # Safety
/// `channels` is null or can be read.
unsafe fn read_channels(channels: *const RawChannels) -> Result<Channels, Failure> {
    check_pointer("channels", channels)?;
    // SAFETY: neither null nor misaligned.
    let raw = unsafe { channels.read() };
    let outer = size("outer", raw.outer).within("channels")?;
    let count = size("channels", raw.channels).within("channels")?;
    let inner = size("inner", raw.inner).within("channels")?;
    let len = outer.checked_mul(count).and_then(|x| x.checked_mul(inner));
    if len.is_none() {
        return Err(Error::TooLarge { argument: "channels" }.into());
    }
    Ok(Channels { outer, channels: count, inner })
}

/// # Safety
/// `data` has `count` values, unchanged for `'a`.
unsafe fn values<'a, T>(argument: &'static str, data: *const T, count: usize) -> Result<&'a [T], Error> {
    if count > 0 {
        check_pointer(argument, data)?;
    }
    // SAFETY: this function's own promise.
    unsafe { slice(data, count) }.ok_or(Error::TooLarge { argument })
}

/// # Safety
/// As for `values`.
pub(super) unsafe fn scales<'a>(argument: &'static str, data: *const f32, count: usize) -> Result<&'a [f32], Error> {
    // SAFETY: this function's own promise.
    let scales = unsafe { values(argument, data, count)? };
    scales.iter().try_for_each(|&scale| check_scale(argument, scale))?;
    Ok(scales)
}

pub(super) fn check_scale(argument: &'static str, scale: f32) -> Result<(), Error> {
    match scale {
        f32::MIN_POSITIVE..=f32::MAX => Ok(()),
        _ => Err(Error::Parameter { argument, value: scale.into(), expected: "finite and at least FLT_MIN" }),
    }
}

/// # Safety
/// `data` is null, or has as many values as there are channels, unchanged for `'a`.
unsafe fn integer_values<'a>(
    argument: &'static str,
    data: *const i32,
    channels: &Channels,
    limits: ElementRange,
) -> Result<Option<&'a [i32]>, Error> {
    if data.is_null() {
        return Ok(None);
    }
    // SAFETY: this function's own promise.
    let values = unsafe { values(argument, data, channels.channels)? };
    values.iter().try_for_each(|&value| check_integer(argument, value, limits))?;
    Ok(Some(values))
}

pub(super) fn check_integer(argument: &'static str, value: i32, limits: ElementRange) -> Result<(), Error> {
    match (limits.least..=limits.greatest).contains(&value) {
        true => Ok(()),
        false => Err(Error::Parameter { argument, value: value.into(), expected: "among the integers of the type" }),
    }
}

/// # Safety
/// `data` has `count` elements for `'a`, and nobody writes to them but the call, to the same place.
pub(super) unsafe fn elements<'a, T: Copy>(
    argument: &'static str,
    data: *const T,
    count: usize,
) -> Result<Elements<'a, T>, Error> {
    check_elements(argument, data, count)?;
    // SAFETY: this function's own promise.
    Ok(unsafe { Elements::from_raw(data, count) })
}

/// # Safety
/// `data` has `count` elements for `'a`, and nobody else uses them.
pub(super) unsafe fn elements_mut<'a, T: Copy>(
    argument: &'static str,
    data: *mut T,
    count: usize,
) -> Result<ElementsMut<'a, T>, Error> {
    check_elements(argument, data, count)?;
    // SAFETY: this function's own promise.
    Ok(unsafe { ElementsMut::from_raw(data, count) })
}

fn check_elements<T>(argument: &'static str, data: *const T, count: usize) -> Result<(), Error> {
    if count > 0 {
        check_pointer(argument, data)?;
    }
    extent(data, 1, count, 0).map(drop).ok_or(Error::TooLarge { argument })
}

/// # Safety
/// As for `elements`.
unsafe fn integers<'a>(
    argument: &'static str,
    type_argument: &'static str,
    data: *const c_void,
    r#type: u32,
    count: usize,
) -> Result<Integers<'a>, Error> {
    // SAFETY: this function's own promise, for each.
    unsafe {
        match r#type {
            QGEMM_TYPE_U8 => elements(argument, data.cast(), count).map(Integers::U8),
            QGEMM_TYPE_S8 => elements(argument, data.cast(), count).map(Integers::I8),
            QGEMM_TYPE_S16 => elements(argument, data.cast(), count).map(Integers::I16),
            QGEMM_TYPE_S32 => elements(argument, data.cast(), count).map(Integers::I32),
            value => Err(Error::Type { argument: type_argument, value, expected: "QGEMM_TYPE_U8, _S8, _S16 or _S32" }),
        }
    }
}

/// # Safety
/// As for `elements_mut`.
unsafe fn integers_mut<'a>(
    argument: &'static str,
    type_argument: &'static str,
    data: *mut c_void,
    r#type: u32,
    count: usize,
) -> Result<IntegersMut<'a>, Error> {
    // SAFETY: this function's own promise, for each.
    unsafe {
        match r#type {
            QGEMM_TYPE_U8 => elements_mut(argument, data.cast(), count).map(IntegersMut::U8),
            QGEMM_TYPE_S8 => elements_mut(argument, data.cast(), count).map(IntegersMut::I8),
            QGEMM_TYPE_S16 => elements_mut(argument, data.cast(), count).map(IntegersMut::I16),
            value => Err(Error::Type { argument: type_argument, value, expected: "QGEMM_TYPE_U8, _S8 or _S16" }),
        }
    }
}

/// What is written may be what is read only if each element takes the place of the one that it comes of.
fn check_overlap(written: &Runs, from: &Integers) -> Result<(), Error> {
    if *written == from.runs() { Ok(()) } else { check_apart(written, &[("from", from.runs())]) }
}

/// What is written may not be among what is read.
pub(super) fn check_apart(written: &Runs, read: &[(&'static str, Runs)]) -> Result<(), Error> {
    match read.iter().find(|(_, runs)| written.overlap(runs)) {
        Some(&(input, _)) => Err(Error::Overlap { output: "what is written", input }),
        None => Ok(()),
    }
}
