//! All lines by all panels, whose sums are the result, or become floats that are: what tiles have in common is found once. Of few lines
//! and little depth that takes longer than multiplying does.

use super::{Groups, LANES, Next, OfFloats, Place, WIDTH, depth_of_group, dot, fetch, of_group, three, walk};
use crate::kernel::results::Results;
use crate::kernel::vector256::{Vector, plus, put, resume, spread, store, times, zero};
use crate::kernel::{SLICE, Tile, tiles_of};
use crate::output::{FloatParts, Sums};
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
        let strip = Strip { tile, results: sums, groups, panel_len, place: Place::of(sums, rows) };
        let threes = match tile.height == three::ROWS && dot::is_by_fours(DOT) && groups.cut == 0 {
            true => whole - whole % three::PANELS,
            false => 0,
        };
        let near = near(tile, whole);
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

/// As a [`FloatsFn`](crate::kernel::FloatsFn), of plain floats and lines that are one run.
///
/// # Safety
/// As for that.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel) unsafe fn floats<const DOT: usize>(tile: &Tile, parts: &FloatParts) {
    let floats = &parts.plain().expect("as the kernel was asked for");
    let (rows, cols) = (tile.lhs.count(), floats.cols());
    let (whole, panels) = (cols / WIDTH, cols.div_ceil(WIDTH));
    let panel_len = tile.rhs.len() / panels;
    let groups = Groups::of::<DOT>(&tile.lhs, panel_len);
    assert!(tile.lhs.runs() == 1 && groups.whole > 0);
    let strip = Strip { tile, results: floats, groups, panel_len, place: Place::of(floats, rows) };
    // SAFETY: there are so many lines and panels, whose result is this tile's by this function's own promise.
    unsafe {
        strip.multiply::<DOT>(0..rows, 0..whole, near(tile, whole));
        match cols % WIDTH {
            0 => {}
            1..=LANES => strip.multiply_last::<1, DOT>(whole),
            _ => strip.multiply_last::<2, DOT>(whole),
        }
    }
}

/// So many lines meet all of some panels as stay near, or all lines meet panel after panel that comes from memory.
fn near(tile: &Tile, panels: usize) -> usize {
    match tile.is_far || panels == 1 {
        true => tile.lhs.count(),
        false => (SLICE / tile.lhs.len() / tile.height).max(1) * tile.height,
    }
}

/// What panels of a product have in common.
struct Strip<'a, R> {
    tile: &'a Tile<'a>,
    results: &'a R,
    groups: Groups,
    panel_len: usize,
    /// That of the first panel.
    place: Place<'a>,
}

impl Strip<'_, Sums<'_>> {
    /// What is added to the columns of half a panel.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_half(&self, half: usize) -> Vector {
        match self.results.col_sums.as_chunks::<LANES>().0.get(half) {
            Some(sums) => times(resume(sums), spread(self.results.offsets.0.to_ne_bytes())),
            None => zero(),
        }
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

impl<R: Results<WIDTH>> Strip<'_, R> {
    /// A panel, whose columns are all there or not.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn panel(&self, panel: usize) -> walk::PanelOf<R::Columns> {
        let Self { tile, panel_len, .. } = *self;
        let rhs = &tile.rhs[panel * panel_len..][..panel_len];
        let next = Next::after(rhs, tile.reach.saturating_sub(panel * panel_len), tile);
        (rhs.as_ptr(), self.results.columns(panel), next)
    }

    fn floats(&self) -> OfFloats<'_> {
        let results = self.results;
        OfFloats { factors: results.factors(), times: results.times(), clamp: results.clamp() }
    }

    /// Some lines by some panels, so many lines by all of them before the next.
    ///
    /// # Safety
    /// There are so many lines, and panels in whole. Nobody else uses their part of the result.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply<const DOT: usize>(&self, rows: Range<usize>, panels: Range<usize>, near: usize) {
        let first = rows.start;
        let mut place = self.place.part(first);
        place.to = place.to.wrapping_add(panels.start * WIDTH);
        let lines = (&self.tile.lhs.part(rows), self.tile.height, near);
        let place = (&place, self.floats().part(first));
        // SAFETY: this function's own promise; `Groups::of` asserts that lines and panels are as deep.
        unsafe { walk::multiply::<2, DOT, _>(lines, self.groups, place, panels, |panel| self.panel(panel)) }
    }

    /// All lines by the panel that is not whole, of so many vectors, by way of a room of whole ones.
    ///
    /// # Safety
    /// As for [`Self::multiply`], but that the panel is not whole.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    unsafe fn multiply_last<const VECTORS: usize, const DOT: usize>(&self, panel: usize) {
        let Self { tile, ref place, .. } = *self;
        let mut room = [[0; WIDTH]; walk::MOST];
        for rows in tiles_of(tile.lhs.count(), walk::MOST) {
            let to = room.as_mut_ptr().cast();
            let near = Place { to, stride: WIDTH, is_far: false, ..place.part(rows.start) };
            let lines = (&tile.lhs.part(rows.clone()), tile.height, rows.len());
            let near = (&near, self.floats().part(rows.start));
            // SAFETY: as above; the place is the room.
            unsafe { walk::multiply::<VECTORS, DOT, _>(lines, self.groups, near, 0..1, |_| self.panel(panel)) }
            let first = place.to.wrapping_add(panel * WIDTH);
            for (row, from) in rows.zip(&room) {
                // SAFETY: the result has these rows and columns; the rest is this function's own promise.
                let to = unsafe {
                    std::slice::from_raw_parts_mut(first.wrapping_add(row * place.stride), place.cols - panel * WIDTH)
                };
                for (v, from) in from.as_chunks::<LANES>().0.iter().enumerate().take(VECTORS) {
                    put(&mut to[v * LANES..], resume(from));
                }
            }
        }
    }
}
