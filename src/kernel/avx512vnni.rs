//! AVX-512 VNNI: `vpdpbusd` multiplies unsigned by signed bytes, four at a time, without saturating.

use super::vector512::{Vector, load, spread, store, zero};
use super::{avx512vnni_few, shuffle_quads};
use std::arch::x86_64::*;

kernel! {
    name: "avx512vnni", features: ["avx512f", "avx512bw", "avx512vl", "avx512vnni"],
    groups: Quads, rows: 6, width: 64, tile: tile, shuffle: shuffle_quads, few_lines: avx512vnni_few,
}

// 6 × 64 accumulators: 24 registers, 4 for the panel, 1 for a line.
vector_tile! {
    features: ["avx512f", "avx512bw", "avx512vl", "avx512vnni"], lanes: 16, group: 4,
    rows: [1 2 3 4 5 6], vectors: [1 2 3 4] of 64,
}

/// `vpdpbusd` takes the unsigned bytes first.
#[inline]
#[target_feature(enable = "avx512f", enable = "avx512vnni")]
pub(super) fn dot<const SIGNED: bool>(c: Vector, a: Vector, b: Vector) -> Vector {
    if SIGNED { _mm512_dpbusd_epi32(c, b, a) } else { _mm512_dpbusd_epi32(c, a, b) }
}
