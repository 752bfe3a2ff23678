//! Reading lines that are contiguous at each depth.

use super::native::prefetch;
use super::{CHUNK, DEPTHS};
use crate::matrix::Operand;
use crate::reading::Reading;

/// The same 16 lines at some depths.
pub(super) type Block = [[u8; CHUNK]; DEPTHS];

/// A copy of the lines of some panels, 16 of a panel together. So the source is read in long runs, and no stride makes its
/// depths compete for places in the caches.
pub(super) struct Patch<const W: usize, const BLOCKS: usize> {
    blocks: [Block; BLOCKS],
}

/// Blocks for few lines, which are spared the cost of much room, and the most blocks of a patch.
pub(super) const FEW: usize = 4;
pub(super) const MANY: usize = 16;

impl<const W: usize, const BLOCKS: usize> Patch<W, BLOCKS> {
    /// The blocks that lines of a panel take.
    pub(super) const PER_PANEL: usize = W.div_ceil(CHUNK);

    /// The panels that there is room for.
    pub(super) const PANELS: usize = BLOCKS / Self::PER_PANEL;

    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { blocks: [[[0; CHUNK]; DEPTHS]; BLOCKS] }
    }

    /// Copies the elements of so many panels from a line on at depths from another on, requantized, and what becomes zeros
    /// where there are none.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        src: &Operand,
        reading: &Reading,
        (first, from): (usize, usize),
        panels: usize,
    ) -> &[Block] {
        let lines = (panels * W).min(src.lines - first);
        let blocks = &mut self.blocks[..lines.div_ceil(W) * Self::PER_PANEL];
        for x in 0..DEPTHS.min((src.depth - from).next_multiple_of(CHUNK)) {
            if from + x >= src.depth {
                for block in &mut *blocks {
                    block[x] = [reading.absent(); CHUNK];
                }
                continue;
            }
            if BLOCKS == MANY && from + x + DEPTHS < src.depth {
                prefetch(&src.run(from + x + DEPTHS)[first..][..lines]);
            }
            let run = &src.run(from + x)[first..][..lines];
            if reading.requantization.is_none() {
                Self::copy(run, x, reading.absent(), blocks);
            } else {
                let mut requantized = [[0; CHUNK]; BLOCKS];
                let requantized = &mut requantized.as_flattened_mut()[..lines];
                reading.along_lines((first, from + x), run, requantized);
                Self::copy(requantized, x, reading.absent(), blocks);
            }
        }
        blocks
    }

    /// Copies a run to one depth of all blocks.
    #[inline(always)]
    fn copy(run: &[u8], x: usize, absent: u8, blocks: &mut [Block]) {
        if W.is_multiple_of(CHUNK) {
            let (whole, rest) = run.as_chunks();
            let (near, far) = blocks.split_at_mut(whole.len());
            for (block, chunk) in near.iter_mut().zip(whole) {
                block[x] = *chunk;
            }
            if let Some((block, far)) = far.split_first_mut() {
                block[x] = partial(rest, absent);
                for block in far {
                    block[x] = [absent; CHUNK];
                }
            }
            return;
        }
        for (blocks, panel) in blocks.chunks_exact_mut(Self::PER_PANEL).zip(run.chunks(W)) {
            for (i, block) in blocks.iter_mut().enumerate() {
                let rest = panel.get(i * CHUNK..).unwrap_or_default();
                block[x] = partial(&rest[..rest.len().min(CHUNK)], absent);
            }
        }
    }
}

/// Up to 16 bytes, filled up to as many.
#[inline(always)]
pub(super) fn partial(bytes: &[u8], absent: u8) -> [u8; CHUNK] {
    let mut whole = [absent; CHUNK];
    let mut at = 0;
    // Copies of known lengths, each of which is one instruction.
    at += copy_if::<16>(bytes, &mut whole, at);
    at += copy_if::<8>(bytes, &mut whole, at);
    at += copy_if::<4>(bytes, &mut whole, at);
    at += copy_if::<2>(bytes, &mut whole, at);
    copy_if::<1>(bytes, &mut whole, at);
    whole
}

/// Copies `N` bytes if there are as many from `at` on, and says how many it copied.
#[inline(always)]
fn copy_if<const N: usize>(from: &[u8], to: &mut [u8; CHUNK], at: usize) -> usize {
    match (from.get(at..at + N), to.get_mut(at..at + N)) {
        (Some(from), Some(to)) => to.copy_from_slice(from),
        _ => return 0,
    }
    N
}
