//! Which vectors the loops over elements are compiled for.
//!
//! A tile is written for its instruction set. A loop that maps elements one by one need not be: the compiler makes vectors
//! of it, once it knows which.

/// The vectors of a kernel. Whoever holds it knows that the processor has them, as whoever holds a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vectors(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture has some of them")]
enum Kind {
    /// What every processor of the architecture has.
    Common,
    Avx2,
    Avx512,
}

/// A loop over elements, compiled once for each kind of vectors.
pub(crate) trait Loop {
    /// What it gives.
    type Result;

    /// Always inlined, as is all that it calls: what is not would be compiled without the vectors. So no large closures,
    /// nor `array::map`.
    fn run(self) -> Self::Result;
}

/// Numbers of 16 bits that are multiplied and added in pairs, and their sums.
pub(crate) type Pairs = [[i16; 2]; 8];
pub(crate) type Sums = [i32; 8];

/// A loop over [`Pairs`], compiled once for each kind of vectors.
pub(crate) trait PairsLoop {
    /// As [`Loop::run`].
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

impl Vectors {
    /// The widest of these features, which a kernel is detected by.
    pub(super) const fn of(features: &[&str]) -> Self {
        if has(features, "avx512f") && has(features, "avx512bw") && has(features, "avx512vl") {
            Self(Kind::Avx512)
        } else if has(features, "avx2") {
            Self(Kind::Avx2)
        } else {
            Self(Kind::Common)
        }
    }

    /// Runs a loop with these vectors.
    #[inline]
    pub(crate) fn run<L: Loop>(self, elements: L) -> L::Result {
        match self.0 {
            // SAFETY: whoever holds this kind, has a kernel that was detected by its features.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { avx2(elements) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { avx512(elements) },
            _ => elements.run(),
        }
    }

    /// As [`Vectors::run`].
    #[inline]
    pub(crate) fn run_pairs<L: PairsLoop>(self, pairs: L) {
        match self.0 {
            // SAFETY: whoever holds this kind, has a kernel that was detected by its features.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { pairs_avx2(pairs) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { pairs_avx512(pairs) },
            _ => pairs.run(join_pairs, add_pairs),
        }
    }
}

#[inline(always)]
fn join_pairs(upper: &[u8; 8], lower: &[u8; 8], flip: u8, pairs: &mut Pairs) {
    for ((pair, upper), lower) in pairs.iter_mut().zip(upper).zip(lower) {
        *pair = [i16::from((upper ^ flip) as i8), i16::from((lower ^ flip) as i8)];
    }
}

#[inline(always)]
fn add_pairs(sums: &mut Sums, x: &Pairs, y: &Pairs) {
    for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
        let products = i32::from(x[0]) * i32::from(y[0]) + i32::from(x[1]) * i32::from(y[1]);
        *sum = sum.wrapping_add(products);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<L: Loop>(elements: L) -> L::Result {
    elements.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn avx512<L: Loop>(elements: L) -> L::Result {
    elements.run()
}

// The compiler does not find `vpmaddwd` by itself, nor `vpunpcklbw` of few bytes. Closures have the features of the function
// around them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pairs_avx2<L: PairsLoop>(pairs: L) {
    pairs.run(
        |upper, lower, flip, pairs| x86_64::join_pairs(upper, lower, flip, pairs),
        |sums, x, y| x86_64::add_pairs(sums, x, y),
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn pairs_avx512<L: PairsLoop>(pairs: L) {
    pairs.run(
        |upper, lower, flip, pairs| x86_64::join_pairs(upper, lower, flip, pairs),
        |sums, x, y| x86_64::add_pairs(sums, x, y),
    );
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::{Pairs, Sums};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn join_pairs(upper: &[u8; 8], lower: &[u8; 8], flip: u8, pairs: &mut Pairs) {
        // SAFETY: the loads are of 8 bytes, the store of 32.
        unsafe {
            let (upper, lower) = (_mm_loadl_epi64(upper.as_ptr().cast()), _mm_loadl_epi64(lower.as_ptr().cast()));
            let bytes = _mm_xor_si128(_mm_unpacklo_epi8(upper, lower), _mm_set1_epi8(flip as i8));
            _mm256_storeu_si256(pairs.as_mut_ptr().cast(), _mm256_cvtepi8_epi16(bytes));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add_pairs(sums: &mut Sums, x: &Pairs, y: &Pairs) {
        // SAFETY: each is of 32 bytes.
        unsafe {
            let (x, y) = (_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(y.as_ptr().cast()));
            let sum = _mm256_add_epi32(_mm256_loadu_si256(sums.as_ptr().cast()), _mm256_madd_epi16(x, y));
            _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
        }
    }
}

const fn has(features: &[&str], name: &str) -> bool {
    let mut i = 0;
    while i < features.len() {
        if equal(features[i].as_bytes(), name.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn the_features_of_a_kernel_say_which_vectors_it_has() {
        for kernel in Kernel::all() {
            let want = match kernel.name {
                "avx2" | "avxvnni" => Kind::Avx2,
                "avx512bw" | "avx512vnni" => Kind::Avx512,
                _ => Kind::Common,
            };
            assert_eq!(kernel.vectors, Vectors(want), "{}", kernel.name);
        }
        assert_eq!(Vectors::of(&["avx512f", "avx512bw"]), Vectors(Kind::Common));
    }
}
