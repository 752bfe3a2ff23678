//! What some kernels' tiles take place in: a thread gets ready for it, and gives it back after its last tile.

use super::Kernel;
use std::marker::PhantomData;

/// What a thread does before its first tile, of at most so many lines, and after its last one.
///
/// # Safety
/// The CPU has what the kernel needs.
pub(crate) struct Session {
    pub(super) begin: unsafe fn(lines: usize),
    pub(super) end: unsafe fn(),
}

/// A session that has begun, and ends on the same thread.
pub(crate) struct Begun(Option<&'static Session>, PhantomData<*const ()>);

impl Drop for Begun {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(session) = self.0 {
            // SAFETY: whoever had a kernel has a CPU that runs it.
            unsafe { (session.end)() }
        }
    }
}

impl Kernel {
    /// Begins what tiles take place in, on this thread, best of so many lines at most. It ends when what this gives is dropped.
    #[inline(always)]
    pub(crate) fn begin(&self, lines: usize) -> Begun {
        if let Some(session) = self.session {
            // SAFETY: whoever has a kernel has a CPU that runs it.
            unsafe { (session.begin)(lines) }
        }
        Begun(self.session, PhantomData)
    }
}
