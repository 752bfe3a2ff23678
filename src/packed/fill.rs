//! Writing a packed operand.

use super::header::{self, Content, Header};
use super::layout::Sections;
use super::memory::{Memory, ints_mut};
use super::{Crew, Form, Label, Layout, Packed, Packing};
use crate::buffer::Buffer;
use crate::elements::ElementsMut;
use crate::matrix::{Offset, Operand};
use std::ops::Range;

impl Packed {
    /// Packs into its memory. `proven` are the spans, if they are known. In `room` there is as much as one step of packing numbers of few bits takes.
    pub(super) fn fill(&mut self, crew: Crew, operand: &Operand, packing: &Packing, proven: &[u8], room: &mut [u8]) {
        let mut memory = std::mem::replace(&mut self.memory, Memory::Own(Buffer::empty()));
        let Sections { sums, offsets, scales, zero_points, spans, bytes } = self.sections.clone();
        let (head, content) = memory.as_mut_slice()[..self.sections.end()].split_at_mut(header::LEN);
        let within = |section: Range<usize>| section.start - header::LEN..section.end - header::LEN;
        content[..bytes.start - header::LEN].fill(0);
        let sections = content.get_disjoint_mut([sums, offsets, scales, zero_points, spans, bytes].map(within));
        let [sums, offsets, scales, zero_points, spans, bytes] = sections.expect("sections are apart");
        if let Offset::PerLine(declared) = packing.offset {
            ints_mut(offsets).copy_from_slice(&declared[..operand.lines]);
        }
        if let Some(segments) = &packing.segments {
            self.place(segments.scales.iter().map(|scale| scale.to_bits() as i32), ints_mut(scales));
            self.place(segments.zero_points.unwrap_or_default().iter().copied(), ints_mut(zero_points));
        }
        spans.copy_from_slice(proven);
        self.fill_lines(crew, operand, bytes, ints_mut(sums), room);
        let checksum = crc32fast::hash(content);
        let (layout, stored, bound, range) = (self.layout, self.stored, self.bound, self.range);
        let content = Content::Packed { layout, stored, bound, range };
        head.copy_from_slice(&Header { label: self.label, content, checksum }.to_bytes());
        self.memory = memory;
    }

    /// Puts values, for each line those of all its segments, in the order of the sums.
    fn place(&self, values: impl Iterator<Item = i32>, to: &mut [i32]) {
        if to.is_empty() {
            return;
        }
        let pieces = self.label.line.pieces();
        for (i, value) in values.take(self.label.lines * pieces).enumerate() {
            to[self.place_of(i / pieces, i % pieces)] = value;
        }
    }

    fn fill_lines(&self, crew: Crew, operand: &Operand, bytes: &mut [u8], sums: &mut [i32], room: &mut [u8]) {
        let Self { kernel, label, layout, .. } = self;
        if operand.lines == 0 || operand.depth == 0 {
            return bytes.fill(0);
        }
        match (layout.form, label.line.is_plain()) {
            (Form::Panels, true) => {
                self.in_parts(crew, operand, bytes, sums, |lines, bytes, sums| {
                    kernel.pack_panels(operand, &self.reading(), lines, bytes, sums);
                });
            }
            (Form::Panels, false) => {
                for (i, panel) in bytes.chunks_exact_mut(layout.width * layout.pitch).enumerate() {
                    let lines = i * layout.width..operand.lines.min((i + 1) * layout.width);
                    self.fill_panel(operand, lines, panel, sums, room);
                }
            }
            (Form::Lines, _) if label.line.bits.are_few() => {
                let least = label.line.bits.least(operand.encoding) as u8;
                for (line, bytes) in bytes.chunks_exact_mut(layout.pitch).enumerate() {
                    operand.copy_line(line, &mut room[..operand.depth]);
                    let codes = &mut room[..operand.depth.next_multiple_of(8)];
                    codes.iter_mut().for_each(|b| *b = b.wrapping_add(least));
                    codes[operand.depth..].fill(0);
                    layout.planes(label.line, least).store(codes, bytes);
                }
            }
            (Form::Lines, _) => {
                self.in_parts(crew, operand, bytes, sums, |lines, bytes, sums| {
                    kernel.pack_lines(operand, &self.reading(), lines, bytes, sums);
                });
            }
        }
    }

    /// Calls `pack` with lines, of whole panels if that is how they lie, and the places of their bytes and sums.
    fn in_parts(
        &self,
        crew: Crew,
        operand: &Operand,
        bytes: &mut [u8],
        sums: &mut [i32],
        pack: impl Fn(Range<usize>, &mut [u8], &mut [i32]) + Sync,
    ) {
        let Layout { width, pitch, .. } = self.layout;
        let (bytes, sums) = (ElementsMut::from(bytes), ElementsMut::from(sums));
        crew.share(operand.lines.div_ceil(width), width * (operand.depth + pitch), |panels| {
            let lines = panels.start * width..panels.end * width;
            let bytes = bytes.part(lines.start * pitch..lines.end * pitch);
            // Of lines with segments there are no sums.
            let sums = sums.part(lines.start.min(sums.len())..lines.end.min(sums.len()));
            // SAFETY: the lines of different threads are apart.
            let (bytes, sums) = unsafe { (bytes.as_mut_slice(), sums.as_mut_slice()) };
            pack(lines.start..lines.end.min(operand.lines), bytes, sums);
        });
    }

    /// Packs one panel piece by piece.
    fn fill_panel(&self, operand: &Operand, lines: Range<usize>, panel: &mut [u8], sums: &mut [i32], room: &mut [u8]) {
        let Self { kernel, label: Label { line, .. }, layout, stored, .. } = self;
        let (width, groups) = (layout.width, kernel.groups);
        let reading = self.reading();
        let mut rest = panel;
        for (i, depths) in line.each_piece().enumerate() {
            let part = operand.part(lines.clone(), depths);
            let len = line.padded(part.depth, groups);
            let to = rest.split_off_mut(..line.bytes(len) * width).expect("room for all pieces");
            let sums = &mut sums[self.place_of(lines.start, i)..][..width];
            if !line.bits.are_few() {
                kernel.pack_panels(&part, &reading, 0..lines.len(), to, sums);
                to[groups.pad(part.depth) * width..].fill(0);
                continue;
            }
            let numbers = &mut room[..len * width];
            kernel.pack_panels(&part, &reading, 0..lines.len(), numbers, sums);
            numbers[groups.pad(part.depth) * width..].fill(0);
            let planes = layout.planes(*line, self.label.zero(*stored));
            numbers.iter_mut().for_each(|number| *number = number.wrapping_add(planes.zero));
            planes.store(numbers, to);
        }
    }
}
