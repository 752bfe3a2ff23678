//! Reading lines that are contiguous at each depth.

use super::CHUNK;
use super::short::copy_short;
use crate::matrix::Operand;
use crate::reading::Reading;
use std::ops::Range;

/// A copy of many lines at some depths, in rows of `PITCH` bytes: so the source is read in long runs, and no stride makes
/// its depths compete for places in the caches.
pub(super) struct Patch<const PITCH: usize, const DEPTHS: usize> {
    rows: [[u8; PITCH]; DEPTHS],
}

/// The patch of operands of few lines, which are spared the cost of much room, and that of others. Their pitches are the
/// lines that they hold, and some bytes, so that a whole chunk is there from any line on, and so that the rows of the large
/// one begin in different places of the caches.
pub(super) type Short = Patch<80, 16>;
pub(super) type Long = Patch<576, 64>;

impl<const PITCH: usize, const DEPTHS: usize> Patch<PITCH, DEPTHS> {
    /// The most lines that it holds.
    pub(super) const LINES: usize = (PITCH - CHUNK) / 64 * 64;

    /// Whether operands of so few lines go into it.
    const IS_SHORT: bool = Self::LINES == Short::LINES;

    #[inline(always)]
    pub(super) fn new(reading: &Reading) -> Self {
        Self { rows: [[reading.absent(); PITCH]; DEPTHS] }
    }

    /// Copies lines, of which there may be fewer, over a stretch of the depth, requantized, and what becomes zeros after them
    /// and up to a whole group of depths.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        src: &Operand,
        reading: &Reading,
        lines: Range<usize>,
        depth: Range<usize>,
        group: usize,
    ) -> &[[u8; PITCH]] {
        let there = lines.start..lines.end.min(src.lines);
        let used = depth.len().next_multiple_of(group);
        for (row, d) in self.rows[..depth.len()].iter_mut().zip(depth.clone()) {
            let run = &src.run(d)[there.clone()];
            let (row, rest) = row[..lines.len()].split_at_mut(run.len());
            if reading.requantization.is_some() || !Self::IS_SHORT {
                reading.along_lines((lines.start, d), run, row);
            } else {
                copy_short(run, row);
            }
            // A short patch is filled for the same lines each time.
            if !Self::IS_SHORT {
                rest.fill(reading.absent());
            }
        }
        for row in &mut self.rows[depth.len()..used] {
            row.fill(reading.absent());
        }
        &self.rows[..used]
    }
}
