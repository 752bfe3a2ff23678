//! Where a packed operand lies: in memory of its own, or in the caller's.

use crate::buffer::{ALIGN, Buffer};
use crate::error::Error;
use std::ptr::NonNull;

/// The caller's memory, such as a mapped file.
#[derive(Clone, Copy)]
pub(crate) struct Lent {
    data: NonNull<u8>,
    len: usize,
}

// SAFETY: whoever lends memory promises that nobody writes to it.
unsafe impl Send for Lent {}
// SAFETY: as for `Send`.
unsafe impl Sync for Lent {}

impl Lent {
    /// `len` bytes at `data`.
    ///
    /// # Safety
    /// - They are readable, and nobody else writes to them, for as long as this or anything made of it is used.
    /// - Whoever packs into them may write to them too.
    pub(crate) unsafe fn new(data: NonNull<u8>, len: usize) -> Self {
        Self { data, len }
    }

    pub(crate) fn is_aligned(&self) -> bool {
        self.data.addr().get().is_multiple_of(ALIGN)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: `new` was promised that they are readable.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

/// Bytes that start on a cache line and stay where they are.
pub(super) enum Memory {
    Own(Buffer),
    Lent(Lent),
}

impl Memory {
    /// `len` bytes of the library's.
    pub(super) fn own(len: usize) -> Result<Self, Error> {
        let mut buffer = Buffer::empty();
        buffer.reserve(len)?;
        Ok(Memory::Own(buffer))
    }

    /// The first `len` bytes of the caller's memory.
    ///
    /// # Panics
    /// If it is shorter, or starts within a cache line.
    pub(super) fn lent(lent: Lent, len: usize) -> Self {
        assert!(lent.is_aligned() && lent.len >= len, "room for what is packed");
        Memory::Lent(Lent { len, ..lent })
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Memory::Own(buffer) => buffer.as_slice(),
            Memory::Lent(lent) => lent.as_slice(),
        }
    }

    /// The bytes, to pack into.
    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        match self {
            Memory::Own(buffer) => buffer.as_mut_slice(),
            // SAFETY: `Lent::new` was promised that whoever packs may write.
            Memory::Lent(lent) => unsafe { std::slice::from_raw_parts_mut(lent.data.as_ptr(), lent.len) },
        }
    }
}

/// The numbers in a section, which starts on a cache line, to write them.
pub(super) fn ints_mut(bytes: &mut [u8]) -> &mut [i32] {
    // SAFETY: any four bytes are an i32, and the other way round.
    let (before, ints, after) = unsafe { bytes.align_to_mut() };
    debug_assert!(before.is_empty() && after.is_empty());
    ints
}
