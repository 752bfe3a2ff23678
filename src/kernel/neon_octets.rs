//! Packing groups of eight bytes, with NEON.

use super::vector128::{load, store_bytes};
pub(super) use crate::pack::portable::{add_sums, sum_bytes, sum_four, turn};
use crate::pack::{CHUNK, LINES, STRETCH};
use std::arch::aarch64::*;

/// Writes the 4 groups of 8 lines over a stretch, `pitch` groups from one depth to the next.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn transpose(lines: [&[u8; STRETCH]; LINES], added: u8, to: &mut [[u8; 8]], pitch: usize) {
    let added = vdupq_n_u8(added);
    for half in 0..STRETCH / 16 {
        for i in (0..LINES).step_by(2) {
            let load = |i: usize| vreinterpretq_u64_u8(vaddq_u8(load(&lines[i].as_chunks().0[half]), added));
            let (a, b) = (load(i), load(i + 1));
            let (first, second) = (vzip1q_u64(a, b), vzip2q_u64(a, b));
            store_bytes(to[half * 2 * pitch + i..].as_flattened_mut(), vreinterpretq_u8_u64(first));
            store_bytes(to[(half * 2 + 1) * pitch + i..].as_flattened_mut(), vreinterpretq_u8_u64(second));
        }
    }
}

/// Writes the groups of 16 lines at one depth.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn interleave(depths: [&[u8; CHUNK]; 8], added: u8, to: &mut [[u8; 8]]) {
    let to: &mut [u8; 128] = to.as_flattened_mut().first_chunk_mut().expect("room for 16 groups");
    let [a, b, c, d, e, f, g, h] = depths;
    let pair = |x, y| {
        let (x, y) = (vaddq_u8(load(x), vdupq_n_u8(added)), vaddq_u8(load(y), vdupq_n_u8(added)));
        (vreinterpretq_u16_u8(vzip1q_u8(x, y)), vreinterpretq_u16_u8(vzip2q_u8(x, y)))
    };
    let [ab, cd, ef, gh] = [pair(a, b), pair(c, d), pair(e, f), pair(g, h)];
    let (low, high) = to.split_at_mut(64);
    store_four(low.as_chunks_mut().0, [ab.0, cd.0, ef.0, gh.0]);
    store_four(high.as_chunks_mut().0, [ab.1, cd.1, ef.1, gh.1]);
}

/// Writes those of 32 lines, 16 to each place.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn interleave_two(depths: [&[u8; 2 * CHUNK]; 8], added: u8, to: [&mut [[u8; 8]]; 2]) {
    for (half, to) in to.into_iter().enumerate() {
        interleave(depths.map(|depth| &depth.as_chunks().0[half]), added, to);
    }
}

/// Writes the groups of 8 lines, given as pairs of depths.
#[inline]
#[target_feature(enable = "neon")]
fn store_four(to: &mut [[u8; 64]], [a, b, c, d]: [uint16x8_t; 4]) {
    let pairs = uint16x8x4_t(a, b, c, d);
    // SAFETY: the reference covers the 64 bytes written.
    unsafe { vst4q_u16(to[0].as_mut_ptr().cast(), pairs) }
}
