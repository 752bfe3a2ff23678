//! qgemm_gemm with any descriptors. Whatever they say, the call returns, touches no memory but what they describe, and
//! leaves the result as it was if it fails; if it succeeds, a prepared call, packed operands, two threads
//! and a workspace give the same bytes.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::{Block, number, options, pack_options, reach, size_of_type, stage, tag, two_threads, values};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// In one call, at most: all is computed five times.
const MOST_MULTIPLICATIONS: i128 = 1 << 18;

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
    /// How one side is packed.
    pack: PackOptions,
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
        let pack = PackOptions {
            result_order: u.int_in_range(0..=1)?,
            other_type: u.int_in_range(0..=2)?,
            ..pack_options(u.int_in_range(1..=2)?)
        };
        Ok(Self { lhs, rhs, result, target, stages, flags, bit_depth, pack, multiplications, _blocks: blocks })
    }

    /// Multiplies into a result that begins as the target, and gives what became of it.
    fn run(&self, sides: [&RawOperand; 2], context: *const ContextHandle, options: &GemmOptions) -> (Status, Block) {
        let after = self.target.clone();
        let result = RawResult { data: after.pointer::<c_void>().cast_mut(), ..self.result };
        let (stages, count) = (self.stages.as_ptr(), self.stages.len());
        // SAFETY: every pointer is null or points at as much as its descriptor says.
        let status = unsafe { qgemm_gemm(context, sides[0], sides[1], &result, stages, count, options) };
        (status, after)
    }

    /// The same, prepared before.
    fn run_prepared(&self, options: &GemmOptions) -> (Status, Block) {
        let after = self.target.clone();
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

    /// The same, with one side packed.
    fn run_packed(&self, options: &GemmOptions) -> (Status, Block) {
        // What lies beyond a struct of a later version, as some say that they are, is not copied with it.
        let known = |side| RawOperand { struct_size: size_of::<RawOperand>(), ..side };
        let (mut sides, mut packed) = ([self.lhs, self.rhs].map(known), null_mut());
        let side = &mut sides[usize::from(self.pack.side == QGEMM_RHS)];
        // SAFETY: its elements are as many as it says.
        let status = unsafe { qgemm_pack(side, &self.pack, &mut packed) };
        if status != Status::Ok {
            return (status, self.target.clone());
        }
        (side.data, side.packed) = (null(), packed);
        let done = self.run([&sides[0], &sides[1]], null(), options);
        // SAFETY: it is not used any more.
        unsafe { qgemm_packed_free(packed) };
        done
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(call) = Call::arbitrary(&mut Unstructured::new(bytes)) else { return Corpus::Reject };
    if call.multiplications > MOST_MULTIPLICATIONS {
        return Corpus::Reject;
    }
    let sides = [&call.lhs, &call.rhs];
    let bit_depth = call.bit_depth.as_ref().map_or(null(), |depth| depth);
    let options = GemmOptions { bit_depth, ..options(call.flags) };
    let (status, alone) = call.run(sides, null(), &options);
    assert_ne!(status, Status::Internal);
    if status != Status::Ok {
        assert_eq!(alone.0, call.target.0, "{status:?} has changed the result");
        let (status, prepared) = call.run_prepared(&options);
        assert!(![Status::Ok, Status::Internal].contains(&status), "{status:?}");
        assert_eq!(prepared.0, call.target.0, "a prepared call's {status:?} has changed the result");
        return Corpus::Keep;
    }
    // Of a promise that is broken results may be wrong, in each way otherwise, but nothing worse.
    let is_true = call.flags & QGEMM_CHECK_RANGE != 0 || sides.iter().all(|side| (side.least, side.greatest) == (0, 0));
    let check = |(status, result): (Status, Block), way: &str| {
        assert_eq!(status, Status::Ok, "{way}");
        assert!(!is_true || result.0 == alone.0, "{way}: {:?} instead of {:?}", result.0, alone.0);
    };
    check(call.run_prepared(&options), "prepared");
    // Packing ignores it.
    if call.bit_depth.is_none() && is_true {
        check(call.run_packed(&options), "packed");
    }
    check(call.run(sides, two_threads(), &options), "two threads");
    let (result, mut size) = (&call.result, 0);
    // SAFETY: every pointer points at as much as its descriptor says.
    let status = unsafe { qgemm_gemm_workspace_size_with(null(), sides[0], sides[1], result, &options, &mut size) };
    assert_eq!(status, Status::Ok);
    let mut workspace = vec![0xa5u8; size];
    let options = GemmOptions { workspace: workspace.as_mut_ptr().cast(), workspace_size: size, ..options };
    check(call.run(sides, null(), &options), "in a workspace");
    Corpus::Keep
});
