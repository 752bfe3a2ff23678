//! AVX-512 VNNI, for few lines.

use super::avx512vnni::dot;
use super::shuffle_quads512::unpacked;
use super::vector256::prefetch;
use super::vector512::{Vector, load, resume, spread, store, total, zero};

// 16 accumulators at most, as many registers for the operand as lines, 1 for a few line; of strips 20, so that four lines and the
// sums of columns pass together. Where the depth is contiguous five lines took up to 1.1 of the time.
few_lines! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"], lanes: 16, group: 4, columns: 64, runs: 16,
    rows: [1 2 3 4] by 4, strips: [1 2 3 4 5],
}

#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(bytes: &[u8; 64]) -> Vector {
    load(bytes)
}

/// The encoding of the few lines is the other one: there is nothing to widen.
#[inline]
#[target_feature(enable = "avx512f")]
fn wide<const UNSIGNED: bool>(bytes: &[u8; 64]) -> Vector {
    load(bytes)
}

/// Groups of 64 lines: of each 16, four to a vector.
#[inline]
#[target_feature(enable = "avx512bw")]
fn columns<const UNSIGNED: bool>([a, b, c, d]: [&[u8; 64]; 4]) -> [Vector; 4] {
    unpacked([load(a), load(b), load(c), load(d)])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn in_order(sums: &mut [i32; 64]) {
    super::few_lines::sixteens(sums);
}
