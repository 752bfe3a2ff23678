//! As with AVX2, but 64 results at once; and products of 64 bits are shifted and rounded as they are, where floats of 32 will
//! not do.

use super::{Columns, Last, Rows, Rule, Words, columns_of, near};
use crate::kernel::panel::{Lanes, Panel, PanelFns};
use crate::kernel::vector512::{Vector, plus, resume, store};
use crate::matrix::{Block, Output};
use scales::{Down, Fixed, Near, Small, float, greater};
use std::arch::x86_64::*;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ops::Range;

mod down;
mod scales;
mod units;
mod wide;

pub(in crate::kernel) use units::{ByKind, Finisher, Pairs, by_kind};
pub(in crate::kernel) use wide::bytes;

const LANES: usize = 16;

/// As [`super::requantize`]. As many rows go together as four vectors hold.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in crate::kernel) fn requantize<const W: usize>(
    rule: Rule,
    columns: &Columns,
    last: Last,
    rows: Rows<W>,
    to: Block<u8>,
) {
    const { assert!(W <= 2 * LANES) }
    match rows.cols {
        // No kernel with such vectors has panels so narrow.
        _ if W < LANES => super::requantize(rule, columns, last, rows, to),
        // By reference: whatever of these is a call, the processor would wait for copies.
        0..=8 => by_terms::<W, 8>(rule, columns, &last, &rows, &to),
        9..=LANES => by_terms::<W, 4>(rule, columns, &last, &rows, &to),
        _ => by_terms::<W, 2>(rule, columns, &last, &rows, &to),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn by_terms<const W: usize, const ROWS: usize>(
    rule: Rule,
    columns: &Columns,
    last: &Last,
    rows: &Rows<W>,
    to: &Block<u8>,
) {
    match rows.terms.is_empty() {
        true => by_rule::<W, ROWS, false>(rule, columns, last, rows, to),
        false => by_rule::<W, ROWS, true>(rule, columns, last, rows, to),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn by_rule<const W: usize, const ROWS: usize, const HAVE_TERMS: bool>(
    rule: Rule,
    columns: &Columns,
    last: &Last,
    rows: &Rows<W>,
    to: &Block<u8>,
) {
    if !matches!(rule, Rule::Float | Rule::Down)
        && rows.count > near::EXACT_ROWS
        && let Some(scales) = Near::of::<TILE>(rule, [scale::<ROWS>(columns, 0), scale::<ROWS>(columns, 1)], last)
    {
        let end = End::of::<ROWS>(columns, last);
        let exact = |sums: [&_; ROWS], terms: &_| in_doubt::<W, ROWS, HAVE_TERMS>(rule, columns, last, sums, terms);
        return match near::has_signs(rule, last) {
            true => nearly::<W, ROWS, HAVE_TERMS, true, TILE>(rows, to, &scales, &end, near::SURE, exact),
            false => nearly::<W, ROWS, HAVE_TERMS, false, TILE>(rows, to, &scales, &end, near::SURE, exact),
        };
    }
    if let Rule::Float = rule
        && let Some(scales) = Small::of::<ROWS>(columns, last)
    {
        let end = End::of::<ROWS>(columns, last);
        let offset = _mm512_set1_epi16((last.offset - end.lowered()) as i16);
        each::<W, ROWS, HAVE_TERMS>(rows, to, |sums, terms| {
            let words = |pair: usize| {
                let [x, y] = end.sums::<W, ROWS, HAVE_TERMS>(sums, terms, pair);
                _mm512_adds_epi16(_mm512_packs_epi32(scales[0].round(x), scales[1].round(y)), offset)
            };
            end.bytes(words(0), words(1))
        });
        return;
    }
    let end = End::of::<ROWS>(columns, last);
    let fixed = || [Fixed::of::<ROWS>(rule, columns, 0), Fixed::of::<ROWS>(rule, columns, 1)];
    match rule {
        Rule::Twice => {
            let scales = fixed();
            each::<W, ROWS, HAVE_TERMS>(rows, to, |sums, terms| {
                end.scaled::<W, ROWS, HAVE_TERMS>(sums, terms, |half, x| scales[half].twice(x))
            });
        }
        Rule::TwiceUp | Rule::Once => {
            let scales = fixed();
            each::<W, ROWS, HAVE_TERMS>(rows, to, |sums, terms| {
                end.scaled::<W, ROWS, HAVE_TERMS>(sums, terms, |half, x| scales[half].once(x))
            });
        }
        Rule::Float => {
            let scales = [of_columns::<ROWS>(columns.factor, 0), of_columns::<ROWS>(columns.factor, 1)];
            each::<W, ROWS, HAVE_TERMS>(rows, to, |sums, terms| {
                end.scaled::<W, ROWS, HAVE_TERMS>(sums, terms, |half, x| float(x, scales[half]))
            });
        }
        Rule::Down => {
            let scales = [Down::of::<ROWS>(columns, 0), Down::of::<ROWS>(columns, 1)];
            each::<W, ROWS, HAVE_TERMS>(rows, to, |sums, terms| {
                end.scaled::<W, ROWS, HAVE_TERMS>(sums, terms, |half, x| scales[half].round(x))
            });
        }
    }
}

/// Where rows become bytes. What is not the same function in one place and another is inlined in both.
const TILE: usize = 0;
const PANEL: usize = 1;
const WIDE: usize = 2;

/// In floats; what is in doubt goes the exact way.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn nearly<const W: usize, const ROWS: usize, const HAVE_TERMS: bool, const HAVE_SIGNS: bool, const PLACE: usize>(
    rows: &Rows<W>,
    to: &Block<u8>,
    scales: &[Near; 2],
    end: &End,
    sure: f32,
    exact: impl Fn([&[i32; W]; ROWS], &[i32; ROWS]) -> Vector,
) {
    each::<W, ROWS, HAVE_TERMS>(rows, to, |sums, terms| {
        sure_bytes::<W, ROWS, HAVE_TERMS, HAVE_SIGNS, PLACE>(sums, terms, scales, end, sure)
            .unwrap_or_else(|| exact(sums, terms))
    });
}

/// Their bytes, if no number is in doubt.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn sure_bytes<const W: usize, const ROWS: usize, const HAVE_TERMS: bool, const HAVE_SIGNS: bool, const PLACE: usize>(
    sums: [&[i32; W]; ROWS],
    terms: &[i32; ROWS],
    scales: &[Near; 2],
    end: &End,
    sure: f32,
) -> Option<Vector> {
    let offset = _mm512_set1_epi16((end.offset - end.lowered()) as i16);
    let words = |pair: usize| {
        let [x, y] = end.sums::<W, ROWS, HAVE_TERMS>(sums, terms, pair);
        let ((x, lost_of_x), (y, lost_of_y)) = (scales[0].round::<HAVE_SIGNS>(x), scales[1].round::<HAVE_SIGNS>(y));
        (_mm512_adds_epi16(_mm512_packs_epi32(x, y), offset), greater(lost_of_x, lost_of_y))
    };
    let ((upper, lost_above), (lower, lost_below)) = (words(0), words(1));
    match _mm512_cmp_ps_mask::<_CMP_GT_OQ>(greater(lost_above, lost_below), _mm512_set1_ps(sure)) {
        0 => Some(end.bytes(upper, lower)),
        _ => None,
    }
}

/// The bytes of rows of which a number was too close to a tie.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn in_doubt<const W: usize, const ROWS: usize, const HAVE_TERMS: bool>(
    rule: Rule,
    columns: &Columns,
    last: &Last,
    sums: [&[i32; W]; ROWS],
    terms: &[i32; ROWS],
) -> Vector {
    let scales = [Fixed::of::<ROWS>(rule, columns, 0), Fixed::of::<ROWS>(rule, columns, 1)];
    let end = End::of::<ROWS>(columns, last);
    end.scaled::<W, ROWS, HAVE_TERMS>(sums, terms, |half, x| match rule {
        Rule::Twice => scales[half].twice(x),
        Rule::TwiceUp | Rule::Once => scales[half].once(x),
        Rule::Float => float(x, of_columns::<ROWS>(columns.factor, half)),
        Rule::Down => unreachable!("it is exact"),
    })
}

/// For kernels of such vectors.
pub(in crate::kernel) static PANEL_FNS: PanelFns = PanelFns { write: relay_panel, finish: finish_panel, bytes };

/// As [`PanelFns::finish`].
///
/// # Safety
/// As for that.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in crate::kernel) unsafe fn finish_panel(
    panel: &Panel,
    sums: &[i32],
    terms: &[i32],
    out: &Output<u8>,
    rows: Range<usize>,
    cols: Range<usize>,
) {
    let rows_of_sums = &Rows::of_tile(sums.as_chunks().0, terms, cols.len());
    // SAFETY: this function's own promise.
    let to = unsafe { out.block(rows, cols) };
    if let Rule::Down = panel.rule {
        let columns = columns_of(panel, Words::Ints(panel.added.as_flattened()));
        return requantize(panel.rule, &columns, panel.last, *rows_of_sums, to);
    }
    match rows_of_sums.cols {
        0..=8 => by_panel::<8>(panel, rows_of_sums, &to),
        9..=LANES => by_panel::<4>(panel, rows_of_sums, &to),
        _ => by_panel::<2>(panel, rows_of_sums, &to),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn by_panel<const ROWS: usize>(panel: &Panel, rows: &Rows<{ 2 * LANES }>, to: &Block<u8>) {
    let (scales, end) = (Near::of_panel::<ROWS>(panel), End::of_panel::<ROWS>(panel));
    match rows.terms.is_empty() {
        true => by_signs::<ROWS, false>(panel, rows, to, &scales, &end),
        false => by_signs::<ROWS, true>(panel, rows, to, &scales, &end),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn by_signs<const ROWS: usize, const HAVE_TERMS: bool>(
    panel: &Panel,
    rows: &Rows<{ 2 * LANES }>,
    to: &Block<u8>,
    scales: &[Near; 2],
    end: &End,
) {
    let exact = |sums: [&_; ROWS], terms: &_| {
        let columns = columns_of(panel, Words::Ints(panel.added.as_flattened()));
        in_doubt::<_, ROWS, HAVE_TERMS>(panel.rule, &columns, &panel.last, sums, terms)
    };
    match panel.signs {
        0 => nearly::<_, ROWS, HAVE_TERMS, false, PANEL>(rows, to, scales, end, panel.sure, exact),
        _ => nearly::<_, ROWS, HAVE_TERMS, true, PANEL>(rows, to, scales, end, panel.sure, exact),
    }
}

/// As [`of_columns`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn of_lanes<const ROWS: usize>(lanes: &Lanes, half: usize) -> Vector {
    let vector = resume(&lanes[if ROWS == 2 { half } else { 0 }]);
    if ROWS == 8 { _mm512_broadcast_i64x4(_mm512_castsi512_si256(vector)) } else { vector }
}

/// The same, for rows that become bytes while others are multiplied.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in crate::kernel) fn relay_panel(
    rule: Rule,
    columns: &Columns,
    cols: usize,
    last: Last,
    to: &mut MaybeUninit<Panel>,
) -> bool {
    // Floats are rounded once: there is no doubt, except of 65536ths.
    let (scales, sure) = match rule {
        Rule::Float => (Near::of_floats::<2>(columns, &last), f32::INFINITY),
        // Products wrap around.
        Rule::Down => return false,
        _ => (Near::of::<TILE>(rule, [scale::<2>(columns, 0), scale::<2>(columns, 1)], &last), near::SURE),
    };
    let Some([first, second]) = scales else { return false };
    let end = End::of::<2>(columns, &last);
    let in_units = |x| lanes(_mm512_castps_si512(_mm512_mul_ps(x, _mm512_set1_ps(near::UNITS))));
    let nudges = [_mm512_castsi512_ps(first.nudge), _mm512_castsi512_ps(second.nudge)];
    let negated = |x| _mm512_sub_ps(_mm512_setzero_ps(), x);
    let half = _mm512_cvtepi32_ps(_mm512_set1_epi32(near::half_and(last.offset)));
    let added = |x| _mm512_castps_si512(_mm512_fmadd_ps(x, _mm512_set1_ps(near::UNITS), half));
    let has_signs = near::has_signs(rule, &last);
    let difference = |x| match has_signs {
        true => lanes(_mm512_xor_si512(added(x), added(negated(x)))),
        false => Default::default(),
    };
    to.write(Panel {
        added: [lanes(end.added[0]), lanes(end.added[1])],
        scale: [in_units(first.scale), in_units(second.scale)],
        nudge: [in_units(nudges[0]), in_units(nudges[1])],
        above: [lanes(added(nudges[0])), lanes(added(nudges[1]))],
        difference: [difference(nudges[0]), difference(nudges[1])],
        factor: [lanes(of_columns::<2>(columns.factor, 0)), lanes(of_columns::<2>(columns.factor, 1))],
        exponent: [lanes(of_columns::<2>(columns.exponent, 0)), lanes(of_columns::<2>(columns.exponent, 1))],
        least: [last.least as i16; _],
        greatest: [last.greatest as i16; _],
        signs: if has_signs { i32::MIN } else { 0 },
        sure,
        mask: u32::MAX >> (2 * LANES - cols),
        rule,
        last,
    });
    true
}

/// As [`relay_panel`], for [`Finisher`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in crate::kernel) fn panel(
    rule: Rule,
    columns: &Columns,
    cols: usize,
    last: Last,
    to: &mut MaybeUninit<Panel>,
) -> bool {
    match rule {
        Rule::Down => down::panel(columns, cols, last, to),
        _ => relay_panel(rule, columns, cols, last, to),
    }
}

/// `above`, with other bits, those of `difference`, for negative numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn by_sign(numbers: Vector, above: Vector, difference: Vector) -> Vector {
    // (A & B) ^ C.
    _mm512_ternarylogic_epi32::<0x6A>(_mm512_srai_epi32::<31>(numbers), difference, above)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(vector: Vector) -> [i32; LANES] {
    let mut lanes = [0; LANES];
    store(&mut lanes, vector, true);
    lanes
}

/// Whether a number of a row of complete sums is in doubt, as it was beside multiplications.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in crate::kernel) fn relay_doubts(panel: &Panel, sums: &[i32; 2 * LANES]) -> bool {
    let of_half = |half: usize| {
        let sums = resume(sums[half * LANES..].first_chunk().expect("a vector of sums"));
        let added = by_sign(sums, resume(&panel.above[half]), resume(&panel.difference[half]));
        let scale = _mm512_castsi512_ps(resume(&panel.scale[half]));
        _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, _mm512_castsi512_ps(added)))
    };
    let lower = _mm512_and_si512(_mm512_min_epu16(of_half(0), of_half(1)), _mm512_set1_epi32(0xFFFF));
    _mm512_cmplt_epu32_mask(lower, _mm512_set1_epi32(near::IN_DOUBT.into())) != 0
}

/// A row of complete sums, of which a number was in doubt.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in crate::kernel) fn relay_row(panel: &Panel, sums: &[i32; 2 * LANES]) -> [u8; 2 * LANES] {
    let columns = columns_of(panel, Words::Same(0));
    let bytes = in_doubt::<_, 2, false>(panel.rule, &columns, &panel.last, [sums; 2], &[0; 2]);
    let mut row = [0; 2 * LANES];
    // SAFETY: the array covers the 32 bytes written.
    unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), _mm512_castsi512_si256(bytes)) }
    row
}

/// Makes bytes of all rows, of as many at once as go together.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn each<const W: usize, const ROWS: usize, const HAVE_TERMS: bool>(
    rows: &Rows<W>,
    to: &Block<u8>,
    bytes: impl Fn([&[i32; W]; ROWS], &[i32; ROWS]) -> Vector,
) {
    let mut to = to.clone();
    let mut i = 0;
    while i + ROWS <= rows.count {
        let terms = if HAVE_TERMS { rows.terms[i..].first_chunk().expect("one for each row") } else { &[0; ROWS] };
        put::<ROWS>(bytes(std::array::from_fn(|j| rows.row(i + j)), terms), &mut to);
        i += ROWS;
    }
    if i < rows.count {
        // The last row again and again, so that no number is in doubt that is not there.
        let place = |j: usize| (i + j).min(rows.count - 1);
        let mut terms = [0; ROWS];
        if HAVE_TERMS {
            terms.iter_mut().enumerate().for_each(|(j, term)| *term = rows.terms[place(j)]);
        }
        put::<ROWS>(bytes(std::array::from_fn(|j| rows.row(place(j))), &terms), &mut to);
    }
}

/// The factors of one of two vectors of columns, and their exponents.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn scale<const ROWS: usize>(columns: &Columns, half: usize) -> [Vector; 2] {
    [of_columns::<ROWS>(columns.factor, half), of_columns::<ROWS>(columns.exponent, half)]
}

/// One of two vectors of what each column has, where so many rows go together; 0 for columns that have none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn of_columns<const ROWS: usize>(words: Words, half: usize) -> Vector {
    let (data, len): (*const i32, usize) = match words {
        Words::Same(x) => return _mm512_set1_epi32(x),
        Words::Ints(values) => (values.as_ptr(), values.len()),
        Words::Floats(values) => (values.as_ptr().cast(), values.len()),
    };
    let first = if ROWS == 2 { half * LANES } else { 0 };
    if ROWS == 2 && first + LANES <= len {
        // SAFETY: as much lies within the slice.
        return resume(unsafe { &*data.add(first).cast() });
    }
    let left = len.saturating_sub(first).min(LANES);
    // SAFETY: what is loaded lies within the slice.
    let vector = unsafe { _mm512_maskz_loadu_epi32(((1u32 << left) - 1) as u16, data.wrapping_add(first)) };
    if ROWS == 8 { _mm512_broadcast_i64x4(_mm512_castsi512_si256(vector)) } else { vector }
}

/// Four columns of each of four rows.
#[inline]
#[target_feature(enable = "avx512f")]
fn order() -> Vector {
    // Of an order that it knows, the compiler would make two shuffles.
    black_box(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15))
}

/// What comes before and after scaling.
struct End {
    /// Added to the sums of one vector, and of the other.
    added: [Vector; 2],
    offset: i32,
    /// Bytes are signed ones until the end: if they are to be unsigned, 128 less.
    least: Vector,
    greatest: Vector,
    flip: u8,
    order: Vector,
}

impl End {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn of<const ROWS: usize>(columns: &Columns, last: &Last) -> Self {
        let added = |half| {
            let sums = _mm512_mullo_epi32(of_columns::<ROWS>(columns.sums, half), _mm512_set1_epi32(columns.times));
            plus(of_columns::<ROWS>(columns.bias, half), sums)
        };
        Self::adding([added(0), added(1)], last)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn of_panel<const ROWS: usize>(panel: &Panel) -> Self {
        Self::adding([of_lanes::<ROWS>(&panel.added, 0), of_lanes::<ROWS>(&panel.added, 1)], &panel.last)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn adding(added: [Vector; 2], last: &Last) -> Self {
        let flip = if last.greatest > 127 { 128 } else { 0 };
        let byte = |x: i32| _mm512_set1_epi8((x - i32::from(flip)) as i8);
        let (least, greatest) = (byte(last.least), byte(last.greatest));
        Self { added, offset: last.offset, least, greatest, flip, order: order() }
    }

    /// How much less words have to be than they are meant.
    fn lowered(&self) -> i32 {
        self.flip.into()
    }

    /// The first or the second pair of vectors of sums.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sums<const W: usize, const ROWS: usize, const HAVE_TERMS: bool>(
        &self,
        sums: [&[i32; W]; ROWS],
        terms: &[i32; ROWS],
        pair: usize,
    ) -> [Vector; 2] {
        let mut pairs = self.added;
        for (half, sum) in pairs.iter_mut().enumerate() {
            let vector = |row: usize, first: usize| resume(sums[row][first..].first_chunk().expect("16 more columns"));
            let term = |row: usize| _mm512_set1_epi32(terms[row]);
            let (of_rows, term) = match ROWS {
                2 => (vector(pair, half * LANES), term(pair)),
                4 => (vector(2 * pair + half, 0), term(2 * pair + half)),
                _ => {
                    let row = 4 * pair + 2 * half;
                    let other = _mm512_castsi512_si256(vector(row + 1, 0));
                    let other_term = _mm256_set1_epi32(terms[row + 1]);
                    (_mm512_inserti64x4::<1>(vector(row, 0), other), _mm512_inserti64x4::<1>(term(row), other_term))
                }
            };
            *sum = plus(of_rows, *sum);
            if HAVE_TERMS {
                *sum = plus(*sum, term);
            }
        }
        pairs
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn scaled<const W: usize, const ROWS: usize, const HAVE_TERMS: bool>(
        &self,
        sums: [&[i32; W]; ROWS],
        terms: &[i32; ROWS],
        scaled: impl Fn(usize, Vector) -> Vector,
    ) -> Vector {
        let (offset, lowered) = (_mm512_set1_epi32(self.offset), _mm512_set1_epi16(self.lowered() as i16));
        let words = |pair: usize| {
            let [x, y] = self.sums::<W, ROWS, HAVE_TERMS>(sums, terms, pair);
            let words = _mm512_packs_epi32(plus(scaled(0, x), offset), plus(scaled(1, y), offset));
            _mm512_subs_epi16(words, lowered)
        };
        self.bytes(words(0), words(1))
    }

    /// Of the words of the first rows, and of the others: four of one vector, four of the other, and so on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn bytes(&self, upper: Vector, lower: Vector) -> Vector {
        let bytes = _mm512_packs_epi16(upper, lower);
        let bytes = _mm512_min_epi8(_mm512_max_epi8(bytes, self.least), self.greatest);
        _mm512_permutexvar_epi32(self.order, _mm512_xor_si512(bytes, _mm512_set1_epi8(self.flip as i8)))
    }
}

/// As many of each row's bytes as its place has room for; if there is a place.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn put<const ROWS: usize>(bytes: Vector, to: &mut Block<u8>) {
    if let Some(whole) = to.solid::<{ 4 * LANES }>(ROWS) {
        // SAFETY: the reference covers the 64 bytes written.
        return unsafe { _mm512_storeu_si512(whole.as_mut_ptr().cast(), bytes) };
    }
    for half in [_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64::<1>(bytes)] {
        if ROWS == 2 {
            let Some(to) = to.next() else { return };
            put_row(half, to);
            continue;
        }
        for bytes in [_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half)] {
            let Some(first) = to.next() else { return };
            put_part::<ROWS>(bytes, first);
            if ROWS == 8 {
                let Some(second) = to.next() else { return };
                put_part::<ROWS>(_mm_unpackhi_epi64(bytes, bytes), second);
            }
        }
    }
}

/// As many of a row's 32 bytes as there is room for.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn put_row(bytes: __m256i, to: &mut [u8]) {
    match to.first_chunk_mut::<{ 2 * LANES }>() {
        // SAFETY: the reference covers the 32 bytes written.
        Some(whole) => unsafe { _mm256_storeu_si256(whole.as_mut_ptr().cast(), bytes) },
        // SAFETY: the slice covers the bytes written.
        None => unsafe { _mm256_mask_storeu_epi8(to.as_mut_ptr().cast(), (1 << to.len()) - 1, bytes) },
    }
}

/// The first of a row's bytes, which are 16 or, of eight rows together, 8.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn put_part<const ROWS: usize>(bytes: __m128i, to: &mut [u8]) {
    let place = to.as_mut_ptr().cast();
    match (ROWS, to.len()) {
        // SAFETY: the slice covers the 16 bytes written.
        (4, LANES) => unsafe { _mm_storeu_si128(place, bytes) },
        // SAFETY: the slice covers the 8 bytes written.
        (8, 8) => unsafe { _mm_storel_epi64(place, bytes) },
        // SAFETY: the slice covers the bytes written.
        _ => unsafe { _mm_mask_storeu_epi8(place.cast(), (1 << to.len()) - 1, bytes) },
    }
}
