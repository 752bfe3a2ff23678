//! The pipelines of products that end with floats in one go: offsets, a scale for each column, one for each row, a bias and a
//! clamp.
//!
//! Stages one by one pass over a tile each; this passes once, and gives the same. What is missing is done all the same, where
//! it changes nothing: a product with 1, a sum with -0.

use super::{Finish, Quick, Region, Stage, Store, Values};
use crate::kernel::{FloatBlock, FloatClamp, FloatColumns, FloatRows, Vectors};
use std::ops::Range;

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

    /// Finishes a tile of accumulators, to which uniform offsets are still to be added; `terms` is room for what they add to
    /// each row.
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
        terms: &mut [i32],
        vectors: Vectors,
    ) {
        region.fill_terms(0, offsets, terms);
        let columns = self.columns(region, offsets);
        let place = (region.rows.clone(), region.cols.clone());
        // SAFETY: this function's own promise.
        unsafe { self.finish_rows(store, place, &columns, (acc, terms), vectors) }
    }

    /// What the columns of a region have of their own.
    #[inline(always)]
    fn columns<const W: usize>(&self, region: &Region, offsets: (i32, i32)) -> FloatColumns<W> {
        FloatColumns {
            added: region.of_cols(offsets),
            scales: self.scale.of_columns(region),
            biases: self.bias.of_columns(region),
        }
    }

    /// Finishes rows of sums, with what is added to each, that have their place in these rows and columns of the result.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    unsafe fn finish_rows<const W: usize>(
        &self,
        store: &Store,
        (rows, cols): (Range<usize>, Range<usize>),
        columns: &FloatColumns<W>,
        (sums, terms): (&[[i32; W]], &[i32]),
        vectors: Vectors,
    ) {
        let factors = self.factors.map_or(&[][..], |factors| &factors[rows.clone()]);
        // SAFETY: this function's own promise.
        let to = unsafe {
            match store {
                Store::F32(out) => FloatBlock::F32(out.block(rows, cols)),
                Store::Bf16(out) => FloatBlock::Bf16(out.block(rows, cols)),
                Store::F16(out) => FloatBlock::F16(out.block(rows, cols)),
                _ => unreachable!("these are the stores of floats"),
            }
        };
        vectors.dequantize(columns, FloatRows { sums, terms, factors }, self.clamp, to);
    }
}

/// Floats that are the result, of a region that is finished part by part.
pub(crate) struct FloatParts<'a> {
    floats: &'a Floats<'a>,
    store: &'a Store<'a>,
    region: &'a Region<'a>,
    offsets: (i32, i32),
}

impl<'a> FloatParts<'a> {
    /// None if the results are others, or lines have offsets of their own.
    #[inline(always)]
    pub(crate) fn new(finish: &'a Finish<'a>, region: &'a Region<'a>) -> Option<Self> {
        let Some(Quick::Floats(floats)) = &finish.quick else { return None };
        if region.rescale.is_some() {
            return None;
        }
        let offsets = region.uniform()?;
        let (rows, cols) = finish.store.shape();
        assert!(region.rows.end <= rows && region.cols.end <= cols);
        Some(Self { floats, store: &finish.store, region, offsets })
    }

    /// What the columns of a panel of `W` have of their own.
    #[inline(always)]
    pub(crate) fn columns<const W: usize>(&self, panel: usize) -> FloatColumns<W> {
        self.floats.columns(&self.region.part(self.cols::<W>(panel)), self.offsets)
    }

    /// Which columns of the result are those of a panel.
    #[inline(always)]
    pub(crate) fn cols<const W: usize>(&self, panel: usize) -> Range<usize> {
        let start = self.region.cols.start + panel * W;
        start..self.region.cols.end.min(start + W)
    }

    /// What is added to the sums of so many rows, from the region's row `first` on.
    #[inline(always)]
    pub(crate) fn fill_terms(&self, first: usize, terms: &mut [i32]) {
        self.region.fill_terms(first, self.offsets, terms);
    }

    /// Finishes rows of a panel, from the region's row `first` on, with their sums and what is added to each.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(crate) unsafe fn finish<const W: usize>(
        &self,
        (first, cols): (usize, Range<usize>),
        columns: &FloatColumns<W>,
        (sums, terms): (&[[i32; W]], &[i32]),
        vectors: Vectors,
    ) {
        let start = self.region.rows.start + first;
        let place = (start..start + sums.len(), cols);
        // SAFETY: this function's own promise.
        unsafe { self.floats.finish_rows(self.store, place, columns, (sums, terms), vectors) }
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
