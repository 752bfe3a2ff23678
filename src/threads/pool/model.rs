//! The board under every schedule with up to so many preemptions, and every reading of memory that its orderings allow:
//! `RUSTFLAGS="--cfg loom" cargo test --test model -- --test-threads 1`. A minute and a half.

use super::*;
use loom::sync::Arc;

/// A board with one helper, which sleeps as soon as it finds no job.
#[derive(Clone)]
struct Shop {
    board: Arc<Board>,
    helper: Arc<thread::JoinHandle<()>>,
}

impl Shop {
    fn open() -> Self {
        let board = Arc::new(Board::new(1));
        let helpers_board = Arc::clone(&board);
        let helper = Arc::new(thread::spawn(move || helpers_board.help(0, Duration::ZERO)));
        Self { board, helper }
    }

    fn run(&self, job: &Job) -> bool {
        self.board.run(job, 1, |_| self.helper.thread().unpark())
    }

    /// Runs a job of two tasks. The counts are relaxed: only waiting for the helper makes them visible.
    fn run_job(&self) {
        let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let task = |i: usize| _ = counts[i].fetch_add(1, Relaxed);
        if self.run(&Job::new(2, 2, &task)) {
            assert_eq!(counts.each_ref().map(|count| count.load(Relaxed)), [1, 1]);
        }
    }

    /// Runs a job that ends only if the helper takes part.
    fn run_in_pair(&self) {
        let met = [AtomicBool::new(false), AtomicBool::new(false)];
        let task = |i: usize| {
            met[i].store(true, Relaxed);
            while !met[1 - i].load(Relaxed) {
                thread::yield_now();
            }
        };
        assert!(self.run(&Job::new(2, 2, &task)));
    }

    /// Ends only if the helper does.
    fn close(self) {
        self.board.shut(|_| self.helper.thread().unpark());
        let helper = Arc::try_unwrap(self.helper).expect("nobody else has it");
        helper.join().unwrap();
    }
}

/// `LOOM_MAX_PREEMPTIONS` sets another bound.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(model);
}

#[test]
fn jobs_follow_each_other() {
    check(3, || {
        let shop = Shop::open();
        shop.run_job();
        shop.run_job();
        shop.close();
    });
}

#[test]
fn callers_meet() {
    check(3, || {
        let shop = Shop::open();
        let other = shop.clone();
        let caller = thread::spawn(move || other.run_job());
        shop.run_job();
        caller.join().unwrap();
        shop.close();
    });
}

#[test]
fn no_helper_sleeps_through_a_job() {
    // A third takes eight times as long, for both wait in loops.
    check(2, || {
        let shop = Shop::open();
        shop.run_in_pair();
        shop.run_in_pair();
        shop.close();
    });
}
