//! AVX-512 VNNI: all lines by a panel, tile by tile, whose sums are the result.

use super::avx512vnni_walk::{Edge, MOST, Walk, by_lhs, by_number, by_rows};
use super::relay::{ROWS, WIDTH};
use super::{Tile, tiles};
use crate::output::Sums;

/// As [`SumsFn`](super::SumsFn).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) unsafe fn multiply(tile: &Tile, sums: &Sums) {
    if tile.cols > WIDTH / 2 {
        // SAFETY: this function's own promise.
        by_lhs!(tile, |LHS| unsafe { multiply_as::<LHS, true>(tile, sums) })
    } else {
        // SAFETY: as above.
        by_lhs!(tile, |LHS| unsafe { multiply_as::<LHS, false>(tile, sums) })
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_as<const LHS: usize, const WIDE: bool>(tile: &Tile, sums: &Sums) {
    let lhs = &tile.lhs;
    let (of_cols, terms) = (sums.of_cols(), sums.terms(lhs.count()));
    let (to, stride) = sums.place(lhs.count());
    let mut edge = Edge::NONE;
    let mut walk = Walk::of(tile, 1);
    walk.mask = u32::MAX.checked_shr((WIDTH - sums.cols.len()) as u32).expect("a column at least");
    (walk.to, walk.stride) = (to, stride * size_of::<i32>());
    for some in tiles(lhs.count(), MOST) {
        (walk.rows, walk.last) = edge.find(lhs, &terms, some.clone());
        for rows in tiles(some.len(), lhs.together(ROWS)) {
            let count = rows.len();
            walk.start(lhs, some.start + rows.start);
            // SAFETY: lines and the panel reach as far as `Walk::of` asserts; there are as many terms and last groups as rows;
            // `place` asserts that the result has the rows and columns, which are this tile's by this function's own promise.
            by_rows!(count, |N| unsafe { walk.sum::<N, LHS, WIDE>(&of_cols) });
            walk.pass(count);
            walk.to = walk.to.wrapping_add(count * stride);
        }
    }
}
