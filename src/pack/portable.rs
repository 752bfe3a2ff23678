//! The inner loops of packing for instruction sets without shuffles of their own.

use super::sums::sum_numbers;
use super::{CHUNK, LINES, STRETCH};
use crate::matrix::Encoding;

#[inline(always)]
pub(crate) fn transpose<const G: usize>(lines: [&[u8; STRETCH]; LINES], added: u8, to: &mut [[u8; G]], pitch: usize) {
    for (i, line) in lines.iter().enumerate() {
        for (to, group) in to.chunks_mut(pitch).zip(line.as_chunks::<G>().0) {
            to[i] = group.map(|x| x.wrapping_add(added));
        }
    }
}

#[inline(always)]
pub(crate) fn interleave<const G: usize>(depths: [&[u8; CHUNK]; G], added: u8, to: &mut [[u8; G]]) {
    for (i, to) in to.iter_mut().take(CHUNK).enumerate() {
        *to = depths.map(|depth| depth[i].wrapping_add(added));
    }
}

#[inline(always)]
pub(crate) fn interleave_two<const G: usize>(depths: [&[u8; 2 * CHUNK]; G], added: u8, to: [&mut [[u8; G]]; 2]) {
    for (half, to) in to.into_iter().enumerate() {
        interleave(depths.map(|depth| &depth.as_chunks().0[half]), added, to);
    }
}

#[inline(always)]
pub(crate) fn add_sums<const W: usize, const G: usize>(groups: &[[u8; G]], encoding: Encoding, sums: &mut [i32; W]) {
    for group in groups.as_chunks::<W>().0 {
        for (sum, group) in sums.iter_mut().zip(group) {
            for &b in group {
                *sum = sum.wrapping_add(encoding.decode(b));
            }
        }
    }
}

#[inline(always)]
pub(crate) fn turn(rows: [&[u8; CHUNK]; CHUNK]) -> [[u8; CHUNK]; CHUNK] {
    let mut turned = [[0; CHUNK]; CHUNK];
    for (i, row) in rows.iter().enumerate() {
        for (turned, &byte) in turned.iter_mut().zip(*row) {
            turned[i] = byte;
        }
    }
    turned
}

/// The sum of the bytes of some stretches and of a last one after `added` was added to each, modulo 256.
#[inline(always)]
pub(crate) fn sum_bytes(whole: &[[u8; STRETCH]], last: &[u8; STRETCH], added: u8) -> u32 {
    let mut sum = 0u32;
    for stretch in whole.iter().chain([last]) {
        for &b in stretch {
            sum = sum.wrapping_add(b.wrapping_add(added).into());
        }
    }
    sum
}

/// The same of four lines, each as long.
#[inline(always)]
pub(crate) fn sum_four(lines: [&[u8]; 4], added: u8) -> [u32; 4] {
    let mut sums = [0; 4];
    for (sum, line) in sums.iter_mut().zip(lines) {
        *sum = sum_numbers(line, added, Encoding::U8, &sum_bytes) as u32;
    }
    sums
}
