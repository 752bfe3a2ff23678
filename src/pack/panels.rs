//! Packing the lines of an RHS into panels.

use super::native::{fence, stream};
use super::runs::{FEW, MANY, Patch};
use super::{CHUNK, DEPTHS, LINES, STRETCH, Shuffle};
use crate::matrix::{Encoding, Operand, Order};
use crate::reading::Reading;

/// So many bytes of panels are not fetched into the caches to be written: none would be there when they are read.
const STREAMED: usize = 8 << 20;

/// Packs a stretch of all lines of a panel, then sums it, while it is in the fastest cache.
#[inline(always)]
pub(crate) fn pack_rhs<const W: usize, const G: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panels: &mut [u8],
    sums: &mut [i32],
    shuffle: Shuffle<
        impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
        impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
        impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
    >,
) {
    sums.fill(0);
    let panel_len = W * src.depth.div_ceil(G);
    if panel_len == 0 {
        return;
    }
    let panels: &mut [[u8; G]] = panels.as_chunks_mut().0;
    let lines = panels.len() / panel_len * W;
    match src.order {
        Order::DepthContiguous => {
            gather_lines::<W, G>(src, reading, first, panels, sums, &shuffle.transpose, &shuffle.add_sums)
        }
        // A small operand is spared the cost of much room.
        Order::LineContiguous if lines <= CHUNK && W <= CHUNK => {
            gather_runs::<W, G, 1>(src, reading, first, panels, sums, &shuffle.interleave, &shuffle.add_sums)
        }
        Order::LineContiguous if lines <= FEW * CHUNK => {
            gather_runs::<W, G, FEW>(src, reading, first, panels, sums, &shuffle.interleave, &shuffle.add_sums)
        }
        Order::LineContiguous => {
            gather_runs::<W, G, MANY>(src, reading, first, panels, sums, &shuffle.interleave, &shuffle.add_sums)
        }
    }
    fence();
}

/// Where a stretch of a panel is packed before it is streamed to its place.
type Room<const W: usize, const G: usize> = [[[u8; G]; W]; DEPTHS / 2];

/// Room for a stretch of a panel, if these are to be streamed.
#[inline(always)]
fn room<const W: usize, const G: usize>(panels: &[[u8; G]]) -> Option<Room<W, G>> {
    (panels.as_flattened().len() >= STREAMED).then_some([[[0; G]; W]; DEPTHS / 2])
}

/// Packs panels of lines whose depth is contiguous.
#[inline(always)]
fn gather_lines<const W: usize, const G: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panels: &mut [[u8; G]],
    sums: &mut [i32],
    transpose: &impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
    add_sums: &impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
) {
    let mut room = room::<W, G>(panels);
    let mut sums = sums.as_chunks_mut::<W>().0.iter_mut();
    for (i, panel) in panels.chunks_exact_mut(W * src.depth.div_ceil(G)).enumerate() {
        let mut lines: [&[u8]; W] = [&[]; W];
        let first = first + i * W;
        for (w, line) in lines.iter_mut().enumerate().take(src.lines.saturating_sub(first)) {
            *line = src.run(first + w);
        }
        let mut sums = sums.next();
        for (place, from) in panel.chunks_mut(W * DEPTHS / G).zip((0..).step_by(DEPTHS)) {
            let groups = match &mut room {
                Some(room) => &mut room.as_flattened_mut()[..place.len()],
                None => &mut *place,
            };
            for left in (0..W).step_by(LINES) {
                let lines = &lines[left..W.min(left + LINES)];
                gather_eight::<W, G>(lines, reading, (first + left, from), &mut groups[left..], transpose);
            }
            if let Some(sums) = &mut sums {
                add_sums(groups, reading.to, sums);
            }
            if let Some(room) = &room {
                stream(room.as_flattened()[..place.len()].as_flattened(), place.as_flattened_mut());
            }
        }
    }
}

/// Packs a stretch of up to 8 lines of a panel, from a line and a depth on. Those that are not there are empty.
#[inline(always)]
fn gather_eight<const W: usize, const G: usize>(
    lines: &[&[u8]],
    reading: &Reading,
    (first, from): (usize, usize),
    groups: &mut [[u8; G]],
    transpose: &impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
) {
    let mut there: [&[u8]; LINES] = [&[]; LINES];
    let mut is_whole = lines.len() == LINES && reading.requantization.is_none();
    for (there, line) in there.iter_mut().zip(lines) {
        *there = line.get(from..).unwrap_or_default();
        is_whole &= there.len() >= DEPTHS;
    }
    if is_whole {
        for (half, groups) in groups.chunks_mut(W * STRETCH / G).enumerate() {
            let mut block = [&[0; STRETCH]; LINES];
            for (block, line) in block.iter_mut().zip(there) {
                *block = line[half * STRETCH..].first_chunk().expect("a whole block");
            }
            transpose(block, reading.added(), groups, W);
        }
        return;
    }
    for (half, groups) in groups.chunks_mut(W * STRETCH / G).enumerate() {
        let mut block = [[reading.absent(); STRETCH]; LINES];
        for (w, (block, line)) in block.iter_mut().zip(there).enumerate() {
            let rest = line.get(half * STRETCH..).unwrap_or_default();
            let len = rest.len().min(STRETCH);
            reading.along_depth((first + w, from + half * STRETCH), &rest[..len], &mut block[..len]);
        }
        let mut transposed = [[0; G]; STRETCH * LINES / 2];
        let transposed = &mut transposed[..STRETCH * LINES / G];
        transpose(block.each_ref(), reading.added(), transposed, LINES);
        for (to, group) in groups.chunks_mut(W).zip(transposed.as_chunks::<LINES>().0) {
            to[..lines.len()].copy_from_slice(&group[..lines.len()]);
        }
    }
}

/// Packs panels of lines that are contiguous at each depth.
#[inline(always)]
fn gather_runs<const W: usize, const G: usize, const BLOCKS: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panels: &mut [[u8; G]],
    sums: &mut [i32],
    interleave: &impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
    add_sums: &impl Fn(&[[u8; G]], Encoding, &mut [i32; W]),
) {
    let panel_len = W * src.depth.div_ceil(G);
    let mut room = room::<W, G>(panels);
    let at_once = Patch::<W, BLOCKS>::PANELS;
    let mut patch = Patch::<W, BLOCKS>::new();
    for (i, panels) in panels.chunks_mut(panel_len * at_once).enumerate() {
        for from in (0..src.depth).step_by(DEPTHS) {
            let blocks = patch.fill(src, reading, (first + i * at_once * W, from), panels.len() / panel_len);
            let blocks = blocks.chunks_exact(Patch::<W, BLOCKS>::PER_PANEL);
            for (j, (panel, blocks)) in panels.chunks_exact_mut(panel_len).zip(blocks).enumerate() {
                let end = panel_len.min((from + DEPTHS) / G * W);
                let place = panel[from / G * W..end].as_chunks_mut::<W>().0;
                let groups = match &mut room {
                    Some(room) => &mut room[..place.len()],
                    None => &mut *place,
                };
                for (block, left) in blocks.iter().zip((0..W).step_by(CHUNK)) {
                    for (group, depths) in groups.iter_mut().zip(block.as_chunks::<G>().0) {
                        interleave_group(depths, reading.added(), &mut group[left..W.min(left + CHUNK)], interleave);
                    }
                }
                if let Some(sums) = sums.as_chunks_mut::<W>().0.get_mut(i * at_once + j) {
                    add_sums(groups.as_flattened(), reading.to, sums);
                }
                if let Some(room) = &room {
                    let packed = room[..place.len()].as_flattened().as_flattened();
                    stream(packed, place.as_flattened_mut().as_flattened_mut());
                }
            }
        }
    }
}

/// Packs up to 16 lines of one group of one panel.
#[inline(always)]
fn interleave_group<const G: usize>(
    depths: &[[u8; CHUNK]; G],
    added: u8,
    to: &mut [[u8; G]],
    interleave: &impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
) {
    if to.len() == CHUNK {
        return interleave(depths.each_ref(), added, to);
    }
    let mut whole = [[0; G]; CHUNK];
    interleave(depths.each_ref(), added, &mut whole);
    to.copy_from_slice(&whole[..to.len()]);
}
