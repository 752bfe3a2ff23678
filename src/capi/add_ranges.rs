//! Tensors with ranges, added.

use super::context::{CallContext, ContextHandle};
use super::elements::Place;
use super::matrix::{check_pointer, size};
use super::range::RealRange;
use super::{Failure, Status, guard};
use crate::error::Error;
use crate::grid::{Grid, Tensors};
use crate::interval::Fixed;
use crate::ranged::{AddTo8, AddTo32, Way8, Way32};

/// Sums of 32 bits: nnlib's QuantizedAdd_8p8to32, integers only. The tensor whose codes are farther apart is multiplied by
/// 0x7F80, the other by as much less, rounded; max is 2^31 / 0x7F80 of the greater distance. Off by no more than 0.01 codes
/// of that tensor; 128 such sums may be added up. 0 has to be in both ranges.
pub const QGEMM_ADD32_NNLIB: u32 = 0;
/// Sums of 32 bits: nnlib's QuantizedBiasAdd_8p8to32, in float, rounded to nearest; max is 2^17 times the greatest
/// magnitude in the ranges, as with the next. 0 has to be in both ranges.
pub const QGEMM_ADD32_NNLIB_BIAS: u32 = 1;
/// Sums of 32 bits: TensorFlow's QuantizedBiasAdd, and the template QuantizedAdd in its quantization_utils.h. Every code is
/// requantized by itself, and what stands for 0, which is 0 or -1, is added. Off by up to 4.
pub const QGEMM_ADD32_TENSORFLOW_HELPER: u32 = 2;
/// Sums of 32 bits: TensorFlow's operation QuantizedAdd; max is 2^14 times the greatest magnitude. Off by up to 0.41 codes of
/// a tensor.
pub const QGEMM_ADD32_TENSORFLOW_OPERATION: u32 = 3;
/// Sums of 32 bits: max is 2^17 times the greatest magnitude, and the sum is rounded once, to nearest, ties to even.
pub const QGEMM_ADD32_EXACT: u32 = 4;

/// Codes of 8 bits: in double, rounded once, to nearest, ties to even.
pub const QGEMM_ADD8_EXACT: u32 = 0;
/// Codes of 8 bits: nnlib's QuantizedAdd_8p8to8 for tensors of the same shape, in multipliers of 14 bits. Off by some 0.55
/// codes where the range is as wide as a's and b's together, and by 0.08 of how many times narrower it is.
pub const QGEMM_ADD8_NNLIB_FLAT: u32 = 1;
/// Codes of 8 bits: the QuantizedAdd_8p8to8 that nnlib had before, in a multiplier of 7 bits and a fraction, without its
/// overflows. It truncates them: with g for the width of the narrower of a's and b's ranges, of that of the result's, it is
/// off by less than 1 + 3 * g + 1 / (128 * g) codes, as a rule by less than 2.
pub const QGEMM_ADD8_NNLIB_SPEC: u32 = 2;

/// Flag of a guess: its min stays, and what is less becomes the least code.
pub const QGEMM_ADD8_FIXED_MIN: u32 = 1;
/// Flag of a guess: its max stays, and what is greater becomes the greatest code.
pub const QGEMM_ADD8_FIXED_MAX: u32 = 2;

/// Adds bytes, as sums of 32 bits whose range is chosen by the rule: QuantizedAdd of 8 bits and 8 to 32.
///
///     c[i] stands for what a[i] stands for + what b[i] stands for
///
/// So does code 0 for 0. If min and max of both ranges are 0, so they are of c's, and its codes are 0.
///
/// @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param rule     QGEMM_ADD32_NNLIB, _NNLIB_BIAS, _TENSORFLOW_HELPER, _TENSORFLOW_OPERATION or _EXACT
/// @param a        size bytes; may be NULL if there are none
/// @param a_range  what they stand for
/// @param b        size bytes
/// @param b_range  what they stand for
/// @param size     how many, at least 0
/// @param c        where size sums go; it may not overlap a or b
/// @param c_range  what the sums stand for
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE (size), TOO_LARGE, OPTION (rule),
///         PARAMETER (a range is none; with a rule of nnlib's it is not around 0, or so narrow that a float does not hold 255
///         divided by its width; the result's is more than floats hold), OVERLAP, UNSUPPORTED (QGEMM_ISA); details in
///         qgemm_last_error()
///
/// # Safety
/// All have so many elements, nobody else writes to them or reads c during the call, and c_range may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_add_8p8to32(
    context: *const ContextHandle,
    rule: u32,
    a: *const u8,
    a_range: RealRange,
    b: *const u8,
    b_range: RealRange,
    size: i64,
    c: *mut i32,
    c_range: *mut RealRange,
) -> Status {
    guard(|| {
        let len = super::matrix::size("size", size)?;
        let a = Place::new("a", a, len)?;
        let b = Place::new("b", b, len)?;
        // SAFETY: this function's own promise.
        unsafe { add_to_32(context, rule, (a, a_range), (b, b_range), &Grid::flat(len), (c, len), c_range) }
    })
}

/// Adds a row of bytes to each row of a matrix of bytes, as qgemm_add_8p8to32() does: QuantizedBiasAdd.
///
///     c[i * depth + j] stands for what a[i * depth + j] stands for + what bias[j] stands for
///
/// @param context     the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param rule        QGEMM_ADD32_NNLIB_BIAS for nnlib's, QGEMM_ADD32_TENSORFLOW_HELPER for TensorFlow's, or another of
///                    qgemm_add_8p8to32()
/// @param a           rows x depth bytes, row-major and without gaps; may be NULL if there are none
/// @param a_range     what they stand for
/// @param bias        depth bytes
/// @param bias_range  what they stand for
/// @param rows        how many rows, at least 0
/// @param depth       how many in each, at least 0
/// @param c           where rows x depth sums go; it may not overlap a or bias
/// @param c_range     what the sums stand for
/// @return as qgemm_add_8p8to32(), which calls the bias b
///
/// # Safety
/// All have so many elements, nobody else writes to them or reads c during the call, and c_range may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_bias_add_8p8to32(
    context: *const ContextHandle,
    rule: u32,
    a: *const u8,
    a_range: RealRange,
    bias: *const u8,
    bias_range: RealRange,
    rows: i64,
    depth: i64,
    c: *mut i32,
    c_range: *mut RealRange,
) -> Status {
    guard(|| {
        let (rows, depth) = (size("rows", rows)?, size("depth", depth)?);
        let len = rows.checked_mul(depth).ok_or(Error::TooLarge { argument: "a" })?;
        let a = Place::new("a", a, len)?;
        let bias = Place::new("bias", bias, if rows == 0 { 0 } else { depth })?;
        // SAFETY: this function's own promise.
        unsafe {
            add_to_32(context, rule, (a, a_range), (bias, bias_range), &Grid::rows(rows, depth), (c, len), c_range)
        }
    })
}

/// # Safety
/// As for `qgemm_add_8p8to32`; the tensors reach as far as the grid says.
unsafe fn add_to_32(
    context: *const ContextHandle,
    rule: u32,
    (a, a_range): (Place<u8>, RealRange),
    (b, b_range): (Place<u8>, RealRange),
    grid: &Grid,
    (c, len): (*mut i32, usize),
    c_range: *mut RealRange,
) -> Result<(), Failure> {
    let way = match rule {
        QGEMM_ADD32_NNLIB => Way32::Nnlib,
        QGEMM_ADD32_NNLIB_BIAS => Way32::NnlibBias,
        QGEMM_ADD32_TENSORFLOW_HELPER => Way32::TensorflowHelper,
        QGEMM_ADD32_TENSORFLOW_OPERATION => Way32::TensorflowOperation,
        QGEMM_ADD32_EXACT => Way32::Exact,
        value => return Err(Error::Option { argument: "rule", value }.into()),
    };
    check_pointer("c_range", c_range)?;
    let c = Place::new("c", c, len)?;
    c.check_apart(&a, false)?;
    c.check_apart(&b, false)?;
    let add = AddTo32::new(way, a_range.into(), b_range.into())?;
    // SAFETY: this function's own promise.
    let context = unsafe { CallContext::new(context)? };
    // SAFETY: this function's own promise.
    let tensors = unsafe { Tensors { a: a.read(), b: b.read(), to: c.write() } };
    add.run(&context, grid, &tensors);
    // SAFETY: neither null nor misaligned; and this function's own promise.
    unsafe { c_range.write(add.result().into()) };
    Ok(())
}

/// Adds bytes to bytes, in a range that is guessed: QuantizedAdd of 8 bits and 8 to 8.
///
/// The codes are those of the guess. Where a sum is outside of it, the range is widened to what was found, and all is done
/// once more: at most twice. Nothing is remembered: the same bytes, ranges and guess give the same result, and what
/// c_range says is the guess that fits best another time. guess and c_range may be the same.
///
/// The range is widened at an end that is not fixed so that a code stands for 0, but for QGEMM_ADD8_NNLIB_SPEC, and where
/// 0 is so near to an end that none can.
///
/// * QGEMM_ADD8_EXACT without a guess looks at all sums first, and then has just the range that they need. Codes are taken
///   at face value, whether one stands for 0 or not.
/// * QGEMM_ADD8_NNLIB_FLAT without a guess begins with an eighth of all that sums could be, and with 1/32 of it at least
///   unless fixed; what is found is padded by 15 %, as in nnlib.
/// * QGEMM_ADD8_NNLIB_SPEC without a guess begins with 0 to 0.5, as nnlib did; and always with a range as wide as a's and
///   as b's, for it has no gain above 1. One of these may be up to 256 times as wide as the other.
///
/// The order of a and b makes no difference. Both may be the same, but c may not overlap them: they are read twice.
///
/// @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param mode     QGEMM_ADD8_EXACT, _NNLIB_FLAT or _NNLIB_SPEC
/// @param a        size bytes; may be NULL if there are none
/// @param a_range  what they stand for; 0 is in it, but for QGEMM_ADD8_EXACT, with which it need not be
/// @param b        size bytes
/// @param b_range  what they stand for; as a_range
/// @param size     how many, at least 0
/// @param guess    a range for the result, with 0 in it; or NULL
/// @param flags    0, or QGEMM_ADD8_FIXED_MIN, QGEMM_ADD8_FIXED_MAX or both, added up, if there is a guess
/// @param c        where size codes go
/// @param c_range  what they stand for
/// @param passes   how often the codes were computed, or looked at: 0 if there are none, else 1 or 2; or NULL
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER (also guess, with flags), ALIGNMENT, SHAPE (size),
///         TOO_LARGE, OPTION (mode, flags), PARAMETER (a range is none, is not around 0, or one is too narrow or too wide for the
///         mode), OVERLAP, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// All have so many elements, nobody else writes to them or reads c during the call; guess may be read, and c_range and
/// passes may be written to, unless they are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_add_8p8to8(
    context: *const ContextHandle,
    mode: u32,
    a: *const u8,
    a_range: RealRange,
    b: *const u8,
    b_range: RealRange,
    size: i64,
    guess: *const RealRange,
    flags: u32,
    c: *mut u8,
    c_range: *mut RealRange,
    passes: *mut i32,
) -> Status {
    guard(|| {
        let way = match mode {
            QGEMM_ADD8_EXACT => Way8::Exact,
            QGEMM_ADD8_NNLIB_FLAT => Way8::NnlibFlat,
            QGEMM_ADD8_NNLIB_SPEC => Way8::NnlibSpec,
            value => return Err(Error::Option { argument: "mode", value }.into()),
        };
        if flags & !(QGEMM_ADD8_FIXED_MIN | QGEMM_ADD8_FIXED_MAX) != 0 {
            return Err(Error::Option { argument: "flags", value: flags }.into());
        }
        let fixed = Fixed { min: flags & QGEMM_ADD8_FIXED_MIN != 0, max: flags & QGEMM_ADD8_FIXED_MAX != 0 };
        check_pointer("c_range", c_range)?;
        if !guess.is_null() {
            check_pointer("guess", guess)?;
        }
        if !passes.is_null() {
            check_pointer("passes", passes)?;
        }
        let len = super::matrix::size("size", size)?;
        let (a, b, c) = (Place::new("a", a, len)?, Place::new("b", b, len)?, Place::new("c", c, len)?);
        c.check_apart(&a, false)?;
        c.check_apart(&b, false)?;
        // SAFETY: null, or this function's own promise.
        let guess = unsafe { guess.as_ref() }.map(|&guess| guess.into());
        let add = AddTo8::new(way, a_range.into(), b_range.into(), guess, fixed)?;
        // SAFETY: this function's own promise.
        let context = unsafe { CallContext::new(context)? };
        // SAFETY: this function's own promise.
        let tensors = unsafe { Tensors { a: a.read(), b: b.read(), to: c.write() } };
        let (result, count) = add.run(&context, &tensors)?;
        // SAFETY: neither null nor misaligned; and this function's own promise.
        unsafe { c_range.write(result.into()) };
        if !passes.is_null() {
            // SAFETY: this function's own promise.
            unsafe { passes.write(count as i32) };
        }
        Ok(())
    })
}
