//! Packing groups of four bytes, with vectors.

use super::shuffle_pairs::{load_half, store as store_half};
use super::vector256::{Vector, add_neighbours, load, store as store_sums, transposed, zero};
pub(super) use super::vector256::{sum_bytes, turn};
use crate::matrix::Encoding;
use crate::pack::{CHUNK, LINES, STRETCH};
use std::arch::x86_64::*;

/// Writes the groups of 8 lines at 8 depths, `pitch` groups from one depth to the next.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose(lines: [&[u8; STRETCH]; LINES], added: u8, to: &mut [[u8; 4]], pitch: usize) {
    let [a, b, c, d, e, f, g, h] = lines.map(|line| load(line, added));
    let (first, second) = (transposed([a, b, c, d]), transposed([e, f, g, h]));
    // Said once, so that the compiler sees it 8 times.
    let to = &mut to[..7 * pitch + LINES];
    let (near, far) = to.split_at_mut(4 * pitch);
    for (i, (first, second)) in first.into_iter().zip(second).enumerate() {
        store(near[i * pitch..].as_flattened_mut(), _mm256_permute2x128_si256::<0x20>(first, second));
        store(far[i * pitch..].as_flattened_mut(), _mm256_permute2x128_si256::<0x31>(first, second));
    }
}

/// Writes the groups of 16 lines at one depth.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn interleave(depths: [&[u8; CHUNK]; 4], added: u8, to: &mut [[u8; 4]]) {
    let to = to.as_flattened_mut();
    let [a, b, c, d] = depths.map(|depth| load_half(depth, added));
    let (ab, cd) = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d));
    store_half(to, _mm_unpacklo_epi16(ab, cd));
    store_half(&mut to[16..], _mm_unpackhi_epi16(ab, cd));
    store_half(&mut to[32..], _mm_unpacklo_epi16(ab_high, cd_high));
    store_half(&mut to[48..], _mm_unpackhi_epi16(ab_high, cd_high));
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [u8], value: Vector) {
    let to: &mut [u8; 32] = to.first_chunk_mut().expect("room for 32 bytes");
    // SAFETY: the reference covers the 32 bytes written.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
}

/// Adds the numbers of each line of a panel, over no more than 64 groups, to the line's sum.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_sums<const W: usize>(groups: &[[u8; 4]], encoding: Encoding, sums: &mut [i32; W]) {
    for (column, sums) in sums.as_chunks_mut().0.iter_mut().enumerate() {
        let mut short = zero();
        for group in groups.as_chunks::<W>().0 {
            let lines = group.as_chunks::<8>().0[column].as_flattened().first_chunk().expect("8 lines");
            short = _mm256_add_epi16(short, add_neighbours(load(lines, 0), encoding));
        }
        store_sums(sums, _mm256_madd_epi16(short, _mm256_set1_epi16(1)), false);
    }
}
