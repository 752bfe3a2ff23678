//! AVX-512 VNNI: all lines by all panels, tile by tile, whose sums are the result, or become floats that are.

use super::avx512vnni_walk::{Edge, Walk, by_lhs, by_number, by_rows, by_rows_of_two, in_twos, most};
use super::dequantize::FloatClamp;
use super::relay::{ROWS, WIDTH};
use super::results::{Columns, Results};
use super::{Tile, tiles};
use crate::output::{Far, FloatParts, Sums};
use std::ops::Range;

/// As [`SumsFn`](super::SumsFn), of all panels of the columns.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) unsafe fn multiply(tile: &Tile, sums: &Sums) {
    // SAFETY: this function's own promise.
    by_lhs!(tile, |LHS| unsafe { multiply_into::<LHS, _>(tile, sums) })
}

/// As [`FloatsFn`](super::FloatsFn), of all panels of the columns and of plain floats.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) unsafe fn floats(tile: &Tile, parts: &FloatParts) {
    let floats = &parts.plain().expect("as the kernel was asked for");
    // SAFETY: this function's own promise.
    by_lhs!(tile, |LHS| unsafe { multiply_into::<LHS, _>(tile, floats) })
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_into<const LHS: usize, R: Results<WIDTH>>(tile: &Tile, results: &R) {
    // SAFETY: this function's own promise.
    unsafe {
        match results.cols() {
            0..=WIDTH => multiply_ones::<LHS, R>(tile, results, 0..1, tile.of_panel::<WIDTH>(1)),
            _ => multiply_several::<LHS, R>(tile, results),
        }
    }
}

/// Apart, so that one panel does not pay for the room.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_several<const LHS: usize, R: Results<WIDTH>>(tile: &Tile, results: &R) {
    let panels = results.cols().div_ceil(WIDTH);
    let (twos, len) = (in_twos(tile, panels), tile.of_panel::<WIDTH>(panels));
    // SAFETY: this function's own promise.
    unsafe {
        if twos > 0 {
            multiply_twos::<LHS, R>(tile, results, twos);
        }
        if twos < panels {
            multiply_ones::<LHS, R>(tile, results, twos..panels, len);
        }
    }
}

/// By these panels, up to the last one, of so many bytes each, one after the other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_ones<const LHS: usize, R: Results<WIDTH>>(
    tile: &Tile,
    results: &R,
    panels: Range<usize>,
    len: usize,
) {
    let Range { start, end } = panels;
    // The last one may have no columns beyond half of it.
    let wide = end - usize::from(results.cols() <= end * WIDTH - WIDTH / 2);
    // SAFETY: this function's own promise.
    unsafe {
        if start < wide {
            multiply_as::<LHS, true, R>(tile, results, start..wide, len);
        }
        if wide < end {
            multiply_as::<LHS, false, R>(tile, results, wide..end, len);
        }
    }
}

/// By panels that all have columns beyond half of them, or not.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_as<const LHS: usize, const WIDE: bool, R: Results<WIDTH>>(
    tile: &Tile,
    results: &R,
    panels: Range<usize>,
    len: usize,
) {
    let lhs = &tile.lhs;
    let terms = results.terms(lhs.count());
    let (place, stride) = results.place(lhs.count());
    let mut edge = Edge::NONE;
    let mut walk = Walk::of::<false>(tile, len);
    begin(&mut walk, results, stride);
    for some in tiles(lhs.count(), most(lhs)) {
        let of_rows = edge.find(lhs, &terms, some.clone());
        let often = edge.often(results.times(), some.clone());
        let together = walk.tiles(lhs, &some, lhs.together(ROWS));
        for panel in panels.clone() {
            let (start, columns) = (panel * len, results.columns(panel));
            (walk.of_cols, walk.mask) = ((&raw const columns).cast(), mask(results, panel));
            walk.go_to(&tile.rhs[start..], tile.reach.saturating_sub(start));
            (walk.rows, walk.last) = of_rows;
            (walk.factors, walk.often) = (factors(results, some.start), often);
            walk.to = place.wrapping_add(some.start * stride + panel * WIDTH);
            for (first, height, times) in together {
                if times > 0 {
                    let first = some.start + first;
                    walk.start(lhs, first..first + height * times);
                    // SAFETY: lines and panels reach as far as `Walk::of` asserts; there are as many terms, factors and last groups as
                    // rows; `place` asserts that the result has the rows and columns, which are this tile's by this function's own
                    // promise.
                    by_rows!(height, |N| unsafe {
                        match R::Columns::ARE_FLOATS {
                            true => walk.sum::<N, LHS, WIDE, true>(times),
                            false => walk.sum::<N, LHS, WIDE, false>(times),
                        }
                    });
                }
            }
        }
    }
}

/// By the first so many panels, two by two.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_twos<const LHS: usize, R: Results<WIDTH>>(tile: &Tile, results: &R, panels: usize) {
    let (lhs, all) = (&tile.lhs, results.cols().div_ceil(WIDTH));
    let (terms, len) = (results.terms(lhs.count()), tile.of_panel::<WIDTH>(all));
    assert!(panels <= all && panels.is_multiple_of(2));
    let (place, stride) = results.place(lhs.count());
    let mut edge = Edge::NONE;
    let mut walk = Walk::of::<true>(tile, len);
    begin(&mut walk, results, stride);
    for some in tiles(lhs.count(), most(lhs)) {
        let of_rows = edge.find(lhs, &terms, some.clone());
        let often = edge.often(results.times(), some.clone());
        let together = walk.tiles(lhs, &some, ROWS / 2);
        for panel in (0..panels).step_by(2) {
            let columns = [results.columns(panel), results.columns(panel + 1)];
            (walk.of_cols, walk.mask) = (columns.as_ptr().cast(), mask(results, panel + 1));
            walk.rhs = tile.rhs[panel * len..].as_ptr();
            (walk.rows, walk.last) = of_rows;
            (walk.factors, walk.often) = (factors(results, some.start), often);
            walk.to = place.wrapping_add(some.start * stride + panel * WIDTH);
            for (first, height, times) in together {
                if times > 0 {
                    let first = some.start + first;
                    walk.start(lhs, first..first + height * times);
                    // SAFETY: as of one panel.
                    by_rows_of_two!(height, |N| unsafe {
                        match R::Columns::ARE_FLOATS {
                            true => walk.sum_two::<N, LHS, true>(times),
                            false => walk.sum_two::<N, LHS, false>(times),
                        }
                    });
                }
            }
        }
    }
}

/// What all tiles have in common.
#[inline(always)]
fn begin(walk: &mut Walk, results: &impl Results<WIDTH>, stride: usize) {
    walk.stride = stride * size_of::<i32>();
    walk.is_far = usize::from(Far::is(results.extent()));
    if let Some(FloatClamp { min, max }) = results.clamp() {
        (walk.is_clamped, walk.clamp) = (1, [min, max]);
    }
}

/// Those of the rows from one on, or null.
#[inline(always)]
fn factors(results: &impl Results<WIDTH>, row: usize) -> *const f32 {
    results.factors().map_or(std::ptr::null(), |factors| factors[row..].as_ptr())
}

/// A bit for each of a panel's columns that there is.
#[inline(always)]
fn mask(results: &impl Results<WIDTH>, panel: usize) -> u32 {
    let cols = WIDTH.min(results.cols() - panel * WIDTH);
    u32::MAX.checked_shr((WIDTH - cols) as u32).expect("a column at least")
}
