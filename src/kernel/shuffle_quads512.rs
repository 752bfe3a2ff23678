//! Packing groups of four bytes, with vectors of 512 bits.

use super::vector512::{Vector, load, store_bytes};
use crate::pack::TWO_PANELS;
use std::arch::x86_64::*;

/// Writes the groups of 64 lines at one depth, those of 32 to each panel.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn interleave_two(
    depths: [&[u8; TWO_PANELS]; 4],
    added: u8,
    [to, next]: [&mut [[u8; 4]; TWO_PANELS / 2]; 2],
) {
    let added = _mm512_set1_epi8(added as i8);
    let [a, b, c, d] = depths.map(|depth| _mm512_add_epi8(load(depth), added));
    let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
    // In each quarter four groups, whose lines are 16 after those of the quarter before.
    let [p, q] = [_mm512_unpacklo_epi16(ab, cd), _mm512_unpackhi_epi16(ab, cd)];
    let [r, s] = [_mm512_unpacklo_epi16(ab_high, cd_high), _mm512_unpackhi_epi16(ab_high, cd_high)];
    let (pq, rs) = (first_halves(p, q), first_halves(r, s));
    store_groups(to, [even_quarters(pq, rs), odd_quarters(pq, rs)]);
    let (pq, rs) = (second_halves(p, q), second_halves(r, s));
    store_groups(next, [even_quarters(pq, rs), odd_quarters(pq, rs)]);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn first_halves(x: Vector, y: Vector) -> Vector {
    _mm512_shuffle_i32x4::<0b_01_00_01_00>(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn second_halves(x: Vector, y: Vector) -> Vector {
    _mm512_shuffle_i32x4::<0b_11_10_11_10>(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn even_quarters(x: Vector, y: Vector) -> Vector {
    _mm512_shuffle_i32x4::<0b_10_00_10_00>(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn odd_quarters(x: Vector, y: Vector) -> Vector {
    _mm512_shuffle_i32x4::<0b_11_01_11_01>(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_groups(to: &mut [[u8; 4]; TWO_PANELS / 2], values: [Vector; 2]) {
    for (to, value) in to.as_flattened_mut().as_chunks_mut().0.iter_mut().zip(values) {
        store_bytes(to, value);
    }
}
