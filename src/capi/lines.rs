//! Operands of real numbers, quantized line by line: rows of lhs, columns of rhs.

use super::channels::scales;
use super::context::{CallContext, ContextHandle};
use super::elements::{check_apart, elements_mut};
use super::integers::{check_integer, range_of};
use super::matrix::{Major, QGEMM_TYPE_S8, QGEMM_TYPE_U8, check_pointer, major, size, stride};
use super::packed::{PackOptions, PackedHandle, QGEMM_LHS, QGEMM_RHS, Request, handle};
use super::quantization::to_integer;
use super::scheme::checked_scheme;
use super::versioned::{self, Versioned};
use super::{Failure, Status, Within, guard};
use crate::buffer::ALIGN;
use crate::elements::{ElementsMut, Strided};
use crate::error::Error;
use crate::matrix::{Encoding, Offset, Operand, Order, Runs, extent, slice};
use crate::packed::{Crew, Packed, Packing, Reals, Segments, Side};
use crate::quantize::Scheme;
use crate::range::ElementRange;
use crate::tensor::{Found, Lines};
use std::ffi::c_void;

/// Scheme: scales and offsets are given, and not found.
pub const QGEMM_SCHEME_GIVEN: u32 = 3;

/// A matrix of floats that is to be one side of a product. Begin with QGEMM_FLOATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawFloats {
    /// sizeof(qgemm_floats).
    pub struct_size: usize,
    /// The elements. May be NULL if there are none.
    pub data: *const f32,
    /// How many rows, at least 0.
    pub rows: i64,
    /// How many columns, at least 0.
    pub cols: i64,
    /// Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next; 0 for no gaps.
    pub stride: i64,
    /// QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR.
    pub order: u32,
    /// QGEMM_LHS, whose lines are its rows, or QGEMM_RHS, whose lines are its columns.
    pub side: u32,
}

/// How each line of such a matrix is quantized: an element x becomes the byte rounded(x / scale) - offset, confined. Begin with
/// QGEMM_LINE_QUANTIZATION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawLineQuantization {
    /// sizeof(qgemm_line_quantization).
    pub struct_size: usize,
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8: that of the bytes.
    pub r#type: u32,
    /// How scale and zero point of a line follow from its elements: QGEMM_SCHEME_AFFINE, _SYMMETRIC or _DYNAMIC_LINEAR; NaN and
    /// infinities do not count. Or QGEMM_SCHEME_GIVEN.
    pub scheme: u32,
    /// QGEMM_QUANTIZE_DIVIDE, _MULTIPLY or _DIVIDE_AWAY.
    pub rounding: u32,
    /// 0.
    pub reserved: u32,
    /// The least byte to use. If it and greatest are 0, all of the type are used; to be packed in fewer bits, all of these.
    pub least: i32,
    /// The greatest: more than least.
    pub greatest: i32,
    /// Receives a scale for each line, for QGEMM_STAGE_DEQUANTIZE; or gives them: finite, and at least FLT_MIN.
    pub scales: *mut f32,
    /// Receives an offset for each line, minus its zero point, for qgemm_operand; or gives them.
    pub offsets: *mut i32,
}

// SAFETY: repr(C), the size first, then integers and a pointer.
unsafe impl Versioned for RawFloats {
    const FIRST_SIZE: usize = size_of::<Self>();
}

// SAFETY: repr(C), the size first, then integers and pointers.
unsafe impl Versioned for RawLineQuantization {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Quantizes one side of a product line by line: dynamic quantization, of activations as a rule, each row of which gets a scale
/// and an offset of its own, in one pass over memory.
///
/// What comes of it are the elements of a qgemm_operand of the same rows, columns and order, with stride 0; the offsets are its
/// field offset, per row of lhs or per column of rhs. The stage QGEMM_STAGE_DEQUANTIZE of a product takes the scales, those of rows or
/// those of columns; the other side's are multiplied by after it. Nothing is allocated. For one product this is quicker than to pack
/// the operand with qgemm_pack_f32(), which has to prove more of it.
///
/// @param context       the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param floats        the matrix
/// @param quantization  how, and where scales and offsets go
/// @param to            receives rows * cols bytes, in the order of the floats, without gaps
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE, STRIDE, TYPE, OPTION (order, side,
///         scheme, rounding, reserved), PARAMETER (least or greatest, a scale or an offset), TOO_LARGE, OVERLAP, UNSUPPORTED
///         (QGEMM_ISA)
///
/// # Safety
/// The floats reach as far as sizes and stride say, to has room for all bytes, scales and offsets for all lines. Nobody writes to
/// what is read, or uses what is written, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_quantize_lines_f32(
    context: *const ContextHandle,
    floats: *const RawFloats,
    quantization: *const RawLineQuantization,
    to: *mut c_void,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let floats = Floats::read(floats)?;
            let raw = versioned::read("quantization", quantization)?;
            let all = raw.encoding().map(ElementRange::all).within("quantization")?;
            let lines = raw.lines(&floats, all, None).within("quantization")?;
            let found = raw.found(&lines, -1).within("quantization")?;
            let to = elements_mut("to", to.cast::<u8>(), floats.lines * floats.depth)?;
            floats.check_apart(&[to.runs(), found.scales.runs(), zero_point_runs(&found)])?;
            // Parts of cache lines would take longer past them.
            let to = if floats.len.is_multiple_of(ALIGN) { to.past_caches(&floats.runs) } else { to };
            lines.quantize(&*CallContext::new(context)?, &found, &to);
            Ok(())
        }
    })
}

/// Quantizes one side of a product line by line and packs it, as qgemm_quantize_lines_f32() and qgemm_pack() do one after the
/// other: weights, as a rule, that will be multiplied by many. With QGEMM_SCHEME_SYMMETRIC and QGEMM_TYPE_S8 it is what oneDNN calls
/// a reorder of weights with a scale for each output channel.
///
/// If options names groups, each has a scale and a zero point of its own, which become part of the packed operand: options->scales
/// and zero_points have to be NULL, quantization->scales has room for those of all groups, in the order of options->scales, and
/// quantization->offsets receives zero points, not minus zero points, or is NULL if they are all 0, which only QGEMM_SCHEME_SYMMETRIC
/// with QGEMM_TYPE_S8 makes sure of. Without groups the products are told the offsets as ever.
///
/// The bytes lie in the context's memory in between, as many as there are elements, until the next call uses it or
/// qgemm_free_persistent_resources() or qgemm_context_free() frees it. How much memory the packed operand takes says
/// qgemm_pack_size(), for an operand of this shape and type, of which the elements are not read.
///
/// @param context       the threads and the memory to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param floats        the matrix; its side is that of options
/// @param quantization  how it is quantized, and where scales and offsets go
/// @param options       what it will be used for, and where it is to be
/// @param packed        receives the packed operand
/// @return QGEMM_STATUS_OK, or why packed was not written: as qgemm_quantize_lines_f32() and qgemm_pack(). Scales and offsets were
///         written only if it is OUT_OF_MEMORY
///
/// # Safety
/// As for qgemm_quantize_lines_f32() and qgemm_pack().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_pack_f32(
    context: *const ContextHandle,
    floats: *const RawFloats,
    quantization: *const RawLineQuantization,
    options: *const PackOptions,
    packed: *mut *mut PackedHandle,
) -> Status {
    guard(|| {
        check_pointer("packed", packed)?;
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let floats = Floats::read(floats)?;
            let raw = versioned::read("quantization", quantization)?;
            let options = versioned::read("options", options)?;
            let (purpose, bits) = (options.purpose().within("options")?, options.bits().within("options")?);
            if purpose.side != floats.side {
                return Err(Error::Option { argument: "side", value: options.side }).within("options");
            }
            options.check_no_scales().within("options")?;
            let encoding = raw.encoding().within("quantization")?;
            let group = Some(options.group_size).filter(|&size| size > 0);
            let lines = raw.lines(&floats, bits.range(encoding), group).within("quantization")?;
            let found = raw.found(&lines, if group.is_some() { 1 } else { -1 }).within("quantization")?;

            let context = CallContext::new(context)?;
            let len = floats.lines * floats.depth;
            let mut scratch = context.scratch(len)?;
            let bytes = scratch.as_mut_slice().as_mut_ptr();
            let operand = Operand::from_raw(bytes, (floats.lines, floats.depth), floats.len, floats.order, encoding);
            let operand = operand.ok_or(Error::TooLarge { argument: "floats" })?;
            // How many segments there are is known, but not yet what they are.
            let unknown: (&[f32], &[i32]) = (&[], &[]);
            let zero_points = found.zero_points.as_ref().map(|_| unknown.1);
            let segments = group.map(|size| Segments { size, scales: unknown.0, zero_points });
            let packing = Packing { offset: Offset::Uniform(0), purpose, bits, segments, are_patches: false };
            let mut request = Request { operand, packing, options };
            let size = request.size(context.kernel)?;
            let memory = request.memory(size)?;
            let written = if memory.is_some() { size } else { 0 };
            let memory_runs = Runs::new(options.memory.addr(), 1, written, 0);
            floats.check_apart(&[memory_runs, found.scales.runs(), zero_point_runs(&found)])?;

            let room = ElementsMut::from_raw(bytes, len);
            let reals = Reals::new(&lines, &found, encoding, room);
            if let Some(made) = Packed::of_reals(&context, &reals, &request.packing, memory)? {
                packed.write(handle(made));
                return Ok(());
            }
            lines.quantize(&context, &found, &ElementsMut::from_raw(bytes, len));
            if let Some(segments) = &mut request.packing.segments {
                let count = found.scales.len();
                segments.scales = slice(raw.scales, count).ok_or(Error::TooLarge { argument: "scales" })?;
                if found.zero_points.is_some() {
                    let zero_points = slice(raw.offsets.cast_const(), count);
                    segments.zero_points = Some(zero_points.ok_or(Error::TooLarge { argument: "offsets" })?);
                }
            }
            let made = Packed::by(Crew::Together(&context), &request.operand, &request.packing, memory)?;
            packed.write(handle(made));
            Ok(())
        }
    })
}

impl RawLineQuantization {
    fn encoding(&self) -> Result<Encoding, Error> {
        match self.r#type {
            QGEMM_TYPE_U8 => Ok(Encoding::U8),
            QGEMM_TYPE_S8 => Ok(Encoding::S8),
            value => Err(Error::Type { argument: "type", value, expected: "QGEMM_TYPE_U8 or QGEMM_TYPE_S8" }),
        }
    }

    /// How the lines become bytes, which are to be among `all`.
    fn lines<'a>(&self, floats: &Floats<'a>, all: ElementRange, segment: Option<usize>) -> Result<Lines<'a>, Error> {
        if self.reserved != 0 {
            return Err(Error::Reserved { argument: "reserved" });
        }
        let range = match (self.least, self.greatest) {
            (0, 0) => all,
            (least, greatest) => range_of("type", self.r#type, least, greatest)?,
        };
        if !all.holds(&range) {
            let (argument, expected) = ("greatest", "no more, and least no less, than options->bits allow");
            return Err(Error::Parameter { argument, value: range.greatest.into(), expected });
        }
        let scheme = match self.scheme {
            QGEMM_SCHEME_GIVEN => None,
            value => Some(checked_scheme("scheme", value)?),
        };
        let rule = to_integer("rounding", self.rounding)?;
        let &Floats { from, order, lines, depth, .. } = floats;
        Ok(Lines { from, order, lines, depth, segment, rule, scheme, range })
    }

    /// Where scales and zero points, times `sign`, go or come from.
    ///
    /// # Safety
    /// They are as many as there are segments, and nobody else uses them for `'a`.
    unsafe fn found<'a>(&self, lines: &Lines, sign: i32) -> Result<Found<'a>, Error> {
        let count = lines.lines.checked_mul(lines.segments()).ok_or(Error::TooLarge { argument: "scales" })?;
        let needs_zero_points = match lines.scheme {
            None => false,
            Some(Scheme::Symmetric) => Scheme::middle(lines.range.least, lines.range.greatest) != 0,
            Some(_) => true,
        };
        let zero_points = match self.offsets.is_null() && !needs_zero_points {
            true => None,
            // SAFETY: this function's own promise.
            false => Some(unsafe { elements_mut("offsets", self.offsets, count)? }),
        };
        if lines.scheme.is_none() {
            // SAFETY: as above.
            unsafe { scales("scales", self.scales, count)? };
            let all = ElementRange::all(self.encoding()?);
            for i in 0..count {
                let offset = zero_points.as_ref().map_or(0, |zero_points| zero_points.get(i));
                check_integer("offsets", sign.wrapping_mul(offset), all)?;
            }
        }
        // SAFETY: as above.
        let scales = unsafe { elements_mut("scales", self.scales, count)? };
        Ok(Found { scales, zero_points, sign })
    }
}

fn zero_point_runs(found: &Found) -> Runs {
    found.zero_points.as_ref().map_or(Runs::new(0, 0, 0, 0), |zero_points| zero_points.runs())
}

/// Such a matrix, checked.
struct Floats<'a> {
    from: Strided<'a, f32>,
    order: Order,
    lines: usize,
    depth: usize,
    side: Side,
    /// Elements of a contiguous run.
    len: usize,
    /// Where the bytes lie.
    runs: Runs,
}

impl Floats<'_> {
    /// # Safety
    /// `floats` is null or points at as many bytes as it says; its elements reach as far as it says and are unchanged as long
    /// as this is used.
    unsafe fn read(floats: *const RawFloats) -> Result<Self, Failure> {
        // SAFETY: this function's own promise.
        let raw = unsafe { versioned::read("floats", floats)? };
        // SAFETY: as above.
        unsafe { Self::view(&raw) }.within("floats")
    }

    /// # Safety
    /// As for `read`.
    unsafe fn view(raw: &RawFloats) -> Result<Self, Error> {
        let (rows, cols) = (size("rows", raw.rows)?, size("cols", raw.cols)?);
        let is_by_rows = major("order", raw.order)? == Major::Row;
        let side = match raw.side {
            QGEMM_LHS => Side::Lhs,
            QGEMM_RHS => Side::Rhs,
            value => return Err(Error::Option { argument: "side", value }),
        };
        let (count, len) = if is_by_rows { (rows, cols) } else { (cols, rows) };
        let stride = stride(raw.stride, (count, len), 1)?;
        if count > 0 && len > 0 {
            check_pointer("data", raw.data)?;
        }
        extent(raw.data, count, len, stride).ok_or(Error::TooLarge { argument: "data" })?;
        let (lines, depth) = if side == Side::Lhs { (rows, cols) } else { (cols, rows) };
        lines.checked_mul(depth).ok_or(Error::TooLarge { argument: "data" })?;
        let order = if (side == Side::Lhs) == is_by_rows { Order::DepthContiguous } else { Order::LineContiguous };
        // SAFETY: this function's own promise.
        let from = unsafe { Strided::from_raw(raw.data, (count, len), stride) };
        let runs = Runs::new(raw.data.addr(), count, len * size_of::<f32>(), stride * size_of::<f32>());
        Ok(Self { from, order, lines, depth, side, len, runs })
    }

    /// What is written may not be among the elements, nor one part of it among another.
    fn check_apart(&self, written: &[Runs]) -> Result<(), Error> {
        for (i, runs) in written.iter().enumerate() {
            check_apart(runs, &[("floats", self.runs)])?;
            for other in &written[..i] {
                check_apart(runs, &[("something else that is written", *other)])?;
            }
        }
        Ok(())
    }
}
