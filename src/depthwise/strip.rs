//! What the windows of a row see of a panel's channels, in the order in which they are multiplied.

use super::{Axis, Geometry, Pairs};
use crate::kernel::Loop;
use crate::matrix::{Encoding, Operand};

/// Where a strip comes from. It consists of columns of so many pairs as there are pairs of rows of taps. The windows of a row
/// share columns if they overlap and no column is skipped; else each has columns of its own.
pub(super) struct Strip<'a, const L: usize> {
    geometry: &'a Geometry,
    image: &'a Operand<'a>,
    padding: i16,
    first_channel: usize,
    shares: bool,
}

impl<'a, const L: usize> Strip<'a, L> {
    pub(super) fn new(geometry: &'a Geometry, image: &'a Operand<'a>, padding: i16, first_channel: usize) -> Self {
        let Axis { taps, stride, dilation, .. } = geometry.across;
        Self { geometry, image, padding, first_channel, shares: dilation == 1 && stride < taps }
    }

    /// Pairs in a column.
    fn height(&self) -> usize {
        self.geometry.down.taps.div_ceil(2)
    }

    /// Pairs from the begin of one window to that of the next.
    pub(super) fn step(&self) -> usize {
        let Axis { taps, stride, .. } = self.geometry.across;
        self.height() * if self.shares { stride } else { taps }
    }

    /// Pairs that so many windows take.
    pub(super) fn len(&self, windows: usize) -> usize {
        (windows - 1) * self.step() + self.geometry.across.taps * self.height()
    }

    /// The strip of the windows from `position` on, of a row of the whole batch's.
    pub(super) fn fill<'s>(&'s self, row: usize, position: usize, to: &'s mut [Pairs<L>]) -> Fill<'s, L> {
        Fill { strip: self, row, position, to }
    }

    /// The column of the image, if it has it, that a strip's column shows.
    #[inline(always)]
    fn column(&self, position: usize, column: usize) -> Option<usize> {
        let across = &self.geometry.across;
        match self.shares {
            true => across.pixel(position, column),
            false => across.pixel(position + column / across.taps, column % across.taps),
        }
    }
}

/// The making of a strip.
pub(super) struct Fill<'a, const L: usize> {
    strip: &'a Strip<'a, L>,
    row: usize,
    position: usize,
    to: &'a mut [Pairs<L>],
}

impl<const L: usize> Loop for Fill<'_, L> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        match self.strip.image.encoding {
            Encoding::U8 => self.widen(|x| i16::from(x)),
            Encoding::S8 => self.widen(|x| i16::from(x as i8)),
        }
    }
}

impl<const L: usize> Fill<'_, L> {
    #[inline(always)]
    fn widen(self, wide: impl Fn(u8) -> i16 + Copy) {
        let Self { strip, row, position, to } = self;
        let Geometry { down, across, .. } = strip.geometry;
        let (image, row) = (row / down.output, row % down.output);
        let height = strip.height();
        for pair in 0..height {
            // The first pixel of each of two rows. Beyond the last taps anything will do, for it is multiplied by 0.
            let mut rows = [None; 2];
            for (i, of_row) in rows.iter_mut().enumerate() {
                let tap = (2 * pair + i).min(down.taps - 1);
                *of_row = down.pixel(row, tap).map(|y| (image * down.input + y) * across.input);
            }
            for (column, to) in to[pair..].iter_mut().step_by(height).enumerate() {
                match strip.column(position, column) {
                    None => *to = [[strip.padding; 2]; L],
                    Some(x) => strip.pixels(rows, x, wide, to),
                }
            }
        }
    }
}

impl<const L: usize> Strip<'_, L> {
    /// The numbers of two pixels, one below the other.
    #[inline(always)]
    fn pixels(&self, rows: [Option<usize>; 2], x: usize, wide: impl Fn(u8) -> i16 + Copy, to: &mut Pairs<L>) {
        let Geometry { channels, multiplier, .. } = *self.geometry;
        if multiplier > 1 {
            return self.spread(rows, x, wide, to);
        }
        if self.first_channel + L <= channels {
            let mut both = [[self.padding; L]; 2];
            for (numbers, row) in both.iter_mut().zip(rows) {
                if let Some(row) = row {
                    let bytes = self.image.chunk::<L>(row + x, self.first_channel);
                    for (number, byte) in numbers.iter_mut().zip(bytes) {
                        *number = wide(byte);
                    }
                }
            }
            for (l, to) in to.iter_mut().enumerate() {
                *to = [both[0][l], both[1][l]];
            }
            return;
        }
        for (i, row) in rows.into_iter().enumerate() {
            let bytes = row.map(|row| &self.image.run(row + x)[self.first_channel..]);
            for (l, to) in to[..channels - self.first_channel].iter_mut().enumerate() {
                to[i] = bytes.map_or(self.padding, |bytes| wide(bytes[l]));
            }
        }
    }

    /// As [`Strip::pixels`], each number for several channels of the result.
    #[inline(always)]
    fn spread(&self, rows: [Option<usize>; 2], x: usize, wide: impl Fn(u8) -> i16 + Copy, to: &mut Pairs<L>) {
        let Geometry { channels, multiplier, .. } = *self.geometry;
        let (mut channel, mut left) = (self.first_channel / multiplier, multiplier - self.first_channel % multiplier);
        let mut to = &mut to[..];
        while channel < channels && !to.is_empty() {
            let mut pair = [self.padding; 2];
            for (number, row) in pair.iter_mut().zip(rows) {
                if let Some(row) = row {
                    *number = wide(self.image.chunk::<1>(row + x, channel)[0]);
                }
            }
            let (same, rest) = to.split_at_mut(left.min(to.len()));
            same.fill(pair);
            (channel, left, to) = (channel + 1, multiplier, rest);
        }
    }
}
