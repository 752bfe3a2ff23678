//! Whole layers, most of them so large that tiles become bytes while others are multiplied, against the stages' definitions; at
//! once, and by what prepared calls keep.

use super::*;
use crate::context::Context;
use crate::gemm::{Route, gemm_by};
use crate::kernel::tests::{always, noise};
use crate::matrix::{Operand, Order};
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Side};
use crate::{Factor, reference};
use std::sync::LazyLock;

pub(super) static CONTEXTS: LazyLock<Vec<Context>> = LazyLock::new(|| {
    let kernels = Kernel::available().chain(always());
    kernels.flat_map(|kernel| [1, 2].map(|threads| Context::new(kernel, threads))).collect()
});

#[derive(Clone, Debug)]
struct Layers {
    shape: (usize, usize, usize),
    /// Of both sides.
    encodings: [Encoding; 2],
    offsets: [i32; 2],
    is_packed: bool,
    /// Whether the RHS has numbers of 7 bits, for which there are narrow kernels.
    is_small: bool,
    /// Numbers for all parameters; in each the axis (see `Parameter`), or none for the bias.
    seed: u64,
    bias: Option<u8>,
    scale_axis: u8,
    scaling: Scaling,
    /// Bits of the exponents, some of which floats of 32 bits do not suit.
    right: std::ops::RangeInclusive<i32>,
    /// A number of the scale's axis, if any, where fixed point has so many ties, or nothing is shifted, that its panel becomes bytes
    /// in another way.
    coarse: Option<usize>,
    offset_after: i32,
    clamp: Option<(i32, i32)>,
    is_signed: bool,
    /// How far the end of a row is from the next one, and that of a line of the LHS.
    gap: usize,
    lines_gap: usize,
}

#[derive(Clone, Copy, Debug)]
enum Scaling {
    Fixed(Rounding),
    Floats,
    /// By EightBitIntGemm's stage, of which the biases are a part.
    Down,
}

/// Rows, columns and depth.
fn shapes() -> impl Strategy<Value = (usize, usize, usize)> {
    let most = (
        // The last are more than are multiplied by all panels at once.
        prop_oneof![4 => 37usize..80, 3 => 100usize..140, 2 => 1usize..37, 1 => 190usize..210],
        prop_oneof![2 => Just(32usize), 2 => Just(64), 2 => 31usize..100, 1 => 1usize..32],
        prop_oneof![2 => Just(64usize), 2 => 60usize..130, 2 => 300usize..310, 1 => 1usize..60],
    );
    // So few groups that none or all belong to the end of a tile.
    let flat = (1024usize..1030, 17usize..40, 1usize..13);
    // Lines of few groups, half panels among them.
    let shallow = (prop_oneof![13usize..100, 128usize..400], 1usize..100, 1usize..53);
    prop_oneof![12 => most, 1 => flat, 4 => shallow]
}

fn layers(shape: impl Strategy<Value = (usize, usize, usize)>) -> impl Strategy<Value = Layers> {
    let encoding = || prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    let offset = || prop_oneof![Just(0), Just(-128), -255i32..=255];
    let scalings = prop_oneof![
        3 => Just(Scaling::Fixed(Rounding::Twice)), 1 => Just(Scaling::Fixed(Rounding::TwiceUp)),
        1 => Just(Scaling::Fixed(Rounding::Once)), 1 => Just(Scaling::Floats), 2 => Just(Scaling::Down),
    ];
    let right = prop_oneof![4 => Just(6..=14), 1 => Just(1..=12), 1 => Just(0..=31)];
    let clamp = prop_oneof![2 => Just(None), 1 => (-200i32..300, -200i32..300).prop_map(Some)];
    let sides = (encoding(), encoding(), offset(), offset(), any::<bool>(), proptest::bool::weighted(0.25));
    let coarse = proptest::option::weighted(0.25, 0usize..80);
    let axis = prop_oneof![1 => Just(0u8), 4 => Just(2), 1 => Just(1)];
    let scales = (proptest::option::of(0u8..3), axis, scalings, right, coarse);
    let gap = || prop_oneof![Just(0usize), 1usize..40];
    let result = (-128i32..=255, clamp, any::<bool>(), gap(), gap());
    (shape, sides, scales, result, any::<u64>()).prop_map(
        |(
            shape,
            (l, r, a, b, is_packed, is_small),
            (bias, scale_axis, scaling, right, coarse),
            (offset_after, clamp, is_signed, gap, lines_gap),
            seed,
        )| {
            let (encodings, offsets) = ([l, r], [a, b]);
            Layers {
                shape,
                encodings,
                offsets,
                is_packed,
                is_small,
                seed,
                bias,
                scale_axis,
                scaling,
                right,
                coarse,
                offset_after,
                clamp,
                is_signed,
                gap,
                lines_gap,
            }
        },
    )
}

/// As many numbers as the greatest axis has, of all bits.
pub(super) fn numbers(seed: u64, len: usize) -> Vec<i32> {
    noise(seed, false, 4 * len).as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect()
}

pub(super) fn of_axis<T: Copy>(axis: u8, values: &[T], (rows, cols): (usize, usize)) -> Values<'_, T> {
    match axis {
        0 => Values::Uniform(values[0]),
        1 => Values::PerRow(&values[..rows]),
        _ => Values::PerCol(&values[..cols]),
    }
}

/// Packed for products with an LHS of this encoding.
pub(super) fn packed_rhs(context: &Context, rhs: &Operand, other: Encoding) -> Packed {
    let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other };
    let packing = Packing {
        offset: Offset::Uniform(0),
        purpose,
        bits: Bits::new(8).unwrap(),
        segments: None,
        are_patches: false,
    };
    Packed::new(context.kernel, rhs, &packing, None).unwrap()
}

fn check(case: &Layers) {
    let (rows, cols, depth) = case.shape;
    let most = rows.max(cols);
    let pitches = [depth + case.lines_gap, depth];
    let [lhs, mut rhs] = [0, 1].map(|side| {
        let lines = [rows, cols][side];
        noise(case.seed ^ lines as u64, false, lines * pitches[side])
    });
    if case.is_small {
        rhs.iter_mut().for_each(|byte| {
            *byte = if case.encodings[1] == Encoding::U8 { *byte >> 1 } else { (*byte as i8 >> 1) as u8 };
        });
    }
    let number = |side: usize, data: &[u8], line: usize, d: usize| {
        i64::from(case.encodings[side].decode(data[line * pitches[side] + d])) + i64::from(case.offsets[side])
    };
    let sums = reference::product(case.shape, |i, d| number(0, &lhs, i, d), |d, j| number(1, &rhs, j, d));
    let mut biases: Vec<i32> = numbers(case.seed ^ 1, most).iter().map(|x| x >> 14).collect();
    // Few are less than what floats suit.
    let mut multipliers: Vec<i32> = numbers(case.seed ^ 2, most).iter().map(|x| x & i32::MAX | 1 << 30).collect();
    if let Some(multiplier) = case.coarse.and_then(|coarse| multipliers.get_mut(coarse)) {
        *multiplier = 1 << 30;
    }
    let is_down = matches!(case.scaling, Scaling::Down);
    if is_down {
        // Some products wrap around.
        multipliers.iter_mut().for_each(|x| *x = (*x >> 22) * if *x & 7 == 0 { -1 } else { 1 });
    }
    let (least, kinds) = (*case.right.start(), case.right.end() - case.right.start() + 1);
    let exponents: Vec<i32> = numbers(case.seed ^ 3, most).iter().map(|x| -(least + x.rem_euclid(kinds))).collect();
    let mut shifts: Vec<i32> = exponents.iter().map(|exponent| (8 - exponent).min(31)).collect();
    if let Some(shift) = case.coarse.and_then(|coarse| shifts.get_mut(coarse)) {
        *shift = 0;
    }
    let floats: Vec<f32> =
        multipliers.iter().zip(&exponents).map(|(m, e)| (f64::from(*m) * 2f64.powi(e - 31)) as f32).collect();
    let shape = (rows, cols);
    if (case.bias, case.scale_axis) == (Some(2), 2) && !is_down {
        // A number of each column is as close to a tie as can be, where floats go wrong.
        for col in 0..cols {
            let tie = f64::from(col as i32 % 200 - 100) + 0.5;
            let sum = tie * 2f64.powi(31 - exponents[col]) / f64::from(multipliers[col]);
            biases[col] = (sum.round() as i32).wrapping_sub(sums[col % rows * cols + col]);
        }
    }
    let bias = case.bias.map(|axis| of_axis(axis, &biases, shape));
    let mut stages: Vec<Stage> = bias.filter(|_| !is_down).map(Stage::Bias).into_iter().collect();
    stages.push(match case.scaling {
        Scaling::Fixed(rounding) => {
            let (multiplier, exponent) =
                (of_axis(case.scale_axis, &multipliers, shape), of_axis(case.scale_axis, &exponents, shape));
            Stage::Scale(Scale::new(multiplier, exponent, case.offset_after, rounding).unwrap())
        }
        Scaling::Floats => {
            Stage::ScaleF32 { scale: of_axis(case.scale_axis, &floats, shape), offset_after: case.offset_after }
        }
        Scaling::Down => Stage::QuantizeDown(QuantizeDown {
            offset: bias.unwrap_or(Values::Uniform(0)),
            multiplier: of_axis(case.scale_axis, &multipliers, shape),
            shift: of_axis(case.scale_axis, &shifts, shape),
        }),
    });
    if let Some((min, max)) = case.clamp {
        stages.push(Stage::Clamp { min, max });
    }
    let at = |axis: u8, row: usize, col: usize| [0, row, col][usize::from(axis)];
    let want = |row: usize, col: usize| {
        let sum = sums[row * cols + col].wrapping_add(case.bias.map_or(0, |axis| biases[at(axis, row, col)]));
        let i = at(case.scale_axis, row, col);
        let number = match case.scaling {
            Scaling::Fixed(rounding) => scaled(sum, multipliers[i], exponents[i], rounding),
            Scaling::Floats => nearest_even(sum as f32 * floats[i]),
            Scaling::Down => wrapped(nearest_away(sum.wrapping_mul(multipliers[i]).into(), shifts[i] as u32)),
        };
        let number = if is_down { number } else { number.wrapping_add(case.offset_after) };
        let number = case.clamp.map_or(number, |(min, max)| number.max(min).min(max));
        let number = if case.is_signed { number.clamp(-128, 127) } else { number.clamp(0, 255) };
        number as u8
    };
    for context in CONTEXTS.iter() {
        let operand = |side: usize, data, lines| {
            Operand::new(data, (lines, depth), pitches[side], Order::DepthContiguous, case.encodings[side])
        };
        let packed = packed_rhs(context, &operand(1, &rhs, cols), case.encodings[0]);
        let [a, b] = case.offsets.map(Offset::Uniform);
        let rhs = if case.is_packed { Factor::packed(&packed, b) } else { Factor::new(operand(1, &rhs, cols), b) };
        let lhs = Factor::new(operand(0, &lhs, rows), a);
        for way in [0, 2, PREPARED] {
            let stride = cols + case.gap;
            let mut result = vec![0x5a; rows * stride];
            let store = match case.is_signed {
                true => {
                    // SAFETY: as many bytes, which may be read as signed ones.
                    let out = unsafe { Output::from_raw(result.as_mut_ptr().cast::<i8>(), shape, stride) };
                    Store::I8(out.expect("they have addresses"), Cast::Saturating)
                }
                false => Store::U8(Output::new(&mut result, shape, stride), Cast::Saturating),
            };
            let is_computed = match way {
                PREPARED => prepared(context, &lhs, &rhs, &stages, store),
                _ => gemm_by(way, context, &lhs, &rhs, &Finish::new(&stages, store)),
            };
            if !is_computed {
                continue;
            }
            for (i, byte) in result.iter().enumerate() {
                let (row, col) = (i / stride, i % stride);
                let want = if col < cols { want(row, col) } else { 0x5a };
                assert_eq!(*byte, want, "{}, way {way}: row {row}, column {col} of {case:?}", context.kernel.name);
            }
        }
    }
}

const PREPARED: usize = 3;

/// Computes it as a prepared call does. False if nothing can be kept of such operands.
fn prepared(context: &Context, lhs: &Factor, rhs: &Factor, stages: &[Stage], store: Store) -> bool {
    let quick = Quick::new(stages, &store);
    let route = Route::new(context, lhs, rhs, quick.as_ref(), &store).unwrap();
    let finish = Finish::by(stages, store, quick, route.panels());
    match (route.ready(lhs, rhs), lhs.operand()) {
        (Some(ready), Some(lhs)) => route.run_ready(context, lhs, &ready, &finish).unwrap(),
        _ if route.panels().is_some() => route.run(context, lhs, rhs, &finish, None).unwrap(),
        _ => return false,
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(384) })]
    #[test]
    fn layers_are_what_their_stages_say(case in layers(shapes())) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6) })]
    #[test]
    fn layers_so_deep_that_strips_are_sliced_are_what_their_stages_say(
        case in layers((33usize..70, 160usize..200, 1792usize..2400))
    ) {
        // Most results would be the least or the greatest if sums were not around zero.
        let zero = |encoding| if encoding == Encoding::U8 { -128 } else { 0 };
        check(&Layers { offsets: case.encodings.map(zero), right: 9..=13, clamp: None, coarse: None, ..case });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn layers_of_few_rows_and_more_columns_than_become_bytes_together_are_what_their_stages_say(
        case in layers((12usize..21, 690usize..1500, prop_oneof![1usize..12, 60usize..70]))
    ) {
        check(&case);
    }
}

#[test]
fn a_layer_of_more_panels_than_pass_together_is_what_its_stages_say() {
    check(&Layers {
        shape: (40, 1100, 70),
        encodings: [Encoding::U8, Encoding::S8],
        offsets: [-3, 5],
        is_packed: true,
        is_small: false,
        seed: 5,
        bias: Some(2),
        scale_axis: 2,
        scaling: Scaling::Fixed(Rounding::Twice),
        right: 6..=9,
        // The second of the panels that pass together last.
        coarse: Some(32 * 33),
        offset_after: 100,
        clamp: Some((3, 250)),
        is_signed: false,
        gap: 1,
        lines_gap: 0,
    });
}
