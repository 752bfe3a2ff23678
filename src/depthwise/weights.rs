//! Weights in the order in which strips are multiplied: the panels of channels one after the other, in each the columns of
//! taps, two rows of which lie in pairs; and behind them the sum of each channel's.

use super::pairs::{ints, pairs, pairs_mut};
use super::{HALF, LANES, Pairs};
use crate::buffer::Carver;
use crate::matrix::{Offset, Operand, Order};

/// What the weights of so many taps and channels of the result take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Rows and columns.
    pub taps: (usize, usize),
    pub channels: usize,
}

impl Layout {
    /// Pairs for each channel.
    fn pairs(&self) -> usize {
        self.taps.0.div_ceil(2) * self.taps.1
    }

    /// Channels, those beyond the last included that its panel has.
    fn lanes(&self) -> usize {
        self.channels.next_multiple_of(HALF)
    }

    fn pairs_len(&self) -> usize {
        self.lanes() * self.pairs() * size_of::<[i16; 2]>()
    }

    /// Bytes that they take.
    pub(crate) fn len(&self) -> usize {
        Carver::cost(self.pairs_len()) + Carver::cost(self.lanes() * size_of::<i32>())
    }
}

/// Weights as they were packed.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    layout: Layout,
    bytes: &'a [u8],
}

impl<'a> Weights<'a> {
    /// What [`pack`] made in `bytes`, which begin on a cache line.
    pub(crate) fn new(layout: Layout, bytes: &'a [u8]) -> Self {
        Self { layout, bytes: &bytes[..layout.len()] }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The pairs of a panel.
    pub(super) fn panel<const L: usize>(&self, first_channel: usize) -> &'a [Pairs<L>] {
        let pairs_of = self.layout.pairs();
        &pairs::<L>(&self.bytes[first_channel * pairs_of * size_of::<[i16; 2]>()..])[..pairs_of]
    }

    /// The sums of all weights of each channel, from one on.
    pub(super) fn sums(&self, first_channel: usize) -> &'a [i32] {
        let sums = &self.bytes[Carver::cost(self.layout.pairs_len())..];
        &ints(sums)[first_channel..self.layout.lanes()]
    }
}

/// Packs weights into `bytes`, which begin on a cache line. A line is a channel of the result, the depth its taps, row by
/// row; the offset is added to each weight. None if a weight does not fit into 16 bits then.
pub(crate) fn pack<'a>(layout: Layout, weights: &Operand, offset: Offset, bytes: &'a mut [u8]) -> Option<Weights<'a>> {
    let (rows, cols) = layout.taps;
    assert_eq!((weights.lines, weights.depth), (layout.channels, rows * cols), "the weights have another shape");
    let mut carver = Carver::new(&mut bytes[..layout.len()]);
    let all = pairs_mut::<1>(carver.bytes(layout.pairs_len()));
    all.fill([[0; 2]]);
    let sums = carver.ints(layout.lanes());
    sums.fill(0);
    let height = rows.div_ceil(2);
    for channel in 0..layout.channels {
        let first = channel / LANES * LANES;
        let lanes = if layout.channels - first <= HALF { HALF } else { LANES };
        let panel = &mut all[first * layout.pairs()..];
        let added = match offset {
            Offset::Uniform(added) => added,
            Offset::PerLine(added) => added[channel],
        };
        for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let tap = row * cols + col;
            let byte = match weights.order {
                Order::DepthContiguous => weights.run(channel)[tap],
                Order::LineContiguous => weights.run(tap)[channel],
            };
            let weight = i16::try_from(weights.encoding.decode(byte).checked_add(added)?).ok()?;
            panel[(col * height + row / 2) * lanes + channel % LANES][0][row % 2] = weight;
            sums[channel] = sums[channel].wrapping_add(weight.into());
        }
    }
    Some(Weights::new(layout, bytes))
}
