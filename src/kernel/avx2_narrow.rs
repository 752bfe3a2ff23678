//! AVX2, for small numbers: sums of 16 bits take half as long.

use super::shuffle_quads;
use super::vector256::{Vector, plus, put, resume, spread, store, zero};
use std::arch::x86_64::*;

kernel! {
    name: "avx2-narrow", features: ["avx2", "fma"],
    groups: Quads, rows: 6, width: 16, tile: tile, writes: sums, shuffle: shuffle_quads,
}

// 6 × 16 accumulators of two 16-bit sums: 12 registers, 2 for the panel, 1 for a line, 1 for the products.
narrow_tile! {
    features: ["avx2"], lanes: 8,
    rows: [1 2 3 4 5 6], vectors: [1 2] of 16,
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> Vector {
    super::vector256::load(bytes, 0)
}

/// `vpmaddubsw` takes the unsigned bytes first.
#[inline]
#[target_feature(enable = "avx2")]
fn products<const SIGNED: bool>(a: Vector, b: Vector) -> Vector {
    if SIGNED { _mm256_maddubs_epi16(b, a) } else { _mm256_maddubs_epi16(a, b) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(c: Vector, products: Vector) -> Vector {
    _mm256_add_epi16(c, products)
}

/// Adds neighbours in 32 bits, `weight` times.
#[inline]
#[target_feature(enable = "avx2")]
fn widen(sum: Vector, c: Vector, weight: i16) -> Vector {
    _mm256_add_epi32(sum, _mm256_madd_epi16(c, _mm256_set1_epi16(weight)))
}
