//! What the windows of a row see of a panel's channels, in the order in which they are multiplied.

use super::{Axis, HALF, Pairs, Plan};
use crate::kernel::PairsLoop;
use crate::matrix::{Encoding, Operand};
use std::ops::Range;

/// What all images are read as.
pub(super) const READ_AS: Encoding = Encoding::S8;

/// Where a strip comes from. It consists of columns of so many pairs as there are pairs of rows of taps. The windows of a row
/// share columns if they overlap and no column is skipped; else each has columns of its own.
pub(super) struct Strip<'a, const L: usize> {
    plan: &'a Plan,
    image: &'a Operand<'a>,
    /// What lies beside the images.
    padding: u8,
    shares: bool,
    /// The image's channels that the panel's are made of.
    channels: Channels,
}

/// A panel's channels, as an image counts them.
enum Channels {
    /// One after the other, from this one on, for all lanes.
    Each(usize),
    /// The same for all lanes.
    Same(usize),
    /// Something else: the panel's first channel, as the result counts them.
    Some(usize),
}

impl<'a, const L: usize> Strip<'a, L> {
    pub(super) fn new(plan: &'a Plan, image: &'a Operand<'a>, padding: u8, first: usize) -> Self {
        let Axis { taps, stride, dilation, .. } = plan.filter().axes[1];
        let [channels, results] = plan.filter().channels;
        let (multiplier, last) = (results / channels, results.min(first + L) - 1);
        let channels = match multiplier {
            1 if last + 1 == first + L => Channels::Each(first),
            2.. if first / multiplier == last / multiplier => Channels::Same(first / multiplier),
            _ => Channels::Some(first),
        };
        Self { plan, image, padding, shares: dilation == 1 && stride < taps, channels }
    }

    /// Pairs in a column.
    fn height(&self) -> usize {
        self.plan.filter().axes[0].taps.div_ceil(2)
    }

    /// Pairs from the begin of one window to that of the next.
    pub(super) fn step(&self) -> usize {
        let Axis { taps, stride, .. } = self.plan.filter().axes[1];
        self.height() * if self.shares { stride } else { taps }
    }

    /// Pairs that so many windows take.
    pub(super) fn len(&self, windows: usize) -> usize {
        (windows - 1) * self.step() + self.plan.filter().axes[1].taps * self.height()
    }

    /// The strip of the windows from `position` on, of a row of all images' results.
    pub(super) fn fill<'s>(&'s self, row: usize, position: usize, to: &'s mut [Pairs<L>]) -> Fill<'s, L> {
        Fill { strip: self, row, position, to }
    }

    /// The column of the image, if it has it, that a strip's column shows.
    #[inline(always)]
    fn column(&self, position: usize, column: usize) -> Option<usize> {
        let (across, width) = (&self.plan.filter().axes[1], self.plan.images().size[1]);
        match self.shares {
            true => across.pixel(position, column, width),
            false => across.pixel(position + column / across.taps, column % across.taps, width),
        }
    }

    /// Those of so many columns that show columns of the image, one after the other, and that can be made together.
    fn inner(&self, position: usize, columns: usize) -> Range<usize> {
        let (across, width) = (&self.plan.filter().axes[1], self.plan.images().size[1]);
        if !self.shares || matches!(self.channels, Channels::Some(_)) {
            return 0..0;
        }
        let before = |pixel: usize| pixel.saturating_sub(position * across.stride).min(columns);
        before(across.padding[0])..before(across.padding[0] + width)
    }

    /// What the panel's channels see of a pixel, if it is one of an image.
    #[inline(always)]
    fn bytes(&self, row: Option<usize>, x: Option<usize>) -> [u8; L] {
        let (Some(row), Some(x)) = (row, x) else { return [self.padding; L] };
        match self.channels {
            Channels::Each(first) => *self.image.chunk(row + x, first),
            Channels::Same(channel) => [self.image.chunk::<1>(row + x, channel)[0]; L],
            Channels::Some(first) => self.some_bytes(self.image.run(row + x), first),
        }
    }

    fn some_bytes(&self, numbers: &[u8], first: usize) -> [u8; L] {
        let [channels, results] = self.plan.filter().channels;
        let multiplier = results / channels;
        let mut bytes = [0; L];
        let (mut left, mut to) = (multiplier - first % multiplier, &mut bytes[..]);
        for &number in &numbers[first / multiplier..] {
            if to.is_empty() {
                break;
            }
            let (same, rest) = to.split_at_mut(left.min(to.len()));
            same.fill(number);
            (left, to) = (multiplier, rest);
        }
        bytes
    }
}

/// The making of a strip.
pub(super) struct Fill<'a, const L: usize> {
    strip: &'a Strip<'a, L>,
    row: usize,
    position: usize,
    to: &'a mut [Pairs<L>],
}

impl<const L: usize> PairsLoop for Fill<'_, L> {
    #[inline(always)]
    fn run(
        self,
        join: impl Fn(&[u8; HALF], &[u8; HALF], u8, &mut Pairs<HALF>) + Copy,
        _add: impl Fn(&mut [i32; HALF], &Pairs<HALF>, &Pairs<HALF>),
    ) {
        let Self { strip, row, position, to } = self;
        let flip = strip.image.encoding.flip_to(READ_AS);
        let join_all = |upper: &[u8; L], lower: &[u8; L], to: &mut Pairs<L>| {
            let halves = upper.as_chunks().0.iter().zip(lower.as_chunks().0);
            for ((upper, lower), to) in halves.zip(to.as_chunks_mut().0) {
                join(upper, lower, flip, to);
            }
        };
        let ([down, _], [image_height, image_width]) = (&strip.plan.filter().axes, strip.plan.images().size);
        let result_height = strip.plan.results().size[0];
        let (image, row) = (row / result_height, row % result_height);
        let height = strip.height();
        let all = 0..to.len() / height;
        let inner = strip.inner(position, all.len());
        for pair in 0..height {
            // The first pixel of each of two rows. Beyond the last taps anything will do, for it is multiplied by 0.
            let mut rows = [None; 2];
            for (i, first_pixel) in rows.iter_mut().enumerate() {
                let y = down.pixel(row, (2 * pair + i).min(down.taps - 1), image_height);
                *first_pixel = y.map(|y| (image * image_height + y) * image_width);
            }
            let mut others = [all.clone(), 0..0];
            if let ([Some(upper), Some(lower)], false) = (rows, inner.is_empty()) {
                let x = strip.column(position, inner.start).unwrap_or(0);
                let rows = [upper + x..upper + x + inner.len(), lower + x..lower + x + inner.len()];
                let to = to[inner.start * height..].chunks_exact_mut(height).map(|column| &mut column[pair]);
                match strip.channels {
                    Channels::Same(channel) => {
                        let [upper, lower] = rows.map(|row| strip.image.chunks::<1>(row, channel));
                        for ((&[upper], &[lower]), to) in upper.zip(lower).zip(to) {
                            *to = [[upper, lower].map(|byte| i16::from((byte ^ flip) as i8)); L];
                        }
                    }
                    Channels::Each(first) | Channels::Some(first) => {
                        let [upper, lower] = rows.map(|row| strip.image.chunks(row, first));
                        for ((upper, lower), to) in upper.zip(lower).zip(to) {
                            join_all(upper, lower, to);
                        }
                    }
                }
                others = [0..inner.start, inner.end..all.end];
            }
            for column in others.into_iter().flatten() {
                let x = strip.column(position, column);
                let [upper, lower] = [strip.bytes(rows[0], x), strip.bytes(rows[1], x)];
                join_all(&upper, &lower, &mut to[column * height + pair]);
            }
        }
    }
}
