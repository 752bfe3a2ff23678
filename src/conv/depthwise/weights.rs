//! Weights in the order in which strips are multiplied: the panels of channels one after the other, in each the columns of
//! taps, whose rows lie in groups; and behind them the sum of each channel's.

use super::groups::{Groups, groups, groups_mut};
use super::{Axis, HALF, LANES, WIDE, sweep};
use crate::buffer::{Carver, ints};
use crate::kernel::{Group, Taps, TapsLoop, TapsWays};
use crate::matrix::{Chunks, Encoding, Offset, Operand, Order};
use std::ops::Range;

/// Rows of results that lowering weights is worth, and those if there are few groups.
const LEAST_DOUBLE: usize = 4;
const LEAST_SWEPT: usize = 2;

/// Groups of what is added to weights that are split: for each channel a sum of so many signed bytes, the same for all taps.
pub(super) const ADDED: usize = 2;

/// Groups of weights that are lowered, at most.
pub(super) const MOST_LOWERED: usize = 16;

/// Of how many taps and channels weights are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Rows and columns.
    pub taps: [usize; 2],
    /// Whether a group has four rows of taps, not two.
    pub in_fours: bool,
    /// Whether what is added to weights lies apart, in groups of its own behind theirs, for with it they would be no bytes.
    pub is_split: bool,
    /// Whether panels are wide as long as there are channels for them.
    pub is_wide: bool,
    pub channels: usize,
}

impl Layout {
    /// Multiplications for each position.
    pub(super) fn macs(&self) -> f64 {
        self.taps[0] as f64 * self.taps[1] as f64 * self.channels as f64
    }

    /// Groups in a column of taps.
    pub(super) fn height(&self) -> usize {
        self.taps[0].div_ceil(if self.in_fours { 4 } else { 2 })
    }

    /// Rows of taps in a column of groups, those that fill it up included.
    pub(super) fn rows(&self) -> usize {
        self.height() * if self.in_fours { 4 } else { 2 }
    }

    /// Whether windows of two rows share what they see: groups have room for one row of taps more.
    pub(super) fn is_double(&self, down: &Axis, results: usize) -> bool {
        let least = if self.groups() <= sweep::COLUMNS { LEAST_SWEPT } else { LEAST_DOUBLE };
        let follow = (down.stride, down.dilation) == (1, 1) && results >= least;
        follow && self.rows() > down.taps && self.groups() <= MOST_LOWERED
    }

    /// Groups of each channel.
    pub(super) fn groups(&self) -> usize {
        self.height() * self.taps[1]
    }

    /// Channels of the panel that begins with one of them, or how many there is room for.
    pub(super) fn width(&self, first: usize) -> usize {
        match self.channels - first {
            WIDE.. if self.is_wide => WIDE,
            left if left <= HALF => HALF,
            _ => LANES,
        }
    }

    /// Bytes of groups for each channel.
    fn of_channel(&self) -> usize {
        (self.groups() + if self.is_split { ADDED } else { 0 }) * size_of::<Group>()
    }

    /// Channels and what fills the last panel.
    fn lanes(&self) -> usize {
        self.channels.next_multiple_of(LANES)
    }

    /// Sums, as many from each panel's first on as the widest has.
    fn sums(&self) -> usize {
        self.lanes() + WIDE - LANES
    }

    /// Bytes of all groups.
    fn of_groups(&self) -> usize {
        self.lanes() * self.of_channel()
    }

    /// Bytes that they take.
    pub(super) fn len(&self) -> usize {
        Carver::cost(self.of_groups()) + Carver::cost(self.sums() * size_of::<i32>())
    }

    /// The bytes of a panel of so many channels.
    fn panel(&self, first: usize, lanes: usize) -> Range<usize> {
        first * self.of_channel()..(first + lanes) * self.of_channel()
    }
}

/// Weights, to each of which its channel's offset is added.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    layout: Layout,
    groups: &'a [u8],
    sums: &'a [i32],
}

impl<'a> Weights<'a> {
    /// Of an operand with a line for each channel of the result, whose depth are taps, row by row; in `bytes`, which begin
    /// on a cache line.
    pub(super) fn pack(ways: TapsWays, layout: Layout, operand: &Operand, offset: Offset, bytes: &'a mut [u8]) -> Self {
        let mut carver = Carver::new(bytes);
        let (groups, sums) = (carver.bytes(layout.of_groups()), carver.ints(layout.sums()));
        let mut first = 0;
        while first < layout.channels {
            let lanes = layout.width(first);
            let (groups, sums) = (&mut groups[layout.panel(first, lanes)], &mut sums[first..]);
            match lanes {
                HALF => Panel::<HALF> { layout, operand, offset, first, groups: groups_mut(groups), sums }.pack(ways),
                LANES => Panel::<LANES> { layout, operand, offset, first, groups: groups_mut(groups), sums }.pack(ways),
                _ => Panel::<WIDE> { layout, operand, offset, first, groups: groups_mut(groups), sums }.pack(ways),
            }
            first += lanes;
        }
        Self { layout, groups, sums }
    }

    /// Those that were packed in `bytes`.
    pub(super) fn packed(layout: Layout, bytes: &'a [u8]) -> Self {
        let (groups, sums) = bytes.split_at(Carver::cost(layout.of_groups()));
        Self { layout, groups, sums: &ints(sums)[..layout.sums()] }
    }

    /// The groups of a panel.
    pub(super) fn panel<const L: usize>(&self, first: usize) -> &'a [Groups<L>] {
        groups(&self.groups[self.layout.panel(first, L)])
    }

    /// The sum of the weights of each channel, from one on.
    pub(super) fn sums(&self, first: usize) -> &'a [i32] {
        &self.sums[first..]
    }
}

/// The packing of one panel.
struct Panel<'a, const L: usize> {
    layout: Layout,
    operand: &'a Operand<'a>,
    offset: Offset<'a>,
    first: usize,
    groups: &'a mut [Groups<L>],
    sums: &'a mut [i32],
}

impl<const L: usize> TapsLoop for Panel<'_, L> {
    #[inline(always)]
    fn run<const ROWS: usize, T: Taps<ROWS>>(self, taps: T) {
        if const { L > T::WIDTH } {
            unreachable!("wider panels meet other taps");
        }
        // With their offsets they are signed bytes, which may be added modulo 256.
        if const { ROWS == 4 } {
            return self.join(taps);
        }
        match self.operand.encoding {
            Encoding::U8 => self.widen(i16::from),
            Encoding::S8 => self.widen(|x| i16::from(x as i8)),
        }
    }
}

impl<const L: usize> Panel<'_, L> {
    fn pack(self, ways: TapsWays) {
        ways.run(self.layout.in_fours, self);
    }

    /// How many channels it has, and what is added to the weights of each.
    #[inline(always)]
    fn added(&self) -> (usize, [i16; L]) {
        let count = L.min(self.layout.channels - self.first);
        let mut added = [0; L];
        for (l, added) in added[..count].iter_mut().enumerate() {
            *added = match self.offset {
                Offset::Uniform(offset) => offset as i16,
                Offset::PerLine(offsets) => offsets[self.first + l] as i16,
            };
        }
        (count, added)
    }

    #[inline(always)]
    fn join<const ROWS: usize>(self, taps: impl Taps<ROWS>) {
        let Layout { taps: [rows, cols], .. } = self.layout;
        let height = self.layout.height();
        let count = L.min(self.layout.channels - self.first);
        // Without an offset, or apart from it, weights are joined where they lie.
        let flip = match self.layout.is_split {
            true => Some(self.operand.encoding.flip_to(Encoding::S8)),
            false => flip(self.operand.encoding, self.offset),
        };
        let in_place = flip.filter(|_| self.operand.order == Order::LineContiguous && count == L);
        let ones = [taps.group([1; ROWS]); L];
        let mut sums = [0i32; L];
        if let Some(flip) = in_place {
            // What stands for 0.
            let none = [flip; L];
            for i in 0..height {
                let mut weights = [Chunks::repeated(&none, cols); ROWS];
                for (r, weights) in weights.iter_mut().enumerate() {
                    let row = i * ROWS + r;
                    if row < rows {
                        *weights = self.operand.chunks(row * cols..(row + 1) * cols, self.first);
                    }
                }
                let mut at = i;
                for weights in Chunks::side_by_side(&weights) {
                    let groups = &mut self.groups[at];
                    taps.join(weights, flip, groups);
                    taps.add(&mut sums, &ones, groups);
                    at += height;
                }
            }
        } else {
            // To flip the top bit is to add 128.
            let (_, offsets) = self.added();
            let mut added = [0; L];
            for l in 0..L {
                added[l] = flip.unwrap_or(offsets[l] as u8);
            }
            for (i, groups) in self.groups[..height * cols].iter_mut().enumerate() {
                let (col, row) = (i / height, i % height * ROWS);
                let mut weights = [[0; L]; ROWS];
                for (weights, row) in weights.iter_mut().zip(row..rows) {
                    *weights = bytes_of::<L>(self.operand, row * cols + col, self.first, count);
                    for l in 0..L {
                        weights[l] = weights[l].wrapping_add(added[l]);
                    }
                }
                taps.join(weights.each_ref(), 0, groups);
                taps.add(&mut sums, &ones, groups);
            }
        }
        if self.layout.is_split {
            let (_, offsets) = self.added();
            let base = Encoding::S8.shift_to(self.operand.encoding);
            let mut ends = [[0; L]; ADDED];
            for l in 0..L {
                let added = i32::from(offsets[l]) + base;
                sums[l] = sums[l].wrapping_add(added.wrapping_mul((rows * cols) as i32));
                (ends[0][l], ends[1][l]) = halves(added);
            }
            for (ends, groups) in ends.iter().zip(&mut self.groups[height * cols..]) {
                let mut weights = [[0; L]; ROWS];
                weights[..rows].fill(*ends);
                taps.join(weights.each_ref(), 0, groups);
            }
        }
        // Beyond the last channel there is room for any numbers.
        self.sums[..L].copy_from_slice(&sums);
    }

    #[inline(always)]
    fn widen(self, wide: impl Fn(u8) -> i16) {
        let Layout { taps: [rows, cols], .. } = self.layout;
        let (count, added) = self.added();
        let height = self.layout.height();
        let mut sums = [0i32; L];
        for (i, groups) in self.groups[..height * cols].iter_mut().enumerate() {
            let (col, row) = (i / height, i % height * 2);
            let mut both = [[0i16; L]; 2];
            for (weights, row) in both.iter_mut().zip(row..rows) {
                let bytes = bytes_of::<L>(self.operand, row * cols + col, self.first, count);
                for l in 0..L {
                    weights[l] = wide(bytes[l]).wrapping_add(added[l]);
                    sums[l] = sums[l].wrapping_add(weights[l].into());
                }
            }
            for (l, group) in groups.iter_mut().enumerate() {
                *group = [both[0][l], both[1][l]];
            }
        }
        self.sums[..count].copy_from_slice(&sums[..count]);
    }
}

/// What makes bytes of an encoding, with an offset, signed bytes if they are XORed with it.
pub(super) fn flip(encoding: Encoding, offset: Offset) -> Option<u8> {
    match (encoding, offset) {
        (Encoding::S8, Offset::Uniform(0)) => Some(0),
        (Encoding::U8, Offset::Uniform(-128)) => Some(0x80),
        _ => None,
    }
}

/// Whether what is added to weights that are read as signed bytes is the sum of [`ADDED`] signed bytes, in each channel.
pub(super) fn may_split(encoding: Encoding, offset: Offset) -> bool {
    let offsets = match &offset {
        Offset::Uniform(offset) => std::slice::from_ref(offset),
        Offset::PerLine(offsets) => offsets,
    };
    let base = Encoding::S8.shift_to(encoding);
    offsets.iter().all(|offset| (-256..=254).contains(&offset.saturating_add(base)))
}

/// Two signed bytes, whose sum is a number for which there are such.
#[inline(always)]
fn halves(number: i32) -> (u8, u8) {
    let half = number >> 1;
    (half as u8, (number - half) as u8)
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
