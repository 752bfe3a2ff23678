//! Tensors: elements that become others one by one, with the same parameters for all or with those of their channel.
//!
//! A tensor is contiguous and seen as outer × channels × inner, so that its channels may lie along any axis. Elements pass
//! through a block of 32-bit words, in which floats lie by their bits: what they are read from and written to, and what
//! is made of them, can then be put together freely.

use crate::context::Context;
use crate::elements::CHUNK;
use crate::kernel::Loop;
use std::ops::Range;

mod choose;
mod lines;
mod min_max;
mod numbers;
mod quantize;
mod requantize;
#[cfg(test)]
mod tests;

pub(crate) use choose::{Chosen, choose};
pub(crate) use lines::{Found, Lines};
pub(crate) use min_max::min_max;
pub(crate) use numbers::{Integers, IntegersMut, Read, Write};
pub use quantize::ToInteger;
pub(crate) use quantize::{dequantize, quantize};
pub(crate) use requantize::{Arithmetic, ZeroPoint, requantize};

/// Elements for which the parameters of channels are spread at once.
const SPREAD: usize = 512;

/// Elements that pass through a loop together at the end of many, or twice as many: a quarter of a [`CHUNK`]. Of a loop over so
/// few the compiler makes one that gathers elements of several.
const FEW: usize = CHUNK / 4;

/// Parameters that a formula has at most.
const PARAMETERS: usize = 4;

/// How a tensor lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Channels {
    pub outer: usize,
    pub channels: usize,
    pub inner: usize,
}

impl Channels {
    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        self.outer * self.channels * self.inner
    }

    /// The channel of the element of index `i`, and how many more of it follow.
    fn run(&self, i: usize) -> (usize, usize) {
        let run = i / self.inner;
        (run % self.channels, self.inner - i % self.inner)
    }

    /// After how many elements the same channels come again.
    fn period(&self) -> usize {
        self.channels * self.inner
    }
}

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
}

impl<'a> Each<'a> {
    /// A float for each channel, or for all if there is but one.
    pub(crate) fn floats(values: &'a [f32]) -> Self {
        if let [x] = values { Self::All(x.to_bits() as i32) } else { Self::Floats(values) }
    }

    /// As [`Each::floats`], of integers; 0 for all if there are none.
    pub(crate) fn ints(values: Option<&'a [i32]>) -> Self {
        match values {
            None => Self::All(0),
            Some(&[x]) => Self::All(x),
            Some(values) => Self::Ints(values),
        }
    }

    /// One over each of these floats.
    pub(crate) fn inverses(values: &'a [f32]) -> Self {
        if let [x] = values { Self::All((1.0 / x).to_bits() as i32) } else { Self::Inverses(values) }
    }

    fn word(&self, channel: usize) -> i32 {
        match self {
            Self::All(word) => *word,
            Self::Ints(values) => values[channel],
            Self::Floats(values) => values[channel].to_bits() as i32,
            Self::Inverses(values) => (1.0 / values[channel]).to_bits() as i32,
        }
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
        }
    }

    /// Gives each element from index `i` on the word of its channel. Copies and fills need no vectors of the kernel's, so it
    /// is compiled once.
    #[inline(never)]
    fn spread(&self, channels: &Channels, i: usize, to: &mut [i32]) {
        if let Self::All(word) = self {
            return to.fill(*word);
        }
        let mut done = 0;
        while done < to.len() {
            let (channel, rest) = channels.run(i + done);
            let len = if channels.inner == 1 { channels.channels - channel } else { rest }.min(to.len() - done);
            let to = &mut to[done..done + len];
            if channels.inner == 1 {
                self.words(channel, to)
            } else {
                to.fill(self.word(channel))
            }
            done += len;
        }
    }
}

/// What becomes of an element.
pub(crate) trait Formula: Copy + Sync {
    /// Always inlined; see [`Loop::run`].
    fn of(&self, x: i32, parameters: [i32; PARAMETERS]) -> i32;
}

/// Elements, and what they are to become.
pub(crate) struct Task<'a, F, R, W> {
    pub formula: F,
    pub parameters: [Each<'a>; PARAMETERS],
    pub channels: Channels,
    pub from: R,
    pub to: W,
}

impl<F: Formula, R: Read, W: Write> Task<'_, F, R, W> {
    /// Does it, on as many threads as pays.
    pub(crate) fn run(mut self, context: &Context) {
        if self.channels.len() == 0 {
            return;
        }
        self.to = self.to.past_caches(&self.from.runs());
        let bytes = self.from.element() + self.to.element();
        context.in_pieces(self.channels.len(), bytes, |range| context.kernel.vectors.run(Piece { task: &self, range }));
    }
}

/// What one thread does of a task.
struct Piece<'a, F, R, W> {
    task: &'a Task<'a, F, R, W>,
    range: Range<usize>,
}

impl<F: Formula, R: Read, W: Write> Loop for Piece<'_, F, R, W> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Task { formula, parameters, channels, from, to } = self.task;
        let are_same = parameters.iter().all(|parameter| matches!(parameter, Each::All(_)));
        if !are_same && channels.inner < CHUNK {
            return each_block_by_channel(*formula, parameters, channels, from, to, self.range);
        }
        let mut i = self.range.start;
        while i < self.range.end {
            let (channel, rest) = if are_same { (0, usize::MAX) } else { channels.run(i) };
            let end = i + rest.min(self.range.end - i);
            let mut words = [0; PARAMETERS];
            for (word, parameter) in words.iter_mut().zip(parameters) {
                *word = parameter.word(channel);
            }
            each_block(*formula, words, from, to, i..end);
            i = end;
        }
    }
}

/// Where the parameters are the same for all.
#[inline(always)]
fn each_block<F: Formula>(
    formula: F,
    parameters: [i32; PARAMETERS],
    from: &impl Read,
    to: &impl Write,
    range: Range<usize>,
) {
    let mut i = range.start;
    // By itself, for words that the compiler knows the number of stay in registers.
    while range.end - i >= CHUNK {
        if to.is_far() {
            from.fetch_ahead(i);
        }
        block(formula, parameters, from, to, i, &mut [0; CHUNK]);
        i += CHUNK;
    }
    if range.end - i >= 2 * FEW {
        block(formula, parameters, from, to, i, &mut [0; 2 * FEW]);
        i += 2 * FEW;
    }
    if range.end - i >= FEW {
        block(formula, parameters, from, to, i, &mut [0; FEW]);
        i += FEW;
    }
    block(formula, parameters, from, to, i, &mut [0; FEW][..range.end - i]);
}

/// The elements from index `i` on, as many as there are words.
#[inline(always)]
fn block<F: Formula>(
    formula: F,
    parameters: [i32; PARAMETERS],
    from: &impl Read,
    to: &impl Write,
    i: usize,
    words: &mut [i32],
) {
    from.read(i, words);
    for x in words.iter_mut() {
        *x = formula.of(*x, parameters);
    }
    // SAFETY: the ranges of different threads are apart.
    unsafe { to.write(i, words) };
}

/// Where they are those of channels of which few elements follow each other.
#[inline(always)]
fn each_block_by_channel<F: Formula>(
    formula: F,
    parameters: &[Each; PARAMETERS],
    channels: &Channels,
    from: &impl Read,
    to: &impl Write,
    range: Range<usize>,
) {
    // A chunk's parameters are found in one place also where a period ends within it.
    let mut spread = [[0; SPREAD + CHUNK]; PARAMETERS];
    let period = channels.period();
    let is_whole = period <= SPREAD;
    let len = if is_whole { period + CHUNK } else { SPREAD };
    let step = if is_whole { CHUNK % period } else { CHUNK };
    let (mut i, mut at) = (range.start, 0);
    while i < range.end {
        if i == range.start || at == SPREAD && !is_whole {
            for (spread, parameter) in spread.iter_mut().zip(parameters) {
                if i == range.start || !matches!(parameter, Each::All(_)) {
                    parameter.spread(channels, i, &mut spread[..len]);
                }
            }
            at = 0;
        }
        if range.end - i >= CHUNK {
            if to.is_far() {
                from.fetch_ahead(i);
            }
            block_by_channel(formula, &spread, at, from, to, i, &mut [0; CHUNK]);
        } else {
            block_by_channel(formula, &spread, at, from, to, i, &mut [0; CHUNK][..range.end - i]);
        }
        i += CHUNK;
        at += step;
        if is_whole && at >= period {
            at -= period;
        }
    }
}

/// As [`block`], with parameters for each: those from index `first` on.
#[inline(always)]
fn block_by_channel<F: Formula>(
    formula: F,
    spread: &[[i32; SPREAD + CHUNK]; PARAMETERS],
    first: usize,
    from: &impl Read,
    to: &impl Write,
    i: usize,
    words: &mut [i32],
) {
    from.read(i, words);
    let part = first..first + words.len();
    let [a, b, c, d] = spread;
    let (a, b, c, d) = (&a[part.clone()], &b[part.clone()], &c[part.clone()], &d[part]);
    for (x, (((a, b), c), d)) in words.iter_mut().zip(a.iter().zip(b).zip(c).zip(d)) {
        *x = formula.of(*x, [*a, *b, *c, *d]);
    }
    // SAFETY: the ranges of different threads are apart.
    unsafe { to.write(i, words) };
}
