//! How a product is cut into blocks, from the sizes of the caches and the number of threads.

use crate::caches::Caches;
use crate::kernel::Kernel;
use crate::matrix::Order;
use crate::output::ResultKind;
use std::ops::Range;

/// The cut of one product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    pub rows: Cut,
    pub cols: Cut,
    /// Between slices of the depth the accumulators rest in memory.
    pub depth: Cut,
    /// Whether blocks of the same columns follow each other, or those of the same rows: so many are a thread's.
    by_cols: bool,
}

/// A dimension of length `len`, cut into `pieces` that start at multiples of `unit` and are as equal as can be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub pieces: usize,
    pub len: usize,
    unit: usize,
}

impl Cut {
    /// No more pieces than there are units, and at least one.
    pub(crate) fn new(pieces: usize, len: usize, unit: usize) -> Self {
        // To divide takes as long as much else of a small product.
        let pieces = if pieces <= 1 { 1 } else { pieces.clamp(1, len.div_ceil(unit).max(1)) };
        Self { pieces, len, unit }
    }

    /// The same dimension in as many pieces.
    pub(crate) fn with_pieces(self, pieces: usize) -> Self {
        Self::new(pieces, self.len, self.unit)
    }

    pub(crate) fn piece(&self, index: usize) -> Range<usize> {
        // As above.
        if self.pieces == 1 {
            return 0..self.len;
        }
        let units = self.len.div_ceil(self.unit);
        let (whole, rest) = (units / self.pieces, units % self.pieces);
        // The longer ones are spread, so that threads that share the pieces get as much each.
        let longer = |i: usize| match rest.checked_mul(i) {
            Some(product) => product.div_ceil(self.pieces),
            // Of more pieces than there will ever be; by numbers of 128 bits, which take longer to divide.
            None => (rest as u128 * i as u128).div_ceil(self.pieces as u128) as usize,
        };
        let edge = |i: usize| ((whole * i + longer(i)) * self.unit).min(self.len);
        edge(index)..edge(index + 1)
    }

    /// Whether so many threads get about as much each.
    fn is_even(&self, threads: usize) -> bool {
        let units = self.len.div_ceil(self.unit);
        units.is_multiple_of(threads) || units >= 4 * threads
    }

    /// The length of the longest piece, in whole units.
    pub(crate) fn longest(&self) -> usize {
        self.len.div_ceil(self.unit).div_ceil(self.pieces) * self.unit
    }
}

/// A product's rows, columns and depth, and what its results are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub rows: usize,
    pub cols: usize,
    pub depth: usize,
    pub results: ResultKind,
}

impl Shape {
    /// That of a product whose results are sums.
    #[cfg(test)]
    pub(crate) fn of_sums(rows: usize, cols: usize, depth: usize) -> Self {
        Self { rows, cols, depth, results: ResultKind::Sums }
    }

    /// Multiplications, as a float, because they may exceed any integer.
    pub(crate) fn macs(&self) -> f64 {
        // Signed, which processors convert by one instruction: no dimension has that bit.
        [self.rows, self.cols, self.depth].iter().map(|&len| len as i64 as f64).product()
    }

    /// The kernel for such a product. One that is narrow takes as long as one of half a panel.
    #[inline(always)]
    pub(crate) fn kernel(self, kernel: &'static Kernel) -> &'static Kernel {
        let macs = Self { cols: self.cols.max(kernel.width / 2), ..self }.macs();
        kernel.of(self.rows, self.cols, self.depth, macs, self.results)
    }

    /// Whether packed operands could lie in memory at all; if so, no size computed from the shape overflows.
    pub(crate) fn is_packable(&self) -> bool {
        const MOST: u64 = 1 << 56;
        let padded = |len: usize| (len as u64).saturating_add(256);
        let padded = |lines: usize| padded(lines).saturating_mul(padded(self.depth));
        padded(self.rows) < MOST && padded(self.cols) < MOST
    }
}

/// What is known of the operands.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    /// Whether the LHS is read as it lies, and nothing of it prepared.
    pub lhs_is_ready: bool,
    /// Whether the RHS is packed already.
    pub rhs_is_ready: bool,
    pub rhs_order: Order,
}

/// Blocks that each thread gets at least, if the shape allows, so that none waits long for the last.
const PER_THREAD: usize = 4;

/// Depths at which a slice may end: whole groups of every kernel, whole cache lines of the LHS.
const SLICE_UNIT: usize = 64;

/// Lines of the LHS that a block holds at least: a panel that comes from beyond the L2 is used that often.
const LEAST_ROWS: usize = 48;

/// Lines of an RHS that a block holds at least if they run contiguously: less of each run, and the memory pages that it
/// lies in, would be fetched again for every block. A quarter, where that counts less than that one thread packs for another,
/// or that much of the time is packing.
const LEAST_RUN: usize = 512;

/// Lines of an LHS beside which a thread had better pack all of an RHS than wait for others that pack it, too.
const ROWS_WORTH_PACKING: usize = 256;

impl Blocks {
    /// The larger operand is cut, so that each of its blocks is packed by the thread that multiplies it, just before;
    /// the smaller one is packed first. Both are cut only if that alone gives the threads too little to share.
    ///
    /// Threads had better share the columns, so that each panel is brought near by one of them, once: with 512 x 256 x 512 that
    /// is 6 % faster than to share the rows.
    pub(crate) fn new(kernel: &Kernel, shape: Shape, given: Given, threads: usize, caches: &Caches) -> Self {
        let lhs_len = shape.rows * shape.depth * kernel.groups.lhs_size();
        let rhs_len = shape.cols * shape.depth;
        let wanted = if threads == 1 { 1 } else { threads * PER_THREAD };
        let fitting = |bytes: usize| bytes.div_ceil(caches.l2 / 2).max(wanted);
        // As many for each thread.
        let even = |pieces: usize| if pieces > threads { pieces / threads * threads } else { pieces };
        let rows = |pieces: usize| Cut::new(even(pieces.min(shape.rows.div_ceil(LEAST_ROWS))), shape.rows, kernel.rows);
        let least_cols = match given.rhs_order {
            Order::LineContiguous if kernel.takes_panels() || threads > 1 => LEAST_RUN / 4,
            Order::LineContiguous => LEAST_RUN,
            // Two panels: some kernels multiply them together.
            Order::DepthContiguous => 2 * kernel.width,
        };
        let cols =
            |pieces: usize| Cut::new(even(pieces.min(shape.cols.div_ceil(least_cols))), shape.cols, kernel.width);
        let depth = Cut::new(shape.depth.div_ceil(slice(kernel, caches)), shape.depth, SLICE_UNIT);
        let is_near = given.lhs_is_ready && lhs_len <= caches.l2 / 2;
        // Where all panels pass a row of tiles, they had better be near, and rows be shared; if each thread has to pack all
        // panels, beside so many rows that this takes little of the time.
        let share_rows = kernel.takes_panels()
            && rhs_len <= caches.l2
            && threads > 1
            && rows(wanted).pieces >= threads
            && (given.rhs_is_ready || shape.rows >= ROWS_WORTH_PACKING && rhs_len <= 2 * lhs_len);
        let share_cols = threads > 1 && is_near && cols(wanted).pieces == wanted;
        // Into how many pieces the other side is cut. If into more than one, each side is prepared for all threads: they wait
        // for each other, and then fetch what is near another.
        // Beside a packed RHS one piece is worth it only where lines are prepared, or a kernel takes many panels at once.
        let one_is_worth_it = kernel.takes_panels() || !given.lhs_is_ready;
        let others = |cut: Cut| match given.rhs_is_ready {
            false if cut.pieces >= threads => 1,
            true if cut.pieces >= threads && cut.is_even(threads) && one_is_worth_it => 1,
            _ => wanted.div_ceil(cut.pieces),
        };
        if !share_rows && (share_cols || rhs_len > lhs_len) {
            // What is packed is near soon after only if what it is packed from leaves room for it.
            let cols = cols(fitting(rhs_len * if given.rhs_is_ready { 1 } else { 4 }));
            Self { rows: rows(others(cols)), cols, depth, by_cols: true }
        } else {
            let rows = rows(fitting(lhs_len));
            Self { rows, cols: cols(others(rows)), depth, by_cols: false }
        }
    }

    /// As [`Blocks::new`], of windows, of which so many in a row of results are never parted; some of them take so many bytes. None if they
    /// are too deep for one slice, a row of them is too long for the cache, or rows are too few to share.
    pub(crate) fn of_rows(
        kernel: &Kernel,
        shape: Shape,
        row: usize,
        bytes: impl Fn(usize) -> usize,
        threads: usize,
        caches: &Caches,
    ) -> Option<Self> {
        let wanted = if threads == 1 { 1 } else { threads * PER_THREAD };
        // Panels that the first cache does not hold are streamed, too: that takes less than to gather patches of slices of them (timed with
        // AVX2: 0.92 to 0.95).
        let most_depth = slice(kernel, caches).max(caches.l2 / 4 / kernel.width);
        if shape.depth > most_depth || bytes(row) > caches.l2 / 2 || shape.rows / row < wanted {
            return None;
        }
        let rows = Cut::new(bytes(shape.rows).div_ceil(caches.l2 / 2).max(wanted), shape.rows, row);
        let (cols, depth) = (Cut::new(1, shape.cols, kernel.width), Cut::new(1, shape.depth, SLICE_UNIT));
        Some(Self { rows, cols, depth, by_cols: false })
    }

    /// Whether each thread had better pack all columns, which all blocks share, for itself: to fetch what another has packed
    /// takes longer.
    pub(crate) fn pack_apart(&self, threads: usize, caches: &Caches) -> bool {
        let len = self.cols.len * self.depth.len;
        threads > 1 && self.rows.pieces > 1 && self.cols.pieces == 1 && len <= caches.l2 / 2
    }

    /// The number of blocks.
    pub(crate) fn count(&self) -> usize {
        self.rows.pieces * self.cols.pieces
    }

    /// The rows and columns of a block.
    pub(crate) fn block(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let (row, col) = match self.by_cols {
            true => (index % self.rows.pieces, index / self.rows.pieces),
            false => (index / self.cols.pieces, index % self.cols.pieces),
        };
        (self.rows.piece(row), self.cols.piece(col))
    }
}

/// How deep a slice of a panel may be: in half of the L1 if that is deep enough to hide the cost of a tile's end,
/// else in a quarter of the L2, from where a wide panel can be streamed.
fn slice(kernel: &Kernel, caches: &Caches) -> usize {
    const DEEP_ENOUGH: usize = 1024;
    match caches.l1 / 2 / kernel.width {
        deep if deep >= DEEP_ENOUGH => deep,
        _ => (caches.l2 / 4 / kernel.width).max(DEEP_ENOUGH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_cover_everything_once(pieces in 1usize..20, len in 0usize..500, unit in 1usize..70) {
            let cut = Cut::new(pieces, len, unit);
            let mut next = 0;
            for i in 0..cut.pieces {
                let piece = cut.piece(i);
                prop_assert_eq!(piece.start, next);
                prop_assert!(piece.start.is_multiple_of(unit) && piece.len() <= cut.longest());
                prop_assert!(len == 0 || !piece.is_empty());
                prop_assert!(piece.end == len || piece.len() + unit >= cut.longest());
                next = piece.end;
            }
            prop_assert_eq!(next, len);
        }

        #[test]
        fn pieces_of_whatever_length_follow_each_other(pieces in 1usize.., len in 1usize.., part in 0.0..1.0f64) {
            let cut = Cut::new(pieces, len, 1);
            let index = ((cut.pieces as f64 * part) as usize).min(cut.pieces - 1);
            let (before, piece) = (cut.piece(index.saturating_sub(1)), cut.piece(index));
            prop_assert!(piece.len() == cut.longest() || piece.len() + 1 == cut.longest());
            prop_assert_eq!(piece.start, if index == 0 { 0 } else { before.end });
            prop_assert_eq!(cut.piece(cut.pieces - 1).end, len);
        }

        #[test]
        fn threads_with_as_many_pieces_get_as_much(threads in 1usize..9, each in 1usize..5, units in 0usize..100) {
            let cut = Cut::new(threads * each, units, 1);
            prop_assume!(cut.pieces == threads * each);
            let share = |thread: usize| cut.piece((thread + 1) * each - 1).end - cut.piece(thread * each).start;
            let shares: Vec<_> = (0..threads).map(share).collect();
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{:?}", shares);
        }
    }

    const GIVEN: Given = Given { lhs_is_ready: false, rhs_is_ready: false, rhs_order: Order::DepthContiguous };

    #[test]
    fn a_depth_beyond_the_caches_is_sliced() {
        let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
        for kernel in Kernel::all() {
            let blocks = |depth| Blocks::new(kernel, Shape::of_sums(100, 100, depth), GIVEN, 1, &caches);
            assert_eq!(blocks(0).depth.pieces, 1, "{}", kernel.name);
            assert_eq!(blocks(1000).depth.pieces, 1, "{}", kernel.name);
            assert!(blocks(100_000).depth.pieces > 1, "{}", kernel.name);
        }
    }

    #[test]
    fn the_larger_side_is_cut() {
        let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
        let kernel = Kernel::all().next().unwrap();
        let pieces = |rows, cols, threads| {
            let blocks = Blocks::new(kernel, Shape::of_sums(rows, cols, 1000), GIVEN, threads, &caches);
            (blocks.rows.pieces > 1, blocks.cols.pieces > 1)
        };
        assert_eq!(pieces(100, 4000, 1), (false, true));
        assert_eq!(pieces(4000, 64, 1), (true, false));
        assert_eq!(pieces(100, 100, 1), (false, false));
        assert_eq!(pieces(100, 100, 2), (true, false));
        assert_eq!(pieces(40, 100, 2), (false, true));
    }

    #[test]
    fn both_sides_are_cut_if_one_is_too_short_for_all_threads() {
        let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
        let given = Given { rhs_order: Order::LineContiguous, ..GIVEN };
        for kernel in Kernel::all() {
            let shape = Shape::of_sums(120, 300, 1000);
            let blocks = Blocks::new(kernel, shape, given, 8, &caches);
            // Those of a thread, of 8, are of the same columns.
            let cols = |thread: usize| blocks.block(thread * blocks.count() / 8).1;
            assert_eq!((cols(0), cols(7)), (blocks.cols.piece(0), blocks.cols.piece(blocks.cols.pieces - 1)));
            assert!(blocks.rows.pieces > 1 && blocks.cols.pieces > 1, "{}", kernel.name);
            assert!(!blocks.pack_apart(8, &caches), "{}", kernel.name);
        }
    }

    #[test]
    fn threads_pack_apart_what_all_of_them_need_if_that_is_little() {
        let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
        let is_apart = |rows, cols, threads| {
            let every = Kernel::all().map(|kernel| {
                let shape = Shape::of_sums(rows, cols, 1000);
                Blocks::new(kernel, shape, GIVEN, threads, &caches).pack_apart(threads, &caches)
            });
            let (all, any) = every.fold((true, false), |(all, any), is| (all && is, any || is));
            assert_eq!(all, any);
            all
        };
        assert!(is_apart(4000, 64, 2));
        assert!(!is_apart(4000, 64, 1), "nobody else packs");
        assert!(!is_apart(4000, 300, 2), "more than half of the cache");
        assert!(!is_apart(64, 4000, 2), "each has other columns");
    }

    #[test]
    fn one_side_is_cut_if_the_other_is_packed() {
        let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
        for kernel in Kernel::all() {
            let given = Given { rhs_is_ready: true, ..GIVEN };
            let blocks = Blocks::new(kernel, Shape::of_sums(192, 128, 128), given, 2, &caches);
            // So nobody prepares rows for another.
            assert_eq!((blocks.rows.pieces, blocks.cols.pieces), (4, 1), "{}", kernel.name);
        }
    }

    #[test]
    fn rows_of_windows_stay_whole() {
        let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
        let kernel = Kernel::all().next().unwrap();
        let blocks = |depth, row, threads| {
            Blocks::of_rows(kernel, Shape::of_sums(20 * row, 64, depth), row, |windows| 20 * windows, threads, &caches)
        };
        let blocks_of =
            |depth, row, threads| blocks(depth, row, threads).map(|blocks| (blocks.rows.pieces, blocks.cols.pieces));
        assert_eq!(
            (blocks_of(100, 10, 1), blocks_of(100, 10, 4), blocks_of(100, 1000, 1)),
            (Some((1, 1)), Some((16, 1)), Some((2, 1)))
        );
        assert!((0..2).all(|block| blocks(100, 1000, 1).unwrap().block(block).0.len() == 10_000));
        // Too few for threads, too long, too deep.
        assert_eq!((blocks_of(100, 10, 6), blocks_of(100, 20_000, 1), blocks_of(100_000, 10, 1)), (None, None, None));
    }

    #[test]
    fn threads_share_the_columns_beside_an_lhs_that_is_near() {
        let caches = Caches { l1: 32 << 10, l2: 512 << 10 };
        let kernel = Kernel::all().next().unwrap();
        let pieces = |rows, lhs_is_ready, threads| {
            let given = Given { lhs_is_ready, ..GIVEN };
            let blocks = Blocks::new(kernel, Shape::of_sums(rows, 512, 100), given, threads, &caches);
            (blocks.rows.pieces > 1, blocks.cols.pieces > 1)
        };
        assert_eq!(pieces(1200, true, 2), (false, true));
        assert_eq!(pieces(1200, true, 1), (false, false));
        assert_eq!(pieces(1200, false, 2), (true, false));
        assert_eq!(pieces(4000, true, 2), (true, false));
    }
}
