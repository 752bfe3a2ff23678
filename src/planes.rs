//! Numbers of fewer than 8 bits, stored as planes of bits, and widened to the bytes that the kernels read.
//!
//! A *code* is what a few bits can hold, 0 to 2^bits - 1. The codes of a block, `8 n` of them, take `bits` rows of `n`
//! bytes. The low four bits of all codes lie in a plane of four rows, if there are as many, then come the next two in two
//! rows, then the next one in one row. A row holds so many codes to a byte, `n` codes apart: so to widen a row is to shift
//! and to mask it, whatever the width of the vectors.
//!
//! Cut into eight parts of `n` codes, part `p` of the block has its bits at the same places of the rows
//!
//! | plane     | row     | shifted by |
//! |-----------|---------|------------|
//! | four bits | `p % 4` | `p / 4 * 4` |
//! | two bits  | `p % 2` | `p / 2 * 2` |
//! | one bit   | 0       | `p`         |

use std::array::from_fn;

/// Parts of a block.
pub(crate) const PARTS: usize = 8;

/// Bytes of a row that are widened together.
const CHUNK: usize = 32;

/// How numbers are stored as codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    /// How many bits a code has, 1 to 7.
    pub bits: usize,
    /// The code of the number 0: numbers are codes less this.
    pub zero: u8,
    /// How many codes a block has, a multiple of [`PARTS`]; the last block may have fewer.
    pub block: usize,
}

impl Planes {
    /// The bytes that so many codes take, a multiple of [`PARTS`].
    pub(crate) fn size(&self, codes: usize) -> usize {
        codes / PARTS * self.bits
    }

    /// Stores codes. Bits beyond those of a code do not matter.
    pub(crate) fn store(&self, codes: &[u8], to: &mut [u8]) {
        for (codes, to) in codes.chunks(self.block).zip(to.chunks_mut(self.size(self.block))) {
            let n = codes.len() / PARTS;
            to.fill(0);
            for (part, codes) in codes.chunks_exact(n).enumerate() {
                let (mut first, mut low) = (0, 0);
                for plane in [4, 2, 1] {
                    if self.bits & plane == 0 {
                        continue;
                    }
                    let (row, shift) = (first + part % plane, part / plane * plane);
                    let mask = (1 << plane) - 1;
                    for (to, code) in to[row * n..][..n].iter_mut().zip(codes) {
                        *to |= (code >> low & mask) << shift;
                    }
                    (first, low) = (first + plane, low + plane);
                }
            }
        }
    }
}

/// Writes the numbers of all codes in `planes`, as bytes. They are as many as `to` has room for.
pub(crate) type ExpandFn = unsafe fn(planes: &Planes, from: &[u8], to: &mut [u8]);

#[inline(always)]
pub(crate) fn expand(planes: &Planes, from: &[u8], to: &mut [u8]) {
    match planes.bits {
        1 => expand_blocks::<1>(planes, from, to),
        2 => expand_blocks::<2>(planes, from, to),
        3 => expand_blocks::<3>(planes, from, to),
        4 => expand_blocks::<4>(planes, from, to),
        5 => expand_blocks::<5>(planes, from, to),
        6 => expand_blocks::<6>(planes, from, to),
        7 => expand_blocks::<7>(planes, from, to),
        _ => unreachable!("planes have 1 to 7 bits"),
    }
}

#[inline(always)]
fn expand_blocks<const BITS: usize>(planes: &Planes, from: &[u8], to: &mut [u8]) {
    for (from, to) in from.chunks(planes.size(planes.block)).zip(to.chunks_mut(planes.block)) {
        expand_block::<BITS>(planes.zero, from, to);
    }
}

#[inline(always)]
fn expand_block<const BITS: usize>(zero: u8, from: &[u8], to: &mut [u8]) {
    let n = to.len() / PARTS;
    let whole = n / CHUNK * CHUNK;
    let rows: [&[u8]; BITS] = from_fn(|row| &from[row * n..][..n]);
    let mut parts = to.chunks_exact_mut(n);
    let mut parts: [&mut [u8]; PARTS] = from_fn(|_| parts.next().expect("eight parts"));
    expand_chunks::<BITS, CHUNK>(zero, rows.map(|row| &row[..whole]), parts.each_mut().map(|part| &mut part[..whole]));
    expand_chunks::<BITS, 1>(zero, rows.map(|row| &row[whole..]), parts.map(|part| &mut part[whole..]));
}

/// All parts of a chunk together take half the time that one part after the other does.
#[inline(always)]
fn expand_chunks<const BITS: usize, const N: usize>(zero: u8, rows: [&[u8]; BITS], parts: [&mut [u8]; PARTS]) {
    let chunks = parts[0].len() / N;
    let rows: [&[[u8; N]]; BITS] = rows.map(|row| &row.as_chunks().0[..chunks]);
    let [a, b, c, d, e, f, g, h] = parts.map(|part| &mut part.as_chunks_mut::<N>().0[..chunks]);
    for i in 0..chunks {
        let rows: [&[u8; N]; BITS] = from_fn(|row| &rows[row][i]);
        expand_part::<BITS, 0, N>(zero, rows, &mut a[i]);
        expand_part::<BITS, 1, N>(zero, rows, &mut b[i]);
        expand_part::<BITS, 2, N>(zero, rows, &mut c[i]);
        expand_part::<BITS, 3, N>(zero, rows, &mut d[i]);
        expand_part::<BITS, 4, N>(zero, rows, &mut e[i]);
        expand_part::<BITS, 5, N>(zero, rows, &mut f[i]);
        expand_part::<BITS, 6, N>(zero, rows, &mut g[i]);
        expand_part::<BITS, 7, N>(zero, rows, &mut h[i]);
    }
}

#[inline(always)]
fn expand_part<const BITS: usize, const PART: usize, const N: usize>(
    zero: u8,
    rows: [&[u8; N]; BITS],
    to: &mut [u8; N],
) {
    for x in 0..N {
        let mut code = 0;
        if BITS & 4 != 0 {
            code |= rows[PART % 4][x] >> (PART / 4 * 4) & 15;
        }
        if BITS & 2 != 0 {
            code |= (rows[(BITS & 4) + PART % 2][x] >> (PART / 2 * 2) & 3) << (BITS & 4);
        }
        if BITS & 1 != 0 {
            code |= (rows[BITS & 6][x] >> PART & 1) << (BITS & 6);
        }
        to[x] = code.wrapping_sub(zero);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::kernel::tests::{noise, odd};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_kernel_widens_what_was_stored(
            bits in 1usize..8, (block, more) in (1usize..80, 0usize..300), zero in any::<u8>(), seed in any::<u64>(),
        ) {
            let planes = Planes { bits, zero, block: block * PARTS };
            let codes = noise(seed, false, more * PARTS);
            let mut stored = vec![0xaa; planes.size(codes.len())];
            planes.store(&codes, &mut stored);
            let expected: Vec<u8> = codes.iter().map(|code| (code & ((1 << bits) - 1)).wrapping_sub(zero)).collect();
            for kernel in Kernel::available().chain(odd()) {
                let mut found = vec![0; codes.len()];
                kernel.expand(&planes, &stored, &mut found);
                prop_assert!(found == expected, "{}", kernel.name);
            }
        }
    }

    /// By hand from the table.
    #[test]
    fn the_places_of_the_bits_are_those_of_the_table() {
        let planes = Planes { bits: 7, zero: 0, block: 8 };
        let mut stored = [0; 7];
        planes.store(&[0x61, 0, 0, 0, 0, 0x18, 0, 0x70], &mut stored);
        assert_eq!(stored, [0x01, 0x80, 0, 0, 0b0000_0010, 0b1101_0000, 0b1000_0001]);
    }
}
