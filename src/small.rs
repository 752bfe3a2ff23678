//! Products so small that cutting them into blocks, and getting ready for operands of every kind, would take longer than
//! they do themselves.

use crate::blocks::Shape;
use crate::buffer::Carver;
use crate::kernel::{Kernel, MAX_ROWS, Tile};
use crate::matrix::Operand;
use crate::output::{Finish, LineOffsets, Region};
use crate::prepare::Prepared;
use crate::reading::Reading;
use crate::source::{Factor, Lines, lhs_encoding};
use crate::span::{self, Spans};

/// The most multiplications, and the most memory to pack both operands and to sum in.
const MOST_MACS: f64 = 3e5;
const MOST_ROOM: usize = 24 << 10;

/// A small product of 8-bit operands, on one thread. Only the RHS may be packed already.
pub(crate) struct Small<'a> {
    kernel: &'static Kernel,
    shape: Shape,
    lhs: &'a Operand<'a>,
    rhs: Rhs<'a>,
    readings: [Reading; 2],
    offsets: [LineOffsets<'a>; 2],
}

enum Rhs<'a> {
    Operand(&'a Operand<'a>),
    /// Packed for the kernel, and how many groups of each stretch sums of 16 bits hold.
    Ready(Prepared<'a>, Option<&'a [u8]>),
}

impl<'a> Small<'a> {
    /// None if the product is of another kind.
    #[inline]
    pub(crate) fn new(kernel: &'static Kernel, lhs: &'a Factor<'a>, rhs: &'a Factor<'a>, shape: Shape) -> Option<Self> {
        if shape.macs() > MOST_MACS || shape.depth == 0 {
            return None;
        }
        let operand = lhs.operand()?;
        let (kernel, rhs_of, lhs_to, rhs_reading) = if let Some(operand) = rhs.operand() {
            let to = kernel.groups.rhs_encoding(lhs.encoding());
            (kernel, Rhs::Operand(operand), lhs.encoding(), Reading::plain(operand.encoding, to))
        } else {
            let panels = rhs.panels()?;
            let kernel = [Some(kernel), kernel.narrow].into_iter().flatten().find(|kernel| panels.is_for(kernel))?;
            let to = lhs_encoding(kernel.groups, Some(panels), lhs.encoding());
            (kernel, Rhs::Ready(panels.prepared(), panels.spans()), to, panels.reading())
        };
        let readings = [Reading::plain(lhs.encoding(), lhs_to), rhs_reading];
        let offsets = [lhs.line_offsets(&readings[0]), rhs.line_offsets(&readings[1])];
        let small = Self { kernel, shape, lhs: operand, rhs: rhs_of, readings, offsets };
        (small.scratch_len() <= MOST_ROOM).then_some(small)
    }

    pub(crate) fn scratch_len(&self) -> usize {
        let Room { lhs, lhs_sums, rhs, rhs_sums, acc } = self.room();
        let ints = |len| Carver::cost(len * size_of::<i32>());
        Carver::cost(lhs) + ints(lhs_sums) + Carver::cost(rhs) + ints(rhs_sums) + ints(acc)
    }

    fn room(&self) -> Room {
        let Shape { rows, cols, depth } = self.shape;
        let is_ready = matches!(self.rhs, Rhs::Ready(..));
        let cols = if is_ready { 0 } else { cols.next_multiple_of(self.kernel.width) };
        Room {
            lhs: if self.is_in_place() { 0 } else { rows * self.pitch() },
            lhs_sums: if self.is_summed(LHS) { rows } else { 0 },
            rhs: cols * self.kernel.pad(depth),
            rhs_sums: if self.is_summed(RHS) { cols } else { 0 },
            // The tiles that are finished together, and as much again twice to finish them in.
            acc: 3 * self.kernel.finished_together() * self.kernel.tile_len(),
        }
    }

    fn is_in_place(&self) -> bool {
        self.kernel.groups.read_in_place(self.lhs, &self.readings[LHS])
    }

    /// Whether anything is added to the other side's numbers.
    fn is_summed(&self, side: usize) -> bool {
        self.offsets[1 - side].uniform() != Some(0)
    }

    /// Bytes from one packed line of the LHS to the next.
    fn pitch(&self) -> usize {
        self.kernel.pad(self.shape.depth) * self.kernel.groups.lhs_size()
    }

    /// Computes it in `scratch`, of as many bytes as [`Small::scratch_len`] says, which begin on a cache line.
    pub(crate) fn run(&self, finish: &Finish, scratch: &mut [u8]) {
        let Self { kernel, shape: Shape { rows, cols, depth }, .. } = *self;
        let room = self.room();
        let mut carver = Carver::new(scratch);
        let lhs_sums = carver.ints(room.lhs_sums);
        let lines = if self.is_in_place() {
            Lines::InPlace { operand: *self.lhs, depth: 0..depth }
        } else {
            let bytes = carver.bytes(room.lhs);
            kernel.pack_lines_apart(self.lhs, &self.readings[LHS], 0..rows, self.pitch(), bytes);
            Lines::Packed { bytes, first: 0, pitch: self.pitch(), stretch: 0..self.pitch() }
        };
        for (row, sum) in lhs_sums.iter_mut().enumerate() {
            *sum = kernel.sum_line(lines.get(row), self.readings[LHS].to);
        }
        let (panels, rhs_sums, spans) = match self.rhs {
            Rhs::Ready(prepared, spans) => (prepared.bytes, prepared.sums, spans),
            Rhs::Operand(operand) => {
                let (bytes, sums) = (carver.bytes(room.rhs), carver.ints(room.rhs_sums));
                kernel.pack_panels(operand, &self.readings[RHS], 0..cols, bytes);
                kernel.sum_panels(bytes, self.readings[RHS].to, depth, sums);
                (&*bytes, &*sums, None)
            }
        };
        let (acc, room) = carver.ints(room.acc).split_at_mut(room.acc / 3);
        let mut region = Region {
            rows: 0..0,
            cols: 0..0,
            depth,
            row_sums: &[],
            col_sums: &[],
            row_originals: &[],
            col_originals: &[],
            row_offsets: self.offsets[LHS],
            col_offsets: self.offsets[RHS],
            rescale: None,
        };
        let as_sums = finish.sums().zip(region.uniform());
        let mut group: [&[u8]; MAX_ROWS] = [&[]; MAX_ROWS];
        let (width, panel_len) = (kernel.width, kernel.pad(depth) * kernel.width);
        let height = rows.div_ceil(rows.div_ceil(kernel.rows));
        for (panel, first) in (0..cols).step_by(width).enumerate() {
            region.cols = first..cols.min(first + width);
            region.col_sums = rhs_sums.get(first..first + width).unwrap_or_default();
            let spans = spans.map_or(Spans::Uniform(0), |spans| {
                let stretches = depth.div_ceil(span::DEPTHS);
                Spans::PerStretch(&spans[panel * stretches..][..stretches])
            });
            for top in (0..rows).step_by(height * kernel.finished_together()) {
                region.rows = top..rows.min(top + height * kernel.finished_together());
                region.row_sums = lhs_sums.get(region.rows.clone()).unwrap_or_default();
                for row in region.rows.clone().step_by(height) {
                    let count = height.min(region.rows.end - row);
                    lines.get_all(row, &mut group[..count]);
                    let tile = Tile {
                        lhs: &group[..count],
                        lhs_encoding: self.readings[LHS].to,
                        rhs: &panels[panel * panel_len..][..panel_len],
                        cols: region.cols.len(),
                        fresh: true,
                        spans,
                    };
                    // SAFETY: whoever has a kernel has a CPU that runs it.
                    unsafe { (kernel.tile)(&tile, &mut acc[(row - top) * width..]) }
                }
                // SAFETY: as above, and each part of the result is finished once, here.
                unsafe {
                    match as_sums {
                        Some((out, offsets)) => (kernel.write_sums)(out, &region, offsets, acc),
                        None => (kernel.finish)(finish, &region, acc, room),
                    }
                }
            }
        }
    }
}

const LHS: usize = 0;
const RHS: usize = 1;

/// Bytes, and integers, that both operands take when they are packed, and what a tile is summed and finished in.
struct Room {
    lhs: usize,
    lhs_sums: usize,
    rhs: usize,
    rhs_sums: usize,
    acc: usize,
}
