//! From the scales of lhs, rhs and result to the multiplier, as others compute it.

use super::Multiplier;
use crate::error::Error;

/// Who computes `lhs_scale · rhs_scale / result_scale`, and how: where it rounds is a part of their results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// In f64: TFLite and TFLite Micro, for each channel.
    Tflite,
    /// The product in f32, the quotient in f64: TFLite's older kernels, for whole tensors of unsigned bytes.
    TfliteLegacy,
    /// In f32, and from 2⁻³² to below 256: XNNPACK.
    Xnnpack,
    /// In f32, and from 2⁻³² to below 1: QNNPACK, and the example in gemmlowp's documentation.
    Qnnpack,
}

impl Derivation {
    /// The real multiplier. That of XNNPACK and QNNPACK fits an f32.
    ///
    /// # Errors
    /// Unless the scales are above 0 and finite, and the multiplier is what they ask for.
    pub fn real(self, lhs_scale: f32, rhs_scale: f32, result_scale: f32) -> Result<f64, Error> {
        for (argument, scale) in [("lhs_scale", lhs_scale), ("rhs_scale", rhs_scale), ("result_scale", result_scale)] {
            if !(scale > 0.0 && scale.is_finite()) {
                return Err(Error::Parameter { argument, value: scale.into(), expected: "above 0 and finite" });
            }
        }
        let [lhs, rhs, result] = [lhs_scale, rhs_scale, result_scale].map(f64::from);
        let value = match self {
            Derivation::Tflite => lhs * rhs / result,
            Derivation::TfliteLegacy => f64::from(lhs_scale * rhs_scale) / result,
            Derivation::Xnnpack | Derivation::Qnnpack => f64::from(lhs_scale * rhs_scale / result_scale),
        };
        let (range, expected) = match self {
            Derivation::Tflite | Derivation::TfliteLegacy => (0.0..Multiplier::END, "below 2 to the 30"),
            Derivation::Xnnpack => (2f64.powi(-32)..256.0, "2 to the -32 to just below 256"),
            Derivation::Qnnpack => (2f64.powi(-32)..1.0, "2 to the -32 to just below 1"),
        };
        let argument = "lhs_scale * rhs_scale / result_scale";
        if range.contains(&value) { Ok(value) } else { Err(Error::Parameter { argument, value, expected }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Derivation::*;
    use proptest::prelude::*;

    #[test]
    fn each_rounds_where_it_is_said_to() {
        // 0.1f32 is 13421773 · 2⁻²⁷, 0.3f32 is 10066330 · 2⁻²⁵, 0.7f32 is 11744051 · 2⁻²⁴. Their products and quotients
        // by hand, that is, by arithmetic on fractions.
        let [a, b, c] = [0.1f32, 0.3, 0.7];
        let exact = 13421773.0 * 10066330.0 / 2f64.powi(52);
        assert_eq!(Tflite.real(a, b, c), Ok(exact / (11744051.0 / 2f64.powi(24))));
        // 13421773 · 10066330 = 135107996203090 = 16106128.24 · 2²³, which f32 rounds to 16106128 · 2²³.
        assert_eq!(TfliteLegacy.real(a, b, c), Ok(16106128.0 / 2f64.powi(29) / (11744051.0 / 2f64.powi(24))));
        // 16106128 · 2⁻⁵ / 11744051 is 11504377.34 · 2⁻²⁸.
        assert_eq!(Xnnpack.real(a, b, c), Ok(11504377.0 / 2f64.powi(28)));
        assert_eq!(Qnnpack.real(a, b, c), Xnnpack.real(a, b, c));
    }

    #[test]
    fn each_has_its_range() {
        let below = |x: f32| x.next_down();
        assert_eq!(Qnnpack.real(1.0, below(1.0), 1.0), Ok(below(1.0).into()));
        assert!(Qnnpack.real(1.0, 1.0, 1.0).is_err() && Xnnpack.real(1.0, 1.0, 1.0).is_ok());
        assert!(Xnnpack.real(16.0, below(16.0), 1.0).is_ok() && Xnnpack.real(16.0, 16.0, 1.0).is_err());
        let least = 2f32.powi(-32);
        for derivation in [Xnnpack, Qnnpack] {
            assert_eq!(derivation.real(least, 1.0, 1.0), Ok(least.into()));
            assert!(derivation.real(below(least), 1.0, 1.0).is_err());
        }
        for derivation in [Tflite, TfliteLegacy] {
            assert!(derivation.real(below(least), 1e-30, 1e30).is_ok());
            assert!(derivation.real(32768.0, 32768.0, 1.0).is_err());
            assert!(derivation.real(32768.0, below(32768.0), 1.0).is_ok());
        }
        // The product overflows an f32, and only there.
        assert!(Tflite.real(1e30, 1e30, 3e38).is_err() && TfliteLegacy.real(1e30, 1e10, 1e38).is_err());
    }

    #[test]
    fn scales_are_above_0_and_finite() {
        for derivation in [Tflite, TfliteLegacy, Xnnpack, Qnnpack] {
            for bad in [0.0, -0.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
                for (argument, [lhs, rhs, result]) in
                    [("lhs_scale", [bad, 0.1, 0.5]), ("rhs_scale", [0.1, bad, 0.5]), ("result_scale", [0.1, 0.1, bad])]
                {
                    let error = derivation.real(lhs, rhs, result).unwrap_err();
                    assert!(matches!(error, Error::Parameter { argument: at, .. } if at == argument), "{error}");
                }
            }
        }
    }

    proptest! {
        /// QNNPACK takes multiplier and shift from the bits of the float.
        #[test]
        fn qnnpack_s_integers_are_the_bits_of_its_float(scale in 0.0000001f32..1.0) {
            let real = Qnnpack.real(scale, 1.0, 1.0).unwrap();
            let bits = scale.to_bits();
            let (mantissa, shift) = (bits & 0x7f_ffff | 0x80_0000, 127 + 31 - 32 - (bits >> 23));
            let defined = Multiplier { multiplier: (mantissa << 7) as i32, exponent: -(shift as i32) };
            prop_assert_eq!(Multiplier::of(real), Ok(defined));
        }
    }
}
