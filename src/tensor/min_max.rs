//! The least and the greatest of real numbers. Those that are not finite do not count.

use super::{BLOCK, Channels};
use crate::buffer::ALIGN;
use crate::context::Context;
use crate::elements::Elements;
use crate::kernel::Loop;
use std::ops::Range;
use std::sync::Mutex;

/// Numbers that are compared at once.
const LANES: usize = 32;

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
    if inner == 1 {
        context.in_pieces(count, bytes, |range| {
            context.kernel.vectors.run(Side { from, channels, range, found: &found });
        });
        return;
    }
    in_lines(context, count, bytes, |range| {
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

/// As [`Context::in_pieces`], for lines of so many bytes each, few of which may be worth a thread.
pub(super) fn in_lines(context: &Context, lines: usize, bytes: usize, work: impl Fn(Range<usize>) + Sync) {
    // Pieces are multiples of so many.
    context.in_pieces(lines * ALIGN, bytes.div_ceil(ALIGN), |range| work(range.start / ALIGN..range.end / ALIGN));
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

    #[inline(always)]
    pub(super) fn with(self, x: f32) -> Self {
        // Without a branch; NaN is neither.
        let is_finite = (f32::MIN..=f32::MAX).contains(&x);
        Self {
            least: if (x < self.least) & is_finite { x } else { self.least },
            greatest: if (x > self.greatest) & is_finite { x } else { self.greatest },
        }
    }

    /// Both, or 0 and 0; never -0, for which of two zeros comes first is chance.
    #[inline(always)]
    pub(super) fn ends(self) -> (f32, f32) {
        if self.least > self.greatest { (0.0, 0.0) } else { (self.least + 0.0, self.greatest + 0.0) }
    }

    /// Those of all elements.
    #[inline(always)]
    pub(super) fn of(from: Elements<f32>) -> Self {
        let (mut least, mut greatest) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
        let mut i = 0;
        while from.len() - i >= LANES {
            widen(&mut least, &mut greatest, from.chunk::<LANES>(i));
            i += LANES;
        }
        let mut all = Self::NONE;
        for (least, greatest) in least.into_iter().zip(greatest) {
            all = all.or(Self { least, greatest });
        }
        while i < from.len() {
            all = all.with(from.get(i));
            i += 1;
        }
        all
    }
}

/// Widens bounds by a number each.
#[inline(always)]
fn widen<const N: usize>(least: &mut [f32; N], greatest: &mut [f32; N], numbers: [f32; N]) {
    for ((least, greatest), x) in least.iter_mut().zip(greatest).zip(numbers) {
        let Bounds { least: a, greatest: b } = Bounds { least: *least, greatest: *greatest }.with(x);
        (*least, *greatest) = (a, b);
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

/// The bounds of channels whose elements lie side by side.
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
        let mut first = self.range.start;
        while first < self.range.end {
            let mut columns = Columns::NONE;
            let len = BLOCK.min(self.range.end - first);
            for i in 0..self.channels.outer {
                let begin = i * self.channels.channels + first;
                columns.widen(self.from.part(begin..begin + len));
            }
            for i in 0..len {
                (self.found)(first + i, columns.ends(i));
            }
            first += len;
        }
    }
}

/// The bounds of up to so many columns.
pub(super) struct Columns {
    least: [f32; BLOCK],
    greatest: [f32; BLOCK],
}

impl Columns {
    pub(super) const NONE: Self = Self { least: [f32::INFINITY; BLOCK], greatest: [f32::NEG_INFINITY; BLOCK] };

    /// Widens them by a row, an element for each.
    #[inline(always)]
    pub(super) fn widen(&mut self, row: Elements<f32>) {
        let mut numbers = [0.0; BLOCK];
        let numbers = &mut numbers[..row.len()];
        row.read(0, numbers, |x| x);
        for ((least, greatest), x) in self.least.iter_mut().zip(&mut self.greatest).zip(numbers) {
            let Bounds { least: a, greatest: b } = Bounds { least: *least, greatest: *greatest }.with(*x);
            (*least, *greatest) = (a, b);
        }
    }

    #[inline(always)]
    pub(super) fn ends(&self, column: usize) -> (f32, f32) {
        Bounds { least: self.least[column], greatest: self.greatest[column] }.ends()
    }
}
