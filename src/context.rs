//! What calls share: the kernel, the threads and the scratch memory.

use crate::error::Error;
use crate::kernel::Kernel;
use crate::scratch::{Scratch, Shelf};
use crate::threads::{Host, ParallelFor, Pool, Threads};
use std::ffi::c_void;

/// The kernel, the threads and the scratch memory that products use. May be used by several threads at once.
pub struct Context {
    pub(crate) kernel: &'static Kernel,
    pub(crate) threads: Threads,
    shelf: Shelf,
}

impl Context {
    /// A context in which up to `threads` threads, the caller included, work on a product.
    pub fn new(kernel: &'static Kernel, threads: usize) -> Self {
        Self { kernel, threads: Threads::Own(Pool::new(threads)), shelf: Shelf::new() }
    }

    /// A context in which up to `threads` threads of the host's, the caller included, work on a product: those on which
    /// its loop `parallel_for(user, tasks, task, argument)` calls `task(argument, i)` for each `i < tasks`.
    ///
    /// # Safety
    /// - Any thread may call `parallel_for` with `user`, and several may at once, as long as the context lives.
    /// - It calls `task` only with the `argument` that it was given, and only until it returns.
    /// - It returns when all calls that it made have returned, and does not unwind.
    pub unsafe fn on_host(
        kernel: &'static Kernel,
        threads: usize,
        parallel_for: ParallelFor,
        user: *mut c_void,
    ) -> Self {
        // SAFETY: this function's own promise.
        let host = unsafe { Host::new(threads, parallel_for, user) };
        Self { kernel, threads: Threads::Host(host), shelf: Shelf::new() }
    }

    /// How many threads work on a product.
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// At least `len` bytes for one call.
    pub(crate) fn scratch(&self, len: usize) -> Result<Scratch<'_>, Error> {
        self.shelf.scratch(len)
    }
}
