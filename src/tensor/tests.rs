//! Every kernel, shape and number of threads against the definition, element by element.

use super::*;
use crate::elements::{Elements, ElementsMut, Strided};
use crate::kernel::Kernel;
use crate::matrix::Order;
use crate::output::Rounding;
use crate::quantize::Scheme;
use crate::range::ElementRange;
use std::cell::Cell;

const S8: ElementRange = ElementRange { least: -128, greatest: 127 };

/// All the same, channels side by side (few, many, very many), in runs (short and long), and enough for threads. Odd numbers of
/// channels have different zero points, and only even numbers of periods some exponents above 0.
const SHAPES: [(usize, usize, usize); 20] = [
    (1, 1, 0),
    (2, 3, 0),
    (1, 1, 1),
    (3, 1, 100),
    (50, 3, 1),
    (1, 128, 1),
    (3, 300, 1),
    (2, 1300, 1),
    (2, 400, 3),
    (5, 7, 2),
    (4, 90, 3),
    (2, 5, 130),
    (3, 5, 128),
    (3, 4, 100),
    (1, 2, 53_000),
    (400, 299, 1),
    (61, 1301, 1),
    (9, 40, 49),
    (33, 5, 7),
    (1, 1, 70_001),
];

fn number(i: usize) -> f32 {
    let noise = (i as u32).wrapping_mul(2654435761) >> 8;
    match noise % 64 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => -1e30,
        3..10 => (noise % 41) as f32 / 4.0 - 5.0,
        _ => noise as f32 / (1 << 20) as f32 - 8.0,
    }
}

thread_local! {
    /// Whether results are written past the caches.
    static IS_FAR: Cell<bool> = const { Cell::new(false) };
}

/// Calls `check` for every kernel and shape, and some numbers of threads; results are near, or far.
fn each_way(check: impl Fn(&Context, Channels, &str)) {
    for kernel in Kernel::available() {
        for (outer, channels, inner) in SHAPES {
            let is_large = outer * channels * inner > 100_000;
            for threads in [1, 3].into_iter().skip(is_large.into()) {
                let case = format!("{} {outer} x {channels} x {inner} on {threads}", kernel.name);
                let context = Context::new(kernel, threads);
                for is_far in [false, true] {
                    IS_FAR.set(is_far);
                    check(&context, Channels { outer, channels, inner }, &case);
                }
            }
        }
    }
}

fn elements<T: Copy>(of: &[T]) -> Elements<'_, T> {
    // SAFETY: a slice.
    unsafe { Elements::from_raw(of.as_ptr(), of.len()) }
}

fn elements_mut<T: Copy>(of: &mut [T]) -> ElementsMut<'_, T> {
    // SAFETY: a slice that nobody else has.
    let elements = unsafe { ElementsMut::from_raw(of.as_mut_ptr(), of.len()) };
    if IS_FAR.get() { elements.far() } else { elements }
}

fn scales_of(channels: Channels) -> Vec<f32> {
    (0..channels.channels).map(|c| if c % 3 == 0 { 0.25 } else { 0.01 * (c % 17 + 1) as f32 }).collect()
}

fn zero_points_of(channels: Channels) -> Vec<i32> {
    let step = if channels.channels.is_multiple_of(2) { 0 } else { 7 };
    (0..channels.channels).map(|c| (c as i32 * step + 60) % 256 - 128).collect()
}

fn channel(channels: Channels, i: usize) -> usize {
    i / channels.inner % channels.channels
}

#[test]
fn every_kernel_agrees_on_quantized_numbers() {
    each_way(|context, channels, case| {
        let (scales, zero_points) = (scales_of(channels), zero_points_of(channels));
        let from: Vec<f32> = (0..channels.len()).map(number).collect();
        for rule in [ToInteger::Divide, ToInteger::Multiply, ToInteger::DivideAway] {
            let mut got = vec![0i8; from.len()];
            let to = IntegersMut::I8(elements_mut(&mut got));
            quantize(context, rule, (&scales, Some(&zero_points)), S8, channels, elements(&from), to);
            for (i, (&got, &x)) in got.iter().zip(&from).enumerate() {
                let (scale, zero_point) = (scales[channel(channels, i)], zero_points[channel(channels, i)]);
                let nearest = match rule {
                    ToInteger::Divide => (x / scale).round_ties_even(),
                    ToInteger::Multiply => (x * (1.0 / scale)).round_ties_even(),
                    ToInteger::DivideAway => (x / scale).round(),
                };
                let want = (i64::from(nearest as i32) + i64::from(zero_point)).clamp(-128, 127);
                assert_eq!(i64::from(got), want, "{case}: {rule:?} {x} / {scale} + {zero_point}");
            }
        }
    });
}

#[test]
fn every_kernel_agrees_on_requantized_numbers() {
    each_way(|context, channels, case| {
        let (scales, zero_points) = (scales_of(channels), zero_points_of(channels));
        let multipliers: Vec<i32> = (0..channels.channels).map(|c| (3 << 29) + c as i32 * 12345).collect();
        let below = if channels.outer.is_multiple_of(2) { 9 } else { 11 };
        let exponents: Vec<i32> = (0..channels.channels).map(|c| (c % 12) as i32 - below).collect();
        let from: Vec<i32> = (0..channels.len()).map(|i| (i as i32).wrapping_mul(-1640531527) >> (i % 25)).collect();
        let zeros = (Some(&zero_points[..]), Some(&zero_points[..]));
        let mut got = vec![0i8; from.len()];
        for rounding in [Rounding::Twice, Rounding::TwiceUp, Rounding::Once] {
            let arithmetic = Arithmetic::FixedPoint { rounding, multipliers: &multipliers, exponents: &exponents };
            let to = IntegersMut::I8(elements_mut(&mut got));
            requantize(context, arithmetic, zeros, S8, channels, Integers::I32(elements(&from)), to);
            for (i, (&got, &x)) in got.iter().zip(&from).enumerate() {
                let c = channel(channels, i);
                let scaled = rounding.scaled(x.wrapping_sub(zero_points[c]), multipliers[c], exponents[c]);
                let want = (i64::from(scaled) + i64::from(zero_points[c])).clamp(-128, 127);
                assert_eq!(i64::from(got), want, "{case}: {rounding:?} {x}");
            }
        }
        for zero_point in [ZeroPoint::AfterRounding, ZeroPoint::BeforeRounding] {
            let arithmetic = Arithmetic::Float { scales: &scales, zero_point };
            let to = IntegersMut::I8(elements_mut(&mut got));
            requantize(context, arithmetic, zeros, S8, channels, Integers::I32(elements(&from)), to);
            for (i, (&got, &x)) in got.iter().zip(&from).enumerate() {
                let (scale, zero) = (scales[channel(channels, i)], zero_points[channel(channels, i)]);
                let scaled = x.wrapping_sub(zero) as f32 * scale;
                let want = match zero_point {
                    ZeroPoint::AfterRounding => i64::from(scaled.round_ties_even() as i32) + i64::from(zero),
                    ZeroPoint::BeforeRounding => i64::from((scaled + zero as f32).round_ties_even() as i32),
                };
                assert_eq!(i64::from(got), want.clamp(-128, 127), "{case}: {zero_point:?} {x}");
            }
        }
    });
}

#[test]
fn numbers_and_factors_may_be_as_great_as_can_be() {
    let ends = [i32::MIN, i32::MIN + 1, -(1 << 30), -3, -1, 0, 1, 2, 1 << 30, (1 << 30) + 1, i32::MAX - 1, i32::MAX];
    let from: Vec<i32> = (0..130).map(|i| ends[i % ends.len()].wrapping_add((i / 60) as i32)).collect();
    let channels = Channels { outer: 1, channels: 1, inner: from.len() };
    let range = ElementRange { least: -32768, greatest: 32767 };
    let roundings = [Rounding::Twice, Rounding::TwiceUp, Rounding::Once];
    for (kernel, rounding) in Kernel::available().flat_map(|kernel| roundings.map(|rounding| (kernel, rounding))) {
        for (multiplier, exponent) in ends.into_iter().flat_map(|x| [-31, -30, -15, -1, 0, 1, 30].map(|e| (x, e))) {
            let arithmetic = Arithmetic::FixedPoint { rounding, multipliers: &[multiplier], exponents: &[exponent] };
            let mut got = vec![0i16; from.len()];
            let to = IntegersMut::I16(elements_mut(&mut got));
            let context = Context::new(kernel, 1);
            requantize(&context, arithmetic, (None, Some(&[7])), range, channels, Integers::I32(elements(&from)), to);
            for (&got, &x) in got.iter().zip(&from) {
                let want = (i64::from(rounding.scaled(x, multiplier, exponent)) + 7).clamp(-32768, 32767);
                assert_eq!(i64::from(got), want, "{} {rounding:?} {x} * {multiplier} * 2^{exponent}", kernel.name);
            }
        }
    }
}

#[test]
fn every_kernel_agrees_on_dequantized_numbers() {
    each_way(|context, channels, case| {
        let (scales, zero_points) = (scales_of(channels), zero_points_of(channels));
        let from: Vec<i16> = (0..channels.len()).map(|i| (i * 7919) as i16).collect();
        let mut got = vec![0f32; from.len()];
        let numbers = Integers::I16(elements(&from));
        dequantize(context, (&scales, Some(&zero_points)), channels, numbers, elements_mut(&mut got));
        for (i, (&got, &x)) in got.iter().zip(&from).enumerate() {
            let c = channel(channels, i);
            assert_eq!(got, (i32::from(x) - zero_points[c]) as f32 * scales[c], "{case}: {x}");
        }
    });
}

/// Blocks of the same number, so that a number in doubt does not have others computed as it is.
#[test]
fn every_kernel_agrees_on_sums_that_become_bytes_around_ties() {
    const SAME: usize = 64;
    let multipliers = [(1 << 30) + 1, 1_518_500_250, 0x5555_5555, i32::MAX, 12_345, 0];
    let roundings = [Rounding::Twice, Rounding::TwiceUp, Rounding::Once];
    for (multiplier, exponent) in multipliers.into_iter().flat_map(|x| [0, -1, -7, -12].map(|e| (x, e))) {
        let tie = |half: i32| f64::from(half) / 2.0 / (f64::from(multiplier) / 2f64.powi(31 - exponent));
        let numbers =
            (-530..530).step_by(3).flat_map(|half| [-1, 0, 1].map(|step| (tie(half) as i32).saturating_add(step)));
        let numbers: Vec<i32> = numbers.chain([i32::MIN, i32::MAX]).collect();
        let from: Vec<i32> = numbers.iter().flat_map(|&x| [x; SAME]).collect();
        for (kernel, rounding) in Kernel::available().flat_map(|kernel| roundings.map(|rounding| (kernel, rounding))) {
            for count in [1, 2] {
                let channels = Channels { outer: from.len() / count, channels: count, inner: 1 };
                let (multipliers, exponents) = (vec![multiplier; count], vec![exponent; count]);
                let arithmetic = Arithmetic::FixedPoint { rounding, multipliers: &multipliers, exponents: &exponents };
                let mut got = vec![0i8; from.len()];
                let to = IntegersMut::I8(elements_mut(&mut got));
                let zeros = (None, Some(&[-100, -100][..count]));
                requantize(
                    &Context::new(kernel, 1),
                    arithmetic,
                    zeros,
                    S8,
                    channels,
                    Integers::I32(elements(&from)),
                    to,
                );
                for (&x, got) in numbers.iter().zip(got.chunks(SAME)) {
                    let want = (i64::from(rounding.scaled(x, multiplier, exponent)) - 100).clamp(-128, 127);
                    let case = format!("{} {rounding:?} {x} * {multiplier} * 2^{exponent}", kernel.name);
                    assert!(got.iter().all(|&got| i64::from(got) == want), "{case}: {} for {want}", got[0]);
                }
            }
        }
    }
}

/// The definition, with comparisons alone.
fn ends(numbers: impl Iterator<Item = f32>) -> (f32, f32) {
    let finite: Vec<f32> = numbers.filter(|x| x.is_finite()).collect();
    let least = finite.iter().copied().reduce(f32::min);
    (least.unwrap_or(0.0), finite.iter().copied().reduce(f32::max).unwrap_or(0.0))
}

#[test]
fn every_kernel_agrees_on_chosen_quantizations() {
    each_way(|context, channels, case| {
        let from: Vec<f32> = (0..channels.len()).map(number).collect();
        for scheme in [Scheme::Affine, Scheme::Symmetric, Scheme::DynamicLinear] {
            let (mut scales, mut zero_points) = (vec![0.0; channels.channels], vec![0; channels.channels]);
            let to = Chosen { scales: elements_mut(&mut scales), zero_points: elements_mut(&mut zero_points) };
            choose(context, scheme, S8, channels, elements(&from), to);
            let mut of_channels = vec![vec![]; channels.channels];
            from.iter().enumerate().for_each(|(i, &x)| of_channels[channel(channels, i)].push(x));
            for (c, of_channel) in of_channels.into_iter().enumerate() {
                let want = scheme.of(ends(of_channel.into_iter()), (-128, 127));
                assert_eq!((scales[c], zero_points[c]), (want.scale, want.zero_point), "{case}: {scheme:?} {c}");
            }
        }
    });
}

/// Every byte, of few and of so many that there is a table, where it lies and elsewhere.
#[test]
fn every_kernel_agrees_on_requantized_bytes() {
    const U8: ElementRange = ElementRange { least: 0, greatest: 255 };
    let (multiplier, exponent, scale, zeros) = (1_500_000_000, 1, 1.4f32, [100, 3]);
    for (kernel, len) in Kernel::available().flat_map(|kernel| [256, 1023, 1024, 3001].map(|len| (kernel, len))) {
        let channels = Channels { outer: 1, channels: 1, inner: len };
        for (from_s8, to_s8, way) in [false, true]
            .into_iter()
            .flat_map(|a| [false, true].map(|b| (a, b)))
            .flat_map(|(a, b)| (0..5).map(move |way| (a, b, way)))
        {
            let rounding = [Rounding::Twice, Rounding::TwiceUp, Rounding::Once][way % 3];
            let zero_point = [ZeroPoint::AfterRounding, ZeroPoint::BeforeRounding][way % 2];
            let arithmetic = match way {
                0..3 => Arithmetic::FixedPoint { rounding, multipliers: &[multiplier], exponents: &[exponent] },
                _ => Arithmetic::Float { scales: &[scale], zero_point },
            };
            let mut got: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let data = got.as_mut_ptr();
            // SAFETY: the vector has `len` elements.
            let (from, to) = unsafe {
                (
                    if from_s8 {
                        Integers::I8(Elements::from_raw(data.cast(), len))
                    } else {
                        Integers::U8(Elements::from_raw(data, len))
                    },
                    if to_s8 {
                        IntegersMut::I8(ElementsMut::from_raw(data.cast(), len))
                    } else {
                        IntegersMut::U8(ElementsMut::from_raw(data, len))
                    },
                )
            };
            let range = if to_s8 { S8 } else { U8 };
            let given = (Some(&zeros[..1]), Some(&zeros[1..]));
            requantize(&Context::new(kernel, 1), arithmetic, given, range, channels, from, to);
            for (i, &got) in got.iter().enumerate() {
                let x = if from_s8 { i32::from(i as u8 as i8) } else { i32::from(i as u8) } - zeros[0];
                let want = match (way, zero_point) {
                    (0..3, _) => rounding.scaled(x, multiplier, exponent) + zeros[1],
                    (_, ZeroPoint::AfterRounding) => (x as f32 * scale).round_ties_even() as i32 + zeros[1],
                    (_, ZeroPoint::BeforeRounding) => (x as f32 * scale + zeros[1] as f32).round_ties_even() as i32,
                };
                let want = want.clamp(range.least, range.greatest) as u8;
                assert_eq!(got, want, "{} {len} {from_s8} {to_s8} {way}: {x}", kernel.name);
            }
        }
    }
}

#[test]
fn every_kernel_agrees_on_quantized_lines() {
    for kernel in Kernel::available() {
        for (lines, depth, segment, threads) in [
            (5, 77, None, 1),
            (200, 40, Some(16), 1),
            (140, 1100, None, 3),
            (2100, 5, None, 1),
            (3, 7, Some(usize::MAX), 1),
            (3, 0, None, 1),
            (3, 0, Some(1), 1),
        ] {
            for order in [Order::DepthContiguous, Order::LineContiguous] {
                let (runs, len) = if order == Order::DepthContiguous { (lines, depth) } else { (depth, lines) };
                let stride = len + 3;
                let numbers: Vec<f32> = (0..runs * stride).map(number).collect();
                let at = |line, d| match order {
                    Order::DepthContiguous => (line * stride + d, line * depth + d),
                    Order::LineContiguous => (d * stride + line, d * lines + line),
                };
                // SAFETY: the vector has so many.
                let from = unsafe { Strided::from_raw(numbers.as_ptr(), (runs, len), stride) };
                let rule = ToInteger::Divide;
                let scheme = Scheme::DynamicLinear;
                let request = Lines { from, order, lines, depth, segment, rule, scheme: Some(scheme), range: S8 };
                let segments = request.segments();
                let (mut scales, mut zeros) = (vec![0.0; lines * segments], vec![0; lines * segments]);
                let mut got = vec![0; lines * depth];
                let found =
                    Found { scales: elements_mut(&mut scales), zero_points: Some(elements_mut(&mut zeros)), sign: -1 };
                request.quantize(&Context::new(kernel, threads), &found, &elements_mut(&mut got));
                let mut given = vec![0; lines * depth];
                Lines { scheme: None, ..request }.quantize(
                    &Context::new(kernel, threads),
                    &found,
                    &elements_mut(&mut given),
                );
                assert_eq!(got, given, "{}", kernel.name);
                for (line, index) in (0..lines).flat_map(|line| (0..segments).map(move |index| (line, index))) {
                    let len = segment.unwrap_or(depth);
                    let depths = index * len..depth.min((index + 1) * len);
                    if depths.is_empty() {
                        continue;
                    }
                    let want = scheme.of(ends(depths.clone().map(|d| numbers[at(line, d).0])), (-128, 127));
                    let found = line * segments + index;
                    assert_eq!((scales[found], -zeros[found]), (want.scale, want.zero_point), "{}", kernel.name);
                    for d in depths {
                        let x = numbers[at(line, d).0];
                        let nearest = i64::from((x / want.scale).round_ties_even() as i32);
                        let byte = (nearest + i64::from(want.zero_point)).clamp(-128, 127) as u8;
                        assert_eq!(got[at(line, d).1], byte, "{} {order:?} {line} {d}", kernel.name);
                    }
                }
            }
        }
    }
}
