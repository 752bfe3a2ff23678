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

/// A position of the filter.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub image: usize,
    pub y: usize,
    pub x: usize,
}

impl<'a> Patches<'a> {
    pub(crate) fn lines(&self) -> usize {
        self.plan.positions()
    }

    pub(crate) fn depth(&self) -> usize {
        self.plan.filter().taps() * self.pixels.depth
    }

    /// The position of a line.
    pub(crate) fn place(&self, line: usize) -> Place {
        let [height, width] = self.plan.results().size;
        let (row, x) = (line / width, line % width);
        Place { image: row / height, y: row % height, x }
    }

    /// The position after one.
    #[inline(always)]
    pub(crate) fn next(&self, place: &mut Place) {
        let [rows, cols] = self.plan.reaches();
        place.x += 1;
        if place.x == cols.len() {
            place.x = 0;
            place.y += 1;
        }
        if place.y == rows.len() {
            place.y = 0;
            place.image += 1;
        }
    }
}
