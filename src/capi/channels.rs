//! Which elements of a tensor belong together, and the values that there are for each channel.

use super::integers::check_integer;
use super::matrix::{check_pointer, size};
use super::{Failure, Within};
use crate::error::Error;
use crate::matrix::slice;
use crate::range::ElementRange;
use crate::tensor::Channels;

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

/// # Safety
/// `channels` is null or can be read.
pub(super) unsafe fn read_channels(channels: *const RawChannels) -> Result<Channels, Failure> {
    check_pointer("channels", channels)?;
    // SAFETY: neither null nor misaligned.
    let raw = unsafe { channels.read() };
    let outer = size("outer", raw.outer).within("channels")?;
    let count = size("channels", raw.channels).within("channels")?;
    let inner = size("inner", raw.inner).within("channels")?;
    match outer.checked_mul(count).and_then(|x| x.checked_mul(inner)) {
        None => Err(Error::TooLarge { argument: "channels" }.into()),
        // However many parts there are: nobody is to look at each.
        Some(0) => Ok(Channels { outer: 0, channels: count, inner: 0 }),
        Some(_) => Ok(Channels { outer, channels: count, inner }),
    }
}

/// # Safety
/// `data` has `count` values, unchanged for `'a`.
pub(super) unsafe fn values<'a, T>(argument: &'static str, data: *const T, count: usize) -> Result<&'a [T], Error> {
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
pub(super) unsafe fn integer_values<'a>(
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
