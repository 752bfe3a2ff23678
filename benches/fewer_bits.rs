//! Products with fewer than 8 bits beside the exact one: how many times as fast, packing and scaling back included. On one
//! thread; QGEMM_ISA chooses the kernel. The ways take turns, and medians of processor time are compared.

use qgemm::*;

const ROUNDS: usize = 21;

/// Processor time of this thread, in seconds.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for what it writes.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut x = seed;
    let mut next = || {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (x >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn main() {
    let modes = [RoundingMode::Nearest, RoundingMode::AddMod, RoundingMode::Compensated];
    let narrow = modes.iter().flat_map(|&mode| [(7, 5), (4, 4)].map(|bits| (bits, mode)));
    let ways: Vec<_> = std::iter::once(((8, 8), RoundingMode::Nearest)).chain(narrow).collect();
    let kernel = Kernel::chosen().expect("a kernel");
    let context = Context::new(kernel, 1);
    println!("kernel {}; u8 x u8 to u8, zero points on both sides, both row-major", kernel.name);
    println!("   size  lhs x rhs bits, rounding     ms   GOPS  times as fast as 8 x 8");
    for size in [256, 512, 768, 1024, 2048] {
        let (lhs, rhs, mut result) = (bytes(size * size, 1), bytes(size * size, 2), vec![0; size * size]);
        let mut times = vec![Vec::new(); ways.len()];
        for _ in 0..ROUNDS {
            for (&((lhs_bits, rhs_bits), mode), times) in ways.iter().zip(&mut times) {
                let side = |data, order, offset| {
                    Factor::new(Operand::new(data, (size, size), size, order, Encoding::U8), Offset::Uniform(offset))
                };
                let lhs = side(&lhs, Order::DepthContiguous, -84);
                let rhs = side(&rhs, Order::LineContiguous, -3);
                let depths = BitDepths { below: mode, from: mode, always: true, ..BitDepths::new(lhs_bits, rhs_bits) };
                let [lhs, rhs] = depths.apply(lhs, rhs);
                let stages = [Stage::QuantizeDown(QuantizeDown {
                    offset: Values::Uniform(5),
                    multiplier: Values::Uniform(3),
                    shift: Values::Uniform(14),
                })];
                let store = Store::U8(Output::new(&mut result, (size, size), size), Cast::Saturating);
                let begin = now();
                gemm(&context, &lhs, &rhs, &Finish::new(&stages, store)).expect("memory");
                times.push(now() - begin);
            }
        }
        let medians: Vec<f64> = times.into_iter().map(median).collect();
        for (((lhs, rhs), mode), time) in ways.iter().zip(&medians) {
            let gops = 2.0 * (size as f64).powi(3) / time / 1e9;
            let name = format!("{lhs} x {rhs}, {mode:?}");
            println!("{size:7}  {name:<24}  {:7.3}  {gops:5.0}  {:.2}", time * 1e3, medians[0] / time);
        }
    }
}
