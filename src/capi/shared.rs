//! The context that calls without one of their own share.

use super::{Status, guard, threads};
use crate::context::Context;
use crate::error::Error;
use crate::kernel::Kernel;
use arc_swap::{ArcSwapOption, Guard};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many threads a call may use.
static THREADS: AtomicUsize = AtomicUsize::new(1);

/// Made by the first call that finds none. Calls hold it for themselves, so it may be replaced at any time.
static CONTEXT: ArcSwapOption<Context> = ArcSwapOption::const_empty();

/// The context of a call that names none. A guard: to count one reference more and then one less would take longer.
pub(super) struct Shared(Guard<Option<Arc<Context>>>);

impl Deref for Shared {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        self.0.as_deref().expect("whoever makes it has looked")
    }
}

#[inline]
pub(super) fn context() -> Result<Shared, Error> {
    let context = CONTEXT.load();
    if context.is_some() { Ok(Shared(context)) } else { new_context() }
}

#[cold]
fn new_context() -> Result<Shared, Error> {
    let context = Arc::new(Context::new(Kernel::chosen()?, THREADS.load(Relaxed)));
    // If another call was faster, its context serves as well.
    let before = CONTEXT.compare_and_swap(&None::<Arc<Context>>, Some(Arc::clone(&context)));
    Ok(Shared(if before.is_some() { before } else { Guard::from_inner(Some(context)) }))
}

/// Sets how many threads a later product may use, the calling one included: 1 at first, as in gemmlowp; 0 for one on
/// each processor that this process may run on; at most 256.
///
/// The threads are private to libqgemm, start when first needed, and sleep between products. The number changes no
/// result. May be called at any time, also while other threads multiply: their calls go on with what they have. A call
/// that finds the threads busy with another thread's product does its work alone.
///
/// @param max_num_threads  how many threads, at least 0
/// @return QGEMM_STATUS_THREADS if negative
#[unsafe(no_mangle)]
pub extern "C" fn qgemm_set_max_num_threads(max_num_threads: i32) -> Status {
    guard(|| {
        let threads = threads("max_num_threads", max_num_threads)?;
        if THREADS.swap(threads, Relaxed) != threads {
            CONTEXT.store(None);
        }
        Ok(())
    })
}

/// Ends libqgemm's threads and frees its scratch memory, which otherwise lasts from call to call. The next product starts
/// them anew; the number of threads that was set stays. May be called at any time: products that are under way on other
/// threads finish first. Harmless if there is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn qgemm_free_persistent_resources() {
    guard(|| {
        CONTEXT.store(None);
        Ok(())
    });
}
