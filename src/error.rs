//! What can be wrong with a call, one sentence each.

use crate::packed::{Bits, Foreign, Side};
use std::fmt;

/// Why a call did nothing. Its text names the argument and says what was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: i64,
        /// What is expected.
        expected: &'static str,
    },
    /// A number of threads is negative.
    Threads {
        /// The argument's name.
        argument: &'static str,
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
    /// Memory that the caller gave for a call is too small.
    Workspace {
        /// How many bytes it has.
        size: usize,
        /// The least it may have.
        least: usize,
    },
    /// The size that a struct begins with is not that of any version.
    StructSize {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: usize,
        /// The size in the first version.
        least: usize,
    },
    /// A struct of a later version has something in the part that this version does not know.
    StructTail {
        /// The argument's name.
        argument: &'static str,
        /// How many bytes this version knows.
        known: usize,
    },
    /// A value that this version does not know, where it knows some.
    Option {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: u32,
    },
    /// A matrix or a parameter has not the size that another has.
    Mismatch {
        /// The dimension's name.
        argument: &'static str,
        /// What was passed.
        value: usize,
        /// Whose size it has to have.
        other: &'static str,
        /// That size.
        expected: usize,
    },
    /// An element type that is not possible here.
    Type {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: u32,
        /// What is possible.
        expected: &'static str,
    },
    /// A parameter has fewer values than the result has rows or columns.
    VectorLength {
        /// The parameter's name.
        argument: &'static str,
        /// How many it has.
        len: i64,
        /// The least that it may have.
        least: usize,
    },
    /// A stage does not take what the one before it gives, or the result is not what the last one gives.
    StageOrder {
        /// What is wrong.
        problem: &'static str,
    },
    /// An exponent is outside -31 to 30.
    Exponent {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: i64,
    },
    /// A packed operand stands on the side that it was not packed for.
    PackedSide {
        /// What it was packed for.
        side: Side,
    },
    /// A parameter is out of its range.
    Parameter {
        /// The argument's name.
        argument: &'static str,
        /// What was passed.
        value: f64,
        /// What is expected.
        expected: &'static str,
    },
    /// An operand's segments have scales, where something else may not be.
    ScaledTwice {
        /// What may not be.
        other: &'static str,
    },
    /// An element does not fit the bits that it is to be packed in.
    Element {
        /// Its row.
        row: usize,
        /// Its column.
        col: usize,
        /// What it is.
        value: i32,
        /// How many bits there are.
        bits: Bits,
    },
    /// Bytes that a later version may give a meaning are not 0.
    Reserved {
        /// The argument's name.
        argument: &'static str,
    },
    /// A sum could leave 32 bits, and the caller wants to know.
    Overflow {
        /// The greatest magnitude that a sum could have.
        bound: u128,
    },
    /// An element is outside of the range that was promised, and the caller wants to know.
    Range {
        /// The operand's name.
        operand: &'static str,
        /// The element's row.
        row: usize,
        /// And its column.
        col: usize,
        /// The element.
        value: i32,
        /// What none was to be less than.
        least: i32,
        /// And greater than.
        greatest: i32,
    },
    /// A pointer is null that has to point at something.
    Missing {
        /// The argument's name.
        argument: &'static str,
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
    /// Memory that the caller brings for a packed operand is too small.
    Room {
        /// The argument's name.
        argument: &'static str,
        /// How many bytes it has.
        size: usize,
        /// The least it may have.
        least: usize,
    },
    /// A pointer is not null.
    Given {
        /// The argument's name.
        argument: &'static str,
    },
    /// What should be a plan of a convolution is none, or not what it was.
    PlanDamaged {
        /// What it was found by.
        why: &'static str,
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
            Error::BitDepth { argument, value, expected } => {
                write!(f, "{argument} is {value}, but must be {expected}")
            }
            Error::Threads { argument, value } => {
                write!(f, "{argument} is {value}, but must be a number of threads, or 0 for one on each processor")
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
            Error::Workspace { size, least } => {
                write!(f, "workspace_size is {size}, but must be at least {least}")
            }
            Error::StructSize { argument, value, least } => {
                write!(
                    f,
                    "{argument}->struct_size is {value}, but must be sizeof(*{argument}), which is {least} or more"
                )
            }
            Error::StructTail { argument, known } => {
                write!(
                    f,
                    "*{argument} has values beyond its first {known} bytes, which are all that this libqgemm knows"
                )
            }
            Error::Option { argument, value } => {
                write!(f, "{argument} is {value}, which this libqgemm does not know")
            }
            Error::Mismatch { argument, value, other, expected } => {
                write!(f, "{argument} is {value}, but must be {other}, which is {expected}")
            }
            Error::Type { argument, value, expected } => {
                write!(f, "{argument} is {value}, but must be {expected}")
            }
            Error::VectorLength { argument, len, least } => {
                write!(f, "{argument} has {len} values, but must have at least {least}")
            }
            Error::StageOrder { problem } => write!(f, "{problem}"),
            Error::Exponent { argument, value } => {
                write!(f, "{argument} is {value}, but must be -31 to 30")
            }
            Error::PackedSide { side } => {
                let side = if side == Side::Lhs { "QGEMM_LHS" } else { "QGEMM_RHS" };
                write!(f, "packed was packed as the other side, {side}")
            }
            Error::Parameter { argument, value, expected } => {
                write!(f, "{argument} is {}, but must be {expected}", Number(value))
            }
            Error::ScaledTwice { other } => write!(f, "one side has groups with scales, so {other}"),
            Error::Element { row, col, value, bits } => {
                write!(f, "the element in row {row}, column {col} is {value}, which does not fit {} bits", bits.get())
            }
            Error::Reserved { argument } => write!(f, "{argument} is reserved and must be 0"),
            Error::Overflow { bound } => {
                write!(f, "a sum could reach {bound}, beyond 32 bits, with these sizes, types and offsets")
            }
            Error::Range { operand, row, col, value, least, greatest } => {
                write!(f, "{operand}({row}, {col}) is {value}, but was promised to be {least} to {greatest}")
            }
            Error::Missing { argument } => {
                write!(f, "{argument} is null, but must not be")
            }
            Error::UnknownIsa { name } => {
                write!(f, "QGEMM_ISA is \"{name}\", which names no kernel; known are")?;
                names(f, crate::kernel::Kernel::all())
            }
            Error::UnsupportedIsa { name } => {
                write!(f, "QGEMM_ISA is \"{name}\", which this processor does not run; it runs")?;
                names(f, crate::kernel::Kernel::available())
            }
            Error::Room { argument, size, least } => {
                write!(f, "{argument} is {size}, but must be at least {least}")
            }
            Error::Given { argument } => write!(f, "{argument} must be null here"),
            Error::PackedDamaged { why } => {
                write!(f, "bytes hold no packed operand, or a damaged one: {why}")
            }
            Error::PlanDamaged { why } => write!(f, "bytes hold no plan, or a damaged one: {why}"),
            Error::PackedLayout { why } => write!(f, "bytes hold an operand {why}"),
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
