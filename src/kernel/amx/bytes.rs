//! Bytes: what becomes of the tiles of a quantized layer.

use super::beside::Outcome;
use super::quarters::{self, Due, InPairs};
use super::walk::{Copied, Way};
use crate::kernel::Tile;
use crate::kernel::panel::Panel;
use crate::kernel::relay::{Strip as Job, WIDTH};
use crate::kernel::requantize::Rule;
use crate::kernel::requantize::avx512::{ByKind, Finisher, Pairs, by_kind};
use crate::matrix::Block;
use std::ops::Range;

#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub job: &'a Job<'a>,
    pub has_terms: bool,
}

impl<'a> Bytes<'a> {
    /// # Safety
    /// There is such a panel.
    #[inline(always)]
    unsafe fn panel(&self, panel: usize) -> &'a Panel {
        // SAFETY: this function's own promise, and that made to a relay.
        unsafe { self.job.result.panels[self.job.panels.start + panel].assume_init_ref() }
    }

    /// Where rows of a panel go.
    ///
    /// # Safety
    /// There is such a panel, and nobody else uses this part of the result.
    #[inline(always)]
    unsafe fn place(&self, rows: Range<usize>, panel: usize) -> Block<'a, u8> {
        let job = self.job;
        let col = job.col + panel * WIDTH;
        // SAFETY: this function's own promise.
        unsafe {
            let cols = col..col + self.panel(panel).cols();
            job.out.block(job.row + rows.start..job.row + rows.end, cols)
        }
    }

    /// What rows add.
    #[inline(always)]
    fn fill(&self, rows: Range<usize>, terms: &mut [i32]) {
        terms.iter_mut().zip(rows).for_each(|(term, row)| *term = self.job.terms.of(row));
    }

    /// How many strips of rows are multiplied a quarter of a step after another, and by how many panels: as [`quarters::most`], of those that are
    /// rounded in 65536ths.
    #[inline]
    pub(super) fn most_by_quarters(&self, tile: &Tile, way: Way) -> (usize, usize) {
        // SAFETY: there is a panel; no tile is without columns.
        let are_rounded = || !matches!(unsafe { self.panel(0) }.rule, Rule::Down);
        if !self.job.panels.is_empty() && are_rounded() { quarters::most(tile, way) } else { (0, 0) }
    }

    /// Multiplies those.
    ///
    /// # Safety
    /// As for [`multiply`](super::beside::multiply).
    #[inline]
    pub(super) unsafe fn multiply_by_quarters(
        &self,
        tile: &Tile,
        way: Way,
        copied: Option<&mut Copied>,
        most: (usize, usize),
    ) {
        struct To<'a>(&'a Tile<'a>, Way, Option<&'a mut Copied>, &'a Bytes<'a>, (usize, usize));

        impl ByKind for To<'_> {
            type Outcome = ();

            #[inline(always)]
            fn of<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(self) {
                let To(tile, way, copied, bytes, most) = self;
                // SAFETY: the promise made to who makes this.
                unsafe {
                    match tile.lhs.runs() {
                        1 => {
                            let mut bytes = ByQuarters::<false, TERMS, SIGNS, SIGNED, CONFINED>(bytes);
                            quarters::multiply(tile, way, copied, &mut bytes, most)
                        }
                        _ => {
                            let mut bytes = ByQuarters::<true, TERMS, SIGNS, SIGNED, CONFINED>(bytes);
                            quarters::multiply(tile, way, copied, &mut bytes, most)
                        }
                    }
                }
            }
        }

        if most.0 > 0 && most.1 > 0 {
            // SAFETY: there is such a panel.
            let panel = unsafe { self.panel(0) };
            by_kind(To(tile, way, copied, self, most), panel, self.has_terms);
        }
    }
}

impl<'a> Outcome for Bytes<'a> {
    type Open = Finisher<'a>;
    const IS_SLICED: bool = true;
    const IS_BEFORE: bool = false;

    #[inline(always)]
    unsafe fn multiply_first(&mut self, tile: &Tile, way: Way, copied: &mut Option<&mut Copied>) -> (usize, usize) {
        let most = self.most_by_quarters(tile, way);
        // SAFETY: this function's own promise.
        unsafe { self.multiply_by_quarters(tile, way, copied.as_deref_mut(), most) }
        most
    }

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        // SAFETY: this function's own promise.
        unsafe { self.panel(panel).cols() }
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        if self.has_terms {
            self.fill(rows, terms);
        }
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Finisher<'a> {
        // SAFETY: this function's own promise.
        unsafe { Finisher::new(self.panel(panel), self.has_terms, self.place(rows, panel)) }
    }

    #[inline(always)]
    unsafe fn finish(&self, open: &mut Finisher<'a>, _: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        open.finish(sums, terms);
    }
}

/// Those of windows or not, whose rows have terms or not, and so on, as [`ByKind`] says.
struct ByQuarters<
    'a,
    const WINDOWS: bool,
    const TERMS: bool,
    const SIGNS: bool,
    const SIGNED: bool,
    const CONFINED: bool,
>(&'a Bytes<'a>);

impl<'a, const WINDOWS: bool, const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool> InPairs
    for ByQuarters<'a, WINDOWS, TERMS, SIGNS, SIGNED, CONFINED>
{
    const WINDOWS: bool = WINDOWS;
    const TERMS: bool = TERMS;
    const BEGINS: bool = false;
    type Tile = (&'a Panel, Block<'a, u8>);
    type Pairs<'p>
        = Pairs<'p, WINDOWS, TERMS, SIGNS, SIGNED, CONFINED>
    where
        Self: 'p;

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        self.0.fill(rows, terms);
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Self::Tile {
        // SAFETY: this function's own promise.
        unsafe { (self.0.panel(panel), self.0.place(rows, panel)) }
    }

    #[inline(always)]
    unsafe fn pairs<'p>(
        &'p self,
        (panel, to): &'p Self::Tile,
        sums: &'p [[i32; WIDTH]],
        places: &'p [u32],
        terms: &'p [i32],
        parts: usize,
    ) -> Self::Pairs<'p> {
        // SAFETY: this function's own promise.
        unsafe { Pairs::new(panel, to.clone(), sums, places, terms, parts) }
    }
}

impl<const WINDOWS: bool, const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>
    Due<(&Panel, Block<'_, u8>)> for Pairs<'_, WINDOWS, TERMS, SIGNS, SIGNED, CONFINED>
{
    #[inline(always)]
    unsafe fn finish_due(&mut self) {
        // SAFETY: this function's own promise.
        unsafe { Pairs::finish_due(self) }
    }

    #[inline(always)]
    unsafe fn end(self, (_, to): &(&Panel, Block<'_, u8>)) {
        // SAFETY: this function's own promise.
        unsafe { Pairs::end(self, to.clone()) }
    }
}
