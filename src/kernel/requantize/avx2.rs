//! Panels of 16 columns, with AVX2: the compiler does not multiply numbers of 32 bits in the lanes where they lie, nor does it pack 16 of
//! them at once.

use super::{Columns, Last, Rows, Rule, Words, columns_of, near};
use crate::kernel::panel::{Lanes, Panel, PanelFns};
use crate::kernel::vector256::{Vector, resume, spread};
use crate::matrix::{Block, Output};
use scales::{Down, Fixed, Near, Once, Small, float};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

mod scales;
mod wide;

const LANES: usize = 8;
const WIDTH: usize = 2 * LANES;

/// As [`super::requantize`].
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(in crate::kernel) fn requantize(rule: Rule, columns: &Columns, last: Last, rows: Rows<WIDTH>, mut to: Block<u8>) {
    let end = End::of(columns, last, rows.cols > LANES);
    let firsts = end.firsts;
    let near = match rule {
        Rule::Float | Rule::Down => None,
        _ if rows.count <= near::EXACT_ROWS => None,
        _ => Near::of::<TILE>(rule, [scale(columns, firsts[0]), scale(columns, firsts[1])], &last, end.raised()),
    };
    if let Some(scales) = near {
        let have_signs = near::has_signs(rule, &last);
        return nearly_by_signs::<TILE>(have_signs, rows, &mut to, &scales, &end, |sums, terms| {
            in_doubt(rule, columns, last, firsts, sums, terms)
        });
    }
    if let Rule::Float = rule
        && let Some(scales) = Small::of(columns, &last, firsts)
    {
        return floats(last, rows, &mut to, &scales, &end);
    }
    match rule {
        Rule::Twice => {
            let scales = [Fixed::of(columns, firsts[0]), Fixed::of(columns, firsts[1])];
            each::<true>(&end, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| scales[half].twice(x)));
        }
        Rule::TwiceUp => {
            let scales = [Fixed::of(columns, firsts[0]), Fixed::of(columns, firsts[1])];
            each::<true>(&end, rows, &mut to, |sums, terms| {
                end.scaled(sums, terms, |half, x| scales[half].twice_up(x))
            });
        }
        Rule::Once => {
            let scales = [Once::of(columns, firsts[0]), Once::of(columns, firsts[1])];
            each::<true>(&end, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| scales[half].once(x)));
        }
        Rule::Float => {
            let scales = [words(columns.factor, firsts[0]), words(columns.factor, firsts[1])];
            each::<true>(&end, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| float(x, scales[half])));
        }
        Rule::Down => {
            let scales = [Down::of(columns, firsts[0]), Down::of(columns, firsts[1])];
            each::<true>(&end, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| scales[half].round(x)));
        }
    }
}

/// For kernels of such vectors.
pub(in crate::kernel) static PANEL_FNS: PanelFns =
    PanelFns { write: write_panel, finish: finish_panel, bytes: wide::bytes };

/// As [`PanelFns::write`].
#[target_feature(enable = "avx2,fma")]
fn write_panel(rule: Rule, columns: &Columns, cols: usize, last: Last, to: &mut MaybeUninit<Panel>) -> bool {
    let end = End::of(columns, last, true);
    let scales = match rule {
        Rule::Down => None,
        Rule::Float => Small::of(columns, &last, end.firsts).map(|[a, b]| [Near::by(a), Near::by(b)]),
        _ => Near::of::<TILE>(rule, [scale(columns, 0), scale(columns, LANES)], &last, end.raised()),
    };
    let Some(scales) = scales else { return false };
    let floats = |x, y| lanes([_mm256_castps_si256(x), _mm256_castps_si256(y)]);
    let [x, y] = &scales;
    let words = |of: Words| lanes([words(of, 0), words(of, LANES)]);
    to.write(Panel {
        added: lanes(end.added),
        scale: floats(x.scale, y.scale),
        nudge: Lanes::default(),
        above: floats(x.above, y.above),
        difference: floats(_mm256_xor_ps(x.above, x.below), _mm256_xor_ps(y.above, y.below)),
        factor: words(columns.factor),
        exponent: words(columns.exponent),
        least: [last.least as i16; _],
        greatest: [last.greatest as i16; _],
        signs: if near::has_signs(rule, &last) { i32::MIN } else { 0 },
        sure: near::SURE,
        mask: u32::MAX >> (u32::BITS - cols as u32),
        rule,
        last,
    });
    true
}

/// Two vectors of a panel.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes(vectors: [Vector; 2]) -> Lanes {
    let mut lanes = Lanes::default();
    for (vector, lanes) in vectors.into_iter().zip(lanes[0].as_chunks_mut::<LANES>().0) {
        // SAFETY: the reference covers the 32 bytes written.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), vector) }
    }
    lanes
}

/// As [`PanelFns::finish`].
///
/// # Safety
/// As for that.
#[target_feature(enable = "avx2,fma")]
unsafe fn finish_panel(
    panel: &Panel,
    sums: &[i32],
    terms: &[i32],
    out: &Output<u8>,
    rows: Range<usize>,
    cols: Range<usize>,
) {
    let rows_of_sums = Rows::<WIDTH>::of_tile(sums.as_chunks().0, terms, cols.len());
    // SAFETY: this function's own promise.
    let mut to = unsafe { out.block(rows, cols) };
    let firsts = firsts(rows_of_sums.cols > LANES);
    let of_half = |lanes: &Lanes, half: usize| vector(&lanes[0], firsts[half]);
    let end = End::new([of_half(&panel.added, 0), of_half(&panel.added, 1)], panel.last, firsts);
    let scales = [Near::of_panel(panel, firsts[0]), Near::of_panel(panel, firsts[1])];
    if let Rule::Float = panel.rule {
        let scales = [Small::by(&scales[0]), Small::by(&scales[1])];
        return floats(panel.last, rows_of_sums, &mut to, &scales, &end);
    }
    nearly_by_signs::<PANEL>(panel.signs != 0, rows_of_sums, &mut to, &scales, &end, |sums, terms| {
        let columns = columns_of(panel, Words::Ints(panel.added.as_flattened()));
        in_doubt(panel.rule, &columns, panel.last, firsts, sums, terms)
    });
}

/// As [`nearly`].
#[inline]
#[target_feature(enable = "avx2,fma")]
fn nearly_by_signs<const PLACE: usize>(
    have_signs: bool,
    rows: Rows<WIDTH>,
    to: &mut Block<u8>,
    scales: &[Near; 2],
    end: &End,
    exact: impl Fn(Fours, [[Vector; 2]; 2]) -> Vector,
) {
    match (have_signs, rows.terms.is_empty()) {
        (true, true) => nearly::<true, false, PLACE>(rows, to, scales, end, exact),
        (true, false) => nearly::<true, true, PLACE>(rows, to, scales, end, exact),
        (false, true) => nearly::<false, false, PLACE>(rows, to, scales, end, exact),
        (false, false) => nearly::<false, true, PLACE>(rows, to, scales, end, exact),
    }
}

/// Scaled by floats, and rounded once: there is no doubt.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn floats(last: Last, rows: Rows<WIDTH>, to: &mut Block<u8>, scales: &[Small; 2], end: &End) {
    let offset = _mm256_set1_epi16((last.offset + end.raised()) as i16);
    each::<true>(end, rows, to, |sums, terms| {
        let words = |pair: usize| {
            let [x, y] = end.sums(sums[pair], terms[pair]);
            _mm256_adds_epi16(_mm256_packs_epi32(scales[0].round(x), scales[1].round(y)), offset)
        };
        end.bytes(words(0), words(1))
    });
}

/// Where rows become bytes. What is not the same function in one place and another is inlined in both.
const TILE: usize = 0;
const PANEL: usize = 1;
const WIDE: usize = 2;

/// In floats; what is in doubt goes the exact way.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn nearly<const HAVE_SIGNS: bool, const HAVE_TERMS: bool, const PLACE: usize>(
    rows: Rows<WIDTH>,
    to: &mut Block<u8>,
    scales: &[Near; 2],
    end: &End,
    exact: impl Fn(Fours, [[Vector; 2]; 2]) -> Vector,
) {
    each::<HAVE_TERMS>(end, rows, to, |sums, terms| {
        sure_bytes::<HAVE_SIGNS, PLACE>(sums, terms, scales, end).unwrap_or_else(|| exact(sums, terms))
    });
}

/// Their bytes, if no number is in doubt.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sure_bytes<const HAVE_SIGNS: bool, const PLACE: usize>(
    sums: Fours,
    terms: [[Vector; 2]; 2],
    scales: &[Near; 2],
    end: &End,
) -> Option<Vector> {
    // Words of two vectors by turns, within halves.
    const Y: i32 = 0b_1010_1010;
    let in_doubt_at_most = _mm256_set1_epi16(near::IN_DOUBT as i16 - 1);
    let in_order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
    let words = |pair: usize| {
        let [x, y] = end.sums(sums[pair], terms[pair]);
        let (x, y) = (scales[0].units::<HAVE_SIGNS>(x), scales[1].units::<HAVE_SIGNS>(y));
        let whole = _mm256_blend_epi16::<Y>(_mm256_srli_epi32::<16>(x), y);
        (whole, _mm256_blend_epi16::<Y>(x, _mm256_slli_epi32::<16>(y)))
    };
    let ((upper, rest_above), (lower, rest_below)) = (words(0), words(1));
    let least = _mm256_min_epu16(rest_above, rest_below);
    let is_in_doubt = _mm256_cmpeq_epi16(least, _mm256_min_epu16(least, in_doubt_at_most));
    match _mm256_movemask_epi8(is_in_doubt) {
        0 => Some(end.in_order(_mm256_shuffle_epi8(end.confined(upper, lower), in_order))),
        _ => None,
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(to: &mut [u8; WIDTH], bytes: __m128i) {
    // SAFETY: the reference covers the 16 bytes written.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), bytes) }
}

/// As [`store`], of two rows of eight bytes.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn store_halves(bytes: __m128i, upper: &mut [u8; LANES], lower: &mut [u8; LANES]) {
    // SAFETY: the references cover the 8 bytes written to each.
    unsafe {
        _mm_storel_epi64(upper.as_mut_ptr().cast(), bytes);
        _mm_storel_epi64(lower.as_mut_ptr().cast(), _mm_unpackhi_epi64(bytes, bytes));
    }
}

/// The bytes of rows of which a number was too close to a tie.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn in_doubt(
    rule: Rule,
    columns: &Columns,
    last: Last,
    firsts: [usize; 2],
    sums: Fours,
    terms: [[Vector; 2]; 2],
) -> Vector {
    let end = End::of(columns, last, firsts[1] > 0);
    if let Rule::Once = rule {
        let scales = [Once::of(columns, firsts[0]), Once::of(columns, firsts[1])];
        return end.scaled(sums, terms, |half, x| scales[half].once(x));
    }
    let scales = [Fixed::of(columns, firsts[0]), Fixed::of(columns, firsts[1])];
    end.scaled(sums, terms, |half, x| match rule {
        Rule::Twice => scales[half].twice(x),
        _ => scales[half].twice_up(x),
    })
}

/// Two pairs of vectors of sums: of one row each, or each of two rows.
type Fours<'a> = [[&'a [i32; LANES]; 2]; 2];

/// The first columns of both vectors of a pair: of the second, if there is none, those of the first.
#[inline(always)]
fn firsts(both: bool) -> [usize; 2] {
    [0, if both { LANES } else { 0 }]
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn vector(values: &[i32; WIDTH], first: usize) -> Vector {
    resume(part(values, first))
}

#[inline(always)]
fn part(values: &[i32; WIDTH], first: usize) -> &[i32; LANES] {
    values[first..].first_chunk().expect("as many more as there are lanes")
}

/// The factors of columns from `first` on, and their exponents.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn scale(columns: &Columns, first: usize) -> [Vector; 2] {
    [words(columns.factor, first), words(columns.exponent, first)]
}

/// Of columns from `first` on; 0 for those that have none.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn words(words: Words, first: usize) -> Vector {
    let (data, len): (*const i32, usize) = match words {
        Words::Same(x) => return all(x),
        Words::Ints(values) => (values.as_ptr(), values.len()),
        Words::Floats(values) => (values.as_ptr().cast(), values.len()),
    };
    if first + LANES <= len {
        // SAFETY: as much lies within the slice.
        return resume(unsafe { &*data.add(first).cast() });
    }
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
    /// The first columns of each vector: the same, if there are none for the second.
    firsts: [usize; 2],
}

impl End {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn of(columns: &Columns, last: Last, both: bool) -> Self {
        let firsts = firsts(both);
        let added = |first: usize| {
            let sums = _mm256_mullo_epi32(words(columns.sums, first), all(columns.times));
            _mm256_add_epi32(words(columns.bias, first), sums)
        };
        Self::new([added(firsts[0]), added(firsts[1])], last, firsts)
    }

    /// For columns that add so much.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(added: [Vector; 2], last: Last, firsts: [usize; 2]) -> Self {
        let flip = if last.least < 0 { 128 } else { 0 };
        let byte = |x: i32| _mm256_set1_epi8((x + i32::from(flip)) as i8);
        Self { added, offset: all(last.offset), flip, least: byte(last.least), greatest: byte(last.greatest), firsts }
    }

    /// Whether there are columns for both vectors.
    #[inline(always)]
    fn both(&self) -> bool {
        self.firsts[0] != self.firsts[1]
    }

    /// How much more words have to be than they are meant.
    fn raised(&self) -> i32 {
        self.flip.into()
    }

    /// A pair of vectors of sums, with all that is added to them.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn sums(&self, sums: [&[i32; LANES]; 2], terms: [Vector; 2]) -> [Vector; 2] {
        let sum = |half: usize| _mm256_add_epi32(_mm256_add_epi32(resume(sums[half]), self.added[half]), terms[half]);
        [sum(0), sum(1)]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn scaled(&self, sums: Fours, terms: [[Vector; 2]; 2], scaled: impl Fn(usize, Vector) -> Vector) -> Vector {
        let raised = _mm256_set1_epi16(self.raised() as i16);
        let words = |pair: usize| {
            let [x, y] = self.sums(sums[pair], terms[pair]);
            let (x, y) = (_mm256_add_epi32(scaled(0, x), self.offset), _mm256_add_epi32(scaled(1, y), self.offset));
            _mm256_adds_epi16(_mm256_packs_epi32(x, y), raised)
        };
        self.bytes(words(0), words(1))
    }

    /// Of the words of one pair, and of another: four of the first vector, four of the second, and so on.
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

/// Makes bytes of all rows: of two at a time, or of four whose columns fit into one vector.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn each<const HAVE_TERMS: bool>(
    end: &End,
    rows: Rows<WIDTH>,
    to: &mut Block<u8>,
    bytes: impl Fn(Fours, [[Vector; 2]; 2]) -> Vector,
) {
    let term = |i: usize| all(if HAVE_TERMS { rows.term(i) } else { 0 });
    let mut i = 0;
    // Whole panels, or the first halves of some, where nothing else is to be looked at.
    while i + 2 <= rows.count
        && let Some([to_upper, to_lower]) = to.whole::<2, WIDTH>()
    {
        let halves = |j: usize| [part(rows.row(i + j), 0), part(rows.row(i + j), LANES)];
        let bytes = bytes([halves(0), halves(1)], [[term(i); 2], [term(i + 1); 2]]);
        store(to_upper, _mm256_castsi256_si128(bytes));
        store(to_lower, _mm256_extracti128_si256::<1>(bytes));
        i += 2;
    }
    while i + 4 <= rows.count
        && let Some([a, b, c, d]) = to.whole::<4, LANES>()
    {
        let terms = rows.terms.get(i..).and_then(|terms| terms.first_chunk()).filter(|_| HAVE_TERMS);
        let &[p, q, r, s] = terms.unwrap_or(&[0; 4]);
        let pair = |j: usize| [part(rows.row(i + j), 0), part(rows.row(i + j + 1), 0)];
        let bytes = bytes([pair(0), pair(2)], [[all(p), all(q)], [all(r), all(s)]]);
        store_halves(_mm256_castsi256_si128(bytes), a, b);
        store_halves(_mm256_extracti128_si256::<1>(bytes), c, d);
        i += 4;
    }
    let both = end.both();
    while i < rows.count {
        // Beyond the last row there is no place.
        let row = |j: usize| rows.row((i + j).min(rows.count - 1));
        let (sums, terms) = match both {
            true => {
                let halves = |j: usize| [part(row(j), 0), part(row(j), LANES)];
                ([halves(0), halves(1)], [[term(i); 2], [term(i + 1); 2]])
            }
            false => {
                let pair = |j: usize| [part(row(j), 0), part(row(j + 1), 0)];
                ([pair(0), pair(2)], [[term(i), term(i + 1)], [term(i + 2), term(i + 3)]])
            }
        };
        let bytes = bytes(sums, terms);
        for of_pair in [_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes)] {
            put(of_pair, to);
            if !both {
                put(_mm_unpackhi_epi64(of_pair, of_pair), to);
            }
        }
        i += if both { 2 } else { 4 };
    }
}

/// The bytes of the next row; mostly there is room for all.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn put(bytes: __m128i, to: &mut Block<u8>) {
    let Some(to) = to.next() else { return };
    match to.first_chunk_mut::<WIDTH>() {
        Some(whole) => store(whole, bytes),
        None => put_some(bytes, to),
    }
}

/// Fewer than 16 bytes: by halves, for a loop would become a call.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn put_some(bytes: __m128i, to: &mut [u8]) {
    let mut next = _mm_cvtsi128_si64(bytes) as u64;
    let (eights, to) = to.as_chunks_mut();
    if let Some(eight) = eights.first_mut() {
        *eight = next.to_le_bytes();
        next = _mm_extract_epi64::<1>(bytes) as u64;
    }
    let (fours, to) = to.as_chunks_mut();
    if let Some(four) = fours.first_mut() {
        *four = (next as u32).to_le_bytes();
        next >>= 32;
    }
    let (twos, ones) = to.as_chunks_mut();
    if let Some(two) = twos.first_mut() {
        *two = (next as u16).to_le_bytes();
        next >>= 16;
    }
    if let Some(one) = ones.first_mut() {
        *one = next as u8;
    }
}
