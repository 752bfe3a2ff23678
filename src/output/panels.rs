//! Panels by which a layer's sums become bytes, kept for all runs of a prepared call.

use super::layer::Layer;
use super::{Finish, Quick, Region, Store};
use crate::kernel::panel::{Panel, PanelFns};
use crate::kernel::{Kernel, Last};
use crate::matrix::Output;
use std::mem::MaybeUninit;
use std::ops::Range;

/// What all panels' columns add to sums, and how these become bytes: made once for all products that only differ in their rows.
pub(crate) struct KeptPanels {
    ways: &'static PanelFns,
    /// All are written.
    panels: Vec<MaybeUninit<Panel>>,
    /// Columns of a panel: two to the power of so many.
    log_width: u32,
    cols: usize,
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
        let width = kernel.width;
        let log_width = width.checked_ilog2().filter(|_| width.is_power_of_two())?;
        let count = cols.div_ceil(width);
        let mut panels = Vec::new();
        panels.try_reserve_exact(count).ok()?;
        panels.resize_with(count, MaybeUninit::uninit);
        for (i, panel) in panels.iter_mut().enumerate() {
            let of_panel = i * width..cols.min((i + 1) * width);
            let col_sums = col_sums.get(of_panel.start..).unwrap_or_default();
            let region = Region { col_sums, ..Region::complete(0..0, of_panel) };
            if !write(panel, ways, layer, last, &region, offsets) {
                return None;
            }
        }
        Some(Self { ways, panels, log_width, cols, offsets })
    }

    /// Which offsets they are for.
    #[inline(always)]
    pub(super) fn offsets(&self) -> (i32, i32) {
        self.offsets
    }

    /// Which of them are those of these columns, which are all of theirs.
    #[inline(always)]
    pub(super) fn places(&self, cols: &Range<usize>) -> Range<usize> {
        // To divide takes as long as much else of a small product.
        let width = 1 << self.log_width;
        let is_border = |col: usize| col & (width - 1) == 0;
        let ends = is_border(cols.end) || cols.end == self.cols;
        assert!(is_border(cols.start) && ends && cols.end <= self.cols, "whole panels");
        cols.start >> self.log_width..(cols.end + width - 1) >> self.log_width
    }

    #[inline(always)]
    pub(super) fn all(&self) -> &[MaybeUninit<Panel>] {
        &self.panels
    }

    /// Those of these columns, which are all of theirs.
    #[inline(always)]
    pub(super) fn of(&self, cols: &Range<usize>) -> &[Panel] {
        // SAFETY: all are written.
        unsafe { &*(&raw const self.panels[self.places(cols)] as *const [Panel]) }
    }

    /// Gets ready to finish tiles of a region's rows, of any panels. `finish` is what they were made for, but for the place of the
    /// result. What is added to rows is computed in `room`, of as many numbers.
    #[inline(always)]
    pub(crate) fn begin<'k>(&'k self, finish: &Finish<'k>, region: &Region, room: &'k mut [i32]) -> TilesByPanels<'k> {
        let Some(Quick::Layer(layer)) = &finish.quick else { unreachable!("only layers have such panels") };
        let (out, _) = layer.place(&finish.store);
        let terms = layer.terms_in(region, self.offsets, 0, &mut room[..region.rows.len()]);
        TilesByPanels { kept: self, out, terms, first: region.rows.start }
    }
}

/// Tiles that become bytes one by one, each by the kept panel of its columns.
pub(crate) struct TilesByPanels<'k> {
    kept: &'k KeptPanels,
    out: Output<'k, u8>,
    /// None, or one for each row from the first on.
    terms: &'k [i32],
    first: usize,
}

impl TilesByPanels<'_> {
    /// Finishes a tile of some of the rows, and of the columns from `first_col` on that are in one panel.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(crate) unsafe fn finish(&self, rows: Range<usize>, first_col: usize, acc: &[i32]) {
        let Self { kept, out, terms, first } = self;
        let width = 1 << kept.log_width;
        let cols = first_col..kept.cols.min(first_col + width);
        let terms = if terms.is_empty() { terms } else { &terms[rows.start - first..rows.end - first] };
        let acc = &acc[..rows.len() << kept.log_width];
        // SAFETY: this function's own promise; whoever has a kernel has a CPU that runs it, and all panels are written.
        unsafe {
            let panel = kept.panels[kept.places(&cols).start].assume_init_ref();
            (kept.ways.finish)(panel, acc, terms, out, rows, cols);
        }
    }
}

/// None if tiles cannot be finished so.
#[inline(always)]
pub(super) fn ways<'q, 'a>(
    kernel: &Kernel,
    quick: Option<&'q Quick<'a>>,
) -> Option<(&'static PanelFns, &'q Layer<'a>)> {
    match quick {
        Some(Quick::Layer(layer)) if !layer.changes => Some((kernel.panels?, layer)),
        _ => None,
    }
}

/// Writes the panel of a region's columns, or nothing and false.
#[inline(always)]
pub(super) fn write(
    panel: &mut MaybeUninit<Panel>,
    ways: &PanelFns,
    layer: &Layer,
    last: Last,
    region: &Region,
    offsets: (i32, i32),
) -> bool {
    let columns = layer.columns(region, offsets, 0);
    // SAFETY: whoever has a kernel has a CPU that runs it.
    unsafe { (ways.write)(layer.rule(), &columns, region.cols.len(), last, panel) }
}
