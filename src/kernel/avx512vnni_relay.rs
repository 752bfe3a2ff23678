//! AVX-512 VNNI: the rows of the tile before become bytes between the groups of a tile.

use super::relay::{Bytes, Open, Panel, ROWS, RelayFns, Rows, Strip, Terms, WIDTH};
use super::requantize::avx512::{finish_rows, relay_doubts, relay_panel, relay_row};
use super::vector512::{Vector, plus, store};
use crate::matrix::Encoding;
use crate::pack;
use std::arch::x86_64::*;
use walk::{End, Walk};

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

/// Rows by which all panels are multiplied before the next, at most.
const MOST: usize = 16 * ROWS;

/// The less each tile stores, the better: the sums of the one before are not stored before they are complete, and all that comes
/// after waits for them. And the less there is to do from one tile to the next, the sooner its multiplications begin.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply_as<const SIGNED: bool>(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]) {
    let Strip { tile, panels, terms, result, .. } = strip;
    let (lhs, len) = (tile.lhs, tile.rhs.len() / panels.len());
    let groups = pack::groups::<{ WIDTH / 16 }, 64>(&tile.rhs[..len]).len();
    let whole = (lhs.len() / 4).min(groups);
    let is_cut = lhs.len() % 4 > 0;
    assert!(lhs.runs() * whole + usize::from(is_cut) <= groups);
    assert!(whole > 0 && (lhs.runs() == 1 || !is_cut));
    assert!(tile.fresh && !tile.is_turned && open.count <= ROWS);
    let (start, pitch, step) = lhs.places();
    let (mut added, mut last) = (Added([0; MOST]), [[0; 4]; MOST]);
    let end = End::of(whole, is_cut);
    let mut walk = Walk {
        pitch,
        step,
        groups: whole,
        groups_of_last: whole - end.groups(),
        end,
        // Beyond all panels there may be a page that nobody knows where to find.
        ahead: if tile.reach < 2 * AHEAD { 0 } else { AHEAD },
        stride: result.stride,
        ..Walk::NONE
    };
    let count = lhs.count();
    // As equal as can be, as tiles are.
    let most = count.div_ceil(count.div_ceil(MOST).max(1));
    let groups_of_first = if lhs.runs() == 1 { walk.groups_of_last } else { whole };
    // Of how many rows the walk knows how they go beside these.
    let mut beside = 0;
    walk.beside(beside, groups_of_first);
    let mut first = 0;
    while first < count {
        let some = most.min(count - first);
        for (i, added) in added.0[..some.next_multiple_of(16)].as_chunks_mut().0.iter_mut().enumerate() {
            store(added, terms_from(terms, first + 16 * i), true);
        }
        if is_cut {
            for (last, line) in last.iter_mut().zip(lhs.part(first..first + some).iter()) {
                *last = super::tile::last_group(&line[whole * 4..]);
            }
        }
        let tiles = some.div_ceil(ROWS);
        let (short, longer) = (some / tiles, some % tiles);
        for (i, panel) in panels.clone().enumerate() {
            let (own, col) = (result.panels[panel].as_ptr(), strip.col + i * WIDTH);
            let mut before = if open.count > 0 { result.panels[open.panel].as_ptr() } else { own };
            walk.rhs = tile.rhs[i * len..].as_ptr();
            (walk.rows, walk.last) = (added.0.as_ptr(), last.as_ptr());
            let mut row = first;
            for number in 0..tiles {
                let rows = short + usize::from(number < longer);
                if open.count != beside {
                    walk.beside(open.count, groups_of_first);
                    beside = open.count;
                }
                walk.runs = lhs.runs();
                walk.line = start.wrapping_add(row * pitch);
                let [from, to] = room.each_mut().map(|rows| rows.as_mut_ptr().cast());
                (walk.sums, walk.to) = if open.turn == 0 { (from, to) } else { (to, from) };
                walk.bytes = result.of(open);
                // SAFETY: lines and the panel reach as far as was asserted; there are as many terms and last groups as rows; the
                // panels are written; and where the open rows go is this function's own promise.
                if !unsafe { run_rows::<SIGNED>(&mut walk, rows, own, before) } {
                    // SAFETY: as above.
                    unsafe { finish_again(result, open, room) }
                }
                *open = Open { turn: 1 - open.turn, count: rows, panel, row: strip.row + row, col };
                (walk.rows, walk.last) = (walk.rows.wrapping_add(rows), walk.last.wrapping_add(rows));
                (before, row) = (own, row + rows);
            }
        }
        first += some;
    }
}

/// As [`Walk::run`], of so many rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn run_rows<const SIGNED: bool>(
    walk: &mut Walk,
    rows: usize,
    panel: *const Panel,
    before: *const Panel,
) -> bool {
    // SAFETY: this function's own promise.
    unsafe {
        match rows {
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
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn finish(result: &Bytes, open: &Open, room: &[Rows; 2]) {
    assert!(open.count <= ROWS);
    if open.count > 0 {
        let mut walk = Walk {
            runs: 1,
            sums: room[open.turn].as_ptr().cast::<i32>().cast_mut(),
            bytes: result.of(open),
            stride: result.stride,
            ..Walk::NONE
        };
        walk.beside(open.count, 0);
        // SAFETY: where the open rows go is this function's own promise. Nothing is multiplied.
        unsafe {
            let panel = result.panels[open.panel].as_ptr();
            if !walk.run::<0, false>(panel, panel) {
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

/// What is added to rows, on cache lines of its own.
#[repr(align(64))]
struct Added([i32; MOST]);

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
