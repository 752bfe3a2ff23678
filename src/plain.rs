//! Operands of 8 bits as they are, the RHS perhaps packed: what is multiplied without a [`Source`](crate::source::Source) for each
//! side.

use crate::blocks::Shape;
use crate::kernel::Kernel;
use crate::output::LineOffsets;
use crate::reading::Reading;
use crate::source::{Factor, Narrow, lhs_encoding};

/// How the kernel reads them. It does not know the elements, so that it may be kept for others.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    pub kernel: &'static Kernel,
    pub readings: [Reading; 2],
    /// Whether the LHS is read where it lies.
    pub is_in_place: bool,
    /// Whether the RHS is packed.
    pub is_ready: bool,
    /// How many groups accumulators of 16 bits may take, if the RHS is not packed.
    pub span: u8,
}

pub(crate) const LHS: usize = 0;
pub(crate) const RHS: usize = 1;

/// Where there are more multiplications, a narrow kernel for small numbers gains more than it takes to find out whether it does.
const FEW_MACS: f64 = 8e3;

impl Plain {
    /// None if they are others.
    #[inline(always)]
    pub(crate) fn new(kernel: &'static Kernel, lhs: &Factor, rhs: &Factor, shape: Shape) -> Option<Self> {
        let (operand, kernel) = (lhs.operand()?, shape.kernel(kernel));
        let mut span = 0;
        let (kernel, is_ready, lhs_to, rhs_reading) = match (rhs.operand(), rhs.panels()) {
            (Some(operand), _) => {
                let narrow = if shape.macs() > FEW_MACS { Narrow::new(kernel, lhs, rhs) } else { None };
                if let Some(narrow) = narrow {
                    span = narrow.span;
                    (narrow.kernel, false, narrow.readings[LHS].to, narrow.readings[RHS])
                } else {
                    let shape = (operand.lines, operand.depth);
                    let lhs_to = kernel.groups.read_as(lhs.encoding(), operand.encoding, shape);
                    let rhs_to = kernel.groups.rhs_encoding(lhs_to, rhs.free());
                    (kernel, false, lhs_to, Reading::plain(operand.encoding, rhs_to))
                }
            }
            (None, Some(panels)) => {
                let kernel = panels.reader(kernel)?;
                let to = lhs_encoding(kernel.groups, Some(panels), lhs.encoding(), None);
                (kernel, true, to, panels.reading())
            }
            (None, None) => return None,
        };
        let lhs_reading = Reading::plain(lhs.encoding(), lhs_to);
        // Or else it is turned once, while it is copied.
        let may_turn = !lhs_reading.is_turn() || kernel.groups.may_turn((shape.cols, shape.depth));
        let is_in_place = may_turn && kernel.groups.can_read_in_place(operand, &lhs_reading);
        Some(Self { kernel, readings: [lhs_reading, rhs_reading], is_in_place, is_ready, span })
    }

    /// What is added to the numbers of each side, as the kernel reads them.
    #[inline(always)]
    pub(crate) fn offsets<'a>(&self, lhs: &Factor<'a>, rhs: &Factor<'a>) -> [LineOffsets<'a>; 2] {
        [lhs.line_offsets(&self.readings[LHS]), rhs.line_offsets(&self.readings[RHS])]
    }

    /// Whether the sums of each side's lines are needed, because something is added to the other's numbers.
    #[inline(always)]
    pub(crate) fn are_summed(&self, lhs: &Factor, rhs: &Factor) -> [bool; 2] {
        let [of_rows, of_cols] = self.offsets(lhs, rhs).map(|offsets| offsets.uniform() != Some(0));
        [of_cols, of_rows]
    }

    /// Whether the kernel turns signed bytes of the LHS.
    #[inline(always)]
    pub(crate) fn is_turned(&self) -> bool {
        self.is_in_place && self.readings[LHS].is_turn()
    }
}
