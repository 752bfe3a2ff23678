//! What accumulators of 16 bits hold: how many products may be summed in them before they are widened.
//!
//! `vpmaddubsw` adds two products of neighbours, and saturates; a *span* is how many such sums, one of each group of four,
//! are added up next. Where an instruction adds one product of each group of eight, a span is how many pairs of them. It
//! follows from the range of both sides, or, for panels whose values are known, from one range and
//! the values.

use crate::kernel::Kernel;
use crate::matrix::Encoding;
use crate::pack::Groups;
use crate::range::ElementRange;

/// The longest span, in groups.
pub(crate) const MAX: u8 = 16;

/// Groups of four depths that share a span, and how many depths these are.
pub(crate) const STRETCH: usize = MAX as usize;
pub(crate) const DEPTHS: usize = STRETCH * 4;

/// How many pairs of products an accumulator of 16 bits may take: 1, 2, 4, 8 or 16; or 0 if not even two products fit. Windows of so
/// many begin with each stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spans<'a> {
    Uniform(u8),
    /// One for each [`STRETCH`] of a tile's depth.
    PerStretch(&'a [u8]),
}

impl<'a> Spans<'a> {
    /// Those of the stretches of so much depth: mostly they are the same, and kernels have less to do if they know. What remains at the
    /// end of the depth may be summed in shorter windows than it has to.
    #[inline(always)]
    pub(crate) fn of_stretches(spans: &'a [u8], depth: usize) -> Self {
        let whole = depth / DEPTHS;
        match spans {
            [first, ..]
                if spans[..whole].iter().all(|span| span == first)
                    && spans[whole..].iter().all(|span| span >= first) =>
            {
                Spans::Uniform(*first)
            }
            _ => Spans::PerStretch(spans),
        }
    }

    #[inline(always)]
    pub(crate) fn of(self, stretch: usize) -> u8 {
        match self {
            Spans::Uniform(span) => span,
            Spans::PerStretch(spans) => spans[stretch],
        }
    }

    /// That of a group, and the end of the groups from it on that have the same.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn from(self, group: usize) -> (u8, usize) {
        match self {
            Spans::Uniform(span) => (span, usize::MAX),
            Spans::PerStretch(spans) => {
                let first = group / STRETCH;
                let count = spans[first..].iter().take_while(|&&span| span == spans[first]).count();
                (spans[first], (first + count) * STRETCH)
            }
        }
    }
}

/// The most by which products with a number within a range can exceed 0 for each 1 above 0, and for each 1 below.
fn rise(range: ElementRange) -> [u32; 2] {
    [range.greatest, -range.least].map(|most| most.max(0) as u32)
}

/// What partial sums may come to, above and below 0, if the RHS is packed so.
pub(crate) fn room(groups: Groups, stored: Encoding) -> [u32; 2] {
    match (groups.lhs_encoding(stored), stored) {
        (Some(Encoding::U8), Encoding::U8) => [u16::MAX.into(), 0],
        _ => [i16::MAX as u32, i16::MIN.unsigned_abs().into()],
    }
}

/// The span of any numbers within these ranges, as they are stored, whose sums have so much room. Padding is 0 and always
/// counts as within.
pub(crate) fn span(lhs: ElementRange, rhs: ElementRange, room: [u32; 2]) -> u8 {
    let corners = [lhs.least, lhs.greatest].map(|a| [rhs.least, rhs.greatest].map(|b| a * b));
    let corners = corners.as_flattened().iter().copied();
    let farthest = [corners.clone().fold(0, i32::max) as u32, corners.fold(0, i32::min).unsigned_abs()];
    let fits = |span: &u32| (0..2).all(|side| 2 * span * farthest[side] <= room[side]);
    [16, 8, 4, 2, 1].into_iter().find(fits).unwrap_or(0) as u8
}

/// The spans of panels of `kernel`, for each panel those of its stretches: the longest that are exact for whatever LHS
/// within `lhs`.
pub(crate) fn prove(
    kernel: &Kernel,
    panels: &[u8],
    stored: Encoding,
    depth: usize,
    lhs: ElementRange,
    spans: &mut [u8],
) {
    assert_eq!(kernel.width % LINES, 0, "panels are whole blocks of lines");
    let panel_len = kernel.width * kernel.pad(depth);
    if panel_len == 0 {
        return;
    }
    let stretch_len = DEPTHS * kernel.width;
    let stretches = panel_len.div_ceil(stretch_len);
    let room = room(kernel.groups, stored);
    for (panel, spans) in panels.chunks_exact(panel_len).zip(spans.chunks_exact_mut(stretches)) {
        for (stretch, span) in panel.chunks(stretch_len).zip(spans) {
            *span = Farthest::of(stretch, (kernel.groups, kernel.width), stored).span(lhs, room);
        }
    }
}

/// Panels have multiples of so many lines.
const LINES: usize = 16;

/// Sums of 16 bits that are looked at together.
const LANES: usize = 2 * LINES;

/// The windows that are tried, from 1 pair to [`MAX`].
const WINDOWS: usize = MAX.ilog2() as usize + 1;

/// How far the numbers of a stretch, summed lane by lane over windows of each length, get above 0 and below, if only those
/// of one sign are summed. Partial sums with any LHS lie between these times its ends.
#[derive(Default)]
struct Farthest {
    above: [i16; WINDOWS],
    below: [i16; WINDOWS],
}

impl Farthest {
    fn of(stretch: &[u8], (groups, width): (Groups, usize), stored: Encoding) -> Self {
        let mut farthest = Self::default();
        let group_len = groups.len() * width;
        // What one sum takes of a pair: neighbours in a group, or the same place in two of them.
        let (unit, across) = if groups.len() == 8 { (2 * group_len, true) } else { (group_len, false) };
        for block in 0..unit / (2 * LANES) {
            let mut above = [[0; LANES]; STRETCH];
            let mut below = above;
            for ((above, below), unit) in above.iter_mut().zip(&mut below).zip(stretch.chunks(unit)) {
                let pairs = if across { pairs_across(unit, group_len, block) } else { unit.as_chunks().0[block] };
                for ((above, below), &pair) in above.iter_mut().zip(below).zip(pairs.as_chunks().0) {
                    // Numbers are taken apart in lanes of 16 bits, which any processor does many at a time.
                    let pair = i16::from_le_bytes(pair);
                    let [x, y] = match stored {
                        Encoding::U8 => [pair & 0xff, pair >> 8 & 0xff],
                        Encoding::S8 => [pair << 8 >> 8, pair >> 8],
                    };
                    *above = x.max(0) + y.max(0);
                    *below = *above - x - y;
                }
            }
            raise(above, &mut farthest.above);
            raise(below, &mut farthest.below);
        }
        farthest
    }

    /// The longest window that fits.
    fn span(&self, lhs: ElementRange, room: [u32; 2]) -> u8 {
        let [up, down] = rise(lhs);
        let fits = |window: &usize| {
            let [above, below] = [self.above, self.below].map(|most| u32::from(most[*window].unsigned_abs()));
            // If one side is unsigned, one term of each sum is 0; else they may come from two lanes, and this is cautious.
            up * above + down * below <= room[0] && down * above + up * below <= room[1]
        };
        (0..WINDOWS).rev().find(fits).map_or(0, |window| 1 << window)
    }
}

/// The pairs of one block of lanes that lie `group_len` apart; the second of them may not be there.
fn pairs_across(unit: &[u8], group_len: usize, block: usize) -> [u8; 2 * LANES] {
    let mut pairs = [0; 2 * LANES];
    for (i, group) in unit.chunks(group_len).enumerate() {
        for (pair, &number) in pairs.as_chunks_mut::<2>().0.iter_mut().zip(&group[block * LANES..]) {
            pair[i] = number;
        }
    }
    pairs
}

/// Raises `most` to the greatest sums in windows of 1 pair, 2, 4 and so on.
fn raise(mut sums: [[i16; LANES]; STRETCH], most: &mut [i16; WINDOWS]) {
    for (window, most) in most.iter_mut().enumerate() {
        let count = STRETCH >> window;
        let mut greatest = [0; LANES];
        for sums in &sums[..count] {
            for (greatest, &sum) in greatest.iter_mut().zip(sums) {
                *greatest = sum.max(*greatest);
            }
        }
        *most = greatest.into_iter().fold(*most, i16::max);
        for i in 0..count / 2 {
            let (first, second) = (sums[2 * i], sums[2 * i + 1]);
            for ((sum, x), y) in sums[i].iter_mut().zip(first).zip(second) {
                *sum = x + y;
            }
        }
    }
}

#[cfg(test)]
mod tests;
