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
