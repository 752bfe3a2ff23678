//! What pointers of descriptors point at.

use crate::memory::noise;
use arbitrary::{Result, Unstructured};
use qgemm::*;
use std::ptr::null;

/// No matrix gets more bytes than this.
const ROOM: i128 = 1 << 16;

/// What a pointer of a descriptor points at: an allocation of its own, no longer than the descriptor says, or nothing.
#[derive(Clone, Debug)]
pub struct Block(pub Option<Box<[u8]>>);

impl Block {
    /// So many bytes, if that is neither impossible nor too much.
    pub fn new(u: &mut Unstructured, bytes: Option<i128>) -> Result<Self> {
        let is_there = !u.ratio(1, 60)? && bytes.is_some_and(|bytes| bytes <= ROOM);
        let (seed, bytes) = (u.arbitrary()?, bytes.unwrap_or(0) as usize);
        Ok(Self(is_there.then(|| noise(seed).take(bytes).collect())))
    }

    /// Its first byte, or null.
    pub fn pointer<T>(&self) -> *const T {
        self.0.as_ref().map_or(null(), |bytes| bytes.as_ptr().cast())
    }
}

/// Bytes that a matrix reaches over. None if no call may take it.
pub fn reach(rows: i64, cols: i64, stride: i64, order: u32, size: i128) -> Option<i128> {
    let (runs, len) = if order == QGEMM_ROW_MAJOR { (rows, cols) } else { (cols, rows) };
    if runs <= 0 || len <= 0 {
        return (runs == 0 || len == 0).then_some(0);
    }
    let stride = if runs == 1 || stride == 0 { len } else { stride };
    (stride > 0).then(|| (i128::from(runs - 1) * i128::from(stride) + i128::from(len)) * size)
}

/// How many elements a tensor of these sizes has. None if there cannot be so many.
pub fn product(sizes: &[i64]) -> Option<i128> {
    sizes.iter().try_fold(1_i128, |count, &size| (size >= 0).then(|| count.checked_mul(size.into()))?)
}

/// Bytes of an element; of a type that there is not, as many as the longest has.
pub fn size_of_type(r#type: u32) -> i128 {
    match r#type {
        QGEMM_TYPE_U8 | QGEMM_TYPE_S8 => 1,
        QGEMM_TYPE_S16 | QGEMM_TYPE_BF16 | QGEMM_TYPE_F16 => 2,
        _ => 4,
    }
}

/// So many floats or integers, such as this makes.
pub fn words<T>(u: &mut Unstructured, count: i64, mut one: impl FnMut(&mut Unstructured) -> Result<T>) -> Result<Block>
where
    T: Copy + Into<Word>,
{
    let mut block = Block::new(u, Some(4 * i128::from(count.max(0))))?;
    let (first, is_same) = (one(u)?, u.arbitrary()?);
    for word in block.0.iter_mut().flat_map(|bytes| bytes.as_chunks_mut().0) {
        let Word(bytes) = if is_same { first.into() } else { one(u)?.into() };
        *word = bytes;
    }
    Ok(block)
}

/// The bytes of a float or an integer.
pub struct Word([u8; 4]);

impl From<f32> for Word {
    fn from(value: f32) -> Self {
        Self(value.to_ne_bytes())
    }
}

impl From<i32> for Word {
    fn from(value: i32) -> Self {
        Self(value.to_ne_bytes())
    }
}

/// So many floats: most of them small, or such as any bits are.
pub fn floats(u: &mut Unstructured, count: Option<i128>) -> Result<Block> {
    let mut block = Block::new(u, count.map(|count| 4 * count))?;
    if u.ratio(3, 4)? {
        for word in block.0.iter_mut().flat_map(|bytes| bytes.as_chunks_mut().0) {
            *word = (i32::from_ne_bytes(*word) as f32 / 1e8).to_ne_bytes();
        }
    }
    Ok(block)
}
