//! Tensors with scales and zero points, added.

use super::context::{CallContext, ContextHandle};
use super::elements::Place;
use super::matrix::{QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_U8, check_pointer, size};
use super::versioned::{self, Versioned};
use super::{Failure, Status, Within, guard};
use crate::add::{Add, Scaled, Sum, Way};
use crate::code::Code;
use crate::error::Error;
use crate::grid::{Dimension, Grid, MOST_DIMENSIONS, Tensors};
use crate::kernel::Kernel;
use crate::matrix::slice;
use crate::output::Element;
use std::ffi::c_void;

/// Addition as TFLite's reference: ADD and SUB of u8 and s8 (which it shifts to the left by 20 first) and of s16 (by 15, zero
/// points 0). Each of three products with a fixed-point number is rounded twice: ties up, and then ties away from zero.
pub const QGEMM_ADD_TFLITE: u32 = 0;
/// Addition as TFLite does it where it was built for single rounding: each product is rounded once, ties up.
pub const QGEMM_ADD_TFLITE_SINGLE: u32 = 1;
/// Addition as XNNPACK, of u8 and s8: multipliers of 21 bits, the sum rounded once, ties up. a_scale / c_scale and b_scale /
/// c_scale are 2^-10 to just below 256.
pub const QGEMM_ADD_XNNPACK: u32 = 2;
/// Addition as QNNPACK, of u8 and s8: multipliers of 22 bits, the sum rounded once, ties away from zero. a_scale / c_scale
/// and b_scale / c_scale are 2^-14 to just below 256, the greater of them at least 2^-10.
pub const QGEMM_ADD_QNNPACK: u32 = 3;
/// Addition in float, the sum rounded once, ties to even:
/// (a - a_zero_point) * (a_scale / c_scale) + (b - b_zero_point) * (b_scale / c_scale). The quotients are below 2^64.
pub const QGEMM_ADD_F32: u32 = 4;

/// Flag of an addition: b is subtracted. In TFLite's modes its multiplier becomes negative, as in TFLite's SUB.
pub const QGEMM_ADD_SUBTRACT: u32 = 1;

/// Two tensors to be added, and their sum, all of one type.
///
/// Set all of it to zero with QGEMM_ADD_OPTIONS_INIT first, then what matters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AddOptions {
    /// sizeof(qgemm_add_options).
    pub struct_size: usize,
    /// QGEMM_TYPE_U8, _S8 or _S16.
    pub r#type: u32,
    /// QGEMM_ADD_TFLITE, _TFLITE_SINGLE, _XNNPACK, _QNNPACK or _F32.
    pub mode: u32,
    /// What 1 in a stands for: above 0, finite and normal, as the other scales.
    pub a_scale: f32,
    /// What in a stands for 0: a number of the type, as the other zero points; of type s16, 0 but with QGEMM_ADD_F32.
    pub a_zero_point: i32,
    /// What 1 in b stands for.
    pub b_scale: f32,
    /// What in b stands for 0.
    pub b_zero_point: i32,
    /// What 1 in the sum stands for; in TFLite's modes more than the greater of the others / 2^19, of type s16 / 2^14.
    pub c_scale: f32,
    /// What in the sum stands for 0.
    pub c_zero_point: i32,
    /// What the sum is confined to, an activation perhaps: numbers of the type. If both are 0, to the type.
    pub c_least: i32,
    /// Not less than c_least.
    pub c_greatest: i32,
    /// 0 or QGEMM_ADD_SUBTRACT.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// What qgemm_add_prepare() found. It holds no pointers, and may be copied and kept.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddParameters {
    /// As in qgemm_add_options.
    pub r#type: u32,
    /// As in qgemm_add_options.
    pub mode: u32,
    /// Of a, b and c.
    pub zero_points: [i32; 3],
    /// In TFLite's modes those of a, b and the sum, fractions of 2^31; in QGEMM_ADD_F32 the bits of the floats for a and b;
    /// else those of a and b, and what is added.
    pub multipliers: [i32; 3],
    /// How far the products with them are shifted to the right: 0 to 31.
    pub shifts: [i32; 3],
    /// What the sum is confined to.
    pub least: i32,
    /// What the sum is confined to.
    pub greatest: i32,
    /// Which shorter formula gives the same for every pair of bytes, and for which of the parameters above that was found: with
    /// others it does not count. 0 for none.
    pub form: u32,
}

/// The bits of a form that number the formula. They were two once, for 1 to 3, which number the same still.
const FORM: u32 = 7;

// SAFETY: repr(C), the size first, then integers and floats.
unsafe impl Versioned for AddOptions {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Computes from scales and zero points how tensors are added.
///
///     c stands for c_scale * (c - c_zero_point), the nearest there is to
///     a_scale * (a - a_zero_point) + b_scale * (b - b_zero_point)
///
/// confined to c_least to c_greatest. The modes differ in what they take for nearest, by no more than 1. As long as neither
/// a_scale nor b_scale is greater than c_scale, they are off by no more than 0.5 + 2^-10; else what exceeds 0.5 is as many
/// times as great as the greater of these is greater than c_scale (QGEMM_ADD_F32: plus 2^-22 of what is added).
///
/// This takes some 0.1 ms for bytes: all pairs of them are added, to find out whether a formula that takes less time gives the
/// same.
///
/// @param options     what is to be added
/// @param parameters  the result
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, TYPE (also s16 in a mode that
///         has none), OPTION (mode, flags, or what is reserved), PARAMETER (a scale or zero point is none, the scales are too
///         different for the mode, or c_least and c_greatest are not of the type, or in the wrong order); details in
///         qgemm_last_error()
///
/// # Safety
/// parameters may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_add_prepare(options: *const AddOptions, parameters: *mut AddParameters) -> Status {
    guard(|| {
        check_pointer("parameters", parameters)?;
        // SAFETY: this function's own promise.
        let options = unsafe { versioned::read("options", options)? };
        let add = options.sum().and_then(|sum| sum.prepared()).within("options")?;
        // Where no kernel can be had, it is the additions that say so.
        let add = Kernel::chosen().map_or(add, |kernel| add.shortened(kernel.vectors));
        let Add { zero_points, multipliers, shifts, least, greatest, form, .. } = add;
        let AddOptions { r#type, mode, .. } = options;
        let found = AddParameters { r#type, mode, zero_points, multipliers, shifts, least, greatest, form }.sealed();
        // SAFETY: neither null nor misaligned; and this function's own promise.
        unsafe { parameters.write(found) };
        Ok(())
    })
}

/// Adds contiguous tensors, element by element. The bytes of the result do not depend on the kernel or the number of threads.
///
/// @param context     the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param parameters  what qgemm_add_prepare() found
/// @param a           size elements of the type; may be NULL if there are none
/// @param b           size elements
/// @param size        how many, at least 0
/// @param c           where size elements go; it may be a, or b, but not overlap them otherwise
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE and OPTION and SHIFT_RANGE (what
///         parameters hold is not what was found), SHAPE (size), TOO_LARGE, OVERLAP, UNSUPPORTED (QGEMM_ISA); details in
///         qgemm_last_error()
///
/// # Safety
/// All have so many elements, and nobody else writes to them or reads c during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_add(
    context: *const ContextHandle,
    parameters: *const AddParameters,
    a: *const c_void,
    b: *const c_void,
    size: i64,
    c: *mut c_void,
) -> Status {
    guard(|| {
        let grid = Grid::flat(super::matrix::size("size", size)?);
        // SAFETY: this function's own promise.
        unsafe { add(context, parameters, &grid, a, b, c) }
    })
}

/// Adds tensors of up to 8 dimensions, of which each may lie in memory in its own way, and a or b be broadcast:
///
///     c[sum of i[d] * c_strides[d]] = a[sum of i[d] * a_strides[d]] + b[sum of i[d] * b_strides[d]]
///
/// for all i with 0 <= i[d] < sizes[d]. Along a dimension in which a tensor is broadcast its stride is 0; where sizes[d] is
/// 1 the strides do not matter. It is fast where c is contiguous along some dimension, and a and b are there, too, or
/// broadcast.
///
/// @param context     the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param parameters  what qgemm_add_prepare() found
/// @param rank        how many dimensions: 0 to 8; 0 for a single element
/// @param sizes       those of c, each at least 0
/// @param a           the elements; may be NULL if there are none
/// @param a_strides   elements from one to the next in each dimension, at least 0; or NULL: row-major without gaps
/// @param b           the elements
/// @param b_strides   as a_strides
/// @param c           where the elements go. It may be a if the strides are the same, or b; but between its first and its last
///                    element there may be none of them otherwise
/// @param c_strides   as a_strides; that of each dimension of more than 1 reaches over all elements along those with lesser
///                    strides
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE and OPTION and SHIFT_RANGE (what
///         parameters hold is not what was found), SHAPE (a size), PARAMETER (rank), STRIDE, TOO_LARGE, OVERLAP, UNSUPPORTED
///         (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// sizes, and the strides unless they are null, have rank values, all tensors reach as far as these say, and nobody else
/// writes to them or reads c during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_add_nd(
    context: *const ContextHandle,
    parameters: *const AddParameters,
    rank: i32,
    sizes: *const i64,
    a: *const c_void,
    a_strides: *const i64,
    b: *const c_void,
    b_strides: *const i64,
    c: *mut c_void,
    c_strides: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise.
        let grid = unsafe { grid(rank, sizes, [a_strides, b_strides, c_strides])? };
        // SAFETY: this function's own promise.
        unsafe { add(context, parameters, &grid, a, b, c) }
    })
}

/// # Safety
/// `sizes`, and the strides unless they are null, have `rank` values.
unsafe fn grid(rank: i32, sizes: *const i64, strides: [*const i64; 3]) -> Result<Grid, Error> {
    let rank = usize::try_from(rank).ok().filter(|&rank| rank <= MOST_DIMENSIONS).ok_or(Error::Parameter {
        argument: "rank",
        value: rank.into(),
        expected: "0 to 8",
    })?;
    // SAFETY: this function's own promise.
    let values = |argument, data: *const i64| -> Result<&[i64], Error> {
        if rank > 0 {
            check_pointer(argument, data)?;
        }
        // SAFETY: this function's own promise.
        unsafe { slice(data, rank) }.ok_or(Error::TooLarge { argument })
    };
    let mut dimensions = [Dimension::default(); MOST_DIMENSIONS];
    let dimensions = &mut dimensions[..rank];
    for (dimension, &value) in dimensions.iter_mut().zip(values("sizes", sizes)?) {
        dimension.size = size("sizes", value)?;
    }
    for (tensor, argument) in ["a_strides", "b_strides", "c_strides"].into_iter().enumerate() {
        if strides[tensor].is_null() {
            let mut step: usize = 1;
            for dimension in dimensions.iter_mut().rev() {
                dimension.steps[tensor] = step;
                step = step.saturating_mul(dimension.size.max(1));
            }
            continue;
        }
        for (dimension, &value) in dimensions.iter_mut().zip(values(argument, strides[tensor])?) {
            dimension.steps[tensor] =
                usize::try_from(value).map_err(|_| Error::Stride { argument, value, least: 0 })?;
        }
    }
    Grid::new(dimensions)
}

/// # Safety
/// All tensors reach as far as the grid says, and nobody else writes to them or reads `c`.
unsafe fn add(
    context: *const ContextHandle,
    parameters: *const AddParameters,
    grid: &Grid,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
) -> Result<(), Failure> {
    check_pointer("parameters", parameters)?;
    // SAFETY: neither null nor misaligned.
    let add = unsafe { parameters.read() }.add().within("parameters")?;
    // SAFETY: this function's own promise, for each.
    unsafe {
        match add.element {
            Element::U8 => add_as::<u8>(context, &add, grid, a, b, c),
            Element::I8 => add_as::<i8>(context, &add, grid, a, b, c),
            _ => add_as::<i16>(context, &add, grid, a, b, c),
        }
    }
}

/// # Safety
/// As for `add`; the elements are of type `T`.
unsafe fn add_as<T: Code>(
    context: *const ContextHandle,
    add: &Add,
    grid: &Grid,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
) -> Result<(), Failure> {
    grid.len().ok_or(Error::TooLarge { argument: "c" })?;
    let place = |argument, data: *const c_void, tensor| {
        let extent = grid.extent(tensor).ok_or(Error::TooLarge { argument })?;
        Place::<T>::new(argument, data.cast(), extent)
    };
    let (a, b, c) = (place("a", a, 0)?, place("b", b, 1)?, place("c", c, 2)?);
    c.check_apart(&a, grid.lies_as_the_result(0))?;
    c.check_apart(&b, grid.lies_as_the_result(1))?;
    // SAFETY: this function's own promise.
    let context = unsafe { CallContext::new(context)? };
    // SAFETY: this function's own promise.
    let tensors = unsafe { Tensors { a: a.read(), b: b.read(), to: c.write() } };
    add.run::<T>(&context, grid, &tensors);
    Ok(())
}

fn element(r#type: u32) -> Result<Element, Error> {
    match r#type {
        QGEMM_TYPE_U8 => Ok(Element::U8),
        QGEMM_TYPE_S8 => Ok(Element::I8),
        QGEMM_TYPE_S16 => Ok(Element::I16),
        value => Err(Error::Type { argument: "type", value, expected: "QGEMM_TYPE_U8, _S8 or _S16" }),
    }
}

/// The way of a mode, which there is for this type.
fn way(mode: u32, r#type: u32) -> Result<Way, Error> {
    match mode {
        QGEMM_ADD_TFLITE => Ok(Way::Tflite),
        QGEMM_ADD_TFLITE_SINGLE => Ok(Way::TfliteSingle),
        QGEMM_ADD_XNNPACK | QGEMM_ADD_QNNPACK if r#type == QGEMM_TYPE_S16 => {
            let expected = "QGEMM_TYPE_U8 or _S8 in this mode";
            Err(Error::Type { argument: "type", value: r#type, expected })
        }
        QGEMM_ADD_XNNPACK => Ok(Way::Xnnpack),
        QGEMM_ADD_QNNPACK => Ok(Way::Qnnpack),
        QGEMM_ADD_F32 => Ok(Way::F32),
        value => Err(Error::Option { argument: "mode", value }),
    }
}

impl AddOptions {
    fn sum(&self) -> Result<Sum, Error> {
        let element = element(self.r#type)?;
        let way = way(self.mode, self.r#type)?;
        if self.flags & !QGEMM_ADD_SUBTRACT != 0 {
            return Err(Error::Option { argument: "flags", value: self.flags });
        }
        if self.reserved != 0 {
            return Err(Error::Reserved { argument: "reserved" });
        }
        let (least, greatest) = match (self.c_least, self.c_greatest, element) {
            (0, 0, Element::U8) => (u8::LEAST, u8::GREATEST),
            (0, 0, Element::I8) => (i8::LEAST, i8::GREATEST),
            (0, 0, _) => (i16::LEAST, i16::GREATEST),
            (least, greatest, _) => (least, greatest),
        };
        let tensors = [
            Scaled { scale: self.a_scale, zero_point: self.a_zero_point },
            Scaled { scale: self.b_scale, zero_point: self.b_zero_point },
            Scaled { scale: self.c_scale, zero_point: self.c_zero_point },
        ];
        Ok(Sum { way, element, tensors, subtract: self.flags & QGEMM_ADD_SUBTRACT != 0, least, greatest })
    }
}

impl AddParameters {
    /// Whatever they hold, so that nothing worse than wrong sums comes of it.
    /// With a sum of the other parameters above the form, if there is one.
    fn sealed(self) -> Self {
        let Self { r#type, mode, zero_points, multipliers, shifts, least, greatest, form } = self;
        let others = [zero_points, multipliers, shifts].into_iter().flatten().chain([least, greatest]);
        let sum = others.fold(r#type ^ mode << 16, |sum, x| {
            // FNV-1a, of words, and turned, so that high bits count for low ones.
            (sum ^ x as u32).wrapping_mul(16777619).rotate_left(13)
        });
        Self { form: if form & FORM == 0 { 0 } else { form & FORM | sum & !FORM }, ..self }
    }

    fn add(&self) -> Result<Add, Error> {
        let element = element(self.r#type)?;
        let way = way(self.mode, self.r#type)?;
        let &Self { zero_points, multipliers, shifts, least, greatest, form, .. } = self;
        let form = if self.sealed() == *self { form & FORM } else { 0 };
        for shift in shifts {
            if !(0..=31).contains(&shift) {
                return Err(Error::Shift { argument: "shifts", value: shift.into() });
            }
        }
        Ok(Add { way, element, zero_points, multipliers, shifts, least, greatest, form })
    }
}
