//! Copying operands into the order in which the kernels read them.
//!
//! The kernels sum the depth in *groups*, 8, 4 or 2 numbers to an instruction.
//!
//! The RHS is packed into *panels*: `W` lines over the whole depth, cut into groups of `G` bytes; in Rust's words a
//! `[[[u8; G]; W]]`. A kernel loads one group of many lines at once.
//!
//! The LHS needs no panels: a kernel reads one group of one line and spreads it over a register, so a line whose depth
//! is contiguous can stay where it is. Any other LHS is copied, line by line.
//!
//! Padding (lines up to a whole panel, depth up to a whole group) is zero, so it adds nothing to sums and products.

use crate::caches::Caches;
use crate::conv::Patches;
use crate::matrix::{Encoding, Lines, Operand, Order};
use crate::reading::Reading;

mod lines;
mod panels;
mod patches;
pub(crate) mod portable;
mod runs;
mod short;
mod spaced;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use lines::pack_lhs;
pub(crate) use panels::pack_rhs;
pub(crate) use patches::pack_patches;
pub(crate) use sums::sum_lines;

/// What one instruction sums, and so how both sides are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture's kernels have some of them")]
pub(crate) enum Groups {
    /// Four products of an unsigned and a signed byte. The LHS keeps its encoding, the RHS takes the other one.
    Quads,
    /// As [`Groups::Quads`], but the kernel may read a signed LHS as an unsigned one, 128 greater.
    FreeQuads,
    /// Four products of bytes of any encodings. Each side keeps its own.
    AnyQuads,
    /// Two products of 16-bit numbers: the LHS is stored in 16 bits, the RHS as signed bytes that the kernel widens.
    Pairs,
    /// Four products of bytes that are both unsigned or both signed. The LHS keeps its encoding, the RHS takes the same.
    LikeQuads,
    /// Eight products of such bytes.
    LikeOctets,
}

impl Groups {
    /// How many numbers of a line a group holds.
    pub(crate) const fn len(self) -> usize {
        match self {
            Groups::LikeOctets => 8,
            Groups::Quads | Groups::FreeQuads | Groups::AnyQuads | Groups::LikeQuads => 4,
            Groups::Pairs => 2,
        }
    }

    /// A depth, rounded up to whole groups.
    pub(crate) const fn pad(self, depth: usize) -> usize {
        (depth + self.len() - 1) & !(self.len() - 1)
    }

    /// How many bytes one number of the LHS takes.
    pub(crate) const fn lhs_size(self) -> usize {
        match self {
            Groups::Pairs => 2,
            _ => 1,
        }
    }

    /// Whether both sides are stored as bytes.
    pub(crate) const fn are_bytes(self) -> bool {
        self.lhs_size() == 1
    }

    /// What an LHS is read as beside an RHS of so many lines × depth, as long as that is not packed. If both are signed, the
    /// kernel may turn the LHS, so that nobody needs the sums of its lines.
    pub(crate) fn read_as(self, lhs: Encoding, rhs: Encoding, shape: (usize, usize)) -> Encoding {
        match (lhs, rhs) {
            (Encoding::S8, Encoding::S8) if self.may_turn(shape) => Encoding::U8,
            _ => lhs,
        }
    }

    /// The same of patches of images, which are packed in any case: if both are signed they become unsigned.
    pub(crate) fn patches_as(self, lhs: Encoding, rhs: Encoding) -> Encoding {
        match (self, lhs, rhs) {
            (Groups::FreeQuads, Encoding::S8, Encoding::S8) => Encoding::U8,
            _ => lhs,
        }
    }

    /// Whether the encoding of an LHS is up to that side, whatever an RHS is packed as.
    pub(crate) fn leaves_lhs(self) -> bool {
        matches!(self, Groups::Pairs | Groups::AnyQuads)
    }

    /// Whether to turn an LHS pays for the kernel beside so many lines × depth. To sum a line, or to copy it turned, takes as long as
    /// some 30 instructions; to turn it, one for each group of each panel. On a processor with two ports for vectors of 512 bits
    /// that is half as much again as to multiply (counted), so it pays beside few numbers.
    pub(crate) fn may_turn(self, (lines, depth): (usize, usize)) -> bool {
        const FEW: usize = 64 * 64;
        self == Groups::FreeQuads && lines.saturating_mul(depth) <= FEW
    }

    /// Whether kernels read an RHS that is packed so, beside an LHS of this encoding: as it is, or else as the other one.
    pub(crate) fn read_stored(self, stored: Encoding, lhs: Encoding) -> bool {
        match self {
            Groups::AnyQuads | Groups::FreeQuads => true,
            _ => self.rhs_encoding(lhs, stored) == stored,
        }
    }

    /// The encoding in which an RHS of the encoding `rhs` is packed beside an LHS that is read in the encoding `lhs`.
    pub(crate) fn rhs_encoding(self, lhs: Encoding, rhs: Encoding) -> Encoding {
        match self {
            Groups::Quads | Groups::FreeQuads => lhs.other(),
            Groups::AnyQuads => rhs,
            Groups::Pairs => Encoding::S8,
            Groups::LikeQuads | Groups::LikeOctets => lhs,
        }
    }

    /// The encoding in which the LHS is read beside an RHS that is packed so. None if any will do.
    pub(crate) fn lhs_encoding(self, rhs: Encoding) -> Option<Encoding> {
        match self {
            Groups::Quads | Groups::FreeQuads => Some(rhs.other()),
            Groups::Pairs | Groups::AnyQuads => None,
            Groups::LikeQuads | Groups::LikeOctets => Some(rhs),
        }
    }

    /// Whether the kernels had better read this LHS where it lies, and can. Lines shorter than a group are copied, but for Arm's kernels:
    /// the others multiply many longer ones at once.
    pub(crate) fn can_read_in_place(self, lhs: &Operand, reading: &Reading) -> bool {
        let is_read = reading.is_none() || self == Groups::FreeQuads && reading.is_turn();
        let is_long = lhs.depth >= GROUP || matches!(self, Groups::LikeQuads | Groups::LikeOctets);
        self.are_bytes() && lhs.order == Order::DepthContiguous && is_long && is_read
    }
}

/// Packs the lines of an LHS from `first` on, each into `pitch` bytes of `lines`, and sums as many as there are `sums`.
pub(crate) type PackLhsFn =
    unsafe fn(src: &Operand, reading: &Reading, first: usize, pitch: usize, lines: &mut [u8], sums: &mut [i32]);

/// Packs patches of images from `first` on, as a [`PackLhsFn`] packs lines.
pub(crate) type PackPatchesFn =
    unsafe fn(src: &Patches, reading: &Reading, first: usize, pitch: usize, lines: &mut [u8], sums: &mut [i32]);

/// Packs the lines of an RHS from `first` on into as many panels as `panels` holds, and sums as many as there are `sums`.
pub(crate) type PackRhsFn =
    unsafe fn(src: &Operand, reading: &Reading, first: usize, panels: &mut [u8], sums: &mut [i32]);

/// Sums the numbers of as many lines of the LHS as there are sums, as the kernels read them: all at once, for a call takes as long
/// as to sum a line of a hundred numbers.
pub(crate) type SumLinesFn = unsafe fn(lines: &Lines, encoding: Encoding, sums: &mut [i32]);

/// A panel's bytes as groups of `W` lines of `G` bytes.
#[inline(always)]
pub(crate) fn groups<const W: usize, const G: usize>(panel: &[u8]) -> &[[[u8; G]; W]] {
    panel.as_chunks().0.as_chunks().0
}

/// The ways to pack lines, each compiled on its own, so that none pays for the room of another.
pub(crate) type Ways<F> = [F; 3];
pub(crate) const ALONG_DEPTH: usize = 0;
pub(crate) const SHORT_RUNS: usize = 1;
pub(crate) const LONG_RUNS: usize = 2;

/// The way to pack so many lines of an operand.
pub(crate) fn way(src: &Operand, lines: usize) -> usize {
    match src.order {
        Order::DepthContiguous => ALONG_DEPTH,
        Order::LineContiguous if lines <= SHORT => SHORT_RUNS,
        Order::LineContiguous => LONG_RUNS,
    }
}

/// How many lines are packed as short runs.
pub(crate) const SHORT: usize = runs::Short::LINES;

/// How many lines at a time are packed as short runs; None if long ones are faster. `bytes` are to be packed, a group of a panel in
/// so many of them.
///
/// To clear the room of long runs would take longer than to pack little. And where runs need not be copied, they are read where
/// they lie, which takes less time from a cache, or if the kernel fetches them ahead. All panels of these lines are written at
/// the same time, and compete for the same places of the caches: that does not matter much where one group or two fill whole cache
/// lines, and there are but few panels.
pub(crate) fn lines_of_piece(
    src: &Operand,
    reading: &Reading,
    bytes: usize,
    bytes_of_group: usize,
    is_fetched: bool,
) -> Option<usize> {
    let (lines, is_little) = match (reading.requantization, bytes_of_group) {
        (Some(_), _) => (SHORT, bytes <= 32 << 10),
        (None, 128..) if is_far(src) => (MOST_IN_PLACE, is_fetched),
        (None, 32..) if !is_far(src) => (NEAR_IN_PLACE, true),
        (None, _) => (SHORT, bytes <= 256 << 10),
    };
    (src.order == Order::LineContiguous && is_little).then_some(lines)
}

/// Whether most of an operand comes from memory, or from a cache that is far away: what four second caches do not hold (timed with one
/// of 1 MB), but no less than 4 MB, and more than 8 MB in any case.
fn is_far(src: &Operand) -> bool {
    src.lines.saturating_mul(src.depth) > (4 * Caches::get().l2).clamp(4 << 20, 8 << 20)
}

/// The most lines that are read together where they lie: far away, and in a cache, from where no more than half of the ways of a
/// first cache of 8 had better be written to.
const MOST_IN_PLACE: usize = 256;
const NEAR_IN_PLACE: usize = FOUR_PANELS;

/// Depths that are packed at a time: of each line a whole cache line, so that none is fetched twice, however its stride
/// makes lines compete for places in the caches.
pub(crate) const DEPTHS: usize = 64;

/// Bytes of a line that are multiplied together, at least.
pub(crate) const GROUP: usize = 4;

/// Lines that are transposed together, and bytes of each. Bytes of a line are written and summed as many at a time.
pub(crate) const LINES: usize = 8;
pub(crate) const STRETCH: usize = 32;

/// Lines that are interleaved together, and depths that are transposed with them.
pub(crate) const CHUNK: usize = 16;

/// Lines of two panels, and of four, that are interleaved together.
pub(crate) const TWO_PANELS: usize = 64;
pub(crate) const FOUR_PANELS: usize = 128;

/// The inner loops of packing an LHS, which instruction sets have shuffles for.
pub(crate) struct Turn<T, S, F> {
    /// Transposes 16 × 16 bytes.
    pub turn: T,
    /// Sums the bytes of some stretches and of a last one after a number was added to each, modulo 256.
    pub sum_bytes: S,
    /// The same of four lines, each of as many bytes.
    pub sum_four: F,
}

/// The inner loops of packing an RHS, in groups of `G` bytes, which instruction sets have shuffles for.
pub(crate) struct Shuffle<T, I, J, D, F, R, O, X, P, S> {
    /// Writes the groups of 8 lines over a stretch of depth, a number added to each byte: those at one depth together, and so
    /// many from one depth to the next.
    pub transpose: T,
    /// Writes one group of 16 lines, given as `G` depths of each, a number added to each byte.
    pub interleave: I,
    /// The same of 32 lines, 16 to each of two places.
    pub interleave_two: J,
    /// As `interleave`, all lines of some panels, so many groups from one to the next, if the kernel says that it has that.
    /// Lines that are not there become 0.
    pub interleave_panels: D,
    /// Fetches what lies so many bytes ahead of the runs of one group, if the kernel says that it does.
    pub fetch: F,
    /// As `interleave_panels`, the lines of four whole panels over a stretch of the depth, given as whole groups of it, if the kernel
    /// says that it has that.
    pub interleave_stretch: R,
    /// As `interleave_panels`, over a stretch of the depth, whose runs hold all lines, if the kernel says that it has that.
    pub interleave_runs: O,
    /// As `transpose`, [`CHUNK`] lines over [`DEPTHS`], if the kernel says that it has that; what lies so many bytes ahead of each is
    /// fetched.
    pub transpose_sixteen: X,
    /// As `transpose_sixteen`, no more lines and depths than that, as far as there is room. Lines that are not there become 0, as
    /// do depths.
    pub transpose_some: P,
    /// Adds the numbers of a panel's lines over [`DEPTHS`], read in an encoding, to their sums.
    pub add_sums: S,
}
