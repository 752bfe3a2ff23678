//! The `gemm` crate: f32, the unquantized alternative.

use gemm::Parallelism;
use qb_abi::{Contender, Library, Problem, Variant};

struct Sgemm(Problem);

impl Contender for Sgemm {
    const VARIANTS: &'static [Variant] = &[Variant::new(c"sgemm", b"fff")];

    fn new(_variant: usize, problem: Problem) -> Option<Self> {
        Some(Self(problem))
    }

    fn run(&mut self) {
        let Problem { m, n, k, threads, .. } = self.0;
        let parallelism = if threads > 1 { Parallelism::Rayon(threads) } else { Parallelism::None };
        let (a, b, c) = self.0.matrices::<f32, f32, f32>();
        // SAFETY: the pointers, strides and sizes are those of whole row-major matrices.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr(),
                1,
                n as isize,
                false,
                a.as_ptr(),
                1,
                k as isize,
                b.as_ptr(),
                1,
                n as isize,
                0.0,
                1.0,
                false,
                false,
                false,
                parallelism,
            );
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn qb_get() -> *const Library {
    // The version is the one that Cargo.toml pins.
    static LIBRARY: Library = qb_abi::library::<Sgemm>(c"gemmcrate", c"0.19.0", c"");
    &LIBRARY
}
