//! Tiles of 4 × 24, of three halves of panels: 12 registers of sums, 3 of the halves, and 1 of a line. Beside one panel four rows have too
//! few sums for the latency of a multiplication.

use super::{HIGH_BITS, Vector, dot};
use std::arch::asm;

pub(super) const ROWS: usize = 4;
pub(super) const HALVES: usize = 3;

/// The panels that two such tiles take.
pub(super) const PANELS: usize = 3;

/// Three halves' bytes of four groups.
pub(super) const STEP: usize = 4 * 96;

/// Where the first half lies that a tile of three panels of so many bytes takes, and how far beyond it the others.
#[inline(always)]
pub(super) fn halves(tile: usize, panel_len: usize) -> (usize, usize, usize) {
    match tile {
        0 => (0, 32, panel_len),
        _ => (panel_len + 32, panel_len - 32, panel_len),
    }
}

/// A group of each row times those of the halves.
#[rustfmt::skip]
macro_rules! group {
    ($group:literal) => {
        concat!(
            "vmovdqu ymm12, [{rhs} + 64*", $group, "]\n",
            "vmovdqu ymm13, [{rhs} + {second} + 64*", $group, "]\n",
            "vmovdqu ymm14, [{rhs} + {third} + 64*", $group, "]\n",
            row!("{a} + 4*", $group, "ymm0", "ymm1", "ymm2"),
            row!("{a} + {pitch} + 4*", $group, "ymm3", "ymm4", "ymm5"),
            row!("{a} + 2*{pitch} + 4*", $group, "ymm6", "ymm7", "ymm8"),
            row!("{b} + 4*", $group, "ymm9", "ymm10", "ymm11"),
        )
    };
}

#[rustfmt::skip]
macro_rules! row {
    ($line:literal, $group:literal, $first:literal, $second:literal, $third:literal) => {
        concat!(
            "vpbroadcastd ymm15, dword ptr [", $line, $group, "]\n",
            ".if {DOT} == {TURNED}\n",
            "vpxor ymm15, ymm15, [rip + {high_bits}]\n",
            ".endif\n",
            dot!($first, "ymm12"),
            dot!($second, "ymm13"),
            dot!($third, "ymm14"),
        )
    };
}

/// `vpdpbusd` takes the unsigned bytes first.
#[rustfmt::skip]
macro_rules! dot {
    ($sums:literal, $half:literal) => {
        concat!(
            ".if {DOT} == {SIGNED}\n",
            "{{vex}} vpdpbusd ", $sums, ", ", $half, ", ymm15\n",
            ".else\n",
            "{{vex}} vpdpbusd ", $sums, ", ymm15, ", $half, "\n",
            ".endif\n",
        )
    };
}

/// Adds so many groups of the rows, the first of which begins at this address, so many bytes before the next, times those of three halves:
/// of the first one's address, and so far beyond it. Beside each four groups what lies at an address is fetched, and so far beyond it the
/// next time.
///
/// # Safety
/// There are [`ROWS`] lines; they and the halves have as many groups, and all of them may be read. (To fetch is harmless anywhere.)
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn grow<const DOT: usize>(
    c: &mut [[Vector; HALVES]; ROWS],
    (line, pitch): (*const u8, usize),
    (rhs, second, third): (*const u8, usize, usize),
    groups: usize,
    (fetched, distance): (&mut *const u8, usize),
) {
    let [[c0, c1, c2], [c3, c4, c5], [c6, c7, c8], [c9, c10, c11]] = c;
    // SAFETY: this function's own promise.
    unsafe {
        asm!(
            "test {count}, {count}",
            "jz 3f",
            "2:",
            "prefetcht1 [{fetched}]",
            "prefetcht1 [{fetched} + 64]",
            "prefetcht1 [{fetched} + 128]",
            "prefetcht1 [{fetched} + 192]",
            "prefetcht1 [{fetched} + 256]",
            "prefetcht1 [{fetched} + 320]",
            "add {fetched}, {distance}",
            group!("0"), group!("1"), group!("2"), group!("3"),
            "add {a}, 16",
            "add {b}, 16",
            "add {rhs}, 256",
            "dec {count}",
            "jnz 2b",
            "3:",
            "test {rest}, {rest}",
            "jz 5f",
            "4:",
            group!("0"),
            "add {a}, 4",
            "add {b}, 4",
            "add {rhs}, 64",
            "dec {rest}",
            "jnz 4b",
            "5:",
            a = inout(reg) line => _,
            b = inout(reg) line.wrapping_add(3 * pitch) => _,
            pitch = in(reg) pitch,
            rhs = inout(reg) rhs => _,
            second = in(reg) second,
            third = in(reg) third,
            fetched = inout(reg) *fetched,
            distance = in(reg) distance,
            count = inout(reg) groups / 4 => _,
            rest = inout(reg) groups % 4 => _,
            DOT = const DOT,
            SIGNED = const dot::SIGNED,
            TURNED = const dot::TURNED,
            high_bits = sym HIGH_BITS,
            inout("ymm0") *c0, inout("ymm1") *c1, inout("ymm2") *c2, inout("ymm3") *c3, inout("ymm4") *c4, inout("ymm5") *c5,
            inout("ymm6") *c6, inout("ymm7") *c7, inout("ymm8") *c8, inout("ymm9") *c9, inout("ymm10") *c10, inout("ymm11") *c11,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(readonly, nostack),
        )
    }
}
