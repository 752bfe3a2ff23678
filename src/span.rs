//! What accumulators of 16 bits hold: how many products may be summed in them before they are widened.
//!
//! `vpmaddubsw` adds two products of neighbours, and saturates; a *span* is how many such sums, one of each group, are
//! added up next. It follows from the range of both sides, or, for panels whose values are known, from one range and
//! the values.

#![cfg_attr(not(test), allow(dead_code, reason = "panels are not looked at yet"))]

use crate::kernel::{Kernel, MAX_WIDTH};
use crate::matrix::Encoding;

/// The longest span, in groups.
pub(crate) const MAX: u8 = 16;

/// Groups of depth that share a span.
pub(crate) const STRETCH: usize = MAX as usize;

/// How many groups an accumulator of 16 bits may take: 1, 2, 4, 8 or 16; or 0 if not even two products fit. Windows of so
/// many groups begin with each stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spans<'a> {
    Uniform(u8),
    /// One for each [`STRETCH`] of a tile's depth.
    PerStretch(&'a [u8]),
}

impl Spans<'_> {
    #[inline(always)]
    pub(crate) fn of(self, stretch: usize) -> u8 {
        match self {
            Spans::Uniform(span) => span,
            Spans::PerStretch(spans) => spans[stretch],
        }
    }
}

/// The range of the numbers of one side as they are stored, offsets not included. Padding is 0 and always counts as
/// within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub least: i32,
    pub greatest: i32,
}

impl Reach {
    /// The most by which products with a number can exceed 0 for each 1 above 0, and for each 1 below.
    fn rise(self) -> [u32; 2] {
        [self.greatest, -self.least].map(|most| most.max(0) as u32)
    }
}

/// What partial sums may come to, above and below 0.
const ROOM: [u32; 2] = [i16::MAX as u32, i16::MIN.unsigned_abs() as u32];

/// The span of any numbers within these ranges.
pub(crate) fn span(lhs: Reach, rhs: Reach) -> u8 {
    let corners = [lhs.least, lhs.greatest].map(|a| [rhs.least, rhs.greatest].map(|b| a * b));
    let corners = corners.as_flattened().iter().copied();
    let farthest = [corners.clone().fold(0, i32::max) as u32, corners.fold(0, i32::min).unsigned_abs()];
    let fits = |span: &u32| (0..2).all(|side| 2 * span * farthest[side] <= ROOM[side]);
    [16, 8, 4, 2, 1].into_iter().find(fits).unwrap_or(0) as u8
}

/// The spans of panels of `kernel`, for each panel those of its stretches: the longest that are exact for whatever LHS
/// within `lhs`.
pub(crate) fn prove(kernel: &Kernel, panels: &[u8], stored: Encoding, depth: usize, lhs: Reach, spans: &mut [u8]) {
    let group_len = kernel.groups.len() * kernel.width;
    let panel_len = kernel.width * kernel.pad(depth);
    if panel_len == 0 {
        return;
    }
    let stretches = panel_len.div_ceil(STRETCH * group_len);
    for (panel, spans) in panels.chunks_exact(panel_len).zip(spans.chunks_exact_mut(stretches)) {
        for (groups, span) in panel.chunks(STRETCH * group_len).zip(spans) {
            *span = Parts::of(groups, group_len, stored).span(lhs);
        }
    }
}

/// Sums of two for each lane of 16 bits, of each group of a stretch.
type Sums = [[u16; 2 * MAX_WIDTH]; STRETCH];

/// The sums of what is above 0 and of what is below. A partial sum with any LHS lies between these times its ends.
struct Parts {
    above: Sums,
    below: Sums,
    lanes: usize,
}

impl Parts {
    fn of(groups: &[u8], group_len: usize, stored: Encoding) -> Self {
        let mut parts = Self { above: [[0; _]; _], below: [[0; _]; _], lanes: group_len / 2 };
        for (i, group) in groups.chunks_exact(group_len).enumerate() {
            let pairs = group.as_chunks::<2>().0;
            for (above, &[x, y]) in parts.above[i].iter_mut().zip(pairs) {
                *above = match stored {
                    Encoding::U8 => u16::from(x) + u16::from(y),
                    Encoding::S8 => (x as i8).max(0) as u16 + (y as i8).max(0) as u16,
                };
            }
            if stored == Encoding::S8 {
                for (below, &[x, y]) in parts.below[i].iter_mut().zip(pairs) {
                    *below = u16::from((x as i8).min(0).unsigned_abs()) + u16::from((y as i8).min(0).unsigned_abs());
                }
            }
        }
        parts
    }

    /// Windows are doubled for as long as their sums fit.
    fn span(mut self, lhs: Reach) -> u8 {
        let mut span = 0;
        let mut windows = STRETCH;
        while windows > 0 && self.fit(windows, lhs) {
            span = STRETCH / windows;
            windows /= 2;
            for sums in [&mut self.above, &mut self.below] {
                for i in 0..windows {
                    let (first, second) = (sums[2 * i], sums[2 * i + 1]);
                    for (sum, (x, y)) in sums[i].iter_mut().zip(first.into_iter().zip(second)).take(self.lanes) {
                        *sum = x + y;
                    }
                }
            }
        }
        span as u8
    }

    /// Whether no partial sum of the first few windows can leave 16 bits.
    fn fit(&self, windows: usize, lhs: Reach) -> bool {
        let [up, down] = lhs.rise();
        let mut most = [0, 0];
        for (above, below) in self.above[..windows].iter().zip(&self.below) {
            for (&above, &below) in above[..self.lanes].iter().zip(&below[..self.lanes]) {
                let (above, below) = (u32::from(above), u32::from(below));
                most[0] = most[0].max(up * above + down * below);
                most[1] = most[1].max(down * above + up * below);
            }
        }
        most[0] <= ROOM[0] && most[1] <= ROOM[1]
    }
}

#[cfg(test)]
mod tests;
