//! GB/s of packing the RHS apart from any product, from both storage orders, with the flip of the sign that u8 × u8 needs.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use qgemm::{Encoding, Kernel, Operand, Order};
use std::time::Duration;

fn pack(c: &mut Criterion) {
    for (lines, depth) in [(256, 256), (1024, 1024), (4096, 4096)] {
        let mut group = c.benchmark_group(format!("pack {lines}x{depth}"));
        group.throughput(Throughput::Bytes((lines * depth) as u64));
        group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800)).sample_size(20);
        let data = vec![7; lines * depth];
        for kernel in Kernel::available() {
            for (name, order, stride) in [("nk", Order::DepthContiguous, depth), ("kn", Order::LineContiguous, lines)] {
                let rhs = Operand::new(&data, (lines, depth), stride, order, Encoding::U8);
                let mut panels = Vec::new();
                group.bench_function(BenchmarkId::new(kernel.name, name), |bencher| {
                    bencher.iter(|| kernel.pack_whole(&rhs, Encoding::U8, &mut panels));
                });
            }
        }
    }
}

criterion_group!(benches, pack);
criterion_main!(benches);
