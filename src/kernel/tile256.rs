//! Tiles of 6 × 16 in vectors of 256 bits: 12 registers of sums, 2 of a panel, and 1 or 2 of a line. (Of four rows, sums that are the
//! result are multiplied in tiles of 4 × 24: see `three`.)
//!
//! The loop over groups is in assembly: only four groups at a time leave the multipliers to multiplications, and the compiler, which
//! moves loads of the next group up, would run out of registers.

use super::relay::Terms;
use super::results::{Columns, Results};
use super::tile::last_group;
use super::vector256::{Vector, plus, prefetch, put, resume, spread, store, zero};
use super::{Tile, avx2_narrow, tiles_of};
use crate::matrix::Lines;
use crate::output::Sums;
use std::arch::asm;

pub(super) const ROWS: usize = 6;
const WIDTH: usize = 16;
const LANES: usize = 8;

/// How groups are multiplied. (Numbers, for the assembly.)
pub(super) mod dot {
    /// Pairs of numbers of 16 bits, of which a panel's lie there as bytes.
    pub(in crate::kernel) const PAIRS: usize = 0;
    /// Bytes by fours, in the VEX form of `vpdpbusd`: an LHS of unsigned ones, or of signed ones, or of unsigned ones that lie there as
    /// signed ones, 128 less.
    pub(in crate::kernel) const UNSIGNED: usize = 1;
    pub(in crate::kernel) const SIGNED: usize = 2;
    pub(in crate::kernel) const TURNED: usize = 3;
    /// Bytes by fours, in pairs of which 16 bits hold the sums: an LHS of unsigned ones, or of signed ones.
    pub(in crate::kernel) const NARROW_UNSIGNED: usize = 4;
    pub(in crate::kernel) const NARROW_SIGNED: usize = 5;
    /// The same where 16 bits hold sums of windows, or not even pairs: sums of 32 bits are in memory then.
    pub(in crate::kernel) const WINDOWS_UNSIGNED: usize = 6;
    pub(in crate::kernel) const WINDOWS_SIGNED: usize = 7;

    /// Whether groups are bytes by fours, whose products are added to the sums at once.
    pub(in crate::kernel) const fn is_by_fours(dot: usize) -> bool {
        matches!(dot, UNSIGNED | SIGNED | TURNED)
    }

    pub(in crate::kernel) const fn has_windows(dot: usize) -> bool {
        dot >= WINDOWS_UNSIGNED
    }

    /// How groups that are windows are multiplied.
    pub(in crate::kernel) const fn single(dot: usize) -> usize {
        match dot {
            WINDOWS_UNSIGNED => NARROW_UNSIGNED,
            WINDOWS_SIGNED => NARROW_SIGNED,
            _ => dot,
        }
    }
}

/// What widens sums of 16 bits. It is loaded with each of them, so it lies in one cache line.
static ONES: Ones = Ones([1; 16]);
#[repr(align(32))]
#[allow(dead_code, reason = "only assembly reads it")]
struct Ones([i16; 16]);

/// What turns signed bytes into unsigned ones, 128 more.
static HIGH_BITS: HighBits = HighBits([128; 32]);
#[repr(align(32))]
#[allow(dead_code, reason = "only assembly reads it")]
struct HighBits([u8; 32]);

/// By how many bits four bytes are shifted of which only the last so many count, if not all.
static SHIFTS: [[u64; 2]; 4] = [[0, 0], [24, 0], [16, 0], [8, 0]];

/// So many rows have too few sums for the latency of a multiplication: each second group is summed apart, in registers that other
/// rows have.
const APART: usize = 3;

/// Beside so few rows all of a next panel that comes from memory is fetched. More are multiplied so long that half of it does.
const ALL_FETCHED: usize = 4;

/// The same, where windows would fetch nothing else. (The first of two tiles does.)
pub(super) const ALL_FETCHED_BY_WINDOWS: usize = 2 * ROWS;

/// Whether a tile of so many rows might do that here: beside one row nothing was gained.
const fn fetches_all(rows: usize) -> bool {
    rows > 1 && rows <= ALL_FETCHED
}

/// The places of a result that spans so many bytes are fetched before a tile is multiplied: they come from beyond the L2, or nearly so,
/// and some processors write line by line, and would wait for each.
const FAR: usize = 128 << 10;

/// Evaluates an expression in which the number of rows is a constant.
macro_rules! by_rows {
    ($rows:expr, |$n:ident| $then:expr) => {
        by_rows!($rows, |$n| $then, 1 2 3 4 5 6)
    };
    ($rows:expr, |$n:ident| $then:expr, $($each:literal)*) => {
        match $rows {
            $($each => {
                const $n: usize = $each;
                $then
            })*
            _ => unreachable!("a tile has 1 to 6 rows"),
        }
    };
}

mod three;

/// The same for each row that there is, with what is given: its number, the registers of its sums, where its group lies, and whether
/// the depth ends within that: then it is read from four bytes that end there.
macro_rules! rows {
    ($at:literal) => {
        rows!($at, "0")
    };
    ($at:literal, $cut:literal) => {
        concat!(
            dot!("0", "ymm0", "ymm1", "{a}", $at, $cut),
            dot!("1", "ymm2", "ymm3", "{a} + {pitch}", $at, $cut),
            dot!("2", "ymm4", "ymm5", "{a} + 2*{pitch}", $at, $cut),
            dot!("3", "ymm6", "ymm7", "{b}", $at, $cut),
            dot!("4", "ymm8", "ymm9", "{b} + {pitch}", $at, $cut),
            dot!("5", "ymm10", "ymm11", "{b} + 2*{pitch}", $at, $cut),
        )
    };
}

/// The same for the second groups of few rows.
macro_rules! rows_apart {
    ($at:literal) => {
        concat!(
            ".if {ROWS} <= {APART}\n",
            dot!("0", "ymm6", "ymm7", "{a}", $at, "0"),
            dot!("1", "ymm8", "ymm9", "{a} + {pitch}", $at, "0"),
            dot!("2", "ymm10", "ymm11", "{a} + 2*{pitch}", $at, "0"),
            ".else\n",
            rows!($at),
            ".endif\n",
        )
    };
}

/// A group of a line times that of the panel. `vpdpbusd` takes the unsigned bytes first. Where products are added by themselves, they
/// are, after both vectors' multiplications: so neither waits for the other.
#[rustfmt::skip]
macro_rules! dot {
    ($row:literal, $first:literal, $second:literal, $line:literal, $at:literal, $cut:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpbroadcastd ymm14, dword ptr [", $line, " + ", $at, "]\n",
            ".if ", $cut, "\n",
            "vpsrld ymm14, ymm14, xmmword ptr [{shift}]\n",
            ".endif\n",
            ".if {DOT} == {TURNED}\n",
            "vpxor ymm14, ymm14, ymm15\n",
            ".endif\n",
            ".if {DOT} == {PAIRS}\n",
            "vpmaddwd ymm15, ymm14, ymm12\n",
            ".if {WIDE}\n",
            "vpmaddwd ymm14, ymm14, ymm13\n",
            ".endif\n",
            added!($first, $second),
            ".elseif {DOT} >= {NARROW_UNSIGNED}\n",
            ".if {DOT} == {NARROW_SIGNED}\n",
            "vpmaddubsw ymm15, ymm12, ymm14\n",
            ".else\n",
            "vpmaddubsw ymm15, ymm14, ymm12\n",
            ".endif\n",
            ".if {WIDE}\n",
            ".if {DOT} == {NARROW_SIGNED}\n",
            "vpmaddubsw ymm14, ymm13, ymm14\n",
            ".else\n",
            "vpmaddubsw ymm14, ymm14, [{rhs} + 16*", $at, " + 32]\n",
            ".endif\n",
            ".endif\n",
            widened!("ymm15"),
            ".if {WIDE}\n",
            widened!("ymm14"),
            ".endif\n",
            added!($first, $second),
            ".elseif {DOT} == {SIGNED}\n",
            "{{vex}} vpdpbusd ", $first, ", ymm12, ymm14\n",
            ".if {WIDE}\n",
            "{{vex}} vpdpbusd ", $second, ", ymm13, ymm14\n",
            ".endif\n",
            ".else\n",
            "{{vex}} vpdpbusd ", $first, ", ymm14, ymm12\n",
            ".if {WIDE}\n",
            "{{vex}} vpdpbusd ", $second, ", ymm14, ymm13\n",
            ".endif\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// Sums of 16 bits, added by neighbours. What does so has the register of the panel's second half, if that can be multiplied from
/// memory: that is read half as often. Otherwise only few rows leave one.
#[rustfmt::skip]
macro_rules! widened {
    ($sums:literal) => {
        concat!(
            ".if {DOT} == {NARROW_UNSIGNED}\n",
            "vpmaddwd ", $sums, ", ", $sums, ", ymm13\n",
            ".elseif {ROWS} < {APART}\n",
            "vpmaddwd ", $sums, ", ", $sums, ", ymm5\n",
            ".else\n",
            "vpmaddwd ", $sums, ", ", $sums, ", [rip + {ones}]\n",
            ".endif\n",
        )
    };
}

/// A row's products, added to its sums.
#[rustfmt::skip]
macro_rules! added {
    ($first:literal, $second:literal) => {
        concat!(
            "vpaddd ", $first, ", ", $first, ", ymm15\n",
            ".if {WIDE}\n",
            "vpaddd ", $second, ", ", $second, ", ymm14\n",
            ".endif\n",
        )
    };
}

/// A group of the panel.
#[rustfmt::skip]
macro_rules! panel {
    ($group:literal) => {
        concat!(
            ".if {DOT} == {PAIRS}\n",
            "vpmovsxbw ymm12, xmmword ptr [{rhs} + 32*", $group, "]\n",
            ".if {WIDE}\n",
            "vpmovsxbw ymm13, xmmword ptr [{rhs} + 32*", $group, " + 16]\n",
            ".endif\n",
            ".else\n",
            "vmovdqu ymm12, [{rhs} + 64*", $group, "]\n",
            ".if {WIDE} && {DOT} != {NARROW_UNSIGNED}\n",
            "vmovdqu ymm13, [{rhs} + 64*", $group, " + 32]\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// Four groups, and what is fetched beside them.
#[rustfmt::skip]
macro_rules! fours {
    () => {
        concat!(
            "prefetcht1 [{fetched}]\n",
            ".if {FETCHES_ALL} || {DOT} != {PAIRS}\n",
            "prefetcht1 [{fetched} + 64]\n",
            ".endif\n",
            ".if {FETCHES_ALL} && {DOT} != {PAIRS}\n",
            "prefetcht1 [{fetched} + 128]\n",
            "prefetcht1 [{fetched} + 192]\n",
            ".endif\n",
            "add {fetched}, {distance}\n",
            panel!("0"), rows!("0"),
            panel!("1"), rows_apart!("4"),
            panel!("2"), rows!("8"),
            panel!("3"), rows_apart!("12"),
            "add {a}, 16\n",
            ".if {ROWS} > 3\n",
            "add {b}, 16\n",
            ".endif\n",
            "add {rhs}, 4*{GROUP}\n",
        )
    };
}

/// One group.
#[rustfmt::skip]
macro_rules! one {
    () => {
        concat!(panel!("0"), rows!("0"), "add {a}, 4\n", "add {b}, 4\n", "add {rhs}, {GROUP}\n")
    };
}

/// One in which lines end, of so many bytes.
#[rustfmt::skip]
macro_rules! last {
    ($cut:literal) => {
        concat!("lea {a}, [{a} + ", $cut, " - 4]\n", "lea {b}, [{b} + ", $cut, " - 4]\n", panel!("0"), rows!("0", "1"))
    };
}

pub(super) mod sums;
mod walk;
use walk::OfFloats;

/// As a [`TileFn`](super::TileFn), of however many lines: what they have in common is found once.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn multiply<const DOT: usize>(tile: &Tile, acc: &mut [i32]) {
    match tile.cols {
        0..=LANES => multiply_by::<1, DOT>(tile, acc),
        _ => multiply_by::<2, DOT>(tile, acc),
    }
}

/// By so many vectors of the panel.
#[target_feature(enable = "avx2")]
fn multiply_by<const VECTORS: usize, const DOT: usize>(tile: &Tile, acc: &mut [i32]) {
    let lhs = &tile.lhs;
    let groups = Groups::of::<DOT>(lhs, tile.rhs.len());
    let place = tile.sums.as_ref().map(|sums| Place::new(sums, lhs.count()));
    if const { !dot::has_windows(DOT) } && tile.fresh && lhs.runs() == 1 && groups.whole > 0 {
        let whole = match &place {
            None => Some(&Place::of_sums(&mut acc[..lhs.count() * WIDTH])),
            Some(place) => Some(place).filter(|place| place.cols == VECTORS * LANES),
        };
        if let Some(place) = whole {
            let lines = (lhs, tile.height, lhs.count());
            let of_panel = |_| (tile.rhs.as_ptr(), place.of_cols, Next::after(tile.rhs, tile.reach, tile));
            // SAFETY: lines and panel have as many groups, as was asserted; the place is that of these rows, and by the promise of a
            // `TileFn` this tile's, or it is the room.
            return unsafe {
                walk::multiply::<VECTORS, DOT, _>(lines, groups, (place, OfFloats::NONE), 0..1, of_panel)
            };
        }
    }
    let mut next = Next::after(tile.rhs, tile.reach, tile);
    for rows in tiles_of(lhs.count(), tile.height) {
        let (lines, first) = (lhs.part(rows.clone()), rows.start);
        by_rows!(rows.len(), |N| {
            let mut c = match &place {
                None => [[zero(); 2]; ROWS],
                Some(place) => {
                    if place.is_far {
                        fetch(place.to.wrapping_add(first * place.stride), place.stride, N, place.cols);
                    }
                    place.begin::<N>(first)
                }
            };
            // SAFETY: these are so many lines, and they and the panel have as many groups, as was asserted.
            unsafe { grow_by_runs::<N, VECTORS, DOT>(&mut c, &lines, groups, tile, &mut next) }
            if N <= APART {
                for i in 0..N {
                    c[i] = [plus(c[i][0], c[i + APART][0]), plus(c[i][1], c[i + APART][1])];
                }
            }
            if place.is_none() || !tile.fresh {
                let acc = &mut acc[first * WIDTH..].as_chunks_mut::<WIDTH>().0[..N];
                for (acc, c) in acc.iter_mut().zip(&mut c) {
                    for (acc, c) in acc.as_chunks_mut::<LANES>().0.iter_mut().zip(c).take(VECTORS) {
                        match place {
                            None => store(acc, *c, tile.fresh),
                            Some(_) => *c = plus(*c, resume(acc)),
                        }
                    }
                }
            }
            if let Some(place) = &place {
                // SAFETY: these rows are among those of the place, and by the promise of a `TileFn` this tile's.
                unsafe { place.put::<N, VECTORS>(first, &c) }
            }
        })
    }
}

/// Of each run of a line so many whole groups are multiplied, and after the last run one of so many bytes.
#[derive(Clone, Copy)]
struct Groups {
    whole: usize,
    cut: usize,
}

impl Groups {
    /// Of lines that are as deep as a panel of so many bytes, or longer, as packed ones may be.
    #[inline(always)]
    fn of<const DOT: usize>(lhs: &Lines, panel_len: usize) -> Self {
        let groups = panel_len / of_group(DOT);
        let whole = (lhs.len() / 4).min(groups);
        let cut = if whole < groups { lhs.len() % 4 } else { 0 };
        assert!(lhs.runs() * whole + usize::from(cut > 0) <= groups);
        assert!(lhs.runs() == 1 || lhs.runs() > 1 && cut == 0, "only a depth that is one run ends within a group");
        Self { whole, cut }
    }
}

/// What is left to be fetched of the next panel, half of it beside one tile, or all if it comes from memory and there are few rows: it
/// would be late if it came from beyond the L2 when it is multiplied.
pub(super) struct Next {
    pub at: *const u8,
    end: *const u8,
    /// All rows of the product, if panels come from memory.
    rows: Option<usize>,
}

impl Next {
    pub(super) const fn nothing() -> Self {
        Self { at: std::ptr::null(), end: std::ptr::null(), rows: None }
    }

    /// Beside a panel of a tile, from which on there are so many bytes of panels.
    #[inline(always)]
    fn after(panel: &[u8], reach: usize, tile: &Tile) -> Self {
        let end = panel.as_ptr_range().end;
        // Beyond all panels there may be a page that nobody knows where to find.
        let len = if reach < 2 * panel.len() { 0 } else { panel.len() };
        Self { at: end, end: end.wrapping_add(len), rows: tile.is_far.then_some(tile.lhs.count()) }
    }

    /// Whether all that is multiplied from now on fetches as much of the next panel, as it does beside no more than so many rows.
    pub(super) fn is_all_fetched(&self, most: usize) -> bool {
        self.rows.is_some_and(|rows| rows <= most) && self.at < self.end
    }
}

/// Where sums go that are the result, or become floats that are, and what is added to them.
struct Place<'s> {
    to: *mut i32,
    stride: usize,
    cols: usize,
    is_far: bool,
    /// Of one panel.
    of_cols: [Vector; 2],
    terms: Terms<'s>,
}

impl Columns for [Vector; 2] {
    const ARE_FLOATS: bool = false;
}

impl<'s> Place<'s> {
    /// Of so many rows.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(sums: &'s Sums, rows: usize) -> Self {
        let (to, stride) = sums.place(rows);
        let of_cols = sums.of_cols::<WIDTH>();
        let [left, right] = of_cols.as_chunks().0 else { unreachable!("two vectors") };
        let of_cols = [resume(left), resume(right)];
        let is_far = sums.out.rows.saturating_mul(stride) >= FAR / size_of::<i32>();
        Self { to, stride, cols: sums.cols.len(), is_far, of_cols, terms: sums.terms(rows) }
    }

    /// That of so many rows of results, of panels of which each has more to be added.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of<R: Results<WIDTH>>(results: &'s R, rows: usize) -> Self {
        let (to, stride) = results.place(rows);
        let (cols, is_far, of_cols) = (results.cols(), results.extent() >= FAR, [zero(); 2]);
        Self { to, stride, cols, is_far, of_cols, terms: results.terms(rows) }
    }

    /// The same in a room for sums, of whole panels, to which nothing is added.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_sums(room: &'s mut [i32]) -> Self {
        let to = room.as_mut_ptr();
        Self { to, stride: WIDTH, cols: WIDTH, is_far: false, of_cols: [zero(); 2], terms: Terms::NONE }
    }

    /// That of rows from `row` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn part(&self, row: usize) -> Self {
        let terms = Terms { sums: self.terms.sums.get(row..).unwrap_or_default(), ..self.terms };
        Self { to: self.to.wrapping_add(row * self.stride), terms, ..*self }
    }

    /// What is added to so many rows, from `row` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn begin<const N: usize>(&self, row: usize) -> [[Vector; 2]; ROWS] {
        let mut c = [[zero(); 2]; ROWS];
        for (i, c) in c[..N].iter_mut().enumerate() {
            *c = self.of_cols;
            if self.terms.times != 0 {
                let of_row = spread(self.terms.of(row + i).to_ne_bytes());
                *c = [plus(c[0], of_row), plus(c[1], of_row)];
            }
        }
        c
    }

    /// # Safety
    /// So many rows, from `row` on, are among those of the place, and nobody else uses them.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn put<const N: usize, const VECTORS: usize>(&self, row: usize, c: &[[Vector; 2]; ROWS]) {
        for (i, c) in c[..N].iter().enumerate() {
            let to = self.to.wrapping_add((row + i) * self.stride);
            // SAFETY: the result has these rows and columns, as `Sums::place` asserts; the rest is this function's own promise.
            let to = unsafe { std::slice::from_raw_parts_mut(to, self.cols) };
            for v in 0..VECTORS {
                put(&mut to[v * LANES..], c[v]);
            }
        }
    }
}

/// Fetches the places of so many rows and columns. (A call: it would be there for each number of rows.)
#[inline(never)]
fn fetch(to: *mut i32, stride: usize, rows: usize, cols: usize) {
    for row in 0..rows {
        let to = to.wrapping_add(row * stride);
        prefetch(to.cast());
        prefetch(to.wrapping_add(cols - 1).cast());
    }
}

/// Depths of a group.
const fn depth_of_group(dot: usize) -> usize {
    if dot == dot::PAIRS { 2 } else { 4 }
}

/// Bytes of a panel's group.
const fn of_group(dot: usize) -> usize {
    if dot == dot::PAIRS { 2 * WIDTH } else { 4 * WIDTH }
}

/// Adds so many groups of each run of the lines, and then one of so many bytes, times those of a panel.
///
/// # Safety
/// There are `N` lines; they and the panel have as many groups.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn grow_by_runs<const N: usize, const VECTORS: usize, const DOT: usize>(
    c: &mut [[Vector; 2]; ROWS],
    lines: &Lines,
    Groups { whole, cut }: Groups,
    tile: &Tile,
    next: &mut Next,
) {
    let (mut line, mut pitch, step) = lines.places();
    let (mut groups, mut cut_group) = (whole, cut);
    // Nothing of a line lies beyond its ends.
    let mut last = [[0; 4]; ROWS];
    if whole == 0 && cut > 0 {
        for (last, line) in last.iter_mut().zip(lines.iter()) {
            *last = last_group(line);
        }
        (line, pitch) = (last.as_ptr().cast(), size_of_val(&last[0]));
        (groups, cut_group) = (1, 0);
    }
    let mut rhs = tile.rhs.as_ptr();
    for run in 0..lines.runs() {
        let cut = if run + 1 == lines.runs() { cut_group } else { 0 };
        // SAFETY: this function's own promise.
        unsafe {
            if const { dot::has_windows(DOT) } {
                avx2_narrow::grow::<N, VECTORS, DOT>(c, (line, pitch), rhs, (groups, cut), tile.spans, next);
            } else {
                grow::<N, VECTORS, DOT>(c, (line, pitch), rhs, (groups, cut), next);
            }
        }
        line = line.wrapping_add(step);
        rhs = rhs.wrapping_add(groups * of_group(DOT));
    }
}

/// Adds so many groups of lines, the first of which begins at this address, so many bytes before the next, and then one of so many
/// bytes, times those of a panel, and fetches some of the next one.
///
/// # Safety
/// All of them may be read. Before a group that is cut there is one that is not.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn grow<const N: usize, const VECTORS: usize, const DOT: usize>(
    c: &mut [[Vector; 2]; ROWS],
    (line, pitch): (*const u8, usize),
    rhs: *const u8,
    (groups, cut): (usize, usize),
    next: &mut Next,
) {
    // Where there is nothing to be fetched, what is read anyway.
    let is_fetched = next.at < next.end;
    let groups_fetched = if fetches_all(N) && next.is_all_fetched(ALL_FETCHED) { 4 } else { 2 };
    let (mut fetched, distance) = if is_fetched { (next.at, groups_fetched * of_group(DOT)) } else { (rhs, 0) };
    let high_bits = if DOT == dot::TURNED { spread([128; 4]) } else { zero() };
    let [[c0, c1], [c2, c3], [c4, c5], [c6, c7], [c8, c9], [c10, c11]] = c;
    // SAFETY: this function's own promise.
    unsafe {
        asm!(
            ".if {DOT} == {NARROW_UNSIGNED}",
            "vmovdqu ymm13, [rip + {ones}]",
            ".elseif {DOT} == {NARROW_SIGNED} && {ROWS} < {APART}",
            "vmovdqu ymm5, [rip + {ones}]",
            ".endif",
            "test {count}, {count}",
            "jz 3f",
            "2:",
            fours!(),
            "dec {count}",
            "jnz 2b",
            "3:",
            "test {rest}, {rest}",
            "jz 5f",
            "4:",
            one!(),
            "dec {rest}",
            "jnz 4b",
            "5:",
            "test {cut}, {cut}",
            "jz 6f",
            last!("{cut}"),
            "6:",
            a = inout(reg) line => _,
            b = inout(reg) line.wrapping_add(3 * pitch) => _,
            pitch = in(reg) pitch,
            rhs = inout(reg) rhs => _,
            fetched = inout(reg) fetched,
            distance = in(reg) distance,
            count = inout(reg) groups / 4 => _,
            rest = inout(reg) groups % 4 => _,
            cut = in(reg) cut,
            shift = in(reg) &raw const SHIFTS[cut],
            ROWS = const N,
            WIDE = const (VECTORS == 2) as usize,
            APART = const APART,
            FETCHES_ALL = const fetches_all(N) as usize,
            GROUP = const of_group(DOT),
            DOT = const dot::single(DOT),
            ones = sym ONES,
            PAIRS = const dot::PAIRS,
            SIGNED = const dot::SIGNED,
            TURNED = const dot::TURNED,
            NARROW_UNSIGNED = const dot::NARROW_UNSIGNED,
            NARROW_SIGNED = const dot::NARROW_SIGNED,
            inout("ymm0") *c0, inout("ymm1") *c1, inout("ymm2") *c2, inout("ymm3") *c3, inout("ymm4") *c4, inout("ymm5") *c5,
            inout("ymm6") *c6, inout("ymm7") *c7, inout("ymm8") *c8, inout("ymm9") *c9, inout("ymm10") *c10, inout("ymm11") *c11,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, inout("ymm15") high_bits => _,
            options(readonly, nostack),
        )
    }
    if is_fetched {
        next.at = fetched;
    }
}
