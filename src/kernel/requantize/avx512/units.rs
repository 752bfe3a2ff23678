//! Rows of sums become bytes in 65536ths of what they are to be, of which the upper words count: so few instructions for each that
//! a processor does them beside multiplications with AMX; every one that has it has AVX-512 VBMI, too.

use super::{LANES, by_sign, down, put_row};
use crate::kernel::panel::Panel;
use crate::kernel::requantize::{Rule, near};
use crate::kernel::vector512::{Vector, plus, resume};
use crate::matrix::{Block, Output};
use std::arch::x86_64::*;
use std::ops::Range;

/// What makes bytes of rows of sums, to which what a panel's columns add is still to be added, and brings one after the other to its
/// place. (To begin tiles with that takes longer, most so where two threads share a processor.)
pub(in crate::kernel) struct Finisher<'a> {
    panel: &'a Panel,
    to: Block<'a, u8>,
    finish: FinishFn,
}

/// # Safety
/// The CPU has the features that [`finish`] was compiled for.
type FinishFn = unsafe fn(&Panel, &mut Block<u8>, sums: &[[i32; 2 * LANES]], terms: &[i32]);

impl<'a> Finisher<'a> {
    /// For these rows and columns of the result, those of a panel; rows add something if they have terms.
    ///
    /// # Safety
    /// The CPU has the features that [`finish`] was compiled for. Nobody else uses this part of the result.
    #[inline]
    pub(in crate::kernel) unsafe fn new(
        panel: &'a Panel,
        has_terms: bool,
        out: &'a Output<u8>,
        (rows, cols): (Range<usize>, Range<usize>),
    ) -> Self {
        let finish = match (panel.rule, has_terms, panel.signs != 0) {
            (Rule::Down, false, _) => down::finish::<false>,
            (Rule::Down, true, _) => down::finish::<true>,
            (_, false, true) => by_bytes::<false, true>(panel),
            (_, false, false) => by_bytes::<false, false>(panel),
            (_, true, true) => by_bytes::<true, true>(panel),
            (_, true, false) => by_bytes::<true, false>(panel),
        };
        // SAFETY: this function's own promise.
        Self { panel, to: unsafe { out.block(rows, cols) }, finish }
    }

    /// Finishes the next rows, which have these sums, and one term each, or none.
    #[inline(always)]
    pub(in crate::kernel) fn finish(&mut self, sums: &[[i32; 2 * LANES]], terms: &[i32]) {
        // SAFETY: `new` was promised that the CPU has these features.
        unsafe { (self.finish)(self.panel, &mut self.to, sums, terms) }
    }
}

/// Whether bytes are signed, and whether not all are allowed.
fn by_bytes<const TERMS: bool, const SIGNS: bool>(panel: &Panel) -> FinishFn {
    match (panel.last.least, panel.last.greatest) {
        (0, 255) => finish::<TERMS, SIGNS, false, false>,
        (-128, 127) => finish::<TERMS, SIGNS, true, false>,
        (0.., _) => finish::<TERMS, SIGNS, false, true>,
        _ => finish::<TERMS, SIGNS, true, true>,
    }
}

/// Four rows at once of a whole panel, with few instructions for each, so that the processor sees beyond them.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn finish<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    panel: &Panel,
    to: &mut Block<u8>,
    mut sums: &[[i32; 2 * LANES]],
    mut terms: &[i32],
) {
    let units = Units::<TERMS, SIGNS, SIGNED, CONFINED>::of(panel);
    while let Some((four, others)) = sums.split_first_chunk::<4>()
        && let Some([a, b, c, d]) = to.whole::<4, { 2 * LANES }>()
    {
        let of_four = if TERMS { terms.split_off(..4).expect("one for each row") } else { &[0; 4] };
        let pair = |i: usize| [&four[i], &four[i + 1]];
        let terms_of = [[of_four[0], of_four[1]], [of_four[2], of_four[3]]];
        let ([upper, lower], are_sure) = units.pairs([pair(0), pair(2)], &terms_of);
        // Not in a loop, for which the compiler brings them to memory first.
        let ([of_a, of_b], [of_c, of_d]) = (halves(upper), halves(lower));
        put_row(of_a, a);
        put_row(of_b, b);
        put_row(of_c, c);
        put_row(of_d, d);
        if !are_sure {
            correct::<TERMS, SIGNS, SIGNED, CONFINED>(panel, four, of_four, &mut [a, b, c, d]);
        }
        sums = others;
    }
    if !sums.is_empty() {
        finish_others::<TERMS, SIGNS, SIGNED, CONFINED>(panel, to, sums, terms);
    }
}

/// Of a part of a panel, and fewer rows.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn finish_others<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    panel: &Panel,
    to: &mut Block<u8>,
    sums: &[[i32; 2 * LANES]],
    terms: &[i32],
) {
    let units = Units::<TERMS, SIGNS, SIGNED, CONFINED>::of(panel);
    for (i, rows) in sums.chunks(2).enumerate() {
        let (first, last) = (2 * i, 2 * i + rows.len() - 1);
        let terms = if TERMS { [terms[first], terms[last]] } else { [0; 2] };
        let ([bytes], are_sure) = units.pairs([[&sums[first], &sums[last]]], &[terms]);
        for (i, row) in halves(bytes).into_iter().take(rows.len()).enumerate() {
            let Some(to) = to.next() else { return };
            put_row(row, to);
            if !are_sure {
                correct::<TERMS, SIGNS, SIGNED, CONFINED>(panel, &rows[i..=i], &terms[i..=i], &mut [to]);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(super) fn halves(bytes: Vector) -> [__m256i; 2] {
    [_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64::<1>(bytes)]
}

/// What is done with the sums of a panel's rows, which have terms or not, signs that matter or not, signed bytes or not, and not all
/// bytes or all.
struct Units<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool> {
    /// What columns add to sums.
    added: [Vector; 2],
    scale: [__m512; 2],
    /// What is added to positive products, and its bits that are others for negative ones.
    above: [Vector; 2],
    difference: [Vector; 2],
    least: Vector,
    greatest: Vector,
}

impl<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>
    Units<TERMS, SIGNS, SIGNED, CONFINED>
{
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn of(panel: &Panel) -> Self {
        let scale = |half: usize| _mm512_castsi512_ps(resume(&panel.scale[half]));
        Self {
            added: [resume(&panel.added[0]), resume(&panel.added[1])],
            scale: [scale(0), scale(1)],
            above: [resume(&panel.above[0]), resume(&panel.above[1])],
            difference: [resume(&panel.difference[0]), resume(&panel.difference[1])],
            least: _mm512_set1_epi8(panel.last.least as i8),
            greatest: _mm512_set1_epi8(panel.last.greatest as i8),
        }
    }

    /// The bytes of pairs of rows, those of a pair one after the other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn pairs<const PAIRS: usize>(
        &self,
        sums: [[&[i32; 2 * LANES]; 2]; PAIRS],
        terms: &[[i32; 2]; PAIRS],
    ) -> ([Vector; PAIRS], bool) {
        let (mut least, mut words) = (_mm512_set1_epi16(-1), [[_mm512_setzero_si512(); 2]; PAIRS]);
        for (words, (sums, terms)) in words.iter_mut().zip(sums.iter().zip(terms)) {
            for (words, (sums, term)) in words.iter_mut().zip(sums.iter().zip(terms)) {
                let (of_row, least_of_row) = self.words(sums, term);
                (*words, least) = (of_row, _mm512_min_epu16(least, least_of_row));
            }
        }
        let mut bytes = [_mm512_setzero_si512(); PAIRS];
        bytes.iter_mut().zip(&words).for_each(|(bytes, words)| *bytes = self.bytes(words[0], words[1]));
        (bytes, doubts(least) == 0)
    }

    /// The numbers of a row, of both halves in turn, with their offset; and what is less than [`near::IN_DOUBT`] in lower words if a
    /// number is in doubt.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn words(&self, sums: &[i32; 2 * LANES], term: &i32) -> (Vector, Vector) {
        let sums = sums.as_chunks().0;
        let (left, right) = (self.units(&sums[0], term, 0), self.units(&sums[1], term, 1));
        // Upper words, those of the left half in the lower places: A | (B & C).
        let upper = _mm512_set1_epi32(-1 << 16);
        let words = _mm512_ternarylogic_epi32::<0xF8>(_mm512_srli_epi32::<16>(left), right, upper);
        (words, _mm512_min_epu16(left, right))
    }

    /// 65536ths of the numbers of half a row, with their offset and half a number. What is out of range becomes the least integer,
    /// which is in doubt.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn units(&self, sums: &[i32; LANES], term: &i32, half: usize) -> Vector {
        let mut x = plus(resume(sums), self.added[half]);
        if TERMS {
            x = plus(x, _mm512_set1_epi32(*term));
        }
        let mut above = self.above[half];
        if SIGNS {
            above = by_sign(x, above, self.difference[half]);
        }
        _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(x), self.scale[half], _mm512_castsi512_ps(above)))
    }

    /// Those of words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
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
        // SAFETY: it has as many bytes.
        let order = unsafe { _mm512_loadu_si512(ORDER.as_ptr().cast()) };
        _mm512_permutexvar_epi8(order, bytes)
    }
}

/// Which byte of packed words goes where: of each quarter, eight are of the first row, from four columns of both halves in turn, and
/// eight of the second.
const ORDER: [u8; 4 * LANES] = {
    let mut order = [0; 4 * LANES];
    let mut i = 0;
    while i < order.len() {
        let (row, col) = (i / (2 * LANES), i % (2 * LANES));
        let (half, lane) = (col / LANES, col % LANES);
        order[i] = (lane / 4 * 16 + row * 8 + lane % 4 * 2 + half) as u8;
        i += 1;
    }
    order
};

/// Which numbers are in doubt, of such ones: a bit for each lower word.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn doubts(units: Vector) -> u32 {
    _mm512_mask_cmplt_epu16_mask(0x5555_5555, units, _mm512_set1_epi16(near::IN_DOUBT as i16))
}

/// Puts right those bytes of rows that were in doubt. One by one, for seldom are there two.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn correct<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    panel: &Panel,
    sums: &[[i32; 2 * LANES]],
    terms: &[i32],
    rows: &mut [&mut [u8]],
) {
    let units = Units::<TERMS, SIGNS, SIGNED, CONFINED>::of(panel);
    for ((sums, term), row) in sums.iter().zip(terms).zip(rows) {
        for (half, sums) in sums.as_chunks().0.iter().enumerate() {
            let mut doubts = doubts(units.units(sums, term, half));
            while doubts != 0 {
                let lane = doubts.trailing_zeros() as usize / 2;
                doubts &= doubts - 1;
                if let Some(byte) = row.get_mut(half * LANES + lane) {
                    let sum = sums[lane].wrapping_add(panel.added[half][lane]);
                    let sum = if TERMS { sum.wrapping_add(*term) } else { sum };
                    let number = panel.rule.scaled(sum, panel.factor[half][lane], panel.exponent[half][lane]);
                    *byte = panel.last.byte(number);
                }
            }
        }
    }
}
