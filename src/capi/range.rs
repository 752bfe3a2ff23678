//! Ranges of real numbers, and sums requantized by them.

use super::context::{CallContext, ContextHandle};
use super::elements::Place;
use super::matrix::{QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_U8, check_pointer, size};
use super::{Status, guard};
use crate::code::Code;
use crate::context::Context;
use crate::elements::ElementsMut;
use crate::error::Error;
use crate::interval::Interval;
use crate::ranged::{Requantize, WayDown, range_of};
use crate::tensor::IntegersMut;
use std::ffi::c_void;

/// The real numbers that the codes of a tensor are spread over, as TensorFlow and nnlib quantize: the least code stands for
/// min, the greatest for max, and code q of 0 to 255 for min + q * (max - min) / 255. If both are 0, every code stands
/// for 0. Elsewhere min is less than max, both are finite, and a float holds their difference.
///
/// Sums of 32 bits are 2^32 codes, (max - min) / 2^32 apart, of which the one that is nearest to 0 stands for 0; if min
/// is -max, that is the code 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealRange {
    /// What the least code stands for.
    pub min: f32,
    /// What the greatest code stands for.
    pub max: f32,
}

/// Requantization by ranges: in double, rounded once, to nearest, ties to even. Off by no more than 0.501 codes.
pub const QGEMM_RANGES_EXACT: u32 = 0;
/// Requantization by ranges: TensorFlow's Requantize, in fixed point of 64 bits; the result's range stays as it is, though
/// no code may stand for 0. Where TensorFlow's products overflow, these do not.
pub const QGEMM_RANGES_TENSORFLOW: u32 = 1;
/// Requantization by ranges: nnlib's Requantize_32to8, in fixed point of 32 bits, ties up; in double where the codes of the
/// result are nearer to each other than those of the sums. The range of the sums has to be symmetric.
pub const QGEMM_RANGES_NNLIB: u32 = 2;

impl From<RealRange> for Interval {
    fn from(RealRange { min, max }: RealRange) -> Self {
        Self { min, max }
    }
}

impl From<Interval> for RealRange {
    fn from(Interval { min, max }: Interval) -> Self {
        Self { min, max }
    }
}

/// Finds the range that sums need: what the least of them stands for and what the greatest does, widened to include 0.
/// TensorFlow's RequantizationRange, which forgets the latter where all are negative, and nnlib's.
///
/// @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param x        the sums; may be NULL if there are none
/// @param size     how many, at least 0
/// @param x_range  what the sums stand for
/// @param range    the result; min and max are 0 if all sums stand for 0, or there are none
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE (size), TOO_LARGE, PARAMETER
///         (x_range is none), UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// x has size elements, nobody writes to them during the call, and range may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_requantization_range_s32(
    context: *const ContextHandle,
    x: *const i32,
    size: i64,
    x_range: RealRange,
    range: *mut RealRange,
) -> Status {
    guard(|| {
        check_pointer("range", range)?;
        let from = Place::new("x", x, super::matrix::size("size", size)?)?;
        // SAFETY: this function's own promise.
        let context = unsafe { CallContext::new(context)? };
        // SAFETY: this function's own promise.
        let found = range_of(&context, unsafe { from.read() }, x_range.into())?;
        // SAFETY: neither null nor misaligned; and this function's own promise.
        unsafe { range.write(found.into()) };
        Ok(())
    })
}

/// Brings sums of 32 bits to codes of 8 or 16: those of what they stand for, or the nearest that there are.
///
/// But for QGEMM_RANGES_TENSORFLOW the result's range is first widened, at one end and as little as possible, so that
/// a code stands for 0, unless 0 is so near to an end that none can.
///
/// @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param mode     QGEMM_RANGES_EXACT, _TENSORFLOW or _NNLIB
/// @param x        the sums; may be NULL if there are none
/// @param size     how many, at least 0
/// @param x_range  what they stand for
/// @param y_range  what the codes are to stand for; 0 is in it. If min and max are 0, all become the least code
/// @param type     QGEMM_TYPE_U8, _S8 or, with QGEMM_RANGES_EXACT, _S16
/// @param y        where size codes go; it may not overlap x
/// @param actual   the range that they have: y_range, widened; or NULL if it is not wanted
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE (size), TOO_LARGE, TYPE, OPTION
///         (mode), PARAMETER (a range is none, or not as the mode asks for; 0 is not in y_range; TensorFlow's: x_range is
///         2^36 times as wide as y_range), OVERLAP, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// x and y have size elements, nobody else writes to them or reads y during the call, and actual, unless it is null, may be
/// written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_requantize_s32(
    context: *const ContextHandle,
    mode: u32,
    x: *const i32,
    size: i64,
    x_range: RealRange,
    y_range: RealRange,
    r#type: u32,
    y: *mut c_void,
    actual: *mut RealRange,
) -> Status {
    // SAFETY: this function's own promise.
    guard(|| unsafe { requantize(context, mode, (x, size, x_range), |_, _| Ok(y_range.into()), (r#type, y), actual) })
}

/// As qgemm_requantization_range_s32() followed by qgemm_requantize_s32() with what it found: TensorFlow's and nnlib's
/// QuantizeDownAndShrinkRange.
///
/// @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param mode     QGEMM_RANGES_EXACT, _TENSORFLOW or _NNLIB
/// @param x        the sums; may be NULL if there are none
/// @param size     how many, at least 0
/// @param x_range  what they stand for
/// @param type     QGEMM_TYPE_U8, _S8 or, with QGEMM_RANGES_EXACT, _S16
/// @param y        where size codes go; it may not overlap x
/// @param actual   the range that they have
/// @return as qgemm_requantize_s32()
///
/// # Safety
/// x and y have size elements, nobody else writes to them or reads y during the call, and actual may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_quantize_down_and_shrink_range(
    context: *const ContextHandle,
    mode: u32,
    x: *const i32,
    size: i64,
    x_range: RealRange,
    r#type: u32,
    y: *mut c_void,
    actual: *mut RealRange,
) -> Status {
    guard(|| {
        check_pointer("actual", actual)?;
        let find = |context: &Context, from: &Place<i32>| {
            // SAFETY: this function's own promise.
            range_of(context, unsafe { from.read() }, x_range.into())
        };
        // SAFETY: this function's own promise.
        unsafe { requantize(context, mode, (x, size, x_range), find, (r#type, y), actual) }
    })
}

/// # Safety
/// As for `qgemm_requantize_s32`.
unsafe fn requantize(
    context: *const ContextHandle,
    mode: u32,
    (x, len, x_range): (*const i32, i64, RealRange),
    y_range: impl Fn(&Context, &Place<i32>) -> Result<Interval, Error>,
    (r#type, y): (u32, *mut c_void),
    actual: *mut RealRange,
) -> Result<(), super::Failure> {
    let way = match mode {
        QGEMM_RANGES_EXACT => WayDown::Exact,
        QGEMM_RANGES_TENSORFLOW => WayDown::Tensorflow,
        QGEMM_RANGES_NNLIB => WayDown::Nnlib,
        value => return Err(Error::Option { argument: "mode", value }.into()),
    };
    let from = Place::new("x", x, size("size", len)?)?;
    if !actual.is_null() {
        check_pointer("actual", actual)?;
    }
    // SAFETY: this function's own promise.
    let context = unsafe { CallContext::new(context)? };
    let range = |steps| Requantize::new(way, x_range.into(), y_range(&context, &from)?, steps);
    // SAFETY: this function's own promise, for each.
    let result = unsafe {
        match r#type {
            QGEMM_TYPE_U8 => to::<u8>(&context, &from, y, range)?,
            QGEMM_TYPE_S8 => to::<i8>(&context, &from, y, range)?,
            QGEMM_TYPE_S16 if way == WayDown::Exact => to::<i16>(&context, &from, y, range)?,
            value => {
                let expected = match way {
                    WayDown::Exact => "QGEMM_TYPE_U8, _S8 or _S16",
                    _ => "QGEMM_TYPE_U8 or _S8 in this mode",
                };
                return Err(Error::Type { argument: "type", value, expected }.into());
            }
        }
    };
    if !actual.is_null() {
        // SAFETY: this function's own promise.
        unsafe { actual.write(result.into()) };
    }
    Ok(())
}

/// Gives the range of the codes.
///
/// # Safety
/// As for `qgemm_requantize_s32`.
unsafe fn to<'a, T: Code>(
    context: &Context,
    from: &Place<i32>,
    y: *mut c_void,
    range: impl Fn(f64) -> Result<Requantize, Error>,
) -> Result<Interval, Error>
where
    IntegersMut<'a>: From<ElementsMut<'a, T>>,
{
    let to = Place::<T>::new("y", y.cast(), from.len())?;
    to.check_apart(from, false)?;
    let requantize = range(f64::from(T::GREATEST - T::LEAST))?;
    // SAFETY: this function's own promise.
    let (from, to) = unsafe { (from.read(), to.write()) };
    requantize.run(context, from, to);
    Ok(requantize.result())
}
