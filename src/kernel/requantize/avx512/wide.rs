//! Rows of sums of any number of columns, 32 at a time.

use super::{End, LANES, Near, WIDE, in_doubt, put_row, requantize, sure_bytes};
use crate::kernel::panel::Panel;
use crate::kernel::requantize::wide::{Places, Source, wide_bytes};
use crate::kernel::requantize::{Columns, Rule, Wide, near};
use crate::kernel::vector512::{Vector, plus, resume};
use std::arch::x86_64::*;

const WIDTH: usize = 2 * LANES;

type Ready = ([Near; 2], End);

wide_bytes! {
    features: "avx512f,avx512bw,avx512dq,avx512vl",
    ready: |wide: &Wide, bias: [_; 2], sums: [_; 2], factor: [_; 2], exponent: [_; 2]| {
        let times = _mm512_set1_epi32(wide.columns.times);
        let added = |half: usize| plus(bias[half], _mm512_mullo_epi32(sums[half], times));
        let scales = [[factor[0], exponent[0]], [factor[1], exponent[1]]];
        let end = End::adding([added(0), added(1)], &wide.last);
        Near::of::<WIDE>(wide.rule, scales, &wide.last).map(|scales| (scales, end))
    },
    kept: |_: &Wide, panel: &Panel| (Near::of_panel::<2>(panel), End::of_panel::<2>(panel)),
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn sure<const HAVE_SIGNS: bool, const HAVE_TERMS: bool>(
    sums: [&[i32; WIDTH]; 2],
    terms: [i32; 2],
    (scales, end): &Ready,
) -> Option<Vector> {
    sure_bytes::<_, _, HAVE_TERMS, HAVE_SIGNS, WIDE>(sums, &terms, scales, end, near::SURE)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn exact(wide: &Wide, columns: &Columns, sums: [&[i32; WIDTH]; 2], terms: [i32; 2]) -> Vector {
    in_doubt::<_, _, true>(wide.rule, columns, &wide.last, sums, &terms)
}

/// # Safety
/// As for [`Places::to`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn put(places: &Places<WIDTH>, bytes: Vector, [upper, lower]: [usize; 2], first: usize) {
    // SAFETY: this function's own promise; one at a time.
    unsafe {
        put_row(_mm512_castsi512_si256(bytes), places.to(upper, first));
        put_row(_mm512_extracti64x4_epi64::<1>(bytes), places.to(lower, first));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn halves(panel: &[i32; WIDTH]) -> [Vector; 2] {
    let halves = panel.as_chunks().0;
    [resume(&halves[0]), resume(&halves[1])]
}
