//! What one caller wants done: so many tasks, which workers share.

use super::Shares;
use crate::float_environment::Standard;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

/// `task(i)` for each `i` below some number.
pub(super) struct Job<'a> {
    task: &'a (dyn Fn(usize) + Sync),
    shares: Shares,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Job<'a> {
    /// So many tasks, for so many workers.
    pub(super) fn new(tasks: usize, workers: usize, task: &'a (dyn Fn(usize) + Sync)) -> Self {
        Self { task, shares: Shares::new(tasks, workers), panic: Mutex::new(None) }
    }

    /// As one of the workers, claims tasks until none is left. A task that panics takes those not yet claimed with it; the
    /// panic itself goes no further, because the frames above may be of another language, or rayon's, which ends the
    /// process.
    pub(super) fn work(&self, worker: usize) {
        // A thread of the host's may have another rounding mode than the caller.
        let _floats = Standard::enter();
        let work = || self.shares.claims(worker).for_each(self.task);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.shares.end();
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
