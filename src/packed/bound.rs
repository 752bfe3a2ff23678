//! How far the sums of a packed operand's products can be from 0: what checked arithmetic needs to know.

use super::{Crew, Label, Line, Packed, Packing};
use crate::kernel::Loop;
use crate::matrix::{Encoding, Offset, Operand, Order};
use std::array::from_fn;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Beyond ±256 an offset gives all numbers of 8 bits the same sign, and each one more adds 1 to each of them.
const NEAR: i32 = 256;

/// Lines that are summed together: enough to read long runs of those that lie side by side.
const LINES: usize = 512;

/// Sums of 32 bits have room for so many numbers and their offsets.
const STRETCH: usize = 1 << 16;

/// Sums of 16 bits have room for as many numbers and their offsets.
const ROWS: usize = 64;
const _: () = assert!(ROWS * (NEAR as usize + 128 + 255) <= u16::MAX as usize);

/// max over the pieces of the lines of Σ |number + offset - zero point|; at most `u64::MAX`.
pub(super) fn of(crew: Crew, operand: &Operand, line: Line, packing: &Packing) -> u64 {
    let zero_points = packing.segments.and_then(|segments| segments.zero_points);
    let pieces = line.pieces();
    let of_piece = |(piece, depths)| {
        let moved = |line: usize| zero_points.map_or(0, |zero_points| zero_points[line * pieces + piece]);
        let offset = |line| at(packing.offset, line).saturating_sub(moved(line));
        of_part(crew, &operand.part(0..operand.lines, depths), offset)
    };
    line.each_piece().enumerate().map(of_piece).max().unwrap_or(0)
}

fn of_part(crew: Crew, operand: &Operand, offset: impl Fn(usize) -> i32 + Sync) -> u64 {
    let greatest = AtomicU64::new(0);
    crew.share_lines(operand, |lines| {
        for first in lines.clone().step_by(LINES) {
            let found = of_lines(crew, operand, first..lines.end.min(first + LINES), &offset);
            greatest.fetch_max(found, Ordering::Relaxed);
        }
    });
    greatest.into_inner()
}

/// Of so few lines.
fn of_lines(crew: Crew, operand: &Operand, lines: Range<usize>, offset: &impl Fn(usize) -> i32) -> u64 {
    // Read as unsigned, all bytes are numbers in one way.
    let shift = operand.encoding.shift_to(Encoding::U8);
    let count = lines.len();
    let offsets: [i32; LINES] = from_fn(|i| if i < count { offset(lines.start + i) } else { 0 });
    let near = |offset: i32| offset.clamp(-NEAR, NEAR);
    let mut totals = [0; LINES];
    let added = &offsets.map(|offset| near(offset) - shift)[..count];
    let first = lines.start;
    crew.kernel().vectors.run(Distances { operand, first, offsets: added, totals: &mut totals[..count] });
    let far = totals.iter().zip(offsets).take(count).map(|(&total, offset)| {
        let beyond = u64::from(offset.abs_diff(near(offset))).saturating_mul(operand.depth as u64);
        total.saturating_add(beyond)
    });
    far.max().unwrap_or(0)
}

/// Adds to `totals` Σ |number + offset| of as many lines from `first` on, each number read as unsigned. No offset is beyond
/// [`NEAR`] by more than 128.
struct Distances<'a> {
    operand: &'a Operand<'a>,
    first: usize,
    offsets: &'a [i32],
    totals: &'a mut [u64],
}

impl Loop for Distances<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Self { operand, first, offsets, totals } = self;
        let flip = operand.encoding.flip_to(Encoding::U8);
        let distance = |x: u8, offset: i32| (i32::from(x) + offset).unsigned_abs();
        match operand.order {
            Order::DepthContiguous => {
                for (i, (total, offset)) in totals.iter_mut().zip(offsets).enumerate() {
                    for stretch in operand.run(first + i).chunks(STRETCH) {
                        let numbers = stretch.iter().map(|&b| b ^ flip);
                        *total += u64::from(match u8::try_from(-offset) {
                            // Of bytes, for which there is an instruction.
                            Ok(center) => numbers.map(|x| u32::from(x.abs_diff(center))).sum::<u32>(),
                            Err(_) => numbers.map(|x| distance(x, *offset)).sum::<u32>(),
                        });
                    }
                }
            }
            Order::LineContiguous => {
                let mut near = [0; LINES];
                near.iter_mut().zip(offsets).for_each(|(near, offset)| *near = *offset as i16);
                for begin in (0..operand.depth).step_by(ROWS) {
                    let mut sums = [0u16; LINES];
                    for d in begin..operand.depth.min(begin + ROWS) {
                        let run = &operand.run(d)[first..][..totals.len()];
                        for ((sum, b), offset) in sums.iter_mut().zip(run).zip(&near) {
                            *sum += (i16::from(b ^ flip) + offset).unsigned_abs();
                        }
                    }
                    for (total, sum) in totals.iter_mut().zip(sums) {
                        *total += u64::from(sum);
                    }
                }
            }
        }
    }
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
