//! The C layer: what C passes is checked completely, before any memory is touched, and then becomes views.
//!
//! No Rust enum, bool or reference comes from C: any bit pattern may. No panic leaves the library.

mod context;
mod eight_bit_int_gemm;
mod quantize;
mod status;
mod version;

pub use context::*;
pub use eight_bit_int_gemm::*;
pub use quantize::*;
pub use status::*;
pub use version::*;

use crate::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a C function's body. What goes wrong becomes a status, and its text the thread's last error.
fn guard(body: impl FnOnce() -> Result<(), Error>) -> Status {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(error)) => error,
        Err(_) => Error::Internal,
    };
    status::remember(&error);
    Status::from(error)
}

/// A dimension that C passed.
fn size(argument: &'static str, value: i32) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| Error::Size { argument, value: value.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guard(|| panic!("a defect, made by a test")), Status::Internal);
        assert_eq!(guard(|| Ok(())), Status::Ok);
    }
}
