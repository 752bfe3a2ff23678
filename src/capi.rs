//! The C layer: what C passes is checked completely, before any memory is touched, and then becomes views.
//!
//! No Rust enum, bool or reference comes from C: any bit pattern may. No panic leaves the library.

mod add;
mod add_ranges;
mod bit_depth;
mod blas;
mod channels;
mod context;
mod conv;
mod conv_plan;
mod eight_bit_int_gemm;
mod elements;
mod fully_connected;
mod function;
mod gemm;
mod integers;
mod lines;
mod matrix;
mod packed;
mod pipeline;
mod prepared;
mod quantization;
mod quantize;
mod range;
mod requantization;
mod scheme;
mod shared;
mod stage;
mod status;
mod table;
mod verbose;
mod version;
mod versioned;

pub use add::*;
pub use add_ranges::*;
pub use bit_depth::*;
pub use blas::*;
pub use channels::*;
pub use context::*;
pub use conv::*;
pub use conv_plan::*;
pub use eight_bit_int_gemm::*;
pub use fully_connected::*;
pub use function::*;
pub use gemm::*;
pub use lines::*;
pub use matrix::*;
pub use packed::*;
pub use prepared::*;
pub use quantization::*;
pub use quantize::*;
pub use range::*;
pub use requantization::*;
pub use scheme::*;
pub use shared::*;
pub use stage::*;
pub use status::*;
pub use table::*;
pub use version::*;

use crate::error::Error;
use crate::float_environment::Standard;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::available_parallelism;

/// Runs a C function's body, whatever the host's rounding mode is. What goes wrong becomes a status, and its text the thread's last error.
fn guard(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    let _floats = Standard::enter();
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => failure,
        Err(_) => Error::Internal.into(),
    };
    status::remember(&failure);
    Status::from(failure.error)
}

/// An error, and in which of a call's descriptors it is.
#[derive(Clone, Copy, Debug)]
struct Failure {
    error: Error,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// The error names the argument itself.
    Call,
    /// In what this argument points at.
    Descriptor(&'static str),
    /// In the stage of this index.
    Stage(usize),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, place: Place::Call }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Call => write!(f, "{}", self.error),
            Place::Descriptor(argument) => write!(f, "{argument}->{}", self.error),
            Place::Stage(index) => write!(f, "stages[{index}]: {}", self.error),
        }
    }
}

/// Says where an error is.
trait Within<T> {
    fn within(self, argument: &'static str) -> Result<T, Failure>;
}

impl<T> Within<T> for Result<T, Error> {
    #[inline(always)]
    fn within(self, argument: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure { error, place: Place::Descriptor(argument) })
    }
}

/// A dimension that C passed.
fn size(argument: &'static str, value: i32) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| Error::Size { argument, value: value.into() })
}

/// More threads than this are not started, whatever is asked for.
const MOST_THREADS: usize = 256;

/// A number of threads that C passed: 0 for one on each processor.
fn threads(argument: &'static str, value: i32) -> Result<usize, Error> {
    let threads = match usize::try_from(value) {
        Err(_) => return Err(Error::Threads { argument, value: value.into() }),
        Ok(0) => available_parallelism().map_or(1, |n| n.get()),
        Ok(threads) => threads,
    };
    Ok(threads.min(MOST_THREADS))
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
