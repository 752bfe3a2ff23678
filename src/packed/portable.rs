//! The form that every machine can load: the lines as they came. Where it is loaded it is packed anew.

use super::header::{self, Content, Header};
use super::{Bits, Label, Line, Packed, Packing, Segments, damaged};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset, Operand, Order};

/// The bytes that follow the header: the offsets if each line has its own, scales and zero points of segments if there are
/// any, then the lines.
struct Parts {
    offsets: usize,
    scales: usize,
    zero_points: usize,
    lines: usize,
}

/// The bytes that a line takes.
pub(super) fn pitch(Line { depth, bits, .. }: Line) -> usize {
    if bits.are_few() { (depth / 8 * bits.get()).saturating_add((depth % 8 * bits.get()).div_ceil(8)) } else { depth }
}

impl Parts {
    /// None if they reach beyond the address space.
    fn of(label: &Label) -> Option<Self> {
        let words = |count: usize| count.checked_mul(size_of::<i32>());
        let segments = label.lines.checked_mul(if label.line.segment == 0 { 0 } else { label.line.pieces() })?;
        let offsets = words(label.offsets())?;
        let scales = words(segments)?;
        let zero_points = if label.zero_points { scales } else { 0 };
        // A line without numbers has a byte too, so that no short file asks for the memory of many lines.
        let lines = label.lines.checked_mul(pitch(label.line).max(1))?;
        let mut end = header::LEN;
        for part in [offsets, scales, zero_points, lines] {
            end = end.checked_add(part)?;
        }
        isize::try_from(end).is_ok().then_some(Self { offsets, scales, zero_points, lines })
    }

    fn end(&self) -> usize {
        header::LEN + self.offsets + self.scales + self.zero_points + self.lines
    }
}

/// Whether the portable form fits the address space.
pub(super) fn fits(label: &Label) -> bool {
    Parts::of(label).is_some()
}

impl Packed {
    /// How long the portable form is.
    pub(crate) fn portable_size(&self) -> usize {
        self.parts().end()
    }

    fn parts(&self) -> Parts {
        Parts::of(&self.label).expect("sections are made only if it fits")
    }

    /// Writes the portable form.
    ///
    /// # Panics
    /// If `to` is not just as long.
    pub(crate) fn save_portable(&self, to: &mut [u8]) {
        let Label { lines, line, .. } = self.label;
        let parts = self.parts();
        assert_eq!(to.len(), parts.end());
        let (head, content) = to.split_at_mut(header::LEN);
        let (offsets, rest) = content.split_at_mut(parts.offsets);
        let (scales, rest) = rest.split_at_mut(parts.scales);
        let (zero_points, numbers) = rest.split_at_mut(parts.zero_points);
        if let Offset::PerLine(declared) = self.declared() {
            put(offsets, declared.iter().map(|offset| offset.to_le_bytes()));
        }
        let segments = (0..lines).flat_map(|i| (0..line.pieces()).map(move |segment| (i, segment)));
        put(
            scales,
            segments.clone().map(|(i, segment)| {
                let mut scale = [0.0];
                self.scales(i..i + 1, segment, &mut scale);
                scale[0].to_le_bytes()
            }),
        );
        put(
            zero_points,
            segments.map(|(i, segment)| {
                let mut zero_point = [0];
                self.zero_points(i..i + 1, segment, &mut zero_point);
                zero_point[0].to_le_bytes()
            }),
        );
        if line.depth == 0 {
            numbers.fill(0);
        } else if line.bits.are_few() {
            for (i, to) in numbers.chunks_exact_mut(pitch(line)).enumerate() {
                let mut bits = BitWriter { to: to.iter_mut(), left: 0, count: 0 };
                self.each_number(i, |number| bits.put(number, line.bits));
                bits.end();
            }
        } else {
            self.unpack(0..lines, numbers);
        }
        let checksum = crc32fast::hash(content);
        head.copy_from_slice(&Header { label: self.label, content: Content::Portable, checksum }.to_bytes());
    }
}

fn put(to: &mut [u8], words: impl Iterator<Item = [u8; 4]>) {
    to.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word);
}

/// Writes numbers of a few bits one after the other, the first into the lowest bits.
struct BitWriter<'a> {
    to: std::slice::IterMut<'a, u8>,
    /// Bits that are not yet a byte, and how many.
    left: u32,
    count: usize,
}

impl BitWriter<'_> {
    fn put(&mut self, number: u8, bits: Bits) {
        self.left |= (u32::from(number) & ((1 << bits.get()) - 1)) << self.count;
        self.count += bits.get();
        while self.count >= 8 {
            self.byte();
            self.count -= 8;
        }
    }

    fn byte(&mut self) {
        *self.to.next().expect("room for all numbers") = self.left as u8;
        self.left >>= 8;
    }

    fn end(mut self) {
        if self.count > 0 {
            self.byte();
        }
    }
}

/// The numbers of a line whose bits were written so.
fn read_bits(from: &[u8], bits: Bits, encoding: Encoding, to: &mut [u8]) {
    let (mut bytes, mut left, mut count) = (from.iter(), 0, 0);
    let least = bits.least(encoding) as u8;
    for number in to {
        if count < bits.get() {
            left |= u32::from(*bytes.next().expect("bits for all numbers")) << count;
            count += 8;
        }
        let code = left as u8 & ((1 << bits.get()) - 1);
        // The sign fills the bits above.
        *number = (code ^ least).wrapping_sub(least);
        left >>= bits.get();
        count -= bits.get();
    }
}

/// Packs for `kernel` what follows a header.
pub(super) fn load(label: &Label, checksum: u32, content: &[u8], kernel: &'static Kernel) -> Result<Packed, Error> {
    let parts = Parts::of(label).filter(|parts| parts.end() == header::LEN + content.len());
    let parts = parts.ok_or(damaged("they are fewer or more than the header says"))?;
    if crc32fast::hash(content) != checksum {
        return Err(damaged("the checksum is wrong"));
    }
    let (offsets, rest) = content.split_at(parts.offsets);
    let (scales, rest) = rest.split_at(parts.scales);
    let (zero_points, lines) = rest.split_at(parts.zero_points);
    let (offsets, scales) = (words(offsets, i32::from_le_bytes)?, words(scales, f32::from_le_bytes)?);
    let zero_points = words(zero_points, i32::from_le_bytes)?;
    let Label { line: Line { depth, bits, segment }, encoding, purpose, .. } = *label;
    let mut numbers = Vec::new();
    let numbers = if bits.are_few() && depth > 0 {
        let len = label.lines.checked_mul(depth).ok_or(super::TOO_LARGE)?;
        numbers.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes: len })?;
        numbers.resize(len, 0);
        let lines = lines.chunks_exact(pitch(label.line));
        lines.zip(numbers.chunks_exact_mut(depth)).for_each(|(from, to)| read_bits(from, bits, encoding, to));
        &numbers[..]
    } else {
        lines
    };
    let operand = Operand::new(numbers, (label.lines, depth), depth, Order::DepthContiguous, encoding);
    let segments = Segments { size: segment, scales: &scales, zero_points: label.zero_points.then_some(&zero_points) };
    let segments = (segment > 0).then_some(segments);
    let packing = Packing { offset: label.declared.offset(&offsets), purpose, bits, segments, are_patches: false };
    Packed::new(kernel, &operand, &packing, None)
}

/// The numbers that `bytes` hold.
fn words<T>(bytes: &[u8], of: impl Fn([u8; 4]) -> T) -> Result<Vec<T>, Error> {
    let mut words = Vec::new();
    words.try_reserve_exact(bytes.len() / 4).map_err(|_| Error::OutOfMemory { bytes: bytes.len() })?;
    words.extend(bytes.as_chunks().0.iter().map(|&word| of(word)));
    Ok(words)
}
