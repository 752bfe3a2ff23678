//! Packing groups of four bytes, with NEON.

use super::vector128::{Bytes, load, store_bytes};
pub(super) use crate::pack::portable::{add_sums, sum_bytes, sum_four, turn};
use crate::pack::{CHUNK, LINES, STRETCH};
use std::arch::aarch64::*;

/// Writes the 8 groups of 8 lines over a stretch, `pitch` groups from one depth to the next.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn transpose(lines: [&[u8; STRETCH]; LINES], added: u8, to: &mut [[u8; 4]], pitch: usize) {
    let added = vdupq_n_u8(added);
    for half in 0..STRETCH / 16 {
        for left in [0, 4] {
            let mut four = [added; 4];
            for i in 0..4 {
                let bytes = lines[left + i].as_chunks().0;
                four[i] = vaddq_u8(load(&bytes[half]), added);
            }
            for (i, group) in transposed(four).into_iter().enumerate() {
                store_bytes(to[(half * 4 + i) * pitch + left..].as_flattened_mut(), group);
            }
        }
    }
}

/// The 4 × 4 matrix of groups, transposed.
#[inline]
#[target_feature(enable = "neon")]
fn transposed([a, b, c, d]: [Bytes; 4]) -> [Bytes; 4] {
    let [a, b] = [vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)];
    let [c, d] = [vreinterpretq_u32_u8(c), vreinterpretq_u32_u8(d)];
    let [ab, cd] = [vreinterpretq_u64_u32(vzip1q_u32(a, b)), vreinterpretq_u64_u32(vzip1q_u32(c, d))];
    let [ab_high, cd_high] = [vreinterpretq_u64_u32(vzip2q_u32(a, b)), vreinterpretq_u64_u32(vzip2q_u32(c, d))];
    [
        vreinterpretq_u8_u64(vzip1q_u64(ab, cd)),
        vreinterpretq_u8_u64(vzip2q_u64(ab, cd)),
        vreinterpretq_u8_u64(vzip1q_u64(ab_high, cd_high)),
        vreinterpretq_u8_u64(vzip2q_u64(ab_high, cd_high)),
    ]
}

/// Writes the groups of 16 lines at one depth.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn interleave(depths: [&[u8; CHUNK]; 4], added: u8, to: &mut [[u8; 4]]) {
    let to: &mut [u8; 64] = to.as_flattened_mut().first_chunk_mut().expect("room for 16 groups");
    let [a, b, c, d] = depths;
    let added = vdupq_n_u8(added);
    let bytes = uint8x16x4_t(
        vaddq_u8(load(a), added),
        vaddq_u8(load(b), added),
        vaddq_u8(load(c), added),
        vaddq_u8(load(d), added),
    );
    // SAFETY: the reference covers the 64 bytes written.
    unsafe { vst4q_u8(to.as_mut_ptr(), bytes) }
}

/// Writes those of 32 lines, 16 to each place.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn interleave_two(depths: [&[u8; 2 * CHUNK]; 4], added: u8, to: [&mut [[u8; 4]]; 2]) {
    for (half, to) in to.into_iter().enumerate() {
        interleave(depths.map(|depth| &depth.as_chunks().0[half]), added, to);
    }
}
