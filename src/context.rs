//! What calls share: the kernel, the threads and the scratch memory.

use crate::buffer::ALIGN;
use crate::error::Error;
use crate::kernel::{Kernel, stream};
use crate::scratch::{Scratch, Shelf};
use crate::threads::{Host, ParallelFor, Pool, Replaceable, Threads};
use std::ffi::c_void;
use std::ops::Range;

/// Bytes to move that are worth a second thread in any case, and if it lingers: as products have it, at some 10 bytes in a
/// nanosecond.
const WORTH_WAKING: usize = 1 << 19;
const WORTH_SHARING: usize = 1 << 16;

/// Pieces that each thread gets, so that none waits long for the last one.
const PIECES: usize = 4;

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

    /// A context whose pool may be replaced.
    pub(crate) fn shared(kernel: &'static Kernel, pool: &'static Replaceable) -> Self {
        Self { kernel, threads: Threads::Shared(pool), shelf: Shelf::new() }
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

    /// Calls `work` on pieces of so many elements that make up all of them, on as many threads as pays: moving an element
    /// takes so many bytes.
    pub(crate) fn in_pieces(&self, elements: usize, bytes: usize, work: impl Fn(Range<usize>) + Sync) {
        self.share(elements, bytes, &work);
    }

    /// As [`Context::in_pieces`], for lines of so many bytes each, few of which may be worth a thread.
    pub(crate) fn in_lines(&self, lines: usize, bytes: usize, work: impl Fn(Range<usize>) + Sync) {
        // Pieces are multiples of so many.
        self.in_pieces(lines * ALIGN, bytes.div_ceil(ALIGN), |range| work(range.start / ALIGN..range.end / ALIGN));
    }

    /// As [`Context::in_lines`], for lines that lie side by side: in pieces that are wide, so that memory is read in long runs.
    pub(crate) fn in_columns(&self, lines: usize, bytes: usize, work: impl Fn(Range<usize>) + Sync) {
        const MOST: usize = 1024;
        let width = lines.div_ceil(self.threads()).clamp(1, MOST).next_multiple_of(ALIGN);
        let pieces = lines.div_ceil(width);
        self.in_lines(pieces, width * bytes, |range| work(range.start * width..lines.min(range.end * width)));
    }

    /// As [`Context::in_pieces`]: compiled once, so that neither is the work more than once.
    fn share(&self, elements: usize, bytes: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        let all = elements.saturating_mul(bytes);
        let is_shared = all >= WORTH_WAKING || all >= WORTH_SHARING && self.threads.are_worth_it();
        let work = |range| {
            work(range);
            stream::settle(all);
        };
        let pieces = if is_shared && self.threads() > 1 { self.threads() * PIECES } else { 1 };
        if pieces == 1 {
            return work(0..elements);
        }
        // Whole cache lines, whatever the size of an element.
        let len = elements.div_ceil(pieces).next_multiple_of(ALIGN);
        self.threads.run(elements.div_ceil(len), |i| work(i * len..elements.min((i + 1) * len)));
    }

    /// At least `len` bytes for one call.
    pub(crate) fn scratch(&self, len: usize) -> Result<Scratch<'_>, Error> {
        self.shelf.scratch(len)
    }

    /// Frees the scratch memory: of calls that are under way when they are done.
    pub(crate) fn free_scratch(&self) {
        self.shelf.clear();
    }

    /// As [`Context::scratch`], for `work` alone.
    #[inline(always)]
    pub(crate) fn lend(&self, len: usize, work: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        self.shelf.lend(len, work)
    }
}
