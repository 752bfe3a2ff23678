//! With AVX2: the compiler does not multiply numbers of 32 bits in the lanes where they lie, nor does it pack 16 of them at once.

use super::{Columns, Last, Rows, Rule};
use crate::kernel::vector256::{Vector, resume, spread};
use std::arch::x86_64::*;

const LANES: usize = 8;

/// As [`super::requantize`]; two vectors of columns together, of which W is a multiple.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel) fn requantize<'r, const W: usize>(
    rule: Rule,
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]> + Clone,
) {
    for first in (0..W / (2 * LANES)).map(|pair| pair * 2 * LANES) {
        let (at, to) = ([first, first + LANES], to.clone());
        match rule {
            Rule::Twice => {
                let scales = [Fixed::of(columns, at[0]), Fixed::of(columns, at[1])];
                each(columns, at, last, rows, to, |half, x| scales[half].twice(x));
            }
            Rule::TwiceUp => {
                let scales = [Fixed::of(columns, at[0]), Fixed::of(columns, at[1])];
                each(columns, at, last, rows, to, |half, x| scales[half].twice_up(x));
            }
            Rule::Once => {
                let scales = [Once::of(columns, at[0]), Once::of(columns, at[1])];
                each(columns, at, last, rows, to, |half, x| scales[half].once(x));
            }
            Rule::Float => {
                let scales = [vector(&columns.factor, at[0]), vector(&columns.factor, at[1])];
                each(columns, at, last, rows, to, |half, x| float(x, scales[half]));
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn vector<const W: usize>(values: &[i32; W], first: usize) -> Vector {
    resume(values[first..].first_chunk().expect("as many more as there are lanes"))
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
    fn of<const W: usize>(columns: &Columns<W>, first: usize) -> Self {
        let factor = vector(&columns.factor, first);
        let right = _mm256_and_si256(vector(&columns.right, first), all(31));
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
    fn of<const W: usize>(columns: &Columns<W>, first: usize) -> Self {
        let factor = vector(&columns.factor, first);
        let right = _mm256_and_si256(vector(&columns.right, first), all(31));
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

#[inline]
#[target_feature(enable = "avx2")]
fn each<'r, const W: usize>(
    columns: &Columns<W>,
    at: [usize; 2],
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
    scaled: impl Fn(usize, Vector) -> Vector,
) {
    let added = [vector(&columns.added, at[0]), vector(&columns.added, at[1])];
    // Signed bytes are shifted to unsigned ones, and back at the end.
    let flip = if last.least < 0 { 128 } else { 0 };
    let byte = |x: i32| _mm_set1_epi8((x + flip) as i8);
    let (least, greatest, flip) = (byte(last.least), byte(last.greatest), all(flip << 16 | flip));
    let sign = _mm_packus_epi16(_mm256_castsi256_si128(flip), _mm256_castsi256_si128(flip));
    for (i, (sums, to)) in rows.sums.iter().zip(to).enumerate() {
        let (of_row, to) = (all(rows.term(i)), to.get_mut(at[0]..).unwrap_or_default());
        let number = |half: usize| {
            let sum = _mm256_add_epi32(_mm256_add_epi32(vector(sums, at[half]), added[half]), of_row);
            _mm256_add_epi32(scaled(half, sum), all(last.offset))
        };
        let numbers = [number(0), if to.len() > LANES { number(1) } else { all(0) }];
        let words = _mm256_adds_epi16(_mm256_packs_epi32(numbers[0], numbers[1]), flip);
        let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        // Four of the first half, four of the second, and the same again.
        let bytes = _mm_shuffle_epi32::<0b_11_01_10_00>(bytes);
        let bytes = _mm_xor_si128(_mm_min_epu8(_mm_max_epu8(bytes, least), greatest), sign);
        let mut room = [0; 2 * LANES];
        // SAFETY: 16 bytes.
        unsafe { _mm_storeu_si128(room.as_mut_ptr().cast(), bytes) };
        put(&room, to);
    }
}

/// The first of the bytes; mostly that is all. What is less goes by halves, for a loop would become a call.
#[inline(always)]
fn put(bytes: &[u8; 2 * LANES], to: &mut [u8]) {
    match to.first_chunk_mut() {
        Some(whole) => *whole = *bytes,
        None => {
            let mut done = 0;
            put_part::<8>(bytes, to, &mut done);
            put_part::<4>(bytes, to, &mut done);
            put_part::<2>(bytes, to, &mut done);
            put_part::<1>(bytes, to, &mut done);
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
