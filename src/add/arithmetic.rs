//! One sum, in each of the ways. All of it is integers of 32 bits, as far as they reach: a vector has 8 of them.

use super::Add;
use crate::code::{Code, nearest_f32};
use crate::fixed_point::{rounding_divide_by_pot, rounding_shift_right_up};
use crate::grid::Zip;
use std::marker::PhantomData;

/// How a quotient by a power of two is rounded, and how what it is the quotient of was.
pub(super) trait Quotient: Sync {
    /// What is added to a product before its low bits are dropped, of which there are so many: half of the last place, if it
    /// is rounded there.
    fn nudge(dropped: i32, shift: i32) -> i32;

    fn of(x: i32, shift: u32) -> i32;
}

/// The product is rounded, ties up, and then the quotient, ties away from zero.
pub(super) struct TiesAway;

/// Only the quotient is rounded, ties up; if there is no quotient, the product is.
pub(super) struct TiesUp;

impl Quotient for TiesAway {
    fn nudge(dropped: i32, _shift: i32) -> i32 {
        1 << (dropped - 1)
    }

    #[inline(always)]
    fn of(x: i32, shift: u32) -> i32 {
        rounding_divide_by_pot(x, shift)
    }
}

impl Quotient for TiesUp {
    // To drop bits, and then others, rounds down as dropping all at once does.
    fn nudge(dropped: i32, shift: i32) -> i32 {
        if shift == 0 { 1 << (dropped - 1) } else { 0 }
    }

    #[inline(always)]
    fn of(x: i32, shift: u32) -> i32 {
        rounding_shift_right_up(x, shift)
    }
}

/// TFLite's: with `M` for the product with a fixed-point number, and `2^left` for 2³¹ over what is shifted to the left,
/// `M(M((a - a_zero_point) · 2³¹⁻ˡᵉᶠᵗ) + M((b - b_zero_point) · 2³¹⁻ˡᵉᶠᵗ)) + zero_point`.
pub(super) struct Tflite<T, Q> {
    terms: [Term; 2],
    multiplier: i64,
    nudge: i64,
    shift: u32,
    zero_point: i32,
    least: i32,
    greatest: i32,
    codes: PhantomData<(T, Q)>,
}

/// A number of 9 bits (17 if `left` is 16 and the zero point 0) times one of 31, of which the low `left` bits are dropped:
/// two products of which neither overflows.
#[derive(Clone, Copy)]
struct Term {
    zero_point: i32,
    high: i32,
    low: i32,
    nudge: i32,
    left: u32,
    shift: u32,
}

impl<T, Q: Quotient> Tflite<T, Q> {
    pub(super) fn new(add: &Add, left: i32) -> Self {
        let term = |i: usize| Term {
            zero_point: add.zero_points[i],
            high: add.multipliers[i] >> left,
            low: add.multipliers[i] & ((1 << left) - 1),
            nudge: Q::nudge(left, add.shifts[i]),
            left: left as u32,
            shift: add.shifts[i] as u32,
        };
        Self {
            terms: [term(0), term(1)],
            multiplier: add.multipliers[2].into(),
            nudge: Q::nudge(31, add.shifts[2]).into(),
            shift: add.shifts[2] as u32,
            zero_point: add.zero_points[2],
            least: add.least,
            greatest: add.greatest,
            codes: PhantomData,
        }
    }
}

impl Term {
    #[inline(always)]
    fn of<Q: Quotient>(&self, code: i32) -> i32 {
        let x = code.wrapping_sub(self.zero_point);
        let low = x.wrapping_mul(self.low).wrapping_add(self.nudge) >> self.left;
        Q::of(x.wrapping_mul(self.high).wrapping_add(low), self.shift)
    }
}

impl<T: Code, Q: Quotient> Zip for Tflite<T, Q> {
    type A = T;
    type B = T;
    type To = T;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        let sum = self.terms[0].of::<Q>(a.number()).wrapping_add(self.terms[1].of::<Q>(b.number()));
        let product = (i64::from(sum).wrapping_mul(self.multiplier).wrapping_add(self.nudge) >> 31) as i32;
        let code = Q::of(product, self.shift).wrapping_add(self.zero_point);
        T::of(code.max(self.least).min(self.greatest))
    }
}

/// XNNPACK's and QNNPACK's: `(a · a_multiplier + b · b_multiplier + bias) / 2^shift + zero_point`.
pub(super) struct Shifted<T, Q> {
    multipliers: [i32; 2],
    bias: i32,
    shift: u32,
    zero_point: i32,
    least: i32,
    greatest: i32,
    codes: PhantomData<(T, Q)>,
}

impl<T, Q> Shifted<T, Q> {
    pub(super) fn new(add: &Add) -> Self {
        let [a, b, bias] = add.multipliers;
        let shift = add.shifts[2] as u32;
        let Add { zero_points: [.., zero_point], least, greatest, .. } = *add;
        Self { multipliers: [a, b], bias, shift, zero_point, least, greatest, codes: PhantomData }
    }
}

impl<T: Code, Q: Quotient> Zip for Shifted<T, Q> {
    type A = T;
    type B = T;
    type To = T;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        let [a_multiplier, b_multiplier] = self.multipliers;
        let products = a.number().wrapping_mul(a_multiplier).wrapping_add(b.number().wrapping_mul(b_multiplier));
        let code = Q::of(products.wrapping_add(self.bias), self.shift).wrapping_add(self.zero_point);
        T::of(code.max(self.least).min(self.greatest))
    }
}

/// `(a - a_zero_point) · a_ratio + (b - b_zero_point) · b_ratio` in f32, rounded, and the zero point.
pub(super) struct Ratios<T> {
    zero_points: [i32; 3],
    ratios: [f32; 2],
    least: f32,
    greatest: f32,
    codes: PhantomData<T>,
}

impl<T> Ratios<T> {
    pub(super) fn new(add: &Add) -> Self {
        let [a, b, _] = add.multipliers;
        let zero_point = add.zero_points[2];
        Self {
            zero_points: add.zero_points,
            ratios: [f32::from_bits(a as u32), f32::from_bits(b as u32)],
            least: add.least.wrapping_sub(zero_point) as f32,
            greatest: add.greatest.wrapping_sub(zero_point) as f32,
            codes: PhantomData,
        }
    }
}

impl<T: Code> Zip for Ratios<T> {
    type A = T;
    type B = T;
    type To = T;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        let [a_zero_point, b_zero_point, zero_point] = self.zero_points;
        let a = a.number().wrapping_sub(a_zero_point) as f32 * self.ratios[0];
        let b = b.number().wrapping_sub(b_zero_point) as f32 * self.ratios[1];
        let sum = a + b;
        // Confined to integers before it is rounded, which is the same, and keeps it small.
        let sum = if sum < self.least { self.least } else { sum };
        let sum = if sum > self.greatest { self.greatest } else { sum };
        T::of(nearest_f32(sum).wrapping_add(zero_point))
    }
}
