//! The sums of windows times weights.

use super::{HALF, LANES, Pairs};
use crate::kernel::PairsLoop;

/// The sums of the windows in a strip, which begin `step` pairs apart.
pub(super) struct Sums<'a, const L: usize> {
    pub strip: &'a [Pairs<L>],
    pub step: usize,
    pub weights: &'a [Pairs<L>],
    /// Of which so many as there are channels are written.
    pub acc: &'a mut [[i32; LANES]],
}

/// Windows that are multiplied together, so that a weight is loaded once for all.
const TOGETHER: usize = 4;

impl<const L: usize> PairsLoop for Sums<'_, L> {
    #[inline(always)]
    fn run(
        self,
        _join: impl Fn(&[u8; HALF], &[u8; HALF], u8, &mut Pairs<HALF>),
        add: impl Fn(&mut [i32; HALF], &Pairs<HALF>, &Pairs<HALF>) + Copy,
    ) {
        // 3 x 3 and 5 x 5, in whose loops nothing is left to be counted.
        match self.weights.len() {
            6 => self.of::<6>(add),
            15 => self.of::<15>(add),
            _ => self.of::<0>(add),
        }
    }
}

impl<const L: usize> Sums<'_, L> {
    /// Windows of `LEN` pairs, or of any number of them if that is 0.
    #[inline(always)]
    fn of<const LEN: usize>(self, add: impl Fn(&mut [i32; HALF], &Pairs<HALF>, &Pairs<HALF>) + Copy) {
        let Self { strip, step, weights, acc } = self;
        let len = if LEN == 0 { weights.len() } else { LEN };
        let weights = &weights[..len];
        let (fours, ones) = acc.as_chunks_mut::<TOGETHER>();
        let single = fours.len() * TOGETHER;
        for (i, acc) in fours.iter_mut().enumerate() {
            together(&strip[i * TOGETHER * step..], step, weights, acc, add);
        }
        for (i, acc) in ones.iter_mut().enumerate() {
            together(&strip[(single + i) * step..], step, weights, std::array::from_mut(acc), add);
        }
    }
}

#[inline(always)]
fn together<const L: usize, const N: usize>(
    strip: &[Pairs<L>],
    step: usize,
    weights: &[Pairs<L>],
    acc: &mut [[i32; LANES]; N],
    add: impl Fn(&mut [i32; HALF], &Pairs<HALF>, &Pairs<HALF>),
) {
    let mut windows: [&[Pairs<L>]; N] = [&[]; N];
    for (i, window) in windows.iter_mut().enumerate() {
        *window = &strip[i * step..][..weights.len()];
    }
    let mut sums = [[0; L]; N];
    for (t, weights) in weights.iter().enumerate() {
        for (sums, window) in sums.iter_mut().zip(&windows) {
            let halves = window[t].as_chunks::<HALF>().0.iter().zip(weights.as_chunks::<HALF>().0);
            for (sums, (x, w)) in sums.as_chunks_mut::<HALF>().0.iter_mut().zip(halves) {
                add(sums, x, w);
            }
        }
    }
    for (acc, sums) in acc.iter_mut().zip(&sums) {
        acc[..L].copy_from_slice(sums);
    }
}
