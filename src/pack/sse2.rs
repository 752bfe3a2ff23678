//! What every x86-64 processor has instructions for: fetching ahead, writing past the caches, transposing and summing bytes.

use super::CHUNK;
use std::arch::x86_64::*;

/// Has the bytes fetched into the caches meanwhile.
#[inline(always)]
pub(super) fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(64) {
        // SAFETY: nothing is read, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
    }
}

/// Copies to memory that is not to be fetched into the caches before. Other threads see it after [`fence`].
#[inline(always)]
pub(super) fn stream(from: &[u8], to: &mut [u8]) {
    if !to.as_ptr().cast::<__m128i>().is_aligned() || !to.len().is_multiple_of(16) {
        return to.copy_from_slice(from);
    }
    for (to, from) in to.as_chunks_mut::<16>().0.iter_mut().zip(from.as_chunks::<16>().0) {
        // SAFETY: the reference covers the 16 bytes written, and is aligned: all before it are as long.
        unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), load(from)) }
    }
}

#[inline(always)]
pub(super) fn fence() {
    // SAFETY: every x86-64 processor has it.
    unsafe { _mm_sfence() }
}

/// A matrix of 16 × 16 bytes, transposed: to shuffle all of it like a pack of cards moves each bit of a byte's place on by
/// one, so that after four times row and column have changed places.
#[inline(always)]
pub(super) fn transposed(rows: &[[u8; CHUNK]; CHUNK]) -> [[u8; CHUNK]; CHUNK] {
    // SAFETY: any bytes are vectors.
    let mut vectors: [__m128i; CHUNK] = unsafe { std::mem::transmute_copy(rows) };
    for _ in 0..4 {
        let mut shuffled = vectors;
        for i in 0..CHUNK / 2 {
            let (near, far) = (vectors[i], vectors[i + CHUNK / 2]);
            // SAFETY: every x86-64 processor has it.
            shuffled[2 * i] = unsafe { _mm_unpacklo_epi8(near, far) };
            // SAFETY: as above.
            shuffled[2 * i + 1] = unsafe { _mm_unpackhi_epi8(near, far) };
        }
        vectors = shuffled;
    }
    // SAFETY: vectors are bytes.
    unsafe { std::mem::transmute(vectors) }
}

/// The sum of bytes after `added` was added to each, modulo 256.
#[inline(always)]
pub(super) fn sum(bytes: &[u8], added: u8) -> u32 {
    let (whole, rest) = bytes.as_chunks();
    // SAFETY: every x86-64 processor has these instructions.
    let sums = unsafe {
        let mut sums = _mm_setzero_si128();
        for chunk in whole {
            let numbers = _mm_add_epi8(load(chunk), _mm_set1_epi8(added as i8));
            sums = _mm_add_epi64(sums, _mm_sad_epu8(numbers, _mm_setzero_si128()));
        }
        _mm_add_epi64(sums, _mm_unpackhi_epi64(sums, sums))
    };
    // SAFETY: as above.
    let whole = unsafe { _mm_cvtsi128_si64(sums) } as u32;
    rest.iter().fold(whole, |sum, b| sum.wrapping_add(b.wrapping_add(added).into()))
}

#[inline(always)]
fn load(bytes: &[u8; CHUNK]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
