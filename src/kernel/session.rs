//! What some kernels' tiles take place in: a thread gets it ready before the first tile, and gives it back after the last.

use super::Kernel;
use std::marker::PhantomData;

/// What is done by a thread before it multiplies tiles, and after it.
///
/// # Safety
/// The CPU has what the kernel needs.
pub(crate) struct Session {
    pub(super) begin: unsafe fn(),
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
    /// Begins what tiles take place in, on this thread. It ends when what this gives is dropped.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Begun {
        if let Some(session) = self.session {
            // SAFETY: whoever has a kernel has a CPU that runs it.
            unsafe { (session.begin)() }
        }
        Begun(self.session, PhantomData)
    }
}
