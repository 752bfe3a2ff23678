//! Tiles that are multiplied while the sums of the tile before become bytes: multiplications leave half of the processor's
//! vector units to other instructions.

use super::Tile;
use super::panel::Panel;
use crate::matrix::Output;
use std::mem::MaybeUninit;
use std::ops::Range;

/// How many rows, and how many columns, such tiles have at most.
pub(crate) const ROWS: usize = 12;
pub(crate) const WIDTH: usize = 32;

/// Of how many panels is known at a time how they become bytes, on kernels that take all of a product; and on others, which multiply
/// two at a time while two are open.
pub(crate) const TOGETHER: usize = 16;
pub(crate) const TWICE_TWO: usize = 4;

/// Rows of complete sums.
pub(crate) type Rows = [[i32; WIDTH]; ROWS];

/// What a kernel has that relays tiles.
pub(crate) struct RelayFns {
    /// How many panels are multiplied together at most.
    pub together: usize,
    /// Up to which depth a panel is worth it of which half or more has no columns, and beside how many rows at least.
    pub halves: usize,
    pub least_of_halves: usize,
    /// Whether windows may have gaps.
    pub takes_gaps: bool,
    /// Multiplies all rows by panels, tile by tile, and finishes each tile with the next, the first with the one that was `open`.
    /// The last may be open then.
    ///
    /// # Safety
    /// The CPU has the features that the function was compiled for; nobody else uses the places of the rows, nor of those that
    /// are open; and the panels of both are written.
    pub multiply: unsafe fn(strip: &Strip, open: &mut Open, room: &mut [Rows; 2]),
    /// Finishes the tile that is open.
    ///
    /// # Safety
    /// As above.
    pub finish: unsafe fn(result: &Bytes, open: &Open, room: &[Rows; 2]),
}

/// Rows that are multiplied by panels.
pub(crate) struct Strip<'a> {
    /// The lines, however many, and the panels, one after the other; fresh, and not to be written as sums.
    pub tile: Tile<'a>,
    /// Which of the result's `panels` are those of the columns: at least one.
    pub panels: Range<usize>,
    pub terms: Terms<'a>,
    /// The place of the first result.
    pub row: usize,
    pub col: usize,
    pub result: Bytes<'a>,
    pub out: &'a Output<'a, u8>,
}

/// The whole result: where it begins, how many bytes its rows are apart, and the panels, those of a strip and that of an open tile
/// at least.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    pub out: *mut u8,
    pub stride: usize,
    pub panels: &'a [MaybeUninit<Panel>],
}

/// A tile that is multiplied, but not finished: so many rows of sums, in room `turn`, of a panel or of it and the next.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    pub turn: usize,
    pub count: usize,
    pub panel: usize,
    pub are_two: bool,
    /// The place of its first result.
    pub row: usize,
    pub col: usize,
}

impl Open {
    pub(crate) const NONE: Self = Self { turn: 0, count: 0, panel: 0, are_two: false, row: 0, col: 0 };
}

/// What is added to the sums of each row: (`sums` + `depth`) · `times` + `bias`, of which sums and biases are 0 for rows
/// that have none.
pub(crate) struct Terms<'a> {
    pub sums: &'a [i32],
    pub depth: i32,
    pub times: i32,
    pub bias: &'a [i32],
}

impl<'a> Terms<'a> {
    /// Nothing.
    pub(crate) const NONE: Self = Self { sums: &[], depth: 0, times: 0, bias: &[] };

    /// What is added to the sums of so many rows, from one on.
    #[inline(always)]
    pub(crate) fn write(&self, first: usize, to: &mut [i32]) {
        to.fill(self.depth.wrapping_mul(self.times));
        for (to, sum) in to.iter_mut().zip(self.sums.get(first..).unwrap_or_default()) {
            *to = to.wrapping_add(sum.wrapping_mul(self.times));
        }
        for (to, bias) in to.iter_mut().zip(self.bias.get(first..).unwrap_or_default()) {
            *to = to.wrapping_add(*bias);
        }
    }

    /// That of the rows from this one on.
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    pub(crate) fn from(&self, row: usize) -> Self {
        let rest = |of_rows: &'a [i32]| of_rows.get(row..).unwrap_or_default();
        Self { sums: rest(self.sums), bias: rest(self.bias), ..*self }
    }

    /// What is added to the sums of this row.
    #[inline(always)]
    pub(crate) fn of(&self, row: usize) -> i32 {
        let of_row = |numbers: &[i32]| numbers.get(row).copied().unwrap_or(0);
        of_row(self.sums).wrapping_add(self.depth).wrapping_mul(self.times).wrapping_add(of_row(self.bias))
    }
}
