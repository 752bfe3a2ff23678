//! The memory that a call works in: on loan from its context, or the caller's.

use crate::buffer::{ALIGN, Buffer};
use crate::error::Error;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// One for each of so many concurrent callers. Those beyond get buffers of their own.
const BUFFERS: usize = 16;

/// Buffers that stay from call to call. A call borrows the first that no other has.
pub(crate) struct Shelf {
    buffers: [Mutex<Buffer>; BUFFERS],
}

impl Shelf {
    pub(crate) fn new() -> Self {
        Self { buffers: [const { Mutex::new(Buffer::empty()) }; BUFFERS] }
    }

    /// At least `len` bytes for one call. Never waits: in a child of fork a lock may be held by a thread that is not
    /// there.
    pub(crate) fn scratch(&self, len: usize) -> Result<Scratch<'_>, Error> {
        let on_loan = self.buffers.iter().find_map(|buffer| match buffer.try_lock() {
            Ok(buffer) => Some(buffer),
            Err(TryLockError::Poisoned(buffer)) => Some(buffer.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        let mut scratch = on_loan.map_or(Scratch::Own(Buffer::empty()), Scratch::OnLoan);
        scratch.reserve(len)?;
        Ok(scratch)
    }
}

/// The memory of one call, which begins on a cache line. What it holds is whatever its last user left.
pub(crate) enum Scratch<'a> {
    OnLoan(MutexGuard<'a, Buffer>),
    Own(Buffer),
    Callers(&'a mut [u8]),
}

impl<'a> Scratch<'a> {
    /// How many bytes of the caller's memory, wherever they begin, hold `len` that begin on a cache line.
    pub(crate) fn callers_len(len: usize) -> usize {
        if len == 0 { 0 } else { len + ALIGN - 1 }
    }

    /// `len` bytes of the caller's memory, of which there have to be as many as `callers_len` says.
    #[cfg_attr(not(test), expect(dead_code, reason = "no call takes the caller's memory yet"))]
    pub(crate) fn callers(memory: &'a mut [u8], len: usize) -> Result<Self, Error> {
        let least = Self::callers_len(len);
        if memory.len() < least {
            return Err(Error::Workspace { size: memory.len(), least });
        }
        let begin = if len == 0 { 0 } else { memory.as_ptr().align_offset(ALIGN) };
        Ok(Self::Callers(&mut memory[begin..][..len]))
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        match self {
            Self::OnLoan(buffer) => buffer.as_mut_slice(),
            Self::Own(buffer) => buffer.as_mut_slice(),
            Self::Callers(memory) => memory,
        }
    }

    fn reserve(&mut self, len: usize) -> Result<(), Error> {
        match self {
            Self::OnLoan(buffer) => buffer.reserve(len),
            Self::Own(buffer) => buffer.reserve(len),
            Self::Callers(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_calls_have_memory_of_their_own_and_the_next_one_has_the_first() {
        let shelf = Shelf::new();
        let address = |scratch: &mut Scratch| scratch.as_mut_slice().as_ptr().addr();
        let mut calls: Vec<_> = (0..BUFFERS + 2).map(|_| shelf.scratch(100).unwrap()).collect();
        let mut addresses: Vec<_> = calls.iter_mut().map(address).collect();
        let first = addresses[0];
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 100));
        drop(calls);
        assert_eq!(address(&mut shelf.scratch(100).unwrap()), first);
    }

    #[test]
    fn a_call_that_panics_leaves_its_memory_to_the_next() {
        let shelf = Shelf::new();
        let mut address = 0;
        let call = || {
            address = shelf.scratch(100).unwrap().as_mut_slice().as_ptr().addr();
            let _scratch = shelf.scratch(100).unwrap();
            // As `panic!`, but without a message on stderr.
            std::panic::resume_unwind(Box::new(()));
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(shelf.scratch(100).unwrap().as_mut_slice().as_ptr().addr(), address);
    }

    #[test]
    fn the_callers_memory_may_begin_anywhere() {
        let mut memory = [0; 1000];
        for (begin, len) in (0..ALIGN).flat_map(|begin| [0, 1, 63, 64, 500].map(|len| (begin, len))) {
            let size = Scratch::callers_len(len);
            let mut scratch = Scratch::callers(&mut memory[begin..][..size], len).unwrap();
            assert_eq!(scratch.as_mut_slice().len(), len);
            assert!(len == 0 || scratch.as_mut_slice().as_ptr().addr().is_multiple_of(ALIGN));
        }
        let too_small = Scratch::callers(&mut memory[..162], 100).err();
        assert_eq!(too_small, Some(Error::Workspace { size: 162, least: 163 }));
    }
}
