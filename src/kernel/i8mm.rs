//! Arm's products of small matrices: `ummla` and `smmla` multiply two lines by two lines, eight bytes of each.

use super::neon_octets;
use super::vector128::{Bytes, Vector, load, rest, store, zero};
use crate::pack::groups;
use std::arch::aarch64::*;
use std::arch::asm;

kernel! {
    name: "i8mm", features: ["neon", "i8mm"],
    groups: LikeOctets, rows: 4, width: 24, tile: tile, shuffle: neon_octets,
}

tile_of_each_shape! { features: ["neon", "i8mm"], lanes: 4, rows: [1 2 3 4], vectors: [1 2 3 4 5 6] }

#[target_feature(enable = "neon", enable = "i8mm")]
fn multiply<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(tile: &super::Tile, acc: &mut [i32]) {
    match ROWS {
        1 | 2 => multiply_pairs::<1, VECTORS, SIGNED>(tile, acc),
        _ => multiply_pairs::<2, VECTORS, SIGNED>(tile, acc),
    }
}

/// Depths of a line that one register holds: two groups.
const DEPTHS: usize = 16;

/// 2 × 12 accumulators of 2 × 2 sums: 24 registers, 4 for two groups of the lines, 2 for the panel. To bring two lines
/// together takes as long as a product, so few pairs of lines and wide panels are best, and then no LHS need be copied.
#[target_feature(enable = "neon", enable = "i8mm")]
fn multiply_pairs<const PAIRS: usize, const VECTORS: usize, const SIGNED: bool>(tile: &super::Tile, acc: &mut [i32]) {
    let (rhs, last) = groups::<12, 16>(tile.rhs).as_chunks::<2>();
    let whole = (tile.lhs.len() / DEPTHS).min(rhs.len());
    // A line without another is its own.
    let mut lines: [[&[u8]; 2]; PAIRS] = [[&[]; 2]; PAIRS];
    let mut lhs: [[&[[u8; DEPTHS]]; 2]; PAIRS] = [[&[]; 2]; PAIRS];
    for i in 0..PAIRS {
        lines[i] = [tile.lhs.get(2 * i), tile.lhs.get((2 * i + 1).min(tile.lhs.count() - 1))];
        lhs[i] = [&lines[i][0].as_chunks().0[..whole], &lines[i][1].as_chunks().0[..whole]];
    }
    let mut c = [[[zero(); 2]; VECTORS]; PAIRS];
    // The compiler is not to know that both are the same: it would load pairs of registers with one instruction, which takes
    // Neoverse V2 longer than two.
    let others = std::hint::black_box(rhs);
    for (g, (rhs, other)) in rhs[..whole].iter().zip(others).enumerate() {
        let mut a = [[load(&[0; 16]); 2]; PAIRS];
        for (a, [one, two]) in a.iter_mut().zip(&lhs) {
            // SAFETY: every line was cut to `whole` chunks.
            let (one, two) = unsafe { (one.get_unchecked(g), two.get_unchecked(g)) };
            *a = paired(load(one), load(two));
        }
        add_group::<0, PAIRS, VECTORS, SIGNED>(&mut c, &a, [&rhs[0], &other[0]]);
        add_group::<1, PAIRS, VECTORS, SIGNED>(&mut c, &a, [&rhs[1], &other[1]]);
    }
    let last = if whole < rhs.len() { &rhs[whole] } else { last };
    if let Some(first) = last.first() {
        // Nothing of a line lies beyond its end.
        let mut a = [[load(&[0; 16]); 2]; PAIRS];
        for (a, [one, two]) in a.iter_mut().zip(&lines) {
            *a = paired(load(&rest(&one[whole * DEPTHS..])), load(&rest(&two[whole * DEPTHS..])));
        }
        add_group::<0, PAIRS, VECTORS, SIGNED>(&mut c, &a, [first; 2]);
        if let Some(second) = last.get(1) {
            add_group::<1, PAIRS, VECTORS, SIGNED>(&mut c, &a, [second; 2]);
        }
    }
    for (acc, c) in acc.as_chunks_mut::<24>().0[..tile.lhs.count()].chunks_mut(2).zip(c) {
        for (v, [left, right]) in c.into_iter().enumerate() {
            let [left, right] = [vreinterpretq_u64_u32(left), vreinterpretq_u64_u32(right)];
            let first = vreinterpretq_u32_u64(vzip1q_u64(left, right));
            store(&mut acc[0].as_chunks_mut().0[v], first, tile.fresh);
            if let Some(acc) = acc.get_mut(1) {
                let second = vreinterpretq_u32_u64(vzip2q_u64(left, right));
                store(&mut acc.as_chunks_mut().0[v], second, tile.fresh);
            }
        }
    }
}

/// The two groups of a pair of lines.
#[inline]
#[target_feature(enable = "neon")]
fn paired(one: Bytes, two: Bytes) -> [Bytes; 2] {
    let (one, two) = (vreinterpretq_u64_u8(one), vreinterpretq_u64_u8(two));
    [vreinterpretq_u8_u64(vzip1q_u64(one, two)), vreinterpretq_u8_u64(vzip2q_u64(one, two))]
}

/// Adds the products of one group of the panel, which is given twice, with that group of the lines.
#[inline]
#[target_feature(enable = "neon", enable = "i8mm")]
fn add_group<const GROUP: usize, const PAIRS: usize, const VECTORS: usize, const SIGNED: bool>(
    c: &mut [[[Vector; 2]; VECTORS]; PAIRS],
    a: &[[Bytes; 2]; PAIRS],
    rhs: [&[[u8; 16]; 12]; 2],
) {
    for v in 0..VECTORS {
        for half in 0..2 {
            let b = load(&rhs[half][2 * v + half]);
            for i in 0..PAIRS {
                c[i][v][half] = product::<SIGNED>(c[i][v][half], a[i][GROUP], b);
            }
        }
    }
}

/// Adds a 2 × 8 by 8 × 2 product. The intrinsics are not stable yet.
#[inline]
#[target_feature(enable = "neon", enable = "i8mm")]
fn product<const SIGNED: bool>(mut c: Vector, a: Bytes, b: Bytes) -> Vector {
    // SAFETY: the instruction only computes.
    unsafe {
        if SIGNED {
            asm!("smmla {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) c, in(vreg) a, in(vreg) b,
                options(pure, nomem, nostack, preserves_flags));
        } else {
            asm!("ummla {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) c, in(vreg) a, in(vreg) b,
                options(pure, nomem, nostack, preserves_flags));
        }
    }
    c
}
