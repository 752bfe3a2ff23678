//! Copying operands into the order in which the kernels read them.
//!
//! The kernels sum the depth in *groups*, 4 or 2 numbers to an instruction.
//!
//! The RHS is packed into *panels*: `W` lines over the whole depth, cut into groups of `G` bytes; in Rust's words a
//! `[[[u8; G]; W]]`. A kernel loads one group of many lines at once.
//!
//! The LHS needs no panels: a kernel reads one group of one line and spreads it over a register, so a line whose depth
//! is contiguous can stay where it is. Any other LHS is copied, line by line.
//!
//! Padding (lines up to a whole panel, depth up to a whole group) is zero, so it adds nothing to sums and products.

use crate::matrix::{Encoding, Operand, Order};
use std::array::from_fn;

/// What one instruction sums, and so how both sides are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// Four products of an unsigned and a signed byte. The LHS keeps its encoding, the RHS takes the other one.
    Quads,
    /// Two products of 16-bit numbers: the LHS is stored in 16 bits, the RHS as signed bytes that the kernel widens.
    Pairs,
}

impl Groups {
    /// How many numbers of a line a group holds.
    pub(crate) const fn len(self) -> usize {
        match self {
            Groups::Quads => 4,
            Groups::Pairs => 2,
        }
    }

    /// How many bytes one number of the LHS takes.
    pub(crate) const fn lhs_size(self) -> usize {
        match self {
            Groups::Quads => 1,
            Groups::Pairs => 2,
        }
    }

    /// The encoding in which the RHS is packed.
    pub(crate) fn rhs_encoding(self, lhs: Encoding) -> Encoding {
        match (self, lhs) {
            (Groups::Quads, Encoding::S8) => Encoding::U8,
            _ => Encoding::S8,
        }
    }

    /// Whether the kernels read this LHS where it lies.
    pub(crate) fn read_in_place(self, lhs: &Operand) -> bool {
        self == Groups::Quads && lhs.order == Order::DepthContiguous
    }
}

/// Packs the lines of an LHS from `first` on, each into `pitch` bytes of `to`.
pub(crate) type PackLhsFn = unsafe fn(src: &Operand, first: usize, pitch: usize, to: &mut [u8]);

/// Packs the lines of an RHS from `first` on into as many panels as `panels` holds.
pub(crate) type PackRhsFn = unsafe fn(src: &Operand, to: Encoding, first: usize, panels: &mut [u8]);

/// Sums the numbers of one line of the LHS, as the kernels read it.
pub(crate) type SumLineFn = unsafe fn(line: &[u8], encoding: Encoding) -> i32;

/// A panel's bytes as groups of `W` lines of `G` bytes.
#[inline(always)]
pub(crate) fn groups<const W: usize, const G: usize>(panel: &[u8]) -> &[[[u8; G]; W]] {
    panel.as_chunks().0.as_chunks().0
}

#[inline(always)]
pub(crate) fn pack_rhs<const W: usize, const G: usize>(src: &Operand, to: Encoding, first: usize, panels: &mut [u8]) {
    let panel_len = W * src.depth.next_multiple_of(G);
    if panel_len == 0 {
        return;
    }
    let flip = src.encoding.flip_to(to);
    match src.order {
        Order::DepthContiguous => {
            for (i, panel) in panels.chunks_exact_mut(panel_len).enumerate() {
                gather_lines::<W, G>(src, flip, first + i * W, panel);
            }
        }
        Order::LineContiguous => interleave_depths::<W, G>(src, flip, first, panel_len, panels),
    }
}

/// Lines that are transposed together.
const BLOCK: usize = 8;

/// Packs one panel of lines whose depth is contiguous, by transposing blocks of 8 lines × 8 groups.
#[inline(always)]
fn gather_lines<const W: usize, const G: usize>(src: &Operand, flip: u8, first: usize, panel: &mut [u8]) {
    let panel: &mut [[[u8; G]; W]] = panel.as_chunks_mut().0.as_chunks_mut().0;
    for left in (0..W).step_by(BLOCK) {
        let there = (W - left).min(BLOCK).min(src.lines.saturating_sub(first + left));
        let lines: [&[u8]; BLOCK] = from_fn(|i| if i < there { src.run(first + left + i) } else { &[] });
        let blocks = if there == BLOCK { src.depth / (G * BLOCK) } else { 0 };
        let blocked = lines.map(|line| line.as_chunks::<G>().0.as_chunks::<BLOCK>().0);
        let (whole, rest) = panel.split_at_mut(blocks * BLOCK);
        for (b, groups) in whole.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let block: [&[[u8; G]; BLOCK]; BLOCK] = from_fn(|i| &blocked[i][b]);
            for (g, group) in groups.iter_mut().enumerate() {
                group[left..left + BLOCK].copy_from_slice(&block.map(|line| line[g].map(|x| x ^ flip)));
            }
        }
        for (g, group) in (blocks * BLOCK..).zip(rest) {
            for (to, line) in group[left..].iter_mut().zip(lines) {
                let bytes = &line[(g * G).min(line.len())..((g + 1) * G).min(line.len())];
                *to = from_fn(|x| bytes.get(x).map_or(0, |b| b ^ flip));
            }
        }
    }
}

/// Packs panels of lines that are contiguous at each depth, all panels at once, so that the source is read in long runs.
#[inline(always)]
fn interleave_depths<const W: usize, const G: usize>(
    src: &Operand,
    flip: u8,
    first: usize,
    panel_len: usize,
    panels: &mut [u8],
) {
    for g in 0..src.depth.div_ceil(G) {
        let depths: [&[u8]; G] = from_fn(|x| match g * G + x {
            depth if depth < src.depth => &src.run(depth)[first..],
            _ => &[],
        });
        let whole_group = (g + 1) * G <= src.depth;
        for (i, panel) in panels.chunks_exact_mut(panel_len).enumerate() {
            let group: &mut [[u8; G]; W] = &mut panel.as_chunks_mut().0.as_chunks_mut().0[g];
            let there = W.min(src.lines - first - i * W);
            if whole_group && there == W {
                let runs: [&[u8; W]; G] = depths.map(|run| run[i * W..][..W].try_into().expect("W bytes"));
                for (w, to) in group.iter_mut().enumerate() {
                    *to = runs.map(|run| run[w] ^ flip);
                }
            } else {
                for (w, to) in group.iter_mut().enumerate() {
                    *to = depths.map(|run| match run.get(i * W + w) {
                        Some(b) if w < there => b ^ flip,
                        _ => 0,
                    });
                }
            }
        }
    }
}

#[inline(always)]
pub(crate) fn pack_lhs<const WIDENED: bool>(src: &Operand, first: usize, pitch: usize, to: &mut [u8]) {
    match src.order {
        Order::DepthContiguous => {
            for (i, to) in to.chunks_exact_mut(pitch).enumerate() {
                write_line::<WIDENED>(src.run(first + i), src.encoding, to);
            }
        }
        Order::LineContiguous => {
            for (i, to) in to.chunks_mut(pitch * BLOCK).enumerate() {
                transpose_lines::<WIDENED>(src, first + i * BLOCK, pitch, to);
            }
        }
    }
}

/// Writes one line as the kernels read it, zero up to the end of `to`.
#[inline(always)]
fn write_line<const WIDENED: bool>(line: &[u8], encoding: Encoding, to: &mut [u8]) {
    let size = if WIDENED { 2 } else { 1 };
    let (numbers, padding) = to.split_at_mut(line.len() * size);
    if !WIDENED {
        numbers.copy_from_slice(line);
    } else {
        for (to, &b) in numbers.as_chunks_mut::<2>().0.iter_mut().zip(line) {
            *to = (encoding.decode(b) as i16).to_ne_bytes();
        }
    }
    padding.fill(0);
}

/// Writes up to 8 lines that are contiguous at each depth, by transposing blocks of 8 × 8 bytes.
#[inline(always)]
fn transpose_lines<const WIDENED: bool>(src: &Operand, first: usize, pitch: usize, to: &mut [u8]) {
    /// Depths transposed before they are written, so that a line is written in long runs.
    const STRIP: usize = 64;
    let size = if WIDENED { 2 } else { 1 };
    let there = (to.len() / pitch).min(BLOCK);
    let mut strip = [[0; STRIP]; BLOCK];
    for from in (0..src.depth).step_by(STRIP) {
        let depths = STRIP.min(src.depth - from);
        for d in (0..depths).step_by(BLOCK) {
            let block = from_fn(|x| {
                let mut eight = [0; BLOCK];
                if d + x < depths {
                    let run = &src.run(from + d + x)[first..];
                    match run.first_chunk() {
                        Some(whole) if there == BLOCK => eight = *whole,
                        _ => eight[..there].copy_from_slice(&run[..there]),
                    }
                }
                u64::from_le_bytes(eight)
            });
            for (line, bytes) in strip.iter_mut().zip(transposed(block)) {
                line[d..d + BLOCK].copy_from_slice(&bytes.to_le_bytes());
            }
        }
        let last = from + depths == src.depth;
        for (to, line) in to.chunks_exact_mut(pitch).zip(&strip) {
            let end = if last { pitch } else { (from + depths) * size };
            write_line::<WIDENED>(&line[..depths], src.encoding, &mut to[from * size..end]);
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
