//! A layer's tiles, each of which becomes bytes while the next is multiplied.

use super::layer::Layer;
use super::panels::{KeptPanels, ways, write};
use super::{Finish, Region};
use crate::blocks::Shape;
use crate::kernel::panel::{Panel, PanelFns};
use crate::kernel::relay::{Bytes, Open, RelayFns, Rows, Strip, WIDTH};
use crate::kernel::{Kernel, Last, Tile};
use crate::matrix::Output;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Of a panel of no more columns half of what is multiplied would be for nothing, unless the kernel leaves that out.
const HALF: usize = WIDTH / 2;

/// Room for a relay's panels, which would take long to move.
pub(crate) struct Panels<const N: usize>([MaybeUninit<Panel>; N]);

impl<const N: usize> Panels<N> {
    pub(crate) const NONE: Self = Self([const { MaybeUninit::uninit() }; N]);
}

/// Tiles of a product, one after the other, and the one that was multiplied last.
pub(crate) struct Relay<'r, 'a> {
    ways: &'static RelayFns,
    of_panels: &'static PanelFns,
    layer: &'r Layer<'a>,
    out: Output<'r, u8>,
    last: Last,
    offsets: (i32, i32),
    kept: Option<&'r KeptPanels>,
    /// Panels of no more columns are not worth it.
    half: usize,
    /// How many panels are multiplied together at most.
    together: usize,
    /// Those at hand, and those of the open tile, if there are any, unless they are kept.
    panels: &'r mut [MaybeUninit<Panel>],
    /// Which ones are at hand.
    at: Range<usize>,
    /// The tile that is still to be finished.
    open: Open,
}

impl<'r, 'a> Relay<'r, 'a> {
    /// Whether it gains more than it takes to get ready for each panel, and to finish the last tile by itself: not so of few results,
    /// unless these are deep.
    #[inline(always)]
    pub(crate) fn pays(kernel: &Kernel, Shape { rows, cols, depth, .. }: Shape) -> bool {
        /// Timed with AVX-512 VNNI, and with AMX, which takes all panels.
        const RESULTS: usize = 2048;
        const RESULTS_OF_PANELS: usize = 4096;
        const DEEP: usize = 1024;
        let few = if kernel.takes_panels() { RESULTS_OF_PANELS } else { RESULTS };
        let Some(ways) = kernel.relay else { return false };
        let is_much = rows.saturating_mul(whole(cols, half(ways, depth))) >= few || depth >= DEEP;
        kernel.relays(rows) && depth > 0 && is_much
    }

    /// That of a product of such a shape, all of whose rows have the same offsets. None if its tiles cannot be finished so, or it
    /// does not pay.
    #[inline(always)]
    pub(crate) fn new<const N: usize>(
        kernel: &Kernel,
        finish: &'r Finish<'a>,
        offsets: (i32, i32),
        shape: Shape,
        panels: &'r mut Panels<N>,
    ) -> Option<Self> {
        let (ways, (of_panels, layer)) = (kernel.relay?, ways(kernel, finish.quick.as_ref())?);
        if !Self::pays(kernel, shape) {
            return None;
        }
        let (out, last) = layer.place(&finish.store);
        Some(Self {
            ways,
            of_panels,
            layer,
            out,
            last,
            offsets,
            kept: finish.kept(offsets),
            half: half(ways, shape.depth),
            together: ways.together,
            panels: &mut panels.0,
            at: 0..0,
            open: Open::NONE,
        })
    }

    /// The same, one panel after the other.
    pub(crate) fn one_by_one(self) -> Self {
        Self { together: 1, ..self }
    }

    /// Whether windows may have gaps.
    pub(crate) fn takes_gaps(&self) -> bool {
        self.ways.takes_gaps
    }

    /// The same, of windows, so many of which are multiplied together: few had better not be multiplied by half panels so.
    pub(crate) fn of_windows(self, together: usize) -> Self {
        let half = if together < self.ways.least_of_halves { HALF } else { self.half };
        Self { half, ..self }
    }

    /// Writes the panels of a region's columns, from its first one on, as far as they are multiplied together, and tells where they end.
    /// Those that are kept are written already.
    #[inline(always)]
    pub(crate) fn write_panels(&mut self, region: &Region) -> usize {
        let Range { start, end } = region.cols;
        let worth = start + whole(end - start, self.half);
        if let Some(kept) = self.kept {
            if start >= worth {
                self.at = 0..0;
                return end;
            }
            let end = if self.together == 1 { worth.min(start + WIDTH) } else { worth };
            self.at = kept.places(&(start..end));
            return end;
        }
        let together = self.together;
        // Not those of the open tile.
        let place = if self.open.count > 0 && self.open.panel < together { together } else { 0 };
        self.at = place..place;
        let mut first = start;
        while first < worth && self.at.len() < together {
            let cols = first..worth.min(first + WIDTH);
            let panel = &mut self.panels[self.at.end];
            if !write(panel, self.of_panels, self.layer, self.last, &region.part(cols.clone()), self.offsets) {
                break;
            }
            (first, self.at.end) = (cols.end, self.at.end + 1);
        }
        if first > start { first } else { end.min(start + WIDTH) }
    }

    /// Goes on to the tiles of a region's columns, whose panels are [written](Self::write_panels). If they are finished in another way
    /// (None), the last one is finished now.
    ///
    /// # Safety
    /// The tiles' parts of the result are their own.
    pub(crate) unsafe fn begin(&mut self, region: &Region, room: &mut [i32]) -> Option<&mut Self> {
        if !self.at.is_empty() {
            assert!(self.at.len() == region.cols.len().div_ceil(WIDTH), "their panels are written");
            return Some(self);
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
                && tile.lhs.meant() == region.rows.len()
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
        let panels = self.kept.map_or(&*self.panels, |kept| kept.all());
        Bytes { out, stride, panels }
    }
}

/// The most columns of a panel that is not worth it.
#[inline(always)]
fn half(ways: &RelayFns, depth: usize) -> usize {
    if depth <= ways.halves { 0 } else { HALF }
}

/// The end of those of a number of columns that are in panels with more than `half`.
#[inline(always)]
fn whole(cols: usize, half: usize) -> usize {
    let rest = cols % WIDTH;
    if rest > half { cols } else { cols - rest }
}

/// The places of two tiles.
fn places(room: &mut [i32]) -> &mut [Rows; 2] {
    room.as_chunks_mut().0.as_chunks_mut().0.first_chunk_mut().expect("room for two tiles")
}
