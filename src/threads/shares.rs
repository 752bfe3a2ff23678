//! How workers share tasks: each has a share of its own, and then takes what is left of the others'.
//!
//! Call after call a worker does the same tasks, whose memory is in its caches, and not in those of another processor.
//! Whoever is late, or slow, keeps nobody waiting: its tasks are claimed one by one, too.

use std::array;
use std::iter;
use std::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, loom))]
use loom::sync::atomic::AtomicUsize;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::AtomicUsize;

/// So many shares at most: several workers begin with the same one if there are more workers.
const MOST: usize = 16;

/// Tasks, each of which is claimed once.
pub(crate) struct Shares {
    tasks: usize,
    count: usize,
    /// The next task of each share
    next: [AtomicUsize; MOST],
}

impl Shares {
    /// A share of the tasks for each of the workers.
    pub(crate) fn new(tasks: usize, workers: usize) -> Self {
        let count = workers.min(tasks).clamp(1, MOST);
        let next = array::from_fn(|share| AtomicUsize::new(start(tasks, count, share.min(count))));
        Self { tasks, count, next }
    }

    /// What a worker, of any number, claims, until no task is left.
    pub(crate) fn claims(&self, worker: usize) -> impl Iterator<Item = usize> {
        let own = worker % self.count;
        (own..self.count).chain(0..own).flat_map(move |share| {
            let end = self.end_of(share);
            // Whoever comes late changes nothing.
            let claim =
                move || self.next[share].fetch_update(Relaxed, Relaxed, |task| (task < end).then_some(task + 1)).ok();
            iter::from_fn(claim)
        })
    }

    /// Leaves no task to be claimed.
    pub(super) fn end(&self) {
        (0..self.count).for_each(|share| self.next[share].store(self.end_of(share), Relaxed));
    }

    fn end_of(&self, share: usize) -> usize {
        start(self.tasks, self.count, share + 1)
    }
}

/// The first task of a share. Shares are as equal as can be.
fn start(tasks: usize, count: usize, share: usize) -> usize {
    tasks / count * share + share.min(tasks % count)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_begins_with_its_share_and_goes_on_with_the_others() {
        let shares = Shares::new(7, 3);
        assert_eq!(shares.claims(1).take(3).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!(shares.claims(2).collect::<Vec<_>>(), [6, 0, 1, 2]);
        assert_eq!(shares.claims(0).count(), 0);
    }

    #[test]
    fn every_task_is_claimed_once() {
        for (tasks, workers) in [0, 1, 2, 15, 16, 17, 100].into_iter().flat_map(|n| (0..40).map(move |w| (n, w))) {
            let shares = Shares::new(tasks, workers);
            let mut claimed: Vec<_> =
                (0..workers).flat_map(|worker| shares.claims(worker).take(3).collect::<Vec<_>>()).collect();
            claimed.extend(shares.claims(usize::MAX));
            claimed.sort_unstable();
            assert_eq!(claimed, (0..tasks).collect::<Vec<_>>(), "{workers} workers");
        }
    }

    #[test]
    fn nothing_is_claimed_after_the_end() {
        let shares = Shares::new(100, 3);
        assert_eq!(shares.claims(2).next(), Some(67));
        shares.end();
        assert_eq!((0..4).map(|worker| shares.claims(worker).count()).sum::<usize>(), 0);
    }
}
