//! A plan as bytes: what it was made of, for its table is made again in no time.
//!
//! | at  | bytes | what                                                                                         |
//! |-----|-------|----------------------------------------------------------------------------------------------|
//! |   0 |     8 | 89 51 43 4f 4e 56 0d 0a: "\x89QCONV\r\n"                                                     |
//! |   8 |     4 | version of the format: 1                                                                     |
//! |  12 |     2 | types of the image and of the weights: 1 u8, 2 s8                                            |
//! |  14 |     2 | 0                                                                                            |
//! |  16 |    80 | vertically, then horizontally: taps, stride, dilation, padding before and after the image    |
//! |  96 |    24 | channels of an image and of the result; groups                                               |
//! | 120 |    24 | images, their height, their width                                                            |
//! | 144 |     4 | CRC-32 (of IEEE 802.3) of the 144 bytes before it                                            |
//!
//! Numbers of which it does not say otherwise have 8 bytes; all are little-endian.

use super::{Axis, Filter, Images, Plan};
use crate::error::Error;
use crate::matrix::Encoding;

pub(crate) const LEN: usize = 148;
const MAGIC: [u8; 8] = *b"\x89QCONV\r\n";
const VERSION: u32 = 1;
const NUMBERS: usize = 16;

impl Plan {
    pub(crate) fn save(&self) -> [u8; LEN] {
        let (filter, images) = (self.filter(), self.images());
        let [vertical, horizontal] = filter.axes.map(of_axis);
        let rest =
            [filter.channels[0], filter.channels[1], filter.groups, images.count, images.size[0], images.size[1]];
        let mut bytes = Vec::with_capacity(LEN);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(filter.encodings.map(|encoding| if encoding == Encoding::U8 { 1 } else { 2 }));
        bytes.extend([0, 0]);
        bytes.extend([&vertical[..], &horizontal, &rest].concat().iter().flat_map(|&x| (x as u64).to_le_bytes()));
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.try_into().expect("as many bytes as the table says")
    }

    /// # Errors
    /// [`Error::PlanDamaged`], or as [`Plan::new`].
    pub(crate) fn load(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |why| Error::PlanDamaged { why };
        let bytes: &[u8; LEN] = bytes.try_into().map_err(|_| damaged("they are too few or too many"))?;
        let (content, checksum) = bytes.split_at(LEN - 4);
        let (head, numbers) = content.split_at(16);
        if head[..8] != MAGIC {
            return Err(damaged("they begin otherwise"));
        }
        if crc32fast::hash(content).to_le_bytes() != checksum {
            return Err(damaged("the checksum is wrong"));
        }
        if head[8..12] != VERSION.to_le_bytes() {
            return Err(damaged("they have another version: make the plan anew"));
        }
        let mut rest = [0; NUMBERS];
        for (number, bytes) in rest.iter_mut().zip(numbers.as_chunks().0) {
            *number = usize::try_from(u64::from_le_bytes(*bytes)).unwrap_or(usize::MAX);
        }
        let encoding = |code| match code {
            1 => Ok(Encoding::U8),
            2 => Ok(Encoding::S8),
            _ => Err(damaged("they make no sense")),
        };
        let filter = Filter {
            axes: [axis(&rest[..5]), axis(&rest[5..10])],
            channels: [rest[10], rest[11]],
            groups: rest[12],
            encodings: [encoding(head[12])?, encoding(head[13])?],
        };
        filter.check().map_err(|_| damaged("they make no sense"))?;
        Self::new(filter, Images { count: rest[13], size: [rest[14], rest[15]] })
    }
}

fn of_axis(axis: Axis) -> [usize; 5] {
    [axis.taps, axis.stride, axis.dilation, axis.padding[0], axis.padding[1]]
}

fn axis(numbers: &[usize]) -> Axis {
    Axis { taps: numbers[0], stride: numbers[1], dilation: numbers[2], padding: [numbers[3], numbers[4]] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let axis = |taps, stride, dilation, padding| Axis { taps, stride, dilation, padding };
        let axes = [axis(3, 2, 1, [1, 0]), axis(5, 1, 3, [7, 2])];
        let filter = Filter { axes, channels: [6, 4], groups: 2, encodings: [Encoding::S8, Encoding::U8] };
        Plan::new(filter, Images { count: 9, size: [17, 31] }).unwrap()
    }

    #[test]
    fn a_plan_is_what_was_saved() {
        let plan = plan();
        let loaded = Plan::load(&plan.save()).unwrap();
        assert_eq!((loaded.filter(), loaded.images()), (plan.filter(), plan.images()));
        assert_eq!(loaded.reaches(), plan.reaches());
    }

    #[test]
    fn whatever_is_damaged_is_refused() {
        let bytes = plan().save();
        for at in 0..LEN {
            for bit in 0..8 {
                let mut bytes = bytes;
                bytes[at] ^= 1 << bit;
                assert!(matches!(Plan::load(&bytes), Err(Error::PlanDamaged { .. })), "byte {at}, bit {bit}");
            }
            assert!(matches!(Plan::load(&bytes[..at]), Err(Error::PlanDamaged { .. })));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_though_the_checksum_is_right() {
        for (at, value) in [(16, 0), (24, 0), (32, 0), (56, 0), (112, 0), (112, 4), (96, 7), (12, 3)] {
            let mut bytes = plan().save();
            bytes[at] = value;
            let checksum = crc32fast::hash(&bytes[..LEN - 4]).to_le_bytes();
            bytes[LEN - 4..].copy_from_slice(&checksum);
            assert!(matches!(Plan::load(&bytes), Err(Error::PlanDamaged { .. })), "{at}");
        }
    }
}
