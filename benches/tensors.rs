//! Tensors by way of C: bytes a second, read and written, and what share that is of copying as many by memcpy in turns. In
//! the nearest caches, and far beyond them. One thread; QGEMM_ISA chooses the kernel.

#[path = "limit/turns.rs"]
mod turns;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use qgemm::*;
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Duration;
use turns::beside;

/// Elements: some that stay in the second cache, and some that do not stay in any.
const LENS: [usize; 2] = [1 << 15, 1 << 24];
const CHANNELS: usize = 256;

/// What is done, and bytes that it moves for each element.
type Case<'a> = (&'static str, usize, Box<dyn FnMut() + 'a>);

fn ok(status: Status) {
    assert_eq!(status, Status::Ok);
}

fn tensors(c: &mut Criterion) {
    for len in LENS {
        let mut group = c.benchmark_group(format!("tensors {len}"));
        group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(400)).sample_size(20);
        let floats: Vec<f32> = (0..len).map(|i| (i.wrapping_mul(2654435761) >> 8 & 0xffff) as f32 - 32768.0).collect();
        let sums: Vec<i32> = floats.iter().map(|&x| x as i32).collect();
        let bytes: Vec<u8> = sums.iter().map(|&x| x as u8).collect();
        let (mut to, mut real, mut copy) = (vec![0u8; len], vec![0f32; len], vec![0u8; 4 * len]);
        let all = RawChannels { outer: 1, channels: 1, inner: len as i64 };
        let last = RawChannels { outer: (len / CHANNELS) as i64, channels: CHANNELS as i64, inner: 1 };
        let runs = RawChannels { outer: (len / CHANNELS / 64) as i64, channels: CHANNELS as i64, inner: 64 };
        let (scales, zero_points) = ([300.0f32; CHANNELS], [3i32; CHANNELS]);
        // No power of two: of such products too many are ties.
        let (multipliers, exponents) = ([1_518_500_250; CHANNELS], [-7; CHANNELS]);
        let quantization = RawQuantization {
            struct_size: size_of::<RawQuantization>(),
            r#type: QGEMM_TYPE_S8,
            rounding: QGEMM_QUANTIZE_DIVIDE,
            scales: scales.as_ptr(),
            zero_points: zero_points.as_ptr(),
            least: 0,
            greatest: 0,
        };
        let multiply = RawQuantization { rounding: QGEMM_QUANTIZE_MULTIPLY, ..quantization };
        let fixed = RawRequantization {
            struct_size: size_of::<RawRequantization>(),
            from_type: QGEMM_TYPE_S32,
            to_type: QGEMM_TYPE_S8,
            arithmetic: QGEMM_REQUANTIZE_TWICE,
            reserved: 0,
            from_zero_points: null(),
            to_zero_points: zero_points.as_ptr(),
            multipliers: multipliers.as_ptr(),
            exponents: exponents.as_ptr(),
            scales: scales.as_ptr(),
            least: 0,
            greatest: 0,
        };
        let float = RawRequantization { arithmetic: QGEMM_REQUANTIZE_F32, ..fixed };
        let narrow = RawRequantization { from_type: QGEMM_TYPE_U8, ..fixed };
        let table: Vec<u8> = (0..=255).rev().collect();
        let (x, q, s) = (floats.as_ptr(), bytes.as_ptr().cast::<c_void>(), sums.as_ptr().cast::<c_void>());
        let (to, real, context) = (to.as_mut_ptr().cast::<c_void>(), real.as_mut_ptr(), null());
        let (mut min, mut max) = (0.0, 0.0);
        let (mut row_scales, mut row_offsets) =
            (vec![0f32; (len / 1024).max(1024)], vec![0i32; (len / 1024).max(1024)]);
        let rows = RawFloats {
            struct_size: size_of::<RawFloats>(),
            data: x,
            rows: (len / 1024) as i64,
            cols: 1024,
            stride: 0,
            order: QGEMM_ROW_MAJOR,
            side: QGEMM_LHS,
        };
        let by_row = RawLineQuantization {
            struct_size: size_of::<RawLineQuantization>(),
            r#type: QGEMM_TYPE_U8,
            scheme: QGEMM_SCHEME_AFFINE,
            rounding: QGEMM_QUANTIZE_MULTIPLY,
            reserved: 0,
            least: 0,
            greatest: 0,
            scales: row_scales.as_mut_ptr(),
            offsets: row_offsets.as_mut_ptr(),
        };
        let weights = RawFloats { side: QGEMM_RHS, ..rows };
        // In the same memory lines that are contiguous.
        let turned = RawFloats { rows: rows.cols, cols: rows.rows, order: QGEMM_COL_MAJOR, ..weights };
        let by_col = RawLineQuantization { r#type: QGEMM_TYPE_S8, scheme: QGEMM_SCHEME_SYMMETRIC, ..by_row };
        let size = len + (1 << 17);
        let mut memory = vec![0u8; size + QGEMM_PACKED_ALIGNMENT];
        let skipped = memory.as_ptr().align_offset(QGEMM_PACKED_ALIGNMENT);
        let options = PackOptions {
            struct_size: size_of::<PackOptions>(),
            side: QGEMM_RHS,
            result_order: QGEMM_ROW_MAJOR,
            other_type: QGEMM_TYPE_U8,
            bits: 0,
            memory: memory[skipped..].as_mut_ptr().cast(),
            memory_size: size,
            group_size: 0,
            scales: null(),
            zero_points: null(),
        };
        // SAFETY: all have as many elements as the channels say.
        let cases: [Case; 14] = unsafe {
            [
                ("quantize", 5, Box::new(|| ok(qgemm_quantize_f32(context, x, to, &all, &quantization)))),
                ("quantize, times", 5, Box::new(|| ok(qgemm_quantize_f32(context, x, to, &all, &multiply)))),
                ("quantize per channel", 5, Box::new(|| ok(qgemm_quantize_f32(context, x, to, &last, &quantization)))),
                ("quantize per run", 5, Box::new(|| ok(qgemm_quantize_f32(context, x, to, &runs, &quantization)))),
                ("dequantize", 5, Box::new(|| ok(qgemm_dequantize(context, q, real, &all, &quantization)))),
                ("requantize s32", 5, Box::new(|| ok(qgemm_requantize(context, s, to, &all, &fixed)))),
                ("requantize per channel", 5, Box::new(|| ok(qgemm_requantize(context, s, to, &last, &fixed)))),
                ("requantize s32, float", 5, Box::new(|| ok(qgemm_requantize(context, s, to, &all, &float)))),
                ("requantize u8", 2, Box::new(|| ok(qgemm_requantize(context, q, to, &all, &narrow)))),
                ("table", 2, Box::new(|| ok(qgemm_table_apply(context, table.as_ptr(), q, to, len as i64)))),
                ("min, max", 4, Box::new(|| ok(qgemm_min_max_f32(context, x, &all, &mut min, &mut max)))),
                ("rows", 5, Box::new(|| ok(qgemm_quantize_lines_f32(context, &rows, &by_row, to)))),
                (
                    "weights, packed",
                    5,
                    Box::new(|| {
                        let mut packed = null_mut();
                        ok(qgemm_pack_f32(context, &weights, &by_col, &options, &mut packed));
                        qgemm_packed_free(packed);
                    }),
                ),
                (
                    "weights by columns, packed",
                    5,
                    Box::new(|| {
                        let mut packed = null_mut();
                        ok(qgemm_pack_f32(context, &turned, &by_col, &options, &mut packed));
                        qgemm_packed_free(packed);
                    }),
                ),
            ]
        };
        for (name, bytes, mut call) in cases {
            // As many bytes, half of them read and half written.
            let half = bytes * len / 2;
            let source = &floats[..half / 4];
            let copy = || {
                // SAFETY: both have as many bytes.
                unsafe { black_box(&mut copy[..]).as_mut_ptr().copy_from(source.as_ptr().cast(), half) };
            };
            if let Some(found) = beside(&mut group, BenchmarkId::from_parameter(name), &mut call, copy) {
                let rate = (bytes * len) as f64 / found.seconds * 1e-9;
                println!("{rate:40.2} GB/s, {:.0} % of memcpy", 100.0 * found.ratio);
            }
        }
    }
}

criterion_group!(benches, tensors);
criterion_main!(benches);
