//! Arm's dot products: `udot` and `sdot` multiply bytes of one encoding, four at a time.

use super::neon_quads;
use super::vector128::{Bytes, Vector, load, rest, store, zero};
use crate::pack::groups;
use std::arch::asm;

kernel! {
    name: "dotprod", features: ["neon", "dotprod"],
    groups: LikeQuads, rows: 6, width: 16, tile: tile, shuffle: neon_quads,
}

tile_of_each_shape! { features: ["neon", "dotprod"], lanes: 4, rows: [1 2 3 4 5 6], vectors: [1 2 3 4] }

/// Depths of a line that one register holds.
const DEPTHS: usize = 16;

/// 6 × 16 accumulators: 24 registers, 6 for the lines, of which each lane meets the panel at one depth, 2 for the panel.
#[target_feature(enable = "neon", enable = "dotprod")]
fn multiply<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(tile: &super::Tile, acc: &mut [i32]) {
    let (rhs, last) = groups::<4, 16>(tile.rhs).as_chunks::<4>();
    let whole = (tile.lhs.len() / DEPTHS).min(rhs.len());
    let lhs: [&[[u8; DEPTHS]]; ROWS] = tile.lhs.groups(whole);
    let mut c: [[Vector; VECTORS]; ROWS] = [[zero(); VECTORS]; ROWS];
    for (g, rhs) in rhs[..whole].iter().enumerate() {
        let mut a = [load(&[0; DEPTHS]); ROWS];
        for (a, lhs) in a.iter_mut().zip(&lhs) {
            // SAFETY: every line was cut to `whole` chunks.
            *a = load(unsafe { lhs.get_unchecked(g) });
        }
        add_group::<0, ROWS, VECTORS, SIGNED>(&mut c, &a, &rhs[0]);
        add_group::<1, ROWS, VECTORS, SIGNED>(&mut c, &a, &rhs[1]);
        add_group::<2, ROWS, VECTORS, SIGNED>(&mut c, &a, &rhs[2]);
        add_group::<3, ROWS, VECTORS, SIGNED>(&mut c, &a, &rhs[3]);
    }
    let last = if whole < rhs.len() { &rhs[whole] } else { last };
    if !last.is_empty() {
        // Nothing of a line lies beyond its end.
        let mut a = [load(&[0; DEPTHS]); ROWS];
        for (a, line) in a.iter_mut().zip(tile.lhs.iter()) {
            *a = load(&rest(&line[whole * DEPTHS..]));
        }
        add_group::<0, ROWS, VECTORS, SIGNED>(&mut c, &a, &last[0]);
        if let Some(rhs) = last.get(1) {
            add_group::<1, ROWS, VECTORS, SIGNED>(&mut c, &a, rhs);
        }
        if let Some(rhs) = last.get(2) {
            add_group::<2, ROWS, VECTORS, SIGNED>(&mut c, &a, rhs);
        }
        if let Some(rhs) = last.get(3) {
            add_group::<3, ROWS, VECTORS, SIGNED>(&mut c, &a, rhs);
        }
    }
    for (acc, c) in acc.as_chunks_mut::<16>().0.iter_mut().zip(c) {
        for (acc, c) in acc.as_chunks_mut().0.iter_mut().zip(c) {
            store(acc, c, tile.fresh);
        }
    }
}

/// Adds the products of one group of the panel with that lane of the lines.
#[inline]
#[target_feature(enable = "neon", enable = "dotprod")]
fn add_group<const LANE: usize, const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
    c: &mut [[Vector; VECTORS]; ROWS],
    a: &[Bytes; ROWS],
    rhs: &[[u8; 16]; 4],
) {
    for v in 0..VECTORS {
        let b = load(&rhs[v]);
        for i in 0..ROWS {
            c[i][v] = dot::<LANE, SIGNED>(c[i][v], b, a[i]);
        }
    }
}

/// The intrinsics are not stable yet.
#[inline]
#[target_feature(enable = "neon", enable = "dotprod")]
fn dot<const LANE: usize, const SIGNED: bool>(mut c: Vector, b: Bytes, a: Bytes) -> Vector {
    // SAFETY: the instruction only computes.
    unsafe {
        if SIGNED {
            asm!("sdot {0:v}.4s, {1:v}.16b, {2:v}.4b[{3}]", inout(vreg) c, in(vreg) b, in(vreg) a, const LANE,
                options(pure, nomem, nostack, preserves_flags));
        } else {
            asm!("udot {0:v}.4s, {1:v}.16b, {2:v}.4b[{3}]", inout(vreg) c, in(vreg) b, in(vreg) a, const LANE,
                options(pure, nomem, nostack, preserves_flags));
        }
    }
    c
}
