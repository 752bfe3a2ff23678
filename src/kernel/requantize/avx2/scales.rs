//! The ways in which a vector of sums is scaled.

use super::{all, vector, words};
use crate::kernel::panel::{Lanes, Panel};
use crate::kernel::requantize::{Columns, Last, Rule, near};
use crate::kernel::vector256::Vector;
use std::arch::x86_64::*;

/// As it is, and with the odd lanes in place of the even ones. Not by a shift: of what the compiler knows of that it
/// makes three multiplications.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn even_and_odd(x: Vector) -> [Vector; 2] {
    [x, _mm256_shuffle_epi32::<0b_11_11_01_01>(x)]
}

/// How far numbers are shifted to the right in the end.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn right(columns: &Columns, first: usize) -> Vector {
    right_by(words(columns.exponent, first))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn right_by(exponent: Vector) -> Vector {
    _mm256_and_si256(_mm256_sub_epi32(all(0), exponent), all(31))
}

/// Two products of 64 bits for each two lanes: of the even ones, and of the odd ones.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn products(x: Vector, factors: [Vector; 2]) -> [Vector; 2] {
    let x = even_and_odd(x);
    [_mm256_mul_epi32(x[0], factors[0]), _mm256_mul_epi32(x[1], factors[1])]
}

/// The low halves of the first, of the second the high ones.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn join([even, odd]: [Vector; 2]) -> Vector {
    _mm256_blend_epi32::<0b_1010_1010>(even, odd)
}

/// Powers of two by which eight numbers are divided: how far they are shifted, what is shifted out of them, and half of that.
struct Powers {
    right: Vector,
    mask: Vector,
    half: Vector,
}

impl Powers {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(right: Vector) -> Self {
        let mask = _mm256_sub_epi32(_mm256_sllv_epi32(all(1), right), all(1));
        Self { right, mask, half: _mm256_srli_epi32::<1>(mask) }
    }

    /// Shifts to the right, and rounds up what is left over beyond a threshold.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn divide_beyond(&self, x: Vector, threshold: Vector) -> Vector {
        let is_more = _mm256_cmpgt_epi32(_mm256_and_si256(x, self.mask), threshold);
        _mm256_sub_epi32(_mm256_srav_epi32(x, self.right), is_more)
    }

    /// As `rounding_divide_by_pot`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn divide(&self, x: Vector) -> Vector {
        self.divide_beyond(x, _mm256_add_epi32(self.half, _mm256_srli_epi32::<31>(x)))
    }

    /// As `rounding_shift_right_up`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn divide_up(&self, x: Vector) -> Vector {
        self.divide_beyond(x, self.half)
    }
}

/// Scales of eight columns for two roundings.
pub(super) struct Fixed {
    factors: [Vector; 2],
    powers: Powers,
}

impl Fixed {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of(columns: &Columns, first: usize) -> Self {
        Self { factors: even_and_odd(words(columns.factor, first)), powers: Powers::new(right(columns, first)) }
    }

    /// As `high_mul_below_one`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn product(&self, x: Vector) -> Vector {
        let half = _mm256_set1_epi64x(1 << 30);
        let [even, odd] = products(x, self.factors);
        let (even, odd) = (_mm256_add_epi64(even, half), _mm256_add_epi64(odd, half));
        join([_mm256_srli_epi64::<31>(even), _mm256_add_epi64(odd, odd)])
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn twice(&self, x: Vector) -> Vector {
        self.powers.divide(self.product(x))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn twice_up(&self, x: Vector) -> Vector {
        self.powers.divide_up(self.product(x))
    }
}

/// Scales of eight columns for one rounding. There is no arithmetic shift of 64 bits: to the products 2⁶³ is added, so
/// that they are positive, and taken away again after the shift.
pub(super) struct Once {
    factors: [Vector; 2],
    shifts: [Vector; 2],
    added: [Vector; 2],
    taken: Vector,
}

impl Once {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of(columns: &Columns, first: usize) -> Self {
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
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn once(&self, x: Vector) -> Vector {
        let [even, odd] = products(x, self.factors);
        let even = _mm256_srlv_epi64(_mm256_add_epi64(even, self.added[0]), self.shifts[0]);
        let odd = _mm256_srlv_epi64(_mm256_add_epi64(odd, self.added[1]), self.shifts[1]);
        _mm256_sub_epi32(join([even, _mm256_slli_epi64::<32>(odd)]), self.taken)
    }
}

/// As `fixed_point::rounded` of the product.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn float(x: Vector, factor: Vector) -> Vector {
    let product = _mm256_mul_ps(_mm256_cvtepi32_ps(x), _mm256_castsi256_ps(factor));
    // All that does not fit into 32 bits becomes -2³¹.
    let rounded = _mm256_cvtps_epi32(product);
    let is_great = _mm256_cmp_ps::<_CMP_GE_OQ>(product, _mm256_set1_ps((1u32 << 31) as f32));
    let is_number = _mm256_cmp_ps::<_CMP_ORD_Q>(product, product);
    let saturated = _mm256_xor_si256(rounded, _mm256_castps_si256(is_great));
    _mm256_and_si256(saturated, _mm256_castps_si256(is_number))
}

/// Factors of eight columns, and the powers of two by which products are divided.
pub(super) struct Down {
    factor: Vector,
    powers: Powers,
}

impl Down {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of(columns: &Columns, first: usize) -> Self {
        Self { factor: words(columns.factor, first), powers: Powers::new(words(columns.exponent, first)) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn round(&self, x: Vector) -> Vector {
        self.powers.divide(_mm256_mullo_epi32(x, self.factor))
    }
}

/// Floats that scale eight columns, so small that neither a product nor its sum with an offset is out of range.
pub(super) struct Small(__m256);

impl Small {
    /// Those of two vectors, if they and the offset suit.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of(columns: &Columns, last: &Last, firsts: [usize; 2]) -> Option<[Self; 2]> {
        let scale = |first: usize| _mm256_castsi256_ps(words(columns.factor, first));
        let is_small = |scale: __m256| {
            let magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0), scale);
            // NaN is not.
            _mm256_cmp_ps::<_CMP_LE_OQ>(magnitude, _mm256_set1_ps(near::MOST))
        };
        let (first, second) = (scale(firsts[0]), scale(firsts[1]));
        let are_small = _mm256_movemask_ps(_mm256_and_ps(is_small(first), is_small(second)));
        if near::suits(last) && are_small == 0xff { Some([Self(first), Self(second)]) } else { None }
    }

    /// Of a panel: see [`Near::by`].
    #[inline(always)]
    pub(super) fn by(kept: &Near) -> Self {
        Self(kept.scale)
    }

    /// As [`float`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn round(&self, x: Vector) -> Vector {
        _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(x), self.0))
    }
}

/// Scales of eight columns in floats, and what is added to products that are not negative, and to those that are; see [`near`].
pub(super) struct Near {
    pub(super) scale: __m256,
    pub(super) above: __m256,
    pub(super) below: __m256,
}

impl Near {
    /// Of the factors and exponents of both vectors, if they and what comes after them suit.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of<const PLACE: usize>(
        rule: Rule,
        scales: [[Vector; 2]; 2],
        last: &Last,
        raised: i32,
    ) -> Option<[Self; 2]> {
        if !near::suits(last) {
            return None;
        }
        let half = _mm256_set1_ps(near::half_and(last.offset + raised) as f32);
        let mask = |is: bool| all(if is { -1 } else { 0 });
        let may_be_nudged = mask(!matches!(rule, Rule::Once));
        let has_signs = _mm256_castsi256_ps(mask(near::has_signs(rule, last)));
        let scale = |[factor, exponent]: [Vector; 2]| {
            let right = right_by(exponent);
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
            let is_nudged = _mm256_andnot_si256(is_whole, may_be_nudged);
            let nudge = _mm256_and_ps(_mm256_castsi256_ps(is_nudged), power(126 + 16));
            let below = _mm256_xor_ps(nudge, _mm256_and_ps(has_signs, _mm256_set1_ps(-0.0)));
            let near = Self {
                scale: _mm256_mul_ps(_mm256_cvtepi32_ps(factor), power(96 + 16)),
                above: _mm256_add_ps(half, nudge),
                below: _mm256_add_ps(half, below),
            };
            (is_other, near)
        };
        let ((first_is_other, first), (second_is_other, second)) = (scale(scales[0]), scale(scales[1]));
        let is_other = _mm256_movemask_epi8(_mm256_or_si256(first_is_other, second_is_other));
        if is_other == 0 { Some([first, second]) } else { None }
    }

    /// The columns of a panel from `first` on.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of_panel(panel: &Panel, first: usize) -> Self {
        let part = |lanes: &Lanes| _mm256_castsi256_ps(vector(&lanes[0], first));
        let above = part(&panel.above);
        Self { scale: part(&panel.scale), above, below: _mm256_xor_ps(above, part(&panel.difference)) }
    }

    /// How a panel keeps floats.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn by(Small(scale): Small) -> Self {
        Self { scale, above: _mm256_setzero_ps(), below: _mm256_setzero_ps() }
    }

    /// In units, with half a number and the offset; what is out of range is in doubt. Nudges have the sign of products, or none.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn units<const HAVE_SIGNS: bool>(&self, x: Vector) -> Vector {
        let added = match HAVE_SIGNS {
            true => _mm256_blendv_ps(self.above, self.below, _mm256_castsi256_ps(x)),
            false => self.above,
        };
        _mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_cvtepi32_ps(x), self.scale, added))
    }
}
