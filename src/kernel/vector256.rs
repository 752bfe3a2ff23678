//! Vectors of 256 bits: 8 accumulators.

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
