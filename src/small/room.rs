//! How small products are cut, and the memory that they take.

use crate::blocks::Shape;
use crate::buffer::Carver;
use crate::kernel::{self, Kernel};
use crate::plain::{LHS, RHS};

/// No more sums become bytes at once: they had better stay in the first cache.
const MOST_WIDE: usize = 8 << 10;

/// Nor are they made part by part beside more rows (measured with AMX: of 6 x 1626 x 6 and 12 x 4067 x 18 that takes 0.7 and 0.8 of the
/// time, of 32 x 600 x 100 1.2).
const MOST_ROWS_BY_PARTS: usize = 20;

/// How a product is cut.
pub(super) struct Tiles {
    /// Rows of a tile, and of those that are finished together.
    pub height: usize,
    pub together: usize,
    /// Bytes from one packed line of the LHS to the next.
    pub pitch: usize,
    /// Bytes of a panel.
    pub panel_len: usize,
}

impl Tiles {
    #[inline(always)]
    pub fn new(kernel: &Kernel, Shape { rows, depth, .. }: Shape) -> Self {
        let (pitch, panel_len) = (pitch(kernel, depth), kernel.pad(depth) * kernel.width);
        // To divide takes as long as much else here, so it is left out for one tile.
        if rows <= kernel.rows {
            return Self { height: rows.max(1), together: rows, pitch, panel_len };
        }
        let height = kernel::height(rows, kernel.rows);
        Self { height, together: height * kernel.finished_together(), pitch, panel_len }
    }
}

/// Bytes from one packed line of the LHS to the next: no more than it takes, unless a tile's lines would compete for the same
/// places in the caches.
fn pitch(kernel: &Kernel, depth: usize) -> usize {
    let tight = kernel.pad(depth) * kernel.groups.lhs_size();
    if tight < 1024 { tight } else { kernel.pitch(depth) }
}

/// Bytes that both operands take when they are packed, integers for their sums, and for tiles that are finished together.
pub(super) struct Room {
    pub lhs: usize,
    pub rhs: usize,
    /// What these two and the sums of the RHS take, which is the same whatever becomes of tiles.
    pub packed: usize,
    pub lhs_sums: usize,
    pub rhs_sums: usize,
    /// Integers of tiles; and of the sums of so many rows, so far apart, of whole panels that become bytes together, of which there may
    /// be none.
    pub acc: usize,
    pub rows: usize,
    pub pitch: usize,
}

impl Room {
    #[inline(always)]
    pub fn new(
        kernel: &Kernel,
        shape: Shape,
        tiles: &Tiles,
        is_in_place: bool,
        is_ready: bool,
        is_summed: [bool; 2],
    ) -> Self {
        // A relay works in two tiles.
        let acc_rows = match shape.rows > kernel.rows || kernel.relays(shape.rows) {
            true => shape.rows.min(tiles.together).max(2 * kernel.rows),
            false => shape.rows,
        };
        let whole = shape.cols.next_multiple_of(kernel.width);
        let cols = if is_ready { 0 } else { whole };
        let lhs = if is_in_place { 0 } else { shape.rows * tiles.pitch };
        let rhs = cols * kernel.pad(shape.depth);
        let rhs_sums = if is_summed[RHS] { cols } else { 0 };
        let pitch = match shape.rows * whole <= MOST_WIDE {
            true => whole,
            // To divide takes as long as much else of a small product.
            false if shape.rows <= MOST_ROWS_BY_PARTS => (MOST_WIDE / shape.rows) & kernel.width.wrapping_neg(),
            false => 0,
        };
        Self {
            rows: shape.rows,
            lhs,
            rhs,
            packed: Carver::cost(lhs) + Carver::cost(rhs) + ints(rhs_sums),
            lhs_sums: if is_summed[LHS] { shape.rows } else { 0 },
            rhs_sums,
            acc: acc_rows * kernel.width,
            pitch,
        }
    }

    /// All integers besides the sums of the RHS, if tiles are finished in so many.
    #[inline(always)]
    pub fn ints(&self, finishing: usize) -> usize {
        self.lhs_sums + self.acc.max(self.rows * self.pitch) + finishing
    }

    /// Bytes for all of it.
    #[inline(always)]
    pub fn len(&self, finishing: usize) -> usize {
        self.packed + ints(self.ints(finishing))
    }
}

/// What so many integers take.
fn ints(len: usize) -> usize {
    Carver::cost(len * size_of::<i32>())
}
