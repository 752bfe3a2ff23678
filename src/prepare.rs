//! Lines of an operand as the kernels read them: packed, with their sums.

use crate::conv::Patches;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Lines, Operand};
use crate::pack;
use crate::planes::Planes;
use crate::reading::Reading;
use crate::segment::Segment;
use std::ops::Range;

/// Lines of one side, from line `first` on.
#[derive(Clone, Copy)]
pub(crate) struct Prepared<'a> {
    pub first: usize,
    /// Panels of an RHS; of an LHS its lines, [`Kernel::pitch`] apart, or nothing if the kernels read it where it lies.
    pub bytes: &'a [u8],
    /// Of the numbers of each line, offsets not included; empty if nobody needs them.
    pub sums: &'a [i32],
    /// As these, of the elements before they were requantized; empty unless they are compensated.
    pub originals: &'a [i32],
}

/// The memory that it takes to prepare lines: bytes and sums, bytes for lines that have to be unpacked first, and the
/// sums of the elements as they were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Room {
    pub bytes: usize,
    pub sums: usize,
    pub unpacked: usize,
    pub originals: usize,
}

impl Kernel {
    /// Accumulators of a tile.
    pub(crate) fn tile_len(&self) -> usize {
        self.rows * self.width
    }

    /// How many tiles are finished together: more than one, where they are small, because each call costs as much as many
    /// results.
    pub(crate) fn finished_together(&self) -> usize {
        const RESULTS: usize = 2304;
        (RESULTS / self.tile_len()).max(1)
    }

    /// How many of these lines it had better read together.
    #[inline(always)]
    pub(crate) fn together(&self, lines: &Lines) -> usize {
        // A kernel that takes panels reads whole cache lines, once for each panel.
        if self.takes_panels() { self.rows } else { lines.together(self.rows) }
    }

    /// A depth in whole groups.
    pub(crate) fn pad(&self, depth: usize) -> usize {
        self.groups.pad(depth)
    }

    /// Bytes from one packed line of an LHS to the next: an odd number of cache lines, so that lines do not compete for the
    /// same places in the caches.
    pub(crate) fn pitch(&self, depth: usize) -> usize {
        ((self.pad(depth) * self.groups.lhs_size()).div_ceil(64) | 1) * 64
    }

    pub(crate) fn room_for_lines(&self, lines: usize, depth: usize) -> Room {
        Room { bytes: lines * self.pitch(depth), sums: lines, ..Room::default() }
    }

    pub(crate) fn room_for_panels(&self, lines: usize, depth: usize) -> Room {
        let lines = lines.next_multiple_of(self.width);
        Room { bytes: lines * self.pad(depth), sums: lines, ..Room::default() }
    }

    /// Packs `lines` of an LHS, and sums them if there are `sums`.
    pub(crate) fn pack_lines(
        &self,
        src: &Operand,
        reading: &Reading,
        lines: Range<usize>,
        bytes: &mut [u8],
        sums: &mut [i32],
    ) {
        let pitch = self.pitch(src.depth);
        self.pack_lines_apart(src, reading, lines, pitch, bytes, sums);
    }

    /// As [`Kernel::pack_lines`], so many bytes apart.
    pub(crate) fn pack_lines_apart(
        &self,
        src: &Operand,
        reading: &Reading,
        lines: Range<usize>,
        pitch: usize,
        bytes: &mut [u8],
        sums: &mut [i32],
    ) {
        let pack = self.pack_lhs[pack::way(src, lines.len())];
        // SAFETY: whoever has a kernel has a CPU that runs it.
        unsafe { pack(src, reading, lines.start, pitch, &mut bytes[..lines.len() * pitch], sums) }
    }

    /// Packs `lines` of an LHS that are patches, and sums them if there are `sums`.
    pub(crate) fn pack_patches(
        &self,
        src: &Patches,
        reading: &Reading,
        lines: Range<usize>,
        bytes: &mut [u8],
        sums: &mut [i32],
    ) {
        let pitch = self.pitch(src.depth());
        // SAFETY: whoever has a kernel has a CPU that runs it.
        unsafe { (self.pack_patches)(src, reading, lines.start, pitch, &mut bytes[..lines.len() * pitch], sums) }
    }

    /// Packs an LHS of one line, and zeros after it.
    pub(crate) fn pack_line(&self, src: &Operand, reading: &Reading, bytes: &mut [u8]) {
        self.pack_lines_apart(src, reading, 0..1, bytes.len(), bytes, &mut []);
    }

    /// Sums as many lines of an LHS, which the kernels read as `encoding`, as there are sums.
    #[inline]
    pub(crate) fn sum_lines(&self, lines: Lines, encoding: Encoding, sums: &mut [i32]) {
        if sums.is_empty() {
            return;
        }
        // SAFETY: whoever has a kernel has a CPU that runs it.
        unsafe { (self.sum_lines)(&lines, encoding, sums) }
    }

    /// As [`Kernel::sum_lines`], of lines that the kernels read in place.
    #[inline]
    pub(crate) fn sum_in_place(&self, lines: Lines, reading: &Reading, sums: &mut [i32]) {
        let is_turn = reading.is_turn();
        self.sum_lines(lines, if is_turn { reading.to.other() } else { reading.to }, sums);
        if is_turn {
            let turned = reading.shift.wrapping_mul(lines.len() as i32);
            sums.iter_mut().for_each(|sum| *sum = sum.wrapping_add(turned));
        }
    }

    /// Packs `lines` of an RHS into panels, and sums them if there are `sums`.
    pub(crate) fn pack_panels(
        &self,
        src: &Operand,
        reading: &Reading,
        lines: Range<usize>,
        bytes: &mut [u8],
        mut sums: &mut [i32],
    ) {
        let room = self.room_for_panels(lines.len(), src.depth);
        let (mut first, mut bytes) = (lines.start, &mut bytes[..room.bytes]);
        let pieces = pack::lines_of_piece(src, reading, room.bytes, self.width * self.groups.len(), self.fetches_rhs);
        while let Some(lines) = pieces
            && bytes.len() > pack::SHORT * self.pad(src.depth)
        {
            let piece = (lines / self.width * self.width).min(bytes.len() / self.pad(src.depth));
            let (some, rest) = bytes.split_at_mut(piece * self.pad(src.depth));
            let (some_sums, rest_of_sums) = sums.split_at_mut(piece.min(sums.len()));
            // SAFETY: whoever has a kernel has a CPU that runs it.
            unsafe { self.pack_rhs[pack::SHORT_RUNS](src, reading, first, some, some_sums) }
            (first, bytes, sums) = (first + piece, rest, rest_of_sums);
        }
        let pack = self.pack_rhs[pack::way(src, room.sums - (first - lines.start))];
        // SAFETY: as above.
        unsafe { pack(src, reading, first, bytes, sums) }
    }

    /// As [`Kernel::pack_panels`], lines that are contiguous at each depth, and far away: all of them at one depth before the next,
    /// so that memory brings long runs.
    pub(crate) fn pack_runs(
        &self,
        src: &Operand,
        reading: &Reading,
        lines: Range<usize>,
        bytes: &mut [u8],
        sums: &mut [i32],
    ) {
        if !src.depth.is_multiple_of(self.groups.len()) {
            return self.pack_panels(src, reading, lines, bytes, sums);
        }
        let room = self.room_for_panels(lines.len(), src.depth);
        // SAFETY: whoever has a kernel has a CPU that runs it.
        unsafe { self.pack_rhs[pack::SHORT_RUNS](src, reading, lines.start, &mut bytes[..room.bytes], sums) }
    }

    /// Widens numbers that are stored in planes, as many as `to` has bytes.
    pub(crate) fn expand(&self, planes: &Planes, from: &[u8], to: &mut [u8]) {
        // SAFETY: whoever has a kernel has a CPU that runs it.
        unsafe { (self.expand)(planes, from, to) }
    }

    /// Adds a segment of a tile to its floats.
    pub(crate) fn add_segment(&self, segment: &Segment, acc: &[i32], floats: &mut [i32]) {
        // SAFETY: whoever has a kernel has a CPU that runs it.
        unsafe { (self.add_segment)(segment, acc, floats) }
    }
}
