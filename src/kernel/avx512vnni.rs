//! AVX-512 VNNI: `vpdpbusd` multiplies unsigned by signed bytes, four at a time, without saturating.

use super::vector512::{Vector, load, plus, put, resume, spread, store, zero};
use super::{avx512vnni_few, avx512vnni_relay, avx512vnni_sums, shuffle_quads512, tiny};
use std::arch::x86_64::*;

kernel! {
    name: "avx512vnni", features: ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"],
    groups: FreeQuads, rows: 12, width: 32, tile: tile, writes: sums, takes: Windows,
    shuffle: shuffle_quads512, wide: shuffle_quads512, few_lines: avx512vnni_few,
    tiny: tiny::avx512::vnni::WAY,
    sums: avx512vnni_sums::multiply, floats: avx512vnni_sums::floats, relay: avx512vnni_relay,
}

// 12 × 32 accumulators: 24 registers, 2 for the panel, 1 for a line. So a panel of 1024 depths stays in the L1.
vector_tile! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"], lanes: 16, group: 4,
    rows: [1 2 3 4 5 6 7 8 9 10 11 12], vectors: [1 2] of 32, apart: 4, ahead: 8192, turns_by: _mm512_xor_si512,
}

/// `vpdpbusd` takes the unsigned bytes first.
#[inline]
#[target_feature(enable = "avx512f", enable = "avx512vnni")]
pub(super) fn dot<const SIGNED: bool>(c: Vector, a: Vector, b: Vector) -> Vector {
    if SIGNED { _mm512_dpbusd_epi32(c, b, a) } else { _mm512_dpbusd_epi32(c, a, b) }
}
