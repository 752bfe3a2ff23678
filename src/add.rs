//! Tensors with scales and zero points, added: the parameters.
//!
//! The code `a` stands for `a_scale · (a - a_zero_point)`. What stands for the sum of two such numbers in the codes of a
//! third tensor is computed in integers, or in f32, in the way of one of several engines. They differ in ties, and in what
//! they take for one.

mod codes;
pub(crate) mod linear;
mod ratios;
mod shifted;
mod tflite;

use crate::code::Code;
use crate::context::Context;
use crate::error::Error;
use crate::grid::{Grid, Tensors, zip};
use crate::kernel::Vectors;
use crate::output::Element;
use crate::quantize::Multiplier;
use linear::{linear, proven};
use ratios::{Ratios, may_be_great};
use shifted::Shifted;
use tflite::Tflite;

/// Whose way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// TFLite's reference: every number is scaled in fixed point, and rounded twice each time.
    Tflite,
    /// As this, but rounded once each time.
    TfliteSingle,
    /// XNNPACK's integers: multipliers of 21 bits with a common exponent, the sum rounded once, ties up. Only of 8 bits.
    Xnnpack,
    /// QNNPACK's: of 22 bits, ties away from zero. Only of 8 bits.
    Qnnpack,
    /// In f32, the sum rounded once, ties to even.
    F32,
}

/// A tensor's codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scaled {
    pub scale: f32,
    pub zero_point: i32,
}

/// What is to be added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sum {
    pub way: Way,
    pub element: Element,
    /// Of `a`, `b` and the result.
    pub tensors: [Scaled; 3],
    /// Whether `b` is subtracted.
    pub subtract: bool,
    /// What the result is confined to.
    pub least: i32,
    pub greatest: i32,
}

/// How it is added: what comes of the scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Add {
    pub way: Way,
    pub element: Element,
    pub zero_points: [i32; 3],
    /// TFLite's three multipliers; those of `a` and `b`, and the bias; or the bits of the f32 ratios of `a` and `b`.
    pub multipliers: [i32; 3],
    /// How far to the right the products are shifted, 0 to 31.
    pub shifts: [i32; 3],
    pub least: i32,
    pub greatest: i32,
    /// The shorter formula that gives the same; 0 if none is known.
    pub form: u32,
}

const SCALES: [&str; 3] = ["a_scale", "b_scale", "c_scale"];
const ZERO_POINTS: [&str; 3] = ["a_zero_point", "b_zero_point", "c_zero_point"];

impl Sum {
    /// # Errors
    /// Where a parameter is out of its range, or the scales are too different for this way.
    pub(crate) fn prepared(&self) -> Result<Add, Error> {
        self.check()?;
        let (multipliers, shifts) = match self.way {
            Way::Tflite | Way::TfliteSingle => self.tflite()?,
            Way::Xnnpack => self.common_exponent(20, -10, -10)?,
            Way::Qnnpack => self.common_exponent(21, -14, -10)?,
            Way::F32 => self.ratios()?,
        };
        let Self { way, element, least, greatest, .. } = *self;
        let zero_points = self.tensors.map(|tensor| tensor.zero_point);
        Ok(Add { way, element, zero_points, multipliers, shifts, least, greatest, form: 0 })
    }

    fn check(&self) -> Result<(), Error> {
        let (least, greatest, codes) = match self.element {
            Element::U8 => (u8::LEAST, u8::GREATEST, "0 to 255"),
            Element::I8 => (i8::LEAST, i8::GREATEST, "-128 to 127"),
            _ => (i16::LEAST, i16::GREATEST, "-32768 to 32767"),
        };
        let is_s16 = self.element == Element::I16;
        for (i, &Scaled { scale, zero_point }) in self.tensors.iter().enumerate() {
            if !(scale.is_normal() && scale > 0.0) {
                let expected = "above 0, finite and normal";
                return Err(Error::Parameter { argument: SCALES[i], value: scale.into(), expected });
            }
            let (argument, value) = (ZERO_POINTS[i], zero_point.into());
            if !(least..=greatest).contains(&zero_point) {
                return Err(Error::Parameter { argument, value, expected: codes });
            }
            if is_s16 && zero_point != 0 && self.way != Way::F32 {
                return Err(Error::Parameter { argument, value, expected: "0 for 16 bits, as TFLite has it" });
            }
        }
        for (argument, value) in [("c_least", self.least), ("c_greatest", self.greatest)] {
            if !(least..=greatest).contains(&value) {
                return Err(Error::Parameter { argument, value: value.into(), expected: codes });
            }
        }
        if self.greatest < self.least {
            let expected = "at least what c_least is";
            return Err(Error::Parameter { argument: "c_greatest", value: self.greatest.into(), expected });
        }
        Ok(())
    }

    /// How far TFLite shifts to the left first.
    fn left_shift(element: Element) -> i32 {
        if element == Element::I16 { 15 } else { 20 }
    }

    fn tflite(&self) -> Result<([i32; 3], [i32; 3]), Error> {
        let [a, b, c] = self.tensors.map(|tensor| f64::from(tensor.scale));
        let twice_max = 2.0 * a.max(b);
        let unit = f64::from(1u32 << Self::left_shift(self.element));
        let reals = [a / twice_max, b / twice_max, twice_max / (unit * c)];
        let (mut multipliers, mut shifts) = ([0; 3], [0; 3]);
        for (i, real) in reals.into_iter().enumerate() {
            let found = Multiplier::of(real).ok().filter(|found| found.exponent <= 0);
            let Some(found) = found else {
                let argument = "c_scale";
                let expected = match self.element {
                    Element::I16 => "above max(a_scale, b_scale) / 2 to the 14",
                    _ => "above max(a_scale, b_scale) / 2 to the 19",
                };
                return Err(Error::Parameter { argument, value: c, expected });
            };
            (multipliers[i], shifts[i]) = (found.multiplier, -found.exponent);
        }
        if self.subtract {
            multipliers[1] = -multipliers[1];
        }
        Ok((multipliers, shifts))
    }

    /// The ratios of the scales of `a` and `b` to the result's, in f32.
    fn of_result(&self) -> [f32; 2] {
        let [a, b, c] = self.tensors.map(|tensor| tensor.scale);
        [a / c, b / c]
    }

    /// Multipliers of `bits` bits and a sign, the greater of which has all of them; ratios are at least `2^least`, the greater
    /// of them `2^least_of_greater`. Only for codes of 8 bits: products of others would leave 32.
    fn common_exponent(&self, bits: i32, least: i32, least_of_greater: i32) -> Result<([i32; 3], [i32; 3]), Error> {
        let ratios = self.of_result();
        let greater = ratios[0].max(ratios[1]);
        for (argument, ratio) in [("a_scale / c_scale", ratios[0]), ("b_scale / c_scale", ratios[1])] {
            let from = if ratio == greater { least_of_greater } else { least };
            if !(2f32.powi(from)..256.0).contains(&ratio) {
                let expected = match from {
                    -10 => "2 to the -10 to just below 256",
                    _ => "2 to the -14 to just below 256",
                };
                return Err(Error::Parameter { argument, value: ratio.into(), expected });
            }
        }
        let exponent = (greater.to_bits() >> 23) as i32 - 127;
        let shift = bits - exponent;
        // Exact, as `ldexp` is.
        let multiplier = |ratio: f32| (ratio * 2f32.powi(shift)).round_ties_even() as i32;
        let [a, b] = ratios.map(multiplier);
        let b = if self.subtract { -b } else { b };
        let bias = -a * self.tensors[0].zero_point - b * self.tensors[1].zero_point;
        Ok(([a, b, bias], [0, 0, shift]))
    }

    fn ratios(&self) -> Result<([i32; 3], [i32; 3]), Error> {
        let [a, b] = self.of_result();
        for (argument, ratio) in [("a_scale / c_scale", a), ("b_scale / c_scale", b)] {
            if ratio >= 2f32.powi(64) {
                return Err(Error::Parameter { argument, value: ratio.into(), expected: "below 2 to the 64" });
            }
        }
        let b = if self.subtract { -b } else { b };
        Ok(([a.to_bits() as i32, b.to_bits() as i32, 0], [0; 3]))
    }
}

impl Add {
    /// Adds tensors of this sum's type.
    pub(crate) fn run<T: Code>(&self, context: &Context, grid: &Grid, tensors: &Tensors<T, T, T>) {
        if let Some(weighted) = linear(self, self.form) {
            return linear::run(context, &weighted, grid, tensors);
        }
        let left = 31 - Sum::left_shift(T::ELEMENT);
        match self.way {
            Way::Tflite => zip(context, &Tflite::<_, true>::new(self, left), grid, tensors),
            Way::TfliteSingle => zip(context, &Tflite::<_, false>::new(self, left), grid, tensors),
            Way::Xnnpack => zip(context, &Shifted::<_, false>::new(self), grid, tensors),
            Way::Qnnpack => zip(context, &Shifted::<_, true>::new(self), grid, tensors),
            Way::F32 if may_be_great::<T>(self) => zip(context, &Ratios::<_, true>::new(self), grid, tensors),
            Way::F32 => zip(context, &Ratios::<_, false>::new(self), grid, tensors),
        }
    }

    /// As this, by a shorter formula if one gives the same for all pairs of bytes, which are tried.
    pub(crate) fn shortened(self, vectors: Vectors) -> Self {
        let form = match self.element {
            Element::U8 => self.form_of::<u8>(vectors),
            Element::I8 => self.form_of::<i8>(vectors),
            _ => 0,
        };
        Self { form, ..self }
    }

    fn form_of<T: Code>(&self, vectors: Vectors) -> u32 {
        let left = 31 - Sum::left_shift(T::ELEMENT);
        match self.way {
            Way::Tflite => proven(vectors, self, &Tflite::<T, true>::new(self, left)),
            Way::TfliteSingle => proven(vectors, self, &Tflite::<T, false>::new(self, left)),
            _ if !vectors.have_products() => 0,
            Way::Xnnpack => proven(vectors, self, &Shifted::<T, false>::new(self)),
            Way::Qnnpack => proven(vectors, self, &Shifted::<T, true>::new(self)),
            Way::F32 if may_be_great::<T>(self) => proven(vectors, self, &Ratios::<T, true>::new(self)),
            Way::F32 => proven(vectors, self, &Ratios::<T, false>::new(self)),
        }
    }
}

#[cfg(test)]
mod tests;
