//! Weights in the order in which strips are multiplied: the panels of channels one after the other, in each the columns of
//! taps, two rows of which lie in pairs; and behind them the sum of each channel's.

use super::pairs::{Pairs, pairs, pairs_mut};
use super::{HALF, LANES};
use crate::buffer::Carver;
use crate::kernel::{Loop, Vectors};
use crate::matrix::{Encoding, Offset, Operand, Order};
use std::ops::Range;

/// Of how many taps and channels weights are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Rows and columns.
    pub taps: [usize; 2],
    pub channels: usize,
}

impl Layout {
    /// Multiplications for each position.
    pub(super) fn macs(&self) -> f64 {
        self.taps[0] as f64 * self.taps[1] as f64 * self.channels as f64
    }

    /// Pairs for each channel.
    fn pairs(&self) -> usize {
        self.taps[0].div_ceil(2) * self.taps[1]
    }

    /// Channels and what fills the last panel.
    fn lanes(&self) -> usize {
        self.channels.next_multiple_of(LANES)
    }

    fn pairs_len(&self) -> usize {
        self.lanes() * self.pairs() * size_of::<[i16; 2]>()
    }

    /// Bytes that they take.
    pub(super) fn len(&self) -> usize {
        Carver::cost(self.pairs_len()) + Carver::cost(self.lanes() * size_of::<i32>())
    }
}

/// Weights, to each of which its channel's offset is added.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    layout: Layout,
    pairs: &'a [u8],
    sums: &'a [i32],
}

impl<'a> Weights<'a> {
    /// Of an operand with a line for each channel of the result, whose depth are taps, row by row; in `bytes`, which begin
    /// on a cache line.
    pub(super) fn pack(
        vectors: Vectors,
        layout: Layout,
        operand: &Operand,
        offset: Offset,
        bytes: &'a mut [u8],
    ) -> Self {
        let mut carver = Carver::new(bytes);
        let (pairs, sums) = (carver.bytes(layout.pairs_len()), carver.ints(layout.lanes()));
        for first in (0..layout.channels).step_by(LANES) {
            let lanes = if layout.channels - first <= HALF { HALF } else { LANES };
            let (pairs, sums) = (&mut pairs[layout.panel(first, lanes)], &mut sums[first..]);
            if lanes == HALF {
                vectors.run(Panel::<HALF> { layout, operand, offset, first, pairs: pairs_mut(pairs), sums });
            } else {
                vectors.run(Panel::<LANES> { layout, operand, offset, first, pairs: pairs_mut(pairs), sums });
            }
        }
        Self { layout, pairs, sums }
    }

    /// The pairs of a panel.
    pub(super) fn panel<const L: usize>(&self, first: usize) -> &'a [Pairs<L>] {
        pairs(&self.pairs[self.layout.panel(first, L)])
    }

    /// The sum of the weights of each channel, from one on.
    pub(super) fn sums(&self, first: usize) -> &'a [i32] {
        &self.sums[first..]
    }
}

impl Layout {
    /// The bytes of a panel of so many channels.
    fn panel(&self, first: usize, lanes: usize) -> Range<usize> {
        let of_channel = self.pairs() * size_of::<[i16; 2]>();
        first * of_channel..(first + lanes) * of_channel
    }
}

/// The packing of one panel.
struct Panel<'a, const L: usize> {
    layout: Layout,
    operand: &'a Operand<'a>,
    offset: Offset<'a>,
    first: usize,
    pairs: &'a mut [Pairs<L>],
    sums: &'a mut [i32],
}

impl<const L: usize> Loop for Panel<'_, L> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        match self.operand.encoding {
            Encoding::U8 => self.widen(i16::from),
            Encoding::S8 => self.widen(|x| i16::from(x as i8)),
        }
    }
}

impl<const L: usize> Panel<'_, L> {
    #[inline(always)]
    fn widen(self, wide: impl Fn(u8) -> i16) {
        let Layout { taps: [rows, cols], channels } = self.layout;
        let count = L.min(channels - self.first);
        let mut added = [0i16; L];
        for (l, added) in added[..count].iter_mut().enumerate() {
            *added = match self.offset {
                Offset::Uniform(offset) => offset as i16,
                Offset::PerLine(offsets) => offsets[self.first + l] as i16,
            };
        }
        let height = rows.div_ceil(2);
        let mut sums = [0i32; L];
        for (i, pairs) in self.pairs[..height * cols].iter_mut().enumerate() {
            let (col, row) = (i / height, i % height * 2);
            let mut both = [[0i16; L]; 2];
            for (weights, row) in both.iter_mut().zip(row..rows) {
                let bytes = bytes_of::<L>(self.operand, row * cols + col, self.first, count);
                for l in 0..L {
                    weights[l] = wide(bytes[l]).wrapping_add(added[l]);
                    sums[l] = sums[l].wrapping_add(weights[l].into());
                }
            }
            for (l, pair) in pairs.iter_mut().enumerate() {
                *pair = [both[0][l], both[1][l]];
            }
        }
        self.sums[..count].copy_from_slice(&sums[..count]);
    }
}

/// The weights of one tap, of so many channels.
#[inline(always)]
fn bytes_of<const L: usize>(operand: &Operand, tap: usize, first: usize, count: usize) -> [u8; L] {
    if operand.order == Order::LineContiguous && count == L {
        return *operand.chunk(tap, first);
    }
    let mut bytes = [0; L];
    for (l, byte) in bytes[..count].iter_mut().enumerate() {
        *byte = match operand.order {
            Order::DepthContiguous => operand.chunk::<1>(first + l, tap)[0],
            Order::LineContiguous => operand.chunk::<1>(tap, first + l)[0],
        };
    }
    bytes
}
