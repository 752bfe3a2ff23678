//! Packing groups of four bytes, with vectors of 512 bits where there are lines enough.

use super::avx512vnni::dot;
pub(super) use super::shuffle_quads::{interleave, interleave_two, sum_bytes, sum_four, transpose, turn};
use super::vector256::prefetch;
use super::vector512::{Vector, load, plus, put, store as store_sums, store_bytes, totals_of_quarters, unknown, zero};
use crate::matrix::{Chunks, Encoding, Lines};
use crate::pack::{CHUNK, DEPTHS, FOUR_PANELS, TWO_PANELS};
use std::arch::x86_64::*;

/// Which quarters of two vectors `_mm512_shuffle_i32x4` takes: two of the first, then two of the second.
const FIRST_HALVES: i32 = 0b_01_00_01_00;
const SECOND_HALVES: i32 = 0b_11_10_11_10;
const EVEN_QUARTERS: i32 = 0b_10_00_10_00;
const ODD_QUARTERS: i32 = 0b_11_01_11_01;

/// Lines of a panel, at most.
const MOST: usize = TWO_PANELS / 2;

/// Writes the groups of all lines at one depth to their panels of 32, `pitch` groups from one to the next. Lines that are not
/// there become 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn interleave_panels(depths: [&[u8]; 4], added: u8, to: &mut [[u8; 4]], pitch: usize) {
    let [a, b, c, d] = depths;
    // Said once, so that the compiler knows it of all of them.
    let count = a.len();
    let (b, c, d) = (&b[..count], &c[..count], &d[..count]);
    let added = _mm512_set1_epi8(added as i8);
    let mut panels = to.chunks_mut(pitch);
    for from in (0..count).step_by(TWO_PANELS) {
        let (a, b, c, d) = (&a[from..], &b[from..], &c[from..], &d[from..]);
        let [a, b, c, d] = match (a.first_chunk(), b.first_chunk(), c.first_chunk(), d.first_chunk()) {
            (Some(a), Some(b), Some(c), Some(d)) => [
                _mm512_add_epi8(load(a), added),
                _mm512_add_epi8(load(b), added),
                _mm512_add_epi8(load(c), added),
                _mm512_add_epi8(load(d), added),
            ],
            _ => [load_some(a, added), load_some(b, added), load_some(c, added), load_some(d, added)],
        };
        let [p, q, r, s] = interleaved([a, b, c, d]);
        if let Some(panel) = panels.next() {
            store_groups(panel, [p, q]);
        }
        if let Some(panel) = panels.next() {
            store_groups(panel, [r, s]);
        }
    }
}

/// As [`interleave_panels`], all lines of four panels, given as whole groups of their depths: so little is done for each of these
/// that many are under way at once. Not inlined: small products, which do without, would find fewer registers free.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn interleave_stretch(rows: Chunks<FOUR_PANELS>, added: u8, [a, b, c, d]: [&mut [[u8; 4]]; 4]) {
    const WIDTH: usize = TWO_PANELS / 2;
    let added = _mm512_set1_epi8(added as i8);
    let ab = a.chunks_exact_mut(WIDTH).zip(b.chunks_exact_mut(WIDTH));
    let cd = c.chunks_exact_mut(WIDTH).zip(d.chunks_exact_mut(WIDTH));
    for ((rows, (a, b)), (c, d)) in rows.in_groups::<4>().zip(ab).zip(cd) {
        for (half, [left, right]) in [[a, b], [c, d]].into_iter().enumerate() {
            let mut lines = [zero(); 4];
            for (lines, row) in lines.iter_mut().zip(rows) {
                *lines = _mm512_add_epi8(load(&row.as_chunks().0[half]), added);
            }
            let [p, q, r, s] = interleaved(lines);
            store_groups(left, [p, q]);
            store_groups(right, [r, s]);
        }
    }
}

/// As [`interleave_panels`], over a stretch of the depth, whose runs hold all lines.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn interleave_runs(runs: Lines, added: u8, to: &mut [[u8; 4]], pitch: usize) {
    for (from, panels) in (0..runs.len()).step_by(TWO_PANELS).zip(to.chunks_mut(2 * pitch)) {
        let some = runs.stretch(from..runs.len().min(from + TWO_PANELS));
        match panels.split_at_mut_checked(pitch) {
            Some((left, right)) if !right.is_empty() => interleave_two_panels(some, added, [left, right]),
            _ => interleave_panel(some, added, panels),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn interleave_panel(runs: Lines, added: u8, panel: &mut [[u8; 4]]) {
    let absent = MOST.checked_sub(runs.len()).expect("no more lines than a panel has");
    let mask = u32::MAX.unbounded_shr(absent as u32);
    let added = _mm256_maskz_set1_epi8(mask, added as i8);
    for (runs, to) in runs.in_groups::<4>().zip(panel.as_chunks_mut::<MOST>().0) {
        let mut lines = [_mm256_setzero_si256(); 4];
        for (line, run) in lines.iter_mut().zip(runs) {
            // SAFETY: the mask has a bit for each byte of the slice, and nothing else is read.
            *line = _mm256_add_epi8(unsafe { _mm256_maskz_loadu_epi8(mask, run.as_ptr().cast()) }, added);
        }
        store_panel(to, lines);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn interleave_two_panels(runs: Lines, added: u8, [left, right]: [&mut [[u8; 4]]; 2]) {
    let absent = TWO_PANELS.checked_sub(runs.len()).expect("no more lines than two panels have");
    let mask = u64::MAX.unbounded_shr(absent as u32);
    let added = _mm512_maskz_set1_epi8(mask, added as i8);
    let panels = left.chunks_exact_mut(MOST).zip(right.chunks_exact_mut(MOST));
    for (runs, (left, right)) in runs.in_groups::<4>().zip(panels) {
        let mut lines = [zero(); 4];
        for (line, run) in lines.iter_mut().zip(runs) {
            // SAFETY: as above.
            *line = _mm512_add_epi8(unsafe { _mm512_maskz_loadu_epi8(mask, run.as_ptr().cast()) }, added);
        }
        let [p, q, r, s] = interleaved(lines);
        store_groups(left, [p, q]);
        store_groups(right, [r, s]);
    }
}

/// Writes the groups of 32 lines, given as four depths of each.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn store_panel(to: &mut [[u8; 4]; MOST], [a, b, c, d]: [__m256i; 4]) {
    let (ab, cd) = (_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d));
    let (p, q) = (_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd));
    let (r, s) = (_mm256_unpacklo_epi16(ab_high, cd_high), _mm256_unpackhi_epi16(ab_high, cd_high));
    let eights = [
        _mm256_permute2x128_si256::<0x20>(p, q),
        _mm256_permute2x128_si256::<0x20>(r, s),
        _mm256_permute2x128_si256::<0x31>(p, q),
        _mm256_permute2x128_si256::<0x31>(r, s),
    ];
    for (to, eight) in to.as_flattened_mut().as_chunks_mut::<32>().0.iter_mut().zip(eights) {
        // SAFETY: the reference covers the 32 bytes written.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), eight) }
    }
}

/// Fetches what lies so many bytes ahead of these runs. Not inlined, as [`interleave_stretch`].
#[inline(never)]
pub(super) fn fetch(runs: [&[u8]; 4], ahead: usize) {
    for run in runs {
        for line in run.chunks(TWO_PANELS) {
            prefetch(line.as_ptr().wrapping_add(ahead));
        }
    }
}

/// The groups of 64 lines, given as four depths of each, 16 to a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleaved([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    // Each quarter gets a word of every quarter: then groups that are unpacked within quarters lie in the order of their lines.
    let spread = unknown(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    unpacked([
        _mm512_permutexvar_epi32(spread, a),
        _mm512_permutexvar_epi32(spread, b),
        _mm512_permutexvar_epi32(spread, c),
        _mm512_permutexvar_epi32(spread, d),
    ])
}

/// The same within quarters: of the groups of each 16 lines four to a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn unpacked([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
    [
        _mm512_unpacklo_epi16(ab, cd),
        _mm512_unpackhi_epi16(ab, cd),
        _mm512_unpacklo_epi16(ab_high, cd_high),
        _mm512_unpackhi_epi16(ab_high, cd_high),
    ]
}

/// Writes the groups of a panel's lines.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_groups(panel: &mut [[u8; 4]], halves: [Vector; 2]) {
    let groups = &mut panel[..TWO_PANELS / 2];
    for (to, half) in groups.as_flattened_mut().as_chunks_mut().0.iter_mut().zip(halves) {
        store_bytes(to, half);
    }
}

/// No more than 64 bytes, each plus `added`, and 0 where there is none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_some(bytes: &[u8], added: Vector) -> Vector {
    let mask = u64::MAX.unbounded_shr(64 - bytes.len() as u32);
    // SAFETY: the mask has bits for bytes that the slice covers, and nothing else is read.
    let bytes = unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) };
    _mm512_maskz_add_epi8(mask, bytes, added)
}

/// Writes the groups of 16 lines over 64 depths, `pitch` groups from one depth to the next, and fetches what lies so many bytes
/// ahead of each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn transpose_sixteen(
    lines: [&[u8; DEPTHS]; CHUNK],
    ahead: usize,
    added: u8,
    to: &mut [[u8; 4]],
    pitch: usize,
) {
    let added = _mm512_set1_epi8(added as i8);
    let mut rows = [zero(); CHUNK];
    for (row, line) in rows.iter_mut().zip(lines) {
        // More lines side by side than processors follow by themselves.
        prefetch(line.as_ptr().wrapping_add(ahead));
        *row = _mm512_add_epi8(load(line), added);
    }
    // Looked at once, not for each depth.
    let to = &mut to[..(DEPTHS / 4 - 1) * pitch + CHUNK];
    transpose_rows(rows, |depth, sixteen| store_sixteen(&mut to[depth * pitch..], sixteen));
}

/// As [`transpose_sixteen`], no more lines and depths than that, as far as there is room. Lines that are not there become 0, as do
/// depths.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn transpose_some(lines: &[&[u8]], added: u8, to: &mut [[u8; 4]], pitch: usize) {
    let added = _mm512_set1_epi8(added as i8);
    let mut rows = [zero(); CHUNK];
    for (row, line) in rows.iter_mut().zip(lines) {
        *row = load_some(line, added);
    }
    transpose_rows(rows, |depth, sixteen| {
        if let Some(to) = to.get_mut(depth * pitch..).filter(|to| !to.is_empty()) {
            store_sixteen(to, sixteen);
        }
    });
}

/// Writes each group of 16 lines of 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_rows(rows: [Vector; CHUNK], mut write: impl FnMut(usize, Vector)) {
    let [a, b, c, d] = *rows.as_chunks().0 else { unreachable!("16 lines are four times four") };
    let fours = [transposed(a), transposed(b), transposed(c), transposed(d)];
    for i in 0..4 {
        let [a, b, c, d] = fours.map(|four| four[i]);
        let ab = _mm512_shuffle_i32x4::<FIRST_HALVES>(a, b);
        let cd = _mm512_shuffle_i32x4::<FIRST_HALVES>(c, d);
        let ab_high = _mm512_shuffle_i32x4::<SECOND_HALVES>(a, b);
        let cd_high = _mm512_shuffle_i32x4::<SECOND_HALVES>(c, d);
        write(i, _mm512_shuffle_i32x4::<EVEN_QUARTERS>(ab, cd));
        write(i + 4, _mm512_shuffle_i32x4::<ODD_QUARTERS>(ab, cd));
        write(i + 8, _mm512_shuffle_i32x4::<EVEN_QUARTERS>(ab_high, cd_high));
        write(i + 12, _mm512_shuffle_i32x4::<ODD_QUARTERS>(ab_high, cd_high));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_sixteen(to: &mut [[u8; 4]], groups: Vector) {
    let to: &mut [[u8; 4]; CHUNK] = to.first_chunk_mut().expect("16 groups");
    store_bytes(to.as_flattened_mut().first_chunk_mut().expect("64 bytes"), groups);
}

/// In each quarter of the vectors, the 4 × 4 matrix of groups, transposed.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transposed([a, b, c, d]: [Vector; 4]) -> [Vector; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab, cd),
        _mm512_unpackhi_epi64(ab, cd),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Adds the numbers of each line of a panel to the line's sum.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn add_sums<const W: usize>(groups: &[[u8; 4]], encoding: Encoding, sums: &mut [i32; W]) {
    match encoding {
        Encoding::U8 => add_dots::<W, false>(groups, sums),
        Encoding::S8 => add_dots::<W, true>(groups, sums),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn add_dots<const W: usize, const SIGNED: bool>(groups: &[[u8; 4]], sums: &mut [i32; W]) {
    const { assert!(W.is_multiple_of(CHUNK) && W <= MOST) }
    // Four sums of each line, for one would wait for itself.
    let mut added = [[zero(); MOST / CHUNK]; 4];
    let (fours, others) = groups.as_chunks::<W>().0.as_chunks::<4>();
    for four in fours {
        added.iter_mut().zip(four).for_each(|(added, group)| add_group::<W, SIGNED>(added, group));
    }
    added.iter_mut().zip(others).for_each(|(added, group)| add_group::<W, SIGNED>(added, group));
    for (column, sums) in sums.as_chunks_mut().0.iter_mut().enumerate() {
        let [a, b, c, d] = added.map(|added| added[column]);
        store_sums(sums, plus(plus(a, b), plus(c, d)), false);
    }
}

/// Adds what a group of each line does to the sums of 16 lines, and of the next 16, as many as there are.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn add_group<const W: usize, const SIGNED: bool>(sums: &mut [Vector; MOST / CHUNK], group: &[[u8; 4]; W]) {
    for (sums, groups) in sums.iter_mut().zip(group.as_chunks::<CHUNK>().0) {
        let bytes = groups.as_flattened().first_chunk().expect("16 groups");
        *sums = dot::<SIGNED>(*sums, load(bytes), _mm512_set1_epi8(1));
    }
}

/// The sums of the numbers of sixteen lines, or of fewer.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) fn sum_sixteen(lines: &Lines, encoding: Encoding, sums: &mut [i32]) {
    match (encoding, lines.len() < 64) {
        (Encoding::U8, true) => sum_sixteen_as::<false, true>(lines, sums),
        (Encoding::U8, false) => sum_sixteen_as::<false, false>(lines, sums),
        (Encoding::S8, true) => sum_sixteen_as::<true, true>(lines, sums),
        (Encoding::S8, false) => sum_sixteen_as::<true, false>(lines, sums),
    }
}

/// The same of numbers that are signed or not, and of lines that are shorter than a vector or not. Of four that are not all there, the
/// last is summed again and again.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn sum_sixteen_as<const SIGNED: bool, const SHORT: bool>(lines: &Lines, sums: &mut [i32]) {
    let Some(last) = sums.len().checked_sub(1) else { return };
    let mut fours = [zero(); 4];
    for (i, four) in fours.iter_mut().enumerate() {
        if 4 * i > last {
            break;
        }
        let first = 4 * i;
        *four = sums_of_four::<SIGNED, SHORT>(match first + 3 <= last {
            // So it is known how many they are.
            true => {
                let four = lines.part(first..first + 4);
                [four.get(0), four.get(1), four.get(2), four.get(3)]
            }
            false => {
                [lines.get(first), lines.get(last.min(first + 1)), lines.get(last.min(first + 2)), lines.get(last)]
            }
        });
    }
    let join = |a, b| plus(_mm512_shuffle_i32x4::<EVEN_QUARTERS>(a, b), _mm512_shuffle_i32x4::<ODD_QUARTERS>(a, b));
    put(sums, join(join(fours[0], fours[1]), join(fours[2], fours[3])));
}

/// Sums of four lines, each of as many numbers, four times; of fewer than 64 if they are short.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn sums_of_four<const SIGNED: bool, const SHORT: bool>(lines: [&[u8]; 4]) -> Vector {
    let len = lines[0].len();
    let whole = if SHORT { 0 } else { len / 64 * 64 };
    let rest = (1 << (len % 64)) - 1;
    let ones = _mm512_set1_epi8(1);
    let mut sums = [zero(); 4];
    for at in (0..whole).step_by(64) {
        for (sum, line) in sums.iter_mut().zip(lines) {
            // SAFETY: the slice covers the 64 bytes read.
            *sum = dot::<SIGNED>(*sum, unsafe { _mm512_loadu_epi8(line[at..at + 64].as_ptr().cast()) }, ones);
        }
    }
    if SHORT || rest > 0 {
        for (sum, line) in sums.iter_mut().zip(lines) {
            // SAFETY: the bytes of the mask are those of the slice.
            let last = unsafe { _mm512_maskz_loadu_epi8(rest, line[whole..len].as_ptr().cast()) };
            *sum = dot::<SIGNED>(*sum, last, ones);
        }
    }
    totals_of_quarters(sums)
}
