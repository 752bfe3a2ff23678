//! Depthwise convolution: no two channels of an image are summed, so there is no product to speak of.
//!
//! The positions of the result are taken in tiles, the channels in panels. Of what the filter sees of a panel's channels
//! from the positions of a tile a *strip* is made: what it sees from one position, its window, lies there in one piece,
//! padding is filled in, and the numbers of two rows lie side by side in 16 bits each, for one instruction multiplies and
//! adds such pairs. All windows that see a column share it, so that each number is widened once for each row of the filter,
//! not once for each tap.

use super::{Axis, Filter, Plan};
use crate::blocks::Cut;
use crate::buffer::Carver;
use crate::context::Context;
use crate::desks::Desks;
use crate::matrix::{Offset, Operand};
use crate::output::{Finish, LineOffsets, Region};
use crate::source::Factor;
use std::ops::Range;

mod pairs;
mod strip;
mod sums;
#[cfg(test)]
mod tests;
mod weights;

use pairs::{Pairs, pairs_mut};
use strip::{READ_AS, Strip};
use sums::Sums;
use weights::{Layout, Weights};

/// Channels of a panel: two vectors of 256 bits. The last panel has half of them if that is enough.
const LANES: usize = 16;
const HALF: usize = LANES / 2;

/// Positions of a tile at most: its strip, sums and parameters of stages fit into the L1.
const TILE: usize = 64;

/// Bytes that a strip takes at most, if a single window does not take more.
const MOST_STRIP: usize = 16 << 10;

/// Multiplications that are worth a second thread in any case, and if it lingers: fewer than those of a product, which
/// does several times as many in the same time.
const WORTH_WAKING: f64 = 1e6;
const WORTH_SHARING: f64 = 1e5;

/// Pieces that each thread gets, so that none waits long for the last one.
const PIECES: usize = 4;

/// A convolution in which every group has one channel of the image.
pub(super) struct Depthwise<'a> {
    plan: &'a Plan,
    image: Operand<'a>,
    offset: i32,
    weights: Factor<'a>,
    layout: Layout,
    /// Positions of a tile: whole rows, or a part of one.
    tile: usize,
    /// How many windows a strip holds.
    stretch: usize,
}

impl<'a> Depthwise<'a> {
    /// None if the convolution is of another kind, or if weights do not fit into 16 bits with their offset.
    pub(super) fn new(plan: &'a Plan, image: Operand<'a>, offset: i32, weights: Factor<'a>) -> Option<Self> {
        let &Filter { axes: [down, across], channels, .. } = plan.filter();
        let fits = weights.greatest() <= i16::MAX as u128;
        if !plan.filter().is_depthwise() || !fits || plan.positions() == 0 || channels[1] == 0 {
            return None;
        }
        let layout = Layout { taps: [down.taps, across.taps], channels: channels[1] };
        let width = plan.results().size[1];
        let tile = if width <= TILE { TILE / width * width } else { width.div_ceil(width.div_ceil(TILE)) };
        let mut depthwise = Self { plan, image, offset, weights, layout, tile, stretch: 1 };
        let strip = depthwise.strip::<LANES>(0);
        let fits = |windows: &usize| strip.len(*windows) * size_of::<Pairs<LANES>>() <= MOST_STRIP;
        depthwise.stretch = (1..=tile.min(width)).rev().find(fits).unwrap_or(1);
        Some(depthwise)
    }

    /// On how many threads computing it pays.
    pub(super) fn threads(&self, context: &Context) -> usize {
        let macs = self.plan.positions() as f64 * self.layout.macs();
        let is_shared = macs >= WORTH_WAKING || macs >= WORTH_SHARING && context.threads.are_worth_it();
        if is_shared { context.threads() } else { 1 }
    }

    /// How many bytes it is computed in, on so many threads.
    pub(super) fn scratch_len(&self, threads: usize) -> usize {
        self.unpacked_len() + self.layout.len() + self.desks(threads).scratch_len()
    }

    /// Computes all results on so many threads, in `scratch`, of as many bytes as [`Depthwise::scratch_len`] says, which begin on a
    /// cache line.
    pub(super) fn run(&self, context: &Context, threads: usize, finish: &Finish, scratch: &mut [u8]) {
        let mut carver = Carver::new(scratch);
        let weights = self.weights.operand_in(carver.bytes(self.unpacked_len()));
        let bytes = carver.bytes(self.layout.len());
        let weights = Weights::pack(context.kernel.vectors, self.layout, &weights, self.weights.offset(), bytes);
        let cut = self.cut(threads);
        let worker = Worker { depthwise: self, context, weights, finish };
        self.desks(threads).work(
            context,
            &mut carver,
            cut.pieces,
            |carver| carver.bytes(self.desk_len()),
            |desk, piece| {
                let positions = cut.piece(piece);
                for first in positions.clone().step_by(self.tile) {
                    worker.tile(first..positions.end.min(first + self.tile), desk);
                }
            },
        );
    }

    fn desks(&self, threads: usize) -> Desks {
        Desks { workers: threads.min(self.cut(threads).pieces), len: self.desk_len() }
    }

    /// The positions in whole rows, so that no strip begins within one.
    fn cut(&self, threads: usize) -> Cut {
        let pieces = if threads == 1 { 1 } else { threads * PIECES };
        Cut::new(pieces, self.plan.positions(), self.plan.results().size[1])
    }

    /// The weights that are packed are unpacked here.
    fn unpacked_len(&self) -> usize {
        if self.weights.operand().is_some() { 0 } else { Carver::cost(self.weights.lines() * self.weights.depth()) }
    }

    /// What a worker needs: a strip, the sums of a tile, and twice as much to finish them in.
    fn desk_len(&self) -> usize {
        Carver::cost(self.strip_len()) + Carver::cost(3 * TILE * LANES * size_of::<i32>())
    }

    fn strip_len(&self) -> usize {
        self.strip::<LANES>(0).len(self.stretch) * size_of::<Pairs<LANES>>()
    }

    fn strip<const L: usize>(&self, first_channel: usize) -> Strip<'_, L> {
        // Beside an image, if there is anything, it is a number of the image's type.
        Strip::new(self.plan, &self.image, self.offset.wrapping_neg() as u8, first_channel)
    }
}

/// What a thread needs to know.
struct Worker<'a> {
    depthwise: &'a Depthwise<'a>,
    context: &'a Context,
    weights: Weights<'a>,
    finish: &'a Finish<'a>,
}

impl Worker<'_> {
    /// Computes some positions of the result, of all channels.
    fn tile(&self, positions: Range<usize>, desk: &mut [u8]) {
        let channels = self.depthwise.layout.channels;
        for first in (0..channels).step_by(LANES) {
            if channels - first <= HALF {
                self.panel::<HALF>(positions.clone(), first..channels, desk);
            } else {
                self.panel::<LANES>(positions.clone(), first..channels.min(first + LANES), desk);
            }
        }
    }

    /// As [`Worker::tile`], of one panel of channels.
    fn panel<const L: usize>(&self, positions: Range<usize>, cols: Range<usize>, desk: &mut [u8]) {
        let Self { depthwise, context, weights, finish } = self;
        let vectors = context.kernel.vectors;
        let mut carver = Carver::new(desk);
        let room = pairs_mut::<L>(carver.bytes(depthwise.strip_len()));
        let (acc, finishing) = carver.ints(3 * TILE * LANES).split_at_mut(TILE * LANES);
        let acc = &mut acc.as_chunks_mut().0[..positions.len()];
        let strip = depthwise.strip::<L>(cols.start);
        let width = depthwise.plan.results().size[1];
        let mut done = 0;
        while done < acc.len() {
            let (row, position) = ((positions.start + done) / width, (positions.start + done) % width);
            let windows = depthwise.stretch.min(width - position).min(acc.len() - done);
            let pairs = &mut room[..strip.len(windows)];
            vectors.run_pairs(strip.fill(row, position, pairs));
            let acc = &mut acc[done..done + windows];
            vectors.run_pairs(Sums { strip: pairs, step: strip.step(), weights: weights.panel(cols.start), acc });
            done += windows;
        }
        let shift = depthwise.image.encoding.shift_to(READ_AS);
        let region = Region {
            rows: positions,
            depth: 0,
            row_sums: &[],
            col_sums: weights.sums(cols.start),
            row_originals: &[],
            col_originals: &[],
            row_offsets: LineOffsets { offset: Offset::Uniform(depthwise.offset), shift },
            col_offsets: LineOffsets { offset: Offset::Uniform(0), shift: 0 },
            rescale: None,
            cols,
        };
        // Always of a whole panel's width, for half of it takes longer.
        let turn = vectors.finish::<LANES>();
        // SAFETY: tiles do not overlap, and each panel of one is finished once, by whoever claimed its piece.
        unsafe { turn(finish, &region, acc.as_flattened_mut(), finishing) };
    }
}
