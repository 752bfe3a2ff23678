//! Packing real numbers as bytes that they are quantized to, a few lines at a time: so the nearest caches still have what is
//! looked at and packed next.

use super::fill::Written;
use super::{Crew, Label, Lent, Packed, Packing, TOO_LARGE, bound};
use crate::caches::Caches;
use crate::context::Context;
use crate::elements::ElementsMut;
use crate::error::Error;
use crate::kernel::Loop;
use crate::matrix::{Encoding, Operand, Order};
use crate::range::ElementRange;
use crate::tensor::{Found, Lines};
use std::sync::{Mutex, PoisonError};

/// Real numbers that are to be packed.
pub(crate) struct Reals<'a> {
    lines: &'a Lines<'a>,
    found: &'a Found<'a>,
    /// What the bytes are.
    encoding: Encoding,
    /// As many bytes to work with as there are numbers.
    room: ElementsMut<'a, u8>,
    /// How many lines are quantized and packed together.
    at_once: usize,
}

/// From where to where bytes go.
struct Range<'a> {
    operand: &'a Operand<'a>,
}

impl Loop for Range<'_> {
    type Result = ElementRange;

    #[inline(always)]
    fn run(self) -> ElementRange {
        ElementRange::of(self.operand)
    }
}

impl<'a> Reals<'a> {
    pub(crate) fn new(
        lines: &'a Lines<'a>,
        found: &'a Found<'a>,
        encoding: Encoding,
        room: ElementsMut<'a, u8>,
    ) -> Self {
        let at_once = Caches::get().l2 / 8 / lines.depth.max(1);
        Self { lines, found, encoding, room, at_once }
    }

    /// Whether they had better be packed so. Lines that lie side by side are read twice, from memory; 512 of them at a time, which
    /// the third cache holds, took 1.5 times as long as all.
    fn are_many(&self) -> bool {
        self.lines.order == Order::DepthContiguous && self.lines.lines > self.at_once
    }
}

impl Packed {
    /// As [`Packed::by`], of real numbers. None if they are packed no sooner so than once all are quantized.
    ///
    /// # Errors
    /// As [`Packed::by`].
    ///
    /// # Panics
    /// As [`Packed::by`].
    pub(crate) fn of_reals(
        context: &Context,
        reals: &Reals,
        packing: &Packing,
        memory: Option<Lent>,
    ) -> Result<Option<Self>, Error> {
        let kernel = context.kernel;
        let shape = (reals.lines.lines, reals.lines.depth);
        let label = Label::of(shape, reals.encoding, packing);
        if !label.line.is_plain() || label.proven(kernel).is_some() || shape.1 == 0 || !reals.are_many() {
            return Ok(None);
        }
        let memory = Self::room(kernel, shape, packing, memory)?;
        let (layout, sections) = label.place(kernel).ok_or(TOO_LARGE)?;
        let range = reals.lines.likely_range();
        let stored = label.stored(kernel, range);
        let mut packed = Self { memory, kernel, label, layout, sections, stored, bound: 0, range };
        // How bytes are stored may depend on the range of all of them: that is a guess until they have been there once.
        loop {
            let before = (packed.stored, packed.reading().shift);
            packed.fill_by(packing, &[], |packed, bytes, sums| packed.fill_reals(context, reals, packing, bytes, sums));
            packed.stored = label.stored(kernel, packed.range);
            if (packed.stored, packed.reading().shift) == before {
                return Ok(Some(packed));
            }
        }
    }

    fn fill_reals(
        &self,
        context: &Context,
        reals: &Reals,
        packing: &Packing,
        bytes: &mut [u8],
        sums: &mut [i32],
    ) -> Written {
        let depth = reals.lines.depth;
        let all = Mutex::new((None::<ElementRange>, 0));
        let crew = Crew::Together(context);
        let checksum = self.in_parts(crew, reals.at_once, bytes, sums, |first, lines, bytes, sums| {
            // What the same thread packed before is not needed any more.
            let room = reals.room.part(first * depth..(first + lines.len()) * depth);
            reals.lines.quantize_some(self.kernel.vectors, lines.clone(), reals.found, &room);
            // SAFETY: the lines of different threads are apart.
            let quantized = unsafe { room.as_mut_slice() };
            let operand = Operand::new(quantized, (lines.len(), depth), depth, reals.lines.order, reals.encoding);
            let range = self.kernel.vectors.run(Range { operand: &operand });
            let bound = bound::of(Crew::Alone(self.kernel), &operand, self.label.line, packing);
            self.pack_some(&operand, 0..lines.len(), bytes, sums);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            *all = (Some(all.0.map_or(range, |all| all.or(&range))), bound.max(all.1));
        });
        let (range, bound) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        Written { checksum, range: range.unwrap_or(self.range), bound }
    }
}

#[cfg(test)]
mod tests;
