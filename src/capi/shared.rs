//! The context that calls without one of their own share.

use super::{Status, guard, threads};
use crate::context::Context;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::threads::Replaceable;
use once_cell::race::OnceBox;

/// The threads that a call may use.
static POOL: Replaceable = Replaceable::new(1);

/// Made by the first call, without a lock that a child of fork could inherit locked, and never replaced: so small products
/// need neither its threads nor to count who uses it.
static CONTEXT: OnceBox<Context> = OnceBox::new();

/// The context of a call that names none.
#[inline]
pub(super) fn context() -> Result<&'static Context, Error> {
    if let Some(context) = CONTEXT.get() {
        return Ok(context);
    }
    let kernel = Kernel::chosen()?;
    Ok(CONTEXT.get_or_init(|| Box::new(Context::shared(kernel, &POOL))))
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
        POOL.set(threads("max_num_threads", max_num_threads)?);
        Ok(())
    })
}

/// Ends libqgemm's threads and frees its scratch memory, which otherwise lasts from call to call, but for 8 KiB that each
/// calling thread keeps until it ends. The next product starts them anew; the number of threads that was set stays. May be
/// called at any time: products that are under way on other threads finish first. Harmless if there is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn qgemm_free_persistent_resources() {
    guard(|| {
        POOL.end();
        if let Some(context) = CONTEXT.get() {
            context.free_scratch();
        }
        Ok(())
    });
}
