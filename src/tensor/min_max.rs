//! The least and the greatest of real numbers. Those that are not finite do not count.

use super::{Channels, FEW};
use crate::context::Context;
use crate::elements::{CHUNK, Elements};
use crate::kernel::Loop;
use std::ops::Range;
use std::sync::Mutex;

/// Columns that are looked at together: enough to read long runs.
pub(super) const COLUMNS: usize = 1024;

/// Runs of so many elements at most are columns rather than runs, if there are so many of each.
const SHORT: usize = COLUMNS / 4;
const MANY: usize = 8;

/// So many bytes ahead rows are fetched that lie apart, which processors do not see.
const AHEAD: usize = 4096;

/// How many rows of so many numbers are fetched ahead.
#[inline(always)]
pub(super) fn rows_ahead(len: usize) -> usize {
    (AHEAD / 4 / len.max(CHUNK)).max(1)
}

/// Tells `found` the least and the greatest number of each channel, once for each: 0 and 0 if there are none. A zero is
/// never negative.
pub(crate) fn min_max(
    context: &Context,
    from: Elements<f32>,
    channels: Channels,
    found: impl Fn(usize, (f32, f32)) + Sync,
) {
    let run = |elements| context.kernel.vectors.run(elements);
    if channels.channels == 1 {
        let all = Mutex::new(Bounds::NONE);
        context.in_pieces(from.len(), 4, |range| {
            let part = run(One { from: from.part(range) });
            let mut all = all.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *all = all.or(part);
        });
        let all = all.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        return found(0, all.ends());
    }
    let Channels { outer, channels: count, inner } = channels;
    let bytes = 4 * (from.len() / count.max(1));
    if inner == 1 || (1..=SHORT).contains(&inner) && outer >= MANY {
        context.in_columns(count, bytes, |range| {
            context.kernel.vectors.run(Side { from, channels, range, found: &found });
        });
        return;
    }
    context.in_lines(count, bytes, |range| {
        for channel in range {
            let mut all = Bounds::NONE;
            for i in 0..outer {
                let begin = (i * count + channel) * inner;
                all = all.or(run(One { from: from.part(begin..begin + inner) }));
            }
            found(channel, all.ends());
        }
    });
}

/// From where to where some numbers go.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    least: f32,
    greatest: f32,
}

impl Bounds {
    pub(super) const NONE: Self = Self { least: f32::INFINITY, greatest: f32::NEG_INFINITY };

    /// Those of these numbers, too.
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self {
            least: if other.least < self.least { other.least } else { self.least },
            greatest: if other.greatest > self.greatest { other.greatest } else { self.greatest },
        }
    }

    /// Those of this number, too, if it counts; unless it is `CHECKED`, infinities do.
    #[inline(always)]
    fn with<const CHECKED: bool>(self, x: f32) -> Self {
        // Without a branch; NaN is neither.
        let counts = !CHECKED || (f32::MIN..=f32::MAX).contains(&x);
        Self {
            least: if (x < self.least) & counts { x } else { self.least },
            greatest: if (x > self.greatest) & counts { x } else { self.greatest },
        }
    }

    /// Whether some infinity counted, or there was nothing but NaN.
    #[inline(always)]
    fn is_infinite(&self) -> bool {
        self.least.is_infinite() | self.greatest.is_infinite()
    }

    /// Both, or 0 and 0; never -0, for which of two zeros comes first is chance.
    #[inline(always)]
    pub(super) fn ends(self) -> (f32, f32) {
        if self.least > self.greatest { (0.0, 0.0) } else { (self.least + 0.0, self.greatest + 0.0) }
    }

    /// Those of all elements.
    #[inline(always)]
    pub(super) fn of(from: Elements<f32>) -> Self {
        // Mostly there are no infinities, and not to look for them takes half of the time.
        match from.len() {
            ..CHUNK => Self::of_some::<FEW>(from),
            CHUNK.. => Self::of_some::<CHUNK>(from),
        }
    }

    #[inline(always)]
    fn of_some<const N: usize>(from: Elements<f32>) -> Self {
        let all = Self::among::<false, N>(from);
        if all.is_infinite() { Self::among::<true, N>(from) } else { all }
    }

    /// So many at a time.
    #[inline(always)]
    fn among<const CHECKED: bool, const N: usize>(from: Elements<f32>) -> Self {
        let (mut least, mut greatest) = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
        let mut i = 0;
        while from.len() - i >= N {
            widen::<CHECKED, N>(&mut least, &mut greatest, from, i);
            i += N;
        }
        // By halves: one after the other would take as long as many numbers.
        let mut half = N / 2;
        while half > 0 {
            for lane in 0..half {
                let other = Self { least: least[lane + half], greatest: greatest[lane + half] };
                let both = Self { least: least[lane], greatest: greatest[lane] }.or(other);
                (least[lane], greatest[lane]) = (both.least, both.greatest);
            }
            half /= 2;
        }
        let mut all = Self { least: least[0], greatest: greatest[0] };
        while i < from.len() {
            all = all.with::<CHECKED>(from.get(i));
            i += 1;
        }
        all
    }
}

/// Widens bounds by an element each, from index `i` on.
#[inline(always)]
fn widen<const CHECKED: bool, const N: usize>(
    least: &mut [f32; N],
    greatest: &mut [f32; N],
    from: Elements<f32>,
    i: usize,
) {
    let mut numbers = [0.0; N];
    from.read(i, &mut numbers, |x| x);
    for lane in 0..N {
        let both = Bounds { least: least[lane], greatest: greatest[lane] }.with::<CHECKED>(numbers[lane]);
        (least[lane], greatest[lane]) = (both.least, both.greatest);
    }
}

/// The bounds of one run of elements.
struct One<'a> {
    from: Elements<'a, f32>,
}

impl Loop for One<'_> {
    type Result = Bounds;

    #[inline(always)]
    fn run(self) -> Bounds {
        Bounds::of(self.from)
    }
}

/// The bounds of channels of which few elements follow each other.
struct Side<'a, F> {
    from: Elements<'a, f32>,
    channels: Channels,
    range: Range<usize>,
    found: &'a F,
}

impl<F: Fn(usize, (f32, f32))> Loop for Side<'_, F> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Channels { outer, channels: count, inner } = self.channels;
        let (mut first, mut columns) = (self.range.start, Columns::NONE);
        while first < self.range.end {
            let len = (COLUMNS / inner).min(self.range.end - first);
            // Few channels, several times side by side: of narrow rows little would go together.
            let times = if len == count { (COLUMNS / (len * inner)).min(outer).max(1) } else { 1 };
            let times = 1 << times.ilog2();
            let step = self.channels.period() * times;
            columns.look(len * inner * times, 0..outer.div_ceil(times), |i| {
                let begin = i * step + first * inner;
                self.from.part(begin..self.from.len().min(begin + len * inner * times))
            });
            columns.fold(len * inner, times);
            for channel in 0..len {
                if inner == 1 {
                    (self.found)(first + channel, columns.ends(channel));
                    continue;
                }
                let mut all = columns.of(channel * inner);
                for column in 1..inner {
                    all = all.or(columns.of(channel * inner + column));
                }
                (self.found)(first + channel, all.ends());
            }
            first += len;
        }
    }
}

/// The bounds of up to so many columns.
pub(super) struct Columns {
    least: [f32; COLUMNS],
    greatest: [f32; COLUMNS],
}

impl Columns {
    pub(super) const NONE: Self = Self { least: [f32::INFINITY; COLUMNS], greatest: [f32::NEG_INFINITY; COLUMNS] };

    /// Makes them those of so many columns, of which each of these rows has an element each, but for the last row, which may be
    /// shorter.
    #[inline(always)]
    pub(super) fn look<'a>(&mut self, len: usize, rows: Range<usize>, row: impl Fn(usize) -> Elements<'a, f32>) {
        self.widen::<false>(len, rows.clone(), &row);
        if (0..len).any(|column| self.of(column).is_infinite()) {
            self.widen::<true>(len, rows, &row);
        }
    }

    #[inline(always)]
    fn widen<'a, const CHECKED: bool>(
        &mut self,
        len: usize,
        rows: Range<usize>,
        row: &impl Fn(usize) -> Elements<'a, f32>,
    ) {
        self.least[..len].fill(f32::INFINITY);
        self.greatest[..len].fill(f32::NEG_INFINITY);
        let ahead = rows_ahead(len);
        for i in rows.clone() {
            let (next, row, mut at) = (row(rows.end.min(i + ahead + 1) - 1), row(i), 0);
            let len = row.len();
            while len - at >= CHUNK {
                next.fetch(at, CHUNK);
                self.widen_some::<CHECKED, CHUNK>(at, row);
                at += CHUNK;
            }
            if len - at >= 2 * FEW {
                self.widen_some::<CHECKED, { 2 * FEW }>(at, row);
                at += 2 * FEW;
            }
            if len - at >= FEW {
                self.widen_some::<CHECKED, FEW>(at, row);
                at += FEW;
            }
            while at < len {
                self.widen_some::<CHECKED, 1>(at, row);
                at += 1;
            }
        }
    }

    #[inline(always)]
    fn widen_some<const CHECKED: bool, const N: usize>(&mut self, at: usize, row: Elements<f32>) {
        // In variables of their own: where they lie, the compiler would write each by whether it changes.
        let (least_of, greatest_of) = (&mut self.least[at..at + N], &mut self.greatest[at..at + N]);
        let (mut least, mut greatest) = ([0.0; N], [0.0; N]);
        least.copy_from_slice(least_of);
        greatest.copy_from_slice(greatest_of);
        widen::<CHECKED, N>(&mut least, &mut greatest, row, at);
        least_of.copy_from_slice(&least);
        greatest_of.copy_from_slice(&greatest);
    }

    /// Makes so many columns out of those which are there that many times, a power of two, side by side.
    #[inline(always)]
    fn fold(&mut self, len: usize, times: usize) {
        let mut half = len * times / 2;
        while half >= len {
            let (least, others) = self.least.split_at_mut(half);
            for (least, other) in least.iter_mut().zip(&others[..half]) {
                *least = if *other < *least { *other } else { *least };
            }
            let (greatest, others) = self.greatest.split_at_mut(half);
            for (greatest, other) in greatest.iter_mut().zip(&others[..half]) {
                *greatest = if *other > *greatest { *other } else { *greatest };
            }
            half /= 2;
        }
    }

    #[inline(always)]
    fn of(&self, column: usize) -> Bounds {
        Bounds { least: self.least[column], greatest: self.greatest[column] }
    }

    #[inline(always)]
    pub(super) fn ends(&self, column: usize) -> (f32, f32) {
        self.of(column).ends()
    }
}
