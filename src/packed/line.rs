//! What the lines of a packed operand have in common, and how the numbers of one lie.

use super::Bits;
use crate::pack::Groups;
use std::ops::Range;

/// Depths that are stored in planes together: whole slices of every product.
pub(crate) const STRETCH: usize = 64;

/// How many numbers the lines of a packed operand have, of how many bits, and in which segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub(crate) depth: usize,
    pub(crate) bits: Bits,
    /// How many numbers a segment has, each of which has a scale of its own; the last may have fewer. 0 if there are none.
    pub(crate) segment: usize,
}

impl Line {
    /// Whether it lies as it would in a product that packs it.
    pub(crate) fn is_plain(&self) -> bool {
        !self.bits.are_few() && self.segment == 0
    }

    /// What lies together: all of the depth, unless there are segments.
    pub(crate) fn piece(&self) -> usize {
        if self.segment == 0 { self.depth.max(1) } else { self.segment }
    }

    /// How many pieces there are; none if there is no depth.
    pub(crate) fn pieces(&self) -> usize {
        self.depth.div_ceil(self.piece())
    }

    /// The depths of each.
    pub(crate) fn each_piece(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (depth, piece) = (self.depth, self.piece());
        (0..depth).step_by(piece).map(move |from| from..depth.min(from + piece))
    }

    /// Numbers that a piece takes in a panel. Those of planes are stored eight at a time, and segments begin whole groups.
    pub(crate) fn padded(&self, len: usize, groups: Groups) -> usize {
        if self.is_plain() { groups.pad(len) } else { len.next_multiple_of(8) }
    }

    /// Where in a panel a depth lies at which a piece or a stretch of one begins.
    pub(crate) fn place(&self, from: usize, groups: Groups) -> usize {
        let piece = self.piece();
        from / piece * self.padded(piece, groups) + from % piece
    }

    /// The bytes that so many numbers take, whole eights of them where they lie in planes.
    pub(crate) fn bytes(&self, numbers: usize) -> usize {
        if self.bits.are_few() { numbers / 8 * self.bits.get() } else { numbers }
    }

    /// Numbers that all pieces take in a panel.
    pub(crate) fn len(&self, groups: Groups) -> usize {
        let whole = self.depth / self.piece() * self.piece();
        self.place(whole, groups) + self.padded(self.depth - whole, groups)
    }
}
