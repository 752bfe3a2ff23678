//! The assembly of lines of few groups, and of half panels. Sums stay in registers: those of some rows become bytes while the next rows are
//! multiplied. To store sums and load them again takes as long as a few groups.

use super::assembly::{KNOWN, Known};
use super::{Walk, kind, lhs};
use crate::kernel::panel::Panel;
use crate::matrix::Lines;
use std::arch::asm;
use std::mem::offset_of;
use std::ops::Range;
use std::ptr;

/// How many rows go together, or twice as many of half a panel: the sums of twice as many, 8 registers of what the panel has, and 8 to
/// multiply and to finish with are all there are.
pub(in crate::kernel) const TOGETHER: usize = 4;

/// Does something with a row of sums, or with that and the fourth after it of half a panel: given are their registers, and what else there
/// is.
macro_rules! even {
    (0, $do:ident $(, $with:tt)*) => { $do!("zmm0", "zmm1" $(, $with)*) };
    (1, $do:ident $(, $with:tt)*) => { $do!("zmm2", "zmm3" $(, $with)*) };
    (2, $do:ident $(, $with:tt)*) => { $do!("zmm4", "zmm5" $(, $with)*) };
    (3, $do:ident $(, $with:tt)*) => { $do!("zmm6", "zmm7" $(, $with)*) };
}

/// The same of the other rows.
macro_rules! odd {
    (0, $do:ident $(, $with:tt)*) => { $do!("zmm8", "zmm9" $(, $with)*) };
    (1, $do:ident $(, $with:tt)*) => { $do!("zmm10", "zmm11" $(, $with)*) };
    (2, $do:ident $(, $with:tt)*) => { $do!("zmm12", "zmm13" $(, $with)*) };
    (3, $do:ident $(, $with:tt)*) => { $do!("zmm14", "zmm15" $(, $with)*) };
}

#[rustfmt::skip]
macro_rules! begin_row {
    ($first:literal, $second:literal, $at:literal) => {
        concat!(
            "vpaddd ", $first, ", zmm23, dword ptr [{rows} + ", $at, "]{{1to16}}\n",
            ".if {WIDE}\n",
            "vpaddd ", $second, ", zmm28, dword ptr [{rows} + ", $at, "]{{1to16}}\n",
            ".else\n",
            "vpaddd ", $second, ", zmm23, dword ptr [{rows} + ", $at, " + 16]{{1to16}}\n",
            ".endif\n",
        )
    };
}

/// Sums of these rows, and where their lines are.
#[rustfmt::skip]
macro_rules! begin_rows {
    ($new:ident) => {
        concat!(
            "vmovdqa64 zmm23, [{panel} + {ADDED}]\n",
            "vmovdqa64 zmm28, [{panel} + {ADDED} + 64]\n",
            $new!(0, begin_row, "0"), $new!(1, begin_row, "4"), $new!(2, begin_row, "8"), $new!(3, begin_row, "12"),
            "mov {count}, [{walk} + {RUNS}]\n",
            "mov [{walk} + {RUNS_LEFT}], {count}\n",
            "mov {rhs}, [{walk} + {RHS}]\n",
            "mov {a}, [{walk} + {FIRST}]\n",
            begin_run!(),
        )
    };
}

/// Where the lines of a run are, and how many groups it has.
#[rustfmt::skip]
macro_rules! begin_run {
    () => {
        concat!(
            "mov [{walk} + {LINE}], {a}\n",
            "lea {b}, [{a} + 2*{pitch}]\n",
            "add {b}, {pitch}\n",
            ".if {WIDE} == 0\n",
            "lea {c}, [{a} + 4*{pitch}]\n",
            "add {c}, {pitch}\n",
            ".endif\n",
            "mov {count}, [{walk} + {REST}]\n",
        )
    };
}

/// The groups of the next run at a label, if there is one.
#[rustfmt::skip]
macro_rules! next_run {
    ($groups:literal) => {
        concat!(
            "cmp qword ptr [{walk} + {RUNS}], 1\n",
            "je 42f\n",
            "dec qword ptr [{walk} + {RUNS_LEFT}]\n",
            "jz 42f\n",
            "mov {a}, [{walk} + {LINE}]\n",
            "add {a}, [{walk} + {STEP}]\n",
            begin_run!(),
            "jmp ", $groups, "b\n",
            "42:\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! dot_row {
    ($first:literal, $second:literal, $line:literal, $other:literal) => {
        concat!(
            multiply!($first, $second, [$line, ""] in "zmm26", "zmm24", "zmm25"),
            // Unless it is wide, that was the first one alone.
            ".if {WIDE} == 0\n",
            multiply!($second, $first, [$other, ""] in "zmm26", "zmm24", "zmm25"),
            ".endif\n",
        )
    };
}

macro_rules! group_of_panel {
    () => {
        concat!("vmovdqu64 zmm24, [{rhs}]\n", ".if {WIDE}\n", "vmovdqu64 zmm25, [{rhs} + 64]\n", ".endif\n")
    };
}

/// A group of all lines, and after that of each line something else.
#[rustfmt::skip]
macro_rules! group_beside {
    ($new:ident, $($between:expr),*) => {
        group_beside!(@ $new,
            [0 "{a}" "{a} + 4*{pitch}"] [1 "{a} + {pitch}" "{c}"] [2 "{a} + 2*{pitch}" "{c} + {pitch}"]
            [3 "{b}" "{c} + 2*{pitch}"],
            $($between),*)
    };
    (@ $new:ident, $([$row:tt $line:literal $other:literal])*, $($between:expr),*) => {
        concat!(
            group_of_panel!(),
            $($new!($row, dot_row, $line, $other), $between,)*
            "add {a}, 4\n", "add {b}, 4\n",
            ".if {WIDE} == 0\n",
            "add {c}, 4\n",
            ".endif\n",
            "sub {rhs}, -128\n",
        )
    };
}

/// A piece of what makes bytes of a row, in `zmm23` and `zmm28` to `zmm30`, as the steps beside groups of tiles do.
#[rustfmt::skip]
macro_rules! piece {
    ($first:literal, $second:literal, 0) => { concat!(
        "vcvtdq2ps zmm23, ", $first, "\n",
        "vcvtdq2ps zmm28, ", $second, "\n",
    ) };
    ($first:literal, $second:literal, 1) => { concat!(
        ".if {SIGNS}\n",
        "vpsrad zmm29, zmm23, 31\n",
        "vpsrad zmm30, zmm28, 31\n",
        ".endif\n",
    ) };
    // What is above, XORed with the difference of negative ones.
    ($first:literal, $second:literal, 2) => { concat!(
        ".if {SIGNS}\n",
        "vpternlogd zmm29, zmm20, zmm18, 0x6a\n",
        "vpternlogd zmm30, zmm21, zmm19, 0x6a\n",
        ".endif\n",
    ) };
    ($first:literal, $second:literal, 3) => { concat!(
        ".if {SIGNS}\n",
        "vfmadd132ps zmm23, zmm29, zmm16\n",
        "vfmadd132ps zmm28, zmm30, zmm17\n",
        ".else\n",
        "vfmadd132ps zmm23, zmm18, zmm16\n",
        "vfmadd132ps zmm28, zmm19, zmm17\n",
        ".endif\n",
    ) };
    ($first:literal, $second:literal, 4) => { concat!(
        "vcvtps2dq zmm23, zmm23\n",
        "vcvtps2dq zmm28, zmm28\n",
    ) };
    ($first:literal, $second:literal, 5) => { concat!(
        "vpminuw zmm31, zmm31, zmm23\n",
        "vpminuw zmm31, zmm31, zmm28\n",
    ) };
    ($first:literal, $second:literal, 6) => { concat!(
        "vpermt2w zmm23, zmm22, zmm28\n",
        ".if {ENDS} == {UNSIGNED_BYTES}\n",
        "vpackuswb zmm23, zmm23, zmm23\n",
        ".elseif {ENDS} == {SIGNED_BYTES}\n",
        "vpacksswb zmm23, zmm23, zmm23\n",
        ".else\n",
        "vpmaxsw zmm23, zmm23, [{panel} + {LEAST}]\n",
        "vpminsw zmm23, zmm23, [{panel} + {GREATEST}]\n",
        ".endif\n",
    ) };
    ($first:literal, $second:literal, 7) => { concat!(
        ".if {ENDS} == {SOME_BYTES}\n",
        "vpmovwb ymm23, zmm23\n",
        ".elseif {LHS} == {TURNED}\n",
        "vmovdqa64 zmm28, [rip + {KNOWN} + {EVEN}]\n",
        "vpermq zmm23, zmm28, zmm23\n",
        ".else\n",
        "vpermq zmm23, zmm27, zmm23\n",
        ".endif\n",
        ".if {WIDE}\n",
        "vmovdqu8 [{bytes}]{{k2}}, ymm23\n",
        ".else\n",
        "vmovdqu8 [{bytes}]{{k2}}, xmm23\n",
        "vextracti32x4 xmm23, ymm23, 1\n",
        "vmovdqu8 [{bytes} + 4*{stride}]{{k2}}, xmm23\n",
        ".endif\n",
        "add {bytes}, {stride}\n",
    ) };
}

/// Two pieces of one row.
macro_rules! pieces {
    ($old:ident, $row:tt, $first:tt, $second:tt) => {
        concat!($old!($row, piece, $first), $old!($row, piece, $second))
    };
}

/// A group of new rows beside an old row, or half of one.
#[rustfmt::skip]
macro_rules! beside_row {
    ($new:ident, $old:ident, $row:tt) => {
        group_beside!($new,
            pieces!($old, $row, 0, 1), pieces!($old, $row, 2, 3), pieces!($old, $row, 4, 5), pieces!($old, $row, 6, 7))
    };
}

#[rustfmt::skip]
macro_rules! beside_halves {
    ($new:ident, $old:ident, $row:tt) => {
        concat!(
            group_beside!($new,
                $old!($row, piece, 0), $old!($row, piece, 1), $old!($row, piece, 2), $old!($row, piece, 3)),
            group_beside!($new,
                $old!($row, piece, 4), $old!($row, piece, 5), $old!($row, piece, 6), $old!($row, piece, 7)),
        )
    };
}

/// An old row by itself.
#[rustfmt::skip]
macro_rules! finish_row {
    ($old:ident, $row:tt) => {
        concat!(
            pieces!($old, $row, 0, 1), pieces!($old, $row, 2, 3), pieces!($old, $row, 4, 5), pieces!($old, $row, 6, 7),
        )
    };
}

macro_rules! group_alone {
    ($new:ident) => {
        group_beside!($new, "", "", "", "")
    };
}

/// The last group of each line, if it is cut, and on to the next rows.
#[rustfmt::skip]
macro_rules! end_rows {
    ($new:ident) => {
        concat!(
            "test {last}, {last}\n",
            "jz 2f\n",
            group_of_panel!(),
            $new!(0, dot_row, "{last}", "{last} + 16"), $new!(1, dot_row, "{last} + 4", "{last} + 20"),
            $new!(2, dot_row, "{last} + 8", "{last} + 24"), $new!(3, dot_row, "{last} + 12", "{last} + 28"),
            "add {last}, 4*{ROWS}\n",
            "2:\n",
            "mov {a}, [{walk} + {FIRST}]\n",
            "lea {a}, [{a} + {ROWS}*{pitch}]\n",
            "mov [{walk} + {FIRST}], {a}\n",
            "add {rows}, 4*{ROWS}\n",
            "dec {times}\n",
        )
    };
}

/// New rows while old ones become bytes, which are finished alone if there are no new ones.
#[rustfmt::skip]
macro_rules! rows_beside {
    ($new:ident, $old:ident) => {
        concat!(
            "test {times}, {times}\n",
            "jz 30f\n",
            begin_rows!($new),
            "cmp {count}, 8\n",
            "jae 20f\n",
            beside_row!($new, $old, 0), "dec {count}\n", "jz 31f\n",
            beside_row!($new, $old, 1), "dec {count}\n", "jz 32f\n",
            beside_row!($new, $old, 2), "dec {count}\n", "jz 33f\n",
            beside_row!($new, $old, 3), "dec {count}\n", "jz 40f\n",
            "jmp 22f\n",
            "20:\n",
            beside_halves!($new, $old, 0), beside_halves!($new, $old, 1),
            beside_halves!($new, $old, 2), beside_halves!($new, $old, 3),
            "sub {count}, 8\n",
            "jz 40f\n",
            "22:\n", group_alone!($new), "dec {count}\n", "jnz 22b\n",
            "jmp 40f\n",
            "30:\n", finish_row!($old, 0),
            "31:\n", finish_row!($old, 1),
            "32:\n", finish_row!($old, 2),
            "33:\n", finish_row!($old, 3),
            "test {times}, {times}\n",
            "jnz 40f\n",
            are_all_sure!(),
            "jnz 90f\n",
            "mov {a}, [{walk} + {TO}]\n",
            put_rows!($old, ""),
            "jmp 90f\n",
            "40:\n",
            next_run!("22"),
            ".if {WIDE} == 0\n",
            "lea {bytes}, [{bytes} + 4*{stride}]\n",
            ".endif\n",
            end_rows!($new),
            are_all_sure!(),
            "jnz 50f\n",
            "mov {a}, [{walk} + {TO}]\n",
            put_rows!($old, ""),
            put_rows!($new, " + 128*{ROWS}"),
            "add {a}, 128*{ROWS}\n",
            "jmp 91f\n",
            "50:\n",
        )
    };
}

macro_rules! are_all_sure {
    () => {
        are_sure!("{c:e}")
    };
}

#[rustfmt::skip]
macro_rules! put_row {
    ($first:literal, $second:literal, $at:literal, $more:literal) => {
        concat!(
            "vmovdqu64 [{a} + ", $at, $more, "], ", $first, "\n",
            "vmovdqu64 [{a} + ", $at, $more, " + {OTHER}], ", $second, "\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! put_rows {
    ($rows:ident, $more:literal) => {
        concat!(
            $rows!(0, put_row, "0", $more), $rows!(1, put_row, "128", $more),
            $rows!(2, put_row, "256", $more), $rows!(3, put_row, "384", $more),
        )
    };
}

#[rustfmt::skip]
macro_rules! get_row {
    ($first:literal, $second:literal, $at:literal) => {
        concat!(
            "vmovdqu64 ", $first, ", [{a} + ", $at, "]\n",
            "vmovdqu64 ", $second, ", [{a} + ", $at, " + {OTHER}]\n",
        )
    };
}

impl Walk {
    /// Goes to some lines, and to what their rows have.
    #[inline(always)]
    pub(in crate::kernel) fn start_shallow(
        &mut self,
        lhs: &Lines,
        lines: Range<usize>,
        (rows, last): (*const i32, *const [u8; 4]),
    ) {
        let reads_on = self.reads_on && lines.end < lhs.count();
        self.rest = self.groups + usize::from(reads_on);
        (self.rows, self.sums) = (rows, ptr::null());
        self.last = if lhs.len().is_multiple_of(4) || reads_on { ptr::null() } else { last };
        let (first, pitch, _) = lhs.places();
        self.first = first.wrapping_add(lines.start * pitch);
    }

    /// Multiplies lines by a panel, so many `times` [`TOGETHER`] of them, or twice as many if it is not wide, but half a panel, and makes bytes of their sums, first of `sums`, if there are any.
    /// Ends early where one is in doubt: then the sums with it go to the first place of `to`, and the next ones, if there are any, which
    /// are not yet finished, to the second, where `sums` are then. How many times are left, and whether all are sure.
    ///
    /// # Safety
    /// Everything that it points at may be read or written, as far as it says.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(in crate::kernel) unsafe fn run_shallow<const LHS: usize, const KIND: usize, const WIDE: bool>(
        &mut self,
        panel: *const Panel,
        mut times: usize,
    ) -> (usize, bool) {
        let sure: usize;
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                concat!(
                    "vmovdqa64 zmm16, [{panel} + {SCALE}]\n",
                    "vmovdqa64 zmm17, [{panel} + {SCALE} + 64*{WIDE}]\n",
                    "vmovdqa64 zmm18, [{panel} + {ABOVE}]\n",
                    "vmovdqa64 zmm19, [{panel} + {ABOVE} + 64*{WIDE}]\n",
                    "vmovdqa64 zmm20, [{panel} + {DIFFERENCE}]\n",
                    "vmovdqa64 zmm21, [{panel} + {DIFFERENCE} + 64*{WIDE}]\n",
                    "vmovdqa64 zmm22, [rip + {KNOWN} + {UPPER}]\n",
                    "vmovdqa64 zmm27, [rip + {KNOWN} + {EVEN}]\n",
                    turn!(),
                    "vpternlogd zmm31, zmm31, zmm31, 255\n",
                    "kmovd k2, [{panel} + {MASK}]\n",
                    "mov {pitch}, [{walk} + {PITCH}]\n",
                    "mov {stride}, [{walk} + {STRIDE}]\n",
                    "mov {rows}, [{walk} + {OF_ROWS}]\n",
                    "mov {last}, [{walk} + {LAST}]\n",
                    "mov {bytes}, [{walk} + {BYTES}]\n",
                    "mov {a}, [{walk} + {SUMS}]\n",
                    "test {a}, {a}\n",
                    "jz 3f\n",
                    even!(0, get_row, "0"), even!(1, get_row, "128"), even!(2, get_row, "256"), even!(3, get_row, "384"),
                    "jmp 5f\n",
                    "3:\n",
                    begin_rows!(even),
                    "4:\n", group_alone!(even), "dec {count}\n", "jnz 4b\n",
                    next_run!("4"),
                    end_rows!(even),
                    "5:\n",
                    rows_beside!(odd, even),
                    rows_beside!(even, odd),
                    "jmp 5b\n",
                    "90:\n",
                    "xor {a:e}, {a:e}\n",
                    "91:\n",
                    "mov [{walk} + {SUMS}], {a}\n",
                    "mov [{walk} + {OF_ROWS}], {rows}\n",
                    "mov [{walk} + {LAST}], {last}\n",
                    "mov [{walk} + {BYTES}], {bytes}\n",
                    "vzeroupper\n",
                ),
                walk = in(reg) self,
                panel = in(reg) panel,
                times = inout(reg) times,
                // Free until it is asked whether all are sure.
                c = out(reg) sure,
                a = out(reg) _,
                b = out(reg) _,
                pitch = out(reg) _,
                stride = out(reg) _,
                rhs = out(reg) _,
                count = out(reg) _,
                rows = out(reg) _,
                last = out(reg) _,
                bytes = out(reg) _,
                LHS = const LHS,
                SIGNED = const lhs::SIGNED,
                TURNED = const lhs::TURNED,
                WIDE = const WIDE as usize,
                ROWS = const if WIDE { TOGETHER } else { 2 * TOGETHER },
                OTHER = const if WIDE { 64 } else { 128 * TOGETHER },
                OF_ROWS = const offset_of!(Walk, rows),
                FIRST = const offset_of!(Walk, first),
                LINE = const offset_of!(Walk, line),
                STEP = const offset_of!(Walk, step),
                RUNS = const offset_of!(Walk, runs),
                RUNS_LEFT = const offset_of!(Walk, runs_left),
                PITCH = const offset_of!(Walk, pitch),
                REST = const offset_of!(Walk, rest),
                LAST = const offset_of!(Walk, last),
                RHS = const offset_of!(Walk, rhs),
                TO = const offset_of!(Walk, to),
                SUMS = const offset_of!(Walk, sums),
                BYTES = const offset_of!(Walk, bytes),
                STRIDE = const offset_of!(Walk, stride),
                ADDED = const offset_of!(Panel, added),
                SCALE = const offset_of!(Panel, scale),
                ABOVE = const offset_of!(Panel, above),
                DIFFERENCE = const offset_of!(Panel, difference),
                LEAST = const offset_of!(Panel, least),
                GREATEST = const offset_of!(Panel, greatest),
                MASK = const offset_of!(Panel, mask),
                KNOWN = sym KNOWN,
                TURN = const offset_of!(Known, turn),
                UPPER = const offset_of!(Known, upper),
                EVEN = const offset_of!(Known, even),
                DOUBT = const offset_of!(Known, doubt),
                SIGNS = const kind::has_signs(KIND) as usize,
                ENDS = const kind::ends(KIND),
                UNSIGNED_BYTES = const kind::UNSIGNED,
                SIGNED_BYTES = const kind::SIGNED,
                SOME_BYTES = const kind::SOME,
                out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _, out("zmm6") _,
                out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _, out("zmm12") _,
                out("zmm13") _, out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _,
                out("zmm19") _, out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _,
                out("zmm25") _, out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _, out("zmm30") _,
                out("zmm31") _, out("k1") _, out("k2") _,
                options(nostack),
            );
        }
        (times, sure != 0)
    }
}
