//! A matrix as a caller describes it, whether or not that makes sense.

use arbitrary::{Result, Unstructured};
use qgemm::Status;

/// Where a matrix begins: at the byte `start` of a block of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The number of the block.
    pub block: usize,
    /// Bytes from the beginning of the block.
    pub start: usize,
}

impl Place {
    /// The beginning of a block, or a little behind it; now and then nowhere, which is a null pointer.
    pub fn arbitrary(u: &mut Unstructured, block: usize) -> Result<Option<Self>> {
        Ok(match u.int_in_range(0..=19)? {
            0..=12 => Some(Self { block, start: 0 }),
            13..=18 => Some(Self { block, start: u.int_in_range(0..=70)? }),
            _ => None,
        })
    }
}

/// So many contiguous runs of so many elements, of which each begins `stride` elements after the last.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// None is the null pointer.
    pub place: Option<Place>,
    /// Rows, if row-major; else columns.
    pub runs: i64,
    /// Elements of a run.
    pub len: i64,
    /// Elements.
    pub stride: i64,
    /// Bytes.
    pub element_size: usize,
}

impl Matrix {
    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.runs <= 0 || self.len <= 0
    }

    /// What is wrong with it by itself, if its runs must begin `least_stride` elements from each other.
    pub fn faults(&self, least_stride: i64) -> Vec<Status> {
        if self.is_empty() {
            return Vec::new();
        }
        let is_unaligned = |place: Place| !place.start.is_multiple_of(self.element_size);
        let faults = [
            (self.place.is_none(), Status::NullPointer),
            (self.place.is_some_and(is_unaligned), Status::Alignment),
            (self.runs > 1 && self.stride < least_stride, Status::Stride),
            (self.reach() > isize::MAX as i128, Status::TooLarge),
        ];
        faults.into_iter().filter_map(|(is_there, fault)| is_there.then_some(fault)).collect()
    }

    /// A place for it where a run of it and one of `other` touch, or nearly do.
    pub fn place_beside(&self, u: &mut Unstructured, other: &Self) -> Result<Option<Place>> {
        let Some(Place { block, start }) = other.place else { return Ok(None) };
        let (own, others) = (self.any_edge(u)?, other.any_edge(u)?);
        let gap = *u.choose(&[0, 1, -1, 4, -4])?;
        let start = usize::try_from(start as i64 + others - own + gap).unwrap_or(start);
        Ok(Some(Place { block, start }))
    }

    /// Where one of its first runs begins or ends: bytes from the beginning of the first.
    fn any_edge(&self, u: &mut Unstructured) -> Result<i64> {
        let elements = u.int_in_range(0..=2)? * self.stride + if u.arbitrary()? { self.len } else { 0 };
        Ok(elements * self.element_size as i64)
    }

    /// Bytes from its first to its last.
    pub fn reach(&self) -> i128 {
        if self.is_empty() {
            return 0;
        }
        let stride = if self.runs == 1 { 0 } else { self.stride };
        (i128::from(self.runs - 1) * i128::from(stride) + i128::from(self.len)) * self.element_size as i128
    }

    /// Where an element begins, from the beginning of the block.
    pub fn at(&self, run: i64, index: i64) -> usize {
        let start = self.place.expect("a matrix with elements").start;
        let stride = if self.runs == 1 { 0 } else { self.stride };
        start + (run * stride + index) as usize * self.element_size
    }

    /// Whether any byte belongs to both.
    pub fn overlaps(&self, other: &Self) -> bool {
        if self.is_empty() || other.is_empty() || self.place.map(|p| p.block) != other.place.map(|p| p.block) {
            return false;
        }
        let mut is_mine = Vec::new();
        for byte in self.bytes() {
            is_mine.resize(is_mine.len().max(byte + 1), false);
            is_mine[byte] = true;
        }
        other.bytes().any(|byte| is_mine.get(byte) == Some(&true))
    }

    fn bytes(&self) -> impl Iterator<Item = usize> {
        let starts = (0..self.runs).flat_map(move |run| (0..self.len).map(move |index| self.at(run, index)));
        starts.flat_map(|start| start..start + self.element_size)
    }
}
