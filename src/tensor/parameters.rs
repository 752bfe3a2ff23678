//! Parameters of formulas: of all elements, or of their channels, which are spread over elements where few of these follow each
//! other.

use super::Channels;
use super::near;
use crate::elements::CHUNK;
use std::hint::black_box;
use std::ops::Range;

/// Parameters of a formula: up to three factors or the like, the zero point of what is read, and that of what is written.
pub(super) const PARAMETERS: usize = 5;

/// From here on they are zero points.
pub(super) const FROM_ZERO: usize = 3;

/// Elements for which the parameters of channels are spread at once.
pub(super) const SPREAD: usize = 1024;

/// A parameter of each of so many elements, and of as many more as go together.
#[repr(align(64))]
pub(super) struct Spread(pub [i32; SPREAD + CHUNK]);

/// Elements that the second cache holds.
const HELD: usize = 1 << 16;

/// Words that are spread together at least: more than asked for, of which the last are spread over again.
const TOGETHER: usize = 16;

/// Channels whose parameters are found at once.
pub(super) const FOUND: usize = 64;

/// A parameter of a formula.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Each<'a> {
    /// The word of all.
    All(i32),
    /// An integer for each channel.
    Ints(&'a [i32]),
    /// A float for each channel.
    Floats(&'a [f32]),
    /// One over a float for each channel.
    Inverses(&'a [f32]),
    /// [`near::raise`] for each channel, of its zero point.
    Raises(&'a [i32]),
    /// [`near::nudge`] for each channel, of its exponent.
    Nudges(&'a [i32]),
    /// [`near::scale`] for each channel, of its multiplier and its exponent.
    Scales(&'a [i32], &'a [i32]),
}

impl<'a> Each<'a> {
    /// A float for each channel, or for all if there is but one.
    pub(crate) fn floats(values: &'a [f32]) -> Self {
        if let [x] = values { Self::All(x.to_bits() as i32) } else { Self::Floats(values) }
    }

    /// As [`Each::floats`], of integers, or for all if they are the same; 0 for all if there are none.
    pub(crate) fn ints(values: Option<&'a [i32]>) -> Self {
        match values {
            None => Self::All(0),
            Some([first, rest @ ..]) if rest.iter().all(|x| x == first) => Self::All(*first),
            Some(values) => Self::Ints(values),
        }
    }

    /// One over each of these floats.
    pub(crate) fn inverses(values: &'a [f32]) -> Self {
        if let [x] = values { Self::All((1.0 / x).to_bits() as i32) } else { Self::Inverses(values) }
    }

    /// [`near::raise`] of each of these zero points; of 0 for all if there are none.
    pub(crate) fn raises(zero_points: Option<&'a [i32]>) -> Self {
        match Self::ints(zero_points) {
            Self::All(zero_point) => Self::All(near::raise(zero_point)),
            _ => Self::Raises(zero_points.unwrap_or_default()),
        }
    }

    /// [`near::nudge`] of each of these exponents.
    pub(crate) fn nudges(exponents: &'a [i32]) -> Self {
        if let [x] = exponents { Self::All(near::nudge(*x)) } else { Self::Nudges(exponents) }
    }

    /// [`near::scale`] of each of these multipliers with its exponent.
    pub(crate) fn scales(multipliers: &'a [i32], exponents: &'a [i32]) -> Self {
        match (multipliers, exponents) {
            (&[multiplier], &[exponent]) => Self::All(near::scale(multiplier, exponent)),
            _ => Self::Scales(multipliers, exponents),
        }
    }

    /// The word of all, if they have the same.
    pub(super) fn same(&self) -> Option<i32> {
        if let Self::All(word) = self { Some(*word) } else { None }
    }

    /// The words of successive channels.
    fn words(&self, first: usize, to: &mut [i32]) {
        let channels = first..first + to.len();
        match self {
            Self::All(word) => to.fill(*word),
            Self::Ints(values) => to.copy_from_slice(&values[channels]),
            Self::Floats(values) => to.iter_mut().zip(&values[channels]).for_each(|(to, x)| *to = x.to_bits() as i32),
            Self::Inverses(values) => {
                to.iter_mut().zip(&values[channels]).for_each(|(to, x)| *to = (1.0 / x).to_bits() as i32);
            }
            Self::Raises(zero_points) => {
                to.iter_mut().zip(&zero_points[channels]).for_each(|(to, x)| *to = near::raise(*x));
            }
            Self::Nudges(exponents) => {
                to.iter_mut().zip(&exponents[channels]).for_each(|(to, x)| *to = near::nudge(*x));
            }
            Self::Scales(multipliers, exponents) => {
                let both = multipliers[channels.clone()].iter().zip(&exponents[channels]);
                to.iter_mut().zip(both).for_each(|(to, (x, exponent))| *to = near::scale(*x, *exponent));
            }
        }
    }

    /// Gives each of so many elements from index `i` on the word of its channel; those behind them get any. Copies and fills need
    /// no vectors of the kernel's, so it is compiled once.
    #[inline(never)]
    fn spread(&self, channels: &Channels, i: usize, count: usize, to: &mut Spread) {
        let to = &mut to.0;
        if let Self::All(word) = self {
            return to.fill(*word);
        }
        let (mut done, mut words, mut found) = (0, [0; FOUND], 0..0);
        let (mut channel, mut rest) = channels.run(i);
        while done < count {
            if channels.inner == 1 {
                let len = (channels.channels - channel).min(count - done);
                self.words(channel, &mut to[done..done + len]);
                (done, channel) = (done + len, 0);
                continue;
            }
            if !found.contains(&channel) {
                found = channel..channels.channels.min(channel + FOUND);
                self.words(channel, &mut words[..found.len()]);
            }
            let (word, len) = (words[channel - found.start], rest.min(count - done));
            for begin in (done..done + len).step_by(TOGETHER) {
                to[begin..begin + TOGETHER].fill(word);
            }
            channel = if channel + 1 == channels.channels { 0 } else { channel + 1 };
            (done, rest) = (done + len, channels.inner);
        }
    }
}

/// Those parameters of successive channels, up to [`FOUND`], that are not the same for all.
#[inline(never)]
pub(super) fn find(parameters: &[Each; PARAMETERS], first: usize, to: &mut [[i32; PARAMETERS]]) {
    for (at, parameter) in parameters.iter().enumerate().filter(|(_, parameter)| parameter.same().is_none()) {
        let mut words = [0; FOUND];
        parameter.words(first, &mut words[..to.len()]);
        for (to, word) in to.iter_mut().zip(words) {
            to[at] = word;
        }
    }
}

/// The parameters of elements that become others at once.
pub(crate) trait Parameters: Copy {
    /// Whether all have the same zero points.
    const ARE_ZERO_POINTS_SAME: bool;

    /// Those of the element of index `i`. Always inlined.
    fn of(&self, i: usize) -> [i32; PARAMETERS];

    /// The same, for what is seldom done: the compiler makes no preparations for it. Always inlined.
    fn seldom(self) -> Self;
}

#[derive(Clone, Copy)]
pub(super) struct Same(pub [i32; PARAMETERS]);

impl Parameters for Same {
    const ARE_ZERO_POINTS_SAME: bool = true;

    #[inline(always)]
    fn of(&self, _: usize) -> [i32; PARAMETERS] {
        self.0
    }

    #[inline(always)]
    fn seldom(self) -> Self {
        black_box(self)
    }
}

/// For each element its own; or only the factors, and the same zero points for all.
#[derive(Clone, Copy)]
pub(super) struct Own<'a, const N: usize, const ARE_ZERO_POINTS_SAME: bool> {
    pub each: [&'a [i32; N]; PARAMETERS],
    pub zero_points: [i32; 2],
}

impl<const N: usize, const ARE_ZERO_POINTS_SAME: bool> Parameters for Own<'_, N, ARE_ZERO_POINTS_SAME> {
    const ARE_ZERO_POINTS_SAME: bool = ARE_ZERO_POINTS_SAME;

    #[inline(always)]
    fn of(&self, i: usize) -> [i32; PARAMETERS] {
        let [a, b, c, from_zero, to_zero] = self.each;
        let [from_zero, to_zero] = if ARE_ZERO_POINTS_SAME { self.zero_points } else { [from_zero[i], to_zero[i]] };
        [a[i], b[i], c[i], from_zero, to_zero]
    }

    #[inline(always)]
    fn seldom(self) -> Self {
        self
    }
}

/// The parameters from index `at` on.
#[inline(always)]
pub(super) fn own<const N: usize, const ARE_ZERO_POINTS_SAME: bool>(
    spread: &[Spread; PARAMETERS],
    zero_points: [i32; 2],
    at: usize,
) -> Own<'_, N, ARE_ZERO_POINTS_SAME> {
    let [a, b, c, d, e] = spread;
    Own { each: [part(&a.0, at), part(&b.0, at), part(&c.0, at), part(&d.0, at), part(&e.0, at)], zero_points }
}

/// The zero points of the first element.
#[inline(always)]
pub(super) fn zero_points([.., from_zero, to_zero]: &[Spread; PARAMETERS]) -> [i32; 2] {
    [from_zero.0[0], to_zero.0[0]]
}

#[inline(always)]
pub(super) fn part<const N: usize>(words: &[i32], at: usize) -> &[i32; N] {
    words[at..].first_chunk().expect("so many")
}

/// A range of elements in stretches whose parameters are spread at once: all of it if a period's are few, for they come again and
/// again; or parts of a period, each as often as it comes in as many periods as the caches hold.
pub(super) struct Stretches<'a> {
    parameters: &'a [Each<'a>; PARAMETERS],
    channels: &'a Channels,
    range: Range<usize>,
    period: usize,
    /// Elements of a part, and of periods that the caches hold.
    len: usize,
    group: usize,
    /// Where such periods begin, where in each of them the part does, and the next one of these.
    first: usize,
    part: usize,
    next: usize,
}

impl<'a> Stretches<'a> {
    pub(super) fn new(parameters: &'a [Each<'a>; PARAMETERS], channels: &'a Channels, range: Range<usize>) -> Self {
        let period = channels.period();
        let len = period.div_ceil(period.div_ceil(SPREAD)).next_multiple_of(CHUNK);
        let group = (HELD / period).max(1) * period;
        let first = range.start / period * period;
        Self { parameters, channels, range, period, len, group, first, part: 0, next: first }
    }

    /// The next stretch, and where the parameters of its first element are among those that are spread. Compiled once, for it needs
    /// no vectors.
    #[inline(never)]
    pub(super) fn next(&mut self, spread: &mut [Spread; PARAMETERS]) -> Option<(Range<usize>, usize)> {
        if self.period <= SPREAD {
            let all = self.range.clone();
            if all.is_empty() {
                return None;
            }
            self.range.start = all.end;
            for (spread, parameter) in spread.iter_mut().zip(self.parameters) {
                parameter.spread(self.channels, all.start, self.period + CHUNK, spread);
            }
            return Some((all, 0));
        }
        while self.first < self.range.end {
            let end = self.range.end.min(self.first + self.group);
            if self.part >= self.period {
                (self.first, self.part, self.next) = (end, 0, end);
                continue;
            }
            let (begin, len) = (self.next, self.len.min(self.period - self.part));
            if begin >= end {
                self.part += self.len;
                self.next = self.first + self.part;
                continue;
            }
            if begin == self.first + self.part {
                for (spread, parameter) in spread.iter_mut().zip(self.parameters) {
                    if self.first <= self.range.start && self.part == 0 || !matches!(parameter, Each::All(_)) {
                        parameter.spread(self.channels, self.part, len, spread);
                    }
                }
            }
            self.next += self.period;
            let some = self.range.start.max(begin)..end.min(begin + len);
            if !some.is_empty() {
                let at = some.start - begin;
                return Some((some, at));
            }
        }
        None
    }
}
