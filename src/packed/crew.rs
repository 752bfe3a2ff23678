//! Who packs an operand.

use crate::context::Context;
use crate::kernel::Kernel;
use crate::matrix::{Operand, Order};
use std::ops::Range;

/// The calling thread alone, or those of a context.
#[derive(Clone, Copy)]
pub(crate) enum Crew<'a> {
    Alone(&'static Kernel),
    Together(&'a Context),
}

impl Crew<'_> {
    pub(super) fn kernel(self) -> &'static Kernel {
        match self {
            Self::Alone(kernel) => kernel,
            Self::Together(context) => context.kernel,
        }
    }

    /// As [`Crew::share`], of the lines of an operand, whose bytes are only read.
    pub(super) fn share_lines(self, operand: &Operand, work: impl Fn(Range<usize>) + Sync) {
        match self {
            Self::Together(context) if operand.order == Order::LineContiguous => {
                context.in_columns(operand.lines, operand.depth, work);
            }
            _ => self.share(operand.lines, operand.depth, work),
        }
    }

    /// Calls `work` on ranges that make up all of so many lines or panels, on as many threads as pays: for one of them so many
    /// bytes are moved.
    pub(super) fn share(self, count: usize, bytes: usize, work: impl Fn(Range<usize>) + Sync) {
        match self {
            Self::Alone(_) => work(0..count),
            Self::Together(context) => context.in_lines(count, bytes, work),
        }
    }
}
