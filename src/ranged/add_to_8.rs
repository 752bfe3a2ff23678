//! Bytes added to bytes, of which nobody knows what interval they need before they are there: it is guessed, and where the
//! guess was too narrow all is done once more, with what was found.

mod exact;
mod flat;
mod keys;
mod spec;

use super::extremes::{Numbers, extremes};
use crate::add::linear;
use crate::context::Context;
use crate::elements::Elements;
use crate::error::Error;
use crate::grid::{Grid, Tensors, Zip, zip};
use crate::interval::{Fixed, Interval};
use crate::kernel::Weighted;
use exact::Exact;
use flat::Flat;
use keys::{Keyed, Keys};
use spec::Spec;

/// Whose way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way8 {
    /// In f64, rounded once.
    Exact,
    /// nnlib's `addsub_flat_direct_execute`: multipliers of 14 bits, sums of 16.
    NnlibFlat,
    /// nnlib's former `quant_add_spec`: one multiplier of 7 bits and a fraction, then one of 15. Without its overflows.
    NnlibSpec,
}

/// A sum, and what is known of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AddTo8 {
    way: Way8,
    a: Interval,
    b: Interval,
    guess: Option<Interval>,
    /// The guess's ends that stay, whatever is found.
    fixed: Fixed,
}

/// A sum with the interval that its codes are to have.
trait Adder: Sync + Sized {
    type Sum: Copy + PartialOrd + Send + Sync;

    /// # Errors
    /// If the arithmetic does not reach so far.
    fn new(add: &AddTo8, result: Interval) -> Result<Self, Error>;

    /// Always inlined, as `code` is.
    fn sum(&self, a: u8, b: u8) -> Self::Sum;

    fn code(&self, sum: Self::Sum) -> u8;

    /// The formula by which vectors may compute codes sooner, if it should turn out to give the same.
    fn weighted(&self) -> Option<Weighted> {
        None
    }

    /// Integers that grow as sums do, if vectors find extremes of those sooner.
    fn keys(&self) -> Option<Keys> {
        None
    }

    /// The interval of the first pass; None if that is only to find one.
    fn first(add: &AddTo8) -> Result<Option<Interval>, Error>;

    /// The interval that holds the least and the greatest sum, if that is another than `before`, the one of the pass that
    /// found them.
    fn wider(&self, add: &AddTo8, before: Option<Interval>, found: [Self::Sum; 2]) -> Option<Interval>;
}

impl AddTo8 {
    /// # Errors
    /// Unless the intervals are some, around 0 for nnlib's ways, so is the guess if there is one, it has a width, and there
    /// is one if an end of it is to stay; and sums have to be finite.
    pub(crate) fn new(
        way: Way8,
        a: Interval,
        b: Interval,
        guess: Option<Interval>,
        fixed: Fixed,
    ) -> Result<Self, Error> {
        let a_names = ["a_range.min", "a_range.max"];
        let b_names = ["b_range.min", "b_range.max"];
        let (a, b) = match way {
            Way8::Exact => (a.checked(a_names)?, b.checked(b_names)?),
            _ => (a.around_zero(a_names)?, b.around_zero(b_names)?),
        };
        let sum = Interval { min: a.min + b.min, max: a.max + b.max };
        sum.checked(["a_range.min + b_range.min", "a_range.max + b_range.max"])?;
        let guess = match guess {
            None if fixed != Fixed::default() => return Err(Error::Missing { argument: "guess" }),
            None => None,
            Some(guess) => Some(guess.around_zero(["guess->min", "guess->max"])?),
        };
        if guess.is_some_and(Interval::is_zero) {
            return Err(Error::Parameter { argument: "guess->max", value: 0.0, expected: "above min" });
        }
        Ok(Self { way, a, b, guess, fixed })
    }

    /// Gives the interval of the codes, and how many passes it took, at most two.
    ///
    /// # Errors
    /// Before anything is written.
    pub(crate) fn run(&self, context: &Context, tensors: &Tensors<u8, u8, u8>) -> Result<(Interval, usize), Error> {
        match self.way {
            Way8::Exact => self.run_as::<Exact>(context, tensors),
            Way8::NnlibFlat => self.run_as::<Flat>(context, tensors),
            Way8::NnlibSpec => self.run_as::<Spec>(context, tensors),
        }
    }

    fn run_as<A: Adder>(&self, context: &Context, tensors: &Tensors<u8, u8, u8>) -> Result<(Interval, usize), Error> {
        let first = A::first(self)?;
        let adder = A::new(self, first.unwrap_or(Interval::ZERO))?;
        let grid = Grid::flat(tensors.a.len());
        let write = |adder: &A| Write(adder).run(context, &grid, tensors);
        if let (Some(result), Fixed { min: true, max: true }) = (first, self.fixed) {
            write(&adder);
            return Ok((result, 1));
        }
        let found = match first {
            Some(_) => extremes(context, &WriteAndLook { adder: &adder, tensors }, tensors.a.len()),
            None => Look { adder: &adder, a: tensors.a, b: tensors.b }.extremes(context),
        };
        let Some(found) = found else { return Ok((first.unwrap_or(Interval::ZERO), 0)) };
        match adder.wider(self, first, found) {
            None => Ok((first.unwrap_or(Interval::ZERO), 1)),
            Some(wider) => {
                // What reaches as far as `first` reaches farther.
                write(&A::new(self, wider)?);
                Ok((wider, 2))
            }
        }
    }

    /// All that sums could be.
    fn whole(&self) -> Interval {
        Interval { min: self.a.min + self.b.min, max: self.a.max + self.b.max }
    }
}

/// Only codes, no extremes.
struct Write<'a, A>(&'a A);

impl<A: Adder> Write<'_, A> {
    fn run(&self, context: &Context, grid: &Grid, tensors: &Tensors<u8, u8, u8>) {
        /// Fewer elements take less time than to try all pairs of bytes.
        const WORTH_PROOF: usize = 1 << 19;
        let vectors = context.kernel.vectors;
        let is_worth_it = tensors.a.len() >= WORTH_PROOF && vectors.have_products();
        let weighted = if is_worth_it { self.0.weighted() } else { None };
        match weighted.filter(|weighted| linear::gives(vectors, weighted, self)) {
            Some(weighted) => linear::run(context, &weighted, grid, tensors),
            None => zip(context, self, grid, tensors),
        }
    }
}

impl<A: Adder> Zip for Write<'_, A> {
    type A = u8;
    type B = u8;
    type To = u8;

    #[inline(always)]
    fn of(&self, a: u8, b: u8) -> u8 {
        self.0.code(self.0.sum(a, b))
    }
}

/// Only extremes, no codes.
struct Look<'a, A> {
    adder: &'a A,
    a: Elements<'a, u8>,
    b: Elements<'a, u8>,
}

impl<A: Adder> Look<'_, A> {
    fn extremes(&self, context: &Context) -> Option<[A::Sum; 2]> {
        /// Fewer elements take less time than to look for what has a key.
        const WORTH_KEYS: usize = 1 << 16;
        let Self { adder, a, b } = *self;
        if a.len() >= WORTH_KEYS
            && let Some(keys) = adder.keys()
        {
            let found = extremes(context, &Keyed { keys, a, b }, a.len())?;
            let sums = keys.sums(found, |a, b| adder.sum(a, b));
            if sums.is_some() {
                return sums;
            }
        }
        extremes(context, self, a.len())
    }
}

impl<A: Adder> Numbers for Look<'_, A> {
    type Number = A::Sum;
    const BYTES: usize = 2;

    #[inline(always)]
    unsafe fn chunk<const N: usize>(&self, i: usize) -> [A::Sum; N] {
        sums(self.adder, self.a.chunk(i), self.b.chunk(i))
    }
}

/// Both.
struct WriteAndLook<'a, A> {
    adder: &'a A,
    tensors: &'a Tensors<'a, u8, u8, u8>,
}

impl<A: Adder> Numbers for WriteAndLook<'_, A> {
    type Number = A::Sum;
    const BYTES: usize = 3;

    #[inline(always)]
    unsafe fn chunk<const N: usize>(&self, i: usize) -> [A::Sum; N] {
        let sums = sums(self.adder, self.tensors.a.chunk::<N>(i), self.tensors.b.chunk(i));
        let mut codes = [0; N];
        for j in 0..N {
            codes[j] = self.adder.code(sums[j]);
        }
        // SAFETY: this function's own promise.
        unsafe { self.tensors.to.set(i, codes) }
        sums
    }
}

#[inline(always)]
fn sums<A: Adder, const N: usize>(adder: &A, a: [u8; N], b: [u8; N]) -> [A::Sum; N] {
    let mut sums = [adder.sum(a[0], b[0]); N];
    for i in 0..N {
        sums[i] = adder.sum(a[i], b[i]);
    }
    sums
}

#[cfg(test)]
mod tests;
