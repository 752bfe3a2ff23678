//! The sums of windows three columns wide, as the columns of their row pass by: no strip is made, for each column is multiplied
//! by the weights of all windows that see it while it is in a register.

use super::Groups;
use crate::kernel::Taps;

/// Columns of a window.
pub(super) const COLUMNS: usize = 3;

/// The windows of a row, or of two rows that see the same rows of an image, each in a column of one group.
pub(super) struct Sweep<'a, const L: usize, const W: usize, const ROWS: usize> {
    /// Of each row.
    weights: [[Groups<L>; COLUMNS]; ROWS],
    /// Of which the first `L` are written.
    acc: [&'a mut [[i32; W]]; ROWS],
    /// The sums of the window whose last column is the next, and of the one after it.
    sums: [[[i32; L]; 2]; ROWS],
    /// How many columns have passed.
    passed: usize,
}

impl<'a, const L: usize, const W: usize, const ROWS: usize> Sweep<'a, L, W, ROWS> {
    #[inline(always)]
    pub(super) fn new(weights: [[Groups<L>; COLUMNS]; ROWS], acc: [&'a mut [[i32; W]]; ROWS]) -> Self {
        Self { weights, acc, sums: [[[0; L]; 2]; ROWS], passed: 0 }
    }

    /// The next column, of windows that begin `STRIDE` columns apart, which is 1 or 2.
    #[inline(always)]
    pub(super) fn pass<const STRIDE: usize, const N: usize>(&mut self, taps: impl Taps<N>, column: &Groups<L>) {
        let ends = (self.passed + 1).wrapping_sub(COLUMNS);
        self.passed += 1;
        for row in 0..ROWS {
            let (weights, [oldest, next]) = (&self.weights[row], &mut self.sums[row]);
            if STRIDE == 2 && ends % 2 == 1 {
                taps.add(oldest, column, &weights[1]);
                continue;
            }
            taps.add(oldest, column, &weights[2]);
            if let Some(acc) = self.acc[row].get_mut(ends / STRIDE) {
                acc[..L].copy_from_slice(oldest);
            }
            if STRIDE == 1 {
                *oldest = *next;
                taps.add(oldest, column, &weights[1]);
                *next = [0; L];
                taps.add(next, column, &weights[0]);
            } else {
                *oldest = [0; L];
                taps.add(oldest, column, &weights[0]);
            }
        }
    }
}
