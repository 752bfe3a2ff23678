//! Tensors of integers that become integers of another scale.

use super::channels::{RawChannels, integer_values, read_channels, scales, values};
use super::context::{CallContext, ContextHandle};
use super::elements::check_apart;
use super::integers::{ANY, check_in_place, integers, integers_mut, limits, range_of};
use super::pipeline::{check_exponent, checked_rounding};
use super::versioned::{self, Versioned};
use super::{Status, Within, guard};
use crate::error::Error;
use crate::matrix::bytes_of;
use crate::tensor::{self, Arithmetic, Channels, ZeroPoint};
use std::ffi::c_void;

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
unsafe impl Versioned for RawRequantization {
    const FIRST_SIZE: usize = size_of::<Self>();
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
            let range = range_of("to_type", raw.to_type, raw.least, raw.greatest).within("requantization")?;
            let arithmetic = raw.arithmetic(&channels).within("requantization")?;
            let from_zero_points =
                integer_values("from_zero_points", raw.from_zero_points, &channels, ANY).within("requantization")?;
            let to_zero_points = integer_values("to_zero_points", raw.to_zero_points, &channels, limits(raw.to_type))
                .within("requantization")?;
            let from = integers("from", "requantization->from_type", from, raw.from_type, channels.len())?;
            let to = integers_mut("to", "requantization->to_type", to, raw.to_type, channels.len())?;
            let written = to.runs();
            check_in_place(&written, &from)?;
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
