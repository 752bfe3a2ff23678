//! qgemm_gemm with any descriptors. Whatever they say, the call returns, touches no memory but what they describe, and
//! leaves the result as it was if it fails; if it succeeds, two threads and a workspace give the same bytes.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::number;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::LazyLock;

/// In one call, at most: all is computed three times.
const MOST_MULTIPLICATIONS: i128 = 1 << 18;
/// No matrix gets more bytes than this.
const ROOM: i128 = 1 << 16;

/// What a pointer of a descriptor points at: an allocation of its own, no longer than the descriptor says, or nothing.
#[derive(Clone, Debug)]
struct Block(Option<Box<[u8]>>);

impl Block {
    /// So many bytes, if that is neither impossible nor too much.
    fn new(u: &mut Unstructured, bytes: Option<i128>) -> Result<Self> {
        let is_there = !u.ratio(1, 30)? && bytes.is_some_and(|bytes| bytes <= ROOM);
        let (mut x, bytes) = (u64::from(u.arbitrary::<u32>()?) << 1 | 1, bytes.unwrap_or(0));
        let mut noise = |_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 24) as u8
        };
        Ok(Self(is_there.then(|| (0..bytes).map(&mut noise).collect())))
    }

    fn pointer<T>(&self) -> *const T {
        self.0.as_ref().map_or(null(), |bytes| bytes.as_ptr().cast())
    }
}

/// Bytes that a matrix reaches over. None if no call may take it.
fn reach(rows: i64, cols: i64, stride: i64, order: u32, size: i128) -> Option<i128> {
    let (runs, len) = if order == QGEMM_ROW_MAJOR { (rows, cols) } else { (cols, rows) };
    if runs <= 0 || len <= 0 {
        return (runs == 0 || len == 0).then_some(0);
    }
    let stride = if runs == 1 || stride == 0 { len } else { stride };
    (stride > 0).then(|| (i128::from(runs - 1) * i128::from(stride) + i128::from(len)) * size)
}

fn size_of_type(r#type: u32) -> i128 {
    match r#type {
        QGEMM_TYPE_U8 | QGEMM_TYPE_S8 => 1,
        QGEMM_TYPE_S16 | QGEMM_TYPE_BF16 | QGEMM_TYPE_F16 => 2,
        _ => 4,
    }
}

fn tag(u: &mut Unstructured, last: i32) -> Result<u32> {
    Ok(number(u, &[0..=last])? as u32)
}

/// A parameter and its values. Floats are made of the same words.
fn values(u: &mut Unstructured, blocks: &mut Vec<Block>, usual: i32) -> Result<I32Values> {
    let len = i64::from(u.int_in_range(-1..=60)?);
    let mut block = Block::new(u, Some(i128::from(len.max(0)) * 4))?;
    for word in block.0.iter_mut().flat_map(|bytes| bytes.as_chunks_mut().0) {
        *word = (i32::from_ne_bytes(*word) % usual).to_ne_bytes();
    }
    let values =
        I32Values { data: block.pointer(), len, value: number(u, &[1 - usual..=usual - 1])?, axis: tag(u, 2)? };
    blocks.push(block);
    Ok(values)
}

fn floats(u: &mut Unstructured, blocks: &mut Vec<Block>) -> Result<F32Values> {
    let I32Values { data, len, axis, .. } = values(u, blocks, 0x7f00_0000)?;
    Ok(F32Values { data: data.cast(), len, value: u.arbitrary()?, axis })
}

fn stage(u: &mut Unstructured, blocks: &mut Vec<Block>, (rows, cols): (i64, i64)) -> Result<RawStage> {
    let kind = tag(u, 20)?;
    let mut stage = RawStage { kind, reserved: number(u, &[0..=0])? as u32, u: StageParameters { reserved: [0; 16] } };
    let mut any = || number(u, &[-300..=300]);
    let [a, b, c, d] = [any()?, any()?, any()?, any()?];
    match kind {
        QGEMM_STAGE_BIAS => stage.u.bias = StageBias { bias: values(u, blocks, i32::MAX)? },
        QGEMM_STAGE_QUANTIZE_DOWN => {
            let (offset, multiplier) = (values(u, blocks, 1000)?, values(u, blocks, 1000)?);
            stage.u.quantize_down = StageQuantizeDown { offset, multiplier, shift: values(u, blocks, 1)? };
        }
        QGEMM_STAGE_SCALE => {
            let (multiplier, exponent) = (values(u, blocks, i32::MAX)?, values(u, blocks, 31)?);
            stage.u.scale = StageScale { multiplier, exponent, offset_after: a, rounding: tag(u, 2)? };
        }
        QGEMM_STAGE_CLAMP => stage.u.clamp = StageClamp { min: a, max: b },
        QGEMM_STAGE_TANH => stage.u.tanh = StageTanh { zero: a, amplitude: b },
        QGEMM_STAGE_LOGISTIC => {
            stage.u.logistic = StageLogistic { zero: a, amplitude: b, result_zero: c, result_amplitude: d };
        }
        QGEMM_STAGE_SCALE_F32 => {
            stage.u.scale_f32 = StageScaleF32 { scale: floats(u, blocks)?, offset_after: a };
        }
        QGEMM_STAGE_RESIDUAL | QGEMM_STAGE_RESIDUAL_F32 => {
            let (r#type, order) = (tag(u, 7)?, tag(u, 1)?);
            let stride = i64::from(number(u, &[0..=50])?);
            let block = Block::new(u, reach(rows, cols, stride, order, size_of_type(r#type)))?;
            let data: *const c_void = block.pointer();
            blocks.push(block);
            if kind == QGEMM_STAGE_RESIDUAL {
                let (exponent, rounding) = (number(u, &[-31..=30])?, tag(u, 2)?);
                let (zero_point, multiplier) = (a, u.arbitrary()?);
                stage.u.residual =
                    StageResidual { data, stride, r#type, order, zero_point, multiplier, exponent, rounding };
            } else {
                let (zero_point, scale) = (number(u, &[0..=0, -9..=9])?, u.arbitrary()?);
                stage.u.residual_f32 = StageResidualF32 { data, stride, r#type, order, zero_point, scale };
            }
        }
        QGEMM_STAGE_DEQUANTIZE => stage.u.dequantize = StageDequantize { scale: floats(u, blocks)? },
        QGEMM_STAGE_BIAS_F32 => stage.u.bias_f32 = StageBiasF32 { bias: floats(u, blocks)? },
        QGEMM_STAGE_CLAMP_F32 => stage.u.clamp_f32 = StageClampF32 { min: u.arbitrary()?, max: u.arbitrary()? },
        QGEMM_STAGE_QUANTIZE => {
            stage.u.quantize = StageQuantize { scale: floats(u, blocks)?, zero_point: a };
        }
        QGEMM_STAGE_MULTIPLY_F32 => stage.u.multiply_f32 = StageMultiplyF32 { scale: floats(u, blocks)? },
        QGEMM_STAGE_ACTIVATION_F32 => {
            let (alpha, beta) = (u.arbitrary()?, u.arbitrary()?);
            stage.u.activation_f32 = StageActivationF32 { function: tag(u, 13)?, alpha, beta };
        }
        QGEMM_STAGE_BINARY_F32 => {
            let (r#type, order, axis) = (tag(u, 7)?, tag(u, 1)?, tag(u, 3)?);
            let (stride, size) = (i64::from(number(u, &[0..=50])?), size_of_type(r#type));
            let line = |len: i64| (len >= 0).then(|| i128::from(len) * size);
            let room = match axis {
                QGEMM_UNIFORM => Some(size),
                QGEMM_PER_ROW => line(rows),
                QGEMM_PER_COL => line(cols),
                _ => reach(rows, cols, stride, order, size),
            };
            let block = Block::new(u, room)?;
            let data = block.pointer();
            blocks.push(block);
            let (zero_point, scale, operation) = (number(u, &[0..=0, -9..=9])?, u.arbitrary()?, tag(u, 6)?);
            stage.u.binary_f32 = StageBinaryF32 { data, stride, r#type, order, zero_point, scale, operation, axis };
        }
        QGEMM_STAGE_QUANTIZE_ZERO_FIRST => {
            stage.u.quantize_zero_first = StageQuantizeZeroFirst { scale: floats(u, blocks)?, zero_point: a };
        }
        QGEMM_STAGE_TABLE => {
            let block = Block::new(u, Some(256))?;
            let entries = block.pointer();
            blocks.push(block);
            stage.u.table = StageTable { entries, from_type: tag(u, 2)?, to_type: tag(u, 2)? };
        }
        _ => {}
    }
    Ok(stage)
}

/// The least or greatest that an element may be said to be.
fn range_end(u: &mut Unstructured) -> Result<i32> {
    number(u, &[-128..=0, 0..=255, 127..=255])
}

/// Mostly one that is right.
fn bit_depth(u: &mut Unstructured) -> Result<RawBitDepth> {
    Ok(RawBitDepth {
        struct_size: size_of::<RawBitDepth>(),
        lhs_bits: tag(u, 8)?,
        rhs_bits: tag(u, 8)?,
        rounding_below: tag(u, 3)?,
        rounding_from: tag(u, 3)?,
        threshold: number(u, &[0..=0, 0..=400])?.into(),
        flags: tag(u, 1)?,
        reserved: number(u, &[0..=0])? as u32,
    })
}

struct Call {
    lhs: RawOperand,
    rhs: RawOperand,
    result: RawResult,
    target: Block,
    stages: Vec<RawStage>,
    flags: u32,
    bit_depth: Option<RawBitDepth>,
    multiplications: i128,
    /// Kept for the pointers into them.
    _blocks: Vec<Block>,
}

impl Call {
    fn arbitrary(u: &mut Unstructured) -> Result<Self> {
        let [m, n, k] = [number(u, &[0..=9, 1..=40])?, number(u, &[0..=9, 1..=40])?, number(u, &[0..=300])?];
        let mut blocks = Vec::new();
        let mut operand = |u: &mut Unstructured, rows: i32, cols: i32| -> Result<RawOperand> {
            let mut off = || Ok(i64::from(if u.ratio(1, 40)? { u.int_in_range(-1..=1)? } else { 0 }));
            let (rows, cols) = (i64::from(rows) + off()?, i64::from(cols) + off()?);
            let (r#type, order) = (u.int_in_range(1..=2)?, u.int_in_range(0..=1)?);
            let (r#type, order) = if u.ratio(1, 30)? { (tag(u, 6)?, tag(u, 3)?) } else { (r#type, order) };
            let stride = i64::from(number(u, &[0..=0, 0..=50, 300..=400])?);
            let block = Block::new(u, reach(rows, cols, stride, order, 1))?;
            let data = block.pointer();
            blocks.push(block);
            let mut offset = values(u, &mut blocks, 300)?;
            if u.ratio(1, 2)? {
                offset.axis = QGEMM_UNIFORM;
            }
            let struct_size = size_of::<RawOperand>() + usize::from(u.ratio(1, 50)?) * 8;
            let [least, greatest] = if u.ratio(3, 4)? { [0, 0] } else { [range_end(u)?, range_end(u)?] };
            let packed = null();
            Ok(RawOperand { struct_size, data, packed, rows, cols, stride, r#type, order, offset, least, greatest })
        };
        let (lhs, rhs) = (operand(u, m, k)?, operand(u, k, n)?);
        let (rows, cols) = (i64::from(m), i64::from(n));
        let stages: Vec<_> =
            (0..u.int_in_range(0..=6)?).map(|_| stage(u, &mut blocks, (rows, cols))).collect::<Result<_>>()?;
        let (r#type, order) = (tag(u, 7)?, u.int_in_range(0..=1)?);
        let stride = i64::from(number(u, &[0..=0, 0..=50])?);
        let target = Block::new(u, reach(rows, cols, stride, order, size_of_type(r#type)))?;
        let data = target.pointer::<c_void>().cast_mut();
        let result = RawResult { struct_size: size_of::<RawResult>(), data, rows, cols, stride, r#type, order };
        let multiplications = i128::from(m) * i128::from(n) * i128::from(k);
        let flags = number(u, &[0..=3])? as u32;
        let bit_depth = if u.ratio(1, 2)? { Some(bit_depth(u)?) } else { None };
        Ok(Self { lhs, rhs, result, target, stages, flags, bit_depth, multiplications, _blocks: blocks })
    }

    /// Calls with a result that begins as `before`, and gives what became of it.
    fn run(&self, before: &Block, context: *const ContextHandle, options: &GemmOptions) -> (Status, Block) {
        let after = before.clone();
        let result = RawResult { data: after.pointer::<c_void>().cast_mut(), ..self.result };
        let (stages, count) = (self.stages.as_ptr(), self.stages.len());
        // SAFETY: every pointer is null or points at as much as its descriptor says.
        let status = unsafe { qgemm_gemm(context, &self.lhs, &self.rhs, &result, stages, count, options) };
        (status, after)
    }
}

impl Call {
    /// As [`Call::run`], prepared before.
    fn run_prepared(&self, before: &Block, options: &GemmOptions) -> (Status, Block) {
        let after = before.clone();
        let (stages, count, mut prepared) = (self.stages.as_ptr(), self.stages.len(), null_mut());
        // SAFETY: every pointer is null or points at as much as its descriptor says, and stays.
        let mut status = unsafe {
            let (lhs, rhs, result) = (&self.lhs, &self.rhs, &self.result);
            qgemm_gemm_prepare(null(), lhs, rhs, result, stages, count, options, &mut prepared)
        };
        if status == Status::Ok {
            // SAFETY: as above.
            status = unsafe { qgemm_prepared_run(prepared, null(), null(), after.pointer::<c_void>().cast_mut()) };
        }
        // SAFETY: it is null, or not used any more.
        unsafe { qgemm_prepared_free(prepared) };
        (status, after)
    }
}

struct Threads(*mut ContextHandle);
// SAFETY: a context may be used by any thread.
unsafe impl Send for Threads {}
// SAFETY: as for `Send`.
unsafe impl Sync for Threads {}

static TWO_THREADS: LazyLock<Threads> = LazyLock::new(|| {
    let options = ContextOptions {
        struct_size: size_of::<ContextOptions>(),
        threads: 2,
        reserved: 0,
        parallel_for: None,
        user: null_mut(),
    };
    let mut context = null_mut();
    // SAFETY: both point at what they should.
    assert_eq!(unsafe { qgemm_context_create(&options, &mut context) }, Status::Ok);
    Threads(context)
});

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(call) = Call::arbitrary(&mut Unstructured::new(bytes)) else { return Corpus::Reject };
    if call.multiplications > MOST_MULTIPLICATIONS {
        return Corpus::Reject;
    }
    let options = GemmOptions {
        struct_size: size_of::<GemmOptions>(),
        flags: call.flags,
        reserved: 0,
        workspace: null_mut(),
        workspace_size: 0,
        bit_depth: call.bit_depth.as_ref().map_or(null(), |depth| depth),
    };
    let (status, alone) = call.run(&call.target, null(), &options);
    assert_ne!(status, Status::Internal);
    if status != Status::Ok {
        assert_eq!(alone.0, call.target.0, "{status:?} has changed the result");
        let (status, prepared) = call.run_prepared(&call.target, &options);
        assert!(![Status::Ok, Status::Internal].contains(&status), "{status:?}");
        assert_eq!(prepared.0, call.target.0, "a prepared call's {status:?} has changed the result");
        return Corpus::Keep;
    }
    let (status, prepared) = call.run_prepared(&call.target, &options);
    assert_eq!((status, prepared.0), (Status::Ok, alone.0.clone()), "prepared");
    let (status, shared) = call.run(&call.target, TWO_THREADS.0, &options);
    assert_eq!((status, shared.0), (Status::Ok, alone.0.clone()), "two threads");
    let mut size = 0;
    let (lhs, rhs, result) = (&call.lhs, &call.rhs, &call.result);
    // SAFETY: every pointer points at as much as its descriptor says.
    let status = unsafe { qgemm_gemm_workspace_size_with(null(), lhs, rhs, result, &options, &mut size) };
    assert_eq!(status, Status::Ok);
    let mut workspace = vec![0xa5u8; size];
    let options = GemmOptions { workspace: workspace.as_mut_ptr().cast(), workspace_size: size, ..options };
    let (status, in_workspace) = call.run(&call.target, null(), &options);
    assert_eq!((status, in_workspace.0), (Status::Ok, alone.0), "in a workspace");
    Corpus::Keep
});
