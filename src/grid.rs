//! Two tensors that are joined element by element to a third. What is broadcast is read again and again: it has a step of 0.

use crate::context::Context;
use crate::elements::{CHUNK, Elements, ElementsMut};
use crate::error::Error;
use crate::kernel::Loop;
use std::ops::Range;

/// What becomes of two elements.
pub(crate) trait Zip {
    type A: Copy + Sync;
    type B: Copy + Sync;
    type To: Copy + Send + Sync;

    /// Whether memory is waited for most of the time, if tensors are too much for the caches. To write others past them made
    /// QNNPACK's sums and those in f32, without a shorter formula, take 10 % longer.
    const IS_QUICK: bool = false;

    /// Always inlined, as `all` is; see [`Loop::run`].
    fn of(&self, a: Self::A, b: Self::B) -> Self::To;

    /// What becomes of `N` of each. Steps that narrow numbers are done for all of them at once where that suits vectors.
    #[inline(always)]
    fn all<const N: usize>(&self, a: [Self::A; N], b: [Self::B; N]) -> [Self::To; N] {
        let mut joined = [self.of(a[0], b[0]); N];
        for i in 0..N {
            joined[i] = self.of(a[i], b[i]);
        }
        joined
    }
}

/// How many dimensions tensors may have.
pub(crate) const MOST_DIMENSIONS: usize = 8;

/// The elements that follow each other, when there are too few for a whole [`CHUNK`].
const FEW: usize = 16;

/// One dimension: how many elements, and how far apart those of `a`, `b` and the result are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dimension {
    pub size: usize,
    pub steps: [usize; 3],
}

/// In which order the elements of all three tensors are visited: the last dimension is the innermost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    dimensions: [Dimension; MOST_DIMENSIONS],
    rank: usize,
}

impl Grid {
    /// Contiguous elements.
    pub(crate) fn flat(size: usize) -> Self {
        Self::of(&[Dimension { size, steps: [1, 1, 1] }])
    }

    /// Rows of `a`, to each of which `b` is joined.
    pub(crate) fn rows(rows: usize, depth: usize) -> Self {
        let inner = Dimension { size: depth, steps: [1, 1, 1] };
        Self::of(&[Dimension { size: rows, steps: [depth, 0, depth] }, inner])
    }

    /// Any dimensions, in any order.
    ///
    /// # Errors
    /// If elements of the result lie in the same place, or in places that this cannot tell apart: the step of each
    /// dimension has to reach over all elements of those with lesser steps.
    pub(crate) fn new(dimensions: &[Dimension]) -> Result<Self, Error> {
        let mut sorted = [Dimension::default(); MOST_DIMENSIONS];
        let sorted = &mut sorted[..dimensions.len()];
        sorted.copy_from_slice(dimensions);
        // The result is written as contiguously as it goes. Insertion keeps the order of equals, and needs no memory.
        for i in 1..sorted.len() {
            let mut j = i;
            while j > 0 && sorted[j - 1].steps[2] < sorted[j].steps[2] {
                sorted.swap(j - 1, j);
                j -= 1;
            }
        }
        // Where there are no elements at all, none are in the same place.
        let is_empty = sorted.iter().any(|dimension| dimension.size == 0);
        let mut reach: usize = 1;
        for Dimension { size, steps } in sorted.iter().rev().filter(|dimension| dimension.size > 1 && !is_empty) {
            if steps[2] < reach {
                let value = i64::try_from(steps[2]).unwrap_or(i64::MAX);
                return Err(Error::Stride { argument: "c_strides", value, least: reach });
            }
            let last = steps[2].checked_mul(size - 1).and_then(|last| last.checked_add(reach));
            reach = last.ok_or(Error::TooLarge { argument: "c" })?;
        }
        Ok(Self::of(sorted))
    }

    /// Joins dimensions that all three tensors pass through in one go.
    fn of(dimensions: &[Dimension]) -> Self {
        let mut grid = Self { dimensions: [Dimension { size: 1, steps: [0; 3] }; MOST_DIMENSIONS], rank: 0 };
        for inner in dimensions.iter().filter(|dimension| dimension.size != 1) {
            if let Some(outer) = grid.dimensions[..grid.rank].last_mut()
                && (0..3).all(|i| inner.steps[i].checked_mul(inner.size) == Some(outer.steps[i]))
            {
                *outer = Dimension { size: outer.size.saturating_mul(inner.size), steps: inner.steps };
            } else {
                grid.dimensions[grid.rank] = *inner;
                grid.rank += 1;
            }
        }
        // A single element is contiguous.
        if grid.rank == 0 {
            grid.dimensions[0].steps = [1; 3];
            grid.rank = 1;
        }
        grid
    }

    fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..self.rank]
    }

    /// How many elements the result has; None if more than there are addresses.
    pub(crate) fn len(&self) -> Option<usize> {
        if self.dimensions().iter().any(|dimension| dimension.size == 0) {
            return Some(0);
        }
        self.dimensions().iter().try_fold(1usize, |len, dimension| len.checked_mul(dimension.size))
    }

    /// From the first to behind the last element of a tensor, 0 to 2; None if more than there are addresses.
    pub(crate) fn extent(&self, tensor: usize) -> Option<usize> {
        if self.len()? == 0 {
            return Some(0);
        }
        self.dimensions().iter().try_fold(1usize, |extent, dimension| {
            extent.checked_add(dimension.steps[tensor].checked_mul(dimension.size - 1)?)
        })
    }

    /// Whether the elements of a tensor lie as those of the result do.
    pub(crate) fn lies_as_the_result(&self, tensor: usize) -> bool {
        self.dimensions().iter().all(|dimension| dimension.steps[tensor] == dimension.steps[2])
    }

    /// Where element `index` is.
    fn place(&self, index: usize) -> [usize; MOST_DIMENSIONS] {
        let mut place = [0; MOST_DIMENSIONS];
        let mut rest = index;
        for (at, dimension) in place.iter_mut().zip(self.dimensions()).rev() {
            *at = rest % dimension.size;
            rest /= dimension.size;
        }
        place
    }
}

/// The elements of two tensors, and where those of the third go. Each reaches as far as the grid says.
pub(crate) struct Tensors<'a, A, B, To> {
    pub a: Elements<'a, A>,
    pub b: Elements<'a, B>,
    pub to: ElementsMut<'a, To>,
}

impl<A: Copy, B: Copy, To: Copy> Tensors<'_, A, B, To> {
    /// The same, the result written past the caches where [`ElementsMut::past_caches`] says so.
    pub(crate) fn past_caches(&self) -> Self {
        let (a, b, to) = (self.a, self.b, self.to.part(0..self.to.len()));
        let to = if to.runs().overlap(&b.runs()) { to } else { to.past_caches(&a.runs()) };
        Self { a, b, to }
    }
}

/// Joins all elements, on as many threads as pays.
pub(crate) fn zip<Z: Zip + Sync>(context: &Context, zip: &Z, grid: &Grid, tensors: &Tensors<Z::A, Z::B, Z::To>) {
    let past_caches = tensors.past_caches();
    let tensors = if Z::IS_QUICK { &past_caches } else { tensors };
    in_pieces(context, grid, tensors, |range| context.kernel.vectors.run(Piece { zip, grid, tensors, range }));
}

/// Calls `work` on ranges of elements of the result, on as many threads as pays.
pub(crate) fn in_pieces<A, B, To>(
    context: &Context,
    grid: &Grid,
    _tensors: &Tensors<A, B, To>,
    work: impl Fn(Range<usize>) + Sync,
) {
    let Some(len) = grid.len() else { return };
    context.in_pieces(len, size_of::<A>() + size_of::<B>() + size_of::<To>(), work);
}

/// What one thread joins.
pub(crate) struct Piece<'a, Z: Zip> {
    pub zip: &'a Z,
    pub grid: &'a Grid,
    pub tensors: &'a Tensors<'a, Z::A, Z::B, Z::To>,
    pub range: Range<usize>,
}

impl<Z: Zip> Loop for Piece<'_, Z> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let mut left = self.range.len();
        if left == 0 {
            return;
        }
        let dimensions = self.grid.dimensions();
        let inner = dimensions.len() - 1;
        let steps = dimensions[inner].steps;
        let mut place = self.grid.place(self.range.start);
        while left > 0 {
            let mut at = [0; 3];
            for (i, dimension) in dimensions.iter().enumerate() {
                for (at, step) in at.iter_mut().zip(dimension.steps) {
                    *at += place[i] * step;
                }
            }
            let len = left.min(dimensions[inner].size - place[inner]);
            self.run_of(at, steps, len);
            left -= len;
            // On to the next run.
            place[inner] = 0;
            let mut i = inner;
            while i > 0 {
                i -= 1;
                place[i] += 1;
                if place[i] < dimensions[i].size {
                    break;
                }
                place[i] = 0;
            }
        }
    }
}

impl<Z: Zip> Piece<'_, Z> {
    /// `len` elements along the innermost dimension.
    #[inline(always)]
    fn run_of(&self, [mut a, mut b, mut to]: [usize; 3], [a_step, b_step, to_step]: [usize; 3], len: usize) {
        let mut left = len;
        if a_step <= 1 && b_step <= 1 && to_step == 1 {
            if a_step == 1 && b_step == 1 {
                let done = self.chunks([a, b, to], left);
                (a, b, to, left) = (a + done, b + done, to + done, left - done);
            }
            while left >= CHUNK {
                self.chunk::<CHUNK>(self.tensors, [a, b, to], [a_step, b_step]);
                (a, b, to, left) = (a + a_step * CHUNK, b + b_step * CHUNK, to + CHUNK, left - CHUNK);
            }
            while left >= FEW {
                self.chunk::<FEW>(self.tensors, [a, b, to], [a_step, b_step]);
                (a, b, to, left) = (a + a_step * FEW, b + b_step * FEW, to + FEW, left - FEW);
            }
        }
        while left > 0 {
            self.chunk::<1>(self.tensors, [a, b, to], [1, 1]);
            (a, b, to, left) = (a + a_step, b + b_step, to + to_step, left - 1);
        }
    }

    /// Whole chunks of `len` elements that follow each other in all three tensors; how many elements those are. By itself, for a
    /// loop that knows the steps is twice as fast.
    #[inline(always)]
    fn chunks(&self, [a, b, to]: [usize; 3], len: usize) -> usize {
        let whole = len / CHUNK * CHUNK;
        // With lengths that the loop knows nothing is checked in it.
        let tensors = Tensors {
            a: self.tensors.a.part(a..a + whole),
            b: self.tensors.b.part(b..b + whole),
            to: self.tensors.to.part(to..to + whole),
        };
        for i in (0..whole / CHUNK).map(|i| i * CHUNK) {
            if Z::IS_QUICK && tensors.to.is_far() {
                tensors.a.fetch_ahead(i);
                tensors.b.fetch_ahead(i);
            }
            self.chunk::<CHUNK>(&tensors, [i; 3], [1, 1]);
        }
        whole
    }

    /// The steps are 0 or 1.
    #[inline(always)]
    fn chunk<const N: usize>(
        &self,
        tensors: &Tensors<Z::A, Z::B, Z::To>,
        [a, b, to]: [usize; 3],
        [a_step, b_step]: [usize; 2],
    ) {
        let a = if a_step == 1 { tensors.a.chunk::<N>(a) } else { [tensors.a.get(a); N] };
        let b = if b_step == 1 { tensors.b.chunk::<N>(b) } else { [tensors.b.get(b); N] };
        let joined = self.zip.all(a, b);
        match Z::IS_QUICK {
            // SAFETY: the pieces of different threads are apart.
            true => unsafe { tensors.to.put(to, joined) },
            // SAFETY: as above.
            false => unsafe { tensors.to.set(to, joined) },
        }
    }
}

#[cfg(test)]
mod tests;
