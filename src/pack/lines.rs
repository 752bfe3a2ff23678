//! Packing the lines of an LHS.

use super::native::transposed;
use super::runs::{Block, FEW, MANY, Patch};
use super::sums::sum_read;
use super::{CHUNK, DEPTHS};
use crate::matrix::{Operand, Order};
use crate::reading::Reading;

/// Depths of a line that are packed at a time if they are contiguous: what they are requantized to stays in the fastest
/// cache.
const REQUANTIZED: usize = 256;

/// Packs lines, zero up to their ends, and sums as many as there are sums.
#[inline(always)]
pub(crate) fn pack_lhs<const WIDENED: bool>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    pitch: usize,
    lines: &mut [u8],
    sums: &mut [i32],
) {
    sums.fill(0);
    let count = lines.len() / pitch;
    match src.order {
        Order::DepthContiguous => {
            for (i, line) in lines.chunks_exact_mut(pitch).enumerate() {
                write_line::<WIDENED>(src.run(first + i), reading, first + i, line, sums.get_mut(i));
            }
        }
        Order::LineContiguous if count <= CHUNK => {
            transpose_runs::<WIDENED, 1>(src, reading, first, pitch, lines, sums)
        }
        Order::LineContiguous if count <= FEW * CHUNK => {
            transpose_runs::<WIDENED, FEW>(src, reading, first, pitch, lines, sums)
        }
        Order::LineContiguous => transpose_runs::<WIDENED, MANY>(src, reading, first, pitch, lines, sums),
    }
}

/// The bytes of a number.
const fn size(widened: bool) -> usize {
    if widened { 2 } else { 1 }
}

#[inline(always)]
fn write_line<const WIDENED: bool>(
    src: &[u8],
    reading: &Reading,
    index: usize,
    line: &mut [u8],
    mut sum: Option<&mut i32>,
) {
    if reading.requantization.is_none() || src.is_empty() {
        return write_strip::<WIDENED>(src, reading, line, sum);
    }
    for from in (0..src.len()).step_by(REQUANTIZED) {
        let mut strip = [0; REQUANTIZED];
        let src = &src[from..];
        let strip = &mut strip[..src.len().min(REQUANTIZED)];
        reading.along_depth((index, from), &src[..strip.len()], strip);
        let end = if strip.len() == src.len() { line.len() } else { (from + REQUANTIZED) * size(WIDENED) };
        write_strip::<WIDENED>(strip, reading, &mut line[from * size(WIDENED)..end], sum.as_deref_mut());
    }
}

/// Writes a part of a line, and zeros after it, and adds it to the sum.
#[inline(always)]
fn write_strip<const WIDENED: bool>(strip: &[u8], reading: &Reading, line: &mut [u8], sum: Option<&mut i32>) {
    let (numbers, padding) = line.split_at_mut(strip.len() * size(WIDENED));
    write_numbers::<WIDENED>(strip, reading, numbers);
    if !padding.is_empty() {
        padding.fill(0);
    }
    if let Some(sum) = sum {
        *sum = sum.wrapping_add(sum_read(strip, reading));
    }
}

#[inline(always)]
fn write_numbers<const WIDENED: bool>(src: &[u8], reading: &Reading, numbers: &mut [u8]) {
    let added = reading.added();
    if !WIDENED {
        numbers.iter_mut().zip(src).for_each(|(number, &b)| *number = b.wrapping_add(added));
    } else {
        for (number, &b) in numbers.as_chunks_mut::<2>().0.iter_mut().zip(src) {
            *number = (reading.to.decode(b.wrapping_add(added)) as i16).to_ne_bytes();
        }
    }
}

/// Packs lines that are contiguous at each depth, by transposing blocks of 16 × 16 bytes.
#[inline(always)]
fn transpose_runs<const WIDENED: bool, const BLOCKS: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    pitch: usize,
    lines: &mut [u8],
    sums: &mut [i32],
) {
    let at_once = BLOCKS * CHUNK;
    let mut patch = Patch::<CHUNK, BLOCKS>::new();
    for (i, lines) in lines.chunks_mut(pitch * at_once).enumerate() {
        for from in (0..src.depth).step_by(DEPTHS) {
            let panels = (lines.len() / pitch).div_ceil(CHUNK);
            let blocks = patch.fill(src, reading, (first + i * at_once, from), panels);
            let depths = DEPTHS.min(src.depth - from);
            let end = if from + depths == src.depth { pitch } else { (from + DEPTHS) * size(WIDENED) };
            for (j, (lines, block)) in lines.chunks_mut(pitch * CHUNK).zip(blocks).enumerate() {
                let strips = along_depth(block, depths);
                for (w, (line, strip)) in lines.chunks_exact_mut(pitch).zip(&strips).enumerate() {
                    let line = &mut line[from * size(WIDENED)..end];
                    let sum = sums.get_mut(i * at_once + j * CHUNK + w);
                    write_strip::<WIDENED>(&strip[..depths], reading, line, sum);
                }
            }
        }
    }
}

/// The first depths of each line of a block, at least so many of them.
#[inline(always)]
fn along_depth(block: &Block, depths: usize) -> [[u8; DEPTHS]; CHUNK] {
    let mut strips = [[0; DEPTHS]; CHUNK];
    for (i, rows) in block.as_chunks().0.iter().enumerate().take(depths.div_ceil(CHUNK)) {
        for (strip, row) in strips.iter_mut().zip(transposed(rows)) {
            strip[i * CHUNK..][..CHUNK].copy_from_slice(&row);
        }
    }
    strips
}
