//! The integers that tensors hold, each of which stands for a real number.

use crate::output::Element;

/// An integer of 8 or 16 bits.
pub(crate) trait Code: Copy + Ord + Send + Sync + 'static {
    const ELEMENT: Element;
    const LEAST: i32;
    const GREATEST: i32;

    /// Always inlined, as `of` is: loops over elements use them.
    fn number(self) -> i32;

    /// `number` is one of the type's: else it wraps around.
    fn of(number: i32) -> Self;
}

impl Code for u8 {
    const ELEMENT: Element = Element::U8;
    const LEAST: i32 = 0;
    const GREATEST: i32 = 255;

    #[inline(always)]
    fn number(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn of(number: i32) -> Self {
        number as u8
    }
}

impl Code for i8 {
    const ELEMENT: Element = Element::I8;
    const LEAST: i32 = -128;
    const GREATEST: i32 = 127;

    #[inline(always)]
    fn number(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn of(number: i32) -> Self {
        number as i8
    }
}

impl Code for i16 {
    const ELEMENT: Element = Element::I16;
    const LEAST: i32 = -32768;
    const GREATEST: i32 = 32767;

    #[inline(always)]
    fn number(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn of(number: i32) -> Self {
        number as i16
    }
}

/// Half of 2⁵³: what is added to a small f64 rounds it to an integer, ties to even, which its last bits then are. It is how
/// every vector rounds, without an instruction for it.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The integer nearest to `x`, ties to even, for -2³¹ ≤ `x` < 2³¹.
#[inline(always)]
pub(crate) fn nearest(x: f64) -> i32 {
    (x + ROUNDER).to_bits() as i32
}

/// As for f64.
const ROUNDER_F32: f32 = 12_582_912.0;

/// The integer nearest to `x`, ties to even, for -2²² ≤ `x` ≤ 2²².
#[inline(always)]
pub(crate) fn nearest_f32(x: f32) -> i32 {
    ((x + ROUNDER_F32).to_bits() as i32).wrapping_sub(ROUNDER_F32.to_bits() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_nearest_and_ties_to_even() {
        for x in (-4000..4000).map(|x| f64::from(x) / 8.0).chain([-2147483648.0, 2147483646.5, 2147483647.25]) {
            assert_eq!(f64::from(nearest(x)), x.round_ties_even(), "{x}");
        }
        let ends = [-4194304.0, -4194303.5, 4194303.5, 4194304.0];
        for x in (-4000..4000).map(|x| x as f32 / 8.0).chain(ends) {
            assert_eq!(nearest_f32(x) as f32, x.round_ties_even(), "{x}");
        }
    }
}
