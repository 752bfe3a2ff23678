//! BLAS's alpha and beta: a weighted sum of the product and what the result was before.

use super::{Residual, Tile, Values};

/// `alpha · x + beta · before + offset`, rounded to the nearest integer, ties to even, and saturated.
///
/// In f64: the product by alpha, that by beta, and each of the sums are rounded there, if they do not fit 53 bits.
#[derive(Clone, Copy, Debug)]
pub struct Weighted<'a> {
    /// The weight of the product.
    pub alpha: f32,
    /// The weight of what was there before.
    pub beta: f32,
    /// What was there before, 32-bit integers; None for 0.
    pub before: Option<Residual<'a>>,
    /// Added.
    pub offset: Values<'a, i32>,
}

impl Weighted<'_> {
    #[inline(always)]
    pub(super) fn apply(&self, tile: &mut Tile) {
        let (alpha, beta) = (f64::from(self.alpha), f64::from(self.beta));
        match &self.before {
            Some(before) => _ = tile.read(before),
            None => tile.room[0].fill(0),
        }
        self.offset.spread(tile, 1);
        let [before, offset] = &tile.room;
        let others = before.iter().zip(offset.iter());
        for (x, (before, offset)) in tile.acc.iter_mut().zip(others) {
            *x = rounded(alpha * f64::from(*x) + beta * f64::from(*before) + f64::from(*offset));
        }
    }
}

/// The nearest integer, ties to even, saturated.
#[inline(always)]
fn rounded(x: f64) -> i32 {
    let inside = if x < f64::from(i32::MIN) { f64::from(i32::MIN) } else { x };
    let inside = if inside > f64::from(i32::MAX) { f64::from(i32::MAX) } else { inside };
    // SAFETY: finite floats give no NaN, and it is within 32 bits.
    unsafe { inside.round_ties_even().to_int_unchecked() }
}
