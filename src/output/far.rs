//! Results of which most lies further away than a core's caches.

use crate::caches::Caches;
use crate::kernel::stream::prefetch_to_write;
use crate::matrix::{Output, Runs};
use std::ops::Range;

/// Such a result. What is to be written there is fetched while it is computed: stores that have to wait for it hold up all that comes
/// after them. (With Zen 4 sums of 2 to 15 MB took up to 1.3 times as long. Whether it pays on Arm has not been measured.)
pub(crate) struct Far {
    place: Runs,
    /// Bytes of an element.
    size: usize,
}

impl Far {
    /// None if the caches hold all of it.
    #[inline(always)]
    pub(crate) fn of<T>(out: &Output<T>) -> Option<Self> {
        let place = out.runs();
        (cfg!(target_arch = "x86_64") && Self::is(place.extent())).then_some(Self { place, size: size_of::<T>() })
    }

    /// Whether a result of so many bytes is one.
    #[inline(always)]
    pub(crate) fn is(extent: usize) -> bool {
        extent > Caches::get().l2
    }

    /// Fetches a part of it.
    #[inline(always)]
    pub(crate) fn fetch(&self, rows: Range<usize>, cols: &Range<usize>) {
        const CACHE_LINE: usize = 64;
        for row in rows {
            let part = self.place.part(row, cols.start * self.size..cols.end * self.size);
            (part.start / CACHE_LINE * CACHE_LINE..part.end).step_by(CACHE_LINE).for_each(prefetch_to_write);
        }
    }
}
