//! Panels of columns whose sums become bytes, as each of their tiles needs them: made once. Only the functions that wrote
//! one read it: not all fill in the same fields.

use super::relay::WIDTH;
use super::{Columns, Last, Rule, Wide};
use crate::matrix::Output;
use std::mem::MaybeUninit;
use std::ops::Range;

/// What kernels have that make bytes so.
pub(crate) struct PanelFns {
    /// Writes a panel of so many columns, 1 to the kernel's width, or nothing and false, if they are scaled in another way.
    ///
    /// # Safety
    /// The CPU has the features that the function was compiled for.
    pub write: unsafe fn(Rule, &Columns, usize, Last, &mut MaybeUninit<Panel>) -> bool,
    pub finish: FinishPanelFn,
    pub bytes: BytesFn,
}

/// Makes bytes of rows of sums of any number of columns. That takes less time than to write panels of them, if there are few rows.
///
/// # Safety
/// As for a [`FinishPanelFn`].
pub(crate) type BytesFn = unsafe fn(&Wide);

/// Makes bytes of sums, a kernel's width of each of these rows of the result. What the panel's columns add to them is still to be
/// added, and `terms`, one for each row, if there are any.
///
/// # Safety
/// The CPU has the features that the function was compiled for. Nobody else uses these rows and columns of the result.
pub(crate) type FinishPanelFn =
    unsafe fn(&Panel, sums: &[i32], terms: &[i32], &Output<u8>, rows: Range<usize>, cols: Range<usize>);

/// What the columns of a panel add to sums, and how these become bytes: z = x · `scale` + `nudge`, in floats and in 65536ths, the
/// nudge XORed with those bits of x that are in `signs`. If z is `sure` to be rounded as it should be, which it is if it differs
/// no more from an integer, it is rounded to nearest, the offset of `last` is added, and it is confined. If it is not, the number is
/// made as the rule says.
#[repr(C, align(64))]
#[allow(dead_code, reason = "not all architectures have such kernels")]
pub(crate) struct Panel {
    pub added: Lanes,
    pub scale: Lanes,
    pub nudge: Lanes,
    /// What is added instead of a nudge if half a number and the offset are added with it, to positive numbers, and its bits that are
    /// others for negative ones: none if there are no signs.
    pub above: Lanes,
    pub difference: Lanes,
    pub factor: Lanes,
    pub exponent: Lanes,
    pub least: [i16; WIDTH],
    pub greatest: [i16; WIDTH],
    pub signs: i32,
    pub sure: f32,
    /// A bit for each column that there is.
    pub mask: u32,
    pub rule: Rule,
    pub last: Last,
}

#[allow(dead_code, reason = "not all architectures have such kernels")]
impl Panel {
    /// How many columns there are: the first ones. (To count the bits is not an instruction of every processor.)
    #[inline(always)]
    pub(crate) fn cols(&self) -> usize {
        WIDTH - self.mask.leading_zeros() as usize
    }
}

/// 32 bits for each column.
pub(crate) type Lanes = [[i32; WIDTH / 2]; 2];
