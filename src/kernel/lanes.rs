//! Numbers of 32 bits in pairs, as lanes of 64: what vectors multiply to 64 bits are every other number of 32.

/// Both numbers of a pair: one in the low bits, the other in the high ones.
#[inline(always)]
fn lane(pair: [i32; 2]) -> i64 {
    // SAFETY: both are 64 bits, of which any are a number.
    unsafe { std::mem::transmute(pair) }
}

/// As [`lane`], the other way round.
#[inline(always)]
fn pair(lane: i64) -> [i32; 2] {
    // SAFETY: as above.
    unsafe { std::mem::transmute(lane) }
}

/// A factor of 32 bits, so often that a loop reads vectors of it. The compiler multiplies 64 bits by 64 unless it sees in
/// the loop itself that 32 are meant, and it only looks there at what is a vector already.
#[derive(Clone, Copy)]
pub(crate) struct Factor([i64; LANES]);

const LANES: usize = 32;

impl Factor {
    pub(crate) fn new(factor: i32) -> Self {
        Self([factor.into(); LANES])
    }
}

/// Makes of each number x the high 32 bits of x · factor + addend: the first of the addends, or the second where the product
/// is negative.
#[inline(always)]
pub(crate) fn multiply_high<const N: usize>(numbers: &mut [i32; N], factor: &Factor, addends: [i64; 2]) {
    const { assert!(N <= 2 * LANES, "there is a factor for each pair") }
    let (pairs, rest) = numbers.as_chunks_mut::<2>();
    for (x, factor) in pairs.iter_mut().zip(&factor.0) {
        *x = high(*x, *factor, addends);
    }
    for x in rest {
        [*x, _] = high([*x; 2], factor.0[0], addends);
    }
}

#[inline(always)]
fn high(numbers: [i32; 2], factor: i64, [addend, of_negative]: [i64; 2]) -> [i32; 2] {
    let (lane, factor) = (lane(numbers), factor << 32 >> 32);
    let (low, high) = ((lane << 32 >> 32).wrapping_mul(factor), (lane >> 32).wrapping_mul(factor));
    let low = low.wrapping_add(if low < 0 { of_negative } else { addend });
    let high = high.wrapping_add(if high < 0 { of_negative } else { addend });
    pair(((low as u64 >> 32) | (high as u64 & !0xffff_ffff)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_as_defined() {
        let factors = [1, -1, 1 << 30, i32::MAX, i32::MIN, 1_500_000_001, -1_234_567_891];
        let numbers: [i32; 63] = std::array::from_fn(|i| match i {
            0..5 => [0, 1, -1, i32::MAX, i32::MIN][i],
            _ => (i as i32).wrapping_mul(-1_640_531_527) >> (i % 20),
        });
        for (factor, addends) in factors.into_iter().flat_map(|x| [(x, [0, 0]), (x, [1 << 40, -3]), (x, [-1 << 31, 5])])
        {
            let mut found = numbers;
            multiply_high(&mut found, &Factor::new(factor), addends);
            for (x, found) in numbers.into_iter().zip(found) {
                let product = i128::from(x) * i128::from(factor);
                let addend = if product < 0 { addends[1] } else { addends[0] };
                assert_eq!(found, ((product + i128::from(addend)) >> 32) as i32, "{x} · {factor}");
            }
        }
    }
}
