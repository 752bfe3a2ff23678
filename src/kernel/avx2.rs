//! AVX2: numbers of 16 bits, multiplied in pairs, because `vpmaddubsw` on bytes would saturate.

use super::tile256::{self, dot};
use super::{Tile, avx2_few, avx2_narrow, shuffle_pairs, tiny};
use crate::output::{FloatParts, Sums};

kernel! {
    name: "avx2", features: ["avx2", "fma"], groups: Pairs, rows: 6, width: 16, tile: tile, writes: sums, takes: Lines, shuffle: shuffle_pairs, few_lines: avx2_few,
    narrow: &avx2_narrow::KERNEL, tiny: tiny::avx2::WAY, strips: sums, floats: floats,
}

/// The encoding of the LHS was dissolved when it was widened.
#[target_feature(enable = "avx2")]
fn tile(tile: &Tile, acc: &mut [i32]) {
    tile256::multiply::<{ dot::PAIRS }>(tile, acc);
}

#[target_feature(enable = "avx2")]
unsafe fn sums(tile: &Tile, sums: &Sums) {
    // SAFETY: this function's own promise.
    unsafe { tile256::sums::multiply::<{ dot::PAIRS }>(tile, sums) }
}

#[target_feature(enable = "avx2")]
unsafe fn floats(tile: &Tile, parts: &FloatParts) {
    // SAFETY: this function's own promise.
    unsafe { tile256::sums::floats::<{ dot::PAIRS }>(tile, parts) }
}
