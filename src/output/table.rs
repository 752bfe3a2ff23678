//! Looking integers up: any function of 8 bits.

use super::tile::Tile;
use crate::kernel::{LookUpLoop, TOGETHER};
use crate::matrix::{Encoding, Runs, bytes_of};
use crate::range::ElementRange;

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
    pub(super) fn apply(&self, tile: &mut Tile) {
        if tile.vectors.look_up_sooner(tile.acc.len()) {
            return tile.vectors.run_look_up(self.entries, Numbers { table: self, numbers: tile.acc });
        }
        match (self.from, self.to) {
            (Encoding::U8, Encoding::U8) => self.one_by_one(tile.acc, |x| x.clamp(0, 255) as u8, i32::from),
            (Encoding::U8, Encoding::S8) => {
                self.one_by_one(tile.acc, |x| x.clamp(0, 255) as u8, |b| i32::from(b as i8))
            }
            (Encoding::S8, Encoding::U8) => self.one_by_one(tile.acc, |x| x.clamp(-128, 127) as u8, i32::from),
            (Encoding::S8, Encoding::S8) => {
                self.one_by_one(tile.acc, |x| x.clamp(-128, 127) as u8, |b| i32::from(b as i8));
            }
        }
    }

    #[inline(always)]
    fn one_by_one(&self, numbers: &mut [i32], byte: impl Fn(i32) -> u8, number: impl Fn(u8) -> i32) {
        for x in numbers {
            *x = number(self.entries[usize::from(byte(*x))]);
        }
    }
}

/// Looking up a tile's numbers: compiled once, not for each kernel.
struct Numbers<'a> {
    table: &'a Table<'a>,
    numbers: &'a mut [i32],
}

impl LookUpLoop for Numbers<'_> {
    #[inline(always)]
    fn run(self, look_up: impl Fn(&mut [u8])) {
        let ElementRange { least, greatest } = ElementRange::all(self.table.from);
        let (whole, rest) = self.numbers.as_chunks_mut::<TOGETHER>();
        // By themselves: of what the compiler knows the number of, it makes vectors that stay in registers.
        for numbers in whole {
            each(numbers, &mut [0; TOGETHER], (least, greatest), self.table.to, &look_up);
        }
        each(rest, &mut [0; TOGETHER][..rest.len()], (least, greatest), self.table.to, &look_up);
    }
}

#[inline(always)]
fn each(
    numbers: &mut [i32],
    bytes: &mut [u8],
    (least, greatest): (i32, i32),
    to: Encoding,
    look_up: &impl Fn(&mut [u8]),
) {
    for (byte, x) in bytes.iter_mut().zip(numbers.iter()) {
        *byte = *x.max(&least).min(&greatest) as u8;
    }
    look_up(bytes);
    match to {
        Encoding::U8 => numbers.iter_mut().zip(bytes).for_each(|(x, byte)| *x = (*byte).into()),
        Encoding::S8 => numbers.iter_mut().zip(bytes).for_each(|(x, byte)| *x = (*byte as i8).into()),
    }
}
