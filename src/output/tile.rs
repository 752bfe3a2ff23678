//! A tile on its way through the stages.

use super::{Region, Residual};
use crate::kernel::Vectors;

/// A tile on its way through the stages.
pub(super) struct Tile<'t, const W: usize> {
    pub region: &'t Region<'t>,
    /// The rows of the region; what lies beyond its columns is anything.
    pub acc: &'t mut [[i32; W]],
    /// As many words each, for the parameters of a stage.
    pub room: [&'t mut [[i32; W]]; 2],
    /// Those of the kernel.
    pub vectors: Vectors,
}

impl<const W: usize> Tile<'_, W> {
    /// Turns each accumulator into `of` it.
    #[inline(always)]
    pub(super) fn each(&mut self, of: impl Fn(i32) -> i32) {
        self.acc.as_flattened_mut().iter_mut().for_each(|x| *x = of(*x));
    }

    /// A residual's elements, as integers or the bits of floats, one for each accumulator.
    #[inline(always)]
    pub(super) fn read(&mut self, residual: &Residual) -> &mut [i32] {
        let [room, _] = &mut self.room;
        for (to, row) in room.iter_mut().zip(self.region.rows.clone()) {
            residual.read(row, self.region.cols.clone(), to);
        }
        room[..self.acc.len()].as_flattened_mut()
    }

    /// Turns each accumulator into `of` it and what was read.
    #[inline(always)]
    pub(super) fn each_with_read(&mut self, of: impl Fn(i32, i32) -> i32) {
        let [room, _] = &self.room;
        for (x, r) in self.acc.as_flattened_mut().iter_mut().zip(room.as_flattened()) {
            *x = of(*x, *r);
        }
    }
}
