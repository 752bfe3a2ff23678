//! With AVX2.

use super::{DEPTH, NEVER, Place, ROOM, ROWS, Side, TinyWay};
use crate::kernel::vector256::{self, Vector, plus, put, resume, spread, transposed, zero};
use crate::kernel::{height, tiles_of};
use crate::matrix::{Encoding, Operand, Order};
use std::arch::x86_64::*;
use std::ops::Range;

/// Pairs of numbers in a vector.
const LANES: usize = 8;

/// Numbers in a vector, which are bytes in half of one.
const CHUNK: usize = 2 * LANES;

/// Measured beside tiles of the kind: 48 x 48 x 48 takes 0.8 to 0.95 of the time, with weights of 7 bits 64 x 64 x 64 takes 1.1, and of all
/// bits 80 x 80 x 80 0.9.
pub(in crate::kernel) const WAY: TinyWay = TinyWay {
    multiply,
    most_macs: 112 << 10,
    most_of_large: 512 << 10,
    stretch: NEVER,
    bytes_worth_packing: 0,
    most_beside_short: 0,
};

/// Beside tiles that multiply bytes by fours: 16 x 16 x 32 takes 0.7 to 0.85 of the time, 24 x 24 x 24 0.8, 16 x 16 x 48 0.93 to 1.08, and
/// 16 x 32 x 32 1.1. Of columns along the depth, 24 x 48 x 16 takes 0.75, 1 x 256 x 64 twice as long, and 1 x 48 x 64 1.0 to 1.2.
#[cfg(not(only_avx2))]
pub(in crate::kernel) const BESIDE_QUADS: TinyWay = TinyWay {
    most_macs: 16_000,
    most_of_large: 16_000,
    stretch: 32,
    bytes_worth_packing: 3 << 10,
    most_beside_short: 24 << 10,
    ..WAY
};

tiny_kernel! { features: ["avx2"], lanes: 8, rows: [1 2 3 4 5 6], dot: dot }

#[inline]
#[target_feature(enable = "avx2")]
fn dot(c: Vector, a: Vector, b: Vector) -> Vector {
    plus(c, _mm256_madd_epi16(a, b))
}

/// Widens lines whose depth is contiguous: the pairs of one after those of the one before.
#[inline]
#[target_feature(enable = "avx2")]
fn widen_lines(Side { operand, added }: Side, to: &mut [[i32; DEPTH / 2]]) {
    let (wide, to) = (Wide::new(operand.encoding, added), &mut to[..operand.lines]);
    for from in (0..operand.depth).step_by(CHUNK) {
        let left = operand.depth - from;
        if left >= CHUNK {
            for ([bytes], to) in operand.chunks(0..operand.lines, from).in_groups().zip(to.iter_mut()) {
                store(&mut to[from / 2..], wide.all(load(bytes)));
            }
        } else {
            let counted = counted(left);
            for (line, to) in to.iter_mut().enumerate() {
                store(&mut to[from / 2..], _mm256_and_si256(wide.all(first_of(operand.rest(line, from))), counted));
            }
        }
    }
}

/// Widens some lines whose depth is contiguous: the pairs of all at one depth after those at the one before.
#[inline]
#[target_feature(enable = "avx2")]
fn turn_lines(Side { operand, added }: Side, lines: Range<usize>, to: &mut [[i32; 2 * LANES]]) {
    let wide = Wide::new(operand.encoding, added);
    for from in (0..operand.depth).step_by(CHUNK) {
        let (left, to) = (operand.depth - from, &mut to[from / 2..][..LANES]);
        let counted = counted(left);
        for line in lines.clone().step_by(LANES) {
            let some = line..lines.end.min(line + LANES);
            let mut rows = [zero(); LANES];
            if left >= CHUNK && some.len() == LANES {
                for (row, [bytes]) in rows.iter_mut().zip(operand.chunks(some, from).in_groups()) {
                    *row = wide.all(load(bytes));
                }
            } else {
                for (row, line) in rows.iter_mut().zip(some) {
                    *row = _mm256_and_si256(wide.all(first_of(operand.rest(line, from))), counted);
                }
            }
            let [a, b, c, d, e, f, g, h] = rows;
            let (upper, lower) = (transposed([a, b, c, d]), transposed([e, f, g, h]));
            let at = line - lines.start;
            for i in 0..LANES / 2 {
                store(&mut to[i][at..], _mm256_permute2x128_si256::<0x20>(upper[i], lower[i]));
                store(&mut to[i + LANES / 2][at..], _mm256_permute2x128_si256::<0x31>(upper[i], lower[i]));
            }
        }
    }
}

/// Widens some lines that are contiguous at each depth: the pairs of all at one depth after those at the one before.
#[inline]
#[target_feature(enable = "avx2")]
fn widen_depths<const W: usize>(Side { operand, added }: Side, lines: Range<usize>, to: &mut [[i32; W]]) {
    let wide = Wide::new(operand.encoding, added);
    let pairs = operand.depth / 2;
    let (both, first_only) = (_mm256_set1_epi32(-1), _mm256_set1_epi32(0xffff));
    for line in lines.clone().step_by(CHUNK) {
        let (at, left) = (line - lines.start, lines.end - line);
        // More of a run may be there than these lines.
        if operand.lines - line >= CHUNK {
            let chunks = operand.chunks(0..operand.depth, line);
            for ([first, second], to) in chunks.in_groups().zip(&mut *to) {
                wide.put_pairs([load(first), load(second)], both, &mut to[at..], left);
            }
        } else {
            for (i, to) in to[..pairs].iter_mut().enumerate() {
                let (first, second) = (operand.rest(2 * i, line), operand.rest(2 * i + 1, line));
                wide.put_pairs([first_of(first), first_of(second)], both, &mut to[at..], left);
            }
        }
        if !operand.depth.is_multiple_of(2) {
            let last = first_of(operand.rest(operand.depth - 1, line));
            wide.put_pairs([last; 2], first_only, &mut to[pairs][at..], left);
        }
    }
}

/// Of a chunk the bits of the numbers that count, where so many are left: not of one that is half of a pair, beyond them.
#[inline]
#[target_feature(enable = "avx2")]
fn counted(left: usize) -> Vector {
    if left >= CHUNK || left.is_multiple_of(2) {
        return _mm256_set1_epi32(-1);
    }
    let places = _mm256_set_epi16(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm256_cmpgt_epi16(_mm256_set1_epi16(left as i16), places)
}

/// How bytes become numbers.
#[derive(Clone, Copy)]
struct Wide {
    /// What signed bytes are flipped by, to be 128 more.
    flip: __m128i,
    added: Vector,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(encoding: Encoding, added: i16) -> Self {
        let (flip, shift) = (encoding.flip_to(Encoding::U8), encoding.shift_to(Encoding::U8) as i16);
        Self { flip: _mm_set1_epi8(flip as i8), added: _mm256_set1_epi16(added - shift) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(self, bytes: __m128i) -> Vector {
        _mm256_add_epi16(_mm256_cvtepu8_epi16(_mm_xor_si128(bytes, self.flip)), self.added)
    }

    /// Those of two depths, in pairs, of which these bits count: 8 pairs, or 16 if more lines than 8 are left.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn put_pairs(self, [first, second]: [__m128i; 2], counted: Vector, to: &mut [i32], left: usize) {
        let (low, high) = to.split_at_mut(LANES);
        store(low, _mm256_and_si256(self.all(_mm_unpacklo_epi8(first, second)), counted));
        if left > LANES {
            store(high, _mm256_and_si256(self.all(_mm_unpackhi_epi8(first, second)), counted));
        }
    }
}

/// The first 16 bytes, or all and then 0. (By way of general registers: bytes that were just stored one by one come late as a vector.)
#[inline]
#[target_feature(enable = "avx2")]
fn first_of(bytes: &[u8]) -> __m128i {
    if let Some(whole) = bytes.first_chunk() {
        return load(whole);
    }
    let count = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        return _mm_set_epi64x((last >> 8 >> (8 * (15 - count))) as i64, first as i64);
    }
    let bytes = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        u64::from(first) | u64::from(last) << (8 * (count - 4))
    } else {
        bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
    };
    _mm_set_epi64x(0, bytes as i64)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; CHUNK]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [i32], value: Vector) {
    vector256::store(to.first_chunk_mut().expect("room for a vector"), value, true);
}
