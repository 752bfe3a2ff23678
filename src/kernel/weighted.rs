//! Weighted sums of two bytes, brought down to bytes.

/// Bytes that are computed at once.
pub(crate) const BLOCK: usize = 64;

/// The lower part of weights has so many bits.
pub(crate) const LOW: u32 = 15;

/// With `x` and `y` for two bytes XORed with `flip`, and a weight for each that is `high · 2¹⁵ + low`:
/// `(x · x_weight + y · y_weight + offset) / 2^(shift + 15)`, rounded down and saturated to 16 bits. The first of `offsets`
/// counts, or the second where `x · x_high + y · y_high` is less than `turn`. Then the zero point is added, the sum confined to
/// signed bytes from `least` to `greatest`, and these XORed with `result_flip`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighted {
    pub high: [i16; 2],
    pub low: [i16; 2],
    pub offsets: [i32; 2],
    pub turn: i32,
    pub shift: u32,
    pub zero_point: i16,
    pub least: i8,
    pub greatest: i8,
    pub flip: u8,
    pub result_flip: u8,
}

/// A loop over weighted sums, compiled once for each kind of vectors.
pub(crate) trait WeightedLoop {
    /// Always inlined, as is all that it calls; see [`super::Loop::run`]. `sums` computes a block of them.
    fn run(self, sums: impl Fn(&[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]));
}

impl Weighted {
    /// `x · weights[0] + y · weights[1] + offset`, all of which have `shift + 15` bits behind the point, rounded to nearest, ties
    /// up, and confined to signed bytes. `tilts` are added for either of the offsets. None if something does not fit.
    pub(crate) fn nearest(weights: [i64; 2], offset: i64, shift: u32, tilts: [i64; 2]) -> Option<Self> {
        let fraction = shift + LOW;
        let half = 1 << (fraction - 1);
        // Results that the offset adds are added last, so that what remains of it is small.
        let whole = offset.checked_add(2 * half)? >> fraction;
        let rest = offset + half - (whole << fraction);
        let [high_x, high_y] = weights.map(|weight| i16::try_from(weight >> LOW));
        Some(Self {
            high: [high_x.ok()?, high_y.ok()?],
            low: weights.map(|weight| (weight & ((1 << LOW) - 1)) as i16),
            offsets: [i32::try_from(rest + tilts[0]).ok()?, i32::try_from(rest + tilts[1]).ok()?],
            turn: 0,
            shift,
            zero_point: whole.try_into().ok()?,
            least: i8::MIN,
            greatest: i8::MAX,
            flip: 0,
            result_flip: 0,
        })
    }

    /// Whether one of the offsets does for all sums, which saves a fifth of the time.
    fn is_even(&self) -> bool {
        self.offsets[0] == self.offsets[1]
    }

    /// Of one pair.
    #[inline(always)]
    pub(crate) fn sum(&self, x: u8, y: u8) -> u8 {
        let Self { high, low, offsets, turn, shift, zero_point, least, greatest, flip, result_flip } = *self;
        let (x, y) = (i32::from(x ^ flip), i32::from(y ^ flip));
        let upper = x * i32::from(high[0]) + y * i32::from(high[1]);
        let offset = if upper < turn { offsets[1] } else { offsets[0] };
        let lower = (x * i32::from(low[0]) + y * i32::from(low[1])).wrapping_add(offset) >> LOW;
        let number = upper.wrapping_add(lower) >> shift;
        let number = number.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        let byte = number.saturating_add(zero_point).clamp(-128, 127) as i8;
        byte.max(least).min(greatest) as u8 ^ result_flip
    }
}

/// With what every processor of the architecture has.
pub(super) fn run<L: WeightedLoop>(weighted: Weighted, elements: L) {
    elements.run(move |x, y, to| {
        for ((to, x), y) in to.iter_mut().zip(x).zip(y) {
            *to = weighted.sum(*x, *y);
        }
    });
}

/// The compiler does not find `vpmaddwd` by itself, nor that vectors may be cut and joined within their parts of 128 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn run_avx2<L: WeightedLoop>(weighted: Weighted, elements: L) {
    // Closures have the features of the function around them.
    if weighted.is_even() {
        elements.run(move |x, y, to| avx2::sums::<false>(&weighted, x, y, to));
    } else {
        elements.run(move |x, y, to| avx2::sums::<true>(&weighted, x, y, to));
    }
}

/// As [`run_avx2`], twice as many at once.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn run_avx512<L: WeightedLoop>(weighted: Weighted, elements: L) {
    if weighted.is_even() {
        elements.run(move |x, y, to| avx512::sums::<false>(&weighted, x, y, to));
    } else {
        elements.run(move |x, y, to| avx512::sums::<true>(&weighted, x, y, to));
    }
}

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512 {
    use super::{BLOCK, LOW, Weighted};
    use std::arch::x86_64::*;

    /// `TILTED` tells negative sums apart.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn sums<const TILTED: bool>(
        weighted: &Weighted,
        x: &[u8; BLOCK],
        y: &[u8; BLOCK],
        to: &mut [u8; BLOCK],
    ) {
        let flip = _mm512_set1_epi8(weighted.flip as i8);
        let (x, y) = (_mm512_xor_si512(load(x), flip), _mm512_xor_si512(load(y), flip));
        let left = words::<TILTED>(weighted, _mm512_unpacklo_epi8(x, y));
        let right = words::<TILTED>(weighted, _mm512_unpackhi_epi8(x, y));
        let (least, greatest) = (_mm512_set1_epi8(weighted.least), _mm512_set1_epi8(weighted.greatest));
        let bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(left, right), least), greatest);
        let bytes = _mm512_xor_si512(bytes, _mm512_set1_epi8(weighted.result_flip as i8));
        // SAFETY: the reference covers the 64 bytes written.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; BLOCK]) -> __m512i {
        // SAFETY: the reference covers the 64 bytes read.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// Of 32 pairs of bytes, with the zero point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn words<const TILTED: bool>(weighted: &Weighted, pairs: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let left = numbers::<TILTED>(weighted, _mm512_unpacklo_epi8(pairs, zero));
        let right = numbers::<TILTED>(weighted, _mm512_unpackhi_epi8(pairs, zero));
        _mm512_adds_epi16(_mm512_packs_epi32(left, right), _mm512_set1_epi16(weighted.zero_point))
    }

    /// Of 16 pairs of words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn numbers<const TILTED: bool>(weighted: &Weighted, pairs: __m512i) -> __m512i {
        let [offset, of_less] = weighted.offsets.map(|offset| _mm512_set1_epi32(offset));
        let upper = _mm512_madd_epi16(pairs, both(weighted.high));
        let offset = match TILTED {
            true => {
                _mm512_mask_mov_epi32(offset, _mm512_cmplt_epi32_mask(upper, _mm512_set1_epi32(weighted.turn)), of_less)
            }
            false => offset,
        };
        let lower = _mm512_add_epi32(_mm512_madd_epi16(pairs, both(weighted.low)), offset);
        let sum = _mm512_add_epi32(upper, _mm512_srai_epi32::<LOW>(lower));
        _mm512_sra_epi32(sum, _mm_cvtsi32_si128(weighted.shift as i32))
    }

    /// So often.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn both([x, y]: [i16; 2]) -> __m512i {
        _mm512_set1_epi32(i32::from(x) & 0xffff | i32::from(y) << 16)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BLOCK, LOW, Weighted};
    use std::arch::x86_64::*;

    /// `TILTED` tells negative sums apart.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn sums<const TILTED: bool>(
        weighted: &Weighted,
        x: &[u8; BLOCK],
        y: &[u8; BLOCK],
        to: &mut [u8; BLOCK],
    ) {
        for ((to, x), y) in to.as_chunks_mut().0.iter_mut().zip(x.as_chunks().0).zip(y.as_chunks().0) {
            half::<TILTED>(weighted, x, y, to);
        }
    }

    /// Of half a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn half<const TILTED: bool>(weighted: &Weighted, x: &[u8; 32], y: &[u8; 32], to: &mut [u8; 32]) {
        let flip = _mm256_set1_epi8(weighted.flip as i8);
        let (x, y) = (_mm256_xor_si256(load(x), flip), _mm256_xor_si256(load(y), flip));
        let left = words::<TILTED>(weighted, _mm256_unpacklo_epi8(x, y));
        let right = words::<TILTED>(weighted, _mm256_unpackhi_epi8(x, y));
        let (least, greatest) = (_mm256_set1_epi8(weighted.least), _mm256_set1_epi8(weighted.greatest));
        let bytes = _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(left, right), least), greatest);
        let bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(weighted.result_flip as i8));
        // SAFETY: the reference covers the 32 bytes written.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: the reference covers the 32 bytes read.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    /// Of 16 pairs of bytes, with the zero point.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn words<const TILTED: bool>(weighted: &Weighted, pairs: __m256i) -> __m256i {
        let zero = _mm256_setzero_si256();
        let left = numbers::<TILTED>(weighted, _mm256_unpacklo_epi8(pairs, zero));
        let right = numbers::<TILTED>(weighted, _mm256_unpackhi_epi8(pairs, zero));
        _mm256_adds_epi16(_mm256_packs_epi32(left, right), _mm256_set1_epi16(weighted.zero_point))
    }

    /// Of 8 pairs of words.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn numbers<const TILTED: bool>(weighted: &Weighted, pairs: __m256i) -> __m256i {
        let [offset, of_less] = weighted.offsets.map(|offset| _mm256_set1_epi32(offset));
        let upper = _mm256_madd_epi16(pairs, both(weighted.high));
        let offset = match TILTED {
            true => {
                let is_less = _mm256_cmpgt_epi32(_mm256_set1_epi32(weighted.turn), upper);
                _mm256_blendv_epi8(offset, of_less, is_less)
            }
            false => offset,
        };
        let lower = _mm256_add_epi32(_mm256_madd_epi16(pairs, both(weighted.low)), offset);
        let sum = _mm256_add_epi32(upper, _mm256_srai_epi32::<{ LOW as i32 }>(lower));
        _mm256_sra_epi32(sum, _mm_cvtsi32_si128(weighted.shift as i32))
    }

    /// So often.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn both([x, y]: [i16; 2]) -> __m256i {
        _mm256_set1_epi32(i32::from(x) & 0xffff | i32::from(y) << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    struct Every<'a>(&'a mut Vec<u8>);

    impl WeightedLoop for Every<'_> {
        #[inline(always)]
        fn run(self, sums: impl Fn(&[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK])) {
            for i in 0..1024u32 {
                let mut to = [0; BLOCK];
                let mut pair = [[0; BLOCK]; 2];
                let [x, y] = &mut pair;
                for (code, (x, y)) in (i * 64..).zip(x.iter_mut().zip(y)) {
                    [*x, *y] = (code as u16).to_le_bytes();
                }
                sums(&pair[0], &pair[1], &mut to);
                self.0.extend(to);
            }
        }
    }

    #[test]
    fn every_kernel_agrees_with_the_definition() {
        let some = Weighted {
            high: [12345, -32768],
            low: [32767, 1],
            offsets: [1 << 30, -12345678],
            // Of 5 and 4.
            turn: 5 * 12345 - 4 * 32768,
            shift: 14,
            zero_point: -20,
            least: -100,
            greatest: 120,
            flip: 128,
            result_flip: 0,
        };
        let saturating = Weighted { shift: 1, zero_point: 127, flip: 0, result_flip: 128, ..some };
        let even = Weighted { offsets: [1 << 29; 2], ..some };
        for (weighted, kernel) in [some, saturating, even].iter().flat_map(|x| Kernel::available().map(move |k| (x, k)))
        {
            let mut found = vec![];
            kernel.vectors.run_weighted(*weighted, Every(&mut found));
            for (i, &found) in found.iter().enumerate() {
                let [x, y] = (i as u16).to_le_bytes().map(|x| i64::from(x ^ weighted.flip));
                let weigh = |part: [i16; 2]| x * i64::from(part[0]) + y * i64::from(part[1]);
                let upper = weigh(weighted.high);
                let offset = i64::from(weighted.offsets[usize::from(upper < i64::from(weighted.turn))]);
                let number = (upper * 32768 + weigh(weighted.low) + offset).div_euclid(32768 << weighted.shift);
                let byte = (number.clamp(-32768, 32767) + i64::from(weighted.zero_point)).clamp(-128, 127);
                let want = byte.clamp(weighted.least.into(), weighted.greatest.into()) as u8 ^ weighted.result_flip;
                assert_eq!(found, want, "{} {x} {y}", kernel.name);
            }
        }
    }
}
