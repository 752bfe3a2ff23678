//! Every function against the C library's, for floats from all over their range.

use super::*;

unsafe extern "C" {
    safe fn erfc(x: f64) -> f64;
}

/// Every so many-th float, those around 0, and the limits.
fn floats() -> impl Iterator<Item = f32> {
    let step = if cfg!(miri) { 99_999_989 } else { 1009 };
    let odd = [0.0, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), 1.0, 14.9, 40.0, 88.8, 104.0];
    let around = |x: f32| [x.next_down(), x, x.next_up()];
    let odd = odd.into_iter().flat_map(around).flat_map(|x| [x, -x]);
    (0..=u32::MAX).step_by(step).map(f32::from_bits).filter(|x| !x.is_nan()).chain(odd)
}

/// How far the result is from the real number, in units in the last place of floats there.
fn distance(got: f32, want: f64) -> f64 {
    let nearest = want as f32;
    if got == nearest || nearest.is_infinite() && got == f32::MAX.copysign(got) {
        // Halves of a unit and less.
        return 0.5;
    }
    if nearest.is_infinite() || got.is_infinite() {
        return f64::INFINITY;
    }
    let magnitude = nearest.abs();
    let unit = f64::from(f32::from_bits(magnitude.to_bits() + 1)) - f64::from(magnitude);
    (f64::from(got) - want).abs() / unit
}

fn check(name: &str, of: impl Fn(f64) -> f64, defined: impl Fn(f64) -> f64) {
    let mut furthest = (0.0, 0.0);
    for x in floats().map(f64::from) {
        let (got, want) = (of(x) as f32, defined(x));
        assert_eq!(got.is_nan(), want.is_nan(), "{name}({x:e}) is {got:e}");
        let far = if want.is_nan() { 0.0 } else { distance(got, want) };
        if far > furthest.0 {
            furthest = (far, x);
        }
    }
    assert!(furthest.0 <= 0.51, "{name}({:e}) is off by {} units", furthest.1, furthest.0);
    assert!((of(f64::NAN) as f32).is_nan(), "{name} of NaN");
}

/// 0 times infinity is 0 in the limit, wherever that is met.
fn times(x: f64, share: f64) -> f64 {
    if share == 0.0 { 0.0 } else { x * share }
}

#[test]
fn exponentials_are_the_nearest_floats() {
    check("exp", exp, f64::exp);
    check("logistic", logistic, |x| 1.0 / (1.0 + (-x).exp()));
    check("tanh", tanh, f64::tanh);
    assert!(tanh(-0.0).is_sign_negative());
    for alpha in [1.0f32, -0.7, 1e-3, 1e30] {
        let alpha = f64::from(alpha);
        check("elu", |x| elu(x, alpha), |x| if x < 0.0 { alpha * x.exp_m1() } else { x });
    }
}

#[test]
fn products_with_exponentials_are_the_nearest_floats() {
    for alpha in [1.0f32, 1.702, -3.0, 1e-30, 0.0] {
        let alpha = f64::from(alpha);
        let share = |x: f64| if alpha == 0.0 { 0.5 } else { 1.0 / (1.0 + (-alpha * x).exp()) };
        check("swish", |x| swish(x, alpha), |x| times(x, share(x)));
    }
    let ln_1p_exp = |x: f64| if x > 40.0 { x } else { x.exp().ln_1p() };
    check("mish", mish, |x| times(x, ln_1p_exp(x).tanh()));
}

#[test]
fn gelu_is_the_nearest_float() {
    check("gelu_erf", gelu_erf, |x| times(x, erfc(-x / 2f64.sqrt()) / 2.0));
    let twice_inner = |x: f64| 2.0 * (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    check("gelu_tanh", gelu_tanh, |x| times(x, 1.0 / (1.0 + (-twice_inner(x)).exp())));
}

#[test]
fn hard_functions_are_the_nearest_floats() {
    for (alpha, beta) in [(1f32 / 6.0, 0.5f32), (0.2, 0.5), (-1.5, 2.0), (1e30, -1e-30)] {
        let (alpha, beta) = (f64::from(alpha), f64::from(beta));
        let share = |x: f64| (alpha * x + beta).clamp(0.0, 1.0);
        check("hard sigmoid", |x| hard_sigmoid(x, alpha, beta), share);
        check("hard swish", |x| hard_swish(x, alpha, beta), |x| times(x, share(x)));
    }
}
