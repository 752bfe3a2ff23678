//! Fewer bits than eight.

use super::Failure;
use super::Within;
use super::versioned::{self, Versioned};
use crate::bit_depth::{BitDepths, RoundingMode};
use crate::error::Error;

/// Rounding to fewer bits: to nearest.
pub const QGEMM_REQUANTIZE_NEAREST: u32 = 1;
/// Rounding to fewer bits: up or down, without bias, by a generator of shifts and exclusive ors.
pub const QGEMM_REQUANTIZE_XORSHIFT: u32 = 2;
/// Rounding to fewer bits: up or down, without bias, by a generator of additions modulo 255.
pub const QGEMM_REQUANTIZE_ADD_MOD: u32 = 3;
/// Rounding to fewer bits: to nearest, and what that adds to the means of rows of lhs and columns of rhs is taken off the
/// sums again. As a rule the most accurate, at any depth.
pub const QGEMM_REQUANTIZE_COMPENSATED: u32 = 4;

/// Flag of a bit depth: requantize also products that are too small, or too flat, for it to pay.
pub const QGEMM_REQUANTIZE_ALWAYS: u32 = 1;

/// How many bits of the elements count: gemmlowp's less-than-8-bit computation, as it was until 2017. All zeros, beside
/// the size, are 8 bits. gemmlowp's L7R5, which EightBitIntGemm called A5B7, is
///
///     qgemm_bit_depth l7r5 = QGEMM_BIT_DEPTH_INIT;
///     l7r5.lhs_bits = 7, l7r5.rhs_bits = 5;
///     options.bit_depth = &l7r5;
///
/// An element x, seen as 0 to 255 (of type s8: x + 128), becomes q = (x * L + r) / 255, rounded down, where L = 2^bits - 1
/// is the greatest q. With all 8 bits q is x. What is added, r, rounds: 127 to nearest; 0 to 254, from a generator, to
/// either side, so that on average q * 255 / L is x. Sums are scaled back up in four terms, a and b being the offsets
/// (of type s8: less 128), and ~ a rounding to nearest:
///
///     sum(i,j) = ~(sum of lhs_q * rhs_q * 255 * 255 / (L * R)) + ~(b(j) * sum of lhs_q * 255 / L)
///              + ~(a(i) * sum of rhs_q * 255 / R)              + k * a(i) * b(j)
///
/// Elements 0 and 255, of type s8 -128 and 127, and offsets stay exact; other elements are off by less than 255 / L, to
/// nearest by no more than half of that. In deep sums the errors of elements average out, but to nearest only where the
/// elements differ: hence the threshold. Below it, with the default rounding, the sums are those of gemmlowp before 2017,
/// bit for bit; from there on gemmlowp's own depended on how it cut the matrices. The accuracy is measured by what lies in
/// benches/bit_depths: on a layer of GoogLeNet scaled down to u8 with L7R5, results are off by 1 in the median, and by no
/// more than 8.
///
/// Nearest can be compensated: with X the sum of a row of lhs, offsets included, X' that of what it was rounded to, and
/// e = (X' - X) / k, and so Y, Y' and f of a column of rhs,
///
///     sum'(i,j) = sum(i,j) - ~(e(i) * (Y(j) + Y'(j)) / 2 + (X(i) + X'(i)) / 2 * f(j))
///
/// in float: each of the four factors is rounded from double, the products and their sum by themselves, ~ ties to even. On that
/// layer results are then off by no more than 5, and from 8 x 4 bits on they meet gemmlowp's criteria; see benches/bit_depths,
/// which also shows why no threshold is right for all data.
///
/// What r is depends on the side, the row or column and the depth alone, so that the bytes of the result do not depend
/// on kernel, threads, storage orders, or whether an operand is packed. A packed operand is unpacked first, block by
/// block: that is slower than the same operand as it lies.
///
/// Products with 2 * m * n < 100 * (m + n) are computed with all 8 bits, as in gemmlowp: all by vectors, and squares of
/// less than 100. Sums that wrap around at 32 bits do so in each of the four terms; QGEMM_CHECK_OVERFLOW bounds all of
/// them together, by k * (255 + |a|) * (255 + |b|), whatever the elements of a packed operand are.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawBitDepth {
    /// sizeof(qgemm_bit_depth).
    pub struct_size: usize,
    /// Bits of the elements of lhs: 1 to 8; 0 for all 8.
    pub lhs_bits: u32,
    /// Bits of those of rhs.
    pub rhs_bits: u32,
    /// QGEMM_REQUANTIZE_NEAREST, _XORSHIFT, _ADD_MOD or _COMPENSATED for products of a depth k below the threshold; 0 for
    /// _NEAREST.
    pub rounding_below: u32,
    /// One of these for products from the threshold on; 0 for QGEMM_REQUANTIZE_ADD_MOD.
    pub rounding_from: u32,
    /// A depth, at least 0; 0 for gemmlowp's, 384.
    pub threshold: i64,
    /// 0 or QGEMM_REQUANTIZE_ALWAYS.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: repr(C), the size first, then integers.
unsafe impl Versioned for RawBitDepth {
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl RawBitDepth {
    /// None if `from` is null.
    ///
    /// # Safety
    /// `from` is null or points at as many bytes as it says.
    pub(super) unsafe fn read(argument: &'static str, from: *const Self) -> Result<Option<BitDepths>, Failure> {
        if from.is_null() {
            return Ok(None);
        }
        // SAFETY: this function's own promise.
        let read = unsafe { versioned::read(argument, from)? };
        read.depths().within(argument).map(Some)
    }

    fn depths(&self) -> Result<BitDepths, Error> {
        let depths = BitDepths::new(bits("lhs_bits", self.lhs_bits)?, bits("rhs_bits", self.rhs_bits)?);
        let below = rounding("rounding_below", self.rounding_below, depths.below)?;
        let from = rounding("rounding_from", self.rounding_from, depths.from)?;
        let threshold = match usize::try_from(self.threshold) {
            Ok(0) => depths.threshold,
            Ok(threshold) => threshold,
            Err(_) => {
                let expected = "a depth, or 0 for 384";
                return Err(Error::BitDepth { argument: "threshold", value: self.threshold, expected });
            }
        };
        if self.flags & !QGEMM_REQUANTIZE_ALWAYS != 0 {
            return Err(Error::Option { argument: "flags", value: self.flags });
        }
        if self.reserved != 0 {
            return Err(Error::Reserved { argument: "reserved" });
        }
        let always = self.flags & QGEMM_REQUANTIZE_ALWAYS != 0;
        Ok(BitDepths { below, from, threshold, always, ..depths })
    }
}

fn bits(argument: &'static str, value: u32) -> Result<u32, Error> {
    match value {
        0 => Ok(8),
        1..=8 => Ok(value),
        _ => Err(Error::BitDepth { argument, value: value.into(), expected: "1 to 8, or 0 for all 8" }),
    }
}

fn rounding(argument: &'static str, value: u32, default: RoundingMode) -> Result<RoundingMode, Error> {
    match value {
        0 => Ok(default),
        QGEMM_REQUANTIZE_NEAREST => Ok(RoundingMode::Nearest),
        QGEMM_REQUANTIZE_XORSHIFT => Ok(RoundingMode::Xorshift),
        QGEMM_REQUANTIZE_ADD_MOD => Ok(RoundingMode::AddMod),
        QGEMM_REQUANTIZE_COMPENSATED => Ok(RoundingMode::Compensated),
        _ => {
            let expected =
                "QGEMM_REQUANTIZE_NEAREST (1), _XORSHIFT (2), _ADD_MOD (3) or _COMPENSATED (4), or 0 for the default";
            Err(Error::BitDepth { argument, value: value.into(), expected })
        }
    }
}
