//! Vectors of 128 bits, of NEON: 4 accumulators, or bytes.

use std::arch::aarch64::*;

pub(super) type Vector = uint32x4_t;
pub(super) type Bytes = uint8x16_t;
pub(super) type Half = uint8x8_t;

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn zero() -> Vector {
    vdupq_n_u32(0)
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load(bytes: &[u8; 16]) -> Bytes {
    // SAFETY: the reference covers the 16 bytes read.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load_half(bytes: &[u8; 8]) -> Half {
    // SAFETY: the reference covers the 8 bytes read.
    unsafe { vld1_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store(to: &mut [i32; 4], value: Vector, fresh: bool) {
    let (to, value) = (to.as_mut_ptr(), vreinterpretq_s32_u32(value));
    // SAFETY: the reference covers the 16 bytes read and written.
    unsafe {
        let value = if fresh { value } else { vaddq_s32(value, vld1q_s32(to)) };
        vst1q_s32(to, value);
    }
}

/// Writes the first 16 of these bytes.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store_bytes(to: &mut [u8], value: Bytes) {
    let to: &mut [u8; 16] = to.first_chunk_mut().expect("room for 16 bytes");
    // SAFETY: the reference covers the 16 bytes written.
    unsafe { vst1q_u8(to.as_mut_ptr(), value) }
}

/// The next bytes of a line, 0 where it has ended.
#[inline]
pub(super) fn rest<const N: usize>(line: &[u8]) -> [u8; N] {
    let mut rest = [0; N];
    let len = line.len().min(N);
    rest[..len].copy_from_slice(&line[..len]);
    rest
}
