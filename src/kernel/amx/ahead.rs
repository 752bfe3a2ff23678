//! Fetching the places of a result before it is written: a cache line that is not in the first cache is read before it is written,
//! and registers of sums wait for so many that the processor has no room for more.

use super::registers::Place;
use super::session::STEP;
use super::walk::FIRST_CACHE;
use crate::caches::Caches;
use crate::kernel::vector256::prefetch;
use crate::matrix::Lines;
use std::ops::Range;

/// Steps of lines beside which there is time enough to write a result.
const LONG: usize = 12;

/// Whether it pays for a result of rows so many bytes apart, beside these lines. If rows lie at the same places of caches' pages,
/// those that are fetched push out what is multiplied.
pub(super) fn pays(lines: &Lines, pitch: usize) -> bool {
    let is_far = lines.count().saturating_mul(pitch) > FIRST_CACHE;
    is_far && lines.runs() * lines.len() < LONG * STEP && !pitch.is_multiple_of(2048)
}

/// The same where rows are finished between quarters of steps, which wait for less: if the second cache does not hold much more than the
/// result's part.
pub(super) fn pays_beside_quarters(lines: &Lines, pitch: usize) -> bool {
    lines.count().saturating_mul(pitch) > Caches::get().l2 / 4 && pays(lines, pitch)
}

/// A tile's rows in the result, each of so many cache lines: those that are not fetched yet.
pub(super) struct Ahead<const LINES: usize> {
    to: Place,
    rows: Range<usize>,
}

impl<const LINES: usize> Ahead<LINES> {
    pub(super) fn new(to: Place, rows: usize) -> Self {
        Self { to, rows: 0..rows }
    }

    /// Nothing is fetched.
    pub(super) fn none() -> Self {
        Self::new(Place { at: std::ptr::null_mut(), pitch: 0 }, 0)
    }

    /// Fetches so many more rows, if they are left.
    #[inline(always)]
    pub(super) fn fetch(&mut self, most: usize) {
        let some = self.rows.start..self.rows.end.min(self.rows.start + most);
        self.rows.start = some.end;
        for row in some {
            let row = self.to.row(row).cast::<u8>();
            (0..LINES).for_each(|line| prefetch(row.wrapping_add(line * STEP)));
        }
    }
}
