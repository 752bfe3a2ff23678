//! The bytes of a packed operand as they were before.

use super::{Form, Packed};
use crate::pack::Groups;
use std::ops::Range;

impl Packed {
    /// Writes `lines`, one after the other, in the operand's own encoding.
    ///
    /// # Panics
    /// If there are no such lines, or `to` is not just as long as they are.
    pub(crate) fn unpack(&self, lines: Range<usize>, to: &mut [u8]) {
        let depth = self.label.depth;
        assert!(lines.start <= lines.end && lines.end <= self.label.lines);
        assert_eq!(to.len(), lines.len() * depth);
        if depth == 0 {
            return;
        }
        for (line, to) in lines.zip(to.chunks_exact_mut(depth)) {
            match (self.layout.form, self.kernel.groups) {
                (Form::Lines, Groups::Quads) => to.copy_from_slice(&self.line(line)[..depth]),
                // The low byte of a number of 16 bits is what it was before.
                (Form::Lines, Groups::Pairs) => {
                    let numbers = self.line(line).as_chunks::<2>().0;
                    to.iter_mut().zip(numbers).for_each(|(to, &number)| *to = i16::from_ne_bytes(number) as u8);
                }
                (Form::Panels, Groups::Quads) => self.gather::<4>(line, to),
                (Form::Panels, Groups::Pairs) => self.gather::<2>(line, to),
            }
        }
        let flip = self.stored.flip_to(self.label.encoding);
        if flip != 0 {
            to.iter_mut().for_each(|b| *b ^= flip);
        }
    }

    fn line(&self, line: usize) -> &[u8] {
        let pitch = self.layout.pitch;
        &self.bytes()[line * pitch..][..pitch]
    }

    /// Collects one line of a panel, in groups of `G` bytes.
    fn gather<const G: usize>(&self, line: usize, to: &mut [u8]) {
        let (width, panel_len) = (self.layout.width, self.layout.width * self.layout.pitch);
        let panel = &self.bytes()[line / width * panel_len..][..panel_len];
        let groups = panel.as_chunks::<G>().0.iter().skip(line % width).step_by(width);
        for (to, group) in to.chunks_mut(G).zip(groups) {
            to.copy_from_slice(&group[..to.len()]);
        }
    }
}
