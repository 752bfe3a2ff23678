//! Rows of sums of any number of columns, 16 at a time.

use super::{End, LANES, Near, WIDE, WIDTH, all, in_doubt, part, requantize, store, sure_bytes, vector};
use crate::kernel::panel::Panel;
use crate::kernel::requantize::wide::{Places, Source, wide_bytes};
use crate::kernel::requantize::{Columns, Rule, Wide, near};
use crate::kernel::vector256::{Vector, plus, resume, times};
use std::arch::x86_64::*;

type Ready = ([Near; 2], End);

wide_bytes! {
    features: "avx2,fma",
    ready: |wide: &Wide, bias: [_; 2], sums: [_; 2], factor: [_; 2], exponent: [_; 2]| {
        let added = |half: usize| plus(bias[half], times(sums[half], all(wide.columns.times)));
        let end = End::new([added(0), added(1)], wide.last, [0, LANES]);
        let scales = [[factor[0], exponent[0]], [factor[1], exponent[1]]];
        Near::of::<WIDE>(wide.rule, scales, &wide.last, end.raised()).map(|scales| (scales, end))
    },
    kept: |wide: &Wide, panel: &Panel| {
        let added = [vector(&panel.added[0], 0), vector(&panel.added[0], LANES)];
        ([Near::of_panel(panel, 0), Near::of_panel(panel, LANES)], End::new(added, wide.last, [0, LANES]))
    },
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn sure<const HAVE_SIGNS: bool, const HAVE_TERMS: bool>(
    [upper, lower]: [&[i32; WIDTH]; 2],
    [of_upper, of_lower]: [i32; 2],
    (scales, end): &Ready,
) -> Option<Vector> {
    sure_bytes::<HAVE_SIGNS, WIDE>([parts(upper), parts(lower)], [[all(of_upper); 2], [all(of_lower); 2]], scales, end)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn exact(wide: &Wide, columns: &Columns, [upper, lower]: [&[i32; WIDTH]; 2], terms: [i32; 2]) -> Vector {
    let terms = [[all(terms[0]); 2], [all(terms[1]); 2]];
    in_doubt(wide.rule, columns, wide.last, [0, LANES], [parts(upper), parts(lower)], terms)
}

/// # Safety
/// As for [`Places::to`].
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn put(places: &Places<WIDTH>, bytes: Vector, [upper, lower]: [usize; 2], first: usize) {
    // SAFETY: this function's own promise; one at a time.
    unsafe {
        store(places.to(upper, first), _mm256_castsi256_si128(bytes));
        store(places.to(lower, first), _mm256_extracti128_si256::<1>(bytes));
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn halves(panel: &[i32; WIDTH]) -> [Vector; 2] {
    [resume(part(panel, 0)), resume(part(panel, LANES))]
}

#[inline(always)]
fn parts(panel: &[i32; WIDTH]) -> [&[i32; LANES]; 2] {
    [part(panel, 0), part(panel, LANES)]
}
