//! Tiles of 32 rows and of short lines, multiplied a quarter of a step after another, between which rows of the tile before become
//! bytes. Done all at once, they are more instructions than the processor looks ahead: then registers of sums wait for it.

use super::beside::Bytes;
use super::registers::Step;
use super::short::ShortSteps;
use super::walk::{Copied, ROWS, Rows, Strip, Way};
use crate::kernel::Tile;
use crate::kernel::panel::Panel;
use crate::kernel::requantize::avx512::{ByKind, Pairs, by_kind};
use crate::matrix::Block;

/// Steps of all panels together that pay for getting ready for a strip; and steps of windows, of which few strips lie side by side.
const LEAST: usize = 2;
const LEAST_OF_WINDOWS: usize = 9;

/// How many strips of rows, and by how many panels, are multiplied so: the first ones, or none.
#[inline]
pub(super) fn most(tile: &Tile, way: Way, bytes: &Bytes) -> (usize, usize) {
    let (steps, panels) = way.short(tile);
    let count = tile.lhs.count();
    match steps * panels >= LEAST && bytes.are_rounded() {
        true if tile.lhs.runs() == 1 => (count / ROWS, panels),
        // All of them, of which the last may begin among those before, if an even number of lines is no more than there are.
        true if steps >= LEAST_OF_WINDOWS && (count > ROWS || count.is_multiple_of(2)) => {
            (count.div_ceil(ROWS), panels)
        }
        _ => (0, 0),
    }
}

/// How high so many strips of lines are: an even number.
fn height(tile: &Tile, strips: usize) -> usize {
    match tile.lhs.runs() {
        1 => ROWS,
        _ => tile.lhs.count().div_ceil(strips).next_multiple_of(2),
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
            unsafe { multiply_in::<TERMS, SIGNS, SIGNED, CONFINED>(tile, way, copied, bytes, most) }
        }
    }

    if most.0 > 0 && most.1 > 0 {
        // SAFETY: there is such a panel.
        let panel = unsafe { bytes.panel(0) };
        by_kind(To(tile, way, copied, bytes, most), panel, bytes.has_terms);
    }
}

/// A tile that was multiplied: its panel, the places of its rows, as many as there are sums, and which of two strips and rooms it has.
struct Before<'a> {
    panel: &'a Panel,
    to: Block<'a, u8>,
    rows: usize,
    strip: usize,
    room: usize,
}

/// # Safety
/// As for [`multiply`].
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi")]
unsafe fn multiply_in<const TERMS: bool, const SIGNS: bool, const SIGNED: bool, const CONFINED: bool>(
    tile: &Tile,
    way: Way,
    copied: Option<&mut Copied>,
    bytes: &Bytes,
    (count, panels): (usize, usize),
) {
    // SAFETY: this function's own promise, which a session is a part of; places and sums are those of whole tiles.
    unsafe {
        let mut strip = Strip::new(tile, way, copied);
        let (lines, height) = (tile.lhs.count(), height(tile, count));
        let (mut rooms, mut terms) = ([Rows::NONE; 2], [[0; ROWS]; 2]);
        let mut before = Before { panel: bytes.panel(0), to: bytes.place(0..0, 0), rows: 0, strip: 0, room: 1 };
        for some in way.groups(0..panels) {
            let mut steps = ShortSteps::none();
            for number in 0..count {
                let start = (number * height).min(lines - height);
                let rows = start..start + height;
                // The first step is loaded, unless another strip's was before it.
                if !steps.go_down() {
                    strip.set(tile.lhs.part(rows.clone()));
                    strip.find_steps(&tile.rhs[some.start * way.of_panel..], some.len(), &mut steps);
                    steps.first().load();
                }
                if TERMS {
                    bytes.fill(rows.clone(), &mut terms[number % 2]);
                }
                for panel in some.clone() {
                    let room = 1 - before.room;
                    let [even, odd] = &mut rooms;
                    let (now, then) = if room == 0 { (even, odd) } else { (odd, even) };
                    let (sums, of_rows) = (then.first(before.rows), &terms[before.strip]);
                    let mut pairs = Pairs::<TERMS, SIGNS, SIGNED, CONFINED>::new(
                        before.panel,
                        before.to.clone(),
                        sums,
                        of_rows,
                        Step::PARTS * steps.count(),
                    );
                    strip.begin(None);
                    for next in steps.following(some.end - panel, way.of_panel, number + 1 == count) {
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
                    let to = bytes.place(rows.clone(), panel);
                    before = Before { panel: bytes.panel(panel), to, rows: height, strip: number % 2, room };
                }
            }
        }
        let Before { panel, to, rows, strip, room } = before;
        let mut pairs =
            Pairs::<TERMS, SIGNS, SIGNED, CONFINED>::new(panel, to.clone(), rooms[room].first(rows), &terms[strip], 1);
        pairs.finish_due();
        pairs.end(to);
    }
}
