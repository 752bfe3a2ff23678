//! AVX-512 VNNI, for few lines.

use super::avx512vnni::dot;
use super::avx512vnni_walk::by_number;
use super::few_lines::{self, AHEAD, Ahead};
use super::shuffle_quads512::unpacked;
use super::vector256::prefetch;
use super::vector512::{Vector, add_totals, load, resume, spread, store, zero};
use super::{FewProduct, tiles};
use crate::matrix::Operand;
use std::ops::Range;

// 24 accumulators at most, as many registers for the operand as lines, 1 for a few line.
few_lines! {
    features: ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"], lanes: 16, group: 4, columns: 64,
    rows: [1 2 3 4 5 6] by 4, packed: [64..65, 0..129], narrow: 128,
}

#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(bytes: &[u8; 64]) -> Vector {
    load(bytes)
}

/// The encoding of the few lines is the other one: there is nothing to widen.
#[inline]
#[target_feature(enable = "avx512f")]
fn wide<const UNSIGNED: bool>(bytes: &[u8; 64]) -> Vector {
    load(bytes)
}

/// Runs that pass together, and the groups that these are.
const RUNS: usize = 16;
const GROUPS: usize = RUNS / 4;

/// The most of the few lines that a strip meets together: four, and the sums of columns.
const MOST: usize = 5;

/// Chunks of 64 columns in a strip.
const STRIP: usize = 16;

/// Fewer lines of an operand are read before what comes later could be fetched in the order of memory.
const LONG: usize = 4 * LINES;

/// Bytes of a run of an operand that is near which are read between its being fetched and its being read.
const SOON: usize = 512;

/// 64 columns at each depth.
type Chunk = [u8; LINES];

/// Sums of 64 columns: of each 16 those of four, as [`unpacked`] leaves them.
type Sums = [[i32; 16]; VECTORS];

/// Runs pass by, several depths at a time, over sums that rest in memory.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn along_lines<const UNSIGNED: bool>(product: &FewProduct, lines: Range<usize>, sums: &mut [i32]) {
    match product.is_near || lines.len() < LONG {
        true => pass::<UNSIGNED, false>(product, lines, sums),
        false => pass::<UNSIGNED, true>(product, lines, sums),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pass<const UNSIGNED: bool, const FAR: bool>(product: &FewProduct, lines: Range<usize>, sums: &mut [i32]) {
    let operand = &product.operand;
    let pitch = sums.len() / product.count;
    sums.fill(0);
    let later = (AHEAD / lines.len()).max(RUNS);
    let groups = tiles(product.count, MOST);
    let chunks = lines.len().div_ceil(LINES);
    for depth in (0..operand.depth).step_by(RUNS) {
        let mut runs: [&[u8]; RUNS] = [&[]; _];
        if operand.depth - depth >= RUNS {
            runs = operand.parts(depth, lines.clone());
        } else {
            for (x, run) in runs.iter_mut().enumerate() {
                *run = &run_at(operand, depth + x)[lines.clone()];
            }
        }
        let mut ahead = Ahead::of(product, depth + later..depth + later + RUNS, &lines);
        // In strips that stay in the fastest cache while they meet all of the few lines.
        for strip in (0..chunks).step_by(STRIP) {
            let strip = strip..chunks.min(strip + STRIP);
            for rows in groups.clone() {
                let place = (rows.start, depth);
                let sums = (sums[rows.start * pitch..].as_chunks_mut().0.as_chunks_mut().0, pitch / LINES);
                let ahead = &mut ahead;
                by_number!(rows.len(), |ROWS| {
                    // As many as have room for their sums in 16 to 20 registers.
                    const CHUNKS: usize = [4, 2, 1, 1, 1][ROWS - 1];
                    let runs = (&runs, lines.end);
                    multiply_strip::<ROWS, CHUNKS, UNSIGNED, FAR>(product, place, runs, strip.clone(), sums, ahead)
                }, 1 2 3 4 5);
            }
        }
    }
    few_lines::put_in_order(sums, pitch, lines.len(), few_lines::sixteens::<LINES>);
}

/// Numbers of the few lines beyond the depth are zero: any run will do.
#[inline(always)]
fn run_at<'a>(operand: &Operand<'a>, depth: usize) -> &'a [u8] {
    operand.run(depth.min(operand.depth - 1))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn multiply_strip<const ROWS: usize, const CHUNKS: usize, const UNSIGNED: bool, const FAR: bool>(
    product: &FewProduct,
    (row, depth): (usize, usize),
    (runs, end): (&[&[u8]; RUNS], usize),
    strip: Range<usize>,
    (sums, pitch): (&mut [Sums], usize),
    ahead: &mut Ahead,
) {
    let mut lhs = [[zero(); ROWS]; GROUPS];
    for i in 0..ROWS {
        let groups: &[_; GROUPS] = product.line(row + i)[depth / 4..].first_chunk().expect("lines are padded");
        for (of_group, group) in lhs.iter_mut().zip(groups) {
            of_group[i] = spread(*group);
        }
    }
    // The last step may have fewer.
    let lhs = &lhs[..GROUPS.min((product.operand.depth - depth).div_ceil(4))];
    let mut chunks: [&[Chunk]; RUNS] = [&[]; _];
    for x in 0..RUNS {
        chunks[x] = runs[x].as_chunks().0;
    }
    let whole = chunks[0].len();
    // Once.
    let mut nothing = Ahead::NONE;
    let ahead = if row == 0 { ahead } else { &mut nothing };
    let mut at = strip.start;
    while at < strip.end.min(whole) {
        let count = if strip.end.min(whole) - at < CHUNKS { 1 } else { CHUNKS };
        // What comes next in these runs, and before they end the beginnings of those that follow.
        let next = match at + SOON / LINES < whole {
            _ if row > 0 => 0,
            true => SOON,
            false => SOON.wrapping_sub(whole * LINES).wrapping_add(product.operand.pitch() * RUNS),
        };
        // SAFETY: all runs are of one length: every one has `whole` chunks, and of those so many are left.
        unsafe {
            if count == CHUNKS {
                patch::<ROWS, CHUNKS, UNSIGNED, FAR>(lhs, (&chunks, at, next), (&mut *sums, pitch), ahead);
            } else {
                patch::<ROWS, 1, UNSIGNED, FAR>(lhs, (&chunks, at, next), (&mut *sums, pitch), ahead);
            }
        }
        at += count;
    }
    if strip.end > whole {
        // Lines before are read again, and their sums not used.
        for (x, chunks) in chunks.iter_mut().enumerate() {
            let run = &run_at(&product.operand, depth + x)[..end];
            *chunks = std::slice::from_ref(run.last_chunk().expect("an operand of as many lines"));
        }
        // SAFETY: every run has one chunk.
        unsafe { patch::<ROWS, 1, UNSIGNED, FAR>(lhs, (&chunks, 0, 0), (&mut sums[whole..], pitch), ahead) }
    }
}

/// # Safety
/// All runs have chunks from `at` on, as many as are multiplied.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn patch<const ROWS: usize, const CHUNKS: usize, const UNSIGNED: bool, const FAR: bool>(
    lhs: &[[Vector; ROWS]],
    (runs, at, next): (&[&[Chunk]; RUNS], usize, usize),
    (sums, pitch): (&mut [Sums], usize),
    ahead: &mut Ahead,
) {
    const { assert!(CHUNKS <= 4) }
    let mut c = [[[zero(); VECTORS]; ROWS]; CHUNKS];
    for k in 0..CHUNKS {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                c[k][i][v] = resume(&sums[at + k + i * pitch][v]);
            }
        }
    }
    for (lhs, runs) in lhs.iter().zip(runs.as_chunks().0) {
        if FAR {
            ahead.fetch(4 * CHUNKS);
        }
        // Not a loop, which the compiler would leave as it is, with sums in memory.
        // SAFETY: this function's own promise.
        unsafe { grow_chunk::<ROWS, UNSIGNED, FAR>(lhs, runs, (at, next), &mut c[0]) }
        if CHUNKS > 1 {
            // SAFETY: as above.
            unsafe { grow_chunk::<ROWS, UNSIGNED, FAR>(lhs, runs, (at + 1, next), &mut c[1]) }
        }
        if CHUNKS > 2 {
            // SAFETY: as above.
            unsafe { grow_chunk::<ROWS, UNSIGNED, FAR>(lhs, runs, (at + 2, next), &mut c[2]) }
        }
        if CHUNKS > 3 {
            // SAFETY: as above.
            unsafe { grow_chunk::<ROWS, UNSIGNED, FAR>(lhs, runs, (at + 3, next), &mut c[3]) }
        }
    }
    for k in 0..CHUNKS {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                store(&mut sums[at + k + i * pitch][v], c[k][i][v], true);
            }
        }
    }
}

/// # Safety
/// All runs have a chunk `at`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn grow_chunk<const ROWS: usize, const UNSIGNED: bool, const FAR: bool>(
    lhs: &[Vector; ROWS],
    runs: &[&[Chunk]; 4],
    (at, next): (usize, usize),
    c: &mut [[Vector; VECTORS]; ROWS],
) {
    // SAFETY: this function's own promise.
    let [x, y, z, w]: [&Chunk; 4] = unsafe {
        [runs[0].get_unchecked(at), runs[1].get_unchecked(at), runs[2].get_unchecked(at), runs[3].get_unchecked(at)]
    };
    if !FAR {
        for chunk in [x, y, z, w] {
            prefetch(chunk.as_ptr().wrapping_add(next));
        }
    }
    let columns: [Vector; VECTORS] = unpacked([load(x), load(y), load(z), load(w)]);
    for i in 0..ROWS {
        for v in 0..VECTORS {
            c[i][v] = dot::<UNSIGNED>(c[i][v], lhs[i], columns[v]);
        }
    }
}
