//! TFLite's sums of bytes by a shorter formula, where it has been shown to give the same for every pair of bytes.
//!
//! Were nothing rounded on the way, the sum would be `a · a_factor + b · b_factor`, rounded once. What is rounded on the way
//! changes that by some 2⁻¹⁹, which matters only next to ties: of the 65536 sums of most scales there is none so near to one.

use super::{Add, Way};
use crate::code::Code;
use crate::context::Context;
use crate::grid::{Grid, Piece, Tensors, Zip, in_pieces};
use crate::kernel::{BLOCK, LOW, Loop, Vectors, Weighted, WeightedLoop};
use crate::output::Element;
use std::marker::PhantomData;
use std::ops::Range;

/// Ties are moved by so many halves of what TFLite's second rounding may make of one, away from zero: this first.
const TILTS: [i64; 3] = [3, 2, 1];

/// Weights have at most so many bits and a sign.
const BITS: i32 = 30;

/// More bits behind the point of the results than this leave no room for half of their last place.
const MOST_FRACTION: i32 = 16;

/// The formula of a form, 1 to 3; None if there is none for these parameters.
pub(super) fn linear(add: &Add, form: u32) -> Option<Weighted> {
    let tilt = *TILTS.get(form.checked_sub(1)? as usize)?;
    let is_twice = match add.way {
        Way::Tflite => true,
        Way::TfliteSingle => false,
        _ => return None,
    };
    // Codes are made unsigned, and results of signed ones.
    let (flip, result_flip) = match add.element {
        Element::U8 => (0, 128),
        Element::I8 => (128, 0),
        _ => return None,
    };
    // 2²⁰ is what TFLite multiplies by first, 2⁶² the unit of products of two fractions.
    let factors = [0, 1].map(|i| {
        let product = i128::from(add.multipliers[i]) * i128::from(add.multipliers[2]);
        (product, 20 - 62 - add.shifts[i] - add.shifts[2])
    });
    let bits = factors.map(|(product, exponent)| 128 - product.unsigned_abs().leading_zeros() as i32 + exponent);
    let shift = (BITS - LOW as i32 - 1 - bits[0].max(bits[1])).min(MOST_FRACTION);
    if shift < 1 {
        return None;
    }
    let fraction = shift + LOW as i32;
    // Rounded: all bits but those of the fraction are dropped.
    let [a, b] = factors.map(|(product, exponent)| match exponent + fraction {
        left @ 0.. => (product << left.min(60)) as i64,
        right => (((product >> (-right - 1).min(126)) + 1) >> 1) as i64,
    });
    let zero = |i: usize| i64::from(add.zero_points[i]) + i64::from(flip);
    let offset = -(zero(0) * a + zero(1) * b);
    let half = 1 << (fraction - 1);
    let tilt = if is_twice { (tilt * half) >> (add.shifts[2] + 1) } else { 0 };
    let low = |x: i64| x & ((1 << LOW) - 1);
    let rest = low(offset) + half;
    let byte = |code: i32| (code as u8 ^ result_flip) as i8;
    Some(Weighted {
        high: [a, b].map(|weight| (weight >> LOW) as i16),
        low: [a, b].map(|weight| low(weight) as i16),
        offset: (offset >> LOW) as i32,
        low_offsets: [(rest + tilt) as i32, (rest - tilt) as i32],
        shift: shift as u32,
        zero_point: add.zero_points[2].wrapping_sub(result_flip.into()) as i16,
        least: byte(add.least),
        greatest: byte(add.greatest),
        flip,
        result_flip,
    })
}

/// Adds tensors by such a formula, on as many threads as pays.
pub(super) fn run<T: Code>(context: &Context, weighted: &Weighted, grid: &Grid, tensors: &Tensors<T, T, T>) {
    in_pieces(context, grid, tensors, |range| {
        context.kernel.vectors.run_weighted(Part { weighted, grid, tensors, range });
    });
}

/// The first form that gives what the definition `exact` gives, for all pairs of codes; 0 if there is none.
pub(super) fn proven<T: Code>(vectors: Vectors, add: &Add, exact: &impl Zip<A = T, B = T, To = T>) -> u32 {
    let is_right = |form: &u32| linear(add, *form).is_some_and(|weighted| gives(vectors, &weighted, exact));
    (1..=TILTS.len() as u32).find(is_right).unwrap_or(0)
}

fn gives<T: Code>(vectors: Vectors, weighted: &Weighted, exact: &impl Zip<A = T, B = T, To = T>) -> bool {
    (T::LEAST..=T::GREATEST).all(|a| {
        let [mut want, mut got] = [[T::of(0); 256]; 2];
        vectors.run(Row { zip: exact, a: T::of(a), to: &mut want });
        vectors.run_weighted(WeightedRow { weighted, a: T::of(a), to: &mut got });
        want == got
    })
}

/// A code and all others.
struct Row<'a, Z, T> {
    zip: &'a Z,
    a: T,
    to: &'a mut [T; 256],
}

impl<T: Code, Z: Zip<A = T, B = T, To = T>> Loop for Row<'_, Z, T> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        const STEP: usize = 64;
        for (to, first) in self.to.as_chunks_mut::<STEP>().0.iter_mut().zip((T::LEAST..).step_by(STEP)) {
            let mut b = [self.a; STEP];
            for (b, code) in b.iter_mut().zip(first..) {
                *b = T::of(code);
            }
            *to = self.zip.all([self.a; STEP], b);
        }
    }
}

/// As [`Row`].
struct WeightedRow<'a, T> {
    weighted: &'a Weighted,
    a: T,
    to: &'a mut [T; 256],
}

impl<T: Code> WeightedLoop for WeightedRow<'_, T> {
    #[inline(always)]
    fn run(self, sums: impl Fn(&Weighted, &[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]) + Copy) {
        let zip = &Joined { weighted: *self.weighted, sums, codes: PhantomData };
        Row { zip, a: self.a, to: self.to }.run();
    }
}

/// What one thread adds.
struct Part<'a, T> {
    weighted: &'a Weighted,
    grid: &'a Grid,
    tensors: &'a Tensors<'a, T, T, T>,
    range: Range<usize>,
}

impl<T: Code> WeightedLoop for Part<'_, T> {
    #[inline(always)]
    fn run(self, sums: impl Fn(&Weighted, &[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]) + Copy) {
        let Self { weighted, grid, tensors, range } = self;
        Piece { zip: &Joined { weighted: *weighted, sums, codes: PhantomData }, grid, tensors, range }.run();
    }
}

/// The formula, with the operations of the processor's vectors.
struct Joined<T, S> {
    /// Not a reference: what is written could be it, for all that the compiler knows.
    weighted: Weighted,
    sums: S,
    codes: PhantomData<T>,
}

impl<T: Code, S> Zip for Joined<T, S>
where
    S: Fn(&Weighted, &[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]),
{
    type A = T;
    type B = T;
    type To = T;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        self.all([a], [b])[0]
    }

    #[inline(always)]
    fn all<const N: usize>(&self, a: [T; N], b: [T; N]) -> [T; N] {
        let mut codes = a;
        for ((codes, a), b) in codes.chunks_mut(BLOCK).zip(a.chunks(BLOCK)).zip(b.chunks(BLOCK)) {
            let [mut x, mut y, mut to] = [[0; BLOCK]; 3];
            for ((x, y), (a, b)) in x.iter_mut().zip(&mut y).zip(a.iter().zip(b)) {
                (*x, *y) = (a.number() as u8, b.number() as u8);
            }
            (self.sums)(&self.weighted, &x, &y, &mut to);
            for (code, byte) in codes.iter_mut().zip(to) {
                *code = T::of(byte.into());
            }
        }
        codes
    }
}
