//! On which processor a helper works: on another than the caller.
//!
//! A thread that is woken is often put where its waker runs, though another processor is idle: by Linux 6.18 in a virtual
//! machine of two processors, 58 times of 60. There it waits for its turn, 2 ms as a rule, or takes the caller's.

// A model has no processors.
#[cfg(any(not(target_os = "linux"), all(test, loom)))]
mod elsewhere;
#[cfg(all(target_os = "linux", not(all(test, loom))))]
mod linux;

#[cfg(any(not(target_os = "linux"), all(test, loom)))]
use elsewhere as system;
#[cfg(all(target_os = "linux", not(all(test, loom))))]
use linux as system;

use std::sync::{Mutex, PoisonError};

pub(super) use system::processor;

/// Where a helper may work.
#[derive(Default)]
pub(super) struct Place(Mutex<Option<system::Helper>>);

impl Place {
    /// The calling thread is the helper, from now on.
    pub(super) fn take(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = system::Helper::current();
    }

    /// Keeps the helper, who sleeps, off this processor, and lets it be where it was kept off before. If the system does not
    /// allow that, nothing.
    pub(super) fn keep_off(&self, processor: usize) {
        if let Some(helper) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            helper.keep_off(processor);
        }
    }
}
