//! Packing groups of four bytes, with vectors of 512 bits where there are lines enough.

use super::avx512vnni::dot;
pub(super) use super::shuffle_quads::{interleave, sum_bytes, sum_four, transpose, turn};
use super::vector512::{Vector, load, plus, store as store_sums, store_bytes, zero};
use crate::matrix::Encoding;
use crate::pack::{CHUNK, DEPTHS, TWO_PANELS};
use std::arch::x86_64::*;
use std::ops::Range;

/// Which quarters of two vectors `_mm512_shuffle_i32x4` takes: two of the first, then two of the second.
const FIRST_HALVES: i32 = 0b_01_00_01_00;
const SECOND_HALVES: i32 = 0b_11_10_11_10;
const EVEN_QUARTERS: i32 = 0b_10_00_10_00;
const ODD_QUARTERS: i32 = 0b_11_01_11_01;

/// Writes the groups of all lines at one depth to their panels of 32, `pitch` groups from one to the next. Lines that are not
/// there become 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn interleave_panels(depths: [&[u8]; 4], added: u8, to: &mut [[u8; 4]], pitch: usize) {
    let [a, b, c, d] = depths;
    // Said once, so that the compiler knows it of all of them.
    let count = a.len();
    let (b, c, d) = (&b[..count], &c[..count], &d[..count]);
    let added = _mm512_set1_epi8(added as i8);
    let mut panels = to.chunks_mut(pitch);
    for from in (0..count).step_by(TWO_PANELS) {
        let (a, b, c, d) = (&a[from..], &b[from..], &c[from..], &d[from..]);
        let [a, b, c, d] = match (a.first_chunk(), b.first_chunk(), c.first_chunk(), d.first_chunk()) {
            (Some(a), Some(b), Some(c), Some(d)) => [
                _mm512_add_epi8(load(a), added),
                _mm512_add_epi8(load(b), added),
                _mm512_add_epi8(load(c), added),
                _mm512_add_epi8(load(d), added),
            ],
            _ => [load_some(a, added), load_some(b, added), load_some(c, added), load_some(d, added)],
        };
        let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
        // In each quarter four groups, whose lines are 16 after those of the quarter before.
        let [p, q] = [_mm512_unpacklo_epi16(ab, cd), _mm512_unpackhi_epi16(ab, cd)];
        let [r, s] = [_mm512_unpacklo_epi16(ab_high, cd_high), _mm512_unpackhi_epi16(ab_high, cd_high)];
        if let Some(panel) = panels.next() {
            let pq = _mm512_shuffle_i32x4::<FIRST_HALVES>(p, q);
            let rs = _mm512_shuffle_i32x4::<FIRST_HALVES>(r, s);
            store_groups(panel, pq, rs);
        }
        if let Some(panel) = panels.next() {
            let pq = _mm512_shuffle_i32x4::<SECOND_HALVES>(p, q);
            let rs = _mm512_shuffle_i32x4::<SECOND_HALVES>(r, s);
            store_groups(panel, pq, rs);
        }
    }
}

/// No more than 64 bytes, each plus `added`, and 0 where there is none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_some(bytes: &[u8], added: Vector) -> Vector {
    let mask = u64::MAX.unbounded_shr(64 - bytes.len() as u32);
    // SAFETY: the mask has bits for bytes that the slice covers, and nothing else is read.
    let bytes = unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) };
    _mm512_maskz_add_epi8(mask, bytes, added)
}

/// Writes four groups of each quarter, in the order of their lines.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_groups(panel: &mut [[u8; 4]], x: Vector, y: Vector) {
    let groups = &mut panel[..TWO_PANELS / 2];
    let halves = [_mm512_shuffle_i32x4::<EVEN_QUARTERS>(x, y), _mm512_shuffle_i32x4::<ODD_QUARTERS>(x, y)];
    for (to, half) in groups.as_flattened_mut().as_chunks_mut().0.iter_mut().zip(halves) {
        store_bytes(to, half);
    }
}

/// Writes the groups of up to 16 lines over some depths, 64 of them or fewer, `pitch` groups from one depth to the next. Lines
/// that are not there become 0, as do depths up to a whole group.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn transpose_sixteen(lines: &[&[u8]], depths: Range<usize>, added: u8, to: &mut [[u8; 4]], pitch: usize) {
    let added = _mm512_set1_epi8(added as i8);
    let mut rows = [zero(); CHUNK];
    match lines.first_chunk::<CHUNK>() {
        Some(lines) if depths.len() == DEPTHS => {
            for (row, line) in rows.iter_mut().zip(lines) {
                *row = _mm512_add_epi8(load(line[depths.start..].first_chunk().expect("64 depths")), added);
            }
        }
        _ => {
            for (row, line) in rows.iter_mut().zip(lines) {
                *row = load_some(&line[depths.clone()], added);
            }
        }
    }
    let groups = depths.len().div_ceil(4);
    let [a, b, c, d] = *rows.as_chunks().0 else { unreachable!("16 lines are four times four") };
    let fours = [transposed(a), transposed(b), transposed(c), transposed(d)];
    for i in 0..4 {
        let [a, b, c, d] = fours.map(|four| four[i]);
        let ab = _mm512_shuffle_i32x4::<FIRST_HALVES>(a, b);
        let cd = _mm512_shuffle_i32x4::<FIRST_HALVES>(c, d);
        let ab_high = _mm512_shuffle_i32x4::<SECOND_HALVES>(a, b);
        let cd_high = _mm512_shuffle_i32x4::<SECOND_HALVES>(c, d);
        let four = [
            _mm512_shuffle_i32x4::<EVEN_QUARTERS>(ab, cd),
            _mm512_shuffle_i32x4::<ODD_QUARTERS>(ab, cd),
            _mm512_shuffle_i32x4::<EVEN_QUARTERS>(ab_high, cd_high),
            _mm512_shuffle_i32x4::<ODD_QUARTERS>(ab_high, cd_high),
        ];
        for (quarter, sixteen) in four.into_iter().enumerate() {
            let depth = 4 * quarter + i;
            if depth < groups {
                let to: &mut [[u8; 4]; CHUNK] = to[depth * pitch..].first_chunk_mut().expect("16 groups");
                store_bytes(to.as_flattened_mut().first_chunk_mut().expect("64 bytes"), sixteen);
            }
        }
    }
}

/// In each quarter of the vectors, the 4 × 4 matrix of groups, transposed.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab, cd),
        _mm512_unpackhi_epi64(ab, cd),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Adds the numbers of each line of a panel to the line's sum.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn add_sums<const W: usize>(groups: &[[u8; 4]], encoding: Encoding, sums: &mut [i32; W]) {
    match encoding {
        Encoding::U8 => add_dots::<W, false>(groups, sums),
        Encoding::S8 => add_dots::<W, true>(groups, sums),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn add_dots<const W: usize, const SIGNED: bool>(groups: &[[u8; 4]], sums: &mut [i32; W]) {
    for (column, sums) in sums.as_chunks_mut().0.iter_mut().enumerate() {
        // Two sums of each line, for one would wait for itself.
        let [mut even, mut odd] = [zero(); 2];
        for two in groups.as_chunks::<W>().0.chunks(2) {
            even = add_group::<W, SIGNED>(even, &two[0], column);
            if let Some(group) = two.get(1) {
                odd = add_group::<W, SIGNED>(odd, group, column);
            }
        }
        store_sums(sums, plus(even, odd), false);
    }
}

/// Sums of 16 lines, and what one group of each adds.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn add_group<const W: usize, const SIGNED: bool>(sums: Vector, group: &[[u8; 4]; W], column: usize) -> Vector {
    let bytes = group.as_chunks::<CHUNK>().0[column].as_flattened().first_chunk().expect("16 groups");
    dot::<SIGNED>(sums, load(bytes), _mm512_set1_epi8(1))
}
