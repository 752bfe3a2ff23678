//! How many bits each number of a packed operand has.

use crate::error::Error;
use crate::matrix::{Encoding, Operand, Order};
use crate::packed::Side;
use std::ops::RangeInclusive;

/// Bits of each number: 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits(u8);

impl Bits {
    /// As many as a byte has.
    pub const ALL: Self = Self(8);

    /// None unless they are 1 to 8.
    pub fn new(bits: usize) -> Option<Self> {
        (1..=8).contains(&bits).then_some(Self(bits as u8))
    }

    pub(crate) fn get(self) -> usize {
        self.0.into()
    }

    /// Whether numbers take less than a byte.
    pub(crate) fn are_few(self) -> bool {
        self != Self::ALL
    }

    /// The numbers that so many bits hold.
    pub(crate) fn range(self, encoding: Encoding) -> RangeInclusive<i64> {
        let least = -i64::from(self.least(encoding));
        least..=least + (1 << self.0) - 1
    }

    /// What makes the least number 0.
    pub(crate) fn least(self, encoding: Encoding) -> i32 {
        match encoding {
            Encoding::U8 => 0,
            Encoding::S8 => 1 << (self.0 - 1),
        }
    }

    /// # Errors
    /// [`Error::Element`]: the first element, as the operand lies in memory, that is not of so many bits.
    pub(crate) fn check(self, operand: &Operand, side: Side) -> Result<(), Error> {
        if !self.are_few() || operand.lines == 0 || operand.depth == 0 {
            return Ok(());
        }
        let least = self.least(operand.encoding) as u8;
        let is_too_great = |&b: &u8| b.wrapping_add(least) >> self.0 != 0;
        let (runs, outer_is_row) = match operand.order {
            Order::DepthContiguous => (operand.lines, side == Side::Lhs),
            Order::LineContiguous => (operand.depth, side == Side::Rhs),
        };
        for outer in 0..runs {
            let run = operand.run(outer);
            // Most have none: to ask that of all at once is fast.
            if run.iter().fold(0, |seen, b| seen | b.wrapping_add(least)) >> self.0 == 0 {
                continue;
            }
            if let Some(inner) = run.iter().position(is_too_great) {
                let (row, col) = if outer_is_row { (outer, inner) } else { (inner, outer) };
                let value = operand.encoding.decode(run[inner]);
                return Err(Error::Element { row, col, value, bits: self });
            }
        }
        Ok(())
    }
}
