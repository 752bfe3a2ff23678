//! Contexts of the caller's own.

use super::versioned::{self, Versioned};
use super::{Status, guard, shared};
use crate::context::Context;
use crate::error::Error;
use crate::kernel::Kernel;
use std::ffi::c_void;
use std::ops::Deref;

/// Threads and scratch memory for products, which last from call to call. Made by qgemm_context_create(), freed by
/// qgemm_context_free().
///
/// Any number of threads may use one context at once. While its own threads have one product, others are computed by
/// the threads that call for them: where that is not wanted, let every caller have a context of its own.
///
/// In a child of fork() a context computes every product on the calling thread alone, and never calls parallel_for. The
/// child may make contexts that do more.
pub struct ContextHandle(Context);

/// What a parallel_for of the host's calls. It does not throw.
///
/// @param argument  what parallel_for was given
/// @param index     any number less than the tasks that parallel_for was asked for
pub type Task = unsafe extern "C" fn(argument: *mut c_void, index: usize);

/// A loop that runs on the host's threads. It calls task(argument, i) for each i less than tasks, in any order, on any
/// threads, be it on the calling one alone, and returns when the last call has returned.
///
/// If it leaves out some calls, or all, or makes some twice, the result is still right: what is not done when it returns
/// is done by the thread that called it, and nothing is done twice. But it must not return while a call is under way,
/// make one later, or throw.
///
/// @param user      that of qgemm_context_options
/// @param tasks     how many calls to make
/// @param task      what to call
/// @param argument  what to call it with
pub type ParallelFor =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, tasks: usize, task: Task, argument: *mut c_void)>;

/// What a context is to be like. Begin with QGEMM_CONTEXT_OPTIONS_INIT, and set what is to be different.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ContextOptions {
    /// sizeof(qgemm_context_options)
    pub struct_size: usize,
    /// How many threads a product may use, the calling one included: 0 for one on each processor that this process may
    /// run on; at most 256. The context's own are, on Linux, kept off the processor of the thread that calls.
    pub threads: i32,
    /// 0
    pub reserved: u32,
    /// NULL for threads of the context's own, or a loop that runs on those of the host. It is asked for at most as many
    /// calls as threads says, and by as many threads at once as use the context.
    pub parallel_for: ParallelFor,
    /// What to call parallel_for with.
    pub user: *mut c_void,
}

// SAFETY: repr(C), the size first, and then integers and pointers that may be null.
unsafe impl Versioned for ContextOptions {
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Makes a context. Threads of its own start at once, and sleep between products. Should the system refuse to start so
/// many, there are fewer.
///
/// @param options  what it is to be like; NULL for one thread, as QGEMM_CONTEXT_OPTIONS_INIT says
/// @param context  where to write its address
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER (context), ALIGNMENT, STRUCT_SIZE, THREADS
///         (negative), OPTION (reserved is not 0), UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// As long as the context is there, parallel_for does what is said at qgemm_parallel_for, whatever thread calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_context_create(
    options: *const ContextOptions,
    context: *mut *mut ContextHandle,
) -> Status {
    guard(|| {
        if context.is_null() {
            return Err(Error::Missing { argument: "context" }.into());
        }
        if !context.is_aligned() {
            return Err(Error::Alignment { argument: "context", unit: align_of_val(&context) }.into());
        }
        let made = if options.is_null() {
            Context::new(Kernel::chosen()?, 1)
        } else {
            // SAFETY: this function's own promise.
            unsafe { versioned::read("options", options)?.context()? }
        };
        // SAFETY: neither null nor misaligned.
        unsafe { context.write(Box::into_raw(Box::new(ContextHandle(made)))) };
        Ok(())
    })
}

/// Frees a context, and returns when its threads have ended.
///
/// @param context  what qgemm_context_create() made, or NULL, which does nothing
///
/// # Safety
/// No call that was given the context is under way, and none is given it again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_context_free(context: *mut ContextHandle) {
    guard(|| {
        if !context.is_null() {
            // SAFETY: `qgemm_context_create` made it so, and nobody uses it any more.
            drop(unsafe { Box::from_raw(context) });
        }
        Ok(())
    });
}

impl ContextOptions {
    /// # Safety
    /// `parallel_for` and `user` are as `qgemm_context_create` demands.
    unsafe fn context(self) -> Result<Context, Error> {
        let threads = super::threads("options->threads", self.threads)?;
        if self.reserved != 0 {
            return Err(Error::Option { argument: "options->reserved", value: self.reserved });
        }
        let kernel = Kernel::chosen()?;
        Ok(match self.parallel_for {
            None => Context::new(kernel, threads),
            // SAFETY: this function's own promise.
            Some(parallel_for) => unsafe { Context::on_host(kernel, threads, parallel_for, self.user) },
        })
    }
}

/// The context of one call.
pub(super) struct CallContext<'a>(&'a Context);

impl<'a> CallContext<'a> {
    /// The context that a caller names; for NULL the shared one.
    ///
    /// # Safety
    /// `context` is null, or what `qgemm_context_create` made and nobody frees for `'a`.
    #[inline]
    pub(super) unsafe fn new(context: *const ContextHandle) -> Result<Self, Error> {
        // SAFETY: this function's own promise.
        match unsafe { context.as_ref() } {
            Some(ContextHandle(context)) => Ok(Self(context)),
            None => Ok(Self(shared::context()?)),
        }
    }
}

impl Deref for CallContext<'_> {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, Factor, Finish, Offset, Operand, Order, Output, Store};
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    const ONE_THREAD: ContextOptions = ContextOptions {
        struct_size: size_of::<ContextOptions>(),
        threads: 1,
        reserved: 0,
        parallel_for: None,
        user: ptr::null_mut(),
    };

    /// A handle that is freed in the end.
    struct Handle(*mut ContextHandle);

    impl Handle {
        fn new(options: &ContextOptions) -> Result<Self, Status> {
            let mut handle = ptr::null_mut();
            // SAFETY: the loops below keep to what is demanded.
            match unsafe { qgemm_context_create(options, &mut handle) } {
                Status::Ok => Ok(Self(handle)),
                status => Err(status),
            }
        }

        fn context(&self) -> CallContext<'_> {
            // SAFETY: null, or not freed yet.
            unsafe { CallContext::new(self.0) }.unwrap()
        }
    }

    impl Drop for Handle {
        fn drop(&mut self) {
            // SAFETY: nobody has a copy.
            unsafe { qgemm_context_free(self.0) }
        }
    }

    /// Counts in `user` what it is asked for, and does it.
    unsafe extern "C-unwind" fn dutiful(user: *mut c_void, tasks: usize, task: Task, argument: *mut c_void) {
        // SAFETY: the tests below pass this.
        unsafe { &*user.cast::<AtomicUsize>() }.fetch_add(tasks, Relaxed);
        // SAFETY: as it is asked to.
        (0..tasks).for_each(|i| unsafe { task(argument, i) });
    }

    unsafe extern "C-unwind" fn lazy(_user: *mut c_void, _tasks: usize, _task: Task, _argument: *mut c_void) {}

    /// A product large enough to be shared.
    fn product(context: &Context) -> Vec<i32> {
        let (rows, cols, depth) = (200, 300, 100);
        let bytes: Vec<u8> = (0..cols * depth).map(|i| (i * i % 251) as u8).collect();
        let operand = |lines| {
            let bytes = &bytes[..lines * depth];
            let operand = Operand::new(bytes, (lines, depth), depth, Order::DepthContiguous, Encoding::U8);
            Factor::new(operand, Offset::Uniform(-100))
        };
        let mut sums = vec![0; rows * cols];
        let store = Store::I32(Output::new(&mut sums, (rows, cols), cols));
        crate::gemm(context, &operand(rows), &operand(cols), &Finish::new(&[], store)).unwrap();
        sums
    }

    #[test]
    fn a_product_is_the_same_in_every_context() {
        let expected = product(&Handle(ptr::null_mut()).context());
        for threads in 1..4 {
            let asked_for = AtomicUsize::new(0);
            let user = ptr::from_ref(&asked_for).cast_mut().cast();
            for parallel_for in [None, Some(dutiful as unsafe extern "C-unwind" fn(_, _, _, _)), Some(lazy)] {
                let handle = Handle::new(&ContextOptions { threads, parallel_for, user, ..ONE_THREAD }).unwrap();
                assert_eq!(handle.context().threads(), threads as usize);
                assert_eq!(product(&handle.context()), expected, "{threads} threads");
            }
            assert!(asked_for.into_inner().is_multiple_of(threads as usize));
        }
    }

    #[test]
    fn a_panic_on_the_hosts_threads_becomes_a_status() {
        let asked_for = AtomicUsize::new(0);
        let user = ptr::from_ref(&asked_for).cast_mut().cast();
        let handle =
            Handle::new(&ContextOptions { threads: 4, parallel_for: Some(dutiful), user, ..ONE_THREAD }).unwrap();
        let fail = || {
            handle.context().threads.run(9, |_| panic!("a defect, made by a test"));
            Ok(())
        };
        assert_eq!(guard(fail), Status::Internal);
        assert_eq!(asked_for.into_inner(), 4);
    }

    #[test]
    fn wrong_options_are_refused() {
        let refused = |options: ContextOptions| Handle::new(&options).err();
        assert_eq!(refused(ContextOptions { threads: -1, ..ONE_THREAD }), Some(Status::Threads));
        assert_eq!(refused(ContextOptions { reserved: 1, ..ONE_THREAD }), Some(Status::Option));
        assert_eq!(refused(ContextOptions { struct_size: 24, ..ONE_THREAD }), Some(Status::StructSize));
        // SAFETY: null is refused.
        assert_eq!(unsafe { qgemm_context_create(&ONE_THREAD, ptr::null_mut()) }, Status::NullPointer);
    }
}
