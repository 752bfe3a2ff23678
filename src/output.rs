//! From accumulators to the result: a pipeline of stages, then a store.

use crate::matrix::{Output, Runs};
use std::ops::Range;

#[cfg_attr(not(test), expect(dead_code, reason = "the stage to come"))]
mod logistic;
mod quantize_down;
pub(crate) mod scale;
#[cfg_attr(not(test), expect(dead_code, reason = "the stage to come"))]
mod tanh;

pub use quantize_down::QuantizeDown;

/// One step of a pipeline, from i32 to i32.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// Scales to 8 bits as gemmlowp's `EightBitIntGemm` does.
    QuantizeDown(QuantizeDown),
}

impl Stage {
    #[inline(always)]
    fn apply(&self, acc: &mut [i32]) {
        match self {
            Stage::QuantizeDown(stage) => acc.iter_mut().for_each(|x| *x = stage.of(*x)),
        }
    }
}

/// Where the results go, and as what: the last step of a pipeline.
pub enum Store<'a> {
    /// As they are.
    I32(Output<'a, i32>),
    /// Confined to 0..=255.
    U8(Output<'a, u8>),
    /// Rounded to f32, then multiplied by a scale, which rounds again.
    F32(Output<'a, f32>, f32),
}

impl Store<'_> {
    /// Rows and columns of the result.
    pub(crate) fn shape(&self) -> (usize, usize) {
        match self {
            Store::I32(out) => (out.rows, out.cols),
            Store::U8(out) => (out.rows, out.cols),
            Store::F32(out, _) => (out.rows, out.cols),
        }
    }

    /// Where the result's bytes lie.
    pub(crate) fn runs(&self) -> Runs {
        match self {
            Store::I32(out) => out.runs(),
            Store::U8(out) => out.runs(),
            Store::F32(out, _) => out.runs(),
        }
    }

    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    unsafe fn write<const W: usize>(&self, region: &Region, acc: &[i32]) {
        let (rows, cols) = (region.rows.clone(), region.cols.clone());
        // SAFETY: this function's own promise, for each.
        unsafe {
            match self {
                Store::I32(out) => each::<W, _>(out.block(rows, cols), acc, |x| x),
                Store::U8(out) => each::<W, _>(out.block(rows, cols), acc, to_u8),
                Store::F32(out, scale) => each::<W, _>(out.block(rows, cols), acc, |x| x as f32 * scale),
            }
        }
    }
}

#[inline(always)]
fn to_u8(x: i32) -> u8 {
    x.clamp(0, 255) as u8
}

/// What is done with every accumulator of a product.
pub struct Finish<'a> {
    stages: &'a [Stage],
    store: Store<'a>,
}

impl<'a> Finish<'a> {
    /// The stages in order, then the store.
    pub fn new(stages: &'a [Stage], store: Store<'a>) -> Self {
        Self { stages, store }
    }

    pub(crate) fn store(&self) -> &Store<'a> {
        &self.store
    }
}

/// A tile's place in the result, and what the zero points add to its accumulators.
pub(crate) struct Region<'a> {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
    /// One for each row of the region; empty for zeros.
    pub row_terms: &'a [i32],
    /// One for each line of the panel.
    pub col_terms: &'a [i32],
}

/// Turns a tile of accumulators, `width` to a row, into a part of the result.
///
/// # Safety
/// The CPU has the features that the function was compiled for. Nobody else uses this part of the result.
pub(crate) type FinishFn = unsafe fn(finish: &Finish, region: &Region, acc: &mut [i32]);

/// # Safety
/// Nobody else uses this part of the result.
#[inline(always)]
pub(crate) unsafe fn finish<const W: usize>(finish: &Finish, region: &Region, acc: &mut [i32]) {
    add_terms::<W>(region, acc);
    if let ([Stage::QuantizeDown(stage)], Store::U8(out)) = (finish.stages, &finish.store) {
        // EightBitIntGemm's pipeline, in one go.
        let stage = *stage;
        // SAFETY: this function's own promise.
        let to = unsafe { out.block(region.rows.clone(), region.cols.clone()) };
        return each::<W, _>(to, acc, |x| to_u8(stage.of(x)));
    }
    let lanes = region.cols.len();
    for acc in acc.as_chunks_mut::<W>().0.iter_mut().take(region.rows.len()) {
        finish.stages.iter().for_each(|stage| stage.apply(&mut acc[..lanes]));
    }
    // SAFETY: this function's own promise.
    unsafe { finish.store.write::<W>(region, acc) }
}

#[inline(always)]
fn add_terms<const W: usize>(region: &Region, acc: &mut [i32]) {
    let col_terms: &[i32; W] = region.col_terms.first_chunk().expect("a term for each line of the panel");
    for (i, acc) in acc.as_chunks_mut::<W>().0.iter_mut().take(region.rows.len()).enumerate() {
        let row_term = region.row_terms.get(i).copied().unwrap_or(0);
        (0..W).for_each(|j| acc[j] = acc[j].wrapping_add(col_terms[j]).wrapping_add(row_term));
    }
}

/// Writes `of` each accumulator to its place. A loop over slices becomes vectors; one over arrays is unrolled first, and
/// then seldom does.
#[inline(always)]
fn each<'a, const W: usize, T: 'a>(rows: impl Iterator<Item = &'a mut [T]>, acc: &[i32], of: impl Fn(i32) -> T) {
    for (to, acc) in rows.zip(acc.as_chunks::<W>().0) {
        to.iter_mut().zip(acc).for_each(|(to, &x)| *to = of(x));
    }
}
