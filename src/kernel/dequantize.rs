//! Sums that become floats.

use crate::matrix::Block;

/// What each column of a panel has of its own: `added` to sums, before they are multiplied by `scales`, and `biases` in the end.
pub(crate) struct FloatColumns<const W: usize> {
    pub added: [i32; W],
    pub scales: [f32; W],
    pub biases: [f32; W],
}

/// Rows of sums, what is added to those of each, and what their floats are multiplied by after the columns' scales.
#[derive(Clone, Copy)]
pub(crate) struct FloatRows<'a, const W: usize> {
    pub sums: &'a [[i32; W]],
    pub terms: &'a [i32],
    /// One for each row, or none where that is 1.
    pub factors: &'a [f32],
}

/// The least and the greatest number; NaN stays NaN.
#[derive(Clone, Copy)]
pub(crate) struct FloatClamp {
    pub min: f32,
    pub max: f32,
}

/// With what the function around it is compiled for. Each row's floats go to the next place, which has room for all.
#[inline(always)]
pub(super) fn rows<const W: usize>(columns: &FloatColumns<W>, rows: FloatRows<W>, clamp: FloatClamp, to: Block<f32>) {
    for (i, (to, (sums, &term))) in to.zip(rows.sums.iter().zip(rows.terms)).enumerate() {
        let factor = rows.factors.get(i).copied().unwrap_or(1.0);
        for (j, to) in to.iter_mut().enumerate() {
            let x = sums[j].wrapping_add(columns.added[j]).wrapping_add(term) as f32;
            let x = x * columns.scales[j] * factor + columns.biases[j];
            let x = if x < clamp.min { clamp.min } else { x };
            *to = if x > clamp.max { clamp.max } else { x };
        }
    }
}

/// The same, a vector at a time, of panels of one or two vectors.
#[cfg(target_arch = "x86_64")]
macro_rules! rows_of_vectors {
    (features: $features:literal, lanes: $lanes:literal, ints: $Ints:ty, floats: $Floats:ty,
     $load:ident, $all_ints:ident, $add_ints:ident, $to_floats:ident, $load_floats:ident, $all:ident, $mul:ident, $add:ident,
     $max:ident, $min:ident, $store:ident) => {
        #[target_feature(enable = $features)]
        pub(in crate::kernel) fn rows<const W: usize>(
            columns: &FloatColumns<W>,
            rows: FloatRows<W>,
            clamp: FloatClamp,
            to: Block<f32>,
        ) {
            const TWO: usize = 2 * $lanes;
            match (W, rows.factors.is_empty()) {
                ($lanes, true) => of_width::<W, 1, false>(columns, rows, clamp, to),
                ($lanes, false) => of_width::<W, 1, true>(columns, rows, clamp, to),
                (TWO, true) => of_width::<W, 2, false>(columns, rows, clamp, to),
                (TWO, false) => of_width::<W, 2, true>(columns, rows, clamp, to),
                _ => super::rows(columns, rows, clamp, to),
            }
        }

        #[target_feature(enable = $features)]
        fn of_width<const W: usize, const VECTORS: usize, const HAVE_FACTORS: bool>(
            columns: &FloatColumns<W>,
            rows: FloatRows<W>,
            clamp: FloatClamp,
            to: Block<f32>,
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
                let factor = $all(if HAVE_FACTORS { rows.factors[i] } else { 1.0 });
                for v in 0..VECTORS {
                    let sum = $add_ints($add_ints(ints(sums, v), added[v]), $all_ints(term));
                    let mut x = $mul($to_floats(sum), scales[v]);
                    if HAVE_FACTORS {
                        x = $mul(x, factor);
                    }
                    let x = $min(max, $max(min, $add(x, biases[v])));
                    // Not even a store of nothing, which takes long where there is no memory.
                    let Some(to @ [_, ..]) = to.get_mut($lanes * v..) else { break };
                    match to.first_chunk_mut::<$lanes>() {
                        // SAFETY: the reference covers what is written.
                        Some(whole) => unsafe { $store(whole.as_mut_ptr(), x) },
                        None => put_part(to, x),
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use super::*;
    use std::arch::x86_64::*;

    rows_of_vectors! {
        features: "avx2", lanes: 8, ints: __m256i, floats: __m256,
        _mm256_loadu_si256, _mm256_set1_epi32, _mm256_add_epi32, _mm256_cvtepi32_ps, _mm256_loadu_ps, _mm256_set1_ps,
        _mm256_mul_ps, _mm256_add_ps, _mm256_max_ps, _mm256_min_ps, _mm256_storeu_ps
    }

    /// As many floats as there is room for.
    #[target_feature(enable = "avx2")]
    fn put_part(to: &mut [f32], x: __m256) {
        let is_there =
            _mm256_cmpgt_epi32(_mm256_set1_epi32(to.len() as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        // SAFETY: the slice covers what is written.
        unsafe { _mm256_maskstore_ps(to.as_mut_ptr(), is_there, x) }
    }
}

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
pub(super) mod avx512 {
    use super::*;
    use std::arch::x86_64::*;

    rows_of_vectors! {
        features: "avx512f,avx512bw,avx512dq,avx512vl", lanes: 16, ints: __m512i, floats: __m512,
        _mm512_loadu_si512, _mm512_set1_epi32, _mm512_add_epi32, _mm512_cvtepi32_ps, _mm512_loadu_ps, _mm512_set1_ps,
        _mm512_mul_ps, _mm512_add_ps, _mm512_max_ps, _mm512_min_ps, _mm512_storeu_ps
    }

    /// As many floats as there is room for.
    #[target_feature(enable = "avx512f")]
    fn put_part(to: &mut [f32], x: __m512) {
        // SAFETY: the slice covers what is written.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), (1 << to.len()) - 1, x) }
    }
}
