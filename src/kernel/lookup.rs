//! Looking up bytes in a table of 256.

/// Bytes that are looked up together.
pub(crate) const TOGETHER: usize = 128;

/// A loop over bytes that are looked up, compiled once for each way to do that.
pub(crate) trait LookUpLoop {
    /// Always inlined, as is all that it calls; see [`super::Loop::run`]. `look_up` makes of each byte its entry, preferably of
    /// so many [`TOGETHER`].
    fn run(self, look_up: impl Fn(&mut [u8]));
}

/// With what every processor has.
pub(super) fn run<L: LookUpLoop>(table: &[u8; 256], bytes: L) {
    bytes.run(|bytes| look_up(table, bytes));
}

#[inline(always)]
fn look_up(table: &[u8; 256], bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte = table[usize::from(*byte)]);
}

/// With AVX2, which looks up in 16 entries at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn run_avx2<L: LookUpLoop>(table: &[u8; 256], bytes: L) {
    let parts = avx2::parts(table);
    bytes.run(|bytes| {
        let (blocks, rest) = bytes.as_chunks_mut();
        for block in blocks {
            avx2::look_up(&parts, block);
        }
        look_up(table, rest);
    });
}

/// With AVX-512 VBMI, which looks up in 128 entries at once.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(super) fn run_vbmi<L: LookUpLoop>(table: &[u8; 256], bytes: L) {
    let parts = vbmi::parts(table);
    bytes.run(|bytes| vbmi::look_up(&parts, bytes));
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::TOGETHER;
    use std::arch::x86_64::*;

    /// Each part of the table is loaded once for all of them.
    const VECTORS: usize = TOGETHER / 32;

    /// The table in parts of 16. Each but the first of a half is XORed with the one before.
    #[target_feature(enable = "avx2")]
    pub(super) fn parts(table: &[u8; 256]) -> [[u8; 16]; 16] {
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

    /// A lookup in 16 gives 0 for what is negative. A byte less 16 · i is that if it is less than 16 · i, and, as the
    /// difference saturates, if it was negative before. So part i of the first half counts for the bytes from 16 · i to 127;
    /// and they get table[0..16] ^ (table[0..16] ^ table[16..32]) ^ ... The second half is for those of which only the top bit
    /// differs. To look up in all 16 parts and choose by one bit after the other takes as long, and longer on older processors.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn look_up(parts: &[[u8; 16]; 16], bytes: &mut [u8; TOGETHER]) {
        let step = _mm256_set1_epi8(16);
        let top = _mm256_set1_epi8(-128);
        let mut found = [_mm256_setzero_si256(); VECTORS];
        let data = bytes.as_mut_ptr().cast::<__m256i>();
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
}

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod vbmi {
    use std::arch::x86_64::*;

    /// The table in parts of 64.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn parts(table: &[u8; 256]) -> [__m512i; 4] {
        let mut parts = [_mm512_setzero_si512(); 4];
        for (part, entries) in parts.iter_mut().zip(table.as_chunks::<64>().0) {
            // SAFETY: the reference covers the 64 bytes read.
            *part = unsafe { _mm512_loadu_si512(entries.as_ptr().cast()) };
        }
        parts
    }

    /// In either half of the table; the top bit says which counts.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn look_up(parts: &[__m512i; 4], bytes: &mut [u8]) {
        let entries = |index| {
            let low = _mm512_permutex2var_epi8(parts[0], index, parts[1]);
            let high = _mm512_permutex2var_epi8(parts[2], index, parts[3]);
            _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high)
        };
        let (whole, rest) = bytes.as_chunks_mut::<64>();
        for bytes in whole {
            let data = bytes.as_mut_ptr().cast();
            // SAFETY: the reference covers the 64 bytes read and written.
            unsafe { _mm512_storeu_si512(data, entries(_mm512_loadu_si512(data.cast_const()))) };
        }
        if !rest.is_empty() {
            let (data, mask) = (rest.as_mut_ptr().cast(), (1 << rest.len()) - 1);
            // SAFETY: the slice covers the bytes read and written: there are as many as bits in the mask.
            unsafe { _mm512_mask_storeu_epi8(data, mask, entries(_mm512_maskz_loadu_epi8(mask, data.cast_const()))) };
        }
    }
}
