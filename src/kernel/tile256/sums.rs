//! All lines by all panels, whose sums are the result: what tiles have in common is found once. Of few lines and little depth that takes
//! longer than multiplying does.

use super::{Groups, LANES, Next, Place, WIDTH, depth_of_group, dot, fetch, of_group, three, walk};
use crate::kernel::vector256::{Vector, plus, resume, spread, store, times, zero};
use crate::kernel::{SLICE, Tile};
use crate::output::Sums;
use std::ops::Range;

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
        let groups = Groups::of::<DOT>(&tile.lhs, panel_len);
        assert!(tile.lhs.runs() == 1 && groups.whole > 0 && whole * panel_len <= tile.rhs.len());
        let strip = Strip { tile, sums, groups, panel_len, place: Place::new(sums, rows) };
        let threes = match tile.height == three::ROWS && dot::is_by_fours(DOT) && groups.cut == 0 {
            true => whole - whole % three::PANELS,
            false => 0,
        };
        // So many lines meet all panels as stay near, or all lines meet panel after panel that comes from memory.
        let near = match tile.is_far {
            true => rows,
            false => (SLICE / tile.lhs.len() / tile.height).max(1) * tile.height,
        };
        // SAFETY: there are so many lines and panels, as was asserted, whose result is this tile's by this function's own promise.
        unsafe {
            strip.multiply_threes::<DOT>(threes, near);
            strip.multiply::<DOT>(0..rows, threes..whole, near);
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
    /// That of the first panel, but for what is added to its columns.
    place: Place<'a>,
}

impl Strip<'_> {
    /// What is added to the columns of half a panel.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_half(&self, half: usize) -> Vector {
        match self.sums.col_sums.as_chunks::<LANES>().0.get(half) {
            Some(sums) => times(resume(sums), spread(self.sums.offsets.0.to_ne_bytes())),
            None => zero(),
        }
    }

    /// Some lines by some panels, so many lines by all of them before the next.
    ///
    /// # Safety
    /// There are so many lines, and panels in whole. Nobody else uses their part of the result.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply<const DOT: usize>(&self, rows: Range<usize>, panels: Range<usize>, near: usize) {
        let Self { tile, groups, panel_len, .. } = *self;
        let mut place = self.place.part(rows.start);
        place.to = place.to.wrapping_add(panels.start * WIDTH);
        let lines = (&tile.lhs.part(rows), tile.height, near);
        let of_panel = |panel: usize| {
            let rhs = &tile.rhs[panel * panel_len..][..panel_len];
            let next = Next::after(rhs, tile.reach.saturating_sub(panel * panel_len), tile);
            (rhs.as_ptr(), [self.of_half(2 * panel), self.of_half(2 * panel + 1)], next)
        };
        // SAFETY: this function's own promise; `Groups::of` asserts that lines and panels are as deep.
        unsafe { walk::multiply::<2, DOT>(lines, groups, &place, panels, of_panel) }
    }

    /// All lines by so many of the first panels, three by three.
    ///
    /// # Safety
    /// As for [`Self::multiply`]; tiles have as many rows as those of three panels, and no line ends within a group.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply_threes<const DOT: usize>(&self, panels: usize, near: usize) {
        if panels == 0 {
            return;
        }
        let rows = self.tile.lhs.count();
        let whole = rows - rows % three::ROWS;
        for row in (0..whole).step_by(three::ROWS) {
            let mut of_rows = [0; three::ROWS];
            self.place.terms.write(row, &mut of_rows);
            for panel in (0..panels).step_by(three::PANELS) {
                // SAFETY: this function's own promise.
                unsafe { self.multiply_three::<DOT>((row, &of_rows), panel) }
            }
        }
        if whole < rows {
            // SAFETY: as above.
            unsafe { self.multiply::<DOT>(whole..rows, 0..panels, near) }
        }
    }

    /// As many lines as tiles of three halves take, from one on, to which this is added, by three panels, from one on.
    ///
    /// # Safety
    /// As for [`Self::multiply`]; no line ends within a group.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply_three<const DOT: usize>(&self, (row, of_rows): (usize, &[i32; three::ROWS]), panel: usize) {
        let Self { tile, panel_len, place: Place { stride, is_far, .. }, .. } = *self;
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
            let to = self.place.to.wrapping_add(row * stride + half * LANES);
            if is_far {
                fetch(to, stride, three::ROWS, three::HALVES * LANES);
            }
            let of_cols = [self.of_half(half), self.of_half(half + 1), self.of_half(half + 2)];
            let mut c = [[zero(); three::HALVES]; three::ROWS];
            for (c, of_row) in c.iter_mut().zip(of_rows) {
                let of_row = spread(of_row.to_ne_bytes());
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
}
