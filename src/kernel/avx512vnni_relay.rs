//! AVX-512 VNNI: the rows of the tile before become bytes between the groups of a tile.

use super::avx512vnni_walk::{Edge, MOST, Walk, by_lhs, by_number, by_rows, lhs};
use super::relay::{Bytes, Open, ROWS, RelayFns, Rows, Strip, WIDTH};
use super::requantize::avx512::{finish_rows, relay_doubts, relay_panel, relay_row};
use super::tiles;

pub(super) static RELAY: RelayFns = RelayFns { panel: relay_panel, multiply, finish, finish_rows };

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]) {
    // SAFETY: this function's own promise.
    by_lhs!(&strip.tile, |LHS| unsafe { multiply_as::<LHS>(strip, open, room) })
}

/// The less each tile stores, the better: the sums of the one before are not stored before they are complete, and all that comes
/// after waits for them. And the less there is to do from one tile to the next, the sooner its multiplications begin.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_as<const LHS: usize>(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]) {
    let Strip { tile, panels, terms, result, .. } = strip;
    let (lhs, len) = (&tile.lhs, tile.rhs.len() / panels.len());
    assert!(open.count <= ROWS);
    let mut edge = Edge::NONE;
    let mut walk = Walk::of(tile, panels.len());
    walk.stride = result.stride;
    // Of how many rows the walk knows how they go beside its groups.
    let mut beside = 0;
    for some in tiles(lhs.count(), MOST) {
        let of_rows = edge.find(lhs, terms, some.clone());
        for (i, panel) in panels.clone().enumerate() {
            let (own, col) = (result.panels[panel].as_ptr(), strip.col + i * WIDTH);
            let mut before = if open.count > 0 { result.panels[open.panel].as_ptr() } else { own };
            walk.rhs = tile.rhs[i * len..].as_ptr();
            (walk.rows, walk.last) = of_rows;
            for rows in tiles(some.len(), lhs.together(ROWS)) {
                let (row, count) = (some.start + rows.start, rows.len());
                walk.start(lhs, row);
                if open.count != beside {
                    walk.beside(open.count);
                    beside = open.count;
                }
                let [from, to] = room.each_mut().map(|rows| rows.as_mut_ptr().cast());
                (walk.sums, walk.to) = if open.turn == 0 { (from, to) } else { (to, from) };
                walk.bytes = result.of(open);
                // SAFETY: lines and the panel reach as far as `Walk::of` asserts; there are as many terms and last groups as rows;
                // the panels are written; and where the open rows go is this function's own promise.
                let is_sure = by_rows!(count, |N| unsafe { walk.run::<N, LHS>(own, before) });
                if !is_sure {
                    // SAFETY: as above.
                    unsafe { finish_again(result, open, room) }
                }
                *open = Open { turn: 1 - open.turn, count, panel, row: strip.row + row, col };
                walk.pass(count);
                before = own;
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn finish(result: &Bytes, open: &Open, room: &[Rows; 2]) {
    assert!(open.count <= ROWS);
    if open.count > 0 {
        let mut walk = Walk::NONE;
        walk.sums = room[open.turn].as_ptr().cast();
        (walk.bytes, walk.stride) = (result.of(open), result.stride);
        walk.beside(open.count);
        // SAFETY: where the open rows go is this function's own promise. Nothing is multiplied.
        unsafe {
            let panel = result.panels[open.panel].as_ptr();
            if !walk.run::<0, { lhs::UNSIGNED }>(panel, panel) {
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
    // SAFETY: this function's own promise.
    let panel = unsafe { result.panels[open.panel].assume_init_ref() };
    for (row, sums) in room[open.turn][..open.count].iter().enumerate() {
        if relay_doubts(panel, sums) {
            let bytes = relay_row(panel, sums);
            let to = result.of(open).wrapping_add(row * result.stride);
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
