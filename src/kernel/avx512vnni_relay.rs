//! AVX-512 VNNI: the rows of the tile before become bytes between the groups of a tile.

use super::relay::{Bytes, Open, ROWS, RelayFns, Rows, Strip, Terms, WIDTH};
use super::requantize::avx512::{finish_rows, relay_panel, relay_row};
use super::vector512::{Vector, plus, store};
use crate::matrix::Encoding;
use crate::pack;
use std::arch::x86_64::*;
use walk::Walk;

mod walk;

pub(super) static RELAY: RelayFns = RelayFns { panel: relay_panel, multiply, finish, finish_rows };

/// How far, as `vector_tile` says.
const AHEAD: usize = 8192;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]) {
    // SAFETY: this function's own promise, for each.
    unsafe {
        match strip.tile.lhs_encoding {
            Encoding::U8 => multiply_as::<false>(strip, open, room),
            Encoding::S8 => multiply_as::<true>(strip, open, room),
        }
    }
}

/// The less each tile stores, the better: the sums of the one before are not stored before they are complete, and all that comes
/// after waits for them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_as<const SIGNED: bool>(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]) {
    let Strip { tile, terms, result, .. } = strip;
    let panel = result.panels[strip.panel].as_ptr();
    let (lhs, groups) = (tile.lhs, pack::groups::<{ WIDTH / 16 }, 64>(tile.rhs).len());
    let whole = (lhs.len() / 4).min(groups);
    let is_cut = lhs.len() % 4 > 0;
    assert!(lhs.runs() * whole + usize::from(is_cut) <= groups && (lhs.runs() == 1 || whole > 0));
    assert!(tile.fresh && !tile.is_turned && open.count <= ROWS);
    let (start, pitch, step) = lhs.places();
    let mut last = [[0; 4]; ROWS];
    let mut walk = Walk {
        pitch,
        step,
        groups: whole,
        rhs: tile.rhs.as_ptr(),
        // Beyond all panels there may be a page that nobody knows where to find.
        ahead: if tile.reach < 2 * AHEAD { 0 } else { AHEAD },
        stride: result.stride,
        ..Walk::NONE
    };
    // As equal as can be.
    let tiles = lhs.count().div_ceil(ROWS);
    let (short, longer) = (lhs.count() / tiles.max(1), lhs.count() % tiles.max(1));
    let mut added = [Added([0; 16]), Added([0; 16])];
    store(&mut added[0].0, terms_from(terms, 0), true);
    let mut first = 0;
    for i in 0..tiles {
        let count = short + usize::from(i < longer);
        // Those of the next tile: to load what was just stored takes long.
        store(&mut added[1 - i % 2].0, terms_from(terms, first + count), true);
        if is_cut {
            for (last, line) in last.iter_mut().zip(lhs.part(first..first + count).iter()) {
                *last = super::tile::last_group(&line[whole * 4..]);
            }
            walk.last = last.as_ptr();
        }
        walk.beside_two = whole.saturating_sub(open.count).min(open.count);
        walk.beside_one = (whole - 2 * walk.beside_two).min(open.count - walk.beside_two);
        walk.after = open.count - walk.beside_one - walk.beside_two;
        walk.rest = whole - walk.beside_one - 2 * walk.beside_two;
        (walk.runs, walk.is_cut) = (lhs.runs(), is_cut.into());
        walk.line = start.wrapping_add(first * pitch);
        walk.rows = added[i % 2].0.as_ptr();
        walk.sums = room[open.turn].as_ptr().cast();
        walk.to = room[1 - open.turn].as_mut_ptr().cast();
        walk.bytes = result.of(open);
        let before = if open.count > 0 { result.panels[open.panel].as_ptr() } else { panel };
        // SAFETY: lines and the panel reach as far as was asserted, rows go to an array of as many, and where the open rows go is
        // this function's own promise.
        let sure = unsafe {
            match count {
                1 => walk.run::<1, SIGNED>(panel, before),
                2 => walk.run::<2, SIGNED>(panel, before),
                3 => walk.run::<3, SIGNED>(panel, before),
                4 => walk.run::<4, SIGNED>(panel, before),
                5 => walk.run::<5, SIGNED>(panel, before),
                6 => walk.run::<6, SIGNED>(panel, before),
                7 => walk.run::<7, SIGNED>(panel, before),
                8 => walk.run::<8, SIGNED>(panel, before),
                9 => walk.run::<9, SIGNED>(panel, before),
                10 => walk.run::<10, SIGNED>(panel, before),
                11 => walk.run::<11, SIGNED>(panel, before),
                12 => walk.run::<12, SIGNED>(panel, before),
                _ => unreachable!("a tile has 1 to ROWS lines"),
            }
        };
        // SAFETY: as above.
        unsafe { settle(result, open, room, sure) }
        *open = Open { turn: 1 - open.turn, count, panel: strip.panel, row: strip.row + first, col: strip.col };
        first += count;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn finish(result: &Bytes, open: &Open, room: &[Rows; 2]) {
    assert!(open.count <= ROWS);
    let mut walk = Walk {
        runs: 1,
        after: open.count,
        sums: room[open.turn].as_ptr().cast(),
        bytes: result.of(open),
        stride: result.stride,
        ..Walk::NONE
    };
    if open.count > 0 {
        // SAFETY: where the open rows go is this function's own promise. Nothing is multiplied.
        unsafe {
            let panel = result.panels[open.panel].as_ptr();
            let sure = walk.run::<0, false>(panel, panel);
            settle(result, open, room, sure);
        }
    }
}

/// Finishes the rows of the open tile that are in doubt: all that are not `sure`, of which the last has the lowest bit.
///
/// # Safety
/// Nobody else uses the places of the open tile, whose panel is there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn settle(result: &Bytes, open: &Open, room: &[Rows; 2], sure: u32) {
    let doubt = !sure & ((1 << open.count) - 1);
    if doubt != 0 {
        for row in (0..open.count).filter(|row| doubt >> (open.count - 1 - row) & 1 != 0) {
            // SAFETY: this function's own promise.
            unsafe {
                let panel = result.panels[open.panel].assume_init_ref();
                let bytes = relay_row(panel, &room[open.turn][row]);
                let to = result.of(open).wrapping_add(row * result.stride);
                to.copy_from_nonoverlapping(bytes.as_ptr(), panel.mask.count_ones() as usize);
            }
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

/// What is added to the rows of a tile, on cache lines of its own.
#[repr(align(64))]
struct Added([i32; 16]);

/// Those from row `first` on, as many as there are of 16.
#[inline]
#[target_feature(enable = "avx512f")]
fn terms_from(terms: &Terms, first: usize) -> Vector {
    let mut sums = _mm512_set1_epi32(terms.depth);
    if let Some(of_rows) = terms.sums.get(first..).filter(|rows| !rows.is_empty()) {
        sums = plus(sums, load(of_rows));
    }
    let products = _mm512_mullo_epi32(sums, _mm512_set1_epi32(terms.times));
    match terms.bias.get(first..).filter(|rows| !rows.is_empty()) {
        Some(of_rows) => plus(products, load(of_rows)),
        None => products,
    }
}

/// As many as there are of 16. Not of none: processors take long to load nothing where no memory is.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(numbers: &[i32]) -> Vector {
    let count = numbers.len().min(16);
    // SAFETY: what is loaded lies within the slice.
    unsafe { _mm512_maskz_loadu_epi32(((1u32 << count) - 1) as u16, numbers.as_ptr()) }
}
