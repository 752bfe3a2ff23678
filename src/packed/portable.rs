//! The form that every machine can load: the lines as they came. Where it is loaded it is packed anew.

use super::header::{self, Content, Header};
use super::{Label, Packed, damaged};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::{Offset, Operand, Order};

/// The bytes that follow the header: the offsets if each line has its own, then the lines.
struct Parts {
    offsets: usize,
    lines: usize,
}

impl Parts {
    /// None if they reach beyond the address space.
    fn of(label: &Label) -> Option<Self> {
        let offsets = label.offsets().checked_mul(size_of::<i32>())?;
        // A line without numbers has a byte too, so that no short file asks for the memory of many lines.
        let lines = label.lines.checked_mul(label.depth.max(1))?;
        let end = header::LEN.checked_add(offsets)?.checked_add(lines)?;
        isize::try_from(end).is_ok().then_some(Self { offsets, lines })
    }

    fn end(&self) -> usize {
        header::LEN + self.offsets + self.lines
    }
}

impl Packed {
    /// How long the portable form is.
    pub(crate) fn portable_size(&self) -> usize {
        self.parts().end()
    }

    fn parts(&self) -> Parts {
        Parts::of(&self.label).expect("what is in memory is longer")
    }

    /// Writes the portable form.
    ///
    /// # Panics
    /// If `to` is not just as long.
    pub(crate) fn save_portable(&self, to: &mut [u8]) {
        let parts = self.parts();
        assert_eq!(to.len(), parts.end());
        let (head, content) = to.split_at_mut(header::LEN);
        let (offsets, lines) = content.split_at_mut(parts.offsets);
        if let Offset::PerLine(declared) = self.declared() {
            let offsets = offsets.as_chunks_mut().0.iter_mut();
            offsets.zip(declared).for_each(|(to, offset)| *to = offset.to_le_bytes());
        }
        if self.label.depth == 0 {
            lines.fill(0);
        } else {
            self.unpack(0..self.label.lines, lines);
        }
        let checksum = crc32fast::hash(content);
        head.copy_from_slice(&Header { label: self.label, content: Content::Portable, checksum }.to_bytes());
    }
}

/// Packs for `kernel` what follows a header.
pub(super) fn load(label: &Label, checksum: u32, content: &[u8], kernel: &'static Kernel) -> Result<Packed, Error> {
    let parts = Parts::of(label).filter(|parts| parts.end() == header::LEN + content.len());
    let parts = parts.ok_or(damaged("they are fewer or more than the header says"))?;
    if crc32fast::hash(content) != checksum {
        return Err(damaged("the checksum is wrong"));
    }
    let (offsets, lines) = content.split_at(parts.offsets);
    let (shape, stride) = ((label.lines, label.depth), label.depth);
    let operand = Operand::new(lines, shape, stride, Order::DepthContiguous, label.encoding);
    let mut per_line = Vec::new();
    per_line.try_reserve_exact(label.offsets()).map_err(|_| Error::OutOfMemory { bytes: parts.offsets })?;
    per_line.extend(offsets.as_chunks().0.iter().map(|&offset| i32::from_le_bytes(offset)));
    Packed::new(kernel, &operand, label.declared.offset(&per_line), label.purpose, None)
}
