//! Packing patches of images, the lines of a convolution's LHS.

use super::STRETCH;
use super::lines::{size, write_strip};
use super::short::copy_short;
use crate::conv::{Patches, Place};
use crate::reading::Reading;

/// Bytes of a patch that are packed together, once they lie one after the other: where the filter is narrow and channels are few,
/// its runs are so short that their ends would cost more than they do themselves.
const STRIP: usize = 1024;

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
    let mut place = src.plan.place(first);
    let mut strip = [0; STRIP];
    for line in lines.chunks_exact_mut(pitch) {
        let mut sum = sums.next();
        if let Some(sum) = &mut sum {
            **sum = 0;
        }
        let mut patch = Patch::<WIDENED> { reading, strip: &mut strip, len: 0, rest: line, sum };
        patch.write(src, &place, &sum_bytes);
        src.plan.advance(&mut place, 1);
    }
}

/// A line on its way.
struct Patch<'s, const WIDENED: bool> {
    reading: &'s Reading,
    /// Bytes to be packed next, and how many they are.
    strip: &'s mut [u8; STRIP],
    len: usize,
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
        let Patches { plan, pixels, absent } = src;
        let ([vertical, horizontal], [height, width]) = (&plan.filter().axes, plan.images().size);
        let [rows, cols] = plan.reaches();
        let (row, col) = (rows[place.y], cols[place.x]);
        // Taps that lie one after the other in memory are one run.
        let is_one_run = horizontal.dilation == 1 && pixels.is_without_gaps();
        for tap in 0..vertical.taps {
            let is_inside = (row.first..row.end).contains(&(tap as u32));
            let (first, end) = if is_inside { (col.first as usize, col.end as usize) } else { (0, 0) };
            let y = row.start as isize + (tap * vertical.dilation) as isize;
            let start = (place.image * height) as isize + y;
            let mut tap = 0;
            while tap < horizontal.taps {
                let (run, taps): (&[u8], _) = if tap < first {
                    (&[], first - tap)
                } else if tap < end {
                    let taps = if is_one_run { end - tap } else { 1 };
                    let x = col.start as isize + (tap * horizontal.dilation) as isize;
                    (pixels.adjacent((start * width as isize + x) as usize, taps), taps)
                } else {
                    (&[], horizontal.taps - tap)
                };
                self.add(run, *absent, taps * pixels.depth, sum_bytes);
                tap += taps;
            }
        }
        // Its end, and zeros.
        write_strip::<WIDENED>(&self.strip[..self.len], self.reading, self.rest, self.sum.as_deref_mut(), sum_bytes);
    }

    /// Adds a run of so many bytes, or so many times the one that is absent if there is no run.
    #[inline(always)]
    fn add(
        &mut self,
        run: &[u8],
        absent: u8,
        count: usize,
        sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
    ) {
        let mut done = 0;
        while done < count {
            let now = (count - done).min(STRIP - self.len);
            let to = &mut self.strip[self.len..][..now];
            match run.get(done..done + now) {
                Some(run) if now <= 64 => copy_short(run, to),
                Some(run) => to.copy_from_slice(run),
                None => to.fill(absent),
            }
            done += now;
            self.len += now;
            if self.len == STRIP {
                let (whole, rest) = std::mem::take(&mut self.rest).split_at_mut(STRIP * size(WIDENED));
                write_strip::<WIDENED>(&self.strip[..], self.reading, whole, self.sum.as_deref_mut(), sum_bytes);
                (self.rest, self.len) = (rest, 0);
            }
        }
    }
}
