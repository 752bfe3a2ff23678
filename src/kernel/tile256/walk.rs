//! Tiles of one height by a panel, one after the other: the way from each to the next is in assembly, too. Of lines of few groups it
//! took longer than multiplying did.

use super::{
    ALL_FETCHED, APART, Groups, HIGH_BITS, Next, ONES, Place, ROWS, SHIFTS, WIDTH, dot, fetches_all, of_group,
};
use crate::kernel::results::Columns;
use crate::kernel::{FloatClamp, FloatColumns, tiles_of};
use crate::matrix::Lines;
use std::arch::asm;
use std::mem::offset_of;
use std::ops::Range;
use std::ptr;

/// Of so many rows is found at a time what is added to them: a multiple of all heights of tiles.
pub(super) const MOST: usize = 240;

/// What rows add to which nothing is added.
static NOTHING: [i32; ROWS] = [0; ROWS];

/// What the assembly reads, and where it is.
#[repr(C)]
struct Walk {
    /// What the panel's columns have of their own: what they add to sums, and what floats are multiplied by, and what is added then.
    cols: *const u8,
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
    /// Whether sums become floats; what those of the tile's rows are multiplied by, or null; and whether they are confined, and to what.
    are_floats: usize,
    factors: *const f32,
    is_clamped: usize,
    clamp: [f32; 2],
    /// How often the tile's rows have what columns add, if rows differ, which add nothing else then; or null.
    often: *const i32,
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

/// The same if rows differ in how often they have what columns add.
#[rustfmt::skip]
macro_rules! begin_often {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpbroadcastd ymm14, dword ptr [{shift} + 4*", $row, "]\n",
            "vpmulld ", $first, ", ymm12, ymm14\n",
            ".if {WIDE}\n",
            "vpmulld ", $second, ", ymm13, ymm14\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// A row's sums become floats.
#[rustfmt::skip]
macro_rules! become_floats {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vcvtdq2ps ", $first, ", ", $first, "\n",
            "vmulps ", $first, ", ", $first, ", ymm12\n",
            ".if {WIDE}\n",
            "vcvtdq2ps ", $second, ", ", $second, "\n",
            "vmulps ", $second, ", ", $second, ", ymm13\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! multiply_floats {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vbroadcastss ymm14, dword ptr [{shift} + 4*", $row, "]\n",
            "vmulps ", $first, ", ", $first, ", ymm14\n",
            ".if {WIDE}\n",
            "vmulps ", $second, ", ", $second, ", ymm14\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! add_biases {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vaddps ", $first, ", ", $first, ", ymm12\n",
            ".if {WIDE}\n",
            "vaddps ", $second, ", ", $second, ", ymm13\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// Which of two zeros, and that NaN stays, is what the order of operands says.
#[rustfmt::skip]
macro_rules! clamp {
    ($row:literal, $first:literal, $second:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vmaxps ", $first, ", ymm12, ", $first, "\n",
            "vminps ", $first, ", ymm13, ", $first, "\n",
            ".if {WIDE}\n",
            "vmaxps ", $second, ", ymm12, ", $second, "\n",
            "vminps ", $second, ", ymm13, ", $second, "\n",
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

/// What becomes of floats of rows, besides what their columns have: as [`Results`](crate::kernel::results::Results) tell.
#[derive(Clone, Copy)]
pub(super) struct OfFloats<'s> {
    pub factors: Option<&'s [f32]>,
    pub times: Option<(&'s [i32], i32)>,
    pub clamp: Option<FloatClamp>,
}

impl OfFloats<'_> {
    pub(super) const NONE: Self = Self { factors: None, times: None, clamp: None };

    /// Of rows from `row` on.
    #[inline]
    pub(super) fn part(&self, row: usize) -> Self {
        let factors = self.factors.map(|factors| &factors[row..]);
        Self { factors, times: self.times.map(|(times, more)| (&times[row..], more)), ..*self }
    }
}

/// A panel: where it begins, what its columns have of their own, and what is fetched beside it.
pub(super) type PanelOf<C> = (*const u8, C, Next);

/// Multiplies these lines, in tiles of a height, of which the last one may be lower, by panels, so many lines by all of them before the
/// next, and brings the sums, or what becomes of them, to their place: that of the first of the panels is given.
///
/// # Safety
/// Lines, of one run, and panels have as many groups, one of which at least is whole, and all of them may be read. The place is one of
/// as many rows and of all columns of the panels' vectors, and nobody else uses it. What columns have begins with what as many as a
/// panel has add to sums; of a place of floats it is all that [`FloatColumns`] are.
///
/// [`FloatColumns`]: crate::kernel::FloatColumns
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn multiply<const VECTORS: usize, const DOT: usize, C: Columns>(
    (lhs, height, near): (&Lines, usize, usize),
    Groups { whole, cut }: Groups,
    (place, floats): (&Place, OfFloats),
    panels: Range<usize>,
    of_panel: impl Fn(usize) -> PanelOf<C>,
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
    let mut times_room;
    let floats = if C::ARE_FLOATS { floats } else { OfFloats::NONE };
    let often: &mut [i32] = match floats.times {
        None => &mut [],
        Some(_) => {
            times_room = [0; MOST];
            &mut times_room
        }
    };
    let near = if of_rows.is_empty() && often.is_empty() { near } else { near.min(MOST) };
    let mut walk = Walk {
        cols: ptr::null(),
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
        are_floats: C::ARE_FLOATS.into(),
        factors: ptr::null(),
        is_clamped: floats.clamp.is_some().into(),
        clamp: floats.clamp.map_or([0.0; 2], |clamp| [clamp.min, clamp.max]),
        often: ptr::null(),
    };
    for rows in tiles_of(lhs.count(), near) {
        if !of_rows.is_empty() {
            place.terms.write(rows.start, &mut of_rows[..rows.len()]);
        }
        if let Some((given, more)) = floats.times {
            often.iter_mut().zip(&given[rows.clone()]).for_each(|(often, given)| *often = given.wrapping_sub(more));
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
            let (rhs, cols, mut next) = of_panel(panel);
            (walk.rhs, walk.cols, walk.end) = (rhs, (&raw const cols).cast(), next.end);
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
                if !often.is_empty() {
                    walk.often = &raw const often[first - rows.start];
                }
                if let Some(factors) = floats.factors {
                    walk.factors = &raw const factors[first];
                }
                let to = (to.wrapping_add(first * place.stride), place.stride * size_of::<i32>());
                // SAFETY: this function's own promise, and there is something for each row to add, and a factor and a number of times if
                // there are any.
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
                // Before groups are multiplied and after it, `count` and `shift` hold addresses: of the result, of what columns have,
                // and of what rows have.
                "20:",
                "cmp qword ptr [{walk} + {IS_FAR}], 0",
                "je 21f",
                "mov {count}, {to}",
                each_row!(fetch),
                "21:",
                "mov {count}, [{walk} + {COLS}]",
                "vmovdqu ymm12, [{count}]",
                ".if {WIDE}",
                "vmovdqu ymm13, [{count} + 32]",
                ".endif",
                "mov {shift}, [{walk} + {OFTEN}]",
                "test {shift}, {shift}",
                "jnz 22f",
                "mov {shift}, [{walk} + {OF_ROWS}]",
                each_row!(begin),
                "add {shift}, [{walk} + {ROWS_STEP}]",
                "mov [{walk} + {OF_ROWS}], {shift}",
                "23:",
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
                "cmp qword ptr [{walk} + {ARE_FLOATS}], 0",
                "jne 24f",
                "26:",
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
                "jmp 27f",
                // Aside, what sums that are the result do not go through.
                "22:",
                each_row!(begin_often),
                "add {shift}, 4*{ROWS}",
                "mov [{walk} + {OFTEN}], {shift}",
                "jmp 23b",
                "24:",
                "mov {count}, [{walk} + {COLS}]",
                "vmovups ymm12, [{count} + {SCALES}]",
                "vmovups ymm13, [{count} + {SCALES} + 32]",
                each_row!(become_floats),
                "mov {shift}, [{walk} + {FACTORS}]",
                "test {shift}, {shift}",
                "jz 25f",
                each_row!(multiply_floats),
                "add {shift}, 4*{ROWS}",
                "mov [{walk} + {FACTORS}], {shift}",
                "25:",
                "vmovups ymm12, [{count} + {BIASES}]",
                "vmovups ymm13, [{count} + {BIASES} + 32]",
                each_row!(add_biases),
                "cmp qword ptr [{walk} + {IS_CLAMPED}], 0",
                "je 26b",
                "vbroadcastss ymm12, dword ptr [{walk} + {CLAMP}]",
                "vbroadcastss ymm13, dword ptr [{walk} + {CLAMP} + 4]",
                each_row!(clamp),
                "jmp 26b",
                "27:",
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
                COLS = const offset_of!(Walk, cols),
                SCALES = const offset_of!(FloatColumns<WIDTH>, scales),
                BIASES = const offset_of!(FloatColumns<WIDTH>, biases),
                ARE_FLOATS = const offset_of!(Walk, are_floats),
                FACTORS = const offset_of!(Walk, factors),
                IS_CLAMPED = const offset_of!(Walk, is_clamped),
                CLAMP = const offset_of!(Walk, clamp),
                OFTEN = const offset_of!(Walk, often),
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
