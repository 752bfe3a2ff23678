//! Integers that grow as sums do: of these, vectors find the least and the greatest sooner than of f64.

use crate::elements::Elements;
use crate::ranged::extremes::Numbers;
use std::ops::RangeInclusive;

/// The key of two bytes is `a · weights[0] + b · weights[1]`: their sum in a unit of its own, less than [`OFF`] off.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    weights: [i32; 2],
}

/// The greater of the weights.
const UNIT: f64 = (1 << 22) as f64;

/// Each of the weights is off by half at most, 255 times; and a little for what f64 rounds.
const OFF: i64 = 256;

impl Keys {
    /// For sums of multiples of these steps; None where one of them is nothing beside the other.
    pub(super) fn of(steps: [f64; 2]) -> Option<Self> {
        let greater = steps[0].max(steps[1]);
        let weights = steps.map(|step| (step / greater * UNIT).round() as i32);
        weights.iter().all(|&weight| weight > 0).then_some(Self { weights })
    }

    /// The least and the greatest sum, of which the least and the greatest key were found; None if they might be of several
    /// pairs, whose sums differ.
    pub(super) fn sums<S: PartialEq>(&self, found: [i32; 2], sum: impl Fn(u8, u8) -> S) -> Option<[S; 2]> {
        let [least, greatest] = found.map(i64::from);
        Some([self.only(least..=least + 2 * OFF, &sum)?, self.only(greatest - 2 * OFF..=greatest, &sum)?])
    }

    /// The sum of all pairs with keys in this range, if it is but one.
    fn only<S: PartialEq>(&self, keys: RangeInclusive<i64>, sum: impl Fn(u8, u8) -> S) -> Option<S> {
        let [a_weight, b_weight] = self.weights.map(i64::from);
        let mut only = None;
        for a in 0..=255 {
            let [from, to] = [keys.start(), keys.end()].map(|key| key - i64::from(a) * a_weight);
            let first = (from + b_weight - 1).div_euclid(b_weight).max(0);
            let last = to.div_euclid(b_weight).min(255);
            for b in first..=last {
                let sum = sum(a, b as u8);
                if only.as_ref().is_some_and(|only| *only != sum) {
                    return None;
                }
                only = Some(sum);
            }
        }
        only
    }
}

/// The keys of tensors.
pub(super) struct Keyed<'a> {
    pub keys: Keys,
    pub a: Elements<'a, u8>,
    pub b: Elements<'a, u8>,
}

impl Numbers for Keyed<'_> {
    type Number = i32;
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn chunk<const N: usize>(&self, i: usize) -> [i32; N] {
        let [a_weight, b_weight] = self.keys.weights;
        let (a, b) = (self.a.chunk::<N>(i), self.b.chunk::<N>(i));
        let mut keys = [0; N];
        for j in 0..N {
            keys[j] = i32::from(a[j]) * a_weight + i32::from(b[j]) * b_weight;
        }
        keys
    }
}
