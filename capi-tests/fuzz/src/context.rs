//! What calls are run with.

use qgemm::*;
use std::ptr::{null, null_mut};
use std::sync::LazyLock;

struct Context(*mut ContextHandle);
// SAFETY: a context may be used by any thread.
unsafe impl Send for Context {}
// SAFETY: as for `Send`.
unsafe impl Sync for Context {}

static TWO_THREADS: LazyLock<Context> = LazyLock::new(|| {
    let options = ContextOptions {
        struct_size: size_of::<ContextOptions>(),
        threads: 2,
        reserved: 0,
        parallel_for: None,
        user: null_mut(),
    };
    let mut context = null_mut();
    // SAFETY: both point at what they should.
    assert_eq!(unsafe { qgemm_context_create(&options, &mut context) }, Status::Ok);
    Context(context)
});

/// A context of two threads.
pub fn two_threads() -> *const ContextHandle {
    TWO_THREADS.0
}

/// Options with these flags, and else none.
pub fn options(flags: u32) -> GemmOptions {
    let (workspace, bit_depth) = (null_mut(), null());
    GemmOptions { struct_size: size_of::<GemmOptions>(), flags, reserved: 0, workspace, workspace_size: 0, bit_depth }
}

/// How an operand of this side is packed: without bits, groups or memory of the caller's.
pub fn pack_options(side: u32) -> PackOptions {
    PackOptions {
        struct_size: size_of::<PackOptions>(),
        side,
        result_order: QGEMM_ROW_MAJOR,
        other_type: 0,
        bits: 0,
        memory: null_mut(),
        memory_size: 0,
        group_size: 0,
        scales: null(),
        zero_points: null(),
    }
}
