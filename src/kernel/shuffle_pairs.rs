//! Packing groups of two bytes, with vectors.

pub(super) use super::shuffle_quads::sum_four;
use super::vector256::{add_neighbours, load, store as store_sums, transposed, zero};
pub(super) use super::vector256::{sum_bytes, turn};
use crate::matrix::Encoding;
use crate::pack::{CHUNK, LINES, STRETCH};
use std::arch::x86_64::*;

/// Writes the 16 groups of 8 lines at 16 depths, `pitch` groups from one depth to the next.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose(lines: [&[u8; STRETCH]; LINES], added: u8, to: &mut [[u8; 2]], pitch: usize) {
    let [a, b, c, d, e, f, g, h] = lines.map(|line| load(line, added));
    let low = [(a, b), (c, d), (e, f), (g, h)].map(|(x, y)| _mm256_unpacklo_epi16(x, y));
    let high = [(a, b), (c, d), (e, f), (g, h)].map(|(x, y)| _mm256_unpackhi_epi16(x, y));
    // Said once, so that the compiler sees it 16 times.
    let to = &mut to[..15 * pitch + LINES];
    let (near, far) = to.split_at_mut(8 * pitch);
    let groups = [transposed(low), transposed(high)];
    for (i, group) in groups.as_flattened().iter().enumerate() {
        store(near[i * pitch..].as_flattened_mut(), _mm256_castsi256_si128(*group));
        store(far[i * pitch..].as_flattened_mut(), _mm256_extracti128_si256::<1>(*group));
    }
}

/// Writes the groups of 16 lines at one depth.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn interleave(depths: [&[u8; CHUNK]; 2], added: u8, to: &mut [[u8; 2]]) {
    let [a, b] = depths.map(|depth| load_half(depth, added));
    store(to.as_flattened_mut(), _mm_unpacklo_epi8(a, b));
    store(to[8..].as_flattened_mut(), _mm_unpackhi_epi8(a, b));
}

/// Writes the groups of 32 lines at one depth, 16 to each place.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn interleave_two(depths: [&[u8; 2 * CHUNK]; 2], added: u8, [left, right]: [&mut [[u8; 2]]; 2]) {
    let (left, right) = (left.as_flattened_mut(), right.as_flattened_mut());
    let [a, b] = depths.map(|depth| load(depth, added));
    for (i, groups) in [_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)].into_iter().enumerate() {
        store(&mut left[16 * i..], _mm256_castsi256_si128(groups));
        store(&mut right[16 * i..], _mm256_extracti128_si256::<1>(groups));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_half(bytes: &[u8; CHUNK], added: u8) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read.
    let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm_add_epi8(bytes, _mm_set1_epi8(added as i8))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(to: &mut [u8], value: __m128i) {
    let to: &mut [u8; 16] = to.first_chunk_mut().expect("room for 16 bytes");
    // SAFETY: the reference covers the 16 bytes written.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), value) }
}

/// Adds the numbers of each line of a panel, over no more than 64 groups, to the line's sum.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_sums<const W: usize>(groups: &[[u8; 2]], encoding: Encoding, sums: &mut [i32; W]) {
    for (column, sums) in sums.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let mut short = zero();
        for group in groups.as_chunks::<W>().0 {
            let lines = group.as_chunks::<16>().0[column].as_flattened().first_chunk().expect("16 lines");
            short = _mm256_add_epi16(short, add_neighbours(load(lines, 0), encoding));
        }
        let [low, high] = sums.as_chunks_mut().0 else { unreachable!("16 sums") };
        store_sums(low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(short)), false);
        store_sums(high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(short)), false);
    }
}
