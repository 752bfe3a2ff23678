//! AVX2: numbers of 16 bits, multiplied in pairs, because `vpmaddubsw` on bytes would saturate.

use super::vector256::{Vector, plus, put, resume, spread, store, zero};
use super::{avx2_few, avx2_narrow, shuffle_pairs};
use std::arch::x86_64::*;

kernel! {
    name: "avx2", features: ["avx2"], groups: Pairs, rows: 6, width: 16, tile: tile, writes: sums, takes: windows, shuffle: shuffle_pairs, few_lines: avx2_few,
    narrow: &avx2_narrow::KERNEL,
}

// 6 × 16 accumulators: 12 registers, 2 for the panel, 1 for a line.
vector_tile! {
    features: ["avx2"], lanes: 8, group: 2,
    rows: [1 2 3 4 5 6], vectors: [1 2] of 16,
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 16]) -> Vector {
    // SAFETY: the reference covers the 16 bytes read.
    _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

/// The encoding of the LHS was dissolved when it was widened.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn dot<const SIGNED: bool>(c: Vector, a: Vector, b: Vector) -> Vector {
    _mm256_add_epi32(c, _mm256_madd_epi16(a, b))
}
