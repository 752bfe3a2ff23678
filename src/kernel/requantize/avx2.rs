//! With AVX2: the compiler does not multiply numbers of 32 bits in the lanes where they lie, nor does it pack 16 of them at once.

use super::{Columns, Last, Rows, Rule, Words, near};
use crate::kernel::vector256::{Vector, resume, spread};
use crate::matrix::Block;
use std::arch::x86_64::*;

const LANES: usize = 8;

/// As [`super::requantize`]; two vectors of columns together, of which W is a multiple.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel) fn requantize<const W: usize>(
    rule: Rule,
    columns: &Columns,
    last: Last,
    rows: Rows<W>,
    to: Block<u8>,
) {
    for first in (0..W / (2 * LANES)).map(|pair| pair * 2 * LANES) {
        let (mut to, both) = (to.clone(), rows.cols > first + LANES);
        let near = if let Rule::Float = rule { None } else { Near::of(rule, columns, &last, first) };
        let end = End::of(columns, last, first, both);
        if let Some(scales) = near {
            match near::has_signs(rule, &last) {
                true => nearly::<W, true>(rule, columns, &last, rows, &mut to, &scales, &end),
                false => nearly::<W, false>(rule, columns, &last, rows, &mut to, &scales, &end),
            }
            continue;
        }
        if let Rule::Float = rule
            && let Some(scales) = Small::of(columns, &last, first)
        {
            let offset = _mm256_set1_epi16((last.offset + end.raised()) as i16);
            each(first, rows, &mut to, |sums, terms| {
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
                each(first, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| scales[half].twice(x)));
            }
            Rule::TwiceUp => {
                let scales = [Fixed::of(columns, first), Fixed::of(columns, first + LANES)];
                each(first, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| scales[half].twice_up(x)));
            }
            Rule::Once => {
                let scales = [Once::of(columns, first), Once::of(columns, first + LANES)];
                each(first, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| scales[half].once(x)));
            }
            Rule::Float => {
                let scales = [words(columns.factor, first), words(columns.factor, first + LANES)];
                each(first, rows, &mut to, |sums, terms| end.scaled(sums, terms, |half, x| float(x, scales[half])));
            }
        }
    }
}

/// In floats; what is in doubt goes the exact way.
#[inline]
#[target_feature(enable = "avx2")]
fn nearly<const W: usize, const HAVE_SIGNS: bool>(
    rule: Rule,
    columns: &Columns,
    last: &Last,
    rows: Rows<W>,
    to: &mut Block<u8>,
    scales: &[Near; 2],
    end: &End,
) {
    let (first, both) = (end.first, end.both);
    let offset = _mm256_set1_epi16((last.offset + end.raised()) as i16);
    each(first, rows, to, |sums, terms| {
        let words = |row: usize| {
            let [x, y] = end.sums(sums[row], terms[row]);
            let (x, lost_of_x) = scales[0].round::<HAVE_SIGNS>(x);
            let (y, lost_of_y) = if both { scales[1].round::<HAVE_SIGNS>(y) } else { (x, lost_of_x) };
            (_mm256_adds_epi16(_mm256_packs_epi32(x, y), offset), _mm256_max_ps(lost_of_x, lost_of_y))
        };
        let ((upper, lost_above), (lower, lost_below)) = (words(0), words(1));
        let sure = _mm256_set1_ps(near::SURE);
        match _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(_mm256_max_ps(lost_above, lost_below), sure)) {
            0 => end.bytes(upper, lower),
            _ => in_doubt(rule, columns, end, first, sums, terms),
        }
    });
}

/// The bytes of two rows of which a number was too close to a tie.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2")]
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
        return end.scaled(sums, terms, |half, x| scales[half].once(x));
    }
    let scales = [Fixed::of(columns, first), Fixed::of(columns, first + LANES)];
    end.scaled(sums, terms, |half, x| match rule {
        Rule::Twice => scales[half].twice(x),
        _ => scales[half].twice_up(x),
    })
}

#[inline]
#[target_feature(enable = "avx2")]
fn vector<const W: usize>(values: &[i32; W], first: usize) -> Vector {
    resume(values[first..].first_chunk().expect("as many more as there are lanes"))
}

/// Of columns from `first` on; 0 for those that have none.
#[inline]
#[target_feature(enable = "avx2")]
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
#[target_feature(enable = "avx2")]
fn all(x: i32) -> Vector {
    spread(x.to_ne_bytes())
}

/// As it is, and with the odd lanes in place of the even ones. Not by a shift: of what the compiler knows of that it
/// makes three multiplications.
#[inline]
#[target_feature(enable = "avx2")]
fn even_and_odd(x: Vector) -> [Vector; 2] {
    [x, _mm256_shuffle_epi32::<0b_11_11_01_01>(x)]
}

/// How far numbers are shifted to the right in the end.
#[inline]
#[target_feature(enable = "avx2")]
fn right(columns: &Columns, first: usize) -> Vector {
    _mm256_and_si256(_mm256_sub_epi32(all(0), words(columns.exponent, first)), all(31))
}

/// Two products of 64 bits for each two lanes: of the even ones, and of the odd ones.
#[inline]
#[target_feature(enable = "avx2")]
fn products(x: Vector, factors: [Vector; 2]) -> [Vector; 2] {
    let x = even_and_odd(x);
    [_mm256_mul_epi32(x[0], factors[0]), _mm256_mul_epi32(x[1], factors[1])]
}

/// The low halves of the first, of the second the high ones.
#[inline]
#[target_feature(enable = "avx2")]
fn join([even, odd]: [Vector; 2]) -> Vector {
    _mm256_blend_epi32::<0b_1010_1010>(even, odd)
}

/// Scales of eight columns for two roundings.
struct Fixed {
    factors: [Vector; 2],
    right: Vector,
    mask: Vector,
    half: Vector,
}

impl Fixed {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(columns: &Columns, first: usize) -> Self {
        let factor = words(columns.factor, first);
        let right = right(columns, first);
        let mask = _mm256_sub_epi32(_mm256_sllv_epi32(all(1), right), all(1));
        Self { factors: even_and_odd(factor), right, mask, half: _mm256_srli_epi32::<1>(mask) }
    }

    /// As `high_mul_below_one`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn product(&self, x: Vector) -> Vector {
        let half = _mm256_set1_epi64x(1 << 30);
        let [even, odd] = products(x, self.factors);
        let (even, odd) = (_mm256_add_epi64(even, half), _mm256_add_epi64(odd, half));
        join([_mm256_srli_epi64::<31>(even), _mm256_add_epi64(odd, odd)])
    }

    /// Shifts to the right, and rounds up what is left over beyond a threshold.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn divide(&self, x: Vector, threshold: Vector) -> Vector {
        let is_more = _mm256_cmpgt_epi32(_mm256_and_si256(x, self.mask), threshold);
        _mm256_sub_epi32(_mm256_srav_epi32(x, self.right), is_more)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn twice(&self, x: Vector) -> Vector {
        let product = self.product(x);
        self.divide(product, _mm256_add_epi32(self.half, _mm256_srli_epi32::<31>(product)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn twice_up(&self, x: Vector) -> Vector {
        self.divide(self.product(x), self.half)
    }
}

/// Scales of eight columns for one rounding. There is no arithmetic shift of 64 bits: to the products 2⁶³ is added, so
/// that they are positive, and taken away again after the shift.
struct Once {
    factors: [Vector; 2],
    shifts: [Vector; 2],
    added: [Vector; 2],
    taken: Vector,
}

impl Once {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(columns: &Columns, first: usize) -> Self {
        let factor = words(columns.factor, first);
        let right = right(columns, first);
        let half = |right| _mm256_sllv_epi64(_mm256_set1_epi64x(1 << 30), right);
        let added = |right| _mm256_add_epi64(half(right), _mm256_set1_epi64x(i64::MIN));
        let rights = [_mm256_srli_epi64::<32>(_mm256_slli_epi64::<32>(right)), _mm256_srli_epi64::<32>(right)];
        let shift = |right| _mm256_add_epi64(right, _mm256_set1_epi64x(31));
        Self {
            factors: even_and_odd(factor),
            shifts: [shift(rights[0]), shift(rights[1])],
            added: [added(rights[0]), added(rights[1])],
            // 2⁶³ / 2^(31 + right), of which 32 bits count.
            taken: _mm256_sllv_epi32(all(1), _mm256_sub_epi32(all(32), right)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn once(&self, x: Vector) -> Vector {
        let [even, odd] = products(x, self.factors);
        let even = _mm256_srlv_epi64(_mm256_add_epi64(even, self.added[0]), self.shifts[0]);
        let odd = _mm256_srlv_epi64(_mm256_add_epi64(odd, self.added[1]), self.shifts[1]);
        _mm256_sub_epi32(join([even, _mm256_slli_epi64::<32>(odd)]), self.taken)
    }
}

/// As `fixed_point::rounded` of the product.
#[inline]
#[target_feature(enable = "avx2")]
fn float(x: Vector, factor: Vector) -> Vector {
    let product = _mm256_mul_ps(_mm256_cvtepi32_ps(x), _mm256_castsi256_ps(factor));
    // All that does not fit into 32 bits becomes -2³¹.
    let rounded = _mm256_cvtps_epi32(product);
    let is_great = _mm256_cmp_ps::<_CMP_GE_OQ>(product, _mm256_set1_ps((1u32 << 31) as f32));
    let is_number = _mm256_cmp_ps::<_CMP_ORD_Q>(product, product);
    let saturated = _mm256_xor_si256(rounded, _mm256_castps_si256(is_great));
    _mm256_and_si256(saturated, _mm256_castps_si256(is_number))
}

/// Floats that scale eight columns, so small that neither a product nor its sum with an offset is out of range.
struct Small(__m256);

impl Small {
    /// Those of two vectors, if they and the offset suit.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(columns: &Columns, last: &Last, first: usize) -> Option<[Self; 2]> {
        let scale = |first: usize| _mm256_castsi256_ps(words(columns.factor, first));
        let is_small = |scale: __m256| {
            let magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0), scale);
            // NaN is not.
            _mm256_cmp_ps::<_CMP_LE_OQ>(magnitude, _mm256_set1_ps(near::MOST))
        };
        let (first, second) = (scale(first), scale(first + LANES));
        let are_small = _mm256_movemask_ps(_mm256_and_ps(is_small(first), is_small(second)));
        if near::suits(last) && are_small == 0xff { Some([Self(first), Self(second)]) } else { None }
    }

    /// As [`float`].
    #[inline]
    #[target_feature(enable = "avx2")]
    fn round(&self, x: Vector) -> Vector {
        _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(x), self.0))
    }
}

/// Scales of eight columns in floats; see [`near`].
struct Near {
    scale: __m256,
    nudge: __m256,
}

impl Near {
    /// Scales of both vectors, if they and what comes after them suit.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(rule: Rule, columns: &Columns, last: &Last, first: usize) -> Option<[Self; 2]> {
        if !near::suits(last) {
            return None;
        }
        let scale = |first: usize| {
            let (factor, right) = (words(columns.factor, first), right(columns, first));
            let bits = _mm256_sllv_epi32(all(1), _mm256_add_epi32(right, all(near::COARSE)));
            let fine = _mm256_and_si256(factor, _mm256_sub_epi32(bits, all(1)));
            let is_coarse = _mm256_cmpeq_epi32(fine, all(0));
            let is_small = _mm256_cmpgt_epi32(all(near::LEAST), factor);
            let is_zero = _mm256_cmpeq_epi32(factor, all(0));
            // The greatest products are halved at least, so that an offset does not make them wrap around.
            let is_whole = _mm256_cmpeq_epi32(right, all(0));
            let is_bad = _mm256_or_si256(_mm256_or_si256(is_coarse, is_small), is_whole);
            let is_other = _mm256_andnot_si256(is_zero, is_bad);
            let power = |greatest| _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_sub_epi32(all(greatest), right)));
            let kept = _mm256_and_si256(factor, all(near::KEPT));
            let is_nudged = _mm256_castsi256_ps(match rule {
                Rule::Once => all(0),
                _ => _mm256_cmpgt_epi32(right, all(0)),
            });
            let near = Self {
                scale: _mm256_mul_ps(_mm256_cvtepi32_ps(kept), power(96)),
                nudge: _mm256_and_ps(is_nudged, power(126)),
            };
            (is_other, near)
        };
        let ((first_is_other, first), (second_is_other, second)) = (scale(first), scale(first + LANES));
        let is_other = _mm256_movemask_epi8(_mm256_or_si256(first_is_other, second_is_other));
        if is_other == 0 { Some([first, second]) } else { None }
    }

    /// Rounded, and the magnitude of what rounding took off. Nudges have the sign of products, or none.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn round<const HAVE_SIGNS: bool>(&self, x: Vector) -> (Vector, __m256) {
        let x = _mm256_cvtepi32_ps(x);
        let nudge = match HAVE_SIGNS {
            true => _mm256_xor_ps(self.nudge, _mm256_and_ps(x, _mm256_set1_ps(-0.0))),
            false => self.nudge,
        };
        let z = _mm256_add_ps(_mm256_mul_ps(x, self.scale), nudge);
        let rounded = _mm256_cvtps_epi32(z);
        let lost = _mm256_sub_ps(z, _mm256_cvtepi32_ps(rounded));
        (rounded, _mm256_andnot_ps(_mm256_set1_ps(-0.0), lost))
    }
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
    #[target_feature(enable = "avx2")]
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
    #[target_feature(enable = "avx2")]
    fn sums<const W: usize>(&self, sums: &[i32; W], term: Vector) -> [Vector; 2] {
        let sum = |half: usize| {
            _mm256_add_epi32(_mm256_add_epi32(vector(sums, self.first + half * LANES), self.added[half]), term)
        };
        [sum(0), sum(1)]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn scaled<const W: usize>(
        &self,
        sums: [&[i32; W]; 2],
        terms: [Vector; 2],
        scaled: impl Fn(usize, Vector) -> Vector,
    ) -> Vector {
        let raised = _mm256_set1_epi16(self.raised() as i16);
        let words = |row: usize| {
            let [x, y] = self.sums(sums[row], terms[row]);
            let x = _mm256_add_epi32(scaled(0, x), self.offset);
            let y = if self.both { _mm256_add_epi32(scaled(1, y), self.offset) } else { x };
            _mm256_adds_epi16(_mm256_packs_epi32(x, y), raised)
        };
        self.bytes(words(0), words(1))
    }

    /// Of the words of one row, and of another: four of the first vector, four of the second, and so on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bytes(&self, upper: Vector, lower: Vector) -> Vector {
        let bytes = _mm256_packus_epi16(upper, lower);
        let bytes = _mm256_min_epu8(_mm256_max_epu8(bytes, self.least), self.greatest);
        let bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(self.flip as i8));
        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
    }
}

/// Makes bytes of all rows, two at a time, of columns from `first` on.
#[inline]
#[target_feature(enable = "avx2")]
fn each<const W: usize>(
    first: usize,
    rows: Rows<W>,
    to: &mut Block<u8>,
    bytes: impl Fn([&[i32; W]; 2], [Vector; 2]) -> Vector,
) {
    let mut i = 0;
    while let Some(upper) = rows.sums.get(i) {
        // Beyond the last row there is no place.
        let lower = rows.sums.get(i + 1).unwrap_or(upper);
        let bytes = bytes([upper, lower], [all(rows.term(i)), all(rows.term(i + 1))]);
        put(_mm256_castsi256_si128(bytes), first, to);
        put(_mm256_extracti128_si256::<1>(bytes), first, to);
        i += 2;
    }
}

/// The bytes of the next row's columns from `first` on; mostly there is room for all. What is less goes by halves, for a loop
/// would become a call.
#[inline]
#[target_feature(enable = "avx2")]
fn put(bytes: __m128i, first: usize, to: &mut Block<u8>) {
    let to = to.next().unwrap_or_default().get_mut(first..).unwrap_or_default();
    match to.first_chunk_mut::<{ 2 * LANES }>() {
        // SAFETY: the reference covers the 16 bytes written.
        Some(whole) => unsafe { _mm_storeu_si128(whole.as_mut_ptr().cast(), bytes) },
        None => {
            let mut room = [0; 2 * LANES];
            // SAFETY: 16 bytes.
            unsafe { _mm_storeu_si128(room.as_mut_ptr().cast(), bytes) };
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
