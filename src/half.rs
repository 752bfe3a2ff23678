//! Floats of 16 bits: bf16, the upper half of a float of 32 bits, and IEEE's binary16. Without a branch, for loops of vectors.

const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;

/// The float that a bf16 stands for.
#[inline(always)]
pub(crate) fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bf16, ties to even; of any NaN the same.
#[inline(always)]
pub(crate) fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let chosen = if bits & !SIGN > INFINITY { 0x7fc0 } else { rounded };
    chosen as u16
}

/// The float that a binary16 stands for.
#[inline(always)]
pub(crate) fn from_f16(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let (sign, magnitude) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
    // The exponent is biased by 15, not by 127; multiplied, so that numbers without a leading 1 get one.
    let number = (f32::from_bits(magnitude) * f32::from_bits((127 + 127 - 15) << 23)).to_bits();
    let special = magnitude | INFINITY;
    f32::from_bits(sign | if magnitude >= 0x7c00 << 13 { special } else { number })
}

/// The nearest binary16, ties to even; of any NaN the same.
#[inline(always)]
pub(crate) fn to_f16(x: f32) -> u16 {
    /// What this becomes, infinite, all beyond does: halfway between the greatest number and what would be the next.
    const END: u32 = (65520f32).to_bits();
    /// The least number with a leading 1: 2⁻¹⁴.
    const NORMAL: u32 = (127 - 14) << 23;
    const HALF: f32 = 0.5;
    let bits = x.to_bits();
    let (sign, is_nan) = ((bits & SIGN) >> 16, bits & !SIGN > INFINITY);
    let magnitude = (bits & !SIGN).min(END);
    let rounded = magnitude.wrapping_add(0xfff + ((magnitude >> 13) & 1)).wrapping_sub((127 - 15) << 23) >> 13;
    // The last bit of a half is 2⁻²⁴, as is that of the least binary16: the sum is rounded there.
    let small = (f32::from_bits(magnitude) + HALF).to_bits().wrapping_sub(HALF.to_bits());
    let number = if magnitude < NORMAL { small } else { rounded };
    let number = if is_nan { 0x7e00 } else { sign | number };
    number as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 16 bits stand for, by the definition: a sign, so many bits of exponent, and a fraction.
    fn value(bits: u16, fraction_bits: u32, bias: i32) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let exponent = i32::from((bits & 0x7fff) >> fraction_bits);
        let fraction = f64::from(bits & ((1 << fraction_bits) - 1)) / f64::from(1u32 << fraction_bits);
        let greatest = (1 << (15 - fraction_bits)) - 1;
        sign * match exponent {
            0 => fraction * 2f64.powi(1 - bias),
            e if e == greatest && fraction == 0.0 => f64::INFINITY,
            e if e == greatest => f64::NAN,
            e => (1.0 + fraction) * 2f64.powi(e - bias),
        }
    }

    fn check(from: fn(u16) -> f32, to: fn(f32) -> u16, fraction_bits: u32, bias: i32) {
        for bits in 0..=u16::MAX {
            let want = value(bits, fraction_bits, bias);
            let got = from(bits);
            if want.is_nan() {
                assert!(got.is_nan() && from(to(got)).is_nan());
                continue;
            }
            assert_eq!((f64::from(got), got.is_sign_negative()), (want, bits >> 15 == 1), "{bits:#x}");
            assert_eq!(to(got), bits);
            // Around the middle between this number and the next one away from zero; beyond the greatest as if one came.
            let greatest = ((1 << (15 - fraction_bits)) - 1) << fraction_bits;
            if bits & 0x7fff >= greatest {
                continue;
            }
            let next = if (bits + 1) & 0x7fff == greatest {
                2.0 * want - value(bits - 1, fraction_bits, bias)
            } else {
                value(bits + 1, fraction_bits, bias)
            };
            let middle = ((want + next) / 2.0) as f32;
            assert_eq!(f64::from(middle), (want + next) / 2.0);
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            let (smaller, larger) = (middle.to_bits() - 1, middle.to_bits() + 1);
            assert_eq!(to(middle), even, "{middle:e}");
            assert_eq!([to(f32::from_bits(smaller)), to(f32::from_bits(larger))], [bits, bits + 1], "{middle:e}");
        }
        for x in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(u32::MAX)] {
            assert!(from(to(x)).is_nan());
        }
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN] {
            assert_eq!(from(to(x)), f32::INFINITY.copysign(x));
        }
        assert_eq!([to(f32::from_bits(1)), to(-f32::from_bits(1))], [0, 0x8000]);
    }

    #[test]
    fn a_bf16_is_the_upper_half() {
        check(from_bf16, to_bf16, 7, 127);
    }

    #[test]
    fn a_binary16_is_as_ieee_754_has_it() {
        check(from_f16, to_f16, 10, 15);
    }
}
