//! Products of a few lines with weights that are packed in 8 bits and in fewer: time, and bytes that a weight takes. On one
//! thread; QGEMM_ISA chooses the kernel. The weights come from memory: every product has the next of so many copies that no
//! cache holds them. The forms take turns, and medians are compared.

#[path = "call/raw.rs"]
mod raw;

use qgemm::*;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

const COLS: usize = 4096;
const DEPTH: usize = 4096;

/// Bytes of all copies of one form.
const COPIES_LEN: usize = 128 << 20;
const ROUNDS: usize = 41;

/// The same weights, packed in so many bits, with a scale for each group if there are any.
struct Form {
    bits: u32,
    group_size: usize,
    size: usize,
    copies: Vec<*mut PackedHandle>,
    next: usize,
}

impl Form {
    fn new(bits: u32, group_size: usize) -> Self {
        let codes: Vec<u8> = (0..COLS * DEPTH).map(|i| ((i.wrapping_mul(i) >> 5) as u8) >> (8 - bits)).collect();
        let scales = vec![0.01; if group_size == 0 { 0 } else { COLS * DEPTH.div_ceil(group_size) }];
        let weights = raw::operand(&codes, DEPTH, COLS);
        let options = PackOptions {
            bits,
            group_size,
            scales: if group_size == 0 { null() } else { scales.as_ptr() },
            ..raw::pack_options(QGEMM_RHS)
        };
        let mut size = 0;
        // SAFETY: codes and scales are as many as the sizes say.
        assert_eq!(unsafe { qgemm_pack_size(&weights, &options, &mut size) }, Status::Ok);
        let copy = || {
            let mut packed = null_mut();
            // SAFETY: as above.
            assert_eq!(unsafe { qgemm_pack(&weights, &options, &mut packed) }, Status::Ok);
            packed
        };
        let copies = (0..COPIES_LEN.div_ceil(size)).map(|_| copy()).collect();
        Self { bits, group_size, size, copies, next: 0 }
    }

    fn multiply(&mut self, rows: usize, lines: &[u8], result: &mut [u32]) -> Duration {
        self.next = (self.next + 1) % self.copies.len();
        let lhs = raw::operand(lines, rows, DEPTH);
        let rhs = raw::packed(self.copies[self.next]);
        let r#type = if self.group_size == 0 { QGEMM_TYPE_S32 } else { QGEMM_TYPE_F32 };
        let result = raw::result(result, r#type, rows, COLS);
        let begin = Instant::now();
        // SAFETY: all have the sizes that they say.
        let status = unsafe { qgemm_gemm(null(), &lhs, &rhs, &result, null(), 0, null()) };
        let time = begin.elapsed();
        assert_eq!(status, Status::Ok);
        time
    }
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn main() {
    let kinds = [(8, 0), (7, 0), (6, 0), (5, 0), (4, 0), (3, 0), (2, 0), (1, 0), (8, 32), (4, 32), (4, 128)];
    let mut forms = kinds.map(|(bits, group_size)| Form::new(bits, group_size));
    let lines: Vec<u8> = (0..16 * DEPTH).map(|i| (i * 7) as u8).collect();
    let mut result = vec![0; 16 * COLS];
    println!("kernel {}; {COLS} x {DEPTH} weights", Kernel::chosen().expect("a kernel").name);
    println!("rows  bits  group  bytes/weight      ms  GB/s  times as fast as 8 bits");
    for rows in [1, 4, 16] {
        let mut times = kinds.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for (form, times) in forms.iter_mut().zip(&mut times) {
                times.push(form.multiply(rows, &lines, &mut result));
            }
        }
        let medians = times.map(|mut times| median(&mut times));
        for (form, time) in forms.iter().zip(medians) {
            println!(
                "{rows:4}  {:4}  {:5}  {:12.3}  {:6.3}  {:4.1}  {:.2}",
                form.bits,
                form.group_size,
                form.size as f64 / (COLS * DEPTH) as f64,
                time * 1e3,
                form.size as f64 / time / 1e9,
                medians[0] / time
            );
        }
    }
}
