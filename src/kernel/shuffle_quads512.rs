//! Packing groups of four bytes, with vectors of 512 bits.

use super::vector512::{Vector, load, store_bytes};
use crate::pack::TWO_PANELS;
use std::arch::x86_64::*;

/// Which quarters of two vectors `_mm512_shuffle_i32x4` takes: two of the first, then two of the second.
const FIRST_HALVES: i32 = 0b_01_00_01_00;
const SECOND_HALVES: i32 = 0b_11_10_11_10;
const EVEN_QUARTERS: i32 = 0b_10_00_10_00;
const ODD_QUARTERS: i32 = 0b_11_01_11_01;

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
    let pq = _mm512_shuffle_i32x4::<FIRST_HALVES>(p, q);
    let rs = _mm512_shuffle_i32x4::<FIRST_HALVES>(r, s);
    store_groups(to, pq, rs);
    let pq = _mm512_shuffle_i32x4::<SECOND_HALVES>(p, q);
    let rs = _mm512_shuffle_i32x4::<SECOND_HALVES>(r, s);
    store_groups(next, pq, rs);
}

/// Writes four groups of each quarter, in the order of their lines.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_groups(to: &mut [[u8; 4]; TWO_PANELS / 2], x: Vector, y: Vector) {
    let halves = [_mm512_shuffle_i32x4::<EVEN_QUARTERS>(x, y), _mm512_shuffle_i32x4::<ODD_QUARTERS>(x, y)];
    for (to, half) in to.as_flattened_mut().as_chunks_mut().0.iter_mut().zip(halves) {
        store_bytes(to, half);
    }
}
