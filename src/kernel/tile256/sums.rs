//! All lines by all panels, whose sums are the result: what tiles have in common is found once. Of few lines and little depth that takes
//! longer than multiplying does.

use super::{APART, FAR, Groups, LANES, Next, ROWS, WIDTH, depth_of_group, dot, fetch, grow, of_group, three};
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
        let is_far = sums.out.rows.saturating_mul(stride) >= FAR / size_of::<i32>();
        let strip = Strip { tile, sums, groups, panel_len, to, stride, is_far };
        // Lines of one tile meet panel after panel, those of several as many at a time as stay near.
        let together = match rows <= tile.height {
            true => whole,
            false if tile.is_far => 1,
            false => match (SLICE / panel_len).clamp(1, whole) {
                some @ three::PANELS.. if tile.height == three::ROWS => some - some % three::PANELS,
                some => some,
            },
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
    /// Whether its places are fetched before a tile is multiplied, as [`FAR`] says.
    is_far: bool,
}

impl Strip<'_> {
    /// What is fetched beside this panel.
    fn next(&self, panel: usize) -> Next {
        let start = panel * self.panel_len;
        Next::after(&self.tile.rhs[start..][..self.panel_len], self.tile.reach.saturating_sub(start), self.tile)
    }

    /// What is added to so many rows, from one on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_rows<const N: usize>(&self, row: usize) -> [Vector; N] {
        let terms = self.sums.terms(row + N);
        let mut of_rows = [zero(); N];
        for (i, of_row) in of_rows.iter_mut().enumerate() {
            *of_row = spread(terms.of(row + i).to_ne_bytes());
        }
        of_rows
    }

    /// What is added to the columns of half a panel.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_half(&self, half: usize) -> Vector {
        match self.sums.col_sums.as_chunks::<LANES>().0.get(half) {
            Some(sums) => times(resume(sums), spread(self.sums.offsets.0.to_ne_bytes())),
            None => zero(),
        }
    }

    /// As many lines as tiles of three halves take, from one on, to which this is added, by three panels, from one on.
    ///
    /// # Safety
    /// As for [`Self::multiply`]; no line ends within a group.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply_three<const DOT: usize>(&self, (row, of_rows): (usize, &[Vector; three::ROWS]), panel: usize) {
        let Self { tile, panel_len, stride, is_far, .. } = *self;
        let (line, pitch, _) = tile.lhs.part(row..row + three::ROWS).places();
        let start = panel * panel_len;
        let panels = tile.rhs[start..][..three::PANELS * panel_len].as_ptr();
        // As many panels that follow, unless they are not there, or nothing follows.
        let (mut fetched, distance) = match tile.reach.saturating_sub(start) < 2 * three::PANELS * panel_len {
            true => (panels, 0),
            false => (panels.wrapping_add(three::PANELS * panel_len), three::STEP),
        };
        for t in 0..2 {
            let half = 2 * panel + t * three::HALVES;
            let to = self.to.wrapping_add(row * stride + half * LANES);
            if is_far {
                fetch(to, stride, three::ROWS, three::HALVES * LANES);
            }
            let of_cols = [self.of_half(half), self.of_half(half + 1), self.of_half(half + 2)];
            let mut c = [[zero(); three::HALVES]; three::ROWS];
            for (c, &of_row) in c.iter_mut().zip(of_rows) {
                *c = [plus(of_cols[0], of_row), plus(of_cols[1], of_row), plus(of_cols[2], of_row)];
            }
            let (first, second, third) = three::halves(t, panel_len);
            let rhs = (panels.wrapping_add(first), second, third);
            // SAFETY: this function's own promise; `Groups::of` asserts that lines and panels are as deep.
            unsafe { three::grow::<DOT>(&mut c, (line, pitch), rhs, self.groups.whole, (&mut fetched, distance)) }
            for (i, c) in c.iter().enumerate() {
                // SAFETY: the result has these rows and columns, as `Sums::place` asserts; the rest is this function's own promise.
                let to: &mut [[i32; LANES]; three::HALVES] = unsafe { &mut *to.wrapping_add(i * stride).cast() };
                for (to, &c) in to.iter_mut().zip(c) {
                    store(to, c, true);
                }
            }
        }
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
        let Self { tile, groups: Groups { whole, cut }, panel_len, stride, is_far, .. } = *self;
        let (line, pitch, _) = tile.lhs.part(row..row + N).places();
        let of_rows = self.of_rows::<N>(row);
        let mut start = panels.start;
        if const { N == three::ROWS && dot::is_by_fours(DOT) } && cut == 0 {
            let rows = of_rows.first_chunk().expect("as many rows");
            while panels.end - start >= three::PANELS {
                // SAFETY: this function's own promise.
                unsafe { self.multiply_three::<DOT>((row, rows), start) }
                start += three::PANELS;
            }
        }
        for panel in start..panels.end {
            if panel > panels.start {
                *next = self.next(panel);
            }
            let to = self.to.wrapping_add(row * stride + panel * WIDTH);
            if is_far {
                fetch(to, stride, N, WIDTH);
            }
            let of_cols = [self.of_half(2 * panel), self.of_half(2 * panel + 1)];
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
