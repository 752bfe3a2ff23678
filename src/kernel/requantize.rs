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

/// A row of sums, what is added to each, and where their bytes go: as many as the row is to have, W at most.
pub(crate) type Row<'r, const W: usize> = ((&'r [i32; W], i32), &'r mut [u8]);

/// With what the function around it is compiled for.
#[inline(always)]
pub(super) fn requantize<'r, const W: usize>(
    rule: Rule,
    columns: &Columns<W>,
    last: Last,
    rows: impl Iterator<Item = Row<'r, W>>,
) {
    match rule {
        Rule::Twice => each(columns, last, rows, |x, factor, right| {
            rounding_divide_by_pot(high_mul_below_one(x, factor), right as u32 & 31)
        }),
        Rule::TwiceUp => each(columns, last, rows, |x, factor, right| {
            rounding_shift_right_up(high_mul_below_one(x, factor), right as u32 & 31)
        }),
        Rule::Once => each(columns, last, rows, |x, factor, right| {
            // |product| ≤ 2⁶² - 2³¹, so that no result saturates.
            let (product, shift) = (i64::from(x) * i64::from(factor), 31 + (right & 31));
            ((product + (1 << (shift - 1))) >> shift) as i32
        }),
        Rule::Float => each(columns, last, rows, |x, factor, _| rounded(x as f32 * f32::from_bits(factor as u32))),
    }
}

#[inline(always)]
fn each<'r, const W: usize>(
    columns: &Columns<W>,
    last: Last,
    rows: impl Iterator<Item = Row<'r, W>>,
    scaled: impl Fn(i32, i32, i32) -> i32,
) {
    for ((sums, of_row), to) in rows {
        let mut bytes = [0; W];
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

/// Defines `requantize`, as [`requantize`] of the module around, which does two vectors of columns together, in terms of a module's
/// own `vector` (of columns), `Fixed`, `Once`, `float` and `each`; W is a multiple of twice the lanes.
#[cfg(target_arch = "x86_64")]
macro_rules! by_vectors {
    (features: [$($feature:literal),*], lanes: $lanes:literal) => {
        const LANES: usize = $lanes;

        #[inline]
        $(#[target_feature(enable = $feature)])*
        pub(in crate::kernel) fn requantize<'r, const W: usize>(
            rule: Rule,
            columns: &Columns<W>,
            last: Last,
            rows: impl Iterator<Item = Row<'r, W>> + Clone,
        ) {
            for first in (0..W / (2 * LANES)).map(|pair| pair * 2 * LANES) {
                let (at, rows) = ([first, first + LANES], rows.clone());
                match rule {
                    Rule::Twice => {
                        let scales = [Fixed::of(columns, at[0]), Fixed::of(columns, at[1])];
                        each(columns, at, last, rows, |half, x| scales[half].twice(x));
                    }
                    Rule::TwiceUp => {
                        let scales = [Fixed::of(columns, at[0]), Fixed::of(columns, at[1])];
                        each(columns, at, last, rows, |half, x| scales[half].twice_up(x));
                    }
                    Rule::Once => {
                        let scales = [Once::of(columns, at[0]), Once::of(columns, at[1])];
                        each(columns, at, last, rows, |half, x| scales[half].once(x));
                    }
                    Rule::Float => {
                        let scales = [vector(&columns.factor, at[0]), vector(&columns.factor, at[1])];
                        each(columns, at, last, rows, |half, x| float(x, scales[half]));
                    }
                }
            }
        }

        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn vector<const W: usize>(values: &[i32; W], first: usize) -> Vector {
            resume(values[first..].first_chunk().expect("as many more as there are lanes"))
        }
    };
}

/// The compiler does not multiply numbers of 32 bits in the lanes where they lie, nor does it pack 16 of them at once.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use super::{Columns, Last, Row, Rule};
    use crate::kernel::vector256::{Vector, resume, spread};
    use std::arch::x86_64::*;

    by_vectors! { features: ["avx2"], lanes: 8 }

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
        rows: impl Iterator<Item = Row<'r, W>>,
        scaled: impl Fn(usize, Vector) -> Vector,
    ) {
        let added = [vector(&columns.added, at[0]), vector(&columns.added, at[1])];
        // Signed bytes are shifted to unsigned ones, and back at the end.
        let flip = if last.least < 0 { 128 } else { 0 };
        let byte = |x: i32| _mm_set1_epi8((x + flip) as i8);
        let (least, greatest, flip) = (byte(last.least), byte(last.greatest), all(flip << 16 | flip));
        let sign = _mm_packus_epi16(_mm256_castsi256_si128(flip), _mm256_castsi256_si128(flip));
        for ((sums, of_row), to) in rows {
            let (of_row, to) = (all(of_row), to.get_mut(at[0]..).unwrap_or_default());
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

/// As [`avx2`], twice as many at once; and there are masks, shifts of 64 bits and a way straight to bytes.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
pub(super) mod avx512 {
    use super::{Columns, Last, Row, Rule};
    use crate::kernel::vector512::{Vector, plus, resume};
    use std::arch::x86_64::*;

    by_vectors! { features: ["avx512f", "avx512bw", "avx512vl"], lanes: 16 }

    /// The odd lanes of 32 bits.
    const ODD: __mmask16 = 0b_1010_1010_1010_1010;

    /// As it is, and with the odd lanes in place of the even ones; not by a shift, as for AVX2.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn even_and_odd(x: Vector) -> [Vector; 2] {
        [x, _mm512_shuffle_epi32::<0b_11_11_01_01>(x)]
    }

    /// Two products of 64 bits for each two lanes, something added to them: of the even ones, and of the odd ones.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn products(x: Vector, factors: [Vector; 2], added: [Vector; 2]) -> [Vector; 2] {
        let x = even_and_odd(x);
        let product = |i: usize| _mm512_add_epi64(_mm512_mul_epi32(x[i], factors[i]), added[i]);
        [product(0), product(1)]
    }

    /// Scales of a vector's columns for two roundings.
    struct Fixed {
        factors: [Vector; 2],
        right: Vector,
        mask: Vector,
        half: Vector,
    }

    impl Fixed {
        #[inline]
        #[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
        fn of<const W: usize>(columns: &Columns<W>, first: usize) -> Self {
            let right = _mm512_and_si512(vector(&columns.right, first), _mm512_set1_epi32(31));
            let one = _mm512_set1_epi32(1);
            let mask = _mm512_sub_epi32(_mm512_sllv_epi32(one, right), one);
            let factors = even_and_odd(vector(&columns.factor, first));
            Self { factors, right, mask, half: _mm512_srli_epi32::<1>(mask) }
        }

        /// As `high_mul_below_one`.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn product(&self, x: Vector) -> Vector {
            let [even, odd] = products(x, self.factors, [_mm512_set1_epi64(1 << 30); 2]);
            _mm512_mask_blend_epi32(ODD, _mm512_srli_epi64::<31>(even), _mm512_add_epi64(odd, odd))
        }

        /// Shifts to the right, and rounds up what is left over beyond a threshold.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn divide(&self, x: Vector, threshold: Vector) -> Vector {
            let is_more = _mm512_cmpgt_epi32_mask(_mm512_and_si512(x, self.mask), threshold);
            let shifted = _mm512_srav_epi32(x, self.right);
            _mm512_mask_sub_epi32(shifted, is_more, shifted, _mm512_set1_epi32(-1))
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        fn twice(&self, x: Vector) -> Vector {
            let product = self.product(x);
            self.divide(product, plus(self.half, _mm512_srli_epi32::<31>(product)))
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        fn twice_up(&self, x: Vector) -> Vector {
            self.divide(self.product(x), self.half)
        }
    }

    /// Scales of a vector's columns for one rounding.
    struct Once {
        factors: [Vector; 2],
        halves: [Vector; 2],
        shifts: [Vector; 2],
    }

    impl Once {
        #[inline]
        #[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
        fn of<const W: usize>(columns: &Columns<W>, first: usize) -> Self {
            let right = _mm512_and_si512(vector(&columns.right, first), _mm512_set1_epi32(31));
            let rights = [_mm512_maskz_mov_epi32(!ODD, right), _mm512_srli_epi64::<32>(right)];
            let half = |right| _mm512_sllv_epi64(_mm512_set1_epi64(1 << 30), right);
            let shift = |right| _mm512_add_epi64(right, _mm512_set1_epi64(31));
            Self {
                factors: even_and_odd(vector(&columns.factor, first)),
                halves: [half(rights[0]), half(rights[1])],
                shifts: [shift(rights[0]), shift(rights[1])],
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        fn once(&self, x: Vector) -> Vector {
            let [even, odd] = products(x, self.factors, self.halves);
            let (even, odd) = (_mm512_srav_epi64(even, self.shifts[0]), _mm512_srav_epi64(odd, self.shifts[1]));
            _mm512_mask_blend_epi32(ODD, even, _mm512_slli_epi64::<32>(odd))
        }
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
    fn each<'r, const W: usize>(
        columns: &Columns<W>,
        at: [usize; 2],
        last: Last,
        rows: impl Iterator<Item = Row<'r, W>>,
        scaled: impl Fn(usize, Vector) -> Vector,
    ) {
        let added = [vector(&columns.added, at[0]), vector(&columns.added, at[1])];
        let all = |x: i32| _mm512_set1_epi32(x);
        let (offset, least, greatest) = (all(last.offset), all(last.least), all(last.greatest));
        for ((sums, of_row), to) in rows {
            let of_row = all(of_row);
            for half in 0..2 {
                let Some(to) = to.get_mut(at[half]..).filter(|to| !to.is_empty()) else { break };
                let sum = plus(plus(vector(sums, at[half]), added[half]), of_row);
                let number = plus(scaled(half, sum), offset);
                let number = _mm512_min_epi32(_mm512_max_epi32(number, least), greatest);
                put(to, _mm512_cvtepi32_epi8(number));
            }
        }
    }

    /// As many of the bytes as there is room for.
    #[inline]
    #[target_feature(enable = "avx512f", enable = "avx512bw", enable = "avx512vl")]
    fn put(to: &mut [u8], bytes: __m128i) {
        match to.first_chunk_mut::<LANES>() {
            // SAFETY: the reference covers the 16 bytes written.
            Some(whole) => unsafe { _mm_storeu_si128(whole.as_mut_ptr().cast(), bytes) },
            // SAFETY: the slice covers the bytes written.
            None => unsafe { _mm_mask_storeu_epi8(to.as_mut_ptr().cast(), (1 << to.len()) - 1, bytes) },
        }
    }
}
