//! Looking integers up: any function of 8 bits.

use crate::matrix::{Encoding, Runs, bytes_of};

/// Integers, the nearest that 8 bits hold, become entries of a table.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The entry of a number is that of the byte that stands for it.
    pub entries: &'a [u8; 256],
    /// How bytes stand for the numbers that are looked up.
    pub from: Encoding,
    /// How the entries stand for numbers.
    pub to: Encoding,
}

impl Table<'_> {
    /// Where the entries lie.
    pub(super) fn runs(&self) -> Runs {
        bytes_of(self.entries)
    }

    #[inline(always)]
    pub(super) fn apply(&self, numbers: &mut [i32]) {
        match (self.from, self.to) {
            (Encoding::U8, Encoding::U8) => self.look_up(numbers, |x| x.clamp(0, 255) as u8, i32::from),
            (Encoding::U8, Encoding::S8) => self.look_up(numbers, |x| x.clamp(0, 255) as u8, |b| i32::from(b as i8)),
            (Encoding::S8, Encoding::U8) => self.look_up(numbers, |x| x.clamp(-128, 127) as u8, i32::from),
            (Encoding::S8, Encoding::S8) => {
                self.look_up(numbers, |x| x.clamp(-128, 127) as u8, |b| i32::from(b as i8));
            }
        }
    }

    #[inline(always)]
    fn look_up(&self, numbers: &mut [i32], byte: impl Fn(i32) -> u8, number: impl Fn(u8) -> i32) {
        for x in numbers {
            *x = number(self.entries[usize::from(byte(*x))]);
        }
    }
}
