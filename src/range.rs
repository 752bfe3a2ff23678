//! From where to where the elements of an operand go.

use crate::kernel::Loop;
use crate::matrix::{Encoding, Operand, Order};

/// What no element is less, or greater, than.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementRange {
    pub least: i32,
    pub greatest: i32,
}

/// An element outside of its range: where it stands, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    pub line: usize,
    pub depth: usize,
    pub value: i32,
}

impl ElementRange {
    /// All numbers of an encoding.
    pub(crate) fn all(encoding: Encoding) -> Self {
        match encoding {
            Encoding::U8 => Self { least: 0, greatest: 255 },
            Encoding::S8 => Self { least: -128, greatest: 127 },
        }
    }

    /// That of the elements there are: of none, all numbers. Always inlined; see [`crate::kernel::Loop::run`].
    #[inline(always)]
    pub(crate) fn of(operand: &Operand) -> Self {
        let (runs, len) = match operand.order {
            Order::DepthContiguous => (operand.lines, operand.depth),
            Order::LineContiguous => (operand.depth, operand.lines),
        };
        if runs == 0 || len == 0 {
            return Self::all(operand.encoding);
        }
        // To find the least and the greatest of a vector takes long: runs without gaps are one.
        let (runs, together) = if operand.is_without_gaps() { (1, runs) } else { (runs, 1) };
        let parts = (0..runs).map(|index| operand.adjacent(index, together));
        Self::of_bytes(parts, operand.encoding)
    }

    /// That of all these bytes: of none, nothing.
    #[inline(always)]
    fn of_bytes<'a>(parts: impl Iterator<Item = &'a [u8]>, encoding: Encoding) -> Self {
        // Read as unsigned, the bytes are in the order of their numbers.
        let flip = encoding.flip_to(Encoding::U8);
        let (mut least, mut greatest) = (u8::MAX, 0);
        for part in parts {
            for &byte in part {
                (least, greatest) = (least.min(byte ^ flip), greatest.max(byte ^ flip));
            }
        }
        let [least, greatest] = [least, greatest].map(|byte| encoding.decode(byte ^ flip));
        Self { least, greatest }
    }

    /// What holds both.
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self { least: self.least.min(other.least), greatest: self.greatest.max(other.greatest) }
    }

    /// Whether all of `other` is within.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        self.least <= other.least && other.greatest <= self.greatest
    }

    /// The first element that is outside, line by line.
    pub(crate) fn stray(&self, operand: &Operand) -> Option<Stray> {
        if self.holds(&Self::of(operand)) {
            return None;
        }
        let mut places = (0..operand.lines).flat_map(|line| (0..operand.depth).map(move |depth| (line, depth)));
        places.find_map(|(line, depth)| {
            let byte = match operand.order {
                Order::DepthContiguous => operand.run(line)[depth],
                Order::LineContiguous => operand.run(depth)[line],
            };
            let value = operand.encoding.decode(byte);
            (!(self.least..=self.greatest).contains(&value)).then_some(Stray { line, depth, value })
        })
    }
}

/// Finds the range of some elements if none of them is more than so much above another. It looks no further than it has to.
pub(crate) struct Near<'a> {
    pub operand: Operand<'a>,
    pub most: i32,
}

impl Loop for Near<'_> {
    type Result = Option<ElementRange>;

    #[inline(always)]
    fn run(self) -> Self::Result {
        /// Bytes that are looked at first, and together, if they lie so.
        const FEW: usize = 64;
        const TOGETHER: usize = 4096;
        let Operand { lines, depth, order, .. } = self.operand;
        // Mostly the first few tell.
        let run = if lines > 0 && depth > 0 { self.operand.run(0) } else { return None };
        let few = &run[..run.len().min(FEW)];
        let few = ElementRange::of_bytes(std::iter::once(few), self.operand.encoding);
        if few.greatest - few.least > self.most {
            return None;
        }
        let (runs, len) = match order {
            Order::DepthContiguous => (lines, depth),
            Order::LineContiguous => (depth, lines),
        };
        let step = if self.operand.is_without_gaps() { (TOGETHER / len.max(1)).max(1) } else { 1 };
        let mut found = None::<ElementRange>;
        for first in (0..runs).step_by(step) {
            let some = first..runs.min(first + step);
            let range = ElementRange::of(&match order {
                Order::DepthContiguous => self.operand.part(some, 0..depth),
                Order::LineContiguous => self.operand.part(0..lines, some),
            });
            let all = match found {
                Some(found) => found.or(&range),
                None => range,
            };
            if all.greatest - all.least > self.most {
                return None;
            }
            found = Some(all);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    const ENCODINGS: [Encoding; 2] = [Encoding::U8, Encoding::S8];
    const ORDERS: [Order; 2] = [Order::DepthContiguous, Order::LineContiguous];

    #[test]
    fn the_range_is_that_of_the_elements_and_not_of_the_gaps() {
        // 3 runs of 2, with gaps of 1.
        let bytes = [5, 9, 0, 7, 200, 255, 6, 5];
        for (order, shape) in ORDERS.into_iter().zip([(3, 2), (2, 3)]) {
            let operand = |encoding| Operand::new(&bytes, shape, 3, order, encoding);
            let found = ENCODINGS.map(|encoding| ElementRange::of(&operand(encoding)));
            assert_eq!(found[0], ElementRange { least: 5, greatest: 200 });
            assert_eq!(found[1], ElementRange { least: 200 - 256, greatest: 9 });
        }
    }

    #[test]
    fn the_range_of_no_elements_is_anything() {
        for (encoding, order) in ENCODINGS.into_iter().flat_map(|encoding| ORDERS.map(|order| (encoding, order))) {
            for shape in [(0, 0), (0, 3), (3, 0)] {
                let operand = Operand::new(&[], shape, 3, order, encoding);
                assert_eq!(ElementRange::of(&operand), ElementRange::all(encoding));
                assert_eq!(ElementRange { least: 1, greatest: 1 }.stray(&operand), None);
            }
        }
    }

    #[test]
    fn the_range_of_elements_near_each_other_is_found_and_of_others_none() {
        let vectors = Kernel::available().next().expect("a kernel").vectors;
        // 70 runs of 61, with and without gaps.
        for (encoding, gap) in ENCODINGS.into_iter().flat_map(|encoding| [(encoding, 0), (encoding, 3)]) {
            for (at, is_gap) in [(0, false), (60, false), (62, true), (69 * (61 + gap) + 60, false)] {
                let mut bytes = vec![40; 70 * (61 + gap)];
                bytes[7] = 30;
                bytes[at] = 159;
                let value = encoding.decode(159);
                let is_seen = !is_gap || gap == 0;
                let range = match is_seen {
                    true => ElementRange { least: value.min(30), greatest: value.max(40) },
                    false => ElementRange { least: 30, greatest: 40 },
                };
                for (order, shape) in ORDERS.into_iter().zip([(70, 61), (61, 70)]) {
                    let operand = Operand::new(&bytes, shape, 61 + gap, order, encoding);
                    let near = |most| vectors.run(Near { operand, most });
                    let far = range.greatest - range.least;
                    assert_eq!(near(far), Some(range));
                    assert_eq!(near(far - 1), None);
                }
            }
        }
        for (order, shape) in ORDERS.into_iter().flat_map(|order| [(order, (0, 3)), (order, (3, 0))]) {
            let operand = Operand::new(&[], shape, 3, order, Encoding::U8);
            assert_eq!(vectors.run(Near { operand, most: 255 }), None);
        }
    }

    #[test]
    fn the_first_stray_is_found_line_by_line() {
        let bytes = [1, 2, 9, 3, 8, 4];
        let range = ElementRange { least: 1, greatest: 4 };
        let stray = |shape, stride, order| range.stray(&Operand::new(&bytes, shape, stride, order, Encoding::U8));
        assert_eq!(stray((2, 3), 3, Order::DepthContiguous), Some(Stray { line: 0, depth: 2, value: 9 }));
        assert_eq!(stray((3, 2), 3, Order::LineContiguous), Some(Stray { line: 1, depth: 1, value: 8 }));
        assert_eq!(stray((2, 2), 0, Order::DepthContiguous), None);
    }
}
