//! tanh on accumulators, in fixed point.

use crate::fixed_point::{saturating_rounding_doubling_high_mul, saturating_shift_left, tanh};

/// `zero + amplitude · tanh((x - zero) / amplitude)`: 0 is `zero`, and 1 is `amplitude`, of accumulator and result alike.
///
/// The bits are those of gemmlowp's `OutputStageTanh`, which rounds the result down; it is off by less than
/// 3 + `amplitude` / 2²¹, and not quite monotone: it may fall by 1 + `amplitude` / 2²⁷. From 8 amplitudes on, either way,
/// it is `zero ± amplitude`. With an amplitude of 0 it is `zero`.
#[derive(Clone, Copy, Debug)]
pub struct Tanh {
    zero: i32,
    amplitude: i32,
    /// `2^(31 + doublings) / amplitude`, with as few doublings as it takes to reach 2³⁰.
    inverse: i32,
    /// From a product by `inverse` to 3 integer bits.
    left: u32,
    /// `amplitude / 2^(31 - right)`, without integer bits: below 1, by as few halvings as it takes.
    fraction: i32,
    right: u32,
}

impl Tanh {
    /// None if `amplitude` is negative, or 8 of it from `zero`, either way, are more than an i32 holds.
    pub fn new(zero: i32, amplitude: i32) -> Option<Self> {
        let reach = amplitude.checked_mul(8).filter(|&reach| reach >= 0)?;
        zero.checked_sub(reach).and(zero.checked_add(reach))?;
        let doublings = (amplitude as u32).next_power_of_two().ilog2().saturating_sub(1);
        // In f64, as gemmlowp has it, whose rounding shows in the last bit of some. For 1 and 0 it saturates.
        let inverse = (2f64.powi(31 + doublings as i32) / f64::from(amplitude)).round() as i32;
        let right = amplitude.leading_zeros() - 1;
        Some(Self { zero, amplitude, inverse, left: 28 - doublings, fraction: amplitude << right, right })
    }

    /// `x` may be anything.
    #[inline(always)]
    pub(super) fn of(&self, x: i32) -> i32 {
        let Self { zero, amplitude, .. } = *self;
        let times = saturating_rounding_doubling_high_mul;
        let angle = saturating_shift_left(times(x.wrapping_sub(zero), self.inverse), self.left);
        let inside = zero + (times(tanh::<3>(angle), self.fraction) >> self.right);
        let above = if x >= zero + 8 * amplitude { zero + amplitude } else { inside };
        if x <= zero - 8 * amplitude { zero - amplitude } else { above }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::hash;

    /// From below the lower cut-off to above the upper one, as far as an i32 reaches.
    fn inputs(zero: i32, amplitude: i32) -> impl Iterator<Item = i32> {
        let (zero, amplitude) = (i64::from(zero), i64::from(amplitude));
        let (first, step) = (zero - 9 * amplitude - 3, (18 * amplitude + 6) / 4096 + 1);
        (0..=4096).map(move |i| (first + i * step).clamp(i32::MIN.into(), i32::MAX.into()) as i32)
    }

    /// The hashes are of what gemmlowp's `OutputStageTanh` gives for `inputs` (Debian's libgemmlowp-dev 0.0~git20211220,
    /// its scalar code, compiled by g++ -fwrapv).
    #[test]
    fn the_bits_are_those_of_gemmlowp() {
        for (zero, amplitude, defined) in [
            (0, 0, 0x72d1e0628b0313f5),
            (-7, 0, 0x1d6ec87b9010a42f),
            (0, 1, 0xb4b40c3346d5b1d4),
            (5, 1, 0xb8bba9c3fc515d53),
            (0, 2, 0x46e5b63bedfc9a84),
            (128, 3, 0x67a0d50289982324),
            (-100, 4, 0x1e949eeafa139a51),
            (0, 5, 0x59bb72eb14a86f7c),
            (0, 100, 0x46f940b3ddbf4679),
            (128, 127, 0xf617c0e349e7f8e4),
            (-1000, 1000, 0x92a7cb8be5a27811),
            (1 << 20, 1023, 0x3bcad88315c4f105),
            (0, 1024, 0xc150e5ad57957354),
            (77, 1025, 0x2737f353eb305b1d),
            (-12345, 65535, 0x12e9fe658986db7d),
            (0, 1000000, 0x11cfee4f9374e704),
            (-2000000000, 1000000, 0x281333d83bf7151b),
            (2000000000, 1000001, 0x5746e838793b58da),
            (0, 4194305, 0x83714d977b6b04c2),
            (0, 8388609, 0x9e883f755f7abf82),
            (3, 33554431, 0x165836eab55bada5),
            (0, 33554432, 0x803e4a98f8449065),
            (-1, 33554433, 0xf1f174a9d4590081),
            (0, 99999989, 0x539c5fe917df385f),
            (1, 123456789, 0xe5ac8e9abdca1e82),
            (0, (1 << 27) - 1, 0xf4356db8b4f4ab0d),
            (0, 1 << 27, 0x6da2018fc7340e16),
            (7, (1 << 28) - 1, 0xd98a9828040a815c),
            (-8, (1 << 28) - 1, 0x1a73c0584be1c37f),
        ] {
            let stage = Tanh::new(zero, amplitude).expect("both fit");
            assert_eq!(hash(inputs(zero, amplitude).map(|x| stage.of(x))), defined, "{zero}, {amplitude}");
        }
    }

    #[test]
    fn the_result_is_near_the_real_one_and_nearly_monotone() {
        for (zero, amplitude) in
            [(0, 1), (-9, 2), (100, 127), (0, 1000), (1 << 20, 65_521), (-3, 1 << 20), (5, 200 << 20)]
        {
            let stage = Tanh::new(zero, amplitude).expect("both fit");
            let unit = f64::from(amplitude);
            let mut before = i32::MIN;
            for x in inputs(zero, amplitude) {
                let found = stage.of(x);
                let defined = f64::from(zero) + unit * ((f64::from(x) - f64::from(zero)) / unit).tanh();
                let error = (f64::from(found) - defined).abs();
                assert!(error < 3.0 + unit / 2f64.powi(21), "{zero}, {amplitude}: {found} of {x} is off by {error}");
                let fall = before.saturating_sub(found);
                assert!(fall <= 1 + (amplitude >> 27), "{zero}, {amplitude}: {found} of {x} falls by {fall}");
                before = found;
            }
        }
    }

    #[test]
    fn far_away_only_the_sign_counts() {
        for (zero, amplitude) in [(0, 1), (0, 0), (-7, 0), (1 << 20, 1000), (7, (1 << 28) - 1), (-8, (1 << 28) - 1)] {
            let stage = Tanh::new(zero, amplitude).expect("both fit");
            let (below, above) = (zero - 8 * amplitude, zero + 8 * amplitude);
            for x in [i32::MIN, below.saturating_sub(1), below] {
                assert_eq!(stage.of(x), zero - amplitude, "{x}");
            }
            for x in [above, above.saturating_add(1), i32::MAX] {
                assert_eq!(stage.of(x), zero + amplitude, "{x}");
            }
            assert_eq!(stage.of(zero), zero);
        }
    }

    #[test]
    fn what_leaves_32_bits_is_refused() {
        assert!(Tanh::new(0, -1).is_none() && Tanh::new(0, i32::MIN).is_none());
        assert!(Tanh::new(0, 1 << 28).is_none() && Tanh::new(0, i32::MAX).is_none());
        assert!(Tanh::new(8, (1 << 28) - 1).is_none() && Tanh::new(-9, (1 << 28) - 1).is_none());
        assert!(Tanh::new(i32::MAX, 1).is_none() && Tanh::new(i32::MIN, 1).is_none());
        assert!(Tanh::new(i32::MAX, 0).is_some() && Tanh::new(i32::MIN, 0).is_some());
    }
}
