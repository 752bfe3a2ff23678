//! Sums to which rows and columns add something: what becomes of tiles where operands have zero points.

use super::ahead;
use super::beside::{Outcome, TOGETHER};
use super::quarters::{self, InPairs, Made, Maker};
use super::registers::Place;
use super::session::HEIGHT;
use super::walk::{Copied, Way};
use crate::kernel::Tile;
use crate::kernel::relay::WIDTH;
use crate::kernel::vector512::{Vector, plus, put, resume, spread, store};
use crate::matrix::Block;
use crate::output::Sums;
use std::ops::Range;

/// What columns add, and the places of the rows that are left.
pub(super) struct OfSums<'a>([i32; WIDTH], Block<'a, i32>);

impl<'a> Outcome for Sums<'a> {
    type Open = OfSums<'a>;
    const IS_SLICED: bool = true;
    const IS_BEFORE: bool = true;

    #[inline(always)]
    unsafe fn multiply_first(&mut self, tile: &Tile, way: Way, copied: &mut Option<&mut Copied>) -> (usize, usize) {
        /// Tiles of which so few take as long to get ready for.
        const FEW: usize = 4;
        let most = Some(quarters::most(tile, way)).filter(|most| most.0 * most.1 > FEW).unwrap_or_default();
        if most.0 > 0 {
            let to = Place::of_rows(Sums::place(self, tile.lhs.meant()));
            let is_fetched = ahead::pays_beside_quarters(&tile.lhs, to.pitch);
            let (sums, copied) = (&*self, copied.as_deref_mut());
            // SAFETY: this function's own promise.
            unsafe {
                match (tile.lhs.runs() > 1, is_fetched) {
                    (true, _) => multiply_so::<true, false>(sums, to, tile, way, copied, most),
                    (false, false) => multiply_so::<false, false>(sums, to, tile, way, copied, most),
                    (false, true) => multiply_so::<false, true>(sums, to, tile, way, copied, most),
                }
            }
        }
        most
    }

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        self.panel::<WIDTH>(panel).cols.len()
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        let of_rows = self.terms(rows.end);
        terms.iter_mut().zip(rows).for_each(|(term, row)| *term = of_rows.of(row));
    }

    #[inline(always)]
    fn place(&self, row: usize, panel: usize) -> Option<Place> {
        Some(Place::of_rows(Sums::place(self, 0)).below(row).beside(panel))
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> OfSums<'a> {
        let part = self.panel::<WIDTH>(panel).part(rows.start);
        // SAFETY: this function's own promise.
        let to = unsafe { self.out.block(part.row..part.row + rows.len(), part.cols.clone()) };
        OfSums(part.of_cols(), to)
    }

    #[inline(always)]
    unsafe fn finish(&self, OfSums(of_cols, to): &mut OfSums<'a>, _: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        // SAFETY: this function's own promise.
        unsafe { add(of_cols, to, sums, terms) }
    }
}

/// Brings rows of sums to their places, and what columns and each row add.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn add(of_cols: &[i32; WIDTH], to: &mut Block<i32>, mut sums: &[[i32; WIDTH]], mut terms: &[i32]) {
    let of_cols = of_cols.as_chunks().0;
    let (left_added, right_added) = (resume(&of_cols[0]), resume(&of_cols[1]));
    // In a loop by itself, for it is mostly all there is.
    while let Some((four, others)) = sums.split_first_chunk::<{ TOGETHER }>()
        && let Some(to) = to.whole::<TOGETHER, WIDTH>()
    {
        let of_four = terms.split_off(..TOGETHER).expect("one for each row");
        for ((sums, term), to) in four.iter().zip(of_four).zip(to) {
            let ((sums, to), of_row) = ((sums.as_chunks().0, to.as_chunks_mut().0), spread(term.to_ne_bytes()));
            store(&mut to[0], plus(plus(resume(&sums[0]), left_added), of_row), true);
            store(&mut to[1], plus(plus(resume(&sums[1]), right_added), of_row), true);
        }
        sums = others;
    }
    for ((sums, term), to) in sums.iter().zip(terms).zip(to) {
        let (sums, of_row) = (sums.as_chunks().0, spread(term.to_ne_bytes()));
        let (left, right) = to.split_at_mut(to.len().min(WIDTH / 2));
        put(left, plus(plus(resume(&sums[0]), left_added), of_row));
        put(right, plus(plus(resume(&sums[1]), right_added), of_row));
    }
}

/// Those of windows or not, whose places are fetched before or not, and where the first row begins.
struct ByQuarters<'s, 'a, const WINDOWS: bool, const FETCHED: bool> {
    sums: &'s Sums<'a>,
    to: Place,
}

/// # Safety
/// As for [`multiply`](super::beside::multiply).
unsafe fn multiply_so<const WINDOWS: bool, const FETCHED: bool>(
    sums: &Sums,
    to: Place,
    tile: &Tile,
    way: Way,
    copied: Option<&mut Copied>,
    most: (usize, usize),
) {
    let mut sums = ByQuarters::<WINDOWS, FETCHED> { sums, to };
    // SAFETY: this function's own promise.
    unsafe { quarters::multiply(tile, way, copied, &mut sums, most) }
}

/// A tile: what its columns add, and where it goes.
struct Open([i32; WIDTH], Place);

impl<const WINDOWS: bool, const FETCHED: bool> InPairs for ByQuarters<'_, '_, WINDOWS, FETCHED> {
    const WINDOWS: bool = WINDOWS;
    const TERMS: bool = true;
    const BEGINS: bool = false;
    type Tile = Open;
    type Pairs<'p>
        = Made<'p, Adding<'p>, WINDOWS>
    where
        Self: 'p;

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        Outcome::fill_terms(self.sums, rows, terms);
    }

    #[inline(always)]
    fn fetched(&self, row: usize, panel: usize) -> Option<Place> {
        FETCHED.then(|| self.to.below(row).beside(panel))
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Open {
        Open(self.sums.panel::<WIDTH>(panel).of_cols(), self.to.below(rows.start).beside(panel))
    }

    #[inline(always)]
    unsafe fn pairs<'p>(
        &'p self,
        Open(of_cols, to): &'p Open,
        sums: &'p [[i32; WIDTH]],
        places: &'p [u32],
        terms: &'p [i32],
        parts: usize,
    ) -> Made<'p, Adding<'p>, WINDOWS> {
        let [first, second] = halves(of_cols);
        // SAFETY: this function's own promise.
        unsafe { Made::new(Adding { of_cols: [resume(first), resume(second)], terms }, *to, sums, places, parts) }
    }
}

#[inline(always)]
fn halves(row: &[i32; WIDTH]) -> &[[i32; HEIGHT]; 2] {
    row.as_chunks().0.first_chunk().expect("two halves")
}

/// Adds what columns add, and each row.
struct Adding<'p> {
    of_cols: [Vector; 2],
    terms: &'p [i32],
}

impl Maker for Adding<'_> {
    #[inline(always)]
    unsafe fn row(&self, sums: &[i32; WIDTH], row: usize) -> [Vector; 2] {
        let ([first, second], term) = (halves(sums), self.terms[row]);
        // SAFETY: the CPU runs this kernel.
        unsafe {
            let of_row = spread(term.to_ne_bytes());
            [plus(plus(resume(first), self.of_cols[0]), of_row), plus(plus(resume(second), self.of_cols[1]), of_row)]
        }
    }
}
