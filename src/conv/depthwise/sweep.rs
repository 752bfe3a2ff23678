//! The sums of windows three columns wide, as the columns of their row pass by: no strip is made, for each column is multiplied
//! by the weights of all windows that see it while it is in a register.

use super::{Axis, Filter, Groups};
use crate::kernel::Taps;

/// Columns of a window.
pub(super) const COLUMNS: usize = 3;

/// How many columns apart windows begin that may be swept, if the groups of a column are so many. None for other filters.
pub(super) fn stride(filter: &Filter, height: usize) -> Option<usize> {
    let Axis { taps, stride, dilation, .. } = filter.axes[1];
    (height == 1 && taps == COLUMNS && stride < COLUMNS && dilation == 1).then_some(stride)
}

/// Weights, and what is added to all of them: if it is anything, in two parts that fit into signed bytes.
#[derive(Clone, Copy)]
pub(super) struct Factors<const L: usize, const ADDED: usize> {
    pub weights: [Groups<L>; COLUMNS],
    pub added: [Groups<L>; ADDED],
}

/// The windows of a row, or of two rows that see the same rows of an image, each in a column of one group.
pub(super) struct Sweep<'a, const L: usize, const W: usize, const ROWS: usize, const ADDED: usize> {
    /// Of each row.
    factors: [Factors<L, ADDED>; ROWS],
    /// Of which the first `L` are written.
    acc: [&'a mut [[i32; W]]; ROWS],
    /// The sums of the window whose last column is the next, and of the one after it.
    sums: [[[i32; L]; 2]; ROWS],
    /// How many columns have passed.
    passed: usize,
}

impl<'a, const L: usize, const W: usize, const ROWS: usize, const ADDED: usize> Sweep<'a, L, W, ROWS, ADDED> {
    #[inline(always)]
    pub(super) fn new(factors: [Factors<L, ADDED>; ROWS], acc: [&'a mut [[i32; W]]; ROWS]) -> Self {
        Self { factors, acc, sums: [[[0; L]; 2]; ROWS], passed: 0 }
    }

    /// The next column, of windows that begin `STRIDE` columns apart, which is 1 or 2.
    #[inline(always)]
    pub(super) fn pass<const STRIDE: usize, const N: usize>(&mut self, taps: impl Taps<N>, column: &Groups<L>) {
        let ends = (self.passed + 1).wrapping_sub(COLUMNS);
        self.passed += 1;
        for row in 0..ROWS {
            let (Factors { weights, added }, [oldest, next]) = (&self.factors[row], &mut self.sums[row]);
            // What is added to weights meets the same column in each window.
            let mut all = [0; L];
            for added in added {
                taps.add(&mut all, column, added);
            }
            if ADDED > 0 {
                taps.sum(oldest, &all);
            }
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
                if ADDED > 0 {
                    taps.sum(oldest, &all);
                }
                taps.add(oldest, column, &weights[1]);
                *next = all;
                taps.add(next, column, &weights[0]);
            } else {
                *oldest = all;
                taps.add(oldest, column, &weights[0]);
            }
        }
    }
}
