//! Tiles of 32 rows and of short lines, multiplied a quarter of a step after another, between which rows of the tile before become
//! bytes. Done all at once, they are more instructions than the processor looks ahead: then registers of sums wait for it.

use super::beside::Bytes;
use super::cut::{Cuts, Places};
use super::registers::Step;
use super::short::ShortSteps;
use super::walk::{Copied, ROWS, Rows, Strip, Way};
use crate::kernel::Tile;
use crate::kernel::panel::Panel;
use crate::kernel::requantize::avx512::{ByKind, Pairs, by_kind};
use crate::matrix::Block;

/// Steps of all panels together that pay for getting ready for a strip; and steps of windows of a single row, of which few strips lie
/// side by side.
const LEAST: usize = 2;
const LEAST_OF_WINDOWS: usize = 9;

/// Of windows with gaps: bytes of a run. Of fewer, a step is too little to multiply beside what becomes bytes (24 lose, 48 gain).
const LEAST_RUN: usize = 32;

/// How many strips of rows, and by how many panels, are multiplied so: the first ones, or none. Of windows all or none; none of those
/// with gaps and of a single run.
#[inline]
pub(super) fn most(tile: &Tile, way: Way, bytes: &Bytes) -> (usize, usize) {
    let (steps, panels) = way.short(tile);
    let (lines, have_gaps) = (&tile.lhs, tile.lhs.gaps().is_some());
    let are_long_enough = match have_gaps {
        true => lines.len() >= LEAST_RUN,
        false => steps >= LEAST_OF_WINDOWS,
    };
    let pays = steps * panels >= LEAST && bytes.are_rounded();
    match lines.runs() {
        1 if pays && !have_gaps => (lines.count() / ROWS, panels),
        2.. if pays && are_long_enough && Cuts::of(lines).is_some() => (lines.count().div_ceil(ROWS), panels),
        _ => (0, 0),
    }
}

/// Multiplies those.
///
/// # Safety
/// As for [`multiply`](super::beside::multiply).
#[inline]
pub(super) unsafe fn multiply(tile: &Tile, way: Way, copied: Option<&mut Copied>, bytes: &Bytes, most: (usize, usize)) {
    struct To<'a>(&'a Tile<'a>, Way, Option<&'a mut Copied>, &'a Bytes<'a>, (usize, usize));

    impl ByKind for To<'_> {
        type Outcome = ();

        #[inline(always)]
        fn of<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(self) {
            let To(tile, way, copied, bytes, most) = self;
            // SAFETY: the promise made to who makes this.
            unsafe {
                match tile.lhs.runs() {
                    1 => multiply_in::<false, TERMS, SIGNS, SIGNED, CONFINED>(tile, way, copied, bytes, most),
                    _ => multiply_in::<true, TERMS, SIGNS, SIGNED, CONFINED>(tile, way, copied, bytes, most),
                }
            }
        }
    }

    if most.0 > 0 && most.1 > 0 {
        // SAFETY: there is such a panel.
        let panel = unsafe { bytes.panel(0) };
        by_kind(To(tile, way, copied, bytes, most), panel, bytes.has_terms);
    }
}

/// A tile that was multiplied: its panel, the places of its rows, how many results they are, and which of two strips and rooms, and of
/// three places of sums, it has.
struct Before<'a> {
    panel: &'a Panel,
    to: Block<'a, u8>,
    results: usize,
    strip: usize,
    room: usize,
    place: usize,
}

/// # Safety
/// As for [`multiply`].
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi")]
unsafe fn multiply_in<
    const WINDOWS: bool,
    const TERMS: bool,
    const SIGNS: bool,
    const SIGNED: bool,
    const CONFINED: bool,
>(
    tile: &Tile,
    way: Way,
    copied: Option<&mut Copied>,
    bytes: &Bytes,
    (count, panels): (usize, usize),
) {
    // SAFETY: this function's own promise, which a session is a part of; places and sums are those of whole tiles.
    unsafe {
        let mut strip = Strip::new(tile, way, copied);
        let lines = if WINDOWS { tile.lhs } else { tile.lhs.part(0..count * ROWS) };
        let (_, pitch, _) = lines.places();
        let cuts = Cuts::of(&lines).expect("so many strips");
        let (mut rooms, mut terms) = ([Rows::NONE; 2], [[0; ROWS]; 2]);
        // Those of the strip before, of this one, and of the next, in turn.
        let mut places = [Places::ALL; 3];
        let mut before =
            Before { panel: bytes.panel(0), to: bytes.place(0..0, 0), results: 0, strip: 0, room: 1, place: 0 };
        let [mut number, mut place] = [1, 1];
        for some in way.groups(0..panels) {
            let mut steps = ShortSteps::none();
            let rhs = &tile.rhs[some.start * way.of_panel..];
            let (mut cut, mut is_loaded) = (cuts.from::<WINDOWS>(0, &mut places[place]), false);
            while !cut.results().is_empty() {
                let next_place = if place == 2 { 0 } else { place + 1 };
                let next = cuts.from::<WINDOWS>(cut.results().end, &mut places[next_place]);
                let (is_last, down) = (next.results().is_empty(), cut.down_to(next, pitch));
                // The first step is loaded, unless another strip's was before it.
                if !is_loaded {
                    strip.set_cut(lines, cut);
                    strip.find_steps(rhs, some.len(), &mut steps);
                    steps.first().load();
                }
                if TERMS {
                    bytes.fill(cut.results(), &mut terms[number % 2]);
                }
                for panel in some.clone() {
                    let room = 1 - before.room;
                    let [even, odd] = &mut rooms;
                    let (now, then) = if room == 0 { (even, odd) } else { (odd, even) };
                    let of_before = if WINDOWS { &places[before.place] } else { const { &Places::ALL } };
                    let mut pairs = Pairs::<WINDOWS, TERMS, SIGNS, SIGNED, CONFINED>::new(
                        before.panel,
                        before.to.clone(),
                        then.first(if before.results == 0 { 0 } else { ROWS }),
                        of_before.of(before.results),
                        &terms[before.strip],
                        Step::PARTS * steps.count(),
                    );
                    strip.begin(None);
                    for next in steps.following(some.end - panel, way.of_panel, (!is_last).then_some(down)) {
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
                    pairs.end(before.to);
                    let (to, results) = (bytes.place(cut.results(), panel), cut.results().len());
                    before = Before { panel: bytes.panel(panel), to, results, strip: number % 2, room, place };
                }
                is_loaded = !is_last && steps.go_down(strip.of_step(), down);
                (cut, place, number) = (next, next_place, number + 1);
            }
        }
        let Before { panel, to, results, strip, room, place } = before;
        let places = if WINDOWS { &places[place] } else { const { &Places::ALL } };
        let (sums, terms, places) = (rooms[room].first(ROWS), &terms[strip], places.of(results));
        let mut pairs =
            Pairs::<WINDOWS, TERMS, SIGNS, SIGNED, CONFINED>::new(panel, to.clone(), sums, places, terms, 1);
        pairs.finish_due();
        pairs.end(to);
    }
}
