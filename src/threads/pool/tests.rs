//! The pool with real threads.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;

/// How often each of `tasks` tasks ran.
fn counts(pool: &Pool, tasks: usize) -> Vec<usize> {
    let counts: Vec<_> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
    pool.run(tasks, |i| _ = counts[i].fetch_add(1, Relaxed));
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

/// A job that ends only if the caller and a helper work on it.
fn run_in_pairs(pool: &Pool) {
    let pair = Barrier::new(2);
    pool.run(2, |_| _ = pair.wait());
}

fn soon(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    iter::repeat_with(condition).take_while(|_| start.elapsed().as_secs() < 5).any(|is| is)
}

#[test]
fn every_task_runs_once() {
    for threads in 0..=8 {
        let pool = Pool::new(threads);
        assert_eq!(pool.threads(), threads.max(1));
        for tasks in (0..40).chain([1000]).cycle().take(500) {
            assert_eq!(counts(&pool, tasks), vec![1; tasks], "{threads} threads");
        }
    }
}

#[test]
fn helpers_take_part_and_go_to_sleep() {
    let pool = Pool::new(2);
    for _ in 0..10 {
        assert!(soon(|| !pool.is_warm()));
        run_in_pairs(&pool);
    }
}

#[test]
fn a_helper_that_lingers_takes_every_job_and_leaves_with_the_pool() {
    let pool = Pool::lingering(2, Duration::MAX);
    for _ in 0..100 {
        run_in_pairs(&pool);
    }
}

#[test]
fn a_helper_lingers_if_there_is_another_processor() {
    let pool = Pool::lingering(2, Duration::MAX);
    let lingers = || {
        run_in_pairs(&pool);
        thread::sleep(Duration::from_millis(1));
        pool.is_warm()
    };
    if thread::available_parallelism().is_ok_and(|processors| processors.get() > 1) {
        assert!(soon(lingers));
    }
}

/// The processors that the calling thread may run on.
#[cfg(target_os = "linux")]
fn allowed() -> rustix::thread::CpuSet {
    rustix::thread::sched_getaffinity(None).unwrap()
}

/// Lets the calling thread run on but one of those, which is returned.
#[cfg(target_os = "linux")]
fn stay_on_one() -> usize {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let one = (0..CpuSet::MAX_CPU).find(|&processor| allowed().is_set(processor)).unwrap();
    let mut set = CpuSet::new();
    set.set(one);
    sched_setaffinity(None, &set).unwrap();
    one
}

#[cfg(target_os = "linux")]
#[test]
fn a_helper_is_woken_on_another_processor() {
    let pool = Pool::lingering(2, Duration::ZERO);
    let all = allowed().count();
    let test = || {
        let callers = stay_on_one();
        let is_elsewhere = AtomicBool::new(false);
        soon(|| {
            let pair = Barrier::new(2);
            pool.run(2, |_| {
                pair.wait();
                if thread::current().name().is_some_and(|name| name.starts_with("qgemm-")) {
                    is_elsewhere.store(!allowed().is_set(callers), Relaxed);
                }
            });
            is_elsewhere.load(Relaxed)
        })
    };
    // By a thread of its own, for it does not leave its processor again.
    let is_elsewhere = thread::scope(|scope| scope.spawn(test).join().unwrap());
    assert_eq!(is_elsewhere, all > 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_helper_does_not_linger_in_the_callers_place() {
    let test = || {
        stay_on_one();
        // The helper inherits that there is but one processor.
        let pool = Pool::lingering(2, Duration::MAX);
        run_in_pairs(&pool);
        assert!(soon(|| !pool.is_warm()));
        run_in_pairs(&pool);
    };
    thread::scope(|scope| scope.spawn(test).join().unwrap());
}

#[test]
fn a_helper_that_does_not_linger_is_woken_for_every_job() {
    let pool = Pool::lingering(2, Duration::ZERO);
    (0..1000).for_each(|_| run_in_pairs(&pool));
}

#[test]
fn a_pool_that_is_asked_twice_at_once_is_in_demand() {
    let pool = Pool::new(2);
    assert!(!pool.is_in_demand(), "nobody has asked before");
    assert!(soon(|| pool.is_in_demand()));
    thread::sleep(2 * LINGER);
    assert!(!pool.is_in_demand());
    let alone = Pool::new(1);
    assert!(!(0..10).any(|_| alone.is_in_demand()), "nobody is there to help");
}

#[test]
fn callers_do_not_wait_for_each_other() {
    let pool = Pool::new(3);
    pool.run(2, |_| {
        thread::scope(|scope| _ = scope.spawn(|| assert_eq!(counts(&pool, 5), [1; 5])));
    });
    thread::scope(|scope| {
        for tasks in 1..5 {
            let pool = &pool;
            let job = move || assert_eq!(counts(pool, tasks), vec![1; tasks]);
            scope.spawn(move || (0..1000).for_each(|_| job()));
        }
    });
}

#[test]
fn a_task_may_run_a_job_of_its_own() {
    let pool = Pool::new(4);
    for _ in 0..200 {
        pool.run(5, |_| assert_eq!(counts(&pool, 7), [1; 7]));
    }
}

#[test]
fn a_panic_skips_to_the_end_and_reaches_the_caller() {
    let pool = Pool::new(2);
    // More than anybody could ever do.
    let share = 1 << 60;
    for in_helper in [false, true].repeat(20) {
        let pair = Barrier::new(2);
        let task = |i| {
            if i % share == 0 {
                pair.wait();
                let is_helper = thread::current().name().is_some_and(|name| name.starts_with("qgemm-"));
                if is_helper == in_helper {
                    // As `panic!`, but without a message on stderr.
                    resume_unwind(Box::new("task"));
                }
            }
        };
        let panic = catch_unwind(AssertUnwindSafe(|| pool.run(2 * share, task))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"task"));
        assert_eq!(counts(&pool, 50), [1; 50]);
    }
}

#[test]
fn a_dropped_pool_ends_its_threads() {
    for jobs in [0, 1, 100] {
        let pool = Pool::new(3);
        (0..jobs).for_each(|_| pool.run(100, |_| ()));
        let board = Arc::downgrade(&pool.board);
        drop(pool);
        assert_eq!(board.strong_count(), 0);
    }
}

#[test]
fn a_forked_child_does_all_the_work_itself() {
    let pool = Pool::new(3);
    run_in_pairs(&pool);
    let mut hung = 0;
    for _ in 0..20 {
        // SAFETY: glibc lets a child allocate and start threads, all that it does before it exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: can only end the child, which is the point.
            unsafe { libc::alarm(5) };
            let alone = counts(&pool, 9) == [1; 9] && pool.threads() == 1 && !pool.is_warm();
            drop(pool);
            run_in_pairs(&Pool::new(2));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if alone { 0 } else { 1 }) };
        }
        let mut status = -1;
        // SAFETY: `status` outlives the call.
        unsafe { libc::waitpid(child, &mut status, 0) };
        // Threads of other tests may have held a lock with which the C library starts threads, which none of ours does.
        hung += i32::from(status == libc::SIGALRM);
        assert!(hung <= 1 && matches!(status, 0 | libc::SIGALRM), "{status}");
        run_in_pairs(&pool);
    }
}
