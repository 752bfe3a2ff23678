//! GOPS of small products by way of `qgemm_gemm`: all signednesses, sums or bytes (through a bias and a scale for each column),
//! weights as given or packed, and prepared with packed ones; and their share of what the kernel's instructions do in registers. One thread; QGEMM_ISA
//! chooses the kernel.

#[path = "limit/fastest.rs"]
mod fastest;
#[path = "call/raw.rs"]
mod raw;
#[path = "limit/registers.rs"]
mod registers;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastest::fastest;
use qgemm::*;
use registers::Limit;
use std::ptr::{null, null_mut};
use std::time::Duration;

const SIZES: [usize; 7] = [8, 16, 32, 48, 64, 96, 128];

fn per_col(values: &[i32]) -> I32Values {
    I32Values { data: values.as_ptr(), len: values.len() as i64, value: 0, axis: QGEMM_PER_COL }
}

fn stage(kind: u32, u: StageParameters) -> RawStage {
    RawStage { kind, reserved: 0, u }
}

/// As a quantized layer has them: a bias and a scale for each column, then a cast.
fn layer(biases: &[i32], multipliers: &[i32]) -> [RawStage; 3] {
    let scale = StageScale {
        multiplier: per_col(multipliers),
        exponent: raw::uniform(-7),
        offset_after: 128,
        rounding: QGEMM_ROUND_TWICE,
    };
    [
        stage(QGEMM_STAGE_BIAS, StageParameters { bias: StageBias { bias: per_col(biases) } }),
        stage(QGEMM_STAGE_SCALE, StageParameters { scale }),
        stage(QGEMM_STAGE_CAST_SATURATING, StageParameters { reserved: [0; 16] }),
    ]
}

fn type_name(r#type: u32) -> &'static str {
    if r#type == QGEMM_TYPE_U8 { "u8" } else { "s8" }
}

fn small(c: &mut Criterion) {
    let limit = Limit::of(Kernel::chosen().expect("a kernel"));
    for size in SIZES {
        let mut group = c.benchmark_group(format!("small {size}x{size}x{size}"));
        group.throughput(Throughput::Elements(2 * size.pow(3) as u64));
        group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(200)).sample_size(20);
        let bytes: Vec<u8> = (0..size * size).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        let (biases, multipliers) = (vec![5; size], vec![1_518_500_250; size]);
        let mut results = vec![0; size * size];
        let types = [QGEMM_TYPE_U8, QGEMM_TYPE_S8];
        for (lhs_type, rhs_type) in types.into_iter().flat_map(|lhs| types.map(|rhs| (lhs, rhs))) {
            let offset = raw::uniform(-3);
            let lhs = RawOperand { r#type: lhs_type, offset, ..raw::operand(&bytes, size, size) };
            let given = RawOperand { r#type: rhs_type, offset, ..raw::operand(&bytes, size, size) };
            let options = PackOptions { other_type: lhs_type, ..raw::pack_options(QGEMM_RHS) };
            let mut packed = null_mut();
            // SAFETY: the elements are as many as the sizes say.
            assert_eq!(unsafe { qgemm_pack(&given, &options, &mut packed) }, Status::Ok);
            let ready = RawOperand { offset, ..raw::packed(packed) };
            for (way, rhs) in [("given", &given), ("packed", &ready), ("prepared", &ready)] {
                for (to, stages) in [(QGEMM_TYPE_S32, &[][..]), (lhs_type, &layer(&biases, &multipliers))] {
                    let result = raw::result(&mut results, to, size, size);
                    let to = if to == QGEMM_TYPE_S32 { "s32" } else { type_name(to) };
                    let name = format!("{} x {} to {to}", type_name(lhs_type), type_name(rhs_type));
                    let (stages, count, mut prepared) = (stages.as_ptr(), stages.len(), null_mut());
                    // SAFETY: all have the sizes that they say, and stay.
                    unsafe {
                        let status =
                            qgemm_gemm_prepare(null(), &lhs, rhs, &result, stages, count, null(), &mut prepared);
                        assert_eq!(status, Status::Ok);
                    }
                    let seconds = fastest(&mut group, BenchmarkId::new(name, way), || {
                        // SAFETY: as above.
                        let status = unsafe {
                            match way {
                                "prepared" => qgemm_prepared_run(prepared, null(), null(), null_mut()),
                                _ => qgemm_gemm(null(), &lhs, rhs, &result, stages, count, null()),
                            }
                        };
                        assert_eq!(status, Status::Ok);
                    });
                    // SAFETY: it is not used any more.
                    unsafe { qgemm_prepared_free(prepared) };
                    if let Some(seconds) = seconds {
                        let gops = 2e-9 * size.pow(3) as f64 / seconds;
                        println!("{gops:33.1} GOPS at best, {}; {:.0} ns", limit.share(gops), seconds * 1e9);
                    }
                }
            }
            // SAFETY: it is not used any more.
            unsafe { qgemm_packed_free(packed) };
        }
    }
}

criterion_group!(benches, small);
criterion_main!(benches);
