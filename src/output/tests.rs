//! Pipelines on every kernel against the stages' definitions, element by element.

use super::*;
use crate::half::{from_bf16, from_f16, to_bf16, to_f16};
use crate::kernel::tests::odd;
use crate::kernel::{Kernel, MAX_ROWS, MAX_WIDTH};
use crate::matrix::{Encoding, Offset, Output};
use crate::real;
use crate::reference::{nearest_away, nearest_up, saturated};
use proptest::collection::vec;
use proptest::prelude::*;
use std::ops::Range;

mod floats;
mod products;
mod relay;
mod turned;
mod wide;

use floats::{FloatCase, float_case};

/// Rows and columns of the result; a tile lies somewhere within, or several side by side.
const ROWS: usize = MAX_ROWS + 5;
const COLS: usize = 2 * MAX_WIDTH + 7;

/// A parameter with all the values that any axis asks for.
#[derive(Clone, Debug)]
struct Parameter<T> {
    axis: u8,
    values: Vec<T>,
}

impl<T: Copy> Parameter<T> {
    fn values(&self) -> Values<'_, T> {
        match self.axis {
            0 => Values::Uniform(self.values[0]),
            1 => Values::PerRow(&self.values[..ROWS]),
            _ => Values::PerCol(&self.values[..COLS]),
        }
    }

    fn at(&self, row: usize, col: usize) -> T {
        self.values[[0, row, col][usize::from(self.axis)]]
    }
}

/// A stage and what it reads, all of its own.
#[derive(Clone, Debug)]
enum Case {
    Bias(Parameter<i32>),
    QuantizeDown(Parameter<i32>, Parameter<i32>, Parameter<i32>),
    Scale(Parameter<i32>, Parameter<i32>, i32, Rounding),
    Clamp(i32, i32),
    Tanh(i32, i32),
    Logistic(i32, i32),
    ScaleF32(Parameter<f32>, i32),
    Residual(Tensor, i32, i32, i32, Rounding),
    /// Entries by bytes, whether signed numbers are looked up, and whether the entries are signed.
    Table(Box<[u8; 256]>, bool, bool),
    /// What was there before, alpha, beta and an offset.
    Weighted(Tensor, f32, f32, Parameter<i32>),
    /// A stretch of floats: what leads there, stages on them, and what leads back, the zero point perhaps first.
    Floats(Parameter<f32>, Vec<FloatCase>, Parameter<f32>, i32, bool),
}

/// A residual of the result's shape.
#[derive(Clone, Debug)]
struct Tensor {
    element: Element,
    is_transposed: bool,
    words: Vec<u32>,
}

impl Tensor {
    fn residual(&self) -> Residual<'_> {
        let steps = if self.is_transposed { (1, ROWS + 3) } else { (COLS + 2, 1) };
        let data = self.words.as_ptr().cast();
        // SAFETY: there are words for more elements than these steps reach, of any type.
        unsafe { Residual::from_raw(data, self.element, (ROWS, COLS), steps) }.unwrap()
    }

    /// A row, a column or a single element of it that stands for all, or all of it, if the steps are (1, 1).
    fn spread(&self, steps: (usize, usize)) -> Residual<'_> {
        if steps == (1, 1) {
            return self.residual();
        }
        // SAFETY: as above.
        unsafe { Residual::spread(self.words.as_ptr().cast(), self.element, (ROWS, COLS), steps) }.unwrap()
    }

    /// The integer at a place, or the bits of the float.
    fn at(&self, row: usize, col: usize) -> i32 {
        self.number(if self.is_transposed { row + col * (ROWS + 3) } else { row * (COLS + 2) + col })
    }

    fn spread_at(&self, steps: (usize, usize), row: usize, col: usize) -> i32 {
        if steps == (1, 1) { self.at(row, col) } else { self.number(row * steps.0 + col * steps.1) }
    }

    /// What a binary stage or a residual has there, before it is scaled.
    fn float_of(&self, number: i32, zero_point: i32) -> f32 {
        if self.element.is_float() {
            return f32::from_bits(number as u32);
        }
        wrapped(i128::from(number) - i128::from(zero_point)) as f32
    }

    fn number(&self, index: usize) -> i32 {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let at = &bytes[index * self.element.size()..];
        match self.element {
            Element::U8 => at[0].into(),
            Element::I8 => (at[0] as i8).into(),
            Element::I16 => i16::from_ne_bytes([at[0], at[1]]).into(),
            Element::I32 | Element::F32 => i32::from_ne_bytes([at[0], at[1], at[2], at[3]]),
            Element::Bf16 => from_bf16(u16::from_ne_bytes([at[0], at[1]])).to_bits() as i32,
            Element::F16 => from_f16(u16::from_ne_bytes([at[0], at[1]])).to_bits() as i32,
        }
    }
}

fn wrapped(x: i128) -> i32 {
    x as i32
}

fn scaled(x: i32, multiplier: i32, exponent: i32, rounding: Rounding) -> i32 {
    let (x, m) = (i128::from(x), i128::from(multiplier));
    let (left, right) = (exponent.max(0) as u32, -exponent.min(0) as u32);
    let product = || i128::from(saturated(nearest_up(i128::from(saturated(x << left)) * m, 31)));
    match rounding {
        Rounding::Twice => wrapped(nearest_away(product(), right)),
        Rounding::TwiceUp => wrapped(nearest_up(product(), right)),
        Rounding::Once => saturated(nearest_up(x * m, (31 - exponent) as u32)),
    }
}

/// The nearest integer of a float, ties to even, as integers have it; 0 for NaN.
fn nearest_even(x: impl Into<f64>) -> i32 {
    let x = x.into();
    if x.is_nan() {
        return 0;
    }
    let floor = x.floor();
    let rest = x - floor;
    let is_up = rest > 0.5 || rest == 0.5 && floor % 2.0 != 0.0;
    (floor + f64::from(u8::from(is_up))).clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

impl Case {
    /// The definition of the stage.
    fn of(&self, x: i32, row: usize, col: usize) -> i32 {
        match self {
            Case::Bias(bias) => wrapped(i128::from(x) + i128::from(bias.at(row, col))),
            Case::QuantizeDown(offset, multiplier, shift) => {
                let sum = wrapped(i128::from(x) + i128::from(offset.at(row, col)));
                let product = wrapped(i128::from(sum) * i128::from(multiplier.at(row, col)));
                wrapped(nearest_away(product.into(), shift.at(row, col) as u32))
            }
            Case::Scale(multiplier, exponent, offset_after, rounding) => {
                let y = scaled(x, multiplier.at(row, col), exponent.at(row, col), *rounding);
                wrapped(i128::from(y) + i128::from(*offset_after))
            }
            Case::Clamp(min, max) if x > *max || min > max => *max,
            Case::Clamp(min, _) => x.max(*min),
            Case::Tanh(zero, amplitude) => Tanh::new(*zero, *amplitude).unwrap().of(x),
            Case::Logistic(zero, amplitude) => Logistic::new(*zero, *amplitude, -128, 256).unwrap().of(x),
            Case::ScaleF32(scale, offset_after) => {
                let y = nearest_even(x as f32 * scale.at(row, col));
                wrapped(i128::from(y) + i128::from(*offset_after))
            }
            Case::Residual(tensor, zero_point, multiplier, exponent, rounding) => {
                let r = wrapped(i128::from(tensor.at(row, col)) - i128::from(*zero_point));
                wrapped(i128::from(x) + i128::from(scaled(r, *multiplier, *exponent, *rounding)))
            }
            Case::Table(entries, is_from_signed, is_to_signed) => {
                let byte = if *is_from_signed { x.clamp(-128, 127) as u8 } else { x.clamp(0, 255) as u8 };
                let entry = entries[usize::from(byte)];
                if *is_to_signed { (entry as i8).into() } else { entry.into() }
            }
            Case::Weighted(before, alpha, beta, offset) => {
                let before = if *beta == 0.0 { 0 } else { before.at(row, col) };
                let [alpha, beta] = [alpha, beta].map(|&weight| f64::from(weight));
                let [x, before, offset] = [x, before, offset.at(row, col)].map(f64::from);
                nearest_even(alpha * x + beta * before + offset)
            }
            Case::Floats(scale, stages, back, zero_point, is_zero_first) => {
                let mut y = x as f32 * scale.at(row, col);
                for stage in stages {
                    y = stage.of(y, row, col);
                }
                if *is_zero_first {
                    return nearest_even(y * back.at(row, col) + *zero_point as f32);
                }
                wrapped(i128::from(nearest_even(y * back.at(row, col))) + i128::from(*zero_point))
            }
        }
    }

    /// The stage itself, or several.
    fn push<'a>(&'a self, stages: &mut Vec<Stage<'a>>) {
        let last = match self {
            Case::Bias(bias) => Stage::Bias(bias.values()),
            Case::QuantizeDown(offset, multiplier, shift) => Stage::QuantizeDown(QuantizeDown {
                offset: offset.values(),
                multiplier: multiplier.values(),
                shift: shift.values(),
            }),
            &Case::Scale(ref multiplier, ref exponent, offset_after, rounding) => {
                let (multiplier, exponent) = (multiplier.values(), exponent.values());
                Stage::Scale(Scale::new(multiplier, exponent, offset_after, rounding).unwrap())
            }
            &Case::Clamp(min, max) => Stage::Clamp { min, max },
            &Case::Tanh(zero, amplitude) => Stage::Tanh(Tanh::new(zero, amplitude).unwrap()),
            &Case::Logistic(zero, amplitude) => Stage::Logistic(Logistic::new(zero, amplitude, -128, 256).unwrap()),
            Case::ScaleF32(scale, offset_after) => {
                Stage::ScaleF32 { scale: scale.values(), offset_after: *offset_after }
            }
            &Case::Residual(ref tensor, zero_point, multiplier, exponent, rounding) => {
                Stage::Residual { residual: tensor.residual(), zero_point, multiplier, exponent, rounding }
            }
            &Case::Table(ref entries, is_from_signed, is_to_signed) => {
                let encoding = |is_signed| if is_signed { Encoding::S8 } else { Encoding::U8 };
                Stage::Table(Table { entries, from: encoding(is_from_signed), to: encoding(is_to_signed) })
            }
            &Case::Weighted(ref before, alpha, beta, ref offset) => {
                let before = (beta != 0.0).then(|| before.residual());
                Stage::Weighted(Weighted { alpha, beta, before, offset: offset.values() })
            }
            &Case::Floats(ref scale, ref cases, ref back, zero_point, is_zero_first) => {
                stages.push(Stage::Dequantize(scale.values()));
                stages.extend(cases.iter().map(FloatCase::stage));
                let scale = back.values();
                match is_zero_first {
                    true => Stage::QuantizeZeroFirst { scale, zero_point },
                    false => Stage::Quantize { scale, zero_point },
                }
            }
        };
        stages.push(last);
    }
}

fn parameter<T: Copy + std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Parameter<T>> {
    (0u8..3, vec(value, COLS.max(ROWS))).prop_map(|(axis, values)| Parameter { axis, values })
}

fn tensor(elements: &'static [Element]) -> impl Strategy<Value = Tensor> {
    let word = prop_oneof![any::<u32>(), (-1000f32..1000.0).prop_map(f32::to_bits)];
    let words = vec(word, (ROWS + 3) * (COLS + 2));
    (proptest::sample::select(elements), any::<bool>(), words).prop_map(|(element, is_transposed, mut words)| {
        if element == Element::F32 {
            words.iter_mut().for_each(|word| *word = f32::from_bits(*word).clamp(-1e6, 1e6).max(-1e6).to_bits());
        }
        Tensor { element, is_transposed, words }
    })
}

fn number() -> impl Strategy<Value = i32> {
    let extreme = prop_oneof![Just(i32::MIN), Just(i32::MAX), Just(0), Just(-1), Just(1)];
    prop_oneof![2 => any::<i32>(), 4 => -70_000i32..70_000, 1 => extreme]
}

fn rounding() -> impl Strategy<Value = Rounding> {
    prop_oneof![Just(Rounding::Twice), Just(Rounding::TwiceUp), Just(Rounding::Once)]
}

fn exponent() -> impl Strategy<Value = i32> {
    prop_oneof![3 => -12i32..1, 1 => -31i32..=30]
}

/// Powers of two make ties.
fn multiplier() -> impl Strategy<Value = i32> {
    prop_oneof![3 => (1i32 << 30)..=i32::MAX, 2 => Just(1 << 30), 1 => any::<i32>()]
}

fn scale() -> impl Strategy<Value = f32> {
    prop_oneof![3 => 0f32..0.01, 1 => Just(0.5f32), 1 => Just(0.125f32), 1 => -1e9f32..1e9]
}

fn case() -> impl Strategy<Value = Case> {
    const INTEGERS: &[Element] = &[Element::U8, Element::I8, Element::I16, Element::I32];
    prop_oneof![
        1 => parameter(number()).prop_map(Case::Bias),
        1 => (parameter(number()), parameter(-100i32..100), parameter(0i32..=31))
            .prop_map(|(offset, multiplier, shift)| Case::QuantizeDown(offset, multiplier, shift)),
        3 => (parameter(multiplier()), parameter(exponent()), number(), rounding())
            .prop_map(|(multiplier, exponent, after, rounding)| Case::Scale(multiplier, exponent, after, rounding)),
        1 => (number(), number()).prop_map(|(min, max)| Case::Clamp(min, max)),
        1 => (-1000i32..1000, 0i32..100_000).prop_map(|(zero, amplitude)| Case::Tanh(zero, amplitude)),
        1 => (-1000i32..1000, 1i32..100_000).prop_map(|(zero, amplitude)| Case::Logistic(zero, amplitude)),
        1 => (parameter(scale()), number()).prop_map(|(scale, after)| Case::ScaleF32(scale, after)),
        1 => (tensor(INTEGERS), -200i32..200, multiplier(), exponent(), rounding())
            .prop_map(|(tensor, zero, multiplier, exponent, rounding)| {
                Case::Residual(tensor, zero, multiplier, exponent, rounding)
            }),
        1 => (vec(any::<u8>(), 256), any::<bool>(), any::<bool>())
            .prop_map(|(entries, from, to)| Case::Table(entries.try_into().unwrap(), from, to)),
        1 => (tensor(&[Element::I32]), scale(), prop_oneof![Just(0f32), -2f32..2.0], parameter(number()))
            .prop_map(|(before, alpha, beta, offset)| Case::Weighted(before, alpha, beta, offset)),
        2 => (parameter(scale()), vec(float_case(), 0..4), parameter(scale()), number(), any::<bool>())
            .prop_map(|(scale, stages, back, zero, is_first)| Case::Floats(scale, stages, back, zero, is_first)),
    ]
}

fn offsets() -> impl Strategy<Value = (i32, i32)> {
    prop_oneof![Just((0, 0)), (-255i32..=255, -255i32..=255), (any::<i32>(), any::<i32>())]
}

/// The pipelines that have a way of their own.
fn layer() -> impl Strategy<Value = Vec<Case>> {
    let bias = || vec(parameter(number()).prop_map(Case::Bias), 0..2);
    let exponent = || prop_oneof![9 => -31i32..=0, 1 => exponent()];
    let scale = prop_oneof![
        3 => (parameter(multiplier()), parameter(exponent()), number(), rounding())
            .prop_map(|(multiplier, exponent, after, rounding)| Case::Scale(multiplier, exponent, after, rounding)),
        1 => (parameter(scale()), number()).prop_map(|(scale, after)| Case::ScaleF32(scale, after)),
    ];
    let clamp = || vec((number(), number()).prop_map(|(min, max)| Case::Clamp(min, max)), 0..2);
    let down = (parameter(number()), parameter(-1000i32..1000), parameter(0i32..=31))
        .prop_map(|(offset, multiplier, shift)| Case::QuantizeDown(offset, multiplier, shift));
    let scaled = (bias(), scale, clamp());
    let down = (prop_oneof![4 => Just(vec![]), 1 => bias()], down, clamp());
    prop_oneof![
        4 => scaled.prop_map(|(bias, scale, clamp)| bias.into_iter().chain([scale]).chain(clamp).collect()),
        1 => down.prop_map(|(bias, down, clamp)| bias.into_iter().chain([down]).chain(clamp).collect()),
    ]
}

/// Those of a network as it is: vectors scale in floats what suits, and what is in doubt in fixed point.
fn usual_layer() -> impl Strategy<Value = Vec<Case>> {
    let bias = vec(parameter(-5_000i32..5_000).prop_map(Case::Bias), 0..2);
    // Half of them are coarse now and then, so that there are ties.
    let multiplier = prop_oneof![(1i32 << 30)..=i32::MAX, ((1i32 << 20)..1 << 21).prop_map(|x| x << 10)];
    let scale = (parameter(multiplier), parameter(-14i32..=0), -256i32..=256, rounding())
        .prop_map(|(multiplier, exponent, after, rounding)| Case::Scale(multiplier, exponent, after, rounding));
    let clamp = vec((-128i32..256, -128i32..256).prop_map(|(x, y)| Case::Clamp(x.min(y), x.max(y))), 0..2);
    (bias, scale, clamp).prop_map(|(bias, scale, clamp)| bias.into_iter().chain([scale]).chain(clamp).collect())
}

/// What the sums of a tile are of.
const DEPTH: usize = 3;

/// The sum of the tile's row or column `i`.
fn line_sum(i: usize) -> i32 {
    i as i32 * 70 - 500
}

/// Finishes a tile on a kernel, into a result that is otherwise full of `canary`.
fn finished<T: Copy>(
    kernel: &Kernel,
    stages: &[Stage],
    (rows, cols): (Range<usize>, Range<usize>),
    (sums, offsets): (&[i32], (i32, i32)),
    canary: T,
    store: for<'a> fn(Output<'a, T>) -> Store<'a>,
) -> Vec<T> {
    let mut result = vec![canary; ROWS * COLS];
    let mut acc = vec![i32::MIN; rows.len() * kernel.width];
    for (acc, sums) in acc.chunks_mut(kernel.width).zip(sums.chunks(cols.len())) {
        acc[..cols.len()].copy_from_slice(sums);
    }
    let line_sums: Vec<i32> = (0..MAX_WIDTH).map(line_sum).collect();
    let uniform = |offset| LineOffsets { offset: Offset::Uniform(offset), shift: 0 };
    let region = Region {
        rows,
        cols,
        depth: DEPTH,
        row_sums: &line_sums,
        row_originals: &[],
        col_originals: &[],
        col_sums: &line_sums,
        row_offsets: uniform(offsets.0),
        col_offsets: uniform(offsets.1),
        rescale: None,
    };
    let finish = Finish::new(stages, store(Output::new(&mut result, (ROWS, COLS), COLS)));
    // SAFETY: the kernel is available, and the result ours.
    unsafe { (kernel.finish)(&finish, &region, &mut acc, &mut vec![7; 2 * kernel.tile_len()]) }
    result
}

/// What the pipeline starts from at a place of the result, if that lies within the tile.
fn sum_at(
    (rows, cols): &(Range<usize>, Range<usize>),
    (sums, offsets): (&[i32], (i32, i32)),
    row: usize,
    col: usize,
) -> Option<i32> {
    if !rows.contains(&row) || !cols.contains(&col) {
        return None;
    }
    let (i, j) = (row - rows.start, col - cols.start);
    let (a, b) = (i128::from(offsets.0), i128::from(offsets.1));
    let row_sum = i128::from(line_sum(i)) + DEPTH as i128 * a;
    Some(wrapped(i128::from(sums[i * cols.len() + j]) + b * row_sum + a * i128::from(line_sum(j))))
}

/// Checks every store of a tile with these sums, somewhere in the result, on every kernel.
#[expect(clippy::redundant_closure, reason = "a variant's own name is not general enough over lifetimes")]
fn check(
    cases: &[Case],
    rows: Range<usize>,
    cols: Range<usize>,
    (sums, offsets): (&[i32], (i32, i32)),
) -> Result<(), TestCaseError> {
    let mut stages = Vec::new();
    cases.iter().for_each(|case| case.push(&mut stages));
    for kernel in Kernel::available().chain(odd()) {
        let tile =
            (rows.start..rows.end.min(rows.start + kernel.rows), cols.start..cols.end.min(cols.start + kernel.width));
        let want = |row: usize, col: usize| {
            let sum = sum_at(&tile, (sums, offsets), row, col);
            sum.map(|sum| cases.iter().fold(sum, |x, case| case.of(x, row, col)))
        };
        let places: Vec<_> = (0..ROWS * COLS).map(|i| want(i / COLS, i % COLS)).collect();
        macro_rules! check {
            ($canary:expr, $store:expr, $of:expr) => {
                let got = finished(kernel, &stages, tile.clone(), (sums, offsets), $canary, $store);
                let want: Vec<_> = places.iter().map(|x| x.map_or($canary, $of)).collect();
                let wrong = (0..got.len()).find(|&i| got[i] != want[i]);
                let wrong = wrong.map(|i| (i / COLS, i % COLS, got[i], want[i]));
                prop_assert!(wrong.is_none(), "{}: row, column, got, want: {wrong:?}", kernel.name);
            };
        }
        check!(77i32, |out| Store::I32(out), |x| x);
        check!(77u8, |out| Store::U8(out, Cast::Saturating), |x| x.clamp(0, 255) as u8);
        check!(77i8, |out| Store::I8(out, Cast::Saturating), |x| x.clamp(-128, 127) as i8);
        check!(77i16, |out| Store::I16(out, Cast::Saturating), |x| x.clamp(-32768, 32767) as i16);
        check!(77u8, |out| Store::U8(out, Cast::Truncating), |x| x.rem_euclid(256) as u8);
        check!(77i8, |out| Store::I8(out, Cast::Truncating), |x| {
            ((i64::from(x) + 128).rem_euclid(256) - 128) as i8
        });
        check!(77i16, |out| Store::I16(out, Cast::Truncating), |x| {
            ((i64::from(x) + 32768).rem_euclid(65536) - 32768) as i16
        });
        stages.push(Stage::Dequantize(Values::Uniform(0.37)));
        check!(77f32, |out| Store::F32(out), |x| x as f32 * 0.37);
        check!(77u16, |out| Store::Bf16(out), |x| to_bf16(x as f32 * 0.37));
        check!(77u16, |out| Store::F16(out), |x| to_f16(x as f32 * 0.37));
        stages.pop();
    }
    Ok(())
}

#[test]
fn sums_of_the_greatest_numbers_and_an_offset_wrap_around() {
    let sums: Vec<i32> = (0..(MAX_ROWS * MAX_WIDTH) as i32)
        .map(|i| if i % 2 == 0 { i32::MIN + 7 * i } else { i32::MAX - 7 * i })
        .collect();
    let all = |value| Parameter { axis: 0, values: vec![value] };
    let floats = [1.0, -1.0, 0.5, -0.5, 0.49, 3.0].map(f32::to_bits);
    for after in [-256, -100, -1, 0, 1, 100, 256] {
        let scaled = [i32::MAX, (1 << 30) + 1].into_iter().flat_map(|multiplier| {
            [Rounding::Twice, Rounding::TwiceUp, Rounding::Once].into_iter().flat_map(move |rounding| {
                [0, -1].map(|exponent| Case::Scale(all(multiplier), all(exponent), after, rounding))
            })
        });
        let scaled_f32 =
            floats.map(|bits| Case::ScaleF32(Parameter { axis: 0, values: vec![f32::from_bits(bits)] }, after));
        for case in scaled.chain(scaled_f32) {
            check(&[case], 0..MAX_ROWS, 0..MAX_WIDTH, (&sums, (0, 0))).unwrap();
        }
    }
}

/// Where bytes below the offset exist, ties of negative products matter.
#[test]
fn ties_of_negative_products_go_where_the_rule_says() {
    let sums: Vec<i32> = (0..(MAX_ROWS * MAX_WIDTH) as i32).map(|i| 40 - i).collect();
    let all = |value| Parameter { axis: 0, values: vec![value] };
    for (offset, exponent) in [0, 1, 50, 100].into_iter().flat_map(|offset| (-6..=-1).map(move |x| (offset, x))) {
        for rounding in [Rounding::Twice, Rounding::TwiceUp, Rounding::Once] {
            let case = Case::Scale(all(1_518_500_250), all(exponent), offset, rounding);
            check(&[case], 0..MAX_ROWS, 0..MAX_WIDTH, (&sums, (0, 0))).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_pipeline_does_what_its_stages_say(
        cases in vec(case(), 0..5),
        (first_row, rows, first_col, cols) in (0usize..5, 1usize..=MAX_ROWS, 0usize..7, 1usize..=MAX_WIDTH),
        sums in vec(number(), MAX_ROWS * MAX_WIDTH),
        offsets in offsets(),
    ) {
        check(&cases, first_row..first_row + rows, first_col..first_col + cols, (&sums, offsets))?;
    }

    #[test]
    fn layers_do_what_their_stages_say(
        cases in layer(),
        (first_row, rows, first_col, cols) in (0usize..5, 1usize..=MAX_ROWS, 0usize..7, 1usize..=MAX_WIDTH),
        sums in vec(number(), MAX_ROWS * MAX_WIDTH),
        offsets in offsets(),
    ) {
        check(&cases, first_row..first_row + rows, first_col..first_col + cols, (&sums, offsets))?;
    }

    #[test]
    fn usual_layers_do_what_their_stages_say(
        cases in usual_layer(),
        (first_row, rows, first_col, cols) in (0usize..5, 1usize..=MAX_ROWS, 0usize..7, 1usize..=MAX_WIDTH),
        sums in vec(-70_000i32..70_000, MAX_ROWS * MAX_WIDTH),
        offsets in prop_oneof![Just((0, 0)), (-255i32..=255, -255i32..=255)],
    ) {
        check(&cases, first_row..first_row + rows, first_col..first_col + cols, (&sums, offsets))?;
    }
}
