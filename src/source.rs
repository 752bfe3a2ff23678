//! One side of a product: where its lines come from, and how they become what the kernels read.

use crate::buffer::Carver;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset, Operand, Order};
use crate::output::LineOffsets;
use crate::prepare::{Prepared, Room};
use std::ops::Range;

/// One side of a product: an operand, and what is added to its elements.
#[derive(Clone, Copy)]
pub struct Factor<'a> {
    operand: Operand<'a>,
    offset: Offset<'a>,
}

impl<'a> Factor<'a> {
    /// The operand with `offset` added to its elements: one for all lines, or one for each.
    ///
    /// # Panics
    /// If there are fewer offsets than lines.
    pub fn new(operand: Operand<'a>, offset: Offset<'a>) -> Self {
        if let Offset::PerLine(offsets) = offset {
            assert!(offsets.len() >= operand.lines, "an offset for each line");
        }
        Self { operand, offset }
    }

    /// The greatest magnitude that a sum of products with `other` could have.
    pub(crate) fn bound(&self, other: &Factor) -> u128 {
        self.greatest() * other.greatest() * self.depth() as u128
    }

    /// The greatest magnitude that an element could have, its offset included.
    fn greatest(&self) -> u128 {
        let offsets = match &self.offset {
            Offset::Uniform(offset) => std::slice::from_ref(offset),
            Offset::PerLine(offsets) => &offsets[..self.lines()],
        };
        let ends = [0x00, 0x7f, 0x80, 0xff].map(|byte| i64::from(self.operand.encoding.decode(byte)));
        let reach = |offset: &i32| ends.map(|end| (end + i64::from(*offset)).unsigned_abs()).into_iter().max();
        offsets.iter().filter_map(reach).max().unwrap_or(0).into()
    }

    pub(crate) fn lines(&self) -> usize {
        self.operand.lines
    }

    pub(crate) fn depth(&self) -> usize {
        self.operand.depth
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lhs,
    Rhs,
}

/// One side of a product, as a kernel is to read it.
pub(crate) struct Source<'a> {
    kernel: &'static Kernel,
    side: Side,
    operand: Operand<'a>,
    /// What its bytes are read as.
    pub encoding: Encoding,
    pub offset: LineOffsets<'a>,
    /// Whether the other side has an offset, which multiplies the sums of this side's lines.
    is_summed: bool,
}

impl<'a> Source<'a> {
    /// Both sides of a product.
    pub(crate) fn pair(kernel: &'static Kernel, lhs: &Factor<'a>, rhs: &Factor<'a>) -> [Self; 2] {
        let lhs_encoding = lhs.operand.encoding;
        let encodings = [lhs_encoding, kernel.groups.rhs_encoding(lhs_encoding)];
        let [lhs_offset, rhs_offset] = [(lhs, encodings[0]), (rhs, encodings[1])].map(|(factor, encoding)| {
            LineOffsets { offset: factor.offset, shift: factor.operand.encoding.shift_to(encoding) }
        });
        let [lhs, rhs] = [lhs.operand, rhs.operand];
        let is_none = |offset: &LineOffsets| offset.uniform() == Some(0);
        let (lhs_summed, rhs_summed) = (!is_none(&rhs_offset), !is_none(&lhs_offset));
        [
            Self {
                kernel,
                side: Side::Lhs,
                operand: lhs,
                encoding: encodings[0],
                offset: lhs_offset,
                is_summed: lhs_summed,
            },
            Self {
                kernel,
                side: Side::Rhs,
                operand: rhs,
                encoding: encodings[1],
                offset: rhs_offset,
                is_summed: rhs_summed,
            },
        ]
    }

    /// Which way the memory runs that lines are packed from.
    pub(crate) fn order(&self) -> Order {
        self.operand.order
    }

    /// All of this side, if nothing is to be prepared.
    pub(crate) fn ready(&self) -> Option<Prepared<'a>> {
        (self.in_place() && !self.is_summed).then_some(Prepared { first: 0, bytes: &[], sums: &[] })
    }

    fn in_place(&self) -> bool {
        self.side == Side::Lhs && self.kernel.groups.read_in_place(&self.operand, self.encoding)
    }

    /// What so many lines take when they are prepared.
    pub(crate) fn room(&self, lines: usize) -> Room {
        let depth = self.operand.depth;
        let all = match self.side {
            Side::Lhs => self.kernel.room_for_lines(lines, depth),
            Side::Rhs => self.kernel.room_for_panels(lines, depth),
        };
        Room { bytes: if self.in_place() { 0 } else { all.bytes }, sums: if self.is_summed { all.sums } else { 0 } }
    }

    /// Packs `lines` and sums them.
    pub(crate) fn prepare<'s>(&self, lines: Range<usize>, space: &'s mut Space) -> Prepared<'s>
    where
        'a: 's,
    {
        let (kernel, operand) = (self.kernel, &self.operand);
        let Space { bytes, sums } = space.first(self.room(lines.len()));
        match self.side {
            Side::Lhs => {
                if !self.in_place() {
                    kernel.pack_lines(operand, self.encoding, lines.clone(), bytes);
                }
                let prepared = Prepared { first: lines.start, bytes, sums: &[] };
                for (sum, line) in sums.iter_mut().zip(lines) {
                    *sum = kernel.sum_line(self.line(&prepared, line, 0..operand.depth), self.encoding);
                }
                Prepared { sums, ..prepared }
            }
            Side::Rhs => {
                let first = lines.start;
                kernel.pack_panels(operand, self.encoding, lines, bytes);
                if self.is_summed {
                    kernel.sum_panels(bytes, self.encoding, operand.depth, sums);
                }
                Prepared { first, bytes, sums }
            }
        }
    }

    /// A line of the LHS over a stretch of the depth.
    #[inline]
    pub(crate) fn line<'s>(&self, from: &Prepared<'s>, line: usize, depth: Range<usize>) -> &'s [u8]
    where
        'a: 's,
    {
        if self.in_place() {
            return &self.operand.run(line)[depth];
        }
        let size = self.kernel.groups.lhs_size();
        let end = self.kernel.pad(depth.end);
        &from.bytes[(line - from.first) * self.kernel.pitch(self.operand.depth)..][depth.start * size..end * size]
    }

    /// A panel of the RHS over a stretch of the depth.
    #[inline]
    pub(crate) fn panel<'s>(&self, from: &Prepared<'s>, line: usize, depth: Range<usize>) -> &'s [u8] {
        let (width, end) = (self.kernel.width, self.kernel.pad(depth.end));
        &from.bytes[(line - from.first) * self.kernel.pad(self.operand.depth)..][depth.start * width..end * width]
    }
}

/// Memory for lines to be prepared in.
pub(crate) struct Space<'s> {
    bytes: &'s mut [u8],
    sums: &'s mut [i32],
}

impl<'s> Space<'s> {
    pub(crate) fn len(room: Room) -> usize {
        Carver::cost(room.bytes) + Carver::cost(room.sums * size_of::<i32>())
    }

    pub(crate) fn carve(carver: &mut Carver<'s>, room: Room) -> Self {
        Self { bytes: carver.bytes(room.bytes), sums: carver.ints(room.sums) }
    }

    /// The first part of this memory; what is left is the rest.
    pub(crate) fn split_off(&mut self, room: Room) -> Self {
        Self {
            bytes: self.bytes.split_off_mut(..room.bytes).expect("room for all lines"),
            sums: self.sums.split_off_mut(..room.sums).expect("a sum for each line"),
        }
    }

    /// What all pieces of this memory together hold, from the first line on.
    pub(crate) fn prepared(self) -> Prepared<'s> {
        Prepared { first: 0, bytes: self.bytes, sums: self.sums }
    }

    /// As much of this memory as so many lines take.
    pub(crate) fn first(&mut self, room: Room) -> Space<'_> {
        Space { bytes: &mut self.bytes[..room.bytes], sums: &mut self.sums[..room.sums] }
    }
}
