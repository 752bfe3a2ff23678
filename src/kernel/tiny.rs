//! Products so tiny that to pack them for tiles takes longer than to multiply them: both sides become numbers of 16 bits, with all that
//! is added to them, in pairs along the depth.

use crate::matrix::Operand;

/// The most rows, columns and depth.
pub(crate) const ROWS: usize = 96;
pub(crate) const COLUMNS: usize = 1024;
pub(crate) const DEPTH: usize = 96;

/// Columns that are widened together, and multiplied, at most.
const WIDTH: usize = 32;

/// Integers that both sides take, widened, the RHS so many columns: pairs of numbers of 16 bits.
pub(crate) const ROOM: usize = (ROWS + WIDTH) * DEPTH / 2;

/// The stretch of a kernel that packs depth by depth.
pub(super) const NEVER: usize = 1 << (usize::BITS - 1);

/// How a kernel multiplies tiny products.
#[derive(Clone, Copy)]
pub(crate) struct TinyWay {
    pub multiply: TinyFn,
    /// The most multiplications: of more, tiles make up for what it takes to get ready for them.
    pub most_macs: usize,
    /// The same of numbers known to be too large for a kernel for small ones, beside which fewer pay.
    pub most_of_large: usize,
    /// So many depths of an RHS whose depth is contiguous are packed at once: a power of two.
    pub stretch: usize,
    /// So many bytes in whole stretches had better be packed.
    pub bytes_worth_packing: usize,
    /// The most multiplications by shorter lines, if more.
    pub most_beside_short: usize,
}

/// One side, and what is added to its numbers.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub operand: &'a Operand<'a>,
    pub added: i16,
}

/// Where sums go.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    first: *mut i32,
    /// How many elements rows are apart.
    stride: usize,
    /// Two to the power of this many columns lie side by side, and so many elements further on the next ones begin.
    log_width: u32,
    step: usize,
}

impl Place {
    /// All columns side by side.
    pub(crate) fn rows(first: *mut i32, stride: usize) -> Self {
        Self { first, stride, log_width: usize::BITS - 1, step: 0 }
    }

    /// Panels of so many rows and two to the power of so many columns, one after the other.
    pub(crate) fn panels(first: *mut i32, rows: usize, log_width: u32) -> Self {
        Self { first, stride: 1 << log_width, log_width, step: rows << log_width }
    }

    /// That of one sum.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused, reason = "only kernels for x86 bring sums there"))]
    fn at(&self, row: usize, col: usize) -> *mut i32 {
        let (panel, within) = (col >> self.log_width, col & ((1 << self.log_width) - 1));
        self.first.wrapping_add(row * self.stride + panel * self.step + within)
    }
}

/// Multiplies two sides of no more than [`ROWS`], [`COLUMNS`] and [`DEPTH`], to which no more is added than
/// [`SMALL_OFFSETS`](super::SMALL_OFFSETS), in [`ROOM`].
///
/// # Safety
/// The CPU has the features that the function was compiled for. The places of all sums are the caller's to write.
pub(crate) type TinyFn = unsafe fn(lhs: Side, rhs: Side, room: &mut [i32; ROOM], to: Place);

/// Defines `multiply`, a [`TinyFn`], and what it consists of, in terms of a module's own `Vector`, of so many `lanes`, `zero`, `resume`,
/// `spread`, `put`, and of what adds products of pairs, `dot`. Two vectors of columns are multiplied together, and no more `rows`.
#[cfg(target_arch = "x86_64")]
macro_rules! tiny_kernel {
    (features: [$($feature:literal),*], lanes: $lanes:literal, rows: [$($rows:literal)*], dot: $dot:ident) => {
        /// # Safety
        /// As for a [`TinyFn`](super::TinyFn).
        $(#[target_feature(enable = $feature)])*
        unsafe fn multiply(lhs: Side, rhs: Side, room: &mut [i32; ROOM], to: Place) {
            const TOGETHER: usize = [$($rows),*].len();
            let (Operand { lines: rows, depth, .. }, cols) = (*lhs.operand, rhs.operand.lines);
            assert!(rows <= ROWS && depth <= DEPTH && rhs.operand.depth == depth);
            let height = height(rows, TOGETHER);
            let (of_lhs, of_rhs) = room.split_at_mut(ROWS * DEPTH / 2);
            let of_rhs = of_rhs.as_chunks_mut().0;
            let steps = match lhs.operand.order {
                Order::DepthContiguous => {
                    widen_lines(lhs, of_lhs.as_chunks_mut().0);
                    (DEPTH / 2, 1)
                }
                Order::LineContiguous => {
                    widen_depths::<ROWS>(lhs, 0..rows, of_lhs.as_chunks_mut().0);
                    (1, ROWS)
                }
            };
            for left in (0..cols).step_by(2 * $lanes) {
                let cols = left..cols.min(left + 2 * $lanes);
                match rhs.operand.order {
                    Order::DepthContiguous => turn_lines(rhs, cols.clone(), of_rhs),
                    Order::LineContiguous => widen_depths::<{ 2 * $lanes }>(rhs, cols.clone(), of_rhs),
                }
                let panel = &of_rhs[..depth.div_ceil(2)];
                for rows in tiles_of(rows, height) {
                    let (lhs, first, cols) = (&of_lhs[rows.start * steps.0..], rows.start, cols.clone());
                    // SAFETY: this function's own promise, for these rows and columns, and both sides have as many pairs, as was
                    // asserted.
                    unsafe {
                        match (rows.len(), cols.len() > $lanes) {
                            $(($rows, false) => multiply_rows::<$rows, 1>(lhs, steps, panel, to, (first, cols)),
                              ($rows, true) => multiply_rows::<$rows, 2>(lhs, steps, panel, to, (first, cols)),)*
                            _ => unreachable!("no more rows are multiplied together"),
                        }
                    }
                }
            }
        }

        /// Multiplies `N` rows, the pairs of which are so many apart from row to row and along the depth, by `V` vectors of columns, the
        /// last of which may be there in part.
        ///
        /// # Safety
        /// All these pairs are there. The sums of these rows, from the first on, and columns are the caller's to write.
        #[inline]
        $(#[target_feature(enable = $feature)])*
        unsafe fn multiply_rows<const N: usize, const V: usize>(
            lhs: &[i32],
            (row_step, pair_step): (usize, usize),
            rhs: &[[i32; 2 * $lanes]],
            to: Place,
            (first, cols): (usize, Range<usize>),
        ) {
            let mut c = [[zero(); V]; N];
            for (p, group) in rhs.iter().enumerate() {
                let groups = group.as_chunks::<$lanes>().0;
                let mut b = [zero(); V];
                for v in 0..V {
                    b[v] = resume(&groups[v]);
                }
                for (i, c) in c.iter_mut().enumerate() {
                    // SAFETY: this function's own promise.
                    let a = spread(unsafe { lhs.get_unchecked(i * row_step + p * pair_step) }.to_ne_bytes());
                    for v in 0..V {
                        c[v] = $dot(c[v], a, b[v]);
                    }
                }
            }
            let mut firsts = [std::ptr::null_mut(); V];
            for v in 0..V {
                firsts[v] = to.at(first, cols.start + v * $lanes);
            }
            let put_rows = |count_of_last: usize| {
                for (i, c) in c.iter().enumerate() {
                    for v in 0..V {
                        let count = if v + 1 < V { $lanes } else { count_of_last };
                        // SAFETY: this function's own promise.
                        put(unsafe { std::slice::from_raw_parts_mut(firsts[v].wrapping_add(i * to.stride), count) }, c[v]);
                    }
                }
            };
            // A number that the compiler knows saves it looking at each.
            match cols.len() - (V - 1) * $lanes {
                $lanes => put_rows($lanes),
                fewer => put_rows(fewer),
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
pub(super) mod avx512;
