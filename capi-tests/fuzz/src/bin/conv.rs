//! Convolutions with any descriptors. Whatever they say, the calls return, touch no memory but what they describe, and leave the
//! result as it was if they fail; if they succeed, sums are those that the header defines, and packed weights, a plan that was saved,
//! a prepared call, two threads and a workspace give the same bytes.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::{Block, number, options, reach, size_of_type, stage, tag, two_threads, values};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// In one convolution, at most: it is computed six times.
const MOST_MULTIPLICATIONS: i128 = 1 << 16;
/// A plan has an entry for each row and each column of a result, and packed weights for each channel: more take memory, and nothing
/// else happens.
const MOST_ENTRIES: i128 = 1 << 12;

/// Taps, stride, dilation, padding before and after, and pixels along one axis.
struct Axis([i64; 6]);

impl Axis {
    fn arbitrary(u: &mut Unstructured) -> Result<Self> {
        let taps = [1..=3, 0..=5];
        let ends = [0..=0, 0..=2, 0..=6];
        let sizes = [&taps[..], &[0..=3], &[0..=1, 0..=3], &ends, &ends, &[1..=12, 0..=40]];
        let mut axis = [0; 6];
        for (to, usual) in axis.iter_mut().zip(sizes) {
            *to = number(u, usual)?.into();
        }
        Ok(Self(axis))
    }

    /// Positions of the filter, if there can be any.
    fn positions(&self) -> i128 {
        let [taps, stride, dilation, before, after, pixels] = self.0.map(i128::from);
        let room = pixels + before + after - dilation.max(1) * (taps.max(1) - 1);
        if room > 0 { (room - 1) / stride.max(1) + 1 } else { 0 }
    }

    /// The pixel under a tap where the filter is at a position. None beside the image.
    fn pixel(&self, position: i64, tap: i64) -> Option<i64> {
        let [_, stride, dilation, before, _, pixels] = self.0;
        let at = position * stride.max(1) + tap * dilation.max(1) - before;
        (0..pixels).contains(&at).then_some(at)
    }

    fn taps(&self) -> i64 {
        self.0[0].max(1)
    }
}

struct Call {
    axes: [Axis; 2],
    desc: ConvDesc,
    images: ConvImages,
    image: RawOperand,
    weights: RawOperand,
    result: RawResult,
    target: Block,
    stages: Vec<RawStage>,
    flags: u32,
    /// Kept for the pointers into them.
    _blocks: Vec<Block>,
}

/// A dimension that may be left out, or wrong.
fn dimension(u: &mut Unstructured, value: i64) -> Result<i64> {
    Ok(match u.int_in_range(0..=50)? {
        0..=24 => 0,
        25 => value.saturating_add(1),
        26 => value.saturating_sub(1),
        _ => value,
    })
}

/// An operand of this shape, most of the time.
fn operand(u: &mut Unstructured, blocks: &mut Vec<Block>, (rows, cols): (i64, i64), order: u32) -> Result<RawOperand> {
    let (stride, r#type) = (i64::from(number(u, &[0..=0, 0..=30])?), if u.ratio(1, 20)? { tag(u, 3)? } else { 0 });
    let order = if u.ratio(1, 50)? { tag(u, 2)? } else { order };
    let block = Block::new(u, reach(rows, cols, stride, order, 1))?;
    let data = block.pointer();
    blocks.push(block);
    let mut offset = values(u, blocks, 300)?;
    if u.ratio(2, 3)? {
        offset.axis = QGEMM_UNIFORM;
    }
    let (struct_size, packed) = (size_of::<RawOperand>(), null());
    let (rows, cols) = (dimension(u, rows)?, dimension(u, cols)?);
    Ok(RawOperand { struct_size, data, packed, rows, cols, stride, r#type, order, offset, least: 0, greatest: 0 })
}

impl Call {
    /// None if it would take long.
    fn arbitrary(u: &mut Unstructured) -> Result<Option<Self>> {
        let axes = [Axis::arbitrary(u)?, Axis::arbitrary(u)?];
        let parts = number(u, &[1..=4, 0..=24])?;
        let groups = if u.ratio(1, 2)? { parts } else { number(u, &[0..=1, 0..=3])? };
        let [of_input, of_output] = [number(u, &[1..=1, 0..=40])?, number(u, &[1..=3, 0..=40])?];
        let channels = |of_group: i32| i64::from(groups.max(1)) * i64::from(of_group);
        let (input_channels, output_channels) = (channels(of_input) + i64::from(u.ratio(1, 50)?), channels(of_output));
        let [input_type, weights_type] = [number(u, &[1..=2])? as u32, number(u, &[1..=2])? as u32];
        let [[filter_height, stride_height, dilation_height, pad_top, pad_bottom, height], horizontal] =
            [axes[0].0, axes[1].0];
        let [filter_width, stride_width, dilation_width, pad_left, pad_right, width] = horizontal;
        let desc = ConvDesc {
            struct_size: size_of::<ConvDesc>(),
            input_channels,
            output_channels,
            filter_height,
            filter_width,
            stride_height,
            stride_width,
            dilation_height,
            dilation_width,
            pad_top,
            pad_left,
            pad_bottom,
            pad_right,
            groups: groups.into(),
            input_type,
            weights_type,
        };
        let batch = number(u, &[1..=1, 0..=3])?.into();
        let images = ConvImages { struct_size: size_of::<ConvImages>(), batch, height, width };

        let [rows, cols] = [axes[0].positions(), axes[1].positions()];
        let depth = [axes[0].taps(), axes[1].taps(), input_channels / i64::from(groups).max(1)];
        let depth: i128 = depth.map(|size| i128::from(size.max(0))).iter().product();
        let results =
            i128::from(batch).max(0).saturating_mul(rows * cols).saturating_mul(output_channels.max(0).into());
        let entries = rows.max(cols).max(output_channels.into());
        if entries > MOST_ENTRIES || results.max(1).saturating_mul(depth) > MOST_MULTIPLICATIONS {
            return Ok(None);
        }
        let pixels = i64::try_from([batch, height, width].map(i128::from).iter().product::<i128>());
        let (Ok(pixels), Ok(depth)) = (pixels, i64::try_from(depth)) else { return Ok(None) };

        let mut blocks = Vec::new();
        let image = operand(u, &mut blocks, (pixels, input_channels), QGEMM_ROW_MAJOR)?;
        let order = tag(u, 1)?;
        let weights = operand(u, &mut blocks, (depth, output_channels), order)?;
        let shape = (rows * cols) as i64 * batch;
        let is_plain = u.ratio(1, 3)?;
        let count = if is_plain { 0 } else { u.int_in_range(0..=4)? };
        let stages = (0..count).map(|_| stage(u, &mut blocks, (shape, output_channels))).collect::<Result<_>>()?;
        let r#type = if is_plain { QGEMM_TYPE_S32 } else { tag(u, 7)? };
        let order = if u.ratio(1, 50)? { tag(u, 2)? } else { QGEMM_ROW_MAJOR };
        let stride = number(u, &[0..=0, 0..=50])?.into();
        let target = Block::new(u, reach(shape, output_channels, stride, order, size_of_type(r#type)))?;
        let (rows, cols) = (dimension(u, shape)?, dimension(u, output_channels)?);
        let data = null_mut();
        let result = RawResult { struct_size: size_of::<RawResult>(), data, rows, cols, stride, r#type, order };
        let flags = number(u, &[0..=3])? as u32;
        Ok(Some(Self { axes, desc, images, image, weights, result, target, stages, flags, _blocks: blocks }))
    }

    /// Convolves into a result that begins as the target, and gives what became of it.
    fn run(
        &self,
        context: *const ContextHandle,
        plan: &Plan,
        weights: &RawOperand,
        how: &GemmOptions,
    ) -> (Status, Block) {
        let after = self.target.clone();
        let result = RawResult { data: after.pointer::<c_void>().cast_mut(), ..self.result };
        let (stages, count) = (self.stages.as_ptr(), self.stages.len());
        // SAFETY: every pointer is null or points at as much as its descriptor says.
        let status = unsafe { qgemm_conv_run(context, plan.0, &self.image, weights, &result, stages, count, how) };
        (status, after)
    }

    /// The same, prepared before.
    fn run_prepared(&self, plan: &Plan, weights: &RawOperand, how: &GemmOptions) -> (Status, Block) {
        let after = self.target.clone();
        let (stages, count, mut prepared) = (self.stages.as_ptr(), self.stages.len(), null_mut());
        // SAFETY: as for `run`, and all of it stays.
        let mut status = unsafe {
            let (image, result) = (&self.image, &self.result);
            qgemm_conv_prepare(null(), plan.0, image, weights, result, stages, count, how, &mut prepared)
        };
        if status == Status::Ok {
            // SAFETY: as above.
            status = unsafe { qgemm_prepared_run(prepared, null(), null(), after.pointer::<c_void>().cast_mut()) };
        }
        // SAFETY: it is null, or not used any more.
        unsafe { qgemm_prepared_free(prepared) };
        (status, after)
    }

    /// Fails unless these are the sums that the header defines.
    fn check_sums(&self, result: &Block) {
        let Some(result) = &result.0 else { return };
        let ConvDesc { output_channels, groups, input_channels, .. } = self.desc;
        let [rows, cols] = [self.axes[0].positions() as i64, self.axes[1].positions() as i64];
        let of_group = output_channels / groups.max(1);
        let stride = if self.result.stride == 0 { output_channels } else { self.result.stride };
        for position in 0..self.images.batch * rows * cols {
            let (image, y, x) = (position / (rows * cols), position / cols % rows, position % cols);
            for channel in 0..output_channels {
                let first = channel / of_group * (input_channels / groups.max(1));
                let sum = self.sum(image, (y, x), first, channel);
                let at = 4 * (position * stride + channel) as usize;
                let found = i32::from_ne_bytes(result[at..at + 4].try_into().unwrap());
                assert_eq!(found, sum, "channel {channel} of image {image} at {y}, {x}");
            }
        }
    }

    fn sum(&self, image: i64, (y, x): (i64, i64), first_channel: i64, channel: i64) -> i32 {
        let ConvDesc { input_channels, output_channels, groups, .. } = self.desc;
        let ConvImages { height, width, .. } = self.images;
        let (depth, [vertical, horizontal]) = (input_channels / groups.max(1), &self.axes);
        let rows = vertical.taps() * horizontal.taps() * depth;
        let pitch = if self.image.stride == 0 || self.images.batch * height * width == 1 {
            input_channels
        } else {
            self.image.stride
        };
        let mut sum = 0_i32;
        for (ty, tx) in (0..vertical.taps()).flat_map(|ty| (0..horizontal.taps()).map(move |tx| (ty, tx))) {
            let (Some(py), Some(px)) = (vertical.pixel(y, ty), horizontal.pixel(x, tx)) else { continue };
            for c in 0..depth {
                let pixel = (image * height + py) * width + px;
                let a = byte(&self.image, self.desc.input_type, pixel * pitch + first_channel + c);
                let row = (ty * horizontal.taps() + tx) * depth + c;
                let (run, index, len, runs) = match self.weights.order {
                    QGEMM_ROW_MAJOR => (row, channel, output_channels, rows),
                    _ => (channel, row, rows, output_channels),
                };
                let stride = if self.weights.stride == 0 || runs == 1 { len } else { self.weights.stride };
                let b = byte(&self.weights, self.desc.weights_type, run * stride + index);
                let a = a.wrapping_add(offset(&self.image, channel));
                sum = sum.wrapping_add(a.wrapping_mul(b.wrapping_add(offset(&self.weights, channel))));
            }
        }
        sum
    }
}

/// An element of an operand that a call has taken.
fn byte(operand: &RawOperand, r#type: u32, at: i64) -> i32 {
    // SAFETY: the block has as many as the operand says.
    let byte = unsafe { *operand.data.cast::<u8>().offset(at as isize) };
    if r#type == QGEMM_TYPE_U8 { byte.into() } else { byte.cast_signed().into() }
}

fn offset(operand: &RawOperand, channel: i64) -> i32 {
    match operand.offset.axis {
        QGEMM_UNIFORM => operand.offset.value,
        // SAFETY: one for each channel.
        _ => unsafe { *operand.offset.data.offset(channel as isize) },
    }
}

struct Plan(*mut ConvPlanHandle);

impl Plan {
    fn new(desc: &ConvDesc, images: &ConvImages) -> Option<Self> {
        let mut plan = null_mut();
        // SAFETY: all point at what they should.
        let status = unsafe { qgemm_conv_plan_create(desc, images, &mut plan) };
        assert_ne!(status, Status::Internal);
        assert_eq!(plan.is_null(), status != Status::Ok);
        (status == Status::Ok).then_some(Self(plan))
    }

    /// Saved and loaded.
    fn copied(&self) -> Self {
        let (mut bytes, mut plan) = ([0_u8; QGEMM_CONV_PLAN_SIZE], null_mut());
        let saved: *mut c_void = bytes.as_mut_ptr().cast();
        // SAFETY: there are so many bytes.
        unsafe {
            assert_eq!(qgemm_conv_plan_save(self.0, saved, bytes.len()), Status::Ok);
            assert_eq!(qgemm_conv_plan_load(saved, bytes.len(), &mut plan), Status::Ok);
        }
        Self(plan)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: made by `qgemm_conv_plan_create`.
        unsafe { qgemm_conv_plan_free(self.0) }
    }
}

struct Packed(*mut PackedHandle);

impl Packed {
    fn new(desc: &ConvDesc, weights: &RawOperand) -> (Status, Self) {
        let mut packed = null_mut();
        // SAFETY: every pointer is null or points at as much as its descriptor says.
        let status = unsafe { qgemm_conv_pack(desc, weights, null(), &mut packed) };
        assert_ne!(status, Status::Internal);
        assert_eq!(packed.is_null(), status != Status::Ok);
        (status, Self(packed))
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        // SAFETY: it is null, or made by `qgemm_conv_pack`.
        unsafe { qgemm_packed_free(self.0) }
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(Some(call)) = Call::arbitrary(&mut Unstructured::new(bytes)) else { return Corpus::Reject };
    let (is_packed, packed) = Packed::new(&call.desc, &call.weights);
    let Some(plan) = Plan::new(&call.desc, &call.images) else { return Corpus::Keep };
    let how = options(call.flags);
    let (status, alone) = call.run(null(), &plan, &call.weights, &how);
    assert_ne!(status, Status::Internal);
    let (prepared_status, prepared) = call.run_prepared(&plan, &call.weights, &how);
    if status != Status::Ok {
        assert_eq!(alone.0, call.target.0, "{status:?} has changed the result");
        assert!(![Status::Ok, Status::Internal].contains(&prepared_status), "{prepared_status:?} for {status:?}");
        assert_eq!(prepared.0, call.target.0, "a prepared call's {prepared_status:?} has changed the result");
        return Corpus::Keep;
    }
    if call.stages.is_empty() && call.result.r#type == QGEMM_TYPE_S32 {
        call.check_sums(&alone);
    }
    assert_eq!((prepared_status, prepared.0), (Status::Ok, alone.0.clone()), "prepared");
    let (status, shared) = call.run(two_threads(), &plan.copied(), &call.weights, &how);
    assert_eq!((status, shared.0), (Status::Ok, alone.0.clone()), "two threads, a saved plan");
    assert_eq!(is_packed, Status::Ok);
    let weights = RawOperand { data: null(), packed: packed.0, ..call.weights };
    let (status, of_packed) = call.run(null(), &plan, &weights, &how);
    assert_eq!((status, of_packed.0), (Status::Ok, alone.0.clone()), "packed weights");
    let mut size = 0;
    // SAFETY: every pointer points at as much as its descriptor says.
    let status = unsafe { qgemm_conv_workspace_size(null(), plan.0, &call.image, &weights, &call.result, &mut size) };
    assert_eq!(status, Status::Ok);
    let mut workspace = vec![0xa5_u8; size];
    let how = GemmOptions { workspace: workspace.as_mut_ptr().cast(), workspace_size: size, ..how };
    let (status, in_workspace) = call.run(null(), &plan, &weights, &how);
    assert_eq!((status, in_workspace.0), (Status::Ok, alone.0), "in a workspace");
    Corpus::Keep
});
