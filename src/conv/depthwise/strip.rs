//! What the windows of a row see of a panel's channels, in the order in which they are multiplied.

use super::sweep::{self, Sweep};
use super::{Axis, Groups, Place, Plan};
use crate::kernel::Taps;
use crate::matrix::{Chunks, Operand};
use std::ops::Range;

/// Where a strip comes from. It consists of columns of so many groups as the rows of taps make. The windows of a row
/// share columns if they overlap and no column is skipped; else each has columns of its own.
pub(super) struct Strip<'a, const L: usize> {
    plan: &'a Plan,
    image: &'a Operand<'a>,
    /// What lies beside the images.
    padding: u8,
    shares: bool,
    /// Groups in a column.
    height: usize,
    /// The image's channels that the panel's are made of.
    channels: Channels,
}

/// Columns of a strip.
pub(super) struct Columns {
    x: usize,
    windows: usize,
    count: usize,
    /// Those that show columns of the image one after the other, from this one of its on.
    inner: Range<usize>,
    first: usize,
}

impl Columns {
    #[inline(always)]
    pub(super) fn are_of(&self, x: usize, windows: usize) -> bool {
        (self.x, self.windows) == (x, windows)
    }
}

/// Pixels of one number that are joined at once.
const PIXELS: usize = 16;

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
    /// Of columns of so many groups, of the panel that begins with this channel.
    pub(super) fn new(plan: &'a Plan, image: &'a Operand<'a>, padding: u8, height: usize, first: usize) -> Self {
        let Axis { taps, stride, dilation, .. } = plan.filter().axes[1];
        let [channels, results] = plan.filter().channels;
        let channels = if channels == results {
            if first + L <= results { Channels::Each(first) } else { Channels::Some(first) }
        } else {
            let multiplier = results / channels;
            let [of_first, of_last] = [first, results.min(first + L) - 1].map(|channel| channel / multiplier);
            if of_first == of_last { Channels::Same(of_first) } else { Channels::Some(first) }
        };
        Self { plan, image, padding, shares: dilation == 1 && stride < taps, height, channels }
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Groups from the begin of one window to that of the next.
    pub(super) fn step(&self) -> usize {
        let Axis { taps, stride, .. } = self.plan.filter().axes[1];
        self.height * if self.shares { stride } else { taps }
    }

    /// How many columns apart windows begin whose columns may be [swept](Sweep). None for other strips.
    pub(super) fn swept(&self) -> Option<usize> {
        let are_alone = matches!(self.channels, Channels::Each(_));
        are_alone.then(|| sweep::stride(self.plan.filter(), self.height)).flatten()
    }

    /// How many columns so many windows take.
    fn count(&self, windows: usize) -> usize {
        let Axis { taps, stride, .. } = self.plan.filter().axes[1];
        (windows - 1) * if self.shares { stride } else { taps } + taps
    }

    /// Groups that they take.
    pub(super) fn len(&self, windows: usize) -> usize {
        self.count(windows) * self.height
    }

    /// What is to be known of the columns of so many windows from the position `x` on, of whatever row.
    #[inline(always)]
    pub(super) fn columns(&self, x: usize, windows: usize) -> Columns {
        let count = self.count(windows);
        let inner = self.inner(x, count);
        let first = self.column(x, inner.start).unwrap_or(0);
        Columns { x, windows, count, inner, first }
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

    /// What the panel's channels see of a pixel.
    #[inline(always)]
    fn bytes(&self, pixel: usize) -> [u8; L] {
        match self.channels {
            Channels::Each(first) => *self.image.chunk(pixel, first),
            Channels::Same(channel) => [self.image.chunk::<1>(pixel, channel)[0]; L],
            Channels::Some(first) => self.some_bytes(self.image.run(pixel), first),
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

impl<const L: usize> Strip<'_, L> {
    /// Makes the strip of the windows that begin at a place.
    #[inline(always)]
    pub(super) fn fill<const ROWS: usize, T: Taps<ROWS>>(
        &self,
        place: &Place,
        columns: &Columns,
        taps: T,
        to: &mut [Groups<L>],
    ) {
        let flip = self.image.encoding.flip_to(T::READ_AS);
        let count = columns.count;
        let inner = columns.inner.clone();
        let padding = [self.padding; L];
        for group in 0..self.height {
            let rows = self.rows(place, group);
            let at = inner.start * self.height + group;
            match self.channels {
                _ if inner.is_empty() => {}
                Channels::Same(0) if self.image.is_without_gaps() && self.image.depth == 1 && inner.len() >= PIXELS => {
                    self.fill_from_numbers(&rows, columns, taps, &mut to[at..]);
                }
                Channels::Same(channel) => {
                    let padding = [self.padding];
                    let pixels = self.pixels(&rows, columns, channel, &padding);
                    for (pixels, to) in Chunks::side_by_side(&pixels).zip(to[at..].iter_mut().step_by(self.height)) {
                        let mut numbers = [0; ROWS];
                        for (number, &&[pixel]) in numbers.iter_mut().zip(&pixels) {
                            *number = pixel ^ flip;
                        }
                        *to = [taps.group(numbers); L];
                    }
                }
                Channels::Each(channel) | Channels::Some(channel) => {
                    let pixels = self.pixels(&rows, columns, channel, &padding);
                    let mut at = at;
                    for pixels in Chunks::side_by_side(&pixels) {
                        taps.join(pixels, flip, &mut to[at]);
                        at += self.height;
                    }
                }
            }
            for column in (0..inner.start).chain(inner.end..count) {
                let to = &mut to[column * self.height + group];
                let Some(x) = self.column(place.x, column) else {
                    *to = [taps.group([self.padding ^ flip; ROWS]); L];
                    continue;
                };
                let mut bytes = [padding; ROWS];
                for (bytes, row) in bytes.iter_mut().zip(&rows) {
                    if let Some(row) = row {
                        *bytes = self.bytes(row + x);
                    }
                }
                taps.join(bytes.each_ref(), flip, to);
            }
        }
    }

    /// Makes the columns of the windows that begin at a place, one after the other, for a sweep.
    #[inline(always)]
    pub(super) fn sweep<const STRIDE: usize, const W: usize, const N: usize, const ADDED: usize, const ROWS: usize, T>(
        &self,
        place: &Place,
        columns: &Columns,
        taps: T,
        mut sweep: Sweep<L, W, N, ADDED>,
    ) where
        T: Taps<ROWS>,
    {
        let Channels::Each(channel) = self.channels else { return };
        let flip = self.image.encoding.flip_to(T::READ_AS);
        let rows = self.rows(place, 0);
        let padding = [self.padding; L];
        let beside = [taps.group([self.padding ^ flip; ROWS]); L];
        let pixels = self.pixels(&rows, columns, channel, &padding);
        for _ in 0..columns.inner.start {
            sweep.pass::<STRIDE, ROWS>(taps, &beside);
        }
        for pixels in Chunks::side_by_side(&pixels) {
            let mut column = [[0; 2]; L];
            taps.join(pixels, flip, &mut column);
            sweep.pass::<STRIDE, ROWS>(taps, &column);
        }
        for _ in columns.inner.end..columns.count {
            sweep.pass::<STRIDE, ROWS>(taps, &beside);
        }
    }

    /// The first pixel of each row that a group shows, if it is on the image. Beyond the last row anything will do, for it is
    /// multiplied by 0.
    #[inline(always)]
    fn rows<const ROWS: usize>(&self, place: &Place, group: usize) -> [Option<usize>; ROWS] {
        let ([down, _], [height, width]) = (&self.plan.filter().axes, self.plan.images().size);
        let mut y = (place.y * down.stride + ROWS * group * down.dilation).wrapping_sub(down.padding[0]);
        let mut pixel = (place.image * height).wrapping_add(y).wrapping_mul(width);
        let mut rows = [None; ROWS];
        for row in &mut rows {
            *row = (y < height).then_some(pixel);
            y = y.wrapping_add(down.dilation);
            pixel = pixel.wrapping_add(down.dilation * width);
        }
        rows
    }

    /// What the panel sees of each row's pixels in the inner columns. A row beside the image is padding again and again.
    #[inline(always)]
    fn pixels<'c, const ROWS: usize, const N: usize>(
        &'c self,
        rows: &[Option<usize>; ROWS],
        columns: &Columns,
        channel: usize,
        padding: &'c [u8; N],
    ) -> [Chunks<'c, N>; ROWS] {
        let count = columns.inner.len();
        let mut pixels = [Chunks::repeated(padding, count); ROWS];
        for (pixels, row) in pixels.iter_mut().zip(rows) {
            if let Some(row) = row {
                let first = row + columns.first;
                *pixels = self.image.chunks(first..first + count, channel);
            }
        }
        pixels
    }

    /// The inner columns, from images of one channel without gaps: groups of several pixels are made together.
    #[inline(always)]
    fn fill_from_numbers<const ROWS: usize, T: Taps<ROWS>>(
        &self,
        rows: &[Option<usize>; ROWS],
        columns: &Columns,
        taps: T,
        to: &mut [Groups<L>],
    ) {
        let flip = self.image.encoding.flip_to(T::READ_AS);
        let count = columns.inner.len();
        let padding = [self.padding; PIXELS];
        for from in (0..count).step_by(PIXELS) {
            // The last may be made twice.
            let from = from.min(count - PIXELS);
            let mut pixels = [&padding; ROWS];
            for (pixels, row) in pixels.iter_mut().zip(rows) {
                if let Some(row) = row {
                    let numbers = self.image.adjacent(row + columns.first + from, PIXELS);
                    *pixels = numbers.first_chunk().expect("as many pixels");
                }
            }
            let mut groups = [taps.group([0; ROWS]); PIXELS];
            taps.join(pixels, flip, &mut groups);
            let mut at = from * self.height;
            for group in groups {
                to[at] = [group; L];
                at += self.height;
            }
        }
    }
}
