//! The assembly of a tile: its groups, and between them rows of the tile before. The compiler would run out of registers: 24 sums,
//! 2 vectors of a panel and 1 of a line leave 5 to a row.

use crate::kernel::relay::Panel;
use std::arch::asm;
use std::mem::offset_of;
use std::ptr;

/// What the assembly reads, and counts down.
#[repr(C)]
pub(super) struct Walk {
    /// What each row adds.
    pub rows: *const i32,
    /// The first line, how far the next one lies, and how far the next of `runs` runs.
    pub line: *const u8,
    pub pitch: usize,
    pub step: usize,
    pub runs: usize,
    /// Groups of a run.
    pub groups: usize,
    /// Rows before that go beside one group each, and beside two. Others go after the last group.
    pub beside_one: usize,
    pub beside_two: usize,
    pub after: usize,
    /// Groups of the first run that are left.
    pub rest: usize,
    /// Whether the depth ends within a group, and that group of each line.
    pub is_cut: usize,
    pub last: *const [u8; 4],
    pub rhs: *const u8,
    /// How far ahead the panel is fetched.
    pub ahead: usize,
    pub to: *mut i32,
    pub sums: *mut i32,
    pub bytes: *mut u8,
    pub stride: usize,
}

/// The same for each row that there is: its number, the registers of its sums, and where its line is.
macro_rules! rows {
    ($each:ident) => {
        concat!(
            $each!("0", "zmm0", "zmm1", "ymm1", "{a}"),
            $each!("1", "zmm2", "zmm3", "ymm3", "{a} + {pitch}"),
            $each!("2", "zmm4", "zmm5", "ymm5", "{a} + 2*{pitch}"),
            $each!("3", "zmm6", "zmm7", "ymm7", "{b}"),
            $each!("4", "zmm8", "zmm9", "ymm9", "{b} + {pitch}"),
            $each!("5", "zmm10", "zmm11", "ymm11", "{b} + 2*{pitch}"),
            $each!("6", "zmm12", "zmm13", "ymm13", "{c}"),
            $each!("7", "zmm14", "zmm15", "ymm15", "{c} + {pitch}"),
            $each!("8", "zmm16", "zmm17", "ymm17", "{c} + 2*{pitch}"),
            $each!("9", "zmm18", "zmm19", "ymm19", "{d}"),
            $each!("10", "zmm20", "zmm21", "ymm21", "{d} + {pitch}"),
            $each!("11", "zmm22", "zmm23", "ymm23", "{d} + 2*{pitch}"),
        )
    };
}

/// Sums begin with what their row and their column add, which is in `zmm24` and `zmm25`.
#[rustfmt::skip]
macro_rules! begin {
    ($row:literal, $first:literal, $second:literal, $half:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpaddd ", $first, ", zmm24, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            "vpaddd ", $second, ", zmm25, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            ".endif\n",
        )
    };
}

/// A group of a line times that of the panel. `vpdpbusd` takes the unsigned bytes first.
#[rustfmt::skip]
macro_rules! dot {
    ($row:literal, $first:literal, $second:literal, $half:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpbroadcastd zmm26, dword ptr [", $line, "]\n",
            ".if {SIGNED}\n",
            "vpdpbusd ", $first, ", zmm24, zmm26\n",
            "vpdpbusd ", $second, ", zmm25, zmm26\n",
            ".else\n",
            "vpdpbusd ", $first, ", zmm26, zmm24\n",
            "vpdpbusd ", $second, ", zmm26, zmm25\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// To memory; halves of half of them, for so many whole vectors at once hold up what comes next.
#[rustfmt::skip]
macro_rules! put {
    ($row:literal, $first:literal, $second:literal, $half:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vmovdqu64 [{sums} + 128*", $row, "], ", $first, "\n",
            "vmovdqu64 [{sums} + 128*", $row, " + 64], ", $half, "\n",
            "vextracti64x4 [{sums} + 128*", $row, " + 96], ", $second, ", 1\n",
            ".endif\n",
        )
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

/// A group of all lines.
#[rustfmt::skip]
macro_rules! group {
    () => {
        concat!(
            "vmovdqu64 zmm24, [{rhs}]\n",
            "vmovdqu64 zmm25, [{rhs} + 64]\n",
            "prefetcht0 [{rhs} + {ahead}]\n",
            "prefetcht0 [{rhs} + {ahead} + 64]\n",
            rows!(dot),
            "add {a}, 4\n", "add {b}, 4\n", "add {c}, 4\n", "add {d}, 4\n",
            "sub {rhs}, -128\n",
        )
    };
}

/// A row before becomes bytes, and whether it is sure the lowest bit.
#[rustfmt::skip]
macro_rules! finish {
    () => {
        concat!(
            "vcvtdq2ps zmm27, [{sums}]\n",
            "vcvtdq2ps zmm28, [{sums} + 64]\n",
            "sub {sums}, -128\n",
            "vmovdqa64 zmm29, [{panel} + {NUDGE}]\n",
            "vmovdqa64 zmm30, [{panel} + {NUDGE} + 64]\n",
            "vpternlogd zmm29, zmm27, dword ptr [{panel} + {SIGNS}]{{1to16}}, 0x78\n",
            "vpternlogd zmm30, zmm28, dword ptr [{panel} + {SIGNS}]{{1to16}}, 0x78\n",
            "vfmadd132ps zmm27, zmm29, [{panel} + {SCALE}]\n",
            "vfmadd132ps zmm28, zmm30, [{panel} + {SCALE} + 64]\n",
            "vcvtps2dq zmm29, zmm27\n",
            "vcvtps2dq zmm30, zmm28\n",
            "vreduceps zmm27, zmm27, 0\n",
            "vreduceps zmm28, zmm28, 0\n",
            // The one with the greater magnitude, which it gives.
            "vrangeps zmm27, zmm27, zmm28, 11\n",
            "vpackssdw zmm29, zmm29, zmm30\n",
            "vpaddsw zmm29, zmm29, [{panel} + {OFFSET}]\n",
            "vpacksswb zmm29, zmm29, zmm29\n",
            "vpermd zmm29, zmm31, zmm29\n",
            "vpmaxsb ymm29, ymm29, [{panel} + {LEAST}]\n",
            "vpminsb ymm29, ymm29, [{panel} + {GREATEST}]\n",
            "vpxord ymm29, ymm29, [{panel} + {FLIP}]\n",
            "vmovdqu8 [{bytes}]{{k2}}, ymm29\n",
            "add {bytes}, [{walk} + {STRIDE}]\n",
            // Not greater than. All are if it carries.
            "vcmpps k1, zmm27, dword ptr [{panel} + {SURE}]{{1to16}}, 26\n",
            "kortestw k1, k1\n",
            "adc {sure:e}, {sure:e}\n",
        )
    };
}

/// Where the dwords of a row of bytes lie: four columns of the first half, four of the second, and so on.
#[repr(C, align(64))]
struct Order([i32; 16]);

static ORDER: Order = Order([0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0]);

impl Walk {
    pub(super) const NONE: Self = Self {
        rows: ptr::null(),
        line: ptr::null(),
        pitch: 0,
        step: 0,
        runs: 0,
        groups: 0,
        beside_one: 0,
        beside_two: 0,
        after: 0,
        rest: 0,
        is_cut: 0,
        last: ptr::null(),
        rhs: ptr::null(),
        ahead: 0,
        to: ptr::null_mut(),
        sums: ptr::null_mut(),
        bytes: ptr::null_mut(),
        stride: 0,
    };

    /// Rows before go beside so many groups, as evenly as they can.
    #[inline(always)]
    pub(super) fn beside(&mut self, rows: usize, groups: usize) {
        self.beside_two = groups.saturating_sub(rows).min(rows);
        self.beside_one = (groups - 2 * self.beside_two).min(rows - self.beside_two);
        self.after = rows - self.beside_one - self.beside_two;
        self.rest = groups - self.beside_one - 2 * self.beside_two;
    }

    /// Which of the rows before are surely what they should be, of which the last has the lowest bit.
    ///
    /// # Safety
    /// Everything that it points at may be read or written, as far as it says.
    #[rustfmt::skip]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    pub(super) unsafe fn run<const ROWS: usize, const SIGNED: bool>(&mut self, start: *const Panel, before: *const Panel) -> u32 {
        let sure: u32;
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                concat!(
                    "vmovdqa64 zmm31, [{sums}]\n",
                    "vmovdqa64 zmm24, [{bytes} + {ADDED}]\n",
                    "vmovdqa64 zmm25, [{bytes} + {ADDED} + 64]\n",
                    "mov {a}, [{walk} + {OF_ROWS}]\n",
                    rows!(begin),
                    "xor {sure:e}, {sure:e}\n",
                    "kmovd k2, [{panel} + {MASK}]\n",
                    "mov {pitch}, [{walk} + {PITCH}]\n",
                    "mov {rhs}, [{walk} + {RHS}]\n",
                    "mov {ahead}, [{walk} + {AHEAD}]\n",
                    "mov {sums}, [{walk} + {SUMS}]\n",
                    "mov {bytes}, [{walk} + {BYTES}]\n",
                    "mov {a}, [{walk} + {LINE}]\n",
                    lines!(),

                    // The first run, with the rows before.
                    "mov {count}, [{walk} + {BESIDE_TWO}]\n",
                    "test {count}, {count}\n",
                    "jz 3f\n",
                    "2:\n", group!(), group!(), finish!(), "dec {count}\n", "jnz 2b\n",
                    "3:\n",
                    "mov {count}, [{walk} + {BESIDE_ONE}]\n",
                    "test {count}, {count}\n",
                    "jz 5f\n",
                    "4:\n", group!(), finish!(), "dec {count}\n", "jnz 4b\n",
                    "5:\n",
                    "mov {count}, [{walk} + {REST}]\n",
                    "test {count}, {count}\n",
                    "jz 7f\n",

                    "6:\n", group!(), "dec {count}\n", "jnz 6b\n",

                    // The next run.
                    "7:\n",
                    "dec qword ptr [{walk} + {RUNS}]\n",
                    "jz 8f\n",
                    "mov {a}, [{walk} + {LINE}]\n",
                    "add {a}, [{walk} + {STEP}]\n",
                    "mov [{walk} + {LINE}], {a}\n",
                    lines!(),
                    "mov {count}, [{walk} + {GROUPS}]\n",
                    "jmp 6b\n",

                    // A group that is cut, as if it were another run.
                    "8:\n",
                    "mov {count}, [{walk} + {IS_CUT}]\n",
                    "test {count}, {count}\n",
                    "jz 9f\n",
                    "mov qword ptr [{walk} + {IS_CUT}], 0\n",
                    "mov qword ptr [{walk} + {RUNS}], 1\n",
                    "mov {a}, [{walk} + {LAST}]\n",
                    "mov {pitch:e}, 4\n",
                    lines!(),
                    "jmp 6b\n",

                    // Rows that are left.
                    "9:\n",
                    "mov {count}, [{walk} + {AFTER}]\n",
                    "test {count}, {count}\n",
                    "jz 30f\n",
                    "20:\n", finish!(), "dec {count}\n", "jnz 20b\n",
                    "30:\n",
                    "mov {sums}, [{walk} + {TO}]\n",
                    rows!(put),
                ),
                walk = in(reg) self,
                panel = in(reg) before,
                sums = inout(reg) &ORDER => _,
                bytes = inout(reg) start => _,
                sure = out(reg) sure,
                a = out(reg) _,
                b = out(reg) _,
                c = out(reg) _,
                d = out(reg) _,
                pitch = out(reg) _,
                rhs = out(reg) _,
                ahead = out(reg) _,
                count = out(reg) _,
                ROWS = const ROWS,
                SIGNED = const SIGNED as usize,
                OF_ROWS = const offset_of!(Walk, rows),
                LINE = const offset_of!(Walk, line),
                PITCH = const offset_of!(Walk, pitch),
                STEP = const offset_of!(Walk, step),
                RUNS = const offset_of!(Walk, runs),
                GROUPS = const offset_of!(Walk, groups),
                BESIDE_ONE = const offset_of!(Walk, beside_one),
                BESIDE_TWO = const offset_of!(Walk, beside_two),
                AFTER = const offset_of!(Walk, after),
                REST = const offset_of!(Walk, rest),
                IS_CUT = const offset_of!(Walk, is_cut),
                LAST = const offset_of!(Walk, last),
                RHS = const offset_of!(Walk, rhs),
                AHEAD = const offset_of!(Walk, ahead),
                TO = const offset_of!(Walk, to),
                SUMS = const offset_of!(Walk, sums),
                BYTES = const offset_of!(Walk, bytes),
                STRIDE = const offset_of!(Walk, stride),
                ADDED = const offset_of!(Panel, added),
                SCALE = const offset_of!(Panel, scale),
                NUDGE = const offset_of!(Panel, nudge),
                OFFSET = const offset_of!(Panel, offset),
                LEAST = const offset_of!(Panel, least),
                GREATEST = const offset_of!(Panel, greatest),
                FLIP = const offset_of!(Panel, flip),
                SIGNS = const offset_of!(Panel, signs),
                SURE = const offset_of!(Panel, sure),
                MASK = const offset_of!(Panel, mask),
                out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _, out("zmm6") _,
                out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _, out("zmm12") _,
                out("zmm13") _, out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _,
                out("zmm19") _, out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _,
                out("zmm25") _, out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _, out("zmm30") _,
                out("zmm31") _, out("k1") _, out("k2") _,
                options(nostack),
            );
        }
        sure
    }
}
