//! Vectors of 256 bits: 8 accumulators.

use crate::matrix::Encoding;
use std::arch::asm;
use std::arch::x86_64::*;

pub(super) type Vector = __m256i;

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn zero() -> Vector {
    _mm256_setzero_si256()
}

/// One group of a line in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn spread(group: [u8; 4]) -> Vector {
    _mm256_set1_epi32(i32::from_ne_bytes(group))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(to: &mut [i32; 8], value: Vector, fresh: bool) {
    let to = to.as_mut_ptr().cast();
    // SAFETY: the reference covers the 32 bytes read and written.
    unsafe {
        let value = if fresh { value } else { _mm256_add_epi32(value, _mm256_loadu_si256(to)) };
        _mm256_storeu_si256(to, value);
    }
}

/// Sums that were stored.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn resume(from: &[i32; 8]) -> Vector {
    // SAFETY: the reference covers the 32 bytes read.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn plus(x: Vector, y: Vector) -> Vector {
    _mm256_add_epi32(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn times(x: Vector, y: Vector) -> Vector {
    _mm256_mullo_epi32(x, y)
}

/// The same, which is computed before what follows: else the compiler may begin with so much at once that registers do not hold it.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn settled(value: Vector) -> Vector {
    let mut value = value;
    // SAFETY: it does nothing.
    unsafe { asm!("/* {} */", inout(ymm_reg) value, options(nomem, nostack, preserves_flags)) }
    value
}

/// As many of the first lanes as there is room for.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put(to: &mut [i32], value: Vector) {
    match to.first_chunk_mut::<8>() {
        // SAFETY: the reference covers the 32 bytes written.
        Some(whole) => unsafe { _mm256_storeu_si256(whole.as_mut_ptr().cast(), value) },
        None => put_some(to, value),
    }
}

/// Fewer lanes than there are, by halves: some processors take three times as long for a store by a mask.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put_some(to: &mut [i32], value: Vector) {
    let mut next = _mm256_castsi256_si128(value);
    let (fours, to) = to.as_chunks_mut::<4>();
    if let Some(four) = fours.first_mut() {
        // SAFETY: the reference covers the 16 bytes written.
        unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), next) }
        next = _mm256_extracti128_si256::<1>(value);
    }
    let (twos, ones) = to.as_chunks_mut::<2>();
    if let Some(two) = twos.first_mut() {
        // SAFETY: the reference covers the 8 bytes written.
        unsafe { _mm_storel_epi64(two.as_mut_ptr().cast(), next) }
        next = _mm_unpackhi_epi64(next, next);
    }
    if let Some(one) = ones.first_mut() {
        *one = _mm_cvtsi128_si32(next);
    }
}

/// The sum of all lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn total(value: Vector) -> i32 {
    let four = _mm_add_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256::<1>(value));
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b_01_00_11_10>(four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b_10_11_00_01>(two)))
}

/// Adds the sum of all lanes of each vector to a number.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_totals<const N: usize>(to: &mut [i32; N], vectors: &[Vector; N]) {
    let (twos, others) = vectors.as_chunks();
    let (to_twos, to_others) = to.as_chunks_mut::<2>();
    for (to, &[a, b]) in to_twos.iter_mut().zip(twos) {
        let halves = plus(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let pairs = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
        let totals = _mm_add_epi32(pairs, _mm_unpackhi_epi64(pairs, pairs));
        let to = to.as_mut_ptr().cast();
        // SAFETY: the reference covers the 8 bytes read and written.
        unsafe { _mm_storel_epi64(to, _mm_add_epi32(totals, _mm_loadl_epi64(to))) }
    }
    for (to, vector) in to_others.iter_mut().zip(others) {
        *to = to.wrapping_add(total(*vector));
    }
}

/// Bytes, each plus `added`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(bytes: &[u8; 32], added: u8) -> Vector {
    // SAFETY: the reference covers the 32 bytes read.
    let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    _mm256_add_epi8(bytes, _mm256_set1_epi8(added as i8))
}

/// In each half of the vectors, the 4 × 4 matrix of 32-bit numbers, transposed.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transposed([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab, cd),
        _mm256_unpackhi_epi64(ab, cd),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Tells the processor what will be read. Anything may lie there, or nothing.
#[inline(always)]
pub(super) fn prefetch(at: *const u8) {
    // SAFETY: nothing is read.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

/// The same for what will be read so much later that the second cache is the place for it.
#[inline(always)]
pub(super) fn prefetch_to_second(at: *const u8) {
    // SAFETY: nothing is read.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
}

/// The sums of neighbours among 32 numbers of this encoding.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_neighbours(numbers: Vector, encoding: Encoding) -> Vector {
    let ones = _mm256_set1_epi8(1);
    match encoding {
        Encoding::U8 => _mm256_maddubs_epi16(numbers, ones),
        Encoding::S8 => _mm256_maddubs_epi16(ones, numbers),
    }
}

/// A matrix of 16 × 16 bytes, transposed: to shuffle all of it like a pack of cards moves each bit of a byte's place on by
/// one, so that after four times row and column have changed places.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn turn(rows: [&[u8; 16]; 16]) -> [[u8; 16]; 16] {
    let mut vectors = [_mm_setzero_si128(); 16];
    for i in 0..16 {
        // SAFETY: the reference covers the 16 bytes read.
        vectors[i] = unsafe { _mm_loadu_si128(rows[i].as_ptr().cast()) };
    }
    for _ in 0..4 {
        let from = vectors;
        for i in 0..8 {
            vectors[2 * i] = _mm_unpacklo_epi8(from[i], from[i + 8]);
            vectors[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + 8]);
        }
    }
    let mut turned = [[0; 16]; 16];
    for i in 0..16 {
        // SAFETY: the reference covers the 16 bytes written.
        unsafe { _mm_storeu_si128(turned[i].as_mut_ptr().cast(), vectors[i]) }
    }
    turned
}

/// The sum of the bytes of some stretches and of a last one after `added` was added to each, modulo 256.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sum_bytes(whole: &[[u8; 32]], last: &[u8; 32], added: u8) -> u32 {
    let mut sums = _mm256_sad_epu8(load(last, added), zero());
    for bytes in whole {
        sums = _mm256_add_epi32(sums, _mm256_sad_epu8(load(bytes, added), zero()));
    }
    total(sums) as u32
}
