//! Plain floats: what tiles that are multiplied become most often.

use super::PANELS;
use super::beside::Outcome;
use super::registers::Place;
use super::session::HEIGHT;
use crate::kernel::dequantize::{FloatClamp, FloatColumns};
use crate::kernel::relay::{Terms, WIDTH};
use crate::kernel::results::Results;
use crate::output::PlainFloats;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Room for what the columns of some panels have of their own.
pub(super) type Columns = [MaybeUninit<FloatColumns<WIDTH>>; PANELS];

/// Those of so many rows, of which none differs in how often it has what columns add.
pub(super) struct Plain<'a> {
    floats: &'a PlainFloats<'a>,
    terms: Terms<'a>,
    /// Where the first row begins.
    to: Place,
    have_added: bool,
    /// What the columns of the panels at hand have of their own, from this panel on.
    columns: &'a mut Columns,
    first: usize,
}

/// A tile: its rows' first, its panel of those at hand, how many columns it has, and where it goes.
pub(super) struct Open {
    row: usize,
    panel: usize,
    cols: usize,
    to: Place,
}

impl<'a> Plain<'a> {
    /// None if rows differ.
    pub(super) fn new(floats: &'a PlainFloats<'a>, rows: usize, columns: &'a mut Columns) -> Option<Self> {
        floats.times().is_none().then(|| Self {
            floats,
            terms: floats.terms(rows),
            to: Place::of_rows(Results::<WIDTH>::place(floats, rows)),
            have_added: floats.have_added(),
            columns,
            first: 0,
        })
    }

    /// # Safety
    /// As for [`Outcome::finish`].
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn make<const TERMS: bool, const FACTORS: bool, const CLAMPED: bool>(
        &self,
        open: &Open,
        done: usize,
        sums: &[[i32; WIDTH]],
        terms: &[i32],
    ) {
        let first = open.row + done;
        let factors = self.floats.factors().map_or(&[][..], |factors| &factors[first..first + sums.len()]);
        let clamp = self.floats.clamp().unwrap_or(FloatClamp { min: f32::NEG_INFINITY, max: f32::INFINITY });
        let (min, max) = (_mm512_set1_ps(clamp.min), _mm512_set1_ps(clamp.max));
        let mask = u32::MAX >> (WIDTH - open.cols);
        let masks = [mask as u16, (mask >> HEIGHT) as u16];
        let floats = |from: &[f32; WIDTH], v: usize| {
            let from: &[f32; HEIGHT] = from[HEIGHT * v..].first_chunk().expect("two vectors");
            // SAFETY: the reference covers what is read.
            unsafe { _mm512_loadu_ps(from.as_ptr()) }
        };
        // SAFETY: whoever opened the tile wrote this.
        let columns = unsafe { self.columns[open.panel].assume_init_ref() };
        let scales = [floats(&columns.scales, 0), floats(&columns.scales, 1)];
        let biases = [floats(&columns.biases, 0), floats(&columns.biases, 1)];
        for (i, (sums, &term)) in sums.iter().zip(terms).enumerate() {
            let to = open.to.row(done + i).cast::<f32>();
            let factor = _mm512_set1_ps(if FACTORS { factors[i] } else { 1.0 });
            for (v, sums) in sums.as_chunks::<HEIGHT>().0.iter().enumerate() {
                // SAFETY: the reference covers what is read; and this function's own promise.
                unsafe {
                    let mut sums = _mm512_loadu_si512(sums.as_ptr().cast());
                    if TERMS {
                        sums = _mm512_add_epi32(sums, _mm512_set1_epi32(term));
                    }
                    let mut x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), scales[v]);
                    if FACTORS {
                        x = _mm512_mul_ps(x, factor);
                    }
                    x = _mm512_add_ps(x, biases[v]);
                    if CLAMPED {
                        // Which of two zeros, and that NaN stays, is what the order of operands says.
                        x = _mm512_min_ps(max, _mm512_max_ps(min, x));
                    }
                    _mm512_mask_storeu_ps(to.wrapping_add(HEIGHT * v), masks[v], x);
                }
            }
        }
    }
}

impl Outcome for Plain<'_> {
    type Open = Open;
    const IS_SLICED: bool = false;
    const TAKES_SHORT: bool = true;
    const IS_BEFORE: bool = false;

    #[inline(always)]
    fn begin(&mut self, panels: Range<usize>) {
        self.first = panels.start;
        for (to, panel) in self.columns.iter_mut().zip(panels) {
            to.write(self.floats.columns(panel));
        }
    }

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        WIDTH.min(self.floats.cols() - panel * WIDTH)
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        self.terms.write(rows.start, terms);
    }

    #[inline(always)]
    fn added(&self, panel: usize) -> Option<Place> {
        // What columns have of their own begins with it.
        let at = || self.columns[panel - self.first].as_ptr().cast_mut().cast();
        self.have_added.then(|| Place { at: at(), pitch: 0 })
    }

    #[inline(always)]
    fn place(&self, row: usize, panel: usize) -> Option<Place> {
        Some(self.to.below(row).beside(panel))
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Open {
        let to = self.to.below(rows.start).beside(panel);
        // SAFETY: this function's own promise.
        Open { row: rows.start, panel: panel - self.first, cols: unsafe { self.width(panel) }, to }
    }

    #[inline(always)]
    unsafe fn finish(&self, open: &mut Open, done: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        let have_terms = self.terms.times != 0;
        // SAFETY: this function's own promise.
        unsafe {
            match (have_terms, self.floats.factors().is_some(), self.floats.clamp().is_some()) {
                (false, false, false) => self.make::<false, false, false>(open, done, sums, terms),
                (false, false, true) => self.make::<false, false, true>(open, done, sums, terms),
                (false, true, false) => self.make::<false, true, false>(open, done, sums, terms),
                (false, true, true) => self.make::<false, true, true>(open, done, sums, terms),
                (true, false, false) => self.make::<true, false, false>(open, done, sums, terms),
                (true, false, true) => self.make::<true, false, true>(open, done, sums, terms),
                (true, true, false) => self.make::<true, true, false>(open, done, sums, terms),
                (true, true, true) => self.make::<true, true, true>(open, done, sums, terms),
            }
        }
    }
}
