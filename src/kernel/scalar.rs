//! The kernel that every CPU runs.

use super::Tile;
use crate::pack::groups;

kernel! {
    name: "scalar", features: [], groups: Pairs, rows: 4, width: 8,
    tile: tile::<8>, shuffle: crate::pack::portable,
}

pub(super) fn tile<const W: usize>(tile: &Tile, acc: &mut [i32]) {
    let acc = &mut acc.as_chunks_mut::<W>().0[..tile.lhs.count()];
    if tile.fresh {
        acc.as_flattened_mut().fill(0);
    }
    for (acc, line) in acc.iter_mut().zip(tile.lhs.iter()) {
        let (pairs, rest) = line.as_chunks();
        let rest = if let &[a, b] = rest { &[[a, b, 0, 0]][..] } else { &[] };
        for (&[a, b, c, d], rhs) in pairs.iter().chain(rest).zip(groups::<W, 2>(tile.rhs)) {
            let (first, second) = (i16::from_ne_bytes([a, b]), i16::from_ne_bytes([c, d]));
            for (acc, rhs) in acc.iter_mut().zip(rhs) {
                let products = i32::from(first) * i32::from(rhs[0] as i8) + i32::from(second) * i32::from(rhs[1] as i8);
                *acc = acc.wrapping_add(products);
            }
        }
    }
}
