//! The assembly of a tile: its groups, and between them rows of the tile before. The compiler would run out of registers: 24 sums,
//! 2 vectors of a panel and 1 of a line leave 5 to a row.

use super::{End, FEW, WIDTH, Walk, kind, lhs};
use crate::kernel::dequantize::FloatColumns;
use crate::kernel::panel::Panel;
use crate::kernel::requantize::near;
use std::arch::asm;
use std::mem::offset_of;

/// The same for each row that there is, with what is given: its number, the registers of its sums, and where its line is.
macro_rules! rows {
    ($each:ident $(, $with:ident)?) => {
        concat!(
            $each!($($with,)? "0", "zmm0", "zmm1", "{a}"),
            $each!($($with,)? "1", "zmm2", "zmm3", "{a} + {pitch}"),
            $each!($($with,)? "2", "zmm4", "zmm5", "{a} + 2*{pitch}"),
            $each!($($with,)? "3", "zmm6", "zmm7", "{b}"),
            $each!($($with,)? "4", "zmm8", "zmm9", "{b} + {pitch}"),
            $each!($($with,)? "5", "zmm10", "zmm11", "{b} + 2*{pitch}"),
            $each!($($with,)? "6", "zmm12", "zmm13", "{c}"),
            $each!($($with,)? "7", "zmm14", "zmm15", "{c} + {pitch}"),
            $each!($($with,)? "8", "zmm16", "zmm17", "{c} + 2*{pitch}"),
            $each!($($with,)? "9", "zmm18", "zmm19", "{d}"),
            $each!($($with,)? "10", "zmm20", "zmm21", "{d} + {pitch}"),
            $each!($($with,)? "11", "zmm22", "zmm23", "{d} + 2*{pitch}"),
        )
    };
}

/// Sums begin with what their row and their column add, which is in `zmm24` and `zmm25`.
#[rustfmt::skip]
macro_rules! begin {
    ($row:literal, $first:literal, $second:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpaddd ", $first, ", zmm24, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            ".if {WIDE}\n",
            "vpaddd ", $second, ", zmm25, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// The same, where rows have what their column adds more or less often.
#[rustfmt::skip]
macro_rules! begin_times {
    ($row:literal, $first:literal, $second:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpmulld ", $first, ", zmm24, dword ptr [{b} + 4*", $row, "]{{1to16}}\n",
            ".if {WIDE}\n",
            "vpmulld ", $second, ", zmm25, dword ptr [{b} + 4*", $row, "]{{1to16}}\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// Either of these, of the result's sums or floats.
#[rustfmt::skip]
macro_rules! begin_result {
    ($rows:ident, $begin:ident, $begin_times:ident) => {
        concat!(
            ".if {FLOATS}\n",
            "mov {b}, [{walk} + {OFTEN}]\n",
            "test {b}, {b}\n",
            "jz 33f\n",
            $rows!($begin_times),
            "jmp 34f\n",
            "33:\n",
            ".endif\n",
            $rows!($begin),
            "34:\n",
        )
    };
}

macro_rules! begin_sums_of_rows {
    () => {
        begin_result!(rows, begin, begin_times)
    };
}

macro_rules! begin_rows_before {
    () => {
        rows!(begin)
    };
}

/// A group of a line times that of the panel. `vpdpbusd` takes the unsigned bytes first. What makes them unsigned is in `zmm27`: a
/// processor that loads two numbers at a time would load less often than it could multiply.
#[rustfmt::skip]
macro_rules! multiply {
    ($first:literal, $second:literal, [$line:literal, $at:literal] in $spread:literal, $panel:literal, $other:literal) => {
        concat!(
            "vpbroadcastd ", $spread, ", dword ptr [", $line, $at, "]\n",
            ".if {LHS} == {TURNED}\n",
            "vpxord ", $spread, ", ", $spread, ", zmm27\n",
            ".endif\n",
            ".if {LHS} == {SIGNED}\n",
            "vpdpbusd ", $first, ", ", $panel, ", ", $spread, "\n",
            ".if {WIDE}\n",
            "vpdpbusd ", $second, ", ", $other, ", ", $spread, "\n",
            ".endif\n",
            ".else\n",
            "vpdpbusd ", $first, ", ", $spread, ", ", $panel, "\n",
            ".if {WIDE}\n",
            "vpdpbusd ", $second, ", ", $spread, ", ", $other, "\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! dot {
    ($row:tt, $first:literal, $second:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            multiply!($first, $second, [$line, ""] in "zmm26", "zmm24", "zmm25"),
            ".endif\n",
        )
    };
}

/// As [`dot`], with a step of what makes bytes of a row before.
#[rustfmt::skip]
macro_rules! dot_beside {
    ($row:tt, $first:literal, $second:literal, $line:literal) => {
        concat!(dot!($row, $first, $second, $line), beside!($row))
    };
}

/// Eight steps beside twelve rows.
#[rustfmt::skip]
macro_rules! beside {
    ("0") => { step_of_row!("0") };
    ("1") => { step_of_row!("1") };
    ("3") => { step_of_row!("2") };
    ("4") => { step_of_row!("3") };
    ("6") => { step_of_row!("4") };
    ("7") => { step_of_row!("5") };
    ("9") => { step_of_row!("6") };
    ("10") => { step_of_row!("7") };
    ($other:literal) => { "" };
}

macro_rules! step_of_row {
    ($step:tt) => {
        step!($step, "", "", "k2", "add {bytes}, [{walk} + {STRIDE}]\n")
    };
}

/// All steps of a row.
#[rustfmt::skip]
macro_rules! finish {
    () => {
        concat!(
            step_of_row!("0"), step_of_row!("1"), step_of_row!("2"), step_of_row!("3"),
            step_of_row!("4"), step_of_row!("5"), step_of_row!("6"), step_of_row!("7"),
        )
    };
}

/// To the room from where the next tile takes them.
#[rustfmt::skip]
macro_rules! put {
    ($row:literal, $first:literal, $second:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vmovdqu64 [{sums} + 128*", $row, "], ", $first, "\n",
            "vmovdqu64 [{sums} + 128*", $row, " + 64], ", $second, "\n",
            ".endif\n",
        )
    };
}

/// Sums of a row become floats, each by what its column has.
#[rustfmt::skip]
macro_rules! become_floats {
    ($row:literal $(, [$sum:literal, $at:literal])*) => {
        concat!(
            $("vcvtdq2ps ", $sum, ", ", $sum, "\n", "vmulps ", $sum, ", ", $sum, ", [{cols} + {SCALES} + ", $at, "]\n",)*
            "test {factors}, {factors}\n",
            "jz 26f\n",
            $("vmulps ", $sum, ", ", $sum, ", dword ptr [{factors} + 4*", $row, "]{{1to16}}\n",)*
            "26:\n",
            $("vaddps ", $sum, ", ", $sum, ", [{cols} + {BIASES} + ", $at, "]\n",)*
            "cmp qword ptr [{walk} + {IS_CLAMPED}], 0\n",
            "je 27f\n",
            // Which of two zeros, and that NaN stays, is what the order of operands says.
            "vbroadcastss zmm31, dword ptr [{walk} + {CLAMP}]\n",
            $("vmaxps ", $sum, ", zmm31, ", $sum, "\n",)*
            "vbroadcastss zmm31, dword ptr [{walk} + {CLAMP} + 4]\n",
            $("vminps ", $sum, ", zmm31, ", $sum, "\n",)*
            "27:\n",
        )
    };
}

/// To their row of the result.
#[rustfmt::skip]
macro_rules! put_out {
    ($row:literal, $first:literal, $second:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            ".if {FLOATS}\n",
            ".if {WIDE}\n", become_floats!($row, [$first, "0"], [$second, "64"]),
            ".else\n", become_floats!($row, [$first, "0"]), ".endif\n",
            ".endif\n",
            "vmovdqu32 [{to}]{{k2}}, ", $first, "\n",
            ".if {WIDE}\n",
            "vmovdqu32 [{to} + 64]{{k3}}, ", $second, "\n",
            ".endif\n",
            "add {to}, {stride}\n",
            ".endif\n",
        )
    };
}

/// The end of a line: its last group but one, then the one that lies `at` some other place; and where the sums are put.
#[rustfmt::skip]
macro_rules! end {
    ($put:ident, $row:tt, $first:literal, $second:literal, $line:literal, [$last:literal, $at:literal]) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            multiply!($first, $second, [$line, ""] in "zmm28", "zmm24", "zmm25"),
            multiply!($first, $second, [$last, $at] in "zmm29", "zmm26", "zmm30"),
            ".endif\n",
            $put!($row, $first, $second, $line),
        )
    };
}

macro_rules! end_two {
    ($put:ident, $row:tt, $first:literal, $second:literal, $line:literal) => {
        end!($put, $row, $first, $second, $line, [$line, " + 4"])
    };
}

macro_rules! end_cut {
    ($put:ident, $row:tt, $first:literal, $second:literal, $line:literal) => {
        end!($put, $row, $first, $second, $line, ["{count} + 4*", $row])
    };
}

/// All lines, from the first one on.
#[rustfmt::skip]
macro_rules! lines {
    () => {
        concat!(
            "lea {b}, [{a} + 2*{pitch}]\n", "add {b}, {pitch}\n",
            "lea {c}, [{b} + 2*{pitch}]\n", "add {c}, {pitch}\n",
            "lea {d}, [{c} + 2*{pitch}]\n", "add {d}, {pitch}\n",
        )
    };
}

/// A group of the panel.
#[rustfmt::skip]
macro_rules! panel {
    ($first:literal, $second:literal, $at:literal) => {
        concat!(
            "vmovdqu64 ", $first, ", [{rhs} + ", $at, "]\n",
            "vmovdqu64 ", $second, ", [{rhs} + ", $at, " + 64]\n",
            "prefetcht0 [{rhs} + {ahead} + ", $at, "]\n",
            "prefetcht0 [{rhs} + {ahead} + ", $at, " + 64]\n",
        )
    };
}

/// A group of all lines.
#[rustfmt::skip]
macro_rules! group {
    ($dot:ident) => {
        concat!(
            panel!("zmm24", "zmm25", "0"),
            rows!($dot),
            "add {a}, 4\n", "add {b}, 4\n", "add {c}, 4\n", "add {d}, 4\n",
            "sub {rhs}, -128\n",
        )
    };
}

/// What is the same for all panels.
#[repr(C, align(64))]
pub(super) struct Known {
    /// Where the upper words of two vectors lie, and the even ones of eight quarters of words.
    pub upper: [u16; 32],
    pub even: [u64; 8],
    /// What lower words are less than where a number is in doubt, which no upper word is.
    pub doubt: [[u16; 2]; 16],
    /// What makes unsigned bytes of signed ones.
    pub turn: [u8; 4],
}

pub(super) static KNOWN: Known = {
    let mut upper = [0; 32];
    let mut i = 0;
    while i < upper.len() {
        upper[i] = 2 * i as u16 + 1;
        i += 1;
    }
    Known { upper, even: [0, 2, 4, 6, 0, 2, 4, 6], doubt: [[near::IN_DOUBT, 0]; 16], turn: [128; 4] }
};

/// All rows' sums.
#[rustfmt::skip]
macro_rules! begin_all {
    ($of_cols:literal, $begin:ident) => {
        concat!(
            "vmovdqu64 zmm24, [", $of_cols, "]\n",
            "vmovdqu64 zmm25, [", $of_cols, " + 64]\n",
            "mov {a}, [{walk} + {OF_ROWS}]\n",
            $begin!(),
            turn!(),
            "mov {ahead}, [{walk} + {AHEAD}]\n",
            go!(lines),
        )
    };
}

/// What makes unsigned bytes of signed ones.
#[rustfmt::skip]
macro_rules! turn {
    () => {
        concat!(
            ".if {LHS} == {TURNED}\n",
            "vpbroadcastd zmm27, dword ptr [rip + {KNOWN} + {TURN}]\n",
            ".endif\n",
        )
    };
}

/// To the lines and the panel.
#[rustfmt::skip]
macro_rules! go {
    ($lines:ident) => {
        concat!(
            "mov {pitch}, [{walk} + {PITCH}]\n",
            "mov {rhs}, [{walk} + {RHS}]\n",
            "mov {a}, [{walk} + {RUNS}]\n",
            "mov [{walk} + {RUNS_LEFT}], {a}\n",
            "mov {a}, [{walk} + {FIRST}]\n",
            "mov [{walk} + {LINE}], {a}\n",
            $lines!(),
        )
    };
}

/// Groups that are left of the first run, and those of the others.
#[rustfmt::skip]
macro_rules! rest_of_runs {
    ($few:ident, $group:ident, $dot:ident, $lines:ident) => {
        concat!(
            "mov {count}, [{walk} + {REST}]\n",
            "test {count}, {count}\n",
            "jz 7f\n",
            "6:\n", $few!(), "24:\n", $group!($dot), "dec {count}\n", "jnz 24b\n",

            // The next run.
            "7:\n",
            "dec qword ptr [{walk} + {RUNS_LEFT}]\n",
            "jz 8f\n",
            "mov {a}, [{walk} + {LINE}]\n",
            "add {a}, [{walk} + {STEP}]\n",
            "mov [{walk} + {LINE}], {a}\n",
            $lines!(),
            "mov {count}, [{walk} + {GROUPS}]\n",
            "cmp qword ptr [{walk} + {RUNS_LEFT}], 1\n",
            "cmove {count}, [{walk} + {GROUPS_OF_LAST}]\n",
            "test {count}, {count}\n",
            "jnz 6b\n",
            "8:\n",
        )
    };
}

/// The end of all lines, in whichever of three ways.
#[rustfmt::skip]
macro_rules! ends {
    ($put:ident) => {
        concat!(
            "mov {count}, [{walk} + {END}]\n",
            "cmp {count}, {END_WHOLE}\n",
            "jb 50f\n",
            panel!("zmm24", "zmm25", "0"),
            panel!("zmm26", "zmm30", "128"),
            "ja 40f\n",
            rows!(end_two, $put),
            "jmp 60f\n",
            "40:\n",
            "mov {count}, [{walk} + {LAST}]\n",
            rows!(end_cut, $put),
            "jmp 60f\n",
            "50:\n",
            rows!($put),
            "60:\n",
        )
    };
}

/// On to the next tile of as many rows, if there is one.
#[rustfmt::skip]
macro_rules! next_tile {
    () => {
        concat!(
            "imul {a}, {pitch}, {ROWS}\n",
            "add [{walk} + {FIRST}], {a}\n",
            "add qword ptr [{walk} + {OF_ROWS}], 4*{ROWS}\n",
            "add qword ptr [{walk} + {LAST}], 4*{ROWS}\n",
            "test {factors}, {factors}\n",
            "jz 28f\n",
            "add {factors}, 4*{ROWS}\n",
            "28:\n",
            "cmp qword ptr [{walk} + {OFTEN}], 0\n",
            "je 29f\n",
            "add qword ptr [{walk} + {OFTEN}], 4*{ROWS}\n",
            "29:\n",
            "dec qword ptr [{walk} + {TIMES}]\n",
            "jnz 90b\n",
        )
    };
}

/// What begins and ends tiles whose sums are the result.
#[rustfmt::skip]
macro_rules! begin_sums {
    () => {
        concat!(
            "kmovw k2, [{walk} + {MASK}]\n",
            "kmovw k3, [{walk} + {MASK} + 2]\n",
            "mov {to}, [{walk} + {TO}]\n",
            "mov {stride}, [{walk} + {STRIDE}]\n",
            "mov {cols}, [{walk} + {OF_COLS}]\n",
            "mov {factors}, [{walk} + {FACTORS}]\n",
        )
    };
}

/// Where sums go, if that is far away, while they are multiplied.
#[rustfmt::skip]
macro_rules! fetch_out {
    ($rows:ident, $fetch:ident) => {
        concat!(
            "cmp qword ptr [{walk} + {IS_FAR}], 0\n",
            "je 25f\n",
            "mov {count}, {to}\n",
            $rows!($fetch),
            "25:\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! fetch_row {
    ($row:literal, $first:literal, $second:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "prefetchw [{count}]\n",
            "prefetchw [{count} + 64]\n",
            "prefetchw [{count} + 127]\n",
            "add {count}, {stride}\n",
            ".endif\n",
        )
    };
}

macro_rules! end_sums {
    () => {
        concat!("mov [{walk} + {TO}], {to}\n", "mov [{walk} + {FACTORS}], {factors}\n")
    };
}

/// What begins before rows become bytes: the mask of those of a panel.
#[rustfmt::skip]
macro_rules! begin_bytes {
    ($mask:literal) => {
        concat!(
            "vpternlogd zmm31, zmm31, zmm31, 255\n",
            "kmovd k2, [", $mask, "]\n",
            "mov {sums}, [{walk} + {SUMS}]\n",
            "mov {bytes}, [{walk} + {BYTES}]\n",
        )
    };
}

/// The first run, with the rows before: those beside two groups each, then those beside one.
#[rustfmt::skip]
macro_rules! rows_before {
    ($group:ident, [$first:ident, $second:ident], $alone:ident) => {
        concat!(
            "mov {count}, [{walk} + {BESIDE_TWO}]\n",
            "test {count}, {count}\n",
            "jz 3f\n",
            "2:\n", $group!($first), $group!($second), "dec {count}\n", "jnz 2b\n",
            "3:\n",
            "mov {count}, [{walk} + {BESIDE_ONE}]\n",
            "test {count}, {count}\n",
            "jz 5f\n",
            "4:\n", $group!($alone), "dec {count}\n", "jnz 4b\n",
            "5:\n",
        )
    };
}

/// Rows that are left; then sums go to where they are put.
#[rustfmt::skip]
macro_rules! rows_after {
    ($finish:ident) => {
        concat!(
            "mov {count}, [{walk} + {AFTER}]\n",
            "test {count}, {count}\n",
            "jz 30f\n",
            "20:\n", $finish!(), "dec {count}\n", "jnz 20b\n",
            "30:\n",
            "mov {sums}, [{walk} + {TO}]\n",
        )
    };
}

/// Whether no number was in doubt: then it carries.
#[rustfmt::skip]
macro_rules! are_sure {
    ($sure:literal) => {
        concat!(
            "vpcmpuw k1, zmm31, [rip + {KNOWN} + {DOUBT}], 5\n",
            "xor ", $sure, ", ", $sure, "\n",
            "kortestd k1, k1\n",
            "adc ", $sure, ", ", $sure, "\n",
        )
    };
}

macro_rules! nothing {
    () => {
        ""
    };
}

/// Assembly, its own operands, and those of all. It leaves no upper halves of vectors in use, which would slow down whatever comes
/// after: the compiler, to which `out` registers have 128 bits, does not see to it.
macro_rules! walk {
    ($assembly:expr, $walk:ident, {$($own:tt)*}) => {
        asm!(
            $assembly,
            "vzeroupper",
            $($own)*
            walk = in(reg) $walk,
            a = out(reg) _,
            b = out(reg) _,
            c = out(reg) _,
            pitch = out(reg) _,
            rhs = out(reg) _,
            count = out(reg) _,
            ROWS = const ROWS,
            LHS = const LHS,
            SIGNED = const lhs::SIGNED,
            TURNED = const lhs::TURNED,
            OF_ROWS = const offset_of!(Walk, rows),
            FIRST = const offset_of!(Walk, first),
            LINE = const offset_of!(Walk, line),
            PITCH = const offset_of!(Walk, pitch),
            STEP = const offset_of!(Walk, step),
            RUNS = const offset_of!(Walk, runs),
            RUNS_LEFT = const offset_of!(Walk, runs_left),
            GROUPS = const offset_of!(Walk, groups),
            GROUPS_OF_LAST = const offset_of!(Walk, groups_of_last),
            REST = const offset_of!(Walk, rest),
            END = const offset_of!(Walk, end),
            LAST = const offset_of!(Walk, last),
            RHS = const offset_of!(Walk, rhs),
            TO = const offset_of!(Walk, to),
            STRIDE = const offset_of!(Walk, stride),
            KNOWN = sym KNOWN,
            TURN = const offset_of!(Known, turn),
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _, out("zmm6") _,
            out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _, out("zmm12") _,
            out("zmm13") _, out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _,
            out("zmm19") _, out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _,
            out("zmm25") _, out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _, out("zmm30") _,
            out("zmm31") _, out("k1") _, out("k2") _, out("k3") _,
            options(nostack),
        )
    };
}

/// That of a tile of one panel.
macro_rules! walk_one {
    ($assembly:expr, $walk:ident, {$($own:tt)*}) => {
        walk!($assembly, $walk, {
            $($own)*
            d = out(reg) _,
            ahead = out(reg) _,
            WIDE = const WIDE as usize,
            END_WHOLE = const End::Whole as usize,
            FEW = const FEW,
            AHEAD = const offset_of!(Walk, ahead),
        })
    };
}

/// That of a tile of two.
macro_rules! walk_two {
    ($assembly:expr, $walk:ident, {$($own:tt)*}) => {
        walk!($assembly, $walk, {
            $($own)*
            DISTANCE = const offset_of!(Walk, distance),
            END_CUT = const End::Cut as usize,
        })
    };
}

/// The same, of sums, or floats, that are the result.
macro_rules! walk_to_result {
    ($walk_of:ident, $assembly:expr, $walk:ident, {$($own:tt)*}) => {
        $walk_of!($assembly, $walk, {
            $($own)*
            to = out(reg) _,
            stride = out(reg) _,
            cols = out(reg) _,
            factors = out(reg) _,
            FLOATS = const FLOATS as usize,
            TIMES = const offset_of!(Walk, times),
            OF_COLS = const offset_of!(Walk, of_cols),
            FACTORS = const offset_of!(Walk, factors),
            OFTEN = const offset_of!(Walk, often),
            CLAMP = const offset_of!(Walk, clamp),
            IS_CLAMPED = const offset_of!(Walk, is_clamped),
            SCALES = const offset_of!(FloatColumns<WIDTH>, scales),
            BIASES = const offset_of!(FloatColumns<WIDTH>, biases),
            MASK = const offset_of!(Walk, mask),
            IS_FAR = const offset_of!(Walk, is_far),
        })
    };
}

/// The same, of sums that become bytes.
macro_rules! walk_beside {
    ($walk_of:ident, $assembly:expr, $walk:ident, $start:ident, $before:ident, $sure:ident, {$($own:tt)*}) => {
        $walk_of!($assembly, $walk, {
            $($own)*
            panel = in(reg) $before,
            sums = out(reg) _,
            bytes = inout(reg) $start => _,
            sure = out(reg) $sure,
            BESIDE_ONE = const offset_of!(Walk, beside_one),
            BESIDE_TWO = const offset_of!(Walk, beside_two),
            AFTER = const offset_of!(Walk, after),
            SUMS = const offset_of!(Walk, sums),
            BYTES = const offset_of!(Walk, bytes),
            ADDED = const offset_of!(Panel, added),
            SCALE = const offset_of!(Panel, scale),
            ABOVE = const offset_of!(Panel, above),
            DIFFERENCE = const offset_of!(Panel, difference),
            LEAST = const offset_of!(Panel, least),
            GREATEST = const offset_of!(Panel, greatest),
            MASK = const offset_of!(Panel, mask),
            UPPER = const offset_of!(Known, upper),
            EVEN = const offset_of!(Known, even),
            DOUBT = const offset_of!(Known, doubt),
            SIGNS = const kind::has_signs(KIND) as usize,
            ENDS = const kind::ends(KIND),
            UNSIGNED_BYTES = const kind::UNSIGNED,
            SIGNED_BYTES = const kind::SIGNED,
            SOME_BYTES = const kind::SOME,
        })
    };
}

impl Walk {
    /// Multiplies the lines of so many tiles, one at least, and brings their sums, to which rows and columns add theirs, to their place;
    /// or floats, which they become. Unless it is wide, only the first half of the columns. Ends at the next tile.
    ///
    /// # Safety
    /// Everything that it points at may be read or written, as far as it says.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(in crate::kernel) unsafe fn sum<const ROWS: usize, const LHS: usize, const WIDE: bool, const FLOATS: bool>(
        &mut self,
        times: usize,
    ) {
        self.times = times;
        // SAFETY: this function's own promise.
        unsafe {
            walk_to_result!(
                walk_one,
                concat!(
                    begin_sums!(),
                    "90:\n",
                    begin_all!("{cols}", begin_sums_of_rows),
                    fetch_out!(rows, fetch_row),
                    rest_of_runs!(pairs, group, dot, lines),
                    ends!(put_out),
                    next_tile!(),
                    end_sums!(),
                ),
                self,
                {}
            );
        }
    }

    /// Multiplies the lines while the sums before become bytes. Whether all of these are surely what they should be.
    ///
    /// # Safety
    /// Everything that it points at may be read or written, as far as it says.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(in crate::kernel) unsafe fn run<const ROWS: usize, const LHS: usize, const KIND: usize>(
        &mut self,
        start: *const Panel,
        before: *const Panel,
    ) -> bool {
        const WIDE: bool = true;
        let sure: u32;
        // SAFETY: this function's own promise.
        unsafe {
            walk_beside!(
                walk_one,
                concat!(
                    begin_all!("{bytes} + {ADDED}", begin_rows_before),
                    begin_bytes!("{panel} + {MASK}"),
                    rows_before!(group, [dot, dot_beside], dot_beside),
                    rest_of_runs!(pairs, group, dot, lines),
                    rows_after!(finish),
                    ends!(put),
                    are_sure!("{sure:e}"),
                ),
                self,
                start,
                before,
                sure,
                {}
            );
        }
        sure != 0
    }

    /// As [`sum`](Self::sum), of two panels.
    ///
    /// # Safety
    /// As for one.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(in crate::kernel) unsafe fn sum_two<const ROWS: usize, const LHS: usize, const FLOATS: bool>(
        &mut self,
        times: usize,
    ) {
        self.times = times;
        // SAFETY: this function's own promise.
        unsafe {
            walk_to_result!(
                walk_two,
                concat!(
                    begin_sums!(),
                    "90:\n",
                    begin_two!("{cols}", "{cols} + {NEXT}", begin_sums_of_two),
                    fetch_out!(rows_of_two, fetch_row_of_two),
                    rest_of_runs!(nothing, group_of_two, dot_two, lines_of_two),
                    ends_of_two!(put_out_two),
                    next_tile!(),
                    end_sums!(),
                ),
                self,
                {
                    NEXT = const match FLOATS {
                        true => size_of::<FloatColumns<WIDTH>>(),
                        false => size_of::<[i32; WIDTH]>(),
                    },
                }
            );
        }
    }

    /// As [`run`](Self::run), of two panels.
    ///
    /// # Safety
    /// As for one; another panel follows each of these.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(in crate::kernel) unsafe fn run_two<const ROWS: usize, const LHS: usize, const KIND: usize>(
        &mut self,
        start: *const Panel,
        before: *const Panel,
    ) -> bool {
        let sure: u32;
        // SAFETY: this function's own promise.
        unsafe {
            walk_beside!(
                walk_two,
                concat!(
                    begin_two!("{bytes} + {ADDED}", "{bytes} + {ADDED} + {PANEL}", begin_rows_of_two),
                    begin_bytes!("{panel} + {MASK} + {PANEL}"),
                    "kxnord k3, k3, k3\n",
                    rows_before!(group_of_two, [dot_left, dot_right], dot_both),
                    rest_of_runs!(nothing, group_of_two, dot_two, lines_of_two),
                    rows_after!(finish_two),
                    ends_of_two!(put_two),
                    are_sure!("{sure:e}"),
                ),
                self, start, before, sure, { PANEL = const size_of::<Panel>(), }
            );
        }
        sure != 0
    }
}
