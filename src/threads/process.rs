//! Whether this is still the process in which something was made, or a child that fork() made of it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How many forks lie between this process and the one that first asked
static FORKS: AtomicU32 = AtomicU32::new(0);

static FORKS_ARE_COUNTED: LazyLock<bool> = LazyLock::new(|| {
    extern "C" fn count() {
        FORKS.fetch_add(1, Relaxed);
    }
    // SAFETY: the handler only adds to an atomic, which is safe in any child.
    unsafe { libc::pthread_atfork(None, None, Some(count)) == 0 }
});

/// A process. Of its threads a child has but the one that called fork(), and of its locks a copy that may be held by
/// one of the others.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    forks: u32,
}

impl Process {
    /// The process that asks; none if the system would not say when it is another.
    pub(crate) fn current() -> Option<Self> {
        FORKS_ARE_COUNTED.then(|| Self { forks: FORKS.load(Relaxed) })
    }

    /// Whether it is this one.
    pub(crate) fn is_current(self) -> bool {
        self.forks == FORKS.load(Relaxed)
    }
}
