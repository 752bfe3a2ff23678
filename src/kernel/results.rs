//! What becomes of sums that are still in registers, and where it goes: to the result, as it is or as floats.

use super::dequantize::{FloatClamp, FloatColumns};
use super::relay::Terms;
use crate::output::{PlainFloats, Sums};

/// What the columns of a panel have of their own, which begins with what they add to sums, as many of these as there are lanes.
pub(super) trait Columns {
    /// Whether sums become floats; then these are [`FloatColumns`].
    const ARE_FLOATS: bool;
}

impl<const W: usize> Columns for [i32; W] {
    const ARE_FLOATS: bool = false;
}

impl<const W: usize> Columns for FloatColumns<W> {
    const ARE_FLOATS: bool = true;
}

/// Results of some columns, in panels of `W`.
pub(super) trait Results<const W: usize> {
    type Columns: Columns;

    fn cols(&self) -> usize;
    fn columns(&self, panel: usize) -> Self::Columns;
    fn terms(&self, rows: usize) -> Terms<'_>;
    /// Where so many rows begin, and how many elements they are apart.
    fn place(&self, rows: usize) -> (*mut i32, usize);
    /// Bytes from the first of the whole result to its last.
    fn extent(&self) -> usize;

    /// What floats of each row are multiplied by, if that is not 1.
    fn factors(&self) -> Option<&[f32]> {
        None
    }

    /// How often each row has what columns add, and so much more, if rows differ.
    fn times(&self) -> Option<(&[i32], i32)> {
        None
    }

    fn clamp(&self) -> Option<FloatClamp> {
        None
    }
}

impl<const W: usize> Results<W> for Sums<'_> {
    type Columns = [i32; W];

    #[inline(always)]
    fn cols(&self) -> usize {
        self.cols.len()
    }

    #[inline(always)]
    fn columns(&self, panel: usize) -> [i32; W] {
        self.panel::<W>(panel).of_cols()
    }

    #[inline(always)]
    fn terms(&self, rows: usize) -> Terms<'_> {
        Sums::terms(self, rows)
    }

    #[inline(always)]
    fn place(&self, rows: usize) -> (*mut i32, usize) {
        Sums::place(self, rows)
    }

    #[inline(always)]
    fn extent(&self) -> usize {
        self.out.runs().extent()
    }
}

impl<const W: usize> Results<W> for PlainFloats<'_> {
    type Columns = FloatColumns<W>;

    #[inline(always)]
    fn cols(&self) -> usize {
        PlainFloats::cols(self)
    }

    #[inline(always)]
    fn columns(&self, panel: usize) -> FloatColumns<W> {
        self.parts.columns(panel)
    }

    #[inline(always)]
    fn terms(&self, rows: usize) -> Terms<'_> {
        PlainFloats::terms(self, rows)
    }

    #[inline(always)]
    fn place(&self, rows: usize) -> (*mut i32, usize) {
        let (first, stride) = PlainFloats::place(self, rows);
        (first.cast(), stride)
    }

    #[inline(always)]
    fn extent(&self) -> usize {
        self.out.runs().extent()
    }

    #[inline(always)]
    fn factors(&self) -> Option<&[f32]> {
        PlainFloats::factors(self)
    }

    #[inline(always)]
    fn times(&self) -> Option<(&[i32], i32)> {
        PlainFloats::times(self)
    }

    #[inline(always)]
    fn clamp(&self) -> Option<FloatClamp> {
        PlainFloats::clamp(self)
    }
}
