//! AVX-512 VNNI: how tiles of 12 × 32, and of 6 × 64, are multiplied in assembly, what it reads, and where it stores.

use super::Tile;
use super::relay::{ROWS, Terms, WIDTH};
use super::vector512::{Vector, plus};
use crate::caches::Caches;
use crate::matrix::{Encoding, Lines};
use crate::pack;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

#[macro_use]
mod apart;
#[macro_use]
mod bytes;
#[macro_use]
mod two;
#[macro_use]
mod assembly;
pub(super) mod shallow;

/// How far, as `vector_tile` says.
const AHEAD: usize = 8192;

/// So many rows have too few sums for the latency of a multiplication, which takes up to five steps where two may begin at a time.
const FEW: usize = 4;

/// Rows by which all panels are multiplied before the next, at most.
const MOST: usize = 64 * ROWS;

/// So many of these lines: fewer if they are long, for they are to stay near.
#[inline(always)]
pub(super) fn most(lhs: &Lines) -> usize {
    const SHORT: usize = 64;
    if lhs.len() * lhs.runs() <= SHORT { MOST } else { MOST / 4 }
}

/// How bytes of lines are read. (Numbers, for the assembly.)
pub(super) mod lhs {
    pub(in crate::kernel) const UNSIGNED: usize = 0;
    pub(in crate::kernel) const SIGNED: usize = 1;
    /// As unsigned ones, 128 more than the signed ones that lie there.
    pub(in crate::kernel) const TURNED: usize = 2;
}

/// One of [`lhs`].
#[inline(always)]
pub(super) fn lhs_of(tile: &Tile) -> usize {
    match tile.lhs_encoding {
        Encoding::S8 => lhs::SIGNED,
        Encoding::U8 if tile.is_turned => lhs::TURNED,
        Encoding::U8 => lhs::UNSIGNED,
    }
}

/// What becomes of sums. (Numbers, too: bytes of one of these, plus [`kind::PLAIN`] if what is added to products does not depend on
/// their signs.)
pub(super) mod kind {
    use crate::kernel::panel::Panel;

    /// All unsigned bytes, all signed ones, or some of either.
    pub(in crate::kernel) const UNSIGNED: usize = 0;
    pub(in crate::kernel) const SIGNED: usize = 1;
    pub(in crate::kernel) const SOME: usize = 2;
    const PLAIN: usize = 3;

    /// That of a panel, and of all others of its layer.
    #[inline(always)]
    pub(in crate::kernel) fn of(panel: &Panel) -> usize {
        let plain = if panel.signs == 0 { PLAIN } else { 0 };
        match (panel.last.least, panel.last.greatest) {
            (0, 255) => UNSIGNED + plain,
            (-128, 127) => SIGNED + plain,
            _ => SOME,
        }
    }

    pub(super) const fn has_signs(kind: usize) -> bool {
        kind < PLAIN
    }

    pub(super) const fn ends(kind: usize) -> usize {
        kind % PLAIN
    }
}

/// Evaluates an expression in which a number is a constant: one of those given.
macro_rules! by_number {
    ($number:expr, |$constant:ident| $then:expr, $($each:literal)*) => {
        match $number {
            $($each => {
                const $constant: usize = $each;
                $then
            })*
            _ => unreachable!("it is one of these"),
        }
    };
}

/// The same for how the bytes of a tile's lines are read.
macro_rules! by_lhs {
    ($tile:expr, |$lhs:ident| $then:expr) => {
        by_number!($crate::kernel::avx512vnni_walk::lhs_of($tile), |$lhs| $then, 0 1 2)
    };
}

/// The same for what becomes of the sums of a panel.
macro_rules! by_kind {
    ($panel:expr, |$kind:ident| $then:expr) => {
        by_number!($crate::kernel::avx512vnni_walk::kind::of($panel), |$kind| $then, 0 1 2 3 4)
    };
}

/// The same for how many rows a tile has.
macro_rules! by_rows {
    ($rows:expr, |$n:ident| $then:expr) => {
        by_number!($rows, |$n| $then, 1 2 3 4 5 6 7 8 9 10 11 12)
    };
}

/// The same for one that is multiplied by two panels.
macro_rules! by_rows_of_two {
    ($rows:expr, |$n:ident| $then:expr) => {
        by_number!($rows, |$n| $then, 1 2 3 4 5 6)
    };
}

pub(super) use {by_kind, by_lhs, by_number, by_rows, by_rows_of_two};

/// How many of a tile's panels are multiplied two by two, in tiles that read and write longer runs: if there are rows for more than one
/// of these, and the first cache holds two panels beside lines, or lines lie so that other tiles would be no higher. A last panel of
/// which half would be for nothing is not.
#[inline(always)]
pub(super) fn in_twos(tile: &Tile, panels: usize) -> usize {
    let is_near = || 2 * tile.of_panel::<WIDTH>(panels) <= Caches::get().l1 / 4 * 3;
    match panels > 1 && tile.lhs.count() > ROWS / 2 && (tile.lhs.together(ROWS) < ROWS || is_near()) {
        true => (tile.cols + WIDTH / 2 - 1) / (2 * WIDTH) * 2,
        false => 0,
    }
}

/// What the assembly reads, and counts down.
#[repr(C)]
pub(super) struct Walk {
    /// What each row adds.
    pub rows: *const i32,
    /// The tile's first line, how far the next one lies, and how far the next of `runs` runs.
    first: *const u8,
    pitch: usize,
    step: usize,
    runs: usize,
    /// The first line's run that is multiplied, and how many are left with it.
    line: *const u8,
    runs_left: usize,
    /// Groups of a run; of the first one; and of the last one, which may be the first, those that do not belong to the end.
    groups: usize,
    groups_of_first: usize,
    groups_of_last: usize,
    /// Rows before that go beside one group each, and beside two. Others go after the last group.
    beside_one: usize,
    beside_two: usize,
    after: usize,
    /// Groups of the first run that are left. (Where sums stay in registers, those of each run.)
    rest: usize,
    end: End,
    /// Whether a group that is cut may be read with the bytes that follow it, of all lines but the last: what the panel has beyond the
    /// depth is 0.
    reads_on: bool,
    /// If it is cut, the last group of each line.
    pub last: *const [u8; 4],
    pub rhs: *const u8,
    /// How far ahead the panel is fetched, and from it to the next one.
    ahead: usize,
    distance: usize,
    /// Where the sums go.
    pub to: *mut i32,
    /// The sums before, and where their bytes go.
    pub sums: *const i32,
    pub bytes: *mut u8,
    /// Bytes from one row of the result to the next.
    pub stride: usize,
    /// Tiles that are left, if sums or floats are the result.
    times: usize,
    /// Then, what the columns add to sums, or [`FloatColumns`](crate::kernel::FloatColumns), which begin with that; and a bit for each
    /// column that there is; of two panels, of the second one.
    pub of_cols: *const i32,
    pub mask: u32,
    /// Whether floats are confined, and to what; and what those of each row are multiplied by, or null.
    pub is_clamped: usize,
    pub clamp: [f32; 2],
    pub factors: *const f32,
    /// How often each row has what columns add, if rows differ, which add nothing else then; or null.
    pub often: *const i32,
    /// Whether the result is so large that where sums go is fetched before.
    pub is_far: usize,
}

/// What comes last, row by row: what a row has left is multiplied, and its sums are stored, while the next is multiplied. A processor
/// that stores 32 bytes at once takes four steps for a row, as many as two of its groups; if they came all together, the next tile
/// would wait behind them.
#[derive(Clone, Copy)]
#[repr(usize)]
enum End {
    /// Sums are only stored.
    None,
    /// The last two groups; of two panels, the last one.
    Whole,
    /// The last whole group, and one in which the depth ends; of two panels, that one.
    Cut,
}

impl Walk {
    /// That of no lines.
    pub(super) const NONE: Self = Self {
        rows: ptr::null(),
        first: ptr::null(),
        pitch: 0,
        step: 0,
        runs: 1,
        line: ptr::null(),
        runs_left: 1,
        groups: 0,
        groups_of_first: 0,
        groups_of_last: 0,
        beside_one: 0,
        beside_two: 0,
        after: 0,
        rest: 0,
        end: End::None,
        reads_on: false,
        last: ptr::null(),
        rhs: ptr::null(),
        ahead: 0,
        distance: 0,
        to: ptr::null_mut(),
        sums: ptr::null(),
        bytes: ptr::null_mut(),
        stride: 0,
        times: 0,
        of_cols: ptr::null(),
        mask: 0,
        is_clamped: 0,
        clamp: [0.0; 2],
        factors: ptr::null(),
        often: ptr::null(),
        is_far: 0,
    };

    /// That of a tile's lines, however many, and the first of its panels, which are so many bytes apart; or of them two by two.
    #[inline(always)]
    pub(super) fn of<const TWO: bool>(tile: &Tile, distance: usize) -> Self {
        let lhs = &tile.lhs;
        let [before, after] = lhs.left_out();
        let panel = &tile.rhs[..distance - (before + after) * WIDTH];
        let groups = pack::groups::<{ WIDTH / 16 }, 64>(panel).len();
        // Packed lines may be longer.
        let (whole, is_cut) = ((lhs.len() / 4).min(groups), !lhs.len().is_multiple_of(4));
        assert!(lhs.runs() * whole + usize::from(is_cut) <= groups);
        assert!(tile.fresh && whole > 0 && (lhs.runs() == 1 || !is_cut));
        let (end, at_end) = match (whole, is_cut) {
            (_, true) => (End::Cut, if TWO { 0 } else { 1 }),
            (_, false) if TWO => (End::Whole, 1),
            (1, false) => (End::None, 0),
            (_, false) => (End::Whole, 2),
        };
        let (first, pitch, step) = lhs.places();
        let groups_of_last = whole - at_end;
        let mut walk = Self {
            first,
            pitch,
            step,
            runs: lhs.runs(),
            groups: whole,
            groups_of_first: if lhs.runs() == 1 { groups_of_last } else { whole },
            groups_of_last,
            end,
            reads_on: is_cut && lhs.are_joined(),
            distance,
            ..Self::NONE
        };
        walk.go_to(tile.rhs, tile.reach);
        walk.beside(0);
        walk
    }

    /// Goes to a panel, from which on panels reach so far.
    #[inline(always)]
    pub(super) fn go_to(&mut self, panel: &[u8], reach: usize) {
        self.rhs = panel.as_ptr();
        // Beyond all panels there may be a page that nobody knows where to find.
        self.ahead = if reach < 2 * AHEAD { 0 } else { AHEAD };
    }

    /// Goes to a tile's lines.
    #[inline(always)]
    pub(super) fn start(&mut self, lhs: &Lines, lines: Range<usize>) {
        let (first, pitch, _) = lhs.places();
        self.first = first.wrapping_add(lines.start * pitch);
        if self.reads_on {
            self.end = if lines.end < lhs.count() { End::Whole } else { End::Cut };
        }
    }

    /// The lines of a stretch in tiles of at most so many, as equal as can be, and of one height together: where these begin, how high they
    /// are, and how many.
    #[inline(always)]
    pub(super) fn tiles(&self, lhs: &Lines, lines: &Range<usize>, most: usize) -> [(usize, usize, usize); 3] {
        let rows = lines.len();
        // To divide takes as long as much else of a small product.
        let (tiles, low, higher) = match rows <= most {
            true => (1, rows, 0),
            false => {
                let tiles = rows.div_ceil(most);
                (tiles, rows / tiles, rows % tiles)
            }
        };
        // The last one may end in another way.
        let apart = usize::from(self.ends_apart(lhs, lines.end));
        [(0, low + 1, higher), (higher * (low + 1), low, tiles - higher - apart), (rows - low, low, apart)]
    }

    /// Whether lines that end there end in another way than those before: the group that is cut is read with what follows of all but the
    /// last line.
    #[inline(always)]
    pub(super) fn ends_apart(&self, lhs: &Lines, end: usize) -> bool {
        self.reads_on && end == lhs.count()
    }

    /// Passes so many rows of an edge.
    #[inline(always)]
    pub(super) fn pass(&mut self, rows: usize) {
        (self.rows, self.last) = (self.rows.wrapping_add(rows), self.last.wrapping_add(rows));
    }

    /// So many rows before go beside the groups of the first run, as evenly as they can.
    #[inline(always)]
    pub(super) fn beside(&mut self, rows: usize) {
        let groups = self.groups_of_first;
        self.beside_two = groups.saturating_sub(rows).min(rows);
        self.beside_one = (groups - 2 * self.beside_two).min(rows - self.beside_two);
        self.after = rows - self.beside_one - self.beside_two;
        self.rest = groups - self.beside_one - 2 * self.beside_two;
    }
}

/// What rows of at most [`MOST`] have besides their lines, on cache lines of its own.
#[repr(C, align(64))]
pub(super) struct Edge {
    added: MaybeUninit<[i32; MOST]>,
    often: MaybeUninit<[i32; MOST]>,
    last: MaybeUninit<[[u8; 4]; MOST]>,
}

impl Edge {
    pub(super) const NONE: Self =
        Self { added: MaybeUninit::uninit(), often: MaybeUninit::uninit(), last: MaybeUninit::uninit() };

    /// Finds what these rows add, and the group in which their lines end, if the depth ends within a group, of those lines of which it
    /// is not read as whole ones are: numbers for the walk's `rows` and `last`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn find(&mut self, lhs: &Lines, terms: &Terms, rows: Range<usize>) -> (*const i32, *const [u8; 4]) {
        assert!(rows.len() <= MOST);
        let (added, last) = (self.added.as_mut_ptr().cast::<i32>(), self.last.as_mut_ptr().cast::<[u8; 4]>());
        for first in (0..rows.len()).step_by(16) {
            // SAFETY: there is room for whole vectors, for `MOST` is a multiple of 16.
            unsafe { _mm512_store_si512(added.wrapping_add(first).cast(), terms_from(terms, rows.start + first)) }
        }
        let rest = lhs.len() % 4;
        if rest > 0 {
            let needless = match (lhs.are_joined(), rows.end == lhs.count()) {
                (true, true) => rows.len().saturating_sub(ROWS),
                (true, false) => rows.len(),
                (false, _) => 0,
            };
            let last = last.wrapping_add(needless);
            for (i, line) in lhs.part(rows.start + needless..rows.end).iter().enumerate() {
                let end = u32::from_le_bytes(*line.last_chunk().expect("a whole group before"));
                // SAFETY: there are no more lines than places.
                unsafe { last.wrapping_add(i).write((end >> (32 - 8 * rest)).to_le_bytes()) }
            }
        }
        (added, last)
    }
}

impl Edge {
    /// How often these rows have what columns add, if rows differ, where so much more is given: numbers for the walk's `often`, or null.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn often(&mut self, given: Option<(&[i32], i32)>, rows: Range<usize>) -> *const i32 {
        let Some((given, more)) = given else { return ptr::null() };
        assert!(rows.len() <= MOST);
        let often = self.often.as_mut_ptr().cast::<i32>();
        for (first, given) in (0..).step_by(16).zip(given[rows].chunks(16)) {
            let less = _mm512_sub_epi32(load(given), _mm512_set1_epi32(more));
            // SAFETY: there is room for whole vectors, for `MOST` is a multiple of 16.
            unsafe { _mm512_store_si512(often.wrapping_add(first).cast(), less) }
        }
        often
    }
}

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
