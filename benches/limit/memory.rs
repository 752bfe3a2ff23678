//! What memory gives at most: reading as fast as it goes.

/// Reads everything, in as few operations as there are vectors.
pub fn read(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { read_avx2(bytes) };
    }
    read_vectors(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn read_avx2(bytes: &[u8]) -> u64 {
    read_vectors(bytes)
}

#[inline(always)]
fn read_vectors(bytes: &[u8]) -> u64 {
    let mut all = [0; 16];
    for words in bytes.chunks_exact(128) {
        for (all, word) in all.iter_mut().zip(words.as_chunks().0) {
            *all |= u64::from_ne_bytes(*word);
        }
    }
    all.iter().fold(0, |all, x| all | x)
}
