//! Whole products that become floats, most of them so large that tiles do so while others are multiplied, against the stages'
//! definitions.

use super::relay::{CONTEXTS, numbers, of_axis, packed_rhs};
use super::*;
use crate::gemm::gemm_by;
use crate::kernel::tests::noise;
use crate::matrix::{Operand, Order};
use crate::{Factor, reference};
use proptest::option;

#[derive(Clone, Debug)]
struct Floats {
    shape: (usize, usize, usize),
    /// Of both sides.
    orders: [Order; 2],
    encodings: [Encoding; 2],
    offsets: [i32; 2],
    /// Whether the lines of a side have offsets of their own.
    differ: [bool; 2],
    is_packed: bool,
    /// Numbers for all parameters; in each the axis (see `Parameter`), or none if there is no such stage.
    seed: u64,
    scale_axis: u8,
    factor_axis: Option<u8>,
    bias_axis: Option<u8>,
    clamp: Option<(f32, f32)>,
    element: Element,
    gap: usize,
}

fn floats() -> impl Strategy<Value = Floats> {
    let encoding = || prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    let order = || prop_oneof![3 => Just(Order::DepthContiguous), 1 => Just(Order::LineContiguous)];
    let offset = || prop_oneof![1 => Just(0), 2 => -255i32..=255];
    let shape = (
        prop_oneof![3 => 37usize..80, 1 => 1usize..37, 2 => 1usize..9, 1 => 100usize..130],
        prop_oneof![1 => Just(64usize), 2 => 31usize..100, 1 => 1usize..32, 1 => 100usize..200],
        prop_oneof![1 => Just(64usize), 2 => 60usize..130, 1 => 500usize..600, 1 => 1usize..60, 1 => 1usize..9],
    );
    let axis = || prop_oneof![1 => Just(0u8), 3 => Just(2), 1 => Just(1)];
    let stages = (axis(), option::of(axis()), option::of(axis()), option::of((-2f32..0.0, 0f32..2.0)));
    let element = prop_oneof![2 => Just(Element::F32), 1 => Just(Element::Bf16), 1 => Just(Element::F16)];
    let result = (element, prop_oneof![Just(0usize), 1usize..40]);
    // Those of rows are added in one go, too; those of columns are not.
    let differ = prop_oneof![
        3 => Just([false, false]), 3 => Just([true, false]), 1 => Just([false, true]), 1 => Just([true, true])
    ];
    let sides = (order(), order(), encoding(), encoding(), offset(), offset(), differ);
    ((shape, any::<bool>(), any::<u64>()), sides, stages, result).prop_map(
        |(
            (shape, is_packed, seed),
            (x, y, l, r, a, b, differ),
            (scale_axis, factor_axis, bias_axis, clamp),
            (element, gap),
        )| {
            let (orders, encodings, offsets) = ([x, y], [l, r], [a, b]);
            Floats {
                shape,
                orders,
                encodings,
                offsets,
                differ,
                is_packed,
                seed,
                scale_axis,
                factor_axis,
                bias_axis,
                clamp,
                element,
                gap,
            }
        },
    )
}

fn check(case: &Floats) {
    let (rows, cols, depth) = case.shape;
    let (most, shape) = (rows.max(cols), (rows, cols));
    let [lhs, rhs] = [rows, cols].map(|lines| noise(case.seed ^ lines as u64, false, lines * depth));
    let offsets = [0, 1].map(|side| -> Vec<i32> {
        let of_line = |line: usize| if case.differ[side] { line as i32 * 3 % 17 } else { 0 };
        (0..most).map(|line| case.offsets[side] + of_line(line)).collect()
    });
    let number = |side: usize, data: &[u8], line: usize, d: usize| {
        let at = match case.orders[side] {
            Order::DepthContiguous => line * depth + d,
            Order::LineContiguous => d * [rows, cols][side] + line,
        };
        i64::from(case.encodings[side].decode(data[at])) + i64::from(offsets[side][line])
    };
    let sums = reference::product(case.shape, |i, d| number(0, &lhs, i, d), |d, j| number(1, &rhs, j, d));
    // So that results are of the order of 1.
    let parameters = |kind: u64, unit: f32| -> Vec<f32> {
        numbers(case.seed ^ kind, most).iter().map(|x| *x as f32 * (unit / i32::MAX as f32)).collect()
    };
    let (scales, factors, biases) =
        (parameters(1, 1e-4 / (depth as f32).sqrt()), parameters(2, 2.0), parameters(3, 1.0));
    let mut stages = vec![Stage::Dequantize(of_axis(case.scale_axis, &scales, shape))];
    stages.extend(case.factor_axis.map(|axis| Stage::MultiplyF32(of_axis(axis, &factors, shape))));
    stages.extend(case.bias_axis.map(|axis| Stage::BiasF32(of_axis(axis, &biases, shape))));
    stages.extend(case.clamp.map(|(min, max)| Stage::ClampF32 { min, max }));
    let want = |row: usize, col: usize| {
        let of = |axis: u8, values: &[f32]| values[[0, row, col][usize::from(axis)]];
        let x = sums[row * cols + col] as f32 * of(case.scale_axis, &scales);
        let x = case.factor_axis.map_or(x, |axis| x * of(axis, &factors));
        let x = case.bias_axis.map_or(x, |axis| x + of(axis, &biases));
        case.clamp.map_or(x, |(min, max)| x.max(min).min(max))
    };
    let stride = cols + case.gap;
    for context in CONTEXTS.iter() {
        let operand = |side: usize, data, lines| {
            let stride = if case.orders[side] == Order::DepthContiguous { depth } else { lines };
            Operand::new(data, (lines, depth), stride, case.orders[side], case.encodings[side])
        };
        let packed = packed_rhs(context, &operand(1, &rhs, cols), case.encodings[0]);
        let [a, b] = [(0, rows), (1, cols)].map(|(side, lines)| match case.differ[side] {
            true => Offset::PerLine(&offsets[side][..lines]),
            false => Offset::Uniform(case.offsets[side]),
        });
        let rhs = if case.is_packed { Factor::packed(&packed, b) } else { Factor::new(operand(1, &rhs, cols), b) };
        let lhs = Factor::new(operand(0, &lhs, rows), a);
        macro_rules! check {
            ($store:expr, $narrow:expr) => {
                // By all six ways, where they are ways.
                for way in 0..6 {
                    let untouched = $narrow(77.0);
                    let mut result = vec![untouched; rows * stride];
                    let finish = Finish::new(&stages, $store(Output::new(&mut result, shape, stride)));
                    if !gemm_by(way, context, &lhs, &rhs, &finish) {
                        continue;
                    }
                    for (i, got) in result.into_iter().enumerate() {
                        let (row, col) = (i / stride, i % stride);
                        let want = if col < cols { $narrow(want(row, col)) } else { untouched };
                        let name = context.kernel.name;
                        assert!(
                            got.to_ne_bytes() == want.to_ne_bytes(),
                            "{name}, way {way}: {got} instead of {want} in row {row}, column {col} of {case:?}"
                        );
                    }
                }
            };
        }
        match case.element {
            Element::Bf16 => check!(Store::Bf16, to_bf16),
            Element::F16 => check!(Store::F16, to_f16),
            _ => check!(Store::F32, |x: f32| x),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]
    #[test]
    fn every_kernel_agrees_on_products_that_become_floats(case in floats()) {
        check(&case);
    }
}

/// Rows so far apart that no second cache holds the result: what is fetched before it is written is nobody else's to see.
#[test]
fn results_further_away_than_caches_are_written_where_they_belong() {
    let (shape, depth, stride) = ((30, 106), 70, 40_001);
    let (lhs, rhs) = (noise(1, false, shape.0 * depth), noise(2, false, shape.1 * depth));
    let operand = |data, lines, encoding| Operand::new(data, (lines, depth), depth, Order::DepthContiguous, encoding);
    let number = |encoding: Encoding, byte: u8| i64::from(encoding.decode(byte));
    let sums = reference::product(
        (shape.0, shape.1, depth),
        |i, d| number(Encoding::U8, lhs[i * depth + d]),
        |d, j| number(Encoding::S8, rhs[j * depth + d]),
    );
    let want = |row: usize, col: usize| sums[row * shape.1 + col];
    let stages = [Stage::Dequantize(Values::Uniform(0.25))];
    for context in CONTEXTS.iter() {
        for way in 0..6 {
            let (lhs, rhs) = (operand(&lhs, shape.0, Encoding::U8), operand(&rhs, shape.1, Encoding::S8));
            let sides = [lhs, rhs].map(|side| Factor::new(side, Offset::Uniform(0)));
            let multiply = |finish: &Finish| gemm_by(way, context, &sides[0], &sides[1], finish);
            let (mut ints, mut floats) = (vec![7; shape.0 * stride], vec![7.0; shape.0 * stride]);
            let is_way = multiply(&Finish::new(&[], Store::I32(Output::new(&mut ints, shape, stride))));
            multiply(&Finish::new(&stages, Store::F32(Output::new(&mut floats, shape, stride))));
            for (i, (int, float)) in ints.into_iter().zip(floats).enumerate().filter(|_| is_way) {
                let (row, col) = (i / stride, i % stride);
                let want = if col < shape.1 { (want(row, col), want(row, col) as f32 * 0.25) } else { (7, 7.0) };
                assert!((int, float) == want, "{}, way {way}, row {row}, column {col}", context.kernel.name);
            }
        }
    }
}

/// Numbers that are none stay so, whatever they are confined to, and 0 keeps its sign.
#[test]
fn what_is_confined_may_be_no_number() {
    let (shape, depth) = ((30, 70), 40);
    let (lhs, rhs) = (vec![0; shape.0 * depth], vec![0; shape.1 * depth]);
    let operand = |data, lines, encoding| Operand::new(data, (lines, depth), depth, Order::DepthContiguous, encoding);
    let scales: Vec<f32> = (0..shape.1).map(|col| [1.0, -1.0, f32::NAN, f32::INFINITY][col % 4]).collect();
    let stages = [Stage::Dequantize(Values::PerCol(&scales)), Stage::ClampF32 { min: 0.0, max: 0.0 }];
    for context in CONTEXTS.iter() {
        for way in 0..6 {
            let mut result = vec![7.0; shape.0 * shape.1];
            let finish = Finish::new(&stages, Store::F32(Output::new(&mut result, shape, shape.1)));
            let lhs = Factor::new(operand(&lhs, shape.0, Encoding::U8), Offset::Uniform(0));
            let rhs = Factor::new(operand(&rhs, shape.1, Encoding::S8), Offset::Uniform(0));
            if !gemm_by(way, context, &lhs, &rhs, &finish) {
                continue;
            }
            for (i, x) in result.into_iter().enumerate() {
                let is_right = match i % shape.1 % 4 {
                    // 0 times infinity is none, too.
                    2 | 3 => x.is_nan(),
                    odd => x == 0.0 && x.is_sign_negative() == (odd == 1),
                };
                assert!(is_right, "{}, way {way}: {x} in column {}", context.kernel.name, i % shape.1);
            }
        }
    }
}

#[test]
fn wide_and_deep_products_become_floats() {
    // More panels than stay near; lines of which no cache line is the first, so long that not all of them is copied; and more rows than
    // are multiplied by all panels before the next. Rows that differ add nothing else to sums if columns have no offsets.
    for (shape, differs, offset) in [
        ((70, 1100, 70), true, 5),
        ((70, 1100, 70), true, 0),
        ((35, 1061, 66), false, 5),
        ((70, 130, 1310), true, 5),
        ((450, 106, 70), false, 5),
        ((450, 106, 70), true, 0),
        ((1600, 45, 30), false, 5),
    ] {
        check(&Floats {
            shape,
            orders: [Order::DepthContiguous; 2],
            encodings: [Encoding::U8, Encoding::S8],
            offsets: [-3, offset],
            differ: [differs, false],
            is_packed: true,
            seed: 7,
            scale_axis: 2,
            factor_axis: Some(1),
            bias_axis: Some(2),
            clamp: None,
            element: Element::F32,
            gap: 1,
        });
    }
}
