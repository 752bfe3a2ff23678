//! AVX-VNNI: `vpdpbusd` in its VEX form, on 256 bits, for processors without AVX-512.

use super::vector256::{Vector, plus, put, resume, spread, store, zero};
use super::{avxvnni_few, shuffle_quads};
use std::arch::x86_64::*;

kernel! {
    name: "avxvnni", features: ["avx2", "avxvnni"], groups: FreeQuads, rows: 6, width: 16, tile: tile, writes: sums, takes: windows,
    shuffle: shuffle_quads, few_lines: avxvnni_few,
}

// 6 × 16 accumulators: 12 registers, 2 for the panel, 1 for a line.
vector_tile! {
    features: ["avx2", "avxvnni"], lanes: 8, group: 4,
    rows: [1 2 3 4 5 6], vectors: [1 2] of 16, apart: 3, turns_by: _mm256_xor_si256,
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> Vector {
    // SAFETY: the reference covers the 32 bytes read.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// `vpdpbusd` takes the unsigned bytes first.
#[inline]
#[target_feature(enable = "avx2", enable = "avxvnni")]
pub(super) fn dot<const SIGNED: bool>(c: Vector, a: Vector, b: Vector) -> Vector {
    if SIGNED { _mm256_dpbusd_avx_epi32(c, b, a) } else { _mm256_dpbusd_avx_epi32(c, a, b) }
}
