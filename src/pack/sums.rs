//! The sums of lines, as the kernels read them.

use super::native::sum;
use crate::matrix::Encoding;
use crate::reading::Reading;

/// The sum of the numbers that bytes are packed as.
#[inline(always)]
pub(super) fn sum_read(bytes: &[u8], reading: &Reading) -> i32 {
    sum_shifted(bytes, reading.added(), reading.to)
}

/// The sum of bytes that are numbers of `encoding` after `added` was added to each. They are summed as if unsigned, then put
/// right.
#[inline(always)]
fn sum_shifted(bytes: &[u8], added: u8, encoding: Encoding) -> i32 {
    let shift = encoding.shift_to(Encoding::U8);
    let added = added.wrapping_add(shift as u8);
    let sum = sum(bytes, added);
    (sum as i32).wrapping_sub(shift.wrapping_mul(bytes.len() as i32))
}

#[inline(always)]
pub(crate) fn sum_line<const WIDENED: bool>(line: &[u8], encoding: Encoding) -> i32 {
    if WIDENED {
        let numbers = line.as_chunks::<2>().0.iter().map(|&x| i32::from(i16::from_ne_bytes(x)));
        return numbers.fold(0, i32::wrapping_add);
    }
    sum_shifted(line, 0, encoding)
}
