//! NEON: products of bytes have 16 bits, neighbours of which are added to sums of 32, so nothing saturates.
//!
//! `smull` and `sadalp` are two instructions for 8 products, on different pipelines of most processors; `smlal` on numbers
//! of 16 bits is one for 4. A second product in 16 bits, which costs only one more instruction, would overflow if all
//! numbers were -128.

use super::vector128::{Half, Vector, load_half, rest, store, zero};
use super::{neon_narrow, neon_octets};
use crate::pack::groups;
use std::arch::aarch64::*;

kernel! {
    name: "neon", features: ["neon"], groups: LikeOctets, rows: 4, width: 16, tile: tile, shuffle: neon_octets,
    narrow: &neon_narrow::KERNEL,
}

tile_of_each_shape! { features: ["neon"], lanes: 16, rows: [1 2 3 4], vectors: [1] }

/// A quarter of the panel after the other. 4 × 4 accumulators, of each of which the lanes are to be added up: 16 registers, 4
/// for the lines, 4 for the panel, the others for products.
#[target_feature(enable = "neon")]
fn multiply<const ROWS: usize, const PANELS: usize, const SIGNED: bool>(tile: &super::Tile, acc: &mut [i32]) {
    let rhs = groups::<4, 32>(tile.rhs);
    let whole = (tile.lhs.len() / 8).min(rhs.len());
    let lhs: [&[[u8; 8]]; ROWS] = tile.lhs.groups(whole);
    let acc = acc.as_chunks_mut::<16>().0;
    for quarter in 0..tile.cols.div_ceil(4).min(4) {
        let mut c = [[zero(); 4]; ROWS];
        for (g, rhs) in rhs[..whole].iter().enumerate() {
            let mut a = [load_half(&[0; 8]); ROWS];
            for (a, lhs) in a.iter_mut().zip(&lhs) {
                // SAFETY: every line was cut to `whole` groups.
                *a = load_half(unsafe { lhs.get_unchecked(g) });
            }
            add_group::<ROWS, SIGNED>(&mut c, &a, &rhs[quarter]);
        }
        if let Some(rhs) = rhs.get(whole) {
            // The depth ends within a group, and nothing of the line lies beyond its end.
            let mut a = [load_half(&[0; 8]); ROWS];
            for (a, line) in a.iter_mut().zip(tile.lhs.iter()) {
                *a = load_half(&rest(&line[whole * 8..]));
            }
            add_group::<ROWS, SIGNED>(&mut c, &a, &rhs[quarter]);
        }
        store_quarter(acc, &c, quarter, tile.fresh);
    }
}

/// Adds up the lanes of each accumulator of a quarter of the panel, and stores the sums.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn store_quarter(acc: &mut [[i32; 16]], c: &[[Vector; 4]], quarter: usize, fresh: bool) {
    for (acc, [p, q, r, s]) in acc.iter_mut().zip(c) {
        let sums = vpaddq_u32(vpaddq_u32(*p, *q), vpaddq_u32(*r, *s));
        store(&mut acc.as_chunks_mut().0[quarter], sums, fresh);
    }
}

/// Adds the products of a group of 4 lines of the panel.
#[inline]
#[target_feature(enable = "neon")]
fn add_group<const ROWS: usize, const SIGNED: bool>(c: &mut [[Vector; 4]; ROWS], a: &[Half; ROWS], rhs: &[u8; 32]) {
    let rhs = rhs.as_chunks().0;
    for j in 0..4 {
        let b = load_half(&rhs[j]);
        for i in 0..ROWS {
            c[i][j] = widen::<SIGNED>(c[i][j], products::<SIGNED>(a[i], b));
        }
    }
}

/// The products of bytes.
#[inline]
#[target_feature(enable = "neon")]
fn products<const SIGNED: bool>(a: Half, b: Half) -> uint16x8_t {
    if SIGNED { vreinterpretq_u16_s16(vmull_s8(vreinterpret_s8_u8(a), vreinterpret_s8_u8(b))) } else { vmull_u8(a, b) }
}

/// Adds neighbours in 32 bits.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn widen<const SIGNED: bool>(sum: Vector, c: uint16x8_t) -> Vector {
    if SIGNED {
        vreinterpretq_u32_s32(vpadalq_s16(vreinterpretq_s32_u32(sum), vreinterpretq_s16_u16(c)))
    } else {
        vpadalq_u16(sum, c)
    }
}
