//! The product: operands are prepared, blocks of them multiplied tile by tile, and every tile finished.

use crate::blocks::{Blocks, Caches, Cut, Shape};
use crate::buffer::Carver;
use crate::context::Context;
use crate::error::Error;
use crate::kernel::{Kernel, MAX_ROWS, Tile};
use crate::matrix::{Encoding, Operand};
use crate::output::{Finish, Region};
use crate::pack::Groups;
use std::array::from_fn;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Multiplies `lhs` by `rhs`, each with its offset added to every element, and finishes every sum.
///
/// Sums wrap around at 32 bits. The bytes of the result do not depend on the kernel or the number of threads.
///
/// # Errors
/// [`Error::OutOfMemory`], and then the result is untouched.
///
/// # Panics
/// If the shapes of the operands and of the result do not agree.
pub fn gemm(context: &Context, lhs: &Operand, rhs: &Operand, finish: &Finish) -> Result<(), Error> {
    assert_eq!(lhs.depth, rhs.depth, "the operands differ in depth");
    let shape = Shape { rows: lhs.lines, cols: rhs.lines, depth: lhs.depth };
    assert_eq!((shape.rows, shape.cols), finish.store().shape(), "the result has another shape");
    if shape.rows == 0 || shape.cols == 0 {
        return Ok(());
    }
    if !shape.is_packable() {
        return Err(Error::OutOfMemory { bytes: usize::MAX });
    }
    let product = Product::new(context, lhs, rhs, finish, shape);
    let mut scratch = context.scratch(product.scratch_len())?;
    product.run(scratch.as_mut_slice());
    Ok(())
}

/// One product and how it is to be computed.
struct Product<'a> {
    context: &'a Context,
    kernel: &'static Kernel,
    lhs: &'a Operand<'a>,
    rhs: &'a Operand<'a>,
    finish: &'a Finish<'a>,
    depth: usize,
    /// The depth in whole groups.
    padded_depth: usize,
    /// Bytes from one packed line of the LHS to the next: an odd number of cache lines, so that lines do not compete for
    /// the same places in the caches.
    pitch: usize,
    blocks: Blocks,
    threads: usize,
    /// How the RHS is packed, and its offset once it is.
    rhs_encoding: Encoding,
    rhs_offset: i32,
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lhs,
    Rhs,
}

/// Multiplications that are worth a second thread: one that sleeps takes some 20 us to come, one that lingers none.
const WORTH_WAKING: f64 = 4e6;
const WORTH_SHARING: f64 = 4e5;

/// Pieces that each thread gets when all prepare one side together.
const PIECES: usize = 4;

impl<'a> Product<'a> {
    fn new(context: &'a Context, lhs: &'a Operand, rhs: &'a Operand, finish: &'a Finish, shape: Shape) -> Self {
        let kernel = context.kernel;
        let worth = if context.threads.is_warm() { WORTH_SHARING } else { WORTH_WAKING };
        let threads = if shape.macs() < worth { 1 } else { context.threads() };
        let rhs_encoding = kernel.groups.rhs_encoding(lhs.encoding);
        let padded_depth = kernel.groups.pad(shape.depth);
        Self {
            context,
            kernel,
            lhs,
            rhs,
            finish,
            depth: shape.depth,
            padded_depth,
            pitch: ((padded_depth * kernel.groups.lhs_size()).div_ceil(64) | 1) * 64,
            blocks: Blocks::new(kernel, shape, rhs.order, threads, Caches::get()),
            threads,
            rhs_encoding,
            rhs_offset: rhs.offset.wrapping_sub(rhs.encoding.shift_to(rhs_encoding)),
        }
    }

    /// A side that several blocks share is prepared first, by all threads together. Of the other side, whoever
    /// multiplies a block prepares its lines just before.
    fn run(&self, scratch: &mut [u8]) {
        let mut carver = Carver::new(scratch);
        let shared =
            [Side::Lhs, Side::Rhs].map(|side| self.is_shared(side).then(|| self.prepare_together(side, &mut carver)));
        let desk_len = self.desk_len();
        let desks = Mutex::new(carver.bytes(desk_len * self.workers()).chunks_exact_mut(desk_len));
        let next = AtomicUsize::new(0);
        self.context.threads.run(self.workers(), |_| {
            let desk = desks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let mut carver = Carver::new(desk.expect("a desk for each worker"));
            let acc = carver.ints(self.acc_len());
            let mut own = [Side::Lhs, Side::Rhs].map(|side| {
                let room = self.room(side, self.cut(side).longest());
                (!self.is_shared(side)).then(|| Prepared::carve(&mut carver, room))
            });
            loop {
                let block = next.fetch_add(1, Relaxed);
                if block >= self.blocks.count() {
                    break;
                }
                let (rows, cols) = self.blocks.block(block);
                if let Some(lhs) = &mut own[0] {
                    self.prepare(Side::Lhs, rows.clone(), lhs);
                }
                if let Some(rhs) = &mut own[1] {
                    self.prepare(Side::Rhs, cols.clone(), rhs);
                }
                let [lhs, rhs] = from_fn(|i| own[i].as_ref().or(shared[i].as_ref()).expect("one of them"));
                self.multiply(lhs, rhs, rows, cols, acc);
            }
        });
    }

    /// The cut of a side's lines into blocks.
    fn cut(&self, side: Side) -> Cut {
        match side {
            Side::Lhs => self.blocks.rows,
            Side::Rhs => self.blocks.cols,
        }
    }

    /// Whether several blocks need the same lines of this side.
    fn is_shared(&self, side: Side) -> bool {
        let other = if side == Side::Lhs { Side::Rhs } else { Side::Lhs };
        self.cut(other).pieces > 1
    }

    fn workers(&self) -> usize {
        self.threads.min(self.blocks.count())
    }
}

/// Lines of one side as the kernels read them, from line `first` on.
struct Prepared<'s> {
    first: usize,
    bytes: &'s mut [u8],
    /// What the zero point of the other side adds to the results of each line; empty if nothing.
    terms: &'s mut [i32],
}

/// The memory that prepared lines take: bytes and terms.
#[derive(Clone, Copy)]
struct Room {
    bytes: usize,
    terms: usize,
}

impl Room {
    fn len(self) -> usize {
        Carver::cost(self.bytes) + Carver::cost(self.terms * size_of::<i32>())
    }
}

impl<'s> Prepared<'s> {
    fn carve(carver: &mut Carver<'s>, room: Room) -> Self {
        Self { first: 0, bytes: carver.bytes(room.bytes), terms: carver.ints(room.terms) }
    }
}

/// Scratch memory: first the sides that are shared, then a desk for each worker.
impl Product<'_> {
    /// What so many lines take.
    fn room(&self, side: Side, lines: usize) -> Room {
        match side {
            Side::Lhs => Room {
                bytes: if self.lhs_in_place() { 0 } else { lines * self.pitch },
                terms: if self.rhs_offset == 0 { 0 } else { lines },
            },
            Side::Rhs => {
                let lines = lines.next_multiple_of(self.kernel.width);
                Room { bytes: lines * self.padded_depth, terms: lines }
            }
        }
    }

    fn scratch_len(&self) -> usize {
        let shared = [Side::Lhs, Side::Rhs].map(|side| match self.is_shared(side) {
            true => self.room(side, self.cut(side).len).len(),
            false => 0,
        });
        shared[0] + shared[1] + self.desk_len() * self.workers()
    }

    fn desk_len(&self) -> usize {
        let own = [Side::Lhs, Side::Rhs].map(|side| match self.is_shared(side) {
            true => 0,
            false => self.room(side, self.cut(side).longest()).len(),
        });
        own[0] + own[1] + Carver::cost(self.acc_len() * size_of::<i32>())
    }

    /// A tile's accumulators, or those of all tiles of a block's height if they rest between slices.
    fn acc_len(&self) -> usize {
        let Kernel { rows, width, .. } = *self.kernel;
        let tiles = match self.blocks.depth.pieces {
            1 => 1,
            _ => self.blocks.rows.longest().div_ceil(rows),
        };
        tiles * rows * width
    }

    fn lhs_in_place(&self) -> bool {
        self.kernel.groups.read_in_place(self.lhs)
    }
}

/// Preparing: packing, and summing what the zero points of the other side are multiplied by.
impl Product<'_> {
    /// All of one side, piece by piece, on all threads.
    fn prepare_together<'s>(&self, side: Side, carver: &mut Carver<'s>) -> Prepared<'s> {
        let pieces = if self.threads == 1 { 1 } else { self.threads * PIECES };
        let cut = self.cut(side).with_pieces(pieces);
        let all = Prepared::carve(carver, self.room(side, cut.len));
        let left = Mutex::new((0, &mut *all.bytes, &mut *all.terms));
        self.context.threads.run(cut.pieces, |_| {
            let (lines, mut to) = {
                let (next, bytes, terms) = &mut *left.lock().unwrap_or_else(PoisonError::into_inner);
                let lines = cut.piece(*next);
                let room = self.room(side, lines.len());
                *next += 1;
                let bytes = bytes.split_off_mut(..room.bytes).expect("room for all lines");
                let terms = terms.split_off_mut(..room.terms).expect("a term for each line");
                (lines, Prepared { first: 0, bytes, terms })
            };
            self.prepare(side, lines, &mut to);
        });
        all
    }

    fn prepare(&self, side: Side, lines: Range<usize>, to: &mut Prepared) {
        to.first = lines.start;
        match side {
            Side::Lhs => self.prepare_lhs(lines, to),
            Side::Rhs => self.prepare_rhs(lines, to),
        }
    }

    fn prepare_lhs(&self, rows: Range<usize>, to: &mut Prepared) {
        let pitch = self.pitch;
        if !self.lhs_in_place() {
            let bytes = &mut to.bytes[..rows.len() * pitch];
            // SAFETY: whoever has a kernel has a CPU that runs it.
            unsafe { (self.kernel.pack_lhs)(self.lhs, rows.start, pitch, bytes) }
        }
        let constant = self.lhs.offset.wrapping_mul(self.depth as i32);
        for i in 0..rows.len().min(to.terms.len()) {
            let line = self.line(to, rows.start + i, 0..self.depth);
            // SAFETY: whoever has a kernel has a CPU that runs it.
            let sum = unsafe { (self.kernel.sum_line)(line, self.lhs.encoding) };
            to.terms[i] = sum.wrapping_add(constant).wrapping_mul(self.rhs_offset);
        }
    }

    fn prepare_rhs(&self, cols: Range<usize>, to: &mut Prepared) {
        let width = self.kernel.width;
        let lines = cols.len().next_multiple_of(width);
        let bytes = &mut to.bytes[..lines * self.padded_depth];
        // SAFETY: whoever has a kernel has a CPU that runs it.
        unsafe { (self.kernel.pack_rhs)(self.rhs, self.rhs_encoding, cols.start, bytes) }
        for (panel, terms) in to.terms[..lines].chunks_exact_mut(width).enumerate() {
            terms.fill(0);
            if self.lhs.offset != 0 {
                let panel_len = width * self.padded_depth;
                self.sum_panel(&to.bytes[panel * panel_len..][..panel_len], terms);
                terms.iter_mut().for_each(|term| *term = term.wrapping_mul(self.lhs.offset));
            }
        }
    }

    /// Adds to `sums` those of a panel's lines: its product with a line of ones.
    fn sum_panel(&self, panel: &[u8], sums: &mut [i32]) {
        const GROUPS: usize = 1024;
        static QUADS: [[u8; 4]; GROUPS] = [[1; 4]; GROUPS];
        static PAIRS: [[[u8; 2]; 2]; GROUPS] = [[1u16.to_ne_bytes(); 2]; GROUPS];
        let ones = match self.kernel.groups {
            Groups::Quads => QUADS.as_flattened(),
            Groups::Pairs => PAIRS.as_flattened().as_flattened(),
        };
        let group_len = self.kernel.groups.len() * self.kernel.width;
        for groups in panel.chunks(GROUPS * group_len) {
            let tile = Tile {
                lhs: &[&ones[..groups.len() / group_len * 4]],
                lhs_encoding: self.lhs.encoding,
                rhs: groups,
                cols: self.kernel.width,
                fresh: false,
            };
            // SAFETY: whoever has a kernel has a CPU that runs it.
            unsafe { (self.kernel.tile)(&tile, sums) }
        }
    }
}

/// Multiplying.
impl Product<'_> {
    /// Multiplies and finishes one block. The panels of its columns pass by one after the other; each slice of a panel
    /// meets all rows before the next.
    fn multiply(&self, lhs: &Prepared, rhs: &Prepared, rows: Range<usize>, cols: Range<usize>, acc: &mut [i32]) {
        let width = self.kernel.width;
        for col in cols.clone().step_by(width) {
            let cols = col..(col + width).min(cols.end);
            for slice in 0..self.blocks.depth.pieces {
                self.multiply_slice(lhs, rhs, rows.clone(), cols.clone(), slice, acc);
            }
        }
    }

    /// Multiplies all rows by one slice of one panel. After the last slice the tiles are finished.
    fn multiply_slice(
        &self,
        lhs: &Prepared,
        rhs: &Prepared,
        rows: Range<usize>,
        cols: Range<usize>,
        slice: usize,
        acc: &mut [i32],
    ) {
        let Kernel { rows: height, width, .. } = *self.kernel;
        let slices = self.blocks.depth.pieces;
        let depth = self.blocks.depth.piece(slice);
        let panel = self.panel(rhs, cols.start, depth.clone());
        // Tiles as equal as can be: the first few are one row longer.
        let tiles = rows.len().div_ceil(height);
        let (short, longer) = (rows.len() / tiles, rows.len() % tiles);
        let mut lines: [&[u8]; MAX_ROWS] = [&[]; MAX_ROWS];
        let mut next = rows.start;
        for i in 0..tiles {
            let tile_rows = next..next + short + usize::from(i < longer);
            next = tile_rows.end;
            for (line, row) in lines.iter_mut().zip(tile_rows.clone()) {
                *line = self.line(lhs, row, depth.clone());
            }
            let tile = Tile {
                lhs: &lines[..tile_rows.len()],
                lhs_encoding: self.lhs.encoding,
                rhs: panel,
                cols: cols.len(),
                fresh: slice == 0,
            };
            let resting = if slices == 1 { 0 } else { i * height * width };
            let acc = &mut acc[resting..][..height * width];
            // SAFETY: whoever has a kernel has a CPU that runs it.
            unsafe { (self.kernel.tile)(&tile, acc) }
            if slice + 1 == slices {
                let row_terms = lhs.terms.get(tile_rows.start - lhs.first..).unwrap_or_default();
                let col_terms = &rhs.terms[cols.start - rhs.first..][..width];
                let region = Region { rows: tile_rows, cols: cols.clone(), row_terms, col_terms };
                // SAFETY: as above, and tiles do not overlap, and each is finished once, by whoever claimed its block.
                unsafe { (self.kernel.finish)(self.finish, &region, acc) }
            }
        }
    }

    /// A line of the LHS over a stretch of the depth.
    fn line<'s>(&'s self, lhs: &'s Prepared, row: usize, depth: Range<usize>) -> &'s [u8] {
        if self.lhs_in_place() {
            return &self.lhs.run(row)[depth];
        }
        let size = self.kernel.groups.lhs_size();
        let end = self.kernel.groups.pad(depth.end);
        &lhs.bytes[(row - lhs.first) * self.pitch..][depth.start * size..end * size]
    }

    /// A panel of the RHS over a stretch of the depth.
    fn panel<'s>(&self, rhs: &'s Prepared, col: usize, depth: Range<usize>) -> &'s [u8] {
        let end = self.kernel.groups.pad(depth.end);
        &rhs.bytes[(col - rhs.first) * self.padded_depth..][depth.start * self.kernel.width..end * self.kernel.width]
    }
}
