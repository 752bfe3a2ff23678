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

    /// Whether the next pool is to have but the caller's thread: to look for it takes longer than some products.
    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.threads.load(Relaxed) == 1
    }

    /// How many threads work on a job, the caller included.
    pub(super) fn threads(&self) -> usize {
        if self.is_single() { 1 } else { self.pool().threads() }
    }

    pub(super) fn pool(&self) -> Arc<Pool> {
        loop {
            let threads = self.threads.load(Relaxed);
            let found = self.pool.load_full();
            match &found {
                Some(pool) if pool.is_for(threads) => return Arc::clone(pool),
                // None, or one that a job made of a number that was no longer set when it came here. If another job is
                // faster, its pool serves as well.
                _ => self.pool.compare_and_swap(&found, Some(Arc::new(Pool::new(threads)))),
            };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_pool_lasts_until_another_number_is_set() {
        let shared = Replaceable::new(2);
        let pool = shared.pool();
        assert_eq!(pool.threads(), 2);
        shared.set(2);
        assert!(Arc::ptr_eq(&pool, &shared.pool()));
        shared.set(3);
        assert_eq!(shared.pool().threads(), 3);
        assert_eq!(pool.threads(), 2);
    }

    #[test]
    fn one_thread_takes_no_pool() {
        let shared = Replaceable::new(1);
        assert_eq!(shared.threads(), 1);
        assert!(shared.pool.load().is_none());
        shared.set(2);
        assert_eq!(shared.threads(), 2);
    }

    #[test]
    fn a_pool_that_came_too_late_is_replaced() {
        let shared = Replaceable::new(2);
        let late = shared.pool();
        shared.set(3);
        shared.pool.store(Some(Arc::clone(&late)));
        let pool = shared.pool();
        assert_eq!(pool.threads(), 3);
        assert!(Arc::ptr_eq(&pool, &shared.pool()));
    }
}
