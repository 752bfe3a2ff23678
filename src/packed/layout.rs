//! How the lines of a packed operand lie, and where its parts begin.

use super::header;
use crate::buffer::ALIGN;
use crate::kernel::Kernel;
use crate::pack::Groups;
use std::fmt;
use std::ops::Range;

/// What the kernels read an operand as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Each line for itself, as they read an LHS.
    Lines,
    /// Several lines interleaved, as they read an RHS.
    Panels,
}

/// How lines lie in memory. Kernels with equal layouts read each other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(super) form: Form,
    /// Which of [`Groups`], no two of which have the same number here: how many numbers one holds.
    pub(super) group: usize,
    /// How many lines are interleaved: those of a panel, or 1.
    pub(super) width: usize,
    /// How many bytes a line takes, padding included.
    pub(super) pitch: usize,
}

/// Deeper lines are refused, so that no depth overflows when it is rounded up.
const DEEPEST: usize = isize::MAX as usize / 8;

impl Layout {
    /// How `kernel` reads lines of this depth. None if they are beyond the address space.
    pub(super) fn of(kernel: &Kernel, form: Form, depth: usize) -> Option<Self> {
        if depth > DEEPEST {
            return None;
        }
        let group = match kernel.groups {
            Groups::Quads => 4,
            Groups::Pairs => 2,
        };
        Some(match form {
            Form::Lines => Self { form, group, width: 1, pitch: kernel.pitch(depth) },
            Form::Panels => Self { form, group, width: kernel.width, pitch: kernel.pad(depth) },
        })
    }

    /// The names of the kernels that read lines of this depth so.
    fn readers(&self, depth: usize) -> impl Iterator<Item = &'static str> {
        let is_reader = move |kernel: &&Kernel| Layout::of(kernel, self.form, depth) == Some(*self);
        Kernel::all().filter(is_reader).map(|kernel| kernel.name)
    }
}

/// The parts of a packed operand that follow its header, each from a cache line on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sections {
    /// An i32 for each line, those that fill up the last panel included.
    pub sums: Range<usize>,
    /// An i32 for each line if the offset that was declared is not the same for all.
    pub offsets: Range<usize>,
    /// The lines themselves.
    pub bytes: Range<usize>,
}

impl Sections {
    /// None if they reach beyond the address space.
    pub(super) fn new(layout: &Layout, lines: usize, offsets: usize) -> Option<Self> {
        let padded = lines.checked_next_multiple_of(layout.width)?;
        let sums = section(header::LEN, padded.checked_mul(size_of::<i32>())?)?;
        let offsets = section(sums.end, offsets.checked_mul(size_of::<i32>())?)?;
        let bytes = section(offsets.end, padded.checked_mul(layout.pitch)?)?;
        isize::try_from(bytes.end).is_ok().then_some(Self { sums, offsets, bytes })
    }

    /// Where the last one ends.
    pub(super) fn end(&self) -> usize {
        self.bytes.end
    }
}

fn section(after: usize, len: usize) -> Option<Range<usize>> {
    let start = after.checked_next_multiple_of(ALIGN)?;
    Some(start..start.checked_add(len)?)
}

/// Why this library, or this processor, cannot use a packed operand that is not damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// The format has another version.
    Version(u32),
    /// The machine that packed it has its bytes the other way round.
    ByteOrder,
    /// It was packed for other kernels.
    Layout {
        /// Theirs.
        theirs: Layout,
        /// How deep the operand is.
        depth: usize,
        /// The kernel at work here.
        kernel: &'static str,
    },
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Foreign::Version(version) => {
                write!(
                    f,
                    "packed in version {version} of the format, but this library reads version {}: ",
                    header::VERSION
                )?;
                write!(f, "pack the operand anew")
            }
            Foreign::ByteOrder => write!(f, "packed in another byte order: load the portable form"),
            Foreign::Layout { theirs, depth, kernel } => {
                match theirs.form {
                    Form::Lines => write!(f, "packed as lines in groups of {}", theirs.group)?,
                    Form::Panels => {
                        write!(f, "packed as panels of {} lines in groups of {}", theirs.width, theirs.group)?;
                    }
                }
                for (i, reader) in theirs.readers(*depth).enumerate() {
                    write!(f, "{}{reader}", if i == 0 { ", as for " } else { " and " })?;
                }
                write!(f, ", not for the kernel {kernel}: load the portable form")
            }
        }
    }
}
