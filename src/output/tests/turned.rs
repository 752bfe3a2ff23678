//! A single column, which is finished as a row if it can be, against blocks, which other tests hold against the definitions.

use super::relay::{CONTEXTS, numbers, of_axis};
use super::*;
use crate::Factor;
use crate::gemm::gemm_by;
use crate::kernel::tests::noise;
use crate::matrix::{Operand, Order};

const WAYS: [usize; 2] = [1, 2];

/// Pipelines of all kinds that become results in one go, one of them in a row only, and one that does not; each parameter by each axis.
fn pipelines(rows: usize) -> Vec<(Vec<Stage<'static>>, bool)> {
    let words: &'static [i32] = numbers(rows as u64, 3 * rows).leak();
    let [biases, multipliers, shifts] = [0, 1, 2].map(|kind| &words[kind * rows..][..rows]);
    let biases: &[i32] = biases.iter().map(|x| x >> 16).collect::<Vec<_>>().leak();
    let multipliers: &[i32] = multipliers.iter().map(|x| x >> 1 & i32::MAX | 1 << 29).collect::<Vec<_>>().leak();
    let exponents: &[i32] = shifts.iter().map(|x| -7 - (x & 7)).collect::<Vec<_>>().leak();
    let factors: &[i32] = biases.iter().map(|x| x >> 10).collect::<Vec<_>>().leak();
    let right: &[i32] = exponents.iter().map(|x| -x).collect::<Vec<_>>().leak();
    let floats: &[f32] = biases.iter().map(|&x| x as f32 / 1e6).collect::<Vec<_>>().leak();
    let mut all = Vec::new();
    for (x, y) in (0..3).flat_map(|x| (0..3).map(move |y| (x, y))) {
        let of_ints = |axis, values| of_axis(axis, values, (rows, 1));
        let of_floats = |axis| of_axis(axis, floats, (rows, 1));
        let clamp = Stage::Clamp { min: -100, max: 90 };
        let (bias, clamp_f32) = (Stage::Bias(of_ints(x, biases)), Stage::ClampF32 { min: -20.0, max: 30.0 });
        for rounding in [Rounding::Twice, Rounding::TwiceUp, Rounding::Once] {
            let scale = Scale::new(of_ints(y, multipliers), of_ints(x, exponents), 3, rounding).unwrap();
            all.push((vec![bias, Stage::Scale(scale), clamp], false));
        }
        let down =
            QuantizeDown { offset: of_ints(x, biases), multiplier: of_ints(y, factors), shift: of_ints(x, right) };
        all.push((vec![Stage::QuantizeDown(down)], false));
        all.push((vec![bias, Stage::ScaleF32 { scale: of_floats(y), offset_after: -2 }, clamp], false));
        let dequantize = Stage::Dequantize(of_floats(x));
        all.push((vec![dequantize, Stage::MultiplyF32(of_floats(y)), clamp_f32], true));
        all.push((vec![dequantize, Stage::BiasF32(of_floats(y)), clamp_f32], true));
        all.push((
            vec![dequantize, Stage::ActivationF32(Activation::Relu { alpha: 0.5 }), Stage::BiasF32(of_floats(y))],
            true,
        ));
    }
    all
}

#[test]
fn a_single_column_is_finished_as_a_row() {
    for (rows, depth, stride) in [(64, 64, 1), (100, 131, 1), (301, 200, 1), (17, 90, 1), (33, 64, 3)] {
        let pipelines = pipelines(rows);
        for (encoding, offsets) in [(Encoding::U8, [0, 0]), (Encoding::S8, [5, -7]), (Encoding::U8, [-128, 0])] {
            let data = [rows, 1].map(|lines| noise(depth as u64, false, lines * depth));
            let [a, b] = [(0, rows), (1, 1)].map(|(side, lines)| {
                let operand = Operand::new(&data[side], (lines, depth), depth, Order::DepthContiguous, encoding);
                Factor::new(operand, Offset::Uniform(offsets[side]))
            });
            for (context, (stages, are_floats)) in
                CONTEXTS.iter().flat_map(|context| pipelines.iter().map(move |x| (context, x)))
            {
                macro_rules! check {
                    ($untouched:expr, $store:expr $(, $cast:expr)?) => {
                        let [got, want] = WAYS.map(|way| {
                            // Gaps, too.
                            let mut result = vec![$untouched; rows * stride];
                            let store = $store(Output::new(&mut result, (rows, 1), stride) $(, $cast)?);
                            assert!(gemm_by(way, context, &a, &b, &Finish::new(stages, store)), "way {way}");
                            result.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>()
                        });
                        assert!(got == want, "{} {rows} {stages:?}: {got:?} {want:?}", context.kernel.name);
                    };
                }
                if *are_floats {
                    check!(77.0f32, Store::F32);
                    check!(77u16, Store::Bf16);
                } else {
                    check!(77u8, Store::U8, Cast::Saturating);
                    check!(77i8, Store::I8, Cast::Saturating);
                    check!(77i16, Store::I16, Cast::Saturating);
                    check!(77i32, Store::I32);
                }
            }
        }
    }
}
