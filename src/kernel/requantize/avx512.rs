//! As with AVX2, twice as many at once; and products of 64 bits are shifted and rounded as they are.

use super::{Columns, Last, Rows, Rule};
use crate::kernel::vector512::{Vector, plus, resume};
use std::arch::x86_64::*;
use std::hint::black_box;

const LANES: usize = 16;

/// The odd lanes of 32 bits.
const ODD: __mmask16 = 0b_1010_1010_1010_1010;

/// As [`super::requantize`]. As many rows go together as two vectors hold.
#[inline]
#[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
pub(in crate::kernel) fn requantize<'r, const W: usize>(
    rule: Rule,
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
) {
    const { assert!(W <= 2 * LANES) }
    match rows.cols {
        // No kernel with such vectors has panels so narrow.
        _ if W < LANES => super::requantize(rule, columns, last, rows, to),
        0..=8 => by_rule::<W, 4>(rule, columns, last, rows, to),
        9..=LANES => by_rule::<W, 2>(rule, columns, last, rows, to),
        _ => by_rule::<W, 1>(rule, columns, last, rows, to),
    }
}

#[inline]
#[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
fn by_rule<'r, const W: usize, const ROWS: usize>(
    rule: Rule,
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
) {
    match rule {
        Rule::Twice => {
            let scales = [Fixed::of::<W, ROWS>(rule, columns, 0), Fixed::of::<W, ROWS>(rule, columns, 1)];
            by_terms::<W, ROWS>(columns, last, rows, to, |half, x| scales[half].twice(x));
        }
        Rule::TwiceUp | Rule::Once => {
            let scales = [Fixed::of::<W, ROWS>(rule, columns, 0), Fixed::of::<W, ROWS>(rule, columns, 1)];
            by_terms::<W, ROWS>(columns, last, rows, to, |half, x| scales[half].once(x));
        }
        Rule::Float => {
            let scales = [of_columns::<W, ROWS>(&columns.factor, 0), of_columns::<W, ROWS>(&columns.factor, 1)];
            by_terms::<W, ROWS>(columns, last, rows, to, |half, x| float(x, scales[half]));
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
fn by_terms<'r, const W: usize, const ROWS: usize>(
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
    scaled: impl Fn(usize, Vector) -> Vector,
) {
    match rows.terms.is_empty() {
        true => each::<W, ROWS, false>(columns, last, rows, to, scaled),
        false => each::<W, ROWS, true>(columns, last, rows, to, scaled),
    }
}

/// One of two vectors of what each column has, where so many rows go together.
#[inline]
#[target_feature(enable = "avx512f")]
fn of_columns<const W: usize, const ROWS: usize>(values: &[i32; W], half: usize) -> Vector {
    let first = if ROWS == 1 { half * LANES } else { 0 };
    let vector = resume(values[first..].first_chunk().expect("as many more as there are lanes"));
    if ROWS == 4 { _mm512_broadcast_i64x4(_mm512_castsi512_si256(vector)) } else { vector }
}

/// Scales of a vector's columns: a sum's product is shifted to the right after something was added to it. Both roundings
/// of `Rule::Twice` and `Rule::TwiceUp` are done at once, for ⌊(⌊(x + a) / 2ⁱ⌋ + b) / 2ʲ⌋ = ⌊(x + a + b · 2ⁱ) / 2ⁱ⁺ʲ⌋.
struct Fixed {
    factors: [Vector; 2],
    added: [Vector; 2],
    /// Taken off negative products, so that ties of the second rounding go away from zero. (Where the first rounding makes
    /// a negative product 0, that changes nothing, for half of a divisor less 1 is still rounded to 0.)
    taken: [Vector; 2],
    shifts: [Vector; 2],
}

impl Fixed {
    #[inline]
    #[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
    fn of<const W: usize, const ROWS: usize>(rule: Rule, columns: &Columns<W>, half: usize) -> Self {
        let factor = of_columns::<W, ROWS>(&columns.factor, half);
        let right = _mm512_and_si512(of_columns::<W, ROWS>(&columns.right, half), _mm512_set1_epi32(31));
        let (one, first_half) = (_mm512_set1_epi64(1), _mm512_set1_epi64(1 << 30));
        let rights = [_mm512_maskz_mov_epi32(!ODD, right), _mm512_srli_epi64::<32>(right)];
        // Whether there is a second divisor, and half of it times the first; or half of both divisors.
        let divides = |right| _mm512_test_epi64_mask(right, right);
        let half = |right| _mm512_sllv_epi64(first_half, right);
        let shift = |right| _mm512_add_epi64(right, _mm512_set1_epi64(31));
        let added = |right| match rule {
            Rule::Once => half(right),
            _ => _mm512_mask_add_epi64(first_half, divides(right), first_half, half(right)),
        };
        let taken = |right| _mm512_maskz_slli_epi64::<31>(divides(right), one);
        Self {
            factors: even_and_odd(factor),
            added: [added(rights[0]), added(rights[1])],
            taken: [taken(rights[0]), taken(rights[1])],
            shifts: [shift(rights[0]), shift(rights[1])],
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn twice(&self, x: Vector) -> Vector {
        let products = self.products(x);
        let round = |i: usize| {
            let is_negative = _mm512_cmplt_epi64_mask(products[i], _mm512_setzero_si512());
            let sum = _mm512_add_epi64(products[i], self.added[i]);
            _mm512_mask_sub_epi64(sum, is_negative, sum, self.taken[i])
        };
        self.join([round(0), round(1)])
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn once(&self, x: Vector) -> Vector {
        let products = self.products(x);
        self.join([_mm512_add_epi64(products[0], self.added[0]), _mm512_add_epi64(products[1], self.added[1])])
    }

    /// Two products of 64 bits for each two lanes: of the even ones, and of the odd ones.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn products(&self, x: Vector) -> [Vector; 2] {
        let x = even_and_odd(x);
        [_mm512_mul_epi32(x[0], self.factors[0]), _mm512_mul_epi32(x[1], self.factors[1])]
    }

    /// Shifted, each in its lane again.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn join(&self, [even, odd]: [Vector; 2]) -> Vector {
        let (even, odd) = (_mm512_srav_epi64(even, self.shifts[0]), _mm512_srav_epi64(odd, self.shifts[1]));
        _mm512_mask_shuffle_epi32::<0b_10_10_00_00>(even, ODD, odd)
    }
}

/// As it is, and with the odd lanes in place of the even ones; not by a shift, as for AVX2.
#[inline]
#[target_feature(enable = "avx512f")]
fn even_and_odd(x: Vector) -> [Vector; 2] {
    [x, _mm512_shuffle_epi32::<0b_11_11_01_01>(x)]
}

/// As `fixed_point::rounded` of the product.
#[inline]
#[target_feature(enable = "avx512f")]
fn float(x: Vector, factor: Vector) -> Vector {
    let product = _mm512_mul_ps(_mm512_cvtepi32_ps(x), _mm512_castsi512_ps(factor));
    // All that does not fit into 32 bits becomes -2³¹.
    let rounded = _mm512_cvtps_epi32(product);
    let is_great = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(product, _mm512_set1_ps((1u32 << 31) as f32));
    let is_number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(product, product);
    let saturated = _mm512_mask_mov_epi32(rounded, is_great, _mm512_set1_epi32(i32::MAX));
    _mm512_maskz_mov_epi32(is_number, saturated)
}

#[inline]
#[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
fn each<'r, const W: usize, const ROWS: usize, const HAVE_TERMS: bool>(
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    mut to: impl Iterator<Item = &'r mut [u8]>,
    scaled: impl Fn(usize, Vector) -> Vector,
) {
    let added = [of_columns::<W, ROWS>(&columns.added, 0), of_columns::<W, ROWS>(&columns.added, 1)];
    let words = |x: i32| _mm512_set1_epi16(x as i16);
    let (offset, least, greatest) = (_mm512_set1_epi32(last.offset), words(last.least), words(last.greatest));
    // Of an order that it knows, the compiler would make two shuffles.
    let order = black_box(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 4, 8, 12, 1, 5, 9, 13));
    let last = [offset, least, greatest, order];
    let (groups, rest) = rows.sums.as_chunks::<ROWS>();
    let (group_terms, rest_of_terms) = rows.terms.as_chunks::<ROWS>();
    for (i, sums) in groups.iter().enumerate() {
        let terms = if HAVE_TERMS { &group_terms[i] } else { &[0; ROWS] };
        put::<ROWS>(bytes::<W, ROWS, HAVE_TERMS>(sums, terms, added, last, &scaled), &mut to);
    }
    if !rest.is_empty() {
        let (mut sums, mut terms) = ([[0; W]; ROWS], [0; ROWS]);
        sums[..rest.len()].copy_from_slice(rest);
        terms[..rest_of_terms.len()].copy_from_slice(rest_of_terms);
        put::<ROWS>(bytes::<W, ROWS, HAVE_TERMS>(&sums, &terms, added, last, &scaled), &mut to);
    }
}

/// Of rows that go together; `last` has the offset, in 32 bits, what words are confined to, and in which order fours of bytes go.
#[inline]
#[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
fn bytes<const W: usize, const ROWS: usize, const HAVE_TERMS: bool>(
    sums: &[[i32; W]; ROWS],
    terms: &[i32; ROWS],
    added: [Vector; 2],
    [offset, least, greatest, order]: [Vector; 4],
    scaled: &impl Fn(usize, Vector) -> Vector,
) -> __m256i {
    let mut numbers = added;
    for half in 0..2 {
        let mut sum = plus(of_rows(sums, half), added[half]);
        if HAVE_TERMS {
            sum = plus(sum, terms_of_rows(terms, half));
        }
        numbers[half] = plus(scaled(half, sum), offset);
    }
    // Four of the first vector, four of the second, and so on; the bytes of both, twice.
    let words = _mm512_packs_epi32(numbers[0], numbers[1]);
    let words = _mm512_min_epi16(_mm512_max_epi16(words, least), greatest);
    let words = _mm512_and_si512(words, _mm512_set1_epi16(255));
    let bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(words, words));
    _mm512_castsi512_si256(bytes)
}

/// One of two vectors of the sums of rows that go together.
#[inline]
#[target_feature(enable = "avx512f")]
fn of_rows<const W: usize, const ROWS: usize>(sums: &[[i32; W]; ROWS], half: usize) -> Vector {
    let vector = |row: usize, first: usize| resume(sums[row][first..].first_chunk().expect("16 more columns"));
    match ROWS {
        1 => vector(0, half * LANES),
        2 => vector(half, 0),
        _ => {
            let [low, high] = [vector(2 * half, 0), vector(2 * half + 1, 0)];
            _mm512_inserti64x4::<1>(low, _mm512_castsi512_si256(high))
        }
    }
}

/// And what is added to them.
#[inline]
#[target_feature(enable = "avx512f")]
fn terms_of_rows<const ROWS: usize>(terms: &[i32; ROWS], half: usize) -> Vector {
    match ROWS {
        1 => _mm512_set1_epi32(terms[0]),
        2 => _mm512_set1_epi32(terms[half]),
        _ => {
            let low = _mm512_set1_epi32(terms[2 * half]);
            _mm512_inserti64x4::<1>(low, _mm256_set1_epi32(terms[2 * half + 1]))
        }
    }
}

/// As many of each row's bytes as its place has room for; if there is a place.
#[inline]
#[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
fn put<'r, const ROWS: usize>(bytes: __m256i, to: &mut impl Iterator<Item = &'r mut [u8]>) {
    if ROWS == 1 {
        let Some(to) = to.next() else { return };
        match to.first_chunk_mut::<{ 2 * LANES }>() {
            // SAFETY: the reference covers the 32 bytes written.
            Some(whole) => unsafe { _mm256_storeu_si256(whole.as_mut_ptr().cast(), bytes) },
            // SAFETY: the slice covers the bytes written.
            None => unsafe { _mm256_mask_storeu_epi8(to.as_mut_ptr().cast(), (1 << to.len()) - 1, bytes) },
        }
        return;
    }
    for bytes in [_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes)] {
        let Some(first) = to.next() else { return };
        put_part::<ROWS>(bytes, first);
        if ROWS == 4 {
            let Some(second) = to.next() else { return };
            put_part::<ROWS>(_mm_unpackhi_epi64(bytes, bytes), second);
        }
    }
}

/// The first of a row's bytes, which are 16 or, of four rows together, 8.
#[inline]
#[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
fn put_part<const ROWS: usize>(bytes: __m128i, to: &mut [u8]) {
    let place = to.as_mut_ptr().cast();
    match (ROWS, to.len()) {
        // SAFETY: the slice covers the 16 bytes written.
        (2, LANES) => unsafe { _mm_storeu_si128(place, bytes) },
        // SAFETY: the slice covers the 8 bytes written.
        (4, 8) => unsafe { _mm_storel_epi64(place, bytes) },
        // SAFETY: the slice covers the bytes written.
        _ => unsafe { _mm_mask_storeu_epi8(place.cast(), (1 << to.len()) - 1, bytes) },
    }
}
