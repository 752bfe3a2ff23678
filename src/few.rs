//! Products of a few lines: the other side is read where it lies, once, without being packed.
//!
//! The few may be rows or columns: with them on the right, the tiles of (A B)ᵀ = Bᵀ Aᵀ are transposed before they are finished.

use crate::blocks::{Cut, Shape};
use crate::buffer::Carver;
use crate::caches::Caches;
use crate::context::Context;
use crate::desks::Desks;
use crate::kernel::{FewProduct, Kernel, MAX_WIDTH, SMALL_OFFSETS};
use crate::matrix::{Lines, Offset, Operand, Order};
use crate::output::{Finish, FloatParts, LineOffsets, Region, Sums};
use crate::reading::Reading;
use crate::source::Factor;
use std::ops::Range;

/// One product of a few lines, and how it is to be computed.
pub(crate) struct Few<'a> {
    context: &'a Context,
    kernel: &'static Kernel,
    few: Factor<'a>,
    many: Operand<'a>,
    /// Whether the few lines are columns of the result.
    are_columns: bool,
    reading: Reading,
    /// What is added to the few lines' numbers before they are multiplied: their offsets, where numbers of 16 bits can take them.
    added: Option<LineOffsets<'a>>,
    /// What is added to the few lines' numbers and to the others' afterwards.
    offsets: [LineOffsets<'a>; 2],
    /// Bytes from one of the few lines to the next: an odd number of cache lines, as in other packed lines.
    pitch: usize,
    /// The others, as they are shared among threads, and no less than the longest piece has.
    cut: Cut,
    longest: usize,
    threads: usize,
}

/// So many lines are few, beside an operand whose depth is contiguous, and beside one whose lines are. On AVX2 packing took longer
/// by a quarter with 16 lines (1024 × 1024), and more than twice as long with 8 (4096 × 4096).
const MOST: [usize; 2] = [16, 8];

/// The same beside depth on kernels that multiply all lines by several panels: with AVX-512 VNNI packing takes 0.8 of the time with
/// 16 lines, and longer with 15.
const MOST_BESIDE_PANELS: usize = 15;

/// Columns beside rows that the kernel would read where they lie anyway: one is few, and no more than these, of which each wants more
/// depth than this (measured with AVX-512 VNNI: 300 x 16 x 64 took four times as long so as in tiles, 300 x 1 x 64 half as long).
const MOST_COLUMNS: usize = 8;
const DEPTH_FOR_A_COLUMN: usize = 64;

/// Columns beside rows that the kernel would have to pack: these in any case, and no more than those, of which each wants so much depth,
/// the less the wider a panel is, whose other columns would be multiplied in vain (measured with AVX2 and AVX-512BW: 12544 x 16 x 32
/// took five times as long so as in tiles, 732 x 8 x 1024 up to twice as long in tiles as so).
const COLUMNS_BESIDE_PACKED: [usize; 2] = [2, 12];
const DEPTH_AND_WIDTH_FOR_A_COLUMN: usize = 768;

/// Rows for each column beside which columns that are packed had better be taken out of their panel, and numbers of these rows.
const ROWS_WORTH_UNPACKING: usize = 12;
const NUMBERS_WORTH_UNPACKING: usize = 8192;

/// Lines of depth that runs contiguously, multiplied together: what they share of the few lines stays in the caches. Of short lines, or
/// beside very few, as many as take so many multiplications.
const STRETCH: usize = 64;
const MACS_OF_STRETCH: usize = 256 << 10;

/// Rows of a tile that is finished, at least.
const TILE_ROWS: usize = 16;

/// Nothing is added.
const NONE: LineOffsets = LineOffsets { offset: Offset::Uniform(0), shift: 0 };

impl<'a> Few<'a> {
    /// None if neither side is of few lines, or the other cannot be read where it lies.
    pub(crate) fn new(
        context: &'a Context,
        lhs: &Factor<'a>,
        rhs: &Factor<'a>,
        shape: Shape,
        threads: usize,
    ) -> Option<Self> {
        let are_columns = shape.cols < shape.rows;
        let (few_factor, many_factor) = if are_columns { (rhs, lhs) } else { (lhs, rhs) };
        let (few, many) = (*few_factor, *many_factor.operand()?);
        let kernel = context.kernel;
        let are_many = shape.rows / ROWS_WORTH_UNPACKING >= few.lines()
            && shape.rows.saturating_mul(shape.depth) >= NUMBERS_WORTH_UNPACKING;
        let is_unpacked = || are_many && few.panels().is_some_and(|few| few.is_for(kernel));
        if few.operand().is_none() && !is_unpacked() {
            return None;
        }
        let count = few.lines();
        let are_few = match are_columns {
            true => count <= most_columns(kernel, many.order, shape.depth),
            false => count <= most(kernel, many.order),
        };
        if !are_few || !kernel.few_lines.takes(&many) {
            return None;
        }
        let to = kernel.groups.lhs_encoding(many.encoding).unwrap_or(few.encoding());
        let reading = Reading::plain(few.encoding(), to);
        let offsets = few.line_offsets(&reading);
        let added = !kernel.groups.are_bytes();
        if added && !(0..count).all(|line| SMALL_OFFSETS.contains(&offsets.of(line))) {
            return None;
        }
        let padded = kernel.few_lines.padded(many.order, many.depth) * kernel.groups.lhs_size();
        let lines = count + usize::from(offsets.uniform() != Some(0) && !added);
        let beside = lines * threads;
        // To divide takes as long as much else of a small product.
        let is_alone = threads == 1 && many.lines.saturating_mul(many.depth).saturating_mul(lines) <= MACS_OF_STRETCH;
        let pieces = match many.order {
            Order::DepthContiguous if is_alone => 1,
            Order::DepthContiguous => {
                let stretch = STRETCH.max(MACS_OF_STRETCH / many.depth.saturating_mul(beside).max(1));
                many.lines.div_ceil(stretch).max(threads)
            }
            // So that a quarter of the second cache holds the sums that rest between one run and the next. Runs are not cut for
            // the first: each cut has all their memory pages looked up once more, which costs more than that.
            Order::LineContiguous => many.lines.div_ceil(Caches::get().l2 / 4 / size_of::<i32>() / lines).max(threads),
        };
        // Both are powers of two.
        let cut = Cut::new(pieces, many.lines, kernel.few_lines.lines.max(kernel.width));
        Some(Self {
            context,
            kernel,
            few,
            many,
            are_columns,
            reading,
            added: added.then_some(offsets),
            offsets: [
                if added { NONE } else { offsets },
                many_factor.line_offsets(&Reading::plain(many.encoding, many.encoding)),
            ],
            pitch: (padded.div_ceil(64) | 1) * 64,
            cut,
            longest: if cut.pieces == 1 { many.lines } else { cut.longest() },
            threads,
        })
    }

    /// Multiplies and finishes.
    pub(crate) fn run(&self, finish: &Finish, scratch: &mut [u8]) {
        let mut carver = Carver::new(scratch);
        let (lines, few_sums) = self.prepare(&mut carver);
        let (pitch, size, count) = (self.pitch, self.size(), self.lines());
        let is_near = self.many.lines * self.many.depth <= Caches::get().l2;
        let is_fetched = self.kernel.few_lines.is_fetched;
        let product = FewProduct {
            lines,
            count,
            pitch,
            size,
            encoding: self.reading.to,
            operand: self.many,
            is_near,
            is_fetched,
        };
        let ints = [self.sums_len(), self.tile_len()];
        let turned = if self.are_columns && self.few.lines() == 1 { finish.turned() } else { None };
        let wide = if self.are_columns { turned.as_ref() } else { Some(finish) };
        self.desks().work(
            self.context,
            &mut carver,
            self.cut.pieces,
            |carver| ints.map(|len| carver.ints(len)),
            |[sums, tile], piece| {
                let lines = self.cut.piece(piece);
                let pitch = self.kernel.few_lines.pitch(self.many.order, lines.len());
                // SAFETY: whoever has a kernel has a CPU that runs it.
                unsafe {
                    (self.kernel.few_lines.multiply)(&product, lines.clone(), &mut sums[..self.lines() * pitch]);
                }
                Stretch { product: self, lines, sums, pitch, few_sums }.finish(finish, wide, tile);
            },
        );
    }

    /// The few lines as the kernel reads them, and their sums if they are needed.
    fn prepare<'s>(&self, carver: &mut Carver<'s>) -> (&'s [u8], &'s [i32]) {
        let (size, count, depth) = (self.size(), self.few.lines(), self.few.depth());
        let lines = carver.bytes(self.lines() * self.pitch);
        let sums = carver.ints(self.few_sums_len());
        let operand = self.few.operand_in(carver.bytes(self.unpacked_len()));
        let (few, ones) = lines.split_at_mut(count * self.pitch);
        self.kernel.pack_lines_apart(&operand, &self.reading, 0..count, self.pitch, few, &mut []);
        if let Some(offsets) = &self.added {
            for (index, line) in few.chunks_exact_mut(self.pitch).enumerate() {
                let offset = offsets.of(index) as i16;
                for number in &mut line.as_chunks_mut().0[..depth] {
                    *number = i16::from_ne_bytes(*number).wrapping_add(offset).to_ne_bytes();
                }
            }
        }
        let packed = Lines::packed(few, count, self.pitch, 0..self.pitch);
        self.kernel.sum_lines(packed, self.reading.to, sums);
        if let Some((ones, padding)) = ones.split_at_mut_checked(depth) {
            ones.fill(1);
            padding.fill(0);
        }
        for line in lines.chunks_exact_mut(self.pitch) {
            self.kernel.few_lines.settle(&self.many, size, line);
        }
        (lines, sums)
    }

    /// The few lines, and one of ones if the sums of the others are needed.
    fn lines(&self) -> usize {
        self.few.lines() + usize::from(self.offsets[0].uniform() != Some(0))
    }

    /// The bytes of a number of the few lines.
    fn size(&self) -> usize {
        self.kernel.groups.lhs_size()
    }

    fn few_sums_len(&self) -> usize {
        if self.offsets[1].uniform() == Some(0) { 0 } else { self.few.lines() }
    }

    /// Bytes that the few lines take as they were before they were packed, if they were.
    fn unpacked_len(&self) -> usize {
        if self.few.operand().is_some() { 0 } else { self.few.lines() * self.few.depth() }
    }
}

/// Scratch memory: first the few lines and their sums, then a desk for each worker.
impl Few<'_> {
    pub(crate) fn scratch_len(&self) -> usize {
        let ints = |len: usize| Carver::cost(len * size_of::<i32>());
        let few = Carver::cost(self.lines() * self.pitch) + Carver::cost(self.unpacked_len());
        few + ints(self.few_sums_len()) + self.desks().scratch_len()
    }

    fn desks(&self) -> Desks {
        let ints = |len: usize| Carver::cost(len * size_of::<i32>());
        Desks { workers: self.threads.min(self.cut.pieces), len: ints(self.sums_len()) + ints(self.tile_len()) }
    }

    /// A panel's width more than there are, which is read beyond the last row.
    fn sums_len(&self) -> usize {
        self.lines() * self.kernel.few_lines.pitch(self.many.order, self.longest) + self.kernel.width
    }

    /// A tile's accumulators, and as much as two tiles to finish them in.
    fn tile_len(&self) -> usize {
        3 * self.tile_rows() * self.kernel.width
    }

    fn tile_rows(&self) -> usize {
        self.few.lines().max(TILE_ROWS)
    }
}

/// So many lines are few beside an operand of this order.
fn most(kernel: &Kernel, order: Order) -> usize {
    match order {
        Order::DepthContiguous if kernel.sums_windows() => MOST_BESIDE_PANELS,
        Order::DepthContiguous => MOST[0],
        Order::LineContiguous => MOST[1],
    }
}

/// So many columns are few beside rows of this order.
fn most_columns(kernel: &Kernel, order: Order, depth: usize) -> usize {
    let [few, most_packed] = COLUMNS_BESIDE_PACKED;
    match order {
        Order::DepthContiguous if kernel.groups.are_bytes() => {
            (depth.saturating_sub(1) / DEPTH_FOR_A_COLUMN).clamp(1, MOST_COLUMNS)
        }
        Order::DepthContiguous => {
            (depth.saturating_mul(kernel.width) / DEPTH_AND_WIDTH_FOR_A_COLUMN).clamp(few, most_packed)
        }
        Order::LineContiguous => most(kernel, order),
    }
}

/// Lines of the other side whose products are complete.
struct Stretch<'s> {
    product: &'s Few<'s>,
    lines: Range<usize>,
    /// The sums of products of each of the few lines, then of the ones, so many of each; and a panel's width more.
    sums: &'s [i32],
    pitch: usize,
    few_sums: &'s [i32],
}

impl Stretch<'_> {
    /// By a way for rows as they lie there, if there is one.
    fn finish(&self, finish: &Finish, wide: Option<&Finish>, tile: &mut [i32]) {
        if !wide.is_some_and(|finish| self.finish_wide(finish, tile)) {
            self.finish_tiles(finish, tile);
        }
    }

    /// Finishes all of the few as rows of the result, if it is such; what is added to rows is computed in `room`.
    fn finish_wide(&self, finish: &Finish, room: &mut [i32]) -> bool {
        let Few { kernel, few, offsets: [row_offsets, col_offsets], .. } = *self.product;
        let (row_sums, col_sums) = (self.line_sums(false, 0..few.lines()), self.line_sums(true, self.lines.clone()));
        let (cols, depth) = (self.lines.clone(), few.depth());
        let (a, b) = (row_offsets.uniform(), col_offsets.uniform());
        if let Some((out, offsets)) = finish.sums().zip(a.zip(b)) {
            let sums = Sums { out, row: 0, cols, row_sums, col_sums, offsets, depth };
            // SAFETY: each stretch is finished once, by whoever claimed it, here and below.
            unsafe { sums.write_wide(few.lines(), self.sums, self.pitch, kernel.vectors) }
            return true;
        }
        let complete = Region::complete(0..few.lines(), cols.clone());
        let region = Region { depth, row_sums, col_sums, row_offsets, col_offsets, ..complete };
        if let Some(floats) = FloatParts::new(finish, &region) {
            // SAFETY: as above.
            return unsafe { floats.finish_wide(self.sums, self.pitch, room, kernel.vectors) };
        }
        let Some(bytes) = a.zip(b).and_then(|offsets| finish.bytes(kernel, offsets)) else { return false };
        // SAFETY: as above.
        unsafe { bytes.make(&region, self.sums, self.pitch, room) }
        true
    }

    /// Copies them to tiles, or transposes them there, which are finished one by one.
    fn finish_tiles(&self, finish: &Finish, tile: &mut [i32]) {
        let Few { kernel, few, are_columns, .. } = self.product;
        let (width, pitch) = (kernel.width, self.pitch);
        let most_rows = self.product.tile_rows();
        let (tile, room) = tile.split_at_mut(most_rows * width);
        let (all_rows, all_cols) =
            if *are_columns { (self.lines.clone(), 0..few.lines()) } else { (0..few.lines(), self.lines.clone()) };
        // No steps or chunks of a length that only runs tell: to divide takes as long as much else here.
        let mut row = all_rows.start;
        while row < all_rows.end {
            let rows = row..all_rows.end.min(row + most_rows);
            let mut col = all_cols.start;
            while col < all_cols.end {
                let cols = col..all_cols.end.min(col + width);
                for (i, row) in rows.clone().enumerate() {
                    let to = &mut tile[i * width..][..cols.len()];
                    match are_columns {
                        true => {
                            for (to, j) in to.iter_mut().zip(cols.clone()) {
                                *to = self.sums[j * pitch + row - self.lines.start];
                            }
                        }
                        false => to.copy_from_slice(&self.sums[row * pitch + col - self.lines.start..][..cols.len()]),
                    }
                }
                let mut col_sums = [0; MAX_WIDTH];
                let sums = self.line_sums(!are_columns, cols.clone());
                col_sums[..sums.len()].copy_from_slice(sums);
                let [few_offsets, offsets] = self.product.offsets;
                let region = Region {
                    depth: few.depth(),
                    row_sums: self.line_sums(*are_columns, rows.clone()),
                    col_sums: &col_sums,
                    row_originals: &[],
                    col_originals: &[],
                    row_offsets: if *are_columns { offsets } else { few_offsets },
                    col_offsets: if *are_columns { few_offsets } else { offsets },
                    rescale: None,
                    rows: rows.clone(),
                    cols: cols.clone(),
                };
                // SAFETY: whoever has a kernel has a CPU that runs it, and each stretch is finished once, by whoever claimed it.
                unsafe { (kernel.finish)(finish, &region, tile, room) }
                col = cols.end;
            }
            row = rows.end;
        }
    }

    /// The sums of lines of one side, if they are needed.
    fn line_sums(&self, are_many: bool, lines: Range<usize>) -> &[i32] {
        let (few, all) = (self.product.few.lines(), self.product.lines());
        let (first, sums) = match are_many {
            true => (self.lines.start, &self.sums[few * self.pitch..all * self.pitch]),
            false => (0, self.few_sums),
        };
        sums.get(lines.start - first..lines.end - first).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::gemm_by;
    use crate::kernel::tests::noise;
    use crate::matrix::{Encoding, Output};
    use crate::output::Store;
    use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Side};
    use crate::source::Factor;

    #[test]
    fn few_lines_on_either_side_are_multiplied_so_and_no_more() {
        let data = vec![0; 300 * 300];
        let factor = |lines, order| {
            let operand = Operand::new(&data, (lines, 200), 300, order, Encoding::U8);
            Factor::new(operand, Offset::Uniform(-7))
        };
        for kernel in Kernel::available() {
            let context = Context::new(kernel, 1);
            let is_few = |rows, cols, order| {
                let shape = Shape::of_sums(rows, cols, 200);
                Few::new(&context, &factor(rows, order), &factor(cols, order), shape, 1).is_some()
            };
            for order in [Order::DepthContiguous, Order::LineContiguous] {
                let most = most(kernel, order);
                let most_columns = match (order, kernel.groups.are_bytes(), kernel.width) {
                    (Order::DepthContiguous, true, _) => 3,
                    (Order::DepthContiguous, false, 32) => 8,
                    (Order::DepthContiguous, false, 16) => 4,
                    (Order::DepthContiguous, false, 8) => 2,
                    _ => most,
                };
                for few in 1..=most + 1 {
                    assert_eq!(is_few(few, 200, order), few <= most, "{} {few} {order:?}", kernel.name);
                    assert_eq!(is_few(200, few, order), few <= most_columns, "{} {few} {order:?}", kernel.name);
                }
            }
        }
    }

    /// What blocks give, which other tests hold against the definition, columns give that are taken out of a panel.
    #[test]
    fn few_columns_are_taken_out_of_a_panel() {
        const WAYS: [usize; 2] = [1, 2];
        let encodings = [Encoding::U8, Encoding::S8];
        for (encoding, other) in encodings.into_iter().flat_map(|a| encodings.map(|b| (a, b))) {
            for (cols, depth) in [(1, 1000), (2, 131), (3, 602), (4, 1001)] {
                let rows = 100 + cols;
                let data = [rows, cols].map(|lines| noise(depth as u64, false, lines * depth));
                let operand = |side: usize, lines, encoding| {
                    Operand::new(&data[side], (lines, depth), depth, Order::DepthContiguous, encoding)
                };
                let offsets: Vec<i32> = (0..cols as i32).map(|col| 40 * col - 30).collect();
                let lhs = Factor::new(operand(0, rows, other), Offset::Uniform(9));
                for kernel in Kernel::available() {
                    let context = &Context::new(kernel, 1);
                    let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other };
                    let offset = Offset::PerLine(&offsets);
                    let packing = Packing { offset, purpose, bits: Bits::ALL, segments: None, are_patches: false };
                    let packed = Packed::new(kernel, &operand(1, cols, encoding), &packing, None).unwrap();
                    let rhs = Factor::packed(&packed, offset);
                    let [got, want] = WAYS.map(|way| {
                        let mut sums = vec![0; rows * cols];
                        let finish = Finish::new(&[], Store::I32(Output::new(&mut sums, (rows, cols), cols)));
                        gemm_by(way, context, &lhs, &rhs, &finish).then_some(sums)
                    });
                    // Packed for products of small numbers, it is left to others.
                    let is_left = !packed.is_for(kernel);
                    assert!(
                        want.is_some() && (got == want || is_left && got.is_none()),
                        "{} {cols} {depth}",
                        kernel.name
                    );
                }
            }
        }
    }
}
