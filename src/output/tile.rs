//! A tile on its way through the stages.

use super::{Region, Residual};
use crate::kernel::{Loop, Vectors};

/// A tile on its way through the stages.
pub(super) struct Tile<'t> {
    pub region: &'t Region<'t>,
    /// Words of a row. Known only when the library runs, so that stages are compiled once for all kernels of the same vectors.
    pub width: usize,
    /// The rows of the region; what lies beyond its columns is anything.
    pub acc: &'t mut [i32],
    /// As many words each, for the parameters of a stage.
    pub room: [&'t mut [i32]; 2],
    /// Those of the kernel.
    pub vectors: Vectors,
}

impl Tile<'_> {
    /// Turns each accumulator into `of` it.
    #[inline(always)]
    pub(super) fn each(&mut self, of: impl Fn(i32) -> i32) {
        self.acc.iter_mut().for_each(|x| *x = of(*x));
    }

    /// A residual's elements, as integers or the bits of floats, one for each accumulator.
    #[inline(always)]
    pub(super) fn read(&mut self, residual: &Residual) -> &mut [i32] {
        let [room, _] = &mut self.room;
        self.vectors.run(Reading { residual, region: self.region, width: self.width, to: room });
        room
    }

    /// Turns each accumulator into `of` it and what was read.
    #[inline(always)]
    pub(super) fn each_with_read(&mut self, of: impl Fn(i32, i32) -> i32) {
        let [room, _] = &self.room;
        for (x, r) in self.acc.iter_mut().zip(room.iter()) {
            *x = of(*x, *r);
        }
    }
}

/// Reading a residual: compiled once, not for each stage that does.
struct Reading<'a> {
    residual: &'a Residual<'a>,
    region: &'a Region<'a>,
    width: usize,
    to: &'a mut [i32],
}

impl Loop for Reading<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        for (to, row) in self.to.chunks_exact_mut(self.width).zip(self.region.rows.clone()) {
            self.residual.read(row, self.region.cols.clone(), to);
        }
    }
}
