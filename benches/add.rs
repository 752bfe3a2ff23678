//! Quantized tensors added, by way of C: bytes a second, read and written, and what share that is of copying as many by
//! memcpy in turns. In the nearest caches, and far beyond them. One thread; QGEMM_ISA chooses the kernel.

#[path = "limit/turns.rs"]
mod turns;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use qgemm::*;
use std::hint::black_box;
use std::ptr::null;
use std::time::Duration;
use turns::beside;

/// Elements: some that stay in the second cache, and some that do not stay in any.
const LENS: [usize; 2] = [1 << 15, 1 << 24];

/// What is done, and bytes that it moves for each element, in all passes.
type Case<'a> = (&'static str, usize, Box<dyn FnMut() + 'a>);

fn ok(status: Status) {
    assert_eq!(status, Status::Ok);
}

/// Bytes of these scales, added as `mode` says.
fn parameters(mode: u32) -> AddParameters {
    let options = AddOptions {
        struct_size: size_of::<AddOptions>(),
        r#type: QGEMM_TYPE_S8,
        mode,
        a_scale: 0.37,
        a_zero_point: -3,
        b_scale: 0.11,
        b_zero_point: 17,
        c_scale: 0.43,
        c_zero_point: 5,
        c_least: 0,
        c_greatest: 0,
        flags: 0,
        reserved: 0,
    };
    let mut parameters = AddParameters {
        r#type: 0,
        mode: 0,
        zero_points: [0; 3],
        multipliers: [0; 3],
        shifts: [0; 3],
        least: 0,
        greatest: 0,
        form: 0,
    };
    // SAFETY: both are what they say.
    ok(unsafe { qgemm_add_prepare(&options, &mut parameters) });
    parameters
}

fn additions(c: &mut Criterion) {
    for len in LENS {
        let mut group = c.benchmark_group(format!("add {len}"));
        group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(400)).sample_size(20);
        let a: Vec<u8> = (0..len).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
        let b: Vec<u8> = a.iter().rev().map(|x| x.wrapping_mul(7)).collect();
        let sums: Vec<i32> = a.iter().zip(&b).map(|(&a, &b)| (i32::from(a) - i32::from(b)) << 12).collect();
        let (mut to, mut wide, mut copy) = (vec![0u8; len], vec![0i32; len], vec![0u8; 4 * len]);
        let ways = [QGEMM_ADD_TFLITE, QGEMM_ADD_TFLITE_SINGLE, QGEMM_ADD_XNNPACK, QGEMM_ADD_QNNPACK, QGEMM_ADD_F32]
            .map(parameters);
        let (ra, rb, rx) = (
            RealRange { min: -3.0, max: 2.0 },
            RealRange { min: -1.0, max: 5.0 },
            RealRange { min: -100.0, max: 100.0 },
        );
        let (mut found, mut passes, size, context) = (ra, 0, len as i64, null());
        let found: *mut RealRange = &mut found;
        let passes: *mut i32 = &mut passes;
        let (pa, pb, px) = (a.as_ptr(), b.as_ptr(), sums.as_ptr());
        let (to, wide) = (to.as_mut_ptr(), wide.as_mut_ptr());
        // SAFETY: all have as many elements as they say.
        let add = |way: AddParameters| unsafe { ok(qgemm_add(context, &way, pa.cast(), pb.cast(), size, to.cast())) };
        // SAFETY: as above.
        let wider = |rule| unsafe { ok(qgemm_add_8p8to32(context, rule, pa, ra, pb, rb, size, wide, found)) };
        let narrow = |mode| {
            // SAFETY: as above.
            ok(unsafe { qgemm_add_8p8to8(context, mode, pa, ra, pb, rb, size, null(), 0, to, found, passes) });
            // SAFETY: as above.
            assert_eq!(unsafe { passes.read() }, 2, "the bytes moved are those of two passes");
        };
        // SAFETY: as above.
        let down = |mode| unsafe {
            ok(qgemm_requantize_s32(context, mode, px, size, rx, ra, QGEMM_TYPE_U8, to.cast(), found));
        };
        let cases: [Case; 16] = [
            ("TFLite", 3, Box::new(|| add(ways[0]))),
            ("TFLite, single rounding", 3, Box::new(|| add(ways[1]))),
            ("XNNPACK", 3, Box::new(|| add(ways[2]))),
            ("QNNPACK", 3, Box::new(|| add(ways[3]))),
            ("float", 3, Box::new(|| add(ways[4]))),
            ("8p8to32, nnlib", 6, Box::new(|| wider(QGEMM_ADD32_NNLIB))),
            ("8p8to32, nnlib's bias", 6, Box::new(|| wider(QGEMM_ADD32_NNLIB_BIAS))),
            ("8p8to32, TensorFlow's helper", 6, Box::new(|| wider(QGEMM_ADD32_TENSORFLOW_HELPER))),
            ("8p8to32, TensorFlow's operation", 6, Box::new(|| wider(QGEMM_ADD32_TENSORFLOW_OPERATION))),
            ("8p8to32, exact", 6, Box::new(|| wider(QGEMM_ADD32_EXACT))),
            // The first pass only reads here, and writes as well in nnlib's ways.
            ("8p8to8, exact", 5, Box::new(|| narrow(QGEMM_ADD8_EXACT))),
            ("8p8to8, nnlib's flat", 6, Box::new(|| narrow(QGEMM_ADD8_NNLIB_FLAT))),
            ("8p8to8, nnlib's spec", 6, Box::new(|| narrow(QGEMM_ADD8_NNLIB_SPEC))),
            ("32 to 8, exact", 5, Box::new(|| down(QGEMM_RANGES_EXACT))),
            ("32 to 8, TensorFlow", 5, Box::new(|| down(QGEMM_RANGES_TENSORFLOW))),
            ("32 to 8, nnlib", 5, Box::new(|| down(QGEMM_RANGES_NNLIB))),
        ];
        for (name, bytes, mut call) in cases {
            // As many bytes, half of them read and half written.
            let half = bytes * len / 2;
            let copy = || {
                // SAFETY: both have as many bytes.
                unsafe { black_box(&mut copy[..]).as_mut_ptr().copy_from(sums.as_ptr().cast(), half) };
            };
            if let Some(found) = beside(&mut group, BenchmarkId::from_parameter(name), &mut call, copy) {
                let rate = (bytes * len) as f64 / found.seconds * 1e-9;
                println!("{rate:40.2} GB/s, {:.0} % of memcpy", 100.0 * found.ratio);
            }
        }
    }
}

criterion_group!(benches, additions);
criterion_main!(benches);
