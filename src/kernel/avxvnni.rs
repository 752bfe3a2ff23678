//! AVX-VNNI: `vpdpbusd` in its VEX form, on 256 bits, for processors without AVX-512.

use super::tile256::{self, dot};
use super::{Tile, avxvnni_few, shuffle_quads, tiny};
use crate::matrix::Encoding;
use crate::output::Sums;

kernel! {
    name: "avxvnni", features: ["avx2", "fma", "avxvnni"], groups: FreeQuads, rows: 6, width: 16, tile: tile, writes: sums, takes: Lines,
    shuffle: shuffle_quads, few_lines: avxvnni_few, tiny: tiny::avx2::BESIDE_QUADS, small_sums: sums,
}

#[target_feature(enable = "avx2", enable = "avxvnni")]
fn tile(tile: &Tile, acc: &mut [i32]) {
    match (tile.lhs_encoding, tile.is_turned) {
        (Encoding::S8, _) => tile256::multiply::<{ dot::SIGNED }>(tile, acc),
        (Encoding::U8, true) => tile256::multiply::<{ dot::TURNED }>(tile, acc),
        (Encoding::U8, false) => tile256::multiply::<{ dot::UNSIGNED }>(tile, acc),
    }
}

#[target_feature(enable = "avx2", enable = "avxvnni")]
unsafe fn sums(tile: &Tile, sums: &Sums) {
    match (tile.lhs_encoding, tile.is_turned) {
        // SAFETY: this function's own promise, here and below.
        (Encoding::S8, _) => unsafe { tile256::sums::multiply::<{ dot::SIGNED }>(tile, sums) },
        // SAFETY: as above.
        (Encoding::U8, true) => unsafe { tile256::sums::multiply::<{ dot::TURNED }>(tile, sums) },
        // SAFETY: as above.
        (Encoding::U8, false) => unsafe { tile256::sums::multiply::<{ dot::UNSIGNED }>(tile, sums) },
    }
}
