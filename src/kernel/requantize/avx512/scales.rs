//! The ways in which two vectors of sums become one of words.

use super::{of_columns, of_lanes};
use crate::kernel::panel::Panel;
use crate::kernel::requantize::{Columns, Last, Rule, near};
use crate::kernel::vector512::Vector;
use std::arch::x86_64::*;

/// The odd lanes of 32 bits.
const ODD: __mmask16 = 0b_1010_1010_1010_1010;

/// Scales of a vector's columns: a sum's product is shifted to the right after something was added to it. Both roundings
/// of `Rule::Twice` and `Rule::TwiceUp` are done at once, for ⌊(⌊(x + a) / 2ⁱ⌋ + b) / 2ʲ⌋ = ⌊(x + a + b · 2ⁱ) / 2ⁱ⁺ʲ⌋.
pub(super) struct Fixed {
    factors: [Vector; 2],
    added: [Vector; 2],
    /// Taken off negative products, so that ties of the second rounding go away from zero. (Where the first rounding makes
    /// a negative product 0, that changes nothing, for half of a divisor less 1 is still rounded to 0.)
    taken: [Vector; 2],
    shifts: [Vector; 2],
}

impl Fixed {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn of<const ROWS: usize>(rule: Rule, columns: &Columns, half: usize) -> Self {
        let factor = of_columns::<ROWS>(columns.factor, half);
        let right = right::<ROWS>(columns, half);
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
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn twice(&self, x: Vector) -> Vector {
        let products = self.products(x);
        let round = |i: usize| {
            let is_negative = _mm512_cmplt_epi64_mask(products[i], _mm512_setzero_si512());
            let sum = _mm512_add_epi64(products[i], self.added[i]);
            _mm512_mask_sub_epi64(sum, is_negative, sum, self.taken[i])
        };
        self.join([round(0), round(1)])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn once(&self, x: Vector) -> Vector {
        let products = self.products(x);
        self.join([_mm512_add_epi64(products[0], self.added[0]), _mm512_add_epi64(products[1], self.added[1])])
    }

    /// Two products of 64 bits for each two lanes: of the even ones, and of the odd ones.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn products(&self, x: Vector) -> [Vector; 2] {
        let x = even_and_odd(x);
        [_mm512_mul_epi32(x[0], self.factors[0]), _mm512_mul_epi32(x[1], self.factors[1])]
    }

    /// Shifted, each in its lane again.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn join(&self, [even, odd]: [Vector; 2]) -> Vector {
        let (even, odd) = (_mm512_srav_epi64(even, self.shifts[0]), _mm512_srav_epi64(odd, self.shifts[1]));
        _mm512_mask_shuffle_epi32::<0b_10_10_00_00>(even, ODD, odd)
    }
}

/// How far numbers are shifted to the right in the end.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn right<const ROWS: usize>(columns: &Columns, half: usize) -> Vector {
    right_by(of_columns::<ROWS>(columns.exponent, half))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn right_by(exponent: Vector) -> Vector {
    _mm512_and_si512(_mm512_sub_epi32(_mm512_setzero_si512(), exponent), _mm512_set1_epi32(31))
}

/// As it is, and with the odd lanes in place of the even ones; not by a shift, as for AVX2.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn even_and_odd(x: Vector) -> [Vector; 2] {
    [x, _mm512_shuffle_epi32::<0b_11_11_01_01>(x)]
}

/// As `fixed_point::rounded` of the product.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn float(x: Vector, factor: Vector) -> Vector {
    let product = _mm512_mul_ps(_mm512_cvtepi32_ps(x), _mm512_castsi512_ps(factor));
    // All that does not fit into 32 bits becomes -2³¹.
    let rounded = _mm512_cvtps_epi32(product);
    let is_great = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(product, _mm512_set1_ps((1u32 << 31) as f32));
    let is_number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(product, product);
    let saturated = _mm512_mask_mov_epi32(rounded, is_great, _mm512_set1_epi32(i32::MAX));
    _mm512_maskz_mov_epi32(is_number, saturated)
}

/// Factors of a vector's columns and how far products are shifted, as [`Rule::Down`] has it.
pub(super) struct Down {
    factor: Vector,
    shift: Vector,
    /// Of a product, what is shifted out, and half of that.
    rest: Vector,
    half: Vector,
}

impl Down {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn of<const ROWS: usize>(columns: &Columns, half: usize) -> Self {
        let shift = of_columns::<ROWS>(columns.exponent, half);
        let one = _mm512_set1_epi32(1);
        let rest = _mm512_sub_epi32(_mm512_sllv_epi32(one, shift), one);
        Self { factor: of_columns::<ROWS>(columns.factor, half), shift, rest, half: _mm512_srli_epi32::<1>(rest) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn round(&self, x: Vector) -> Vector {
        let product = _mm512_mullo_epi32(x, self.factor);
        // Of negative ones ties go down. A mask is all ones, which is -1.
        let most = _mm512_sub_epi32(self.half, _mm512_srai_epi32::<31>(product));
        let goes_up = _mm512_cmpgt_epi32_mask(_mm512_and_si512(product, self.rest), most);
        let down = _mm512_srav_epi32(product, self.shift);
        _mm512_mask_add_epi32(down, goes_up, down, _mm512_set1_epi32(1))
    }
}

/// Floats that scale a vector's columns, so small that neither a product nor its sum with an offset is out of range.
pub(super) struct Small(__m512);

impl Small {
    /// Those of both vectors, if they and the offset suit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn of<const ROWS: usize>(columns: &Columns, last: &Last) -> Option<[Self; 2]> {
        let scale = |half| _mm512_castsi512_ps(of_columns::<ROWS>(columns.factor, half));
        let (first, second) = (scale(0), scale(1));
        // NaN is not.
        let is_small = |scale| _mm512_cmp_ps_mask::<_CMP_LE_OQ>(_mm512_abs_ps(scale), _mm512_set1_ps(near::MOST));
        let are_small = is_small(first) & is_small(second) == u16::MAX;
        if near::suits(last) && are_small { Some([Self(first), Self(second)]) } else { None }
    }

    /// As [`float`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn round(&self, x: Vector) -> Vector {
        _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(x), self.0))
    }
}

/// Scales of a vector's columns in floats; see [`near`].
pub(super) struct Near {
    pub scale: __m512,
    pub nudge: Vector,
}

impl Near {
    /// Those of [`Small`], which need no nudges, if few numbers are ties.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn of_floats<const ROWS: usize>(columns: &Columns, last: &Last) -> Option<[Self; 2]> {
        let [first, second] = Small::of::<ROWS>(columns, last)?;
        let is_coarse = |scale: &Small| {
            let rest = _mm512_reduce_ps::<0>(_mm512_mul_ps(scale.0, _mm512_set1_ps(near::COARSE_FLOAT)));
            let is_whole = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(rest, _mm512_setzero_ps());
            _mm512_mask_cmp_ps_mask::<_CMP_NEQ_OQ>(is_whole, scale.0, _mm512_setzero_ps()) != 0
        };
        if is_coarse(&first) || is_coarse(&second) {
            return None;
        }
        let nudge = _mm512_setzero_si512();
        Some([Self { scale: first.0, nudge }, Self { scale: second.0, nudge }])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn of_panel<const ROWS: usize>(panel: &Panel) -> [Self; 2] {
        // Powers of two change nothing else.
        let unit = _mm512_set1_ps(1.0 / near::UNITS);
        let of_lanes = |lanes, half| _mm512_mul_ps(_mm512_castsi512_ps(of_lanes::<ROWS>(lanes, half)), unit);
        let of_half = |half| Self {
            scale: of_lanes(&panel.scale, half),
            nudge: _mm512_castps_si512(of_lanes(&panel.nudge, half)),
        };
        [of_half(0), of_half(1)]
    }

    /// Of the factors and exponents of both vectors, if they and the offset suit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn of<const PLACE: usize>(rule: Rule, scales: [[Vector; 2]; 2], last: &Last) -> Option<[Self; 2]> {
        if !near::suits(last) {
            return None;
        }
        let scale = |[factor, exponent]: [Vector; 2]| {
            let right = right_by(exponent);
            let one = _mm512_set1_epi32(1);
            let bits = _mm512_sllv_epi32(one, _mm512_add_epi32(right, _mm512_set1_epi32(near::COARSE)));
            let has_none = _mm512_testn_epi32_mask(factor, _mm512_sub_epi32(bits, one));
            let suits = !has_none & _mm512_cmpge_epi32_mask(factor, _mm512_set1_epi32(near::LEAST));
            // The greatest products are halved at least, so that an offset does not make them wrap around.
            let suits = suits & _mm512_test_epi32_mask(right, right);
            let is_other = !suits & _mm512_test_epi32_mask(factor, factor);
            let power = |greatest| _mm512_slli_epi32::<23>(_mm512_sub_epi32(_mm512_set1_epi32(greatest), right));
            let scale = _mm512_mul_ps(_mm512_cvtepi32_ps(factor), _mm512_castsi512_ps(power(96)));
            let is_nudged = if matches!(rule, Rule::Once) { 0 } else { _mm512_test_epi32_mask(right, right) };
            let nudge = _mm512_maskz_mov_epi32(is_nudged, power(126));
            (is_other, Self { scale, nudge })
        };
        let [(first_is_other, first), (second_is_other, second)] = [scale(scales[0]), scale(scales[1])];
        if first_is_other | second_is_other == 0 { Some([first, second]) } else { None }
    }

    /// Rounded, and what rounding took off. Nudges have the sign of products, or none.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn round<const HAVE_SIGNS: bool>(&self, x: Vector) -> (Vector, __m512) {
        let x = _mm512_cvtepi32_ps(x);
        let nudge = if HAVE_SIGNS {
            // XORed with the sign.
            let signs = _mm512_set1_epi32(i32::MIN);
            _mm512_ternarylogic_epi32::<0x78>(self.nudge, _mm512_castps_si512(x), signs)
        } else {
            self.nudge
        };
        let z = _mm512_fmadd_ps(x, self.scale, _mm512_castsi512_ps(nudge));
        (_mm512_cvtps_epi32(z), _mm512_reduce_ps::<0>(z))
    }
}

/// The number with the greater magnitude.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn greater(x: __m512, y: __m512) -> __m512 {
    _mm512_range_ps::<0b_10_11>(x, y)
}
