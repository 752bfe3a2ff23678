//! What the fuzz targets share: numbers that make sense most of the time, matrices, the memory that they lie in, stages, contexts,
//! and what a call may return.

mod block;
mod context;
mod matrix;
mod memory;
mod stage;

pub use block::{Block, Word, floats, product, reach, size_of_type, words};
pub use context::{options, pack_options, two_threads};
pub use matrix::{Matrix, Place};
pub use memory::Memory;
pub use stage::{stage, tag, values};

use arbitrary::{Result, Unstructured};
use qgemm::Status;
use std::ffi::CStr;
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A number in one of the `usual` ranges; now and then one just outside, or any.
pub fn number(u: &mut Unstructured, usual: &[RangeInclusive<i32>]) -> Result<i32> {
    const EXTREMES: [i32; 6] = [0, 1, -1, i32::MAX, i32::MIN, 1 << 30];
    let range = u.choose(usual)?.clone();
    match u.int_in_range(0..=39)? {
        0..=35 => u.int_in_range(range),
        36 => Ok(range.start().wrapping_sub(1)),
        37 => Ok(range.end().wrapping_add(1)),
        38 => u.choose(&EXTREMES).copied(),
        _ => u.arbitrary(),
    }
}

/// A positive real number, such as scales are; now and then any.
pub fn real(u: &mut Unstructured) -> Result<f32> {
    match u.int_in_range(0..=39)? {
        0..=37 => Ok(u.int_in_range(1..=4000)? as f32 / *u.choose(&[1.0, 100.0, 1e4, 1e6])?),
        _ => Ok(f32::from_bits(u.arbitrary()?)),
    }
}

/// The stride of runs of this length: most of the time they do not overlap.
pub fn stride(u: &mut Unstructured, len: i32) -> Result<i32> {
    match u.int_in_range(0..=4)? {
        0..=3 => Ok(len.saturating_add(number(u, &[0..=0, 0..=9, 0..=100])?)),
        _ => number(u, &[0..=9, 0..=100]),
    }
}

/// Fails unless a call with these faults may return `status`: one of them, or success if there are none.
pub fn check_status(status: Status, faults: &[Status], call: &impl Debug) {
    if status == Status::Ok {
        return assert!(faults.is_empty(), "success, but the faults are {faults:?}: {call:#?}");
    }
    // SAFETY: a C string, valid until this thread's next failure.
    let text = unsafe { CStr::from_ptr(qgemm::qgemm_last_error()) };
    let may_be = faults.contains(&status) && !text.is_empty();
    assert!(may_be, "{status:?}, {text:?}, where the faults are {faults:?}: {call:#?}");
}
