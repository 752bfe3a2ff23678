//! What one caller wants done: so many tasks, of which whoever has time claims the next.

use crate::float_environment::Standard;
use std::any::Any;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
use loom::sync::atomic::AtomicUsize;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::AtomicUsize;

/// `task(i)` for each `i < tasks`.
pub(super) struct Job<'a> {
    task: &'a (dyn Fn(usize) + Sync),
    tasks: usize,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Job<'a> {
    pub(super) fn new(tasks: usize, task: &'a (dyn Fn(usize) + Sync)) -> Self {
        Self { task, tasks, next: AtomicUsize::new(0), panic: Mutex::new(None) }
    }

    /// Claims tasks until none is left. A task that panics takes those not yet claimed with it; the panic itself goes
    /// no further, because the frames above may be of another language, or rayon's, which ends the process.
    pub(super) fn work(&self) {
        // A thread of the host's may have another rounding mode than the caller.
        let _floats = Standard::enter();
        let claims = iter::repeat_with(|| self.next.fetch_add(1, Relaxed));
        let work = || claims.take_while(|&i| i < self.tasks).for_each(self.task);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.next.store(self.tasks, Relaxed);
            *self.panic.lock().unwrap() = Some(panic);
        }
    }

    /// Ends the job, when nobody works on it any more: with the panic of a task, if there was one.
    pub(super) fn end(self) {
        if let Some(panic) = self.panic.into_inner().unwrap() {
            resume_unwind(panic);
        }
    }
}
