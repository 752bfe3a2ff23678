//! The host's threads: those of the program that we are a guest in, lent for one loop at a time.

use super::job::Job;
use super::process::Process;
use std::ffi::c_void;
use std::ptr;

/// What the host is asked to call, once for each index.
pub(crate) type Task = unsafe extern "C" fn(argument: *mut c_void, index: usize);

/// The host's loop: calls `task(argument, i)` for each `i < tasks`, on whichever threads.
pub(crate) type ParallelFor =
    unsafe extern "C-unwind" fn(user: *mut c_void, tasks: usize, task: Task, argument: *mut c_void);

/// Threads that a loop of the host's lends.
pub(crate) struct Host {
    parallel_for: ParallelFor,
    user: *mut c_void,
    threads: usize,
    process: Option<Process>,
}

// SAFETY: whoever made it promised that any thread may call `parallel_for` with `user`.
unsafe impl Send for Host {}

// SAFETY: whoever made it promised that several threads may do so at once.
unsafe impl Sync for Host {}

impl Host {
    /// Up to `threads` threads, the caller included.
    ///
    /// # Safety
    /// - Any thread may call `parallel_for` with `user`, and several may at once.
    /// - It calls `task` only with the `argument` that it was given, and only until it returns.
    /// - It returns when all calls that it made have returned, and does not unwind.
    pub(crate) unsafe fn new(threads: usize, parallel_for: ParallelFor, user: *mut c_void) -> Self {
        Self { parallel_for, user, threads: threads.max(1), process: Process::current() }
    }

    /// How many threads work on a job, the caller included. In a forked child it alone does: the host's threads are
    /// there no more than ours.
    pub(crate) fn threads(&self) -> usize {
        if self.process.is_some_and(Process::is_current) { self.threads } else { 1 }
    }

    /// Calls `task(i)` once for each `i < tasks` and returns when all calls have returned, whatever the host's loop
    /// makes of it: an index of the loop is but a worker, which claims tasks until none is left, so none is done twice,
    /// and the caller does what remains.
    pub(crate) fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        let workers = self.threads().min(tasks);
        let job = Job::new(tasks, workers, &task);
        if workers > 1 {
            let argument = ptr::from_ref(&job).cast_mut().cast();
            // SAFETY: as promised to `new`; the job outlives the call.
            unsafe { (self.parallel_for)(self.user, workers, work, argument) };
        }
        job.work(0);
        job.end();
    }
}

/// # Safety
/// `argument` is a job that outlives the call.
unsafe extern "C" fn work(argument: *mut c_void, index: usize) {
    // SAFETY: this function's own promise.
    unsafe { &*argument.cast_const().cast::<Job>() }.work(index);
}

#[cfg(all(test, not(loom)))]
mod tests;
