//! How scale and zero point follow from the least and the greatest of some real numbers.

use super::Quantization;

/// Which integers stand for the real numbers from a least to a greatest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// All, as gemmlowp has it: [`Quantization::covering`].
    Affine,
    /// As many above the zero point as below, which is 0 or the middle.
    Symmetric,
    /// All, as ONNX's DynamicQuantizeLinear has it.
    DynamicLinear,
}

impl Scheme {
    /// The zero point of [`Scheme::Symmetric`].
    pub(crate) fn middle(qmin: i32, qmax: i32) -> i32 {
        (qmin + qmax + 1) >> 1
    }

    /// Scale and zero point for finite numbers from `min` to `max`, and integers from `qmin` to `qmax`, which is greater. If
    /// all are 0, the scale is 1; and never less than the least normal number.
    pub(crate) fn of(self, (min, max): (f32, f32), (qmin, qmax): (i32, i32)) -> Quantization {
        let (min, max) = (min.min(0.0), max.max(0.0));
        match self {
            Self::Affine => Quantization::spanning((min, max), (qmin, qmax)),
            Self::Symmetric => {
                let zero_point = Self::middle(qmin, qmax);
                let steps = (qmax - zero_point).max(1) as f32;
                let scale = if min == max { 1.0 } else { (max.max(-min) / steps).max(f32::MIN_POSITIVE) };
                Quantization { scale, zero_point }
            }
            Self::DynamicLinear => {
                let Quantization { scale, .. } = Quantization::spanning((min, max), (qmin, qmax));
                let zero_point = (qmin as f32 - min / scale).clamp(qmin as f32, qmax as f32);
                Quantization { scale, zero_point: zero_point.round_ties_even() as i32 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scheme: Scheme, range: (f32, f32), integers: (i32, i32)) -> (f32, i32) {
        let found = scheme.of(range, integers);
        (found.scale, found.zero_point)
    }

    #[test]
    fn by_hand() {
        use Scheme::*;
        assert_eq!(of(Affine, (-1.5, 2.5), (0, 4)), (1.0, 2));
        // 1.5: ties to even, and -0.5 of 2.5.
        assert_eq!(of(DynamicLinear, (-1.5, 2.5), (0, 4)), (1.0, 2));
        assert_eq!(of(DynamicLinear, (-2.5, 1.5), (0, 4)), (1.0, 2));
        assert_eq!(of(Affine, (-2.5, 1.5), (0, 4)), (1.0, 3));
        assert_eq!(of(Symmetric, (-2.0, 254.0), (-128, 127)), (2.0, 0));
        assert_eq!(of(Symmetric, (-254.0, 1.0), (-127, 127)), (2.0, 0));
        assert_eq!(of(Symmetric, (-254.0, 1.0), (0, 255)), (2.0, 128));
        assert_eq!(of(Symmetric, (3.0, 126.0), (-64, 63)), (2.0, 0));
        // One bit: 0 and 1, or -1 and 0.
        assert_eq!(of(Symmetric, (-3.0, 3.0), (-1, 0)), (3.0, 0));
    }

    #[test]
    fn every_range_has_a_scale() {
        for scheme in [Scheme::Affine, Scheme::Symmetric, Scheme::DynamicLinear] {
            for integers in [(0, 255), (-128, 127), (-32768, 32767)] {
                assert_eq!(of(scheme, (0.0, -0.0), integers).0, 1.0);
                assert_eq!(of(scheme, (-1e-45, 1e-45), integers).0, f32::MIN_POSITIVE);
                let (scale, zero_point) = of(scheme, (f32::MIN, f32::MAX), integers);
                assert!(scale.is_finite() && (integers.0..=integers.1).contains(&zero_point));
                assert!(f64::from(scale) * f64::from(integers.1 - integers.0) > f64::from(f32::MAX) * 1.99);
            }
        }
    }
}
