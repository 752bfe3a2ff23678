//! Sums that become floats.

use crate::half::{to_bf16, to_f16};
use crate::matrix::Block;

/// What each column of a panel has of its own: `added` to sums (as often as each row has it, if rows differ) before they are multiplied
/// by `scales`, and `biases` in the end.
#[repr(C)]
pub(crate) struct FloatColumns<const W: usize> {
    pub added: [i32; W],
    pub scales: [f32; W],
    pub biases: [f32; W],
}

/// Rows of sums, what is added to those of each, how often they have what columns add, and what their floats are multiplied by after
/// the columns' scales.
#[derive(Clone, Copy)]
pub(crate) struct FloatRows<'a, const W: usize> {
    pub sums: &'a [[i32; W]],
    pub terms: &'a [i32],
    /// One for each row, and `shift` less; or none where that is 1.
    pub offsets: &'a [i32],
    pub shift: i32,
    /// One for each row, or none where that is 1.
    pub factors: &'a [f32],
}

/// The least and the greatest number; NaN stays NaN.
#[derive(Clone, Copy)]
pub(crate) struct FloatClamp {
    pub min: f32,
    pub max: f32,
}

/// Where floats go, and as what: each row's to the next place.
pub(crate) enum FloatBlock<'a> {
    F32(Block<'a, f32>),
    Bf16(Block<'a, u16>),
    F16(Block<'a, u16>),
}

/// With what the function around it is compiled for.
#[inline(always)]
pub(super) fn rows<const W: usize>(columns: &FloatColumns<W>, rows: FloatRows<W>, clamp: FloatClamp, to: FloatBlock) {
    match to {
        FloatBlock::F32(to) => rows_as(columns, rows, clamp, to, |x| x),
        FloatBlock::Bf16(to) => rows_as(columns, rows, clamp, to, to_bf16),
        FloatBlock::F16(to) => rows_as(columns, rows, clamp, to, to_f16),
    }
}

#[inline(always)]
fn rows_as<const W: usize, T>(
    columns: &FloatColumns<W>,
    rows: FloatRows<W>,
    clamp: FloatClamp,
    to: Block<T>,
    of: impl Fn(f32) -> T,
) {
    for (i, (to, (sums, &term))) in to.zip(rows.sums.iter().zip(rows.terms)).enumerate() {
        let factor = rows.factors.get(i).copied().unwrap_or(1.0);
        let times = rows.offsets.get(i).map_or(1, |offset| offset.wrapping_sub(rows.shift));
        for (j, to) in to.iter_mut().enumerate() {
            *to = of(float(columns, j, sums[j], (term, times, factor), clamp));
        }
    }
}

/// The float of a column, of a row's sum, with what the row has of its own: what is added, how often it has what the column adds, and
/// its factor.
#[inline(always)]
fn float<const W: usize>(
    columns: &FloatColumns<W>,
    col: usize,
    sum: i32,
    (term, times, factor): (i32, i32, f32),
    clamp: FloatClamp,
) -> f32 {
    let x = sum.wrapping_add(columns.added[col].wrapping_mul(times)).wrapping_add(term) as f32;
    let x = x * columns.scales[col] * factor + columns.biases[col];
    let x = if x < clamp.min { clamp.min } else { x };
    if x > clamp.max { clamp.max } else { x }
}

/// All floats of one row, of so many columns that the compiler makes vectors of them.
#[inline(always)]
pub(crate) fn whole_row<const W: usize>(
    columns: &FloatColumns<W>,
    sums: &[i32; W],
    of_row: (i32, i32, f32),
    clamp: FloatClamp,
    to: &mut [f32; W],
) {
    for (col, to) in to.iter_mut().enumerate() {
        *to = float(columns, col, sums[col], of_row, clamp);
    }
}

/// As many as there is room for.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn put_first<const N: usize>(all: [u16; N], to: &mut [u16]) {
    to.copy_from_slice(&all[..to.len()]);
}

/// The same, a vector at a time, of panels of one or two vectors.
#[cfg(target_arch = "x86_64")]
macro_rules! rows_of_vectors {
    (features: $features:literal, lanes: $lanes:literal, ints: $Ints:ty, floats: $Floats:ty,
     $load:ident, $all_ints:ident, $add_ints:ident, $mul_ints:ident, $to_floats:ident, $load_floats:ident, $all:ident,
     $mul:ident, $add:ident, $max:ident, $min:ident, $store:ident) => {
        const TWO: usize = 2 * $lanes;

        #[target_feature(enable = $features)]
        pub(in crate::kernel) fn rows<const W: usize>(
            columns: &FloatColumns<W>,
            rows: FloatRows<W>,
            clamp: FloatClamp,
            to: FloatBlock,
        ) {
            if !matches!(W, $lanes | TWO) {
                return super::rows(columns, rows, clamp, to);
            }
            match to {
                FloatBlock::F32(to) => {
                    // SAFETY: the reference covers what is written.
                    let put = |x, to: &mut [f32; $lanes]| unsafe { $store(to.as_mut_ptr(), x) };
                    rows_as(columns, rows, clamp, to, put, |x, to: &mut [f32]| put_part(x, to))
                }
                FloatBlock::Bf16(to) => {
                    let put_part = |x, to: &mut [u16]| put_first(to_bf16s(x), to);
                    rows_as(columns, rows, clamp, to, |x, to| *to = to_bf16s(x), put_part)
                }
                FloatBlock::F16(to) => {
                    let put_part = |x, to: &mut [u16]| put_first(to_f16s(x), to);
                    rows_as(columns, rows, clamp, to, |x, to| *to = to_f16s(x), put_part)
                }
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn rows_as<const W: usize, T>(
            columns: &FloatColumns<W>,
            rows: FloatRows<W>,
            clamp: FloatClamp,
            to: Block<T>,
            put: impl Fn($Floats, &mut [T; $lanes]),
            put_part: impl Fn($Floats, &mut [T]),
        ) {
            match (W, rows.factors.is_empty(), rows.offsets.is_empty()) {
                ($lanes, true, true) => of_width::<W, 1, false, false, T>(columns, rows, clamp, to, put, put_part),
                ($lanes, false, true) => of_width::<W, 1, true, false, T>(columns, rows, clamp, to, put, put_part),
                ($lanes, _, false) => of_width::<W, 1, true, true, T>(columns, rows, clamp, to, put, put_part),
                (TWO, true, true) => of_width::<W, 2, false, false, T>(columns, rows, clamp, to, put, put_part),
                (TWO, false, true) => of_width::<W, 2, true, false, T>(columns, rows, clamp, to, put, put_part),
                (TWO, _, false) => of_width::<W, 2, true, true, T>(columns, rows, clamp, to, put, put_part),
                _ => unreachable!("panels of one or two vectors"),
            }
        }

        #[target_feature(enable = $features)]
        fn of_width<const W: usize, const VECTORS: usize, const HAVE_FACTORS: bool, const DIFFER: bool, T>(
            columns: &FloatColumns<W>,
            rows: FloatRows<W>,
            clamp: FloatClamp,
            to: Block<T>,
            put: impl Fn($Floats, &mut [T; $lanes]),
            put_part: impl Fn($Floats, &mut [T]),
        ) {
            let ints = |from: &[i32; W], v: usize| {
                let from: &[i32; $lanes] = from[$lanes * v..].first_chunk().expect("whole vectors");
                // SAFETY: the reference covers what is read.
                unsafe { $load(from.as_ptr().cast()) }
            };
            let floats = |from: &[f32; W], v: usize| {
                let from: &[f32; $lanes] = from[$lanes * v..].first_chunk().expect("whole vectors");
                // SAFETY: as above.
                unsafe { $load_floats(from.as_ptr()) }
            };
            let added: [$Ints; VECTORS] = std::array::from_fn(|v| ints(&columns.added, v));
            let scales: [$Floats; VECTORS] = std::array::from_fn(|v| floats(&columns.scales, v));
            let biases: [$Floats; VECTORS] = std::array::from_fn(|v| floats(&columns.biases, v));
            // Which of two zeros, and that NaN stays, is what the order of operands says.
            let (min, max) = ($all(clamp.min), $all(clamp.max));
            for (i, (to, (sums, &term))) in to.zip(rows.sums.iter().zip(rows.terms)).enumerate() {
                let factor = $all(if HAVE_FACTORS { rows.factors.get(i).copied().unwrap_or(1.0) } else { 1.0 });
                let times = $all_ints(if DIFFER { rows.offsets[i].wrapping_sub(rows.shift) } else { 1 });
                let finished = |v| {
                    let added = if DIFFER { $mul_ints(added[v], times) } else { added[v] };
                    let sum = $add_ints($add_ints(ints(sums, v), added), $all_ints(term));
                    let mut x = $mul($to_floats(sum), scales[v]);
                    if HAVE_FACTORS {
                        x = $mul(x, factor);
                    }
                    $min(max, $max(min, $add(x, biases[v])))
                };
                let (whole, part) = to.as_chunks_mut::<$lanes>();
                if let Some(whole) = whole.first_chunk_mut::<VECTORS>() {
                    for (v, to) in whole.iter_mut().enumerate() {
                        put(finished(v), to);
                    }
                    continue;
                }
                for (v, to) in whole.iter_mut().enumerate() {
                    put(finished(v), to);
                }
                // Not even a store of nothing, which takes long where there is no memory.
                if !part.is_empty() {
                    put_part(finished(whole.len()), part);
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use super::*;
    use crate::kernel::vector256::put_some;
    use std::arch::x86_64::*;
    use std::mem::transmute;

    rows_of_vectors! {
        features: "avx2", lanes: 8, ints: __m256i, floats: __m256,
        _mm256_loadu_si256, _mm256_set1_epi32, _mm256_add_epi32, _mm256_mullo_epi32, _mm256_cvtepi32_ps, _mm256_loadu_ps,
        _mm256_set1_ps, _mm256_mul_ps, _mm256_add_ps, _mm256_max_ps, _mm256_min_ps, _mm256_storeu_ps
    }

    /// As [`to_bf16`].
    #[inline]
    #[target_feature(enable = "avx2")]
    fn to_bf16s(x: __m256) -> [u16; 8] {
        let bits = _mm256_castps_si256(x);
        let last = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), last);
        let is_nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
        lower_halves(_mm256_blendv_epi8(_mm256_srli_epi32::<16>(rounded), _mm256_set1_epi32(0x7fc0), is_nan))
    }

    /// As [`to_f16`], step by step: to convert is one instruction, but not of AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn to_f16s(x: __m256) -> [u16; 8] {
        let all = |x| _mm256_set1_epi32(x);
        let bits = _mm256_castps_si256(x);
        let magnitude = _mm256_and_si256(bits, all(i32::MAX));
        let sign = _mm256_xor_si256(bits, magnitude);
        // What is halfway between the greatest number and what would be the next becomes infinite, as does all beyond.
        let magnitude = _mm256_min_epi32(magnitude, all(65520f32.to_bits() as i32));
        let last = _mm256_and_si256(_mm256_srli_epi32::<13>(magnitude), all(1));
        let rounded = _mm256_add_epi32(_mm256_add_epi32(magnitude, all(0xfff - ((127 - 15) << 23))), last);
        let half = _mm256_set1_ps(0.5);
        let small = _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(magnitude), half));
        let small = _mm256_sub_epi32(small, _mm256_castps_si256(half));
        let is_small = _mm256_cmpgt_epi32(all((127 - 14) << 23), magnitude);
        let number = _mm256_blendv_epi8(_mm256_srli_epi32::<13>(rounded), small, is_small);
        let number = _mm256_or_si256(number, _mm256_srli_epi32::<16>(sign));
        let is_nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
        lower_halves(_mm256_blendv_epi8(number, all(0x7e00), is_nan))
    }

    /// Of numbers no greater than 16 bits hold.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn lower_halves(x: __m256i) -> [u16; 8] {
        let halves = _mm256_permute4x64_epi64::<0b10_00>(_mm256_packus_epi32(x, x));
        // SAFETY: eight numbers of 16 bits.
        unsafe { transmute(_mm256_castsi256_si128(halves)) }
    }

    /// As many floats as there is room for.
    #[target_feature(enable = "avx2")]
    fn put_part(x: __m256, to: &mut [f32]) {
        // SAFETY: these are as many numbers of as many bits, of which any make a float.
        let bits = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) };
        put_some(bits, _mm256_castps_si256(x));
    }
}

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
pub(super) mod avx512 {
    use super::*;
    use std::arch::x86_64::*;
    use std::mem::transmute;

    rows_of_vectors! {
        features: "avx512f,avx512bw,avx512dq,avx512vl", lanes: 16, ints: __m512i, floats: __m512,
        _mm512_loadu_si512, _mm512_set1_epi32, _mm512_add_epi32, _mm512_mullo_epi32, _mm512_cvtepi32_ps, _mm512_loadu_ps,
        _mm512_set1_ps, _mm512_mul_ps, _mm512_add_ps, _mm512_max_ps, _mm512_min_ps, _mm512_storeu_ps
    }

    /// As [`to_bf16`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn to_bf16s(x: __m512) -> [u16; 16] {
        let bits = _mm512_castps_si512(x);
        let last = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
        let rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
        let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
        let chosen = _mm512_mask_mov_epi32(_mm512_srli_epi32::<16>(rounded), is_nan, _mm512_set1_epi32(0x7fc0));
        // SAFETY: sixteen numbers of 16 bits.
        unsafe { transmute(_mm512_cvtepi32_epi16(chosen)) }
    }

    /// As [`to_f16`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn to_f16s(x: __m512) -> [u16; 16] {
        let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
        let x = _mm512_mask_mov_ps(x, is_nan, _mm512_set1_ps(f32::NAN));
        // SAFETY: as above.
        unsafe { transmute(_mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)) }
    }

    /// As many floats as there is room for.
    #[target_feature(enable = "avx512f")]
    fn put_part(x: __m512, to: &mut [f32]) {
        // SAFETY: the slice covers what is written.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), (1 << to.len()) - 1, x) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::half::{from_bf16, from_f16};
    use crate::kernel::{Kernel, Vectors};
    use crate::matrix::Output;

    /// Whether vectors of floats, and parts of them, become narrower ones as floats do one by one.
    fn check<const W: usize>(vectors: Vectors, is_bf16: bool, numbers: &[f32]) {
        let clamp = FloatClamp { min: f32::NEG_INFINITY, max: f32::INFINITY };
        let of = if is_bf16 { to_bf16 } else { to_f16 };
        for (i, biases) in numbers.as_chunks::<W>().0.iter().enumerate() {
            let columns = FloatColumns { added: [0; W], scales: [1.0; W], biases: *biases };
            let rows = FloatRows { sums: &[[0; W]], terms: &[0], offsets: &[], shift: 0, factors: &[] };
            let cols = W - i % 2 * (i % W);
            let mut result = [77; W];
            let out = Output::new(&mut result, (1, cols), cols);
            // SAFETY: nothing else uses it.
            let to = unsafe { out.block(0..1, 0..cols) };
            let to = if is_bf16 { FloatBlock::Bf16(to) } else { FloatBlock::F16(to) };
            vectors.dequantize(&columns, rows, clamp, to);
            for (j, (got, x)) in result.into_iter().zip(biases).enumerate() {
                let want = if j < cols { of(0.0 + x) } else { 77 };
                assert_eq!(got, want, "{vectors:?}: {x}");
            }
        }
    }

    #[test]
    fn vectors_of_floats_become_narrower_as_floats_do() {
        for kernel in Kernel::available() {
            for is_bf16 in [false, true] {
                let from = if is_bf16 { from_bf16 } else { from_f16 };
                // All of them, and the middles to the next, with what is around.
                let numbers = |bits: u16| {
                    let (this, next) = (from(bits).to_bits(), from(bits ^ 1).to_bits());
                    let middle = this / 2 + next / 2;
                    [this, middle, middle.wrapping_add(1), this.wrapping_add(1)].map(f32::from_bits)
                };
                let numbers: Vec<f32> = (0..=u16::MAX).flat_map(numbers).collect();
                check::<8>(kernel.vectors, is_bf16, &numbers);
                check::<16>(kernel.vectors, is_bf16, &numbers);
                check::<32>(kernel.vectors, is_bf16, &numbers);
            }
        }
    }
}
