//! A single column of results without gaps is a row just as well, of which whole vectors are finished together.

use super::{Finish, QuantizeDown, Quick, Scale, Stage, Store, Values};

/// Stages that a pipeline has at most for which there is a quicker way.
const MOST: usize = 4;

impl<'a> Finish<'a> {
    /// That of a single column, as a row, to be finished in one go only. None if there are gaps in it, or there is no such way.
    pub(crate) fn turned(&self) -> Option<Self> {
        let mut stages = [Stage::Clamp { min: i32::MIN, max: i32::MAX }; MOST];
        let stages = stages.get_mut(..self.stages.len())?;
        for (to, stage) in stages.iter_mut().zip(self.stages) {
            *to = stage.turned()?;
        }
        let store = self.store.turned()?;
        let quick = Quick::new(stages, &store);
        (quick.is_some() || self.sums().is_some()).then_some(Self { stages: &[], store, quick, kept: None })
    }
}

impl<'a> Stage<'a> {
    /// None of stages that no quicker way has.
    fn turned(&self) -> Option<Self> {
        Some(match *self {
            Stage::Bias(bias) => Stage::Bias(bias.turned()),
            Stage::QuantizeDown(QuantizeDown { offset, multiplier, shift }) => Stage::QuantizeDown(QuantizeDown {
                offset: offset.turned(),
                multiplier: multiplier.turned(),
                shift: shift.turned(),
            }),
            Stage::Scale(scale) => {
                let (multiplier, exponent) = (scale.multiplier.turned(), scale.exponent.turned());
                Stage::Scale(Scale { multiplier, exponent, ..scale })
            }
            Stage::ScaleF32 { scale, offset_after } => Stage::ScaleF32 { scale: scale.turned(), offset_after },
            Stage::Dequantize(scale) => Stage::Dequantize(scale.turned()),
            Stage::MultiplyF32(scale) => Stage::MultiplyF32(scale.turned()),
            Stage::BiasF32(bias) => Stage::BiasF32(bias.turned()),
            Stage::Clamp { .. } | Stage::ClampF32 { .. } => *self,
            _ => return None,
        })
    }
}

impl<T: Copy> Values<'_, T> {
    /// Of the only column there is a single parameter.
    fn turned(self) -> Self {
        match self {
            Values::PerCol(values) => Values::Uniform(values[0]),
            Values::PerRow(values) => Values::PerCol(values),
            Values::Uniform(_) => self,
        }
    }
}

impl Store<'_> {
    fn turned(&self) -> Option<Self> {
        Some(match self {
            Store::I32(out) => Store::I32(out.turned()?),
            Store::U8(out, cast) => Store::U8(out.turned()?, *cast),
            Store::I8(out, cast) => Store::I8(out.turned()?, *cast),
            Store::I16(out, cast) => Store::I16(out.turned()?, *cast),
            Store::F32(out) => Store::F32(out.turned()?),
            Store::Bf16(out) => Store::Bf16(out.turned()?),
            Store::F16(out) => Store::F16(out.turned()?),
        })
    }
}
