//! exp, tanh and logistic on fixed-point numbers, to the bit as gemmlowp's `FixedPoint<int32_t, IntegerBits>` has them.
//!
//! A number is an i32 and the place of its binary point: with so many integer bits, and one for the sign, the other
//! 31 - `integer_bits` are the fraction. With none the range is -1 to just below 1, and the latter stands for 1.
//!
//! Where each step rounds makes the bits, so the order of the steps is part of the contract.
//! `include/gemmlowp/fixedpoint/fixedpoint_functions.h` is the same in C++.

use super::{rounding_divide_by_pot, saturating_rounding_doubling_high_mul, saturating_shift_left};

/// What stands for 1 where there are no integer bits.
const ONE: i32 = i32::MAX;

/// tanh(a), with no integer bits; exactly odd. `a` has `INTEGER_BITS`, at most 28.
///
/// | a | `INTEGER_BITS` | result | |
/// | --- | --- | --- | --- |
/// | 0 | 3 | 0 | |
/// | 2²⁸ | 3 | 1635510876 | tanh(1) · 2³¹ = 1635510996.3 |
/// | -2²⁸ | 3 | -1635510876 | |
/// | -2³¹ | 3 | -2147483164 | tanh(-8) · 2³¹ = -2147483164.7 |
///
/// Off by at most 320 · 2⁻³¹, and not quite monotone: from one number to the next it may fall by 16 · 2⁻³¹.
#[inline(always)]
pub(crate) fn tanh<const INTEGER_BITS: u32>(a: i32) -> i32 {
    // (1 - e) / (1 + e) with e = exp(-2 |a|): doubling moves the point.
    let exp = exp_on_negative_values(minus_magnitude(a), INTEGER_BITS + 1);
    let of_magnitude = saturating_shift_left(reciprocal_of_mean_with_1(exp) - (1 << 29), 2);
    let of_a = if a < 0 { -of_magnitude } else { of_magnitude };
    if a == 0 { 0 } else { of_a }
}

/// 1 / (1 + exp(-a)), with no integer bits; that of -a is exactly 2³¹ - 1 less that of a. `a` has `INTEGER_BITS`, at
/// most 29.
///
/// | a | `INTEGER_BITS` | result | |
/// | --- | --- | --- | --- |
/// | 0 | 3 | 2³⁰ | |
/// | 2²⁸ | 3 | 1569936226 | logistic(1) · 2³¹ = 1569936343.3 |
/// | -2²⁸ | 3 | 577547421 | |
///
/// Off by at most 160 · 2⁻³¹, and may fall by 8 · 2⁻³¹.
#[inline(always)]
pub(crate) fn logistic<const INTEGER_BITS: u32>(a: i32) -> i32 {
    let exp = exp_on_negative_values(minus_magnitude(a), INTEGER_BITS);
    // The reciprocal, halved, and brought from 1 integer bit to none.
    let of_magnitude = saturating_shift_left(reciprocal_of_mean_with_1(exp), 1);
    let of_a = if a > 0 { of_magnitude } else { ONE - of_magnitude };
    if a == 0 { 1 << 30 } else { of_a }
}

/// -|a|.
#[inline(always)]
fn minus_magnitude(a: i32) -> i32 {
    if a < 0 { a } else { -a }
}

/// exp(a) for a ≤ 0, with no integer bits; 0 for a < -32. `a` has `integer_bits`, at most 29.
///
/// a = r - s, with -1/4 ≤ r < 0 and s a multiple of 1/4: exp(r), times exp(-2^k) for each bit 2^k of s.
#[inline(always)]
fn exp_on_negative_values(a: i32, integer_bits: u32) -> i32 {
    /// exp(-2^k) for k from -2 on.
    const EXP_OF_BITS: [i32; 7] = [1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242];
    let quarter = 1 << (29 - integer_bits);
    let r = (a & (quarter - 1)) - quarter;
    let s = r - a;
    let mut result = exp_on_the_last_quarter(r << integer_bits);
    for (k, exp) in EXP_OF_BITS.into_iter().enumerate().take(integer_bits as usize + 2) {
        let times = saturating_rounding_doubling_high_mul(result, exp);
        result = if s & (quarter << k) != 0 { times } else { result };
    }
    if integer_bits > 5 && a < -(1 << (36 - integer_bits)) {
        result = 0;
    }
    if a == 0 { ONE } else { result }
}

/// exp(a) for -1/4 ≤ a < 0; neither has integer bits.
///
/// Around the middle, with x = a + 1/8, by Taylor's series up to the fourth power:
/// exp(a) = exp(-1/8) (1 + x + (x² + (x³ + x⁴ / 4) / 3) / 2).
#[inline(always)]
fn exp_on_the_last_quarter(a: i32) -> i32 {
    const EXP_OF_MIDDLE: i32 = 1895147668;
    const ONE_THIRD: i32 = 715827883;
    let times = saturating_rounding_doubling_high_mul;
    let x = a + (1 << 28);
    let x2 = times(x, x);
    let x3 = times(x2, x);
    let x4 = times(x2, x2);
    let cubic = times(rounding_divide_by_pot(x4, 2) + x3, ONE_THIRD);
    let square = rounding_divide_by_pot(cubic + x2, 1);
    EXP_OF_MIDDLE + times(EXP_OF_MIDDLE, x + square)
}

/// 1 / d for the mean d of 1 and `a`, which is 0 to 1; `a` has no integer bits, the result two.
///
/// Newton's iteration x + x (1 - d x), three times, from the line 48/17 - 32/17 d.
#[inline(always)]
fn reciprocal_of_mean_with_1(a: i32) -> i32 {
    const START: i32 = 1515870810;
    const SLOPE: i32 = -1010580540;
    let times = saturating_rounding_doubling_high_mul;
    // Rounds up; `a` is not negative.
    let d = ((a as u32 + ONE as u32 + 1) >> 1) as i32;
    let mut x = START + times(d, SLOPE);
    for _ in 0..3 {
        // Two numbers with two integer bits give one with four.
        x += saturating_shift_left(times(x, (1 << 29) - times(d, x)), 2);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::hash;

    /// All of the range, from end to end, in steps of `step`.
    fn sweep(step: usize) -> impl Iterator<Item = i32> {
        (-i32::MAX..=i32::MAX).step_by(step)
    }

    #[test]
    fn the_tables_of_examples_are_true() {
        let one = 1 << 28;
        assert_eq!([0, one, -one, i32::MIN].map(tanh::<3>), [0, 1635510876, -1635510876, -2147483164]);
        assert_eq!([0, one, -one].map(logistic::<3>), [1 << 30, 1569936226, 577547421]);
    }

    /// The hashes are of what gemmlowp's `tanh` and `logistic` give on `FixedPoint<std::int32_t, IntegerBits>` (Debian's
    /// libgemmlowp-dev 0.0~git20211220, compiled by g++ -fwrapv) for `sweep(65537)`.
    #[test]
    fn the_bits_are_those_of_gemmlowp() {
        fn check<const INTEGER_BITS: u32>(of_tanh: u64, of_logistic: u64) {
            let inputs = || sweep(65537);
            assert_eq!(hash(inputs().map(tanh::<INTEGER_BITS>)), of_tanh, "tanh of {INTEGER_BITS} integer bits");
            assert_eq!(hash(inputs().map(logistic::<INTEGER_BITS>)), of_logistic, "logistic of {INTEGER_BITS}");
        }
        check::<0>(0x700b357c0f21db71, 0xc93294e4c53b092a);
        check::<1>(0xf07e0566a8817214, 0xae58a50d6434ca6d);
        check::<2>(0x4067a4d52f30522d, 0x314707d53726a252);
        check::<3>(0x6fedbb88d060f628, 0x046faddd3fc0b8be);
        check::<4>(0x6a1f54f77bd1e278, 0x07a3b6334f161d98);
        check::<5>(0xeb82578dd3a06a55, 0x555f610da8fa60bd);
        check::<6>(0xe6238f8ac6a2e75f, 0xb7d02327cc7769fa);
        check::<8>(0x1ee3937996964262, 0x5adaa5b699b9e71b);
        check::<12>(0x37b495ad4ab547e1, 0x472418638993cb2d);
        check::<20>(0xcd769cb0028c6a39, 0xe693d42a1238a629);
        check::<28>(0xcd769cb0028c6a39, 0xc77189c5af706a39);
    }

    /// The greatest error, and the furthest fall from one number to the next, in units of 2⁻³¹.
    fn faults(of: impl Fn(i32) -> i32, defined: impl Fn(f64) -> f64, integer_bits: u32) -> (f64, i32) {
        let one = f64::from(1u32 << (31 - integer_bits));
        let (mut error, mut fall) = (0f64, 0);
        for a in sweep(1021) {
            let found = of(a);
            error = error.max((f64::from(found) - defined(f64::from(a) / one) * 2f64.powi(31)).abs());
            fall = fall.max(of(a - 1) - found);
        }
        (error, fall)
    }

    #[test]
    fn tanh_is_near_the_real_one() {
        fn check<const INTEGER_BITS: u32>() {
            let (error, fall) = faults(tanh::<INTEGER_BITS>, f64::tanh, INTEGER_BITS);
            assert!(error <= 320.0 && fall <= 16, "{INTEGER_BITS} integer bits: {error}, {fall}");
        }
        check::<0>();
        check::<3>();
        check::<5>();
        check::<8>();
    }

    #[test]
    fn logistic_is_near_the_real_one() {
        fn check<const INTEGER_BITS: u32>() {
            let defined = |a: f64| 1.0 / (1.0 + (-a).exp());
            let (error, fall) = faults(logistic::<INTEGER_BITS>, defined, INTEGER_BITS);
            assert!(error <= 160.0 && fall <= 8, "{INTEGER_BITS} integer bits: {error}, {fall}");
        }
        check::<0>();
        check::<3>();
        check::<5>();
        check::<8>();
    }

    #[test]
    fn tanh_is_odd_and_logistic_symmetric() {
        for a in sweep(40_009).chain([1, 2, i32::MAX]).filter(|&a| a != 0) {
            assert_eq!(tanh::<3>(-a), -tanh::<3>(a), "{a}");
            assert_eq!(logistic::<5>(-a), ONE - logistic::<5>(a), "{a}");
        }
    }
}
