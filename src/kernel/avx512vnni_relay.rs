//! AVX-512 VNNI: the rows of the tile before become bytes between the groups of a tile.
//!
//! In assembly, for the compiler runs out of registers: 24 sums, 2 vectors of a panel and 1 of a line leave 5 to the row before.

use super::relay::{Bytes, Open, Panel, ROWS, RelayFns, Rows, Strip, Terms, WIDTH};
use super::requantize::avx512::{relay_panel, relay_row};
use super::vector512::{Vector, plus, store};
use crate::matrix::Encoding;
use crate::pack;
use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::offset_of;
use std::ptr;

pub(super) static RELAY: RelayFns = RelayFns { panel: relay_panel, multiply, finish };

/// What the assembly reads, and counts down.
#[repr(C)]
struct Walk {
    /// What each row adds.
    rows: *const i32,
    /// The first line, how far the next one lies, and how far the next of `runs` runs.
    line: *const u8,
    pitch: usize,
    step: usize,
    runs: usize,
    /// Groups of a run.
    groups: usize,
    /// Rows before that go beside one group each, and beside two. Others go after the last group.
    beside_one: usize,
    beside_two: usize,
    after: usize,
    /// Groups of the first run that are left.
    rest: usize,
    /// Whether the depth ends within a group, and that group of each line.
    is_cut: usize,
    last: *const [u8; 4],
    rhs: *const u8,
    /// How far ahead the panel is fetched.
    ahead: usize,
    to: *mut i32,
    sums: *const i32,
    bytes: *mut u8,
    stride: usize,
}

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
    assert!(tile.fresh && tile.cols == WIDTH && !tile.is_turned && open.count <= ROWS);
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
        let doubt = unsafe {
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
        unsafe { settle(result, open, room, doubt) }
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
            let doubt = walk.run::<0, false>(panel, panel);
            settle(result, open, room, doubt);
        }
    }
}

/// Finishes the rows that are in doubt, the last of which has the lowest bit.
///
/// # Safety
/// Nobody else uses the places of the open tile, whose panel is there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn settle(result: &Bytes, open: &Open, room: &[Rows; 2], doubt: u32) {
    if doubt != 0 {
        for row in (0..open.count).filter(|row| doubt >> (open.count - 1 - row) & 1 != 0) {
            // SAFETY: this function's own promise.
            unsafe {
                let bytes = relay_row(result.panels[open.panel].assume_init_ref(), &room[open.turn][row]);
                result.of(open).wrapping_add(row * result.stride).cast::<[u8; WIDTH]>().write(bytes);
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
macro_rules! begin {
    ($row:literal, $first:literal, $second:literal, $half:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ",
            $row,
            "\n",
            "vpaddd ",
            $first,
            ", zmm24, dword ptr [{a} + 4*",
            $row,
            "]{{1to16}}\n",
            "vpaddd ",
            $second,
            ", zmm25, dword ptr [{a} + 4*",
            $row,
            "]{{1to16}}\n",
            ".endif\n",
        )
    };
}

/// A group of a line times that of the panel. `vpdpbusd` takes the unsigned bytes first.
macro_rules! dot {
    ($row:literal, $first:literal, $second:literal, $half:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ",
            $row,
            "\n",
            "vpbroadcastd zmm26, dword ptr [",
            $line,
            "]\n",
            ".if {SIGNED}\n",
            "vpdpbusd ",
            $first,
            ", zmm24, zmm26\n",
            "vpdpbusd ",
            $second,
            ", zmm25, zmm26\n",
            ".else\n",
            "vpdpbusd ",
            $first,
            ", zmm26, zmm24\n",
            "vpdpbusd ",
            $second,
            ", zmm26, zmm25\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// To memory; halves of half of them, for so many whole vectors at once hold up what comes next.
macro_rules! put {
    ($row:literal, $first:literal, $second:literal, $half:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ",
            $row,
            "\n",
            "vmovdqu64 [{sums} + 128*",
            $row,
            "], ",
            $first,
            "\n",
            "vmovdqu64 [{sums} + 128*",
            $row,
            " + 64], ",
            $half,
            "\n",
            "vextracti64x4 [{sums} + 128*",
            $row,
            " + 96], ",
            $second,
            ", 1\n",
            ".endif\n",
        )
    };
}

/// All lines, from the first one on.
macro_rules! lines {
    () => {
        concat!(
            "lea {b}, [{a} + 2*{pitch}]\n",
            "add {b}, {pitch}\n",
            "lea {c}, [{b} + 2*{pitch}]\n",
            "add {c}, {pitch}\n",
            "lea {d}, [{c} + 2*{pitch}]\n",
            "add {d}, {pitch}\n",
        )
    };
}

/// A group of all lines.
macro_rules! group {
    () => {
        concat!(
            "vmovdqu64 zmm24, [{rhs}]\n",
            "vmovdqu64 zmm25, [{rhs} + 64]\n",
            "prefetcht0 [{rhs} + {ahead}]\n",
            "prefetcht0 [{rhs} + {ahead} + 64]\n",
            rows!(dot),
            "add {a}, 4\n",
            "add {b}, 4\n",
            "add {c}, 4\n",
            "add {d}, 4\n",
            "sub {rhs}, -128\n",
        )
    };
}

/// A row before becomes bytes. If a number is in doubt, on to the label, and back.
macro_rules! finish {
    ($in_doubt:literal, $back:literal) => {
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
            "vmovdqu64 [{bytes}], ymm29\n",
            "add {bytes}, [{walk} + {STRIDE}]\n",
            "add {doubt:e}, {doubt:e}\n",
            // Greater than.
            "vcmpps k1, zmm27, dword ptr [{panel} + {SURE}]{{1to16}}, 30\n",
            "kortestw k1, k1\n",
            "jnz ",
            $in_doubt,
            "f\n",
            $back,
            ":\n",
        )
    };
}

/// Where the dwords of a row of bytes lie: four columns of the first half, four of the second, and so on.
#[repr(C, align(64))]
struct Order([i32; 16]);

static ORDER: Order = Order([0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0]);

impl Walk {
    const NONE: Self = Self {
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
        sums: ptr::null(),
        bytes: ptr::null_mut(),
        stride: 0,
    };

    /// # Safety
    /// Everything that it points at may be read or written, as far as it says.
    #[rustfmt::skip]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    unsafe fn run<const ROWS: usize, const SIGNED: bool>(&mut self, start: *const Panel, before: *const Panel) -> u32 {
        let doubt: u32;
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                concat!(
                    "vmovdqa64 zmm31, [{sums}]\n",
                    "vmovdqa64 zmm24, [{bytes} + {ADDED}]\n",
                    "vmovdqa64 zmm25, [{bytes} + {ADDED} + 64]\n",
                    "mov {a}, [{walk} + {OF_ROWS}]\n",
                    rows!(begin),
                    "xor {doubt:e}, {doubt:e}\n",
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
                    "2:\n", group!(), group!(), finish!("50", "60"), "dec {count}\n", "jnz 2b\n",
                    "3:\n",
                    "mov {count}, [{walk} + {BESIDE_ONE}]\n",
                    "test {count}, {count}\n",
                    "jz 5f\n",
                    "4:\n", group!(), finish!("51", "61"), "dec {count}\n", "jnz 4b\n",
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
                    "20:\n", finish!("52", "62"), "dec {count}\n", "jnz 20b\n",
                    "jmp 30f\n",

                    "50: inc {doubt:e}\n", "jmp 60b\n",
                    "51: inc {doubt:e}\n", "jmp 61b\n",
                    "52: inc {doubt:e}\n", "jmp 62b\n",

                    "30:\n",
                    "mov {sums}, [{walk} + {TO}]\n",
                    rows!(put),
                ),
                walk = in(reg) self,
                panel = in(reg) before,
                sums = inout(reg) &ORDER => _,
                bytes = inout(reg) start => _,
                doubt = out(reg) doubt,
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
                out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _, out("zmm4") _, out("zmm5") _, out("zmm6") _,
                out("zmm7") _, out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _, out("zmm12") _,
                out("zmm13") _, out("zmm14") _, out("zmm15") _, out("zmm16") _, out("zmm17") _, out("zmm18") _,
                out("zmm19") _, out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _, out("zmm24") _,
                out("zmm25") _, out("zmm26") _, out("zmm27") _, out("zmm28") _, out("zmm29") _, out("zmm30") _,
                out("zmm31") _, out("k1") _,
                options(nostack),
            );
        }
        doubt
    }
}
