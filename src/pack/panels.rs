//! Packing the lines of an RHS into panels.

use super::runs::{Long, Patch, Short};
use super::short::copy_short;
use super::{ALONG_DEPTH, CHUNK, DEPTHS, FOUR_PANELS, LINES, MOST_IN_PLACE, SHORT_RUNS, STRETCH, Shuffle, is_far};
use crate::matrix::{Chunks, Encoding, Lines, Operand};
use crate::reading::Reading;
use std::ops::Range;

/// Packs a stretch of all lines of a panel, then sums it, while it is in the fastest cache.
#[inline(always)]
pub(crate) fn pack_rhs<const W: usize, const G: usize, const WAY: usize, const WIDE: bool>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panels: &mut [u8],
    sums: &mut [i32],
    shuffle: Shuffle<
        impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
        impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
        impl Fn([&[u8; 2 * CHUNK]; G], u8, [&mut [[u8; G]]; 2]),
        impl Fn([&[u8]; G], u8, &mut [[u8; G]], usize),
        impl Fn([&[u8]; G], usize),
        impl Fn(Chunks<FOUR_PANELS>, u8, [&mut [[u8; G]]; 4]),
        impl Fn(Lines, u8, &mut [[u8; G]], usize),
        impl Fn([&[u8; DEPTHS]; CHUNK], usize, u8, &mut [[u8; G]], usize),
        impl Fn(&[&[u8]], u8, &mut [[u8; G]], usize),
        impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
    >,
) {
    sums.fill(0);
    let panel_len = W * src.depth.div_ceil(G);
    if panel_len == 0 {
        return;
    }
    let panels: &mut [[u8; G]] = panels.as_chunks_mut().0;
    let Shuffle {
        transpose,
        interleave,
        interleave_two,
        interleave_panels,
        fetch,
        interleave_stretch,
        interleave_runs,
        transpose_sixteen,
        transpose_some,
        add_sums,
    } = shuffle;
    if const { WAY == ALONG_DEPTH } {
        let transpose = (transpose, transpose_sixteen, transpose_some);
        return gather_lines::<W, G, WIDE>(src, reading, first, panels, sums, transpose, add_sums);
    }
    if const { WAY == SHORT_RUNS } {
        let count = panels.len() / panel_len;
        let whole = match reading.requantization {
            Some(_) => 0,
            None if WIDE => count,
            None => whole_panels::<W>(src, first).min(count),
        };
        let (in_place, panels) = panels.split_at_mut(whole * panel_len);
        let (whole_sums, sums) = sums.split_at_mut(sums.len().min(whole * W));
        if whole > 0 {
            read_runs::<W, G, WIDE>(
                (src, reading, first),
                in_place,
                whole_sums,
                (&interleave, interleave_two),
                (interleave_panels, fetch, interleave_stretch, interleave_runs),
                &add_sums,
            );
        }
        if panels.is_empty() {
            return;
        }
        let first = first + whole * W;
        let is_one = panels.len() == panel_len && src.lines < first + W;
        if !WIDE && is_one && W.is_multiple_of(CHUNK) && reading.requantization.is_none() {
            return read_panel::<W, G>((src, reading, first), panels, sums, interleave, add_sums);
        }
        let patch = &mut Short::new(reading);
        // What is left is a panel that is not full, or few that are requantized: one by one.
        let none = |_: [&_; G], _, _: &mut _, _| unreachable!("panels one by one");
        return gather_runs::<W, G, false, _, _>(
            (src, reading, first),
            patch,
            panels,
            sums,
            interleave,
            none,
            add_sums,
        );
    }
    let patch = &mut Long::new(reading);
    gather_runs::<W, G, WIDE, _, _>((src, reading, first), patch, panels, sums, interleave, interleave_panels, add_sums)
}

/// How many bytes ahead of those that are transposed lines are fetched.
const AHEAD: usize = 512;

/// Packs panels of lines whose depth is contiguous.
#[inline(always)]
fn gather_lines<const W: usize, const G: usize, const WIDE: bool>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panels: &mut [[u8; G]],
    sums: &mut [i32],
    (transpose, transpose_sixteen, transpose_some): (
        impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
        impl Fn([&[u8; DEPTHS]; CHUNK], usize, u8, &mut [[u8; G]], usize),
        impl Fn(&[&[u8]], u8, &mut [[u8; G]], usize),
    ),
    add_sums: impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
) {
    let mut sums = sums.as_chunks_mut::<W>().0.iter_mut();
    let is_whole = |from| from + DEPTHS <= src.depth || src.depth.is_multiple_of(STRETCH);
    // From the end of lines back to the beginning of those of the next panel.
    let of_next_panel =
        W.wrapping_mul(src.pitch()).wrapping_sub(src.depth.next_multiple_of(DEPTHS).saturating_sub(AHEAD));
    for (i, panel) in panels.chunks_exact_mut(W * src.depth.div_ceil(G)).enumerate() {
        let first = first + i * W;
        let count = src.lines.saturating_sub(first).min(W);
        let is_plain = reading.requantization.is_none();
        let mut sums = sums.next();
        for (groups, from) in panel.chunks_mut(W * DEPTHS / G).zip((0..).step_by(DEPTHS)) {
            if WIDE && is_plain {
                let depths = from..src.depth.min(from + DEPTHS);
                let ahead = if from + AHEAD < src.depth { AHEAD } else { of_next_panel };
                for left in (0..W).step_by(CHUNK) {
                    let (added, to) = (reading.added(), &mut groups[left..]);
                    if depths.len() == DEPTHS && left + CHUNK <= count {
                        let lines = src.parts(first + left, depths.clone());
                        let lines = lines.map(|line| line.first_chunk().expect("64 depths"));
                        transpose_sixteen(lines, ahead, added, to, W);
                    } else {
                        // No empty ones in place of others: to load nothing by a mask, from nowhere, takes hundreds of cycles.
                        let mut some: [&[u8]; CHUNK] = [&[]; CHUNK];
                        let some = &mut some[..count.saturating_sub(left).min(CHUNK)];
                        for (line, to) in (first + left..).zip(&mut *some) {
                            *to = &src.run(line)[depths.clone()];
                        }
                        transpose_some(some, added, to, W);
                    }
                }
            } else if is_plain && count == W && W.is_multiple_of(LINES) && is_whole(from) {
                // Known once for all of it: to ask for each stretch takes as long as to transpose it.
                for (half, groups) in groups.chunks_exact_mut(W * STRETCH / G).enumerate() {
                    for left in (0..W).step_by(LINES) {
                        gather_eight(src, (first + left, from + half * STRETCH), |lines| {
                            transpose(lines, reading.added(), &mut groups[left..], W);
                        });
                    }
                }
            } else {
                for (half, groups) in groups.chunks_mut(W * STRETCH / G).enumerate() {
                    let from = from + half * STRETCH;
                    for left in (0..W).step_by(LINES) {
                        let to = &mut groups[left..];
                        if is_plain && from + STRETCH <= src.depth && left + LINES <= count {
                            gather_eight(src, (first + left, from), |lines| transpose(lines, reading.added(), to, W));
                        } else {
                            let lines = first + left..first + count.clamp(left, left + LINES);
                            gather_some::<W, G>(src, reading, (lines, from), to, LINES.min(W - left), &transpose);
                        }
                    }
                }
            }
            if let Some(sums) = &mut sums {
                add_sums(groups, reading.to, sums);
            }
        }
    }
}

/// A stretch of 8 lines, from a line and a depth on.
#[inline(always)]
fn gather_eight(src: &Operand, (line, from): (usize, usize), then: impl FnOnce([&[u8; STRETCH]; LINES])) {
    let lines = src.parts(line, from..from + STRETCH);
    then(lines.map(|line| line.first_chunk().expect("32 depths")));
}

/// Packs a stretch of 8 lines of a panel, or of as many as are left of it, from a depth on, where some of the lines or depths are not
/// there, or have to be requantized.
#[inline(always)]
fn gather_some<const W: usize, const G: usize>(
    src: &Operand,
    reading: &Reading,
    (lines, from): (Range<usize>, usize),
    groups: &mut [[u8; G]],
    width: usize,
    transpose: &impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
) {
    let count = lines.len();
    let mut transposed = [[0; G]; STRETCH * LINES / 2];
    let mut transposed = &mut transposed[..STRETCH * LINES / G];
    let rest = src.depth.saturating_sub(from).min(STRETCH);
    let is_plain = reading.requantization.is_none();
    if is_plain && rest.is_multiple_of(G) && src.depth >= STRETCH && count == LINES {
        // Whole groups, of which those before are left out.
        let ends = src.parts(lines.start, src.depth - STRETCH..src.depth);
        transpose(ends.map(|line| line.first_chunk().expect("32 depths")), reading.added(), transposed, LINES);
        transposed = &mut transposed[(STRETCH - rest) / G * LINES..];
    } else if count > 0 {
        let mut block = [[reading.absent(); STRETCH]; LINES];
        for (block, line) in block.iter_mut().zip(lines) {
            let some = &src.run(line)[from..from + rest];
            if is_plain {
                copy_short(some, &mut block[..rest]);
            } else {
                reading.along_depth((line, from), some, &mut block[..rest]);
            }
        }
        transpose(block.each_ref(), reading.added(), transposed, LINES);
    }
    let transposed = transposed.as_chunks::<LINES>().0;
    if width == LINES {
        for (to, group) in groups.chunks_mut(W).zip(transposed) {
            *to.first_chunk_mut().expect("eight lines") = *group;
        }
        return;
    }
    for (to, group) in groups.chunks_mut(W).zip(transposed) {
        to[..width].copy_from_slice(&group[..width]);
    }
}

/// Packs one panel that is not full: to get ready for others would take longer.
#[inline(always)]
fn read_panel<const W: usize, const G: usize>(
    (src, reading, first): (&Operand, &Reading, usize),
    panel: &mut [[u8; G]],
    sums: &mut [i32],
    interleave: impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
    add_sums: impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
) {
    let (added, absent) = (reading.added(), [reading.absent(); CHUNK]);
    for left in (0..W).step_by(CHUNK) {
        let line = first + left;
        let count = src.lines.saturating_sub(line).min(CHUNK);
        // Where nothing lies between runs, what follows them is read with them, and left out: to copy their bytes alone takes long.
        let runs = if count > 0 { src.rest(0, line) } else { &[] };
        let (mut there, mut others) = ([0; CHUNK], absent);
        there[..count].fill(u8::MAX);
        others[..count].fill(0);
        let depths = runs.len().checked_sub(CHUNK).map_or(0, |len| len / src.pitch().max(1) + 1);
        let (ready, rest) = panel.split_at_mut(depths.min(src.depth) / G * W);
        let mut chunks = [absent; G];
        for (groups, depth) in ready.chunks_exact_mut(W).zip((0..).step_by(G)) {
            for (i, chunk) in chunks.iter_mut().enumerate() {
                let all: &[u8; CHUNK] = runs[(depth + i) * src.pitch()..].first_chunk().expect("a whole chunk");
                for i in 0..CHUNK {
                    chunk[i] = all[i] & there[i] | others[i];
                }
            }
            interleave(chunks.each_ref(), added, &mut groups[left..left + CHUNK]);
        }
        for (groups, depth) in rest.chunks_exact_mut(W).zip((ready.len() / W * G..).step_by(G)) {
            chunks = [absent; G];
            for (chunk, depth) in chunks.iter_mut().zip(depth..src.depth) {
                *chunk = chunk_of(src.run(depth), line, absent);
            }
            interleave(chunks.each_ref(), added, &mut groups[left..left + CHUNK]);
        }
    }
    if let Some(sums) = sums.first_chunk_mut() {
        for groups in panel.chunks(W * DEPTHS / G) {
            add_sums(groups, reading.to, sums);
        }
    }
}

/// So much of a run, from a line on, and what is absent behind its end.
#[inline(always)]
fn chunk_of(run: &[u8], line: usize, absent: [u8; CHUNK]) -> [u8; CHUNK] {
    let some = run.get(line..).unwrap_or_default();
    match (some.first_chunk(), run.last_chunk()) {
        (Some(whole), _) => *whole,
        (None, Some(last)) if !some.is_empty() => {
            // What lies before is shifted out: copied byte by byte it would come late as a vector.
            let bits = u8::BITS as usize * some.len();
            let there = u128::from_le_bytes(*last) >> (u128::BITS as usize - bits);
            (there | u128::from_le_bytes(absent) << bits).to_le_bytes()
        }
        _ => {
            let mut chunk = absent;
            copy_short(some, &mut chunk[..some.len()]);
            chunk
        }
    }
}

/// How many panels from a line on have all chunks of their lines.
fn whole_panels<const W: usize>(src: &Operand, first: usize) -> usize {
    let beyond = W.next_multiple_of(CHUNK) - W;
    src.lines.saturating_sub(first + beyond) / W
}

/// How many rows ahead of those that are packed others are fetched from memory, or from a cache that is far away.
const ROWS_AHEAD: usize = 16;

/// Packs some panels, of no more than [`MOST_IN_PLACE`] lines, from where they lie, contiguous at each depth. From a cache that takes
/// less time than by a patch, and if rows are fetched ahead from memory, too.
#[inline(always)]
fn read_runs<const W: usize, const G: usize, const WIDE: bool>(
    (src, reading, first): (&Operand, &Reading, usize),
    panels: &mut [[u8; G]],
    sums: &mut [i32],
    (interleave, interleave_two): (
        &impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
        impl Fn([&[u8; 2 * CHUNK]; G], u8, [&mut [[u8; G]]; 2]),
    ),
    (interleave_panels, fetch, interleave_stretch, interleave_runs): (
        impl Fn([&[u8]; G], u8, &mut [[u8; G]], usize),
        impl Fn([&[u8]; G], usize),
        impl Fn(Chunks<FOUR_PANELS>, u8, [&mut [[u8; G]]; 4]),
        impl Fn(Lines, u8, &mut [[u8; G]], usize),
    ),
    add_sums: &impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
) {
    let panel_len = W * src.depth.div_ceil(G);
    let count = panels.len() / panel_len;
    // Whole chunks, or those that are there.
    let until = first + count * W + (W.next_multiple_of(CHUNK) - W);
    let lines = first..if WIDE { until.min(src.lines) } else { until };
    // To fill it takes longer than to pack a few groups.
    let room;
    let absent: &[u8] = if src.depth.is_multiple_of(G) {
        &[]
    } else {
        room = [reading.absent(); MOST_IN_PLACE + CHUNK];
        &room[..lines.len()]
    };
    let ahead = if is_far(src) { src.pitch().wrapping_mul(ROWS_AHEAD) } else { 0 };
    for from in (0..src.depth).step_by(DEPTHS) {
        let until = src.depth.min(from + DEPTHS);
        let mut rest = from..until;
        if WIDE && ahead == 0 {
            rest.start = until / G * G;
            let part = from / G * W..rest.start / G * W;
            if lines.len() == FOUR_PANELS {
                let mut panels = panels.chunks_exact_mut(panel_len).map(|panel| &mut panel[part.clone()]);
                let four = std::array::from_fn(|_| panels.next().expect("four panels"));
                interleave_stretch(src.chunks(from..rest.start, first), reading.added(), four);
            } else if !part.is_empty() {
                let runs = src.part(lines.clone(), from..rest.start).tails(0);
                interleave_runs(runs, reading.added(), &mut panels[part.start..], panel_len);
            }
        }
        if !WIDE && CACHE_LINE.is_multiple_of(W) && W.is_multiple_of(CHUNK) {
            rest.start = until / G * G;
            let near = lines.len() / CACHE_LINE * CACHE_LINE;
            let (by_cache_lines, others) = panels.split_at_mut(near / W * panel_len);
            let depths = from..rest.start;
            let interleave = (interleave, &interleave_two);
            interleave_lines::<W, G, CACHE_LINE>((src, reading, first), depths.clone(), by_cache_lines, interleave);
            interleave_lines::<W, G, W>((src, reading, first + near), depths, others, interleave);
        }
        // All panels' groups at a depth, so that each run is read once.
        for depth in rest.step_by(G) {
            let rows = if until - depth >= G {
                src.parts(depth, lines.clone())
            } else {
                let mut rows = [absent; G];
                for (row, d) in rows.iter_mut().zip(depth..until) {
                    [*row] = src.parts(d, lines.clone());
                }
                rows
            };
            if WIDE && ahead > 0 {
                fetch(rows, ahead);
            }
            let to = &mut panels[depth / G * W..];
            // Of one whole panel the widest vectors would load as much again.
            if WIDE && lines.len() != W {
                interleave_panels(rows, reading.added(), to, panel_len);
            } else {
                for (line, to) in (0..).step_by(W).zip(to.chunks_mut(panel_len).take(count)) {
                    interleave_rows::<W, G>(rows, line, reading.added(), &mut to[..W], interleave);
                }
            }
        }
        for (panel, sums) in panels.chunks_exact(panel_len).zip(sums.as_chunks_mut().0) {
            add_sums(&panel[from / G * W..until.div_ceil(G) * W], reading.to, sums);
        }
    }
}

/// Lines that a cache line of runs of bytes holds.
const CACHE_LINE: usize = 64;

/// Packs panels at depths that are whole groups, N lines together, half a cache line or less at a time: where runs lie is looked at
/// once.
#[inline(always)]
fn interleave_lines<const W: usize, const G: usize, const N: usize>(
    (src, reading, first): (&Operand, &Reading, usize),
    depths: Range<usize>,
    panels: &mut [[u8; G]],
    (interleave, interleave_two): (
        &impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
        &impl Fn([&[u8; 2 * CHUNK]; G], u8, [&mut [[u8; G]]; 2]),
    ),
) {
    let (added, panel_len) = (reading.added(), W * src.depth.div_ceil(G));
    for (i, panels) in panels.chunks_exact_mut(N / W * panel_len).enumerate() {
        let rows = src.chunks::<N>(depths.clone(), first + i * N);
        for (rows, group) in rows.in_groups::<G>().zip(depths.start / G..) {
            let place = |part: usize| part * CHUNK / W * panel_len + group * W + part * CHUNK % W;
            for two in 0..N / CHUNK / 2 {
                let (left, right) = (place(2 * two), place(2 * two + 1));
                let (panels, others) = panels.split_at_mut(right);
                let to = [&mut panels[left..][..CHUNK], &mut others[..CHUNK]];
                interleave_two(rows.map(|row| &row.as_chunks().0[two]), added, to);
            }
            if !(N / CHUNK).is_multiple_of(2) {
                let part = N / CHUNK - 1;
                let to = &mut panels[place(part)..][..CHUNK];
                interleave(rows.map(|row| &row.as_chunks().0[part]), added, to);
            }
        }
    }
}

/// Packs panels of lines that are contiguous at each depth.
#[inline(always)]
fn gather_runs<const W: usize, const G: usize, const WIDE: bool, const PITCH: usize, const DEPTHS: usize>(
    (src, reading, first): (&Operand, &Reading, usize),
    patch: &mut Patch<PITCH, DEPTHS>,
    panels: &mut [[u8; G]],
    sums: &mut [i32],
    interleave: impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
    interleave_panels: impl Fn([&[u8]; G], u8, &mut [[u8; G]], usize),
    add_sums: impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
) {
    let panel_len = W * src.depth.div_ceil(G);
    let at_once = Patch::<PITCH, DEPTHS>::LINES / W;
    for (i, panels) in panels.chunks_mut(panel_len * at_once).enumerate() {
        let first = first + i * at_once * W;
        let count = panels.len() / panel_len;
        let sums = sums.as_chunks_mut::<W>().0.get_mut(i * at_once..).unwrap_or_default();
        for from in (0..src.depth).step_by(DEPTHS) {
            let depths = from..src.depth.min(from + DEPTHS);
            let rows = patch.fill(src, reading, first..first + count * W, depths, G);
            let together = if WIDE { 2 } else { 1 };
            for (j, panels) in panels.chunks_mut(panel_len * together).enumerate() {
                let (line, count) = (j * together * W, panels.len() / panel_len);
                for (g, rows) in rows.as_chunks::<G>().0.iter().enumerate() {
                    let mut slices: [&[u8]; G] = [&[]; G];
                    for (slice, row) in slices.iter_mut().zip(rows) {
                        *slice = row;
                    }
                    let to = &mut panels[from / G * W + g * W..];
                    if WIDE {
                        let lines = slices.map(|row| &row[line..line + count * W]);
                        interleave_panels(lines, reading.added(), to, panel_len);
                    } else {
                        interleave_rows::<W, G>(slices, line, reading.added(), &mut to[..W], &interleave);
                    }
                }
                let sums = sums.get_mut(j * together..).unwrap_or_default();
                for (panel, sums) in panels.chunks_exact(panel_len).zip(sums) {
                    add_sums(&panel[from / G * W..][..rows.len() / G * W], reading.to, sums);
                }
            }
        }
    }
}

/// Packs one group of one panel, whose lines are those of the rows from one on.
#[inline(always)]
fn interleave_rows<const W: usize, const G: usize>(
    rows: [&[u8]; G],
    line: usize,
    added: u8,
    to: &mut [[u8; G]],
    interleave: &impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
) {
    let mut lines: [&[u8]; G] = [&[]; G];
    for (lines, row) in lines.iter_mut().zip(rows) {
        *lines = &row[line..][..W.next_multiple_of(CHUNK)];
    }
    for left in (0..W).step_by(CHUNK) {
        let mut depths = [&[0; CHUNK]; G];
        for (depth, lines) in depths.iter_mut().zip(lines) {
            *depth = lines[left..].first_chunk().expect("a whole chunk");
        }
        let to = &mut to[left..W.min(left + CHUNK)];
        if to.len() == CHUNK {
            interleave(depths, added, to);
        } else {
            let mut whole = [[0; G]; CHUNK];
            interleave(depths, added, &mut whole);
            to.copy_from_slice(&whole[..to.len()]);
        }
    }
}
