//! Parameters of stages: one for all results, or one for each row or column.

use super::{Region, Tile};
use crate::kernel::{Loop, Words};
use crate::matrix::{Runs, bytes_of};

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

/// What lies in 32 bits.
pub trait Word: Copy {
    /// Some of them, one for each column.
    fn words(values: &[Self]) -> Words<'_>;
    /// Its bits, as they lie there.
    fn from_word(word: i32) -> Self;
    /// The same, the other way round.
    fn to_word(self) -> i32;
}

impl Word for i32 {
    #[inline(always)]
    fn words(values: &[Self]) -> Words<'_> {
        Words::Ints(values)
    }

    #[inline(always)]
    fn from_word(word: i32) -> Self {
        word
    }

    #[inline(always)]
    fn to_word(self) -> i32 {
        self
    }
}

impl Word for f32 {
    #[inline(always)]
    fn words(values: &[Self]) -> Words<'_> {
        Words::Floats(values)
    }

    #[inline(always)]
    fn from_word(word: i32) -> Self {
        f32::from_bits(word as u32)
    }

    #[inline(always)]
    fn to_word(self) -> i32 {
        self.to_bits() as i32
    }
}

impl<'a, T: Copy> Values<'a, T> {
    /// All of them, in no order that means anything.
    #[inline]
    pub(crate) fn all(&self) -> &[T] {
        match self {
            Values::Uniform(x) => std::slice::from_ref(x),
            Values::PerRow(values) | Values::PerCol(values) => values,
        }
    }

    /// Where those that are not uniform lie.
    #[inline(always)]
    pub(crate) fn runs(&self) -> Option<Runs> {
        match self {
            Values::Uniform(_) => None,
            Values::PerRow(values) | Values::PerCol(values) => Some(bytes_of(values)),
        }
    }
}

impl<T: Copy> Values<'_, T> {
    /// Whether all of them are `so`. All are looked at, for so the compiler makes vectors of the loop.
    #[inline]
    pub(crate) fn are_all(&self, so: impl Fn(T) -> bool) -> bool {
        self.all().iter().fold(true, |all, &x| all & so(x))
    }

    /// The first that is not `so`, if there is one.
    #[inline]
    pub(crate) fn except(&self, so: impl Fn(T) -> bool) -> Option<T> {
        if self.are_all(&so) { None } else { self.all().iter().copied().find(|&x| !so(x)) }
    }
}

impl Values<'_, i32> {
    /// Whether all are -31 to 0, as most exponents are. In a loop of fewer instructions than it takes to compare each.
    #[inline]
    pub(crate) fn are_right_shifts(&self) -> bool {
        self.all().iter().fold(0, |bits, &x| bits | x.wrapping_add(31)) & !31 == 0
    }

    /// Whether none is negative, as most multipliers are not. As above.
    #[inline]
    pub(super) fn are_natural(&self) -> bool {
        self.all().iter().fold(0, |bits, &x| bits | x) >= 0
    }

    /// Adds to numbers of a region's rows, from row `first` on, the parameters of these, if each row has one.
    #[inline(always)]
    pub(super) fn add_to_rows(&self, region: &Region, first: usize, numbers: &mut [i32]) {
        if let Values::PerRow(values) = self {
            let values = &values[region.rows.start + first..];
            numbers.iter_mut().zip(values).for_each(|(x, y)| *x = x.wrapping_add(*y));
        }
    }
}

impl<T: Word> Values<'_, T> {
    #[inline(always)]
    pub(super) fn is_per_row(&self) -> bool {
        matches!(self, Values::PerRow(_))
    }

    /// The parameters of the columns of a region's row `i`.
    #[inline(always)]
    pub(super) fn of_row(&self, region: &Region, i: usize) -> Words<'_> {
        match self {
            Values::Uniform(x) => Words::Same(x.to_word()),
            Values::PerRow(values) => Words::Same(values[region.rows.start + i].to_word()),
            Values::PerCol(values) => T::words(&values[region.cols.clone()]),
        }
    }

    /// Turns each accumulator into `of` it and its parameter.
    #[inline(always)]
    pub(super) fn apply(&self, tile: &mut Tile, of: impl Fn(i32, T) -> i32) {
        if let Values::Uniform(p) = *self {
            return tile.acc.iter_mut().for_each(|x| *x = of(*x, p));
        }
        self.spread(tile, 0);
        let [p, _] = &tile.room;
        for (x, p) in tile.acc.iter_mut().zip(p.iter()) {
            *x = of(*x, T::from_word(*p));
        }
    }

    /// Turns each accumulator into `of` it and its two parameters.
    #[inline(always)]
    pub(super) fn apply_both<U: Word>(&self, other: &Values<U>, tile: &mut Tile, of: impl Fn(i32, T, U) -> i32) {
        if let (&Values::Uniform(p), &Values::Uniform(q)) = (self, other) {
            return tile.acc.iter_mut().for_each(|x| *x = of(*x, p, q));
        }
        self.spread(tile, 0);
        other.spread(tile, 1);
        let [p, q] = &tile.room;
        let parameters = p.iter().zip(q.iter());
        for (x, (p, q)) in tile.acc.iter_mut().zip(parameters) {
            *x = of(*x, T::from_word(*p), U::from_word(*q));
        }
    }

    /// Gives each accumulator its parameter, in one of the tile's rooms. One long loop over words with a word each is
    /// worth that: loops over single rows would cost as much in their beginnings and ends.
    #[inline(always)]
    pub(super) fn spread(&self, tile: &mut Tile, room: usize) {
        tile.vectors.run(Spreading { values: self, region: tile.region, width: tile.width, to: tile.room[room] });
    }
}

/// Giving each accumulator its parameter: compiled once, not for each stage.
struct Spreading<'a, T> {
    values: &'a Values<'a, T>,
    region: &'a Region<'a>,
    width: usize,
    to: &'a mut [i32],
}

impl<T: Word> Loop for Spreading<'_, T> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        match self.width {
            // Of a length that is known, a row takes an instruction or two.
            16 => self.rows_of::<16>(),
            32 => self.rows_of::<32>(),
            _ => self.rows(),
        }
    }
}

impl<T: Word> Spreading<'_, T> {
    #[inline(always)]
    fn rows_of<const W: usize>(self) {
        let to = self.to.as_chunks_mut::<W>().0;
        match *self.values {
            Values::Uniform(x) => to.as_flattened_mut().fill(x.to_word()),
            Values::PerRow(values) => {
                let values = &values[self.region.rows.clone()];
                to.iter_mut().zip(values).for_each(|(row, x)| *row = [x.to_word(); W]);
            }
            Values::PerCol(values) => {
                let values = &values[self.region.cols.clone()];
                // Beyond the columns anything will do.
                let mut row = [0; W];
                row.iter_mut().zip(values).for_each(|(to, x)| *to = x.to_word());
                to.fill(row);
            }
        }
    }

    #[inline(always)]
    fn rows(self) {
        let rows = self.to.chunks_exact_mut(self.width);
        match *self.values {
            Values::Uniform(x) => self.to.fill(x.to_word()),
            Values::PerRow(values) => {
                let values = &values[self.region.rows.clone()];
                rows.zip(values).for_each(|(row, x)| row.fill(x.to_word()));
            }
            Values::PerCol(values) => {
                let values = &values[self.region.cols.clone()];
                // Beyond the columns anything that can be computed with.
                rows.for_each(|row| {
                    row.fill(0);
                    row.iter_mut().zip(values).for_each(|(to, x)| *to = x.to_word());
                });
            }
        }
    }
}
