//! With AVX-512. What is read ends by a mask where a run does.

use super::{DEPTH, Side};
use crate::kernel::shuffle_quads512::transposed;
use crate::kernel::vector512::{self, Vector, zero};
use crate::matrix::Encoding;
use std::arch::x86_64::*;
use std::ops::Range;

/// Pairs of numbers in a vector.
const LANES: usize = 16;

/// Numbers in a vector, which are bytes in half of one.
const CHUNK: usize = 2 * LANES;

/// The bytes of a quarter of a vector.
const QUARTER: usize = 16;

/// Without VNNI.
pub(in crate::kernel) mod bw {
    use super::super::{DEPTH, NEVER, Place, ROOM, ROWS, Side, TinyWay};
    use super::{turn_lines, widen_depths, widen_lines};
    use crate::kernel::vector512::{Vector, plus, put, resume, spread, zero};
    use crate::kernel::{height, tiles_of};
    use crate::matrix::{Operand, Order};
    use std::arch::x86_64::*;
    use std::ops::Range;

    /// 33 x 33 x 33 takes 0.4 to 0.65 of the time of tiles, 80 x 80 x 80 0.75, with weights of 7 bits 0.9 to 1.0.
    pub(in crate::kernel) const WAY: TinyWay = TinyWay {
        multiply,
        most_macs: 512 << 10,
        most_of_large: 512 << 10,
        stretch: NEVER,
        bytes_worth_packing: 0,
        most_beside_short: 0,
    };

    tiny_kernel! {
        features: ["avx512f", "avx512bw", "avx512vl"], lanes: 16, rows: [1 2 3 4 5 6 7 8 9 10 11 12], dot: dot
    }

    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn dot(c: Vector, a: Vector, b: Vector) -> Vector {
        plus(c, _mm512_madd_epi16(a, b))
    }
}

/// With VNNI.
pub(in crate::kernel) mod vnni {
    use super::super::{DEPTH, Place, ROOM, ROWS, Side, TinyWay};
    use super::{turn_lines, widen_depths, widen_lines};
    use crate::kernel::vector512::{Vector, put, resume, spread, zero};
    use crate::kernel::{height, tiles_of};
    use crate::matrix::{Operand, Order};
    use std::arch::asm;
    use std::ops::Range;

    /// 33 x 33 x 33 takes 0.75 to 0.9 of the time of tiles, which multiply bytes by fours, and 48 x 48 x 48 1.0 to 1.2.
    pub(in crate::kernel) const WAY: TinyWay = TinyWay {
        multiply,
        most_macs: 40 << 10,
        most_of_large: 40 << 10,
        stretch: 64,
        bytes_worth_packing: 6 << 10,
        most_beside_short: 0,
    };

    tiny_kernel! {
        features: ["avx512f", "avx512bw", "avx512vl", "avx512vnni"], lanes: 16, rows: [1 2 3 4 5 6 7 8 9 10 11 12], dot: dot
    }

    /// (In assembly, for the compiler would make two instructions of it.)
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn dot(mut c: Vector, a: Vector, b: Vector) -> Vector {
        // SAFETY: nothing but registers is read and written, and the processor has the instruction.
        unsafe {
            asm!("vpdpwssd {}, {}, {}", inout(zmm_reg) c, in(zmm_reg) a, in(zmm_reg) b,
                options(pure, nomem, nostack, preserves_flags));
        }
        c
    }
}

/// Widens lines whose depth is contiguous: the pairs of one after those of the one before.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn widen_lines(Side { operand, added }: Side, to: &mut [[i32; DEPTH / 2]]) {
    let wide = Wide::new(operand.encoding, added);
    for from in (0..operand.depth).step_by(CHUNK) {
        for (line, to) in operand.tails(from).iter().zip(&mut *to) {
            store(&mut to[from / 2..], wide.pairs_of(line));
        }
    }
}

/// Widens some lines whose depth is contiguous: the pairs of all at one depth after those at the one before. What is half of the last pair
/// may become anything, for the LHS's is 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn turn_lines(Side { operand, added }: Side, lines: Range<usize>, to: &mut [[i32; 2 * LANES]]) {
    let wide = Wide::new(operand.encoding, added);
    for from in (0..operand.depth).step_by(QUARTER) {
        let (tails, to) = (operand.tails(from), &mut to[from / 2..][..QUARTER / 2]);
        for line in lines.clone().step_by(LANES) {
            // Those that are not there become the last one, and do not count.
            let mut sixteen = [_mm_setzero_si128(); LANES];
            for (i, bytes) in sixteen.iter_mut().enumerate() {
                *bytes = first_of(tails.get((line + i).min(lines.end - 1)));
            }
            let mut fours = [zero(); 4];
            for (i, four) in fours.iter_mut().enumerate() {
                *four = _mm512_castsi128_si512(sixteen[i]);
                *four = _mm512_inserti32x4::<1>(*four, sixteen[i + 4]);
                *four = _mm512_inserti32x4::<2>(*four, sixteen[i + 8]);
                *four = _mm512_inserti32x4::<3>(*four, sixteen[i + 12]);
            }
            let at = line - lines.start;
            let quads = transposed(fours);
            for i in 0..4 {
                let pairs = wide.pairs(quads[i]);
                store(&mut to[2 * i][at..], pairs[0]);
                store(&mut to[2 * i + 1][at..], pairs[1]);
            }
        }
    }
}

/// Widens some lines that are contiguous at each depth: the pairs of all at one depth after those at the one before.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn widen_depths<const W: usize>(Side { operand, added }: Side, lines: Range<usize>, to: &mut [[i32; W]]) {
    let wide = Wide::new(operand.encoding, added);
    for line in lines.clone().step_by(LANES) {
        let (at, depths) = (line - lines.start, operand.tails(line));
        for ([first, second], to) in depths.in_groups().zip(&mut *to) {
            store(&mut to[at..], wide.both(first_of(first), first_of(second)));
        }
        if !operand.depth.is_multiple_of(2) {
            let last = operand.depth - 1;
            store(&mut to[last / 2][at..], wide.first_only(first_of(depths.get(last))));
        }
    }
}

/// How bytes become numbers.
#[derive(Clone, Copy)]
struct Wide {
    /// What signed bytes are flipped by, to be 128 more.
    flip: u8,
    added: Vector,
}

impl Wide {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn new(encoding: Encoding, added: i16) -> Self {
        let (flip, shift) = (encoding.flip_to(Encoding::U8), encoding.shift_to(Encoding::U8) as i16);
        Self { flip, added: _mm512_set1_epi16(added - shift) }
    }

    /// The first 32 numbers, or all, and then 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn pairs_of(self, bytes: &[u8]) -> Vector {
        let mask = u32::MAX.unbounded_shr(32 - bytes.len().min(32) as u32);
        // SAFETY: the mask has bits for bytes that the slice covers, and nothing else is read.
        let bytes = unsafe { _mm256_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) };
        let bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(self.flip as i8));
        _mm512_maskz_add_epi16(mask, _mm512_cvtepu8_epi16(bytes), self.added)
    }

    /// The first and the second halves of groups of four.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn pairs(self, quads: Vector) -> [Vector; 2] {
        // Of each group the first two bytes, or the last two, and a 0 after each.
        let first = _mm_setr_epi32(
            0x8001_8000_u32 as i32,
            0x8005_8004_u32 as i32,
            0x8009_8008_u32 as i32,
            0x800d_800c_u32 as i32,
        );
        let second = _mm_or_si128(first, _mm_set1_epi16(2));
        let quads = _mm512_xor_si512(quads, _mm512_set1_epi8(self.flip as i8));
        let first = _mm512_shuffle_epi8(quads, _mm512_broadcast_i32x4(first));
        let second = _mm512_shuffle_epi8(quads, _mm512_broadcast_i32x4(second));
        [_mm512_add_epi16(first, self.added), _mm512_add_epi16(second, self.added)]
    }

    /// The numbers of two depths, in pairs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn both(self, first: __m128i, second: __m128i) -> Vector {
        _mm512_add_epi16(self.joined(first, second), self.added)
    }

    /// Those of the last depth, in pairs with 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn first_only(self, first: __m128i) -> Vector {
        _mm512_maskz_add_epi16(0x5555_5555, self.joined(first, first), self.added)
    }

    /// As they are without what is added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn joined(self, first: __m128i, second: __m128i) -> Vector {
        let second = _mm512_slli_epi32::<16>(_mm512_cvtepu8_epi32(second));
        let pairs = _mm512_or_si512(_mm512_cvtepu8_epi32(first), second);
        _mm512_xor_si512(pairs, _mm512_set1_epi16(self.flip.into()))
    }
}

/// The first 16 bytes, or all and then 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn first_of(bytes: &[u8]) -> __m128i {
    let mask = u16::MAX.unbounded_shr(16 - bytes.len().min(16) as u32);
    // SAFETY: the mask has bits for bytes that the slice covers, and nothing else is read.
    unsafe { _mm_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [i32], value: Vector) {
    vector512::store(to.first_chunk_mut().expect("room for a vector"), value, true);
}
