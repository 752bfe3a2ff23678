//! gemmlowp's oldest way down to 8 bits: an integer multiplier and a shift.

use super::{Tile, Values};
use crate::fixed_point::rounding_divide_by_pot;

/// `(x + offset) · multiplier / 2^shift`, rounded to nearest, ties away from zero.
///
/// Sum and product wrap around, as in gemmlowp's `OutputStageQuantizeDownInt32ToUint8Scale`.
#[derive(Clone, Copy, Debug)]
pub struct QuantizeDown<'a> {
    /// Added first.
    pub offset: Values<'a, i32>,
    /// What the sum is multiplied by.
    pub multiplier: Values<'a, i32>,
    /// 0 to 31.
    pub shift: Values<'a, i32>,
}

impl QuantizeDown<'_> {
    #[inline(always)]
    pub(super) fn apply(&self, tile: &mut Tile) {
        self.offset.apply(tile, i32::wrapping_add);
        self.multiplier.apply_both(&self.shift, tile, down);
    }
}

#[inline(always)]
fn down(x: i32, multiplier: i32, shift: i32) -> i32 {
    rounding_divide_by_pot(x.wrapping_mul(multiplier), shift as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_away_from_zero_and_products_wrap() {
        let down = |x: i32, offset, multiplier, shift| down(x.wrapping_add(offset), multiplier, shift);
        assert_eq!(down(-1, 0, 1, 1), -1);
        assert_eq!(down(-3, 0, 1, 1), -2);
        assert_eq!(down(3, 0, 1, 1), 2);
        assert_eq!(down(5, 2, 3, 2), 5);
        assert_eq!(down(i32::MAX, 1, 1, 0), i32::MIN);
        assert_eq!(down(1 << 20, 0, 1 << 12, 31), 0);
        assert_eq!(down(i32::MIN, 0, 1, 31), -1);
    }
}
