//! Another Rust library in the same program: with a standard library, and panics, of its own.

use std::ffi::c_int;
use std::panic::{catch_unwind, set_hook};

/// 1 if `len` numbers were summed, 0 if that ended in a panic.
#[unsafe(no_mangle)]
pub extern "C" fn other_sums(len: c_int) -> c_int {
    set_hook(Box::new(|_| ()));
    let sum = catch_unwind(|| std::thread::spawn(move || (0..u8::try_from(len).unwrap()).map(usize::from).sum()).join());
    matches!(sum, Ok(Ok::<usize, _>(_))).into()
}
