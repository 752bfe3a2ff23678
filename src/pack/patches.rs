//! Packing patches of images, the lines of a convolution's LHS.

use super::STRETCH;
use super::lines::{size, write_strip};
use super::short::copy_short;
use super::sums::sum_numbers;
use crate::conv::{Patches, Place, Reach};
use crate::reading::Reading;

/// Bytes of a patch that are widened together, once they lie one after the other: where the filter is narrow and channels are
/// few, its runs are so short that their ends would cost more than they do themselves.
const STRIP: usize = 1024;

/// Patches that are gathered before any of them is looked at: what was just written in parts takes long to be read as a whole.
const TOGETHER: usize = 8;

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
    let place = src.plan.place(first);
    match WIDENED {
        true => widen(src, reading, place, pitch, lines, sums, sum_bytes),
        false => gather(src, reading, place, pitch, lines, sums, sum_bytes),
    }
}

/// Patches as bytes: their runs are copied to where they go.
#[inline(always)]
fn gather(
    src: &Patches,
    reading: &Reading,
    mut place: Place,
    pitch: usize,
    lines: &mut [u8],
    sums: &mut [i32],
    sum_bytes: impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) {
    let (depth, added) = (src.depth(), reading.added());
    let mut sums = sums.iter_mut();
    for lines in lines.chunks_mut(TOGETHER * pitch) {
        let mut rest = &mut *lines;
        while rest.len() >= pitch {
            let count = side_by_side(src, &place, rest.len() / pitch);
            let (now, after) = rest.split_at_mut(count.max(1) * pitch);
            match count {
                0 => gather_one(src, &place, now),
                _ => gather_rows(src, &place, count, pitch, now),
            }
            src.plan.advance(&mut place, count.max(1));
            rest = after;
        }
        for line in lines.chunks_exact_mut(pitch) {
            let line = &mut line[..depth];
            if let Some(sum) = sums.next() {
                *sum = sum_numbers(line, added, reading.to, &sum_bytes);
            }
            if added != 0 {
                line.iter_mut().for_each(|byte| *byte = byte.wrapping_add(added));
            }
        }
    }
}

/// How many patches from a place on, of so many at most, lie in one row of the result with all columns on the image, each row of
/// the filter in one run.
#[inline(always)]
fn side_by_side(src: &Patches, place: &Place, most: usize) -> usize {
    let ([_, horizontal], [_, cols]) = (&src.plan.filter().axes, src.plan.reaches());
    if horizontal.dilation > 1 || !src.pixels.is_without_gaps() {
        return 0;
    }
    let is_whole = |col: &&Reach| col.first == 0 && col.end as usize == horizontal.taps;
    cols[place.x..].iter().take(most).take_while(is_whole).count()
}

/// Patches that are [`side_by_side`]: a row of the filter for all of them, then the next.
#[inline(always)]
fn gather_rows(src: &Patches, place: &Place, count: usize, pitch: usize, lines: &mut [u8]) {
    let Patches { plan, pixels, .. } = src;
    let ([vertical, horizontal], [height, width]) = (&plan.filter().axes, plan.images().size);
    let [rows, cols] = plan.reaches();
    let (row, col) = (rows[place.y], cols[place.x]);
    let run = horizontal.taps * pixels.depth;
    for tap in 0..vertical.taps {
        let is_inside = (row.first..row.end).contains(&(tap as u32));
        let y = (place.image * height) as isize + row.start as isize + (tap * vertical.dilation) as isize;
        let mut pixel = (y * width as isize + col.start as isize) as usize;
        let mut at = tap * run;
        for _ in 0..count {
            let to = &mut lines[at..at + run];
            match is_inside {
                true if run <= 64 => copy_short(pixels.adjacent(pixel, horizontal.taps), to),
                true => to.copy_from_slice(pixels.adjacent(pixel, horizontal.taps)),
                false => to.fill(src.absent),
            }
            pixel = pixel.wrapping_add(horizontal.stride);
            at += pitch;
        }
    }
    let mut at = 0;
    for _ in 0..count {
        lines[at + vertical.taps * run..at + pitch].fill(0);
        at += pitch;
    }
}

/// A patch wherever it lies.
#[inline(always)]
fn gather_one(src: &Patches, place: &Place, line: &mut [u8]) {
    let (mut rest, padding) = line.split_at_mut(src.depth());
    padding.fill(0);
    each_run(src, place, |run, count| {
        let (to, after) = std::mem::take(&mut rest).split_at_mut(count);
        match run {
            Some(run) if count <= 64 => copy_short(run, to),
            Some(run) => to.copy_from_slice(run),
            None => to.fill(src.absent),
        }
        rest = after;
    });
}

/// The runs of a patch, of so many bytes each, row by row of the filter: taps beside the image, for which there is nothing to
/// read, taps on it, and again such beside it.
#[inline(always)]
fn each_run<'a>(src: &Patches<'a>, place: &Place, mut run: impl FnMut(Option<&'a [u8]>, usize)) {
    let Patches { plan, pixels, .. } = src;
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
            let (bytes, taps) = if tap < first {
                (None, first - tap)
            } else if tap < end {
                let taps = if is_one_run { end - tap } else { 1 };
                let x = col.start as isize + (tap * horizontal.dilation) as isize;
                (Some(pixels.adjacent((start * width as isize + x) as usize, taps)), taps)
            } else {
                (None, horizontal.taps - tap)
            };
            run(bytes, taps * pixels.depth);
            tap += taps;
        }
    }
}

/// Patches as numbers of 16 bits.
#[inline(always)]
fn widen(
    src: &Patches,
    reading: &Reading,
    mut place: Place,
    pitch: usize,
    lines: &mut [u8],
    sums: &mut [i32],
    sum_bytes: impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) {
    let mut sums = sums.iter_mut();
    let mut strip = [0; STRIP];
    for line in lines.chunks_exact_mut(pitch) {
        let mut sum = sums.next();
        if let Some(sum) = &mut sum {
            **sum = 0;
        }
        let mut patch = Patch { reading, absent: src.absent, strip: &mut strip, len: 0, rest: line, sum };
        each_run(src, &place, |run, count| patch.add(run, count, &sum_bytes));
        patch.end(&sum_bytes);
        src.plan.advance(&mut place, 1);
    }
}

/// A line of numbers of 16 bits on its way.
struct Patch<'s> {
    reading: &'s Reading,
    absent: u8,
    /// Bytes to be packed next, and how many they are.
    strip: &'s mut [u8; STRIP],
    len: usize,
    /// What is not written yet.
    rest: &'s mut [u8],
    sum: Option<&'s mut i32>,
}

impl Patch<'_> {
    /// Adds a run of so many bytes, or so many times the one that is absent if there is no run.
    #[inline(always)]
    fn add(
        &mut self,
        run: Option<&[u8]>,
        count: usize,
        sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
    ) {
        let mut done = 0;
        while done < count {
            let now = (count - done).min(STRIP - self.len);
            let to = &mut self.strip[self.len..][..now];
            match run.map(|run| &run[done..done + now]) {
                Some(run) if now <= 64 => copy_short(run, to),
                Some(run) => to.copy_from_slice(run),
                None => to.fill(self.absent),
            }
            done += now;
            self.len += now;
            if self.len == STRIP {
                let (whole, rest) = std::mem::take(&mut self.rest).split_at_mut(STRIP * size(true));
                write_strip::<true>(&self.strip[..], self.reading, whole, self.sum.as_deref_mut(), sum_bytes);
                (self.rest, self.len) = (rest, 0);
            }
        }
    }

    /// Its end, and zeros.
    #[inline(always)]
    fn end(self, sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32) {
        write_strip::<true>(&self.strip[..self.len], self.reading, self.rest, self.sum, sum_bytes);
    }
}
