//! Sums of 32 bits, whose interval is far wider than they are, brought down to codes of 8 or 16.

use super::extremes::{Numbers, extremes};
use crate::code::{Code, nearest};
use crate::context::Context;
use crate::elements::{Elements, ElementsMut, Map, map};
use crate::error::Error;
use crate::interval::{Fixed, Interval};
use crate::output::Rounding;
use crate::range::ElementRange;
use crate::tensor::{self, Arithmetic, Channels, Integers, IntegersMut};
use std::marker::PhantomData;

/// Whose way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayDown {
    /// In f64, rounded once, ties to even; a code stands for 0.
    Exact,
    /// TensorFlow's `Requantize`: fixed point of 64 bits, ties up; of 8 bits.
    Tensorflow,
    /// nnlib's `Requantize_32to8`: fixed point of 32 bits, ties up; a code stands for 0; of 8 bits.
    Nnlib,
}

/// Codes of one interval, from sums of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Requantize {
    way: WayDown,
    from: Interval,
    to: Interval,
}

const FROM: [&str; 2] = ["x_range.min", "x_range.max"];

/// From one sum to the next: there are 2³².
fn step(from: Interval) -> f64 {
    from.step(4294967296.0)
}

/// What is added to a sum so that 0 stands for 0: 0 itself where the interval is symmetric.
fn offset(from: Interval) -> f64 {
    if from.is_zero() { 0.0 } else { 2147483648.0 + (f64::from(from.min) / step(from)).round() }
}

/// The least interval that holds what sums stand for, and 0.
///
/// # Errors
/// Unless `from` is an interval.
pub(crate) fn range_of(context: &Context, sums: Elements<i32>, from: Interval) -> Result<Interval, Error> {
    let from = from.checked(FROM)?;
    let Some(found) = extremes(context, &Sums(sums), sums.len()) else { return Ok(Interval::ZERO) };
    let [min, max] = found.map(|sum| ((f64::from(sum) + offset(from)) * step(from)) as f32);
    Ok(Interval { min: min.min(0.0), max: max.max(0.0) })
}

struct Sums<'a>(Elements<'a, i32>);

impl Numbers for Sums<'_> {
    type Number = i32;
    const BYTES: usize = 4;

    #[inline(always)]
    unsafe fn chunk<const N: usize>(&self, i: usize) -> [i32; N] {
        self.0.chunk(i)
    }
}

impl Requantize {
    /// To codes of `steps` + 1 numbers.
    ///
    /// # Errors
    /// Unless `from` is an interval, and `to` one around 0; and for TensorFlow's way and nnlib's, unless the one is not
    /// that much wider than the other, and for nnlib's symmetric.
    pub(crate) fn new(way: WayDown, from: Interval, to: Interval, steps: f64) -> Result<Self, Error> {
        let from = from.checked(FROM)?;
        let to = to.around_zero(["y_range.min", "y_range.max"])?;
        let to = if way == WayDown::Tensorflow { to } else { to.nudged(steps, Fixed::default()) };
        let (argument, value) = ("x_range.max", from.max.into());
        let error = |expected| Err(Error::Parameter { argument, value, expected });
        if way == WayDown::Nnlib && from.min != -from.max {
            return error("minus min in this mode");
        }
        if way == WayDown::Tensorflow && !to.is_zero() && from.width() / to.width() >= 2f64.powi(36) {
            return error("so that the range is less than 2 to the 36 times as wide as the result's");
        }
        Ok(Self { way, from, to })
    }

    /// The interval of the codes.
    pub(crate) fn result(&self) -> Interval {
        self.to
    }

    pub(crate) fn run<'a, T: Code>(&self, context: &Context, from: Elements<i32>, to: ElementsMut<'a, T>)
    where
        IntegersMut<'a>: From<ElementsMut<'a, T>>,
    {
        let steps = f64::from(T::GREATEST - T::LEAST);
        let level = self.to.step(steps);
        let gain = if self.to.is_zero() { 0.0 } else { step(self.from) / level };
        let zero = if self.to.is_zero() { 0 } else { (-f64::from(self.to.min) / level).round() as i32 } + T::LEAST;
        match self.way {
            WayDown::Tensorflow if !self.to.is_zero() => {
                map(context, &self.fixed_64::<T>(), from, to);
            }
            WayDown::Nnlib if gain < 1.0 => {
                // `(x · gain + 2³⁰) / 2³¹ + zero`, rounded down.
                let arithmetic = Arithmetic::FixedPoint {
                    rounding: Rounding::Once,
                    multipliers: &[(gain * 2147483648.0).round() as i32],
                    exponents: &[0],
                };
                let range = ElementRange { least: T::LEAST, greatest: T::GREATEST };
                let all = Channels { outer: 1, channels: 1, inner: from.len() };
                tensor::requantize(
                    context,
                    arithmetic,
                    (None, Some(&[zero])),
                    range,
                    all,
                    Integers::I32(from),
                    to.into(),
                );
            }
            _ => {
                let [least, greatest] = [T::LEAST, T::GREATEST].map(|end| f64::from(end - zero));
                let offset = offset(self.from);
                if offset == 0.0 && gain <= 0.5 {
                    return map(context, &Narrowed { gain, zero, codes: PhantomData }, from, to);
                }
                map(context, &Real { offset, gain, least, greatest, zero, codes: PhantomData }, from, to);
            }
        }
    }

    /// Where TensorFlow computes in float and where in double is a part of the results.
    fn fixed_64<T: Code>(&self) -> Fixed64<T> {
        let Self { from, to, .. } = *self;
        const ONE: f32 = 65536.0;
        let (from_range, to_range) = (from.max - from.min, to.max - to.min);
        let middle = ((f64::from(from.min + from.max)) / 2.0) as f32;
        let scale = (255.0 * f64::from(ONE) * f64::from(from_range) / f64::from(to_range)) as i64;
        let from_offset = (middle * (255.0 / f64::from(to_range)) as f32 * ONE) as i64;
        let to_offset = (f64::from(ONE) * (f64::from(to.min) * 255.0) / f64::from(to_range)).round() as i64;
        let offset = from_offset.wrapping_sub(to_offset).wrapping_add(1 << 15);
        // Less than 2⁶⁰; the lower half counts as negative from 2³¹ on.
        let low = scale as i32;
        Fixed64 { high: ((scale - i64::from(low)) >> 32) as i32, low, offset, codes: PhantomData }
    }
}

/// In f64.
struct Real<T> {
    offset: f64,
    gain: f64,
    least: f64,
    greatest: f64,
    zero: i32,
    codes: PhantomData<T>,
}

impl<T: Code> Map for Real<T> {
    type From = i32;
    type To = T;

    #[inline(always)]
    fn of(&self, x: i32) -> T {
        let code = (f64::from(x) + self.offset) * self.gain;
        // Confined to integers before it is rounded, which is the same, and keeps it small.
        let code = if code < self.least { self.least } else { code };
        let code = if code > self.greatest { self.greatest } else { code };
        T::of(nearest(code) + self.zero)
    }
}

/// As [`Real`] where there is no offset, and products have room for the zero, so that they are confined as integers: those are
/// twice as many in a vector.
struct Narrowed<T> {
    gain: f64,
    zero: i32,
    codes: PhantomData<T>,
}

impl<T: Code> Map for Narrowed<T> {
    type From = i32;
    type To = T;

    #[inline(always)]
    fn of(&self, x: i32) -> T {
        let code = nearest(f64::from(x) * self.gain) + self.zero;
        T::of(code.max(T::LEAST).min(T::GREATEST))
    }
}

/// `(x · scale / 2³² + offset) / 2¹⁶`, each quotient rounded down; the product in two halves, for it has up to 92 bits. There are
/// instructions for products of two integers of 32 bits.
struct Fixed64<T> {
    high: i32,
    low: i32,
    offset: i64,
    codes: PhantomData<T>,
}

impl<T: Code> Map for Fixed64<T> {
    type From = i32;
    type To = T;

    #[inline(always)]
    fn of(&self, x: i32) -> T {
        let (high, low) = (i64::from(x) * i64::from(self.high), i64::from(x) * i64::from(self.low));
        let code = (high + (low >> 32)).wrapping_add(self.offset) >> 16;
        T::of(code.clamp(0, 255) as i32 + T::LEAST)
    }
}

#[cfg(test)]
mod tests;
