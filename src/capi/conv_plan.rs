//! What a convolution is: a filter, and where it lies on images.

use super::matrix::{check_pointer, encoding, size};
use super::packed::check_bytes;
use super::versioned::{self, Versioned};
use super::{Failure, Status, Within, guard};
use crate::conv::{Axis, Filter, Images, Plan, SAVED_LEN};
use crate::error::Error;
use crate::matrix::Encoding;
use std::ffi::c_void;

/// How many bytes a saved plan has.
pub const QGEMM_CONV_PLAN_SIZE: usize = 148;
const _: () = assert!(QGEMM_CONV_PLAN_SIZE == SAVED_LEN);

/// A filter and how it moves over images: all that packed weights depend on. Begin with QGEMM_CONV_DESC_INIT, and set
/// channels, types and what is to be different.
///
/// The filter lies on filter_height x filter_width pixels, dilation_height and dilation_width pixels apart. It begins pad_top
/// pixels above an image and pad_left to the left of it, moves by stride_height and stride_width, and ends no more than
/// pad_bottom below it and pad_right to the right. A result has, for n pixels of height (and likewise of width),
///
///     (n + pad_top + pad_bottom - dilation_height * (filter_height - 1) - 1) / stride_height + 1
///
/// pixels, rounded down; none, if the filter is longer than the image with its padding. Padding may be wider than the filter:
/// then there are results that only the padding contributes to, which is nothing. With groups, the channels of an image and of
/// the result are cut into so many parts: those of the result's first part are sums over the image's first part, and so on.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ConvDesc {
    /// sizeof(qgemm_conv_desc).
    pub struct_size: usize,
    /// Channels of an image, at least 0.
    pub input_channels: i64,
    /// Channels of the result, at least 0.
    pub output_channels: i64,
    /// Rows of the filter; 0 for 1.
    pub filter_height: i64,
    /// Columns of the filter; 0 for 1.
    pub filter_width: i64,
    /// Rows of pixels from one position of the filter to the next; 0 for 1.
    pub stride_height: i64,
    /// Columns of pixels from one position of the filter to the next; 0 for 1.
    pub stride_width: i64,
    /// Rows of pixels from one row of the filter to the next; 0 for 1.
    pub dilation_height: i64,
    /// Columns of pixels from one column of the filter to the next; 0 for 1.
    pub dilation_width: i64,
    /// Rows of padding above an image, at least 0.
    pub pad_top: i64,
    /// Columns of padding to the left of an image, at least 0.
    pub pad_left: i64,
    /// Rows of padding below an image, at least 0.
    pub pad_bottom: i64,
    /// Columns of padding to the right of an image, at least 0.
    pub pad_right: i64,
    /// Groups of channels, a divisor of input_channels and of output_channels; 0 for 1. As many as input_channels make the
    /// convolution depthwise: channel c of an image is what the channels c * multiplier to c * multiplier + multiplier - 1 of the
    /// result are sums over, where multiplier is output_channels / input_channels.
    pub groups: i64,
    /// Type of an image's elements: QGEMM_TYPE_U8 or QGEMM_TYPE_S8.
    pub input_type: u32,
    /// Type of the weights: QGEMM_TYPE_U8 or QGEMM_TYPE_S8.
    pub weights_type: u32,
}

// SAFETY: repr(C), the size first, then integers.
unsafe impl Versioned for ConvDesc {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// How many images are convolved together, and how large they are. Begin with QGEMM_CONV_IMAGES_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ConvImages {
    /// sizeof(qgemm_conv_images).
    pub struct_size: usize,
    /// How many images, at least 0.
    pub batch: i64,
    /// Rows of pixels of each, at least 0.
    pub height: i64,
    /// Columns of pixels of each, at least 0.
    pub width: i64,
}

// SAFETY: repr(C), the size first, then integers.
unsafe impl Versioned for ConvImages {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Where a filter lies on images of one size: made by qgemm_conv_plan_create() or qgemm_conv_plan_load(), freed by
/// qgemm_conv_plan_free().
///
/// It knows neither images nor weights, and never changes: any number of threads may use it at once, for any images of its
/// size, with any weights of its filter.
pub struct ConvPlanHandle(Plan);

/// Makes a plan of a convolution.
///
/// @param desc    the filter
/// @param images  how many images, and how large. There may be none, or the filter may be larger than they are: then the result
///                has no elements
/// @param plan    receives the plan
/// @return QGEMM_STATUS_OK, or why plan was not written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, SHAPE (a number is negative), TYPE,
///         PARAMETER (groups), TOO_LARGE (there are more pixels, with padding, in a row or a column than 2^31 - 1, or more elements
///         of images, weights or results than addresses), OUT_OF_MEMORY; details in qgemm_last_error()
///
/// # Safety
/// The structs have as many bytes as they say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_plan_create(
    desc: *const ConvDesc,
    images: *const ConvImages,
    plan: *mut *mut ConvPlanHandle,
) -> Status {
    guard(|| {
        check_pointer("plan", plan)?;
        // SAFETY: this function's own promise.
        let (filter, images) = unsafe { (filter(desc)?, versioned::read("images", images)?) };
        let made = Plan::new(filter, images.sizes().within("images")?)?;
        // SAFETY: neither null nor misaligned.
        unsafe { plan.write(Box::into_raw(Box::new(ConvPlanHandle(made)))) };
        Ok(())
    })
}

/// Frees a plan.
///
/// @param plan  what qgemm_conv_plan_create() or qgemm_conv_plan_load() made, or NULL, which does nothing
///
/// # Safety
/// No call that was given it is under way, and none is given it again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_plan_free(plan: *mut ConvPlanHandle) {
    guard(|| {
        if !plan.is_null() {
            // SAFETY: it was made by `Box::into_raw`, and nobody uses it any more.
            drop(unsafe { Box::from_raw(plan) });
        }
        Ok(())
    });
}

/// How large the images are that a convolution gives.
///
/// @param plan    the plan
/// @param height  receives the rows of pixels
/// @param width   receives the columns of pixels
/// @return QGEMM_STATUS_OK, or why neither was written: NULL_POINTER, ALIGNMENT; details in qgemm_last_error()
///
/// # Safety
/// plan was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_output_size(
    plan: *const ConvPlanHandle,
    height: *mut i64,
    width: *mut i64,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise.
        let [rows, cols] = unsafe { plan_of(plan)? }.results().size;
        check_pointer("height", height)?;
        check_pointer("width", width)?;
        // SAFETY: neither null nor misaligned.
        unsafe { height.write(rows as i64) };
        // SAFETY: as above.
        unsafe { width.write(cols as i64) };
        Ok(())
    })
}

/// Writes a plan as QGEMM_CONV_PLAN_SIZE bytes, the same on all machines, for qgemm_conv_plan_load().
///
/// @param plan   the plan
/// @param bytes  where to write it, at any address
/// @param size   how many bytes there are, at least QGEMM_CONV_PLAN_SIZE; no more than that are written
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, TOO_LARGE, WORKSPACE (size is too small); details in
///         qgemm_last_error()
///
/// # Safety
/// plan was not freed, and nobody else uses the bytes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_plan_save(plan: *const ConvPlanHandle, bytes: *mut c_void, size: usize) -> Status {
    guard(|| {
        // SAFETY: this function's own promise.
        let saved = unsafe { plan_of(plan)? }.save();
        let bytes = check_bytes("bytes", bytes.cast(), size)?;
        if size < saved.len() {
            return Err(Error::Room { argument: "size", size, least: saved.len() }.into());
        }
        // SAFETY: this function's own promise.
        unsafe { bytes.cast().write_unaligned(saved) };
        Ok(())
    })
}

/// Makes a plan of what qgemm_conv_plan_save() wrote, in this process or another. The bytes need not be trusted, and are not
/// needed any more after the call.
///
/// @param bytes  a saved plan, at any address
/// @param size   how many bytes it has: no fewer, and no more
/// @param plan   receives the plan
/// @return QGEMM_STATUS_OK, or why plan was not written: NULL_POINTER, ALIGNMENT (of plan), TOO_LARGE, PACKED_DAMAGED (the bytes
///         are not what was saved, or of another version), OUT_OF_MEMORY; details in qgemm_last_error()
///
/// # Safety
/// The bytes can be read, and nobody writes to them during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_plan_load(
    bytes: *const c_void,
    size: usize,
    plan: *mut *mut ConvPlanHandle,
) -> Status {
    guard(|| {
        check_pointer("plan", plan)?;
        let bytes = check_bytes("bytes", bytes.cast_mut().cast(), size)?;
        // SAFETY: this function's own promise.
        let made = Plan::load(unsafe { std::slice::from_raw_parts(bytes.as_ptr(), size) })?;
        // SAFETY: neither null nor misaligned.
        unsafe { plan.write(Box::into_raw(Box::new(ConvPlanHandle(made)))) };
        Ok(())
    })
}

/// # Safety
/// `plan` is null, or was made here, and nobody frees it for `'a`.
pub(super) unsafe fn plan_of<'a>(plan: *const ConvPlanHandle) -> Result<&'a Plan, Error> {
    // SAFETY: this function's own promise.
    let plan = unsafe { plan.as_ref() };
    plan.map(|plan| &plan.0).ok_or(Error::Missing { argument: "plan" })
}

/// # Safety
/// `desc` is null or has as many bytes as it says.
pub(super) unsafe fn filter(desc: *const ConvDesc) -> Result<Filter, Failure> {
    // SAFETY: this function's own promise.
    let desc = unsafe { versioned::read("desc", desc)? };
    let filter = desc.filter().within("desc")?;
    filter.check().within("desc")?;
    Ok(filter)
}

impl ConvDesc {
    fn filter(&self) -> Result<Filter, Error> {
        let vertical = axis([
            ("filter_height", self.filter_height),
            ("stride_height", self.stride_height),
            ("dilation_height", self.dilation_height),
            ("pad_top", self.pad_top),
            ("pad_bottom", self.pad_bottom),
        ])?;
        let horizontal = axis([
            ("filter_width", self.filter_width),
            ("stride_width", self.stride_width),
            ("dilation_width", self.dilation_width),
            ("pad_left", self.pad_left),
            ("pad_right", self.pad_right),
        ])?;
        Ok(Filter {
            axes: [vertical, horizontal],
            channels: [size("input_channels", self.input_channels)?, size("output_channels", self.output_channels)?],
            groups: size("groups", self.groups)?.max(1),
            encodings: [type_of("input_type", self.input_type)?, type_of("weights_type", self.weights_type)?],
        })
    }
}

/// Taps, stride, dilation and padding, by name.
fn axis(named: [(&'static str, i64); 5]) -> Result<Axis, Error> {
    let mut sizes = [0; 5];
    for (to, (argument, value)) in sizes.iter_mut().zip(named) {
        *to = size(argument, value)?;
    }
    let [taps, stride, dilation, before, after] = sizes;
    Ok(Axis { taps: taps.max(1), stride: stride.max(1), dilation: dilation.max(1), padding: [before, after] })
}

impl ConvImages {
    fn sizes(&self) -> Result<Images, Error> {
        Ok(Images {
            count: size("batch", self.batch)?,
            size: [size("height", self.height)?, size("width", self.width)?],
        })
    }
}

fn type_of(argument: &'static str, r#type: u32) -> Result<Encoding, Error> {
    let expected = "QGEMM_TYPE_U8 or QGEMM_TYPE_S8";
    encoding(r#type).map_err(|_| Error::Type { argument, value: r#type, expected })
}
