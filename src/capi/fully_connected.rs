//! The fused layer of a quantized network: weights, bias, and the way down to the result's type.

use super::context::{CallContext, ContextHandle};
use super::gemm::check_overlap;
use super::matrix::{
    QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_U8, check_pointer, encoding_of, size, stride as checked_stride, vector,
};
use super::packed::PackedHandle;
use super::pipeline::{checked_rounding, no_exponent};
use super::verbose::{self, Words};
use super::versioned::{self, Versioned};
use super::{Failure, Status, Within, guard};
use crate::error::Error;
use crate::matrix::{Offset, Operand, Order, Output};
use crate::output::{Cast, Finish, Scale, Stage, Store, Values};
use crate::packed::Side;
use crate::source::Factor;
use std::ffi::c_void;

/// A fully connected layer of a quantized network, as in Jacob et al., "Quantization and Training of Neural Networks for
/// Efficient Integer-Arithmetic-Only Inference" (2017), section 2.4.
///
/// Set all of it to zero with QGEMM_LAYER_INIT first, then what matters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Layer {
    /// sizeof(qgemm_layer).
    pub struct_size: usize,
    /// units x depth elements, a row for each unit; or NULL if packed is given. May be NULL if there are none.
    pub weights: *const c_void,
    /// The weights in packed form, as the rhs of a product: depth x units, that is, packed from these rows as
    /// QGEMM_COL_MAJOR; without groups. NULL if weights is given.
    pub packed: *const PackedHandle,
    /// How many results there are for each row of the input, at least 0.
    pub units: i64,
    /// How many elements a row of the input has, at least 0.
    pub depth: i64,
    /// Elements from the start of one row of weights to the next, at least 1; 0 for no gaps. Not looked at if packed.
    pub weights_stride: i64,
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8; if packed, it may also be 0.
    pub weights_type: u32,
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8.
    pub input_type: u32,
    /// QGEMM_TYPE_U8, QGEMM_TYPE_S8 or QGEMM_TYPE_S16.
    pub output_type: u32,
    /// QGEMM_ROUND_TWICE: as TFLite's reference kernels; QGEMM_ROUND_ONCE: as these with TFLITE_SINGLE_ROUNDING;
    /// QGEMM_ROUND_TWICE_UP: as ruy on x86.
    pub rounding: u32,
    /// The weight that stands for 0.
    pub weights_zero_point: i32,
    /// The element of the input that stands for 0.
    pub input_zero_point: i32,
    /// The result that stands for 0.
    pub output_zero_point: i32,
    /// The least result, one of output_type: where the activation function begins, as TFLite has it.
    pub output_min: i32,
    /// The greatest result, one of output_type and not less than output_min.
    pub output_max: i32,
    /// 0.
    pub reserved: i32,
    /// As many integers as there are units, of the scale of input times weights; NULL for 0.
    pub bias: *const i32,
    /// As many multipliers as multiplier_count says, and each with its exponent: what brings the sums to the scale of the
    /// output. See qgemm_multipliers_from_scales().
    pub multipliers: *const i32,
    /// -31 to 30.
    pub exponents: *const i32,
    /// 1 for all units, or one for each unit.
    pub multiplier_count: i64,
}

// SAFETY: repr(C), the size first, then integers and pointers.
unsafe impl Versioned for Layer {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Computes a fully connected layer: bit-exact with the reference kernels of TFLite and TFLite Micro for 8 bits.
///
///     sum(b,u)    = bias(u) + sum over d of (input(b,d) - input_zero_point) * (weights(u,d) - weights_zero_point)
///     output(b,u) = min(max(scaled(sum(b,u)) + output_zero_point, output_min), output_max)
///
/// where scaled is sum * multiplier / 2^31 * 2^exponent as the rounding says; sums wrap around at 32 bits. Of a positive
/// exponent TFLite's reference wraps around where it leaves 32 bits on the way; here it saturates.
///
/// @param context        the threads and the memory to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param layer          weights and parameters
/// @param batch          rows of input and output, at least 0
/// @param input          batch x depth elements, row-major; may be NULL if there are none
/// @param input_stride   elements from the start of one row to the next, at least 1; 0 for no gaps
/// @param output         batch x units elements, row-major; may be NULL if there are none. It overlaps nothing that is read
/// @param output_stride  elements from the start of one row to the next, at least units; 0 for no gaps
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, OPTION (reserved, rounding, or
///         weights both plain and packed), SHAPE, STRIDE, TYPE, TOO_LARGE, SHIFT_RANGE (an exponent), PARAMETER (output_min
///         and output_max), VECTOR_LENGTH (multiplier_count), OVERLAP, PACKED_LAYOUT (packed as a lhs), STAGE_ORDER (packed
///         with groups), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// All that layer points at, input and output reach as far as their sizes and strides say, and nobody writes to them, or
/// reads the output, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_fully_connected(
    context: *const ContextHandle,
    layer: *const Layer,
    batch: i64,
    input: *const c_void,
    input_stride: i64,
    output: *mut c_void,
    output_stride: i64,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let layer = versioned::read("layer", layer)?;
            let rhs = layer.weights().within("layer")?;
            let batch = size("batch", batch)?;
            let stages = layer.stages(rhs.lines()).within("layer")?;
            let lhs = layer.input(batch, rhs.depth(), input, input_stride)?;
            let store = layer.store((batch, rhs.lines()), output, output_stride)?;
            let sides = [("input", &lhs), ("layer->weights", &rhs)];
            check_overlap("output", &store, sides, &stages)?;
            let context = CallContext::new(context)?;
            let words = || {
                let (names, result) = (stages.iter().map(Stage::name), (layer.output_name(), "row"));
                Words { function: "fully_connected", lhs, rhs, result, stages: names }
            };
            let finish = Finish::new(&stages, store);
            verbose::told(words, &context, || crate::gemm(&context, &lhs, &rhs, &finish))?;
            Ok(())
        }
    })
}

impl Layer {
    /// The weights as the right-hand side, less their zero point.
    ///
    /// # Safety
    /// They reach as far as sizes and stride say, and are unchanged for `'a`.
    unsafe fn weights<'a>(&self) -> Result<Factor<'a>, Error> {
        if self.reserved != 0 {
            return Err(Error::Reserved { argument: "reserved" });
        }
        let (units, depth) = (size("units", self.units)?, size("depth", self.depth)?);
        let offset = Offset::Uniform(self.weights_zero_point.wrapping_neg());
        // SAFETY: this function's own promise.
        let Some(packed) = (unsafe { self.packed.as_ref() }).map(PackedHandle::get) else {
            let encoding = encoding_of("weights_type", self.weights_type)?;
            let stride = checked_stride(self.weights_stride, (units, depth), 1)?;
            if units > 0 && depth > 0 && self.weights.is_null() {
                return Err(Error::Null { argument: "weights" });
            }
            let (data, order) = (self.weights.cast(), Order::DepthContiguous);
            // SAFETY: this function's own promise.
            let view = unsafe { Operand::from_raw(data, (units, depth), stride, order, encoding) };
            return Ok(Factor::new(view.ok_or(Error::TooLarge { argument: "weights" })?, offset));
        };
        if !self.weights.is_null() {
            return Err(Error::Given { argument: "weights" });
        }
        if packed.purpose().side != Side::Rhs {
            return Err(Error::PackedSide { side: packed.purpose().side });
        }
        for (argument, value, expected) in [("units", units, packed.lines()), ("depth", depth, packed.depth())] {
            if value != expected {
                return Err(Error::Mismatch { argument, value, other: "what was packed", expected });
            }
        }
        if self.weights_type != 0 && encoding_of("weights_type", self.weights_type)? != packed.encoding() {
            let (value, expected) = (self.weights_type, "0 or the type that was packed");
            return Err(Error::Type { argument: "weights_type", value, expected });
        }
        let factor = Factor::packed(packed, offset);
        if factor.segment().is_some() {
            let problem = "packed has groups with scales, whose sums are floats, but a layer's are integers";
            return Err(Error::StageOrder { problem });
        }
        Ok(factor)
    }

    /// From sums to results.
    ///
    /// # Safety
    /// The bias, multipliers and exponents are as many as they should be, and unchanged for `'a`.
    unsafe fn stages<'a>(&self, units: usize) -> Result<[Stage<'a>; 3], Error> {
        let rounding = checked_rounding("rounding", self.rounding)?;
        let (least, greatest) = match self.output_type {
            QGEMM_TYPE_U8 => (0, 255),
            QGEMM_TYPE_S8 => (-128, 127),
            QGEMM_TYPE_S16 => (-32768, 32767),
            value => {
                let expected = "QGEMM_TYPE_U8, QGEMM_TYPE_S8 or QGEMM_TYPE_S16";
                return Err(Error::Type { argument: "output_type", value, expected });
            }
        };
        let (min, max) = (self.output_min, self.output_max);
        for (argument, value) in [("output_min", min), ("output_max", max)] {
            if !(least..=greatest).contains(&value) {
                return Err(Error::Parameter { argument, value: value.into(), expected: "a number of output_type" });
            }
        }
        if max < min {
            return Err(Error::Parameter {
                argument: "output_max",
                value: max.into(),
                expected: "at least output_min",
            });
        }
        // SAFETY: this function's own promise, for each.
        let (bias, multiplier, exponent) = unsafe {
            let bias = match self.bias.is_null() {
                true => Values::Uniform(0),
                false => Values::PerCol(vector("bias", self.bias, self.units, units)?),
            };
            (bias, self.values("multipliers", self.multipliers)?, self.values("exponents", self.exponents)?)
        };
        let scale = Scale::new(multiplier, exponent, self.output_zero_point, rounding)
            .map_err(|value| no_exponent("exponents", value))?;
        Ok([Stage::Bias(bias), Stage::Scale(scale), Stage::Clamp { min, max }])
    }

    /// # Safety
    /// `data` has one value, or one for each unit, as the layer says.
    unsafe fn values<'a>(&self, argument: &'static str, data: *const i32) -> Result<Values<'a, i32>, Error> {
        if self.multiplier_count != 1 && self.multiplier_count != self.units {
            let (len, least) = (self.multiplier_count, self.units as usize);
            return Err(Error::VectorLength { argument: "multipliers", len, least });
        }
        let count = self.multiplier_count as usize;
        // SAFETY: this function's own promise.
        let values = unsafe { vector(argument, data, self.multiplier_count, count)? };
        Ok(if self.multiplier_count == self.units { Values::PerCol(values) } else { Values::Uniform(values[0]) })
    }

    /// The input as the left-hand side, less its zero point.
    ///
    /// # Safety
    /// It reaches as far as sizes and stride say, and is unchanged for `'a`.
    unsafe fn input<'a>(
        &self,
        batch: usize,
        depth: usize,
        data: *const c_void,
        stride: i64,
    ) -> Result<Factor<'a>, Failure> {
        let encoding = encoding_of("input_type", self.input_type).within("layer")?;
        let stride = named("input_stride", checked_stride(stride, (batch, depth), 1))?;
        if batch > 0 && depth > 0 && data.is_null() {
            return Err(Error::Null { argument: "input" }.into());
        }
        // SAFETY: this function's own promise.
        let view = unsafe { Operand::from_raw(data.cast(), (batch, depth), stride, Order::DepthContiguous, encoding) };
        let view = view.ok_or(Error::TooLarge { argument: "input" })?;
        Ok(Factor::new(view, Offset::Uniform(self.input_zero_point.wrapping_neg())))
    }

    /// # Safety
    /// `data` reaches as far as shape and stride say, and nobody else uses it for `'a`.
    unsafe fn store<'a>(&self, shape: (usize, usize), data: *mut c_void, stride: i64) -> Result<Store<'a>, Error> {
        let stride = named("output_stride", checked_stride(stride, shape, shape.1))?;
        let cast = Cast::Saturating;
        // SAFETY: this function's own promise, for each.
        unsafe {
            Ok(match self.output_type {
                QGEMM_TYPE_U8 => Store::U8(output(data.cast(), shape, stride)?, cast),
                QGEMM_TYPE_S8 => Store::I8(output(data.cast(), shape, stride)?, cast),
                _ => Store::I16(output(data.cast(), shape, stride)?, cast),
            })
        }
    }

    fn output_name(&self) -> &'static str {
        match self.output_type {
            QGEMM_TYPE_U8 => "u8",
            QGEMM_TYPE_S8 => "s8",
            _ => "s16",
        }
    }
}

/// # Safety
/// `data` reaches as far as shape and stride say, and nobody else uses it for `'a`.
unsafe fn output<'a, T>(data: *mut T, shape: (usize, usize), stride: usize) -> Result<Output<'a, T>, Error> {
    if shape.0 > 0 && shape.1 > 0 {
        if data.is_null() {
            return Err(Error::Null { argument: "output" });
        }
        check_pointer("output", data)?;
    }
    // SAFETY: this function's own promise; `stride` keeps the rows apart.
    unsafe { Output::from_raw(data, shape, stride) }.ok_or(Error::TooLarge { argument: "output" })
}

/// A stride under the name of the argument.
fn named(argument: &'static str, stride: Result<usize, Error>) -> Result<usize, Error> {
    stride.map_err(|error| match error {
        Error::Stride { value, least, .. } => Error::Stride { argument, value, least },
        error => error,
    })
}
