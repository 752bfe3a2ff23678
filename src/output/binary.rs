//! Floats and another tensor: one operation on each pair.

use super::values::Word;
use super::{Residual, Tile};

/// What becomes of a float x and another one, y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `x + y`.
    Add,
    /// `x - y`.
    Subtract,
    /// `x · y`.
    Multiply,
    /// `x / y`.
    Divide,
    /// y if it is less than x, else x.
    Min,
    /// y if it is greater than x, else x.
    Max,
}

/// A tensor of the result's shape, or of one row, one column or one element, and what is done with it.
#[derive(Clone, Copy, Debug)]
pub struct Binary<'a> {
    /// The other tensor.
    pub tensor: Residual<'a>,
    /// Subtracted from the tensor's integers.
    pub zero_point: i32,
    /// What the difference is multiplied by to give y.
    pub scale: f32,
    /// What is done.
    pub operation: Operation,
}

impl Binary<'_> {
    #[inline(always)]
    pub(super) fn apply(&self, tile: &mut Tile) {
        let (float, word) = (f32::from_word, f32::to_word);
        tile.read_floats(&self.tensor, self.zero_point);
        let scale = self.scale;
        let y = |r: i32| float(r) * scale;
        match self.operation {
            Operation::Add => tile.each_with_read(|x, r| word(float(x) + y(r))),
            Operation::Subtract => tile.each_with_read(|x, r| word(float(x) - y(r))),
            Operation::Multiply => tile.each_with_read(|x, r| word(float(x) * y(r))),
            Operation::Divide => tile.each_with_read(|x, r| word(float(x) / y(r))),
            Operation::Min => tile.each_with_read(|x, r| if y(r) < float(x) { word(y(r)) } else { x }),
            Operation::Max => tile.each_with_read(|x, r| if y(r) > float(x) { word(y(r)) } else { x }),
        }
    }
}

impl Tile<'_> {
    /// A residual's elements as floats, less the zero point if they are integers.
    #[inline(always)]
    pub(super) fn read_floats(&mut self, residual: &Residual, zero_point: i32) {
        let is_float = residual.element().is_float();
        let read = self.read(residual);
        if !is_float {
            read.iter_mut().for_each(|r| *r = (r.wrapping_sub(zero_point) as f32).to_word());
        }
    }
}
