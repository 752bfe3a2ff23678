//! How the bytes of an operand become the numbers that the kernels read.

use crate::bit_depth::Requantization;
use crate::matrix::Encoding;

/// What is done to each byte of an operand while it is packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// What the stored bytes are read as.
    pub to: Encoding,
    /// What is added to each element, or to what it is requantized to.
    pub shift: i32,
    pub requantization: Option<Requantization>,
    /// Where in its matrix the operand's first line stands.
    pub first_line: usize,
}

impl Reading {
    /// The elements as they are, up to the shift that `to` demands.
    pub(crate) fn plain(from: Encoding, to: Encoding) -> Self {
        Self { to, shift: from.shift_to(to), requantization: None, first_line: 0 }
    }

    /// The greatest number that an element, seen as 0 to 255, is requantized to.
    pub(crate) fn levels(&self) -> i32 {
        self.requantization.map_or(255, |requantization| requantization.levels.into())
    }

    /// Whether what rounding adds to the means of lines is taken off the sums.
    pub(crate) fn is_compensated(&self) -> bool {
        self.requantization.is_some_and(|requantization| requantization.is_compensated)
    }

    /// What is added to each byte, modulo 256.
    #[inline(always)]
    pub(crate) fn added(&self) -> u8 {
        self.shift as u8
    }

    /// A byte that becomes zero.
    #[inline(always)]
    pub(crate) fn absent(&self) -> u8 {
        self.added().wrapping_neg()
    }

    /// Whether the bytes stay as they are.
    pub(crate) fn is_none(&self) -> bool {
        self.shift == 0 && self.requantization.is_none()
    }

    /// Whether signed bytes are just read as unsigned ones, 128 greater.
    pub(crate) fn is_turn(&self) -> bool {
        (self.to, self.shift) == (Encoding::U8, 128) && self.requantization.is_none()
    }

    /// A part of a line from `depth` on, requantized, but not shifted.
    #[inline(always)]
    pub(crate) fn along_depth(&self, (line, depth): (usize, usize), src: &[u8], to: &mut [u8]) {
        match &self.requantization {
            Some(requantization) => requantization.along_depth((self.first_line + line, depth), src, to),
            None => to.copy_from_slice(src),
        }
    }

    /// The elements of lines from one on, at one depth, requantized, but not shifted.
    #[inline(always)]
    pub(crate) fn along_lines(&self, (line, depth): (usize, usize), src: &[u8], to: &mut [u8]) {
        match &self.requantization {
            Some(requantization) => requantization.along_lines((self.first_line + line, depth), src, to),
            None => to.copy_from_slice(src),
        }
    }
}
