//! Vectors of 512 bits: 16 accumulators.

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
