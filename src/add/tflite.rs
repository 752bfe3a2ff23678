//! TFLite's sums: fixed point of 32 bits, in steps that are rounded one by one.

use super::Add;
use super::codes::Codes;
use crate::code::Code;
use crate::grid::Zip;
use crate::kernel::{Factor, multiply_high};

/// With `M` for the product with a fixed-point number, and `2^left` for 2³¹ over what is shifted to the left:
/// `M(M((a - a_zero_point) · 2³¹⁻ˡᵉᶠᵗ) + M((b - b_zero_point) · 2³¹⁻ˡᵉᶠᵗ)) + zero_point`.
///
/// If `TWICE`, a product is rounded, ties up, and then its quotient by a power of two, ties away from zero. Else the
/// quotient is only rounded once, ties up. Both are sums of which low bits are dropped: the product, half of the divisor,
/// and with `TWICE` half of the last place of the product, less the whole of it where the product is negative.
pub(super) struct Tflite<T, const TWICE: bool> {
    terms: [Term; 2],
    multiplier: Factor,
    /// Added to products, and to negative ones.
    addends: [i64; 2],
    /// Whether there is a quotient at all.
    is_shifted: bool,
    /// What is dropped below the high half.
    shift: u32,
    codes: Codes<T>,
}

/// A number of 9 bits (17 if `left` is 16 and the zero point 0) times one of 31, of which the low `left` bits are dropped:
/// two products of which neither overflows. Then the quotient.
#[derive(Clone, Copy)]
struct Term {
    low: i32,
    low_addend: i32,
    left: u32,
    high: i32,
    high_addend: i32,
    half: i32,
    shift: u32,
}

impl Term {
    fn new<const TWICE: bool>(multiplier: i32, shift: i32, zero_point: i32, left: i32) -> Self {
        let (mut high, low) = (multiplier >> left, multiplier & ((1 << left) - 1));
        let mut shift = shift as u32;
        if shift == 0 {
            // The multiplier is 1/2, the greatest that there is, and nothing is rounded: so nothing is of twice as much.
            (high, shift) = (high.wrapping_mul(2), 1);
        }
        let nudge = if TWICE { 1 << (left - 1) } else { 0 };
        let half = 1 << (shift - 1);
        Self {
            low,
            low_addend: zero_point.wrapping_mul(low).wrapping_neg().wrapping_add(nudge),
            left: left as u32,
            high,
            high_addend: zero_point.wrapping_mul(high).wrapping_neg().wrapping_add(half),
            half,
            shift,
        }
    }

    #[inline(always)]
    fn of<const TWICE: bool>(&self, code: i32) -> i32 {
        let low = code.wrapping_mul(self.low).wrapping_add(self.low_addend) >> self.left;
        let high = code.wrapping_mul(self.high).wrapping_add(self.high_addend);
        let mut sum = high.wrapping_add(low);
        if TWICE {
            sum = sum.wrapping_add(if sum < self.half { -1 } else { 0 });
        }
        sum >> self.shift
    }
}

impl<T: Code, const TWICE: bool> Tflite<T, TWICE> {
    pub(super) fn new(add: &Add, left: i32) -> Self {
        let term = |i: usize| Term::new::<TWICE>(add.multipliers[i], add.shifts[i], add.zero_points[i], left);
        let shift = add.shifts[2];
        let is_shifted = shift > 0;
        // Of the product of twice the sum, if there is no quotient, so that the high half is all that is needed.
        let half = 1 << (30 + shift.max(1));
        let place = if TWICE && is_shifted { 1 << 30 } else { 0 };
        Self {
            terms: [term(0), term(1)],
            multiplier: Factor::new(add.multipliers[2]),
            addends: [half + place, half - place],
            is_shifted,
            shift: (shift - 1).max(0) as u32,
            codes: Codes::new(add.zero_points[2], add.least, add.greatest),
        }
    }
}

impl<T: Code, const TWICE: bool> Zip for Tflite<T, TWICE> {
    type A = T;
    type B = T;
    type To = T;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        self.all([a], [b])[0]
    }

    #[inline(always)]
    fn all<const N: usize>(&self, a: [T; N], b: [T; N]) -> [T; N] {
        let (mut numbers, [of_a, of_b]) = ([0; N], &self.terms);
        for i in 0..N {
            numbers[i] = of_a.of::<TWICE>(a[i].number()).wrapping_add(of_b.of::<TWICE>(b[i].number()));
        }
        if !self.is_shifted {
            for sum in &mut numbers {
                *sum = sum.wrapping_mul(2);
            }
        }
        multiply_high(&mut numbers, &self.multiplier, self.addends);
        for number in &mut numbers {
            *number >>= self.shift;
        }
        self.codes.of(numbers)
    }
}
