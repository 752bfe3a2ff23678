//! With AVX2: the compiler does not multiply numbers of 32 bits in the lanes where they lie, nor does it pack 16 of them at once.

use super::{Columns, Last, Rows, Rule, Words, near};
use crate::kernel::vector256::{Vector, resume, spread};
use crate::matrix::Block;
use scales::{Down, Fixed, Near, Once, Small, float};
use std::arch::x86_64::*;

mod scales;

const LANES: usize = 8;

/// As [`super::requantize`]; two vectors of columns together, of which W is a multiple.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(in crate::kernel) fn requantize<const W: usize>(
    rule: Rule,
    columns: &Columns,
    last: Last,
    rows: Rows<W>,
    to: Block<u8>,
) {
    for first in (0..W / (2 * LANES)).map(|pair| pair * 2 * LANES) {
        let (mut to, both) = (to.clone(), rows.cols > first + LANES);
        let end = End::of(columns, last, first, both);
        let near = match rule {
            Rule::Float | Rule::Down => None,
            _ => Near::of(rule, columns, &last, end.raised(), first),
        };
        if let Some(scales) = near {
            match (near::has_signs(rule, &last), rows.terms.is_empty()) {
                (true, true) => nearly::<W, true, false>(rule, columns, rows, &mut to, &scales, &end),
                (true, false) => nearly::<W, true, true>(rule, columns, rows, &mut to, &scales, &end),
                (false, true) => nearly::<W, false, false>(rule, columns, rows, &mut to, &scales, &end),
                (false, false) => nearly::<W, false, true>(rule, columns, rows, &mut to, &scales, &end),
            }
            continue;
        }
        if let Rule::Float = rule
            && let Some(scales) = Small::of(columns, &last, first)
        {
            let offset = _mm256_set1_epi16((last.offset + end.raised()) as i16);
            each::<W, true>(&end, rows, &mut to, |sums, terms, both| {
                let words = |row: usize| {
                    let [x, y] = end.sums(sums[row], terms[row]);
                    let x = scales[0].round(x);
                    let y = if both { scales[1].round(y) } else { x };
                    _mm256_adds_epi16(_mm256_packs_epi32(x, y), offset)
                };
                end.bytes(words(0), words(1))
            });
            continue;
        }
        match rule {
            Rule::Twice => {
                let scales = [Fixed::of(columns, first), Fixed::of(columns, first + LANES)];
                each::<W, true>(&end, rows, &mut to, |sums, terms, both| {
                    end.scaled(sums, terms, both, |half, x| scales[half].twice(x))
                });
            }
            Rule::TwiceUp => {
                let scales = [Fixed::of(columns, first), Fixed::of(columns, first + LANES)];
                each::<W, true>(&end, rows, &mut to, |sums, terms, both| {
                    end.scaled(sums, terms, both, |half, x| scales[half].twice_up(x))
                });
            }
            Rule::Once => {
                let scales = [Once::of(columns, first), Once::of(columns, first + LANES)];
                each::<W, true>(&end, rows, &mut to, |sums, terms, both| {
                    end.scaled(sums, terms, both, |half, x| scales[half].once(x))
                });
            }
            Rule::Float => {
                let scales = [words(columns.factor, first), words(columns.factor, first + LANES)];
                each::<W, true>(&end, rows, &mut to, |sums, terms, both| {
                    end.scaled(sums, terms, both, |half, x| float(x, scales[half]))
                });
            }
            Rule::Down => {
                let scales = [Down::of(columns, first), Down::of(columns, first + LANES)];
                each::<W, true>(&end, rows, &mut to, |sums, terms, both| {
                    end.scaled(sums, terms, both, |half, x| scales[half].round(x))
                });
            }
        }
    }
}

/// In floats; what is in doubt goes the exact way.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn nearly<const W: usize, const HAVE_SIGNS: bool, const HAVE_TERMS: bool>(
    rule: Rule,
    columns: &Columns,
    rows: Rows<W>,
    to: &mut Block<u8>,
    scales: &[Near; 2],
    end: &End,
) {
    // Words of two vectors by turns, within halves.
    const Y: i32 = 0b_1010_1010;
    let in_doubt_at_most = _mm256_set1_epi16(near::IN_DOUBT as i16 - 1);
    let in_order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
    let first = end.first;
    let bytes = |sums: [&[i32; W]; 2], terms: [Vector; 2], both: bool| {
        let words = |row: usize| {
            let [x, y] = end.sums(sums[row], terms[row]);
            let x = scales[0].units::<HAVE_SIGNS>(x);
            let y = if both { scales[1].units::<HAVE_SIGNS>(y) } else { x };
            let whole = _mm256_blend_epi16::<Y>(_mm256_srli_epi32::<16>(x), y);
            (whole, _mm256_blend_epi16::<Y>(x, _mm256_slli_epi32::<16>(y)))
        };
        let ((upper, rest_above), (lower, rest_below)) = (words(0), words(1));
        let least = _mm256_min_epu16(rest_above, rest_below);
        let is_in_doubt = _mm256_cmpeq_epi16(least, _mm256_min_epu16(least, in_doubt_at_most));
        match _mm256_movemask_epi8(is_in_doubt) {
            0 => end.in_order(_mm256_shuffle_epi8(end.confined(upper, lower), in_order)),
            _ => in_doubt(rule, columns, end, first, sums, terms),
        }
    };
    each::<W, HAVE_TERMS>(end, rows, to, bytes);
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(to: &mut [u8; 2 * LANES], bytes: __m128i) {
    // SAFETY: the reference covers the 16 bytes written.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), bytes) }
}

/// The bytes of two rows of which a number was too close to a tie.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn in_doubt<const W: usize>(
    rule: Rule,
    columns: &Columns,
    end: &End,
    first: usize,
    sums: [&[i32; W]; 2],
    terms: [Vector; 2],
) -> Vector {
    if let Rule::Once = rule {
        let scales = [Once::of(columns, first), Once::of(columns, first + LANES)];
        return end.scaled(sums, terms, end.both, |half, x| scales[half].once(x));
    }
    let scales = [Fixed::of(columns, first), Fixed::of(columns, first + LANES)];
    end.scaled(sums, terms, end.both, |half, x| match rule {
        Rule::Twice => scales[half].twice(x),
        _ => scales[half].twice_up(x),
    })
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn vector<const W: usize>(values: &[i32; W], first: usize) -> Vector {
    resume(values[first..].first_chunk().expect("as many more as there are lanes"))
}

/// Of columns from `first` on; 0 for those that have none.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn words(words: Words, first: usize) -> Vector {
    let (data, len) = match words {
        Words::Same(x) => return all(x),
        Words::Ints(values) => (values.as_ptr(), values.len()),
        Words::Floats(values) => (values.as_ptr().cast(), values.len()),
    };
    let left = len.saturating_sub(first).min(LANES) as i32;
    let is_there = _mm256_cmpgt_epi32(all(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    // SAFETY: what is loaded lies within the slice.
    unsafe { _mm256_maskload_epi32(data.wrapping_add(first), is_there) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn all(x: i32) -> Vector {
    spread(x.to_ne_bytes())
}

/// What comes before and after scaling two vectors of columns.
struct End {
    added: [Vector; 2],
    offset: Vector,
    /// Signed bytes are unsigned ones until the end, 128 more.
    flip: u8,
    least: Vector,
    greatest: Vector,
    first: usize,
    /// Whether there are columns for the second vector.
    both: bool,
}

impl End {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn of(columns: &Columns, last: Last, first: usize, both: bool) -> Self {
        let added = |first: usize| {
            let sums = _mm256_mullo_epi32(words(columns.sums, first), all(columns.times));
            _mm256_add_epi32(words(columns.bias, first), sums)
        };
        let flip = if last.least < 0 { 128 } else { 0 };
        let byte = |x: i32| _mm256_set1_epi8((x + i32::from(flip)) as i8);
        Self {
            added: [added(first), added(first + LANES)],
            offset: all(last.offset),
            flip,
            least: byte(last.least),
            greatest: byte(last.greatest),
            first,
            both,
        }
    }

    /// How much more words have to be than they are meant.
    fn raised(&self) -> i32 {
        self.flip.into()
    }

    /// Two vectors of a row's sums.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn sums<const W: usize>(&self, sums: &[i32; W], term: Vector) -> [Vector; 2] {
        let sum = |half: usize| {
            _mm256_add_epi32(_mm256_add_epi32(vector(sums, self.first + half * LANES), self.added[half]), term)
        };
        [sum(0), sum(1)]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn scaled<const W: usize>(
        &self,
        sums: [&[i32; W]; 2],
        terms: [Vector; 2],
        both: bool,
        scaled: impl Fn(usize, Vector) -> Vector,
    ) -> Vector {
        let raised = _mm256_set1_epi16(self.raised() as i16);
        let words = |row: usize| {
            let [x, y] = self.sums(sums[row], terms[row]);
            let x = _mm256_add_epi32(scaled(0, x), self.offset);
            let y = if both { _mm256_add_epi32(scaled(1, y), self.offset) } else { x };
            _mm256_adds_epi16(_mm256_packs_epi32(x, y), raised)
        };
        self.bytes(words(0), words(1))
    }

    /// Of the words of one row, and of another: four of the first vector, four of the second, and so on.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn bytes(&self, upper: Vector, lower: Vector) -> Vector {
        self.in_order(self.confined(upper, lower))
    }

    /// In each half, those of the upper words, then those of the lower.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn confined(&self, upper: Vector, lower: Vector) -> Vector {
        let bytes = _mm256_packus_epi16(upper, lower);
        let bytes = _mm256_min_epu8(_mm256_max_epu8(bytes, self.least), self.greatest);
        _mm256_xor_si256(bytes, _mm256_set1_epi8(self.flip as i8))
    }

    /// Fours of bytes of each half by turns.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn in_order(&self, bytes: Vector) -> Vector {
        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
    }
}

/// Makes bytes of all rows, two at a time; of both vectors of their columns, or of one.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn each<const W: usize, const HAVE_TERMS: bool>(
    end: &End,
    rows: Rows<W>,
    to: &mut Block<u8>,
    bytes: impl Fn([&[i32; W]; 2], [Vector; 2], bool) -> Vector,
) {
    let term = |i: usize| all(if HAVE_TERMS { rows.term(i) } else { 0 });
    let mut i = 0;
    // A whole panel by itself, where nothing else is to be looked at.
    if W == 2 * LANES {
        while let Some([upper, lower]) = rows.sums.get(i..i + 2)
            && let Some([to_upper, to_lower]) = to.whole::<2, { 2 * LANES }>()
        {
            let bytes = bytes([upper, lower], [term(i), term(i + 1)], true);
            store(to_upper, _mm256_castsi256_si128(bytes));
            store(to_lower, _mm256_extracti128_si256::<1>(bytes));
            i += 2;
        }
    }
    while let Some(upper) = rows.sums.get(i) {
        // Beyond the last row there is no place.
        let lower = rows.sums.get(i + 1).unwrap_or(upper);
        let bytes = bytes([upper, lower], [term(i), term(i + 1)], end.both);
        put(_mm256_castsi256_si128(bytes), end.first, to);
        put(_mm256_extracti128_si256::<1>(bytes), end.first, to);
        i += 2;
    }
}

/// The bytes of the next row's columns from `first` on; mostly there is room for all. What is less goes by halves, for a loop
/// would become a call.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn put(bytes: __m128i, first: usize, to: &mut Block<u8>) {
    let to = to.next().unwrap_or_default().get_mut(first..).unwrap_or_default();
    match to.first_chunk_mut::<{ 2 * LANES }>() {
        Some(whole) => store(whole, bytes),
        None => {
            let mut room = [0; 2 * LANES];
            store(&mut room, bytes);
            let mut done = 0;
            put_part::<8>(&room, to, &mut done);
            put_part::<4>(&room, to, &mut done);
            put_part::<2>(&room, to, &mut done);
            put_part::<1>(&room, to, &mut done);
        }
    }
}

/// N more, if there is room for so many.
#[inline(always)]
fn put_part<const N: usize>(bytes: &[u8; 2 * LANES], to: &mut [u8], done: &mut usize) {
    if let (Some(from), Some(to)) = (bytes[*done..].first_chunk::<N>(), to[*done..].first_chunk_mut()) {
        *to = *from;
        *done += N;
    }
}
