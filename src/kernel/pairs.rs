//! Numbers of 16 bits in pairs: made of bytes, multiplied, and the two products added.

/// As many pairs as a vector of 256 bits holds, and sums of their products.
pub(crate) type Pairs = [[i16; 2]; 8];
pub(crate) type Sums = [i32; 8];

/// A loop over [`Pairs`], compiled once for each kind of vectors.
pub(crate) trait PairsLoop {
    /// Always inlined, as is all that it calls; see [`super::Loop::run`].
    ///
    /// `join(upper, lower, flip, pairs)` makes pairs of bytes, which are XORed with `flip` and read as signed.
    /// `add(sums, x, y)` adds x[i][0]·y[i][0] + x[i][1]·y[i][1] to each `sums[i]`; it wraps around, and not all four numbers
    /// are the least of 16 bits.
    fn run(
        self,
        join: impl Fn(&[u8; 8], &[u8; 8], u8, &mut Pairs) + Copy,
        add: impl Fn(&mut Sums, &Pairs, &Pairs) + Copy,
    );
}

/// With what every processor of the architecture has.
pub(super) fn run<L: PairsLoop>(elements: L) {
    elements.run(join, add);
}

#[inline(always)]
fn join(upper: &[u8; 8], lower: &[u8; 8], flip: u8, pairs: &mut Pairs) {
    for ((pair, upper), lower) in pairs.iter_mut().zip(upper).zip(lower) {
        *pair = [i16::from((upper ^ flip) as i8), i16::from((lower ^ flip) as i8)];
    }
}

#[inline(always)]
fn add(sums: &mut Sums, x: &Pairs, y: &Pairs) {
    for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
        let products = i32::from(x[0]) * i32::from(y[0]) + i32::from(x[1]) * i32::from(y[1]);
        *sum = sum.wrapping_add(products);
    }
}

/// The compiler does not find `vpmaddwd` by itself, nor `vpunpcklbw` of few bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn run_avx2<L: PairsLoop>(elements: L) {
    // Closures have the features of the function around them.
    elements.run(|upper, lower, flip, pairs| avx2::join(upper, lower, flip, pairs), |sums, x, y| avx2::add(sums, x, y));
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Pairs, Sums};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn join(upper: &[u8; 8], lower: &[u8; 8], flip: u8, pairs: &mut Pairs) {
        // SAFETY: the loads are of 8 bytes, the store of 32.
        unsafe {
            let (upper, lower) = (_mm_loadl_epi64(upper.as_ptr().cast()), _mm_loadl_epi64(lower.as_ptr().cast()));
            let bytes = _mm_xor_si128(_mm_unpacklo_epi8(upper, lower), _mm_set1_epi8(flip as i8));
            _mm256_storeu_si256(pairs.as_mut_ptr().cast(), _mm256_cvtepi8_epi16(bytes));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add(sums: &mut Sums, x: &Pairs, y: &Pairs) {
        // SAFETY: each is of 32 bytes.
        unsafe {
            let (x, y) = (_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(y.as_ptr().cast()));
            let sum = _mm256_add_epi32(_mm256_loadu_si256(sums.as_ptr().cast()), _mm256_madd_epi16(x, y));
            _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
        }
    }
}
