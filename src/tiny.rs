//! Products of so few lines and so little depth that to get ready for tiles would take longer than to multiply.

use crate::blocks::Shape;
use crate::buffer::Carver;
use crate::context::Context;
use crate::error::Error;
use crate::kernel::tiny::{COLUMNS, DEPTH, Place, ROOM, ROWS, Side, TinyFn};
use crate::kernel::{Kernel, SMALL_OFFSETS, TinyWay};
use crate::matrix::{Operand, Order};
use crate::output::{Finish, Region};
use crate::reading::Reading;
use crate::source::Factor;

/// A tiny product of 8-bit operands, neither of which is packed.
pub(crate) struct Tiny<'a> {
    kernel: &'static Kernel,
    multiply: TinyFn,
    sides: [Side<'a>; 2],
    shape: Shape,
}

/// Beside so few rows columns that lie along the depth, but are shorter than a stretch, had better be turned, whatever the kernel, up to
/// so many multiplications: what reads them where they lie would sum up vectors that are short. (With AVX-512 VNNI 1 x 1000 x 32 takes
/// 0.75 of the time so, and 1 x 1000 x 64 would take twice as long.)
const FEW_ROWS: usize = 4;
const MOST_BESIDE_FEW_ROWS: usize = 256 << 10;

/// The most depth of more columns than there may be rows: of more, what reads them where they lie takes less time (4 x 1000 x 64 takes 0.7
/// of it, 2 x 512 x 96 1.4 times as long).
const DEPTH_OF_MANY_COLUMNS: usize = 64;

/// From so many rows on bytes of a relay are made in less time (64 x 64 x 8 takes 0.8 of it, 32 x 65 x 16 and 24 x 100 x 8 more).
const ROWS_RATHER_RELAYED: usize = 40;

/// Beside columns that lie along the depth floats are made in less time of sums that are in registers from so many rows on (with
/// AVX-512 VNNI 16 x 32 x 32 would take 1.1 times as long).
const ROWS_BESIDE_DEPTH: usize = 24;

/// Whether a product had better be tiny, if it can be.
#[inline(always)]
pub(crate) fn pays(kernel: &Kernel, finish: &Finish, rhs: &Factor, shape: Shape) -> bool {
    if finish.sums().is_some() {
        return true;
    }
    let Shape { rows, cols, .. } = shape;
    let lies_along_depth = || rhs.operand().is_some_and(|rhs| rhs.order == Order::DepthContiguous);
    let is_better_in_registers = kernel.floats_in_registers().is_some_and(|least| rows * cols >= least)
        && finish.makes_plain_floats()
        && (rows >= ROWS_BESIDE_DEPTH || !lies_along_depth());
    !is_better_in_registers && (rows < ROWS_RATHER_RELAYED || !finish.relays(kernel, shape))
}

/// The most multiplications, of numbers that are known to be `large`, or may be anything.
#[inline(always)]
fn most_macs(way: &TinyWay, rows: usize, rhs: &Operand, are_large: bool) -> usize {
    let most = if are_large { way.most_of_large } else { way.most_macs };
    if rhs.order == Order::LineContiguous {
        return most;
    }
    match rhs.depth & way.stretch.wrapping_neg() {
        0 if rows <= FEW_ROWS && (rows > 1 || rhs.depth < DEPTH_OF_MANY_COLUMNS) => most.max(MOST_BESIDE_FEW_ROWS),
        0 => most.max(way.most_beside_short),
        whole if whole * rhs.lines >= way.bytes_worth_packing => 0,
        _ => most,
    }
}

impl<'a> Tiny<'a> {
    /// None if the product is of another kind. Of `are_large` numbers it is known that they are too large for a narrow kernel.
    #[inline(always)]
    pub(crate) fn new(
        kernel: &'static Kernel,
        lhs: &'a Factor,
        rhs: &'a Factor,
        shape: Shape,
        are_large: bool,
    ) -> Option<Self> {
        let Shape { rows, cols, depth, .. } = shape;
        let most_depth = if cols <= ROWS { DEPTH } else { DEPTH_OF_MANY_COLUMNS };
        let fits = rows <= ROWS && cols <= COLUMNS && depth <= most_depth;
        let way = kernel.tiny.as_ref().filter(|_| fits)?;
        let rhs = side(rhs)?;
        if rows * cols * depth > most_macs(way, rows, rhs.operand, are_large) {
            return None;
        }
        Some(Self { kernel, multiply: way.multiply, sides: [side(lhs)?, rhs], shape })
    }

    /// Multiplies and finishes, in memory of the context's.
    #[inline(always)]
    pub(crate) fn run(&self, context: &Context, finish: &Finish) -> Result<(), Error> {
        let (Self { kernel, .. }, Shape { rows, cols, .. }) = (self, self.shape);
        let (panel, log_width) = (rows * kernel.width, kernel.width.trailing_zeros());
        // To divide would take as long as much else.
        let acc = ((cols + kernel.width - 1) >> log_width) * panel;
        let ints = match finish.sums() {
            Some(_) => 0,
            None => acc + finish.room(panel, rows),
        };
        let cost = |ints| Carver::cost(ints * size_of::<i32>());
        context.lend(cost(ROOM) + cost(ints), |scratch| {
            let mut carver = Carver::new(scratch);
            let sides = carver.ints(ROOM).first_chunk_mut().expect("room for both sides");
            if let Some(out) = finish.sums() {
                let (to, stride) = out.place();
                // SAFETY: whoever has a kernel has a CPU that runs it, and the result, of this shape, is this product's own.
                return unsafe { self.multiply(sides, Place::rows(to, stride)) };
            }
            let (mut acc, room) = carver.ints(ints).split_at_mut(acc);
            // SAFETY: as above, and there is room for all sums.
            unsafe { self.multiply(sides, Place::panels(acc.as_mut_ptr(), rows, log_width)) }
            let mut left = 0;
            while let Some((sums, others)) = acc.split_at_mut_checked(panel).filter(|_| left < cols) {
                let region = Region::complete(0..rows, left..cols.min(left + kernel.width));
                // SAFETY: as above.
                unsafe { (kernel.finish)(finish, &region, sums, room) }
                (left, acc) = (left + kernel.width, others);
            }
        })
    }

    /// # Safety
    /// As for a [`TinyFn`].
    #[inline(always)]
    unsafe fn multiply(&self, room: &mut [i32; ROOM], to: Place) {
        let [lhs, rhs] = self.sides;
        // SAFETY: this function's own promise.
        unsafe { (self.multiply)(lhs, rhs, room, to) }
    }
}

/// None if it is packed, or no 16 bits hold its numbers with what is added to them.
#[inline(always)]
fn side<'a>(factor: &'a Factor) -> Option<Side<'a>> {
    let operand = factor.operand()?;
    let added = factor.line_offsets(&Reading::plain(operand.encoding, operand.encoding)).uniform()?;
    SMALL_OFFSETS.contains(&added).then_some(Side { operand, added: added as i16 })
}

#[cfg(test)]
mod tests;
