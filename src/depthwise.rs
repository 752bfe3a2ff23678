//! Depthwise convolution: each channel of the input with taps of its own.
//!
//! The positions of the result are taken in tiles, the channels in panels. Of what a tile's windows see of a panel's
//! channels a *strip* is made: windows lie in it one after the other, padding is filled in, and the numbers of two rows
//! lie side by side in 16 bits each, for one instruction multiplies and adds such pairs. A strip serves all columns of a
//! window, so each number is widened once for each row of taps, not for each tap.

use crate::blocks::Cut;
use crate::buffer::Carver;
use crate::context::Context;
use crate::error::Error;
use crate::kernel::Loop;
use crate::matrix::{Offset, Operand};
use crate::output::{self, Finish, LineOffsets, Region};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

mod pairs;
mod strip;
mod sums;
#[cfg(test)]
mod tests;
mod weights;

use pairs::{Pairs, pairs_mut};
use strip::Strip;
use sums::Sums;
pub(crate) use weights::{Layout, Weights, pack};

/// How the windows lie along one axis of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Pixels of the image.
    pub input: usize,
    /// Positions of the result.
    pub output: usize,
    pub taps: usize,
    /// Pixels from one window to the next.
    pub stride: usize,
    /// Pixels from one tap to the next.
    pub dilation: usize,
    /// Pixels before the first one of the image that the first window sees.
    pub padding: usize,
}

impl Axis {
    /// The pixel that a tap sees; None if that is padding.
    #[inline(always)]
    fn pixel(&self, position: usize, tap: usize) -> Option<usize> {
        (position * self.stride + tap * self.dilation).checked_sub(self.padding).filter(|&pixel| pixel < self.input)
    }
}

/// The shape of a convolution in which every input channel has `multiplier` channels of the result: channel `c` of the
/// result is made of channel `c / multiplier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub batch: usize,
    pub down: Axis,
    pub across: Axis,
    /// Of the input.
    pub channels: usize,
    pub multiplier: usize,
}

impl Geometry {
    /// Positions of the result.
    fn positions(&self) -> usize {
        self.batch * self.down.output * self.across.output
    }

    fn macs(&self) -> f64 {
        let taps = self.down.taps as f64 * self.across.taps as f64;
        self.positions() as f64 * self.channels as f64 * self.multiplier as f64 * taps
    }
}

/// Channels of a panel: two vectors of 256 bits, or one of 512. The last panel has half of them if that is enough.
const LANES: usize = 16;
const HALF: usize = LANES / 2;

/// Positions of a tile, whose strip, sums and parameters of stages fit into the L1.
const TILE: usize = 64;

/// Bytes that a strip takes at most if a single window takes less.
const MOST_STRIP: usize = 16 << 10;

/// Multiplications that are worth a second thread in any case, and if it lingers: a quarter of those of a product, which
/// does four times as many in the same time.
const WORTH_WAKING: f64 = 1e6;
const WORTH_SHARING: f64 = 1e5;

/// Pieces that each thread gets, so that none waits long for the last one.
const PIECES: usize = 4;

/// Convolves an image and finishes every sum.
///
/// A line of the image is a pixel, the depth its channels; its offset is added to each number. Padding has the value
/// `padding`. The rows of the result are positions, its columns are channels. Sums wrap around at 32 bits. The bytes of the
/// result do not depend on the kernel or the number of threads.
///
/// # Errors
/// [`Error::OutOfMemory`], and then the result is untouched.
///
/// # Panics
/// If the shapes do not agree.
pub(crate) fn depthwise(
    context: &Context,
    geometry: &Geometry,
    image: &Operand,
    offset: i32,
    padding: i16,
    weights: &Weights,
    finish: &Finish,
) -> Result<(), Error> {
    let cols = geometry.channels * geometry.multiplier;
    assert_eq!((geometry.positions(), cols), finish.store().shape(), "the result has another shape");
    assert_eq!(
        (image.lines, image.depth),
        (geometry.batch * geometry.down.input * geometry.across.input, geometry.channels),
        "the image has another shape"
    );
    if geometry.positions() == 0 || cols == 0 {
        return Ok(());
    }
    Convolution { context, geometry, image, offset, padding, weights, finish }.run()
}

struct Convolution<'a> {
    context: &'a Context,
    geometry: &'a Geometry,
    image: &'a Operand<'a>,
    offset: i32,
    padding: i16,
    weights: &'a Weights<'a>,
    finish: &'a Finish<'a>,
}

impl Convolution<'_> {
    fn run(&self) -> Result<(), Error> {
        let macs = self.geometry.macs();
        let is_shared = macs >= WORTH_WAKING || macs >= WORTH_SHARING && self.context.threads.are_worth_it();
        let threads = if is_shared { self.context.threads() } else { 1 };
        let pieces = if threads == 1 { 1 } else { threads * PIECES };
        // Whole rows, so that no strip begins within one.
        let cut = Cut::new(pieces, self.geometry.positions(), self.geometry.across.output);
        let workers = threads.min(cut.pieces);
        let desk_len = self.desk_len();
        let mut scratch = self.context.scratch(desk_len * workers)?;
        let desks = Mutex::new(scratch.as_mut_slice().chunks_exact_mut(desk_len));
        let next = Mutex::new(0..cut.pieces);
        self.context.threads.run(workers, |_| {
            let desk = desks.lock().unwrap_or_else(PoisonError::into_inner).next().expect("a desk for each worker");
            let claim = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(piece) = claim() {
                let positions = cut.piece(piece);
                for first in positions.clone().step_by(TILE) {
                    self.tile(first..positions.end.min(first + TILE), desk);
                }
            }
        });
        Ok(())
    }

    fn strip_len(&self) -> usize {
        self.strip::<LANES>(0).len(self.stretch())
    }

    /// How many windows a strip holds.
    fn stretch(&self) -> usize {
        let strip = self.strip::<LANES>(0);
        let all = TILE.min(self.geometry.across.output);
        (1..=all).rev().find(|&windows| strip.len(windows) * size_of::<Pairs<LANES>>() <= MOST_STRIP).unwrap_or(1)
    }

    /// A strip, the sums of a tile, and twice as much to finish them in.
    fn desk_len(&self) -> usize {
        Carver::cost(self.strip_len() * size_of::<Pairs<LANES>>()) + Carver::cost(3 * TILE * LANES * size_of::<i32>())
    }

    fn strip<const L: usize>(&self, first_channel: usize) -> Strip<'_, L> {
        Strip::new(self.geometry, self.image, self.padding, first_channel)
    }

    /// Computes some positions of the result, of all channels.
    fn tile(&self, positions: Range<usize>, desk: &mut [u8]) {
        let cols = self.geometry.channels * self.geometry.multiplier;
        let mut first = 0;
        while first < cols {
            if cols - first <= HALF {
                self.panel::<HALF>(positions.clone(), first..cols, desk);
            } else {
                self.panel::<LANES>(positions.clone(), first..cols.min(first + LANES), desk);
            }
            first += LANES;
        }
    }

    /// As [`Convolution::tile`], of one panel of channels.
    fn panel<const L: usize>(&self, positions: Range<usize>, cols: Range<usize>, desk: &mut [u8]) {
        let vectors = self.context.kernel.vectors;
        let mut carver = Carver::new(desk);
        let room = pairs_mut::<L>(carver.bytes(self.strip_len() * size_of::<Pairs<L>>()));
        let (acc, finishing) = carver.ints(3 * TILE * L).split_at_mut(TILE * L);
        let acc = &mut acc.as_chunks_mut::<L>().0[..positions.len()];
        let strip = self.strip::<L>(cols.start);
        let (stretch, width) = (self.stretch(), self.geometry.across.output);
        let weights = self.weights.panel::<L>(cols.start);
        let mut done = 0;
        while done < acc.len() {
            let at = positions.start + done;
            let windows = stretch.min(width - at % width).min(acc.len() - done);
            let pairs = &mut room[..strip.len(windows)];
            vectors.run(strip.fill(at / width, at % width, pairs));
            let acc = &mut acc[done..done + windows];
            vectors.run_pairs(Sums { strip: pairs, step: strip.step(), weights, acc });
            done += windows;
        }
        vectors.run(Finishing::<L> {
            finish: self.finish,
            region: Region {
                rows: positions,
                depth: 0,
                row_sums: &[],
                col_sums: self.weights.sums(cols.start),
                row_originals: &[],
                col_originals: &[],
                row_offsets: LineOffsets { offset: Offset::Uniform(self.offset), shift: 0 },
                col_offsets: LineOffsets { offset: Offset::Uniform(0), shift: 0 },
                rescale: None,
                cols,
            },
            acc: acc.as_flattened_mut(),
            room: finishing,
        });
    }
}

/// The tile's way to the result.
struct Finishing<'a, const L: usize> {
    finish: &'a Finish<'a>,
    region: Region<'a>,
    acc: &'a mut [i32],
    room: &'a mut [i32],
}

impl<const L: usize> Loop for Finishing<'_, L> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: tiles do not overlap, and each panel of one is finished once, by whoever claimed its piece.
        unsafe { output::finish::<L>(self.finish, &self.region, self.acc, self.room) }
    }
}
