//! Products of a few lines: bytes of weights that they take in a second, and what share that is of what the processor reads;
//! and GOPS, and what share those are of what its instructions do in registers.
//! On one thread; QGEMM_ISA chooses the kernel. `few_lines ROWS COLS DEPTH...` measures other shapes.
//!
//! Warm, the weights are the same in every call; cold, a call has the next of so many copies that no cache holds them. The
//! forms of the weights and the mere reading take turns, and the fastest tenth of each counts.

#[path = "limit/memory.rs"]
mod memory;
#[path = "call/raw.rs"]
mod raw;
#[path = "limit/registers.rs"]
mod registers;

use qgemm::*;
use registers::Limit;
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Instant;

/// Rows, columns, depth. Where there are fewer columns than rows, the weights are on the left.
const SHAPES: [(usize, usize, usize); 11] = [
    (1, 1000, 1024),
    (1, 4096, 4096),
    (2, 4096, 4096),
    (4, 4096, 4096),
    (8, 4096, 4096),
    (16, 4096, 4096),
    (16, 1024, 1024),
    (32, 4096, 4096),
    (1000, 1, 1024),
    (4096, 1, 4096),
    (4096, 4, 4096),
];

/// Bytes of all copies of cold weights.
const COPIES_LEN: usize = 96 << 20;

/// Seconds that one form of one shape takes at most, about.
const SECONDS: f64 = 0.3;

/// How the weights lie.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Packed,
    /// Each line's depth runs contiguously: N × K weights on the right.
    AlongDepth,
    /// All lines' numbers at one depth do: K × N weights on the right.
    AlongLines,
    /// Only read, as fast as it goes.
    Read,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Packed => "packed",
            Form::AlongDepth => "along depth",
            Form::AlongLines => "along lines",
            Form::Read => "read",
        }
    }
}

fn operand(data: &[u8], rows: usize, cols: usize, order: u32) -> RawOperand {
    RawOperand { order, offset: raw::uniform(-131), ..raw::operand(data, rows, cols) }
}

/// One shape, whose weights lie in one form.
struct Product {
    shape: (usize, usize, usize),
    form: Form,
    copies: Vec<Vec<u8>>,
    packed: Vec<*mut PackedHandle>,
    next: usize,
}

impl Product {
    fn new(shape: (usize, usize, usize), form: Form, is_cold: bool) -> Self {
        let (rows, cols, depth) = shape;
        let len = rows.max(cols) * depth;
        let count = if is_cold { COPIES_LEN.div_ceil(len) } else { 1 };
        let weights = || (0..len).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect::<Vec<_>>();
        let mut product = Self { shape, form, copies: Vec::new(), packed: Vec::new(), next: 0 };
        match form {
            Form::Packed => product.packed = (0..count).map(|_| product.pack(&weights())).collect(),
            _ => product.copies = (0..count).map(|_| weights()).collect(),
        }
        product
    }

    fn is_left(&self) -> bool {
        self.shape.0 > self.shape.1
    }

    /// The weights as an operand.
    fn weights(&self, data: &[u8]) -> RawOperand {
        let (rows, cols, depth) = self.shape;
        match (self.is_left(), self.form) {
            (true, Form::AlongLines) => operand(data, rows, depth, QGEMM_COL_MAJOR),
            (true, _) => operand(data, rows, depth, QGEMM_ROW_MAJOR),
            (false, Form::AlongLines) => operand(data, depth, cols, QGEMM_ROW_MAJOR),
            (false, _) => operand(data, depth, cols, QGEMM_COL_MAJOR),
        }
    }

    fn pack(&self, data: &[u8]) -> *mut PackedHandle {
        let options = raw::pack_options(if self.is_left() { QGEMM_LHS } else { QGEMM_RHS });
        let mut packed = null_mut();
        // SAFETY: the data are as many as the sizes say.
        assert_eq!(unsafe { qgemm_pack(&self.weights(data), &options, &mut packed) }, Status::Ok);
        packed
    }

    /// The seconds of one call.
    fn seconds(&mut self, lines: &[u8], result: &mut [u32]) -> f64 {
        let (rows, cols, depth) = self.shape;
        self.next = (self.next + 1) % self.copies.len().max(self.packed.len());
        if self.form == Form::Read {
            let begin = Instant::now();
            black_box(memory::read(&self.copies[self.next]));
            return begin.elapsed().as_secs_f64();
        }
        let weights = match self.form {
            Form::Packed => RawOperand { offset: raw::uniform(-131), ..raw::packed(self.packed[self.next]) },
            _ => self.weights(&self.copies[self.next]),
        };
        let (lhs, rhs) = match self.is_left() {
            true => (weights, operand(lines, depth, cols, QGEMM_COL_MAJOR)),
            false => (operand(lines, rows, depth, QGEMM_ROW_MAJOR), weights),
        };
        let result = raw::result(result, QGEMM_TYPE_S32, rows, cols);
        let begin = Instant::now();
        // SAFETY: all have the sizes that they say.
        let status = unsafe { qgemm_gemm(null(), &lhs, &rhs, &result, null(), 0, null()) };
        let seconds = begin.elapsed().as_secs_f64();
        assert_eq!(status, Status::Ok);
        seconds
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // SAFETY: each is freed once.
        self.packed.iter().for_each(|&packed| unsafe { qgemm_packed_free(packed) });
    }
}

fn measure(shape: (usize, usize, usize), limit: &Limit) {
    let (rows, cols, depth) = shape;
    let (few, many) = (rows.min(cols), rows.max(cols));
    let lines: Vec<u8> = (0..few * depth).map(|i| (i * 7) as u8).collect();
    let mut result = vec![0; rows * cols];
    for is_cold in [false, true] {
        let forms = [Form::Read, Form::Packed, Form::AlongDepth, Form::AlongLines];
        let mut products = forms.map(|form| Product::new(shape, form, is_cold));
        let mut times = forms.map(|_| Vec::new());
        let begin = Instant::now();
        while times[0].len() < 10 || begin.elapsed().as_secs_f64() < SECONDS * forms.len() as f64 {
            for (product, times) in products.iter_mut().zip(&mut times) {
                if !is_cold {
                    // The other forms have taken the place of these weights in the caches.
                    product.seconds(&lines, &mut result);
                }
                times.push(product.seconds(&lines, &mut result));
            }
        }
        let rates = times.map(|mut times| {
            times.sort_unstable_by(f64::total_cmp);
            (many * depth) as f64 / times[times.len() / 10] / 1e9
        });
        for (form, rate) in forms.iter().zip(rates) {
            let gops = rate * 2.0 * few as f64;
            let share = if *form == Form::Read { String::new() } else { format!("{gops:6.1}  {}", limit.share(gops)) };
            println!(
                "{:>14}  {}  {:>11}  {rate:6.1}  {:8.0} %  {share}",
                format!("{rows}x{cols}x{depth}"),
                if is_cold { "cold" } else { "warm" },
                form.name(),
                rate / rates[0] * 100.0,
            );
        }
    }
}

fn main() {
    let kernel = Kernel::chosen().expect("a kernel");
    let limit = Limit::of(kernel);
    println!("kernel {}", kernel.name);
    println!("         shape               weights    GB/s  of reading    GOPS   of the instructions' limit");
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    let shapes: Vec<_> = sizes.as_chunks::<3>().0.iter().map(|&[rows, cols, depth]| (rows, cols, depth)).collect();
    (if shapes.is_empty() { &SHAPES[..] } else { &shapes }).iter().for_each(|&shape| measure(shape, &limit));
}
