//! Packing patches of images, the lines of a convolution's LHS.

use super::STRETCH;
use super::lines::{size, write_absent, write_strip};
use crate::conv::{Patches, Place};
use crate::reading::Reading;

/// Packs patches from `first` on, zero up to their ends, and sums as many as there are sums.
#[inline(always)]
pub(crate) fn pack_patches<const WIDENED: bool>(
    src: &Patches,
    reading: &Reading,
    first: usize,
    pitch: usize,
    lines: &mut [u8],
    sums: &mut [i32],
    sum_bytes: impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) {
    if lines.is_empty() {
        return;
    }
    let mut sums = sums.iter_mut();
    let mut place = src.place(first);
    for line in lines.chunks_exact_mut(pitch) {
        let mut sum = sums.next();
        if let Some(sum) = &mut sum {
            **sum = 0;
        }
        let mut patch = Patch::<WIDENED> { reading, absent: src.absent, rest: line, sum };
        patch.write(src, &place, &sum_bytes);
        patch.rest.fill(0);
        src.next(&mut place);
    }
}

/// A line on its way.
struct Patch<'s, const WIDENED: bool> {
    reading: &'s Reading,
    absent: u8,
    /// What is not written yet.
    rest: &'s mut [u8],
    sum: Option<&'s mut i32>,
}

impl<const WIDENED: bool> Patch<'_, WIDENED> {
    /// Row by row of the filter: taps beside the image, taps on it, and again such beside it.
    #[inline(always)]
    fn write(
        &mut self,
        src: &Patches,
        place: &Place,
        sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
    ) {
        let Patches { plan, pixels, .. } = src;
        let ([vertical, horizontal], [height, width]) = (&plan.filter().axes, plan.images().size);
        let [rows, cols] = plan.reaches();
        let (row, col) = (rows[place.y], cols[place.x]);
        let (first, end) = (col.first as usize, col.end as usize);
        // Taps that lie one after the other in memory are one run.
        let at_once = if horizontal.dilation == 1 && pixels.is_without_gaps() { end - first } else { 1 };
        for tap in 0..vertical.taps {
            if !(row.first..row.end).contains(&(tap as u32)) {
                self.absent(horizontal.taps * pixels.depth);
                continue;
            }
            let y = (row.start as isize + (tap * vertical.dilation) as isize) as usize;
            let line = (place.image * height + y) * width;
            self.absent(first * pixels.depth);
            let mut tap = first;
            while tap < end {
                let x = (col.start as isize + (tap * horizontal.dilation) as isize) as usize;
                self.strip(pixels.adjacent(line + x, at_once), sum_bytes);
                tap += at_once;
            }
            self.absent((horizontal.taps - end) * pixels.depth);
        }
    }

    #[inline(always)]
    fn strip(&mut self, strip: &[u8], sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32) {
        let to = self.next(strip.len());
        write_strip::<WIDENED>(strip, self.reading, to, self.sum.as_deref_mut(), sum_bytes);
    }

    /// Writes what lies beside an image.
    #[inline(always)]
    fn absent(&mut self, count: usize) {
        if count > 0 {
            let to = self.next(count);
            let number = write_absent::<WIDENED>(self.absent, self.reading, to);
            if let Some(sum) = &mut self.sum {
                **sum = sum.wrapping_add(number.wrapping_mul(count as i32));
            }
        }
    }

    /// The room of the next so many numbers.
    #[inline(always)]
    fn next<'s>(&mut self, count: usize) -> &'s mut [u8]
    where
        Self: 's,
    {
        self.rest.split_off_mut(..count * size(WIDENED)).expect("room for all taps")
    }
}
