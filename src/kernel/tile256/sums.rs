//! All lines by all panels, whose sums are the result: what tiles have in common is found once. Of few lines and little depth that takes
//! longer than multiplying does.

use super::{APART, FAR, Groups, LANES, Next, ROWS, WIDTH, depth_of_group, fetch, grow, of_group};
use crate::kernel::vector256::{Vector, plus, resume, spread, store, times, zero};
use crate::kernel::{SLICE, Tile, tiles_of};
use crate::output::Sums;

/// As a [`SumsFn`](crate::kernel::SumsFn), of lines that are one run.
///
/// # Safety
/// As for that.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel) unsafe fn multiply<const DOT: usize>(tile: &Tile, sums: &Sums) {
    let (rows, cols) = (tile.lhs.count(), sums.cols.len());
    let panel_len = sums.depth.div_ceil(depth_of_group(DOT)) * of_group(DOT);
    let whole = cols / WIDTH;
    if whole > 0 {
        let (to, stride) = sums.place(rows);
        let groups = Groups::of::<DOT>(&tile.lhs, panel_len);
        assert!(tile.lhs.runs() == 1 && groups.whole > 0 && whole * panel_len <= tile.rhs.len());
        let strip = Strip { tile, sums, groups, panel_len, to, stride };
        // Lines of one tile meet panel after panel, those of several as many at a time as stay near.
        let together = match rows <= tile.height {
            true => whole,
            false if tile.is_far => 1,
            false => (SLICE / panel_len).clamp(1, whole),
        };
        for panels in tiles_of(whole, together) {
            let mut next = strip.next(panels.start);
            for rows in tiles_of(rows, tile.height) {
                // SAFETY: there are so many lines and panels, as was asserted, whose result is this tile's by this function's own promise.
                by_rows!(rows.len(), |N| unsafe { strip.multiply::<N, DOT>(rows.start, panels.clone(), &mut next) })
            }
        }
    }
    if whole * WIDTH < cols {
        let of_panel = sums.panel::<WIDTH>(whole);
        let start = whole * panel_len;
        let (rhs, reach) = (&tile.rhs[start..][..panel_len], tile.reach.saturating_sub(start));
        let last = Tile { rhs, reach, cols: of_panel.cols.len(), sums: Some(of_panel), ..tile.clone() };
        super::multiply::<DOT>(&last, &mut []);
    }
}

/// What whole panels of a product have in common.
struct Strip<'a> {
    tile: &'a Tile<'a>,
    sums: &'a Sums<'a>,
    groups: Groups,
    panel_len: usize,
    /// Where the result begins, and how far its rows are apart.
    to: *mut i32,
    stride: usize,
}

impl Strip<'_> {
    /// What is fetched beside this panel.
    fn next(&self, panel: usize) -> Next {
        let start = panel * self.panel_len;
        Next::after(&self.tile.rhs[start..][..self.panel_len], self.tile.reach.saturating_sub(start), self.tile)
    }

    /// `N` lines, from one on, by some panels.
    ///
    /// # Safety
    /// There are so many lines, and panels in whole. Nobody else uses their part of the result.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply<const N: usize, const DOT: usize>(
        &self,
        row: usize,
        panels: std::ops::Range<usize>,
        next: &mut Next,
    ) {
        let Self { tile, sums, groups: Groups { whole, cut }, panel_len, stride, .. } = *self;
        let (line, pitch, _) = tile.lhs.part(row..row + N).places();
        let terms = sums.terms(row + N);
        let offset = spread(sums.offsets.0.to_ne_bytes());
        let is_far = sums.out.rows.saturating_mul(stride) >= FAR / size_of::<i32>();
        let mut of_rows = [zero(); N];
        for (i, of_row) in of_rows.iter_mut().enumerate() {
            *of_row = spread(terms.of(row + i).to_ne_bytes());
        }
        for panel in panels.clone() {
            if panel > panels.start {
                *next = self.next(panel);
            }
            let to = self.to.wrapping_add(row * stride + panel * WIDTH);
            if is_far {
                fetch(to, stride, N, WIDTH);
            }
            let mut of_cols = [zero(); 2];
            let col_sums = sums.col_sums.as_chunks::<LANES>().0.as_chunks().0;
            if let Some([left, right]) = col_sums.get(panel) {
                of_cols = [times(resume(left), offset), times(resume(right), offset)];
            }
            let mut c = [[zero(); 2]; ROWS];
            for (c, &of_row) in c.iter_mut().zip(&of_rows) {
                *c = [plus(of_cols[0], of_row), plus(of_cols[1], of_row)];
            }
            let rhs = tile.rhs.as_ptr().wrapping_add(panel * panel_len);
            // SAFETY: this function's own promise; `Groups::of` asserts that lines and panels are as deep.
            unsafe { grow::<N, 2, DOT>(&mut c, (line, pitch), rhs, (whole, cut), next) }
            for i in 0..N {
                if N <= APART {
                    c[i] = [plus(c[i][0], c[i + APART][0]), plus(c[i][1], c[i + APART][1])];
                }
                // SAFETY: the result has these rows and columns, as `Sums::place` asserts; the rest is this function's own promise.
                let to: &mut [[i32; LANES]; 2] = unsafe { &mut *to.wrapping_add(i * stride).cast() };
                let [left, right]: [Vector; 2] = c[i];
                store(&mut to[0], left, true);
                store(&mut to[1], right, true);
            }
        }
    }
}
