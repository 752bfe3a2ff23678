//! Functions that tables are often made of, in f64 and by arithmetic alone, so that they are the same everywhere.

/// A function of a real number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    /// x, and below 0 α · x.
    Relu {
        /// What numbers below 0 are multiplied by.
        alpha: f64,
    },
    /// tanh x.
    Tanh,
    /// 1 / (1 + e⁻ˣ).
    Logistic,
    /// x / 2 · (1 + erf(x / √2)).
    GeluErf,
    /// x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).
    GeluTanh,
    /// x / (1 + e^(-α x)).
    Swish {
        /// What x is multiplied by in the exponent.
        alpha: f64,
    },
    /// x · min(max(α x + β, 0), 1).
    Hardswish {
        /// The slope.
        alpha: f64,
        /// The value at 0.
        beta: f64,
    },
    /// min(max(α x + β, 0), 1).
    Hardsigmoid {
        /// The slope.
        alpha: f64,
        /// The value at 0.
        beta: f64,
    },
    /// x, and below 0 α · (eˣ - 1).
    Elu {
        /// Minus what it tends to.
        alpha: f64,
    },
    /// eˣ.
    Exp,
    /// x · tanh(ln(1 + eˣ)).
    Mish,
    /// α x + β.
    Linear {
        /// The slope.
        alpha: f64,
        /// The value at 0.
        beta: f64,
    },
    /// min(max(x, α), β).
    Clip {
        /// The least value.
        alpha: f64,
        /// The greatest.
        beta: f64,
    },
}

impl Function {
    /// The value at `x`, to some 10⁻¹⁴ of it, or of 1 where that is more.
    pub(crate) fn of(self, x: f64) -> f64 {
        let below_0 = x < 0.0;
        match self {
            Self::Relu { alpha } => {
                if below_0 {
                    alpha * x
                } else {
                    x
                }
            }
            Self::Tanh => tanh(x),
            Self::Logistic => 1.0 / (1.0 + exp(-x)),
            Self::GeluErf => x / 2.0 * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2)),
            Self::GeluTanh => {
                // √(2/π)
                let inner = 0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x);
                x / 2.0 * (1.0 + tanh(inner))
            }
            Self::Swish { alpha } => x / (1.0 + exp(-alpha * x)),
            Self::Hardswish { alpha, beta } => x * (alpha * x + beta).clamp(0.0, 1.0),
            Self::Hardsigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
            Self::Elu { alpha } => {
                if below_0 {
                    alpha * exp_less_1(x)
                } else {
                    x
                }
            }
            Self::Exp => exp(x),
            Self::Mish if x > 40.0 => x,
            Self::Mish => {
                // tanh(ln(1 + e)) = ((1 + e)² - 1) / ((1 + e)² + 1)
                let e = exp(x);
                let n = e * (e + 2.0);
                x * (n / (n + 2.0))
            }
            Self::Linear { alpha, beta } => alpha * x + beta,
            Self::Clip { alpha, beta } => x.max(alpha).min(beta),
        }
    }
}

/// eˣ
fn exp(x: f64) -> f64 {
    // ln 2 in two parts, of which the first has so few bits that its products by such integers are exact.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    if x > 709.0 {
        return f64::INFINITY;
    }
    if x < -708.0 {
        return 0.0;
    }
    let power = (x * std::f64::consts::LOG2_E).round_ties_even();
    let rest = x - power * LN_2_HIGH - power * LN_2_LOW;
    let scale = f64::from_bits(((1023 + power as i64) as u64) << 52);
    (1.0 + series(rest)) * scale
}

/// eˣ - 1
fn exp_less_1(x: f64) -> f64 {
    if x.abs() < 0.35 { series(x) } else { exp(x) - 1.0 }
}

/// x + x²/2! + x³/3! + ..., where |x| < 0.36: the terms from x¹⁶ on are below 2⁻⁶⁰ x.
fn series(x: f64) -> f64 {
    let mut sum = 0.0;
    for n in (1..16).rev() {
        sum = (1.0 + sum) * x / f64::from(n);
    }
    sum
}

fn tanh(x: f64) -> f64 {
    let twice = exp_less_1(2.0 * x.abs());
    let y = if twice.is_finite() { twice / (twice + 2.0) } else { 1.0 };
    y.copysign(x)
}

/// 2/√π · e^(-x²) · (x + 2x³/3 + 4x⁵/(3·5) + ...), whose terms are all of one sign.
fn erf(x: f64) -> f64 {
    const FACTOR: f64 = std::f64::consts::FRAC_2_SQRT_PI;
    if x.abs() > 6.0 {
        // It differs from 1 by less than f64 can tell.
        return 1f64.copysign(x);
    }
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * f64::EPSILON / 8.0 {
        n += 2.0;
        term *= 2.0 * x * x / n;
        sum += term;
    }
    FACTOR * exp(-x * x) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-14 * want.abs().max(1.0), "{got:e} {want:e}");
    }

    #[test]
    fn they_are_those_of_the_standard_library() {
        for i in -40_000..40_000 {
            let x = f64::from(i) / 1000.0;
            let relative =
                |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-14 || got == want, "{x}: {got:e}");
            relative(exp(x), x.exp());
            relative(tanh(x), x.tanh());
            relative(exp_less_1(x), x.exp_m1());
            near(Function::Logistic.of(x), 1.0 / (1.0 + (-x).exp()));
            near(Function::Mish.of(x), x * x.exp().ln_1p().tanh());
            near(Function::Swish { alpha: 1.5 }.of(x), x / (1.0 + (-1.5 * x).exp()));
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            near(Function::GeluTanh.of(x), x / 2.0 * (1.0 + inner.tanh()));
            near(Function::Elu { alpha: 0.5 }.of(x), if x < 0.0 { 0.5 * x.exp_m1() } else { x });
        }
    }

    /// Simpson's rule over the density, whose error here is below 1e-13.
    #[test]
    fn erf_is_its_integral() {
        const STEPS: i32 = 4000;
        for i in -60..=60 {
            let x = f64::from(i) / 10.0;
            let (step, mut sum) = (x / f64::from(STEPS), 0.0);
            for j in 0..=STEPS {
                let weight = if j == 0 || j == STEPS {
                    1.0
                } else if j % 2 == 1 {
                    4.0
                } else {
                    2.0
                };
                sum += weight * (-(f64::from(j) * step).powi(2)).exp();
            }
            let integral = sum * step / 3.0 * std::f64::consts::FRAC_2_SQRT_PI;
            assert!((erf(x) - integral).abs() < 1e-13, "{x}: {} {integral}", erf(x));
        }
    }

    #[test]
    fn the_ends() {
        for function in [Function::Tanh, Function::Logistic] {
            assert_eq!(function.of(1e38), 1.0);
            assert!(function.of(-1e38).abs() <= 1.0);
        }
        for function in [Function::GeluErf, Function::GeluTanh, Function::Swish { alpha: 1.0 }, Function::Mish] {
            assert_eq!([function.of(1e38), function.of(0.0), function.of(-1e30)], [1e38, 0.0, 0.0], "{function:?}");
        }
        assert_eq!(Function::Elu { alpha: 2.0 }.of(-1e38), -2.0);
        assert_eq!(Function::Exp.of(1000.0), f64::INFINITY);
        let hard = Function::Hardswish { alpha: 1.0 / 6.0, beta: 0.5 };
        assert_eq!([hard.of(-3.0), hard.of(3.0), hard.of(0.0)], [0.0, 3.0, 0.0]);
        assert_eq!(Function::Clip { alpha: 0.0, beta: 6.0 }.of(7.0), 6.0);
        assert_eq!(Function::Relu { alpha: 0.1 }.of(-2.0), -0.2);
        assert_eq!(Function::Linear { alpha: 2.0, beta: 1.0 }.of(3.0), 7.0);
        assert_eq!(Function::Hardsigmoid { alpha: 1.0, beta: 0.0 }.of(0.25), 0.25);
    }
}
