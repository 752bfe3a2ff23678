//! Status codes and their texts.

use crate::error::Error;
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::fmt::{Display, Write};

/// What became of a call. Whatever is not QGEMM_STATUS_OK left the result untouched, QGEMM_STATUS_INTERNAL excepted.
///
/// Later versions may add values; none is ever renumbered.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /** The result is complete. */
    Ok = 0,
    /** A pointer is null that must not be, such as that of a matrix with elements. */
    NullPointer = 1,
    /** A dimension is negative, or not that of the other matrices. */
    Shape = 2,
    /** A stride is shorter than the line it steps over. */
    Stride = 3,
    /** An element type that is none, or not possible there. */
    Type = 4,
    /** A stage does not take what the one before it gives, or the result is not what the last one gives. */
    StageOrder = 5,
    /** A shift is outside 0 to 31, or an exponent outside -31 to 30. */
    ShiftRange = 6,
    /** A parameter has fewer values than there are rows or columns. */
    VectorLength = 7,
    /** A matrix reaches beyond the address space. */
    TooLarge = 8,
    /** Memory for packing was not to be had. */
    OutOfMemory = 9,
    /** A struct_size is none that the struct ever had, or what lies beyond the known part is not 0. */
    StructSize = 10,
    /** QGEMM_ISA names no kernel, or one that this processor does not run. */
    Unsupported = 11,
    /** A defect of libqgemm itself. The result may be half written. */
    Internal = 12,
    /** A bit depth setting has no such value. */
    BitDepth = 13,
    /** The result would be written over an input. */
    Overlap = 14,
    /** A number of threads is negative. */
    Threads = 15,
    /** A pointer is not aligned as its elements have to be. */
    Alignment = 16,
    /** A sum could leave 32 bits, and QGEMM_CHECK_OVERFLOW was asked for. */
    Overflow = 17,
    /** A parameter is out of its range. */
    Parameter = 18,
    /** A workspace, or other memory of the caller's, is too small. */
    Workspace = 19,
    /** What should be a packed operand, or a plan, is none, or a damaged one. */
    PackedDamaged = 20,
    /** An operand was packed for other kernels, another byte order, or another version of the format. */
    PackedLayout = 21,
    /** An option has no such value, or what is reserved is not 0. */
    Option = 22,
    /** An element is outside of the range that was promised, and QGEMM_CHECK_RANGE was asked for; or
    it does not fit the bits that it is to be packed in. */
    Range = 23,
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::Null { .. } => Status::NullPointer,
            Error::Alignment { .. } => Status::Alignment,
            Error::Size { .. } => Status::Shape,
            Error::Stride { .. } => Status::Stride,
            Error::Shift { .. } => Status::ShiftRange,
            Error::BitDepth { .. } => Status::BitDepth,
            Error::Threads { .. } => Status::Threads,
            Error::Parameter { .. } => Status::Parameter,
            Error::Option { .. } => Status::Option,
            Error::TooLarge { .. } => Status::TooLarge,
            Error::Overlap { .. } => Status::Overlap,
            Error::OutOfMemory { .. } => Status::OutOfMemory,
            Error::Workspace { .. } => Status::Workspace,
            Error::StructSize { .. } | Error::StructTail { .. } => Status::StructSize,
            Error::Mismatch { .. } => Status::Shape,
            Error::Type { .. } => Status::Type,
            Error::VectorLength { .. } => Status::VectorLength,
            Error::StageOrder { .. } => Status::StageOrder,
            Error::Exponent { .. } => Status::ShiftRange,
            Error::ScaledTwice { .. } => Status::Option,
            Error::Element { .. } => Status::Range,
            Error::Reserved { .. } => Status::Option,
            Error::Overflow { .. } => Status::Overflow,
            Error::Range { .. } => Status::Range,
            Error::PackedSide { .. } => Status::PackedLayout,
            Error::Missing { .. } => Status::NullPointer,
            Error::UnknownIsa { .. } | Error::UnsupportedIsa { .. } => Status::Unsupported,
            Error::Room { .. } => Status::Workspace,
            Error::Given { .. } => Status::Option,
            Error::PackedDamaged { .. } => Status::PackedDamaged,
            Error::PlanDamaged { .. } => Status::PackedDamaged,
            Error::PackedLayout { .. } => Status::PackedLayout,
            Error::Internal => Status::Internal,
        }
    }
}

/// What a status means, in a few words: a static string, for every number, known or not. For the argument at fault see
/// qgemm_last_error().
#[unsafe(no_mangle)]
pub extern "C" fn qgemm_status_message(status: i32) -> *const c_char {
    let message: &CStr = match status {
        0 => c"success",
        1 => c"a pointer is null that must not be",
        2 => c"a dimension is negative or does not match",
        3 => c"a stride is shorter than a line",
        4 => c"an element type is not possible there",
        5 => c"the stages, or the last of them and the result, do not fit together",
        6 => c"a shift or an exponent is out of range",
        7 => c"a parameter has too few values",
        8 => c"a matrix reaches beyond the address space",
        9 => c"out of memory",
        10 => c"a struct_size is wrong, or from a later version",
        11 => c"QGEMM_ISA names no kernel that this processor runs",
        12 => c"internal error of libqgemm",
        13 => c"unknown bit depth setting",
        14 => c"the result overlaps an input",
        15 => c"a number of threads is negative",
        16 => c"a pointer is not aligned",
        17 => c"a sum could leave 32 bits",
        18 => c"a parameter is out of its range",
        19 => c"memory of the caller's is too small",
        20 => c"a packed operand or a plan is damaged, or none",
        21 => c"an operand was packed for another kernel, byte order or format version",
        22 => c"unknown option",
        23 => c"an element is outside of its range",
        _ => c"unknown status",
    };
    message.as_ptr()
}

/// Why the last call that failed on this thread did so: one sentence that names the argument, what was passed and what
/// was expected. Empty if none has failed. Valid until another call fails on this thread, or the thread ends; calls that
/// succeed leave it alone.
#[unsafe(no_mangle)]
pub extern "C" fn qgemm_last_error() -> *const c_char {
    LAST_ERROR.with(|text| text.as_ptr().cast())
}

const LEN: usize = 256;

thread_local! {
    /// Ends with a NUL. Not a `String`: there has to be room for the news that memory is out.
    static LAST_ERROR: Cell<[u8; LEN]> = const { Cell::new([0; LEN]) };
}

pub(super) fn remember(error: &impl Display) {
    let mut text = Text { bytes: [0; LEN], len: 0 };
    // What does not fit is cut off.
    let _ = write!(text, "{error}");
    LAST_ERROR.set(text.bytes);
}

struct Text {
    bytes: [u8; LEN],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        let room = &mut self.bytes[self.len..LEN - 1];
        let len = s.len().min(room.len());
        room[..len].copy_from_slice(&s.as_bytes()[..len]);
        self.len += len;
        if len < s.len() { Err(std::fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_error() -> String {
        // SAFETY: a C string that lasts until this thread's next failure.
        unsafe { CStr::from_ptr(qgemm_last_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn the_last_error_is_kept_and_cut_to_its_room() {
        remember(&Error::Stride { argument: "ldc", value: 3, least: 5 });
        assert_eq!(last_error(), "ldc is 3, but must be at least 5");
        remember(&Error::UnknownIsa { name: "very long ".repeat(100).leak() });
        assert_eq!(last_error().len(), LEN - 1);
        std::thread::spawn(|| assert_eq!(last_error(), "")).join().unwrap();
    }

    #[test]
    fn every_number_has_a_message() {
        for status in -3..40 {
            // SAFETY: a static C string.
            assert!(!unsafe { CStr::from_ptr(qgemm_status_message(status)) }.is_empty());
        }
    }
}
