//! AVX2, for few lines.

use super::vector256::{Vector, add_totals, load, prefetch, resume, settled, spread, store, zero};
use std::arch::x86_64::*;

// 10 accumulators at most, 2 registers for the operand, 1 for a few line.
few_lines! {
    features: ["avx2"], lanes: 8, group: 2, columns: 16,
    rows: [1 2 3 4 5] by 2, packed: [0..0, 0..0],
}

along_lines! {
    features: ["avx2"], lanes: 8, group: 2, columns: 16, runs: 8,
    strips: [1 2 3 4],
}

/// The encoding of the LHS was dissolved when it was widened.
#[inline]
#[target_feature(enable = "avx2")]
fn dot<const SIGNED: bool>(c: Vector, a: Vector, b: Vector) -> Vector {
    _mm256_add_epi32(c, _mm256_madd_epi16(a, b))
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(bytes: &[u8; 32]) -> Vector {
    load(bytes, 0)
}

#[inline]
#[target_feature(enable = "avx2")]
fn wide<const UNSIGNED: bool>(bytes: &[u8; 16]) -> Vector {
    widened::<UNSIGNED>(half(bytes))
}

/// Pairs of 16 lines.
#[inline]
#[target_feature(enable = "avx2")]
fn columns<const UNSIGNED: bool>([a, b]: [&[u8; 16]; 2]) -> [Vector; 2] {
    let (a, b) = (half(a), half(b));
    [widened::<UNSIGNED>(_mm_unpacklo_epi8(a, b)), widened::<UNSIGNED>(_mm_unpackhi_epi8(a, b))]
}

#[inline]
#[target_feature(enable = "avx2")]
fn in_order(_: &mut [i32; 16]) {}

#[inline]
#[target_feature(enable = "avx2")]
fn half(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn widened<const UNSIGNED: bool>(bytes: __m128i) -> Vector {
    if UNSIGNED { _mm256_cvtepu8_epi16(bytes) } else { _mm256_cvtepi8_epi16(bytes) }
}
