//! A layer's tiles, each of which becomes bytes while the next is multiplied.

use super::layer::Layer;
use super::{Finish, Quick, Region, Store};
use crate::kernel::relay::{Bytes, Open, Panel, ROWS, RelayFns, Rows, Strip, WIDTH};
use crate::kernel::{self, Kernel, Last, Tile};
use crate::matrix::Output;
use std::mem::MaybeUninit;

/// What all panels' columns add to sums, and how these become bytes: made once for all products that only differ in their rows.
pub(crate) struct KeptPanels {
    ways: &'static RelayFns,
    /// All are written.
    panels: Vec<MaybeUninit<Panel>>,
    offsets: (i32, i32),
}

impl KeptPanels {
    /// Those of all columns of a result that is stored and finished so. None if its tiles cannot be, or there is no memory for them:
    /// they are only quicker.
    pub(crate) fn new(
        kernel: &Kernel,
        quick: Option<&Quick>,
        store: &Store,
        offsets: (i32, i32),
        col_sums: &[i32],
    ) -> Option<Self> {
        let (ways, layer) = ways(kernel, quick)?;
        let (Output { cols, .. }, last) = layer.place(store);
        let count = cols.div_ceil(WIDTH);
        let mut panels = Vec::new();
        panels.try_reserve_exact(count).ok()?;
        panels.resize_with(count, MaybeUninit::uninit);
        for (i, panel) in panels.iter_mut().enumerate() {
            let cols = i * WIDTH..cols.min((i + 1) * WIDTH);
            let col_sums = col_sums.get(cols.start..).unwrap_or_default();
            let region = Region { col_sums, ..Region::complete(0..0, cols) };
            if !write(panel, ways, layer, last, &region, offsets) {
                return None;
            }
        }
        Some(Self { ways, panels, offsets })
    }

    /// Which offsets they are for.
    #[inline(always)]
    pub(super) fn offsets(&self) -> (i32, i32) {
        self.offsets
    }

    /// As a [`FinishFn`](super::FinishFn), of a tile of a panel: `finish` is what they were made for, but for the place of the
    /// result.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(crate) unsafe fn finish(&self, finish: &Finish, region: &Region, acc: &[i32], room: &mut [i32]) {
        let Some(Quick::Layer(layer)) = &finish.quick else { unreachable!("only layers have such panels") };
        let (out, _) = layer.place(&finish.store);
        let count = region.rows.len();
        let terms = layer.terms_in(region, self.offsets, 0, &mut room[..count]);
        let rows = kernel::Rows { sums: &acc.as_chunks().0[..count], terms, cols: region.cols.len() };
        let place = (region.rows.start, region.cols.start);
        // SAFETY: this function's own promise; whoever has a kernel has a CPU that runs it, and all panels are written.
        unsafe {
            let panel = self.panels[region.cols.start / WIDTH].assume_init_ref();
            (self.ways.finish_rows)(panel, &rows, &out, place);
        }
    }
}

/// Tiles of a product, one after the other, and the one that was multiplied last.
pub(crate) struct Relay<'r, 'a> {
    ways: &'static RelayFns,
    layer: &'r Layer<'a>,
    out: Output<'r, u8>,
    last: Last,
    offsets: (i32, i32),
    kept: Option<&'r KeptPanels>,
    /// That at hand, and that of the open tile, if there are any, unless they are kept.
    panels: [MaybeUninit<Panel>; 2],
    at: usize,
    /// The tile that is still to be finished.
    open: Open,
}

impl<'r, 'a> Relay<'r, 'a> {
    /// That of a product of so many rows, all of which have the same offsets. None if its tiles cannot be finished so, or gain
    /// less than it takes to get ready for each panel.
    #[inline(always)]
    pub(crate) fn new(
        kernel: &Kernel,
        finish: &'r Finish<'a>,
        offsets: (i32, i32),
        rows: usize,
        depth: usize,
    ) -> Option<Self> {
        /// Tiles of a panel, and depths of all of its rows.
        const TILES: usize = 4;
        const DEPTHS: usize = 4096;
        let (ways, layer) = ways(kernel, finish.quick.as_ref())?;
        if rows <= (TILES - 1) * ROWS || rows.saturating_mul(depth) < DEPTHS {
            return None;
        }
        let (out, last) = layer.place(&finish.store);
        Some(Self {
            ways,
            layer,
            out,
            last,
            offsets,
            kept: finish.kept(offsets),
            panels: [const { MaybeUninit::uninit() }; 2],
            at: 0,
            open: Open::NONE,
        })
    }

    /// Goes on to the tiles of a region's columns. If they are finished in another way (None), the last one is finished now.
    ///
    /// # Safety
    /// The tiles' parts of the result are their own.
    pub(crate) unsafe fn begin(&mut self, region: &Region, room: &mut [i32]) -> Option<&mut Self> {
        // Otherwise half of what is multiplied would be for nothing.
        if region.cols.len() > WIDTH / 2 {
            if self.kept.is_some() {
                self.at = region.cols.start / WIDTH;
                return Some(self);
            }
            // Not that of the open tile.
            let next = 1 - self.open.panel;
            if write(&mut self.panels[next], self.ways, self.layer, self.last, region, self.offsets) {
                self.at = next;
                return Some(self);
            }
        }
        // SAFETY: this function's own promise.
        unsafe { self.end(room) }
        None
    }

    /// Multiplies all rows of the region that has begun, the tile's lines, and finishes them but for those of the last tile.
    /// Always in the same `room`, of two tiles.
    ///
    /// # Safety
    /// [`Relay::begin`] gave it. The region is this product's own, as were those before.
    pub(crate) unsafe fn multiply(&mut self, tile: Tile, region: &Region, room: &mut [i32]) {
        assert!(
            region.rows.end <= self.out.rows
                && region.cols.end <= self.out.cols
                && tile.lhs.count() == region.rows.len()
        );
        let strip = Strip {
            tile,
            panel: self.at,
            terms: self.layer.terms(region, self.offsets),
            row: region.rows.start,
            col: region.cols.start,
            result: self.result(),
        };
        let mut open = self.open;
        // SAFETY: as above; whoever has a kernel has a CPU that runs it; and `begin` wrote the panels.
        unsafe { (self.ways.multiply)(&strip, &mut open, places(room)) }
        self.open = open;
    }

    /// Finishes the last tile.
    ///
    /// # Safety
    /// As for [`Relay::begin`].
    pub(crate) unsafe fn end(&mut self, room: &mut [i32]) {
        // SAFETY: as above; whoever has a kernel has a CPU that runs it; and `begin` wrote the panel of an open tile.
        unsafe { (self.ways.finish)(&self.result(), &self.open, places(room)) }
        self.open = Open::NONE;
    }

    fn result(&self) -> Bytes<'_> {
        let (out, stride) = self.out.place();
        let panels = self.kept.map_or(self.panels.as_slice(), |kept| &kept.panels);
        Bytes { out, stride, panels }
    }
}

/// None if tiles cannot be finished so.
#[inline(always)]
fn ways<'q, 'a>(kernel: &Kernel, quick: Option<&'q Quick<'a>>) -> Option<(&'static RelayFns, &'q Layer<'a>)> {
    match quick {
        Some(Quick::Layer(layer)) if !layer.changes => Some((kernel.relay?, layer)),
        _ => None,
    }
}

/// Writes the panel of a region's columns, or nothing and false.
#[inline(always)]
fn write(
    panel: &mut MaybeUninit<Panel>,
    ways: &RelayFns,
    layer: &Layer,
    last: Last,
    region: &Region,
    offsets: (i32, i32),
) -> bool {
    let columns = layer.columns(region, offsets, 0);
    // SAFETY: whoever has a kernel has a CPU that runs it.
    unsafe { (ways.panel)(layer.rule(), &columns, region.cols.len(), last, panel) }
}

/// The places of two tiles.
fn places(room: &mut [i32]) -> &mut [Rows; 2] {
    room.as_chunks_mut().0.as_chunks_mut().0.first_chunk_mut().expect("room for two tiles")
}
