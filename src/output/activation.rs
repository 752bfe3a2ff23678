//! Functions of floats between layers, computed with more bits than the result has.

use super::Tile;
use crate::kernel::Loop;
use crate::real;

/// What becomes of a float, x. Each result is the exact one, rounded to nearest but for an error of 0.01 units in the last
/// place before that; `Relu` without slope and `Clip` are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// `max(x, 0)`, but `alpha · x` below 0.
    Relu {
        /// The slope below 0.
        alpha: f32,
    },
    /// `tanh(x)`.
    Tanh,
    /// `1 / (1 + exp(-x))`.
    Logistic,
    /// `x / 2 · (1 + erf(x / √2))`.
    GeluErf,
    /// `x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))`.
    GeluTanh,
    /// `x / (1 + exp(-alpha · x))`.
    Swish {
        /// How steep it is.
        alpha: f32,
    },
    /// `x · min(max(alpha · x + beta, 0), 1)`.
    HardSwish {
        /// The slope.
        alpha: f32,
        /// The value at 0.
        beta: f32,
    },
    /// `min(max(alpha · x + beta, 0), 1)`.
    HardSigmoid {
        /// The slope.
        alpha: f32,
        /// The value at 0.
        beta: f32,
    },
    /// x, but `alpha · (exp(x) - 1)` below 0.
    Elu {
        /// Minus the value at -∞.
        alpha: f32,
    },
    /// `exp(x)`.
    Exp,
    /// `x · tanh(ln(1 + exp(x)))`.
    Mish,
    /// `alpha · x + beta`.
    Linear {
        /// The slope.
        alpha: f32,
        /// The value at 0.
        beta: f32,
    },
    /// `min(max(x, least), most)`.
    Clip {
        /// What is less becomes this.
        least: f32,
        /// What is greater becomes this.
        most: f32,
    },
}

impl Activation {
    #[inline(always)]
    pub(super) fn apply(self, tile: &mut Tile) {
        tile.vectors.run(Floats { activation: self, words: tile.acc });
    }
}

/// Floats by their bits.
struct Floats<'a> {
    activation: Activation,
    words: &'a mut [i32],
}

impl Loop for Floats<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let wide = f64::from;
        match self.activation {
            Activation::Relu { alpha: 0.0 } => self.each(|x| if x < 0.0 { 0.0 } else { x }),
            Activation::Relu { alpha } => self.each(|x| if x < 0.0 { x * alpha } else { x }),
            Activation::Tanh => self.each(|x| real::tanh(wide(x)) as f32),
            Activation::Logistic => self.each(|x| real::logistic(wide(x)) as f32),
            Activation::GeluErf => self.each(|x| real::gelu_erf(wide(x)) as f32),
            Activation::GeluTanh => self.each(|x| real::gelu_tanh(wide(x)) as f32),
            Activation::Swish { alpha } => self.each(|x| real::swish(wide(x), wide(alpha)) as f32),
            Activation::HardSwish { alpha, beta } => {
                self.each(|x| real::hard_swish(wide(x), wide(alpha), wide(beta)) as f32);
            }
            Activation::HardSigmoid { alpha, beta } => {
                self.each(|x| real::hard_sigmoid(wide(x), wide(alpha), wide(beta)) as f32);
            }
            Activation::Elu { alpha } => self.each(|x| real::elu(wide(x), wide(alpha)) as f32),
            Activation::Exp => self.each(|x| real::exp(wide(x)) as f32),
            Activation::Mish => self.each(|x| real::mish(wide(x)) as f32),
            Activation::Linear { alpha, beta } => self.each(|x| (wide(alpha) * wide(x) + wide(beta)) as f32),
            Activation::Clip { least, most } => self.each(|x| {
                let x = if x < least { least } else { x };
                if x > most { most } else { x }
            }),
        }
    }
}

impl Floats<'_> {
    #[inline(always)]
    fn each(self, of: impl Fn(f32) -> f32) {
        for word in self.words {
            *word = of(f32::from_bits(*word as u32)).to_bits() as i32;
        }
    }
}
