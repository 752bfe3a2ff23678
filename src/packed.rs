//! Operands packed once for many products: in memory, in a file, mapped from one.
//!
//! A packed operand is one piece of memory that holds no address: a header, the sums of the lines, and the lines as the
//! kernels read them. So it can be written to a file as it is, and used where the file is mapped. What comes from a file
//! is checked and then still not trusted: all sizes are kept outside of that memory, so whatever becomes of it, nothing
//! else is touched.
//!
//! Kernels of other layouts cannot read it. They get the bytes as they were before ([`Packed::unpack`]); to move between
//! machines there is a portable form, which is just those.

use crate::buffer::ALIGN;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset, Operand, Order};
use crate::prepare::Prepared;
use crate::range::{ElementRange, Stray};
use crate::reading::Reading;
use header::{Content, Header};
use label::{Declared, Label};
use layout::{Layout, Sections};
use memory::{Memory, ints, ints_mut};
use std::ops::Range;

mod bound;
mod header;
mod label;
mod layout;
mod memory;
mod portable;
mod purpose;
#[cfg(test)]
mod tests;
mod unpack;

pub use layout::{Foreign, Form};
pub(crate) use memory::Lent;
pub use purpose::{Purpose, ResultOrder, Side};

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
    /// The memory that lines × depth numbers take.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn size(
        kernel: &Kernel,
        (lines, depth): (usize, usize),
        offset: Offset,
        purpose: Purpose,
    ) -> Result<usize, Error> {
        // No size depends on the encoding.
        let label = Label { lines, depth, encoding: Encoding::U8, purpose, declared: Declared::of(offset) };
        let (_, sections) = label.place(kernel).ok_or(TOO_LARGE)?;
        Ok(sections.end())
    }

    /// Packs `operand`, into `memory` if it is given. `offset` is only looked at for [`Packed::bound`].
    ///
    /// # Errors
    /// [`Error::TooLarge`] or [`Error::OutOfMemory`], and then `memory` is untouched.
    ///
    /// # Panics
    /// If `memory` is shorter than [`Packed::size`] or starts within a cache line, or there are fewer offsets than lines.
    pub(crate) fn new(
        kernel: &'static Kernel,
        operand: &Operand,
        offset: Offset,
        purpose: Purpose,
        memory: Option<Lent>,
    ) -> Result<Self, Error> {
        let Operand { lines, depth, encoding, .. } = *operand;
        let label = Label { lines, depth, encoding, purpose, declared: Declared::of(offset) };
        let (layout, sections) = label.place(kernel).ok_or(TOO_LARGE)?;
        let memory = match memory {
            Some(lent) => Memory::lent(lent, sections.end()),
            None => Memory::own(sections.end())?,
        };
        let (stored, bound, range) = (label.stored(kernel), bound::of(operand, offset), ElementRange::of(operand));
        let mut packed = Self { memory, kernel, label, layout, sections, stored, bound, range };
        packed.fill(operand, offset);
        Ok(packed)
    }

    fn fill(&mut self, operand: &Operand, offset: Offset) {
        let Self { kernel, label: Label { lines, depth, .. }, layout, stored, .. } = *self;
        let Sections { sums, offsets, bytes } = self.sections.clone();
        let (head, content) = self.memory.as_mut_slice().split_at_mut(header::LEN);
        let within = |section: Range<usize>| section.start - header::LEN..section.end - header::LEN;
        content[..bytes.start - header::LEN].fill(0);
        let sections = content.get_disjoint_mut([sums, offsets, bytes].map(within));
        let [sums, offsets, bytes] = sections.expect("sections are apart");
        let (sums, offsets) = (ints_mut(sums), ints_mut(offsets));
        if let Offset::PerLine(declared) = offset {
            offsets.copy_from_slice(&declared[..lines]);
        }
        let reading = Reading::plain(operand.encoding, stored);
        if lines == 0 || depth == 0 {
            bytes.fill(0);
        } else if layout.form == Form::Panels {
            kernel.pack_panels(operand, &reading, 0..lines, bytes);
            kernel.sum_panels(bytes, stored, depth, sums);
        } else {
            kernel.pack_lines(operand, &reading, 0..lines, bytes);
            let lines = bytes.chunks_exact(layout.pitch);
            lines.zip(sums).for_each(|(line, sum)| *sum = kernel.sum_line(line, stored));
        }
        let checksum = crc32fast::hash(content);
        let content = Content::Packed { layout, stored, bound: self.bound, range: self.range };
        head.copy_from_slice(&Header { label: self.label, content, checksum }.to_bytes());
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
        if Layout::of(kernel, layout.form, label.depth) != Some(layout) {
            let why = Foreign::Layout { theirs: layout, depth: label.depth, kernel: kernel.name };
            return Err(Error::PackedLayout { why });
        }
        if layout.form != label.purpose.form() || stored != label.stored(kernel) {
            return Err(damaged("the header makes no sense"));
        }
        let sections = Sections::new(&layout, label.lines, label.offsets());
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
    pub(crate) fn blob(&self) -> &[u8] {
        self.memory.as_slice()
    }

    pub(crate) fn lines(&self) -> usize {
        self.label.lines
    }

    pub(crate) fn depth(&self) -> usize {
        self.label.depth
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

    /// Whether `kernel` reads it as it lies.
    pub(crate) fn is_for(&self, kernel: &Kernel) -> bool {
        Layout::of(kernel, self.layout.form, self.label.depth) == Some(self.layout)
    }

    /// All lines with their sums, for kernels that [`Packed::is_for`] admits.
    pub(crate) fn prepared(&self) -> Prepared<'_> {
        Prepared { first: 0, bytes: self.bytes(), sums: ints(&self.blob()[self.sections.sums.clone()]), originals: &[] }
    }

    fn bytes(&self) -> &[u8] {
        &self.blob()[self.sections.bytes.clone()]
    }

    /// The offset that was declared when it was packed.
    fn declared(&self) -> Offset<'_> {
        self.label.declared.offset(ints(&self.blob()[self.sections.offsets.clone()]))
    }
}

const TOO_LARGE: Error = Error::TooLarge { argument: "operand" };

fn damaged(why: &'static str) -> Error {
    Error::PackedDamaged { why }
}
