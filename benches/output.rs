//! From sums to results: how many a second, how much longer each takes than a sum that is only stored, and what share of filling
//! memory the stores are. The products are so shallow that little else is done. One thread; QGEMM_ISA chooses the kernel.

#[path = "limit/fastest.rs"]
mod fastest;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastest::fastest;
use qgemm::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rows and columns: about a tile, and many.
const SHAPES: [(usize, usize); 2] = [(8, 32), (1024, 1024)];
const DEPTH: usize = 16;

/// Of what type the results are.
#[derive(Clone, Copy)]
enum To {
    I32,
    U8,
    I16,
    F32,
}

impl To {
    fn size(self) -> usize {
        match self {
            To::U8 => 1,
            To::I16 => 2,
            To::I32 | To::F32 => 4,
        }
    }
}

type Pipeline<'a> = (&'static str, Vec<Stage<'a>>, To);

/// What stages read: a parameter of each kind for each column, and another tensor.
struct Parameters {
    shape: (usize, usize),
    biases: Vec<i32>,
    multipliers: Vec<i32>,
    exponents: Vec<i32>,
    scales: Vec<f32>,
    tensor: Vec<u8>,
}

impl Parameters {
    /// The sums alone, and what is done with them.
    fn pipelines(&self) -> Vec<Pipeline<'_>> {
        let bias = Stage::Bias(Values::PerCol(&self.biases));
        let scale = |multiplier, exponent, rounding| {
            Stage::Scale(Scale::new(multiplier, exponent, 128, rounding).expect("exponents in range"))
        };
        let uniform = |rounding| scale(Values::Uniform(1 << 30), Values::Uniform(-7), rounding);
        let per_col = scale(Values::PerCol(&self.multipliers), Values::PerCol(&self.exponents), Rounding::Twice);
        let down = Stage::QuantizeDown(QuantizeDown {
            offset: Values::Uniform(1 << 10),
            multiplier: Values::Uniform(5),
            shift: Values::Uniform(14),
        });
        let dequantize = Stage::Dequantize(Values::PerCol(&self.scales));
        let scale_f32 = Stage::ScaleF32 { scale: Values::PerCol(&self.scales), offset_after: 128 };
        let quantize = Stage::Quantize { scale: Values::Uniform(0.5), zero_point: 128 };
        let (tanh, logistic) = (Tanh::new(0, 1 << 12), Logistic::new(0, 1 << 12, 0, 255));
        let (data, (rows, cols)) = (self.tensor.as_ptr(), self.shape);
        // SAFETY: the tensor has so many elements, and nobody writes to it.
        let tensor = unsafe { Residual::from_raw(data, Element::U8, (rows, cols), (cols, 1)) };
        let residual = Stage::Residual {
            residual: tensor.expect("it fits the address space"),
            zero_point: 3,
            multiplier: 1 << 30,
            exponent: -1,
            rounding: Rounding::Twice,
        };
        vec![
            ("s32", vec![], To::I32),
            ("bias, s32", vec![bias], To::I32),
            ("u8", vec![], To::U8),
            ("quantize down, u8", vec![down], To::U8),
            ("scale, u8", vec![uniform(Rounding::Twice)], To::U8),
            ("scale once, u8", vec![uniform(Rounding::Once)], To::U8),
            ("bias, scale per column, u8", vec![bias, per_col], To::U8),
            ("bias, scale per column, clamp, u8", vec![bias, per_col, Stage::Clamp { min: 0, max: 200 }], To::U8),
            ("bias, scale per column, residual, u8", vec![bias, per_col, residual], To::U8),
            ("bias, scale per column, s16", vec![bias, per_col], To::I16),
            ("bias, float scale per column, u8", vec![bias, scale_f32], To::U8),
            ("dequantize, f32", vec![dequantize], To::F32),
            ("dequantize, bias, f32", vec![dequantize, Stage::BiasF32(Values::PerCol(&self.scales))], To::F32),
            ("dequantize, quantize, u8", vec![dequantize, quantize], To::U8),
            ("tanh, s32", vec![Stage::Tanh(tanh.expect("an amplitude"))], To::I32),
            ("logistic, u8", vec![Stage::Logistic(logistic.expect("amplitudes"))], To::U8),
        ]
    }
}

/// Bytes a second of filling so many.
fn fill_rate(len: usize) -> f64 {
    let mut bytes = vec![0u8; len];
    let times = (4 << 20) / len + 1;
    let seconds = (0..20).map(|round| {
        let begin = Instant::now();
        (0..times).for_each(|_| black_box(&mut bytes[..]).fill(round));
        begin.elapsed().as_secs_f64()
    });
    (len * times) as f64 / seconds.fold(f64::INFINITY, f64::min)
}

fn output(c: &mut Criterion) {
    let context = Context::new(Kernel::chosen().expect("a kernel"), 1);
    for (rows, cols) in SHAPES {
        let mut group = c.benchmark_group(format!("output {rows}x{cols}"));
        let len = rows * cols;
        group.throughput(Throughput::Elements(len as u64));
        group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(300)).sample_size(20);
        let bytes: Vec<u8> = (0..rows.max(cols) * DEPTH).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        let side = |lines, order, stride| {
            let operand = Operand::new(&bytes[..lines * DEPTH], (lines, DEPTH), stride, order, Encoding::U8);
            Factor::new(operand, Offset::Uniform(-100))
        };
        let lhs = side(rows, Order::DepthContiguous, DEPTH);
        let rhs = side(cols, Order::LineContiguous, cols);
        let (mut i32s, mut u8s, mut i16s, mut f32s) = (vec![0; len], vec![0; len], vec![0; len], vec![0.0; len]);
        let parameters = Parameters {
            shape: (rows, cols),
            biases: vec![5; cols],
            multipliers: vec![1_518_500_250; cols],
            exponents: vec![-7; cols],
            scales: vec![0.01; cols],
            tensor: vec![9; len],
        };
        let mut sums = None;
        for (name, stages, to) in parameters.pipelines() {
            let seconds = fastest(&mut group, BenchmarkId::from_parameter(name), || {
                let (shape, cast) = ((rows, cols), Cast::Saturating);
                let store = match to {
                    To::I32 => Store::I32(Output::new(&mut i32s, shape, cols)),
                    To::U8 => Store::U8(Output::new(&mut u8s, shape, cols), cast),
                    To::I16 => Store::I16(Output::new(&mut i16s, shape, cols), cast),
                    To::F32 => Store::F32(Output::new(&mut f32s, shape, cols)),
                };
                gemm(&context, &lhs, &rhs, &Finish::new(&stages, store)).expect("memory");
            });
            let Some(seconds) = seconds else { continue };
            let beside = seconds - *sums.get_or_insert(seconds);
            let stored = (len * to.size()) as f64 / seconds;
            println!(
                "{:33.2} results a ns at best, {:+.3} ns each beside the first; stores {:.1} GB/s, {:.0} % of filling",
                len as f64 / seconds * 1e-9,
                beside / len as f64 * 1e9,
                stored * 1e-9,
                100.0 * stored / fill_rate(len * to.size()),
            );
        }
    }
}

criterion_group!(benches, output);
criterion_main!(benches);
