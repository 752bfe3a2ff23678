//! The lines of a convolution's LHS: patches of images, one under each position of the filter.

use super::Plan;
use crate::matrix::Operand;

/// Patches of images. A line is a patch tap by tap, each with all channels of a group.
#[derive(Clone, Copy)]
pub(crate) struct Patches<'a> {
    pub plan: &'a Plan,
    /// Pixels × the channels of one group.
    pub pixels: Operand<'a>,
    /// The zero point, which is what lies beside the images.
    pub absent: u8,
}

impl<'a> Patches<'a> {
    pub(crate) fn lines(&self) -> usize {
        self.plan.positions()
    }

    pub(crate) fn depth(&self) -> usize {
        self.plan.filter().taps() * self.pixels.depth
    }
}
