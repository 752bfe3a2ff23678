//! AVX-512 VNNI: all lines by all panels, tile by tile, whose sums are the result.

use super::avx512vnni_walk::{Edge, Walk, by_lhs, by_number, by_rows, by_rows_of_two, in_twos, most};
use super::relay::{ROWS, WIDTH};
use super::{Tile, tiles};
use crate::output::{Far, Sums};
use std::ops::Range;

/// As [`SumsFn`](super::SumsFn), of all panels of the columns.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) unsafe fn multiply(tile: &Tile, sums: &Sums) {
    // SAFETY: this function's own promise.
    by_lhs!(tile, |LHS| unsafe {
        match sums.cols.len() {
            0..=WIDTH => multiply_ones::<LHS>(tile, sums, 0..1, tile.of_panel::<WIDTH>(1)),
            _ => multiply_several::<LHS>(tile, sums),
        }
    })
}

/// Apart, so that one panel does not pay for the room.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_several<const LHS: usize>(tile: &Tile, sums: &Sums) {
    let panels = sums.cols.len().div_ceil(WIDTH);
    let (twos, len) = (in_twos(tile, panels), tile.of_panel::<WIDTH>(panels));
    // SAFETY: this function's own promise.
    unsafe {
        if twos > 0 {
            multiply_twos::<LHS>(tile, sums, twos);
        }
        if twos < panels {
            multiply_ones::<LHS>(tile, sums, twos..panels, len);
        }
    }
}

/// By these panels, up to the last one, of so many bytes each, one after the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_ones<const LHS: usize>(tile: &Tile, sums: &Sums, panels: Range<usize>, len: usize) {
    let Range { start, end } = panels;
    // The last one may have no columns beyond half of it.
    let wide = end - usize::from(sums.cols.len() <= end * WIDTH - WIDTH / 2);
    // SAFETY: this function's own promise.
    unsafe {
        if start < wide {
            multiply_as::<LHS, true>(tile, sums, start..wide, len);
        }
        if wide < end {
            multiply_as::<LHS, false>(tile, sums, wide..end, len);
        }
    }
}

/// By panels that all have columns beyond half of them, or not.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_as<const LHS: usize, const WIDE: bool>(tile: &Tile, sums: &Sums, panels: Range<usize>, len: usize) {
    let lhs = &tile.lhs;
    let terms = sums.terms(lhs.count());
    let (place, stride) = sums.place(lhs.count());
    let mut edge = Edge::NONE;
    let mut walk = Walk::of::<false>(tile, len);
    (walk.stride, walk.is_far) = (stride * size_of::<i32>(), usize::from(Far::of(sums.out).is_some()));
    for some in tiles(lhs.count(), most(lhs)) {
        let of_rows = edge.find(lhs, &terms, some.clone());
        let together = walk.tiles(lhs, &some, lhs.together(ROWS));
        for panel in panels.clone() {
            let (start, of_panel) = (panel * len, sums.panel::<WIDTH>(panel));
            let of_cols = of_panel.of_cols();
            (walk.of_cols, walk.mask) = (&of_cols, mask(of_panel.cols.len()));
            walk.go_to(&tile.rhs[start..], tile.reach.saturating_sub(start));
            (walk.rows, walk.last) = of_rows;
            walk.to = place.wrapping_add(some.start * stride + panel * WIDTH);
            for (first, height, times) in together {
                if times > 0 {
                    let first = some.start + first;
                    walk.start(lhs, first..first + height * times);
                    // SAFETY: lines and panels reach as far as `Walk::of` asserts; there are as many terms and last groups as rows;
                    // `place` asserts that the result has the rows and columns, which are this tile's by this function's own promise.
                    by_rows!(height, |N| unsafe { walk.sum::<N, LHS, WIDE>(times) });
                }
            }
        }
    }
}

/// By the first so many panels, two by two.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_twos<const LHS: usize>(tile: &Tile, sums: &Sums, panels: usize) {
    let (lhs, all) = (&tile.lhs, sums.cols.len().div_ceil(WIDTH));
    let (terms, len) = (sums.terms(lhs.count()), tile.of_panel::<WIDTH>(all));
    assert!(panels <= all && panels.is_multiple_of(2));
    let (place, stride) = sums.place(lhs.count());
    let mut edge = Edge::NONE;
    let mut walk = Walk::of::<true>(tile, len);
    (walk.stride, walk.is_far) = (stride * size_of::<i32>(), usize::from(Far::of(sums.out).is_some()));
    for some in tiles(lhs.count(), most(lhs)) {
        let of_rows = edge.find(lhs, &terms, some.clone());
        let together = walk.tiles(lhs, &some, ROWS / 2);
        for panel in (0..panels).step_by(2) {
            let [left, right] = [0, 1].map(|i| sums.panel::<WIDTH>(panel + i));
            let of_cols = [left.of_cols(), right.of_cols()];
            (walk.of_cols, walk.mask) = (of_cols.as_ptr(), mask(right.cols.len()));
            walk.rhs = tile.rhs[panel * len..].as_ptr();
            (walk.rows, walk.last) = of_rows;
            walk.to = place.wrapping_add(some.start * stride + panel * WIDTH);
            for (first, height, times) in together {
                if times > 0 {
                    let first = some.start + first;
                    walk.start(lhs, first..first + height * times);
                    // SAFETY: as of one panel.
                    by_rows_of_two!(height, |N| unsafe { walk.sum_two::<N, LHS>(times) });
                }
            }
        }
    }
}

/// A bit for each of a panel's columns that there is.
fn mask(cols: usize) -> u32 {
    u32::MAX.checked_shr((WIDTH - cols) as u32).expect("a column at least")
}
