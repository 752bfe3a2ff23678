//! Memory for lines to be prepared in.

use crate::buffer::Carver;
use crate::prepare::{Prepared, Room};

/// Memory for lines to be prepared in.
#[derive(Default)]
pub(crate) struct Space<'s> {
    pub(super) bytes: &'s mut [u8],
    pub(super) sums: &'s mut [i32],
    pub(super) unpacked: &'s mut [u8],
    pub(super) originals: &'s mut [i32],
}

impl<'s> Space<'s> {
    pub(crate) fn len(room: Room) -> usize {
        let ints = |len: usize| Carver::cost(len * size_of::<i32>());
        Carver::cost(room.bytes) + ints(room.sums) + Carver::cost(room.unpacked) + ints(room.originals)
    }

    pub(crate) fn carve(carver: &mut Carver<'s>, room: Room) -> Self {
        Self {
            bytes: carver.bytes(room.bytes),
            sums: carver.ints(room.sums),
            unpacked: carver.bytes(room.unpacked),
            originals: carver.ints(room.originals),
        }
    }

    /// The first part of this memory; what is left is the rest.
    pub(crate) fn split_off(&mut self, room: Room) -> Self {
        Self {
            bytes: self.bytes.split_off_mut(..room.bytes).expect("room for all lines"),
            sums: self.sums.split_off_mut(..room.sums).expect("a sum for each line"),
            unpacked: self.unpacked.split_off_mut(..room.unpacked).expect("room for all lines, unpacked"),
            originals: self.originals.split_off_mut(..room.originals).expect("another sum for each line"),
        }
    }

    /// What all pieces of this memory together hold, from line `first` on.
    pub(crate) fn prepared(self, first: usize) -> Prepared<'s> {
        Prepared { first, bytes: self.bytes, sums: self.sums, originals: self.originals }
    }

    /// As much of this memory as so many lines take.
    pub(crate) fn first(&mut self, room: Room) -> Space<'_> {
        Space {
            bytes: &mut self.bytes[..room.bytes],
            sums: &mut self.sums[..room.sums],
            unpacked: &mut self.unpacked[..room.unpacked],
            originals: &mut self.originals[..room.originals],
        }
    }
}
