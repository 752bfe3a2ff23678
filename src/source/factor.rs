//! An operand of a product and what the caller says of it.

use crate::bit_depth::Requantization;
use crate::conv::Patches;
use crate::error::Error;
use crate::kernel::Vectors;
use crate::matrix::{Encoding, Offset, Operand, Order, Runs, bytes_of};
use crate::output::LineOffsets;
use crate::pack::Groups;
use crate::packed::{Form, Packed};
use crate::range::{ElementRange, Near, Stray};
use crate::reading::Reading;
use std::ops::Range;

/// Two products of numbers from -64 to 64 with any of 8 bits fit 16 bits.
const HALF: i32 = 64;

/// One side of a product: an operand, as it lies or packed, and what is added to its elements.
#[derive(Clone, Copy)]
pub struct Factor<'a> {
    pub(super) item: Item<'a>,
    /// The first of its lines that counts, and how many do.
    first: usize,
    lines: usize,
    offset: Offset<'a>,
    /// What the caller says of the elements.
    promised: ElementRange,
    pub(super) requantization: Option<Requantization>,
}

#[derive(Clone, Copy)]
pub(super) enum Item<'a> {
    Operand(Operand<'a>),
    Patches(Patches<'a>),
    Packed(&'a Packed),
}

impl<'a> Factor<'a> {
    /// That of no elements.
    pub(crate) const EMPTY: Self = Self {
        item: Item::Operand(Operand::EMPTY),
        first: 0,
        lines: 0,
        offset: Offset::Uniform(0),
        promised: ElementRange { least: 0, greatest: 0 },
        requantization: None,
    };

    /// The operand with `offset` added to its elements: one for all lines, or one for each.
    ///
    /// # Panics
    /// If there are fewer offsets than lines.
    #[inline(always)]
    pub fn new(operand: Operand<'a>, offset: Offset<'a>) -> Self {
        Self::of(Item::Operand(operand), operand.lines, operand.encoding, offset)
    }

    /// As [`Factor::new`], of patches of images, with one offset for all.
    pub(crate) fn patches(patches: Patches<'a>, offset: Offset<'a>) -> Self {
        Self::of(Item::Patches(patches), patches.lines(), patches.pixels.encoding, offset)
    }

    /// As [`Factor::new`], of a packed operand.
    ///
    /// # Panics
    /// If there are fewer offsets than lines.
    #[inline(always)]
    pub fn packed(packed: &'a Packed, offset: Offset<'a>) -> Self {
        Self::of(Item::Packed(packed), packed.lines(), packed.encoding(), offset)
    }

    #[inline(always)]
    fn of(item: Item<'a>, lines: usize, encoding: Encoding, offset: Offset<'a>) -> Self {
        if let Offset::PerLine(offsets) = offset {
            assert!(offsets.len() >= lines, "an offset for each line");
        }
        let promised = ElementRange::all(encoding);
        Self { item, first: 0, lines, offset, promised, requantization: None }
    }

    /// Has it read elements that lie elsewhere. False, and it stays where it is, if they would reach beyond the address space.
    ///
    /// # Safety
    /// As for [`Operand::from_raw`].
    ///
    /// # Panics
    /// If it is packed.
    #[inline(always)]
    pub(crate) unsafe fn move_to(&mut self, data: *const u8) -> bool {
        let Item::Operand(operand) = &mut self.item else { panic!("what is packed cannot be moved") };
        let fits = data.addr().checked_add(operand.runs().extent()).is_some();
        if fits {
            // SAFETY: this function's own promise.
            *operand = unsafe { operand.at(data) };
        }
        fits
    }

    /// Some of the lines of a right side, which keep their numbers: a product with them gives just those columns of the
    /// result.
    ///
    /// # Panics
    /// If there are no such lines.
    pub(crate) fn part(self, lines: Range<usize>) -> Self {
        assert!(self.first <= lines.start && lines.start <= lines.end && lines.end <= self.first + self.lines);
        Self { first: lines.start, lines: lines.len(), ..self }
    }

    /// Whether some lines do not count.
    #[inline]
    pub(crate) fn is_part(&self) -> bool {
        let all = match &self.item {
            Item::Operand(operand) => operand.lines,
            Item::Patches(patches) => patches.lines(),
            Item::Packed(packed) => packed.lines(),
        };
        self.lines < all
    }

    /// The first line.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// The same with the promise that no element is less than `least` or greater than `greatest`.
    ///
    /// # Panics
    /// If these are not numbers of the operand's encoding, in this order.
    pub fn within(mut self, least: i32, greatest: i32) -> Self {
        self.promise(ElementRange { least, greatest });
        self
    }

    /// As [`Factor::within`], where it is.
    #[inline(always)]
    pub(crate) fn promise(&mut self, promised: ElementRange) {
        let ElementRange { least, greatest } = promised;
        assert!(least <= greatest && ElementRange::all(self.encoding()).holds(&promised), "a range of elements");
        self.promised = promised;
    }

    /// Whether it might be found to be [small](Factor::found_small): its elements are as they lie, and nothing is known of them.
    pub(crate) fn might_be_small(&self) -> bool {
        let is_unknown = self.promised == ElementRange::all(self.encoding());
        self.operand().is_some_and(|operand| operand.lines > 0 && operand.depth > 0) && is_unknown
    }

    /// The same with the promise that its elements are so small that two products with any numbers fit 16 bits, if they are.
    pub(crate) fn found_small(&self, vectors: Vectors) -> Option<Self> {
        let operand = *self.operand()?;
        let found = vectors.run(Near { operand, most: 2 * HALF })?;
        // If it may be, as far above 0 as below: then they need not be shifted.
        let reach = (-found.least).max(found.greatest);
        let is_signed = operand.encoding == Encoding::S8;
        let ElementRange { least, greatest } = found;
        Some(if is_signed && reach <= HALF { self.within(-reach, reach) } else { self.within(least, greatest) })
    }

    /// Such promises as [`Factor::found_small`] could make that differ in what they have a product pack and sum.
    pub(crate) fn small_kinds(&self) -> [Self; 2] {
        match self.encoding() {
            Encoding::U8 => [self.within(0, 2 * HALF), self.within(1, 1 + 2 * HALF)],
            Encoding::S8 => [self.within(-HALF, HALF), self.within(-1, 2 * HALF - 1)],
        }
    }

    /// What no element is outside of, if the promise is kept. Of a packed operand it is known.
    pub(crate) fn range(&self) -> ElementRange {
        match &self.item {
            Item::Operand(_) | Item::Patches(_) => self.promised,
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
            Item::Patches(patches) => Ok(self.promised.stray(&patches.pixels)),
            Item::Packed(packed) => packed.stray(&self.promised),
        }
    }

    /// The operand, if all 8 bits of all its lines are to be read as it lies.
    #[inline]
    pub(crate) fn operand(&self) -> Option<&Operand<'a>> {
        match &self.item {
            Item::Operand(operand) if self.requantization.is_none() && !self.is_part() => Some(operand),
            _ => None,
        }
    }

    /// The packed operand, if it is one of panels as a product packs them, and all 8 bits of all lines are to be read.
    #[inline]
    pub(crate) fn panels(&self) -> Option<&'a Packed> {
        match self.item {
            Item::Packed(packed) if self.requantization.is_none() && !self.is_part() => {
                Some(packed).filter(|packed| packed.form() == Form::Panels && packed.line().is_plain())
            }
            _ => None,
        }
    }

    /// All elements as they were before they were packed, if they were: then in `room`, of a byte for each.
    pub(crate) fn operand_in<'r>(&self, room: &'r mut [u8]) -> Operand<'r>
    where
        'a: 'r,
    {
        match &self.item {
            Item::Operand(operand) => *operand,
            Item::Patches(patches) => patches.pixels,
            Item::Packed(packed) => {
                let (lines, depth) = (packed.lines(), packed.depth());
                let room = &mut room[..lines * depth];
                packed.unpack(0..lines, room);
                Operand::new(room, (lines, depth), depth, Order::DepthContiguous, packed.encoding())
            }
        }
    }

    /// What is added to the elements.
    pub(crate) fn offset(&self) -> Offset<'a> {
        self.offset
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
        self.lines
    }

    #[inline]
    pub(crate) fn depth(&self) -> usize {
        match &self.item {
            Item::Operand(operand) => operand.depth,
            Item::Patches(patches) => patches.depth(),
            Item::Packed(packed) => packed.depth(),
        }
    }

    /// How many elements of a line have a scale together, if it is packed so.
    #[inline]
    pub(crate) fn segment(&self) -> Option<usize> {
        match &self.item {
            Item::Operand(_) | Item::Patches(_) => None,
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
            Item::Patches(patches) => Some(patches.pixels.order),
            Item::Packed(_) => None,
        }
    }

    #[inline]
    pub(crate) fn encoding(&self) -> Encoding {
        match &self.item {
            Item::Operand(operand) => operand.encoding,
            Item::Patches(patches) => patches.pixels.encoding,
            Item::Packed(packed) => packed.encoding(),
        }
    }

    /// Where its bytes lie.
    #[inline(always)]
    pub(crate) fn runs(&self) -> Runs {
        match &self.item {
            Item::Operand(operand) => operand.runs(),
            Item::Patches(patches) => patches.pixels.runs(),
            Item::Packed(packed) => bytes_of(packed.blob()),
        }
    }

    /// Where its offsets lie, if each line has one.
    #[inline(always)]
    pub(crate) fn offset_runs(&self) -> Option<Runs> {
        match self.offset {
            Offset::Uniform(_) => None,
            Offset::PerLine(offsets) => Some(bytes_of(offsets)),
        }
    }

    /// Whether any of its bytes, or of its offsets, is one of these.
    #[inline]
    pub(crate) fn meets(&self, runs: &Runs) -> bool {
        runs.overlap(&self.runs()) || self.offset_runs().is_some_and(|offsets| runs.overlap(&offsets))
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
            Item::Operand(_) | Item::Patches(_) => most,
            Item::Packed(packed) => most.min(packed.bound(self.offset).into()),
        }
    }

    /// The greatest magnitude that an element could have, its offset included.
    pub(crate) fn greatest(&self) -> u128 {
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
    pub(super) fn read_as(&self) -> Encoding {
        if self.requantization.is_some() { Encoding::U8 } else { self.encoding() }
    }

    /// The encoding as which nothing is added to its numbers, if there is one, or else its own: a kernel that reads any need not
    /// sum the other side's lines then.
    pub(crate) fn free(&self) -> Encoding {
        let own = self.read_as();
        let adds = |to| self.line_offsets(&Reading::plain(own, to)).uniform() != Some(0);
        if self.requantization.is_none() && adds(own) && !adds(own.other()) { own.other() } else { own }
    }

    /// What it is read as, as the LHS of kernels of these groups, if it is up to this side. Patches, which are packed in any case, are read so
    /// that what lies beside images is 0, if they can be.
    #[inline]
    pub(crate) fn lhs_as(&self, groups: Groups) -> Encoding {
        match self.item {
            Item::Patches(_) if groups.leaves_lhs() => self.free(),
            _ => self.read_as(),
        }
    }

    /// How its bytes become numbers of the encoding `to`.
    pub(super) fn reading(&self, to: Encoding) -> Reading {
        Reading { requantization: self.requantization, ..Reading::plain(self.read_as(), to) }
    }

    /// The same for a narrow kernel: the numbers as small as they can be.
    pub(super) fn centred(&self, to: Encoding) -> Reading {
        let ElementRange { least, greatest } = self.range_read();
        let shift = match to {
            Encoding::U8 => -least,
            Encoding::S8 => -((least + greatest + 1) >> 1),
        };
        Reading { shift, ..self.reading(to) }
    }

    /// Whether anything is known of its numbers, or was when it was packed.
    pub(crate) fn may_be_small(&self) -> bool {
        matches!(self.item, Item::Packed(_)) || self.range_read() != ElementRange::all(self.encoding())
    }

    /// What no number is outside of before it is shifted.
    fn range_read(&self) -> ElementRange {
        match self.requantization {
            Some(requantization) => ElementRange { least: 0, greatest: requantization.levels.into() },
            None => self.range(),
        }
    }

    /// What no number that a kernel reads is outside of.
    pub(super) fn numbers(&self, reading: &Reading) -> ElementRange {
        let ElementRange { least, greatest } = self.range_read();
        ElementRange { least: least + reading.shift, greatest: greatest + reading.shift }
    }

    /// What is added to its numbers: those that its elements were requantized to, or those that `reading` gives.
    #[inline]
    pub(crate) fn line_offsets(&self, reading: &Reading) -> LineOffsets<'a> {
        let shift = match self.requantization {
            Some(_) => self.encoding().shift_to(Encoding::U8),
            None => reading.shift,
        };
        LineOffsets { offset: self.offset, shift }
    }

    fn offsets(&self) -> &[i32] {
        match &self.offset {
            Offset::Uniform(offset) => std::slice::from_ref(offset),
            Offset::PerLine(offsets) => &offsets[self.first..][..self.lines],
        }
    }
}
