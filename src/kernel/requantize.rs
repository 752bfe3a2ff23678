//! Sums that become bytes: what most layers of a quantized network end with.

#[cfg(target_arch = "x86_64")]
use super::panel::Panel;
use crate::fixed_point::{high_mul_below_one, rounded, rounding_divide_by_pot, rounding_shift_right_up};
use crate::matrix::Block;

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
pub(super) mod avx512;
pub(super) mod near;
mod wide;

pub(crate) use wide::Wide;

/// How a sum is scaled.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// By factor · 2^(exponent - 31), rounded as `Rounding` of the same name says; no factor is -2³¹.
    Twice,
    TwiceUp,
    Once,
    /// By the float whose bits the factor is, rounded to nearest, ties to even; saturated.
    Float,
    /// By the factor, modulo 2³², then by 2^-exponent, rounded to nearest, ties away from zero.
    Down,
}

/// Numbers of 32 bits, as their bits: the same one for all columns, or one for each.
#[derive(Clone, Copy)]
pub enum Words<'a> {
    Same(i32),
    Ints(&'a [i32]),
    Floats(&'a [f32]),
}

impl Words<'_> {
    /// Of the columns from one on.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn from(self, first: usize) -> Self {
        match self {
            Words::Same(x) => Words::Same(x),
            Words::Ints(values) => Words::Ints(values.get(first..).unwrap_or_default()),
            Words::Floats(values) => Words::Floats(values.get(first..).unwrap_or_default()),
        }
    }

    /// 0 for columns that have none.
    #[inline(always)]
    fn array<const W: usize>(&self) -> [i32; W] {
        let mut words = [0; W];
        match self {
            Words::Same(x) => words = [*x; W],
            Words::Ints(values) => words.iter_mut().zip(*values).for_each(|(to, x)| *to = *x),
            Words::Floats(values) => words.iter_mut().zip(*values).for_each(|(to, x)| *to = x.to_bits() as i32),
        }
        words
    }
}

/// What each column of a panel has of its own. `bias + sums · times` is added before a sum is scaled.
pub(crate) struct Columns<'a> {
    pub bias: Words<'a>,
    pub sums: Words<'a>,
    pub times: i32,
    pub factor: Words<'a>,
    /// -31 to 0; of [`Rule::Down`] 0 to 31, and of [`Rule::Float`], anything.
    pub exponent: Words<'a>,
}

#[cfg(target_arch = "x86_64")]
impl Columns<'_> {
    /// Those from one on.
    #[inline(always)]
    fn from(&self, first: usize) -> Self {
        Self {
            bias: self.bias.from(first),
            sums: self.sums.from(first),
            times: self.times,
            factor: self.factor.from(first),
            exponent: self.exponent.from(first),
        }
    }
}

/// The columns of a panel, to whose sums so much is still to be added.
#[cfg(target_arch = "x86_64")]
#[inline]
fn columns_of<'p>(panel: &'p Panel, bias: Words<'p>) -> Columns<'p> {
    let (factor, exponent) = (Words::Ints(panel.factor.as_flattened()), Words::Ints(panel.exponent.as_flattened()));
    Columns { bias, sums: Words::Same(0), times: 0, factor, exponent }
}

/// What comes after scaling: `offset` is added, which wraps around, and the number confined to `least..=greatest`, which
/// are both of u8 or both of i8.
#[derive(Clone, Copy)]
pub(crate) struct Last {
    pub offset: i32,
    pub least: i32,
    pub greatest: i32,
}

impl Last {
    #[inline(always)]
    fn byte(&self, number: i32) -> u8 {
        number.wrapping_add(self.offset).max(self.least).min(self.greatest) as u8
    }
}

/// Rows of sums of a panel, what is added to those of each (nothing, if there are no terms), and how many columns become bytes.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, const W: usize> {
    sums: &'a [i32],
    /// From one row's first to the next one's.
    pitch: usize,
    count: usize,
    pub terms: &'a [i32],
    pub cols: usize,
}

impl<'a, const W: usize> Rows<'a, W> {
    /// Those of a tile.
    #[inline(always)]
    pub(crate) fn of_tile(acc: &'a [[i32; W]], terms: &'a [i32], cols: usize) -> Self {
        Self { sums: acc.as_flattened(), pitch: W, count: acc.len(), terms, cols }
    }

    /// So many of which each has a panel's sums, those beyond the columns being anything.
    ///
    /// # Panics
    /// If there are fewer.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn new(sums: &'a [i32], pitch: usize, count: usize, terms: &'a [i32], cols: usize) -> Self {
        assert!(count == 0 || (count - 1) * pitch + W <= sums.len());
        Self { sums, pitch, count, terms, cols }
    }

    /// None if they are of another width.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn of_width<const V: usize>(self) -> Option<Rows<'a, V>> {
        let Self { sums, pitch, count, terms, cols } = self;
        if V == W { Some(Rows { sums, pitch, count, terms, cols }) } else { None }
    }

    #[inline(always)]
    fn row(&self, i: usize) -> &'a [i32; W] {
        assert!(i < self.count);
        // SAFETY: there are so many sums of as many rows, as whoever made this saw to.
        unsafe { &*self.sums.as_ptr().add(i * self.pitch).cast() }
    }

    #[inline(always)]
    fn term(&self, i: usize) -> i32 {
        self.terms.get(i).copied().unwrap_or(0)
    }
}

/// With what the function around it is compiled for. Each row's bytes go to the next place, which has room for all.
#[inline(always)]
pub(super) fn requantize<const W: usize>(rule: Rule, columns: &Columns, last: Last, rows: Rows<W>, to: Block<u8>) {
    // Each by itself, so that it is a loop without the others.
    match rule {
        Rule::Twice => each(columns, last, rows, to, |x, factor, exponent| Rule::Twice.scaled(x, factor, exponent)),
        Rule::TwiceUp => each(columns, last, rows, to, |x, factor, exponent| Rule::TwiceUp.scaled(x, factor, exponent)),
        Rule::Once => each(columns, last, rows, to, |x, factor, exponent| Rule::Once.scaled(x, factor, exponent)),
        Rule::Float => each(columns, last, rows, to, |x, factor, exponent| Rule::Float.scaled(x, factor, exponent)),
        Rule::Down => each(columns, last, rows, to, |x, factor, exponent| Rule::Down.scaled(x, factor, exponent)),
    }
}

impl Rule {
    #[inline(always)]
    fn scaled(self, x: i32, factor: i32, exponent: i32) -> i32 {
        match self {
            Rule::Twice => rounding_divide_by_pot(high_mul_below_one(x, factor), right(exponent)),
            Rule::TwiceUp => rounding_shift_right_up(high_mul_below_one(x, factor), right(exponent)),
            Rule::Once => {
                // |product| ≤ 2⁶² - 2³¹, so that no result saturates.
                let (product, shift) = (i64::from(x) * i64::from(factor), 31 + right(exponent));
                ((product + (1 << (shift - 1))) >> shift) as i32
            }
            Rule::Float => rounded(x as f32 * f32::from_bits(factor as u32)),
            Rule::Down => rounding_divide_by_pot(x.wrapping_mul(factor), exponent as u32 & 31),
        }
    }
}

/// How far an exponent shifts to the right.
#[inline(always)]
fn right(exponent: i32) -> u32 {
    exponent.wrapping_neg() as u32 & 31
}

#[inline(always)]
fn each<const W: usize>(
    columns: &Columns,
    last: Last,
    rows: Rows<W>,
    to: Block<u8>,
    scaled: impl Fn(i32, i32, i32) -> i32,
) {
    let (mut added, sums): ([_; W], [_; W]) = (columns.bias.array(), columns.sums.array());
    added.iter_mut().zip(&sums).for_each(|(added, sum)| *added = added.wrapping_add(sum.wrapping_mul(columns.times)));
    let (factors, exponents): ([_; W], [_; W]) = (columns.factor.array(), columns.exponent.array());
    for (i, to) in (0..rows.count).zip(to) {
        let (sums, of_row, mut bytes) = (rows.row(i), rows.term(i), [0; W]);
        for j in 0..W {
            let sum = sums[j].wrapping_add(added[j]).wrapping_add(of_row);
            bytes[j] = last.byte(scaled(sum, factors[j], exponents[j]));
        }
        match to.first_chunk_mut() {
            Some(whole) => *whole = bytes,
            None => to.iter_mut().zip(&bytes).for_each(|(to, byte)| *to = *byte),
        }
    }
}
