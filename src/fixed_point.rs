//! Rounding primitives of fixed-point arithmetic, each with its table of examples.
//!
//! None branches, so that a loop over a slice becomes vectors. The functions built of them are in `functions`.

mod functions;

pub(crate) use functions::{logistic, tanh};

/// The product of two fixed-point fractions: `a · b / 2³¹`, rounded to nearest, ties toward +∞. -1 times -1 saturates.
///
/// | a | b | result | |
/// | --- | --- | --- | --- |
/// | 5 | 2³⁰ | 3 | 2.5, a tie |
/// | -5 | 2³⁰ | -2 | -2.5, a tie |
/// | 3 | 2²⁹ | 1 | 0.75 |
/// | -2³¹ | 2³⁰ | -2³⁰ | |
/// | -2³¹ | -2³¹ | 2³¹ - 1 | 2³¹, saturated |
#[inline(always)]
pub(crate) fn saturating_rounding_doubling_high_mul(a: i32, b: i32) -> i32 {
    let rounded = high_mul_below_one(a, b);
    // Only 2³¹ wraps around, and nothing else gives what it wraps to.
    if rounded == i32::MIN { i32::MAX } else { rounded }
}

/// As [`saturating_rounding_doubling_high_mul`], of a fraction `b` above -1, with which nothing saturates.
#[inline(always)]
pub(crate) fn high_mul_below_one(a: i32, b: i32) -> i32 {
    ((i64::from(a) * i64::from(b) + (1 << 30)) >> 31) as i32
}

/// `x / 2^exponent`, rounded to nearest, ties away from zero; `exponent` is 0 to 31.
///
/// | x | exponent | result |
/// | --- | --- | --- |
/// | 3 | 1 | 2 |
/// | -3 | 1 | -2 |
/// | -1 | 1 | -1 |
/// | 5 | 2 | 1 |
#[inline(always)]
pub(crate) fn rounding_divide_by_pot(x: i32, exponent: u32) -> i32 {
    let mask = ((1u32 << exponent) - 1) as i32;
    let threshold = (mask >> 1) + i32::from(x < 0);
    (x >> exponent) + i32::from(x & mask > threshold)
}

/// `x / 2^exponent`, rounded to nearest, ties toward +∞; `exponent` is 0 to 31.
///
/// | x | exponent | result |
/// | --- | --- | --- |
/// | 3 | 1 | 2 |
/// | -3 | 1 | -1 |
/// | -1 | 1 | 0 |
/// | 2³¹ - 1 | 1 | 2³⁰ |
#[inline(always)]
pub(crate) fn rounding_shift_right_up(x: i32, exponent: u32) -> i32 {
    let mask = ((1u32 << exponent) - 1) as i32;
    (x >> exponent) + i32::from(x & mask > mask >> 1)
}

/// `x · 2^exponent`, saturated; `exponent` is 0 to 30.
///
/// | x | exponent | result |
/// | --- | --- | --- |
/// | -3 | 4 | -48 |
/// | 1 | 30 | 2³⁰ |
/// | 2 | 30 | 2³¹ - 1 |
/// | -2 | 30 | -2³¹ |
/// | -3 | 30 | -2³¹ |
#[inline(always)]
pub(crate) fn saturating_shift_left(x: i32, exponent: u32) -> i32 {
    let shifted = x << exponent;
    let limit = (x >> 31) ^ i32::MAX;
    if shifted >> exponent == x { shifted } else { limit }
}

/// The integer nearest to `x`, ties to even, saturated; 0 for NaN.
///
/// | x | result |
/// | --- | --- |
/// | 0.5 | 0 |
/// | 1.5 | 2 |
/// | -2.5 | -2 |
/// | 3e9 | 2³¹ - 1 |
#[inline(always)]
pub(crate) fn rounded(x: f32) -> i32 {
    const END: f32 = (1u32 << 31) as f32;
    const LAST: f32 = END.next_down();
    let number = if x.is_nan() { 0.0 } else { x };
    let inside = if number < -END { -END } else { number };
    let inside = if inside > LAST { LAST } else { inside };
    // `as` saturates by itself, but not in vectors.
    // SAFETY: -2³¹ ≤ `inside` < 2³¹.
    let integer = unsafe { inside.round_ties_even().to_int_unchecked() };
    if number >= END { i32::MAX } else { integer }
}

/// The integer nearest to `x`, ties to even, where |x| ≤ 2²²; elsewhere any.
///
/// | x | result |
/// | --- | --- |
/// | 0.5 | 0 |
/// | -1.5 | -2 |
/// | 2²² - 0.5 | 2²² |
#[inline(always)]
pub(crate) fn rounded_small(x: f32) -> i32 {
    // From 2²³ to 2²⁴ floats are the integers, in order.
    const MIDDLE: f32 = (3 << 22) as f32;
    (x + MIDDLE).to_bits().wrapping_sub(MIDDLE.to_bits()) as i32
}

/// A constant fraction, as gemmlowp multiplied by one: an integer, and what is left of it as a fraction of 2³¹.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fraction {
    integer: i32,
    rest: i32,
}

impl Fraction {
    /// `numerator / denominator`, the rest rounded toward zero.
    ///
    /// | numerator | denominator | integer | rest |
    /// | --- | --- | --- | --- |
    /// | 255² | 127 · 31 | 17 | -1038559529 |
    /// | 255 | 127 | 2 | 16909320 |
    /// | 255 | 31 | 8 | 484915662 |
    pub(crate) fn new(numerator: i32, denominator: i32) -> Self {
        let integer = (numerator + denominator / 2) / denominator;
        let rest = i64::from(numerator - integer * denominator) * (1 << 31) / i64::from(denominator);
        Self { integer, rest: rest as i32 }
    }

    /// As [`Fraction::of`], of numbers that are not negative, for which less has to be done.
    #[inline(always)]
    pub(crate) fn of_natural(self, x: i32) -> i32 {
        let (integer, rest, nudge) = self.natural();
        let rounded = (u64::from(x as u32) * u64::from(rest) + u64::from(nudge)) >> 31;
        x.wrapping_mul(integer).wrapping_add(rounded as i32)
    }

    /// The same fraction: an integer, a rest that is not negative, and what is added to products with it before they are rounded down.
    #[inline(always)]
    pub(crate) fn natural(self) -> (i32, u32, u32) {
        // A negative rest becomes a positive one and 1 less, and away from zero is down then.
        let borrowed = self.rest >> 31;
        (self.integer + borrowed, (self.rest & i32::MAX) as u32, ((1 << 30) + borrowed) as u32)
    }

    /// `x · integer + x · rest / 2³¹`, the latter rounded to nearest, ties away from zero; what overflows wraps around.
    #[inline(always)]
    pub(crate) fn of(self, x: i32) -> i32 {
        let magnitude = u64::from(x.unsigned_abs()) * u64::from(self.rest.unsigned_abs());
        let rounded = ((magnitude + (1 << 30)) >> 31) as i32;
        let sign = (x ^ self.rest) >> 31;
        x.wrapping_mul(self.integer).wrapping_add((rounded ^ sign) - sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{nearest_away, nearest_up, saturated};
    use proptest::prelude::*;

    /// Numbers at which something may change: around 0, the limits, and every power of two and half of it.
    fn odd_numbers() -> impl Iterator<Item = i32> + Clone {
        let powers = (0..32).flat_map(|e| [1i64 << e, -1 << e, 3 << e, -3 << e]).map(|x| x as i32);
        powers.flat_map(|x| (-2..=2).map(move |step| x.wrapping_add(step)))
    }

    fn high_mul(a: i32, b: i32) -> i32 {
        saturated(nearest_up(i128::from(a) * i128::from(b), 31))
    }

    #[test]
    fn a_fraction_is_an_integer_and_a_rest_of_which_products_are_rounded() {
        for (numerator, denominator, integer, rest) in
            [(255 * 255, 127 * 31, 17, -1038559529), (255, 127, 2, 16909320), (255, 31, 8, 484915662), (255, 255, 1, 0)]
        {
            assert_eq!(Fraction::new(numerator, denominator), Fraction { integer, rest });
        }
        let levels = |bits: i32| (1 << bits) - 1;
        let pairs = (1..=8).flat_map(|l| (1..=8).map(move |r| (255 * 255, levels(l) * levels(r))));
        let singles = (1..=8).map(|bits| (255, levels(bits)));
        for (numerator, denominator) in pairs.chain(singles) {
            let fraction = Fraction::new(numerator, denominator);
            for x in odd_numbers() {
                let rounded = nearest_away(i128::from(x) * i128::from(fraction.rest), 31);
                let want = i128::from(x) * i128::from(fraction.integer) + rounded;
                assert_eq!(fraction.of(x), want as i32, "{x} {numerator} {denominator}");
                assert!(x < 0 || fraction.of_natural(x) == want as i32, "{x} {numerator} {denominator}");
                let exact = f64::from(x) * f64::from(numerator) / f64::from(denominator);
                let error = 0.5 + f64::from(x).abs() / f64::from(1u32 << 31);
                assert!((want as f64 - exact).abs() <= error + 1e-6 * exact.abs().max(1.0) * 1e-6, "{x}");
            }
        }
    }

    #[test]
    fn the_tables_of_examples_are_true() {
        let srdhm = saturating_rounding_doubling_high_mul;
        assert_eq!([srdhm(5, 1 << 30), srdhm(-5, 1 << 30), srdhm(3, 1 << 29)], [3, -2, 1]);
        assert_eq!([srdhm(i32::MIN, 1 << 30), srdhm(i32::MIN, i32::MIN)], [-1 << 30, i32::MAX]);
        let away = rounding_divide_by_pot;
        assert_eq!([away(3, 1), away(-3, 1), away(-1, 1), away(5, 2)], [2, -2, -1, 1]);
        let up = rounding_shift_right_up;
        assert_eq!([up(3, 1), up(-3, 1), up(-1, 1), up(i32::MAX, 1)], [2, -1, 0, 1 << 30]);
        let left = saturating_shift_left;
        assert_eq!([left(-3, 4), left(1, 30), left(2, 30)], [-48, 1 << 30, i32::MAX]);
        assert_eq!([left(-2, 30), left(-3, 30)], [i32::MIN; 2]);
        assert_eq!([rounded(0.5), rounded(1.5), rounded(-2.5), rounded(3e9)], [0, 2, -2, i32::MAX]);
    }

    #[test]
    fn products_at_ties_and_extremes_are_as_defined() {
        for a in odd_numbers() {
            for b in odd_numbers() {
                assert_eq!(saturating_rounding_doubling_high_mul(a, b), high_mul(a, b), "{a} * {b}");
            }
        }
    }

    #[test]
    fn shifts_at_ties_and_extremes_are_as_defined() {
        for x in odd_numbers() {
            let wide = i128::from(x);
            for exponent in 0..=31 {
                let case = format!("{x} by {exponent}");
                assert_eq!(i128::from(rounding_divide_by_pot(x, exponent)), nearest_away(wide, exponent), "{case}");
                assert_eq!(i128::from(rounding_shift_right_up(x, exponent)), nearest_up(wide, exponent), "{case}");
                if exponent <= 30 {
                    assert_eq!(saturating_shift_left(x, exponent), saturated(wide << exponent), "{case}");
                }
            }
        }
    }

    #[test]
    fn small_floats_round_as_defined() {
        let end = (1 << 22) as f32;
        let halves = (-4_000..4_000).map(|x| x as f32 / 2.0);
        let near = halves.flat_map(|x| [x, x.next_up(), x.next_down()]);
        for x in near.chain([end, -end, end.next_down(), -end.next_down(), end - 0.5, 0.5 - end, -0.0]) {
            assert_eq!(rounded_small(x), nearest_even(x), "{x:e}");
        }
    }

    /// The definition, in f64, where every f32 and every i32 is exact.
    fn nearest_even(x: f32) -> i32 {
        let x = f64::from(x).clamp(i32::MIN.into(), i32::MAX.into());
        let (below, fraction) = (x.floor(), x - x.floor());
        let up = fraction > 0.5 || fraction == 0.5 && below.rem_euclid(2.0) == 1.0;
        (below + f64::from(u8::from(up))) as i32
    }

    #[test]
    fn floats_round_as_defined() {
        let halves = (-4_000..4_000).map(|x| x as f32 / 2.0);
        let powers = (-40..128).map(|e| 2f32.powi(e));
        let wide = powers.flat_map(|x| [x, x.next_up(), x.next_down(), 1.5 * x, x - 0.5]).flat_map(|x| [x, -x]);
        for x in halves.chain(wide).chain([f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MAX, f32::MIN]) {
            assert_eq!(rounded(x), nearest_even(x), "{x:e}");
        }
        assert_eq!([rounded(f32::NAN), rounded(-f32::NAN)], [0, 0]);
    }

    proptest! {
        #[test]
        fn any_product_is_as_defined(a: i32, b: i32) {
            prop_assert_eq!(saturating_rounding_doubling_high_mul(a, b), high_mul(a, b));
        }

        #[test]
        fn any_shift_is_as_defined(x: i32, exponent in 0u32..=30) {
            let wide = i128::from(x);
            prop_assert_eq!(i128::from(rounding_divide_by_pot(x, exponent)), nearest_away(wide, exponent));
            prop_assert_eq!(i128::from(rounding_shift_right_up(x, exponent)), nearest_up(wide, exponent));
            prop_assert_eq!(saturating_shift_left(x, exponent), saturated(wide << exponent));
        }

        #[test]
        fn any_float_rounds_as_defined(bits: u32) {
            let x = f32::from_bits(bits);
            prop_assume!(!x.is_nan());
            prop_assert_eq!(rounded(x), nearest_even(x));
        }
    }
}
