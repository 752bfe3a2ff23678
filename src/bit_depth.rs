//! Fewer than eight bits: operands are scaled down while they are packed, so that narrower accumulators hold their sums,
//! and the sums are scaled up again when a tile is finished. It relaxes accuracy, not the types of the matrices.
//!
//! An element x, from 0 to 255, becomes q = ⌊(x · (2^bits - 1) + r) / 255⌋, and x is about q · 255 / (2^bits - 1). What
//! is added before the division, r, decides how it rounds: 127 to nearest; what looks random, from 0 to 254, to either
//! side, without bias on average.
//!
//! gemmlowp had this until 2017. There r came from generators that were started anew for every thread and block; here it
//! depends on where in the user's matrix the element stands, so the result is the same however the product is computed.

use crate::matrix::{Encoding, Operand, Order};
use crate::packed::Side;
use crate::source::Factor;
use lattice::{Lattice, WINDOW};
use std::ops::Range;

mod lattice;

/// What is added before the division of a requantized element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundingMode {
    /// 127: to nearest.
    Nearest,
    /// Numbers of a generator by shifts and exclusive ors, of period 255.
    Xorshift,
    /// Numbers of a generator by addition modulo 255.
    AddMod,
    /// 127, and what that adds to the means of the lines is taken off the sums.
    Compensated,
}

/// How many bits of the operands count, and how those that do not are rounded off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitDepths {
    /// Of the elements of the LHS, 1 to 8. With 8 they stay as they are.
    pub lhs: u32,
    /// Of those of the RHS.
    pub rhs: u32,
    /// How to round where the depth of the product is less than the threshold.
    pub below: RoundingMode,
    /// How to round from there on.
    pub from: RoundingMode,
    /// A depth of products.
    pub threshold: usize,
    /// Also where a product is too small, or too flat, for it to pay.
    pub always: bool,
}

impl BitDepths {
    /// The threshold of gemmlowp.
    pub const THRESHOLD: usize = 384;

    /// So many bits, rounded as gemmlowp did.
    pub fn new(lhs: u32, rhs: u32) -> Self {
        let (below, from) = (RoundingMode::Nearest, RoundingMode::AddMod);
        Self { lhs, rhs, below, from, threshold: Self::THRESHOLD, always: false }
    }

    /// The factors of a product, to be requantized: where there is anything to gain, or always if so wished.
    ///
    /// # Panics
    /// If a depth is not 1 to 8.
    pub fn apply<'a>(&self, lhs: Factor<'a>, rhs: Factor<'a>) -> [Factor<'a>; 2] {
        assert!((1..=8).contains(&self.lhs) && (1..=8).contains(&self.rhs), "1 to 8 bits");
        if (self.lhs, self.rhs) == (8, 8) || !(self.always || is_worth_it(lhs.lines(), rhs.lines())) {
            return [lhs, rhs];
        }
        let mode = if lhs.depth() < self.threshold { self.below } else { self.from };
        [
            lhs.requantized(Requantization::new(self.lhs, mode, Side::Lhs, lhs.encoding())),
            rhs.requantized(Requantization::new(self.rhs, mode, Side::Rhs, rhs.encoding())),
        ]
    }
}

/// gemmlowp's rule, 2 rows · cols >= 100 (rows + cols): requantizing costs as rows + cols grow, and saves as rows · cols do.
fn is_worth_it(rows: usize, cols: usize) -> bool {
    rows as u128 * cols as u128 >= (rows as u128 + cols as u128) * 50
}

/// How the elements of one side are requantized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requantization {
    /// The greatest number that results: 2^bits - 1.
    pub levels: u8,
    /// What turns a byte of the operand into a number from 0 to 255.
    flip: u8,
    /// Where to look up what is added; None for 127.
    lattice: Option<&'static Lattice>,
    pub is_compensated: bool,
}

impl Requantization {
    pub(crate) fn new(bits: u32, mode: RoundingMode, side: Side, encoding: Encoding) -> Self {
        let lattice = match (mode, side) {
            (RoundingMode::Nearest | RoundingMode::Compensated, _) => None,
            (RoundingMode::Xorshift, Side::Lhs) => Some(&lattice::XORSHIFT_LHS),
            (RoundingMode::Xorshift, Side::Rhs) => Some(&lattice::XORSHIFT_RHS),
            (RoundingMode::AddMod, Side::Lhs) => Some(&lattice::ADD_MOD_LHS),
            (RoundingMode::AddMod, Side::Rhs) => Some(&lattice::ADD_MOD_RHS),
        };
        Self {
            levels: ((1u32 << bits) - 1) as u8,
            flip: encoding.shift_to(Encoding::U8) as u8,
            lattice,
            is_compensated: mode == RoundingMode::Compensated,
        }
    }

    /// How many bits result.
    pub(crate) fn bits(&self) -> u32 {
        self.levels.count_ones()
    }

    /// Requantizes a part of a line, from `depth` on.
    #[inline(always)]
    pub(crate) fn along_depth(&self, (line, depth): (usize, usize), src: &[u8], to: &mut [u8]) {
        assert_eq!(src.len(), to.len());
        for (i, (src, to)) in src.chunks(WINDOW).zip(to.chunks_mut(WINDOW)).enumerate() {
            let added = self.lattice.map_or(&NEAREST, |lattice| lattice.along_depth(line, depth + i * WINDOW));
            self.scale(added, src, to);
        }
    }

    /// Requantizes the elements of lines from `line` on, at one depth.
    #[inline(always)]
    pub(crate) fn along_lines(&self, (line, depth): (usize, usize), src: &[u8], to: &mut [u8]) {
        assert_eq!(src.len(), to.len());
        for (i, (src, to)) in src.chunks(WINDOW).zip(to.chunks_mut(WINDOW)).enumerate() {
            let added = self.lattice.map_or(&NEAREST, |lattice| lattice.along_lines(line + i * WINDOW, depth));
            self.scale(added, src, to);
        }
    }

    /// The sums of lines as they are, seen as numbers from 0 to 255.
    pub(crate) fn sum_lines(&self, operand: &Operand, lines: Range<usize>, sums: &mut [i32]) {
        let wide = |b: u8| i32::from(b ^ self.flip);
        match operand.order {
            Order::DepthContiguous => {
                for (sum, line) in sums.iter_mut().zip(lines) {
                    *sum = operand.run(line).iter().fold(0, |sum: i32, &b| sum.wrapping_add(wide(b)));
                }
            }
            Order::LineContiguous => {
                sums.fill(0);
                for depth in 0..operand.depth {
                    let run = &operand.run(depth)[lines.clone()];
                    sums.iter_mut().zip(run).for_each(|(sum, &b)| *sum = sum.wrapping_add(wide(b)));
                }
            }
        }
    }

    #[inline(always)]
    fn scale(&self, added: &[u8; WINDOW], src: &[u8], to: &mut [u8]) {
        for ((to, &x), &added) in to.iter_mut().zip(src).zip(added) {
            *to = self.of(x, added);
        }
    }

    #[inline(always)]
    fn of(&self, byte: u8, added: u8) -> u8 {
        // At most 255 · 255 + 254; of 8 bits nothing changes.
        ((u16::from(byte ^ self.flip) * u16::from(self.levels) + u16::from(added)) / 255) as u8
    }
}

static NEAREST: [u8; WINDOW] = [127; WINDOW];

#[cfg(test)]
mod tests;
