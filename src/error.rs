//! What can be wrong with a call, one sentence each.

use std::fmt;

/// Why a call did nothing. Its text names the argument and says what was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Error {
    /// A pointer is null though its matrix has elements.
    Null {
        /// The argument's name.
        argument: &'static str,
    },
    /// A pointer is null where a result would be written.
    NullResult {
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
    /// A number is out of its range.
    Parameter {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: f64,
        /// What it has to be, in words that follow "must be".
        expected: &'static str,
    },
    /// An option has no such value.
    Option {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: u32,
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
    /// A defect of the library itself.
    Internal,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Null { argument } => {
                write!(f, "{argument} is null, but its matrix has elements")
            }
            Error::NullResult { argument } => {
                write!(f, "{argument} is null, but a result is to be written there")
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
            Error::Parameter { argument, value, expected } => {
                write!(f, "{argument} is {}, but must be {expected}", Number(value))
            }
            Error::Option { argument, value } => {
                write!(f, "{argument} is {value}, which is none of its values")
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
            Error::Internal => write!(f, "libqgemm has a defect: please report this call"),
        }
    }
}

/// Writes very great and very small numbers with an exponent.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_many_digits = self.0 != 0.0 && self.0.is_finite() && !(1e-5..1e15).contains(&self.0.abs());
        if has_many_digits { write!(f, "{:e}", self.0) } else { write!(f, "{}", self.0) }
    }
}

fn names(f: &mut fmt::Formatter<'_>, kernels: impl Iterator<Item = &'static crate::kernel::Kernel>) -> fmt::Result {
    for (i, kernel) in kernels.enumerate() {
        write!(f, "{}{}", if i == 0 { " " } else { ", " }, kernel.name)?;
    }
    Ok(())
}

impl std::error::Error for Error {}
