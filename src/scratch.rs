//! The memory that a call works in: on loan from its context, or the caller's.

use crate::buffer::{ALIGN, Buffer};
use crate::error::Error;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// One for each of so many concurrent callers. Those beyond get buffers of their own.
const BUFFERS: usize = 16;

/// What the smallest calls need.
const LITTLE: usize = 16 << 10;

thread_local! {
    /// For the smallest calls, of which to lock a buffer and to unlock it would take a tenth.
    static LITTLE_ROOM: RefCell<Room> = const { RefCell::new(Room([0; LITTLE])) };
}

/// Bytes that begin on a cache line.
#[repr(align(64))]
struct Room([u8; LITTLE]);
const _: () = assert!(align_of::<Room>() == ALIGN);

/// Buffers that stay from call to call. A call borrows the first that no other has.
pub(crate) struct Shelf {
    slots: [Slot; BUFFERS],
}

/// A buffer, which the call that has locked it uses.
struct Slot {
    buffer: Mutex<Buffer>,
    /// Whether whoever gives it back is to free it.
    is_stale: AtomicBool,
}

/// A buffer that a call has taken.
pub(crate) struct Loan<'a> {
    buffer: MutexGuard<'a, Buffer>,
    is_stale: &'a AtomicBool,
}

impl Slot {
    /// Never waits: in a child of fork a lock may be held by a thread that is not there.
    #[inline]
    fn take(&self) -> Option<Loan<'_>> {
        let buffer = match self.buffer.try_lock() {
            Ok(buffer) => buffer,
            Err(TryLockError::Poisoned(buffer)) => buffer.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Loan { buffer, is_stale: &self.is_stale })
    }
}

impl Drop for Loan<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_stale.load(Relaxed) {
            self.is_stale.store(false, Relaxed);
            *self.buffer = Buffer::empty();
        }
    }
}

impl Shelf {
    pub(crate) fn new() -> Self {
        let empty = || Slot { buffer: Mutex::new(Buffer::empty()), is_stale: AtomicBool::new(false) };
        Self { slots: std::array::from_fn(|_| empty()) }
    }

    /// Frees all buffers: those that calls have when they are given back.
    pub(crate) fn clear(&self) {
        for slot in &self.slots {
            slot.is_stale.store(true, Relaxed);
            drop(slot.take());
        }
    }

    /// At least `len` bytes for one call.
    pub(crate) fn scratch(&self, len: usize) -> Result<Scratch<'_>, Error> {
        let mut scratch = self.free().map_or(Scratch::Own(Buffer::empty()), Scratch::OnLoan);
        scratch.reserve(len)?;
        Ok(scratch)
    }

    /// As [`Shelf::scratch`], for `work` alone, which is quicker than to hand it about.
    #[inline(always)]
    pub(crate) fn lend(&self, len: usize, work: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        if len > LITTLE {
            return self.lend_much(len, work);
        }
        LITTLE_ROOM.with(|room| match room.try_borrow_mut() {
            Ok(mut room) => {
                work(&mut room.0);
                Ok(())
            }
            Err(_) => self.lend_much(len, work),
        })
    }

    /// As [`Shelf::lend`], of a buffer.
    #[inline(always)]
    fn lend_much(&self, len: usize, work: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        let mut own = Buffer::empty();
        let mut on_loan = self.free();
        let buffer = on_loan.as_mut().map_or(&mut own, |loan| &mut *loan.buffer);
        buffer.reserve(len)?;
        work(buffer.as_mut_slice());
        Ok(())
    }

    /// The first buffer that no other call has.
    #[inline(always)]
    fn free(&self) -> Option<Loan<'_>> {
        self.slots.iter().find_map(Slot::take)
    }
}

/// The memory of one call, which begins on a cache line. What it holds is whatever its last user left.
pub(crate) enum Scratch<'a> {
    OnLoan(Loan<'a>),
    Own(Buffer),
    Callers(&'a mut [u8]),
}

impl<'a> Scratch<'a> {
    /// How many bytes of the caller's memory, wherever they begin, hold `len` that begin on a cache line.
    pub(crate) fn callers_len(len: usize) -> usize {
        if len == 0 { 0 } else { len + ALIGN - 1 }
    }

    /// `len` bytes of the caller's memory, of which there have to be as many as `callers_len` says.
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
            Self::OnLoan(loan) => loan.buffer.as_mut_slice(),
            Self::Own(buffer) => buffer.as_mut_slice(),
            Self::Callers(memory) => memory,
        }
    }

    fn reserve(&mut self, len: usize) -> Result<(), Error> {
        match self {
            Self::OnLoan(loan) => loan.buffer.reserve(len),
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
    fn what_is_cleared_is_freed_at_once_or_when_it_is_given_back() {
        let shelf = Shelf::new();
        let lens = || shelf.slots.each_ref().map(|slot| slot.take().map(|loan| loan.buffer.as_slice().len()));
        let mut calls: Vec<_> = (0..3).map(|_| shelf.scratch(100).unwrap()).collect();
        calls.pop();
        assert_eq!(lens()[..4], [None, None, Some(100), Some(0)]);
        shelf.clear();
        assert_eq!(calls[0].as_mut_slice().len(), 100);
        assert_eq!(lens()[..4], [None, None, Some(0), Some(0)]);
        drop(calls);
        assert_eq!(lens(), [Some(0); BUFFERS]);
        drop(shelf.scratch(100));
        assert_eq!(lens()[0], Some(100));
    }

    #[test]
    fn a_call_within_a_call_has_other_memory() {
        let shelf = Shelf::new();
        for (outer, inner) in [0, 1, 100, LITTLE, LITTLE + 1].into_iter().flat_map(|len| [(len, 100), (100, len)]) {
            let within = |memory: &mut [u8]| {
                let outside = memory.as_ptr_range();
                assert!(memory.len() >= outer && outside.start.addr().is_multiple_of(ALIGN));
                let apart = |memory: &mut [u8]| {
                    let inside = memory.as_ptr_range();
                    assert!(memory.len() >= inner && inside.start.addr().is_multiple_of(ALIGN));
                    assert!(inside.end <= outside.start || outside.end <= inside.start);
                };
                shelf.lend(inner, apart).unwrap();
            };
            shelf.lend(outer, within).unwrap();
        }
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
