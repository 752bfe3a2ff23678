//! Products of some rows beside an RHS whose depth is contiguous, on kernels that read both sides alike: it is read where it lies,
//! once, as if it were the LHS.
//!
//! The rows, which are fewer, are packed in its place: (A B)ᵀ = Bᵀ Aᵀ. Tiles are transposed before they are finished.

use crate::blocks::{Cut, Shape};
use crate::buffer::{Carver, bytes_of_ints, bytes_of_ints_mut};
use crate::caches::Caches;
use crate::context::Context;
use crate::desks::Desks;
use crate::kernel::{Kernel, MAX_WIDTH, Tile};
use crate::matrix::{Encoding, Operand, Order};
use crate::output::{Finish, LineOffsets, Region};
use crate::reading::Reading;
use crate::source::Factor;
use crate::span::Spans;
use std::ops::Range;

/// One product, and how it is to be computed.
pub(crate) struct Swapped<'a> {
    context: &'a Context,
    kernel: &'static Kernel,
    lhs: Operand<'a>,
    rhs: Operand<'a>,
    offsets: [LineOffsets<'a>; 2],
    /// The columns, as they are shared among threads.
    cut: Cut,
    threads: usize,
}

/// Rows below which other kernels are as fast; and above which an RHS had better be packed, one that the second cache holds, and one
/// that it does not (measured, with packing 1.1 to 1.7 times as fast beyond).
const LEAST_ROWS: usize = 5;
const MOST_ROWS_NEAR: usize = 32;
const MOST_ROWS: usize = 64;

/// Depths below which tiles are transposed and finished more than multiplied: 256 took up to 1.25 times as long so.
const LEAST_DEPTH: usize = 512;

/// Columns that a worker takes at a time.
const STRETCH: usize = 256;

impl<'a> Swapped<'a> {
    /// Whether a product of this shape had better be computed so, if it can be.
    #[inline(always)]
    pub(crate) fn pays(shape: Shape) -> bool {
        let most = || match shape.cols.saturating_mul(shape.depth) <= Caches::get().l2 {
            true => MOST_ROWS_NEAR,
            false => MOST_ROWS,
        };
        (LEAST_ROWS..=MOST_ROWS).contains(&shape.rows) && shape.depth >= LEAST_DEPTH && shape.rows <= most()
    }

    /// None if it cannot be: the operands are of other kinds, or the kernel reads no RHS so.
    #[inline(always)]
    pub(crate) fn new(
        context: &'a Context,
        lhs: &Factor<'a>,
        rhs: &Factor<'a>,
        shape: Shape,
        threads: usize,
    ) -> Option<Self> {
        let kernel = context.kernel.large(shape.macs())?;
        let (left, right) = (*lhs.operand()?, *rhs.operand()?);
        if right.order != Order::DepthContiguous || shape.depth == 0 {
            return None;
        }
        let offsets = |factor: &Factor<'a>| factor.line_offsets(&Reading::plain(factor.encoding(), factor.encoding()));
        let cut = Cut::new(shape.cols.div_ceil(STRETCH).max(threads), shape.cols, kernel.width);
        Some(Self { context, kernel, lhs: left, rhs: right, offsets: [offsets(lhs), offsets(rhs)], cut, threads })
    }

    /// Multiplies and finishes.
    pub(crate) fn run(&self, finish: &Finish, scratch: &mut [u8]) {
        let mut carver = Carver::new(scratch);
        let (panels, row_sums) = (carver.bytes(self.panels_len()), carver.ints(self.sums_len()));
        self.prepare(panels, row_sums);
        let (panels, row_sums) = (&*panels, &*row_sums);
        let lens = [2 * self.tiles_len(), self.tiles_len(), 2 * self.kernel.tile_len()];
        self.desks().work(
            self.context,
            &mut carver,
            self.cut.pieces,
            |carver| lens.map(|len| carver.ints(len)),
            |[tiles, transposed, room], piece| {
                let _session = self.kernel.begin(self.kernel.rows);
                let (piece, mut tiles) = (self.cut.piece(piece), tiles.split_at_mut(self.tiles_len()));
                // Each tile is finished while the next is multiplied, as far as the processor looks ahead.
                let mut before = None;
                for start in piece.clone().step_by(self.kernel.width) {
                    let cols = start..piece.end.min(start + self.kernel.width);
                    self.multiply(panels, cols.clone(), tiles.0);
                    if let Some(cols) = before.replace(cols) {
                        self.finish(finish, row_sums, cols, tiles.1, transposed, room);
                    }
                    tiles = (tiles.1, tiles.0);
                }
                if let Some(cols) = before {
                    self.finish(finish, row_sums, cols, tiles.1, transposed, room);
                }
            },
        );
    }

    /// Packs and sums the rows, and packs ones after them if the sums of columns are needed.
    fn prepare(&self, panels: &mut [u8], sums: &mut [i32]) {
        let (kernel, rows, depth) = (self.kernel, self.lhs.lines, self.lhs.depth);
        let reading = Reading::plain(self.lhs.encoding, self.lhs.encoding);
        let room = kernel.room_for_panels(rows, depth);
        kernel.pack_panels(&self.lhs, &reading, 0..rows, &mut panels[..room.bytes], sums);
        if self.has_ones() {
            let (width, group) = (kernel.width, kernel.groups.len());
            let panel = &mut panels[rows / width * width * kernel.pad(depth)..];
            for (i, groups) in panel.chunks_exact_mut(width * group).enumerate() {
                groups[rows % width * group..][..group.min(depth - i * group)].fill(1);
            }
        }
    }

    /// Multiplies some columns by all rows: sums of columns, of a panel of rows each, one panel after the other.
    fn multiply(&self, panels: &[u8], cols: Range<usize>, tiles: &mut [i32]) {
        let kernel = self.kernel;
        let mut tile = Tile {
            lhs: self.rhs.part(cols, 0..self.rhs.depth).lines(),
            height: kernel.rows,
            lhs_encoding: self.rhs.encoding,
            rhs_encoding: self.lhs.encoding,
            is_turned: false,
            rhs: &[],
            cols: 0,
            reach: 0,
            is_far: false,
            fresh: true,
            spans: Spans::Uniform(0),
            sums: None,
        };
        let panels = panels.chunks_exact(kernel.width * kernel.pad(self.rhs.depth));
        let firsts = (0..self.lines()).step_by(kernel.width);
        for ((panel, first), sums) in panels.zip(firsts).zip(tiles.chunks_exact_mut(kernel.tile_len())) {
            (tile.rhs, tile.cols) = (panel, (self.lines() - first).min(kernel.width));
            // SAFETY: whoever has a kernel has a CPU that runs it, and this thread has begun a session.
            unsafe { kernel.multiply(&mut tile, sums) }
        }
    }

    /// Transposes and finishes such sums.
    fn finish(
        &self,
        finish: &Finish,
        row_sums: &[i32],
        cols: Range<usize>,
        tiles: &[i32],
        transposed: &mut [i32],
        room: &mut [i32],
    ) {
        let (kernel, rows) = (self.kernel, self.lhs.lines);
        let len = kernel.width * size_of::<i32>();
        for (sums, to) in tiles.chunks_exact(kernel.tile_len()).zip(transposed.chunks_exact_mut(kernel.tile_len())) {
            // Packed as lines of groups of four bytes, they are transposed.
            let sums = bytes_of_ints(&sums[..cols.len() * kernel.width]);
            let sums = Operand::new(sums, (cols.len(), len), len, Order::DepthContiguous, Encoding::U8);
            let reading = Reading::plain(Encoding::U8, Encoding::U8);
            kernel.pack_panels(&sums, &reading, 0..cols.len(), bytes_of_ints_mut(to), &mut []);
        }
        let mut col_sums = [0; MAX_WIDTH];
        if self.has_ones() {
            col_sums[..kernel.width].copy_from_slice(&transposed[rows * kernel.width..][..kernel.width]);
        } else if self.are_summed() {
            let lines = self.rhs.part(cols.clone(), 0..self.rhs.depth).lines();
            kernel.sum_lines(lines, self.rhs.encoding, &mut col_sums[..cols.len()]);
        }
        for (tile, first) in transposed.chunks_exact_mut(kernel.tile_len()).zip((0..rows).step_by(kernel.width)) {
            let rows = first..rows.min(first + kernel.width);
            let region = Region {
                depth: self.lhs.depth,
                row_sums: row_sums.get(rows.clone()).unwrap_or_default(),
                col_sums: if self.are_summed() { &col_sums } else { &[] },
                row_originals: &[],
                col_originals: &[],
                row_offsets: self.offsets[0],
                col_offsets: self.offsets[1],
                rescale: None,
                rows,
                cols: cols.clone(),
            };
            // SAFETY: whoever has a kernel has a CPU that runs it; and whoever claimed the columns finishes them, once.
            unsafe { (kernel.finish)(finish, &region, tile, room) }
        }
    }

    /// Whether the sums of columns are needed.
    fn are_summed(&self) -> bool {
        self.offsets[0].uniform() != Some(0)
    }

    /// Whether a row of ones gives them, unless it were a panel of its own.
    fn has_ones(&self) -> bool {
        self.are_summed() && !self.lhs.lines.is_multiple_of(self.kernel.width)
    }

    /// The rows, and one of ones.
    fn lines(&self) -> usize {
        self.lhs.lines + usize::from(self.has_ones())
    }
}

/// Scratch memory: first the rows and their sums, then a desk for each worker.
impl Swapped<'_> {
    pub(crate) fn scratch_len(&self) -> usize {
        let ints = |len: usize| Carver::cost(len * size_of::<i32>());
        Carver::cost(self.panels_len()) + ints(self.sums_len()) + self.desks().scratch_len()
    }

    fn desks(&self) -> Desks {
        let ints = |len: usize| Carver::cost(len * size_of::<i32>());
        let len = ints(2 * self.tiles_len()) + ints(self.tiles_len()) + ints(2 * self.kernel.tile_len());
        Desks { workers: self.threads.min(self.cut.pieces), len }
    }

    fn panels_len(&self) -> usize {
        self.kernel.room_for_panels(self.lines(), self.lhs.depth).bytes
    }

    fn sums_len(&self) -> usize {
        if self.offsets[1].uniform() == Some(0) { 0 } else { self.kernel.room_for_panels(self.lhs.lines, 0).sums }
    }

    /// A tile for each panel of rows.
    fn tiles_len(&self) -> usize {
        self.lines().div_ceil(self.kernel.width) * self.kernel.tile_len()
    }
}
