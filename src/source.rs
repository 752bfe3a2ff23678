//! One side of a product: where its lines come from, and how they become what the kernels read.

use crate::bit_depth::Requantization;
use crate::buffer::Carver;
use crate::error::Error;
use crate::kernel::{Kernel, MAX_ROWS, MAX_WIDTH};
use crate::matrix::{Encoding, Offset, Operand, Order, Runs, bytes_of};
use crate::output::{LineOffsets, Rescale};
use crate::pack::Groups;
use crate::packed::{Bits, Form, Line, Packed, Side};
use crate::planes::Planes;
use crate::prepare::{Prepared, Room};
use crate::range::{ElementRange, Stray};
use crate::reading::Reading;
use crate::segment::{Edge, sum_part};
use crate::span::{self, Reach, Spans};
use std::cmp::Ordering;
use std::ops::Range;

/// One side of a product: an operand, as it lies or packed, and what is added to its elements.
#[derive(Clone, Copy)]
pub struct Factor<'a> {
    item: Item<'a>,
    offset: Offset<'a>,
    /// What the caller says of the elements.
    promised: ElementRange,
    requantization: Option<Requantization>,
}

#[derive(Clone, Copy)]
enum Item<'a> {
    Operand(Operand<'a>),
    Packed(&'a Packed),
}

impl<'a> Factor<'a> {
    /// The operand with `offset` added to its elements: one for all lines, or one for each.
    ///
    /// # Panics
    /// If there are fewer offsets than lines.
    pub fn new(operand: Operand<'a>, offset: Offset<'a>) -> Self {
        Self::of(Item::Operand(operand), operand.encoding, offset)
    }

    /// As [`Factor::new`], of a packed operand.
    ///
    /// # Panics
    /// If there are fewer offsets than lines.
    pub fn packed(packed: &'a Packed, offset: Offset<'a>) -> Self {
        Self::of(Item::Packed(packed), packed.encoding(), offset)
    }

    fn of(item: Item<'a>, encoding: Encoding, offset: Offset<'a>) -> Self {
        let factor = Self { item, offset, promised: ElementRange::all(encoding), requantization: None };
        if let Offset::PerLine(offsets) = offset {
            assert!(offsets.len() >= factor.lines(), "an offset for each line");
        }
        factor
    }

    /// The same with the promise that no element is less than `least` or greater than `greatest`.
    ///
    /// # Panics
    /// If these are not numbers of the operand's encoding, in this order.
    pub fn within(self, least: i32, greatest: i32) -> Self {
        let promised = ElementRange { least, greatest };
        assert!(least <= greatest && ElementRange::all(self.encoding()).holds(&promised), "a range of elements");
        Self { promised, ..self }
    }

    /// What no element is outside of, if the promise is kept. Of a packed operand it is known.
    pub(crate) fn range(&self) -> ElementRange {
        match &self.item {
            Item::Operand(_) => self.promised,
            Item::Packed(packed) => packed.range(),
        }
    }

    /// The first element, line by line, that breaks the promise.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn stray(&self) -> Result<Option<Stray>, Error> {
        match &self.item {
            Item::Operand(operand) => Ok(self.promised.stray(operand)),
            Item::Packed(packed) => packed.stray(&self.promised),
        }
    }

    /// What the caller says of the elements.
    pub(crate) fn promised(&self) -> ElementRange {
        self.promised
    }

    /// The same with fewer bits of its elements.
    pub(crate) fn requantized(self, requantization: Requantization) -> Self {
        Self { requantization: Some(requantization), ..self }
    }

    pub(crate) fn lines(&self) -> usize {
        match &self.item {
            Item::Operand(operand) => operand.lines,
            Item::Packed(packed) => packed.lines(),
        }
    }

    pub(crate) fn depth(&self) -> usize {
        match &self.item {
            Item::Operand(operand) => operand.depth,
            Item::Packed(packed) => packed.depth(),
        }
    }

    /// How many elements of a line have a scale together, if it is packed so.
    pub(crate) fn segment(&self) -> Option<usize> {
        match &self.item {
            Item::Operand(_) => None,
            Item::Packed(packed) => packed.segment(),
        }
    }

    /// How many bits of its elements count.
    pub(crate) fn bits(&self) -> u32 {
        self.requantization.map_or(8, |requantization| requantization.bits())
    }

    /// Which way the operand's memory runs. None if it is packed.
    pub(crate) fn order(&self) -> Option<Order> {
        match &self.item {
            Item::Operand(operand) => Some(operand.order),
            Item::Packed(_) => None,
        }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        match &self.item {
            Item::Operand(operand) => operand.encoding,
            Item::Packed(packed) => packed.encoding(),
        }
    }

    /// Whether any of its bytes, or of its offsets, is one of these.
    pub(crate) fn meets(&self, runs: &Runs) -> bool {
        let item = match &self.item {
            Item::Operand(operand) => operand.runs(),
            Item::Packed(packed) => bytes_of(packed.blob()),
        };
        let offsets = match self.offset {
            Offset::Uniform(_) => None,
            Offset::PerLine(offsets) => Some(bytes_of(offsets)),
        };
        runs.overlap(&item) || offsets.is_some_and(|offsets| runs.overlap(&offsets))
    }

    /// What the magnitude of a sum of products with `other` cannot exceed, nor that of a segment if there are any.
    pub(crate) fn bound(&self, other: &Factor) -> u128 {
        if self.requantization.is_some() || other.requantization.is_some() {
            // Four terms, each rounded by itself, of numbers from 0 to 255 and offsets.
            let [a, b] = [self, other].map(|factor| 255 + factor.greatest_offset());
            let is_compensated = self.requantization.is_some_and(|requantization| requantization.is_compensated);
            // An element's error is at most 127.5.
            let compensation = if is_compensated { 128 * (a + b) } else { 0 };
            return self.depth() as u128 * (a * b + compensation) + 4;
        }
        let segment = self.segment().or(other.segment());
        let depth = segment.unwrap_or(self.depth()).min(self.depth()) as u128;
        let (lhs, rhs) = (self.total(depth) * other.greatest(), other.total(depth) * self.greatest());
        lhs.min(rhs)
    }

    /// What the sum of the magnitudes of so many elements of a line, their offset included, cannot exceed.
    fn total(&self, depth: u128) -> u128 {
        let most = self.greatest() * depth;
        match &self.item {
            Item::Operand(_) => most,
            Item::Packed(packed) => most.min(packed.bound(self.offset).into()),
        }
    }

    /// The greatest magnitude that an element could have, its offset included.
    fn greatest(&self) -> u128 {
        if let Item::Packed(packed) = self.item {
            return packed.greatest(self.offset).into();
        }
        let ElementRange { least, greatest } = self.range();
        let ends = [least, greatest].map(i64::from);
        let reach = |offset: &i32| ends.map(|end| (end + i64::from(*offset)).unsigned_abs()).into_iter().max();
        self.offsets().iter().filter_map(reach).max().unwrap_or(0).into()
    }

    /// The greatest magnitude of what is added to the elements, seen as 0 to 255.
    fn greatest_offset(&self) -> u128 {
        let base = self.encoding().shift_to(Encoding::U8);
        let reach = |offset: &i32| (i64::from(*offset) - i64::from(base)).unsigned_abs();
        self.offsets().iter().map(reach).max().unwrap_or(0).into()
    }

    /// What the kernels read it as, if it is up to this side.
    fn read_as(&self) -> Encoding {
        if self.requantization.is_some() { Encoding::U8 } else { self.encoding() }
    }

    /// How its bytes become numbers of the encoding `to`.
    fn reading(&self, to: Encoding) -> Reading {
        Reading { requantization: self.requantization, ..Reading::plain(self.read_as(), to) }
    }

    /// The same for a narrow kernel: the numbers as small as they can be.
    fn centred(&self, to: Encoding) -> Reading {
        let ElementRange { least, greatest } = self.range_read();
        let shift = match to {
            Encoding::U8 => -least,
            Encoding::S8 => -((least + greatest + 1) >> 1),
        };
        Reading { shift, ..self.reading(to) }
    }

    /// What no number is outside of before it is shifted.
    fn range_read(&self) -> ElementRange {
        match self.requantization {
            Some(requantization) => ElementRange { least: 0, greatest: requantization.levels.into() },
            None => self.range(),
        }
    }

    /// What no number that a kernel reads is outside of.
    fn numbers(&self, reading: &Reading) -> Reach {
        let ElementRange { least, greatest } = self.range_read();
        Reach { least: least + reading.shift, greatest: greatest + reading.shift }
    }

    /// What is added to its numbers: those that its elements were requantized to, or those that `reading` gives.
    fn line_offsets(&self, reading: &Reading) -> LineOffsets<'a> {
        let shift = match self.requantization {
            Some(_) => self.encoding().shift_to(Encoding::U8),
            None => reading.shift,
        };
        LineOffsets { offset: self.offset, shift }
    }

    fn offsets(&self) -> &[i32] {
        match &self.offset {
            Offset::Uniform(offset) => std::slice::from_ref(offset),
            Offset::PerLine(offsets) => &offsets[..self.lines()],
        }
    }
}

/// One side of a product, as a kernel is to read it.
pub(crate) struct Source<'a> {
    kernel: &'static Kernel,
    side: Side,
    input: Input<'a>,
    /// How its own lines lie in panels, and the bytes that one takes there.
    line: Line,
    pitch: usize,
    /// The planes in which the numbers of panels lie that are ready, if they do.
    planes: Option<Planes>,
    /// Its scales and zero points, if it has segments.
    segments: Option<&'a Packed>,
    /// How many numbers a segment has, if either side has any, and how many sums each line.
    segment: Option<usize>,
    pieces: usize,
    reading: Reading,
    /// For each panel how many groups of its stretches sums of 16 bits hold, if that is known.
    spans: Option<&'a [u8]>,
    pub offset: LineOffsets<'a>,
    /// Whether the sums of this side's lines are needed, because something is added to the other side's elements.
    is_summed: bool,
}

enum Input<'a> {
    /// To be packed, or read in place.
    Operand(Operand<'a>),
    /// Packed as the kernel reads it.
    Ready(Prepared<'a>),
    /// Packed otherwise: for another kernel, for the other side, or for another encoding of the other side.
    Otherwise(&'a Packed),
}

/// Both sides of a product, and the kernel that reads them.
pub(crate) struct Sides<'a> {
    pub kernel: &'static Kernel,
    /// The LHS and the RHS.
    pub sources: [Source<'a>; 2],
    pub rescale: Option<Rescale>,
    /// How many groups accumulators of 16 bits may take of these numbers.
    pub span: u8,
}

/// Shorter spans are not worth a narrow kernel.
const LEAST_SPAN: u8 = 2;

/// With such a span for all numbers, those of single stretches are not worth looking at.
const FAR: u8 = 8;

impl<'a> Sides<'a> {
    /// For `kernel`, or its narrow one if the numbers are small, as they are known to be in weights that are packed for that,
    /// unless more is packed for the former.
    pub(crate) fn new(kernel: &'static Kernel, lhs: &Factor<'a>, rhs: &Factor<'a>) -> Self {
        let sides = Self::of(kernel, false, lhs, rhs);
        let Some(narrow) = kernel.narrow else { return sides };
        let narrow = Self::of(narrow, true, lhs, rhs);
        match narrow.ready().cmp(&sides.ready()) {
            Ordering::Greater => narrow,
            Ordering::Equal if narrow.span >= LEAST_SPAN || narrow.sources[1].spans.is_some() => narrow,
            _ => sides,
        }
    }

    /// An RHS that is packed already decides what the LHS is read as, otherwise the LHS decides.
    fn of(kernel: &'static Kernel, is_narrow: bool, lhs: &Factor<'a>, rhs: &Factor<'a>) -> Self {
        let ready = |factor: &Factor<'a>, form| match factor.item {
            Item::Packed(packed)
                if packed.form() == form && packed.is_for(kernel) && factor.requantization.is_none() =>
            {
                Some(packed)
            }
            _ => None,
        };
        // Beside an LHS with segments panels are read from any depth on, which planes are not.
        let panels = ready(rhs, Form::Panels).filter(|panels| lhs.segment().is_none() || panels.line().is_plain());
        let lhs_encoding = match (panels, kernel.groups) {
            (Some(panels), Groups::Quads) if !panels.is_of_both() => panels.stored().other(),
            _ => lhs.read_as(),
        };
        // Beside an RHS with segments their sums are needed, but those of whole lines are packed.
        let lines = ready(lhs, Form::Lines)
            .filter(|lines| lines.stored() == lhs_encoding && lines.line().is_plain() && rhs.segment().is_none());
        let rhs_encoding = kernel.groups.rhs_encoding(lhs_encoding);
        let rhs_reading = match panels {
            Some(panels) => Reading { to: rhs_encoding, ..panels.reading() },
            None if is_narrow => rhs.centred(rhs_encoding),
            None => rhs.reading(rhs_encoding),
        };
        let readings = [lhs.reading(lhs_encoding), rhs_reading];
        let [lhs_numbers, rhs_numbers] = [(lhs, 0), (rhs, 1)].map(|(factor, side)| factor.numbers(&readings[side]));
        let rescale = Rescale::new(&readings[0], &readings[1]);
        let offsets = [lhs.line_offsets(&readings[0]), rhs.line_offsets(&readings[1])];
        let is_added_to = [0, 1].map(|side| {
            let reading = &readings[side];
            offsets[side].uniform() != Some(0) || rescale.is_some() && reading.shift != 0 || reading.is_compensated()
        });
        let segment = lhs.segment().or(rhs.segment());
        let segments = [lhs, rhs].map(|factor| match factor.item {
            Item::Packed(packed) if packed.segment().is_some() => Some(packed),
            _ => None,
        });
        let is_added_to =
            [0, 1].map(|side| is_added_to[side] || segments[side].is_some_and(|packed| packed.has_zero_points()));
        let source = |side, factor: &Factor<'a>, ready: Option<&'a Packed>, reading, offset, is_summed| {
            let (depth, own) = (factor.depth(), factor.segment().unwrap_or(0));
            let line = ready.map_or(Line { depth, bits: Bits::ALL, segment: own }, Packed::line);
            Source {
                kernel,
                side,
                input: match (factor.item, ready) {
                    (_, Some(packed)) => Input::Ready(packed.prepared()),
                    (Item::Operand(operand), _) => Input::Operand(operand),
                    (Item::Packed(packed), None) => Input::Otherwise(packed),
                },
                line,
                pitch: line.bytes(line.len(kernel.groups)),
                pieces: segment.map_or(1, |segment| depth.div_ceil(segment)),
                planes: ready.and_then(Packed::planes),
                segments: segments[if side == Side::Lhs { 0 } else { 1 }],
                segment,
                reading,
                spans: ready.and_then(Packed::spans),
                offset,
                is_summed,
            }
        };
        let sources = [
            source(Side::Lhs, lhs, lines, readings[0], offsets[0], is_added_to[1]),
            source(Side::Rhs, rhs, panels, readings[1], offsets[1], is_added_to[0]),
        ];
        Self { kernel, sources, rescale, span: span::span(lhs_numbers, rhs_numbers) }
    }

    /// How many of the sides are packed as the kernel reads them.
    fn ready(&self) -> usize {
        self.sources.iter().filter(|source| matches!(source.input, Input::Ready(_))).count()
    }
}

impl<'a> Source<'a> {
    /// What its bytes are read as.
    pub(crate) fn encoding(&self) -> Encoding {
        self.reading.to
    }

    /// Which way the memory runs that lines are packed from.
    pub(crate) fn order(&self) -> Order {
        match &self.input {
            Input::Operand(operand) => operand.order,
            _ => Order::DepthContiguous,
        }
    }

    /// All of this side, if nothing is to be prepared.
    pub(crate) fn ready(&self) -> Option<Prepared<'a>> {
        match self.input {
            Input::Ready(prepared) => Some(prepared),
            _ if self.in_place().is_some() && !self.is_summed => {
                Some(Prepared { first: 0, bytes: &[], sums: &[], originals: &[] })
            }
            _ => None,
        }
    }

    fn in_place(&self) -> Option<&Operand<'a>> {
        match &self.input {
            Input::Operand(operand)
                if self.side == Side::Lhs && self.kernel.groups.read_in_place(operand, &self.reading) =>
            {
                Some(operand)
            }
            _ => None,
        }
    }

    /// What so many lines take when they are prepared.
    pub(crate) fn room(&self, lines: usize) -> Room {
        let depth = self.line.depth;
        let bytes = match (self.side, self.segments) {
            (Side::Lhs, None) => self.kernel.room_for_lines(lines, depth).bytes,
            (Side::Lhs, Some(_)) => lines * self.line.pieces() * self.slot(),
            (Side::Rhs, _) => lines.next_multiple_of(self.kernel.width) * self.line.len(self.kernel.groups),
        };
        // Beside an LHS with segments, sums are taken of parts of panels.
        let sums = match self.side {
            Side::Lhs => lines * self.pieces,
            Side::Rhs if self.segment.is_some() && self.segments.is_none() => 0,
            Side::Rhs => lines.next_multiple_of(self.kernel.width) * self.pieces,
        };
        Room {
            bytes: if self.in_place().is_some() { 0 } else { bytes },
            sums: if self.is_summed { sums } else { 0 },
            unpacked: if matches!(self.input, Input::Otherwise(_)) { lines * depth } else { 0 },
            originals: if self.reading.is_compensated() { lines } else { 0 },
        }
    }

    /// The bytes of a segment of a line of an LHS that has them: whole groups, in which the segment may begin and end anywhere.
    fn slot(&self) -> usize {
        (self.kernel.pad(self.line.piece()) + self.kernel.groups.len()) * self.kernel.groups.lhs_size()
    }

    /// Packs `lines` and sums them.
    pub(crate) fn prepare<'s>(&self, lines: Range<usize>, space: &'s mut Space) -> Prepared<'s>
    where
        'a: 's,
    {
        let Space { bytes, sums, unpacked, originals } = space.first(self.room(lines.len()));
        match &self.input {
            Input::Ready(prepared) => *prepared,
            Input::Operand(operand) => {
                self.pack(operand, &self.reading, lines.clone(), lines.start, (bytes, sums, originals))
            }
            Input::Otherwise(packed) => {
                packed.unpack(lines.clone(), unpacked);
                let (shape, stride) = ((lines.len(), self.line.depth), self.line.depth);
                let operand = Operand::new(unpacked, shape, stride, Order::DepthContiguous, packed.encoding());
                let reading = Reading { first_line: lines.start, ..self.reading };
                self.pack(&operand, &reading, 0..lines.len(), lines.start, (bytes, sums, originals))
            }
        }
    }

    /// Packs `lines` of an operand, the first of which is line `first` of this side, and sums them.
    fn pack<'s>(
        &self,
        operand: &Operand,
        reading: &Reading,
        lines: Range<usize>,
        first: usize,
        (bytes, sums, originals): (&'s mut [u8], &'s mut [i32], &'s mut [i32]),
    ) -> Prepared<'s>
    where
        'a: 's,
    {
        let (kernel, count) = (self.kernel, lines.len());
        if let Some(requantization) = reading.requantization.filter(|_| reading.is_compensated()) {
            requantization.sum_lines(operand, lines.clone(), originals);
        }
        match self.side {
            Side::Lhs => {
                if self.segments.is_some() {
                    self.pack_slots(operand, lines, bytes);
                } else if self.in_place().is_none() {
                    kernel.pack_lines(operand, reading, lines, bytes);
                }
                let prepared = Prepared { first, bytes, sums: &[], originals };
                let pieces = self.pieces.max(1);
                for (piece, depth) in self.each_piece().enumerate() {
                    let all = self.lines(&prepared, depth);
                    for (sums, line) in sums.chunks_exact_mut(pieces).zip(first..first + count) {
                        sums[piece] = kernel.sum_line(all.get(line), self.encoding());
                    }
                }
                Prepared { sums, ..prepared }
            }
            Side::Rhs if self.segments.is_some() => {
                self.pack_segments(operand, lines, bytes, sums);
                Prepared { first, bytes, sums, originals }
            }
            Side::Rhs => {
                kernel.pack_panels(operand, reading, lines, bytes);
                if !sums.is_empty() {
                    kernel.sum_panels(bytes, self.encoding(), self.line.depth, sums);
                }
                Prepared { first, bytes, sums, originals }
            }
        }
    }

    /// The depths that are summed together.
    fn each_piece(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (depth, step) = (self.line.depth, self.segment.unwrap_or(self.line.depth).max(1));
        let whole = (self.segment.is_none() && depth == 0).then_some(0..0);
        whole.into_iter().chain((0..depth).step_by(step).map(move |from| from..depth.min(from + step)))
    }

    /// Packs each segment of lines into a slot of its own, in groups as the other side's panels have them.
    fn pack_slots(&self, operand: &Operand, lines: Range<usize>, bytes: &mut [u8]) {
        let (groups, mut slots) = (self.kernel.groups, bytes.chunks_exact_mut(self.slot()));
        for line in lines {
            for depth in self.line.each_piece() {
                let slot = slots.next().expect("a slot for each segment");
                let (before, rest) = slot.split_at_mut(depth.start % groups.len() * groups.lhs_size());
                before.fill(0);
                self.kernel.pack_line(&operand.part(line..line + 1, depth), &self.reading, rest);
            }
        }
    }

    /// Packs and sums each segment of panels.
    fn pack_segments(&self, operand: &Operand, lines: Range<usize>, bytes: &mut [u8], sums: &mut [i32]) {
        let (kernel, width) = (self.kernel, self.kernel.width);
        let (mut bytes, mut sums) = (bytes, sums.chunks_exact_mut(width));
        for first in lines.clone().step_by(width) {
            for depth in self.line.each_piece() {
                let part = operand.part(first..lines.end.min(first + width), depth);
                let padded = self.line.padded(part.depth, kernel.groups);
                let panel = bytes.split_off_mut(..padded * width).expect("room for all segments");
                kernel.pack_panels(&part, &self.reading, 0..part.lines, panel);
                panel[kernel.pad(part.depth) * width..].fill(0);
                if let Some(sums) = sums.next() {
                    kernel.sum_panels(panel, self.encoding(), padded, sums);
                }
            }
        }
    }

    /// The lines of the LHS over a stretch of the depth.
    #[inline]
    pub(crate) fn lines<'s>(&self, from: &Prepared<'s>, depth: Range<usize>) -> Lines<'s>
    where
        'a: 's,
    {
        if let Some(&operand) = self.in_place() {
            return Lines::InPlace { operand, depth };
        }
        let (kernel, line) = (self.kernel, &self.line);
        let (groups, size) = (kernel.groups, kernel.groups.lhs_size());
        let (pitch, stretch) = if self.segments.is_some() {
            let start = depth.start / line.piece() * self.slot();
            let len = groups.pad(depth.start % groups.len() + depth.len());
            (line.pieces() * self.slot(), start..start + len * size)
        } else {
            // Beside segments a line ends with each of them: the next one's numbers are not to be summed with it.
            let end = if self.segment.is_some() { depth.end } else { groups.pad(depth.end) };
            (kernel.pitch(line.depth), depth.start * size..end * size)
        };
        Lines::Packed { bytes: from.bytes, first: from.first, pitch, stretch }
    }

    /// Whether its panels have to be widened.
    pub(crate) fn is_widened(&self) -> bool {
        self.planes.is_some()
    }

    /// The memory that a panel over so much of the depth has to be widened into.
    pub(crate) fn widened_len(&self, depth: usize) -> usize {
        self.planes.map_or(0, |_| self.line.padded(depth, self.kernel.groups) * self.kernel.width)
    }

    /// A panel of the RHS over a stretch of the depth, and over what there is before it of its first group, in `room` if it has
    /// to be widened.
    #[inline]
    pub(crate) fn panel<'s>(
        &self,
        from: &Prepared<'s>,
        line: usize,
        depth: Range<usize>,
        room: &'s mut [u8],
    ) -> &'s [u8] {
        let Self { kernel, line: own, .. } = self;
        let place = own.place(depth.start, kernel.groups);
        let before = place % kernel.groups.len();
        let len = own.padded(before + depth.len(), kernel.groups) * kernel.width;
        let panel = &from.bytes[(line - from.first) * self.pitch..];
        let bytes = &panel[own.bytes(place - before) * kernel.width..][..own.bytes(len)];
        let Some(planes) = &self.planes else { return bytes };
        kernel.expand(planes, bytes, &mut room[..len]);
        &room[..len]
    }

    /// How many groups of a panel sums of 16 bits hold over a stretch of the depth, if `span` of any.
    pub(crate) fn spans(&self, line: usize, depth: Range<usize>, span: u8) -> Spans<'a> {
        match self.spans {
            Some(spans) if span < FAR => {
                let per_panel = self.line.depth.div_ceil(span::DEPTHS);
                let panel = &spans[line / self.kernel.width * per_panel..][..per_panel];
                Spans::PerStretch(&panel[depth.start / span::DEPTHS..depth.end.div_ceil(span::DEPTHS)])
            }
            _ => Spans::Uniform(span),
        }
    }

    /// What there is to know of lines of the LHS in a segment.
    pub(crate) fn rows_in(&self, from: &Prepared, rows: Range<usize>, segment: usize, edge: &mut Edge<MAX_ROWS>) {
        for (sum, row) in edge.sums.iter_mut().zip(rows.clone()) {
            *sum = from.sums.get((row - from.first) * self.pieces + segment).copied().unwrap_or(0);
        }
        self.parameters_in(rows, segment, &mut edge.offsets, &mut edge.scales);
    }

    /// What there is to know of lines of the RHS in a segment, of whose panel the products are with `panel`.
    pub(crate) fn cols_in(
        &self,
        from: &Prepared,
        cols: Range<usize>,
        (segment, depth, panel): (usize, Range<usize>, &[u8]),
        edge: &mut Edge<MAX_WIDTH>,
    ) {
        let width = self.kernel.width;
        if self.segments.is_some() {
            let at = ((cols.start - from.first) / width * self.pieces + segment) * width;
            let sums = from.sums.get(at..at + cols.len()).unwrap_or_default();
            edge.sums[..sums.len()].copy_from_slice(sums);
        } else if self.is_summed {
            let before = depth.start % self.kernel.groups.len();
            let depths = before..before + depth.len();
            sum_part(panel, self.kernel.groups, self.encoding(), depths, &mut edge.sums[..width]);
        }
        self.parameters_in(cols, segment, &mut edge.offsets, &mut edge.scales);
    }

    fn parameters_in(&self, lines: Range<usize>, segment: usize, offsets: &mut [i32], scales: &mut [f32]) {
        match self.segments {
            None => offsets.iter_mut().zip(lines).for_each(|(to, line)| *to = self.offset.of(line)),
            Some(packed) => {
                packed.scales(lines.clone(), segment, scales);
                packed.zero_points(lines.clone(), segment, offsets);
                offsets.iter_mut().zip(lines).for_each(|(to, line)| *to = self.offset.of(line).wrapping_sub(*to));
            }
        }
    }
}

/// The lines of an LHS over a stretch of the depth, as a kernel reads them.
pub(crate) enum Lines<'s> {
    InPlace { operand: Operand<'s>, depth: Range<usize> },
    Packed { bytes: &'s [u8], first: usize, pitch: usize, stretch: Range<usize> },
}

impl<'s> Lines<'s> {
    #[inline]
    pub(crate) fn get(&self, line: usize) -> &'s [u8] {
        match self {
            Lines::InPlace { operand, depth } => &operand.run(line)[depth.clone()],
            Lines::Packed { bytes, first, pitch, stretch } => &bytes[(line - first) * pitch..][stretch.clone()],
        }
    }
}

/// Memory for lines to be prepared in.
pub(crate) struct Space<'s> {
    bytes: &'s mut [u8],
    sums: &'s mut [i32],
    unpacked: &'s mut [u8],
    originals: &'s mut [i32],
}

impl<'s> Space<'s> {
    pub(crate) fn len(room: Room) -> usize {
        let ints = |len: usize| Carver::cost(len * size_of::<i32>());
        Carver::cost(room.bytes) + ints(room.sums) + Carver::cost(room.unpacked) + ints(room.originals)
    }

    pub(crate) fn carve(carver: &mut Carver<'s>, room: Room) -> Self {
        Self {
            bytes: carver.bytes(room.bytes),
            sums: carver.ints(room.sums),
            unpacked: carver.bytes(room.unpacked),
            originals: carver.ints(room.originals),
        }
    }

    /// The first part of this memory; what is left is the rest.
    pub(crate) fn split_off(&mut self, room: Room) -> Self {
        Self {
            bytes: self.bytes.split_off_mut(..room.bytes).expect("room for all lines"),
            sums: self.sums.split_off_mut(..room.sums).expect("a sum for each line"),
            unpacked: self.unpacked.split_off_mut(..room.unpacked).expect("room for all lines, unpacked"),
            originals: self.originals.split_off_mut(..room.originals).expect("another sum for each line"),
        }
    }

    /// What all pieces of this memory together hold, from the first line on.
    pub(crate) fn prepared(self) -> Prepared<'s> {
        Prepared { first: 0, bytes: self.bytes, sums: self.sums, originals: self.originals }
    }

    /// As much of this memory as so many lines take.
    pub(crate) fn first(&mut self, room: Room) -> Space<'_> {
        Space {
            bytes: &mut self.bytes[..room.bytes],
            sums: &mut self.sums[..room.sums],
            unpacked: &mut self.unpacked[..room.unpacked],
            originals: &mut self.originals[..room.originals],
        }
    }
}
