//! Packing the lines of an LHS.

use super::runs::{Long, Patch, Short};
use super::short::{copy_short, few_of};
use super::sums::{sum_each, sum_numbers, sum_word};
use super::{ALONG_DEPTH, CHUNK, GROUP, SHORT_RUNS, STRETCH, Turn};
use crate::kernel::stream;
use crate::matrix::{Encoding, Operand, Order};
use crate::reading::Reading;
use std::ops::Range;

/// Depths of a line that are packed at a time if they are contiguous and requantized: what that gives stays in the fastest
/// cache.
const REQUANTIZED: usize = 256;

/// How far ahead bytes that are widened are fetched, by cache lines.
const AHEAD: usize = 1024;
const CACHE_LINE: usize = 64;

/// Depths that are sorted together, of lines of which each has a byte at every depth before the next depth.
const SORTED: usize = 64;

/// Lines that are packed before they are summed, four by four: to begin with as many takes as long as a short line does.
const TOGETHER: usize = 32;

/// Packs lines, zero up to their ends, and sums as many as there are sums.
#[inline(always)]
pub(crate) fn pack_lhs<const WIDENED: bool, const WAY: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    pitch: usize,
    lines: &mut [u8],
    sums: &mut [i32],
    shuffle: Turn<
        impl Fn([&[u8; CHUNK]; CHUNK]) -> [[u8; CHUNK]; CHUNK],
        impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
        impl Fn([&[u8]; 4], u8) -> [u32; 4],
    >,
) {
    if WAY != ALONG_DEPTH
        && let Some(bytes) = solid(src, reading, first..first + lines.len() / pitch.max(1))
    {
        return match src.lines {
            2 => sort::<WIDENED, 2>(bytes, reading, (pitch, lines), sums, &shuffle.sum_bytes),
            3 => sort::<WIDENED, 3>(bytes, reading, (pitch, lines), sums, &shuffle.sum_bytes),
            _ => sort::<WIDENED, 4>(bytes, reading, (pitch, lines), sums, &shuffle.sum_bytes),
        };
    }
    match WAY {
        ALONG_DEPTH => {
            let (lines, ways) = ((pitch, lines), (&shuffle.sum_bytes, &shuffle.sum_four));
            match reading.requantization {
                None => copy_lines::<WIDENED>(src, reading, first, lines, sums, ways),
                Some(_) => requantize_lines::<WIDENED>(src, reading, first, lines, sums, ways),
            }
        }
        SHORT_RUNS => {
            let patch = &mut Short::new(reading);
            transpose_runs::<WIDENED, _, _>(src, reading, first, patch, (pitch, lines), sums, shuffle)
        }
        _ => {
            let patch = &mut Long::new(reading);
            transpose_runs::<WIDENED, _, _>(src, reading, first, patch, (pitch, lines), sums, shuffle)
        }
    }
}

/// Packs lines whose numbers are contiguous, and stay as they are.
#[inline(always)]
fn copy_lines<const WIDENED: bool>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    (pitch, lines): (usize, &mut [u8]),
    sums: &mut [i32],
    (sum_bytes, sum_four): (
        &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
        &impl Fn([&[u8]; 4], u8) -> [u32; 4],
    ),
) {
    let are_short = WIDENED && (1..8).contains(&src.depth);
    let how = (src.depth, reading.added(), reading.to);
    // Lines without gaps, here and there, are one: to begin each takes as long as much else of a small product.
    if pitch == src.depth * size(WIDENED)
        && !lines.is_empty()
        && let Some(solid) = src.solid(first..first + lines.len() / pitch)
    {
        write_numbers::<WIDENED>(solid, reading, lines);
        if are_short {
            return sum_short(src, reading, first, sums);
        }
        return sum_each(|line| &solid[line * src.depth..][..src.depth], how, sums, sum_bytes, sum_four);
    }
    if are_short {
        widen_short(src, reading, first, (pitch, lines));
        return sum_short(src, reading, first, sums);
    }
    if !WIDENED && pitch == GROUP && (1..GROUP).contains(&src.depth) {
        match src.depth {
            1 => copy_few::<1>(src, reading, first, lines),
            2 => copy_few::<2>(src, reading, first, lines),
            _ => copy_few::<3>(src, reading, first, lines),
        }
        return sum_short(src, reading, first, sums);
    }
    let mut sums = sums.chunks_mut(TOGETHER);
    for (i, lines) in lines.chunks_mut(TOGETHER * pitch).enumerate() {
        let source = |line: usize| src.run(first + i * TOGETHER + line);
        if WIDENED {
            widen_lines(source, reading, (src.depth, pitch), lines);
        } else {
            for (line, to) in lines.chunks_exact_mut(pitch).enumerate() {
                write_strip::<false>(source(line), reading, to, None, sum_bytes);
            }
        }
        sum_each(source, how, sums.next().unwrap_or_default(), sum_bytes, sum_four);
    }
}

/// Packs lines of `LEN` bytes, each into a group of its own.
#[inline(always)]
fn copy_few<const LEN: usize>(src: &Operand, reading: &Reading, first: usize, lines: &mut [u8]) {
    let added = reading.added();
    let groups = lines.as_chunks_mut::<GROUP>().0;
    let mut done = 0;
    if let Some(solid) = src.solid(first..first + groups.len()) {
        // Four lines are whole words, of which parts are read that others are in, too.
        for (to, words) in groups.as_chunks_mut::<4>().0.iter_mut().zip(solid.as_chunks::<4>().0.chunks_exact(LEN)) {
            let bytes = words.as_flattened();
            for (line, to) in to.iter_mut().enumerate() {
                let at = (line * LEN).min(bytes.len() - GROUP);
                let word = u32::from_le_bytes(*bytes[at..].first_chunk().expect("a word"));
                *to = few_added::<LEN>(word >> (8 * (line * LEN - at)), added);
            }
        }
        done = groups.len() / 4 * 4;
    }
    for (i, to) in groups.iter_mut().enumerate().skip(done) {
        let line: &[u8; LEN] = src.run(first + i).first_chunk().expect("so many bytes");
        *to = [0; GROUP];
        for (to, byte) in to.iter_mut().zip(line) {
            *to = byte.wrapping_add(added);
        }
    }
}

/// The lowest `LEN` bytes, to each of which so much is added, and zeros.
#[inline(always)]
fn few_added<const LEN: usize>(word: u32, added: u8) -> [u8; GROUP] {
    const HIGH: u32 = 0x8080_8080;
    let added = u32::from_le_bytes([added; GROUP]);
    // Nothing is carried from one byte to the next.
    let sums = ((word & !HIGH) + (added & !HIGH)) ^ ((word ^ added) & HIGH);
    (sums & u32::MAX >> (8 * (GROUP - LEN))).to_le_bytes()
}

/// Widens lines of so many numbers. What is done with each depends on how many these are: that is found once.
#[inline(always)]
fn widen_lines<'s>(
    source: impl Fn(usize) -> &'s [u8],
    reading: &Reading,
    (depth, pitch): (usize, usize),
    lines: &mut [u8],
) {
    match depth {
        STRETCH.. => widen_by::<STRETCH>(source, reading, (depth, pitch), lines),
        16.. => widen_by::<16>(source, reading, (depth, pitch), lines),
        8.. => widen_by::<8>(source, reading, (depth, pitch), lines),
        // Of no depth: `widen_short` widens lines of fewer.
        _ => lines.fill(0),
    }
}

/// The same, `N` numbers at a time, of which lines have as many at least.
///
/// What follows is fetched: numbers that come from beyond the second cache take a quarter longer otherwise (timed with Zen 3, 20000 lines of
/// 300).
#[inline(always)]
fn widen_by<'s, const N: usize>(
    source: impl Fn(usize) -> &'s [u8],
    reading: &Reading,
    (depth, pitch): (usize, usize),
    lines: &mut [u8],
) {
    let ends_whole = depth.is_multiple_of(N);
    for (line, to) in lines.chunks_exact_mut(pitch).enumerate() {
        let src = &source(line)[..depth];
        (0..depth).step_by(CACHE_LINE).for_each(|at| stream::fetch(src.as_ptr().wrapping_add(at + AHEAD)));
        // Numbers are written over these zeros.
        match to.last_chunk_mut() {
            Some(last) if pitch - depth * size(true) <= 64 => *last = [0; 64],
            _ => pad(&mut to[depth * size(true)..]),
        }
        let numbers = &mut to[..depth * size(true)];
        for (chunk, to) in src.as_chunks::<N>().0.iter().zip(numbers.chunks_exact_mut(N * size(true))) {
            write::<true, N>(chunk, reading, to);
        }
        if !ends_whole {
            write_last::<true, N>(src, reading, numbers);
        }
    }
}

/// Widens lines of 1 to 7 numbers.
#[inline(always)]
fn widen_short(src: &Operand, reading: &Reading, first: usize, (pitch, lines): (usize, &mut [u8])) {
    // Bytes that become zeros.
    let padding = u64::from_le_bytes([reading.added().wrapping_neg(); 8]) << (8 * src.depth);
    for line in 0..lines.len() / pitch {
        let mut written = [0; 16];
        write::<true, 8>(&(word(src, first + line) | padding).to_le_bytes(), reading, &mut written);
        // What is written beyond a line, the next one is written over.
        let to = &mut lines[line * pitch..];
        match to.first_chunk_mut() {
            Some(whole) => *whole = written,
            None => copy_short(&written[..to.len()], to),
        }
        if pitch > written.len() {
            pad(&mut to[written.len()..pitch]);
        }
    }
}

/// Sums such lines.
#[inline(always)]
fn sum_short(src: &Operand, reading: &Reading, first: usize, sums: &mut [i32]) {
    for (line, sum) in sums.iter_mut().enumerate() {
        *sum = sum_word(word(src, first + line), src.depth, reading.added(), reading.to);
    }
}

/// A line of 1 to 7 numbers, and zeros. Where more follows, that is read with it and left out.
#[inline(always)]
fn word(src: &Operand, line: usize) -> u64 {
    match src.rest(line, 0).first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * src.depth),
        None => u64::from_le_bytes(few_of(src.run(line))),
    }
}

/// Packs lines whose numbers are contiguous, and are requantized.
#[inline(always)]
fn requantize_lines<const WIDENED: bool>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    (pitch, lines): (usize, &mut [u8]),
    sums: &mut [i32],
    (sum_bytes, sum_four): (
        &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
        &impl Fn([&[u8]; 4], u8) -> [u32; 4],
    ),
) {
    let (depth, added) = (src.depth, reading.added());
    if WIDENED {
        let mut sums = sums.iter_mut();
        for (line, to) in (first..).zip(lines.chunks_exact_mut(pitch)) {
            write_requantized(src.run(line), reading, line, to, sums.next(), sum_bytes);
        }
        return;
    }
    // Where they stay bytes, they are where they will be read.
    let mut sums = sums.chunks_mut(TOGETHER);
    for (i, lines) in lines.chunks_mut(TOGETHER * pitch).enumerate() {
        for (line, to) in (first + i * TOGETHER..).zip(lines.chunks_exact_mut(pitch)) {
            let (numbers, padding) = to.split_at_mut(depth);
            reading.along_depth((line, 0), src.run(line), numbers);
            pad(padding);
        }
        let line = |line: usize| &lines[line * pitch..][..depth];
        sum_each(line, (depth, added, reading.to), sums.next().unwrap_or_default(), sum_bytes, sum_four);
        if added != 0 {
            for line in lines.chunks_exact_mut(pitch) {
                line[..depth].iter_mut().for_each(|number| *number = number.wrapping_add(added));
            }
        }
    }
}

/// The bytes of a number.
pub(super) const fn size(widened: bool) -> usize {
    if widened { 2 } else { 1 }
}

/// Writes a line of requantized numbers, widened, and sums it.
#[inline(always)]
fn write_requantized(
    src: &[u8],
    reading: &Reading,
    index: usize,
    line: &mut [u8],
    mut sum: Option<&mut i32>,
    sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) {
    if let Some(sum) = &mut sum {
        **sum = 0;
    }
    if src.is_empty() {
        return write_strip::<true>(src, reading, line, sum, sum_bytes);
    }
    for from in (0..src.len()).step_by(REQUANTIZED) {
        let mut strip = [0; REQUANTIZED];
        let src = &src[from..];
        let strip = &mut strip[..src.len().min(REQUANTIZED)];
        reading.along_depth((index, from), &src[..strip.len()], strip);
        let end = if strip.len() == src.len() { line.len() } else { (from + REQUANTIZED) * size(true) };
        write_strip::<true>(strip, reading, &mut line[from * size(true)..end], sum.as_deref_mut(), sum_bytes);
    }
}

/// Writes a part of a line, and zeros after it, and adds it to the sum.
#[inline(always)]
pub(super) fn write_strip<const WIDENED: bool>(
    strip: &[u8],
    reading: &Reading,
    line: &mut [u8],
    sum: Option<&mut i32>,
    sum_bytes: &impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) {
    let (numbers, padding) = line.split_at_mut(strip.len() * size(WIDENED));
    write_numbers::<WIDENED>(strip, reading, numbers);
    pad(padding);
    if let Some(sum) = sum {
        *sum = sum.wrapping_add(sum_numbers(strip, reading.added(), reading.to, sum_bytes));
    }
}

/// Writes zeros. Few would take as long as all of a short line, if they were filled by a call.
#[inline(always)]
fn pad(padding: &mut [u8]) {
    match padding.len() {
        len @ 0..=64 => copy_short(&[0; 64][..len], padding),
        _ => padding.fill(0),
    }
}

#[inline(always)]
fn write_numbers<const WIDENED: bool>(src: &[u8], reading: &Reading, numbers: &mut [u8]) {
    let (whole, rest) = src.as_chunks::<STRETCH>();
    for (chunk, to) in whole.iter().zip(numbers.chunks_exact_mut(STRETCH * size(WIDENED))) {
        write::<WIDENED, STRETCH>(chunk, reading, to);
    }
    let is_done = rest.is_empty()
        || write_last::<WIDENED, STRETCH>(src, reading, numbers)
        || write_ends::<WIDENED, 16>(src, reading, numbers)
        || write_ends::<WIDENED, 8>(src, reading, numbers);
    if !is_done {
        let mut written = [0; 16];
        write::<WIDENED, 8>(&few_of(src), reading, &mut written);
        copy_short(&written[..numbers.len()], numbers);
    }
}

/// Writes the last `N` numbers. Does nothing if there are fewer.
#[inline(always)]
fn write_last<const WIDENED: bool, const N: usize>(src: &[u8], reading: &Reading, numbers: &mut [u8]) -> bool {
    let Some(last) = src.last_chunk::<N>() else { return false };
    write::<WIDENED, N>(last, reading, &mut numbers[(src.len() - N) * size(WIDENED)..]);
    true
}

/// Writes `N` to `2 * N` numbers: the first and the last `N`, which may overlap. Does nothing if there are fewer.
#[inline(always)]
fn write_ends<const WIDENED: bool, const N: usize>(src: &[u8], reading: &Reading, numbers: &mut [u8]) -> bool {
    let Some(first) = src.first_chunk::<N>() else { return false };
    write::<WIDENED, N>(first, reading, numbers);
    write_last::<WIDENED, N>(src, reading, numbers)
}

/// Writes some numbers.
#[inline(always)]
fn write<const WIDENED: bool, const N: usize>(src: &[u8; N], reading: &Reading, numbers: &mut [u8]) {
    // Widened as if unsigned, then put right.
    let shift = if WIDENED { reading.to.shift_to(Encoding::U8) } else { 0 };
    let added = reading.added().wrapping_add(shift as u8);
    // In variables of their own, which the compiler knows to be apart from what is read, so that it uses vectors.
    if WIDENED {
        let mut wide = [0; N];
        for (wide, b) in wide.iter_mut().zip(src) {
            *wide = i16::from(b.wrapping_add(added)) - shift as i16;
        }
        let numbers: &mut [[u8; 2]; N] = numbers.as_chunks_mut().0.first_chunk_mut().expect("room for them");
        for (number, wide) in numbers.iter_mut().zip(&wide) {
            *number = wide.to_ne_bytes();
        }
    } else {
        let mut bytes = *src;
        for b in &mut bytes {
            *b = b.wrapping_add(added);
        }
        *numbers.first_chunk_mut().expect("room for them") = bytes;
    }
}

/// The bytes of an operand of two to four lines, if these are all of them, each has a byte at every depth before the next depth, and nothing
/// lies between.
#[inline(always)]
fn solid<'a>(src: &Operand<'a>, reading: &Reading, lines: Range<usize>) -> Option<&'a [u8]> {
    let are_runs = src.order == Order::LineContiguous && reading.requantization.is_none() && src.depth > 0;
    if are_runs && lines == (0..src.lines) && (2..=4).contains(&src.lines) { src.solid(0..src.depth) } else { None }
}

/// Packs `N` lines of such an operand. Copied into a patch, in stores smaller than what is loaded next, they would make the processor
/// wait.
#[inline(always)]
fn sort<const WIDENED: bool, const N: usize>(
    bytes: &[u8],
    reading: &Reading,
    (pitch, lines): (usize, &mut [u8]),
    sums: &mut [i32],
    sum_bytes: impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
) {
    sums.fill(0);
    let mut depths = bytes.as_chunks::<N>().0;
    let mut from = 0;
    while !depths.is_empty() {
        // Of a number that the compiler knows, for which it uses vectors.
        let (some, rest) = depths.split_at(depths.len().min(SORTED));
        let some: &[[u8; N]; SORTED] = match some.first_chunk() {
            Some(some) => some,
            None => {
                let mut last = [[0; N]; SORTED];
                last[..some.len()].copy_from_slice(some);
                &{ last }
            }
        };
        let count = depths.len() - rest.len();
        let mut strips = [[0; SORTED]; N];
        for (line, strip) in strips.iter_mut().enumerate() {
            for (to, of_lines) in strip.iter_mut().zip(some) {
                *to = of_lines[line];
            }
        }
        let end = if rest.is_empty() { pitch } else { (from + SORTED) * size(WIDENED) };
        let mut sums = sums.iter_mut();
        for (line, strip) in lines.chunks_exact_mut(pitch).zip(&strips) {
            let line = &mut line[from * size(WIDENED)..end];
            write_strip::<WIDENED>(&strip[..count], reading, line, sums.next(), &sum_bytes);
        }
        (depths, from) = (rest, from + SORTED);
    }
}

/// Packs lines that are contiguous at each depth.
#[inline(always)]
fn transpose_runs<const WIDENED: bool, const PITCH: usize, const DEPTHS: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    patch: &mut Patch<PITCH, DEPTHS>,
    (pitch, lines): (usize, &mut [u8]),
    sums: &mut [i32],
    shuffle: Turn<
        impl Fn([&[u8; CHUNK]; CHUNK]) -> [[u8; CHUNK]; CHUNK],
        impl Fn(&[[u8; STRETCH]], &[u8; STRETCH], u8) -> u32,
        impl Fn([&[u8]; 4], u8) -> [u32; 4],
    >,
) {
    let at_once = Patch::<PITCH, DEPTHS>::LINES;
    sums.fill(0);
    for (i, lines) in lines.chunks_mut(pitch * at_once).enumerate() {
        let first = first + i * at_once;
        let sums = sums.get_mut(i * at_once..).unwrap_or_default();
        let count = lines.len() / pitch;
        for from in (0..src.depth).step_by(DEPTHS) {
            let depths = DEPTHS.min(src.depth - from);
            let rows = patch.fill(src, reading, first..first + count, from..from + depths, 1);
            let end = if from + depths == src.depth { pitch } else { (from + DEPTHS) * size(WIDENED) };
            let mut sums = sums.iter_mut();
            for (j, lines) in lines.chunks_mut(pitch * CHUNK).enumerate() {
                let strips = along_depth::<PITCH, DEPTHS>(rows, j * CHUNK, &shuffle.turn);
                for (line, strip) in lines.chunks_exact_mut(pitch).zip(&strips) {
                    let line = &mut line[from * size(WIDENED)..end];
                    write_strip::<WIDENED>(&strip[..depths], reading, line, sums.next(), &shuffle.sum_bytes);
                }
            }
        }
        if src.depth == 0 {
            lines.fill(0);
        }
    }
}

/// 16 lines of a patch, from one on.
#[inline(always)]
fn along_depth<const PITCH: usize, const DEPTHS: usize>(
    rows: &[[u8; PITCH]],
    line: usize,
    turn: &impl Fn([&[u8; CHUNK]; CHUNK]) -> [[u8; CHUNK]; CHUNK],
) -> [[u8; DEPTHS]; CHUNK] {
    let mut strips = [[0; DEPTHS]; CHUNK];
    for (i, rows) in rows.chunks(CHUNK).enumerate() {
        let mut block = [&[0; CHUNK]; CHUNK];
        for (block, row) in block.iter_mut().zip(rows) {
            *block = row[line..].first_chunk().expect("a whole chunk");
        }
        for (strip, turned) in strips.iter_mut().zip(turn(block)) {
            strip[i * CHUNK..][..CHUNK].copy_from_slice(&turned);
        }
    }
    strips
}
