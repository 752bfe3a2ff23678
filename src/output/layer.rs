//! The pipeline of most layers of a quantized network in one go: offsets, a bias, a scale, a clamp and a cast to bytes.
//!
//! Stages one by one pass over a tile each; this passes once, and gives the same.

use super::scale::scaled_once;
use super::values::Word;
use super::{Cast, Region, Rounding, Scale, Stage, Store, Values, each};
use crate::fixed_point::{high_mul_below_one, rounded};

/// BIAS, SCALE or SCALE_F32, and CLAMP, of which the first and the last may be missing; then a saturating cast to bytes.
pub(super) struct Layer<'a> {
    bias: Values<'a, i32>,
    scale: Factor<'a>,
    offset_after: i32,
    /// What numbers are confined to before the cast confines them.
    clamp: (i32, i32),
}

enum Factor<'a> {
    /// Nothing is shifted to the left, and no multiplier is -2³¹.
    Fixed(Scale<'a>),
    Float(Values<'a, f32>),
}

impl<'a> Layer<'a> {
    /// None if the pipeline is another one.
    pub(super) fn new(stages: &[Stage<'a>], store: &Store) -> Option<Self> {
        if !matches!(store, Store::U8(_, Cast::Saturating) | Store::I8(_, Cast::Saturating)) {
            return None;
        }
        let (bias, stages) = match stages {
            [Stage::Bias(bias), stages @ ..] => (*bias, stages),
            _ => (Values::Uniform(0), stages),
        };
        let (scale, offset_after, stages) = match stages {
            // Stages one by one do as well where all results are scaled alike.
            [Stage::Scale(scale), stages @ ..] if scale.is_plain() && !scale.is_uniform() => {
                (Factor::Fixed(*scale), scale.offset_after, stages)
            }
            [Stage::ScaleF32 { scale, offset_after }, stages @ ..] => (Factor::Float(*scale), *offset_after, stages),
            _ => return None,
        };
        let clamp = match stages {
            [] => (i32::MIN, i32::MAX),
            [Stage::Clamp { min, max }] => (*min, *max),
            _ => return None,
        };
        Some(Self { bias, scale, offset_after, clamp })
    }

    /// Finishes a tile of accumulators, to which uniform offsets are still to be added.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(super) unsafe fn finish<const W: usize>(
        &self,
        store: &Store,
        region: &Region,
        offsets: (i32, i32),
        acc: &mut [[i32; W]],
    ) {
        match &self.scale {
            Factor::Fixed(scale) => self.scale_fixed(scale, region, offsets, acc),
            Factor::Float(scale) => {
                let fill = |i, [factor]: &mut [[i32; W]; 1]| scale.fill_row(region, i, factor);
                let of = |x, [factor]: [i32; 1]| rounded(x as f32 * f32::from_word(factor));
                self.scale(region, offsets, acc, scale.is_per_row(), fill, of);
            }
        }
        // SAFETY: this function's own promise, for both.
        unsafe {
            match store {
                Store::U8(out, _) => each(out, region, acc, |x| x.clamp(0, 255) as u8),
                Store::I8(out, _) => each(out, region, acc, |x| x.clamp(-128, 127) as i8),
                _ => unreachable!("a layer gives bytes"),
            }
        }
    }

    #[inline(always)]
    fn scale_fixed<const W: usize>(&self, scale: &Scale, region: &Region, offsets: (i32, i32), acc: &mut [[i32; W]]) {
        let fill = |i, [multiplier, right, mask, half]: &mut [[i32; W]; 4]| {
            scale.multiplier.fill_row(region, i, multiplier);
            scale.exponent.fill_row(region, i, right);
            for ((right, mask), half) in right.iter_mut().zip(mask).zip(half) {
                // Beyond the columns may be anything.
                *right = right.wrapping_neg() & 31;
                *mask = ((1u32 << *right) - 1) as i32;
                *half = *mask >> 1;
            }
        };
        let changes = scale.multiplier.is_per_row() || scale.exponent.is_per_row();
        match scale.rounding {
            Rounding::Twice => self.scale(region, offsets, acc, changes, fill, |x, [m, right, mask, half]| {
                let product = high_mul_below_one(x, m);
                (product >> (right & 31)) + i32::from(product & mask > half + i32::from(product < 0))
            }),
            Rounding::TwiceUp => self.scale(region, offsets, acc, changes, fill, |x, [m, right, mask, half]| {
                let product = high_mul_below_one(x, m);
                (product >> (right & 31)) + i32::from(product & mask > half)
            }),
            Rounding::Once => {
                self.scale(region, offsets, acc, changes, fill, |x, [m, right, ..]| scaled_once(x, m, -(right & 31)));
            }
        }
    }

    /// Turns each accumulator into `of` it and its parameters, after bias and offsets, before what is added last and the
    /// clamp. `fill` gives the parameters of a row, which may differ from those of the row before if that `changes`.
    #[inline(always)]
    fn scale<const W: usize, const P: usize>(
        &self,
        region: &Region,
        offsets: (i32, i32),
        acc: &mut [[i32; W]],
        changes: bool,
        fill: impl Fn(usize, &mut [[i32; W]; P]),
        of: impl Fn(i32, [i32; P]) -> i32,
    ) {
        let (min, max) = self.clamp;
        let of_cols = region.of_cols::<W>(offsets);
        let mut added = [0; W];
        let mut parameters = [[0; W]; P];
        for (i, acc) in acc.iter_mut().enumerate() {
            if i == 0 || self.bias.is_per_row() {
                self.bias.fill_row(region, i, &mut added);
                added.iter_mut().zip(&of_cols).for_each(|(added, of_col)| *added = added.wrapping_add(*of_col));
            }
            if i == 0 || changes {
                fill(i, &mut parameters);
            }
            let of_row = region.of_row(i, offsets);
            for j in 0..W {
                let sum = acc[j].wrapping_add(added[j]).wrapping_add(of_row);
                let mut p = [0; P];
                for (p, parameter) in p.iter_mut().zip(&parameters) {
                    *p = parameter[j];
                }
                acc[j] = of(sum, p).wrapping_add(self.offset_after).max(min).min(max);
            }
        }
    }
}
