//! Which lines, of windows that may have gaps, meet a panel in one tile.

use super::session::HEIGHT;
use super::walk::ROWS;
use crate::kernel::relay::WIDTH;
use crate::matrix::{Gaps, Lines};
use std::ops::Range;

/// Lines of two registers, and which results their sums become.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// The first line of each.
    pub first: usize,
    pub second: usize,
    /// The first result, and how many there are: an even number.
    start: usize,
    count: usize,
}

/// How many bytes before the sums of each result of a cut there are.
pub(super) struct Places([u32; ROWS + HEIGHT]);

impl Places {
    /// Those of all rows of a tile in turn, from which others are copied.
    pub(super) const ALL: Self = {
        let mut places = [0; ROWS + HEIGHT];
        let mut row = 0;
        while row < ROWS {
            places[row] = (row * size_of::<[i32; WIDTH]>()) as u32;
            row += 1;
        }
        Self(places)
    };

    /// Those of so many results: of whole rows within those of a tile.
    #[inline(always)]
    pub(super) fn of(&self, results: usize) -> &[u32] {
        &self.0[..ROWS][..results]
    }
}

impl Cut {
    /// No results at all.
    const NONE: Self = Self { first: 0, second: 0, start: 0, count: 0 };

    #[inline(always)]
    pub(super) fn results(self) -> Range<usize> {
        self.start..self.start + self.count
    }

    /// How many bytes lines of the next are from these.
    #[inline(always)]
    pub(super) fn down_to(self, next: Self, pitch: usize) -> [usize; 2] {
        [
            next.first.wrapping_sub(self.first).wrapping_mul(pitch),
            next.second.wrapping_sub(self.second).wrapping_mul(pitch),
        ]
    }
}

/// Lines that are cut.
#[derive(Clone, Copy)]
pub(super) struct Cuts {
    gaps: Gaps,
    lines: usize,
    results: usize,
}

impl Cuts {
    /// None of lines that cannot be cut: fewer than a register has, or an odd number that is not more than a tile has rows.
    pub(super) fn of(lines: &Lines) -> Option<Self> {
        let (count, results) = (lines.count(), lines.meant());
        let gaps = lines.gaps().unwrap_or(Gaps { meant: count, of: count });
        let can_be = count >= HEIGHT && (results > ROWS || results.is_multiple_of(2));
        can_be.then_some(Self { gaps, lines: count, results })
    }

    /// That of the results from this one on, none if there are none, and their places. Others than windows are as many as some tiles
    /// have rows, whose places are all.
    #[inline(always)]
    pub(super) fn from(&self, are_windows: bool, start: usize, places: &mut Places) -> Cut {
        if are_windows {
            return self.of_windows(start, places);
        }
        Cut { first: start, second: start + HEIGHT, start, count: if start < self.results { ROWS } else { 0 } }
    }

    #[inline(never)]
    fn of_windows(&self, start: usize, places: &mut Places) -> Cut {
        let mut cut = self.fill(start, places);
        // A result of the cut before is computed again, if need be: it is the same.
        if !cut.count.is_multiple_of(2) && cut.results().end == self.results && start > 0 {
            cut = self.fill(start - 1, places);
        }
        cut.count &= !1;
        cut
    }

    /// With as many results as it can have.
    fn fill(&self, start: usize, Places(places): &mut Places) -> Cut {
        if start >= self.results {
            return Cut::NONE;
        }
        let Gaps { meant, of } = self.gaps;
        let (mut period, mut at) = (start / meant, start % meant);
        let (mut firsts, mut count) = ([0; 2], 0);
        for register in 0..2 {
            if start + count == self.results {
                // For nothing.
                firsts[register] = firsts[0];
                break;
            }
            let line = period * of + at;
            firsts[register] = line.min(self.lines - HEIGHT);
            let mut row = line - firsts[register];
            while row < HEIGHT && start + count < self.results {
                let some = (meant - at).min(HEIGHT - row);
                let from = register * HEIGHT + row;
                places[count..count + HEIGHT].copy_from_slice(&Places::ALL.0[from..from + HEIGHT]);
                (count, at, row) = (count + some, at + some, row + some);
                if at == meant {
                    (period, at, row) = (period + 1, 0, row + of - meant);
                }
            }
        }
        Cut { first: firsts[0], second: firsts[1], start, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Steps;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Each once, but for one that may be computed twice, and none of the lines between.
        #[test]
        fn cuts_have_all_lines_that_are_meant((meant, gap) in (1usize..80, 0usize..70), rows in 1usize..12) {
            let gaps = Gaps { meant, of: meant + gap };
            let count = (rows - 1) * gaps.of + meant;
            let bytes = vec![0; count];
            let lines = Lines::windows(&bytes, (count, 1), 1, Steps { runs: 1, step: 0 }).with_gaps(gaps);
            let Some(cuts) = Cuts::of(&lines) else {
                prop_assert!(count < HEIGHT || rows * meant <= ROWS && (rows * meant) % 2 == 1);
                return Ok(());
            };
            let (mut places, mut done) = (Places([u32::MAX; _]), 0);
            while done < rows * meant {
                let cut = cuts.from(true, done, &mut places);
                let Range { start, end } = cut.results();
                prop_assert!((start == done || start + 1 == done) && end > done && (end - start) % 2 == 0);
                prop_assert!(cut.first <= cut.second && cut.second + HEIGHT <= count);
                for (result, place) in (start..end).zip(places.of(end - start)) {
                    let row = *place as usize / size_of::<[i32; WIDTH]>();
                    let line = if row < HEIGHT { cut.first + row } else { cut.second + row - HEIGHT };
                    prop_assert_eq!(line, result / meant * gaps.of + result % meant);
                }
                done = end;
            }
            prop_assert!(cuts.from(true, done, &mut places).results().is_empty());
        }
    }
}
