//! Weighted sums of two bytes, brought down to bytes.

/// Bytes that are computed at once.
pub(crate) const BLOCK: usize = 64;

/// The lower part of weights has so many bits.
pub(crate) const LOW: u32 = 15;

/// What signed bytes are greater by.
const SIGN: u8 = 128;

/// With `x` and `y` for two bytes, signed ones made greater by 128, and a weight for each that is `high · 2¹⁵ + low`:
/// `(x · x_weight + y · y_weight + offset) / 2^(shift + 15)`, rounded down and saturated to 16 bits. The first of `offsets`
/// counts, or the second where `x · x_high + y · y_high` is less than `turn`. Then the zero point is added, and the sum confined to
/// bytes of the same kind, from `least` to `greatest`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighted {
    pub high: [i16; 2],
    pub low: [i16; 2],
    pub offsets: [i32; 2],
    pub turn: i32,
    pub shift: u32,
    pub zero_point: i16,
    pub least: u8,
    pub greatest: u8,
}

/// A loop over weighted sums, compiled once for each kind of vectors.
pub(crate) trait WeightedLoop {
    /// Whether the bytes are signed.
    const IS_SIGNED: bool;

    /// Always inlined, as is all that it calls; see [`super::Loop::run`]. `sums` computes a block of them.
    fn run(self, sums: impl Fn(&[u8; BLOCK], &[u8; BLOCK], &mut [u8; BLOCK]));
}

impl Weighted {
    /// `x · weights[0] + y · weights[1] + offset`, all of which have `shift + 15` bits behind the point, rounded to nearest, ties
    /// up, and confined to bytes without a sign. `tilts` are added for either of the offsets. None if something does not fit.
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
            least: u8::MIN,
            greatest: u8::MAX,
        })
    }

    /// Whether one of the offsets does for all sums, which saves a fifth of the time.
    fn is_even(&self) -> bool {
        self.offsets[0] == self.offsets[1]
    }

    /// Of one pair.
    #[inline(always)]
    pub(crate) fn sum(&self, x: u8, y: u8, is_signed: bool) -> u8 {
        let Self { high, low, offsets, turn, shift, zero_point, least, greatest } = *self;
        let flip = if is_signed { SIGN } else { 0 };
        let (x, y) = (i32::from(x ^ flip), i32::from(y ^ flip));
        let upper = x * i32::from(high[0]) + y * i32::from(high[1]);
        let offset = if upper < turn { offsets[1] } else { offsets[0] };
        let lower = (x * i32::from(low[0]) + y * i32::from(low[1])).wrapping_add(offset) >> LOW;
        let number = upper.wrapping_add(lower) >> shift;
        let number = number.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        let word = number.saturating_add(zero_point);
        match is_signed {
            true => (word.clamp(-128, 127) as i8).max(least as i8).min(greatest as i8) as u8,
            false => (word.clamp(0, 255) as u8).max(least).min(greatest),
        }
    }
}

/// With what every processor of the architecture has.
pub(super) fn run<L: WeightedLoop>(weighted: Weighted, elements: L) {
    elements.run(move |x, y, to| {
        for ((to, x), y) in to.iter_mut().zip(x).zip(y) {
            *to = weighted.sum(*x, *y, L::IS_SIGNED);
        }
    });
}

/// The compiler does not find `vpmaddwd` by itself, nor that vectors may be cut and joined within their parts of 128 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn run_avx2<L: WeightedLoop>(weighted: Weighted, elements: L) {
    // Closures have the features of the function around them.
    if weighted.is_even() {
        elements.run(move |x, y, to| avx2::sums::<false>(&weighted, L::IS_SIGNED, x, y, to));
    } else {
        elements.run(move |x, y, to| avx2::sums::<true>(&weighted, L::IS_SIGNED, x, y, to));
    }
}

/// As [`run_avx2`], twice as many at once.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn run_avx512<L: WeightedLoop>(weighted: Weighted, elements: L) {
    let dot = |sums, pairs, words| avx512::dot(sums, pairs, words);
    if weighted.is_even() {
        elements.run(move |x, y, to| avx512::sums::<false>(&weighted, L::IS_SIGNED, dot, x, y, to));
    } else {
        elements.run(move |x, y, to| avx512::sums::<true>(&weighted, L::IS_SIGNED, dot, x, y, to));
    }
}

/// As [`run_avx512`], with instructions that multiply and add at once.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(super) fn run_avx512vnni<L: WeightedLoop>(weighted: Weighted, elements: L) {
    let dot = |sums, pairs, words| avx512::dot_vnni(sums, pairs, words);
    if weighted.is_even() {
        elements.run(move |x, y, to| avx512::sums::<false>(&weighted, L::IS_SIGNED, dot, x, y, to));
    } else {
        elements.run(move |x, y, to| avx512::sums::<true>(&weighted, L::IS_SIGNED, dot, x, y, to));
    }
}

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512 {
    use super::{BLOCK, LOW, SIGN, Weighted};
    use std::arch::x86_64::*;

    /// `TILTED` tells negative sums apart. `dot` adds to sums of 32 bits the products of pairs of words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn sums<const TILTED: bool>(
        weighted: &Weighted,
        is_signed: bool,
        dot: impl Fn(__m512i, __m512i, __m512i) -> __m512i + Copy,
        x: &[u8; BLOCK],
        y: &[u8; BLOCK],
        to: &mut [u8; BLOCK],
    ) {
        let (x, y) = (load(x, is_signed), load(y, is_signed));
        let left = words::<TILTED>(weighted, dot, _mm512_unpacklo_epi8(x, y));
        let right = words::<TILTED>(weighted, dot, _mm512_unpackhi_epi8(x, y));
        let [least, greatest] = [weighted.least, weighted.greatest].map(|byte| _mm512_set1_epi8(byte as i8));
        let bytes = match is_signed {
            true => _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(left, right), least), greatest),
            false => _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(left, right), least), greatest),
        };
        // SAFETY: the reference covers the 64 bytes written.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn load(bytes: &[u8; BLOCK], is_signed: bool) -> __m512i {
        // SAFETY: the reference covers the 64 bytes read.
        let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        if is_signed { _mm512_xor_si512(bytes, _mm512_set1_epi8(SIGN as i8)) } else { bytes }
    }

    /// Of 32 pairs of bytes, with the zero point.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn words<const TILTED: bool>(
        weighted: &Weighted,
        dot: impl Fn(__m512i, __m512i, __m512i) -> __m512i + Copy,
        pairs: __m512i,
    ) -> __m512i {
        let zero = _mm512_setzero_si512();
        let left = numbers::<TILTED>(weighted, dot, _mm512_unpacklo_epi8(pairs, zero));
        let right = numbers::<TILTED>(weighted, dot, _mm512_unpackhi_epi8(pairs, zero));
        _mm512_adds_epi16(_mm512_packs_epi32(left, right), _mm512_set1_epi16(weighted.zero_point))
    }

    /// Of 16 pairs of words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn numbers<const TILTED: bool>(
        weighted: &Weighted,
        dot: impl Fn(__m512i, __m512i, __m512i) -> __m512i + Copy,
        pairs: __m512i,
    ) -> __m512i {
        let [offset, of_less] = weighted.offsets.map(|offset| _mm512_set1_epi32(offset));
        let high = both(weighted.high);
        let offset = match TILTED {
            true => {
                let upper = _mm512_madd_epi16(pairs, high);
                _mm512_mask_mov_epi32(offset, _mm512_cmplt_epi32_mask(upper, _mm512_set1_epi32(weighted.turn)), of_less)
            }
            false => offset,
        };
        let lower = dot(offset, pairs, both(weighted.low));
        let sum = dot(_mm512_srai_epi32::<LOW>(lower), pairs, high);
        _mm512_sra_epi32(sum, _mm_cvtsi32_si128(weighted.shift as i32))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn dot(sums: __m512i, pairs: __m512i, words: __m512i) -> __m512i {
        _mm512_add_epi32(sums, _mm512_madd_epi16(pairs, words))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) fn dot_vnni(sums: __m512i, pairs: __m512i, words: __m512i) -> __m512i {
        _mm512_dpwssd_epi32(sums, pairs, words)
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
    use super::{BLOCK, LOW, SIGN, Weighted};
    use std::arch::x86_64::*;

    /// `TILTED` tells negative sums apart.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn sums<const TILTED: bool>(
        weighted: &Weighted,
        is_signed: bool,
        x: &[u8; BLOCK],
        y: &[u8; BLOCK],
        to: &mut [u8; BLOCK],
    ) {
        for ((to, x), y) in to.as_chunks_mut().0.iter_mut().zip(x.as_chunks().0).zip(y.as_chunks().0) {
            half::<TILTED>(weighted, is_signed, x, y, to);
        }
    }

    /// Of half a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn half<const TILTED: bool>(weighted: &Weighted, is_signed: bool, x: &[u8; 32], y: &[u8; 32], to: &mut [u8; 32]) {
        let (x, y) = (load(x, is_signed), load(y, is_signed));
        let left = words::<TILTED>(weighted, _mm256_unpacklo_epi8(x, y));
        let right = words::<TILTED>(weighted, _mm256_unpackhi_epi8(x, y));
        let [least, greatest] = [weighted.least, weighted.greatest].map(|byte| _mm256_set1_epi8(byte as i8));
        let bytes = match is_signed {
            true => _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(left, right), least), greatest),
            false => _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(left, right), least), greatest),
        };
        // SAFETY: the reference covers the 32 bytes written.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32], is_signed: bool) -> __m256i {
        // SAFETY: the reference covers the 32 bytes read.
        let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        if is_signed { _mm256_xor_si256(bytes, _mm256_set1_epi8(SIGN as i8)) } else { bytes }
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

    struct Every<'a, const SIGNED: bool>(&'a mut Vec<u8>);

    impl<const SIGNED: bool> WeightedLoop for Every<'_, SIGNED> {
        const IS_SIGNED: bool = SIGNED;

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

    const SOME: Weighted = Weighted {
        high: [12345, -32768],
        low: [32767, 1],
        offsets: [1 << 30, -12345678],
        // Of 5 and 4.
        turn: 5 * 12345 - 4 * 32768,
        shift: 14,
        zero_point: -20,
        least: 0,
        greatest: 0,
    };

    fn check<const SIGNED: bool>(weighted: &Weighted, name: &str, run: impl Fn(Weighted, Every<SIGNED>)) {
        let weighted = match SIGNED {
            true => Weighted { least: -100i8 as u8, greatest: 120, ..*weighted },
            false => Weighted { least: 3, greatest: 240, zero_point: weighted.zero_point + 100, ..*weighted },
        };
        let mut found = vec![];
        run(weighted, Every(&mut found));
        let (flip, least, greatest) = if SIGNED { (SIGN, -100, 120) } else { (0, 3, 240) };
        for (i, &found) in found.iter().enumerate() {
            let [x, y] = (i as u16).to_le_bytes().map(|x| i64::from(x ^ flip));
            let weigh = |part: [i16; 2]| x * i64::from(part[0]) + y * i64::from(part[1]);
            let upper = weigh(weighted.high);
            let offset = i64::from(weighted.offsets[usize::from(upper < i64::from(weighted.turn))]);
            let number = (upper * 32768 + weigh(weighted.low) + offset).div_euclid(32768 << weighted.shift);
            let want = (number.clamp(-32768, 32767) + i64::from(weighted.zero_point)).clamp(least, greatest) as u8;
            assert_eq!((found, found), (want, weighted.sum(x as u8 ^ flip, y as u8 ^ flip, SIGNED)), "{name} {x} {y}");
        }
    }

    #[test]
    fn every_kernel_agrees_with_the_definition() {
        let saturating = Weighted { shift: 1, zero_point: 127, ..SOME };
        let even = Weighted { offsets: [1 << 29; 2], ..SOME };
        for weighted in [SOME, saturating, even] {
            for kernel in Kernel::available() {
                check::<true>(&weighted, kernel.name, |x, all| kernel.vectors.run_weighted(x, all));
                check::<false>(&weighted, kernel.name, |x, all| kernel.vectors.run_weighted(x, all));
            }
            // Which a kernel's vectors are not, where there is something better.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            if Kernel::available().any(|kernel| kernel.name == "avx512bw") {
                // SAFETY: the processor has what that kernel was detected by.
                check::<true>(&weighted, "without VNNI", |x, all| unsafe { run_avx512(x, all) });
                // SAFETY: as above.
                check::<false>(&weighted, "without VNNI", |x, all| unsafe { run_avx512(x, all) });
            }
        }
    }
}
