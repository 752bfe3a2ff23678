//! AVX-512 VNNI: the rows of the tile before become bytes between the groups of a tile, or those that are still in registers do.

use super::avx512vnni_walk::{
    Edge, Walk, by_kind, by_lhs, by_number, by_rows, by_rows_of_two, in_twos, lhs, most, shallow,
};
use super::relay::{Bytes, Open, ROWS, RelayFns, Rows, Strip, TWICE_TWO, WIDTH};
use super::requantize::avx512::{relay_doubts, relay_row};
use super::tiles;
use std::ops::Range;

pub(super) static RELAY: RelayFns = RelayFns {
    together: TWICE_TWO / 2,
    halves: 512,
    least_of_halves: 2 * shallow::TOGETHER,
    takes_gaps: false,
    multiply,
    finish,
};

/// Lines of so many groups become bytes from registers: fewer than a tile has rows are too few for all of these to go beside them, and
/// with some more it still gains (measured with Zen 5 and Granite Rapids).
const SHALLOW: usize = 16;

/// Beside fewer rows than so many of each group the last ones had better not be multiplied by themselves.
const ROWS_OF_GROUP: usize = 3;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]) {
    // SAFETY: this function's own promise.
    let panel = unsafe { strip.result.panels[strip.panels.start].assume_init_ref() };
    // SAFETY: as above.
    by_kind!(panel, |KIND| by_lhs!(&strip.tile, |LHS| unsafe { multiply_as::<LHS, KIND>(strip, open, room) }))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_as<const LHS: usize, const KIND: usize>(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]) {
    let panels = strip.panels.len();
    let lhs = &strip.tile.lhs;
    let groups = lhs.runs() * lhs.len().div_ceil(4);
    let (rows, together) = (lhs.count(), shallow::TOGETHER);
    let is_even = rows.is_multiple_of(together) || rows >= ROWS_OF_GROUP * groups;
    // From this panel on they become bytes from registers: all of lines of few groups, or one of which half has no columns.
    let from_registers = match rows >= 2 * together {
        true if groups <= SHALLOW && is_even => 0,
        true if (1..=WIDTH / 2).contains(&(strip.tile.cols % WIDTH)) => panels - 1,
        _ => panels,
    };
    let twos = in_twos(&strip.tile, panels).min(from_registers);
    // SAFETY: this function's own promise.
    unsafe {
        if twos > 0 {
            multiply_by::<LHS, KIND, true>(strip, 0..twos, open, room);
        }
        if twos < from_registers {
            multiply_by::<LHS, KIND, false>(strip, twos..from_registers, open, room);
        }
        if from_registers < panels {
            multiply_shallow::<LHS, KIND>(strip, from_registers..panels, open, room);
        }
    }
}

/// By these panels, one by one or two by two.
///
/// The less each tile stores, the better: the sums of the one before are not stored before they are complete, and all that comes
/// after waits for them. And the less there is to do from one tile to the next, the sooner its multiplications begin.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_by<const LHS: usize, const KIND: usize, const TWO: bool>(
    strip: &Strip,
    panels: Range<usize>,
    open: &mut Open,
    room: &mut [Rows; 2],
) {
    let Strip { tile, terms, result, .. } = strip;
    let (lhs, len) = (&tile.lhs, tile.of_panel::<WIDTH>(strip.panels.len()));
    assert!(panels.end <= strip.panels.len() && (!TWO || panels.len().is_multiple_of(2)));
    if open.are_two != TWO {
        // SAFETY: this function's own promise.
        unsafe { finish(result, open, room) }
        *open = Open { turn: open.turn, are_two: TWO, ..Open::NONE };
    }
    assert!(open.count <= if TWO { ROWS / 2 } else { ROWS });
    let height = if TWO { ROWS / 2 } else { lhs.together(ROWS) };
    let mut edge = Edge::NONE;
    let mut walk = Walk::of::<TWO>(tile, len);
    walk.stride = result.stride;
    // Of how many rows the walk knows how they go beside its groups.
    let mut beside = 0;
    for some in tiles(lhs.count(), most(lhs)) {
        let of_rows = edge.find(lhs, terms, some.clone());
        for i in panels.clone().step_by(if TWO { 2 } else { 1 }) {
            let (panel, col) = (strip.panels.start + i, strip.col + i * WIDTH);
            let own = result.panels[panel..][..if TWO { 2 } else { 1 }].as_ptr().cast();
            let mut before = if open.count > 0 { result.panels[open.panel].as_ptr() } else { own };
            walk.rhs = tile.rhs[i * len..].as_ptr();
            (walk.rows, walk.last) = of_rows;
            for rows in tiles(some.len(), height) {
                let (row, count) = (some.start + rows.start, rows.len());
                walk.start(lhs, row..row + count);
                if open.count != beside {
                    walk.beside(open.count);
                    beside = open.count;
                }
                let [from, to] = room.each_mut().map(|rows| rows.as_mut_ptr().cast());
                (walk.sums, walk.to) = if open.turn == 0 { (from, to) } else { (to, from) };
                walk.bytes = result.of(open);
                // SAFETY: lines and panels reach as far as `Walk::of` asserts; there are as many terms and last groups as rows;
                // the panels are written; and where the open rows go is this function's own promise.
                let is_sure = unsafe {
                    match TWO {
                        true => by_rows_of_two!(count, |N| walk.run_two::<N, LHS, KIND>(own, before)),
                        false => by_rows!(count, |N| walk.run::<N, LHS, KIND>(own, before)),
                    }
                };
                if !is_sure {
                    // SAFETY: as above.
                    unsafe { finish_again(result, open, room) }
                }
                *open = Open { turn: 1 - open.turn, count, panel, are_two: TWO, row: strip.row + row, col };
                walk.pass(count);
                before = own;
            }
        }
    }
}

/// By these panels, one by one; nothing is open then.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_shallow<const LHS: usize, const KIND: usize>(
    strip: &Strip,
    panels: Range<usize>,
    open: &mut Open,
    room: &mut [Rows; 2],
) {
    let Strip { tile, terms, result, .. } = strip;
    let (lhs, len) = (&tile.lhs, tile.of_panel::<WIDTH>(strip.panels.len()));
    // SAFETY: this function's own promise.
    unsafe { finish(result, open, room) }
    *open = Open::NONE;
    let mut edge = Edge::NONE;
    let mut walk = Walk::of::<false>(tile, len);
    walk.stride = result.stride;
    for some in tiles(lhs.count(), most(lhs)) {
        let (of_rows, lasts) = edge.find(lhs, terms, some.clone());
        for i in panels.clone() {
            let panel = strip.panels.start + i;
            let of_panel = result.panels[panel].as_ptr();
            // SAFETY: the panels are written, by this function's own promise.
            let is_wide = unsafe { (*of_panel).cols() } > WIDTH / 2;
            let together = if is_wide { shallow::TOGETHER } else { 2 * shallow::TOGETHER };
            // The last rows go apart if they are read in another way, or begin among those before.
            let is_apart = !some.len().is_multiple_of(together) || walk.ends_apart(lhs, some.end);
            let apart = if is_apart { some.len() - together } else { some.len() };
            walk.rhs = tile.rhs[i * len..].as_ptr();
            for rows in [0..apart.next_multiple_of(together), apart..some.len()] {
                let (first, count) = (some.start + rows.start, rows.len() / together);
                let terms = (of_rows.wrapping_add(rows.start), lasts.wrapping_add(rows.start));
                walk.start_shallow(lhs, first..some.start + rows.end, terms);
                let mut at =
                    Open { count: together, panel, row: strip.row + first, col: strip.col + i * WIDTH, ..Open::NONE };
                walk.bytes = result.of(&at);
                let mut left = count;
                while left > 0 || !walk.sums.is_null() {
                    walk.to = room.as_mut_ptr().cast();
                    // SAFETY: lines and panels reach as far as `Walk::of` asserts; there are as many terms and last groups as rows;
                    // the panels are written; and where the rows go is this function's own promise.
                    let (then, is_sure) = unsafe {
                        match is_wide {
                            true => walk.run_shallow::<LHS, KIND, true>(of_panel, left),
                            false => walk.run_shallow::<LHS, KIND, false>(of_panel, left),
                        }
                    };
                    left = then;
                    if !is_sure {
                        let open = usize::from(!walk.sums.is_null());
                        at.row = strip.row + first + (count - left - open - 1) * together;
                        // SAFETY: as above.
                        unsafe { finish_again(result, &at, room) }
                    }
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn finish(result: &Bytes, open: &Open, room: &[Rows; 2]) {
    assert!(open.count <= if open.are_two { ROWS / 2 } else { ROWS });
    if open.count > 0 {
        let mut walk = Walk::NONE;
        walk.sums = room[open.turn].as_ptr().cast();
        (walk.bytes, walk.stride) = (result.of(open), result.stride);
        walk.beside(open.count);
        // SAFETY: where the open rows go is this function's own promise, and that their panels are written. Nothing is multiplied.
        unsafe {
            let panel = result.panels[open.panel].assume_init_ref();
            let is_sure = by_kind!(panel, |KIND| match open.are_two {
                true => walk.run_two::<0, { lhs::UNSIGNED }, KIND>(panel, panel),
                false => walk.run::<0, { lhs::UNSIGNED }, KIND>(panel, panel),
            });
            if !is_sure {
                finish_again(result, open, room);
            }
        }
    }
}

/// Finishes those rows of the open tile that are in doubt.
///
/// # Safety
/// Nobody else uses the places of the open tile, whose panel is there.
#[cold]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn finish_again(result: &Bytes, open: &Open, room: &[Rows; 2]) {
    let together = if open.are_two { 2 } else { 1 };
    for (part, sums) in room[open.turn][..open.count * together].iter().enumerate() {
        let (row, i) = (part / together, part % together);
        // SAFETY: this function's own promise.
        let panel = unsafe { result.panels[open.panel + i].assume_init_ref() };
        if relay_doubts(panel, sums) {
            let bytes = relay_row(panel, sums);
            let to = result.of(open).wrapping_add(row * result.stride + i * WIDTH);
            // SAFETY: this function's own promise.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), panel.mask.count_ones() as usize) }
        }
    }
}

impl Bytes<'_> {
    /// Where an open tile's go.
    #[inline]
    fn of(&self, open: &Open) -> *mut u8 {
        self.out.wrapping_add(open.row * self.stride + open.col)
    }
}
