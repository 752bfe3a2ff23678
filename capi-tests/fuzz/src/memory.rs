//! The memory that a call's matrices lie in.

use crate::{Matrix, Place};

/// No block has more bytes than this.
const ROOM: usize = 1 << 16;

/// Blocks of memory, each of its own allocation and no longer than the matrices in it, so that AddressSanitizer notices
/// whatever reads or writes beyond them.
#[derive(Clone, PartialEq)]
pub struct Memory {
    blocks: Vec<Vec<u8>>,
}

impl Memory {
    /// `blocks` blocks that hold these matrices, or as much of them as there is room for.
    pub fn new(blocks: usize, matrices: &[Matrix], seed: u32) -> Self {
        let mut sizes = vec![0; blocks];
        for matrix in matrices {
            if let (Some(place), reach @ 1..) = (matrix.place, matrix.reach()) {
                let size = (place.start as i128 + reach).min(ROOM as i128) as usize;
                sizes[place.block] = size.max(sizes[place.block]);
            }
        }
        let block = |(size, i)| noise(seed.wrapping_add(i)).take(size).collect();
        Self { blocks: sizes.into_iter().zip(0..).map(block).collect() }
    }

    /// Whether these matrices are there from their first bytes to their last.
    pub fn holds(&self, matrices: &[Matrix]) -> bool {
        let has_room = |matrix: &Matrix, place: Place| {
            place.start as i128 + matrix.reach() <= self.blocks[place.block].len() as i128
        };
        matrices.iter().all(|matrix| matrix.is_empty() || matrix.place.is_some_and(|place| has_room(matrix, place)))
    }

    /// What to pass for a matrix at this place.
    pub fn pointer(&mut self, place: Option<Place>) -> *mut u8 {
        place.map_or(std::ptr::null_mut(), |place| self.blocks[place.block].as_mut_ptr().wrapping_add(place.start))
    }

    /// The bytes of an element.
    pub fn element(&mut self, matrix: &Matrix, run: i64, index: i64) -> &mut [u8] {
        let block = matrix.place.expect("a matrix with elements").block;
        &mut self.blocks[block][matrix.at(run, index)..][..matrix.element_size]
    }

    /// The first byte that is another in `other`: its block, its index, and both bytes.
    pub fn first_difference(&self, other: &Self) -> Option<(usize, usize, u8, u8)> {
        let mut blocks = self.blocks.iter().zip(&other.blocks).enumerate();
        blocks.find_map(|(block, (ours, theirs))| {
            let index = ours.iter().zip(theirs).position(|(our, their)| our != their)?;
            Some((block, index, ours[index], theirs[index]))
        })
    }
}

/// Bytes that look random; with some seeds all are at an end of their range, where sums are largest.
pub(crate) fn noise(seed: u32) -> impl Iterator<Item = u8> {
    let is_extreme = seed.is_multiple_of(4);
    let mut x = u64::from(seed) << 1 | 1;
    let mut next = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 24) as u8
    };
    std::iter::repeat_with(move || if is_extreme { [0, 127, 128, 255][usize::from(next() % 4)] } else { next() })
}
