//! Operations as their definitions have them, in wide arithmetic: what the tests compare with.

use crate::bit_depth::RoundingMode;

/// Σ a(i, d) · b(d, j) for every row i and column j, as 32 bits keep it.
pub(crate) fn product(
    (rows, cols, depth): (usize, usize, usize),
    a: impl Fn(usize, usize) -> i64,
    b: impl Fn(usize, usize) -> i64,
) -> Vec<i32> {
    let sum = |i, j| (0..depth).map(|d| a(i, d).wrapping_mul(b(d, j))).fold(0, i64::wrapping_add);
    (0..rows * cols).map(|i| sum(i / cols, i % cols) as i32).collect()
}

/// The integer nearest to `x / 2^exponent`, the larger of two.
pub(crate) fn nearest_up(x: i128, exponent: u32) -> i128 {
    (2 * x + (1 << exponent)).div_euclid(2 << exponent)
}

/// The integer nearest to `x / 2^exponent`, of two the one farther from zero.
pub(crate) fn nearest_away(x: i128, exponent: u32) -> i128 {
    nearest_up(x.abs(), exponent) * x.signum()
}

/// The nearest number that an i32 can hold.
pub(crate) fn saturated(x: i128) -> i32 {
    x.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// FNV-1a, in 64 bits, of the bytes of these numbers, the lowest first: what tests keep of another library's results.
pub(crate) fn hash(numbers: impl IntoIterator<Item = i32>) -> u64 {
    let bytes = numbers.into_iter().flat_map(i32::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The product of operands that are requantized to so many bits, as gemmlowp had it. The operands are given by line and
/// depth, as elements from 0 to 255 and what is added to them.
pub(crate) fn requantized_product(
    (rows, cols, depth): (usize, usize, usize),
    bits: (u32, u32),
    mode: RoundingMode,
    lhs: impl Fn(usize, usize) -> (i32, i32),
    rhs: impl Fn(usize, usize) -> (i32, i32),
) -> Vec<i32> {
    let (l, r) = ((1i64 << bits.0) - 1, (1i64 << bits.1) - 1);
    let sequence = xorshift();
    let requantized = |element: i32, levels: i64, add_mod: usize, xorshift: usize| {
        let added = match mode {
            RoundingMode::Nearest | RoundingMode::Compensated => 127,
            RoundingMode::AddMod => add_mod % 255,
            RoundingMode::Xorshift => sequence[xorshift % 255],
        };
        if levels == 255 { i64::from(element) } else { (i64::from(element) * levels + added as i64) / 255 }
    };
    let mut results = Vec::new();
    for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        let (mut products, mut row, mut col) = (0i64, 0i64, 0i64);
        let (a, b) = if depth == 0 { (0, 0) } else { (lhs(i, 0).1, rhs(j, 0).1) };
        for d in 0..depth {
            let x = requantized(lhs(i, d).0, l, 1 + 97 * (d + 1) + 157 * i, d + 79 * i);
            let y = requantized(rhs(j, d).0, r, 1 + 154 * (d + 1) + 101 * j, 247 * d + 209 * j);
            (products, row, col) = (products + x * y, row + x, col + y);
        }
        let terms = [
            rescaled(products as i32, 255 * 255, l * r),
            rescaled((row as i32).wrapping_mul(b), 255, l),
            rescaled((col as i32).wrapping_mul(a), 255, r),
            a.wrapping_mul(b).wrapping_mul(depth as i32),
        ];
        let sum = terms.into_iter().fold(0, i32::wrapping_add);
        let exact = |side: &dyn Fn(usize) -> i32| (0..depth).map(|d| i64::from(side(d))).sum::<i64>();
        let means = |levels: i64, requantized: i64, exact: i64, offset: i32| {
            let growth = (255 * requantized - levels * exact) as f64 * (levels as f64).recip();
            let sum = exact as f64 + f64::from(offset) * depth as f64;
            ((sum + growth * 0.5) as f32, (growth * (depth as f64).recip()) as f32)
        };
        let (x_middle, x_error) = means(l, row, exact(&|d| lhs(i, d).0), a);
        let (y_middle, y_error) = means(r, col, exact(&|d| rhs(j, d).0), b);
        let error = (x_error * y_middle + x_middle * y_error).round_ties_even() as i32;
        results.push(if mode == RoundingMode::Compensated { sum.wrapping_sub(error) } else { sum });
    }
    results
}

/// gemmlowp's product of a number and a constant fraction, as its source had it.
fn rescaled(x: i32, numerator: i64, denominator: i64) -> i32 {
    if numerator == denominator {
        return x;
    }
    let quotient = (numerator + denominator / 2) / denominator;
    let scaled = (numerator - quotient * denominator) * (1 << 31) / denominator;
    let product = i64::from(x) * scaled;
    let nudge = if product > 0 { 1 << 30 } else { -(1 << 30) };
    (i64::from(x) * quotient + (product + nudge) / (1 << 31)) as i32
}

/// The numbers of gemmlowp's generator, each less one.
fn xorshift() -> Vec<usize> {
    let next = |x: &u8| {
        let x = x ^ x << 7;
        let x = x ^ x >> 5;
        Some(x ^ x << 3)
    };
    std::iter::successors(Some(128u8), next).map(|x| usize::from(x) - 1).take(255).collect()
}
