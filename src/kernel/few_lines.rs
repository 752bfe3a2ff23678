//! A few lines, multiplied by an operand where it lies: each of its bytes is read once, and nothing is packed.

use crate::matrix::{Encoding, Operand, Order};
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
mod ahead;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod along_lines;

#[cfg(target_arch = "x86_64")]
pub(super) use ahead::{AHEAD, Ahead};

/// How a kernel multiplies few lines.
#[derive(Clone)]
pub(crate) struct FewLines {
    pub multiply: FewLinesFn,
    /// How many numbers of a line are multiplied together if its depth is contiguous: the operand must be as deep.
    pub depths: usize,
    /// How many lines are multiplied together if they are contiguous at each depth: the operand must have as many.
    pub lines: usize,
    /// Whether what comes from afar had better be fetched before it is read.
    pub is_fetched: bool,
    /// The depths at which an RHS had better be packed beside a few rows, contiguous along the depth, and along lines (measured).
    pub packed: [Range<usize>; 2],
    /// No more than so many lines that are contiguous at each depth are, beside one row, too, and however deep (with AVX-512 VNNI
    /// 4 x 74 x 1057 takes 0.4 of the time so, 1 x 64 x 512 0.5, 2 x 119 x 259 0.7).
    pub narrow: usize,
}

/// Lines whose depth is contiguous are not worth packing beside one row or two if they are deeper than this, nor beside one if there are
/// more of them than this.
const DEPTH_BESIDE_TWO_ROWS: usize = 64;
const LINES_BESIDE_ONE_ROW: usize = 512;

/// Lines that are contiguous at each depth are not beside fewer rows than this, nor if they are fewer than this: these leave too much of
/// the last panel empty.
const ROWS_WORTH_PACKING: usize = 3;
const COLS_WORTH_PACKING: usize = 128;

/// Writes the sums of some of the operand's lines: of each of the few lines as many as [`FewLines::pitch`] says, of which those
/// beyond the lines are anything. Unsafe only in that the CPU must have the features it was compiled for.
pub(crate) type FewLinesFn = unsafe fn(product: &Product, lines: Range<usize>, sums: &mut [i32]);

/// A few lines and the operand that they are multiplied by.
pub(crate) struct Product<'a> {
    /// The few lines, so many, one after the other, as [`FewLines::settle`] leaves them.
    pub lines: &'a [u8],
    pub count: usize,
    /// The bytes of each, and of each of its numbers.
    pub pitch: usize,
    pub size: usize,
    /// What these are read as.
    pub encoding: Encoding,
    pub operand: Operand<'a>,
    /// Whether the second cache may hold the operand.
    pub is_near: bool,
    /// As [`FewLines::is_fetched`].
    pub is_fetched: bool,
}

/// The most depths at which any kernel reads contiguous lines together. The few lines' numbers are padded with zeros to as many.
pub(crate) const RUNS: usize = 16;

/// Bytes of the few lines, or of panels, that are multiplied before those that follow them: half of the fastest cache, at most.
#[cfg(target_arch = "x86_64")]
pub(crate) const SLICE: usize = 16 << 10;

impl FewLines {
    /// Whether to pack an RHS beside so few rows takes less time than to read it where it lies.
    #[inline(always)]
    pub(crate) fn should_pack(&self, rows: usize, rhs: &Operand) -> bool {
        if self.is_narrow(rhs) {
            return true;
        }
        let (order, is_worth_it) = match rhs.order {
            Order::DepthContiguous if rows > 2 => (0, true),
            Order::DepthContiguous => {
                (0, rhs.depth <= DEPTH_BESIDE_TWO_ROWS && (rows > 1 || rhs.lines <= LINES_BESIDE_ONE_ROW))
            }
            Order::LineContiguous => (1, rows >= ROWS_WORTH_PACKING && rhs.lines >= COLS_WORTH_PACKING),
        };
        is_worth_it && self.packed[order].contains(&rhs.depth)
    }

    /// Whether it had better be packed beside any few rows, for its lines, contiguous at each depth, are as many as are multiplied
    /// together, but no more than [`narrow`](Self::narrow).
    #[inline(always)]
    pub(crate) fn is_narrow(&self, rhs: &Operand) -> bool {
        rhs.order == Order::LineContiguous && (self.lines..=self.narrow).contains(&rhs.lines)
    }

    /// How many sums of each of the few lines are written for so many lines of the operand.
    pub(crate) fn pitch(&self, order: Order, lines: usize) -> usize {
        match order {
            Order::DepthContiguous => lines,
            // Not a power of two: the lines would compete for the same places in the caches.
            Order::LineContiguous => lines.next_multiple_of(self.lines) + self.lines,
        }
    }

    /// How many numbers a line takes.
    pub(crate) fn padded(&self, order: Order, depth: usize) -> usize {
        match order {
            // A power of two.
            Order::DepthContiguous => (depth + self.depths - 1) & self.depths.wrapping_neg(),
            Order::LineContiguous => depth.next_multiple_of(RUNS),
        }
    }

    /// Whether so many lines of such a depth can be multiplied.
    pub(crate) fn takes(&self, operand: &Operand) -> bool {
        match operand.order {
            Order::DepthContiguous => operand.depth >= self.depths,
            Order::LineContiguous => operand.lines >= self.lines && operand.depth > 0,
        }
    }

    /// Makes one of the few lines, whose numbers have `size` bytes and are followed by zeros, what the kernel reads. Nothing is
    /// read beyond a line's end: the last numbers that are multiplied together begin before those ahead of them end, which
    /// are zero the second time.
    pub(crate) fn settle(&self, operand: &Operand, size: usize, line: &mut [u8]) {
        if operand.order == Order::DepthContiguous {
            let whole = operand.depth & self.depths.wrapping_neg();
            let rest = operand.depth - whole;
            if rest > 0 {
                line[whole * size..][..self.depths * size].rotate_right((self.depths - rest) * size);
            }
        }
    }
}

impl<'a> Product<'a> {
    /// The few lines from one on, each in units of `N` bytes.
    #[inline(always)]
    pub(crate) fn line<const N: usize>(&self, index: usize) -> &'a [[u8; N]] {
        self.lines[index * self.pitch..][..self.pitch].as_chunks().0
    }
}

/// Sums that lie by fours, the first of each 16 columns, then the second and so on, as the columns do.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
#[inline(always)]
pub(super) fn sixteens<const N: usize>(sums: &mut [i32; N]) {
    let from = *sums;
    for (i, four) in sums.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (sixteen, quarter) = (i / 4, i % 4);
        *four = from.as_chunks().0[quarter * (N / 16) + sixteen];
    }
}

/// Puts the sums of each of the few lines in the order of so many lines; those of a last chunk, which began before the others ended,
/// to their place.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn put_in_order<const N: usize>(
    sums: &mut [i32],
    pitch: usize,
    lines: usize,
    in_order: impl Fn(&mut [i32; N]),
) {
    for sums in sums.chunks_exact_mut(pitch) {
        for sums in sums.as_chunks_mut().0 {
            in_order(sums);
        }
        let (end, rest) = (lines.next_multiple_of(N), lines % N);
        if rest > 0 {
            sums.copy_within(end - rest..end, end - N);
        }
    }
}

/// A place of which the compiler does not know what it has to do with others: of many lines it would keep one for each in its registers,
/// which are too few.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "nothing is read there")]
pub(super) fn unrelated(at: *const u8) -> *const u8 {
    let mut at = at;
    // SAFETY: it does nothing.
    unsafe { std::arch::asm!("/* {} */", inout(reg) at, options(pure, nomem, nostack, preserves_flags)) }
    at
}

/// What kernels without instructions of their own do.
pub(crate) mod portable {
    use super::{Encoding, Order, Product, Range};

    pub(crate) const DEPTHS: usize = 1;
    pub(crate) const LINES: usize = 1;
    pub(crate) const PACKED: [Range<usize>; 2] = [0..0, 0..0];
    pub(crate) const NARROW: usize = 0;

    #[inline(always)]
    pub(crate) fn multiply(product: &Product, lines: Range<usize>, sums: &mut [i32]) {
        let few = product.encoding;
        match product.size {
            1 => multiply_all(product, lines, sums, |&[a]: &[u8; 1]| few.decode(a)),
            _ => multiply_all(product, lines, sums, |&a| i32::from(i16::from_ne_bytes(a))),
        }
    }

    #[inline(always)]
    fn multiply_all<const N: usize>(
        product: &Product,
        lines: Range<usize>,
        sums: &mut [i32],
        number: impl Fn(&[u8; N]) -> i32,
    ) {
        let pitch = sums.len() / product.count;
        for (i, sums) in sums.chunks_exact_mut(pitch).enumerate() {
            let sums = &mut sums[..lines.len()];
            let line = product.line(i);
            match product.operand.encoding {
                Encoding::U8 => multiply_line(product, line, lines.clone(), sums, &number, i32::from),
                Encoding::S8 => multiply_line(product, line, lines.clone(), sums, &number, |b| i32::from(b as i8)),
            }
        }
    }

    #[inline(always)]
    fn multiply_line<const N: usize>(
        Product { operand, .. }: &Product,
        line: &[[u8; N]],
        lines: Range<usize>,
        sums: &mut [i32],
        number: impl Fn(&[u8; N]) -> i32,
        other: impl Fn(u8) -> i32,
    ) {
        match operand.order {
            Order::DepthContiguous => {
                for (sum, index) in sums.iter_mut().zip(lines) {
                    let products = line.iter().zip(operand.run(index)).map(|(a, &b)| number(a).wrapping_mul(other(b)));
                    *sum = products.fold(0, i32::wrapping_add);
                }
            }
            Order::LineContiguous => {
                sums.fill(0);
                for (depth, a) in (0..operand.depth).zip(line) {
                    let a = number(a);
                    for (sum, &b) in sums.iter_mut().zip(&operand.run(depth)[lines.clone()]) {
                        *sum = sum.wrapping_add(a.wrapping_mul(other(b)));
                    }
                }
            }
        }
    }
}

/// Defines what `kernel!` expects of a module for few lines, in terms of the module's own `Vector`, `zero`, `dot`, `add_totals` (of
/// vectors' lanes), `numbers` (of a few line), `wide` (numbers of a line of the operand) and `along_lines`, for lines that are
/// contiguous at each depth, each sum of which is one of `columns`.
#[cfg(target_arch = "x86_64")]
macro_rules! few_lines {
    (features: [$($feature:tt),*], lanes: $lanes:literal, group: $group:literal, columns: $columns:literal,
     rows: [$($rows:literal)*] by $block:literal, packed: $packed:expr $(, narrow: $narrow:literal)? $(,)?) => {
        /// Numbers of a line that a vector holds.
        pub(super) const DEPTHS: usize = $lanes * $group;
        pub(super) const LINES: usize = $columns;
        pub(super) const PACKED: [std::ops::Range<usize>; 2] = $packed;
        pub(super) const NARROW: usize = 0 $(+ $narrow)?;
        const BYTES: usize = $lanes * 4;
        const VECTORS: usize = $columns / $lanes;
        /// Vectors of a cache line.
        const STEP: usize = 64 / DEPTHS;

        $(#[target_feature(enable = $feature)])*
        pub(super) fn multiply(product: &$crate::kernel::FewProduct, lines: std::ops::Range<usize>, sums: &mut [i32]) {
            use $crate::matrix::{Encoding, Order};
            match (product.operand.order, product.operand.encoding, product.is_near) {
                (Order::DepthContiguous, Encoding::U8, true) => along_depth::<true, false>(product, lines, sums),
                (Order::DepthContiguous, Encoding::S8, true) => along_depth::<false, false>(product, lines, sums),
                (Order::DepthContiguous, Encoding::U8, false) => along_depth::<true, true>(product, lines, sums),
                (Order::DepthContiguous, Encoding::S8, false) => along_depth::<false, true>(product, lines, sums),
                (Order::LineContiguous, Encoding::U8, _) => along_lines::<true>(product, lines, sums),
                (Order::LineContiguous, Encoding::S8, _) => along_lines::<false>(product, lines, sums),
            }
        }

        /// A slice of the few lines stays in the fastest cache while it meets all lines of the operand, and so does a slice of
        /// those while it meets the few.
        $(#[target_feature(enable = $feature)])*
        fn along_depth<const UNSIGNED: bool, const FAR: bool>(
            product: &$crate::kernel::FewProduct,
            lines: std::ops::Range<usize>,
            sums: &mut [i32],
        ) {
            let vectors = product.operand.depth.div_ceil(DEPTHS);
            // To divide takes as long as much else of a small product.
            let slice = match vectors * BYTES * product.count <= $crate::kernel::SLICE {
                true => vectors,
                false => ($crate::kernel::SLICE / product.count / BYTES).next_multiple_of(STEP),
            };
            sums.fill(0);
            for slice in $crate::kernel::tiles_of(vectors, slice) {
                let part = slice.start * DEPTHS..product.operand.depth.min(slice.end * DEPTHS);
                // Beside one or two there is room for the sums of more lines.
                let most = if product.count <= 2 { 2 * $block } else { $block };
                let later = if FAR { ($crate::kernel::few_lines::AHEAD / part.len()).max(most) } else { 0 };
                // All of them one after the other beside the same few, or block by block beside some of the few and then the others.
                let step = if product.count <= TOGETHER { lines.len().max(most) } else { most };
                let place = (&slice, &part, later);
                let mut line = lines.start;
                for block in [2 * $block, $block, 1].into_iter().skip_while(|block| *block > most) {
                    let end = lines.end - ((lines.end - line) & (block - 1));
                    while line < end {
                        let (some, sums) = (line..end.min(line + step), &mut sums[line - lines.start..]);
                        line = some.end;
                        match block {
                            1 => beside_all::<1, UNSIGNED, FAR>(product, some, place, sums, lines.len()),
                            $block => beside_all::<$block, UNSIGNED, FAR>(product, some, place, sums, lines.len()),
                            _ => beside_two::<UNSIGNED, FAR>(product, some, place, sums, lines.len()),
                        }
                    }
                }
            }
        }

        /// The most of the few lines that are multiplied together.
        const TOGETHER: usize = [$($rows),*].len();

        /// Multiplies all of the few lines by some others, whole blocks of them.
        $(#[target_feature(enable = $feature)])*
        fn beside_all<const LINES: usize, const UNSIGNED: bool, const FAR: bool>(
            product: &$crate::kernel::FewProduct,
            lines: std::ops::Range<usize>,
            place: (&std::ops::Range<usize>, &std::ops::Range<usize>, usize),
            sums: &mut [i32],
            pitch: usize,
        ) {
            for rows in $crate::kernel::tiles(product.count, TOGETHER) {
                let sums = &mut sums[rows.start * pitch..];
                match rows.len() {
                    $($rows => beside::<$rows, LINES, UNSIGNED, FAR>(product, (rows.start, lines.clone()), place, sums, pitch),)*
                    _ => unreachable!("1 to TOGETHER lines"),
                }
            }
        }

        /// The same of one or two, by twice as many others.
        $(#[target_feature(enable = $feature)])*
        fn beside_two<const UNSIGNED: bool, const FAR: bool>(
            product: &$crate::kernel::FewProduct,
            lines: std::ops::Range<usize>,
            place: (&std::ops::Range<usize>, &std::ops::Range<usize>, usize),
            sums: &mut [i32],
            pitch: usize,
        ) {
            match product.count {
                1 => beside::<1, { 2 * $block }, UNSIGNED, FAR>(product, (0, lines), place, sums, pitch),
                _ => beside::<2, { 2 * $block }, UNSIGNED, FAR>(product, (0, lines), place, sums, pitch),
            }
        }

        /// Multiplies so many of the few lines, from one on, by these others, over a slice of vectors, which is a part of the depth. What
        /// is so many lines later is fetched.
        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn beside<const ROWS: usize, const LINES: usize, const UNSIGNED: bool, const FAR: bool>(
            product: &$crate::kernel::FewProduct,
            (row, lines): (usize, std::ops::Range<usize>),
            (slice, part, later): (&std::ops::Range<usize>, &std::ops::Range<usize>, usize),
            sums: &mut [i32],
            pitch: usize,
        ) {
            let operand = &product.operand;
            let mut lhs = [std::ptr::null(); ROWS];
            for i in 0..ROWS {
                lhs[i] = product.line::<BYTES>(row + i)[slice.clone()].as_ptr();
            }
            assert!(operand.depth >= DEPTHS && lines.end <= operand.runs().count && lines.len().is_multiple_of(LINES));
            let vectors = slice.end.min(operand.depth / DEPTHS) - slice.start;
            let from = slice.start * DEPTHS;
            let mut block = Block {
                lhs,
                lines: operand.run(lines.start).as_ptr().wrapping_add(from),
                pitch: operand.pitch(),
                vectors,
                // The last vector ends where the depth does.
                end: (vectors < slice.len()).then_some(operand.depth.wrapping_sub(DEPTHS + from)),
                // What lies so far ahead is what comes next; slices are too short for the processor to foresee it.
                next: if row == 0 { operand.pitch() * LINES } else { 0 },
            };
            for line in lines.clone().step_by(LINES) {
                // By whoever reads first.
                let ahead = match FAR && row == 0 {
                    true => $crate::kernel::few_lines::Ahead::of(product, line + later..line + later + LINES, part),
                    false => $crate::kernel::few_lines::Ahead::NONE,
                };
                // SAFETY: so many lines are there, as deep as asserted, and the few have as many vectors.
                unsafe { block.multiply::<LINES, UNSIGNED, FAR>(&mut sums[line - lines.start..], pitch, ahead) }
                block.lines = block.lines.wrapping_add(LINES * block.pitch);
            }
        }

        /// Where some of the few lines and a block of the others lie, of which these are multiplied.
        struct Block<const ROWS: usize> {
            lhs: [*const [u8; BYTES]; ROWS],
            lines: *const u8,
            pitch: usize,
            /// Whole vectors; and where the last one of a line begins, which those of the few follow, if there is such a one.
            vectors: usize,
            end: Option<usize>,
            /// How far ahead to fetch.
            next: usize,
        }

        impl<const ROWS: usize> Block<ROWS> {
            /// # Safety
            /// All of that is there to be read, of so many lines.
            #[inline]
            $(#[target_feature(enable = $feature)])*
            unsafe fn multiply<const LINES: usize, const UNSIGNED: bool, const FAR: bool>(
                &self,
                sums: &mut [i32],
                pitch: usize,
                mut ahead: $crate::kernel::few_lines::Ahead,
            ) {
                let mut c: [[Vector; LINES]; ROWS] = [[zero(); LINES]; ROWS];
                let steps = self.vectors / STEP;
                for s in 0..steps {
                    if FAR && s.is_multiple_of(8 / LINES) {
                        ahead.fetch(8);
                    } else if !FAR {
                        let fours = self.fours(64 * s + self.next);
                        for j in 0..LINES {
                            prefetch(self.line(&fours, j));
                        }
                    }
                    for v in s * STEP..(s + 1) * STEP {
                        // SAFETY: this function's own promise.
                        unsafe { self.grow::<LINES, UNSIGNED>(v, v * DEPTHS, &mut c) }
                    }
                }
                for v in steps * STEP..self.vectors {
                    // SAFETY: as above.
                    unsafe { self.grow::<LINES, UNSIGNED>(v, v * DEPTHS, &mut c) }
                }
                if let Some(end) = self.end {
                    // SAFETY: as above.
                    unsafe { self.grow::<LINES, UNSIGNED>(self.vectors, end, &mut c) }
                }
                for i in 0..ROWS {
                    let to = sums[i * pitch..].first_chunk_mut().expect("a sum for each line");
                    add_totals::<LINES>(to, &c[i]);
                }
            }

            /// So many bytes on in the first line and in the fifth.
            #[inline(always)]
            fn fours(&self, at: usize) -> [*const u8; 2] {
                let fifth = self.lines.wrapping_add(4 * self.pitch);
                [self.lines, fifth].map(|line| $crate::kernel::few_lines::unrelated(line.wrapping_add(at)))
            }

            #[inline(always)]
            fn line(&self, fours: &[*const u8; 2], j: usize) -> *const u8 {
                fours[j / 4].wrapping_add(j % 4 * self.pitch)
            }

            /// Adds the products of the few lines' vector and those of the others that begin so many bytes on.
            ///
            /// # Safety
            /// As above.
            #[inline]
            $(#[target_feature(enable = $feature)])*
            unsafe fn grow<const LINES: usize, const UNSIGNED: bool>(
                &self,
                vector: usize,
                at: usize,
                c: &mut [[Vector; LINES]; ROWS],
            ) {
                let (fours, mut b) = (self.fours(at), [zero(); LINES]);
                for j in 0..LINES {
                    // SAFETY: this function's own promise.
                    b[j] = wide::<UNSIGNED>(unsafe { &*self.line(&fours, j).cast() });
                }
                for i in 0..ROWS {
                    // SAFETY: as above.
                    let a = numbers(unsafe { &*self.lhs[i].wrapping_add(vector) });
                    for j in 0..LINES {
                        c[i][j] = dot::<UNSIGNED>(c[i][j], a, b[j]);
                    }
                }
            }
        }
    };
}
