//! Which vectors the loops over elements are compiled for.
//!
//! A tile is written for its instruction set. A loop that maps elements one by one need not be: the compiler makes vectors
//! of it, once it knows which.

use super::MAX_ROWS;
use super::dequantize::{self, FloatBlock, FloatClamp, FloatColumns, FloatRows};
use super::lookup::{self, LookUpLoop};
use super::naturals::{self, Terms};
use super::requantize::{self, Columns, Last, Rows, Rule};
use super::weighted::{self, Weighted, WeightedLoop};
use crate::fixed_point::Fraction;
use crate::matrix::Block;

/// The vectors of a kernel. Whoever holds it knows that the processor has them, as whoever holds a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vectors(pub(super) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture has some of them")]
pub(super) enum Kind {
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

impl Vectors {
    /// The widest of these features, which a kernel is detected by.
    pub(super) const fn of(features: &[&str]) -> Self {
        if has(features, "avx512f")
            && has(features, "avx512bw")
            && has(features, "avx512dq")
            && has(features, "avx512vl")
        {
            Self(Kind::Avx512)
        } else if has(features, "avx2") && has(features, "fma") {
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
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 => unsafe { avx512(elements) },
            _ => elements.run(),
        }
    }

    /// Whether there are instructions for products and weighted sums of 32 bits: without them floats and tables take less time.
    pub(crate) fn have_products(self) -> bool {
        self.0 != Kind::Common
    }

    /// Runs a loop over weighted sums with these vectors.
    #[inline]
    pub(crate) fn run_weighted<L: WeightedLoop>(self, weighted: Weighted, elements: L) {
        match self.0 {
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { weighted::run_avx2(weighted, elements) },
            // SAFETY: the processor was just found to have what this kind does not imply.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 if cpu_has!("avx512vnni") => unsafe { weighted::run_avx512vnni(weighted, elements) },
            // SAFETY: whoever holds this kind, has a kernel that was detected by its features.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 => unsafe { weighted::run_avx512(weighted, elements) },
            _ => weighted::run(weighted, elements),
        }
    }

    /// Scales sums, each by its column's factor, and makes bytes of them.
    #[inline(always)]
    pub(crate) fn requantize<const W: usize>(
        self,
        rule: Rule,
        columns: &Columns,
        last: Last,
        rows: Rows<W>,
        to: Block<u8>,
    ) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => match rows.of_width() {
                // SAFETY: as above.
                Some(rows) => unsafe { requantize::avx2::requantize(rule, columns, last, rows, to) },
                None => requantize::requantize(rule, columns, last, rows, to),
            },
            // SAFETY: as above.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 => unsafe { requantize::avx512::requantize(rule, columns, last, rows, to) },
            _ => requantize::requantize(rule, columns, last, rows, to),
        }
    }

    /// Scales sums that are not negative once the first terms are taken off, by a fraction.
    #[inline(always)]
    pub(crate) fn scale_naturals<const W: usize>(
        self,
        fraction: Fraction,
        rows: &Terms<MAX_ROWS>,
        cols: &Terms<W>,
        sums: &mut [[i32; W]],
    ) {
        match self.0 {
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 if W.is_multiple_of(naturals::avx2::LANES) => unsafe {
                naturals::avx2::scale(fraction, rows, cols, sums)
            },
            _ => naturals::scale(fraction, rows, cols, sums),
        }
    }

    /// Scales sums in floats, which is what they become, or narrower ones.
    #[inline(always)]
    pub(crate) fn dequantize<const W: usize>(
        self,
        columns: &FloatColumns<W>,
        rows: FloatRows<W>,
        clamp: FloatClamp,
        to: FloatBlock,
    ) {
        match self.0 {
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { dequantize::avx2::rows(columns, rows, clamp, to) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 => unsafe { dequantize::avx512::rows(columns, rows, clamp, to) },
            _ => dequantize::rows(columns, rows, clamp, to),
        }
    }

    /// Whether to look up so many bytes at once takes less time than one by one.
    pub(crate) fn look_up_sooner(self, count: usize) -> bool {
        /// Fewer take less than to prepare the table.
        const WORTH_PARTS: usize = 512;
        match self.0 {
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 if cpu_has!("avx512vbmi") => true,
            Kind::Avx2 | Kind::Avx512 => count > WORTH_PARTS,
            Kind::Common => false,
        }
    }

    /// Runs a loop over bytes that are looked up in a table.
    pub(crate) fn run_look_up<L: LookUpLoop>(self, table: &[u8; 256], bytes: L) {
        match self.0 {
            // SAFETY: the processor was just found to have what this kind does not imply.
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 if cpu_has!("avx512vbmi") => unsafe { lookup::run_vbmi(table, bytes) },
            // SAFETY: as above; those with wider vectors have these, too.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => unsafe { lookup::run_avx2(table, bytes) },
            _ => lookup::run(table, bytes),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<L: Loop>(elements: L) -> L::Result {
    elements.run()
}

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512<L: Loop>(elements: L) -> L::Result {
    elements.run()
}

pub(super) const fn has(features: &[&str], name: &str) -> bool {
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
                "avx512bw" | "avx512vnni" | "amx" => Kind::Avx512,
                _ => Kind::Common,
            };
            assert_eq!(kernel.vectors, Vectors(want), "{}", kernel.name);
        }
        assert_eq!(Vectors::of(&["avx512f", "avx512bw"]), Vectors(Kind::Common));
    }
}
