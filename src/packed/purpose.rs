//! What an operand is packed for.

use super::Form;
use crate::matrix::Encoding;

/// A side of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its lines are rows of the result.
    Lhs,
    /// Its lines are columns of the result.
    Rhs,
}

/// How a result lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultOrder {
    /// Rows are contiguous.
    RowMajor,
    /// Columns are.
    ColMajor,
}

/// The products that an operand is packed for. In others it can be used too, but has to be unpacked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// Where the operand stands.
    pub side: Side,
    /// How the results lie.
    pub result: ResultOrder,
    /// The encoding of the other operand.
    pub other: Encoding,
}

impl Purpose {
    /// A column-major result is computed as the row-major transpose, (A B)ᵀ = Bᵀ Aᵀ, in which the sides change places.
    pub(crate) fn form(&self) -> Form {
        if (self.side == Side::Rhs) == (self.result == ResultOrder::RowMajor) { Form::Panels } else { Form::Lines }
    }
}
