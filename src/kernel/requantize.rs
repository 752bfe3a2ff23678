//! Sums that become bytes: what most layers of a quantized network end with.

use crate::fixed_point::{high_mul_below_one, rounded, rounding_divide_by_pot, rounding_shift_right_up};

/// How a sum is scaled.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// By factor · 2^(-right - 31), rounded as `Rounding` of the same name says; no factor is -2³¹.
    Twice,
    TwiceUp,
    Once,
    /// By the float whose bits the factor is, rounded to nearest, ties to even; saturated.
    Float,
}

/// What each column of a panel has of its own.
pub(crate) struct Columns<const W: usize> {
    /// Added before the sum is scaled.
    pub added: [i32; W],
    pub factor: [i32; W],
    /// 0 to 31; of [`Rule::Float`], anything.
    pub right: [i32; W],
}

/// What comes after scaling: `offset` is added, which wraps around, and the number confined to `least..=greatest`, which
/// are both of u8 or both of i8.
#[derive(Clone, Copy)]
pub(crate) struct Last {
    pub offset: i32,
    pub least: i32,
    pub greatest: i32,
}

/// Rows of sums, what is added to those of each (nothing, if there are no terms), and how many columns become bytes.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, const W: usize> {
    pub sums: &'a [[i32; W]],
    pub terms: &'a [i32],
    pub cols: usize,
}

impl<const W: usize> Rows<'_, W> {
    #[inline(always)]
    fn term(&self, i: usize) -> i32 {
        self.terms.get(i).copied().unwrap_or(0)
    }
}

/// With what the function around it is compiled for. Each row's bytes go to the next place, which has room for all.
#[inline(always)]
pub(super) fn requantize<'r, const W: usize>(
    rule: Rule,
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
) {
    match rule {
        Rule::Twice => each(columns, last, rows, to, |x, factor, right| {
            rounding_divide_by_pot(high_mul_below_one(x, factor), right as u32 & 31)
        }),
        Rule::TwiceUp => each(columns, last, rows, to, |x, factor, right| {
            rounding_shift_right_up(high_mul_below_one(x, factor), right as u32 & 31)
        }),
        Rule::Once => each(columns, last, rows, to, |x, factor, right| {
            // |product| ≤ 2⁶² - 2³¹, so that no result saturates.
            let (product, shift) = (i64::from(x) * i64::from(factor), 31 + (right & 31));
            ((product + (1 << (shift - 1))) >> shift) as i32
        }),
        Rule::Float => each(columns, last, rows, to, |x, factor, _| rounded(x as f32 * f32::from_bits(factor as u32))),
    }
}

#[inline(always)]
fn each<'r, const W: usize>(
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
    scaled: impl Fn(i32, i32, i32) -> i32,
) {
    for (i, (sums, to)) in rows.sums.iter().zip(to).enumerate() {
        let (of_row, mut bytes) = (rows.term(i), [0; W]);
        for j in 0..W {
            let sum = sums[j].wrapping_add(columns.added[j]).wrapping_add(of_row);
            let number = scaled(sum, columns.factor[j], columns.right[j]).wrapping_add(last.offset);
            bytes[j] = number.max(last.least).min(last.greatest) as u8;
        }
        match to.first_chunk_mut() {
            Some(whole) => *whole = bytes,
            None => to.iter_mut().zip(&bytes).for_each(|(to, byte)| *to = *byte),
        }
    }
}

/// The compiler does not multiply numbers of 32 bits in the lanes where they lie, nor does it pack 16 of them at once.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
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
}

/// As [`avx2`], twice as many at once; and products of 64 bits are shifted and rounded as they are.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
pub(super) mod avx512 {
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
}
