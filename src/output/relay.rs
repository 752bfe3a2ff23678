//! A layer's tiles, each of which becomes bytes while the next is multiplied.

use super::layer::Layer;
use super::panels::{KeptPanels, ways, write};
use super::{Finish, Region};
use crate::kernel::relay::{Bytes, Open, Panel, ROWS, RelayFns, Rows, Strip, WIDTH};
use crate::kernel::{Kernel, Last, Tile};
use crate::matrix::Output;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Of a panel of no more columns half of what is multiplied would be for nothing.
const LEAST: usize = WIDTH / 2;

/// A whole group of every kernel that relays tiles.
const LEAST_DEPTH: usize = 4;

/// Room for a relay's panels, which would take long to move.
pub(crate) struct Panels([MaybeUninit<Panel>; 2]);

impl Panels {
    pub(crate) const NONE: Self = Self([const { MaybeUninit::uninit() }; 2]);
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
    panels: &'r mut [MaybeUninit<Panel>; 2],
    /// Which ones are at hand.
    at: Range<usize>,
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
        panels: &'r mut Panels,
    ) -> Option<Self> {
        /// Depths of all rows.
        const DEPTHS: usize = 2048;
        let (ways, layer) = ways(kernel, finish.quick.as_ref())?;
        if rows <= ROWS || rows.saturating_mul(depth) < DEPTHS || depth < LEAST_DEPTH {
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
            panels: &mut panels.0,
            at: 0..0,
            open: Open::NONE,
        })
    }

    /// The end of the columns that [`Relay::begin`] takes at once, from `first` on: those of several panels if these are kept.
    #[inline(always)]
    pub(crate) fn end_of(&self, first: usize, cols: usize) -> usize {
        let rest = cols % WIDTH;
        let most = if rest > LEAST { cols } else { cols - rest };
        match self.kept {
            Some(_) if first < most => most,
            _ => cols.min(first + WIDTH),
        }
    }

    /// Goes on to the tiles of a region's columns. If they are finished in another way (None), the last one is finished now.
    ///
    /// # Safety
    /// The tiles' parts of the result are their own.
    pub(crate) unsafe fn begin(&mut self, region: &Region, room: &mut [i32]) -> Option<&mut Self> {
        if region.cols.len() > LEAST {
            if let Some(kept) = self.kept {
                self.at = kept.places(&region.cols);
                return Some(self);
            }
            // Not that of the open tile.
            let next = 1 - self.open.panel;
            if write(&mut self.panels[next], self.ways, self.layer, self.last, region, self.offsets) {
                self.at = next..next + 1;
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
            panels: self.at.clone(),
            terms: self.layer.terms(region, self.offsets),
            row: region.rows.start,
            col: region.cols.start,
            result: self.result(),
            out: &self.out,
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
        let panels = self.kept.map_or(self.panels.as_slice(), |kept| kept.all());
        Bytes { out, stride, panels }
    }
}

/// The places of two tiles.
fn places(room: &mut [i32]) -> &mut [Rows; 2] {
    room.as_chunks_mut().0.as_chunks_mut().0.first_chunk_mut().expect("room for two tiles")
}
