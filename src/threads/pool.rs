//! A claiming pool: whoever has time claims a task of the job.
//!
//! The caller posts a job on the board and claims its tasks like everyone else. Helpers enter the job while it is open,
//! claim, leave, linger for the next job, and at last sleep until one wakes them. The caller never waits for a helper
//! that has not entered, so a machine with no core to spare costs it next to nothing. Nothing is allocated for a job.
//!
//! Handing each job to rayon (`install`, `join`) gains only above 60 to 100 us of work. This gains from 20 us while a
//! helper lingers, and from 40 us when all are asleep.

use super::job::Job;
use super::place::{Place, processor};
use super::process::Process;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};
use std::{iter, mem, ptr};

#[cfg(all(test, loom))]
use loom::{hint, sync::atomic::AtomicBool, sync::atomic::AtomicPtr, sync::atomic::AtomicUsize, thread};
#[cfg(not(all(test, loom)))]
use std::{hint, sync::atomic::AtomicBool, sync::atomic::AtomicPtr, sync::atomic::AtomicUsize, thread};

/// Spans the gap between two layers of a network, and is worth it: to wake a sleeping thread takes 5 to 50 us.
const LINGER: Duration = Duration::from_micros(200);

/// Some 25 us; a helper that needs longer for its last task may itself be waiting for this core.
const SPINS_BEFORE_YIELD: u32 = 1000;

// What a board's word counts and flags.
/// One helper that has entered the job
const INSIDE: usize = 1;
/// Helpers may enter the job.
const OPEN: usize = 1 << 24;
/// A caller has the board.
const TAKEN: usize = 1 << 25;
/// No job will come.
const SHUT: usize = 1 << 26;

/// The first of the workers; helpers follow.
const CALLER: usize = 0;

/// No processor
const NOWHERE: usize = usize::MAX;

/// More helpers than can ever be, and fewer than would reach `OPEN`
const MOST_HELPERS: usize = 1 << 12;

/// How many helpers are inside.
fn inside(word: usize) -> usize {
    word % OPEN
}

/// Where callers and helpers meet: room for one job. It knows nothing of where threads come from.
///
/// No helper touches a job whose caller has gone on. It reads `job` only after a compare-exchange that found `OPEN` and
/// counted it as `INSIDE`, in one word: nothing fits between looking and counting. The caller takes `OPEN` away and
/// goes on when it has seen `INSIDE` at zero; from then on the exchange fails until the next job opens, and then it is
/// that job that the helper finds, however old its look at the word.
///
/// No helper sleeps through a job. It says that it sleeps, and then looks at the word; the caller opens the job, and
/// then looks who sleeps. Both looks at the word change it, if only for form's sake, so one is first: either the helper
/// finds the job, or the caller finds the helper.
struct Board {
    word: AtomicUsize,
    job: AtomicPtr<Job<'static>>,
    /// The processor of the last caller, or `NOWHERE`
    callers_processor: AtomicUsize,
    /// Whether each helper sleeps, or is about to
    asleep: Box<[AtomicBool]>,
    places: Box<[Place]>,
}

impl Board {
    fn new(helpers: usize) -> Self {
        let asleep = (0..helpers).map(|_| AtomicBool::new(false)).collect();
        let places = (0..helpers).map(|_| Place::default()).collect();
        let (word, callers_processor) = (AtomicUsize::new(0), AtomicUsize::new(NOWHERE));
        Self { word, job: AtomicPtr::default(), callers_processor, asleep, places }
    }

    /// Works off `job` with the first `helpers` helpers, and others that linger; `wake` unparks a helper.
    /// `false`, with nothing done, if another job is on the board.
    fn run(&self, job: &Job, helpers: usize, wake: impl Fn(usize)) -> bool {
        if self.word.fetch_or(TAKEN, Acquire) & TAKEN != 0 {
            return false;
        }
        let _until_helpers_left = Posted(self);
        self.job.store(ptr::from_ref(job).cast::<Job>().cast_mut(), Relaxed);
        self.callers_processor.store(processor().unwrap_or(NOWHERE), Relaxed);
        self.word.fetch_or(OPEN, AcqRel);
        self.wake(helpers, wake);
        job.work(CALLER);
        true
    }

    /// What helper `me` does: enters every job, lingers for the next, and sleeps when none has come for `linger`, or if it
    /// takes the caller's processor meanwhile. Returns when no job will come.
    fn help(&self, me: usize, linger: Duration) {
        self.places[me].take();
        let mut idle_since = Instant::now();
        loop {
            let word = self.word.load(Relaxed);
            if word & OPEN != 0 {
                if self.word.compare_exchange_weak(word, word + INSIDE, Acquire, Relaxed).is_ok() {
                    // SAFETY: a helper that is inside holds up the caller, whose job this is.
                    unsafe { &*self.job.load(Relaxed) }.work(CALLER + 1 + me);
                    // Nothing is left to claim: without this the helper would enter again.
                    self.word.fetch_and(!OPEN, Relaxed);
                    self.word.fetch_sub(INSIDE, Release);
                    idle_since = Instant::now();
                }
            } else if word & SHUT != 0 {
                return;
            } else if idle_since.elapsed() < linger && !self.is_in_the_callers_way() {
                hint::spin_loop();
            } else {
                self.sleep(me);
                idle_since = Instant::now();
            }
        }
    }

    /// Whether the calling helper would linger in the place of the last caller.
    fn is_in_the_callers_way(&self) -> bool {
        processor() == Some(self.callers_processor.load(Relaxed))
    }

    /// Sleeps until woken, unless a job is open or none will come.
    fn sleep(&self, me: usize) {
        self.asleep[me].store(true, Relaxed);
        if self.word.fetch_or(0, AcqRel) & (OPEN | SHUT) != 0 {
            self.asleep[me].store(false, Relaxed);
        }
        while self.asleep[me].load(Relaxed) {
            thread::park();
        }
    }

    /// Wakes those of the first `helpers` helpers that sleep.
    fn wake(&self, helpers: usize, wake: impl Fn(usize)) {
        for (helper, asleep) in self.asleep[..helpers].iter().enumerate() {
            if asleep.load(Relaxed) {
                self.places[helper].keep_off(self.callers_processor.load(Relaxed));
                asleep.store(false, Relaxed);
                wake(helper);
            }
        }
    }

    /// Lets all helpers return.
    fn shut(&self, wake: impl Fn(usize)) {
        self.word.fetch_or(SHUT, AcqRel);
        self.wake(self.asleep.len(), wake);
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

/// Threads that work on one job at a time.
pub(crate) struct Pool {
    board: Arc<Board>,
    helpers: Vec<thread::JoinHandle<()>>,
    /// How many threads it was to have
    wanted: usize,
    /// Whose threads the helpers are
    rayon: Option<ThreadPool>,
    /// In which the helpers are
    process: Option<Process>,
    /// When [`Pool::is_in_demand`] was asked last, in microseconds since then.
    asked: AtomicUsize,
    since: Instant,
}

impl Pool {
    /// A pool in which `threads` threads work on a job: the caller and `threads - 1` helpers. Fewer if the system
    /// refuses to start them, down to the caller alone.
    pub(crate) fn new(threads: usize) -> Self {
        Self::lingering(threads, LINGER)
    }

    fn lingering(threads: usize, linger: Duration) -> Self {
        let process = Process::current();
        let wanted = process.map_or(0, |_| threads.saturating_sub(1).min(MOST_HELPERS));
        let fewer = iter::successors(Some(wanted), |n| Some(n / 2)).take_while(|&n| n > 0);
        let (rayon, helpers) = fewer.into_iter().find_map(start).unzip();
        let helpers = helpers.unwrap_or_default();
        let board = Arc::new(Board::new(helpers.len()));
        if let Some(rayon) = &rayon {
            let board = Arc::clone(&board);
            rayon.spawn_broadcast(move |helper| board.help(helper.index(), linger));
        }
        // Nobody has asked within the time that helpers linger.
        let since = Instant::now();
        Self {
            board,
            helpers,
            wanted: threads,
            rayon,
            process,
            asked: AtomicUsize::new(0),
            since: since.checked_sub(LINGER).unwrap_or(since),
        }
    }

    /// Whether it was made to have so many threads, even if the system refused some.
    pub(super) fn is_for(&self, threads: usize) -> bool {
        self.wanted == threads
    }

    /// How many threads work on a job, the caller included
    pub(crate) fn threads(&self) -> usize {
        1 + self.helpers().len()
    }

    /// Whether a helper lingers, so that even a small job gains
    pub(crate) fn is_warm(&self) -> bool {
        let idle = self.board.word.load(Relaxed) & TAKEN == 0;
        idle && !self.helpers().is_empty() && !self.board.asleep[0].load(Relaxed)
    }

    /// Whether this was asked a short time ago: where small jobs come one after the other, it is worth waking a helper even
    /// for one of them, because it will linger for those that follow.
    pub(crate) fn is_in_demand(&self) -> bool {
        if self.helpers().is_empty() {
            return false;
        }
        let now = self.since.elapsed().as_micros() as usize;
        let before = self.asked.swap(now, Relaxed);
        now.wrapping_sub(before) < LINGER.as_micros() as usize
    }

    /// Calls `task(i)` once for each `i < tasks` and returns when all calls have returned. The caller works alone while
    /// the helpers have another job, be it the one that this call is made from. If a task panics, so does this, and
    /// tasks not begun are skipped.
    pub(crate) fn run(&self, tasks: usize, task: impl Fn(usize) + Sync) {
        let helpers = self.helpers();
        let wanted = helpers.len().min(tasks.saturating_sub(1));
        let job = Job::new(tasks, 1 + wanted, &task);
        if wanted > 0 && self.board.run(&job, wanted, |helper| helpers[helper].thread().unpark()) {
            job.end();
        } else {
            (0..tasks).for_each(task);
        }
    }

    /// The helpers. None in a forked child: there they do not exist, and what they did stands still half done.
    fn helpers(&self) -> &[thread::JoinHandle<()>] {
        if self.process.is_some_and(Process::is_current) { &self.helpers } else { &[] }
    }
}

/// The threads of so many helpers; none if the system refuses one of them.
fn start(helpers: usize) -> Option<(ThreadPool, Vec<thread::JoinHandle<()>>)> {
    let mut threads = Vec::with_capacity(helpers);
    let rayon = ThreadPoolBuilder::new().num_threads(helpers).spawn_handler(|helper| {
        let thread = thread::Builder::new().name(format!("qgemm-{}", helper.index() + 1));
        threads.push(thread.spawn(|| helper.run())?);
        Ok(())
    });
    Some((rayon.build().ok()?, threads))
}

impl Drop for Pool {
    /// Returns when the helpers' threads have ended.
    fn drop(&mut self) {
        let is_ours = self.process.is_some_and(Process::is_current);
        let (rayon, helpers) = (self.rayon.take(), mem::take(&mut self.helpers));
        if !is_ours {
            mem::forget((rayon, helpers));
            return;
        }
        self.board.shut(|helper| helpers[helper].thread().unpark());
        drop(rayon);
        helpers.into_iter().for_each(|helper| _ = helper.join());
    }
}

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
