//! Weighted sums of two bytes, brought down to bytes.

/// Bytes that are computed at once.
pub(crate) const BLOCK: usize = 32;

/// The lower part of weights has so many bits.
pub(crate) const LOW: u32 = 15;

/// With `x` and `y` for two bytes XORed with `flip`, and a weight for each that is `high · 2¹⁵ + low`:
/// `(x · x_weight + y · y_weight + offset · 2¹⁵ + low_offset) / 2^(shift + 15)`, rounded down. The first of `low_offsets`
/// counts, or the second where `x · x_high + y · y_high + offset` is negative. Then the zero point is added, the sum confined
/// to signed bytes from `least` to `greatest`, and these XORed with `result_flip`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighted {
    pub high: [i16; 2],
    pub low: [i16; 2],
    pub offset: i32,
    pub low_offsets: [i32; 2],
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
    fn run(self, sums: impl Fn(&Weighted, &[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]) + Copy);
}

/// With what every processor of the architecture has.
pub(super) fn run<L: WeightedLoop>(elements: L) {
    elements.run(sums);
}

#[inline(always)]
fn sums(weighted: &Weighted, x: &[u8; BLOCK], y: &[u8; BLOCK], to: &mut [u8; BLOCK]) {
    let Weighted { high, low, offset, low_offsets, shift, zero_point, least, greatest, flip, result_flip } = *weighted;
    for ((to, x), y) in to.iter_mut().zip(x).zip(y) {
        let (x, y) = (i32::from(x ^ flip), i32::from(y ^ flip));
        let upper = (x * i32::from(high[0]) + y * i32::from(high[1])).wrapping_add(offset);
        let low_offset = if upper < 0 { low_offsets[1] } else { low_offsets[0] };
        let lower = (x * i32::from(low[0]) + y * i32::from(low[1])).wrapping_add(low_offset) >> LOW;
        let number = upper.wrapping_add(lower) >> shift;
        let number = number.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        let byte = number.saturating_add(zero_point).clamp(-128, 127) as i8;
        *to = byte.max(least).min(greatest) as u8 ^ result_flip;
    }
}

/// The compiler does not find `vpmaddwd` by itself, nor that vectors may be cut and joined within their halves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn run_avx2<L: WeightedLoop>(elements: L) {
    // Closures have the features of the function around them.
    elements.run(|weighted, x, y, to| avx2::sums(weighted, x, y, to));
}

/// As [`run_avx2`], twice as many at once.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn run_avx512<L: WeightedLoop>(elements: L) {
    elements.run(|weighted, x, y, to| avx512::sums(weighted, x, y, to));
}

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512 {
    use super::{BLOCK, LOW, Weighted};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn sums(weighted: &Weighted, x: &[u8; BLOCK], y: &[u8; BLOCK], to: &mut [u8; BLOCK]) {
        let (x, y) = (load(x, weighted.flip), load(y, weighted.flip));
        let left = numbers(weighted, _mm512_unpacklo_epi16(x, y));
        let right = numbers(weighted, _mm512_unpackhi_epi16(x, y));
        let words = _mm512_adds_epi16(_mm512_packs_epi32(left, right), _mm512_set1_epi16(weighted.zero_point));
        let (least, greatest) = (_mm256_set1_epi8(weighted.least), _mm256_set1_epi8(weighted.greatest));
        let bytes = _mm256_min_epi8(_mm256_max_epi8(_mm512_cvtsepi16_epi8(words), least), greatest);
        let bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(weighted.result_flip as i8));
        // SAFETY: the reference covers the 32 bytes written.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    /// Widened to 16 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn load(bytes: &[u8; BLOCK], flip: u8) -> __m512i {
        // SAFETY: the reference covers the 32 bytes read.
        let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        _mm512_cvtepu8_epi16(_mm256_xor_si256(bytes, _mm256_set1_epi8(flip as i8)))
    }

    /// Of 16 pairs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn numbers(weighted: &Weighted, pairs: __m512i) -> __m512i {
        let low_offset = _mm512_set1_epi32(weighted.low_offsets[0]);
        let of_negative = _mm512_set1_epi32(weighted.low_offsets[1]);
        let upper = _mm512_madd_epi16(pairs, both(weighted.high));
        let upper = _mm512_add_epi32(upper, _mm512_set1_epi32(weighted.offset));
        let is_negative = _mm512_cmplt_epi32_mask(upper, _mm512_setzero_si512());
        let low_offset = _mm512_mask_mov_epi32(low_offset, is_negative, of_negative);
        let lower = _mm512_add_epi32(_mm512_madd_epi16(pairs, both(weighted.low)), low_offset);
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

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn sums(weighted: &Weighted, x: &[u8; BLOCK], y: &[u8; BLOCK], to: &mut [u8; BLOCK]) {
        let flip = _mm256_set1_epi8(weighted.flip as i8);
        let (x, y) = (_mm256_xor_si256(load(x), flip), _mm256_xor_si256(load(y), flip));
        let zero = _mm256_setzero_si256();
        let (left, right) = (_mm256_unpacklo_epi8(x, y), _mm256_unpackhi_epi8(x, y));
        let first = words(weighted, _mm256_unpacklo_epi8(left, zero), _mm256_unpackhi_epi8(left, zero));
        let second = words(weighted, _mm256_unpacklo_epi8(right, zero), _mm256_unpackhi_epi8(right, zero));
        let (least, greatest) = (_mm256_set1_epi8(weighted.least), _mm256_set1_epi8(weighted.greatest));
        let bytes = _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(first, second), least), greatest);
        let bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8(weighted.result_flip as i8));
        // SAFETY: the reference covers the 32 bytes written.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; BLOCK]) -> __m256i {
        // SAFETY: the reference covers the 32 bytes read.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    /// Of 16 pairs, with the zero point.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn words(weighted: &Weighted, left: __m256i, right: __m256i) -> __m256i {
        let numbers = _mm256_packs_epi32(numbers(weighted, left), numbers(weighted, right));
        _mm256_adds_epi16(numbers, _mm256_set1_epi16(weighted.zero_point))
    }

    /// Of 8 pairs.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn numbers(weighted: &Weighted, pairs: __m256i) -> __m256i {
        let [low_offset, of_negative] =
            weighted.low_offsets.map(|offset| _mm256_castsi256_ps(_mm256_set1_epi32(offset)));
        let upper = _mm256_madd_epi16(pairs, both(weighted.high));
        let upper = _mm256_add_epi32(upper, _mm256_set1_epi32(weighted.offset));
        let low_offset = _mm256_castps_si256(_mm256_blendv_ps(low_offset, of_negative, _mm256_castsi256_ps(upper)));
        let lower = _mm256_add_epi32(_mm256_madd_epi16(pairs, both(weighted.low)), low_offset);
        let sum = _mm256_add_epi32(upper, _mm256_srai_epi32::<{ LOW as i32 }>(lower));
        _mm256_sra_epi32(sum, _mm_cvtsi32_si128(weighted.shift as i32))
    }

    /// So often.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn both([x, y]: [i16; 2]) -> __m256i {
        _mm256_set1_epi32(i32::from(x as u16 as i16) & 0xffff | i32::from(y) << 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    struct Every<'a>(&'a Weighted, &'a mut Vec<u8>);

    impl WeightedLoop for Every<'_> {
        #[inline(always)]
        fn run(self, sums: impl Fn(&Weighted, &[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]) + Copy) {
            for i in 0..2048u32 {
                let mut to = [0; BLOCK];
                let mut pair = [[0; BLOCK]; 2];
                let [x, y] = &mut pair;
                for (code, (x, y)) in (i * 32..).zip(x.iter_mut().zip(y)) {
                    [*x, *y] = (code as u16).to_le_bytes();
                }
                sums(self.0, &pair[0], &pair[1], &mut to);
                self.1.extend(to);
            }
        }
    }

    #[test]
    fn every_kernel_agrees_with_the_definition() {
        let some = Weighted {
            high: [12345, -32768],
            low: [32767, 1],
            offset: -77777,
            low_offsets: [1 << 30, -12345678],
            shift: 14,
            zero_point: -20,
            least: -100,
            greatest: 120,
            flip: 128,
            result_flip: 0,
        };
        let saturating = Weighted { shift: 1, zero_point: 127, flip: 0, result_flip: 128, ..some };
        for (weighted, kernel) in [some, saturating].iter().flat_map(|x| Kernel::available().map(move |k| (x, k))) {
            let mut found = vec![];
            kernel.vectors.run_weighted(Every(weighted, &mut found));
            for (i, &found) in found.iter().enumerate() {
                let [x, y] = (i as u16).to_le_bytes().map(|x| i64::from(x ^ weighted.flip));
                let weigh = |part: [i16; 2]| x * i64::from(part[0]) + y * i64::from(part[1]);
                let upper = weigh(weighted.high) + i64::from(weighted.offset);
                let low_offset = i64::from(weighted.low_offsets[usize::from(upper < 0)]);
                let number = (upper * 32768 + weigh(weighted.low) + low_offset).div_euclid(32768 << weighted.shift);
                let byte = (number + i64::from(weighted.zero_point)).clamp(-128, 127);
                let want = byte.clamp(weighted.least.into(), weighted.greatest.into()) as u8 ^ weighted.result_flip;
                assert_eq!(found, want, "{} {x} {y}", kernel.name);
            }
        }
    }
}
