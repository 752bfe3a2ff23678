//! gemmlowp's oldest way down to 8 bits: an integer multiplier and a shift.

use crate::fixed_point::rounding_divide_by_pot;

/// `(x + offset) · multiplier / 2^shift`, rounded to nearest, ties away from zero.
///
/// Sum and product wrap around, as in gemmlowp's `OutputStageQuantizeDownInt32ToUint8Scale`.
#[derive(Clone, Copy, Debug)]
pub struct QuantizeDown {
    /// Added first.
    pub offset: i32,
    /// What the sum is multiplied by.
    pub multiplier: i32,
    /// 0 to 31.
    pub shift: u32,
}

impl QuantizeDown {
    #[inline(always)]
    pub(super) fn of(&self, x: i32) -> i32 {
        let product = x.wrapping_add(self.offset).wrapping_mul(self.multiplier);
        rounding_divide_by_pot(product, self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_away_from_zero_and_products_wrap() {
        let down = |x, offset, multiplier, shift| QuantizeDown { offset, multiplier, shift }.of(x);
        assert_eq!(down(-1, 0, 1, 1), -1);
        assert_eq!(down(-3, 0, 1, 1), -2);
        assert_eq!(down(3, 0, 1, 1), 2);
        assert_eq!(down(5, 2, 3, 2), 5);
        assert_eq!(down(i32::MAX, 1, 1, 0), i32::MIN);
        assert_eq!(down(1 << 20, 0, 1 << 12, 31), 0);
        assert_eq!(down(i32::MIN, 0, 1, 31), -1);
    }
}
