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
