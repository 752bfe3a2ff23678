//! Tiles of one height by a panel, one after the other: the way from each to the next is in assembly, too. Of lines of few groups it
//! took longer than multiplying did.

use super::{
    ALL_FETCHED, APART, Groups, HIGH_BITS, Next, ONES, Place, ROWS, SHIFTS, Vector, WIDTH, dot, fetches_all, of_group,
};
use crate::kernel::tiles_of;
use crate::kernel::vector256::zero;
use crate::matrix::Lines;
use std::arch::asm;
use std::mem::offset_of;
use std::ops::Range;
use std::ptr;

/// Of so many rows is found at a time what is added to them: a multiple of all heights of tiles.
const MOST: usize = 240;

/// What rows add to which nothing is added.
static NOTHING: [i32; ROWS] = [0; ROWS];

/// What the assembly reads, and where it is.
#[repr(C)]
struct Walk {
    /// What columns add to their sums.
    of_cols: [Vector; 2],
    /// What the tile's rows add, and how many bytes there are from that to what those of the next one do.
    of_rows: *const i32,
    rows_step: usize,
    /// The tile's first line.
    line: *const u8,
    /// Groups of a line: four together, others, and bytes of one in which lines end. That is shifted so.
    fours: usize,
    rest: usize,
    cut: usize,
    shift: *const [u64; 2],
    rhs: *const u8,
    /// Where what is fetched ends.
    end: *const u8,
    /// Whether places are fetched before a tile is multiplied.
    is_far: usize,
}

/// The same for each row that there is, with what is given: its number, and the registers of its sums.
macro_rules! each_row {
    ($each:ident) => {
        concat!(
            $each!("0", "ymm0", "ymm1"),
            $each!("1", "ymm2", "ymm3"),
            $each!("2", "ymm4", "ymm5"),
            $each!("3", "ymm6", "ymm7"),
            $each!("4", "ymm8", "ymm9"),
            $each!("5", "ymm10", "ymm11"),
        )
    };
}

/// A row's sums before anything is multiplied.
#[rustfmt::skip]
macro_rules! begin {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpbroadcastd ymm14, dword ptr [{shift} + 4*", $row, "]\n",
            "vpaddd ", $first, ", ymm12, ymm14\n",
            ".if {WIDE}\n",
            "vpaddd ", $second, ", ymm13, ymm14\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// A row's sums to their place.
#[rustfmt::skip]
macro_rules! put {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vmovdqu [{to}], ", $first, "\n",
            ".if {WIDE}\n",
            "vmovdqu [{to} + 32], ", $second, "\n",
            ".endif\n",
            "add {to}, {stride}\n",
            ".endif\n",
        )
    };
}

/// Fetches the place of a row.
#[rustfmt::skip]
macro_rules! fetch {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "prefetcht0 [{count}]\n",
            "prefetcht0 [{count} + 32*{WIDE} + 28]\n",
            "add {count}, {stride}\n",
            ".endif\n",
        )
    };
}

/// A panel: where it begins, what its columns add, and what is fetched beside it.
pub(super) type PanelOf = (*const u8, [Vector; 2], Next);

/// Multiplies these lines, in tiles of a height, of which the last one may be lower, by panels, so many lines by all of them before the
/// next, and brings the sums to their place: that of the first of the panels is given.
///
/// # Safety
/// Lines, of one run, and panels have as many groups, one of which at least is whole, and all of them may be read. The place is one of
/// as many rows and of all columns of the panels' vectors, and nobody else uses it.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn multiply<const VECTORS: usize, const DOT: usize>(
    (lhs, height, near): (&Lines, usize, usize),
    Groups { whole, cut }: Groups,
    place: &Place,
    panels: Range<usize>,
    of_panel: impl Fn(usize) -> PanelOf,
) {
    let (line, pitch, _) = lhs.places();
    // A group that is cut may be read with the bytes that follow it: what panels have beyond the depth is 0.
    let reads_on = cut > 0 && lhs.are_joined();
    let mut room;
    let of_rows: &mut [i32] = match place.terms.times {
        0 => &mut [],
        _ => {
            room = [0; MOST];
            &mut room
        }
    };
    let near = if of_rows.is_empty() { near } else { near.min(MOST) };
    let mut walk = Walk {
        of_cols: [zero(); 2],
        of_rows: &raw const NOTHING[0],
        rows_step: 0,
        line,
        fours: 0,
        rest: 0,
        cut,
        shift: &SHIFTS[cut],
        rhs: ptr::null(),
        end: ptr::null(),
        is_far: place.is_far.into(),
    };
    for rows in tiles_of(lhs.count(), near) {
        if !of_rows.is_empty() {
            place.terms.write(rows.start, &mut of_rows[..rows.len()]);
        }
        // To divide takes as long as much else of a small product.
        let (mut times, mut last) = match rows.len() <= height {
            true => (0, rows.len()),
            false => (rows.len() / height, rows.len() % height),
        };
        if reads_on && last == 0 && rows.end == lhs.count() {
            (times, last) = (times - 1, height);
        }
        for panel in panels.clone() {
            let (rhs, of_cols, mut next) = of_panel(panel);
            (walk.rhs, walk.of_cols, walk.end) = (rhs, of_cols, next.end);
            let to = place.to.wrapping_add((panel - panels.start) * WIDTH);
            for (first, height, times) in [(rows.start, height, times), (rows.end - last, last, 1)] {
                if height == 0 || times == 0 {
                    continue;
                }
                let ends = first + times * height == lhs.count();
                let (whole, cut) = if reads_on && !ends { (whole + 1, 0) } else { (whole, cut) };
                (walk.fours, walk.rest, walk.cut) = (whole / 4, whole % 4, cut);
                walk.line = line.wrapping_add(first * pitch);
                if !of_rows.is_empty() {
                    let step = height * size_of::<i32>();
                    (walk.of_rows, walk.rows_step) = (&raw const of_rows[first - rows.start], step);
                }
                let to = (to.wrapping_add(first * place.stride), place.stride * size_of::<i32>());
                // SAFETY: this function's own promise, and there is something for each row to add.
                by_rows!(height, |N| unsafe { walk.run::<N, VECTORS, DOT>(times, pitch, to, &mut next) })
            }
        }
    }
}

impl Walk {
    /// Multiplies so many tiles of `N` rows, one at least, of lines so many bytes apart, and stores their sums, from here on and so many bytes
    /// apart.
    ///
    /// # Safety
    /// Everything that it points at may be read or written, as far as it says.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    unsafe fn run<const N: usize, const VECTORS: usize, const DOT: usize>(
        &mut self,
        times: usize,
        pitch: usize,
        (to, stride): (*mut i32, usize),
        next: &mut Next,
    ) {
        // Where there is nothing to be fetched, what is read anyway.
        let is_fetched = next.at < next.end;
        let groups_fetched = if fetches_all(N) && next.is_all_fetched(ALL_FETCHED) { 4 } else { 2 };
        let (mut fetched, mut distance) =
            if is_fetched { (next.at, groups_fetched * of_group(DOT)) } else { (self.rhs, 0) };
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                // Until groups are multiplied, `count` and `shift` hold addresses: of the result, and of what rows add.
                "20:",
                "cmp qword ptr [{walk} + {IS_FAR}], 0",
                "je 21f",
                "mov {count}, {to}",
                each_row!(fetch),
                "21:",
                "vmovdqu ymm12, [{walk} + {OF_COLS}]",
                ".if {WIDE}",
                "vmovdqu ymm13, [{walk} + {OF_COLS} + 32]",
                ".endif",
                "mov {shift}, [{walk} + {OF_ROWS}]",
                each_row!(begin),
                "add {shift}, [{walk} + {ROWS_STEP}]",
                "mov [{walk} + {OF_ROWS}], {shift}",
                ".if {ROWS} <= {APART}",
                "vpxor xmm6, xmm6, xmm6",
                "vpxor xmm7, xmm7, xmm7",
                "vpxor xmm8, xmm8, xmm8",
                "vpxor xmm9, xmm9, xmm9",
                "vpxor xmm10, xmm10, xmm10",
                "vpxor xmm11, xmm11, xmm11",
                ".endif",
                ".if {DOT} == {NARROW_UNSIGNED}",
                "vmovdqu ymm13, [rip + {ones}]",
                ".elseif {DOT} == {NARROW_SIGNED} && {ROWS} < {APART}",
                "vmovdqu ymm5, [rip + {ones}]",
                ".elseif {DOT} == {TURNED}",
                "vmovdqu ymm15, [rip + {high_bits}]",
                ".endif",
                "mov {a}, [{walk} + {LINE}]",
                "lea {b}, [{pitch} + 2*{pitch}]",
                "add {b}, {a}",
                "mov {rhs}, [{walk} + {RHS}]",
                "mov {count}, [{walk} + {FOURS}]",
                "test {count}, {count}",
                "jz 3f",
                "2:",
                fours!(),
                "dec {count}",
                "jnz 2b",
                "3:",
                "mov {count}, [{walk} + {REST}]",
                "test {count}, {count}",
                "jz 5f",
                "4:",
                one!(),
                "dec {count}",
                "jnz 4b",
                "5:",
                "mov {count}, [{walk} + {CUT}]",
                "test {count}, {count}",
                "jz 6f",
                "mov {shift}, [{walk} + {SHIFT}]",
                last!("{count}"),
                "6:",
                ".if {ROWS} <= {APART}",
                "vpaddd ymm0, ymm0, ymm6",
                "vpaddd ymm1, ymm1, ymm7",
                "vpaddd ymm2, ymm2, ymm8",
                "vpaddd ymm3, ymm3, ymm9",
                "vpaddd ymm4, ymm4, ymm10",
                "vpaddd ymm5, ymm5, ymm11",
                ".endif",
                each_row!(put),
                "imul {a}, {pitch}, {ROWS}",
                "add [{walk} + {LINE}], {a}",
                // As far as there is something to be fetched.
                "cmp {fetched}, [{walk} + {END}]",
                "jb 7f",
                "mov {fetched}, [{walk} + {RHS}]",
                "xor {distance:e}, {distance:e}",
                "7:",
                "dec {times}",
                "jnz 20b",
                // To the compiler registers that are overwritten have 128 bits.
                "vzeroupper",
                walk = in(reg) self,
                times = inout(reg) times => _,
                a = out(reg) _,
                b = out(reg) _,
                pitch = in(reg) pitch,
                rhs = out(reg) _,
                count = out(reg) _,
                shift = out(reg) _,
                to = inout(reg) to => _,
                stride = in(reg) stride,
                fetched = inout(reg) fetched,
                distance = inout(reg) distance,
                OF_COLS = const offset_of!(Walk, of_cols),
                OF_ROWS = const offset_of!(Walk, of_rows),
                ROWS_STEP = const offset_of!(Walk, rows_step),
                LINE = const offset_of!(Walk, line),
                FOURS = const offset_of!(Walk, fours),
                REST = const offset_of!(Walk, rest),
                CUT = const offset_of!(Walk, cut),
                SHIFT = const offset_of!(Walk, shift),
                RHS = const offset_of!(Walk, rhs),
                END = const offset_of!(Walk, end),
                IS_FAR = const offset_of!(Walk, is_far),
                ROWS = const N,
                WIDE = const (VECTORS == 2) as usize,
                APART = const APART,
                FETCHES_ALL = const fetches_all(N) as usize,
                GROUP = const of_group(DOT),
                DOT = const dot::single(DOT),
                ones = sym ONES,
                high_bits = sym HIGH_BITS,
                PAIRS = const dot::PAIRS,
                SIGNED = const dot::SIGNED,
                TURNED = const dot::TURNED,
                NARROW_UNSIGNED = const dot::NARROW_UNSIGNED,
                NARROW_SIGNED = const dot::NARROW_SIGNED,
                out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _,
                out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _, out("ymm12") _,
                out("ymm13") _, out("ymm14") _, out("ymm15") _,
                options(nostack),
            )
        }
        if is_fetched {
            next.at = if distance == 0 { next.end } else { fetched };
        }
    }
}
