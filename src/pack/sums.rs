//! The sums of lines, as the kernels read them.

use super::STRETCH;
use super::short::copy_short;
use crate::matrix::Encoding;

/// The sum of bytes that are numbers of `encoding` after `added` was added to each. They are summed as if unsigned, which
/// takes one instruction for many bytes, by `sum_bytes`, then put right.
#[inline(always)]
pub(super) fn sum_numbers(
    bytes: &[u8],
    added: u8,
    encoding: Encoding,
    sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) -> i32 {
    let shift = encoding.shift_to(Encoding::U8);
    let added = added.wrapping_add(shift as u8);
    let (whole, rest) = bytes.as_chunks();
    let mut last = [added.wrapping_neg(); STRETCH];
    copy_short(rest, &mut last[..rest.len()]);
    let sum = sum_bytes(whole, &last, added);
    (sum as i32).wrapping_sub(shift.wrapping_mul(bytes.len() as i32))
}

#[inline(always)]
pub(crate) fn sum_line<const WIDENED: bool>(
    line: &[u8],
    encoding: Encoding,
    sum_bytes: impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) -> i32 {
    if WIDENED {
        let numbers = line.as_chunks::<2>().0.iter().map(|&x| i32::from(i16::from_ne_bytes(x)));
        return numbers.fold(0, i32::wrapping_add);
    }
    sum_numbers(line, 0, encoding, &sum_bytes)
}
