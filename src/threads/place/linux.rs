//! Affinity, of threads of our own.

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

pub(super) struct Helper {
    thread: Pid,
    /// The processor that it is kept off.
    avoided: Option<usize>,
    /// Where it may be without that, and with it.
    usual: CpuSet,
    kept: CpuSet,
}

impl Helper {
    /// The calling thread; None if its affinity cannot be had.
    pub(super) fn current() -> Option<Self> {
        let usual = sched_getaffinity(None).ok()?;
        Some(Self { thread: gettid(), avoided: None, usual, kept: usual })
    }

    pub(super) fn keep_off(&mut self, processor: usize) {
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

/// The processor that the calling thread runs on.
pub(in super::super) fn processor() -> Option<usize> {
    Some(sched_getcpu()).filter(|&processor| processor < CpuSet::MAX_CPU)
}

#[cfg(test)]
mod tests {
    use super::super::Place;
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
