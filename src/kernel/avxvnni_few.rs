//! AVX-VNNI, for few lines.

use super::vector256::{Vector, add_totals, load, prefetch, resume, settled, spread, store, zero};
use std::arch::x86_64::*;

// 12 accumulators at most, 2 registers for the operand, 1 for a few line.
few_lines! {
    features: ["avx2", "avxvnni"], lanes: 8, group: 4, columns: 32,
    rows: [1 2 3 4 5 6] by 2, packed: [32..97, 0..129],
}

along_lines! {
    features: ["avx2", "avxvnni"], lanes: 8, group: 4, columns: 32, runs: 16,
    strips: [1 2],
}

/// `vpdpbusd` takes the unsigned bytes first.
#[inline]
#[target_feature(enable = "avx2", enable = "avxvnni")]
fn dot<const SIGNED: bool>(c: Vector, a: Vector, b: Vector) -> Vector {
    if SIGNED { _mm256_dpbusd_avx_epi32(c, b, a) } else { _mm256_dpbusd_avx_epi32(c, a, b) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(bytes: &[u8; 32]) -> Vector {
    load(bytes, 0)
}

/// The encoding of the few lines is the other one: there is nothing to widen.
#[inline]
#[target_feature(enable = "avx2")]
fn wide<const UNSIGNED: bool>(bytes: &[u8; 32]) -> Vector {
    load(bytes, 0)
}

/// Groups of 32 lines: of each 16, four to a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn columns<const UNSIGNED: bool>([a, b, c, d]: [&[u8; 32]; 4]) -> [Vector; 4] {
    let (a, b, c, d) = (load(a, 0), load(b, 0), load(c, 0), load(d, 0));
    let (ab, cd) = (_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d));
    [
        _mm256_unpacklo_epi16(ab, cd),
        _mm256_unpackhi_epi16(ab, cd),
        _mm256_unpacklo_epi16(ab_high, cd_high),
        _mm256_unpackhi_epi16(ab_high, cd_high),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn in_order(sums: &mut [i32; 32]) {
    super::few_lines::sixteens(sums);
}
