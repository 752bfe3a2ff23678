//! On which processor a helper works: on another than the caller.
//!
//! A thread that is woken is often put where its waker runs, though another processor is idle: by Linux 6.18 in a virtual
//! machine of two processors, 58 times of 60. There it waits for its turn, 2 ms as a rule, or takes the caller's.

#[cfg(all(target_os = "linux", not(loom)))]
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::sync::{Mutex, PoisonError};

/// Where a helper may work.
#[derive(Default)]
pub(super) struct Place(Mutex<Option<Helper>>);

#[cfg(all(target_os = "linux", not(loom)))]
struct Helper {
    thread: Pid,
    /// The processor that it is kept off.
    avoided: Option<usize>,
    /// Where it may be without that, and with it.
    usual: CpuSet,
    kept: CpuSet,
}

#[cfg(not(all(target_os = "linux", not(loom))))]
struct Helper;

impl Place {
    /// The calling thread is the helper, from now on.
    pub(super) fn take(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Helper::current();
    }

    /// Keeps the helper, who sleeps, off this processor, and lets it be where it was kept off before. If the system does not
    /// allow that, nothing.
    pub(super) fn keep_off(&self, processor: usize) {
        if let Some(helper) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            helper.keep_off(processor);
        }
    }
}

/// The processor that the calling thread runs on, if the system tells.
#[cfg(all(target_os = "linux", not(loom)))]
pub(super) fn processor() -> Option<usize> {
    Some(sched_getcpu())
}

#[cfg(not(all(target_os = "linux", not(loom))))]
pub(super) fn processor() -> Option<usize> {
    None
}

#[cfg(all(target_os = "linux", not(loom)))]
impl Helper {
    fn current() -> Option<Self> {
        let usual = sched_getaffinity(None).ok()?;
        Some(Self { thread: gettid(), avoided: None, usual, kept: usual })
    }

    fn keep_off(&mut self, processor: usize) {
        if self.avoided == Some(processor) || processor >= CpuSet::MAX_CPU {
            return;
        }
        let Ok(now) = sched_getaffinity(Some(self.thread)) else { return };
        // Whoever has put it elsewhere in the meantime means that.
        let usual = if now == self.kept { self.usual } else { now };
        let mut kept = usual;
        kept.unset(processor);
        if kept.count() == 0 {
            kept = usual;
        }
        if sched_setaffinity(Some(self.thread), &kept).is_ok() {
            *self = Self { avoided: Some(processor), usual, kept, ..*self };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(loom))))]
impl Helper {
    fn current() -> Option<Self> {
        None
    }

    fn keep_off(&mut self, _processor: usize) {}
}

#[cfg(all(test, target_os = "linux", not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    /// The processors of a set.
    fn of(set: &CpuSet) -> Vec<usize> {
        (0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor)).collect()
    }

    #[test]
    fn a_helper_is_kept_off_one_processor_at_a_time() {
        let place = Place::default();
        place.keep_off(0);
        let (send_thread, thread) = channel();
        let (end, ended) = channel::<()>();
        thread::scope(|scope| {
            let place = &place;
            scope.spawn(move || {
                place.take();
                send_thread.send(gettid()).unwrap();
                _ = ended.recv();
            });
            let thread = Some(thread.recv().unwrap());
            let now = || of(&sched_getaffinity(thread).unwrap());
            let all = now();
            for &processor in all.iter().cycle().take(2 * all.len()) {
                place.keep_off(processor);
                let others: Vec<_> = all.iter().copied().filter(|&other| other != processor).collect();
                assert_eq!(now(), if others.is_empty() { all.clone() } else { others });
            }
            place.keep_off(CpuSet::MAX_CPU);
            // Somebody else puts it on one processor, and it stays there.
            let mut one = CpuSet::new();
            one.set(all[all.len() - 1]);
            sched_setaffinity(thread, &one).unwrap();
            for &processor in &all {
                place.keep_off(processor);
                assert_eq!(now(), all[all.len() - 1..]);
            }
            drop(end);
        });
        place.keep_off(0);
    }
}
