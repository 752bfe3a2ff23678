//! Products so deep that the operands do not stay in the second cache: a slice of the depth meets all tiles of a block before the
//! next, so that what comes from afar is used as often as the block is long, and what is packed is multiplied at once.
//!
//! The block's sums rest meanwhile. Threads share the blocks, or, of one block, the depth, and add what they have in the end.

use crate::blocks::{Cut, Shape};
use crate::buffer::Carver;
use crate::caches::Caches;
use crate::context::Context;
use crate::desks::Desks;
use crate::kernel::{Tile, height};
use crate::matrix::{Lines, Operand, Order};
use crate::output::{Finish, LineOffsets, Region};
use crate::plain::{LHS, Plain, RHS};
use crate::source::Factor;
use crate::span::Spans;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// One product, and how it is to be computed.
pub(crate) struct Deep<'a> {
    context: &'a Context,
    plain: Plain,
    shape: Shape,
    lhs: Operand<'a>,
    rhs: Rhs<'a>,
    offsets: [LineOffsets<'a>; 2],
    are_summed: [bool; 2],
    /// The rows and the columns whose sums rest at a time.
    rows: Cut,
    cols: Cut,
    /// The depth, as threads share it if there are no other columns to share.
    depth: Cut,
    slice: usize,
    /// Whether the runs of all columns are packed together.
    by_runs: bool,
    threads: usize,
}

enum Rhs<'a> {
    /// To be packed.
    Operand(Operand<'a>),
    /// Panels, and the sums of their lines.
    Ready(&'a [u8], &'a [i32]),
}

/// Depths below which other ways are as fast.
pub(crate) const LEAST_DEPTH: usize = 4096;

/// The depth of a slice that is to be packed, which the first cache holds of few lines; and of one that is: sums are brought near
/// for each.
const SLICE: usize = 512;
const SLICE_READY: usize = 1024;

/// The same of weights so large that they come from memory, or from a cache that is far away, and lie contiguous at each depth, beside
/// so few rows that their sums can be brought near more often: slices have as many columns more, for memory brings long runs faster.
const SLICE_OF_RUNS: usize = 128;
const FAR: usize = 24 << 20;
const ROWS_BESIDE_RUNS: usize = 64;

/// Rows of a block.
const BLOCK_ROWS: usize = 256;

/// Pieces of the depth that each thread gets.
const PIECES: usize = 2;

/// Rows beside which an RHS is read where it lies, along the depth and along lines; and above which all of it had better be packed
/// first. Columns, each of which a slice begins anew, beside whole lines.
const FEW_ROWS: [usize; 2] = [16, 8];
const MOST_ROWS: usize = 128;
const MOST_COLS: usize = 128;

/// Rows of which the second cache holds half: if there are more, a walk that brings them there once is as fast.
const NEAR_ROWS: usize = 192;

impl<'a> Deep<'a> {
    /// None if it cannot be: the operands are of other kinds.
    pub(crate) fn new(
        context: &'a Context,
        lhs: &Factor<'a>,
        rhs: &Factor<'a>,
        shape: Shape,
        threads: usize,
    ) -> Option<Self> {
        let plain = Plain::new(context.kernel, lhs, rhs, shape)?;
        let rhs_of = match (rhs.operand(), rhs.panels()) {
            (Some(operand), _) => Rhs::Operand(*operand),
            (None, Some(packed)) if packed.spans().is_none() => {
                let prepared = packed.prepared();
                Rhs::Ready(prepared.bytes, prepared.sums)
            }
            _ => return None,
        };
        let mut rows = Cut::new(shape.rows.div_ceil(BLOCK_ROWS), shape.rows, plain.kernel.rows);
        // Each row of blocks would pack the columns again.
        if shape.depth == 0 || rows.pieces > 1 && !plain.is_ready {
            return None;
        }
        let by_runs = match &rhs_of {
            Rhs::Operand(rhs) => {
                let is_far = rhs.lines.saturating_mul(rhs.depth) > FAR;
                rhs.order == Order::LineContiguous && is_far && shape.rows <= ROWS_BESIDE_RUNS
            }
            Rhs::Ready(..) => false,
        };
        let l2 = Caches::get().l2;
        // A quarter of the second cache for sums, and an eighth, or a quarter of long runs, for a slice of the columns.
        let (slice, of_slice) = match (plain.is_ready, by_runs) {
            (true, _) => (SLICE_READY, l2 / 8),
            (false, true) => (SLICE_OF_RUNS, l2 / 4),
            (false, false) => (SLICE, l2 / 8),
        };
        let most_cols = (l2 / 4 / size_of::<i32>() / rows.longest()).min(of_slice / slice).max(1);
        let mut cols = Cut::new(shape.cols.div_ceil(most_cols), shape.cols, plain.kernel.width);
        let blocks = rows.pieces * cols.pieces;
        if blocks > 1 && !blocks.is_multiple_of(threads) {
            cols = cols.with_pieces(cols.pieces.next_multiple_of(threads));
            if plain.is_ready {
                rows = rows.with_pieces(rows.pieces.max(threads.div_ceil(cols.pieces)));
            }
        }
        let parts = if threads == 1 || blocks > 1 { 1 } else { threads * PIECES };
        Some(Self {
            context,
            plain,
            shape,
            lhs: *lhs.operand()?,
            rhs: rhs_of,
            offsets: plain.offsets(lhs, rhs),
            are_summed: plain.are_summed(lhs, rhs),
            rows,
            cols,
            depth: Cut::new(parts, shape.depth, slice),
            slice,
            by_runs,
            threads,
        })
    }

    /// Whether it had better be computed so, if it is no less deep than [`LEAST_DEPTH`] (measured, all of this).
    pub(crate) fn pays(&self) -> bool {
        let (Shape { rows, cols, depth, .. }, l2) = (self.shape, Caches::get().l2);
        let are_few_tiles = rows.saturating_mul(cols) <= l2 / 16 / size_of::<i32>();
        let lhs = rows.saturating_mul(depth);
        match &self.rhs {
            // Else rows stay near.
            Rhs::Ready(..) => {
                let is_long = self.plain.kernel.takes_panels() && l2 / 2 / depth < NEAR_ROWS;
                lhs > l2 / 2 && (are_few_tiles || is_long)
            }
            Rhs::Operand(rhs) => {
                if rows <= FEW_ROWS[1] && self.plain.kernel.few_lines.is_narrow(rhs) {
                    return true;
                }
                let is_far = (rows + cols).saturating_mul(depth) >= l2;
                let is_long = match rhs.order {
                    Order::DepthContiguous => rows > FEW_ROWS[0] && cols <= MOST_COLS && lhs > l2 / 4,
                    Order::LineContiguous => rows > FEW_ROWS[1] && rows <= MOST_ROWS,
                };
                is_far && is_long
            }
        }
    }

    /// Multiplies and finishes.
    pub(crate) fn run(&self, finish: &Finish, scratch: &mut [u8]) {
        let mut carver = Carver::new(scratch);
        let all = self.are_shared().then(|| {
            let mut sums = self.sums(&mut carver);
            sums.of_all().for_each(|sums| sums.fill(0));
            (Mutex::new(sums), carver.ints(self.room_len()))
        });
        self.desks().work(
            self.context,
            &mut carver,
            self.pieces(),
            |carver| Desk {
                sums: self.sums(carver),
                room: carver.ints(self.room_len()),
                of_slice: self.slice_sums_lens().map(|len| carver.ints(len)),
                lines: carver.bytes(self.lines_len()),
                panels: carver.bytes(self.panels_len()),
            },
            |desk, piece| {
                let (block, part) = (piece / self.depth.pieces, piece % self.depth.pieces);
                let rows = self.rows.piece(block % self.rows.pieces);
                let cols = self.cols.piece(block / self.rows.pieces);
                let depth = self.depth.piece(part);
                let _session = self.plain.kernel.begin(rows.len());
                desk.sums.of_lines.iter_mut().for_each(|sums| sums.fill(0));
                for start in depth.clone().step_by(self.slice) {
                    let slice = start..depth.end.min(start + self.slice);
                    self.multiply((&rows, &cols), slice, start == depth.start, desk);
                }
                match &all {
                    None => self.finish(finish, (&rows, &cols), &mut desk.sums, desk.room),
                    Some((all, _)) => {
                        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                        all.of_all().zip(desk.sums.of_all()).for_each(|(all, sums)| add(all, sums));
                    }
                }
            },
        );
        if let Some((all, room)) = all {
            let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
            self.finish(finish, (&(0..self.shape.rows), &(0..self.shape.cols)), &mut all, room);
        }
    }

    /// Adds what a slice of the depth does to the sums of some rows and columns, or begins them.
    fn multiply(
        &self,
        (rows, cols): (&Range<usize>, &Range<usize>),
        depth: Range<usize>,
        fresh: bool,
        desk: &mut Desk,
    ) {
        let Plain { kernel, readings, is_in_place, .. } = self.plain;
        let Desk { sums, of_slice: [row_sums, col_sums], lines, panels, .. } = desk;
        let lhs = self.lhs.part(rows.clone(), depth.clone());
        let row_sums = &mut row_sums[..if self.are_summed[LHS] { rows.len() } else { 0 }];
        let rows = rows.len();
        let lhs = if is_in_place {
            kernel.sum_in_place(lhs.lines(), &readings[LHS], row_sums);
            lhs.lines()
        } else {
            let (pitch, len) = (kernel.pitch(depth.len()), kernel.pad(depth.len()) * kernel.groups.lhs_size());
            kernel.pack_lines(&lhs, &readings[LHS], 0..rows, lines, row_sums);
            Lines::packed(lines, rows, pitch, 0..len)
        };
        add(sums.of_lines[LHS], row_sums);
        let panel_len = kernel.width * kernel.pad(depth.len());
        let (panels, step) = match &self.rhs {
            Rhs::Operand(operand) => {
                let part = operand.part(cols.clone(), depth.clone());
                let col_sums =
                    &mut col_sums[..if self.are_summed[RHS] { cols.len().next_multiple_of(kernel.width) } else { 0 }];
                match self.by_runs {
                    true => kernel.pack_runs(&part, &readings[RHS], 0..cols.len(), panels, col_sums),
                    false => kernel.pack_panels(&part, &readings[RHS], 0..cols.len(), panels, col_sums),
                }
                add(sums.of_lines[RHS], col_sums);
                (&**panels, panel_len)
            }
            Rhs::Ready(panels, _) => {
                let all = kernel.pad(self.shape.depth);
                (&panels[cols.start * all + kernel.width * depth.start..], kernel.width * all)
            }
        };
        let height = height(rows, kernel.together(&lhs));
        let firsts = cols.clone().step_by(kernel.width);
        for ((i, first), acc) in firsts.enumerate().zip(sums.tiles.chunks_exact_mut(rows * kernel.width)) {
            let panels = &panels[i * step..];
            let mut tile = Tile {
                lhs,
                height,
                lhs_encoding: readings[LHS].to,
                rhs_encoding: readings[RHS].to,
                is_turned: self.plain.is_turned(),
                rhs: &panels[..panel_len],
                cols: (cols.end - first).min(kernel.width),
                reach: panels.len(),
                // What follows may be another slice of the same panel, which is not multiplied next.
                is_far: false,
                fresh,
                spans: Spans::Uniform(self.plain.span),
                sums: None,
            };
            // SAFETY: whoever has a kernel has a CPU that runs it, and this thread has begun a session.
            unsafe { kernel.multiply(&mut tile, acc) }
        }
    }

    /// Finishes the tiles of some rows and columns.
    fn finish(&self, finish: &Finish, (rows, cols): (&Range<usize>, &Range<usize>), sums: &mut Sums, room: &mut [i32]) {
        let depth = self.shape.depth;
        let width = self.plain.kernel.width;
        let Sums { tiles, of_lines: [row_sums, col_sums] } = sums;
        let col_sums = match self.rhs {
            Rhs::Operand(_) => &**col_sums,
            Rhs::Ready(_, sums) => sums.get(cols.start..).unwrap_or_default(),
        };
        let [row_offsets, col_offsets] = self.offsets;
        let together = self.finished_together() / width;
        for (first, panel) in cols.clone().step_by(width).zip(tiles.chunks_exact_mut(rows.len() * width)) {
            for (row, acc) in rows.clone().step_by(together).zip(panel.chunks_mut(together * width)) {
                let part = row..row + acc.len() / width;
                let region = Region {
                    depth,
                    row_sums: row_sums.get(row - rows.start..part.end - rows.start).unwrap_or_default(),
                    col_sums: col_sums.get(first - cols.start..).and_then(|sums| sums.get(..width)).unwrap_or_default(),
                    row_originals: &[],
                    col_originals: &[],
                    row_offsets,
                    col_offsets,
                    rescale: None,
                    rows: part,
                    cols: first..cols.end.min(first + width),
                };
                // SAFETY: whoever has a kernel has a CPU that runs it, and nobody else finishes these tiles.
                unsafe { (self.plain.kernel.finish)(finish, &region, acc, room) }
            }
        }
    }
}

/// Sums of products, one panel's after the other's, and those of the lines of both sides if they are needed.
struct Sums<'s> {
    tiles: &'s mut [i32],
    of_lines: [&'s mut [i32]; 2],
}

impl Sums<'_> {
    fn of_all(&mut self) -> impl Iterator<Item = &mut [i32]> {
        let [of_rows, of_cols] = &mut self.of_lines;
        [&mut *self.tiles, of_rows, of_cols].into_iter()
    }
}

/// What one worker multiplies in.
struct Desk<'d> {
    sums: Sums<'d>,
    /// What tiles are finished in.
    room: &'d mut [i32],
    /// Those of the lines of one slice.
    of_slice: [&'d mut [i32]; 2],
    /// A slice of the LHS, unless it is read in place, and of the RHS, unless it is packed.
    lines: &'d mut [u8],
    panels: &'d mut [u8],
}

fn add(sums: &mut [i32], more: &[i32]) {
    sums.iter_mut().zip(more).for_each(|(sum, &more)| *sum = sum.wrapping_add(more));
}

/// Scratch memory: sums, and what tiles are finished in, if threads share the depth; then a desk for each worker.
impl Deep<'_> {
    pub(crate) fn scratch_len(&self) -> usize {
        let shared = if self.are_shared() { self.all_sums_len() + ints(self.room_len()) } else { 0 };
        shared + self.desks().scratch_len()
    }

    /// Whether several parts of the depth are summed in one place.
    fn are_shared(&self) -> bool {
        self.depth.pieces > 1
    }

    fn desks(&self) -> Desks {
        let of_slice: usize = self.slice_sums_lens().map(ints).iter().sum();
        let packed = Carver::cost(self.lines_len()) + Carver::cost(self.panels_len());
        let len = self.all_sums_len() + ints(self.room_len()) + of_slice + packed;
        Desks { workers: self.threads.min(self.pieces()), len }
    }

    fn pieces(&self) -> usize {
        self.rows.pieces * self.cols.pieces * self.depth.pieces
    }

    fn sums<'s>(&self, carver: &mut Carver<'s>) -> Sums<'s> {
        let tiles = carver.ints(self.tiles_len());
        Sums { tiles, of_lines: self.slice_sums_lens().map(|len| carver.ints(len)) }
    }

    fn all_sums_len(&self) -> usize {
        ints(self.tiles_len()) + self.slice_sums_lens().map(ints).iter().sum::<usize>()
    }

    fn tiles_len(&self) -> usize {
        self.rows.longest() * self.cols.longest()
    }

    /// How many lines of each side are summed.
    fn slice_sums_lens(&self) -> [usize; 2] {
        let cols = if self.plain.is_ready { 0 } else { self.cols.longest() };
        let len = |side: usize, lines: usize| if self.are_summed[side] { lines } else { 0 };
        [len(LHS, self.rows.longest()), len(RHS, cols)]
    }

    fn lines_len(&self) -> usize {
        let Plain { kernel, is_in_place, .. } = self.plain;
        if is_in_place { 0 } else { kernel.room_for_lines(self.rows.longest(), self.slice).bytes }
    }

    fn panels_len(&self) -> usize {
        let Plain { kernel, is_ready, .. } = self.plain;
        if is_ready { 0 } else { kernel.room_for_panels(self.cols.longest(), self.slice).bytes }
    }

    /// Sums that are finished together: those of whole rows of a panel.
    fn finished_together(&self) -> usize {
        let kernel = self.plain.kernel;
        kernel.tile_len() * kernel.finished_together()
    }

    fn room_len(&self) -> usize {
        2 * self.finished_together()
    }
}

/// What so many integers take of scratch memory.
fn ints(len: usize) -> usize {
    Carver::cost(len * size_of::<i32>())
}

#[cfg(test)]
mod tests;
