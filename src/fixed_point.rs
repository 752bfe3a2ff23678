//! Rounding primitives of fixed-point arithmetic.

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

/// The nearest integer, ties to even; beyond the range of 32 bits its end.
#[inline(always)]
pub(crate) fn rounded(x: f32) -> i32 {
    x.round_ties_even() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, in exact arithmetic.
    fn nearest_away(x: i32, exponent: u32) -> i64 {
        let (x, half) = (i64::from(x), (1i64 << exponent) / 2);
        ((x.abs() + half) >> exponent) * x.signum()
    }

    #[test]
    fn ties_and_extremes_divide_as_defined() {
        for exponent in 0..=31 {
            for around in [0, 1, -1, i32::MAX, i32::MIN, (1i64 << exponent >> 1) as i32] {
                for step in -3..=3 {
                    for x in [around.wrapping_add(step), around.wrapping_neg().wrapping_add(step)] {
                        let quotient = i64::from(rounding_divide_by_pot(x, exponent));
                        assert_eq!(quotient, nearest_away(x, exponent), "{x} / 2^{exponent}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_divides_as_defined(x: i32, exponent in 0u32..=31) {
            prop_assert_eq!(i64::from(rounding_divide_by_pot(x, exponent)), nearest_away(x, exponent));
        }
    }
}
