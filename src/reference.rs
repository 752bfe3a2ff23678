//! Operations as their definitions have them, in wide arithmetic: what the tests compare with.

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
