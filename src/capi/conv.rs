//! Convolution: packing weights, and running.

use super::context::{CallContext, ContextHandle};
use super::conv_plan::{ConvDesc, ConvPlanHandle, filter, plan_of};
use super::gemm::{Call, GemmOptions, agree};
use super::matrix::{
    Frame, Major, QGEMM_TYPE_S8, QGEMM_TYPE_U8, QGEMM_UNIFORM, RawOperand, RawResult, check_pointer, major, size,
};
use super::packed::{PackOptions, PackedHandle, QGEMM_RHS, Request};
use super::pipeline::Stages;
use super::stage::RawStage;
use super::verbose::{self, Words};
use super::versioned;
use super::{Failure, Status, Within, guard};
use crate::conv::{Conv, Filter, Plan};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset, bytes_of};
use crate::output::Finish;
use crate::packed::{Packing, Purpose, ResultOrder, Side};
use crate::source::Factor;
use std::mem::MaybeUninit;

/// How much memory packed weights take at most: for callers who bring their own, and to know before.
///
/// @param desc     as in qgemm_conv_pack()
/// @param weights  as in qgemm_conv_pack(); the elements are not read
/// @param options  as in qgemm_conv_pack(); memory and memory_size do not matter
/// @param size     receives the number of bytes
/// @return QGEMM_STATUS_OK, or why size was not written: as qgemm_conv_pack(); details in qgemm_last_error()
///
/// # Safety
/// As for qgemm_conv_pack().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_pack_size(
    desc: *const ConvDesc,
    weights: *const RawOperand,
    options: *const PackOptions,
    size: *mut usize,
) -> Status {
    guard(|| {
        check_pointer("size", size)?;
        // SAFETY: this function's own promise.
        let request = unsafe { request(desc, weights, options)? };
        let needed = request.size(Kernel::chosen()?)?;
        // SAFETY: neither null nor misaligned.
        unsafe { size.write(needed) };
        Ok(())
    })
}

/// Packs the weights of a convolution, for images of any number and size.
///
/// Weights are a matrix with a row for each product that is summed, filter_height * filter_width * (input_channels / groups), in
/// this order, the channels of a group last; and a column for each channel of the result. So weights with the output channel first
/// (OHWI: TFLite's convolution) are column-major, and those with the output channel last (HWIO: TensorFlow's; and 1HWC, TFLite's
/// depthwise convolution) are row-major. In the matrix rows, cols, type and stride may be 0, for what desc says.
///
/// What comes out is saved and loaded as every packed operand is, see qgemm_packed. As there, the offset is not packed, but
/// it may help to make the convolution faster to tell it here.
///
/// @param desc     the filter
/// @param weights  the weights, not packed; their offset uniform or QGEMM_PER_COL, a value for each channel of the result
/// @param options  how many bits an element takes, and where the packed weights are to be; its side 0 or QGEMM_RHS, its other_type 0
///                 or desc's input_type, without groups of elements. NULL for 8 bits, in memory of the library's
/// @param packed   receives the packed weights
/// @return QGEMM_STATUS_OK, or why neither packed nor memory was written: as qgemm_conv_plan_create() and qgemm_pack(); details in
///         qgemm_last_error()
///
/// # Safety
/// As for qgemm_pack().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_pack(
    desc: *const ConvDesc,
    weights: *const RawOperand,
    options: *const PackOptions,
    packed: *mut *mut PackedHandle,
) -> Status {
    guard(|| {
        check_pointer("packed", packed)?;
        // SAFETY: this function's own promise.
        let request = unsafe { request(desc, weights, options)? };
        // SAFETY: as above.
        let made = unsafe { request.pack()? };
        // SAFETY: neither null nor misaligned.
        unsafe { packed.write(made) };
        Ok(())
    })
}

/// Convolves images and passes every sum through a pipeline of stages.
///
///     sum(p,o)    = sum over taps t and channels c of (pixel(p,t)[c] + image_offset) * (weight(t,c,o) + weights_offset(o))
///     result(p,o) = the last stage of ... of the first stage of sum(p,o)
///
/// where pixel(p,t) is the pixel under the tap t where the filter is at its position p, and a tap beside an image adds nothing:
/// the zero point, minus image_offset, lies there. If any tap is, the zero point has to be a number of the image's type.
///
/// An image is a matrix with a row for each pixel, image by image, row by row (NHWC), and a column for each channel; the result
/// too. Their stride goes from one pixel to the next, so it may skip channels. Stages and results are those of qgemm_gemm(), a
/// column being a channel of the result: scales, biases and the like for each channel have the axis QGEMM_PER_COL, and a residual is
/// a tensor of the result's shape. Sums wrap around at 32 bits, and the bytes of the result do not depend on the kernel or the
/// number of threads, as there; flags and workspace mean what they do there.
///
/// In the matrices rows, cols, type and stride may be 0, for what the plan says; but the result has to have a type.
///
/// @param context      as in qgemm_gemm()
/// @param plan         the filter and the size of images
/// @param image        the images, row-major; their offset uniform
/// @param weights      the weights, packed by qgemm_conv_pack(), or as they would be given to it; their offset uniform or
///                     QGEMM_PER_COL
/// @param result       where the result goes, row-major
/// @param stages       as in qgemm_gemm()
/// @param stage_count  as in qgemm_gemm()
/// @param options      as in qgemm_gemm(), without a bit_depth; NULL for none
/// @return QGEMM_STATUS_OK, or why nothing was written: as qgemm_gemm(); PARAMETER (there is padding, and the image's zero point is
///         no number of its type), OPTION (a matrix is column-major, a bit_depth, or weights that were packed with groups);
///         details in qgemm_last_error()
///
/// # Safety
/// As for qgemm_gemm(); plan was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_run(
    context: *const ContextHandle,
    plan: *const ConvPlanHandle,
    image: *const RawOperand,
    weights: *const RawOperand,
    result: *const RawResult,
    stages: *const RawStage,
    stage_count: usize,
    options: *const GemmOptions,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let options = run_options(options)?;
            let (plan, mut call) = (plan_of(plan)?, Call::new(["image", "weights"]));
            call.read_conv(plan, image, weights, result)?;
            let conv = call.conv(plan)?;
            let mut pipeline = Stages::new(call.sums());
            pipeline.read(stages, stage_count, &call.frame)?;
            let store = call.store(pipeline.gives)?;
            call.check_overlap(&store, &pipeline.stages)?;
            call.check_numbers(options.flags, || conv.bound())?;
            let finish = Finish::new(&pipeline.stages, store);
            let context = CallContext::new(context)?;
            let workspace = options.workspace()?;
            if let Some(workspace) = &workspace {
                call.check_apart(&bytes_of(workspace), &finish)?;
            }
            let words = || Words { function: "conv", lhs: conv.lhs(0), ..call.words(pipeline.names()) };
            verbose::told(words, &context, || conv.run(&context, &finish, workspace))?;
            Ok(())
        }
    })
}

/// How much memory a convolution needs to work in: for callers who bring their own. As qgemm_gemm_workspace_size().
///
/// @param context  as in qgemm_conv_run()
/// @param plan     as in qgemm_conv_run()
/// @param image    as in qgemm_conv_run(); the elements are not read
/// @param weights  as in qgemm_conv_run(); the elements are not read
/// @param result   as in qgemm_conv_run(); nothing is written
/// @param size     receives the number of bytes
/// @return QGEMM_STATUS_OK, or why size was not written; details in qgemm_last_error()
///
/// # Safety
/// As for qgemm_conv_run().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_workspace_size(
    context: *const ContextHandle,
    plan: *const ConvPlanHandle,
    image: *const RawOperand,
    weights: *const RawOperand,
    result: *const RawResult,
    size: *mut usize,
) -> Status {
    guard(|| {
        check_pointer("size", size)?;
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let (plan, mut call) = (plan_of(plan)?, Call::new(["image", "weights"]));
            call.read_conv(plan, image, weights, result)?;
            let needed = call.conv(plan)?.workspace_len(&*CallContext::new(context)?)?;
            size.write(needed);
            Ok(())
        }
    })
}

fn type_code(encoding: Encoding) -> u32 {
    match encoding {
        Encoding::U8 => QGEMM_TYPE_U8,
        Encoding::S8 => QGEMM_TYPE_S8,
    }
}

/// A dimension that may be 0 for what it has to be.
fn complete(argument: &'static str, value: &mut i64, other: &'static str, expected: usize) -> Result<(), Error> {
    match size(argument, *value)? {
        0 => *value = expected as i64,
        value => agree(argument, value, other, expected)?,
    }
    Ok(())
}

impl RawOperand {
    /// Puts in its shape and its type, which may be left out.
    fn complete(
        &mut self,
        (rows, why_rows): (usize, &'static str),
        (cols, why_cols): (usize, &'static str),
        encoding: Encoding,
    ) -> Result<(), Error> {
        complete("rows", &mut self.rows, why_rows, rows)?;
        complete("cols", &mut self.cols, why_cols, cols)?;
        if self.r#type == 0 {
            self.r#type = type_code(encoding);
        }
        if self.r#type != type_code(encoding) {
            let expected = "0 or the type that the convolution has there";
            return Err(Error::Type { argument: "type", value: self.r#type, expected });
        }
        Ok(())
    }
}

const ROWS_OF_WEIGHTS: &str = "filter_height * filter_width * (input_channels / groups)";

/// The weights, completed.
///
/// # Safety
/// `weights` is null or has as many bytes as it says.
#[inline(always)]
unsafe fn weights_of(filter: &Filter, depth: usize, weights: *const RawOperand) -> Result<RawOperand, Failure> {
    // SAFETY: this function's own promise.
    let mut raw = unsafe { *versioned::read_in("weights", weights, &mut MaybeUninit::uninit())? };
    let (rows, cols) = ((depth, ROWS_OF_WEIGHTS), (filter.channels[1], "output_channels"));
    raw.complete(rows, cols, filter.encodings[1]).within("weights")?;
    Ok(raw)
}

/// # Safety
/// As for `qgemm_conv_pack`; what is there to be read is unchanged as long as the request is used.
unsafe fn request<'a>(
    desc: *const ConvDesc,
    weights: *const RawOperand,
    options: *const PackOptions,
) -> Result<Request<'a>, Failure> {
    // SAFETY: this function's own promise, for all that follows.
    unsafe {
        let filter = filter(desc)?;
        let depth = filter.depth().ok_or(Error::TooLarge { argument: "weights" })?;
        let raw = weights_of(&filter, depth, weights)?;
        let options = PackOptions::for_weights(&filter, options)?;
        if !raw.packed.is_null() {
            return Err(Error::Given { argument: "packed" }).within("weights");
        }
        let operand = raw.view(Side::Rhs).within("weights")?;
        raw.range(operand.encoding).within("weights")?;
        let offset = raw.offset(Side::Rhs, operand.lines).within("weights")?;
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: filter.encodings[0] };
        let bits = options.bits().within("options")?;
        let are_patches = filter.takes_patches();
        Ok(Request { operand, packing: Packing { offset, purpose, bits, segments: None, are_patches }, options })
    }
}

impl PackOptions {
    /// What may be told of weights, with all that is known without it.
    ///
    /// # Safety
    /// `options` is null or has as many bytes as it says.
    unsafe fn for_weights(filter: &Filter, options: *const PackOptions) -> Result<Self, Failure> {
        let expected = type_code(filter.encodings[0]);
        if options.is_null() {
            // SAFETY: it is made of integers and pointers.
            let none: Self = unsafe { std::mem::zeroed() };
            return Ok(none);
        }
        // SAFETY: this function's own promise.
        let read = unsafe { versioned::read("options", options)? };
        let problem = match read {
            Self { side, .. } if ![0, QGEMM_RHS].contains(&side) => Error::Option { argument: "side", value: side },
            Self { result_order: value @ 1.., .. } => Error::Option { argument: "result_order", value },
            Self { other_type: value, .. } if ![0, expected].contains(&value) => {
                Error::Type { argument: "other_type", value, expected: "0 or desc's input_type" }
            }
            Self { group_size: 1.., .. } => Error::Option { argument: "group_size", value: read.group_size as u32 },
            Self { scales, .. } if !scales.is_null() => Error::Given { argument: "scales" },
            Self { zero_points, .. } if !zero_points.is_null() => Error::Given { argument: "zero_points" },
            _ => return Ok(read),
        };
        Err(problem).within("options")
    }
}

/// # Safety
/// `options` is null or has as many bytes as it says.
pub(super) unsafe fn run_options(options: *const GemmOptions) -> Result<GemmOptions, Failure> {
    let (mut read, mut depths) = (GemmOptions::NONE, None);
    // SAFETY: this function's own promise.
    unsafe { read.read(options, &mut depths)? };
    match depths {
        None => Ok(read),
        Some(_) => Err(Error::Given { argument: "bit_depth" }).within("options"),
    }
}

impl<'a> Call<'a> {
    /// Fills it in where it is, as [`Call::read`] does.
    ///
    /// # Safety
    /// As for `qgemm_conv_run`.
    pub(super) unsafe fn read_conv(
        &mut self,
        plan: &Plan,
        image: *const RawOperand,
        weights: *const RawOperand,
        result: *const RawResult,
    ) -> Result<(), Failure> {
        let filter = plan.filter();
        // Plans have as many pixels as can be counted.
        let pixels = plan.images().pixels().ok_or(Error::Internal)?;
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let mut image = *versioned::read_in("image", image, &mut MaybeUninit::uninit())?;
            let (rows, cols) = ((pixels, "batch * height * width"), (filter.channels[0], "input_channels"));
            image.complete(rows, cols, filter.encodings[0]).within("image")?;
            if !image.packed.is_null() {
                return Err(Error::Given { argument: "packed" }).within("image");
            }
            check_row_major(image.order).within("image")?;
            image.factor(Side::Lhs, &mut self.lhs).within("image")?;
            if image.offset.axis != QGEMM_UNIFORM {
                return Err(Error::Option { argument: "offset.axis", value: image.offset.axis }).within("image");
            }
            weights_of(filter, plan.depth(), weights)?.factor(Side::Rhs, &mut self.rhs).within("weights")?;
            self.result = *versioned::read_in("result", result, &mut MaybeUninit::uninit())?;
        }
        let Self { rhs, result, .. } = self;
        // What is packed may have another shape, where one of 0 was to be completed.
        agree("rows", rhs.depth(), ROWS_OF_WEIGHTS, plan.depth()).within("weights")?;
        agree("cols", rhs.lines(), "output_channels", filter.channels[1]).within("weights")?;
        if rhs.segment().is_some() {
            return Err(Error::ScaledTwice { other: "it cannot be convolved" }.into());
        }
        check_row_major(result.order).within("result")?;
        let what = "batch times the height and the width of the result";
        complete("rows", &mut result.rows, what, plan.positions()).within("result")?;
        complete("cols", &mut result.cols, "output_channels", filter.channels[1]).within("result")?;
        let (rows, cols) = result.shape().within("result")?;
        self.frame = Frame { rows, cols, major: Major::Row };
        Ok(())
    }

    /// The convolution of its matrices.
    #[inline(always)]
    fn conv(&'a self, plan: &'a Plan) -> Result<Conv<'a>, Failure> {
        conv(plan, &self.lhs, &self.rhs)
    }
}

/// The convolution of an image with weights.
#[inline(always)]
pub(super) fn conv<'a>(plan: &'a Plan, image: &Factor<'a>, weights: &'a Factor<'a>) -> Result<Conv<'a>, Failure> {
    let (Some(&pixels), Offset::Uniform(offset)) = (image.operand(), image.offset()) else {
        return Err(Error::Internal.into());
    };
    Conv::new(plan, pixels, (offset, image.promised()), weights).within("image")
}

fn check_row_major(order: u32) -> Result<(), Error> {
    match major("order", order)? {
        Major::Row => Ok(()),
        Major::Col => Err(Error::Option { argument: "order", value: order }),
    }
}
