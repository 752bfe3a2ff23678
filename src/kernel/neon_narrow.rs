//! NEON, for small numbers: products are summed in 16 bits, one instruction for 8, as many as are known to fit.
//!
//! That helps processors with one pipeline for all of NEON, such as Cortex-A53; where `smull` and `sadalp` have one each it
//! takes as long as without.

use super::neon::{store_quarter, widen};
use super::neon_octets;
use super::vector128::{Half, Vector, load_half, rest, zero};
use crate::pack::groups;
use crate::span::{DEPTHS, Spans};
use std::arch::aarch64::*;

kernel! {
    name: "neon-narrow", features: ["neon"],
    groups: LikeOctets, rows: 4, width: 16, tile: tile, shuffle: neon_octets,
}

tile_of_each_shape! { features: ["neon"], lanes: 16, rows: [1 2 3 4], vectors: [1] }

/// A quarter of the panel after the other. 4 × 4 accumulators of 16 bits: 16 registers, 4 for the lines, 4 for the panel. What
/// of as many sums of 32 bits finds no room in registers rests in memory while a window is summed.
#[target_feature(enable = "neon")]
fn multiply<const ROWS: usize, const PANELS: usize, const SIGNED: bool>(tile: &super::Tile, acc: &mut [i32]) {
    let rhs = groups::<4, 32>(tile.rhs);
    let whole = (tile.lhs.len() / 8).min(rhs.len());
    let lhs: [&[[u8; 8]]; ROWS] = tile.lhs.groups(whole);
    let stretch = match tile.spans {
        Spans::Uniform(_) => whole.max(1),
        Spans::PerStretch(_) => DEPTHS / 8,
    };
    let acc = acc.as_chunks_mut::<16>().0;
    for quarter in 0..tile.cols.div_ceil(4).min(4) {
        let mut sums = [[zero(); 4]; ROWS];
        for (s, groups) in rhs[..whole].chunks(stretch).enumerate() {
            // A span counts pairs of products, of which each group adds one to a sum.
            let window = (2 * usize::from(tile.spans.of(s))).max(1);
            for (w, groups) in groups.chunks(window).enumerate() {
                add_window::<ROWS, SIGNED>(&mut sums, &lhs, s * stretch + w * window, groups, quarter);
            }
        }
        if let Some(rhs) = rhs.get(whole) {
            // The depth ends within a group, and nothing of the line lies beyond its end.
            let mut last = [[[0; 8]]; ROWS];
            let mut lhs: [&[[u8; 8]]; ROWS] = [&[]; ROWS];
            for (last, line) in last.iter_mut().zip(tile.lhs.iter()) {
                *last = [rest(&line[whole * 8..])];
            }
            for i in 0..ROWS {
                lhs[i] = &last[i];
            }
            add_window::<ROWS, SIGNED>(&mut sums, &lhs, 0, std::slice::from_ref(rhs), quarter);
        }
        store_quarter(acc, &sums, quarter, tile.fresh);
    }
}

/// Adds a window of groups, the first at `from` of the lines.
#[inline]
#[target_feature(enable = "neon")]
fn add_window<const ROWS: usize, const SIGNED: bool>(
    sums: &mut [[Vector; 4]; ROWS],
    lhs: &[&[[u8; 8]]; ROWS],
    from: usize,
    window: &[[[u8; 32]; 4]],
    quarter: usize,
) {
    let mut c = [[vdupq_n_u16(0); 4]; ROWS];
    for (g, rhs) in window.iter().enumerate() {
        let mut a = [load_half(&[0; 8]); ROWS];
        for (a, lhs) in a.iter_mut().zip(lhs) {
            // SAFETY: the lines have as many groups as the panel.
            *a = load_half(unsafe { lhs.get_unchecked(from + g) });
        }
        let rhs = rhs[quarter].as_chunks().0;
        for j in 0..4 {
            let b = load_half(&rhs[j]);
            for i in 0..ROWS {
                c[i][j] = add_products::<SIGNED>(c[i][j], a[i], b);
            }
        }
    }
    for (sums, c) in sums.iter_mut().zip(c) {
        for (sum, c) in sums.iter_mut().zip(c) {
            *sum = widen::<SIGNED>(*sum, c);
        }
    }
}

/// Adds the products of bytes in 16 bits.
#[inline]
#[target_feature(enable = "neon")]
fn add_products<const SIGNED: bool>(c: uint16x8_t, a: Half, b: Half) -> uint16x8_t {
    if SIGNED {
        vreinterpretq_u16_s16(vmlal_s8(vreinterpretq_s16_u16(c), vreinterpret_s8_u8(a), vreinterpret_s8_u8(b)))
    } else {
        vmlal_u8(c, a, b)
    }
}
