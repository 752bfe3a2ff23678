//! What a worker multiplies at a time: rows of a block by the columns of one panel, or of several.

use super::{Desk, LHS, Product};
use crate::kernel::{FAR_PANELS, FloatsFn, Tile, height, tiles_of};
use crate::matrix::Lines;
use crate::output::{Finish, FloatParts, Region, Relay, Sums};
use crate::prepare::Prepared;
use crate::segment::Segment;
use crate::span::Spans;
use std::ops::Range;

/// The columns of one panel, or of several if the kernel takes them, and rows of one block.
pub(super) struct Stripe<'s> {
    pub product: &'s Product<'s>,
    pub lhs: &'s Prepared<'s>,
    pub rhs: &'s Prepared<'s>,
    pub rows: Range<usize>,
    pub cols: Range<usize>,
    pub finish: &'s Finish<'s>,
}

impl Stripe<'_> {
    /// Multiplies all rows by all panels of the columns if the sums are the result, or become floats, and the kernel takes them so. If
    /// not, nothing and false.
    pub(super) fn multiply_panels(&self) -> bool {
        let Product { kernel, sides: [lhs, rhs], blocks, row, depth, scaled, .. } = self.product;
        if !kernel.takes_panels() || blocks.depth.pieces > 1 || rhs.is_widened() || scaled.is_some() {
            return false;
        }
        let step = row.unwrap_or(self.rows.len());
        let lines = |start: usize| lhs.lines(self.lhs, start..start + step, 0..*depth);
        let all = &lines(self.rows.start);
        let sums = self.sums().zip(kernel.sums(all));
        let floats = self.floats((all, Spans::Uniform(1)));
        let panels = rhs.panels(self.rhs, self.cols.clone());
        for start in self.rows.clone().step_by(step) {
            let lhs = lines(start);
            let tile = Tile { lhs, rhs: self.met(&lhs, panels), ..self.tile(panels, panels.len()) };
            match (&sums, floats) {
                // SAFETY: tiles do not overlap, and whoever claimed their block multiplies them. Whoever has a kernel has a CPU that
                // runs it.
                (Some((sums, multiply)), _) => unsafe { multiply(&tile, &sums.part(start - self.rows.start)) },
                (None, Some(multiply)) => {
                    let region = self.region(start..start + step);
                    let floats = FloatParts::new(self.finish, &region).expect("as of all rows");
                    // SAFETY: as above.
                    unsafe { multiply(&tile, &floats) }
                }
                (None, None) => return false,
            }
        }
        true
    }

    /// Of how many panels [`Stripe::multiply_slice`] takes the columns, if no relay does: several if their sums are the result, or
    /// become floats, and the kernel brings those of several to their place.
    pub(super) fn together(&self) -> usize {
        let Product { kernel, sides: [lhs, rhs], blocks, row, depth, .. } = self.product;
        if blocks.depth.pieces > 1 || rhs.is_widened() {
            return 1;
        }
        let step = row.unwrap_or(self.rows.len());
        let lines = lhs.lines(self.lhs, self.rows.start..self.rows.start + step, 0..*depth);
        let is_direct = match self.sums() {
            Some(_) => kernel.sums(&lines).is_some(),
            None => self.floats((&lines, Spans::Uniform(1))).is_some(),
        };
        if is_direct { kernel.panels_at_once(*depth, row.is_some()) } else { 1 }
    }

    /// How the kernel multiplies such lines if the sums become floats, if it has a way for these.
    fn floats(&self, (lines, spans): (&Lines, Spans)) -> Option<FloatsFn> {
        let Product { kernel, scaled, .. } = self.product;
        let region = self.region(self.rows.clone());
        let parts = FloatParts::new(self.finish, &region).filter(|_| scaled.is_none())?;
        kernel.floats(lines, spans, &parts)
    }

    /// What these lines are multiplied by of a panel, or of several: of windows that leave runs out, what these would meet is not.
    #[inline(always)]
    fn met<'t>(&self, lines: &Lines, panels: &'t [u8]) -> &'t [u8] {
        let Product { kernel, .. } = self.product;
        let [before, after] = lines.left_out().map(|bytes| bytes / kernel.groups.lhs_size() * kernel.width);
        &panels[before..panels.len() - after]
    }

    /// Lines that are still to be named, by this panel, or several.
    fn tile<'t>(&self, rhs: &'t [u8], reach: usize) -> Tile<'t> {
        let Product { sides: [lhs, source], .. } = self.product;
        Tile {
            lhs: Lines::NONE,
            height: 1,
            lhs_encoding: lhs.encoding(),
            rhs_encoding: source.encoding(),
            is_turned: lhs.is_turned(),
            rhs,
            cols: self.cols.len(),
            reach,
            is_far: self.product.depth * self.product.blocks.cols.len >= FAR_PANELS,
            fresh: true,
            spans: Spans::Uniform(0),
            sums: None,
        }
    }

    /// Multiplies all rows by one slice of the panel, or by several panels if a relay takes them. After the last slice the tiles
    /// are finished.
    pub(super) fn multiply_slice(&self, slice: usize, desk: &mut Desk, relay: Option<&mut Relay>) {
        let Product { kernel, sides: [lhs, rhs], blocks, row, scaled, .. } = self.product;
        let Desk { acc, widened, cols } = desk;
        let together = self.product.together();
        let (room, acc) = acc.split_at_mut(2 * together * kernel.tile_len());
        let slices = blocks.depth.pieces;
        let depth = blocks.depth.piece(slice);
        let panel = match self.cols.len() > kernel.width {
            true => rhs.panels(self.rhs, self.cols.clone()),
            false => rhs.panel(self.rhs, self.cols.start, depth.clone(), widened),
        };
        // Without depth the sums are 0, as are the bits of floats.
        let scaled = scaled.filter(|_| !depth.is_empty());
        if scaled.is_some() {
            rhs.cols_in(self.rhs, self.cols.clone(), (slice, depth.clone(), panel), cols);
        }
        let sums = self.sums().filter(|_| slice + 1 == slices);
        let mut tile = Tile {
            fresh: slice == 0 || scaled.is_some(),
            spans: rhs.spans(self.cols.start, depth.clone(), self.product.span),
            ..self.tile(panel, (self.product.cols().end - self.cols.start) * depth.len())
        };
        // SAFETY: tiles do not overlap, and whoever claimed their block finishes them.
        let relay = relay.and_then(|relay| unsafe { relay.begin(&self.region(self.rows.clone()), room) });
        // The rows that are multiplied, but not finished.
        let mut open = self.rows.start..self.rows.start;
        let finishes = slice + 1 == slices && sums.is_none();
        let first = |open: &Range<usize>| if slices == 1 { open.start } else { self.rows.start };
        let place =
            |first: usize, rows: &Range<usize>| (rows.start - first) * kernel.width..(rows.end - first) * kernel.width;
        let step = row.unwrap_or(self.rows.len());
        if let Some(relay) = relay {
            let mut start = self.rows.start;
            while start < self.rows.end {
                let joined = if relay.takes_gaps() { lhs.end_of_joined(start) } else { None };
                let end = joined.map_or(start + step, |end| end.min(self.rows.end));
                let all = lhs.lines(self.lhs, start..end, depth.clone());
                (tile.lhs, tile.rhs) = (all, self.met(&all, panel));
                // SAFETY: as above.
                unsafe { relay.multiply(tile.clone(), &self.region(start..end), room) };
                start = end;
            }
            return;
        }
        for start in self.rows.clone().step_by(step) {
            let all = lhs.lines(self.lhs, start..start + step, depth.clone());
            tile.rhs = self.met(&all, panel);
            tile.height = height(step, kernel.together(&all));
            if let Some(sums) = &sums
                && slices == 1
                && let Some(multiply) = kernel.sums(&all)
            {
                tile.lhs = all;
                // SAFETY: as above, and whoever has a kernel has a CPU that runs it.
                unsafe { multiply(&tile, &sums.part(start - self.rows.start)) }
                continue;
            }
            if finishes
                && slices == 1
                && !kernel.takes_panels()
                && let Some(multiply) = self.floats((&all, tile.spans))
            {
                tile.lhs = all;
                let region = self.region(start..start + step);
                let floats = FloatParts::new(self.finish, &region).expect("as of all rows");
                // SAFETY: as above.
                unsafe { multiply(&tile, &floats) }
                continue;
            }
            if let Some(sums) = &sums
                && slices == 1
                && kernel.takes_lines()
            {
                (tile.lhs, tile.sums) = (all, Some(sums.part(start - self.rows.start)));
                // SAFETY: as above.
                unsafe { kernel.multiply(&mut tile, &mut []) }
                continue;
            }
            for rows in tiles_of(step, tile.height * together) {
                tile.lhs = all.part(rows.clone());
                let rows = start + rows.start..start + rows.end;
                tile.sums = sums.as_ref().map(|sums| sums.part(rows.start - self.rows.start));
                if finishes && open.len() + rows.len() > together * kernel.rows {
                    self.finish(open.clone(), &mut acc[place(first(&open), &open)], room);
                    open.start = open.end;
                }
                let acc = &mut acc[place(first(&open), &rows)];
                let to = if scaled.is_some() { &mut room[..kernel.tile_len()] } else { &mut *acc };
                // SAFETY: whoever has a kernel has a CPU that runs it. Tiles do not overlap, and whoever claimed their block
                // multiplies them.
                unsafe { kernel.multiply(&mut tile, to) }
                if let Some(side) = scaled {
                    let segment = Segment {
                        depth: depth.len(),
                        rows: &lhs.rows_in(self.lhs, rows.clone(), slice),
                        cols,
                        count: self.cols.len(),
                        by_rows: side == LHS,
                    };
                    // The sums of a segment go on to become floats, which rest in the accumulators' place.
                    if slice == 0 {
                        acc.fill(0f32.to_bits() as i32);
                    }
                    kernel.add_segment(&segment, &room[..rows.len() * kernel.width], acc);
                }
                open.end = rows.end;
                if sums.is_some() {
                    // They are finished.
                    open.start = open.end;
                }
            }
        }
        if finishes && !open.is_empty() {
            self.finish(open.clone(), &mut acc[place(first(&open), &open)], room);
        }
    }

    /// Finishes rows of which the sums are complete.
    fn finish(&self, rows: Range<usize>, acc: &mut [i32], room: &mut [i32]) {
        let (region, kernel) = (self.region(rows), self.product.kernel);
        // SAFETY: as for a tile, and each is finished once.
        unsafe { (kernel.finish)(self.finish, &region, acc, room) }
    }

    /// Where the sums of all rows go, if they are the result.
    fn sums(&self) -> Option<Sums<'_>> {
        let Product { sides: [lhs, rhs], rescale, scaled, depth, .. } = self.product;
        if rescale.is_some() || scaled.is_some() {
            return None;
        }
        Some(Sums {
            out: self.finish.sums()?,
            row: self.rows.start,
            cols: self.cols.clone(),
            row_sums: self.lhs.sums.get(self.rows.start - self.lhs.first..).unwrap_or_default(),
            col_sums: self.rhs.sums.get(self.cols.start - self.rhs.first..).unwrap_or_default(),
            offsets: (lhs.offset.uniform()?, rhs.offset.uniform()?),
            depth: *depth,
        })
    }

    pub(super) fn region(&self, rows: Range<usize>) -> Region<'_> {
        let [lhs, rhs] = &self.product.sides;
        if self.product.scaled.is_some() {
            // The floats are.
            return Region::complete(rows, self.cols.clone());
        }
        Region {
            depth: self.product.depth,
            row_sums: self.lhs.sums.get(rows.start - self.lhs.first..).unwrap_or_default(),
            col_sums: self.rhs.sums.get(self.cols.start - self.rhs.first..).unwrap_or_default(),
            row_originals: self.lhs.originals.get(rows.start - self.lhs.first..).unwrap_or_default(),
            col_originals: self.rhs.originals.get(self.cols.start - self.rhs.first..).unwrap_or_default(),
            row_offsets: lhs.offset,
            col_offsets: rhs.offset,
            rescale: self.product.rescale.as_ref(),
            rows,
            cols: self.cols.clone(),
        }
    }
}
