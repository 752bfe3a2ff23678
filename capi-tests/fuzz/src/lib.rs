//! What the fuzz targets share: numbers that make sense most of the time, matrices, the memory that they lie in, and
//! what a call may return.

mod matrix;
mod memory;

pub use matrix::{Matrix, Place};
pub use memory::Memory;

use arbitrary::{Result, Unstructured};
use qgemm::Status;
use std::ffi::CStr;
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A number in one of the `usual` ranges, but now and then any.
pub fn number(u: &mut Unstructured, usual: &[RangeInclusive<i32>]) -> Result<i32> {
    const EXTREMES: [i32; 6] = [0, 1, -1, i32::MAX, i32::MIN, 1 << 30];
    match u.int_in_range(0..=19)? {
        0..=17 => {
            let range = u.choose(usual)?.clone();
            u.int_in_range(range)
        }
        18 => u.choose(&EXTREMES).copied(),
        _ => u.arbitrary(),
    }
}

/// Fails unless a call with these faults may return `status`: one of them, or success if there are none.
pub fn check_status(status: Status, faults: &[Status], call: &impl Debug) {
    // SAFETY: a C string, valid until this thread's next failure.
    let text = unsafe { CStr::from_ptr(qgemm::qgemm_last_error()) };
    let may_be = match faults {
        [] => status == Status::Ok,
        _ => faults.contains(&status) && !text.is_empty(),
    };
    assert!(may_be, "{status:?}, {text:?}, where the faults are {faults:?}: {call:#?}");
}
