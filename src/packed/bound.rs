//! How far the sums of a packed operand's products can be from 0: what checked arithmetic needs to know.

use super::{Label, Line, Packed, Packing};
use crate::matrix::{Encoding, Offset, Operand, Order};
use std::array::from_fn;

/// Beyond ±256 an offset gives all numbers of 8 bits the same sign, and each one more adds 1 to each of them.
const NEAR: i32 = 256;

/// Lines that are summed together.
const LINES: usize = 64;

/// max over the pieces of the lines of Σ |number + offset - zero point|; at most `u64::MAX`.
pub(super) fn of(operand: &Operand, line: Line, packing: &Packing) -> u64 {
    let zero_points = packing.segments.and_then(|segments| segments.zero_points);
    let pieces = line.pieces();
    let of_piece = |(piece, depths)| {
        let moved = |line: usize| zero_points.map_or(0, |zero_points| zero_points[line * pieces + piece]);
        let offset = |line| at(packing.offset, line).saturating_sub(moved(line));
        of_part(&operand.part(0..operand.lines, depths), offset)
    };
    line.each_piece().enumerate().map(of_piece).max().unwrap_or(0)
}

fn of_part(operand: &Operand, offset: impl Fn(usize) -> i32) -> u64 {
    let depth = operand.depth as u64;
    let mut greatest = 0;
    for first in (0..operand.lines).step_by(LINES) {
        let lines = LINES.min(operand.lines - first);
        let offsets: [i32; LINES] = from_fn(|i| if i < lines { offset(first + i) } else { 0 });
        let near = offsets.map(|offset| offset.clamp(-NEAR, NEAR));
        let totals = totals(operand, first, lines, near);
        for ((total, offset), near) in totals.iter().zip(offsets).zip(near).take(lines) {
            let beyond = u64::from(offset.abs_diff(near)).saturating_mul(depth);
            greatest = greatest.max(total.saturating_add(beyond));
        }
    }
    greatest
}

/// Σ |number + offset| of each of so many lines from `first` on. No offset is beyond [`NEAR`].
fn totals(operand: &Operand, first: usize, lines: usize, offsets: [i32; LINES]) -> [u64; LINES] {
    // Read as unsigned, all bytes are numbers in one way.
    let flip = operand.encoding.flip_to(Encoding::U8);
    let offsets = offsets.map(|offset| offset - operand.encoding.shift_to(Encoding::U8));
    let distance = |b: u8, offset: i32| (i32::from(b ^ flip) + offset).unsigned_abs();
    let mut totals = [0; LINES];
    match operand.order {
        Order::DepthContiguous => {
            for (i, (total, offset)) in totals.iter_mut().zip(offsets).take(lines).enumerate() {
                // 32 bits have room for so many.
                for stretch in operand.run(first + i).chunks(1 << 16) {
                    *total += u64::from(stretch.iter().map(|&b| distance(b, offset)).sum::<u32>());
                }
            }
        }
        Order::LineContiguous => {
            for d in 0..operand.depth {
                let run = &operand.run(d)[first..][..lines];
                for ((total, &b), offset) in totals.iter_mut().zip(run).zip(offsets) {
                    *total += u64::from(distance(b, offset));
                }
            }
        }
    }
    totals
}

/// The offset of one line.
fn at(offset: Offset, line: usize) -> i32 {
    match offset {
        Offset::Uniform(offset) => offset,
        Offset::PerLine(offsets) => offsets[line],
    }
}

impl Packed {
    /// What max over the lines of Σ |number + offset| does not exceed: exact for the offset that was declared when the
    /// operand was packed. If there are segments, what the sums of each of them do not exceed. At most `u64::MAX`.
    ///
    /// # Panics
    /// If there are fewer offsets than lines.
    pub(crate) fn bound(&self, offset: Offset) -> u64 {
        let depth = self.label.line.piece().min(self.label.line.depth) as u64;
        let declared = self.declared();
        let lines = match (declared, offset) {
            (Offset::Uniform(_), Offset::Uniform(_)) => self.label.lines.min(1),
            _ => self.label.lines,
        };
        let moved = (0..lines).map(|line| at(declared, line).abs_diff(at(offset, line))).max().unwrap_or(0);
        // A number moves the sum by as much as its offset moves, and no number is farther from 0 than the farthest.
        let by_distance = self.bound.saturating_add(u64::from(moved).saturating_mul(depth));
        by_distance.min(self.greatest(offset).saturating_mul(depth))
    }

    /// The greatest |number + offset - zero point| that any of its numbers could give.
    ///
    /// # Panics
    /// If there are fewer offsets than lines.
    pub(crate) fn greatest(&self, offset: Offset) -> u64 {
        let Label { lines, line, zero_points, .. } = self.label;
        let ends = [self.range.least, self.range.greatest].map(i64::from);
        let farthest = |moved: i64| ends.map(|end| (end + moved).unsigned_abs()).into_iter().max().unwrap_or(0);
        let of_line = |i: usize| {
            let pieces = if zero_points { 0..line.pieces() } else { 0..1 };
            let of_piece = |piece| {
                let mut zero_point = [0];
                self.zero_points(i..i + 1, piece, &mut zero_point);
                farthest(i64::from(at(offset, i)) - i64::from(zero_point[0]))
            };
            pieces.map(of_piece).max().unwrap_or(0)
        };
        let alike = matches!(offset, Offset::Uniform(_)) && !zero_points;
        (0..if alike { lines.min(1) } else { lines }).map(of_line).max().unwrap_or(0)
    }
}
