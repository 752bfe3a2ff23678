//! Patches that are read where the rows of their images lie packed, instead of being gathered one by one.

use super::{Patches, Reach};
use crate::kernel::Kernel;
use crate::matrix::{Gaps, Lines, Operand, Order, Steps};
use crate::reading::Reading;
use std::ops::Range;

/// Patches of which each row of the filter covers one run of bytes, in rows of images that are packed with their padding.
///
/// A patch takes the same runs as its neighbour, some pixels further on, so that a row of results needs no more than its filter's
/// rows of the image: a part of what its patches would take. Rows are numbered through all images as if padding were part of them.
#[derive(Clone, Copy)]
pub(crate) struct Windows<'a> {
    patches: Patches<'a>,
    kernel: &'static Kernel,
    /// Pixels of a row, padding included.
    width: usize,
    /// Rows that the filter covers, from its first to its last, and those of one image.
    extent: usize,
    height: usize,
    /// What lies beside the images, as it is packed.
    absent: [u8; 2],
}

/// Results in a row below which tiles would be too low to be worth it, and so for kernels whose tiles are high.
const LEAST_WIDTH: usize = 4;
const LEAST_WIDTH_OF_HIGH: usize = 12;

/// Bytes behind the last row: a run may be read up to the end of its last group.
const BEHIND: usize = 64;

impl<'a> Windows<'a> {
    /// None where patches have to be gathered, or had better be.
    pub(crate) fn new(kernel: &'static Kernel, patches: &Patches<'a>, reading: &Reading) -> Option<Self> {
        let plan = patches.plan;
        let ([vertical, horizontal], [rows, cols]) = (&plan.filter().axes, plan.results().size);
        let is_one_run = horizontal.dilation == 1 || horizontal.taps == 1;
        let has_numbers = plan.positions() > 0 && plan.depth() > 0;
        let least = if kernel.takes_panels() { LEAST_WIDTH_OF_HIGH } else { LEAST_WIDTH };
        if !has_numbers || !is_one_run || reading.requantization.is_some() || cols < least {
            return None;
        }
        let reach = |positions: usize, stride: usize, taps: usize, dilation: usize| {
            (positions - 1) * stride + (taps - 1) * dilation + 1
        };
        let width = reach(cols, horizontal.stride, horizontal.taps, 1);
        let extent = reach(1, 0, vertical.taps, vertical.dilation);
        let height = reach(rows, vertical.stride, vertical.taps, vertical.dilation);
        let mut windows = Self { patches: *patches, kernel, width, extent, height, absent: [0; 2] };
        // Not where a stride leaves most of an image out.
        let is_less = width.saturating_mul(height) <= (rows * cols).saturating_mul(plan.filter().taps());
        let absent = Operand::new(
            std::slice::from_ref(&patches.absent),
            (1, 1),
            1,
            Order::DepthContiguous,
            patches.pixels.encoding,
        );
        kernel.pack_line(&absent, reading, &mut windows.absent[..kernel.groups.lhs_size()]);
        is_less.then_some(windows)
    }

    /// Results in a row.
    pub(crate) fn in_row(&self) -> usize {
        self.patches.plan.results().size[1]
    }

    /// Numbers in a run.
    pub(crate) fn run(&self) -> usize {
        self.patches.plan.filter().axes[1].taps * self.patches.pixels.depth
    }

    /// Runs of a patch.
    fn runs(&self) -> usize {
        self.patches.plan.filter().axes[0].taps
    }

    /// Bytes of one number.
    fn size(&self) -> usize {
        self.kernel.groups.lhs_size()
    }

    /// Bytes from one packed row to the next.
    fn pitch(&self) -> usize {
        self.width * self.patches.pixels.depth * self.size()
    }

    /// The first row under a row of results.
    fn top(&self, result: usize) -> usize {
        let rows = self.patches.plan.results().size[0];
        result / rows * self.height + result % rows * self.patches.plan.filter().axes[0].stride
    }

    /// The rows under so many patches, which are whole rows of results.
    fn rows(&self, patches: &Range<usize>) -> Range<usize> {
        let [first, last] = [patches.start, patches.end - 1].map(|patch| self.top(patch / self.in_row()));
        first..last + self.extent
    }

    /// The most rows under so many patches, wherever they begin.
    fn most_rows(&self, patches: usize) -> usize {
        let ([vertical, _], [rows, _]) = (&self.patches.plan.filter().axes, self.patches.plan.results().size);
        let steps = patches.div_ceil(self.in_row()).saturating_sub(1);
        let between = steps.div_ceil(rows) * self.extent.saturating_sub(vertical.stride);
        steps * vertical.stride + between + self.extent
    }

    /// Bytes that so many patches take.
    pub(crate) fn bytes(&self, patches: usize) -> usize {
        self.most_rows(patches) * self.pitch() + BEHIND
    }

    /// Sums that they take, among them those of single runs.
    pub(crate) fn sums(&self, patches: usize) -> usize {
        patches + self.most_rows(patches) * self.in_row()
    }

    /// Packs the rows under patches, which are whole rows of results; and sums the patches if there are sums.
    pub(crate) fn pack(&self, reading: &Reading, patches: Range<usize>, bytes: &mut [u8], sums: &mut [i32]) {
        let rows = self.rows(&patches);
        for (row, to) in rows.clone().zip(bytes.chunks_exact_mut(self.pitch())) {
            self.pack_row(reading, row, to);
        }
        if sums.is_empty() {
            return;
        }
        let (in_row, depth) = (self.in_row(), self.run() * self.size());
        let (sums, of_runs) = sums.split_at_mut(patches.len());
        for (row, sums) in of_runs.chunks_exact_mut(in_row).take(rows.len()).enumerate() {
            let runs =
                Lines::windows(&bytes[row * self.pitch()..], self.beside(in_row), depth, Steps { runs: 1, step: 0 });
            self.kernel.sum_lines(runs, reading.to, sums);
        }
        let dilation = self.patches.plan.filter().axes[0].dilation;
        for (result, sums) in (patches.start / in_row..).zip(sums.chunks_exact_mut(in_row)) {
            sums.fill(0);
            for run in 0..self.runs() {
                let row = self.top(result) - rows.start + run * dilation;
                for (sum, of_run) in sums.iter_mut().zip(&of_runs[row * in_row..]) {
                    *sum = sum.wrapping_add(*of_run);
                }
            }
        }
    }

    /// Packs one row of those of all images.
    fn pack_row(&self, reading: &Reading, row: usize, to: &mut [u8]) {
        let Patches { plan, pixels, .. } = self.patches;
        let ([height, width], [vertical, horizontal]) = (plan.images().size, &plan.filter().axes);
        let of_pixels = |count: usize| count * pixels.depth * self.size();
        let (image, y) = (row / self.height, (row % self.height).wrapping_sub(vertical.padding[0]));
        let before = horizontal.padding[0].min(self.width);
        let count = if y < height { width.min(self.width - before) } else { 0 };
        let (left, rest) = to.split_at_mut(if count == 0 { to.len() } else { of_pixels(before) });
        let (on_image, right) = rest.split_at_mut(of_pixels(count));
        if count > 0 {
            let first = (image * height + y) * width;
            if pixels.is_without_gaps() {
                let bytes = pixels.adjacent(first, count);
                let line = Operand::new(bytes, (1, bytes.len()), bytes.len(), Order::DepthContiguous, pixels.encoding);
                self.kernel.pack_line(&line, reading, on_image);
            } else {
                self.kernel.pack_lines_apart(&pixels, reading, first..first + count, of_pixels(1), on_image, &mut []);
            }
        }
        for side in [left, right] {
            match self.size() {
                1 => side.fill(self.absent[0]),
                _ => side.as_chunks_mut().0.fill(self.absent),
            }
        }
    }

    /// How many patches lie side by side, and the bytes from one to the next.
    fn beside(&self, patches: usize) -> (usize, usize) {
        (patches, self.patches.plan.filter().axes[1].stride * self.patches.pixels.depth * self.size())
    }

    /// The end of those patches from `first` on, which begins a row, that can be read at once: all that are left of its image, if the
    /// patches of the next row lie where more of this one would, or the row.
    pub(crate) fn end_of_joined(&self, first: usize) -> usize {
        let (in_row, rows) = (self.in_row(), self.patches.plan.results().size[0]);
        match self.below().is_multiple_of(self.beside(in_row).1) {
            true => (first / in_row / rows + 1) * rows * in_row,
            false => first + in_row,
        }
    }

    /// Bytes from a row of patches to the next.
    fn below(&self) -> usize {
        self.patches.plan.filter().axes[0].stride * self.pitch()
    }

    /// Patches, where the rows under those from `first` on are packed: those of a row, or of several that are joined. What lies above an
    /// image or below it is left out of a single row if it is 0: it adds nothing.
    pub(crate) fn lines<'s>(&self, bytes: &'s [u8], first: usize, patches: Range<usize>) -> Lines<'s> {
        let (in_row, dilation) = (self.in_row(), self.patches.plan.filter().axes[0].dilation);
        debug_assert!(patches.start.is_multiple_of(in_row) && patches.len().is_multiple_of(in_row));
        let row = self.top(patches.start / in_row) - self.top(first / in_row);
        let steps = Steps { runs: self.runs(), step: dilation * self.pitch() };
        let len = self.kernel.pad(self.run()) * self.size();
        let bytes = &bytes[row * self.pitch()..];
        if patches.len() > in_row {
            debug_assert!(patches.end <= self.end_of_joined(patches.start));
            let (_, pitch) = self.beside(in_row);
            let gaps = Gaps { meant: in_row, of: self.below() / pitch };
            let count = (patches.len() / in_row - 1) * gaps.of + in_row;
            return Lines::windows(bytes, (count, pitch), len, steps).with_gaps(gaps);
        }
        let lines = Lines::windows(bytes, self.beside(in_row), len, steps);
        match self.absent {
            [0, 0] => lines.runs_of(self.runs_on_image(patches.start / in_row)),
            _ => lines,
        }
    }

    /// The runs of the patches in a row of results that are on an image; but two at least, if there are, by which kernels know windows.
    fn runs_on_image(&self, result: usize) -> Range<usize> {
        let [rows, _] = self.patches.plan.reaches();
        let Reach { first, end, .. } = rows[result % rows.len()];
        let least = self.runs().min(2);
        let first = (first as usize).min(self.runs() - least);
        first..(end as usize).max(first + least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::{Axis, Filter, Images, Plan};
    use crate::kernel::tests::{noise, odd};
    use crate::matrix::Encoding;
    use proptest::prelude::*;

    fn axis(most_dilation: usize) -> impl Strategy<Value = Axis> {
        (1usize..5, 1usize..4, 1..=most_dilation, [0usize..4, 0usize..4])
            .prop_map(|(taps, stride, dilation, padding)| Axis { taps, stride, dilation, padding })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// For some rows of results, wherever they begin.
        #[test]
        fn windows_are_the_patches_that_are_gathered(
            axes in (axis(3), axis(1)).prop_map(|(vertical, horizontal)| [vertical, horizontal]),
            (count, size) in (1usize..4, [0usize..8, 0usize..20]),
            (channels, gap) in (1usize..20, prop_oneof![Just(0usize), 1usize..9]), (is_signed, is_turned) in any::<(bool, bool)>(), cut in [0.0..1.0, 0.0..1.0], seed in any::<u64>(),
            absent in prop_oneof![Just(0), Just(0x80), any::<u8>()],
        ) {
            let encodings = [if is_signed { Encoding::S8 } else { Encoding::U8 }; 2];
            let filter = Filter { axes, channels: [channels, 1], groups: 1, encodings };
            let plan = Plan::new(filter, Images { count, size }).unwrap();
            let pixels = plan.images().pixels().unwrap();
            let bytes = noise(seed, false, pixels * (channels + gap));
            let pixels = Operand::new(&bytes, (pixels, channels), channels + gap, Order::DepthContiguous, encodings[0]);
            let patches = Patches { plan: &plan, pixels, absent };
            let to = if is_turned { encodings[0].other() } else { encodings[0] };
            let reading = Reading::plain(encodings[0], to);
            for kernel in Kernel::available().chain(odd()) {
                let Some(windows) = Windows::new(kernel, &patches, &reading) else { continue };
                let (in_row, rows) = (windows.in_row(), plan.positions() / windows.in_row());
                let [from, to] = cut.map(|cut| (cut * rows as f64) as usize);
                let some = from.min(to) * in_row..(from.max(to) + 1) * in_row;

                let mut packed = vec![1; windows.bytes(some.len())];
                let mut sums = vec![1; windows.sums(some.len())];
                windows.pack(&reading, some.clone(), &mut packed, &mut sums);
                let room = kernel.room_for_lines(some.len(), plan.depth());
                let (mut gathered, mut gathered_sums) = (vec![1; room.bytes], vec![1; room.sums]);
                kernel.pack_patches(&patches, &reading, some.clone(), &mut gathered, &mut gathered_sums);

                prop_assert_eq!(&sums[..some.len()], &gathered_sums, "{}", kernel.name);
                let run = windows.run() * windows.size();
                let mut gathered = gathered.chunks(kernel.pitch(plan.depth()));
                for first in some.clone().step_by(in_row) {
                    let lines = windows.lines(&packed, some.start, first..first + in_row);
                    for (i, line) in gathered.by_ref().take(in_row).enumerate() {
                        let runs = (0..lines.runs()).flat_map(|of| &lines.run(of).get(i)[..run]);
                        let [before, after] = lines.left_out().map(|bytes| bytes / lines.len() * run);
                        let (left_out, rest) = line.split_at(before);
                        let (met, rest) = rest.split_at(lines.runs() * run);
                        prop_assert!(runs.eq(met), "{}, {} from {}", kernel.name, i, first);
                        prop_assert!(left_out.iter().chain(&rest[..after]).all(|&byte| byte == 0), "{}", kernel.name);
                    }
                }
            }
        }
    }

    #[test]
    fn most_filters_see_windows() {
        let is_seen = |[taps, stride, dilation, padding]: [usize; 4], size: usize| {
            let axis = Axis { taps, stride, dilation, padding: [padding; 2] };
            let filter = Filter { axes: [axis; 2], channels: [3, 1], groups: 1, encodings: [Encoding::U8; 2] };
            let plan = Plan::new(filter, Images { count: 2, size: [size; 2] }).unwrap();
            let bytes = vec![0; 2 * size * size * 3];
            let pixels = Operand::new(&bytes, (2 * size * size, 3), 3, Order::DepthContiguous, Encoding::U8);
            let patches = Patches { plan: &plan, pixels, absent: 0 };
            Windows::new(Kernel::chosen().unwrap(), &patches, &Reading::plain(Encoding::U8, Encoding::U8)).is_some()
        };
        assert!(is_seen([3, 1, 1, 1], 4) && is_seen([3, 2, 1, 1], 8) && is_seen([7, 2, 1, 3], 20));
        // Few in a row, taps apart, pixels left out, more padding than image.
        assert!(!is_seen([3, 1, 1, 0], 5) && !is_seen([3, 1, 2, 2], 8) && !is_seen([1, 2, 1, 0], 8));
        assert!(!is_seen([3, 1, 1, 0], 2) && !is_seen([2, 1 << 20, 1, 1 << 25], 2));
    }
}
