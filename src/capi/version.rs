//! What this library is.

use crate::kernel::Kernel;
use std::ffi::{CStr, c_char};

/// The version of the library that is running, as "MAJOR.MINOR.PATCH": a static string. QGEMM_VERSION is that of the
/// header.
#[unsafe(no_mangle)]
pub extern "C" fn qgemm_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The kernel that multiplies: "amx", "avx512vnni", "avxvnni", "avx512bw", "avx2", on Arm "i8mm", "dotprod", "neon", or "scalar",
/// a static string.
///
/// It is the best that this processor runs, or the one that the environment variable QGEMM_ISA names, read once. All
/// kernels give the same bytes. NULL if QGEMM_ISA names none that this processor runs: then qgemm_last_error() says so,
/// and every product fails with QGEMM_STATUS_UNSUPPORTED.
#[unsafe(no_mangle)]
pub extern "C" fn qgemm_kernel_name() -> *const c_char {
    let mut name: Option<&'static CStr> = None;
    super::guard(|| {
        name = Some(Kernel::chosen()?.c_name);
        Ok(())
    });
    name.map_or(std::ptr::null(), CStr::as_ptr)
}
