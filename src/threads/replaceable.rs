//! The pool of all calls that name no context, which may be replaced at any time.

use super::Pool;
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A pool that is made when it is first needed. Jobs hold it for themselves while they run.
pub(crate) struct Replaceable {
    threads: AtomicUsize,
    pool: ArcSwapOption<Pool>,
}

impl Replaceable {
    pub(crate) const fn new(threads: usize) -> Self {
        Self { threads: AtomicUsize::new(threads), pool: ArcSwapOption::const_empty() }
    }

    /// How many threads the next pool is to have.
    pub(crate) fn set(&self, threads: usize) {
        if self.threads.swap(threads, Relaxed) != threads {
            self.end();
        }
    }

    /// Ends the threads, when the jobs that they have are done.
    pub(crate) fn end(&self) {
        self.pool.store(None);
    }

    pub(super) fn pool(&self) -> Arc<Pool> {
        if let Some(pool) = self.pool.load_full() {
            return pool;
        }
        let pool = Arc::new(Pool::new(self.threads.load(Relaxed)));
        // If another job was faster, its pool serves as well.
        let before = self.pool.compare_and_swap(&None::<Arc<Pool>>, Some(Arc::clone(&pool)));
        (*before).clone().unwrap_or(pool)
    }
}
