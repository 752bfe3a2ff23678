//! AVX-512BW without VNNI, for small numbers: as AVX2, on 512 bits.

use super::shuffle_quads;
use super::vector512::{Vector, load, plus, put, resume, spread, store, zero};
use std::arch::x86_64::*;

kernel! {
    name: "avx512bw-narrow", features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"],
    groups: Quads, rows: 12, width: 32, tile: tile, writes: sums, shuffle: shuffle_quads,
}

// 12 × 32 accumulators of two 16-bit sums: 24 registers, 2 for the panel, 1 for a line, 1 for the products.
narrow_tile! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"], lanes: 16,
    rows: [1 2 3 4 5 6 7 8 9 10 11 12], vectors: [1 2] of 32,
}

narrow_windows! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"], lanes: 16, width: 32,
}

/// `vpmaddubsw` takes the unsigned bytes first.
#[inline]
#[target_feature(enable = "avx512bw")]
fn products<const SIGNED: bool>(a: Vector, b: Vector) -> Vector {
    if SIGNED { _mm512_maddubs_epi16(b, a) } else { _mm512_maddubs_epi16(a, b) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn add(c: Vector, products: Vector) -> Vector {
    _mm512_add_epi16(c, products)
}

/// Adds neighbours in 32 bits, `weight` times.
#[inline]
#[target_feature(enable = "avx512bw")]
fn widen(sum: Vector, c: Vector, weight: i16) -> Vector {
    _mm512_add_epi32(sum, _mm512_madd_epi16(c, _mm512_set1_epi16(weight)))
}
