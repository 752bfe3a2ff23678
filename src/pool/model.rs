//! The board under every schedule with up to three preemptions, and every reading of memory that its orderings allow:
//! `RUSTFLAGS="--cfg loom" cargo test --lib pool`. 15 s, 3 s in release; four preemptions take ten times as long, any
//! number takes hours.

use super::*;
use loom::sync::Arc;

/// Runs `jobs` jobs of two tasks. The counts are relaxed: only waiting for the helpers makes them visible.
fn run_jobs(board: &Arc<Board>, jobs: usize) {
    for _ in 0..jobs {
        let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let task = |i: usize| _ = counts[i].fetch_add(1, Relaxed);
        let job = Job::new(2, &task);
        let wake = || {
            let board = Arc::clone(board);
            thread::spawn(move || board.help(Duration::ZERO));
        };
        if board.run(&job, 1, wake) {
            assert_eq!(counts.each_ref().map(|count| count.load(Relaxed)), [1, 1]);
        }
    }
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(model);
}

#[test]
fn jobs_follow_each_other() {
    check(|| run_jobs(&Arc::default(), 2));
}

#[test]
fn callers_meet() {
    check(|| {
        let board = Arc::<Board>::default();
        let other = Arc::clone(&board);
        thread::spawn(move || run_jobs(&other, 1));
        run_jobs(&board, 1);
    });
}
