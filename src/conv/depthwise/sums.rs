//! The sums of windows times weights.

use super::Groups;
use crate::kernel::Taps;

/// The sums of the windows in a strip, which begin `step` groups apart.
pub(super) struct Sums<'a, const L: usize, const W: usize> {
    pub strip: &'a [Groups<L>],
    pub step: usize,
    pub weights: &'a [Groups<L>],
    /// What is added to all weights, if it is anything; then a column is one group.
    pub added: &'a [Groups<L>],
    /// Of which the first `L` are written.
    pub acc: &'a mut [[i32; W]],
}

/// Windows that are multiplied together, so that a weight is loaded once for all.
const TOGETHER: usize = 4;

impl<const L: usize, const W: usize> Sums<'_, L, W> {
    #[inline(always)]
    pub(super) fn run<const ROWS: usize>(self, taps: impl Taps<ROWS>) {
        // 3 x 3 and 5 x 5, in fours and in pairs, in whose loops nothing is left to be counted.
        if const { ROWS == 4 } {
            match self.weights.len() {
                3 => self.of::<3, ROWS>(taps),
                10 => self.of::<10, ROWS>(taps),
                _ => self.of::<0, ROWS>(taps),
            }
        } else {
            match self.weights.len() {
                6 => self.of::<6, ROWS>(taps),
                15 => self.of::<15, ROWS>(taps),
                _ => self.of::<0, ROWS>(taps),
            }
        }
    }

    /// Windows of `LEN` groups, or of any number of them if that is 0.
    #[inline(always)]
    fn of<const LEN: usize, const ROWS: usize>(self, taps: impl Taps<ROWS>) {
        let Self { strip, step, weights, added, acc } = self;
        let len = if LEN == 0 { weights.len() } else { LEN };
        let weights = &weights[..len];
        let (fours, rest) = acc.as_chunks_mut::<TOGETHER>();
        let (twos, ones) = rest.as_chunks_mut::<2>();
        let mut first = 0;
        for acc in fours {
            together(&strip[first..], step, (weights, added), acc, taps);
            first += TOGETHER * step;
        }
        for acc in twos {
            together(&strip[first..], step, (weights, added), acc, taps);
            first += 2 * step;
        }
        for acc in ones {
            together(&strip[first..], step, (weights, added), std::array::from_mut(acc), taps);
        }
    }
}

#[inline(always)]
fn together<const L: usize, const W: usize, const N: usize, const ROWS: usize>(
    strip: &[Groups<L>],
    step: usize,
    (weights, added): (&[Groups<L>], &[Groups<L>]),
    acc: &mut [[i32; W]; N],
    taps: impl Taps<ROWS>,
) {
    let mut windows: [&[Groups<L>]; N] = [&[]; N];
    for (i, window) in windows.iter_mut().enumerate() {
        *window = &strip[i * step..][..weights.len()];
    }
    let mut sums = [[0; L]; N];
    for (t, weights) in weights.iter().enumerate() {
        for (sums, window) in sums.iter_mut().zip(&windows) {
            taps.add(sums, &window[t], weights);
        }
    }
    for added in added {
        for (sums, window) in sums.iter_mut().zip(&windows) {
            for column in *window {
                taps.add(sums, column, added);
            }
        }
    }
    for (acc, sums) in acc.iter_mut().zip(&sums) {
        acc[..L].copy_from_slice(sums);
    }
}
