//! Looking up bytes in a table of 256, with AVX2, which looks up in 16 at once.

use std::arch::x86_64::*;

/// Vectors that are looked up together, so that each part of the table is loaded once for all.
const VECTORS: usize = 4;

/// Makes of each byte its entry.
#[target_feature(enable = "avx2")]
pub(super) fn look_up(table: &[u8; 256], bytes: &mut [u8]) {
    let parts = parts(table);
    let (blocks, rest) = bytes.as_chunks_mut::<{ 32 * VECTORS }>();
    for block in blocks {
        look_up_block(&parts, block);
    }
    rest.iter_mut().for_each(|byte| *byte = table[usize::from(*byte)]);
}

/// The table in parts of 16. Each but the first of a half is XORed with the one before.
#[target_feature(enable = "avx2")]
fn parts(table: &[u8; 256]) -> [[u8; 16]; 16] {
    let table = table.as_chunks::<16>().0;
    let mut parts = [[0; 16]; 16];
    for i in 0..16 {
        parts[i] = table[i];
        if i % 8 > 0 {
            parts[i].iter_mut().zip(&table[i - 1]).for_each(|(x, before)| *x ^= before);
        }
    }
    parts
}

/// A lookup in 16 gives 0 for what is negative. A byte less 16 · i is that if it is less than 16 · i, and, as the difference
/// saturates, if it was negative before. So part i of the first half counts for the bytes from 16 · i to 127; and they
/// get table[0..16] ^ (table[0..16] ^ table[16..32]) ^ ... The second half is for those of which only the top bit differs.
#[target_feature(enable = "avx2")]
fn look_up_block(parts: &[[u8; 16]; 16], block: &mut [u8; 32 * VECTORS]) {
    let step = _mm256_set1_epi8(16);
    let top = _mm256_set1_epi8(-128);
    let mut found = [_mm256_setzero_si256(); VECTORS];
    let data = block.as_mut_ptr().cast::<__m256i>();
    for half in [0, 8] {
        let mut index = [top; VECTORS];
        for (v, index) in index.iter_mut().enumerate() {
            // SAFETY: the reference covers the 32 bytes read, and more.
            let bytes = unsafe { _mm256_loadu_si256(data.add(v)) };
            *index = if half == 0 { bytes } else { _mm256_xor_si256(bytes, top) };
        }
        for part in &parts[half..half + 8] {
            // SAFETY: the reference covers the 16 bytes read.
            let part = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(part.as_ptr().cast()) });
            for (found, index) in found.iter_mut().zip(&mut index) {
                *found = _mm256_xor_si256(*found, _mm256_shuffle_epi8(part, *index));
                *index = _mm256_subs_epi8(*index, step);
            }
        }
    }
    for (v, found) in found.into_iter().enumerate() {
        // SAFETY: the reference covers the 32 bytes written, and more.
        unsafe { _mm256_storeu_si256(data.add(v), found) };
    }
}
