//! Floats of any kind: of 16 bits, or of rows that differ in what they have of what columns add.

use super::beside::Outcome;
use super::quarters::{self, Due, InPairs};
use super::walk::{Copied, Way};
use crate::kernel::relay::WIDTH;
use crate::kernel::{FloatColumns, Tile, avx512vnni};
use crate::output::FloatParts;
use std::ops::Range;

/// The rows' first and the columns of a tile, and what its columns have of their own.
pub(super) struct OfFloats(usize, Range<usize>, FloatColumns<WIDTH>);

impl Outcome for &FloatParts<'_> {
    type Open = OfFloats;
    const IS_SLICED: bool = false;
    const IS_BEFORE: bool = false;

    #[inline(always)]
    unsafe fn multiply_first(&mut self, tile: &Tile, way: Way, copied: &mut Option<&mut Copied>) -> (usize, usize) {
        let most = if tile.lhs.runs() == 1 { quarters::most(tile, way) } else { (0, 0) };
        if most.0 > 0 && most.1 > 0 {
            // SAFETY: this function's own promise.
            unsafe { quarters::multiply(tile, way, copied.as_deref_mut(), &mut ByQuarters(self), most) }
        }
        most
    }

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        self.cols::<WIDTH>(panel).len()
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        FloatParts::fill_terms(self, rows.start, terms);
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> OfFloats {
        OfFloats(rows.start, self.cols::<WIDTH>(panel), self.columns(panel))
    }

    #[inline(always)]
    unsafe fn finish(&self, open: &mut OfFloats, done: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        let OfFloats(first, cols, columns) = open;
        let place = (*first + done, cols.clone());
        // SAFETY: this function's own promise.
        unsafe { FloatParts::finish(self, place, columns, (sums, terms), avx512vnni::ROW.vectors) }
    }
}

struct ByQuarters<'p, 'a>(&'p FloatParts<'a>);

impl InPairs for ByQuarters<'_, '_> {
    const WINDOWS: bool = false;
    const TERMS: bool = true;
    const BEGINS: bool = false;
    type Tile = OfFloats;
    type Pairs<'p>
        = Fours<'p>
    where
        Self: 'p;

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        FloatParts::fill_terms(self.0, rows.start, &mut terms[..rows.len()]);
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> OfFloats {
        // SAFETY: this function's own promise.
        unsafe { self.0.open(rows, panel) }
    }

    #[inline(always)]
    unsafe fn pairs<'p>(
        &'p self,
        tile: &'p OfFloats,
        sums: &'p [[i32; WIDTH]],
        places: &'p [u32],
        terms: &'p [i32],
        parts: usize,
    ) -> Fours<'p> {
        Fours { floats: self.0, tile, sums: &sums[..places.len()], terms, parts, due: 0, done: 0 }
    }
}

/// Rows of a tile, of which so many are done: four at a time, for each call takes as long as some rows.
struct Fours<'p> {
    floats: &'p FloatParts<'p>,
    tile: &'p OfFloats,
    sums: &'p [[i32; WIDTH]],
    terms: &'p [i32],
    parts: usize,
    due: usize,
    done: usize,
}

impl Due<OfFloats> for Fours<'_> {
    #[inline(always)]
    unsafe fn finish_due(&mut self) {
        self.due += self.sums.len();
        // Tiles have a multiple of four.
        let rows = self.done..(self.done + self.due / self.parts / 4 * 4).min(self.sums.len());
        if !rows.is_empty() {
            self.due -= rows.len() * self.parts;
            self.done = rows.end;
            let OfFloats(first, cols, columns) = self.tile;
            let place = (first + rows.start, cols.clone());
            let of_rows = (&self.sums[rows.clone()], &self.terms[rows]);
            // SAFETY: this function's own promise.
            unsafe { self.floats.finish(place, columns, of_rows, avx512vnni::ROW.vectors) }
        }
    }

    #[inline(always)]
    unsafe fn end(self, _: &OfFloats) {}
}
