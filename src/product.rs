//! A large product: operands are prepared, blocks of them multiplied tile by tile, and every tile finished.

use crate::blocks::{Blocks, Cut, Given, Shape};
use crate::buffer::Carver;
use crate::caches::Caches;
use crate::context::Context;
use crate::desks::Desks;
use crate::kernel::{Kernel, MAX_WIDTH, relay};
use crate::output::{Finish, Panels, Relay, Rescale, ResultKind};
use crate::pack::GROUP;
use crate::prepare::{Prepared, Room};
use crate::segment::Edge;
use crate::source::{Factor, Sides, Source, Space};
use std::mem;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

mod stripe;

use stripe::Stripe;

/// One product and how it is to be computed.
pub(crate) struct Product<'a> {
    context: &'a Context,
    kernel: &'static Kernel,
    /// The LHS and the RHS.
    sides: [Source<'a>; 2],
    rescale: Option<Rescale>,
    /// How many groups accumulators of 16 bits may take.
    span: u8,
    depth: usize,
    blocks: Blocks,
    /// The first column: that of the result, too.
    first_col: usize,
    /// How many windows lie in a row of results, if the lines of the LHS are windows: kernels read no more of them together.
    row: Option<usize>,
    /// The side whose segments, slices of the depth, have scales.
    scaled: Option<usize>,
    threads: usize,
    /// Whether each worker packs the RHS, which all blocks share, for itself.
    is_packed_apart: bool,
    /// All of a side, if nothing is to be prepared.
    ready: [Option<Prepared<'a>>; 2],
    /// What each worker needs to prepare the lines of one block.
    desk: [Room; 2],
}

const LHS: usize = 0;
const RHS: usize = 1;

/// Depths that are widened together for few rows: so little that the processor fetches what follows in the meantime.
const WIDENED: usize = 256;

/// Pieces that each thread gets when all prepare one side together.
const PIECES: usize = 4;

impl<'a> Product<'a> {
    pub(crate) fn new(context: &'a Context, lhs: &Factor<'a>, rhs: &Factor<'a>, shape: Shape, threads: usize) -> Self {
        let Sides { kernel, sources: mut sides, rescale, span } = Sides::new(shape.kernel(context.kernel), lhs, rhs);
        let windows = Product::windows(kernel, &mut sides, shape, threads);
        let ready = sides.each_ref().map(Source::ready);
        let given = Given {
            lhs_is_ready: ready[LHS].is_some(),
            rhs_is_ready: ready[RHS].is_some(),
            rhs_order: sides[RHS].order(),
        };
        let (row, blocks) = windows.unzip();
        let mut blocks = blocks.unwrap_or_else(|| Blocks::new(kernel, shape, given, threads, Caches::get()));
        if sides[RHS].is_widened() && shape.rows <= kernel.rows {
            blocks.depth = blocks.depth.with_pieces(shape.depth.div_ceil(WIDENED));
        }
        let scaled = [lhs, rhs].iter().position(|factor| factor.segment().is_some());
        if let Some(segment) = lhs.segment().or(rhs.segment()) {
            blocks.depth = Cut::new(shape.depth.div_ceil(segment), shape.depth, segment);
        }
        let mut product = Self {
            context,
            kernel,
            sides,
            rescale,
            span,
            depth: shape.depth,
            blocks,
            first_col: rhs.first(),
            row,
            scaled,
            threads,
            is_packed_apart: blocks.pack_apart(threads, Caches::get()),
            ready,
            desk: Default::default(),
        };
        for side in [LHS, RHS] {
            if product.ready[side].is_none() && !product.is_shared(side) {
                product.desk[side] = product.sides[side].room(product.cut(side).longest());
            }
        }
        product
    }

    /// Has the patches of the LHS read as windows if they had better be: how many lie in a row of results, and the blocks.
    fn windows(kernel: &Kernel, sides: &mut [Source<'a>; 2], shape: Shape, threads: usize) -> Option<(usize, Blocks)> {
        let [lhs, rhs] = sides;
        let windows = lhs.windows(rhs)?;
        let row = windows.in_row();
        let blocks = Blocks::of_rows(kernel, shape, row, |lines| windows.bytes(lines), threads, Caches::get())?;
        rhs.space(windows.run());
        lhs.become_windows(windows);
        Some((row, blocks))
    }

    /// A side that several blocks share is prepared first, by all threads together, or, if it is a small RHS, by each for itself
    /// when it begins. Of the other side, whoever multiplies a block prepares its lines just before.
    pub(crate) fn run(&self, finish: &Finish, scratch: &mut [u8]) {
        let mut carver = Carver::new(scratch);
        let whole = [LHS, RHS].map(|side| match self.ready[side] {
            None if self.is_shared(side) => Some(self.prepare_together(side, &mut carver)),
            ready => ready,
        });
        self.desks().work(
            self.context,
            &mut carver,
            self.blocks.count(),
            |carver| {
                let acc = carver.ints(self.acc_len());
                let widened = carver.bytes(self.widened_len());
                let desk = Desk { acc, widened, cols: Edge::new() };
                (desk, self.desk.map(|room| Space::carve(carver, room)), None)
            },
            |(desk, own, apart), block| {
                let (rows, cols) = self.blocks.block(block);
                let cols = self.lines(RHS, cols);
                let ([lhs, rhs], [own_lhs, own_rhs]) = (&self.sides, own);
                let lhs = whole[LHS].unwrap_or_else(|| lhs.prepare(rows.clone(), own_lhs));
                let rhs = match whole[RHS] {
                    Some(whole) => whole,
                    None if self.is_packed_apart => *apart.get_or_insert_with(|| {
                        let mut all = mem::take(own_rhs);
                        rhs.prepare(self.cols(), &mut all);
                        all.prepared(self.cols().start)
                    }),
                    None => rhs.prepare(cols.clone(), own_rhs),
                };
                self.multiply(&lhs, &rhs, rows, cols, finish, desk);
            },
        );
    }

    /// The cut of a side's lines into blocks.
    fn cut(&self, side: usize) -> Cut {
        [self.blocks.rows, self.blocks.cols][side]
    }

    /// All columns.
    fn cols(&self) -> Range<usize> {
        self.lines(RHS, 0..self.blocks.cols.len)
    }

    /// A piece of a side's cut, as its own lines are numbered.
    fn lines(&self, side: usize, piece: Range<usize>) -> Range<usize> {
        let first = if side == RHS { self.first_col } else { 0 };
        first + piece.start..first + piece.end
    }

    /// Whether several blocks need the same lines of this side, and workers have no copies of their own.
    fn is_shared(&self, side: usize) -> bool {
        self.cut(1 - side).pieces > 1 && !(side == RHS && self.is_packed_apart)
    }

    /// All of one side, prepared piece by piece, on all threads.
    fn prepare_together<'s>(&self, side: usize, carver: &mut Carver<'s>) -> Prepared<'s>
    where
        'a: 's,
    {
        let source = &self.sides[side];
        let pieces = if self.threads == 1 { 1 } else { self.threads * PIECES };
        let cut = self.cut(side).with_pieces(pieces);
        let mut all = Space::carve(carver, source.room(cut.len));
        let left = Mutex::new((0, all.first(source.room(cut.len))));
        self.context.threads.run(cut.pieces, |_| {
            let (lines, mut space) = {
                let (next, rest) = &mut *left.lock().unwrap_or_else(PoisonError::into_inner);
                let lines = self.lines(side, cut.piece(*next));
                *next += 1;
                let space = rest.split_off(source.room(lines.len()));
                (lines, space)
            };
            source.prepare(lines, &mut space);
        });
        all.prepared(self.lines(side, 0..0).start)
    }
}

/// Scratch memory: first the sides that are shared, then a desk for each worker.
impl Product<'_> {
    pub(crate) fn scratch_len(&self) -> usize {
        let shared = [LHS, RHS].map(|side| match self.is_shared(side) && self.ready[side].is_none() {
            true => Space::len(self.sides[side].room(self.cut(side).len)),
            false => 0,
        });
        shared[LHS] + shared[RHS] + self.desks().scratch_len()
    }

    fn desks(&self) -> Desks {
        let own = self.desk.map(Space::len);
        let len =
            own[LHS] + own[RHS] + Carver::cost(self.acc_len() * size_of::<i32>()) + Carver::cost(self.widened_len());
        Desks { workers: self.threads.min(self.blocks.count()), len }
    }

    /// A slice of a panel whose numbers lie in planes is widened here.
    fn widened_len(&self) -> usize {
        self.sides[RHS].widened_len(self.blocks.depth.longest().min(self.depth))
    }

    /// The accumulators of tiles that are finished together, or those of all tiles of a block's height if they rest between
    /// slices; and twice as much as the former to finish them in.
    fn acc_len(&self) -> usize {
        let tiles = match self.blocks.depth.pieces {
            1 => self.together(),
            _ => self.blocks.rows.longest().div_ceil(self.kernel.rows),
        };
        (tiles + 2 * self.together()) * self.kernel.tile_len()
    }

    /// How many tiles are finished together: one, where segments are.
    fn together(&self) -> usize {
        if self.scaled.is_some() { 1 } else { self.kernel.finished_together() }
    }
}

/// What one worker multiplies in.
struct Desk<'d> {
    acc: &'d mut [i32],
    /// A slice of a panel whose numbers lie in planes.
    widened: &'d mut [u8],
    /// A panel's lines in one segment.
    cols: Edge<MAX_WIDTH>,
}

/// Multiplying.
impl Product<'_> {
    /// Multiplies and finishes one block. The panels of its columns pass by one after the other; each slice of a panel
    /// meets all rows before the next.
    fn multiply(
        &self,
        lhs: &Prepared,
        rhs: &Prepared,
        rows: Range<usize>,
        cols: Range<usize>,
        finish: &Finish,
        desk: &mut Desk,
    ) {
        let _session = self.kernel.begin(rows.len());
        let stripe = |cols| Stripe { product: self, lhs, rhs, rows: rows.clone(), cols, finish };
        if stripe(cols.clone()).multiply_panels() {
            return;
        }
        match self.kernel.takes_panels() {
            true => self.multiply_stripes::<{ relay::TOGETHER }>(stripe, cols, desk),
            false => self.multiply_stripes::<{ relay::TWICE_TWO }>(stripe, cols, desk),
        }
    }

    /// The columns of one panel after the other, or of several together, of which a relay has room for so many. Apart, so that
    /// other kernels do not pay for it.
    #[inline(never)]
    fn multiply_stripes<'s, const N: usize>(
        &self,
        stripe: impl Fn(Range<usize>) -> Stripe<'s>,
        cols: Range<usize>,
        desk: &mut Desk,
    ) {
        let Stripe { rows, finish, .. } = stripe(cols.clone());
        let mut panels = Panels::<N>::NONE;
        let mut relay = self.relay(rows.len(), cols.len(), finish, &mut panels);
        let mut start = cols.start;
        while start < cols.end {
            let end = match &mut relay {
                Some(relay) => relay.write_panels(&stripe(start..cols.end).region(rows.clone())),
                None => cols.end.min(start + stripe(start..cols.end).together() * self.kernel.width),
            };
            let stripe = stripe(start..end);
            (0..self.blocks.depth.pieces).for_each(|slice| stripe.multiply_slice(slice, desk, relay.as_mut()));
            start = end;
        }
        if let Some(relay) = &mut relay {
            // SAFETY: whoever claimed the block finishes its tiles.
            unsafe { relay.end(desk.acc) }
        }
    }

    /// How tiles become bytes while others are multiplied, if they do.
    fn relay<'f, 'r, const N: usize>(
        &self,
        rows: usize,
        cols: usize,
        finish: &'f Finish<'r>,
        panels: &'f mut Panels<N>,
    ) -> Option<Relay<'f, 'r>> {
        let [lhs, rhs] = &self.sides;
        // Other lines are copied if they have no whole group.
        let are_short_windows = self.row.is_some() && self.depth < GROUP;
        if self.rescale.is_some() || self.scaled.is_some() || self.blocks.depth.pieces > 1 || are_short_windows {
            return None;
        }
        let offsets = (lhs.offset.uniform()?, rhs.offset.uniform()?);
        let shape = Shape { rows, cols, depth: self.depth, results: ResultKind::Bytes };
        let relay = Relay::new(self.kernel, finish, offsets, shape, panels)?;
        let relay = if rhs.is_widened() { relay.one_by_one() } else { relay };
        Some(match self.row {
            Some(row) => relay.of_windows(row),
            None => relay,
        })
    }
}
