//! The first bytes of a packed operand: what it is, how it lies, and checksums.
//!
//! | at  | bytes | what                                                                        |
//! |-----|-------|-----------------------------------------------------------------------------|
//! |   0 |     8 | 89 51 47 45 4d 4d 0d 0a: "\x89QGEMM\r\n"                                    |
//! |   8 |     4 | version of the format: 3                                                    |
//! |  12 |     4 | 0x01020304 in the byte order of sums, offsets and numbers                   |
//! |  16 |     1 | form: 1 lines, 2 panels, 3 portable                                         |
//! |  17 |     1 | side of the product: 1 LHS, 2 RHS                                           |
//! |  18 |     1 | order of the result: 0 row-major, 1 column-major                            |
//! |  19 |     1 | type of the other operand: 1 u8, 2 s8                                       |
//! |  20 |     1 | type of the operand: 1 u8, 2 s8                                             |
//! |  21 |     1 | type of the numbers as stored: 1 u8, 2 s8                                   |
//! |  22 |     1 | numbers in a group; in portable form, and for lines in planes, 1            |
//! |  23 |     1 | the offset that was declared: 0 one for all lines, 1 one for each           |
//! |  24 |     4 | lines that are interleaved: those of a panel, or 1                          |
//! |  28 |     4 | the offset that was declared, if there is one for all lines, else 0         |
//! |  32 |     8 | lines                                                                       |
//! |  40 |     8 | depth                                                                       |
//! |  48 |     8 | bytes that a line takes                                                     |
//! |  56 |     8 | max over the lines of Σ abs(number + declared offset); in portable form 0   |
//! |  64 |     1 | the least element, less the least of its type; in portable form 0           |
//! |  65 |     1 | the greatest of its type, less the greatest element; in portable form 0     |
//! |  66 |     1 | bits of a number: 1 to 8                                                    |
//! |  67 |     1 | zero points: 0 none, 1 one for each segment of each line                    |
//! |  68 |     1 | spans: 0 none, 1 one for each 64 depths of each panel; in portable form 0   |
//! |  69 |     1 | what becomes 0 in panels stored as s8: 0 the zero point, 1 the middle       |
//! |  70 |     2 | 0                                                                           |
//! |  72 |     8 | numbers in a segment, the last of which may have fewer; 0 if there are none |
//! |  80 |    40 | 0                                                                           |
//! | 120 |     4 | CRC-32 (of IEEE 802.3) of all that follows the header                       |
//! | 124 |     4 | CRC-32 of the 124 bytes before it                                           |
//!
//! What follows, each part from a multiple of 64 on, with zeros in between:
//!
//! 1. for each line, as an i32, the sum of its numbers as stored; 0 for lines that only fill up the last panel; if there are
//!    segments, for each panel, for each segment, for each line of the panel. Lines in planes, or with segments, have none;
//! 2. the offsets that were declared, as i32, if there is one for each line;
//! 3. the scales of the segments, as f32, in the order of the sums;
//! 4. the zero points of the segments, as i32, in the order of the sums, if they have any;
//! 5. the spans, a byte for each 64 depths of each panel, if there are any: how many groups of numbers, 1, 2, 4, 8 or 16, sums
//!    of 16 bits hold, whatever bytes of the other operand's type they are multiplied by; 0 if not even one;
//! 6. the lines. As lines: the numbers of each in order, i16 for groups of 2, else bytes, then zeros. As panels:
//!    for each panel, for each group of depths, for each line of the panel, the bytes of the group. What is not there is 0.
//!    In panels with segments, each segment is filled up to a multiple of 8 depths.
//!
//! Numbers of fewer than 8 bits lie in planes of bits (see planes.rs), as lines 512 numbers together, in panels 64 depths of
//! a segment, or what is left of it, filled up to a multiple of 8. The code of the least number is 0, and as stored it is
//! the number 0; but -64 if numbers have 7 bits and are stored as s8. What is not there is in panels the number 0, in lines
//! the code 0. To numbers of 8 bits something is added before they are stored. In panels with groups of 4 or 8 that are stored
//! as s8 it is minus the zero point that the declared offset (if it is one for all, else 0) tells, or minus the middle, which is
//! (the least element + the greatest + 1) / 2, rounded down, but so much more or less that all elements fit; stored as u8, what makes the least element 0. Otherwise it is 128 or -128 if the types differ, or nothing.
//!
//! What follows in portable form, without gaps: the offsets; the scales, for each line those of all its segments; the zero
//! points likewise; the lines in order, as they were. If the depth is 0 a line has one byte, which is 0. Of numbers of fewer
//! than 8 bits only those bits are there, in two's complement, the first number in the lowest; each line begins a byte, and
//! what is left of its last byte is 0.
//!
//! The header's numbers are little-endian on every machine, and so is all of the portable form. Every version keeps the
//! magic, the version, the header's length and its own checksum, so that another version can be told from damage. Whoever
//! changes anything else here, or the order in which a kernel wants its bytes, begins a new version.

use super::label::Centre;
use super::layout::{Foreign, Form, Layout};
use super::{Bits, Declared, Label, Line, Purpose, ResultOrder, Side};
use crate::error::Error;
use crate::matrix::Encoding;
use crate::range::ElementRange;

pub(super) const LEN: usize = 128;
pub(super) const VERSION: u32 = 3;
const MAGIC: [u8; 8] = *b"\x89QGEMM\r\n";
const BYTE_ORDER: u32 = 0x0102_0304;
const RESERVED: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    pub label: Label,
    pub content: Content,
    /// Of all that follows the header.
    pub checksum: u32,
}

/// What follows the header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Content {
    /// The offsets, if there is one for each line, then the lines as they came, one after the other; little-endian.
    Portable,
    /// The parts that [`super::layout::Sections`] names; in the machine's byte order.
    Packed { layout: Layout, stored: Encoding, bound: u64, range: ElementRange },
}

impl Content {
    fn form(&self) -> u8 {
        match self {
            Content::Packed { layout: Layout { form: Form::Lines, .. }, .. } => 1,
            Content::Packed { layout: Layout { form: Form::Panels, .. }, .. } => 2,
            Content::Portable => 3,
        }
    }

    fn byte_order(&self) -> [u8; 4] {
        match self {
            Content::Packed { .. } => BYTE_ORDER.to_ne_bytes(),
            Content::Portable => BYTE_ORDER.to_le_bytes(),
        }
    }
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; LEN] {
        let Label { lines, line: Line { depth, bits, segment }, encoding, purpose, declared, zero_points, .. } =
            self.label;
        let all = ElementRange::all(encoding);
        let (layout, stored, bound, range, spans, centre) = match self.content {
            Content::Packed { layout, stored, bound, range } => {
                (layout, stored, bound, range, self.label.spans, self.label.centre)
            }
            // Of all that only the kernel that packs it can tell, nothing.
            Content::Portable => {
                let pitch = super::portable::pitch(self.label.line);
                let layout = Layout { form: Form::Lines, group: 1, width: 1, pitch };
                (layout, encoding, 0, all, false, Centre::ZeroPoint)
            }
        };
        let (per_line, offset) = match declared {
            Declared::Uniform(offset) => (0, offset),
            Declared::PerLine => (1, 0),
        };
        let mut fields = Writer { bytes: [0; LEN], at: 0 };
        fields.put(MAGIC);
        fields.put(VERSION.to_le_bytes());
        fields.put(self.content.byte_order());
        fields.put([self.content.form(), code(&SIDES, purpose.side), code(&ORDERS, purpose.result)]);
        fields.put([purpose.other, encoding, stored].map(|encoding| code(&ENCODINGS, encoding)));
        fields.put([layout.group as u8, per_line]);
        fields.put((layout.width as u32).to_le_bytes());
        fields.put(offset.to_le_bytes());
        for number in [lines as u64, depth as u64, layout.pitch as u64, bound] {
            fields.put(number.to_le_bytes());
        }
        fields.put([range.least - all.least, all.greatest - range.greatest].map(|distance| distance as u8));
        fields.put([bits.get() as u8, zero_points.into(), spans.into(), code(&CENTRES, centre), 0, 0]);
        fields.put((segment as u64).to_le_bytes());
        fields.put([0; RESERVED]);
        fields.put(self.checksum.to_le_bytes());
        fields.put(crc32fast::hash(&fields.bytes[..fields.at]).to_le_bytes());
        fields.bytes
    }

    /// # Errors
    /// [`Error::PackedDamaged`], or [`Error::PackedLayout`] for another version or byte order.
    pub(super) fn read(bytes: &[u8; LEN]) -> Result<Self, Error> {
        let damaged = |why| Error::PackedDamaged { why };
        let (fields, checksum) = bytes.split_last_chunk().expect("a header is longer than a checksum");
        if !fields.starts_with(&MAGIC) {
            return Err(damaged("they do not begin as one"));
        }
        if crc32fast::hash(fields) != u32::from_le_bytes(*checksum) {
            return Err(damaged("the header's checksum is wrong"));
        }
        let mut fields = Reader { rest: &fields[MAGIC.len()..] };
        let version = u32::from_le_bytes(fields.take());
        if version != VERSION {
            return Err(Error::PackedLayout { why: Foreign::Version(version) });
        }
        let byte_order = u32::from_ne_bytes(fields.take());
        let header = fields.header().ok_or(damaged("the header makes no sense"))?;
        if byte_order == BYTE_ORDER.swap_bytes() && header.content != Content::Portable {
            return Err(Error::PackedLayout { why: Foreign::ByteOrder });
        }
        // There is one way to write a header: nothing is where there should be nothing.
        if header.to_bytes() != *bytes {
            return Err(damaged("the header makes no sense"));
        }
        Ok(header)
    }
}

struct Writer {
    bytes: [u8; LEN],
    at: usize,
}

impl Writer {
    fn put<const N: usize>(&mut self, field: [u8; N]) {
        self.bytes[self.at..][..N].copy_from_slice(&field);
        self.at += N;
    }
}

/// The fields of a header that are still to be read.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.rest.split_first_chunk().expect("the fields fill the header");
        self.rest = rest;
        *field
    }

    /// A number that is in memory a size.
    fn size(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take())).ok()
    }

    /// All that follows the byte order, if each field for itself has one of its values.
    fn header(&mut self) -> Option<Header> {
        let [form, side, result, other, encoding, stored, group, per_line] = self.take();
        let width = usize::try_from(u32::from_le_bytes(self.take())).ok()?;
        let offset = i32::from_le_bytes(self.take());
        let (lines, depth, pitch) = (self.size()?, self.size()?, self.size()?);
        let bound = u64::from_le_bytes(self.take());
        let distances = self.take::<2>().map(i32::from);
        let [bits, zero_points, spans, centre, ..]: [u8; 6] = self.take();
        let segment = self.size()?;
        let _: [u8; RESERVED] = self.take();
        let checksum = u32::from_le_bytes(self.take());
        let purpose =
            Purpose { side: value(&SIDES, side)?, result: value(&ORDERS, result)?, other: value(&ENCODINGS, other)? };
        let declared = value(&[Some(Declared::Uniform(offset)), Some(Declared::PerLine)], per_line)?;
        let encoding = value(&ENCODINGS, encoding)?;
        let packed = |form| {
            let layout = Layout { form, group: group.into(), width, pitch };
            let all = ElementRange::all(encoding);
            let range = ElementRange { least: all.least + distances[0], greatest: all.greatest - distances[1] };
            let stored = value(&ENCODINGS, stored)?;
            (range.least <= range.greatest).then_some(Content::Packed { layout, stored, bound, range })
        };
        let content = match form {
            1 => packed(Form::Lines)?,
            2 => packed(Form::Panels)?,
            3 => Content::Portable,
            _ => return None,
        };
        let line = Line { depth, bits: Bits::new(bits.into())?, segment };
        let zero_points = value(&[Some(false), Some(true)], zero_points)?;
        // Longer segments, or zero points of none, nobody writes.
        if segment > depth.max(1) || zero_points && segment == 0 {
            return None;
        }
        let spans = value(&[Some(false), Some(true)], spans)?;
        let centre = value(&CENTRES, centre)?;
        let label = Label { lines, line, encoding, purpose, declared, zero_points, spans, centre, are_patches: false };
        Some(Header { label, content, checksum })
    }
}

/// What stands for what: a value's code is its place.
const SIDES: [Option<Side>; 3] = [None, Some(Side::Lhs), Some(Side::Rhs)];
const ORDERS: [Option<ResultOrder>; 2] = [Some(ResultOrder::RowMajor), Some(ResultOrder::ColMajor)];
const CENTRES: [Option<Centre>; 2] = [Some(Centre::ZeroPoint), Some(Centre::Middle)];
const ENCODINGS: [Option<Encoding>; 3] = [None, Some(Encoding::U8), Some(Encoding::S8)];

fn code<T: PartialEq>(values: &[Option<T>], value: T) -> u8 {
    let place = values.iter().position(|known| known.as_ref() == Some(&value));
    place.expect("every value has a code") as u8
}

fn value<T: Copy>(values: &[Option<T>], code: u8) -> Option<T> {
    *values.get(usize::from(code))?
}
