//! The sums of lines, as the kernels read them.

use super::STRETCH;
use crate::matrix::{Encoding, Lines};

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
    // What is written to memory in parts and read as a whole takes long to read, so what is left goes by words.
    let mut sum = whole.split_last().map_or(0, |(last, whole)| sum_bytes(whole, last, added));
    let (words, few) = rest.as_chunks();
    for word in words {
        sum = sum.wrapping_add(sum_bytes_of(u64::from_le_bytes(*word), added, 8));
    }
    if !few.is_empty() {
        let word = match bytes.last_chunk() {
            Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * few.len()),
            None => few.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        sum = sum.wrapping_add(sum_bytes_of(word, added, few.len()));
    }
    (sum as i32).wrapping_sub(shift.wrapping_mul(bytes.len() as i32))
}

/// The same of a word's first bytes, 1 to 8; the others are 0.
#[inline(always)]
pub(super) fn sum_word(word: u64, count: usize, added: u8, encoding: Encoding) -> i32 {
    let shift = encoding.shift_to(Encoding::U8);
    let sum = sum_bytes_of(word, added.wrapping_add(shift as u8), count);
    (sum as i32).wrapping_sub(shift.wrapping_mul(count as i32))
}

/// The sum of a word's first bytes, 1 to 8, after `added` was added to each, modulo 256; the others are 0.
#[inline(always)]
fn sum_bytes_of(word: u64, added: u8, count: usize) -> u32 {
    const EACH: u64 = u64::MAX / 0xff;
    let added = (EACH * u64::from(added)) >> (64 - 8 * count);
    // The top bits apart, so that nothing is carried from one byte to the next.
    let top = EACH << 7;
    let bytes = ((word & !top) + (added & !top)) ^ ((word ^ added) & top);
    let low = u64::MAX / 0x101;
    let pairs = (bytes & low) + ((bytes >> 8) & low);
    (pairs.wrapping_mul(u64::MAX / 0xffff) >> 48) as u32
}

/// Shorter lines are summed one by one.
const WORTH_FOUR: usize = 8;

/// Sums as many lines of so many bytes as there are sums, after `added` was added to each byte: four at a time by `sum_four`, for to add
/// up what a vector of each holds takes as long as to sum a hundred bytes, and what is left by `sum_bytes`.
#[inline(always)]
pub(super) fn sum_each<'l>(
    line: impl Fn(usize) -> &'l [u8],
    (len, added, encoding): (usize, u8, Encoding),
    sums: &mut [i32],
    sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
    sum_four: &impl Fn([&[u8]; 4], u8) -> [u32; 4],
) {
    let shift = encoding.shift_to(Encoding::U8);
    let shifted = shift.wrapping_mul(len as i32);
    let mut done = 0;
    if len >= WORTH_FOUR {
        for four in sums.as_chunks_mut::<4>().0 {
            let all = [line(done), line(done + 1), line(done + 2), line(done + 3)];
            for (sum, of_bytes) in four.iter_mut().zip(sum_four(all, added.wrapping_add(shift as u8))) {
                *sum = (of_bytes as i32).wrapping_sub(shifted);
            }
            done += 4;
        }
    }
    for (i, sum) in sums.iter_mut().enumerate().skip(done) {
        *sum = sum_numbers(line(i), added, encoding, sum_bytes);
    }
}

/// Sums as many lines as there are sums, or sixteen and fewer at a time by `sum_sixteen`, if there is that.
#[inline(always)]
pub(crate) fn sum_lines<const WIDENED: bool, const WIDE: bool>(
    lines: &Lines,
    encoding: Encoding,
    sums: &mut [i32],
    sum_bytes: impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
    sum_four: impl Fn([&[u8]; 4], u8) -> [u32; 4],
    sum_sixteen: impl Fn(&Lines, Encoding, &mut [i32]),
) {
    if WIDENED {
        for (i, sum) in sums.iter_mut().enumerate() {
            let numbers = lines.get(i).as_chunks::<2>().0;
            *sum = numbers.iter().map(|&x| i32::from(i16::from_ne_bytes(x))).fold(0, i32::wrapping_add);
        }
    } else if WIDE {
        let mut done = 0;
        for some in sums.chunks_mut(16) {
            sum_sixteen(&lines.part(done..done + some.len()), encoding, some);
            done += some.len();
        }
    } else {
        sum_each(|line| lines.get(line), (lines.len(), 0, encoding), sums, &sum_bytes, &sum_four);
    }
}
