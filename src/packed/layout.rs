//! How the lines of a packed operand lie, and where its parts begin.

use super::line::STRETCH;
use super::{Label, Line, header, portable};
use crate::buffer::ALIGN;
use crate::kernel::Kernel;
use crate::matrix::Encoding;
use crate::planes::Planes;
use crate::span;
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
    /// How many numbers a group holds: groups of as many numbers lie alike. 1 for lines in planes, which no kernel reads as
    /// they are.
    pub(super) group: usize,
    /// How many lines are interleaved: those of a panel, or 1.
    pub(super) width: usize,
    /// How many bytes a line takes, padding included.
    pub(super) pitch: usize,
}

/// Deeper lines are refused, so that no depth overflows when it is rounded up, all of it or each segment of one number.
const DEEPEST: usize = isize::MAX as usize / 16;

/// Numbers of a line, where lines lie for themselves, that are stored in planes together.
pub(super) const LINE_BLOCK: usize = 512;

impl Layout {
    /// How `kernel` has such lines lie. None if they are beyond the address space.
    pub(super) fn of(kernel: &Kernel, form: Form, line: Line) -> Option<Self> {
        let Line { depth, bits, .. } = line;
        if depth > DEEPEST {
            return None;
        }
        let group = kernel.groups.len();
        Some(match form {
            Form::Lines if bits.are_few() => {
                Self { form, group: 1, width: 1, pitch: line.bytes(depth.next_multiple_of(8)) }
            }
            Form::Lines => Self { form, group, width: 1, pitch: kernel.pitch(depth) },
            Form::Panels => Self { form, group, width: kernel.width, pitch: line.bytes(line.len(kernel.groups)) },
        })
    }

    /// The planes in which codes lie, the number 0 having the code `zero`.
    pub(super) fn planes(&self, line: Line, zero: u8) -> Planes {
        let block = match self.form {
            Form::Lines => LINE_BLOCK,
            Form::Panels => STRETCH * self.width,
        };
        Planes { bits: line.bits.get(), zero, block }
    }

    /// The names of the kernels that have such lines lie so.
    fn readers(&self, line: Line, [other, stored]: [Encoding; 2]) -> impl Iterator<Item = &'static str> {
        let stores = move |kernel: &Kernel| self.form == Form::Lines || kernel.groups.read_stored(stored, other);
        let is_reader = move |kernel: &&'static Kernel| {
            kernel.readers(line.bits).any(|kernel| Layout::of(kernel, self.form, line) == Some(*self) && stores(kernel))
        };
        Kernel::all().filter(is_reader).map(|kernel| kernel.name)
    }
}

/// The parts of a packed operand that follow its header, each from a cache line on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sections {
    /// An i32 for each piece of each line, lines that fill up the last panel included; lines in planes, or with segments, have none.
    pub sums: Range<usize>,
    /// An i32 for each line if the offset that was declared is not the same for all.
    pub offsets: Range<usize>,
    /// An f32 for each segment of each line.
    pub scales: Range<usize>,
    /// An i32 for each segment of each line, if they have zero points.
    pub zero_points: Range<usize>,
    /// A byte for each stretch of each panel, if spans are known.
    pub spans: Range<usize>,
    /// The lines themselves.
    pub bytes: Range<usize>,
}

impl Sections {
    /// None if they, or the portable form, reach beyond the address space.
    pub(super) fn new(layout: &Layout, label: &Label) -> Option<Self> {
        let padded = label.lines.checked_next_multiple_of(layout.width)?;
        let segments = padded.checked_mul(label.line.pieces())?;
        let is_summed = layout.form == Form::Panels || label.line.is_plain();
        let words = |after, words: usize| section(after, words.checked_mul(size_of::<i32>())?);
        let sums = words(header::LEN, if is_summed { segments.max(padded) } else { 0 })?;
        let offsets = words(sums.end, label.offsets())?;
        let scales = words(offsets.end, if label.line.segment > 0 { segments } else { 0 })?;
        let zero_points = words(scales.end, if label.zero_points { segments } else { 0 })?;
        let stretches = if label.spans { label.line.depth.div_ceil(span::DEPTHS) } else { 0 };
        let spans = section(zero_points.end, (padded / layout.width).checked_mul(stretches)?)?;
        let bytes = section(spans.end, padded.checked_mul(layout.pitch)?)?;
        // Lines without numbers may take no bytes here, but do so in the portable form.
        let fits = isize::try_from(bytes.end).is_ok() && portable::fits(label);
        fits.then_some(Self { sums, offsets, scales, zero_points, spans, bytes })
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
        /// What lines the operand has.
        line: Line,
        /// The encodings of the other operand and of the numbers as stored.
        encodings: [Encoding; 2],
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
            Foreign::Layout { theirs, line, encodings, kernel } => {
                match theirs.form {
                    Form::Lines => write!(f, "packed as lines in groups of {}", theirs.group)?,
                    Form::Panels => {
                        write!(f, "packed as panels of {} lines in groups of {}", theirs.width, theirs.group)?;
                    }
                }
                for (i, reader) in theirs.readers(*line, *encodings).enumerate() {
                    write!(f, "{}{reader}", if i == 0 { ", as for " } else { " and " })?;
                }
                write!(f, ", not for the kernel {kernel}: load the portable form")
            }
        }
    }
}
