//! GOPS (2 for each multiplication) of whole products, u8 × u8 scaled down to u8, with zero points on both sides and both
//! operands packed in the call, on every kernel that this processor runs, and their share of what its instructions do in registers. One thread.

#[path = "limit/fastest.rs"]
mod fastest;
#[path = "limit/registers.rs"]
mod registers;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastest::fastest;
use qgemm::{
    Cast, Context, Encoding, Factor, Finish, Kernel, Offset, Operand, Order, Output, QuantizeDown, Stage, Store,
    Values, gemm,
};
use registers::Limit;
use std::time::Duration;

/// Rows, columns, depth: small, square, matrix-vector, convolution layers, a language model's prefill.
const SHAPES: [(usize, usize, usize); 20] = [
    (8, 8, 8),
    (16, 16, 16),
    (32, 32, 32),
    (64, 64, 64),
    (128, 128, 128),
    (256, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (1, 1000, 1024),
    (1, 4096, 4096),
    (4, 4096, 4096),
    (16, 1024, 1024),
    (32, 4096, 4096),
    (128, 4096, 4096),
    (12544, 64, 147),
    (3136, 64, 576),
    (784, 128, 1152),
    (196, 256, 2304),
    (49, 512, 4608),
];

fn noise(len: usize) -> Vec<u8> {
    let mut x = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn product(c: &mut Criterion) {
    let kernels: Vec<_> = Kernel::available().map(|kernel| (kernel, Limit::of(kernel))).collect();
    for (rows, cols, depth) in SHAPES {
        let mut group = c.benchmark_group(format!("{rows}x{cols}x{depth}"));
        group.throughput(Throughput::Elements(2 * (rows * cols * depth) as u64));
        group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800)).sample_size(20);
        let (a, b) = (noise(rows * depth), noise(cols * depth));
        let mut result = vec![0; rows * cols];
        for (kernel, limit) in &kernels {
            if kernel.name == "scalar" && rows * cols * depth > 1 << 24 {
                continue;
            }
            let context = Context::new(kernel, 1);
            for (name, order, stride) in [("nk", Order::DepthContiguous, depth), ("kn", Order::LineContiguous, cols)] {
                let lhs = Operand::new(&a, (rows, depth), depth, Order::DepthContiguous, Encoding::U8);
                let lhs = Factor::new(lhs, Offset::Uniform(-84));
                let rhs = Operand::new(&b, (cols, depth), stride, order, Encoding::U8);
                let rhs = Factor::new(rhs, Offset::Uniform(-131));
                let stages = [Stage::QuantizeDown(QuantizeDown {
                    offset: Values::Uniform(1 << 20),
                    multiplier: Values::Uniform(5),
                    shift: Values::Uniform(20),
                })];
                let seconds = fastest(&mut group, BenchmarkId::new(kernel.name, name), || {
                    let store = Store::U8(Output::new(&mut result, (rows, cols), cols), Cast::Saturating);
                    gemm(&context, &lhs, &rhs, &Finish::new(&stages, store)).expect("memory")
                });
                if let Some(seconds) = seconds {
                    let gops = 2e-9 * (rows * cols * depth) as f64 / seconds;
                    println!("{gops:33.1} GOPS at best, {}", limit.share(gops));
                }
            }
        }
    }
}

criterion_group!(benches, product);
criterion_main!(benches);
