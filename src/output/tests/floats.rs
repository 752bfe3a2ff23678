//! Floats between stages, and products that end with floats, on every kernel.

use super::*;
use proptest::option;

#[derive(Clone, Debug)]
pub(super) enum FloatCase {
    Bias(Parameter<f32>),
    Clamp(f32, f32),
    Residual(Tensor, i32, f32),
    Multiply(Parameter<f32>),
    Activation(Activation),
    /// With the steps in which the tensor is read.
    Binary(Tensor, (usize, usize), i32, f32, Operation),
}

impl FloatCase {
    /// The definition of the stage.
    pub(super) fn of(&self, y: f32, row: usize, col: usize) -> f32 {
        match self {
            FloatCase::Bias(bias) => y + bias.at(row, col),
            FloatCase::Clamp(min, max) if y > *max || min > max && !y.is_nan() => *max,
            FloatCase::Clamp(min, _) if y < *min => *min,
            FloatCase::Clamp(..) => y,
            FloatCase::Residual(tensor, zero_point, scale) => {
                y + tensor.float_of(tensor.at(row, col), *zero_point) * scale
            }
            FloatCase::Multiply(scale) => y * scale.at(row, col),
            FloatCase::Activation(activation) => defined(*activation, y),
            FloatCase::Binary(tensor, steps, zero_point, scale, operation) => {
                let other = tensor.float_of(tensor.spread_at(*steps, row, col), *zero_point) * scale;
                match operation {
                    Operation::Add => y + other,
                    Operation::Subtract => y - other,
                    Operation::Multiply => y * other,
                    Operation::Divide => y / other,
                    Operation::Min if other < y => other,
                    Operation::Max if other > y => other,
                    Operation::Min | Operation::Max => y,
                }
            }
        }
    }

    /// The stage itself.
    pub(super) fn stage(&self) -> Stage<'_> {
        match self {
            FloatCase::Bias(bias) => Stage::BiasF32(bias.values()),
            &FloatCase::Clamp(min, max) => Stage::ClampF32 { min, max },
            &FloatCase::Residual(ref tensor, zero_point, scale) => {
                Stage::ResidualF32 { residual: tensor.residual(), zero_point, scale }
            }
            FloatCase::Multiply(scale) => Stage::MultiplyF32(scale.values()),
            &FloatCase::Activation(activation) => Stage::ActivationF32(activation),
            &FloatCase::Binary(ref tensor, steps, zero_point, scale, operation) => {
                Stage::BinaryF32(Binary { tensor: tensor.spread(steps), zero_point, scale, operation })
            }
        }
    }
}

/// What an activation is of a single number: on every kernel the same.
fn defined(activation: Activation, x: f32) -> f32 {
    let wide = f64::from;
    match activation {
        Activation::Relu { alpha } if x < 0.0 => {
            if alpha == 0.0 {
                0.0
            } else {
                alpha * x
            }
        }
        Activation::Relu { .. } => x,
        Activation::Tanh => real::tanh(wide(x)) as f32,
        Activation::Logistic => real::logistic(wide(x)) as f32,
        Activation::GeluErf => real::gelu_erf(wide(x)) as f32,
        Activation::GeluTanh => real::gelu_tanh(wide(x)) as f32,
        Activation::Swish { alpha } => real::swish(wide(x), wide(alpha)) as f32,
        Activation::HardSwish { alpha, beta } => real::hard_swish(wide(x), wide(alpha), wide(beta)) as f32,
        Activation::HardSigmoid { alpha, beta } => real::hard_sigmoid(wide(x), wide(alpha), wide(beta)) as f32,
        Activation::Elu { alpha } => real::elu(wide(x), wide(alpha)) as f32,
        Activation::Exp => real::exp(wide(x)) as f32,
        Activation::Mish => real::mish(wide(x)) as f32,
        Activation::Linear { alpha, beta } => (wide(alpha) * wide(x) + wide(beta)) as f32,
        Activation::Clip { most, .. } if x > most => most,
        Activation::Clip { least, most } if x < least => least.min(most),
        Activation::Clip { least, most } if least > most && !x.is_nan() => most,
        Activation::Clip { .. } => x,
    }
}

pub(super) fn float_case() -> impl Strategy<Value = FloatCase> {
    use Element::*;
    const ALL: &[Element] = &[U8, I8, I16, I32, F32, Bf16, F16];
    let operations = {
        use Operation::*;
        proptest::sample::select(&[Add, Subtract, Multiply, Divide, Min, Max][..])
    };
    let steps = proptest::sample::select(&[(0, 0), (0, 1), (1, 0), (1, 1)][..]);
    prop_oneof![
        1 => parameter(-2f32..2.0).prop_map(FloatCase::Multiply),
        2 => activation().prop_map(FloatCase::Activation),
        2 => (tensor(ALL), steps, -200i32..200, -1f32..1.0, operations)
            .prop_map(|(tensor, steps, zero, scale, operation)| FloatCase::Binary(tensor, steps, zero, scale, operation)),
        1 => parameter(-100f32..100.0).prop_map(FloatCase::Bias),
        1 => (-100f32..100.0, -100f32..100.0).prop_map(|(min, max)| FloatCase::Clamp(min, max)),
        1 => (tensor(ALL), -200i32..200, -1f32..1.0)
            .prop_map(|(tensor, zero_point, scale)| FloatCase::Residual(tensor, zero_point, scale)),
    ]
}

fn activation() -> impl Strategy<Value = Activation> {
    (0..13, -2f32..2.0, -2f32..2.0).prop_map(|(function, alpha, beta)| match function {
        0 => Activation::Relu { alpha: 0.0 },
        1 => Activation::Relu { alpha },
        2 => Activation::Tanh,
        3 => Activation::Logistic,
        4 => Activation::GeluErf,
        5 => Activation::GeluTanh,
        6 => Activation::Swish { alpha },
        7 => Activation::HardSwish { alpha, beta },
        8 => Activation::HardSigmoid { alpha, beta },
        9 => Activation::Elu { alpha },
        10 => Activation::Exp,
        11 => Activation::Mish,
        _ if beta < 0.0 => Activation::Clip { least: alpha, most: beta },
        _ => Activation::Linear { alpha, beta },
    })
}

proptest! {
    #[test]
    #[expect(clippy::redundant_closure, reason = "a variant's own name is not general enough over lifetimes")]
    fn floats_are_what_the_stages_say(
        scale in parameter(scale()),
        factor in option::of(parameter(scale()).prop_map(FloatCase::Multiply)),
        bias in option::of(parameter(-1e3f32..1e3).prop_map(FloatCase::Bias)),
        clamp in option::of((-1e3f32..1e3, -1e3f32..1e3).prop_map(|(min, max)| FloatCase::Clamp(min, max))),
        (first_row, rows, first_col, cols) in (0usize..5, 1usize..=MAX_ROWS, 0usize..7, 1usize..=MAX_WIDTH),
        sums in vec(number(), MAX_ROWS * MAX_WIDTH),
        offsets in offsets(),
    ) {
        let cases: Vec<_> = [factor, bias, clamp].into_iter().flatten().collect();
        let stages: Vec<_> =
            [Stage::Dequantize(scale.values())].into_iter().chain(cases.iter().map(FloatCase::stage)).collect();
        for kernel in Kernel::available().chain(odd()) {
            let (last_row, last_col) = (first_row + rows.min(kernel.rows), first_col + cols.min(kernel.width));
            let tile = (first_row..last_row, first_col..last_col);
            // Bits, but of any NaN the same.
            let bits = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
            macro_rules! check {
                ($store:expr, $narrow:expr, $bits:expr) => {
                    let got = finished(kernel, &stages, tile.clone(), (&sums, offsets), $narrow(77.0), $store);
                    for (i, got) in got.into_iter().enumerate() {
                        let (row, col) = (i / COLS, i % COLS);
                        let want = sum_at(&tile, (&sums, offsets), row, col).map_or(77.0, |sum| {
                            cases.iter().fold(sum as f32 * scale.at(row, col), |y, case| case.of(y, row, col))
                        });
                        let (got, want) = ($bits(got), $bits($narrow(want)));
                        prop_assert_eq!(got, want, "{}: row {}, column {}", kernel.name, row, col);
                    }
                };
            }
            check!(|out| Store::F32(out), |x| x, bits);
            check!(|out| Store::Bf16(out), to_bf16, |x| x);
            check!(|out| Store::F16(out), to_f16, |x| x);
        }
    }
}
