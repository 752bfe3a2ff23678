//! Hosts of every kind, most of which do not do what they are asked.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;

/// What a loop is asked to call.
#[derive(Clone, Copy)]
struct Call {
    task: Task,
    argument: *mut c_void,
}

// SAFETY: any thread may make the call: that is what it is for.
unsafe impl Send for Call {}

// SAFETY: several threads may make it at once.
unsafe impl Sync for Call {}

impl Call {
    fn make(&self, index: usize) {
        // SAFETY: the loops below return only after their last call.
        unsafe { (self.task)(self.argument, index) };
    }
}

/// What a loop does with its calls.
type Body = fn(usize, &Call);

/// A loop of the host's, and how often it was run.
struct Loop {
    body: Body,
    runs: AtomicUsize,
}

const BODIES: [(&str, Body); 9] = [
    ("in order", |tasks, call| (0..tasks).for_each(|i| call.make(i))),
    ("reversed", |tasks, call| (0..tasks).rev().for_each(|i| call.make(i))),
    ("lazy", |_, _| ()),
    ("half-hearted", |tasks, call| (0..tasks).step_by(2).for_each(|i| call.make(i))),
    ("stuttering", |tasks, call| (0..tasks).flat_map(|i| [i; 3]).for_each(|i| call.make(i))),
    ("confused", |_, call| [usize::MAX, 7_000_000].into_iter().for_each(|i| call.make(i))),
    ("elsewhere", |tasks, call| thread::scope(|scope| _ = scope.spawn(move || (0..tasks).for_each(|i| call.make(i))))),
    ("at once", at_once),
    ("twice at once", |tasks, call| {
        thread::scope(|scope| (0..2 * tasks).for_each(|i| _ = scope.spawn(move || call.make(i % tasks))));
    }),
];

/// On so many threads, each of which begins when all are there.
fn at_once(tasks: usize, call: &Call) {
    let begin = Barrier::new(tasks);
    let task = |i| {
        begin.wait();
        call.make(i);
    };
    thread::scope(|scope| (0..tasks).for_each(|i| _ = scope.spawn(move || task(i))));
}

unsafe extern "C-unwind" fn parallel_for(user: *mut c_void, tasks: usize, task: Task, argument: *mut c_void) {
    // SAFETY: `host` passes this.
    let Loop { body, runs } = unsafe { &*user.cast_const().cast() };
    runs.fetch_add(1, Relaxed);
    body(tasks, &Call { task, argument });
}

impl Loop {
    fn new(body: Body) -> Self {
        Self { body, runs: AtomicUsize::new(0) }
    }

    fn host(&self, threads: usize) -> Host {
        // SAFETY: the loops above keep to what is demanded, and outlive the hosts below.
        unsafe { Host::new(threads, parallel_for, ptr::from_ref(self).cast_mut().cast()) }
    }

    fn runs(&self) -> usize {
        self.runs.load(Relaxed)
    }
}

/// How often each of `tasks` tasks ran.
fn counts(host: &Host, tasks: usize) -> Vec<usize> {
    let counts: Vec<_> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
    host.run(tasks, |i| _ = counts[i].fetch_add(1, Relaxed));
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn every_task_runs_once_whatever_the_host_does() {
    for (name, body) in BODIES {
        for threads in 0..=5 {
            let its_loop = Loop::new(body);
            let host = its_loop.host(threads);
            assert_eq!(host.threads(), threads.max(1));
            for tasks in [0, 1, 2, 3, 40, 1000] {
                assert_eq!(counts(&host, tasks), vec![1; tasks], "{name}, {threads} threads");
            }
            // It is asked only where there is something to share.
            assert_eq!(its_loop.runs(), if threads > 1 { 4 } else { 0 }, "{name}, {threads} threads");
        }
    }
}

#[test]
fn the_hosts_threads_take_part() {
    let its_loop = Loop::new(at_once);
    for _ in 0..20 {
        let together = Barrier::new(3);
        its_loop.host(3).run(3, |_| _ = together.wait());
    }
}

#[test]
fn a_task_may_run_a_job_of_its_own_and_callers_do_not_disturb_each_other() {
    for (name, body) in BODIES {
        let its_loop = Loop::new(body);
        let host = &its_loop.host(3);
        let job = move || host.run(4, |_| assert_eq!(counts(host, 5), [1; 5], "{name}"));
        thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(job)));
    }
}

#[test]
fn a_panic_passes_by_the_host_and_reaches_the_caller() {
    // More than anybody could ever do.
    let share = 1 << 60;
    for (name, body) in BODIES {
        for which in [0, 1, 37] {
            let its_loop = Loop::new(body);
            let host = its_loop.host(3);
            let task = |i| {
                if i % share == which {
                    // As `panic!`, but without a message on stderr.
                    resume_unwind(Box::new("task"));
                }
            };
            let panic = catch_unwind(AssertUnwindSafe(|| host.run(3 * share, task))).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"task"), "{name}");
            assert_eq!(its_loop.runs(), 1, "{name}");
            assert_eq!(counts(&host, 50), [1; 50], "{name}");
        }
    }
}

#[test]
fn a_forked_child_does_all_the_work_itself() {
    let its_loop = Loop::new(at_once);
    let host = its_loop.host(3);
    assert_eq!(counts(&host, 9), [1; 9]);
    // SAFETY: glibc lets a child allocate, all that it does before it exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: can only end the child, which is the point.
        unsafe { libc::alarm(5) };
        let alone = counts(&host, 9) == [1; 9] && host.threads() == 1 && its_loop.runs() == 1;
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if alone { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: `status` outlives the call.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!(counts(&host, 9), [1; 9]);
    assert_eq!(its_loop.runs(), 2);
}
