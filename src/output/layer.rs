//! The pipeline of most layers of a quantized network in one go: offsets, a bias, a scale, a clamp and a cast to bytes.
//!
//! Stages one by one pass over a tile each; this passes once, and gives the same.

use super::{Cast, QuantizeDown, Region, Rounding, Scale, Stage, Store, Values};
use crate::kernel::panel::{BytesFn, Panel};
use crate::kernel::relay::Terms;
use crate::kernel::{Columns, Last, Rows, Rule, Vectors, Wide, Words};
use crate::matrix::Output;

/// BIAS, SCALE or SCALE_F32, and CLAMP, of which the first and the last may be missing; then a saturating cast to bytes. Instead of
/// the first two there may be QUANTIZE_DOWN, which is EightBitIntGemm's pipeline.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    bias: Values<'a, i32>,
    scale: Factor<'a>,
    offset_after: i32,
    /// What numbers are confined to before the cast confines them.
    clamp: (i32, i32),
    /// Whether rows differ in their scale.
    pub(super) changes: bool,
}

#[derive(Clone, Copy)]
enum Factor<'a> {
    /// Nothing is shifted to the left, and no multiplier is -2³¹.
    Fixed(Scale<'a>),
    Float(Values<'a, f32>),
    /// But for what is added first.
    Down(QuantizeDown<'a>),
}

impl<'a> Layer<'a> {
    /// None if the pipeline is another one.
    pub(super) fn new(stages: &[Stage<'a>], store: &Store) -> Option<Self> {
        if !matches!(store, Store::U8(_, Cast::Saturating) | Store::I8(_, Cast::Saturating)) {
            return None;
        }
        let (bias, stages) = match stages {
            [Stage::Bias(_), Stage::QuantizeDown(_), ..] => return None,
            [Stage::Bias(bias), stages @ ..] => (*bias, stages),
            [Stage::QuantizeDown(down), ..] => (down.offset, stages),
            _ => (Values::Uniform(0), stages),
        };
        let (scale, offset_after, stages) = match stages {
            [Stage::QuantizeDown(down), stages @ ..] => (Factor::Down(*down), 0, stages),
            [Stage::Scale(scale), stages @ ..] if scale.is_plain() => {
                (Factor::Fixed(*scale), scale.offset_after, stages)
            }
            [Stage::ScaleF32 { scale, offset_after }, stages @ ..] => (Factor::Float(*scale), *offset_after, stages),
            _ => return None,
        };
        let clamp = match stages {
            [] => (i32::MIN, i32::MAX),
            [Stage::Clamp { min, max }] => (*min, *max),
            _ => return None,
        };
        let changes = match &scale {
            Factor::Fixed(scale) => scale.multiplier.is_per_row() || scale.exponent.is_per_row(),
            Factor::Float(scale) => scale.is_per_row(),
            Factor::Down(down) => down.multiplier.is_per_row() || down.shift.is_per_row(),
        };
        Some(Self { bias, scale, offset_after, clamp, changes })
    }

    /// Finishes a tile of accumulators, to which uniform offsets are still to be added. What they add to rows is computed in `room`.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(super) unsafe fn finish<const W: usize>(
        &self,
        store: &Store,
        region: &Region,
        offsets: (i32, i32),
        acc: &[[i32; W]],
        room: &mut [i32],
        vectors: Vectors,
    ) {
        let (out, last) = self.place(store);
        let part = Part { layer: self, out: &out, region, offsets, last, vectors };
        if !self.changes {
            // Not in a loop: to keep for its next turn what each needs would take longer than the turn that there is.
            // SAFETY: this function's own promise.
            return unsafe { part.finish(0, acc, room) };
        }
        for (first, row) in acc.iter().enumerate() {
            // SAFETY: as above.
            unsafe { part.finish(first, std::slice::from_ref(row), room) };
        }
    }

    /// As [`Layer::finish`], of rows of sums of any number of columns, `pitch` apart and with as many of each as whole panels have.
    ///
    /// # Safety
    /// As for that; the CPU has the features that `make` was compiled for.
    #[inline(always)]
    pub(super) unsafe fn finish_wide(
        &self,
        (make, panels): (BytesFn, &[Panel]),
        store: &Store,
        region: &Region,
        offsets: (i32, i32),
        (sums, pitch): (&[i32], usize),
        room: &mut [i32],
    ) {
        let (out, last) = self.place(store);
        let terms = self.terms_in(region, offsets, 0, &mut room[..region.rows.len()]);
        let (rows, cols) = (region.rows.clone(), region.cols.clone());
        let columns = self.columns(region, offsets, 0);
        let wide = Wide { rule: self.rule(), columns, panels, last, sums, pitch, terms, out: &out, rows, cols };
        // SAFETY: this function's own promise.
        unsafe { make(&wide) }
    }

    /// Where the bytes go, and what comes after scaling.
    #[inline(always)]
    pub(super) fn place<'s>(&self, store: &Store<'s>) -> (Output<'s, u8>, Last) {
        let (out, least, greatest) = match store {
            Store::U8(out, _) => (out.bytes(), 0, 255),
            Store::I8(out, _) => (out.bytes(), -128, 127),
            _ => unreachable!("a layer gives bytes"),
        };
        // If the minimum is the greater, all become the maximum.
        let (min, max) = self.clamp;
        let (least, greatest) = (min.min(max).clamp(least, greatest), max.clamp(least, greatest));
        (out, Last { offset: self.offset_after, least, greatest })
    }

    /// What the columns of a region have of their own, of which row `first` is to be finished.
    #[inline(always)]
    pub(super) fn columns<'r>(&'r self, region: &'r Region, offsets: (i32, i32), first: usize) -> Columns<'r> {
        let (factor, exponent) = self.scale_of(region, first);
        Columns {
            bias: if self.bias.is_per_row() { Words::Same(0) } else { self.bias.of_row(region, first) },
            sums: if region.col_sums.is_empty() { Words::Same(0) } else { Words::Ints(region.col_sums) },
            times: offsets.0,
            factor,
            exponent,
        }
    }

    /// What is added to a region's rows.
    #[inline(always)]
    pub(super) fn terms<'r>(&self, region: &Region<'r>, (a, b): (i32, i32)) -> Terms<'r>
    where
        'a: 'r,
    {
        let bias = match &self.bias {
            Values::PerRow(values) => &values[region.rows.start..],
            _ => &[],
        };
        Terms { sums: region.row_sums, depth: a.wrapping_mul(region.depth as i32), times: b, bias }
    }

    /// What is added to each row as a whole, from the region's row `first` on: nothing, or in `room`, of a number for each.
    #[inline(always)]
    pub(super) fn terms_in<'t>(
        &self,
        region: &Region,
        offsets: (i32, i32),
        first: usize,
        room: &'t mut [i32],
    ) -> &'t [i32] {
        if offsets.1 == 0 && !self.bias.is_per_row() {
            return &[];
        }
        region.fill_terms(first, offsets, room);
        self.bias.add_to_rows(region, first, room);
        room
    }

    /// Factor and exponent of the columns of a region's row `i`.
    #[inline(always)]
    fn scale_of(&self, region: &Region, i: usize) -> (Words<'_>, Words<'_>) {
        match &self.scale {
            Factor::Fixed(scale) => (scale.multiplier.of_row(region, i), scale.exponent.of_row(region, i)),
            Factor::Float(scale) => (scale.of_row(region, i), Words::Same(0)),
            Factor::Down(down) => (down.multiplier.of_row(region, i), down.shift.of_row(region, i)),
        }
    }

    #[inline(always)]
    pub(super) fn rule(&self) -> Rule {
        match &self.scale {
            Factor::Float(_) => Rule::Float,
            Factor::Down(_) => Rule::Down,
            Factor::Fixed(scale) => match scale.rounding {
                Rounding::Twice => Rule::Twice,
                Rounding::TwiceUp => Rule::TwiceUp,
                Rounding::Once => Rule::Once,
            },
        }
    }
}

/// What rows of a tile are finished with that have the same scale.
struct Part<'p, 'a> {
    layer: &'p Layer<'a>,
    out: &'p Output<'a, u8>,
    region: &'p Region<'p>,
    offsets: (i32, i32),
    last: Last,
    vectors: Vectors,
}

impl Part<'_, '_> {
    /// Finishes the rows from the region's row `first` on.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    unsafe fn finish<const W: usize>(&self, first: usize, acc: &[[i32; W]], room: &mut [i32]) {
        let Self { layer, out, region, offsets, last, vectors } = *self;
        let terms = layer.terms_in(region, offsets, first, &mut room[..acc.len()]);
        let start = region.rows.start + first;
        // SAFETY: this function's own promise; each row of it is made bytes before the next.
        let to = unsafe { out.block(start..start + acc.len(), region.cols.clone()) };
        let rows = Rows::of_tile(acc, terms, region.cols.len());
        let columns = layer.columns(region, offsets, first);
        vectors.requantize(layer.rule(), &columns, last, rows, to);
    }
}
