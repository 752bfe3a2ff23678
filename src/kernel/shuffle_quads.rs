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

/// Writes the groups of 32 lines at one depth, 16 to each place.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn interleave_two(depths: [&[u8; 2 * CHUNK]; 4], added: u8, [left, right]: [&mut [[u8; 4]]; 2]) {
    let (left, right) = (left.as_flattened_mut(), right.as_flattened_mut());
    let [a, b, c, d] = depths.map(|depth| load(depth, added));
    let (ab, cd) = (_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d));
    let groups = [
        _mm256_unpacklo_epi16(ab, cd),
        _mm256_unpackhi_epi16(ab, cd),
        _mm256_unpacklo_epi16(ab_high, cd_high),
        _mm256_unpackhi_epi16(ab_high, cd_high),
    ];
    for (i, groups) in groups.into_iter().enumerate() {
        store_half(&mut left[16 * i..], _mm256_castsi256_si128(groups));
        store_half(&mut right[16 * i..], _mm256_extracti128_si256::<1>(groups));
    }
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

/// Of as many bytes at the end of 32 as one wants, all bits.
static LAST: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 32;
    while i < 64 {
        bytes[i] = 0xff;
        i += 1;
    }
    bytes
};

/// The sums of the bytes of four lines, each of as many, 8 or more, after `added` was added to each, modulo 256. Where a line
/// ends within a vector, its last bytes are loaded once more, and those that were summed are left out.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sum_four(lines: [&[u8]; 4], added: u8) -> [u32; 4] {
    let len = lines[0].len();
    let sums = match len {
        32.. => {
            let sums = join(sum_long(lines, added));
            _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums))
        }
        16.. => sum_short::<16>(lines, added),
        _ => sum_short::<8>(lines, added),
    };
    let mut four = [0; 4];
    // SAFETY: the reference covers the 16 bytes written.
    unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), sums) }
    four
}

/// Vectors of sums of 64 bits, below 2³², for each line.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_long(lines: [&[u8]; 4], added: u8) -> [Vector; 4] {
    let (whole, rest) = (lines[0].len() / 32, lines[0].len() % 32);
    let mut stretches: [&[[u8; 32]]; 4] = [&[]; 4];
    for (stretches, line) in stretches.iter_mut().zip(lines) {
        *stretches = &line.as_chunks().0[..whole];
    }
    let mut sums = [zero(); 4];
    for i in 0..whole {
        for (sum, stretches) in sums.iter_mut().zip(stretches) {
            *sum = _mm256_add_epi32(*sum, _mm256_sad_epu8(load(&stretches[i], added), zero()));
        }
    }
    if rest > 0 {
        let left = load(LAST[rest..].first_chunk().expect("32 bytes"), 0);
        for (sum, line) in sums.iter_mut().zip(lines) {
            let bytes = load(line.last_chunk().expect("32 bytes or more"), added);
            *sum = _mm256_add_epi32(*sum, _mm256_sad_epu8(_mm256_and_si256(bytes, left), zero()));
        }
    }
    sums
}

/// In each half, the sums of the two numbers of each line.
#[inline]
#[target_feature(enable = "avx2")]
fn join([a, b, c, d]: [Vector; 4]) -> Vector {
    let (ab, cd) = (_mm256_or_si256(a, _mm256_slli_epi64::<32>(b)), _mm256_or_si256(c, _mm256_slli_epi64::<32>(d)));
    _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd))
}

/// Of lines of N bytes, 16 or 8, but fewer than twice as many.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_short<const N: usize>(lines: [&[u8]; 4], added: u8) -> __m128i {
    let bytes = |bytes: &[u8; N]| match N {
        // SAFETY: the reference covers the 16 bytes read.
        16 => unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) },
        // SAFETY: the reference covers the 8 bytes read.
        _ => unsafe { _mm_loadl_epi64(bytes.as_ptr().cast()) },
    };
    let all = _mm_set1_epi8(added as i8);
    let added = if N == 16 { all } else { _mm_move_epi64(all) };
    let rest = lines[0].len() - N;
    let left: &[u8; N] = LAST[32 - N + rest..].first_chunk().expect("as many bytes");
    let left = bytes(left);
    let mut sums = [zero(); 4];
    for (sum, line) in sums.iter_mut().zip(lines) {
        let (first, last) = (line.first_chunk().expect("N bytes or more"), line.last_chunk().expect("as many"));
        let (first, last) = (_mm_add_epi8(bytes(first), added), _mm_add_epi8(bytes(last), added));
        let of_first = _mm_sad_epu8(first, _mm_setzero_si128());
        let of_last = _mm_sad_epu8(_mm_and_si128(last, left), _mm_setzero_si128());
        *sum = _mm256_zextsi128_si256(_mm_add_epi32(of_first, of_last));
    }
    _mm256_castsi256_si128(join(sums))
}
