//! Vectors of 512 bits: 16 accumulators.

use std::arch::asm;
use std::arch::x86_64::*;

pub(super) type Vector = __m512i;

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zero() -> Vector {
    _mm512_setzero_si512()
}

/// One group of a line in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn spread(group: [u8; 4]) -> Vector {
    _mm512_set1_epi32(i32::from_ne_bytes(group))
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(to: &mut [i32; 16], value: Vector, fresh: bool) {
    let to = to.as_mut_ptr().cast();
    // SAFETY: the reference covers the 64 bytes read and written.
    unsafe {
        let value = if fresh { value } else { _mm512_add_epi32(value, _mm512_loadu_si512(to)) };
        _mm512_storeu_si512(to, value);
    }
}

/// Sums that were stored.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn resume(from: &[i32; 16]) -> Vector {
    // SAFETY: the reference covers the 64 bytes read.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn plus(x: Vector, y: Vector) -> Vector {
    _mm512_add_epi32(x, y)
}

/// As many of the first lanes as there is room for.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn put(to: &mut [i32], value: Vector) {
    match to.first_chunk_mut::<16>() {
        // SAFETY: the reference covers the 64 bytes written.
        Some(whole) => unsafe { _mm512_storeu_si512(whole.as_mut_ptr().cast(), value) },
        // SAFETY: the slice covers the lanes written.
        None => unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr(), (1 << to.len()) - 1, value) },
    }
}

/// The sum of all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn total(value: Vector) -> i32 {
    _mm512_reduce_add_epi32(value)
}

/// Adds the sum of all lanes of each vector to a number.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add_totals<const N: usize>(to: &mut [i32; N], vectors: &[Vector; N]) {
    let (fours, others) = vectors.as_chunks();
    let (to_fours, to_others) = to.as_chunks_mut::<4>();
    for (to, four) in to_fours.iter_mut().zip(fours) {
        let quarters = totals_of_quarters(*four);
        let halves = _mm256_add_epi32(_mm512_castsi512_si256(quarters), _mm512_extracti64x4_epi64::<1>(quarters));
        let totals = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
        let to = to.as_mut_ptr().cast();
        // SAFETY: the reference covers the 16 bytes read and written.
        unsafe { _mm_storeu_si128(to, _mm_add_epi32(totals, _mm_loadu_si128(to))) }
    }
    for (to, vector) in to_others.iter_mut().zip(others) {
        *to = to.wrapping_add(total(*vector));
    }
}

/// In each quarter the sums of the lanes of that quarter of each vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn totals_of_quarters([a, b, c, d]: [Vector; 4]) -> Vector {
    let ab = plus(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = plus(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    plus(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd))
}

/// Bytes as they are.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(bytes: &[u8; 64]) -> Vector {
    // SAFETY: the reference covers the 64 bytes read.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store_bytes(to: &mut [u8; 64], value: Vector) {
    // SAFETY: the reference covers the 64 bytes written.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
}

/// A constant that the compiler does not know: of one permutation by it, it would make two, of half a vector each, and put them
/// together.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn unknown(value: Vector) -> Vector {
    let mut value = value;
    // SAFETY: it does nothing.
    unsafe { asm!("/* {} */", inout(zmm_reg) value, options(pure, nomem, nostack, preserves_flags)) }
    value
}
