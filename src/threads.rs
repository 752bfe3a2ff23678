//! The threads that work on products: a pool of our own, or the host's.

mod host;
mod job;
mod place;
mod pool;
mod process;
mod replaceable;
mod shares;

pub(crate) use host::{Host, ParallelFor};
pub(crate) use pool::Pool;
pub(crate) use replaceable::Replaceable;
pub(crate) use shares::Shares;

/// Threads that work on one job together, the caller's among them.
pub(crate) enum Threads {
    Own(Pool),
    Shared(&'static Replaceable),
    Host(Host),
}

impl Threads {
    /// How many threads work on a job, the caller included
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Own(pool) => pool.threads(),
            Self::Shared(shared) => shared.threads(),
            Self::Host(host) => host.threads(),
        }
    }

    /// Whether even a small job gains: a helper is at hand, or will be for the next such job. Nobody knows of the host's
    /// threads; and while a helper of ours that is late is not waited for, `parallel_for` is.
    pub(crate) fn are_worth_it(&self) -> bool {
        match self {
            Self::Own(pool) => is_worth_it(pool),
            Self::Shared(shared) => !shared.is_single() && is_worth_it(&shared.pool()),
            Self::Host(_) => false,
        }
    }

    /// Calls `task(i)` once for each `i < tasks`, in any order, and returns when all calls have returned. If a task
    /// panics, so does this, and tasks not begun are skipped.
    pub(crate) fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        if tasks == 1 {
            // Nobody can help.
            return task(0);
        }
        match self {
            Self::Own(pool) => pool.run(tasks, task),
            Self::Shared(shared) => shared.pool().run(tasks, task),
            Self::Host(host) => host.run(tasks, task),
        }
    }
}

fn is_worth_it(pool: &Pool) -> bool {
    pool.is_in_demand() | pool.is_warm()
}
