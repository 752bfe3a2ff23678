//! Depthwise convolution: no two channels of an image are summed, so there is no product to speak of.
//!
//! The positions of the result are taken in tiles, the channels in panels. Of what the filter sees of a panel's channels
//! from the positions of a tile a *strip* is made: what it sees from one position, its window, lies there in one piece,
//! padding is filled in, and the numbers of two rows lie side by side in 16 bits each, for one instruction multiplies and
//! adds such pairs; or those of four rows in 8 bits each, where there is an instruction for that and weights fit. All windows
//! that see a column share it, so that each number is moved once for each row of the filter, not once for each tap.
//! Windows three columns wide, in fours, need no strip: a *sweep* multiplies each column while it is in a register.
//!
//! Weights that with their offset are no signed bytes, as those of u8 never are, are split: they are read as signed bytes,
//! and what is left to be added to all weights of a channel is multiplied by what a column shows, once for all windows.

use super::{Axis, Filter, Place, Plan};
use crate::blocks::Cut;
use crate::buffer::{Buffer, Carver};
use crate::context::Context;
use crate::desks::Desks;
use crate::error::Error;
use crate::kernel::{Group, Kernel, Taps, TapsLoop};
use crate::matrix::{Encoding, Offset, Operand};
use crate::output::{Finish, LineOffsets, Region};
use crate::scratch::Scratch;
use crate::source::Factor;
use std::ops::Range;

mod groups;
mod strip;
mod sums;
mod sweep;
#[cfg(test)]
mod tests;
mod weights;

use groups::{Groups, groups_mut};
use strip::Strip;
use sums::Sums;
use sweep::{Factors, Sweep};
use weights::{ADDED, Layout, MOST_LOWERED, Weights};

/// Channels of a panel: a vector of 512 bits or two of 256. The last panel has half of them if that is enough.
const LANES: usize = 16;
const HALF: usize = LANES / 2;

/// Channels of a wide panel, which what it takes to look at a row is worth for: as many as one of such a kernel's products has.
const WIDE: usize = 32;

/// Positions of a tile at most: its strip, sums and parameters of stages fit into the L1.
const TILE: usize = 192;

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
    /// Whether a strip has room for what the windows of the next row see, too.
    is_double: bool,
    /// Bytes of the longest strip.
    strip_len: usize,
    /// The weights as they are multiplied, if they were made ready.
    ready: Option<&'a [u8]>,
}

impl<'a> Depthwise<'a> {
    /// None if the convolution is of another kind, or if weights do not fit into 16 bits with their offset.
    pub(super) fn new(
        kernel: &Kernel,
        plan: &'a Plan,
        image: Operand<'a>,
        offset: i32,
        weights: Factor<'a>,
    ) -> Option<Self> {
        let &Filter { axes: [down, across], channels, .. } = plan.filter();
        if !plan.filter().is_depthwise()
            || weights.greatest() > i16::MAX as u128
            || plan.positions() == 0
            || channels[1] == 0
        {
            return None;
        }
        let are_bytes = are_bytes(&weights);
        let may_split = are_split_in_time(plan.filter()) && weights::may_split(weights.encoding(), weights.offset());
        let in_fours = kernel.taps.has_fours() && (are_bytes || may_split);
        let layout = Layout {
            taps: [down.taps, across.taps],
            in_fours,
            is_split: in_fours && !are_bytes,
            is_wide: in_fours && kernel.width == WIDE,
            channels: channels[1],
        };
        let width = plan.results().size[1];
        let tile = if width <= TILE { TILE / width * width } else { width.div_ceil(width.div_ceil(TILE)) };
        let is_double = layout.is_double(&down, plan.results().size[0]);
        let (stretch, strip_len) = (1, 0);
        let mut depthwise =
            Self { plan, image, offset, weights, layout, tile, stretch, is_double, strip_len, ready: None };
        let strip = depthwise.strip::<LANES>(0);
        let len = |windows: usize| strip.len(windows) * depthwise.lanes() * size_of::<Group>();
        let stretch = (1..=tile.min(width)).rev().find(|&windows| len(windows) <= MOST_STRIP).unwrap_or(1);
        (depthwise.stretch, depthwise.strip_len) = (stretch, len(stretch));
        Some(depthwise)
    }

    /// The weights, packed already, as they are multiplied. None if they lie as the caller has them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn make_ready(&self, kernel: &Kernel) -> Result<Option<Buffer>, Error> {
        if self.weights.operand().is_some() {
            return Ok(None);
        }
        let mut ready = Buffer::empty();
        ready.reserve(self.packing_len())?;
        let mut carver = Carver::new(ready.as_mut_slice());
        // What is kept lies first.
        let bytes = carver.bytes(self.layout.len());
        self.pack(kernel, bytes, carver.bytes(self.unpacked_len()));
        Ok(Some(ready))
    }

    /// With weights that [`Depthwise::make_ready`] made so.
    pub(super) fn with(self, ready: &'a Buffer) -> Self {
        Self { ready: Some(&ready.as_slice()[..self.layout.len()]), ..self }
    }

    /// The weights as they are multiplied, in `bytes`.
    fn pack<'b>(&self, kernel: &Kernel, bytes: &'b mut [u8], unpacked: &mut [u8]) -> Weights<'b> {
        let weights = self.weights.operand_in(unpacked);
        Weights::pack(kernel.taps, self.layout, &weights, self.weights.offset(), bytes)
    }

    /// Bytes that this takes.
    fn packing_len(&self) -> usize {
        if self.ready.is_some() { 0 } else { self.layout.len() + Carver::cost(self.unpacked_len()) }
    }

    /// On how many threads computing it pays.
    fn threads(&self, context: &Context) -> usize {
        let macs = self.plan.positions() as f64 * self.layout.macs();
        let is_shared = macs >= WORTH_WAKING || macs >= WORTH_SHARING && context.threads.are_worth_it();
        if is_shared { context.threads() } else { 1 }
    }

    /// How many bytes it is computed in, on so many threads.
    pub(super) fn scratch_len(&self, threads: usize) -> usize {
        self.packing_len() + self.desks(threads).scratch_len()
    }

    /// Computes all results, in memory of the caller's if there is any.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Workspace`], and then nothing was written.
    pub(super) fn run_in(&self, context: &Context, finish: &Finish, workspace: Option<&mut [u8]>) -> Result<(), Error> {
        let threads = self.threads(context);
        let len = self.scratch_len(threads);
        let mut scratch = match workspace {
            Some(workspace) => Scratch::callers(workspace, len)?,
            None => context.scratch(len)?,
        };
        self.run(context, threads, finish, scratch.as_mut_slice());
        Ok(())
    }

    /// Computes all results on so many threads, in `scratch`, of as many bytes as [`Depthwise::scratch_len`] says, which begin on a
    /// cache line.
    pub(super) fn run(&self, context: &Context, threads: usize, finish: &Finish, scratch: &mut [u8]) {
        let mut carver = Carver::new(scratch);
        let weights = match self.ready {
            Some(ready) => Weights::packed(self.layout, ready),
            None => {
                let bytes = carver.bytes(self.layout.len());
                self.pack(context.kernel, bytes, carver.bytes(self.unpacked_len()))
            }
        };
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
        if self.weights.operand().is_some() { 0 } else { self.weights.lines() * self.weights.depth() }
    }

    /// Lanes of the widest panel.
    fn lanes(&self) -> usize {
        if self.layout.is_wide { WIDE } else { LANES }
    }

    /// What a worker needs: a strip, the sums of a tile, and twice as much to finish them in.
    fn desk_len(&self) -> usize {
        Carver::cost(self.strip_len) + Carver::cost(self.acc_len() * size_of::<i32>())
    }

    fn acc_len(&self) -> usize {
        3 * self.tile * self.lanes()
    }

    /// What the image's bytes are read as.
    fn read_as(&self) -> Encoding {
        if self.layout.in_fours { Encoding::U8 } else { Encoding::S8 }
    }

    fn strip<const L: usize>(&self, first_channel: usize) -> Strip<'_, L> {
        // Beside an image, if there is anything, it is a number of the image's type.
        let padding = self.offset.wrapping_neg() as u8;
        Strip::new(self.plan, &self.image, padding, self.layout.height(), first_channel)
    }
}

/// What a thread needs to know.
struct Worker<'a> {
    depthwise: &'a Depthwise<'a>,
    context: &'a Context,
    weights: Weights<'a>,
    finish: &'a Finish<'a>,
}

/// Some positions, and the place of the first.
struct Tile {
    positions: Range<usize>,
    place: Place,
}

impl Worker<'_> {
    /// Computes some positions of the result, of all channels.
    fn tile(&self, positions: Range<usize>, desk: &mut [u8]) {
        let layout = self.depthwise.layout;
        let place = self.depthwise.plan.place(positions.start);
        let mut first = 0;
        while first < layout.channels {
            let lanes = layout.width(first);
            let (tile, cols) =
                (Tile { positions: positions.clone(), place }, first..layout.channels.min(first + lanes));
            match (lanes, layout.is_wide) {
                (HALF, false) => self.panel::<HALF, LANES>(tile, cols, desk),
                (_, false) => self.panel::<LANES, LANES>(tile, cols, desk),
                (HALF, true) => self.panel::<HALF, WIDE>(tile, cols, desk),
                (LANES, true) => self.panel::<LANES, WIDE>(tile, cols, desk),
                (_, true) => self.panel::<WIDE, WIDE>(tile, cols, desk),
            }
            first += lanes;
        }
    }

    /// As [`Worker::tile`], of one panel of `L` channels, whose sums are finished in rows of `W`.
    fn panel<const L: usize, const W: usize>(&self, tile: Tile, cols: Range<usize>, desk: &mut [u8]) {
        let Self { depthwise, context, weights, finish } = self;
        let mut carver = Carver::new(desk);
        let room = groups_mut(carver.bytes(depthwise.strip_len));
        let (acc, finishing) = carver.ints(depthwise.acc_len()).split_at_mut(depthwise.tile * W);
        let strip = depthwise.strip::<L>(cols.start);
        let stretch = depthwise.stretch;
        let weights_of = weights.panel(cols.start);
        let (plan, is_double) = (depthwise.plan, depthwise.is_double);
        let sums = &mut acc.as_chunks_mut::<W>().0[..tile.positions.len()];
        let is_split = depthwise.layout.is_split;
        let panel = Panel {
            plan,
            strip,
            weights: weights_of,
            is_split,
            is_double,
            first: tile.place,
            stretch,
            room,
            acc: sums,
        };
        context.kernel.taps.run(depthwise.layout.in_fours, panel);
        let shift = depthwise.image.encoding.shift_to(depthwise.read_as());
        let region = Region {
            rows: tile.positions,
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
        let turn = if W == WIDE { context.kernel.finish } else { context.kernel.vectors.finish::<LANES>() };
        // SAFETY: tiles do not overlap, and each panel of one is finished once, by whoever claimed its piece.
        unsafe { turn(finish, &region, acc, finishing) };
    }
}

/// Whether weights and their offsets are known to be numbers of signed bytes.
fn are_bytes(weights: &Factor) -> bool {
    weights::flip(weights.encoding(), weights.offset()).is_some() || weights.greatest() <= i8::MAX as u128
}

/// Whether what is added to weights takes less time apart from them than pairs of 16 bits take.
fn are_split_in_time(filter: &Filter) -> bool {
    let height = filter.axes[0].taps.div_ceil(4);
    sweep::stride(filter, height).is_some() && filter.channels[0] == filter.channels[1]
}

/// The sums of a tile's positions, of one panel of channels.
struct Panel<'a, const L: usize, const W: usize> {
    plan: &'a Plan,
    strip: Strip<'a, L>,
    weights: &'a [Groups<L>],
    /// Whether behind the weights' groups those lie that are added to all of them.
    is_split: bool,
    is_double: bool,
    first: Place,
    /// Windows of a strip at most.
    stretch: usize,
    room: &'a mut [Groups<L>],
    acc: &'a mut [[i32; W]],
}

impl<const L: usize, const W: usize> TapsLoop for Panel<'_, L, W> {
    #[inline(always)]
    fn run<const ROWS: usize, T: Taps<ROWS>>(self, taps: T) {
        // In constants, so that nothing is made of what is not reached.
        if const { W != T::WIDTH } {
            unreachable!("rows of other widths meet other taps");
        }
        if const { ROWS != 4 } {
            return self.fill(taps);
        }
        match (self.strip.swept(), self.is_split) {
            (None, _) => self.fill(taps),
            (Some(1), false) => self.sweep::<1, 0, ROWS>(taps),
            (Some(1), true) => self.sweep::<1, ADDED, ROWS>(taps),
            (Some(_), false) => self.sweep::<2, 0, ROWS>(taps),
            (Some(_), true) => self.sweep::<2, ADDED, ROWS>(taps),
        }
    }
}

impl<const L: usize, const W: usize> Panel<'_, L, W> {
    /// By way of strips.
    #[inline(always)]
    fn fill<const ROWS: usize>(self, taps: impl Taps<ROWS>) {
        let Self { plan, strip, weights, is_split, is_double, first: mut place, stretch, room, mut acc } = self;
        let added = if is_split { ADDED } else { 0 };
        let [height, width] = plan.results().size;
        // Not cleared where there are none.
        let mut lowered;
        let mut weights = [weights; 2];
        if is_double {
            lowered = [[[0; 2]; L]; MOST_LOWERED];
            lower(weights[0], strip.height(), taps, &mut lowered);
            weights[1] = &lowered[..weights[0].len()];
        }
        let mut columns = strip.columns(place.x, stretch.min(width - place.x).min(acc.len()));
        while !acc.is_empty() {
            let windows = stretch.min(width - place.x).min(acc.len());
            if !columns.are_of(place.x, windows) {
                columns = strip.columns(place.x, windows);
            }
            let room = &mut room[..strip.len(windows)];
            strip.fill(&place, &columns, taps, room);
            let has_next = is_double && windows == width && place.y + 1 < height && acc.len() >= 2 * width;
            let rows = if has_next { 2 } else { 1 };
            for weights in &weights[..rows] {
                let (now, rest) = std::mem::take(&mut acc).split_at_mut(windows);
                let (weights, added) = weights.split_at(weights.len() - added);
                Sums { strip: room, step: strip.step(), weights, added, acc: now }.run(taps);
                plan.advance(&mut place, windows);
                acc = rest;
            }
        }
    }

    /// Without strips.
    #[inline(always)]
    fn sweep<const STRIDE: usize, const ADDED: usize, const ROWS: usize>(self, taps: impl Taps<ROWS>) {
        let Self { plan, strip, weights, is_double, first: mut place, mut acc, .. } = self;
        let [height, width] = plan.results().size;
        let (weights, added) = weights.split_first_chunk().expect("a group for each column");
        let factors = Factors::<L, ADDED> { weights: *weights, added: *added.first_chunk().expect("so many") };
        let mut both = [factors; 2];
        for (groups, lowered) in factors.weights.iter().zip(&mut both[1].weights) {
            taps.lower(groups, &[[0; 2]; L], lowered);
        }
        for (groups, lowered) in factors.added.iter().zip(&mut both[1].added) {
            taps.lower(groups, &[[0; 2]; L], lowered);
        }
        let mut columns = strip.columns(place.x, (width - place.x).min(acc.len()));
        while !acc.is_empty() {
            let windows = (width - place.x).min(acc.len());
            if !columns.are_of(place.x, windows) {
                columns = strip.columns(place.x, windows);
            }
            let (now, rest) = std::mem::take(&mut acc).split_at_mut(windows);
            if is_double && windows == width && place.y + 1 < height && rest.len() >= width {
                let (next, rest) = rest.split_at_mut(windows);
                strip.sweep::<STRIDE, _, _, _, ROWS, _>(&place, &columns, taps, Sweep::new(both, [now, next]));
                plan.advance(&mut place, windows);
                acc = rest;
            } else {
                strip.sweep::<STRIDE, _, _, _, ROWS, _>(&place, &columns, taps, Sweep::new([factors], [now]));
                acc = rest;
            }
            plan.advance(&mut place, windows);
        }
    }
}

/// The weights as windows one row further down meet what the same strip shows.
#[inline(always)]
fn lower<const L: usize, const ROWS: usize>(
    weights: &[Groups<L>],
    height: usize,
    taps: impl Taps<ROWS>,
    to: &mut [Groups<L>],
) {
    for (column, to) in weights.chunks_exact(height).zip(to.chunks_exact_mut(height)) {
        let mut above = &[[0; 2]; L];
        for (groups, to) in column.iter().zip(to) {
            taps.lower(groups, above, to);
            above = groups;
        }
    }
}
