//! Tiles whose sums become the result, each while the next one is multiplied.

use super::ahead::{self, Ahead};
use super::registers::Place;
use super::session::STEP;
use super::walk::{Copied, ROWS, Room, Rows, Strip, Way, with_room};
use super::{OF_PANEL, strips};
use crate::kernel::Tile;
use crate::kernel::relay::WIDTH;
use std::ops::Range;

/// What sums become. Rows are counted from the first line of all, and panels from the first of the columns.
pub(super) trait Outcome {
    /// What is known of a tile that is multiplied.
    type Open;

    /// Whether strips may be multiplied in slices: then rows are finished beside the last one, which has to take as long.
    const IS_SLICED: bool;

    /// Whether rows are finished before a part of the next tile is multiplied, and so are there when its sums are to be kept, not after.
    const IS_BEFORE: bool;

    /// Multiplies the first strips by the first panels in a way of its own: how many.
    ///
    /// # Safety
    /// As for [`multiply`].
    #[inline(always)]
    unsafe fn multiply_first(&mut self, _: &Tile, _: Way, _: &mut Option<&mut Copied>) -> (usize, usize) {
        (0, 0)
    }

    /// Gets ready for these panels, before any tile of theirs, and after all tiles of others are finished.
    fn begin(&mut self, _: Range<usize>) {}

    /// How many columns a panel has.
    ///
    /// # Safety
    /// There is such a panel.
    unsafe fn width(&self, panel: usize) -> usize;

    /// What is added to the sums of each row, if not zeros.
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]);

    /// What sums of these panels begin with in all rows, if not with zeros.
    fn added(&self, _: usize) -> Option<Place> {
        None
    }

    /// Where the rows of a panel go from this one on, if it may pay to fetch that.
    fn place(&self, _row: usize, _panel: usize) -> Option<Place> {
        None
    }

    /// Opens the tile of these rows and this panel.
    ///
    /// # Safety
    /// As above; the CPU runs this kernel, and nobody else uses the tile's part of the result.
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Self::Open;

    /// Finishes its next rows, of which so many are done, with these sums and terms.
    ///
    /// # Safety
    /// As above.
    unsafe fn finish(&self, open: &mut Self::Open, done: usize, sums: &[[i32; WIDTH]], terms: &[i32]);
}

/// Multiplies all lines by so many panels. A tile's rows are finished while the next is multiplied, but the last one's at once.
///
/// # Safety
/// As for a [`TileFn`](crate::kernel::TileFn), of all that lines and panels give.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) unsafe fn multiply<O: Outcome>(tile: &Tile, panels: usize, mut outcome: O) {
    // SAFETY: this function's own promise.
    with_room(tile, panels, O::IS_SLICED, |way, Room { mut copied, resting }| unsafe {
        let most = outcome.multiply_first(tile, way, &mut copied);
        let strips = tile.lhs.count().div_ceil(ROWS);
        if most.0 > 0 && most.1 < panels {
            let room = Room { copied: copied.as_deref_mut(), resting: &mut [] };
            multiply_in::<O, false>(way, room, tile, (0..most.0, most.1..panels), &mut outcome);
        }
        let all = (most.0..strips, 0..panels);
        match way.is_sliced {
            true => multiply_in::<O, true>(way, Room { copied, resting }, tile, all, &mut outcome),
            false => multiply_in::<O, false>(way, Room { copied, resting }, tile, all, &mut outcome),
        }
    });
}

/// In this way, with room for it.
///
/// # Safety
/// As for [`multiply`].
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_in<O: Outcome, const SLICED: bool>(
    way: Way,
    Room { copied, resting }: Room,
    tile: &Tile,
    (some_strips, panels): (Range<usize>, Range<usize>),
    outcome: &mut O,
) {
    if some_strips.is_empty() {
        return;
    }
    let of_panel = way.of_panel;
    // SAFETY: this function's own promise, which a session is a part of.
    let mut strip = unsafe { Strip::new(tile, way, copied) };
    strip.is_before = O::IS_BEFORE;
    let share = ROWS.div_ceil(strip.parts).next_multiple_of(TOGETHER);
    let is_fetched = outcome.place(0, 0).is_some_and(|to| ahead::pays(&tile.lhs, to.pitch));
    let mut tiles = Tiles::<O>::none(is_fetched);
    for some in way.groups(panels) {
        // SAFETY: its sums were written, here and below.
        unsafe { tiles.finish(outcome, ROWS) }
        outcome.begin(some.clone());
        for rows in strips(tile.lhs.count(), ROWS).skip(some_strips.start).take(some_strips.len()) {
            // Those of the strip before are finished once.
            let again = rows.start.next_multiple_of(ROWS) - rows.start;
            strip.set(tile.lhs.part(rows.clone()));
            outcome.fill_terms(rows.clone(), tiles.next_terms(rows.len()));
            for slice in 0..if SLICED { strip.slices } else { 1 } {
                let is_last = !SLICED || slice + 1 == strip.slices;
                for panel in some.clone() {
                    let mut rest = || resting[panel - some.start].place();
                    let from = if slice == 0 { outcome.added(panel) } else { Some(rest()) };
                    let to = if is_last { tiles.place() } else { rest() };
                    let mut ahead = tiles.ahead(outcome, rows.clone(), panel);
                    // SAFETY: this function's own promise.
                    unsafe {
                        let (cols, rhs) = (outcome.width(panel), &tile.rhs[panel * of_panel..]);
                        strip.multiply(slice, rhs, cols, from, to, || {
                            ahead.fetch(share);
                            tiles.finish(outcome, share);
                        });
                        tiles.finish(outcome, ROWS);
                        if is_last {
                            tiles.add(outcome.open(rows.start + again..rows.end, panel), again..rows.len());
                        }
                    }
                }
            }
        }
    }
    // SAFETY: as above.
    unsafe { tiles.finish(outcome, ROWS) }
}

/// Rows that are finished together, at least.
pub(super) const TOGETHER: usize = 4;

/// The tile at hand, and the one before, whose rows are still to be finished.
struct Tiles<O: Outcome> {
    rooms: [Rows; 2],
    /// What the rows of two strips add, and which of them is the one at hand.
    terms: [[i32; ROWS]; 2],
    strip: usize,
    /// Which room is that of the tile at hand.
    turn: usize,
    before: Option<Before<O>>,
    is_fetched: bool,
}

/// A tile whose rows are still to be finished, those of its sums that are not `done`.
struct Before<O: Outcome> {
    tile: O::Open,
    rows: Range<usize>,
    done: usize,
    /// Which rows they are, of two strips.
    strip: usize,
}

impl<O: Outcome> Tiles<O> {
    #[inline(always)]
    fn none(is_fetched: bool) -> Self {
        Self { rooms: [Rows::NONE; 2], terms: [[0; ROWS]; 2], strip: 0, turn: 0, before: None, is_fetched }
    }

    /// Those of the next strip, of so many rows.
    #[inline(always)]
    fn next_terms(&mut self, rows: usize) -> &mut [i32] {
        self.strip = 1 - self.strip;
        &mut self.terms[self.strip][..rows]
    }

    /// Where sums of the tile at hand go.
    #[inline(always)]
    fn place(&mut self) -> Place {
        self.rooms[self.turn].place()
    }

    /// These rows' places in the result, if they are fetched before.
    #[inline(always)]
    fn ahead(&self, outcome: &O, rows: Range<usize>, panel: usize) -> Ahead<{ OF_PANEL / STEP }> {
        match outcome.place(rows.start, panel).filter(|_| self.is_fetched) {
            Some(to) => Ahead::new(to, rows.len()),
            None => Ahead::none(),
        }
    }

    /// Goes on to the next tile. The one at hand, of whose sums these rows are to be finished, is the one before.
    #[inline(always)]
    fn add(&mut self, tile: O::Open, rows: Range<usize>) {
        self.before = Some(Before { tile, done: rows.start, rows, strip: self.strip });
        self.turn = 1 - self.turn;
    }

    /// Finishes so many more rows of the tile before, if they are left.
    ///
    /// # Safety
    /// As for [`multiply`], and its sums were written.
    #[inline(always)]
    unsafe fn finish(&mut self, outcome: &O, most: usize) {
        let Some(Before { tile, rows, done, strip }) = &mut self.before else { return };
        let some = *done..rows.end.min(*done + most);
        if !some.is_empty() {
            // SAFETY: this function's own promise.
            unsafe {
                let sums = &self.rooms[1 - self.turn].first(rows.end)[some.clone()];
                outcome.finish(tile, some.start - rows.start, sums, &self.terms[*strip][some.clone()]);
            }
            *done = some.end;
        }
    }
}
