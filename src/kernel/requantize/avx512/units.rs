//! Rows of sums become bytes in 65536ths of what they are to be, of which the upper words count: so few instructions for each that
//! a processor does them beside multiplications with AMX; every one that has it has AVX-512 VBMI, too.

use super::{LANES, by_sign, down, put_row};
use crate::kernel::panel::Panel;
use crate::kernel::requantize::{Last, Rule, near};
use crate::kernel::vector512::{Vector, plus, resume};
use crate::matrix::Block;
use std::arch::x86_64::*;

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
    /// For these places of a panel's rows, which add something if they have terms.
    ///
    /// # Safety
    /// The CPU has the features that [`finish`] was compiled for.
    #[inline]
    pub(in crate::kernel) unsafe fn new(panel: &'a Panel, has_terms: bool, to: Block<'a, u8>) -> Self {
        let finish = match (panel.rule, has_terms) {
            (Rule::Down, false) => down::finish::<false>,
            (Rule::Down, true) => down::finish::<true>,
            _ => by_kind(ToFinish, panel, has_terms),
        };
        Self { panel, to, finish }
    }

    /// Finishes the next rows, which have these sums, and one term each, or none.
    #[inline(always)]
    pub(in crate::kernel) fn finish(&mut self, sums: &[[i32; 2 * LANES]], terms: &[i32]) {
        // SAFETY: `new` was promised that the CPU has these features.
        unsafe { (self.finish)(self.panel, &mut self.to, sums, terms) }
    }
}

/// Something of its own for whether rows have terms, signs matter, bytes are signed, and not all are allowed.
pub(in crate::kernel) trait ByKind {
    type Outcome;

    fn of<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(self) -> Self::Outcome;
}

/// That of such panels.
#[inline(always)]
pub(in crate::kernel) fn by_kind<K: ByKind>(kind: K, panel: &Panel, has_terms: bool) -> K::Outcome {
    #[inline(always)]
    fn by_bytes<K: ByKind, const TERMS: bool, const SIGNS: bool>(kind: K, last: &Last) -> K::Outcome {
        match (last.least, last.greatest) {
            (0, 255) => kind.of::<TERMS, SIGNS, false, false>(),
            (-128, 127) => kind.of::<TERMS, SIGNS, true, false>(),
            (0.., _) => kind.of::<TERMS, SIGNS, false, true>(),
            _ => kind.of::<TERMS, SIGNS, true, true>(),
        }
    }
    match (has_terms, panel.signs != 0) {
        (false, true) => by_bytes::<K, false, true>(kind, &panel.last),
        (false, false) => by_bytes::<K, false, false>(kind, &panel.last),
        (true, true) => by_bytes::<K, true, true>(kind, &panel.last),
        (true, false) => by_bytes::<K, true, false>(kind, &panel.last),
    }
}

/// Gives [`finish`].
struct ToFinish;

impl ByKind for ToFinish {
    type Outcome = FinishFn;

    fn of<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(self) -> FinishFn {
        finish::<TERMS, SIGNS, SIGNED, CONFINED>
    }
}

/// Pairs of a whole panel's rows, which become bytes beside something that is done in so many parts: as many after one as after another.
/// They lie one after the other, unless how many bytes before each there are is told, two by two.
pub(in crate::kernel) struct Pairs<
    'a,
    const PLACED: bool,
    const TERMS: bool,
    const SIGNS: bool,
    const SIGNED: bool,
    const CONFINED: bool,
> {
    units: Units<TERMS, SIGNS, SIGNED, CONFINED>,
    panel: &'a Panel,
    to: Block<'a, u8>,
    sums: &'a [[i32; 2 * LANES]],
    places: &'a [[u32; 2]],
    /// Those that are left, of one or the other.
    left: std::slice::Iter<'a, [[i32; 2 * LANES]; 2]>,
    places_left: std::slice::Iter<'a, [u32; 2]>,
    terms: &'a [i32],
    parts: usize,
    /// How many are due, times how many parts there are; and how many are done.
    due: usize,
    done: usize,
    /// Which have a number in doubt, each by a bit.
    doubtful: u32,
}

impl<'a, const PLACED: bool, const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>
    Pairs<'a, PLACED, TERMS, SIGNS, SIGNED, CONFINED>
{
    /// Those of some of a whole panel's rows, as many as are told, an even number, 64 at most.
    ///
    /// # Safety
    /// So many bytes are those of whole rows of sums, after which there is another; and of the first rows, if they lie one after the
    /// other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    pub(in crate::kernel) unsafe fn new(
        panel: &'a Panel,
        to: Block<'a, u8>,
        sums: &'a [[i32; 2 * LANES]],
        places: &'a [u32],
        terms: &'a [i32],
        parts: usize,
    ) -> Self {
        let places = places.as_chunks().0;
        let rows = 2 * places.len();
        assert!(rows <= 64 && rows <= sums.len() && (!TERMS || terms.len() >= rows) && to.is_of(rows, 2 * LANES));
        Self {
            units: Units::of(panel),
            panel,
            to,
            sums,
            places,
            left: sums[..rows].as_chunks().0.iter(),
            places_left: places.iter(),
            terms,
            parts,
            due: 0,
            done: 0,
            doubtful: 0,
        }
    }

    /// Finishes those that are due after one more part.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    pub(in crate::kernel) fn finish_due(&mut self) {
        self.due += self.places.len();
        while self.due >= self.parts {
            let [first, second] = if PLACED {
                let Some(places) = self.places_left.next() else { break };
                // SAFETY: as was promised to `new`.
                unsafe { sums_at(self.sums, places) }
            } else {
                let Some(pair) = self.left.next() else { break };
                pair.each_ref()
            };
            // SAFETY: there are as many rows as are told, as `new` asserts.
            let [to_first, to_second] = unsafe { self.to.take_whole::<2, { 2 * LANES }>() };
            self.due -= self.parts;
            let terms =
                if TERMS { *self.terms[2 * self.done..].first_chunk().expect("one for each row") } else { [0; 2] };
            let ([bytes], are_sure) = self.units.pairs([[first, second]], &[terms]);
            let [of_first, of_second] = halves(bytes);
            put_row(of_first, to_first);
            put_row(of_second, to_second);
            if !are_sure {
                self.doubtful = with_doubt(self.doubtful, self.done);
            }
            self.done += 1;
        }
    }

    /// Puts right those in doubt, at these places.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    pub(in crate::kernel) fn end(self, to: Block<u8>) {
        if self.doubtful != 0 {
            let Self { panel, sums, places, terms, doubtful, .. } = self;
            correct_pairs::<PLACED, TERMS, SIGNS, SIGNED, CONFINED>(panel, to, (sums, places), terms, doubtful);
        }
    }
}

/// Two rows of sums.
///
/// # Safety
/// As was promised to [`Pairs::new`].
#[inline(always)]
unsafe fn sums_at<'a>(sums: &'a [[i32; 2 * LANES]], places: &[u32; 2]) -> [&'a [i32; 2 * LANES]; 2] {
    // SAFETY: this function's own promise.
    places.map(|before| unsafe { &*sums.as_ptr().byte_add(before as usize) })
}

/// Puts right pairs of rows some numbers of which were in doubt. Not a part of [`Pairs`], all of which the compiler would keep for it.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn correct_pairs<const PLACED: bool, const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    panel: &Panel,
    to: Block<u8>,
    (sums, places): (&[[i32; 2 * LANES]], &[[u32; 2]]),
    terms: &[i32],
    doubtful: u32,
) {
    for (i, [first, second]) in to.wholes::<2, { 2 * LANES }>().enumerate() {
        if doubtful >> i & 1 != 0 {
            let terms = if TERMS { &terms[2 * i..] } else { &[0; 2] };
            let sums = match PLACED {
                // SAFETY: `Pairs::end` gives what `Pairs::new` was given.
                true => unsafe { sums_at(sums, &places[i]) }.map(|row| *row),
                false => sums.as_chunks().0[i],
            };
            correct::<TERMS, SIGNS, SIGNED, CONFINED>(panel, &sums, terms, &mut [first, second]);
        }
    }
}

/// By itself, lest it be computed for pairs that are sure.
#[cold]
#[inline(never)]
fn with_doubt(doubtful: u32, pair: usize) -> u32 {
    doubtful | 1 << pair
}

/// Four rows at once of a whole panel, with few instructions for each, so that the processor sees beyond them. What else there is to do
/// is done at the end, by others: this one needs nothing of memory then.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn finish<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    panel: &Panel,
    to: &mut Block<u8>,
    sums: &[[i32; 2 * LANES]],
    terms: &[i32],
) {
    let units = Units::<TERMS, SIGNS, SIGNED, CONFINED>::of(panel);
    let mut done = 0;
    for (four, [a, b, c, d]) in sums.as_chunks().0.iter().zip(to.clone().wholes::<4, { 2 * LANES }>()) {
        let of_four = if TERMS { terms[done..].first_chunk().expect("one for each row") } else { &[0; 4] };
        let ([upper, lower], are_sure) = units.four(four, of_four);
        // Not in a loop, for which the compiler brings them to memory first.
        let ([of_a, of_b], [of_c, of_d]) = (halves(upper), halves(lower));
        put_row(of_a, a);
        put_row(of_b, b);
        put_row(of_c, c);
        put_row(of_d, d);
        if !are_sure {
            to.skip_rows(done);
            return correct_four::<TERMS, SIGNS, SIGNED, CONFINED>(panel, to, &sums[done..], rest(terms, done));
        }
        done += 4;
    }
    to.skip_rows(done);
    if done < sums.len() {
        finish_others::<TERMS, SIGNS, SIGNED, CONFINED>(panel, to, &sums[done..], rest(terms, done));
    }
}

/// The terms of the rows from this one on; rows may have none.
#[inline(always)]
fn rest(terms: &[i32], row: usize) -> &[i32] {
    &terms[row.min(terms.len())..]
}

/// Puts right the bytes of four rows, some of which were in doubt, and finishes the others.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn correct_four<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    panel: &Panel,
    to: &mut Block<u8>,
    sums: &[[i32; 2 * LANES]],
    terms: &[i32],
) {
    let mut rows = to.whole::<4, { 2 * LANES }>().expect("as many rows as were written");
    let of_four = if TERMS { &terms[..4] } else { &[0; 4] };
    correct::<TERMS, SIGNS, SIGNED, CONFINED>(panel, &sums[..4], of_four, &mut rows.each_mut().map(|row| &mut row[..]));
    finish::<TERMS, SIGNS, SIGNED, CONFINED>(panel, to, &sums[4..], rest(terms, 4));
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

    /// The bytes of four rows, of two and two one after the other; and whether none is in doubt.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    fn four(&self, [a, b, c, d]: &[[i32; 2 * LANES]; 4], terms: &[i32; 4]) -> ([Vector; 2], bool) {
        self.pairs([[a, b], [c, d]], &[[terms[0], terms[1]], [terms[2], terms[3]]])
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
