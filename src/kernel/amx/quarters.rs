//! Tiles of 32 rows and of short lines, multiplied a quarter of a step after another, between which rows of the tile before are
//! finished. Done all at once, that is more instructions than the processor looks ahead: then registers of sums wait for it.

use super::OF_PANEL;
use super::ahead::Ahead;
use super::cut::{Cuts, Places};
use super::registers::{Place, Step};
use super::session::STEP;
use super::short::ShortSteps;
use super::walk::{Copied, ROWS, Rows, Strip, Way};
use crate::kernel::Tile;
use crate::kernel::relay::WIDTH;
use std::arch::x86_64::{__m512i, _mm512_storeu_si512};
use std::ops::Range;

/// What tiles of whole panels become, two rows at a time. Rows are counted from the first result of all, and panels from the first of
/// the columns.
pub(super) trait InPairs {
    /// Whether lines are those of windows.
    const WINDOWS: bool;

    /// Whether rows add anything to their sums.
    const TERMS: bool;

    /// Whether it [gets ready](Self::begin) for some panels at a time.
    const BEGINS: bool;

    /// A tile that was multiplied: where its rows go, and what its panel has.
    type Tile;

    /// Its rows that are left.
    type Pairs<'p>: Due<Self::Tile>
    where
        Self: 'p;

    /// Gets ready for these panels, before any tile of theirs, and after all tiles of others are finished.
    fn begin(&mut self, _: Range<usize>) {}

    /// What is added to the sums of each row.
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]);

    /// What sums of these panels begin with in all rows, if not with zeros.
    fn added(&self, _: usize) -> Option<Place> {
        None
    }

    /// Where the rows of a panel go from this one on, if that is fetched before.
    fn fetched(&self, _row: usize, _panel: usize) -> Option<Place> {
        None
    }

    /// Opens the tile of these rows and this panel.
    ///
    /// # Safety
    /// There is such a panel, and nobody else uses the tile's part of the result.
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Self::Tile;

    /// The rows of a tile, which are finished beside something that is done in so many parts: as many after one as after another. How many
    /// bytes before the sums of each there are is told.
    ///
    /// # Safety
    /// As for [`multiply`]. The sums were written; those of each row lie within them where it is told, which is one after the other if lines
    /// are not windows.
    unsafe fn pairs<'p>(
        &'p self,
        tile: &'p Self::Tile,
        sums: &'p [[i32; WIDTH]],
        places: &'p [u32],
        terms: &'p [i32],
        parts: usize,
    ) -> Self::Pairs<'p>;
}

/// Rows of a tile of that type, which are finished two by two.
pub(super) trait Due<T> {
    /// Finishes those that are due after one more part.
    ///
    /// # Safety
    /// As for [`multiply`].
    unsafe fn finish_due(&mut self);

    /// Puts right what could not be finished so.
    ///
    /// # Safety
    /// As for [`multiply`].
    unsafe fn end(self, tile: &T);
}

/// What makes 32 numbers of the result of as many sums.
pub(super) trait Maker {
    /// Those of a row, of a tile's, in two vectors.
    ///
    /// # Safety
    /// As for [`multiply`].
    unsafe fn row(&self, sums: &[i32; WIDTH], row: usize) -> [__m512i; 2];
}

/// Rows of a whole panel, of which so many pairs are done.
pub(super) struct Made<'p, M, const PLACED: bool> {
    maker: M,
    to: Place,
    sums: &'p [[i32; WIDTH]],
    places: &'p [[u32; 2]],
    parts: usize,
    due: usize,
    done: usize,
}

impl<'p, M: Maker, const PLACED: bool> Made<'p, M, PLACED> {
    /// Of these sums, as [`InPairs::pairs`] takes them, beside so many parts, to be brought there.
    ///
    /// # Safety
    /// As for that.
    #[inline(always)]
    pub(super) unsafe fn new(maker: M, to: Place, sums: &'p [[i32; WIDTH]], places: &'p [u32], parts: usize) -> Self {
        assert!(places.len() <= sums.len());
        Self { maker, to, sums, places: places.as_chunks().0, parts, due: 0, done: 0 }
    }
}

impl<T, M: Maker, const PLACED: bool> Due<T> for Made<'_, M, PLACED> {
    #[inline(always)]
    unsafe fn finish_due(&mut self) {
        self.due += self.places.len();
        while self.due >= self.parts && self.done < self.places.len() {
            for i in 0..2 {
                let row = 2 * self.done + i;
                // SAFETY: as was promised to `new`, which asserts that there are as many sums.
                unsafe {
                    let sums = match PLACED {
                        true => &*self.sums.as_ptr().byte_add(self.places[self.done][i] as usize),
                        false => self.sums.get_unchecked(row),
                    };
                    let [first, second] = self.maker.row(sums, row);
                    _mm512_storeu_si512(self.to.at.cast(), first);
                    _mm512_storeu_si512(self.to.at.wrapping_add(WIDTH / 2).cast(), second);
                }
                self.to = self.to.below(1);
            }
            self.due -= self.parts;
            self.done += 1;
        }
    }

    #[inline(always)]
    unsafe fn end(self, _: &T) {}
}

/// Steps of all panels together that pay for getting ready for a strip; and steps of windows of a single row, of which few strips lie
/// side by side.
const LEAST: usize = 2;
const LEAST_OF_WINDOWS: usize = 9;

/// Of windows with gaps: bytes of a run. Of fewer, a step is too little to multiply beside what becomes bytes (24 lose, 48 gain).
const LEAST_RUN: usize = 32;

/// How many strips of rows, and by how many panels, are multiplied so: the first ones, or none. Of windows all or none; none of those
/// with gaps and of a single run.
#[inline]
pub(super) fn most(tile: &Tile, way: Way) -> (usize, usize) {
    let (steps, panels) = way.short(tile);
    let (lines, have_gaps) = (&tile.lhs, tile.lhs.gaps().is_some());
    let are_long_enough = match have_gaps {
        true => lines.len() >= LEAST_RUN,
        false => steps >= LEAST_OF_WINDOWS,
    };
    let pays = steps * panels >= LEAST;
    match lines.runs() {
        1 if pays && !have_gaps => (lines.count() / ROWS, panels),
        2.. if pays && are_long_enough && Cuts::of(lines).is_some() => (lines.count().div_ceil(ROWS), panels),
        _ => (0, 0),
    }
}

/// A tile that was multiplied: how many results it has, and which of two strips and rooms, and of three places of sums.
struct Before<T> {
    tile: T,
    results: usize,
    strip: usize,
    room: usize,
    place: usize,
}

/// Multiplies those strips by those panels.
///
/// # Safety
/// As for [`multiply`](super::beside::multiply).
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi")]
pub(super) unsafe fn multiply<O: InPairs>(
    tile: &Tile,
    way: Way,
    copied: Option<&mut Copied>,
    outcome: &mut O,
    (count, panels): (usize, usize),
) {
    // SAFETY: this function's own promise, which a session is a part of; places and sums are those of whole tiles.
    unsafe {
        let mut strip = Strip::new(tile, way, copied);
        let lines = if O::WINDOWS { tile.lhs } else { tile.lhs.part(0..count * ROWS) };
        let (_, pitch, _) = lines.places();
        let cuts = Cuts::of(&lines).expect("so many strips");
        let (mut rooms, mut terms) = ([Rows::NONE; 2], [[0; ROWS]; 2]);
        // Those of the strip before, of this one, and of the next, in turn.
        let mut places = [Places::ALL; 3];
        let mut before = Before { tile: outcome.open(0..0, 0), results: 0, strip: 0, room: 1, place: 0 };
        let [mut number, mut place] = [1, 1];
        for some in way.groups(0..panels) {
            if O::BEGINS {
                finish(outcome, &before, &rooms, &places, &terms);
                before.results = 0;
                outcome.begin(some.clone());
            }
            let mut steps = ShortSteps::none();
            let rhs = &tile.rhs[some.start * way.of_panel..];
            let (mut cut, mut is_loaded) = (cuts.from(O::WINDOWS, 0, &mut places[place]), false);
            while !cut.results().is_empty() {
                let next_place = if place == 2 { 0 } else { place + 1 };
                let next = cuts.from(O::WINDOWS, cut.results().end, &mut places[next_place]);
                let (is_last, down) = (next.results().is_empty(), cut.down_to(next, pitch));
                // The first step is loaded, unless another strip's was before it.
                if !is_loaded {
                    strip.set_cut(lines, cut);
                    strip.find_steps(rhs, some.len(), &mut steps);
                    steps.first().load();
                }
                if O::TERMS {
                    outcome.fill_terms(cut.results(), &mut terms[number % 2]);
                }
                for panel in some.clone() {
                    let room = 1 - before.room;
                    let [even, odd] = &mut rooms;
                    let (now, then) = if room == 0 { (even, odd) } else { (odd, even) };
                    let mut pairs = outcome.pairs(
                        &before.tile,
                        then.first(if before.results == 0 { 0 } else { ROWS }),
                        places_of::<O>(&places, before.place).of(before.results),
                        &terms[before.strip],
                        Step::PARTS * steps.count(),
                    );
                    let fetched = outcome.fetched(cut.results().start, panel);
                    let mut ahead = fetched.map(|to| Ahead::<{ OF_PANEL / STEP }>::new(to, cut.results().len()));
                    let share = ROWS.div_ceil(steps.count());
                    strip.begin(outcome.added(panel));
                    for next in steps.following(some.end - panel, way.of_panel, (!is_last).then_some(down)) {
                        if let Some(ahead) = &mut ahead {
                            ahead.fetch(share);
                        }
                        next.follow::<0>();
                        pairs.finish_due();
                        next.follow::<1>();
                        pairs.finish_due();
                        next.follow::<2>();
                        pairs.finish_due();
                        next.follow::<3>();
                        pairs.finish_due();
                    }
                    strip.end(now.place());
                    steps.go_on(way.of_panel);
                    pairs.end(&before.tile);
                    let (tile, results) = (outcome.open(cut.results(), panel), cut.results().len());
                    before = Before { tile, results, strip: number % 2, room, place };
                }
                is_loaded = !is_last && steps.go_down(strip.of_step(), down);
                (cut, place, number) = (next, next_place, number + 1);
            }
        }
        finish(outcome, &before, &rooms, &places, &terms);
    }
}

/// Those of a tile.
#[inline(always)]
fn places_of<O: InPairs>(places: &[Places; 3], place: usize) -> &Places {
    if O::WINDOWS { &places[place] } else { const { &Places::ALL } }
}

/// Finishes all rows of a tile, beside nothing.
///
/// # Safety
/// As for [`multiply`], and the tile's sums were written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi")]
unsafe fn finish<O: InPairs>(
    outcome: &O,
    before: &Before<O::Tile>,
    rooms: &[Rows; 2],
    places: &[Places; 3],
    terms: &[[i32; ROWS]; 2],
) {
    if before.results == 0 {
        return;
    }
    // SAFETY: this function's own promise.
    unsafe {
        let (sums, places) = (rooms[before.room].first(ROWS), places_of::<O>(places, before.place).of(before.results));
        let mut pairs = outcome.pairs(&before.tile, sums, places, &terms[before.strip], 1);
        pairs.finish_due();
        pairs.end(&before.tile);
    }
}
