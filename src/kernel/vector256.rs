//! Vectors of 256 bits: 8 accumulators.

use crate::matrix::Encoding;
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
