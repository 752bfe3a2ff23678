//! What one segment of the depth adds to a product, where segments have scales of their own.
//!
//! The sum of a segment is an integer, as that of a whole product. As a float, rounded, and times the scale, rounded, it is
//! added to the float of its result, which rounds again: three steps that every kernel takes one by one, and segments in
//! their order, so that the floats are the same everywhere.

use crate::kernel::{MAX_ROWS, MAX_WIDTH};
use crate::matrix::Encoding;
use crate::pack::Groups;
use std::ops::Range;

/// What there is to know of up to `N` lines in one segment.
pub(crate) struct Edge<const N: usize> {
    /// What is added to each number as the kernels read it.
    pub offsets: [i32; N],
    /// The sums of these numbers.
    pub sums: [i32; N],
    /// The segments' scales, if this is the side that has them.
    pub scales: [f32; N],
}

impl<const N: usize> Edge<N> {
    pub(crate) fn new() -> Self {
        Self { offsets: [0; N], sums: [0; N], scales: [0.0; N] }
    }
}

/// A segment of a tile.
pub(crate) struct Segment<'a> {
    pub depth: usize,
    pub rows: &'a Edge<MAX_ROWS>,
    pub cols: &'a Edge<MAX_WIDTH>,
    /// Whether rows have the scales, else columns.
    pub by_rows: bool,
}

/// Adds a segment's sums, of which the accumulators have the products, to the floats whose bits are in `floats`.
pub(crate) type AddSegmentFn = unsafe fn(segment: &Segment, acc: &[i32], floats: &mut [i32]);

#[inline(always)]
pub(crate) fn add<const W: usize>(segment: &Segment, acc: &[i32], floats: &mut [i32]) {
    let Segment { rows, cols, .. } = segment;
    let col = |values: &[i32; MAX_WIDTH]| *values.first_chunk::<W>().expect("no panel is wider");
    let (offsets, sums) = (col(&cols.offsets), col(&cols.sums));
    let mut scales = *cols.scales.first_chunk::<W>().expect("no panel is wider");
    let tile = acc.as_chunks::<W>().0.iter().zip(floats.as_chunks_mut::<W>().0);
    for (i, (acc, floats)) in tile.take(MAX_ROWS).enumerate() {
        let a = rows.offsets[i];
        let row_sum = rows.sums[i].wrapping_add(a.wrapping_mul(segment.depth as i32));
        if segment.by_rows {
            scales = [rows.scales[i]; W];
        }
        // Σ (l + a)(r + b), as for a whole product.
        for j in 0..W {
            let sum = acc[j].wrapping_add(offsets[j].wrapping_mul(row_sum)).wrapping_add(sums[j].wrapping_mul(a));
            floats[j] = (f32::from_bits(floats[j] as u32) + sum as f32 * scales[j]).to_bits() as i32;
        }
    }
}

/// The sums of all lines of a panel over some of its depths.
pub(crate) fn sum_part(panel: &[u8], groups: Groups, encoding: Encoding, depths: Range<usize>, sums: &mut [i32]) {
    let (width, len) = (sums.len(), groups.len());
    sums.fill(0);
    for d in depths {
        let group = &panel[d / len * len * width..][..len * width];
        for (sum, numbers) in sums.iter_mut().zip(group.chunks_exact(len)) {
            *sum += encoding.decode(numbers[d % len]);
        }
    }
}

#[cfg(test)]
mod tests;
