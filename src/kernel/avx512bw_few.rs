//! AVX-512BW without VNNI, for few lines: as AVX2, on 512 bits.

use super::avx512bw::dot;
use super::vector256::prefetch;
use super::vector512::{Vector, add_totals, load, resume, spread, store, zero};
use std::arch::x86_64::*;

// 24 accumulators at most, as many registers for the operand as lines, 1 for a few line.
few_lines! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"], lanes: 16, group: 2, columns: 32,
    rows: [1 2 3 4 5 6] by 4, packed: [0..0, 0..0],
}

along_lines! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"], lanes: 16, group: 2, columns: 32, runs: 8,
    strips: [1 2 3 4],
}

/// There are registers enough, in whatever order they are computed.
#[inline(always)]
fn settled(sums: Vector) -> Vector {
    sums
}

#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(bytes: &[u8; 64]) -> Vector {
    load(bytes)
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn wide<const UNSIGNED: bool>(bytes: &[u8; 32]) -> Vector {
    widened::<UNSIGNED>(half(bytes))
}

/// Pairs of 32 lines: the first and third eight of them, then the second and fourth.
#[inline]
#[target_feature(enable = "avx512bw")]
fn columns<const UNSIGNED: bool>([a, b]: [&[u8; 32]; 2]) -> [Vector; 2] {
    let (a, b) = (half(a), half(b));
    [widened::<UNSIGNED>(_mm256_unpacklo_epi8(a, b)), widened::<UNSIGNED>(_mm256_unpackhi_epi8(a, b))]
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn in_order(sums: &mut [i32; 32]) {
    sums.as_chunks_mut::<8>().0.swap(1, 2);
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn half(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the reference covers the 32 bytes read.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn widened<const UNSIGNED: bool>(bytes: __m256i) -> Vector {
    if UNSIGNED { _mm512_cvtepu8_epi16(bytes) } else { _mm512_cvtepi8_epi16(bytes) }
}
