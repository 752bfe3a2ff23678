//! Copying operands into the order in which the kernels read them.
//!
//! The kernels sum the depth in *groups*, 8, 4 or 2 numbers to an instruction.
//!
//! The RHS is packed into *panels*: `W` lines over the whole depth, cut into groups of `G` bytes; in Rust's words a
//! `[[[u8; G]; W]]`. A kernel loads one group of many lines at once.
//!
//! The LHS needs no panels: a kernel reads one group of one line and spreads it over a register, so a line whose depth
//! is contiguous can stay where it is. Any other LHS is copied, line by line.
//!
//! Padding (lines up to a whole panel, depth up to a whole group) is zero, so it adds nothing to sums and products.

use crate::matrix::{Encoding, Operand, Order};
use crate::reading::Reading;
use std::array::from_fn;

/// What one instruction sums, and so how both sides are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each architecture's kernels have some of them")]
pub(crate) enum Groups {
    /// Four products of an unsigned and a signed byte. The LHS keeps its encoding, the RHS takes the other one.
    Quads,
    /// Two products of 16-bit numbers: the LHS is stored in 16 bits, the RHS as signed bytes that the kernel widens.
    Pairs,
    /// Four products of bytes that are both unsigned or both signed. The LHS keeps its encoding, the RHS takes the same.
    LikeQuads,
    /// Eight products of such bytes.
    LikeOctets,
}

impl Groups {
    /// How many numbers of a line a group holds.
    pub(crate) const fn len(self) -> usize {
        match self {
            Groups::LikeOctets => 8,
            Groups::Quads | Groups::LikeQuads => 4,
            Groups::Pairs => 2,
        }
    }

    /// A depth, rounded up to whole groups.
    pub(crate) const fn pad(self, depth: usize) -> usize {
        (depth + self.len() - 1) & !(self.len() - 1)
    }

    /// How many bytes one number of the LHS takes.
    pub(crate) const fn lhs_size(self) -> usize {
        match self {
            Groups::Pairs => 2,
            _ => 1,
        }
    }

    /// Whether both sides are stored as bytes.
    pub(crate) const fn are_bytes(self) -> bool {
        self.lhs_size() == 1
    }

    /// The encoding in which the RHS is packed.
    pub(crate) fn rhs_encoding(self, lhs: Encoding) -> Encoding {
        match self {
            Groups::Quads => lhs.other(),
            Groups::Pairs => Encoding::S8,
            Groups::LikeQuads | Groups::LikeOctets => lhs,
        }
    }

    /// The encoding in which the LHS is read beside an RHS that is packed so. None if any will do.
    pub(crate) fn lhs_encoding(self, rhs: Encoding) -> Option<Encoding> {
        match self {
            Groups::Quads => Some(rhs.other()),
            Groups::Pairs => None,
            Groups::LikeQuads | Groups::LikeOctets => Some(rhs),
        }
    }

    /// Whether the kernels read this LHS where it lies.
    pub(crate) fn read_in_place(self, lhs: &Operand, reading: &Reading) -> bool {
        self.are_bytes() && lhs.order == Order::DepthContiguous && reading.is_none()
    }
}

/// Packs the lines of an LHS from `first` on, each into `pitch` bytes of `lines`.
pub(crate) type PackLhsFn = unsafe fn(src: &Operand, reading: &Reading, first: usize, pitch: usize, lines: &mut [u8]);

/// Packs the lines of an RHS from `first` on into as many panels as `panels` holds.
pub(crate) type PackRhsFn = unsafe fn(src: &Operand, reading: &Reading, first: usize, panels: &mut [u8]);

/// Sums the numbers of one line of the LHS, as the kernels read it.
pub(crate) type SumLineFn = unsafe fn(line: &[u8], encoding: Encoding) -> i32;

/// A panel's bytes as groups of `W` lines of `G` bytes.
#[inline(always)]
pub(crate) fn groups<const W: usize, const G: usize>(panel: &[u8]) -> &[[[u8; G]; W]] {
    panel.as_chunks().0.as_chunks().0
}

/// Lines that are transposed together, and bytes of each.
pub(crate) const LINES: usize = 8;
pub(crate) const STRETCH: usize = 32;

/// Lines that are interleaved together.
pub(crate) const CHUNK: usize = 16;

/// Depths of a line that are requantized before they are packed: what that gives stays in the fastest cache.
const REQUANTIZED: usize = 256;

/// The two inner loops of packing an RHS, in groups of `G` bytes, which instruction sets have shuffles for. Both add
/// a number to every byte.
pub(crate) struct Shuffle<T, I> {
    /// Writes the groups of 8 lines over a stretch of depth: those at one depth together, and so many from one depth to the
    /// next.
    pub transpose: T,
    /// Writes one group of 16 lines, given as `G` depths of each.
    pub interleave: I,
}

#[inline(always)]
pub(crate) fn pack_rhs<const W: usize, const G: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panels: &mut [u8],
    shuffle: Shuffle<
        impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
        impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
    >,
) {
    let panel_len = W * src.depth.div_ceil(G);
    if panel_len == 0 {
        return;
    }
    let panels: &mut [[u8; G]] = panels.as_chunks_mut().0;
    match src.order {
        Order::DepthContiguous => {
            for (i, panel) in panels.chunks_exact_mut(panel_len).enumerate() {
                gather_lines::<W, G>(src, reading, first + i * W, panel, &shuffle.transpose);
            }
        }
        Order::LineContiguous => {
            // A small operand is spared the cost of a large copy.
            if src.lines.next_multiple_of(W) <= SHORT_RUN {
                return gather_runs::<W, G, SHORT_RUN>(src, reading, first, panel_len, panels, &shuffle.interleave);
            }
            let lines = RUN / W * W;
            for (i, panels) in panels.chunks_mut(panel_len * (RUN / W)).enumerate() {
                gather_runs::<W, G, RUN>(src, reading, first + i * lines, panel_len, panels, &shuffle.interleave);
            }
        }
    }
}

/// Packs one panel of lines whose depth is contiguous, 8 lines at a time.
#[inline(always)]
fn gather_lines<const W: usize, const G: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panel: &mut [[u8; G]],
    transpose: &impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
) {
    for left in (0..W).step_by(LINES) {
        let there = LINES.min(src.lines.saturating_sub(first + left));
        let lines: [&[u8]; LINES] = from_fn(|i| if i < there { src.run(first + left + i) } else { &[] });
        if reading.requantization.is_none() {
            gather_eight::<W, G>(lines, reading, left, panel, transpose);
            continue;
        }
        for (i, groups) in panel.chunks_mut(W * REQUANTIZED / G).enumerate() {
            let depths = i * REQUANTIZED..src.depth.min((i + 1) * REQUANTIZED);
            let mut strip = [[0; REQUANTIZED]; LINES];
            for (w, (to, line)) in strip.iter_mut().zip(&lines[..there]).enumerate() {
                reading.along_depth((first + left + w, depths.start), &line[depths.clone()], &mut to[..depths.len()]);
            }
            let requantized = from_fn(|w| if w < there { &strip[w][..depths.len()] } else { &[][..] });
            gather_eight::<W, G>(requantized, reading, left, groups, transpose);
        }
    }
}

/// Packs 8 lines of a panel, in blocks of 32 depths. Those that are not there are empty.
#[inline(always)]
fn gather_eight<const W: usize, const G: usize>(
    lines: [&[u8]; LINES],
    reading: &Reading,
    left: usize,
    panel: &mut [[u8; G]],
    transpose: &impl Fn([&[u8; STRETCH]; LINES], u8, &mut [[u8; G]], usize),
) {
    for (stretch, groups) in panel.chunks_mut(W * STRETCH / G).enumerate() {
        let from = stretch * STRETCH;
        let groups = &mut groups[left..];
        if left + LINES <= W && lines.iter().all(|line| line.len() >= from + STRETCH) {
            let block = lines.map(|line| line[from..].first_chunk().expect("a whole block"));
            transpose(block, reading.added(), groups, W);
            continue;
        }
        let mut block = [[reading.absent(); STRETCH]; LINES];
        for (to, line) in block.iter_mut().zip(lines) {
            let rest = &line[from.min(line.len())..line.len().min(from + STRETCH)];
            to[..rest.len()].copy_from_slice(rest);
        }
        let mut transposed = [[0; G]; STRETCH * LINES / 2];
        transpose(block.each_ref(), reading.added(), &mut transposed, LINES);
        let len = LINES.min(W - left);
        for (to, group) in groups.chunks_mut(W).zip(transposed.chunks_exact(LINES)) {
            to[..len].copy_from_slice(&group[..len]);
        }
    }
}

/// Lines and depths of a source, contiguous at each depth, that are copied to be packed from the copy: so the source is
/// read in long runs, and no stride makes its depths compete for places in the caches.
const RUN: usize = 1024;
const SHORT_RUN: usize = 64;
const DEPTHS: usize = 16;

/// Packs panels of lines that are contiguous at each depth.
#[inline(always)]
fn gather_runs<const W: usize, const G: usize, const RUN: usize>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    panel_len: usize,
    panels: &mut [[u8; G]],
    interleave: &impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
) {
    let lines = RUN.min(src.lines - first);
    let mut patch = [[reading.absent(); RUN]; DEPTHS];
    for from in (0..src.depth).step_by(DEPTHS) {
        for (x, copy) in patch.iter_mut().enumerate() {
            if from + x < src.depth {
                reading.along_lines((first, from + x), &src.run(from + x)[first..][..lines], &mut copy[..lines]);
            } else {
                copy.fill(reading.absent());
            }
        }
        for (i, panel) in panels.chunks_exact_mut(panel_len).enumerate() {
            let groups = panel.chunks_exact_mut(W).skip(from / G);
            for (depths, group) in patch.as_chunks::<G>().0.iter().zip(groups) {
                // Not `map`, which is called for each group where there are 8 depths.
                let mut lines: [&[u8]; G] = [&[]; G];
                for (lines, depth) in lines.iter_mut().zip(depths) {
                    *lines = &depth[i * W..];
                }
                gather_group::<G>(lines, reading.added(), group, interleave);
            }
        }
    }
}

/// Packs one group of one panel, given at each depth, in chunks of 16 lines.
#[inline(always)]
fn gather_group<const G: usize>(
    depths: [&[u8]; G],
    added: u8,
    to: &mut [[u8; G]],
    interleave: &impl Fn([&[u8; CHUNK]; G], u8, &mut [[u8; G]]),
) {
    for (i, to) in to.chunks_mut(CHUNK).enumerate() {
        if depths.iter().all(|depth| depth.len() >= (i + 1) * CHUNK) {
            let mut chunks = [&[0; CHUNK]; G];
            for (chunk, depth) in chunks.iter_mut().zip(depths) {
                *chunk = depth[i * CHUNK..].first_chunk().expect("a whole chunk");
            }
            if to.len() == CHUNK {
                interleave(chunks, added, to);
            } else {
                let mut groups = [[0; G]; CHUNK];
                interleave(chunks, added, &mut groups);
                to.copy_from_slice(&groups[..to.len()]);
            }
        } else {
            for (w, to) in to.iter_mut().enumerate() {
                *to = depths.map(|depth| depth[i * CHUNK + w].wrapping_add(added));
            }
        }
    }
}

/// The inner loops for instruction sets without shuffles of their own.
pub(crate) mod portable {
    use super::{CHUNK, LINES, STRETCH};

    #[inline(always)]
    pub(crate) fn transpose<const G: usize>(
        lines: [&[u8; STRETCH]; LINES],
        added: u8,
        to: &mut [[u8; G]],
        pitch: usize,
    ) {
        for (i, line) in lines.iter().enumerate() {
            for (to, group) in to.chunks_mut(pitch).zip(line.as_chunks::<G>().0) {
                to[i] = group.map(|x| x.wrapping_add(added));
            }
        }
    }

    #[inline(always)]
    pub(crate) fn interleave<const G: usize>(depths: [&[u8; CHUNK]; G], added: u8, to: &mut [[u8; G]]) {
        for (i, to) in to.iter_mut().take(CHUNK).enumerate() {
            *to = depths.map(|depth| depth[i].wrapping_add(added));
        }
    }
}

#[inline(always)]
pub(crate) fn pack_lhs<const WIDENED: bool>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    pitch: usize,
    lines: &mut [u8],
) {
    match src.order {
        Order::DepthContiguous => {
            for (i, line) in lines.chunks_exact_mut(pitch).enumerate() {
                write_line::<WIDENED>(src.run(first + i), reading, (first + i, 0), line);
            }
        }
        Order::LineContiguous => {
            for (i, lines) in lines.chunks_mut(pitch * LINES).enumerate() {
                transpose_lines::<WIDENED>(src, reading, first + i * LINES, pitch, lines);
            }
        }
    }
}

/// Writes a part of one line, which begins at `at`, as the kernels read it, zero up to its end.
#[inline(always)]
fn write_line<const WIDENED: bool>(src: &[u8], reading: &Reading, at: (usize, usize), line: &mut [u8]) {
    let size = if WIDENED { 2 } else { 1 };
    let (numbers, padding) = line.split_at_mut(src.len() * size);
    padding.fill(0);
    if reading.requantization.is_none() {
        return write_numbers::<WIDENED>(src, reading, numbers);
    }
    let (line, depth) = at;
    let mut strip = [0; REQUANTIZED];
    for (i, (src, numbers)) in src.chunks(REQUANTIZED).zip(numbers.chunks_mut(REQUANTIZED * size)).enumerate() {
        let strip = &mut strip[..src.len()];
        reading.along_depth((line, depth + i * REQUANTIZED), src, strip);
        write_numbers::<WIDENED>(strip, reading, numbers);
    }
}

#[inline(always)]
fn write_numbers<const WIDENED: bool>(src: &[u8], reading: &Reading, numbers: &mut [u8]) {
    let added = reading.added();
    if !WIDENED {
        numbers.iter_mut().zip(src).for_each(|(number, &b)| *number = b.wrapping_add(added));
    } else {
        for (number, &b) in numbers.as_chunks_mut::<2>().0.iter_mut().zip(src) {
            *number = (reading.to.decode(b.wrapping_add(added)) as i16).to_ne_bytes();
        }
    }
}

/// Writes up to 8 lines that are contiguous at each depth, by transposing blocks of 8 × 8 bytes.
#[inline(always)]
fn transpose_lines<const WIDENED: bool>(
    src: &Operand,
    reading: &Reading,
    first: usize,
    pitch: usize,
    lines: &mut [u8],
) {
    /// Depths transposed before they are written, so that a line is written in long runs.
    const STRIP: usize = 64;
    let size = if WIDENED { 2 } else { 1 };
    let there = (lines.len() / pitch).min(LINES);
    let mut strip = [[0; STRIP]; LINES];
    for from in (0..src.depth).step_by(STRIP) {
        let depths = STRIP.min(src.depth - from);
        for d in (0..depths).step_by(LINES) {
            let block = from_fn(|x| {
                let mut eight = [0; LINES];
                if d + x < depths {
                    let run = &src.run(from + d + x)[first..];
                    match run.first_chunk() {
                        Some(whole) if there == LINES => eight = *whole,
                        _ => eight[..there].copy_from_slice(&run[..there]),
                    }
                }
                u64::from_le_bytes(eight)
            });
            for (line, bytes) in strip.iter_mut().zip(transposed(block)) {
                line[d..d + LINES].copy_from_slice(&bytes.to_le_bytes());
            }
        }
        let last = from + depths == src.depth;
        for (i, (line, strip)) in lines.chunks_exact_mut(pitch).zip(&strip).enumerate() {
            let end = if last { pitch } else { (from + depths) * size };
            write_line::<WIDENED>(&strip[..depths], reading, (first + i, from), &mut line[from * size..end]);
        }
    }
}

/// An 8 × 8 matrix of bytes, transposed: halves, quarters and single bytes off the diagonal change places.
#[inline(always)]
fn transposed(mut rows: [u64; 8]) -> [u64; 8] {
    for (distance, mask) in [(4, 0x0000_0000_ffff_ffff_u64), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)] {
        for i in (0..8).filter(|i| i & distance == 0) {
            let swapped = (rows[i] >> (8 * distance) ^ rows[i + distance]) & mask;
            rows[i] ^= swapped << (8 * distance);
            rows[i + distance] ^= swapped;
        }
    }
    rows
}

#[inline(always)]
pub(crate) fn sum_line<const WIDENED: bool>(line: &[u8], encoding: Encoding) -> i32 {
    if WIDENED {
        let numbers = line.as_chunks::<2>().0.iter().map(|&x| i32::from(i16::from_ne_bytes(x)));
        return numbers.fold(0, i32::wrapping_add);
    }
    // Summed as if unsigned, which takes one instruction for many bytes, then put right.
    let flip = encoding.flip_to(Encoding::U8);
    let sum = line.iter().map(|&b| u32::from(b ^ flip)).fold(0, u32::wrapping_add);
    let shift = encoding.shift_to(Encoding::U8);
    (sum as i32).wrapping_sub(shift.wrapping_mul(line.len() as i32))
}
