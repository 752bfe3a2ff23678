//! qgemm_quantize_lines_f32 and qgemm_pack_f32 with any descriptors. Whatever they say, the calls return, touch no memory but what
//! they describe, and leave what they write as it was if they fail; if they succeed, two threads give the same bytes.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::{Block, floats, number, pack_options, product, reach, real, tag, two_threads, words};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Elements at most.
const MOST_ELEMENTS: i128 = 1 << 13;

/// A matrix of floats whose lines are quantized.
struct Lines {
    floats: RawFloats,
    quantization: RawLineQuantization,
    to: Block,
    scales: Block,
    offsets: Block,
    pack: PackOptions,
    _data: Block,
}

impl Lines {
    fn arbitrary(u: &mut Unstructured) -> Result<Option<Self>> {
        let [rows, cols] = [i64::from(number(u, &[0..=9, 0..=40])?), i64::from(number(u, &[0..=9, 0..=300])?)];
        let count = product(&[rows, cols]);
        if count.is_none_or(|count| count > MOST_ELEMENTS) || rows.max(cols) > MOST_ELEMENTS as i64 {
            return Ok(None);
        }
        let (stride, order, side) = (number(u, &[0..=0, 0..=320])?.into(), tag(u, 1)?, number(u, &[1..=2])? as u32);
        let data = floats(u, reach(rows, cols, stride, order, 1))?;
        let struct_size = size_of::<RawFloats>();
        let matrix = RawFloats { struct_size, data: data.pointer(), rows, cols, stride, order, side };
        let lines = if side == QGEMM_LHS { rows } else { cols };
        let (group_size, depth) = (number(u, &[0..=0, 0..=70])? as usize, if lines == rows { cols } else { rows });
        let groups = if group_size == 0 { 1 } else { (depth.max(0) as usize).div_ceil(group_size) };
        let [least, greatest] =
            if u.ratio(2, 3)? { [0, 0] } else { [number(u, &[-128..=10])?, number(u, &[10..=255])?] };
        let quantization = RawLineQuantization {
            struct_size: size_of::<RawLineQuantization>(),
            r#type: number(u, &[1..=2])? as u32,
            scheme: tag(u, 3)?,
            rounding: tag(u, 2)?,
            reserved: 0,
            least,
            greatest,
            scales: null_mut(),
            offsets: null_mut(),
        };
        let pack = PackOptions {
            result_order: tag(u, 1)?,
            other_type: tag(u, 2)?,
            bits: tag(u, 8)?,
            group_size,
            ..pack_options(side)
        };
        let values = (lines * groups.max(1) as i64).min(MOST_ELEMENTS as i64);
        let scales = words(u, values, real)?;
        let offsets = words(u, values, |u| number(u, &[0..=0, -128..=127]))?;
        let to = Block::new(u, count)?;
        Ok(Some(Self { floats: matrix, quantization, to, scales, offsets, pack, _data: data }))
    }

    /// Quantizes, and gives what was written.
    fn run(&self, context: *const ContextHandle) -> (Status, [Block; 3]) {
        let after = [&self.to, &self.scales, &self.offsets].map(Clone::clone);
        let quantization = self.quantization(&after[1], &after[2]);
        let to = after[0].pointer::<c_void>().cast_mut();
        // SAFETY: every pointer is null or points at as much as its descriptor says.
        let status = unsafe { qgemm_quantize_lines_f32(context, &self.floats, &quantization, to) };
        (status, after)
    }

    fn quantization(&self, scales: &Block, offsets: &Block) -> RawLineQuantization {
        let (scales, offsets) = (scales.pointer::<f32>().cast_mut(), offsets.pointer::<i32>().cast_mut());
        RawLineQuantization { scales, offsets, ..self.quantization }
    }

    /// Packs, and gives what was written beside the packed operand.
    fn pack(&self, context: *const ContextHandle) -> (Status, [Block; 2]) {
        let (after, mut packed) = ([self.scales.clone(), self.offsets.clone()], null_mut());
        let quantization = self.quantization(&after[0], &after[1]);
        // SAFETY: as for `run`.
        let status = unsafe { qgemm_pack_f32(context, &self.floats, &quantization, &self.pack, &mut packed) };
        assert_eq!(packed.is_null(), status != Status::Ok);
        // SAFETY: it is null, or not used any more.
        unsafe { qgemm_packed_free(packed) };
        (status, after)
    }

    fn check(&self) {
        let before = [&self.to, &self.scales, &self.offsets].map(|block| block.0.clone());
        let (status, alone) = self.run(null());
        assert_ne!(status, Status::Internal);
        let alone = alone.map(|block| block.0);
        if status != Status::Ok {
            assert_eq!(alone, before, "{status:?} has changed what is written");
        } else {
            let (status, shared) = self.run(two_threads());
            assert_eq!((status, shared.map(|block| block.0)), (Status::Ok, alone), "two threads");
        }
        let (status, packed) = self.pack(null());
        assert_ne!(status, Status::Internal);
        let packed = packed.map(|block| block.0);
        if status != Status::Ok {
            assert_eq!(packed[..], before[1..], "{status:?} has changed scales or offsets");
        } else {
            let (status, shared) = self.pack(two_threads());
            assert_eq!((status, shared.map(|block| block.0)), (Status::Ok, packed), "two threads, packed");
        }
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(Some(call)) = Lines::arbitrary(&mut Unstructured::new(bytes)) else { return Corpus::Reject };
    call.check();
    Corpus::Keep
});
