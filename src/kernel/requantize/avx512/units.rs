//! Rows of sums become bytes in 65536ths of what they are to be, of which the upper words count: so few instructions for each that
//! a processor does them beside multiplications.

use super::{LANES, put_row};
use crate::kernel::relay::Panel;
use crate::kernel::requantize::{Rows, Words, near};
use crate::kernel::vector512::{Vector, plus, resume};
use crate::matrix::{Block, Output};
use std::arch::x86_64::*;

/// As [`super::finish_rows`], of sums that hold what the panel's columns add.
///
/// # Safety
/// Nobody else uses this part of the result.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in crate::kernel) unsafe fn finish_added(
    panel: &Panel,
    rows: &Rows<{ 2 * LANES }>,
    out: &Output<u8>,
    (row, col): (usize, usize),
) {
    // SAFETY: this function's own promise.
    let to = unsafe { out.block(row..row + rows.sums.len(), col..col + rows.cols) };
    match (rows.terms.is_empty(), panel.signs != 0) {
        (true, true) => by_bytes::<false, true>(panel, rows, to),
        (true, false) => by_bytes::<false, false>(panel, rows, to),
        (false, true) => by_bytes::<true, true>(panel, rows, to),
        (false, false) => by_bytes::<true, false>(panel, rows, to),
    }
}

/// Whether bytes are signed, and whether not all are allowed.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn by_bytes<const TERMS: bool, const SIGNS: bool>(panel: &Panel, rows: &Rows<{ 2 * LANES }>, to: Block<u8>) {
    match (panel.last.least, panel.last.greatest) {
        (0, 255) => finish::<TERMS, SIGNS, false, false>(panel, rows, to),
        (-128, 127) => finish::<TERMS, SIGNS, true, false>(panel, rows, to),
        (0.., _) => finish::<TERMS, SIGNS, false, true>(panel, rows, to),
        _ => finish::<TERMS, SIGNS, true, true>(panel, rows, to),
    }
}

/// Two rows at once.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn finish<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    panel: &Panel,
    rows: &Rows<{ 2 * LANES }>,
    mut to: Block<u8>,
) {
    let units = Units::<TERMS, SIGNS, SIGNED, CONFINED>::of(panel);
    let (pairs, rest) = rows.sums.as_chunks::<2>();
    let (terms_of_pairs, terms_of_rest) = rows.terms.as_chunks::<2>();
    for (i, [first, second]) in pairs.iter().enumerate() {
        let bytes = units.rows([first, second], if TERMS { &terms_of_pairs[i] } else { &[0; 2] });
        for row in [_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64::<1>(bytes)] {
            put_row(row, to.next().expect("as many rows"));
        }
    }
    if let [row] = rest {
        let term = if TERMS { terms_of_rest[0] } else { 0 };
        let bytes = units.rows([row; 2], &[term; 2]);
        put_row(_mm512_castsi512_si256(bytes), to.next().expect("as many rows"));
    }
}

/// What is done with the sums of a panel's rows, which have terms or not, signs that matter or not, signed bytes or not, and not all
/// bytes or all.
struct Units<'p, const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool> {
    panel: &'p Panel,
    scale: [__m512; 2],
    /// With half a number where signs do not matter: then the sum of a product and both is rounded once.
    nudge: [Vector; 2],
    offset: Vector,
    least: Vector,
    greatest: Vector,
}

impl<'p, const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>
    Units<'p, TERMS, SIGNS, SIGNED, CONFINED>
{
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn of(panel: &'p Panel) -> Self {
        let nudge = |half: usize| {
            let nudge = resume(&panel.nudge[half]);
            let and_half = _mm512_add_ps(_mm512_castsi512_ps(nudge), _mm512_set1_ps(near::HALF as f32));
            if SIGNS { nudge } else { _mm512_castps_si512(and_half) }
        };
        let scale = |half: usize| _mm512_castsi512_ps(resume(&panel.scale[half]));
        Self {
            panel,
            scale: [scale(0), scale(1)],
            nudge: [nudge(0), nudge(1)],
            offset: _mm512_set1_epi16(panel.last.offset as i16),
            least: _mm512_set1_epi8(panel.last.least as i8),
            greatest: _mm512_set1_epi8(panel.last.greatest as i8),
        }
    }

    /// The bytes of two rows, one after the other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn rows(&self, sums: [&[i32; 2 * LANES]; 2], terms: &[i32; 2]) -> Vector {
        let (upper, least_of_upper) = self.words(sums[0], &terms[0]);
        let (lower, least_of_lower) = self.words(sums[1], &terms[1]);
        let least = _mm512_min_epu16(least_of_upper, least_of_lower);
        // Of the lower words.
        match _mm512_mask_cmplt_epu16_mask(0x5555_5555, least, _mm512_set1_epi16(near::IN_DOUBT as i16)) {
            0 => self.bytes(upper, lower),
            _ => in_doubt(self.panel, sums, terms),
        }
    }

    /// The numbers of a row, of both halves in turn; and what is less than [`near::IN_DOUBT`] in lower words if a number is in doubt.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn words(&self, sums: &[i32; 2 * LANES], term: &i32) -> (Vector, Vector) {
        let sums = sums.as_chunks().0;
        let (left, right) = (self.units(&sums[0], term, 0), self.units(&sums[1], term, 1));
        // Upper words, those of the left half in the lower places.
        let words = _mm512_mask_blend_epi16(0xAAAA_AAAA, _mm512_srli_epi32::<16>(left), right);
        (_mm512_adds_epi16(words, self.offset), _mm512_min_epu16(left, right))
    }

    /// 65536ths of the numbers of half a row, and half a number.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn units(&self, sums: &[i32; LANES], term: &i32, half: usize) -> Vector {
        let mut x = resume(sums);
        if TERMS {
            x = plus(x, _mm512_set1_epi32(*term));
        }
        let x = _mm512_cvtepi32_ps(x);
        let mut nudge = self.nudge[half];
        if SIGNS {
            nudge = _mm512_xor_si512(nudge, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(i32::MIN)));
        }
        let z = _mm512_fmadd_ps(x, self.scale[half], _mm512_castsi512_ps(nudge));
        let units = _mm512_cvtps_epi32(_mm512_min_ps(z, _mm512_set1_ps(near::MOST_UNITS)));
        if SIGNS { plus(units, _mm512_set1_epi32(near::HALF)) } else { units }
    }

    /// Those of words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn bytes(&self, upper: Vector, lower: Vector) -> Vector {
        let mut bytes = match SIGNED {
            true => _mm512_packs_epi16(upper, lower),
            false => _mm512_packus_epi16(upper, lower),
        };
        if CONFINED {
            bytes = match SIGNED {
                true => _mm512_min_epi8(_mm512_max_epi8(bytes, self.least), self.greatest),
                false => _mm512_min_epu8(_mm512_max_epu8(bytes, self.least), self.greatest),
            };
        }
        // Each four columns of both halves side by side, and then in order: of each quarter, four columns of the first half, of the
        // second, and the same of the next row.
        let sides = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
        let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        _mm512_permutexvar_epi32(order, _mm512_shuffle_epi8(bytes, sides))
    }
}

/// The bytes of two rows of which a number is in doubt.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn in_doubt(panel: &Panel, sums: [&[i32; 2 * LANES]; 2], terms: &[i32; 2]) -> Vector {
    let columns = super::columns_of(panel, Words::Same(0));
    super::in_doubt::<_, 2, true>(panel.rule, &columns, &panel.last, &[*sums[0], *sums[1]], terms)
}
