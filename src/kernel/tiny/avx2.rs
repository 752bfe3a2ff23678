//! With AVX2.

use super::{DEPTH, LINES, Place, ROOM, Side, WIDTH};
use crate::kernel::tile256::by_rows;
use crate::kernel::vector256::{self, Vector, plus, put, resume, transposed, zero};
use crate::kernel::{height, tiles_of};
use crate::matrix::{Encoding, Operand, Order};
use std::arch::x86_64::*;
use std::ops::Range;

/// Pairs of numbers in a vector.
const LANES: usize = 8;

/// Numbers in a vector, which are bytes in half of one.
const CHUNK: usize = 2 * LANES;

/// Rows that are multiplied together, at most.
const ROWS: usize = 6;

const _: () = assert!(WIDTH == 2 * LANES);

/// # Safety
/// As for a [`TinyFn`](super::TinyFn).
#[target_feature(enable = "avx2")]
pub(in crate::kernel) unsafe fn multiply(lhs: Side, rhs: Side, room: &mut [i32; ROOM], to: Place) {
    let Operand { lines: rows, depth, .. } = *lhs.operand;
    assert!(rows <= LINES && depth <= DEPTH && rhs.operand.depth == depth);
    let height = height(rows, ROWS);
    let (of_lhs, of_rhs) = room.split_at_mut(LINES * DEPTH / 2);
    let of_rhs = of_rhs.as_chunks_mut().0;
    let steps = match lhs.operand.order {
        Order::DepthContiguous => {
            widen_lines(lhs, of_lhs.as_chunks_mut().0);
            (DEPTH / 2, 1)
        }
        Order::LineContiguous => {
            widen_depths::<LINES>(lhs, 0..rows, of_lhs.as_chunks_mut().0);
            (1, LINES)
        }
    };
    for i in 0..rhs.operand.lines.div_ceil(WIDTH) {
        let cols = i * WIDTH..rhs.operand.lines.min((i + 1) * WIDTH);
        let count = cols.len();
        match rhs.operand.order {
            Order::DepthContiguous => turn_lines(rhs, cols, of_rhs),
            Order::LineContiguous => widen_depths::<WIDTH>(rhs, cols, of_rhs),
        }
        let panel = &of_rhs[..depth.div_ceil(2)];
        for rows in tiles_of(rows, height) {
            let lhs = &of_lhs[rows.start * steps.0..];
            let to = (to.at(rows.start, i * WIDTH), to.stride);
            // SAFETY: this function's own promise, for these rows and columns, and both sides have as many pairs, as was asserted.
            unsafe {
                match count > LANES {
                    false => by_rows!(rows.len(), |N| multiply_rows::<N, 1>(lhs, steps, panel, to, count)),
                    true => by_rows!(rows.len(), |N| multiply_rows::<N, 2>(lhs, steps, panel, to, count)),
                }
            }
        }
    }
}

/// Multiplies so many rows, the pairs of which are so many apart from row to row and along the depth, by so many vectors of columns.
///
/// # Safety
/// All these pairs are there. As many rows, so many elements apart, are the caller's to write, of as many columns.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn multiply_rows<const N: usize, const V: usize>(
    lhs: &[i32],
    (row_step, pair_step): (usize, usize),
    rhs: &[[i32; WIDTH]],
    (to, stride): (*mut i32, usize),
    cols: usize,
) {
    let mut c = [[zero(); V]; N];
    for (p, group) in rhs.iter().enumerate() {
        let groups = group.as_chunks::<LANES>().0;
        let mut b = [zero(); V];
        for v in 0..V {
            b[v] = resume(&groups[v]);
        }
        for (i, c) in c.iter_mut().enumerate() {
            // SAFETY: this function's own promise.
            let a = _mm256_set1_epi32(unsafe { *lhs.get_unchecked(i * row_step + p * pair_step) });
            for v in 0..V {
                c[v] = plus(c[v], _mm256_madd_epi16(a, b[v]));
            }
        }
    }
    for (i, c) in c.iter().enumerate() {
        // SAFETY: this function's own promise.
        let to = unsafe { std::slice::from_raw_parts_mut(to.wrapping_add(i * stride), cols) };
        for v in 0..V {
            put(&mut to[v * LANES..], c[v]);
        }
    }
}

/// Widens lines whose depth is contiguous: the pairs of one after those of the one before.
#[inline]
#[target_feature(enable = "avx2")]
fn widen_lines(side: Side, to: &mut [[i32; DEPTH / 2]]) {
    let wide = Wide::new(side);
    for (line, to) in to[..side.operand.lines].iter_mut().enumerate() {
        let run = side.operand.run(line);
        for (bytes, to) in run.chunks(CHUNK).zip(to.as_chunks_mut::<LANES>().0) {
            store(to, wide.first(bytes));
        }
    }
}

/// Widens some lines whose depth is contiguous: the pairs of all at one depth after those at the one before.
#[inline]
#[target_feature(enable = "avx2")]
fn turn_lines(side: Side, lines: Range<usize>, to: &mut [[i32; WIDTH]]) {
    let wide = Wide::new(side);
    let depth = side.operand.depth;
    for at in (0..lines.len()).step_by(LANES) {
        for from in (0..depth).step_by(CHUNK) {
            let mut rows = [zero(); LANES];
            for (row, line) in rows.iter_mut().zip(lines.start + at..lines.end) {
                *row = wide.first(&side.operand.run(line)[from..]);
            }
            let [a, b, c, d, e, f, g, h] = rows;
            let (upper, lower) = (transposed([a, b, c, d]), transposed([e, f, g, h]));
            let to = &mut to[from / 2..][..LANES];
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
fn widen_depths<const W: usize>(side: Side, lines: Range<usize>, to: &mut [[i32; W]]) {
    let wide = Wide::new(side);
    let depth = side.operand.depth;
    let (whole, rest) = to.split_at_mut(depth / 2);
    for (i, to) in whole.iter_mut().enumerate() {
        wide.put_pairs(side.operand.parts(2 * i, lines.clone()), _mm256_set1_epi32(-1), to);
    }
    if !depth.is_multiple_of(2) {
        let [last] = side.operand.parts(depth - 1, lines);
        wide.put_pairs([last, &[]], _mm256_set1_epi32(0xffff), &mut rest[0]);
    }
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
    fn new(side: Side) -> Self {
        let encoding = side.operand.encoding;
        let (flip, shift) = (encoding.flip_to(Encoding::U8), encoding.shift_to(Encoding::U8) as i16);
        Self { flip: _mm_set1_epi8(flip as i8), added: _mm256_set1_epi16(side.added - shift) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(self, bytes: __m128i) -> Vector {
        _mm256_add_epi16(_mm256_cvtepu8_epi16(_mm_xor_si128(bytes, self.flip)), self.added)
    }

    /// Those of two depths, in pairs, of which these bits count.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn put_pairs<const W: usize>(self, [first, second]: [&[u8]; 2], mask: Vector, to: &mut [i32; W]) {
        for (i, to) in to.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            let Some(rest) = first.get(i * CHUNK..) else { break };
            let (low, high) = to.split_at_mut(LANES);
            let (first, second) = (chunk(rest), chunk(second.get(i * CHUNK..).unwrap_or_default()));
            store(low, _mm256_and_si256(self.all(_mm_unpacklo_epi8(first, second)), mask));
            if rest.len() > LANES {
                store(high, _mm256_and_si256(self.all(_mm_unpackhi_epi8(first, second)), mask));
            }
        }
    }

    /// Those of the first 16 bytes, or of all, and then 0 where it is half of a pair.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn first(self, bytes: &[u8]) -> Vector {
        let numbers = self.all(chunk(bytes));
        if bytes.len() >= CHUNK || bytes.len().is_multiple_of(2) {
            return numbers;
        }
        let places = _mm256_set_epi16(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        _mm256_and_si256(numbers, _mm256_cmpgt_epi16(_mm256_set1_epi16(bytes.len() as i16), places))
    }
}

/// The first 16 bytes, or all and then 0. (By way of general registers: bytes that were just stored one by one come late as a vector.)
#[inline]
#[target_feature(enable = "avx2")]
fn chunk(bytes: &[u8]) -> __m128i {
    if let Some(whole) = bytes.first_chunk::<CHUNK>() {
        // SAFETY: the reference covers the 16 bytes read.
        return unsafe { _mm_loadu_si128(whole.as_ptr().cast()) };
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
fn store(to: &mut [i32], value: Vector) {
    vector256::store(to.first_chunk_mut().expect("room for a vector"), value, true);
}
