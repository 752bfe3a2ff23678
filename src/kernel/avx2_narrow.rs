//! AVX2, for small numbers: sums of 16 bits take half as long.

use super::shuffle_quads;
use super::vector256::{Vector, plus, put, resume, spread, store, zero};
use std::arch::asm;
use std::arch::x86_64::*;

kernel! {
    name: "avx2-narrow", features: ["avx2", "fma"],
    groups: Quads, rows: 6, width: 16, tile: tile, writes: sums, shuffle: shuffle_quads,
}

// 6 × 16 accumulators of two 16-bit sums: 12 registers, 2 for the panel, 1 for a line, 1 for the products.
narrow_tile! {
    features: ["avx2"], lanes: 8,
    rows: [1 2 3 4 5 6], vectors: [1 2] of 16,
}

/// The same for each row that there is: its number, the registers of its sums of 16 bits, and its line.
macro_rules! rows {
    ($each:ident, $at:literal) => {
        concat!(
            $each!("0", "ymm0", "ymm1", "{a}", $at),
            $each!("1", "ymm2", "ymm3", "{b}", $at),
            $each!("2", "ymm4", "ymm5", "{c}", $at),
            $each!("3", "ymm6", "ymm7", "{d}", $at),
            $each!("4", "ymm8", "ymm9", "{e}", $at),
            $each!("5", "ymm10", "ymm11", "{f}", $at),
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
            "vpbroadcastd ymm14, dword ptr [", $line, " + 4*{group} + 4*", $at, "]\n",
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
            "vpbroadcastd ymm14, dword ptr [", $line, " + 4*{group} + 4*", $at, "]\n",
            products!("ymm15", "ymm12"),
            "vpaddw ", $first, ", ", $first, ", ymm15\n",
            ".if {WIDE}\n",
            products!("ymm14", "ymm13"),
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
            "vpaddd ", $first, ", ", $first, ", [{sums} + 32*{VECTORS}*", $row, "]\n",
            "vmovdqu [{sums} + 32*{VECTORS}*", $row, "], ", $first, "\n",
            ".if {WIDE}\n",
            "vpmaddwd ", $second, ", ", $second, ", ymm12\n",
            "vpaddd ", $second, ", ", $second, ", [{sums} + 32*{VECTORS}*", $row, " + 32]\n",
            "vmovdqu [{sums} + 32*{VECTORS}*", $row, " + 32], ", $second, "\n",
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
        concat!("add {group}, ", $groups, "\n", "add {rhs}, 64*", $groups, "\n")
    };
}

/// In assembly: the compiler keeps what it should not in memory.
#[inline]
#[target_feature(enable = "avx2")]
fn add_windows<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
    sums: &mut [[Vector; VECTORS]; ROWS],
    lhs: &[&[[u8; 4]]; ROWS],
    rhs: Groups,
    from: usize,
    span: usize,
    weight: i16,
) {
    assert!(lhs.iter().all(|line| line.len() >= from + rhs.len()));
    if rhs.is_empty() {
        return;
    }
    let line = |i: usize| lhs[i.min(ROWS - 1)].as_ptr();
    // SAFETY: lines and the panel have so many groups, as was asserted, and so many sums are read and written.
    unsafe {
        asm!(
            "2:",
            "mov {left}, {span}",
            "cmp {count}, {left}",
            "cmovb {left}, {count}",
            "sub {count}, {left}",
            group!(begin, "0"),
            pass!("1"),
            "sub {left}, 3",
            "jl 4f",
            "3:",
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
            a = in(reg) line(0),
            b = in(reg) line(1),
            c = in(reg) line(2),
            d = in(reg) line(3),
            e = in(reg) line(4),
            f = in(reg) line(5),
            group = inout(reg) from => _,
            rhs = inout(reg) rhs.as_ptr() => _,
            sums = in(reg) sums.as_mut_ptr(),
            span = in(reg) span.max(1),
            weight = in(reg) &weight,
            count = inout(reg) rhs.len() => _,
            left = out(reg) _,
            ROWS = const ROWS,
            VECTORS = const VECTORS,
            WIDE = const (VECTORS == 2) as usize,
            SIGNED = const SIGNED as usize,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _, out("ymm12") _, out("ymm13") _, out("ymm14") _,
            out("ymm15") _,
            options(nostack),
        )
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> Vector {
    super::vector256::load(bytes, 0)
}

/// `vpmaddubsw` takes the unsigned bytes first.
#[inline]
#[target_feature(enable = "avx2")]
fn products<const SIGNED: bool>(a: Vector, b: Vector) -> Vector {
    if SIGNED { _mm256_maddubs_epi16(b, a) } else { _mm256_maddubs_epi16(a, b) }
}

/// Adds neighbours in 32 bits, `weight` times.
#[inline]
#[target_feature(enable = "avx2")]
fn widen(sum: Vector, c: Vector, weight: i16) -> Vector {
    _mm256_add_epi32(sum, _mm256_madd_epi16(c, _mm256_set1_epi16(weight)))
}
