//! From accumulators to the result: a pipeline of stages, then a store.

use crate::matrix::{Output, Runs};
use std::ops::Range;

mod quantize_down;

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
    unsafe fn write(&self, row: usize, cols: Range<usize>, acc: &[i32]) {
        // SAFETY: this function's own promise, for each.
        unsafe {
            match self {
                Store::I32(out) => out.row(row, cols.clone()).copy_from_slice(&acc[..cols.len()]),
                Store::U8(out) => {
                    for (to, &x) in out.row(row, cols).iter_mut().zip(acc) {
                        *to = to_u8(x);
                    }
                }
                Store::F32(out, scale) => {
                    for (to, &x) in out.row(row, cols).iter_mut().zip(acc) {
                        *to = x as f32 * scale;
                    }
                }
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
    let cols = region.cols.clone();
    // Whole vectors only: what lies beyond the columns is computed, but not stored.
    let lanes = cols.len().next_multiple_of(8).min(W);
    let col_terms = &region.col_terms[..lanes];
    for (i, (row, acc)) in region.rows.clone().zip(acc.as_chunks_mut::<W>().0).enumerate() {
        let acc = &mut acc[..lanes];
        let row_term = region.row_terms.get(i).copied().unwrap_or(0);
        let terms = col_terms.iter().map(|term| term.wrapping_add(row_term));
        match (finish.stages, &finish.store) {
            // EightBitIntGemm's pipeline, without a detour through memory.
            ([Stage::QuantizeDown(stage)], Store::U8(out)) => {
                // SAFETY: this function's own promise.
                let to = unsafe { out.row(row, cols.clone()) };
                for ((to, x), term) in to.iter_mut().zip(&*acc).zip(terms) {
                    *to = to_u8(stage.of(x.wrapping_add(term)));
                }
            }
            (stages, store) => {
                acc.iter_mut().zip(terms).for_each(|(x, term)| *x = x.wrapping_add(term));
                stages.iter().for_each(|stage| stage.apply(acc));
                // SAFETY: this function's own promise.
                unsafe { store.write(row, cols.clone(), acc) }
            }
        }
    }
}
