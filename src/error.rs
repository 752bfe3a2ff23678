//! What can be wrong with a call, one sentence each.

use crate::packed::Foreign;
use std::fmt;

/// Why a call did nothing. Its text names the argument and says what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A pointer is null though its matrix has elements.
    Null {
        /// The argument's name.
        argument: &'static str,
    },
    /// A pointer is not aligned as its elements have to be.
    Alignment {
        /// The argument's name.
        argument: &'static str,
        /// What its address has to be a multiple of.
        unit: usize,
    },
    /// A dimension is negative.
    Size {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: i64,
    },
    /// A stride is shorter than the line it has to step over.
    Stride {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: i64,
        /// The least it may be.
        least: usize,
    },
    /// A shift is outside 0 to 31.
    Shift {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: i64,
    },
    /// A bit depth setting has no such value.
    BitDepth {
        /// What was passed.
        value: u32,
    },
    /// A number of threads is negative.
    Threads {
        /// What was passed.
        value: i64,
    },
    /// A matrix reaches beyond the address space.
    TooLarge {
        /// The argument's name.
        argument: &'static str,
    },
    /// The result would be written over an input.
    Overlap {
        /// The output's name.
        output: &'static str,
        /// The input's name.
        input: &'static str,
    },
    /// Memory for packing was not to be had.
    OutOfMemory {
        /// How much was asked for.
        bytes: usize,
    },
    /// `QGEMM_ISA` names no kernel.
    UnknownIsa {
        /// What it names.
        name: &'static str,
    },
    /// `QGEMM_ISA` names a kernel that this processor does not run.
    UnsupportedIsa {
        /// What it names.
        name: &'static str,
    },
    /// What should be a packed operand is none, or not what it was.
    PackedDamaged {
        /// What it was found by.
        why: &'static str,
    },
    /// A packed operand is sound, but of no use here.
    PackedLayout {
        /// What it was packed for.
        why: Foreign,
    },
    /// A defect of the library itself.
    Internal,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Null { argument } => {
                write!(f, "{argument} is null, but its matrix has elements")
            }
            Error::Alignment { argument, unit } => {
                write!(f, "{argument} is not aligned: its address must be a multiple of {unit}")
            }
            Error::Size { argument, value } => {
                write!(f, "{argument} is {value}, but must not be negative")
            }
            Error::Stride { argument, value, least } => {
                write!(f, "{argument} is {value}, but must be at least {least}")
            }
            Error::Shift { argument, value } => {
                write!(f, "{argument} is {value}, but must be 0 to 31")
            }
            Error::BitDepth { value } => {
                write!(f, "bit_depth is {value}, but must be QGEMM_A8B8 (0) or QGEMM_A5B7 (1)")
            }
            Error::Threads { value } => {
                write!(f, "max_num_threads is {value}, but must be a number of threads, or 0 for one on each processor")
            }
            Error::TooLarge { argument } => {
                write!(f, "{argument} reaches beyond the address space with these sizes and this stride")
            }
            Error::Overlap { output, input } => {
                write!(f, "{output} overlaps {input}, which is still to be read")
            }
            Error::OutOfMemory { bytes } => {
                write!(f, "{bytes} bytes of scratch memory were not to be had")
            }
            Error::UnknownIsa { name } => {
                write!(f, "QGEMM_ISA is \"{name}\", which names no kernel; known are")?;
                names(f, crate::kernel::Kernel::all())
            }
            Error::UnsupportedIsa { name } => {
                write!(f, "QGEMM_ISA is \"{name}\", which this processor does not run; it runs")?;
                names(f, crate::kernel::Kernel::available())
            }
            Error::PackedDamaged { why } => {
                write!(f, "bytes hold no packed operand, or a damaged one: {why}")
            }
            Error::PackedLayout { why } => write!(f, "bytes hold an operand {why}"),
            Error::Internal => write!(f, "libqgemm has a defect: please report this call"),
        }
    }
}

fn names(f: &mut fmt::Formatter<'_>, kernels: impl Iterator<Item = &'static crate::kernel::Kernel>) -> fmt::Result {
    for (i, kernel) in kernels.enumerate() {
        write!(f, "{}{}", if i == 0 { " " } else { ", " }, kernel.name)?;
    }
    Ok(())
}

impl std::error::Error for Error {}
