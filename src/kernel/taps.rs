//! Groups of taps, which a depthwise convolution multiplies and adds in each lane: numbers of 16 bits in pairs, or of 8 in
//! fours where there is an instruction for those.

use crate::matrix::Encoding;

/// A channel's numbers of two taps, or of four of 8 bits, in the same place.
pub(crate) type Group = [i16; 2];

/// How groups of `ROWS` taps are made of bytes, and multiplied: in 8 lanes, or in a multiple of 16.
///
/// Always inlined, as are the loops that they are used in; see [`super::Loop::run`].
pub(crate) trait Taps<const ROWS: usize>: Copy {
    /// What an image's bytes are read as.
    const READ_AS: Encoding;

    /// Sums of a row: of no more lanes, and of rows of no other width, are these asked for.
    const WIDTH: usize;

    /// A group of numbers that are read already.
    fn group(self, numbers: [u8; ROWS]) -> Group;

    /// A column's groups one row further down, where `above` lie above them.
    fn lower<const L: usize>(self, groups: &[Group; L], above: &[Group; L], to: &mut [Group; L]);

    /// Makes groups of bytes, which are XORed with `flip` before they are read.
    fn join<const L: usize>(self, rows: [&[u8; L]; ROWS], flip: u8, to: &mut [Group; L]);

    /// Adds the products of each group of `x` and of `y`, which are an image's and weights, to its lane's sum; that wraps around.
    /// Not all four numbers of two pairs are the least of 16 bits.
    fn add<const L: usize>(self, sums: &mut [i32; L], x: &[Group; L], y: &[Group; L]);

    /// Adds to each lane's sum another.
    #[inline(always)]
    fn sum<const L: usize>(self, sums: &mut [i32; L], others: &[i32; L]) {
        for (sum, other) in sums.iter_mut().zip(others) {
            *sum = sum.wrapping_add(*other);
        }
    }
}

/// A loop over groups of taps, compiled once for each way to multiply them.
pub(crate) trait TapsLoop {
    /// Always inlined, as is all that it calls; see [`super::Loop::run`].
    fn run<const ROWS: usize, T: Taps<ROWS>>(self, taps: T);
}

/// The ways that a kernel has. Whoever holds it knows that the processor has them, as whoever holds a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TapsWays(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture has some of them")]
enum Kind {
    /// With what every processor of the architecture has.
    Common,
    Avx2,
    AvxVnni,
    Avx512Vnni,
}

impl TapsWays {
    /// The best with these features, which a kernel is detected by.
    pub(super) const fn of(features: &[&str]) -> Self {
        use super::vectors::has;
        Self(match features {
            _ if has(features, "avx512vnni") && has(features, "avx512bw") && has(features, "avx512vl") => {
                Kind::Avx512Vnni
            }
            _ if has(features, "avx2") && has(features, "avxvnni") => Kind::AvxVnni,
            _ if has(features, "avx2") || has(features, "avx512bw") => Kind::Avx2,
            _ => Kind::Common,
        })
    }

    /// Whether taps may go in fours.
    pub(crate) fn has_fours(self) -> bool {
        matches!(self.0, Kind::AvxVnni | Kind::Avx512Vnni)
    }

    /// Runs a loop over taps in pairs, or in fours.
    ///
    /// # Panics
    /// If there are no fours.
    #[inline]
    pub(crate) fn run<L: TapsLoop>(self, in_fours: bool, taps: L) {
        match (self.0, in_fours) {
            // SAFETY: whoever holds this kind, has a kernel that was detected by its features.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            (Kind::AvxVnni, true) => unsafe { x86::avxvnni::run(taps) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            (Kind::Avx512Vnni, true) => unsafe { x86::avx512vnni::run(taps) },
            (_, true) => unreachable!("nobody asks for fours that there are not"),
            // SAFETY: as above; those with more have AVX2, too.
            #[cfg(target_arch = "x86_64")]
            (Kind::Avx2 | Kind::AvxVnni | Kind::Avx512Vnni, false) => unsafe { x86::avx2::run(taps) },
            _ => taps.run(Common),
        }
    }
}

/// Pairs, as the compiler multiplies them.
#[derive(Clone, Copy)]
struct Common;

impl Taps<2> for Common {
    const READ_AS: Encoding = Encoding::S8;
    const WIDTH: usize = 16;

    #[inline(always)]
    fn group(self, numbers: [u8; 2]) -> Group {
        numbers.map(|number| i16::from(number as i8))
    }

    #[inline(always)]
    fn lower<const L: usize>(self, groups: &[Group; L], above: &[Group; L], to: &mut [Group; L]) {
        for ((to, group), above) in to.iter_mut().zip(groups).zip(above) {
            *to = [above[1], group[0]];
        }
    }

    #[inline(always)]
    fn join<const L: usize>(self, [upper, lower]: [&[u8; L]; 2], flip: u8, to: &mut [Group; L]) {
        let halves = upper.as_chunks::<8>().0.iter().zip(lower.as_chunks::<8>().0);
        for ((upper, lower), to) in halves.zip(to.as_chunks_mut::<8>().0) {
            for ((group, upper), lower) in to.iter_mut().zip(upper).zip(lower) {
                *group = [i16::from((upper ^ flip) as i8), i16::from((lower ^ flip) as i8)];
            }
        }
    }

    #[inline(always)]
    fn add<const L: usize>(self, sums: &mut [i32; L], x: &[Group; L], y: &[Group; L]) {
        let halves = x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0);
        for (sums, (x, y)) in sums.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
            for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                let products = i32::from(x[0]) * i32::from(y[0]) + i32::from(x[1]) * i32::from(y[1]);
                *sum = sum.wrapping_add(products);
            }
        }
    }
}

/// The compiler finds none of these instructions by itself. Their methods are only called in functions that have the features,
/// which alone make the types that they belong to.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Group, Taps, TapsLoop};
    use crate::matrix::Encoding;
    use std::arch::x86_64::*;

    /// Moves numbers of so many bits to the next place in each group, and the last ones of the groups above to the first; the lanes
    /// are multiples of 8.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn lower<const BITS: i32, const REST: i32>(groups: &[i16], above: &[i16], to: &mut [i16]) {
        let above = above.as_chunks::<16>().0;
        for ((to, groups), above) in to.as_chunks_mut::<16>().0.iter_mut().zip(groups.as_chunks::<16>().0).zip(above) {
            // SAFETY: each is of 32 bytes.
            unsafe {
                let moved = _mm256_slli_epi32::<BITS>(_mm256_loadu_si256(groups.as_ptr().cast()));
                let last = _mm256_srli_epi32::<REST>(_mm256_loadu_si256(above.as_ptr().cast()));
                _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_or_si256(moved, last));
            }
        }
    }

    pub(super) mod avx2 {
        use super::*;

        #[target_feature(enable = "avx2")]
        pub(in super::super) fn run<L: TapsLoop>(taps: L) {
            taps.run(Pairs(()));
        }

        #[derive(Clone, Copy)]
        struct Pairs(());

        impl Taps<2> for Pairs {
            const READ_AS: Encoding = Encoding::S8;
            const WIDTH: usize = 16;

            #[inline(always)]
            fn group(self, numbers: [u8; 2]) -> Group {
                numbers.map(|number| i16::from(number as i8))
            }

            #[inline(always)]
            fn lower<const L: usize>(self, groups: &[Group; L], above: &[Group; L], to: &mut [Group; L]) {
                // SAFETY: see above.
                unsafe { lower::<16, 16>(groups.as_flattened(), above.as_flattened(), to.as_flattened_mut()) }
            }

            #[inline(always)]
            fn join<const L: usize>(self, [upper, lower]: [&[u8; L]; 2], flip: u8, to: &mut [Group; L]) {
                let halves = upper.as_chunks::<8>().0.iter().zip(lower.as_chunks::<8>().0);
                for ((upper, lower), to) in halves.zip(to.as_chunks_mut::<8>().0) {
                    // SAFETY: the loads are of 8 bytes, the store of 32.
                    unsafe {
                        let (upper, lower) =
                            (_mm_loadl_epi64(upper.as_ptr().cast()), _mm_loadl_epi64(lower.as_ptr().cast()));
                        let bytes = _mm_xor_si128(_mm_unpacklo_epi8(upper, lower), _mm_set1_epi8(flip as i8));
                        _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm256_cvtepi8_epi16(bytes));
                    }
                }
            }

            #[inline(always)]
            fn add<const L: usize>(self, sums: &mut [i32; L], x: &[Group; L], y: &[Group; L]) {
                let halves = x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0);
                for (sums, (x, y)) in sums.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
                    // SAFETY: each is of 32 bytes.
                    unsafe {
                        let (x, y) = (_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(y.as_ptr().cast()));
                        let sum = _mm256_add_epi32(_mm256_loadu_si256(sums.as_ptr().cast()), _mm256_madd_epi16(x, y));
                        _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
                    }
                }
            }
        }
    }

    /// Groups of four bytes of 8 lanes.
    #[cfg(not(only_avx2))]
    #[inline]
    #[target_feature(enable = "avx2")]
    fn join_8([a, b, c, d]: [&[u8; 8]; 4], flip: u8, to: &mut [Group; 8]) {
        // SAFETY: the loads are of 8 bytes, the stores of 16 each, into 32.
        unsafe {
            let (a, b) = (_mm_loadl_epi64(a.as_ptr().cast()), _mm_loadl_epi64(b.as_ptr().cast()));
            let (c, d) = (_mm_loadl_epi64(c.as_ptr().cast()), _mm_loadl_epi64(d.as_ptr().cast()));
            let flip = _mm_set1_epi8(flip as i8);
            let (ab, cd) = (_mm_xor_si128(_mm_unpacklo_epi8(a, b), flip), _mm_xor_si128(_mm_unpacklo_epi8(c, d), flip));
            let to: *mut __m128i = to.as_mut_ptr().cast();
            _mm_storeu_si128(to, _mm_unpacklo_epi16(ab, cd));
            _mm_storeu_si128(to.add(1), _mm_unpackhi_epi16(ab, cd));
        }
    }

    /// Adds sums of 8 lanes each.
    #[cfg(not(only_avx2))]
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum_8(sums: &mut [[i32; 8]], others: &[[i32; 8]]) {
        for (sums, others) in sums.iter_mut().zip(others) {
            // SAFETY: each is of 32 bytes.
            unsafe {
                let others = _mm256_loadu_si256(others.as_ptr().cast());
                let sum = _mm256_add_epi32(_mm256_loadu_si256(sums.as_ptr().cast()), others);
                _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
            }
        }
    }

    /// One half of the rows after the other, 8 lanes each.
    #[cfg(not(only_avx2))]
    #[inline(always)]
    fn half<'r, const L: usize>(rows: &[&'r [u8; L]; 4], half: usize) -> [&'r [u8; 8]; 4] {
        let mut eight = [&[0; 8]; 4];
        for (eight, row) in eight.iter_mut().zip(rows) {
            *eight = &row.as_chunks().0[half];
        }
        eight
    }

    #[cfg(not(only_avx2))]
    pub(super) mod avxvnni {
        use super::*;

        #[target_feature(enable = "avx2,avxvnni")]
        pub(in super::super) fn run<L: TapsLoop>(taps: L) {
            taps.run(Fours(()));
        }

        #[derive(Clone, Copy)]
        struct Fours(());

        impl Taps<4> for Fours {
            const READ_AS: Encoding = Encoding::U8;
            const WIDTH: usize = 16;

            #[inline(always)]
            fn group(self, [a, b, c, d]: [u8; 4]) -> Group {
                [i16::from_ne_bytes([a, b]), i16::from_ne_bytes([c, d])]
            }

            #[inline(always)]
            fn lower<const L: usize>(self, groups: &[Group; L], above: &[Group; L], to: &mut [Group; L]) {
                // SAFETY: see above.
                unsafe { lower::<8, 24>(groups.as_flattened(), above.as_flattened(), to.as_flattened_mut()) }
            }

            #[inline(always)]
            fn join<const L: usize>(self, rows: [&[u8; L]; 4], flip: u8, to: &mut [Group; L]) {
                for (i, to) in to.as_chunks_mut().0.iter_mut().enumerate() {
                    // SAFETY: see above.
                    unsafe { join_8(half(&rows, i), flip, to) }
                }
            }

            #[inline(always)]
            fn add<const L: usize>(self, sums: &mut [i32; L], x: &[Group; L], y: &[Group; L]) {
                let halves = x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0);
                for (sums, (x, y)) in sums.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
                    // SAFETY: each is of 32 bytes.
                    unsafe {
                        let (x, y) = (_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(y.as_ptr().cast()));
                        let sum = _mm256_dpbusd_avx_epi32(_mm256_loadu_si256(sums.as_ptr().cast()), x, y);
                        _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
                    }
                }
            }

            #[inline(always)]
            fn sum<const L: usize>(self, sums: &mut [i32; L], others: &[i32; L]) {
                // SAFETY: there is AVX2.
                unsafe { sum_8(sums.as_chunks_mut().0, others.as_chunks().0) }
            }
        }
    }

    #[cfg(not(only_avx2))]
    pub(super) mod avx512vnni {
        use super::*;

        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
        pub(in super::super) fn run<L: TapsLoop>(taps: L) {
            taps.run(Fours(()));
        }

        #[derive(Clone, Copy)]
        struct Fours(());

        impl Taps<4> for Fours {
            const READ_AS: Encoding = Encoding::U8;
            const WIDTH: usize = 32;

            #[inline(always)]
            fn group(self, [a, b, c, d]: [u8; 4]) -> Group {
                [i16::from_ne_bytes([a, b]), i16::from_ne_bytes([c, d])]
            }

            #[inline(always)]
            fn lower<const L: usize>(self, groups: &[Group; L], above: &[Group; L], to: &mut [Group; L]) {
                // SAFETY: see above.
                unsafe { lower::<8, 24>(groups.as_flattened(), above.as_flattened(), to.as_flattened_mut()) }
            }

            #[inline(always)]
            fn join<const L: usize>(self, rows: [&[u8; L]; 4], flip: u8, to: &mut [Group; L]) {
                for (i, to) in to.as_chunks_mut().0.iter_mut().enumerate() {
                    let mut sixteen = [&[0; 16]; 4];
                    for (sixteen, row) in sixteen.iter_mut().zip(&rows) {
                        *sixteen = &row.as_chunks().0[i];
                    }
                    // SAFETY: see above.
                    unsafe { join_16(sixteen, flip, to) }
                }
                if let Some(to) = to.as_chunks_mut::<16>().1.first_chunk_mut() {
                    // SAFETY: see above.
                    unsafe { join_8(half(&rows, L / 8 - 1), flip, to) }
                }
            }

            #[inline(always)]
            fn add<const L: usize>(self, sums: &mut [i32; L], x: &[Group; L], y: &[Group; L]) {
                let ((x, last_x), (y, last_y)) = (x.as_chunks::<16>(), y.as_chunks::<16>());
                let (sums, last) = sums.as_chunks_mut::<16>();
                for ((sums, x), y) in sums.iter_mut().zip(x).zip(y) {
                    // SAFETY: each is of 64 bytes.
                    unsafe {
                        let (x, y) = (_mm512_loadu_si512(x.as_ptr().cast()), _mm512_loadu_si512(y.as_ptr().cast()));
                        let sum = _mm512_dpbusd_epi32(_mm512_loadu_si512(sums.as_ptr().cast()), x, y);
                        _mm512_storeu_si512(sums.as_mut_ptr().cast(), sum);
                    }
                }
                if let (Some(sums), Some(x), Some(y)) =
                    (last.first_chunk_mut::<8>(), last_x.first_chunk::<8>(), last_y.first_chunk::<8>())
                {
                    // SAFETY: each is of 32 bytes.
                    unsafe {
                        let (x, y) = (_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(y.as_ptr().cast()));
                        let sum = _mm256_dpbusd_epi32(_mm256_loadu_si256(sums.as_ptr().cast()), x, y);
                        _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
                    }
                }
            }

            #[inline(always)]
            fn sum<const L: usize>(self, sums: &mut [i32; L], others: &[i32; L]) {
                let ((sums, last), (others, last_others)) = (sums.as_chunks_mut::<16>(), others.as_chunks::<16>());
                for (sums, others) in sums.iter_mut().zip(others) {
                    // SAFETY: each is of 64 bytes.
                    unsafe {
                        let others = _mm512_loadu_si512(others.as_ptr().cast());
                        let sum = _mm512_add_epi32(_mm512_loadu_si512(sums.as_ptr().cast()), others);
                        _mm512_storeu_si512(sums.as_mut_ptr().cast(), sum);
                    }
                }
                // SAFETY: with AVX-512 there is AVX2.
                unsafe { sum_8(last.as_chunks_mut().0, last_others.as_chunks().0) }
            }
        }

        /// Groups of four bytes of 16 lanes: a matrix of 4 x 4 groups is transposed, and then the bytes of each four.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        fn join_16([a, b, c, d]: [&[u8; 16]; 4], flip: u8, to: &mut [Group; 16]) {
            let groups = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            let bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
            // SAFETY: the loads are of 16 bytes, the store of 64.
            unsafe {
                let rows = _mm512_castsi128_si512(_mm_loadu_si128(a.as_ptr().cast()));
                let rows = _mm512_inserti32x4::<1>(rows, _mm_loadu_si128(b.as_ptr().cast()));
                let rows = _mm512_inserti32x4::<2>(rows, _mm_loadu_si128(c.as_ptr().cast()));
                let rows = _mm512_inserti32x4::<3>(rows, _mm_loadu_si128(d.as_ptr().cast()));
                let rows = _mm512_xor_si512(rows, _mm512_set1_epi8(flip as i8));
                let joined = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(groups, rows), bytes);
                _mm512_storeu_si512(to.as_mut_ptr().cast(), joined);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn the_features_of_a_kernel_say_how_taps_are_multiplied() {
        for kernel in Kernel::all() {
            let want = match kernel.name {
                "avx2" | "avx512bw" => Kind::Avx2,
                "avxvnni" => Kind::AvxVnni,
                "avx512vnni" | "amx" => Kind::Avx512Vnni,
                _ => Kind::Common,
            };
            assert_eq!(kernel.taps, TapsWays(want), "{}", kernel.name);
        }
    }
}
