//! A claiming pool: whoever has time claims the next task of the job.
//!
//! The caller posts a job on the board and claims its tasks like everyone else. Helpers enter the job while it is open,
//! claim, leave, linger for the next job, and at last give their thread back to rayon. The caller never waits for a
//! helper that has not entered, so a machine with no core to spare costs it next to nothing.
//!
//! Handing each job to rayon (`install`, `join`) gains only above 60 to 100 us of work. This gains from 20 us while a
//! helper lingers, and from 40 us when all are asleep.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};
use std::{iter, mem, ptr};

#[cfg(all(test, loom))]
use loom::{hint, sync::atomic::AtomicPtr, sync::atomic::AtomicUsize, thread};
#[cfg(not(all(test, loom)))]
use std::{hint, sync::atomic::AtomicPtr, sync::atomic::AtomicUsize, thread};

/// Spans the gap between two layers of a network, and is worth it: to wake a sleeping thread takes 5 to 50 us.
const LINGER: Duration = Duration::from_micros(200);

/// Some 25 us; a helper that needs longer for its last task may itself be waiting for this core.
const SPINS_BEFORE_YIELD: u32 = 1000;

/// What one caller wants done: `task(i)` for each `i < tasks`.
struct Job<'a> {
    task: &'a (dyn Fn(usize) + Sync),
    tasks: usize,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Job<'a> {
    fn new(tasks: usize, task: &'a (dyn Fn(usize) + Sync)) -> Self {
        Self { task, tasks, next: AtomicUsize::new(0), panic: Mutex::new(None) }
    }

    /// Claims tasks until none is left. A task that panics takes those not yet claimed with it.
    fn work(&self) {
        let claims = iter::repeat_with(|| self.next.fetch_add(1, Relaxed));
        let work = || claims.take_while(|&i| i < self.tasks).for_each(self.task);
        // rayon aborts the process when a helper unwinds.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            self.next.store(self.tasks, Relaxed);
            *self.panic.lock().unwrap() = Some(panic);
        }
    }
}

// What a board's word counts and flags.
/// One helper that has entered the job
const INSIDE: usize = 1;
/// One helper that lingers, works or is about to
const AWAKE: usize = 1 << 12;
/// Helpers may enter the job.
const OPEN: usize = 1 << 24;
/// A caller has the board.
const TAKEN: usize = 1 << 25;
/// No job will come.
const SHUT: usize = 1 << 26;

fn inside(word: usize) -> usize {
    word % AWAKE
}

fn awake(word: usize) -> usize {
    word / AWAKE % AWAKE
}

/// Where callers and helpers meet: room for one job. It knows nothing of where threads come from.
///
/// No helper touches a job whose caller has gone on. It reads `job` only after a compare-exchange that found `OPEN` and
/// counted it as `INSIDE`, in one word: nothing fits between looking and counting. The caller takes `OPEN` away and
/// goes on when it has seen `INSIDE` at zero; from then on the exchange fails until the next job opens, and then it is
/// that job that the helper finds, however old its look at the word.
#[derive(Default)]
struct Board {
    word: AtomicUsize,
    job: AtomicPtr<Job<'static>>,
}

impl Board {
    /// Works off `job` with `helpers` helpers, calling `wake` for each that is not awake.
    /// `false`, with nothing done, if another job is on the board.
    fn run(&self, job: &Job, helpers: usize, mut wake: impl FnMut()) -> bool {
        if self.word.fetch_or(TAKEN, Acquire) & TAKEN != 0 {
            return false;
        }
        let _until_helpers_left = Posted(self);
        self.job.store(ptr::from_ref(job).cast::<Job>().cast_mut(), Relaxed);
        let word = self.word.fetch_or(OPEN, Release);
        for _ in awake(word)..helpers {
            self.word.fetch_add(AWAKE, Relaxed);
            wake();
        }
        job.work();
        true
    }

    /// What a helper does while awake: enters every job, until none has come for `linger`.
    fn help(&self, linger: Duration) {
        let mut idle_since = Instant::now();
        loop {
            let word = self.word.load(Relaxed);
            if word & OPEN != 0 {
                if self.exchange(word, word + INSIDE) {
                    // SAFETY: a helper that is inside holds up the caller, whose job this is.
                    unsafe { &*self.job.load(Relaxed) }.work();
                    // Nothing is left to claim: without this the helper would enter again.
                    self.word.fetch_and(!OPEN, Relaxed);
                    self.word.fetch_sub(INSIDE, Release);
                    idle_since = Instant::now();
                }
            } else if word & SHUT == 0 && idle_since.elapsed() < linger {
                hint::spin_loop();
            } else if self.exchange(word, word - AWAKE) {
                return;
            }
        }
    }

    fn exchange(&self, old: usize, new: usize) -> bool {
        self.word.compare_exchange_weak(old, new, Acquire, Relaxed).is_ok()
    }
}

/// A job on the board. Dropping it, even while unwinding, waits for the helpers that have entered.
struct Posted<'a>(&'a Board);

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        self.0.word.fetch_and(!OPEN, Relaxed);
        let mut spins = 0;
        while inside(self.0.word.load(Acquire)) > 0 {
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        self.0.word.fetch_and(!TAKEN, Release);
    }
}

/// How many forks lie between this process and the one that first made a pool
static FORKS: AtomicU32 = AtomicU32::new(0);

static FORKS_ARE_COUNTED: LazyLock<bool> = LazyLock::new(|| {
    extern "C" fn count() {
        FORKS.fetch_add(1, Relaxed);
    }
    // SAFETY: the handler only adds to an atomic, which is safe in any child.
    unsafe { libc::pthread_atfork(None, None, Some(count)) == 0 }
});

/// Threads that work on one job at a time.
pub(crate) struct Pool {
    board: Arc<Board>,
    rayon: Option<ThreadPool>,
    /// `FORKS` when the threads were started
    forks: u32,
}

impl Pool {
    /// A pool in which `threads` threads work on a job: the caller and `threads - 1` helpers. Fewer if the system
    /// refuses to start them, down to the caller alone.
    pub(crate) fn new(threads: usize) -> Self {
        let most = if *FORKS_ARE_COUNTED { AWAKE - 1 } else { 0 };
        let helpers = threads.saturating_sub(1).min(most);
        let start = |n| ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("qgemm-{}", i + 1)).build();
        let fewer = iter::successors(Some(helpers), |n| Some(n / 2)).take_while(|&n| n > 0);
        let rayon = fewer.map(start).find_map(Result::ok);
        Self { board: Arc::default(), rayon, forks: FORKS.load(Relaxed) }
    }

    /// How many threads work on a job, the caller included
    pub(crate) fn threads(&self) -> usize {
        1 + self.helpers().map_or(0, ThreadPool::current_num_threads)
    }

    /// Whether a helper lingers, so that even a small job gains
    pub(crate) fn is_warm(&self) -> bool {
        let word = self.board.word.load(Relaxed);
        word & TAKEN == 0 && awake(word) > 0 && self.helpers().is_some()
    }

    /// Calls `task(i)` once for each `i < tasks` and returns when all calls have returned. The caller works alone while
    /// the helpers have another job, be it the one that this call is made from. If a task panics, so does this, and
    /// tasks not begun are skipped.
    pub(crate) fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        let job = Job::new(tasks, &task);
        let shared = self.helpers().filter(|_| tasks > 1).is_some_and(|rayon| {
            let helpers = rayon.current_num_threads().min(tasks - 1);
            self.board.run(&job, helpers, || {
                let board = Arc::clone(&self.board);
                rayon.spawn(move || board.help(LINGER));
            })
        });
        if !shared {
            (0..tasks).for_each(task);
        } else if let Some(panic) = job.panic.into_inner().unwrap() {
            resume_unwind(panic);
        }
    }

    /// The threads of the helpers. None in a forked child: there they do not exist, and rayon's locks may be held.
    fn helpers(&self) -> Option<&ThreadPool> {
        self.rayon.as_ref().filter(|_| self.forks == FORKS.load(Relaxed))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.board.word.fetch_or(SHUT, Relaxed);
        if self.helpers().is_none() {
            mem::forget(self.rayon.take());
        }
    }
}

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
