//! What there is to say of caches, and to do with single bytes, on processors of which nothing is known.

use super::CHUNK;

#[inline(always)]
pub(super) fn prefetch(_: &[u8]) {}

#[inline(always)]
pub(super) fn stream(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

#[inline(always)]
pub(super) fn fence() {}

#[inline(always)]
pub(super) fn transposed(rows: &[[u8; CHUNK]; CHUNK]) -> [[u8; CHUNK]; CHUNK] {
    let mut turned = [[0; CHUNK]; CHUNK];
    for (i, row) in rows.iter().enumerate() {
        for (turned, &byte) in turned.iter_mut().zip(row) {
            turned[i] = byte;
        }
    }
    turned
}

/// The sum of bytes after `added` was added to each, modulo 256.
#[inline(always)]
pub(super) fn sum(bytes: &[u8], added: u8) -> u32 {
    bytes.iter().fold(0, |sum, b| sum.wrapping_add(b.wrapping_add(added).into()))
}
