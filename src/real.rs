//! Functions of real numbers with the same bits on every processor: additions, multiplications and divisions of f64 and
//! nothing else, without a branch, so that loops over them become vectors.
//!
//! Each is off by a few times 2⁻³⁴ of its value, so that the f32 it is rounded to is the nearest or, once in hundreds, the
//! one beside it.

/// Beyond ± this everything is as at infinity, but no infinity has to be multiplied by 0.
const FAR: f64 = (1u128 << 100) as f64 * (1u128 << 100) as f64;

/// exp of anything beyond ± this is as good as infinite, or 0, and an f64 still.
const MOST_EXPONENT: f64 = 700.0;

/// x, but not beyond ± `limit`; NaN stays.
#[inline(always)]
fn within(x: f64, limit: f64) -> f64 {
    let x = if x < -limit { -limit } else { x };
    if x > limit { limit } else { x }
}

/// The value of a polynomial, the constant first.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: [f64; N], x: f64) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum * x + coefficients[i];
    }
    sum
}

/// exp(x) = s + s·t, where s is a power of two, and 1 if x is near 0.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, f64) {
    /// Added, it leaves the nearest integer in the last bits.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    /// (exp(r) - 1) / r for |r| ≤ ln(2) / 2, interpolated at Chebyshev's points; off by 2⁻³⁷.
    const RISE: [f64; 8] = [
        0.9999999999954916,
        0.4999999999995575,
        0.16666666786663548,
        0.04166666678626723,
        0.008333283439814015,
        0.0013888839054524548,
        0.00019907635276813435,
        2.4867920880072783e-05,
    ];
    let x = within(x, MOST_EXPONENT);
    let rounded = x * std::f64::consts::LOG2_E + ROUND;
    let rest = x - (rounded - ROUND) * std::f64::consts::LN_2;
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1023 << 52));
    (power, rest * polynomial(RISE, rest))
}

/// e to the power of x.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let (power, rise) = exp_parts(x);
    power + power * rise
}

/// exp(x) - 1, also where that is small.
#[inline(always)]
fn exp_less_one(x: f64) -> f64 {
    let (power, rise) = exp_parts(x);
    power * rise + (power - 1.0)
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    // Beyond 40 it is 1.
    let e = exp_less_one(2.0 * within(x, 40.0));
    (e / (e + 2.0)).copysign(x)
}

/// `1 / (1 + exp(-x))`.
#[inline(always)]
pub(crate) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// `x / (1 + exp(-alpha · x))`.
#[inline(always)]
pub(crate) fn swish(x: f64, alpha: f64) -> f64 {
    let x = within(x, FAR);
    x / (1.0 + exp(-(alpha * x)))
}

/// `x · Φ(x)`, Φ being the distribution function of the normal distribution.
#[inline(always)]
pub(crate) fn gelu_erf(x: f64) -> f64 {
    /// exp(z²) erfc(z) for 0 ≤ z ≤ 10.6, of (z - 2.5) / (z + 2.5), interpolated at Chebyshev's points; off by 2⁻³⁴.
    const ERFCX: [f64; 13] = [
        0.21080636406067169,
        -0.37173673378061634,
        0.25171319306875806,
        -0.1250330601487981,
        0.039922544930342946,
        -0.003993594936201896,
        -0.0026424166924752046,
        0.0008752594871683923,
        0.00022848485970502176,
        -0.00012678693190203082,
        -3.384473502239467e-05,
        1.5212215083321366e-05,
        5.97043220618685e-06,
    ];
    // Beyond 14.9 the result is x, or less than half of the least f32.
    let near = within(x, 14.9);
    let z = near.abs() * std::f64::consts::FRAC_1_SQRT_2;
    // Φ of -|x|.
    let tail = 0.5 * exp(-0.5 * (near * near)) * polynomial(ERFCX, (z - 2.5) / (z + 2.5));
    let x = within(x, FAR);
    let is_far = x < -14.9;
    let share = if x > 0.0 { 1.0 - tail } else { tail };
    let share = if is_far { 0.0 } else { share };
    x * share
}

/// `x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))`.
#[inline(always)]
pub(crate) fn gelu_tanh(x: f64) -> f64 {
    /// √(2/π), twice.
    const FACTOR: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::SQRT_2;
    let near = within(x, 100.0);
    let inner = near + 0.044715 * (near * near * near);
    // (1 + tanh(t)) / 2 is logistic(2t).
    within(x, FAR) / (1.0 + exp(-FACTOR * inner))
}

/// `x · min(max(alpha · x + beta, 0), 1)`.
#[inline(always)]
pub(crate) fn hard_swish(x: f64, alpha: f64, beta: f64) -> f64 {
    let x = within(x, FAR);
    x * hard_sigmoid(x, alpha, beta)
}

/// `min(max(alpha · x + beta, 0), 1)`.
#[inline(always)]
pub(crate) fn hard_sigmoid(x: f64, alpha: f64, beta: f64) -> f64 {
    let y = alpha * within(x, FAR) + beta;
    let y = if y < 0.0 { 0.0 } else { y };
    if y > 1.0 { 1.0 } else { y }
}

/// x, and below 0 `alpha · (exp(x) - 1)`.
#[inline(always)]
pub(crate) fn elu(x: f64, alpha: f64) -> f64 {
    let below = alpha * exp_less_one(x);
    if x < 0.0 { below } else { x }
}

/// `x · tanh(ln(1 + exp(x)))`.
#[inline(always)]
pub(crate) fn mish(x: f64) -> f64 {
    // tanh(ln(1 + e)) = ((1 + e)² - 1) / ((1 + e)² + 1); beyond 40 it is 1.
    let e = exp(if x > 40.0 { 40.0 } else { x });
    let n = e * (e + 2.0);
    within(x, FAR) * (n / (n + 2.0))
}

#[cfg(test)]
mod tests;
