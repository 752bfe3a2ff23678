//! GB/s of packing apart from any product: both sides, from both storage orders, each with the flip of the sign that u8 × u8
//! needs and with the sums of the lines; and what share that is of the speed of a plain copy in the same run.
//!
//! The contenders take turns, and the best of their times are compared.

use qgemm::{Encoding, Kernel, Operand, Order};
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 4] = [64, 256, 1024, 4096];
const ROUNDS: usize = 15;

/// What is timed at a time, at least: bytes.
const LEAST: usize = 1 << 18;

/// A way of reading the source, and the best time of a round.
struct Contender<'a> {
    name: String,
    run: Box<dyn FnMut() + 'a>,
    best: Duration,
}

impl<'a> Contender<'a> {
    fn new(name: String, run: impl FnMut() + 'a) -> Self {
        Self { name, run: Box::new(run), best: Duration::MAX }
    }

    fn time(&mut self, times: usize) {
        let begin = Instant::now();
        (0..times).for_each(|_| (self.run)());
        self.best = self.best.min(begin.elapsed());
    }
}

fn contenders<'a>(data: &'a [u8], size: usize) -> Vec<Contender<'a>> {
    let mut copy = vec![0; data.len()];
    let mut all = vec![Contender::new("a plain copy".into(), move || {
        black_box(&mut copy).copy_from_slice(black_box(data));
    })];
    let kernels = Kernel::available().flat_map(|kernel| [Some(kernel), kernel.narrow()]).flatten();
    for kernel in kernels {
        for (names, order) in
            [(["rhs n x k", "lhs m x k"], Order::DepthContiguous), (["rhs k x n", "lhs k x m"], Order::LineContiguous)]
        {
            let operand = Operand::new(data, (size, size), size, order, Encoding::U8);
            let (mut bytes, mut sums) = (Vec::new(), Vec::new());
            all.push(Contender::new(format!("{:15} {}", kernel.name, names[0]), move || {
                kernel.pack_whole_rhs(&operand, Encoding::U8, &mut bytes, &mut sums);
                black_box((&bytes, &sums));
            }));
            let (mut bytes, mut sums) = (Vec::new(), Vec::new());
            all.push(Contender::new(format!("{:15} {}", kernel.name, names[1]), move || {
                kernel.pack_whole_lhs(&operand, &mut bytes, &mut sums);
                black_box((&bytes, &sums));
            }));
        }
    }
    all
}

fn main() {
    for size in SIZES {
        let data: Vec<u8> = (0..size * size).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        let mut contenders = contenders(&data, size);
        let times = LEAST.div_ceil(data.len());
        for _ in 0..ROUNDS {
            contenders.iter_mut().for_each(|contender| contender.time(times));
        }
        let copy = contenders[0].best.as_secs_f64();
        println!("{size} x {size}");
        for Contender { name, best, .. } in &contenders {
            let time = best.as_secs_f64();
            let speed = (times * data.len()) as f64 / time / 1e9;
            println!("  {name:25} {speed:6.1} GB/s, {:3.0} % of a copy", copy / time * 100.0);
        }
    }
}
