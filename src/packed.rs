//! Operands packed once for many products: in memory, in a file, mapped from one.
//!
//! A packed operand is one piece of memory that holds no address: a header, the sums of the lines, and the lines as the
//! kernels read them. So it can be written to a file as it is, and used where the file is mapped. What comes from a file
//! is checked and then still not trusted: all sizes are kept outside of that memory, so whatever becomes of it, nothing
//! else is touched.
//!
//! Numbers may have fewer bits than 8 and then take no more memory than these, and stretches of the depth, *segments*, may
//! have scales and zero points of their own.
//!
//! Kernels of other layouts cannot read it. They get the bytes as they were before ([`Packed::unpack`]); to move between
//! machines there is a portable form, which is just those.

use crate::buffer::{ALIGN, Buffer, ints};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset, Operand, Order};
use crate::planes::Planes;
use crate::prepare::Prepared;
use crate::range::{ElementRange, Stray};
use crate::reading::Reading;
use header::{Content, Header};
use label::{Centre, Declared, Label};
use layout::{Layout, Sections};
use memory::Memory;
use std::sync::{Mutex, PoisonError};

mod bits;
mod bound;
mod crew;
mod fill;
mod header;
mod label;
mod layout;
mod line;
mod memory;
mod portable;
mod proof;
mod purpose;
mod reals;
mod segments;
#[cfg(test)]
pub(crate) mod tests;
mod unpack;

pub use bits::Bits;
pub(crate) use crew::Crew;
pub use layout::{Foreign, Form};
pub use line::Line;
pub(crate) use memory::Lent;
pub use purpose::{Purpose, ResultOrder, Side};
pub(crate) use reals::Reals;
pub use segments::Segments;

/// How an operand is to be packed.
#[derive(Clone, Copy)]
pub(crate) struct Packing<'a> {
    /// Only looked at for [`Packed::bound`].
    pub offset: Offset<'a>,
    pub purpose: Purpose,
    pub bits: Bits,
    pub segments: Option<Segments<'a>>,
    /// Whether the other operand's lines are patches of images: they are packed in any case, and may as well become unsigned.
    pub are_patches: bool,
}

/// An operand as the kernels read it. May be used by several threads at once.
pub struct Packed {
    memory: Memory,
    /// By which, or for which, it was packed.
    kernel: &'static Kernel,
    label: Label,
    layout: Layout,
    sections: Sections,
    stored: Encoding,
    /// max over the lines of Σ |number + declared offset|.
    bound: u64,
    /// From where to where the numbers go.
    range: ElementRange,
}

impl Packed {
    /// The memory that lines × depth numbers take at most.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn size(kernel: &'static Kernel, shape: (usize, usize), packing: &Packing) -> Result<usize, Error> {
        // No size depends on the encoding, but the elements may decide which kernel it is packed for.
        let label = Label::of(shape, Encoding::U8, packing);
        let size = |kernel, spans| {
            let (_, sections) = Label { spans, ..label }.place(kernel).ok_or(TOO_LARGE)?;
            Ok(sections.end())
        };
        let least = size(kernel.packer(packing.bits), false)?;
        match label.proven(kernel) {
            Some(narrow) => Ok(least.max(size(narrow, true)?)),
            None => Ok(least),
        }
    }

    /// Packs `operand` for `kernel`, or for its narrow one if the numbers are small, into `memory` if it is given.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Element`] or [`Error::OutOfMemory`], and then `memory` is untouched.
    ///
    /// # Panics
    /// If `memory` is shorter than [`Packed::size`] or starts within a cache line, or there are fewer offsets than lines, or
    /// fewer scales or zero points than segments.
    pub(crate) fn new(
        kernel: &'static Kernel,
        operand: &Operand,
        packing: &Packing,
        memory: Option<Lent>,
    ) -> Result<Self, Error> {
        Self::by(Crew::Alone(kernel), operand, packing, memory)
    }

    /// As [`Packed::new`], by this crew.
    pub(crate) fn by(crew: Crew, operand: &Operand, packing: &Packing, memory: Option<Lent>) -> Result<Self, Error> {
        // Before any element is read.
        let kernel = crew.kernel();
        let memory = Self::room(kernel, (operand.lines, operand.depth), packing, memory)?;
        packing.bits.check(operand, packing.purpose.side)?;
        let range = range_by(crew, operand);
        let mut label = Label::of((operand.lines, operand.depth), operand.encoding, packing);
        let (mut packer, mut spans) = (kernel.packer(packing.bits), Vec::new());
        if let Some(narrow) = label.proven(kernel)
            && let Some(proof) = proof::of(narrow, operand, &label, range)?
        {
            (packer, label.spans) = (narrow, true);
            (label.centre, spans) = proof;
        }
        let kernel = packer;
        let (layout, sections) = label.place(kernel).ok_or(TOO_LARGE)?;
        // For a piece of a panel before it becomes planes.
        let mut room = Buffer::empty();
        if label.line.bits.are_few() {
            let numbers = match layout.form {
                Form::Lines => label.line.depth,
                Form::Panels => layout.width * label.line.piece().min(label.line.depth),
            };
            room.reserve(numbers.next_multiple_of(8 * layout.width))?;
        }
        let (stored, bound) = (label.stored(kernel, range), bound::of(crew, operand, label.line, packing));
        let mut packed = Self { memory, kernel, label, layout, sections, stored, bound, range };
        packed.fill(crew, operand, packing, &spans, room.as_mut_slice());
        Ok(packed)
    }

    /// Room for lines × depth numbers, of this memory if it is given.
    fn room(
        kernel: &'static Kernel,
        shape: (usize, usize),
        packing: &Packing,
        memory: Option<Lent>,
    ) -> Result<Memory, Error> {
        let size = Self::size(kernel, shape, packing)?;
        memory.map_or_else(|| Memory::own(size), |lent| Ok(Memory::lent(lent, size)))
    }

    /// What [`Packed::blob`] or [`Packed::save_portable`] gave. The former is used where it lies.
    ///
    /// # Errors
    /// [`Error::PackedDamaged`], [`Error::PackedLayout`], [`Error::Alignment`], [`Error::OutOfMemory`].
    pub(crate) fn load(bytes: Lent, kernel: &'static Kernel) -> Result<Self, Error> {
        let (head, content) = bytes.as_slice().split_first_chunk().ok_or(damaged("they are too few"))?;
        // Copied, so that what is checked is what is used.
        let Header { label, content: kind, checksum } = Header::read(&{ *head })?;
        let Content::Packed { layout, stored, bound, range } = kind else {
            return portable::load(&label, checksum, content, kernel);
        };
        let has_spans = label.spans && (layout.form != Form::Panels || !label.line.is_plain());
        let has_middle = label.centre == Centre::Middle && (!label.spans || stored != Encoding::S8);
        if layout.form != label.purpose.form() || has_spans || has_middle {
            return Err(damaged("the header makes no sense"));
        }
        let is_reader = |reader: &&'static Kernel| {
            let is_read = match layout.form {
                Form::Lines => label.encoding == stored,
                Form::Panels => reader.groups.read_stored(stored, label.purpose.other),
            };
            Layout::of(reader, layout.form, label.line) == Some(layout) && is_read
        };
        let reader = kernel.readers(label.line.bits).find(is_reader);
        let (line, encodings) = (label.line, [label.purpose.other, stored]);
        let foreign = Foreign::Layout { theirs: layout, line, encodings, kernel: kernel.name };
        let kernel = reader.ok_or(Error::PackedLayout { why: foreign })?;
        let sections = Sections::new(&layout, &label);
        let sections = sections.filter(|sections| sections.end() == header::LEN + content.len());
        let sections = sections.ok_or(damaged("they are fewer or more than the header says"))?;
        if !bytes.is_aligned() {
            return Err(Error::Alignment { argument: "bytes", unit: ALIGN });
        }
        if crc32fast::hash(content) != checksum {
            return Err(damaged("the checksum is wrong"));
        }
        let memory = Memory::lent(bytes, sections.end());
        Ok(Self { memory, kernel, label, layout, sections, stored, bound, range })
    }
}

/// What it is.
impl Packed {
    /// The packed operand itself: what a file of it holds.
    #[inline(always)]
    pub(crate) fn blob(&self) -> &[u8] {
        &self.memory.as_slice()[..self.sections.end()]
    }

    pub(crate) fn lines(&self) -> usize {
        self.label.lines
    }

    pub(crate) fn depth(&self) -> usize {
        self.label.line.depth
    }

    /// Whether its segments have zero points.
    pub(crate) fn has_zero_points(&self) -> bool {
        self.label.zero_points
    }

    /// What each line is.
    pub(crate) fn line(&self) -> Line {
        self.label.line
    }

    /// What it was packed for.
    pub(crate) fn purpose(&self) -> Purpose {
        self.label.purpose
    }

    /// The operand's own encoding, in which offsets are meant and [`Packed::unpack`] writes.
    pub(crate) fn encoding(&self) -> Encoding {
        self.label.encoding
    }

    /// What no element is outside of: exact, if there are any.
    pub(crate) fn range(&self) -> ElementRange {
        self.range
    }

    /// The first element, line by line, that is not in a range.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn stray(&self, range: &ElementRange) -> Result<Option<Stray>, Error> {
        if range.holds(&self.range) {
            return Ok(None);
        }
        let depth = self.depth();
        let mut unpacked = Vec::new();
        unpacked.try_reserve_exact(depth).map_err(|_| Error::OutOfMemory { bytes: depth })?;
        unpacked.resize(depth, 0);
        for line in 0..self.lines() {
            self.unpack(line..line + 1, &mut unpacked);
            let operand = Operand::new(&unpacked, (1, depth), depth, Order::DepthContiguous, self.encoding());
            if let Some(stray) = range.stray(&operand) {
                return Ok(Some(Stray { line, ..stray }));
            }
        }
        Ok(None)
    }

    /// What the kernels read it as.
    pub(crate) fn form(&self) -> Form {
        self.layout.form
    }

    /// The encoding that they read it in.
    pub(crate) fn stored(&self) -> Encoding {
        self.stored
    }

    /// Whether they may read it in the other encoding as well.
    pub(crate) fn is_of_both(&self) -> bool {
        self.label.line.bits.get() < 7
    }

    /// How its numbers became those that are stored.
    #[inline(always)]
    pub(crate) fn reading(&self) -> Reading {
        self.label.reading(self.kernel, self.stored, self.range)
    }

    /// The planes in which its numbers lie, if they do.
    pub(crate) fn planes(&self) -> Option<Planes> {
        let zero = self.label.zero(self.stored);
        self.label.line.bits.are_few().then(|| self.layout.planes(self.label.line, zero))
    }

    /// Whether `kernel` reads it as it lies, or widened.
    #[inline]
    pub(crate) fn is_for(&self, kernel: &Kernel) -> bool {
        std::ptr::eq(kernel, self.kernel) || Layout::of(kernel, self.layout.form, self.label.line) == Some(self.layout)
    }

    /// Which kernel it is for: this one, or its narrow one.
    #[inline]
    pub(crate) fn reader(&self, kernel: &'static Kernel) -> Option<&'static Kernel> {
        if self.is_for(kernel) { Some(kernel) } else { kernel.narrow.filter(|narrow| self.is_for(narrow)) }
    }

    /// Whether a panel begins with this line, so that kernels may read from it on.
    pub(crate) fn is_start(&self, line: usize) -> bool {
        line.is_multiple_of(self.layout.width)
    }

    /// All lines with their sums, for kernels that [`Packed::is_for`] admits.
    #[inline(always)]
    pub(crate) fn prepared(&self) -> Prepared<'_> {
        let all = self.memory.as_slice();
        let (bytes, sums) = (&all[self.sections.bytes.clone()], ints(&all[self.sections.sums.clone()]));
        Prepared { first: 0, bytes, sums, originals: &[] }
    }

    /// How many groups sums of 16 bits hold: for each panel those of its stretches. None if it is not known.
    #[inline]
    pub(crate) fn spans(&self) -> Option<&[u8]> {
        self.label.spans.then(|| &self.blob()[self.sections.spans.clone()])
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.blob()[self.sections.bytes.clone()]
    }

    /// The offset that was declared when it was packed.
    fn declared(&self) -> Offset<'_> {
        self.label.declared.offset(ints(&self.blob()[self.sections.offsets.clone()]))
    }
}

/// [`ElementRange::of`] the operand.
fn range_by(crew: Crew, operand: &Operand) -> ElementRange {
    let all = Mutex::new(None::<ElementRange>);
    crew.share_lines(operand, |lines| {
        let part = ElementRange::of(&operand.part(lines, 0..operand.depth));
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        *all = Some(all.map_or(part, |all| all.or(&part)));
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(|| ElementRange::of(operand))
}

const TOO_LARGE: Error = Error::TooLarge { argument: "operand" };

fn damaged(why: &'static str) -> Error {
    Error::PackedDamaged { why }
}
