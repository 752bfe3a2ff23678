//! The pipelines of products that end with floats in one go: offsets, a scale for each column, one for each row, a bias and a
//! clamp.
//!
//! Stages one by one pass over a tile each; this passes once, and gives the same. What is missing is done all the same, where
//! it changes nothing: a product with 1, a sum with -0.

use super::{Finish, Quick, Region, Stage, Store, Values};
#[cfg(target_arch = "x86_64")]
use crate::kernel::relay::Terms;
use crate::kernel::{FloatBlock, FloatClamp, FloatColumns, FloatRows, Loop, Vectors, whole_row};
use crate::matrix::{Offset, Output};
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

    /// Whether what offsets add to a region's sums may be left to this: those of rows may differ, those of columns may not.
    #[inline(always)]
    pub(super) fn take(region: &Region) -> bool {
        region.rescale.is_none() && region.col_offsets.uniform().is_some()
    }

    /// Finishes a tile of accumulators, to which offsets are still to be added; `terms` is room for what they add to each row.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(super) unsafe fn finish<const W: usize>(
        &self,
        store: &Store,
        region: &Region,
        acc: &[[i32; W]],
        terms: &mut [i32],
        vectors: Vectors,
    ) {
        fill_terms(region, 0, terms);
        let place = (region.rows.clone(), region.cols.clone());
        // SAFETY: this function's own promise.
        unsafe { self.finish_rows(store, region, place, &self.columns(region), (acc, terms), vectors) }
    }

    /// What the columns of a region have of their own.
    #[inline(always)]
    fn columns<const W: usize>(&self, region: &Region) -> FloatColumns<W> {
        // Where rows differ, each multiplies it.
        let a = region.row_offsets.uniform().unwrap_or(1);
        FloatColumns {
            added: region.of_cols((a, 0)),
            scales: self.scale.of_columns(region),
            biases: self.bias.of_columns(region),
        }
    }

    /// Finishes rows of sums, with what is added to each, that have their place in these rows and columns of the result, which are
    /// a region's.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    unsafe fn finish_rows<const W: usize>(
        &self,
        store: &Store,
        region: &Region,
        (rows, cols): (Range<usize>, Range<usize>),
        columns: &FloatColumns<W>,
        (sums, terms): (&[[i32; W]], &[i32]),
        vectors: Vectors,
    ) {
        let factors = self.factors.map_or(&[][..], |factors| &factors[rows.clone()]);
        let offsets = match region.row_offsets.offset {
            Offset::PerLine(offsets) => &offsets[rows.clone()],
            Offset::Uniform(_) => &[],
        };
        let floats = FloatRows { sums, terms, offsets, shift: region.row_offsets.shift, factors };
        // SAFETY: this function's own promise.
        let to = unsafe {
            match store {
                Store::F32(out) => FloatBlock::F32(out.block(rows, cols)),
                Store::Bf16(out) => FloatBlock::Bf16(out.block(rows, cols)),
                Store::F16(out) => FloatBlock::F16(out.block(rows, cols)),
                _ => unreachable!("these are the stores of floats"),
            }
        };
        vectors.dequantize(columns, floats, self.clamp, to);
    }
}

/// What is added to the sums of rows, from the region's row `first` on.
#[inline(always)]
fn fill_terms(region: &Region, first: usize, terms: &mut [i32]) {
    let b = region.col_offsets.uniform().expect("it takes the region");
    region.fill_row_terms(first, b, terms);
}

/// Floats that are the result, of a region that is finished part by part.
pub(crate) struct FloatParts<'a> {
    floats: &'a Floats<'a>,
    store: &'a Store<'a>,
    region: &'a Region<'a>,
}

impl<'a> FloatParts<'a> {
    /// None if the results are others, or columns have offsets of their own.
    #[inline(always)]
    pub(crate) fn new(finish: &'a Finish<'a>, region: &'a Region<'a>) -> Option<Self> {
        let Some(Quick::Floats(floats)) = &finish.quick else { return None };
        let (rows, cols) = finish.store.shape();
        assert!(region.rows.end <= rows && region.cols.end <= cols);
        Floats::take(region).then_some(Self { floats, store: &finish.store, region })
    }

    /// What the columns of a panel of `W` have of their own.
    #[inline(always)]
    pub(crate) fn columns<const W: usize>(&self, panel: usize) -> FloatColumns<W> {
        self.floats.columns(&self.region.part(self.cols::<W>(panel)))
    }

    /// Whether they are [`plain`](Self::plain) ones.
    #[inline(always)]
    pub(crate) fn are_plain(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.plain().is_some();
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// Those that are floats of 32 bits. None if they are others, or if rows add anything to sums besides how often they have what
    /// columns add, and differ.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn plain(&self) -> Option<PlainFloats<'_>> {
        let Store::F32(out) = self.store else { return None };
        let (a, b) = (self.region.row_offsets.uniform(), self.region.col_offsets.uniform()?);
        (a.is_some() || b == 0).then_some(PlainFloats { parts: self, out, offsets: (a.unwrap_or(0), b) })
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
        fill_terms(self.region, first, terms);
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
        unsafe { self.floats.finish_rows(self.store, self.region, place, columns, (sums, terms), vectors) }
    }

    /// Finishes all rows of sums, so many apart, as they lie there: to copy them to tiles takes longer than to make floats of them. In
    /// `terms` is computed what is added to each. If the results are no floats of 32 bits, nothing and false.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    pub(crate) unsafe fn finish_wide(&self, sums: &[i32], pitch: usize, terms: &mut [i32], vectors: Vectors) -> bool {
        let (Store::F32(out), rows) = (self.store, self.region.rows.len()) else { return false };
        let terms = &mut terms[..rows];
        self.fill_terms(0, terms);
        vectors.run(WideFloats { parts: self, out, sums, pitch, terms });
        true
    }
}

/// See [`FloatParts::finish_wide`].
struct WideFloats<'w> {
    parts: &'w FloatParts<'w>,
    out: &'w Output<'w, f32>,
    sums: &'w [i32],
    pitch: usize,
    terms: &'w [i32],
}

impl Loop for WideFloats<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        /// Columns that are finished together.
        const SOME: usize = 64;
        let Self { parts: FloatParts { floats, region, .. }, out, sums, pitch, terms } = self;
        let rows = region.rows.clone();
        for (i, first) in region.cols.clone().step_by(SOME).enumerate() {
            let (cols, columns) = (first..region.cols.end.min(first + SOME), self.parts.columns::<SOME>(i));
            // SAFETY: by the promise of `finish_wide`, and parts of different columns.
            let to = unsafe { out.block(rows.clone(), cols.clone()) };
            for (row, to) in to.enumerate() {
                let factor = floats.factors.map_or(1.0, |factors| factors[rows.start + row]);
                let times = match region.row_offsets.offset {
                    Offset::PerLine(offsets) => offsets[rows.start + row].wrapping_sub(region.row_offsets.shift),
                    Offset::Uniform(_) => 1,
                };
                let of_row = (terms[row], times, factor);
                let sums = &sums[row * pitch + i * SOME..];
                match (sums.first_chunk(), to.first_chunk_mut()) {
                    (Some(sums), Some(to)) => whole_row(&columns, sums, of_row, floats.clamp, to),
                    _ => {
                        let (mut some, mut made) = ([0; SOME], [0.0; SOME]);
                        some[..to.len()].copy_from_slice(&sums[..to.len()]);
                        whole_row(&columns, &some, of_row, floats.clamp, &mut made);
                        to.copy_from_slice(&made[..to.len()]);
                    }
                }
            }
        }
    }
}

/// Parts of a result in which sums become floats the same way in all rows, but for a factor, and how often they have what columns add.
#[cfg(target_arch = "x86_64")]
pub(crate) struct PlainFloats<'a> {
    pub parts: &'a FloatParts<'a>,
    pub out: &'a Output<'a, f32>,
    offsets: (i32, i32),
}

#[cfg(target_arch = "x86_64")]
impl PlainFloats<'_> {
    /// Where so many rows begin, and how many elements they are apart.
    #[inline(always)]
    pub(crate) fn place(&self, rows: usize) -> (*mut f32, usize) {
        let region = self.parts.region;
        assert!(rows <= region.rows.len());
        let (first, stride) = self.out.place();
        (first.wrapping_add(region.rows.start * stride + region.cols.start), stride)
    }

    /// Whether columns add anything to sums.
    #[inline(always)]
    pub(crate) fn have_added(&self) -> bool {
        self.offsets.0 != 0
    }

    /// What is added to the sums of so many rows.
    #[inline(always)]
    pub(crate) fn terms(&self, rows: usize) -> Terms<'_> {
        let Region { row_sums, depth, .. } = *self.parts.region;
        assert!(row_sums.is_empty() || row_sums.len() >= rows);
        let (a, b) = self.offsets;
        Terms { sums: row_sums, depth: a.wrapping_mul(depth as i32), times: b, bias: &[] }
    }

    /// How often each row has what columns add, and so much more, if rows differ.
    #[inline(always)]
    pub(crate) fn times(&self) -> Option<(&[i32], i32)> {
        let Region { row_offsets, rows, .. } = self.parts.region;
        match row_offsets.offset {
            Offset::PerLine(offsets) => Some((&offsets[rows.clone()], row_offsets.shift)),
            Offset::Uniform(_) => None,
        }
    }

    /// What floats of each row are multiplied by, if that is not 1.
    #[inline(always)]
    pub(crate) fn factors(&self) -> Option<&[f32]> {
        self.parts.floats.factors.map(|factors| &factors[self.parts.region.rows.clone()])
    }

    /// What they are confined to, if that leaves any out.
    #[inline(always)]
    pub(crate) fn clamp(&self) -> Option<FloatClamp> {
        let clamp @ FloatClamp { min, max } = self.parts.floats.clamp;
        (min > f32::NEG_INFINITY || max < f32::INFINITY).then_some(clamp)
    }

    pub(crate) fn cols(&self) -> usize {
        self.parts.region.cols.len()
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
