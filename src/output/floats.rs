//! The pipelines of products that end with floats in one go: offsets, a scale for each column, one for each row, a bias and a
//! clamp.
//!
//! Stages one by one pass over a tile each; this passes once, and gives the same. What is missing is done all the same, where
//! it changes nothing: a product with 1, a sum with -0.

use super::{Region, Stage, Store, Values};
use crate::kernel::{FloatClamp, FloatColumns, FloatRows, Vectors};
use crate::matrix::Output;

/// DEQUANTIZE, then MULTIPLY_F32, BIAS_F32 and CLAMP_F32, each of which may be missing.
#[derive(Clone, Copy)]
pub(crate) struct Floats<'a> {
    /// Not per row.
    scale: Values<'a, f32>,
    /// One for each row, if they are not 1.
    factors: Option<&'a [f32]>,
    /// Not per row.
    bias: Values<'a, f32>,
    clamp: FloatClamp,
}

impl<'a> Floats<'a> {
    /// None if the pipeline is another one.
    pub(super) fn new(stages: &[Stage<'a>], store: &Store) -> Option<Self> {
        let (Store::F32(_) | Store::Bf16(_) | Store::F16(_), [Stage::Dequantize(scale), stages @ ..]) = (store, stages)
        else {
            return None;
        };
        let (scale, factors, stages) = match (*scale, stages) {
            (Values::PerRow(_), [Stage::MultiplyF32(_), ..]) => return None,
            (Values::PerRow(factors), _) => (Values::Uniform(1.0), Some(factors), stages),
            (scale, [Stage::MultiplyF32(Values::PerRow(factors)), stages @ ..]) => (scale, Some(*factors), stages),
            (scale, _) => (scale, None, stages),
        };
        let (bias, stages) = match stages {
            [Stage::BiasF32(Values::PerRow(_)), ..] => return None,
            [Stage::BiasF32(bias), stages @ ..] => (*bias, stages),
            _ => (Values::Uniform(-0.0), stages),
        };
        let clamp = match *stages {
            [] => FloatClamp { min: f32::NEG_INFINITY, max: f32::INFINITY },
            [Stage::ClampF32 { min, max }] => FloatClamp { min, max },
            _ => return None,
        };
        Some(Self { scale, factors, bias, clamp })
    }

    /// How many integers a tile of so many accumulators, in so many rows, may have to be finished in.
    #[inline(always)]
    pub(super) fn room(store: &Store, acc: usize, rows: usize) -> usize {
        rows + if matches!(store, Store::F32(_)) { 0 } else { acc }
    }

    /// Finishes a tile of accumulators, to which uniform offsets are still to be added. In `room` what they add to rows is
    /// computed, and floats that become narrower.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(super) unsafe fn finish<const W: usize>(
        &self,
        store: &Store,
        region: &Region,
        offsets: (i32, i32),
        acc: &[[i32; W]],
        room: &mut [i32],
        vectors: Vectors,
    ) {
        let (terms, room) = room.split_at_mut(acc.len());
        region.fill_terms(0, offsets, terms);
        let columns = FloatColumns {
            added: region.of_cols(offsets),
            scales: self.scale.of_columns(region),
            biases: self.bias.of_columns(region),
        };
        let factors = self.factors.map_or(&[][..], |factors| &factors[region.rows.clone()]);
        let rows = FloatRows { sums: acc, terms, factors };
        if let Store::F32(out) = store {
            // SAFETY: this function's own promise.
            let to = unsafe { out.block(region.rows.clone(), region.cols.clone()) };
            return vectors.dequantize(&columns, rows, self.clamp, to);
        }
        let room = &mut room.as_chunks_mut::<W>().0[..acc.len()];
        // SAFETY: the floats lie where integers of the same size do, which nobody uses in the meantime.
        unsafe {
            let floats = Output::from_raw(room.as_mut_ptr().cast(), (acc.len(), W), W).expect("it is a slice");
            vectors.dequantize(&columns, rows, self.clamp, floats.block(0..acc.len(), 0..W));
        }
        // SAFETY: this function's own promise.
        unsafe { store.write(region, room) }
    }
}

impl Values<'_, f32> {
    /// The parameters of a region's columns, and beyond them, anything.
    #[inline(always)]
    fn of_columns<const W: usize>(&self, region: &Region) -> [f32; W] {
        let mut floats = [0.0; W];
        match *self {
            Values::Uniform(x) => floats = [x; W],
            Values::PerRow(_) => unreachable!("none of these has one for each row"),
            Values::PerCol(values) => floats.iter_mut().zip(&values[region.cols.clone()]).for_each(|(to, x)| *to = *x),
        }
        floats
    }
}
