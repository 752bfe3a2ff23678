//! Sums of bytes by a shorter formula, where it has been shown to give the same for every pair of bytes.
//!
//! Were nothing rounded on the way, the sum would be `a · a_factor + b · b_factor`, rounded once. What TFLite rounds on the way
//! changes that by some 2⁻¹⁹, and f32 by some 2⁻¹⁷, which matters only next to ties: of the 65536 sums of most scales there is
//! none so near to one. XNNPACK and QNNPACK round nothing, but QNNPACK takes negative ties to be less.

use super::{Add, Way};
use crate::code::Code;
use crate::context::Context;
use crate::grid::{Grid, Piece, Tensors, Zip, in_pieces};
use crate::kernel::{BLOCK, LOW, Loop, Vectors, Weighted, WeightedLoop};
use crate::output::Element;
use std::marker::PhantomData;
use std::ops::Range;

/// How far a form, 1 and so on, moves ties away from zero: by so many halves of what TFLite's second rounding may make of one.
const TILTS: [i64; 4] = [3, 2, 1, 0];

/// In the order in which they are tried. The one that moves nothing is the fastest, and does unless there are exact ties.
const FORMS: [u32; 4] = [4, 1, 2, 3];

/// Weights have at most so many bits and a sign.
const BITS: i32 = 30;

/// More bits behind the point of the results than this leave no room for half of their last place.
const MOST_FRACTION: i32 = 16;

/// What codes are multiplied by: an integer times a power of two.
type Factor = (i128, i32);

/// How far results are shifted, for weights of less than 2 to the `bits`; None if those are too great.
pub(crate) fn shift(bits: i32) -> Option<i32> {
    Some((BITS - LOW as i32 - 1 - bits).min(MOST_FRACTION)).filter(|&shift| shift > 0)
}

/// The formula of a form; None if there is none for these parameters.
pub(super) fn linear(add: &Add, form: u32) -> Option<Weighted> {
    let tilt = *TILTS.get(form.checked_sub(1)? as usize)?;
    // What makes codes unsigned.
    let more = match add.element {
        Element::U8 => 0,
        Element::I8 => 128,
        _ => return None,
    };
    let factors = factors(add)?;
    let bits = factors.map(|(integer, exponent)| 128 - integer.unsigned_abs().leading_zeros() as i32 + exponent);
    let shift = shift(bits[0].max(bits[1]))?;
    let fraction = shift + LOW as i32;
    // Rounded: all bits but those of the fraction are dropped.
    let [a, b] = factors.map(|(integer, exponent)| match exponent + fraction {
        left @ 0.. => (integer << left.min(60)) as i64,
        right => (((integer >> (-right - 1).min(126)) + 1) >> 1) as i64,
    });
    let zero = |i: usize| i64::from(add.zero_points[i]) + more;
    let offset = -(zero(0) * a + zero(1) * b);
    let half = 1 << (fraction - 1);
    let tilts = match (add.way, tilt) {
        (_, 0) => [0; 2],
        (Way::Tflite, _) => [1, -1].map(|sign| sign * ((tilt * half) >> (add.shifts[2] + 1))),
        (Way::Qnnpack, 1) => [0, -1],
        _ => return None,
    };
    let zero_point = i64::from(add.zero_points[2]);
    Some(Weighted {
        turn: -(offset >> LOW) as i32,
        least: add.least as u8,
        greatest: add.greatest as u8,
        ..Weighted::nearest([a, b], offset + (zero_point << fraction), shift as u32, tilts)?
    })
}

/// Those of `a` and `b`; None if they are too small or too great to tell.
fn factors(add: &Add) -> Option<[Factor; 2]> {
    let factor = |i: usize| {
        let multiplier = i128::from(add.multipliers[i]);
        match add.way {
            // 2²⁰ is what TFLite multiplies by first, 2⁶² the unit of products of two fractions.
            Way::Tflite | Way::TfliteSingle => {
                Some((multiplier * i128::from(add.multipliers[2]), 20 - 62 - add.shifts[i] - add.shifts[2]))
            }
            Way::Xnnpack | Way::Qnnpack => Some((multiplier, -add.shifts[2])),
            Way::F32 => {
                let ratio = f32::from_bits(add.multipliers[i] as u32);
                let integer = i128::from(ratio.to_bits() & 0x7f_ffff | 0x80_0000);
                let exponent = (ratio.to_bits() >> 23 & 0xff) as i32 - 150;
                ratio.is_normal().then_some((if ratio < 0.0 { -integer } else { integer }, exponent))
            }
        }
    };
    Some([factor(0)?, factor(1)?])
}

/// Adds tensors by such a formula, on as many threads as pays.
pub(crate) fn run<T: Code>(context: &Context, weighted: &Weighted, grid: &Grid, tensors: &Tensors<T, T, T>) {
    let tensors = &tensors.past_caches();
    in_pieces(context, grid, tensors, |range| {
        context.kernel.vectors.run_weighted(*weighted, Part { weighted, grid, tensors, range });
    });
}

/// The first form that gives what the definition `exact` gives, for all pairs of codes; 0 if there is none.
pub(super) fn proven<T: Code>(vectors: Vectors, add: &Add, exact: &impl Zip<A = T, B = T, To = T>) -> u32 {
    let is_right = |form: &u32| linear(add, *form).is_some_and(|weighted| gives(vectors, &weighted, exact));
    FORMS.into_iter().find(is_right).unwrap_or(0)
}

/// Whether a formula gives what the definition `exact` gives, for all pairs of codes.
pub(crate) fn gives<T: Code>(vectors: Vectors, weighted: &Weighted, exact: &impl Zip<A = T, B = T, To = T>) -> bool {
    (T::LEAST..=T::GREATEST).all(|a| {
        let [mut want, mut got] = [[T::of(0); 256]; 2];
        vectors.run(Row { zip: exact, a: T::of(a), to: &mut want });
        vectors.run_weighted(*weighted, WeightedRow { weighted, a: T::of(a), to: &mut got });
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
    const IS_SIGNED: bool = T::LEAST < 0;

    #[inline(always)]
    fn run(self, sums: impl Fn(&[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK])) {
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
    const IS_SIGNED: bool = T::LEAST < 0;

    #[inline(always)]
    fn run(self, sums: impl Fn(&[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK])) {
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
    S: Fn(&[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]),
{
    type A = T;
    type B = T;
    type To = T;

    const IS_QUICK: bool = true;

    #[inline(always)]
    fn of(&self, a: T, b: T) -> T {
        T::of(self.weighted.sum(a.number() as u8, b.number() as u8, T::LEAST < 0).into())
    }

    #[inline(always)]
    fn all<const N: usize>(&self, a: [T; N], b: [T; N]) -> [T; N] {
        let mut codes = a;
        if N == 1 {
            codes[0] = self.of(a[0], b[0]);
            return codes;
        }
        for ((codes, a), b) in codes.chunks_mut(BLOCK).zip(a.chunks(BLOCK)).zip(b.chunks(BLOCK)) {
            let [mut x, mut y, mut to] = [[0; BLOCK]; 3];
            for ((x, y), (a, b)) in x.iter_mut().zip(&mut y).zip(a.iter().zip(b)) {
                (*x, *y) = (a.number() as u8, b.number() as u8);
            }
            (self.sums)(&x, &y, &mut to);
            for (code, byte) in codes.iter_mut().zip(to) {
                *code = T::of(byte.into());
            }
        }
        codes
    }
}
