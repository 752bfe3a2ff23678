//! How many bits each number of a packed operand has.

use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Operand};
use crate::packed::Side;
use crate::range::{ElementRange, Stray};

/// Bits of each number: 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits(u8);

impl Kernel {
    /// The kernel that numbers of so many bits are packed for, whatever they are: the narrow one, if there is any, unless so few
    /// of their products fit 16 bits that it gains nothing. (With NEON 5 to 7 bits took up to 1.4 times as long.)
    pub(super) fn packer(&'static self, bits: Bits) -> &'static Self {
        const MOST: usize = if cfg!(target_arch = "x86_64") { 7 } else { 4 };
        if bits.get() <= MOST { self.narrow.unwrap_or(self) } else { self }
    }

    /// The kernels that read numbers of so many bits in products of this one.
    pub(super) fn readers(&'static self, bits: Bits) -> impl Iterator<Item = &'static Self> {
        std::iter::once(self.packer(bits)).chain(self.narrow.filter(|_| !bits.are_few()))
    }
}

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
    pub(crate) fn range(self, encoding: Encoding) -> ElementRange {
        let least = -self.least(encoding);
        ElementRange { least, greatest: least + (1 << self.0) - 1 }
    }

    /// What makes the least number 0.
    pub(crate) fn least(self, encoding: Encoding) -> i32 {
        match encoding {
            Encoding::U8 => 0,
            Encoding::S8 => 1 << (self.0 - 1),
        }
    }

    /// # Errors
    /// [`Error::Element`]: the first element, line by line, that is not of so many bits.
    pub(crate) fn check(self, operand: &Operand, side: Side) -> Result<(), Error> {
        let stray = if self.are_few() { self.range(operand.encoding).stray(operand) } else { None };
        let Some(Stray { line, depth, value }) = stray else { return Ok(()) };
        let (row, col) = if side == Side::Lhs { (line, depth) } else { (depth, line) };
        Err(Error::Element { row, col, value, bits: self })
    }
}
