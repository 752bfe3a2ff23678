//! Rows of sums become unsigned bytes by [`Rule::Down`](crate::kernel::requantize::Rule::Down), exactly, in as few instructions as
//! others take in 65536ths: what is negative becomes 0, whichever way its ties go.

use super::units::halves;
use super::{End, LANES, lanes, of_columns, order, put_row};
use crate::kernel::panel::Panel;
use crate::kernel::requantize::{Columns, Last, Rule};
use crate::kernel::vector512::{Vector, plus, resume};
use crate::matrix::Block;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// As [`relay_panel`](super::relay_panel). Nothing and false if bytes are signed, or a number is not shifted.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn panel(columns: &Columns, cols: usize, last: Last, to: &mut MaybeUninit<Panel>) -> bool {
    let shifts = [of_columns::<2>(columns.exponent, 0), of_columns::<2>(columns.exponent, 1)];
    let unshifted = shifts.map(|shift| u32::from(_mm512_testn_epi32_mask(shift, shift)));
    let mask = u32::MAX >> (2 * LANES - cols);
    if last.least < 0 || (unshifted[0] | unshifted[1] << LANES) & mask != 0 {
        return false;
    }
    let end = End::of::<2>(columns, &last);
    to.write(Panel {
        added: [lanes(end.added[0]), lanes(end.added[1])],
        scale: Default::default(),
        nudge: Default::default(),
        above: Default::default(),
        difference: Default::default(),
        factor: [lanes(of_columns::<2>(columns.factor, 0)), lanes(of_columns::<2>(columns.factor, 1))],
        exponent: [lanes(shifts[0]), lanes(shifts[1])],
        least: [last.least as i16; _],
        greatest: [last.greatest as i16; _],
        signs: 0,
        sure: 0.0,
        mask,
        rule: Rule::Down,
        last,
    });
    true
}

/// As a [`FinishFn`](super::units).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
pub(super) fn finish<const TERMS: bool>(panel: &Panel, to: &mut Block<u8>, sums: &[[i32; 2 * LANES]], terms: &[i32]) {
    let down = Down::of(panel);
    let term = |row: usize| if TERMS { terms[row] } else { 0 };
    for (i, pair) in sums.chunks(2).enumerate() {
        let (first, second) = (2 * i, 2 * i + pair.len() - 1);
        let upper = down.words::<TERMS>(&sums[first], term(first));
        let lower = down.words::<TERMS>(&sums[second], term(second));
        for row in halves(down.bytes(upper, lower)).into_iter().take(pair.len()) {
            let Some(to) = to.next() else { return };
            put_row(row, to);
        }
    }
}

struct Down {
    /// What columns add to sums.
    added: [Vector; 2],
    factor: [Vector; 2],
    /// One less than numbers are shifted.
    shift: [Vector; 2],
    least: Vector,
    greatest: Vector,
}

impl Down {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn of(panel: &Panel) -> Self {
        let shift = |half: usize| _mm512_sub_epi32(resume(&panel.exponent[half]), _mm512_set1_epi32(1));
        Self {
            added: [resume(&panel.added[0]), resume(&panel.added[1])],
            factor: [resume(&panel.factor[0]), resume(&panel.factor[1])],
            shift: [shift(0), shift(1)],
            least: _mm512_set1_epi16(panel.last.least as i16),
            greatest: _mm512_set1_epi16(panel.last.greatest as i16),
        }
    }

    /// The numbers of a row, confined, of each half four in turn.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn words<const TERMS: bool>(&self, sums: &[i32; 2 * LANES], term: i32) -> Vector {
        // Twice what they are to be, rounded down.
        let doubled = |half: usize| {
            let mut x = plus(resume(&sums.as_chunks().0[half]), self.added[half]);
            if TERMS {
                x = plus(x, _mm512_set1_epi32(term));
            }
            _mm512_srav_epi32(_mm512_mullo_epi32(x, self.factor[half]), self.shift[half])
        };
        let doubled = _mm512_packus_epi32(doubled(0), doubled(1));
        // Half of one more is rounded to nearest, ties up.
        let words = _mm512_avg_epu16(doubled, _mm512_setzero_si512());
        _mm512_max_epu16(_mm512_min_epu16(words, self.greatest), self.least)
    }

    /// The bytes of the words of two rows, one after the other.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn bytes(&self, upper: Vector, lower: Vector) -> Vector {
        _mm512_permutexvar_epi32(order(), _mm512_packus_epi16(upper, lower))
    }
}
