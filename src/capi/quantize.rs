//! Parameters from real numbers.

use super::matrix::{check_pointer, vector};
use super::pipeline::{check_exponent, checked_rounding};
use super::{Status, guard};
use crate::error::Error;
use crate::quantize::{Derivation, Multiplier, Quantization};

/// Derivation of a multiplier: (double)lhs_scale * (double)rhs_scale / (double)result_scale, below 2 to the 30. As TFLite
/// and TFLite Micro, for each channel.
pub const QGEMM_DERIVE_TFLITE: u32 = 0;
/// Derivation of a multiplier: (double)(lhs_scale * rhs_scale) / (double)result_scale, the product in float, below 2 to
/// the 30. As TFLite's older kernels, for whole tensors of unsigned bytes.
pub const QGEMM_DERIVE_TFLITE_LEGACY: u32 = 1;
/// Derivation of a multiplier: lhs_scale * rhs_scale / result_scale in float, from 2 to the -32 to below 256. As XNNPACK.
pub const QGEMM_DERIVE_XNNPACK: u32 = 2;
/// Derivation of a multiplier: lhs_scale * rhs_scale / result_scale in float, from 2 to the -32 to below 1. As QNNPACK, and
/// the example in gemmlowp's documentation.
pub const QGEMM_DERIVE_QNNPACK: u32 = 3;

/// Turns a real multiplier into integers: real = multiplier * 2^(exponent - 31), rounded to nearest, ties up.
///
/// As TFLite's QuantizeMultiplier. The multiplier is 2^30 to 2^31 - 1 and the exponent -31 to 30; for what rounds to less
/// than 2^-32 both are 0.
///
/// @param real        at least 0, and less than 2^30 - 1/4, from where on it rounds to 2^30
/// @param multiplier  the result
/// @param exponent    the result
/// @return QGEMM_STATUS_OK, or why nothing was written: PARAMETER (real is NaN or out of its range), NULL_POINTER
///
/// # Safety
/// multiplier and exponent may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_quantize_multiplier(real: f64, multiplier: *mut i32, exponent: *mut i32) -> Status {
    guard(|| {
        check_results(&[("multiplier", multiplier.is_null()), ("exponent", exponent.is_null())])?;
        let found = Multiplier::of(real)?;
        // SAFETY: this function's own promise, for each.
        unsafe {
            multiplier.write(found.multiplier);
            exponent.write(found.exponent);
        }
        Ok(())
    })
}

/// Turns a real multiplier below 1 into integers: real = multiplier / 2^31 / 2^right_shift, rounded to nearest, ties up.
///
/// As QuantizeMultiplierSmallerThanOne of gemmlowp's documentation. The multiplier is 2^30 to 2^31 - 1 and the shift 0 to
/// 31; for what rounds to less than 2^-32 both are 0, though gemmlowp shifts on. What rounds to 1 becomes
/// (2^31 - 1) / 2^31, though gemmlowp asserts that there is no such thing.
///
/// @param real         above 0 and below 1
/// @param multiplier   the result
/// @param right_shift  the result: minus the exponent that qgemm_quantize_multiplier() gives
/// @return QGEMM_STATUS_OK, or why nothing was written: PARAMETER (real is NaN or out of its range), NULL_POINTER
///
/// # Safety
/// multiplier and right_shift may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_quantize_multiplier_smaller_than_one(
    real: f64,
    multiplier: *mut i32,
    right_shift: *mut i32,
) -> Status {
    guard(|| {
        check_results(&[("multiplier", multiplier.is_null()), ("right_shift", right_shift.is_null())])?;
        let found = Multiplier::smaller_than_one(real)?;
        // SAFETY: this function's own promise, for each.
        unsafe {
            multiplier.write(found.multiplier);
            right_shift.write(-found.exponent);
        }
        Ok(())
    })
}

/// Computes lhs_scale * rhs_scale / result_scale, which brings the sums of a product to the scale of its result, and turns
/// it into integers as qgemm_quantize_multiplier() does.
///
/// Frameworks differ in how they compute it, and so in the last bits of their results; the derivation says whose way to
/// take. With QGEMM_DERIVE_XNNPACK and QGEMM_DERIVE_QNNPACK the integers are exactly the float.
///
/// @param derivation    QGEMM_DERIVE_TFLITE, QGEMM_DERIVE_TFLITE_LEGACY, QGEMM_DERIVE_XNNPACK or QGEMM_DERIVE_QNNPACK
/// @param lhs_scale     what 1 stands for in the left-hand matrix; above 0 and finite
/// @param rhs_scale     what 1 stands for in the right-hand matrix, or in this channel of it; above 0 and finite
/// @param result_scale  what 1 stands for in the result; above 0 and finite
/// @param multiplier    a result, or NULL if it is not wanted
/// @param exponent      a result, or NULL if it is not wanted
/// @param scale         the multiplier as a float, rounded to nearest; or NULL if it is not wanted
/// @return QGEMM_STATUS_OK, or why nothing was written: OPTION (an unknown derivation), PARAMETER (a scale, or what comes
///         of them, is out of its range)
///
/// # Safety
/// multiplier, exponent and scale may be written to, unless they are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_multiplier_from_scales(
    derivation: u32,
    lhs_scale: f32,
    rhs_scale: f32,
    result_scale: f32,
    multiplier: *mut i32,
    exponent: *mut i32,
    scale: *mut f32,
) -> Status {
    guard(|| {
        let real = checked_derivation(derivation)?.real(lhs_scale, rhs_scale, result_scale)?;
        let found = Multiplier::of(real)?;
        // SAFETY: this function's own promise, for each.
        unsafe {
            write_unless_null(multiplier, found.multiplier);
            write_unless_null(exponent, found.exponent);
            write_unless_null(scale, real as f32);
        }
        Ok(())
    })
}

/// As qgemm_multiplier_from_scales(), for each channel of the right-hand matrix: what a layer with a scale for each row of
/// its weights takes.
///
/// @param derivation    as in qgemm_multiplier_from_scales()
/// @param lhs_scale     what 1 stands for in the left-hand matrix; above 0 and finite
/// @param rhs_scales    count scales, one for each channel; above 0 and finite. May be NULL if there are none
/// @param count         how many channels, at least 0
/// @param result_scale  what 1 stands for in the result; above 0 and finite
/// @param multipliers   count results, or NULL if they are not wanted
/// @param exponents     count results, or NULL if they are not wanted
/// @param scales        the multipliers as floats, rounded to nearest; or NULL if they are not wanted
/// @return QGEMM_STATUS_OK, or why nothing was written: OPTION (an unknown derivation), SHAPE (count is negative),
///         NULL_POINTER, ALIGNMENT, TOO_LARGE, PARAMETER (a scale, or what comes of them, is out of its range)
///
/// # Safety
/// There are count scales; multipliers, exponents and scales have room for as many, unless they are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_multipliers_from_scales(
    derivation: u32,
    lhs_scale: f32,
    rhs_scales: *const f32,
    count: i64,
    result_scale: f32,
    multipliers: *mut i32,
    exponents: *mut i32,
    scales: *mut f32,
) -> Status {
    guard(|| {
        let derivation = checked_derivation(derivation)?;
        let len = super::matrix::size("count", count)?;
        for (argument, place) in
            [("multipliers", multipliers.cast()), ("exponents", exponents.cast()), ("scales", scales)]
        {
            if !place.is_null() {
                check_pointer(argument, place)?;
            }
        }
        // SAFETY: this function's own promise.
        let rhs_scales = unsafe { vector("rhs_scales", rhs_scales, count, len)? };
        let found = |rhs_scale| -> Result<(Multiplier, f32), Error> {
            let real = derivation.real(lhs_scale, rhs_scale, result_scale)?;
            Ok((Multiplier::of(real)?, real as f32))
        };
        rhs_scales.iter().try_for_each(|&rhs_scale| found(rhs_scale).map(|_| ()))?;
        for (i, &rhs_scale) in rhs_scales.iter().enumerate() {
            let (multiplier, scale) = found(rhs_scale)?;
            // SAFETY: this function's own promise, for each.
            unsafe {
                write_unless_null(at(multipliers, i), multiplier.multiplier);
                write_unless_null(at(exponents, i), multiplier.exponent);
                write_unless_null(at(scales, i), scale);
            }
        }
        Ok(())
    })
}

/// Chooses scale and zero point, so that the integers from qmin to qmax stand for the real numbers from min to max.
///
/// As ChooseQuantizationParams of gemmlowp's documentation, for any qmin and qmax. Where 0 is not between min and max,
/// the range is widened to include it; and it is shifted by at most half a scale so that an integer stands for 0 exactly:
///
///     scale      = (max - min) / (qmax - qmin)
///     zero_point = round(qmin - min / scale), ties away from zero, confined to qmin..qmax
///
/// A number x is then quantized as round(x / scale) + zero_point, confined to qmin..qmax. If min and max are both 0, the
/// scale is 1 and the zero point the integer nearest to 0. A scale is never less than FLT_MIN.
///
/// @param min         the least real number; finite
/// @param max         the greatest; finite, and at least min
/// @param qmin        the least integer: 0 for uint8_t, -128 or -127 for int8_t
/// @param qmax        the greatest, and greater than qmin: 255 for uint8_t, 127 for int8_t
/// @param scale       the result, in float arithmetic
/// @param zero_point  the result
/// @return QGEMM_STATUS_OK, or why nothing was written: PARAMETER (also if max - min is more than a float holds),
///         NULL_POINTER
///
/// # Safety
/// scale and zero_point may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_choose_quantization(
    min: f32,
    max: f32,
    qmin: i32,
    qmax: i32,
    scale: *mut f32,
    zero_point: *mut i32,
) -> Status {
    guard(|| {
        check_results(&[("scale", scale.is_null()), ("zero_point", zero_point.is_null())])?;
        let found = Quantization::covering(min, max, qmin, qmax)?;
        // SAFETY: this function's own promise, for each.
        unsafe {
            scale.write(found.scale);
            zero_point.write(found.zero_point);
        }
        Ok(())
    })
}

/// Scales one number as a product's stage does every sum: x * multiplier * 2^(exponent - 31), rounded and saturated.
///
/// With QGEMM_ROUND_ONCE that is (x * multiplier + 2^(30 - exponent)) >> (31 - exponent), in 64 bits, confined to int32_t
/// at the end. With the others x * 2^exponent is confined to int32_t first, where exponent is positive; then comes
/// (that * multiplier + 2^30) >> 31, and then, where exponent is negative, the division by 2^-exponent.
///
/// @param x           the number
/// @param multiplier  any; what qgemm_quantize_multiplier() gives is 0 or at least 2^30
/// @param exponent    -31 to 30
/// @param rounding    QGEMM_ROUND_TWICE, QGEMM_ROUND_TWICE_UP or QGEMM_ROUND_ONCE
/// @param result      the result
/// @return QGEMM_STATUS_OK, or why nothing was written: SHIFT_RANGE (exponent), OPTION (rounding), NULL_POINTER
///
/// # Safety
/// result may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_scale_s32(
    x: i32,
    multiplier: i32,
    exponent: i32,
    rounding: u32,
    result: *mut i32,
) -> Status {
    guard(|| {
        check_results(&[("result", result.is_null())])?;
        let rounding = checked_rounding("rounding", rounding)?;
        check_exponent("exponent", exponent)?;
        // SAFETY: this function's own promise.
        unsafe { result.write(rounding.scaled(x, multiplier, exponent)) }
        Ok(())
    })
}

fn checked_derivation(derivation: u32) -> Result<Derivation, Error> {
    match derivation {
        QGEMM_DERIVE_TFLITE => Ok(Derivation::Tflite),
        QGEMM_DERIVE_TFLITE_LEGACY => Ok(Derivation::TfliteLegacy),
        QGEMM_DERIVE_XNNPACK => Ok(Derivation::Xnnpack),
        QGEMM_DERIVE_QNNPACK => Ok(Derivation::Qnnpack),
        value => Err(Error::Option { argument: "derivation", value }),
    }
}

/// Results go to these arguments, of which some may be null.
fn check_results(arguments: &[(&'static str, bool)]) -> Result<(), Error> {
    match arguments.iter().find(|(_, is_null)| *is_null) {
        Some(&(argument, _)) => Err(Error::Missing { argument }),
        None => Ok(()),
    }
}

/// The place of a result among others, if they are wanted.
fn at<T>(results: *mut T, index: usize) -> *mut T {
    if results.is_null() { results } else { results.wrapping_add(index) }
}

/// # Safety
/// `to` may be written to, unless it is null.
unsafe fn write_unless_null<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: this function's own promise.
        unsafe { to.write(value) }
    }
}
