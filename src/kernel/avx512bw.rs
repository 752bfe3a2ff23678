//! AVX-512BW without VNNI: as AVX2, on 512 bits.

use super::vector512::{Vector, plus, put, resume, spread, store, zero};
use super::{avx512bw_few, avx512bw_narrow, shuffle_pairs, tiny};
use std::arch::x86_64::*;

kernel! {
    name: "avx512bw", features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"],
    groups: Pairs, rows: 12, width: 32, tile: tile, writes: sums, takes: Windows, shuffle: shuffle_pairs, few_lines: avx512bw_few, narrow: &avx512bw_narrow::KERNEL,
    tiny: tiny::avx512::bw::WAY,
}

// 12 × 32 accumulators: 24 registers, 2 for the panel, 1 for a line.
vector_tile! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"], lanes: 16, group: 2,
    rows: [1 2 3 4 5 6 7 8 9 10 11 12], vectors: [1 2] of 32, ahead: 8192,
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn load(bytes: &[u8; 32]) -> Vector {
    // SAFETY: the reference covers the 32 bytes read.
    _mm512_cvtepi8_epi16(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
}

/// The encoding of the LHS was dissolved when it was widened.
#[inline]
#[target_feature(enable = "avx512bw")]
pub(super) fn dot<const SIGNED: bool>(c: Vector, a: Vector, b: Vector) -> Vector {
    _mm512_add_epi32(c, _mm512_madd_epi16(a, b))
}
