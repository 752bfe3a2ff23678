//! Sums that become bytes: what most layers of a quantized network end with.

use crate::fixed_point::{high_mul_below_one, rounded, rounding_divide_by_pot, rounding_shift_right_up};

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
pub(super) mod avx512;

/// How a sum is scaled.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// By factor · 2^(-right - 31), rounded as `Rounding` of the same name says; no factor is -2³¹.
    Twice,
    TwiceUp,
    Once,
    /// By the float whose bits the factor is, rounded to nearest, ties to even; saturated.
    Float,
}

/// What each column of a panel has of its own.
pub(crate) struct Columns<const W: usize> {
    /// Added before the sum is scaled.
    pub added: [i32; W],
    pub factor: [i32; W],
    /// 0 to 31; of [`Rule::Float`], anything.
    pub right: [i32; W],
}

/// What comes after scaling: `offset` is added, which wraps around, and the number confined to `least..=greatest`, which
/// are both of u8 or both of i8.
#[derive(Clone, Copy)]
pub(crate) struct Last {
    pub offset: i32,
    pub least: i32,
    pub greatest: i32,
}

/// Rows of sums, what is added to those of each (nothing, if there are no terms), and how many columns become bytes.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, const W: usize> {
    pub sums: &'a [[i32; W]],
    pub terms: &'a [i32],
    pub cols: usize,
}

impl<const W: usize> Rows<'_, W> {
    #[inline(always)]
    fn term(&self, i: usize) -> i32 {
        self.terms.get(i).copied().unwrap_or(0)
    }
}

/// With what the function around it is compiled for. Each row's bytes go to the next place, which has room for all.
#[inline(always)]
pub(super) fn requantize<'r, const W: usize>(
    rule: Rule,
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
) {
    match rule {
        Rule::Twice => each(columns, last, rows, to, |x, factor, right| {
            rounding_divide_by_pot(high_mul_below_one(x, factor), right as u32 & 31)
        }),
        Rule::TwiceUp => each(columns, last, rows, to, |x, factor, right| {
            rounding_shift_right_up(high_mul_below_one(x, factor), right as u32 & 31)
        }),
        Rule::Once => each(columns, last, rows, to, |x, factor, right| {
            // |product| ≤ 2⁶² - 2³¹, so that no result saturates.
            let (product, shift) = (i64::from(x) * i64::from(factor), 31 + (right & 31));
            ((product + (1 << (shift - 1))) >> shift) as i32
        }),
        Rule::Float => each(columns, last, rows, to, |x, factor, _| rounded(x as f32 * f32::from_bits(factor as u32))),
    }
}

#[inline(always)]
fn each<'r, const W: usize>(
    columns: &Columns<W>,
    last: Last,
    rows: Rows<W>,
    to: impl Iterator<Item = &'r mut [u8]>,
    scaled: impl Fn(i32, i32, i32) -> i32,
) {
    for (i, (sums, to)) in rows.sums.iter().zip(to).enumerate() {
        let (of_row, mut bytes) = (rows.term(i), [0; W]);
        for j in 0..W {
            let sum = sums[j].wrapping_add(columns.added[j]).wrapping_add(of_row);
            let number = scaled(sum, columns.factor[j], columns.right[j]).wrapping_add(last.offset);
            bytes[j] = number.max(last.least).min(last.greatest) as u8;
        }
        match to.first_chunk_mut() {
            Some(whole) => *whole = bytes,
            None => to.iter_mut().zip(&bytes).for_each(|(to, byte)| *to = *byte),
        }
    }
}
