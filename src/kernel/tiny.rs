//! Products so tiny that to pack them for tiles takes longer than to multiply them: both sides become numbers of 16 bits, with all that
//! is added to them, in pairs along the depth.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;

use crate::matrix::Operand;

/// The most rows, columns and depth.
pub(crate) const ROWS: usize = 96;
pub(crate) const COLUMNS: usize = 1024;
pub(crate) const DEPTH: usize = 96;

/// Columns that are widened together, and multiplied.
pub(crate) const WIDTH: usize = 16;

/// Integers that both sides take, widened, the RHS so many columns: pairs of numbers of 16 bits.
pub(crate) const ROOM: usize = (ROWS + WIDTH) * DEPTH / 2;

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
    /// Columns that lie side by side, and how many elements further on the next ones begin.
    width: usize,
    step: usize,
}

impl Place {
    /// All columns side by side.
    pub(crate) fn rows(first: *mut i32, stride: usize) -> Self {
        Self { first, stride, width: usize::MAX, step: 0 }
    }

    /// Panels of so many rows and columns, one after the other.
    pub(crate) fn panels(first: *mut i32, rows: usize, width: usize) -> Self {
        assert!(width.is_multiple_of(WIDTH), "what is multiplied together lies side by side");
        Self { first, stride: width, width, step: rows * width }
    }

    /// That of one sum.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused, reason = "only kernels for x86 bring sums there"))]
    fn at(&self, row: usize, col: usize) -> *mut i32 {
        self.first.wrapping_add(row * self.stride + col / self.width * self.step + col % self.width)
    }
}

/// Multiplies two sides of no more than [`ROWS`], [`COLUMNS`] and [`DEPTH`], to which no more is added than
/// [`SMALL_OFFSETS`](super::SMALL_OFFSETS), in [`ROOM`].
///
/// # Safety
/// The CPU has the features that the function was compiled for. The places of all sums are the caller's to write.
pub(crate) type TinyFn = unsafe fn(lhs: Side, rhs: Side, room: &mut [i32; ROOM], to: Place);
