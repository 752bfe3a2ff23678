//! What fetches an operand before it is read, where the second cache does not hold it.

use super::Product;
use crate::kernel::vector256::prefetch_to_second;
use std::ops::Range;

/// Bytes of an operand that are read between its being fetched into the second cache and its being read.
pub(in crate::kernel) const AHEAD: usize = 32 << 10;

/// Parts of an operand's runs that will be read, in the order in which they lie: that is how memory brings them fastest. They are
/// fetched so far ahead that the second cache is the place for them.
pub(in crate::kernel) struct Ahead {
    at: *const u8,
    /// Bytes that are left of the run at hand, of each, and from the end of one to the beginning of the next; and how many runs are
    /// left besides.
    left: usize,
    part: usize,
    gap: usize,
    runs: usize,
}

impl Ahead {
    pub(in crate::kernel) const NONE: Self = Self { at: std::ptr::null(), left: 0, part: 0, gap: 0, runs: 0 };

    /// The same part of each of these runs, as many of them as there are.
    #[inline(always)]
    pub(in crate::kernel) fn of(product: &Product, runs: Range<usize>, part: &Range<usize>) -> Self {
        let operand = &product.operand;
        let count = runs.end.min(operand.runs().count).saturating_sub(runs.start);
        if count == 0 || !product.is_fetched {
            return Self::NONE;
        }
        let (at, part, pitch) = (operand.run(runs.start)[part.clone()].as_ptr(), part.len(), operand.pitch());
        let gap = pitch.wrapping_sub(part);
        // Small gaps are fetched, too.
        match gap <= part / 8 {
            true => Self { at, left: (count - 1) * pitch + part, part, gap, runs: 0 },
            false => Self { at, left: part, part, gap, runs: count - 1 },
        }
    }

    /// The next cache lines, if any are left. Where a run ends what follows it may be among them.
    #[inline(always)]
    pub(in crate::kernel) fn fetch(&mut self, count: usize) {
        if self.left == 0 {
            return;
        }
        for i in 0..count {
            prefetch_to_second(self.at.wrapping_add(64 * i));
        }
        if self.left > 64 * count {
            (self.at, self.left) = (self.at.wrapping_add(64 * count), self.left - 64 * count);
        } else {
            self.at = self.at.wrapping_add(self.left).wrapping_add(self.gap);
            self.left = if self.runs > 0 { self.part } else { 0 };
            self.runs = self.runs.saturating_sub(1);
        }
    }
}
