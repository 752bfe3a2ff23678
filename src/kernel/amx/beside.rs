//! Tiles whose sums become the result, each while the next one is multiplied.

use super::ahead::{self, Ahead};
use super::quarters;
use super::registers::Place;
use super::session::STEP;
use super::short::ShortSteps;
use super::walk::{Copied, ROWS, Room, Rows, Strip, Way, with_room};
use super::{LEAST, OF_PANEL, strips};
use crate::kernel::panel::Panel;
use crate::kernel::relay::{Strip as Job, WIDTH};
use crate::kernel::requantize::Rule;
use crate::kernel::requantize::avx512::Finisher;
use crate::kernel::vector512::{plus, put, resume, spread, store};
use crate::kernel::{FloatColumns, Tile, avx512vnni};
use crate::matrix::Block;
use crate::output::{FloatParts, Sums};
use std::ops::Range;

/// What sums become. Rows are counted from the first line of all, and panels from the first of the columns.
pub(super) trait Outcome {
    /// What is known of a tile that is multiplied.
    type Open;

    /// Whether strips may be multiplied in slices: then rows are finished beside the last one, which has to take as long.
    const IS_SLICED: bool;

    /// Whether rows are finished before a part of the next tile is multiplied, and so are there when its sums are to be kept, not after.
    const IS_BEFORE: bool;

    /// Whether short lines are multiplied by whole panels together.
    const TAKES_SHORT: bool;

    /// Multiplies the first strips by the first panels in a way of its own: how many.
    ///
    /// # Safety
    /// As for [`multiply`].
    #[inline(always)]
    unsafe fn multiply_first(&self, _: &Tile, _: Way, _: &mut Option<&mut Copied>) -> (usize, usize) {
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
    let (steps, short_panels) = way.short(tile);
    let short_end = if O::TAKES_SHORT && steps * short_panels >= LEAST { short_panels } else { 0 };
    let is_fetched = outcome.place(0, 0).is_some_and(|to| ahead::pays(&tile.lhs, to.pitch));
    let mut tiles = Tiles::<O>::none(is_fetched);
    for some in way.groups(panels) {
        // SAFETY: its sums were written, here and below.
        unsafe { tiles.finish(outcome, ROWS) }
        outcome.begin(some.clone());
        for rows in strips(tile.lhs.count(), ROWS).skip(some_strips.start).take(some_strips.len()) {
            strip.set(tile.lhs.part(rows.clone()));
            outcome.fill_terms(rows.clone(), tiles.next_terms(rows.len()));
            let short = if rows.len() == ROWS { short_end.saturating_sub(some.start).min(some.len()) } else { 0 };
            if short > 0 {
                let (panels, rhs) = (some.start..some.start + short, &tile.rhs[some.start * of_panel..]);
                // SAFETY: this function's own promise.
                unsafe { multiply_short(&mut strip, rhs, (rows.clone(), panels), outcome, &mut tiles, share) }
            }
            for slice in 0..if SLICED { strip.slices } else { 1 } {
                let is_last = !SLICED || slice + 1 == strip.slices;
                for panel in some.start + short..some.end {
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
                            tiles.add(outcome.open(rows.clone(), panel), rows.len());
                        }
                    }
                }
            }
        }
    }
    // SAFETY: as above.
    unsafe { tiles.finish(outcome, ROWS) }
}

/// Multiplies 32 short lines by these panels, the first of which begins there. Each panel's first step is loaded before the sums of the one
/// before are stored, which takes long.
///
/// # Safety
/// As for [`multiply`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_short<O: Outcome>(
    strip: &mut Strip,
    rhs: &[u8],
    (rows, panels): (Range<usize>, Range<usize>),
    outcome: &O,
    tiles: &mut Tiles<O>,
    share: usize,
) {
    let of_panel = strip.of_panel;
    let mut steps = ShortSteps::none();
    strip.find_steps(rhs, panels.len(), &mut steps);
    // SAFETY: this function's own promise.
    unsafe {
        steps.first().load();
        for panel in panels.clone() {
            let mut ahead = tiles.ahead(outcome, rows.clone(), panel);
            strip.begin(outcome.added(panel));
            for next in steps.following(panels.end - panel, of_panel, None) {
                next.multiply();
                ahead.fetch(share);
                tiles.finish(outcome, share);
            }
            tiles.finish(outcome, ROWS);
            strip.end(tiles.place());
            steps.go_on(of_panel);
            tiles.add(outcome.open(rows.clone(), panel), rows.len());
        }
    }
}

/// Rows that are finished together, at least.
const TOGETHER: usize = 4;

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

/// A tile whose rows are still to be finished, those that are not `done`.
struct Before<O: Outcome> {
    tile: O::Open,
    rows: usize,
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

    /// Goes on to the next tile. The one at hand, of so many rows, is the one before.
    #[inline(always)]
    fn add(&mut self, tile: O::Open, rows: usize) {
        self.before = Some(Before { tile, rows, done: 0, strip: self.strip });
        self.turn = 1 - self.turn;
    }

    /// Finishes so many more rows of the tile before, if they are left.
    ///
    /// # Safety
    /// As for [`multiply`], and its sums were written.
    #[inline(always)]
    unsafe fn finish(&mut self, outcome: &O, most: usize) {
        let Some(Before { tile, rows, done, strip }) = &mut self.before else { return };
        let some = *done..(*rows).min(*done + most);
        if !some.is_empty() {
            // SAFETY: this function's own promise.
            unsafe {
                let sums = &self.rooms[1 - self.turn].first(*rows)[some.clone()];
                outcome.finish(tile, some.start, sums, &self.terms[*strip][some.clone()]);
            }
            *done = some.end;
        }
    }
}

/// Bytes.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub job: &'a Job<'a>,
    pub has_terms: bool,
}

impl<'a> Bytes<'a> {
    /// # Safety
    /// There is such a panel.
    #[inline(always)]
    pub(super) unsafe fn panel(&self, panel: usize) -> &'a Panel {
        // SAFETY: this function's own promise, and that made to a relay.
        unsafe { self.job.result.panels[self.job.panels.start + panel].assume_init_ref() }
    }

    /// Whether numbers are rounded in 65536ths.
    #[inline(always)]
    pub(super) fn are_rounded(&self) -> bool {
        // SAFETY: there is a panel; no tile is without columns.
        !self.job.panels.is_empty() && !matches!(unsafe { self.panel(0) }.rule, Rule::Down)
    }

    /// Where rows of a panel go.
    ///
    /// # Safety
    /// There is such a panel, and nobody else uses this part of the result.
    #[inline(always)]
    pub(super) unsafe fn place(&self, rows: Range<usize>, panel: usize) -> Block<'a, u8> {
        let job = self.job;
        let col = job.col + panel * WIDTH;
        // SAFETY: this function's own promise.
        unsafe {
            let cols = col..col + self.panel(panel).cols();
            job.out.block(job.row + rows.start..job.row + rows.end, cols)
        }
    }

    /// What rows add.
    #[inline(always)]
    pub(super) fn fill(&self, rows: Range<usize>, terms: &mut [i32]) {
        terms.iter_mut().zip(rows).for_each(|(term, row)| *term = self.job.terms.of(row));
    }
}

impl<'a> Outcome for Bytes<'a> {
    type Open = Finisher<'a>;
    const IS_SLICED: bool = true;
    const TAKES_SHORT: bool = false;
    const IS_BEFORE: bool = false;

    #[inline(always)]
    unsafe fn multiply_first(&self, tile: &Tile, way: Way, copied: &mut Option<&mut Copied>) -> (usize, usize) {
        let most = quarters::most(tile, way, self);
        // SAFETY: this function's own promise.
        unsafe { quarters::multiply(tile, way, copied.as_deref_mut(), self, most) }
        most
    }

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        // SAFETY: this function's own promise.
        unsafe { self.panel(panel).cols() }
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        if self.has_terms {
            self.fill(rows, terms);
        }
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Finisher<'a> {
        // SAFETY: this function's own promise.
        unsafe { Finisher::new(self.panel(panel), self.has_terms, self.place(rows, panel)) }
    }

    #[inline(always)]
    unsafe fn finish(&self, open: &mut Finisher<'a>, _: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        open.finish(sums, terms);
    }
}

/// What columns add, and the places of the rows that are left.
pub(super) struct OfSums<'a>([i32; WIDTH], Block<'a, i32>);

impl<'a> Outcome for Sums<'a> {
    type Open = OfSums<'a>;
    const IS_SLICED: bool = true;
    const TAKES_SHORT: bool = false;
    const IS_BEFORE: bool = true;

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        self.panel::<WIDTH>(panel).cols.len()
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        let of_rows = self.terms(rows.end);
        terms.iter_mut().zip(rows).for_each(|(term, row)| *term = of_rows.of(row));
    }

    #[inline(always)]
    fn place(&self, row: usize, panel: usize) -> Option<Place> {
        Some(Place::of_rows(Sums::place(self, 0)).below(row).beside(panel))
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> OfSums<'a> {
        let part = self.panel::<WIDTH>(panel).part(rows.start);
        // SAFETY: this function's own promise.
        let to = unsafe { self.out.block(part.row..part.row + rows.len(), part.cols.clone()) };
        OfSums(part.of_cols(), to)
    }

    #[inline(always)]
    unsafe fn finish(&self, OfSums(of_cols, to): &mut OfSums<'a>, _: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        // SAFETY: this function's own promise.
        unsafe { add(of_cols, to, sums, terms) }
    }
}

/// Brings rows of sums to their places, and what columns and each row add.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn add(of_cols: &[i32; WIDTH], to: &mut Block<i32>, mut sums: &[[i32; WIDTH]], mut terms: &[i32]) {
    let of_cols = of_cols.as_chunks().0;
    let (left_added, right_added) = (resume(&of_cols[0]), resume(&of_cols[1]));
    // In a loop by itself, for it is mostly all there is.
    while let Some((four, others)) = sums.split_first_chunk::<{ TOGETHER }>()
        && let Some(to) = to.whole::<TOGETHER, WIDTH>()
    {
        let of_four = terms.split_off(..TOGETHER).expect("one for each row");
        for ((sums, term), to) in four.iter().zip(of_four).zip(to) {
            let ((sums, to), of_row) = ((sums.as_chunks().0, to.as_chunks_mut().0), spread(term.to_ne_bytes()));
            store(&mut to[0], plus(plus(resume(&sums[0]), left_added), of_row), true);
            store(&mut to[1], plus(plus(resume(&sums[1]), right_added), of_row), true);
        }
        sums = others;
    }
    for ((sums, term), to) in sums.iter().zip(terms).zip(to) {
        let (sums, of_row) = (sums.as_chunks().0, spread(term.to_ne_bytes()));
        let (left, right) = to.split_at_mut(to.len().min(WIDTH / 2));
        put(left, plus(plus(resume(&sums[0]), left_added), of_row));
        put(right, plus(plus(resume(&sums[1]), right_added), of_row));
    }
}

/// The rows' first and the columns of a tile, and what its columns have of their own.
pub(super) struct OfFloats(usize, Range<usize>, FloatColumns<WIDTH>);

impl Outcome for &FloatParts<'_> {
    type Open = OfFloats;
    const IS_SLICED: bool = false;
    const TAKES_SHORT: bool = true;
    const IS_BEFORE: bool = false;

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        self.cols::<WIDTH>(panel).len()
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        FloatParts::fill_terms(self, rows.start, terms);
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> OfFloats {
        OfFloats(rows.start, self.cols::<WIDTH>(panel), self.columns(panel))
    }

    #[inline(always)]
    unsafe fn finish(&self, open: &mut OfFloats, done: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        let OfFloats(first, cols, columns) = open;
        let place = (*first + done, cols.clone());
        // SAFETY: this function's own promise.
        unsafe { FloatParts::finish(self, place, columns, (sums, terms), avx512vnni::ROW.vectors) }
    }
}
