//! AVX2, for small numbers: sums of 16 bits take half as long.

use super::narrow::{Stretch, halves};
use super::tile256::{self, ALL_FETCHED_BY_WINDOWS, Next, ROWS, dot};
use super::vector256::Vector;
use super::{Tile, shuffle_quads};
use crate::matrix::Encoding;
use crate::output::{FloatParts, Sums};
use crate::span::Spans;
use std::arch::asm;

kernel! {
    name: "avx2-narrow", features: ["avx2", "fma"],
    groups: Quads, rows: 6, width: 16, tile: tile, writes: sums, takes: Lines, shuffle: shuffle_quads,
    few_lines: crate::kernel::few_lines::portable, small_sums: sums, floats: floats,
}

#[target_feature(enable = "avx2")]
fn tile(tile: &Tile, acc: &mut [i32]) {
    match (tile.lhs_encoding, tile.spans) {
        (Encoding::U8, Spans::Uniform(1)) => tile256::multiply::<{ dot::NARROW_UNSIGNED }>(tile, acc),
        (Encoding::S8, Spans::Uniform(1)) => tile256::multiply::<{ dot::NARROW_SIGNED }>(tile, acc),
        (Encoding::U8, _) => tile256::multiply::<{ dot::WINDOWS_UNSIGNED }>(tile, acc),
        (Encoding::S8, _) => tile256::multiply::<{ dot::WINDOWS_SIGNED }>(tile, acc),
    }
}

#[target_feature(enable = "avx2")]
unsafe fn sums(tile: &Tile, sums: &Sums) {
    match tile.lhs_encoding {
        // SAFETY: this function's own promise, here and below.
        Encoding::U8 => unsafe { tile256::sums::multiply::<{ dot::NARROW_UNSIGNED }>(tile, sums) },
        // SAFETY: as above.
        Encoding::S8 => unsafe { tile256::sums::multiply::<{ dot::NARROW_SIGNED }>(tile, sums) },
    }
}

#[target_feature(enable = "avx2")]
unsafe fn floats(tile: &Tile, parts: &FloatParts) {
    match tile.lhs_encoding {
        // SAFETY: this function's own promise, here and below.
        Encoding::U8 => unsafe { tile256::sums::floats::<{ dot::NARROW_UNSIGNED }>(tile, parts) },
        // SAFETY: as above.
        Encoding::S8 => unsafe { tile256::sums::floats::<{ dot::NARROW_SIGNED }>(tile, parts) },
    }
}

/// Bytes of a panel's group.
const GROUP: usize = 64;

/// Adds the products of as many groups of lines and of a panel, which begin at `line` and at `rhs`, and then of one of so many bytes, by
/// what their spans are.
///
/// # Safety
/// There are `N` lines, so many bytes apart; they and the panel have as many groups. Before one that is cut there is one that is not.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn grow<const N: usize, const VECTORS: usize, const DOT: usize>(
    c: &mut [[Vector; 2]; ROWS],
    (line, pitch): (*const u8, usize),
    rhs: *const u8,
    (whole, cut): (usize, usize),
    spans: Spans,
    next: &mut Next,
) {
    let groups = whole + usize::from(cut > 0);
    let mut at = 0;
    while at < groups {
        let (span, end) = spans.from(at);
        let (lines, rhs) = ((line.wrapping_add(4 * at), pitch), rhs.wrapping_add(GROUP * at));
        let count = end.min(whole) - at.min(whole);
        let cut = if end > whole { cut } else { 0 };
        // SAFETY: this function's own promise.
        unsafe {
            match span {
                0 => add_halves::<N, VECTORS, DOT>(c, lines, rhs, 4 * count + cut, next),
                // Their sums of 16 bits go to those of 32 at once, which so have the registers.
                1 => tile256::grow::<N, VECTORS, DOT>(c, lines, rhs, (count, cut), next),
                _ => {
                    add_windows::<N, VECTORS, DOT>(c, lines, rhs, count, (span.into(), 1), next);
                    if cut > 0 {
                        let lines = (lines.0.wrapping_add(4 * count), pitch);
                        tile256::grow::<N, VECTORS, DOT>(c, lines, rhs.wrapping_add(GROUP * count), (0, cut), next);
                    }
                }
            }
        }
        at = end;
    }
}

/// Adds so many bytes of each line exactly, whatever their numbers are.
///
/// # Safety
/// As for [`grow`].
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn add_halves<const N: usize, const VECTORS: usize, const DOT: usize>(
    c: &mut [[Vector; 2]; ROWS],
    (line, pitch): (*const u8, usize),
    rhs: *const u8,
    bytes: usize,
    next: &mut Next,
) {
    const STRETCH: usize = size_of::<Stretch>();
    for from in (0..bytes).step_by(STRETCH) {
        let len = (bytes - from).min(STRETCH);
        let mut low: [Stretch; N] = [Stretch::default(); N];
        let mut high = low;
        for i in 0..N {
            // SAFETY: this function's own promise.
            let line = unsafe { std::slice::from_raw_parts(line.wrapping_add(i * pitch + from), len) };
            [low[i], high[i]] = match DOT {
                dot::WINDOWS_SIGNED => halves::<true>(line),
                _ => halves::<false>(line),
            };
        }
        // Products of at most 15 · 255 or 15 · 128.
        let span = if DOT == dot::WINDOWS_SIGNED { 4 } else { 8 };
        let rhs = rhs.wrapping_add(GROUP / 4 * from);
        for (half, weight, next) in [(&low, 1, &mut *next), (&high, 16, &mut Next::nothing())] {
            let lines = (half.as_ptr().cast(), STRETCH);
            // SAFETY: as above, and the halves are whole stretches.
            unsafe { add_windows::<N, VECTORS, DOT>(c, lines, rhs, len.div_ceil(4), (span, weight), next) }
        }
    }
}

/// The same for each row that there is: its number, the registers of its sums of 16 bits, and its line.
macro_rules! rows {
    ($each:ident, $at:literal) => {
        concat!(
            $each!("0", "ymm0", "ymm1", "{a}", $at),
            $each!("1", "ymm2", "ymm3", "{a} + {pitch}", $at),
            $each!("2", "ymm4", "ymm5", "{a} + 2*{pitch}", $at),
            $each!("3", "ymm6", "ymm7", "{b}", $at),
            $each!("4", "ymm8", "ymm9", "{b} + {pitch}", $at),
            $each!("5", "ymm10", "ymm11", "{b} + 2*{pitch}", $at),
        )
    };
}

/// Products with the panel's groups. `vpmaddubsw` takes the unsigned bytes first.
#[rustfmt::skip]
macro_rules! products {
    ($to:literal, $panel:literal) => {
        concat!(
            ".if {SIGNED}\n",
            "vpmaddubsw ", $to, ", ", $panel, ", ymm14\n",
            ".else\n",
            "vpmaddubsw ", $to, ", ymm14, ", $panel, "\n",
            ".endif\n",
        )
    };
}

/// A window's first group.
#[rustfmt::skip]
macro_rules! begin {
    ($row:literal, $first:literal, $second:literal, $line:literal, $at:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpbroadcastd ymm14, dword ptr [", $line, " + 4*", $at, "]\n",
            products!($first, "ymm12"),
            ".if {WIDE}\n",
            products!($second, "ymm13"),
            ".endif\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! grow {
    ($row:literal, $first:literal, $second:literal, $line:literal, $at:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpbroadcastd ymm14, dword ptr [", $line, " + 4*", $at, "]\n",
            products!("ymm15", "ymm12"),
            ".if {WIDE}\n",
            products!("ymm14", "ymm13"),
            ".endif\n",
            "vpaddw ", $first, ", ", $first, ", ymm15\n",
            ".if {WIDE}\n",
            "vpaddw ", $second, ", ", $second, ", ymm14\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// Adds neighbours in 32 bits, as often as `ymm12` says.
#[rustfmt::skip]
macro_rules! widen {
    ($row:literal, $first:literal, $second:literal, $line:literal, $at:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpmaddwd ", $first, ", ", $first, ", ymm12\n",
            "vpaddd ", $first, ", ", $first, ", [{sums} + 64*", $row, "]\n",
            "vmovdqu [{sums} + 64*", $row, "], ", $first, "\n",
            ".if {WIDE}\n",
            "vpmaddwd ", $second, ", ", $second, ", ymm12\n",
            "vpaddd ", $second, ", ", $second, ", [{sums} + 64*", $row, " + 32]\n",
            "vmovdqu [{sums} + 64*", $row, " + 32], ", $second, "\n",
            ".endif\n",
            ".endif\n",
        )
    };
}

/// All rows' products with the panel's next group, or one after it.
#[rustfmt::skip]
macro_rules! group {
    ($each:ident, $at:literal) => {
        concat!(
            "vmovdqu ymm12, [{rhs} + 64*", $at, "]\n",
            ".if {WIDE}\n",
            "vmovdqu ymm13, [{rhs} + 64*", $at, " + 32]\n",
            ".endif\n",
            rows!($each, $at),
        )
    };
}

/// So many groups were multiplied.
#[rustfmt::skip]
macro_rules! pass {
    ($groups:literal) => {
        concat!("add {a}, 4*", $groups, "\n", "add {b}, 4*", $groups, "\n", "add {rhs}, 64*", $groups, "\n")
    };
}

/// Fetches two groups of the next panel.
#[rustfmt::skip]
macro_rules! fetch {
    () => {
        concat!(
            ".if {FETCHES}\n",
            "prefetcht1 [{fetched}]\n",
            "prefetcht1 [{fetched} + 64]\n",
            "add {fetched}, 2*64\n",
            ".endif\n",
        )
    };
}

/// Adds so many groups in windows of `span`, each `weight` times, and fetches as much of the next panel if all of it is to be fetched.
///
/// # Safety
/// As for [`grow`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn add_windows<const N: usize, const VECTORS: usize, const DOT: usize>(
    c: &mut [[Vector; 2]; ROWS],
    lines: (*const u8, usize),
    rhs: *const u8,
    groups: usize,
    (span, weight): (usize, i16),
    next: &mut Next,
) {
    // SAFETY: this function's own promise.
    unsafe {
        if next.is_all_fetched(ALL_FETCHED_BY_WINDOWS) {
            grow_windows::<N, VECTORS, DOT, true>(c, lines, rhs, groups, (span, weight), next);
        } else {
            grow_windows::<N, VECTORS, DOT, false>(c, lines, rhs, groups, (span, weight), next);
        }
    }
}

/// The same, if it is known whether anything is fetched. (In assembly: the compiler keeps what it should not in memory.)
///
/// # Safety
/// As for [`grow`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn grow_windows<const N: usize, const VECTORS: usize, const DOT: usize, const FETCHES: bool>(
    c: &mut [[Vector; 2]; ROWS],
    (line, pitch): (*const u8, usize),
    rhs: *const u8,
    groups: usize,
    (span, weight): (usize, i16),
    next: &mut Next,
) {
    let mut fetched = next.at;
    // SAFETY: this function's own promise, and so many sums are read and written.
    unsafe {
        asm!(
            "test {count}, {count}",
            "jz 6f",
            "2:",
            "mov {left}, {span}",
            "cmp {count}, {left}",
            "cmovb {left}, {count}",
            "sub {count}, {left}",
            fetch!(),
            group!(begin, "0"),
            pass!("1"),
            "sub {left}, 3",
            "jl 4f",
            "3:",
            fetch!(),
            group!(grow, "0"),
            group!(grow, "1"),
            pass!("2"),
            "sub {left}, 2",
            "jge 3b",
            "4:",
            "cmp {left}, -1",
            "jne 5f",
            group!(grow, "0"),
            pass!("1"),
            "5:",
            "vpbroadcastw ymm12, word ptr [{weight}]",
            rows!(widen, "0"),
            "test {count}, {count}",
            "jnz 2b",
            "6:",
            a = inout(reg) line => _,
            b = inout(reg) line.wrapping_add(3 * pitch) => _,
            pitch = in(reg) pitch,
            rhs = inout(reg) rhs => _,
            sums = in(reg) c.as_mut_ptr(),
            span = in(reg) span,
            weight = in(reg) &weight,
            count = inout(reg) groups => _,
            left = out(reg) _,
            fetched = inout(reg) fetched,
            ROWS = const N,
            FETCHES = const FETCHES as usize,
            WIDE = const (VECTORS == 2) as usize,
            SIGNED = const (DOT == dot::WINDOWS_SIGNED) as usize,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _, out("ymm12") _, out("ymm13") _, out("ymm14") _,
            out("ymm15") _,
            options(nostack),
        )
    }
    if FETCHES {
        next.at = fetched;
    }
}
