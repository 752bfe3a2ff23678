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
mod near;
mod numbers;
mod parameters;
mod quantize;
mod requantize;
mod rounded;
#[cfg(test)]
mod tests;

pub(crate) use choose::{Chosen, choose};
pub(crate) use lines::{Found, Lines};
pub(crate) use min_max::min_max;
pub(crate) use numbers::{Integers, IntegersMut, Read, Write};
pub(crate) use parameters::{Each, Parameters};
use parameters::{FOUND, FROM_ZERO, Own, PARAMETERS, SPREAD, Same, Spread, Stretches, find, own, part, zero_points};
pub use quantize::ToInteger;
pub(crate) use quantize::{dequantize, quantize};
pub(crate) use requantize::{Arithmetic, ZeroPoint, requantize};
use rounded::{Real, Rounded, float};

/// Elements that pass through a loop together at the end of many, or twice as many: a quarter of a [`CHUNK`]. Of a loop over so
/// few the compiler makes one that gathers elements of several.
const FEW: usize = CHUNK / 4;

/// Elements of a run at whose end lines of which a part is written past the caches cost less than if all went through these.
const LONG: usize = 12 * CHUNK;

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

/// What becomes of an element.
pub(crate) trait Formula: Copy + Sync {
    /// Always inlined; see [`Loop::run`].
    fn of(&self, x: i32, parameters: [i32; PARAMETERS]) -> i32;

    /// Of many at once. Always inlined.
    #[inline(always)]
    fn each<P: Parameters>(&self, words: &mut [i32], parameters: P) {
        for (i, x) in words.iter_mut().enumerate() {
            *x = self.of(*x, parameters.of(i));
        }
    }
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
        // Of its own: what is written could be it, for all that the compiler knows.
        let (from, to) = (&{ *from }, &to.again());
        let is_fetched = to.is_far();
        let are_same = parameters.iter().all(|parameter| parameter.same().is_some());
        if !are_same && channels.inner < CHUNK {
            return match parameters[FROM_ZERO..].iter().all(|zero_point| zero_point.same().is_some()) {
                true => each_block_by_channel::<_, true>(*formula, parameters, channels, from, to, self.range),
                false => each_block_by_channel::<_, false>(*formula, parameters, channels, from, to, self.range),
            };
        }
        // Where that is often, the caches gather what the end of a run and the next one write to the same line.
        let is_even = are_same || channels.inner.is_multiple_of(CHUNK) || channels.inner >= LONG;
        let to = &if is_even { to.again() } else { to.near() };
        let mut i = self.range.start;
        let (mut channel, mut rest) = if are_same { (0, usize::MAX) } else { channels.run(i) };
        let mut same = [0; PARAMETERS];
        for (same, parameter) in same.iter_mut().zip(parameters) {
            *same = parameter.same().unwrap_or(0);
        }
        let (mut words, mut found) = ([same; FOUND], 0..0);
        while i < self.range.end {
            if !found.contains(&channel) {
                found = channel..channels.channels.min(channel + FOUND);
                find(parameters, channel, &mut words[..found.len()]);
            }
            let end = i + rest.min(self.range.end - i);
            each_block(*formula, words[(channel - found.start) % FOUND], from, to, i..end, is_fetched);
            channel = if channel + 1 == channels.channels { 0 } else { channel + 1 };
            (i, rest) = (end, channels.inner);
        }
    }
}

/// Where the parameters are the same for all; and if elements are fetched ahead.
#[inline(always)]
fn each_block<F: Formula>(
    formula: F,
    parameters: [i32; PARAMETERS],
    from: &impl Read,
    to: &impl Write,
    range: Range<usize>,
    is_fetched: bool,
) {
    let (mut i, parameters) = (range.start, Same(parameters));
    // By itself, for words that the compiler knows the number of stay in registers.
    while range.end - i >= CHUNK {
        if is_fetched {
            from.fetch_ahead(i);
        }
        block::<_, CHUNK>(formula, parameters, from, to, i, CHUNK);
        i += CHUNK;
    }
    if range.end - i >= 2 * FEW {
        block::<_, { 2 * FEW }>(formula, parameters, from, to, i, 2 * FEW);
        i += 2 * FEW;
    }
    if range.end - i >= FEW {
        block::<_, FEW>(formula, parameters, from, to, i, FEW);
        i += FEW;
    }
    if range.end > i {
        block::<_, FEW>(formula, parameters, from, to, i, range.end - i);
    }
}

/// The `count` elements from index `i` on, up to `N`.
#[inline(always)]
fn block<F: Formula, const N: usize>(
    formula: F,
    parameters: impl Parameters,
    from: &impl Read,
    to: &impl Write,
    i: usize,
    count: usize,
) {
    let mut words = [0; N];
    from.read(i, &mut words[..count]);
    // All `N`: a number of them that the compiler knows takes less, and what the rest becomes is not written.
    formula.each(&mut words, parameters);
    // SAFETY: the ranges of different threads are apart.
    unsafe { to.write(i, &words[..count]) };
}

/// Where they are those of channels of which few elements follow each other; with the same zero points in all of these, or not.
#[inline(always)]
fn each_block_by_channel<F: Formula, const ARE_ZERO_POINTS_SAME: bool>(
    formula: F,
    parameters: &[Each; PARAMETERS],
    channels: &Channels,
    from: &impl Read,
    to: &impl Write,
    range: Range<usize>,
) {
    // A chunk's parameters are found in one place also where a period ends within it.
    let mut spread = [const { Spread([0; SPREAD + CHUNK]) }; PARAMETERS];
    let period = channels.period();
    let step = CHUNK % period;
    let mut stretches = Stretches::new(parameters, channels, range);
    while let Some((Range { start: mut i, end }, mut at)) = stretches.next(&mut spread) {
        let zero_points = zero_points(&spread);
        while end - i >= CHUNK {
            // Of a long period those that come next are one farther on.
            match (to.is_far(), period <= SPREAD) {
                (true, true) => from.fetch_ahead(i),
                (true, false) => from.fetch(i + period),
                (false, _) => {}
            }
            let own = own::<CHUNK, ARE_ZERO_POINTS_SAME>(&spread, zero_points, at);
            block::<_, CHUNK>(formula, own, from, to, i, CHUNK);
            i += CHUNK;
            at += step;
            if at >= period {
                at -= period;
            }
        }
        if end > i {
            let own = own::<CHUNK, ARE_ZERO_POINTS_SAME>(&spread, zero_points, at);
            block::<_, CHUNK>(formula, own, from, to, i, end - i);
        }
    }
}
