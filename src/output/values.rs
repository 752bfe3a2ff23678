//! Parameters of stages: one for all results, or one for each row or column.

use crate::kernel::MAX_WIDTH;
use crate::matrix::{Runs, bytes_of};
use std::ops::Range;

/// A parameter of a stage.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a, T> {
    /// The same for all results.
    Uniform(T),
    /// One for each row of the result.
    PerRow(&'a [T]),
    /// One for each column of the result.
    PerCol(&'a [T]),
}

impl<'a, T: Copy> Values<'a, T> {
    /// All of them, in no order that means anything.
    pub(crate) fn all(&self) -> &[T] {
        match self {
            Values::Uniform(x) => std::slice::from_ref(x),
            Values::PerRow(values) | Values::PerCol(values) => values,
        }
    }

    /// Where those that are not uniform lie.
    pub(crate) fn runs(&self) -> Option<Runs> {
        match self {
            Values::Uniform(_) => None,
            Values::PerRow(values) | Values::PerCol(values) => Some(bytes_of(values)),
        }
    }

    /// The parameters of the columns `cols` of a row.
    #[inline(always)]
    pub(super) fn lanes(&self, row: usize, cols: &Range<usize>) -> Lanes<'a, T> {
        match *self {
            Values::Uniform(x) => Lanes::Same(x),
            Values::PerRow(values) => Lanes::Same(values[row]),
            Values::PerCol(values) => Lanes::Each(&values[cols.clone()]),
        }
    }
}

/// A parameter along a row.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'a, T> {
    Same(T),
    Each(&'a [T]),
}

impl<T: Copy> Lanes<'_, T> {
    /// One value for each of `len` lanes.
    #[inline(always)]
    fn spread<'b>(&'b self, room: &'b mut [T; MAX_WIDTH], len: usize) -> &'b [T] {
        match self {
            Lanes::Each(values) => values,
            Lanes::Same(x) => {
                room[..len].fill(*x);
                &room[..len]
            }
        }
    }

    /// `of` each accumulator and its parameter. A loop over slices becomes vectors; one over arrays is unrolled first, and
    /// then seldom does.
    #[inline(always)]
    pub(super) fn apply(&self, acc: &mut [i32], of: impl Fn(i32, T) -> i32) {
        match *self {
            Lanes::Same(p) => acc.iter_mut().for_each(|x| *x = of(*x, p)),
            Lanes::Each(p) => acc.iter_mut().zip(p).for_each(|(x, &p)| *x = of(*x, p)),
        }
    }

    /// `of` each accumulator and its two parameters.
    #[inline(always)]
    pub(super) fn apply_both<U: Copy + Default>(&self, other: &Lanes<U>, acc: &mut [i32], of: impl Fn(i32, T, U) -> i32)
    where
        T: Default,
    {
        if let (&Lanes::Same(p), &Lanes::Same(q)) = (self, other) {
            return acc.iter_mut().for_each(|x| *x = of(*x, p, q));
        }
        let (mut room_p, mut room_q) = ([T::default(); MAX_WIDTH], [U::default(); MAX_WIDTH]);
        let (p, q) = (self.spread(&mut room_p, acc.len()), other.spread(&mut room_q, acc.len()));
        acc.iter_mut().zip(p.iter().zip(q)).for_each(|(x, (&p, &q))| *x = of(*x, p, q));
    }
}
