//! XNNPACK's and QNNPACK's sums: multiples, of which the low bits are dropped.

use super::Add;
use super::codes::Codes;
use crate::code::Code;
use crate::grid::Zip;

/// `(a · a_multiplier + b · b_multiplier + bias) / 2^shift + zero_point`, rounded to nearest: ties up, as XNNPACK has it,
/// or if `AWAY` away from zero, as QNNPACK does. The shift is 1 to 31.
pub(super) struct Shifted<T, const AWAY: bool> {
    multipliers: [i32; 2],
    bias: i32,
    /// How many bits are dropped; if `AWAY` but for the last one, which rounds.
    shift: u32,
    codes: Codes<T>,
}

impl<T: Code, const AWAY: bool> Shifted<T, AWAY> {
    pub(super) fn new(add: &Add) -> Self {
        let [a, b, bias] = add.multipliers;
        let before = (add.shifts[2] - 1).max(0) as u32;
        let (bias, shift) = match AWAY {
            true => (bias, before),
            // With half of the divisor: there is room for it, for the multipliers have a bit less.
            false => (bias.wrapping_add(1 << before), add.shifts[2] as u32),
        };
        let codes = Codes::new(add.zero_points[2], add.least, add.greatest);
        Self { multipliers: [a, b], bias, shift, codes }
    }
}

impl<T: Code, const AWAY: bool> Zip for Shifted<T, AWAY> {
    type A = T;
    type B = T;
    type To = T;

    const IS_QUICK: bool = !AWAY;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        self.all([a], [b])[0]
    }

    #[inline(always)]
    fn all<const N: usize>(&self, a: [T; N], b: [T; N]) -> [T; N] {
        let [a_multiplier, b_multiplier] = self.multipliers;
        let mut numbers = [0; N];
        for i in 0..N {
            let products =
                a[i].number().wrapping_mul(a_multiplier).wrapping_add(b[i].number().wrapping_mul(b_multiplier));
            let sum = products.wrapping_add(self.bias);
            numbers[i] = match AWAY {
                // Without a negative one's 1 a tie is no longer one.
                true => (sum.wrapping_add(sum >> 31) >> self.shift).wrapping_add(1) >> 1,
                false => sum >> self.shift,
            };
        }
        self.codes.of(numbers)
    }
}
