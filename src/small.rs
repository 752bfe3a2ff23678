//! Products so small that to cut them into blocks, and to get ready for operands of every kind, would take longer than it gains.

use crate::blocks::Shape;
use crate::buffer::Carver;
use crate::kernel::{self, FAR_PANELS, Kernel, SumsFn, Tile, relay};
use crate::matrix::{Lines, Operand, Order, Output};
use crate::output::{BytesOf, Finish, FloatParts, KeptPanels, LineOffsets, Panels, Region, Relay, Sums};
use crate::plain::{LHS, Plain, RHS};
use crate::prepare::Prepared;
use crate::source::Factor;
use crate::span::{self, Spans};
use room::{Room, Tiles};
use std::ops::Range;

mod room;

/// The most multiplications, the most memory to pack both operands and to sum in, which any L2 holds, and the most depth, of
/// which more would be cut into slices.
const MOST_MACS: f64 = 4e7;
const MOST_ROOM: usize = 256 << 10;
const MOST_DEPTH: usize = 4096;

/// Of more bytes of panels some are packed and multiplied before the next, on kernels that do so: a third of a first cache, or half.
const NEAR: usize = 16 << 10;

/// Rows up to which to multiply many panels before any sum becomes a byte takes less time than to have tiles become bytes beside the next
/// ones, if panels are still to be made ready: of any depth, and of so little that tiles become bytes from registers.
const MOST_ROWS_RATHER_WIDE: usize = 32;
const MOST_OF_SHALLOW_RATHER_WIDE: usize = 15;
const SHALLOW: usize = 64;

/// Panels of 16 columns that whole cache lines of runs fill.
const PANELS: usize = 4;

/// A small product of 8-bit operands, on one thread. Only the RHS may be packed already. It does not know the elements, so that
/// it may be kept for others.
pub(crate) struct Small {
    plain: Plain,
    shape: Shape,
    tiles: Tiles,
    room: Room,
}

/// Panels of the RHS, and what offsets add: all besides the elements of the LHS.
pub(crate) struct Ready<'p> {
    bytes: &'p [u8],
    sums: &'p [i32],
    spans: Option<&'p [u8]>,
    row_offsets: LineOffsets<'p>,
    col_offsets: LineOffsets<'p>,
    /// Those of all rows and of all columns, if they are the same.
    uniform: Option<(i32, i32)>,
    /// Whether tiles had better become bytes beside the next one's multiplications, if they can.
    may_relay: bool,
}

impl Small {
    /// None if the product is of another kind.
    #[inline(always)]
    pub(crate) fn new(kernel: &'static Kernel, lhs: &Factor, rhs: &Factor, shape: Shape) -> Option<Self> {
        let macs = shape.macs();
        if macs > MOST_MACS || shape.depth > MOST_DEPTH || shape.depth == 0 {
            return None;
        }
        let plain = Plain::new(kernel, lhs, rhs, shape)?;
        let Plain { kernel, is_in_place, is_ready, .. } = plain;
        let is_summed = plain.are_summed(lhs, rhs);
        let tiles = Tiles::new(kernel, shape);
        let room = Room::new(kernel, shape, &tiles, is_in_place, is_ready, is_summed);
        // All sums at once are none of what the second cache has to hold: they fit into the first.
        let wide = (room.rows * room.pitch).saturating_sub(room.acc) * size_of::<i32>();
        if room.len(2 * room.acc) > MOST_ROOM + wide {
            return None;
        }
        Some(Self { plain, shape, tiles, room })
    }

    /// With this finish, or with any.
    #[inline(always)]
    pub(crate) fn scratch_len(&self, finish: Option<&Finish>) -> usize {
        self.room.len(finish.map_or(2 * self.room.acc, |finish| self.finishing(finish)))
    }

    /// Integers that tiles are finished in.
    #[inline(always)]
    fn finishing(&self, finish: &Finish) -> usize {
        finish.room(self.room.acc, self.shape.rows)
    }

    /// What can be made ready of operands like those it was made for. None if the RHS is not packed.
    #[inline(always)]
    pub(crate) fn ready<'a>(&self, lhs: &Factor<'a>, rhs: &Factor<'a>) -> Option<Ready<'a>> {
        let packed = rhs.panels()?;
        let Prepared { bytes, sums, .. } = packed.prepared();
        Some(self.of_panels(lhs, rhs, (bytes, sums, packed.spans())))
    }

    /// What is made ready of panels, their sums and what 16 bits hold of them.
    #[inline(always)]
    fn of_panels<'a>(
        &self,
        lhs: &Factor<'a>,
        rhs: &Factor<'a>,
        (bytes, sums, spans): (&'a [u8], &'a [i32], Option<&'a [u8]>),
    ) -> Ready<'a> {
        let [row_offsets, col_offsets] = self.plain.offsets(lhs, rhs);
        let uniform = row_offsets.uniform().zip(col_offsets.uniform());
        let may_relay = Relay::pays(self.plain.kernel, self.shape);
        Ready { bytes, sums, spans, row_offsets, col_offsets, uniform, may_relay }
    }

    /// Computes it of operands like those it was made for, in `scratch`, of as many bytes as [`Small::scratch_len`] says, which
    /// begin on a cache line.
    ///
    /// # Panics
    /// If they are others.
    pub(crate) fn run(&self, lhs: &Factor, rhs: &Factor, finish: &Finish, scratch: &mut [u8]) {
        let Some(operand) = lhs.operand() else { panic!("another LHS") };
        if let Some(ready) = self.ready(lhs, rhs) {
            return self.run_ready(operand, &ready, finish, scratch);
        }
        let Some(unpacked) = rhs.operand() else { panic!("another RHS") };
        let mut carver = Carver::new(scratch);
        let (bytes, sums) = (carver.bytes(self.room.rhs), carver.ints(self.room.rhs_sums));
        if bytes.len() > NEAR
            && unpacked.order == Order::LineContiguous
            && let Some((out, multiply)) =
                finish.sums().zip(self.plain.kernel.small_sums(self.shape.depth, Spans::Uniform(self.plain.span)))
            && let [Some(a), Some(b)] = self.plain.offsets(lhs, rhs).map(|offsets| offsets.uniform())
        {
            let work = self.work(operand, finish, carver);
            return self.sum_by_parts(work, unpacked, (bytes, sums), (out, (a, b)), multiply);
        }
        self.plain.kernel.pack_panels(unpacked, &self.plain.readings[RHS], 0..self.shape.cols, bytes, sums);
        let ready = self.of_panels(lhs, rhs, (bytes, sums, None));
        self.run_on(operand, &ready, finish, carver);
    }

    /// Packs some columns, as many as stay in the first cache, and multiplies by them before the next.
    #[inline(never)]
    fn sum_by_parts(
        &self,
        Work { lines, row_sums, .. }: Work,
        rhs: &Operand,
        (bytes, sums): (&mut [u8], &mut [i32]),
        (out, offsets): (&Output<i32>, (i32, i32)),
        multiply: SumsFn,
    ) {
        let Self { plain: Plain { kernel, readings, .. }, shape: Shape { cols, depth, .. }, ref tiles, .. } = *self;
        let panels = (NEAR / tiles.panel_len).max(1).next_multiple_of(PANELS);
        for cols in kernel::tiles_of(cols, panels * kernel.width) {
            let room = kernel.room_for_panels(cols.len(), depth);
            let (bytes, col_sums) = (&mut bytes[..room.bytes], &mut sums[..room.sums.min(self.room.rhs_sums)]);
            kernel.pack_panels(rhs, &readings[RHS], cols.clone(), bytes, col_sums);
            let tile = Tile { height: tiles.height, ..self.tile(lines, bytes, cols.len()) };
            let sums = Sums { out, row: 0, cols, row_sums, col_sums, offsets, depth };
            // SAFETY: whoever has a kernel has a CPU that runs it, and the result is this product's own.
            unsafe { multiply(&tile, &sums) }
        }
    }

    /// As [`Small::run`], of an LHS like that it was made for.
    #[inline(always)]
    pub(crate) fn run_ready(&self, lhs: &Operand, ready: &Ready, finish: &Finish, scratch: &mut [u8]) {
        self.run_on(lhs, ready, finish, Carver::new(scratch));
    }

    /// By panels that are ready, in the way that suits the result; in the memory that they leave.
    #[inline(always)]
    fn run_on(&self, lhs: &Operand, ready: &Ready, finish: &Finish, carver: Carver) {
        let Self { plain: Plain { kernel, .. }, shape: Shape { rows, cols, depth, .. }, .. } = *self;
        let _session = kernel.begin(rows);
        let work = self.work(lhs, finish, carver);
        let &Ready { bytes: panels, sums: col_sums, uniform, may_relay, .. } = ready;
        let spans = self.spans(ready);
        if let Some((out, offsets)) = finish.sums().zip(uniform)
            && let Some(multiply) = kernel.sums_of_small(work.lines.len(), spans)
        {
            let sums = Sums { out, row: 0, cols: 0..cols, row_sums: work.row_sums, col_sums, offsets, depth };
            let tile = Tile { height: self.tiles.height, ..self.tile(work.lines, panels, cols) };
            // SAFETY: whoever has a kernel has a CPU that runs it, and the result is this product's own.
            return unsafe { multiply(&tile, &sums) };
        }
        if let Some(offsets) = uniform
            && let Some(bytes) = finish.bytes(kernel, offsets)
            && self.is_wide(&bytes, may_relay)
            && let Some(multiply) = kernel.sums_of_small(work.lines.len(), spans)
        {
            return self.make_bytes(work, ready, multiply, bytes);
        }
        if let Some(kept) = uniform.and_then(|offsets| finish.kept(offsets))
            && !may_relay
        {
            // Of few results that takes less than to have them become bytes beside the next tile.
            let Work { lines, row_sums, acc, finishing } = work;
            let tile = self.tile(lines, panels, cols);
            return self.finish_by_kept(
                tile,
                self.region(ready, row_sums),
                ready.spans,
                kept,
                finish,
                (acc, finishing),
            );
        }
        match (may_relay, kernel.takes_panels()) {
            (false, _) => self.run_by_tiles(work, ready, finish),
            (true, true) => self.relay_by_panels(work, ready, finish),
            (true, false) => self.relay_in_order(work, ready, finish),
        }
    }

    /// Whether a product into bytes takes less time if many panels are multiplied first (measured), where tiles may be relayed.
    #[inline(always)]
    fn is_wide(&self, bytes: &BytesOf, may_relay: bool) -> bool {
        let Self { plain: Plain { kernel, .. }, shape: Shape { rows, cols, depth, .. }, ref room, .. } = *self;
        let panels = if bytes.are_kept() { 4 } else { 2 };
        let is_shallow = depth <= SHALLOW && !kernel.takes_panels();
        let most = if is_shallow { MOST_OF_SHALLOW_RATHER_WIDE } else { MOST_ROWS_RATHER_WIDE };
        // Of EightBitIntGemm's pipeline bytes are made as of tiles here, which takes longer than relays with AMX do.
        let is_slow = bytes.are_kept() || rows > most || kernel.takes_panels() && bytes.is_down();
        room.pitch > 0 && cols >= panels * kernel.width && !(may_relay && is_slow)
    }

    /// Multiplies all rows by as many panels as there is room for before any sum becomes a byte: so what tiles have in common is found
    /// once.
    #[inline(never)]
    fn make_bytes(
        &self,
        Work { lines, row_sums, acc, finishing }: Work,
        ready: &Ready,
        multiply: SumsFn,
        bytes: BytesOf,
    ) {
        let (kernel, Shape { rows, cols, depth, .. }) = (self.plain.kernel, self.shape);
        let (pitch, log_width) = (self.room.pitch, kernel.width.trailing_zeros());
        let acc = &mut acc[..rows * pitch];
        let mut panels = ready.bytes;
        for cols in kernel::tiles_of(cols, pitch) {
            let count = cols.len();
            let (part, others) = panels.split_at(((count + kernel.width - 1) >> log_width) * self.tiles.panel_len);
            let out = Output::new(acc, (rows, count), pitch);
            let (offsets, of_cols) = ((0, 0), 0..count);
            let sums = Sums { out: &out, row: 0, cols: of_cols, row_sums: &[], col_sums: &[], offsets, depth };
            let tile = Tile { height: self.tiles.height, ..self.tile(lines, part, count) };
            let col_sums = ready.sums.get(cols.start..).unwrap_or_default();
            let region = Region { cols, col_sums, ..self.region(ready, row_sums) };
            // SAFETY: whoever has a kernel has a CPU that runs it, and the result is this product's own.
            unsafe {
                multiply(&tile, &sums);
                bytes.make(&region, acc, pitch, finishing);
            }
            panels = others;
        }
    }

    /// The LHS as tiles read it, and the rest of the memory.
    #[inline(always)]
    fn work<'w>(&self, lhs: &Operand<'w>, finish: &Finish, mut carver: Carver<'w>) -> Work<'w> {
        let Self { plain: Plain { kernel, readings, is_in_place, .. }, shape: Shape { rows, .. }, ref room, .. } =
            *self;
        let bytes = carver.bytes(room.lhs);
        // Tiles come first, where cache lines begin.
        let (acc, ints) =
            carver.ints(room.ints(self.finishing(finish))).split_at_mut(room.acc.max(room.rows * room.pitch));
        let (row_sums, finishing) = ints.split_at_mut(room.lhs_sums);
        let lines = if is_in_place {
            let lines = lhs.lines();
            kernel.sum_in_place(lines, &readings[LHS], row_sums);
            lines
        } else {
            let pitch = self.tiles.pitch;
            kernel.pack_lines_apart(lhs, &readings[LHS], 0..rows, pitch, bytes, row_sums);
            Lines::packed(bytes, rows, pitch, 0..pitch)
        };
        Work { lines, row_sums, acc, finishing }
    }

    /// That of these lines and of some columns, whose panels are the first of those that follow each other.
    #[inline(always)]
    fn tile<'t>(&self, lhs: Lines<'t>, panels: &'t [u8], cols: usize) -> Tile<'t> {
        let Plain { kernel, readings, .. } = self.plain;
        let height = match kernel.together(&lhs) {
            fewer if fewer < self.tiles.height => kernel::height(self.shape.rows, fewer),
            _ => self.tiles.height,
        };
        Tile {
            lhs,
            height,
            lhs_encoding: readings[LHS].to,
            rhs_encoding: readings[RHS].to,
            is_turned: self.plain.is_turned(),
            rhs: panels,
            cols,
            reach: panels.len(),
            is_far: panels.len() >= FAR_PANELS,
            fresh: true,
            spans: Spans::Uniform(self.plain.span),
            sums: None,
        }
    }

    /// All of the result, of which nothing is finished yet.
    #[inline(always)]
    fn region<'r>(&self, ready: &Ready<'r>, row_sums: &'r [i32]) -> Region<'r> {
        let Shape { rows, cols, depth, .. } = self.shape;
        let &Ready { sums: col_sums, row_offsets, col_offsets, .. } = ready;
        Region { depth, row_sums, col_sums, row_offsets, col_offsets, ..Region::complete(0..rows, 0..cols) }
    }

    /// The tiles of a tile of all rows and of these columns, one panel after the other.
    #[inline(always)]
    fn tiles_of<'t>(&self, tile: &Tile<'t>, cols: Range<usize>, spans: Option<&'t [u8]>) -> TilesOf<'t, '_> {
        TilesOf { small: self, lines: tile.lhs, panels: tile.rhs, spans, cols, top: 0 }
    }

    /// Multiplies the tiles of a region of all rows, each of which then becomes bytes by a kept panel.
    #[inline(always)]
    fn finish_by_kept<'t>(
        &self,
        mut tile: Tile<'t>,
        region: Region,
        spans: Option<&'t [u8]>,
        kept: &KeptPanels,
        finish: &Finish,
        (acc, finishing): (&mut [i32], &mut [i32]),
    ) {
        let Plain { kernel, .. } = self.plain;
        let finish = kept.begin(finish, &region, finishing);
        let mut tiles = self.tiles_of(&tile, region.cols, spans);
        while let Some((rows, cols)) = tiles.next(&mut tile) {
            // SAFETY: whoever has a kernel has a CPU that runs it, and each tile's part of the result is its own.
            unsafe {
                kernel.multiply(&mut tile, acc);
                finish.finish(rows, cols.start, acc);
            }
        }
    }

    /// Tile by tile, or all at once into floats. Apart, so that what takes less time pays for no room of this.
    #[inline(never)]
    fn run_by_tiles(&self, work: Work, ready: &Ready, finish: &Finish) {
        let Self { plain: Plain { kernel, .. }, shape: Shape { cols, depth, .. }, .. } = *self;
        let Work { lines, row_sums, acc, finishing } = work;
        let mut tile = self.tile(lines, ready.bytes, cols);
        if let Some((out, offsets)) = finish.sums().zip(ready.uniform) {
            let mut tiles = self.tiles_of(&tile, 0..cols, ready.spans);
            while let Some((rows, cols)) = tiles.next(&mut tile) {
                let row_sums = row_sums.get(rows.clone()).unwrap_or_default();
                let col_sums = ready.sums.get(cols.start..cols.start + kernel.width).unwrap_or_default();
                tile.sums = Some(Sums { out, row: rows.start, cols, row_sums, col_sums, offsets, depth });
                // SAFETY: whoever has a kernel has a CPU that runs it, and each tile's part of the result is its own.
                unsafe { kernel.multiply(&mut tile, acc) }
            }
            return;
        }
        let region = self.region(ready, row_sums);
        let floats = FloatParts::new(finish, &region);
        let spans = self.spans(ready);
        match floats.as_ref().and_then(|floats| kernel.floats(&tile.lhs, spans, floats)).zip(floats.as_ref()) {
            // SAFETY: as above.
            Some((multiply, floats)) => unsafe { multiply(&tile, floats) },
            None => self.finish_tiles(tile, region, ready.spans, finish, (acc, finishing)),
        }
    }

    /// How many pairs of products sums of 16 bits take, in all panels.
    #[inline(always)]
    fn spans<'r>(&self, ready: &Ready<'r>) -> Spans<'r> {
        match ready.spans {
            Some(spans) if spans.iter().all(|&span| span == 1) => Spans::Uniform(1),
            Some(spans) => Spans::PerStretch(spans),
            None => Spans::Uniform(self.plain.span),
        }
    }

    /// Multiplies and finishes the tiles of a region of all rows.
    #[inline(always)]
    fn finish_tiles<'t>(
        &self,
        mut tile: Tile<'t>,
        mut region: Region,
        spans: Option<&'t [u8]>,
        finish: &Finish,
        (acc, finishing): (&mut [i32], &mut [i32]),
    ) {
        let Plain { kernel, .. } = self.plain;
        let (row_sums, col_sums, all) = (region.row_sums, region.col_sums, region.cols.clone());
        let mut tiles = self.tiles_of(&tile, all.clone(), spans);
        while let Some((rows, cols)) = tiles.next(&mut tile) {
            let first = cols.start - all.start;
            region.row_sums = row_sums.get(rows.clone()).unwrap_or_default();
            region.col_sums = col_sums.get(first..first + kernel.width).unwrap_or_default();
            (region.rows, region.cols) = (rows, cols);
            // SAFETY: whoever has a kernel has a CPU that runs it, and each tile's part of the result is its own.
            unsafe {
                kernel.multiply(&mut tile, acc);
                (kernel.finish)(finish, &region, acc, finishing);
            }
        }
    }

    /// A relay of a kernel that takes all panels; apart, as [`Small::run_by_tiles`].
    #[inline(never)]
    fn relay_by_panels(&self, work: Work, ready: &Ready, finish: &Finish) {
        self.relay::<{ relay::TOGETHER }>(work, ready, finish);
    }

    /// A relay of another kernel.
    #[inline(never)]
    fn relay_in_order(&self, work: Work, ready: &Ready, finish: &Finish) {
        self.relay::<{ relay::TWICE_TWO }>(work, ready, finish);
    }

    /// Multiplies panels, as many as there is room for, while tiles of those before become bytes, if they can.
    #[inline(always)]
    fn relay<const N: usize>(&self, work: Work, ready: &Ready, finish: &Finish) {
        let Self { plain: Plain { kernel, .. }, shape, ref tiles, .. } = *self;
        let mut room = Panels::<N>::NONE;
        let relay = ready.uniform.and_then(|offsets| Relay::new(kernel, finish, offsets, shape, &mut room));
        let Some(mut relay) = relay else { return self.run_by_tiles(work, ready, finish) };
        let Work { lines, row_sums, acc, finishing } = work;
        let whole = self.tile(lines, ready.bytes, shape.cols);
        let (mut first, mut panels) = (0, ready.bytes);
        while first < shape.cols {
            let mut region = self.region(ready, row_sums);
            (region.cols, region.col_sums) = (first..shape.cols, ready.sums.get(first..).unwrap_or_default());
            region.cols.end = relay.write_panels(&region);
            let cols = region.cols.len();
            let (rhs, others) = panels.split_at(cols.div_ceil(kernel.width) * tiles.panel_len);
            let tile = Tile { rhs, reach: panels.len(), cols, sums: None, ..whole };
            // SAFETY: the result's columns are this product's own, here and below.
            match unsafe { relay.begin(&region, acc) } {
                // SAFETY: as above.
                Some(relay) => unsafe { relay.multiply(tile, &region, acc) },
                None => match ready.uniform.and_then(|offsets| finish.kept(offsets)) {
                    Some(kept) => self.finish_by_kept(tile, region, None, kept, finish, (acc, finishing)),
                    None => self.finish_tiles(tile, region, None, finish, (acc, finishing)),
                },
            }
            (first, panels) = (first + cols, others);
        }
        // SAFETY: as above.
        unsafe { relay.end(acc) }
    }
}

/// Tiles of so many rows and of one panel, the panels one after the other.
struct TilesOf<'t, 's> {
    small: &'s Small,
    lines: Lines<'t>,
    /// From the next tile's on.
    panels: &'t [u8],
    spans: Option<&'t [u8]>,
    cols: Range<usize>,
    /// The next tile's first row.
    top: usize,
}

impl<'t> TilesOf<'t, '_> {
    /// Makes the next one of the one before, and tells its rows and columns.
    #[inline(always)]
    fn next(&mut self, tile: &mut Tile<'t>) -> Option<(Range<usize>, Range<usize>)> {
        let Small { plain: Plain { kernel, .. }, shape: Shape { rows, depth, .. }, tiles, .. } = self.small;
        if self.top == *rows {
            (self.top, self.cols.start) = (0, self.cols.start + kernel.width);
            self.panels = &self.panels[tiles.panel_len..];
        }
        if self.cols.start >= self.cols.end {
            return None;
        }
        let cols = self.cols.start..self.cols.end.min(self.cols.start + kernel.width);
        if self.top == 0 {
            (tile.rhs, tile.reach) = (&self.panels[..tiles.panel_len], self.panels.len());
            tile.cols = cols.len();
            if let Some(spans) = self.spans {
                let (of_panel, others) = spans.split_at(depth.div_ceil(span::DEPTHS));
                (tile.spans, self.spans) = (Spans::of_stretches(of_panel, *depth), Some(others));
            }
        }
        let some = self.top..(*rows).min(self.top + tiles.together);
        tile.lhs = self.lines.part(some.clone());
        self.top = some.end;
        Some((some, cols))
    }
}

/// What a product is computed of and in, besides the RHS.
struct Work<'w> {
    /// As tiles read them.
    lines: Lines<'w>,
    row_sums: &'w [i32],
    /// Where tiles are summed, and where they are finished.
    acc: &'w mut [i32],
    finishing: &'w mut [i32],
}
