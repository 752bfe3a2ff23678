//! From accumulators to the result: a pipeline of stages, then a store.
//!
//! A pipeline starts with sums, 32-bit integers. A stage takes and gives integers or floats; floats lie in the
//! accumulators by their bits. A tile passes through the stages one after the other, each a plain loop over its rows.

use crate::kernel::Vectors;
use crate::matrix::{Offset, Output, Runs};
use std::ops::Range;

mod activation;
mod binary;
mod compensation;
mod layer;
mod logistic;
mod quantize_down;
mod rescale;
mod residual;
mod scale;
mod store;
mod table;
mod tanh;
mod values;
mod weighted;

pub use activation::Activation;
pub use binary::{Binary, Operation};
pub use logistic::Logistic;
pub use quantize_down::QuantizeDown;
pub(crate) use rescale::Rescale;
pub use residual::{Element, Residual};
pub use scale::{Rounding, Scale};
pub(crate) use scale::{scaled_once, scaled_twice, scaled_twice_up};
pub use store::{Cast, Store};
pub use table::Table;
pub use tanh::Tanh;
pub use values::Values;
pub use weighted::Weighted;

use crate::fixed_point::rounded;
use layer::Layer;
use store::each;
use values::Word;

/// One step of a pipeline. Integer arithmetic wraps around.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'a> {
    /// Adds a bias to integers.
    Bias(Values<'a, i32>),
    /// Scales integers down as gemmlowp's `EightBitIntGemm` does.
    QuantizeDown(QuantizeDown<'a>),
    /// Confines integers; to the maximum, if that is less than the minimum.
    Clamp {
        /// The least that is left as it is.
        min: i32,
        /// The greatest.
        max: i32,
    },
    /// Scales integers in fixed point.
    Scale(Scale<'a>),
    /// tanh of integers.
    Tanh(Tanh),
    /// The logistic function of integers.
    Logistic(Logistic),
    /// Adds scaled (residual − zero point) to integers.
    Residual {
        /// What is added.
        residual: Residual<'a>,
        /// Subtracted from the residual's integers.
        zero_point: i32,
        /// The difference times this, over 2³¹, ...
        multiplier: i32,
        /// ... and times 2 to this power, -31 to 30.
        exponent: i32,
        /// How that is rounded.
        rounding: Rounding,
    },
    /// Integers times floats, rounded to integers again, ties to even, saturating.
    ScaleF32 {
        /// What the rounded float of each is multiplied by.
        scale: Values<'a, f32>,
        /// Added after rounding.
        offset_after: i32,
    },
    /// Integers become floats, rounded, and are multiplied by a scale, which rounds again.
    Dequantize(Values<'a, f32>),
    /// Adds a bias to floats.
    BiasF32(Values<'a, f32>),
    /// Confines floats; to the maximum, if that is less than the minimum.
    ClampF32 {
        /// The least that is left as it is.
        min: f32,
        /// The greatest.
        max: f32,
    },
    /// Adds (residual − zero point) · scale to floats.
    ResidualF32 {
        /// What is added.
        residual: Residual<'a>,
        /// Subtracted from the residual's integers.
        zero_point: i32,
        /// What the difference is multiplied by.
        scale: f32,
    },
    /// Floats times a scale become integers, ties to even, saturating.
    Quantize {
        /// One over the scale of the result.
        scale: Values<'a, f32>,
        /// Added after rounding.
        zero_point: i32,
    },
    /// Floats times a scale.
    MultiplyF32(Values<'a, f32>),
    /// A function of floats.
    ActivationF32(Activation),
    /// Floats and another tensor.
    BinaryF32(Binary<'a>),
    /// Floats times a scale, plus a zero point, become integers, ties to even, saturating.
    QuantizeZeroFirst {
        /// One over the scale of the result.
        scale: Values<'a, f32>,
        /// Added before rounding, as a float.
        zero_point: i32,
    },
    /// Integers become entries of a table.
    Table(Table<'a>),
    /// Integers and what the result was before, with their weights.
    Weighted(Weighted<'a>),
}

impl Stage<'_> {
    /// In lower case, as C names it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Stage::Bias(_) => "bias",
            Stage::QuantizeDown(_) => "quantize_down",
            Stage::Scale(_) => "scale",
            Stage::Clamp { .. } => "clamp",
            Stage::Tanh(_) => "tanh",
            Stage::Logistic(_) => "logistic",
            Stage::ScaleF32 { .. } => "scale_f32",
            Stage::Residual { .. } => "residual",
            Stage::Dequantize(_) => "dequantize",
            Stage::BiasF32(_) => "bias_f32",
            Stage::ClampF32 { .. } => "clamp_f32",
            Stage::ResidualF32 { .. } => "residual_f32",
            Stage::Quantize { .. } => "quantize",
            Stage::MultiplyF32(_) => "multiply_f32",
            Stage::ActivationF32(_) => "activation_f32",
            Stage::BinaryF32(_) => "binary_f32",
            Stage::QuantizeZeroFirst { .. } => "quantize_zero_first",
            Stage::Table(_) => "table",
            Stage::Weighted(_) => "weighted",
        }
    }

    /// What the stage reads beside its parameters.
    pub(crate) fn residual(&self) -> Option<&Residual<'_>> {
        match self {
            Stage::Residual { residual, .. } | Stage::ResidualF32 { residual, .. } => Some(residual),
            Stage::BinaryF32(binary) => Some(&binary.tensor),
            Stage::Weighted(weighted) => weighted.before.as_ref(),
            _ => None,
        }
    }

    /// Where the values of the stage's parameters lie.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Runs> {
        let runs = match self {
            Stage::Bias(bias) => [bias.runs(), None, None],
            Stage::QuantizeDown(stage) => [stage.offset.runs(), stage.multiplier.runs(), stage.shift.runs()],
            Stage::Scale(stage) => [stage.multiplier.runs(), stage.exponent.runs(), None],
            Stage::ScaleF32 { scale, .. } | Stage::Quantize { scale, .. } | Stage::QuantizeZeroFirst { scale, .. } => {
                [scale.runs(), None, None]
            }
            Stage::Dequantize(values) | Stage::BiasF32(values) | Stage::MultiplyF32(values) => {
                [values.runs(), None, None]
            }
            Stage::Table(table) => [Some(table.runs()), None, None],
            Stage::Weighted(weighted) => [weighted.offset.runs(), None, None],
            _ => [None; 3],
        };
        runs.into_iter().flatten()
    }

    /// Where all that lies that the stage reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Runs> {
        self.parameters().chain(self.residual().map(Residual::runs))
    }

    #[inline(always)]
    fn apply<const W: usize>(&self, tile: &mut Tile<W>) {
        let (float, word) = (f32::from_word, f32::to_word);
        match self {
            Stage::Bias(bias) => bias.apply(tile, i32::wrapping_add),
            Stage::QuantizeDown(stage) => stage.apply(tile),
            Stage::Scale(stage) => stage.apply(tile),
            &Stage::Clamp { min, max } => tile.each(|x| x.max(min).min(max)),
            Stage::Tanh(tanh) => {
                for x in tile.acc.as_flattened_mut() {
                    *x = tanh.of(*x);
                }
            }
            Stage::Logistic(logistic) => {
                for x in tile.acc.as_flattened_mut() {
                    *x = logistic.of(*x);
                }
            }
            &Stage::Residual { ref residual, zero_point, multiplier, exponent, rounding } => {
                let added = tile.read(residual);
                added.iter_mut().for_each(|r| *r = r.wrapping_sub(zero_point));
                rounding.scale(added, multiplier, exponent);
                tile.each_with_read(i32::wrapping_add);
            }
            &Stage::ScaleF32 { scale, offset_after } => {
                scale.apply(tile, |x, scale| rounded(x as f32 * scale).wrapping_add(offset_after));
            }
            Stage::Dequantize(scale) => scale.apply(tile, |x, scale| word(x as f32 * scale)),
            Stage::BiasF32(bias) => bias.apply(tile, |x, bias| word(float(x) + bias)),
            &Stage::ClampF32 { min, max } => {
                // Not `f32::max`: which zero is the greater differs between instruction sets.
                let least = |x: f32| if x < min { min } else { x };
                let most = |x: f32| if x > max { max } else { x };
                tile.each(|x| word(most(least(float(x)))));
            }
            &Stage::ResidualF32 { ref residual, zero_point, scale } => {
                tile.read_floats(residual, zero_point);
                tile.each_with_read(|x, r| word(float(x) + float(r) * scale));
            }
            &Stage::Quantize { scale, zero_point } => {
                scale.apply(tile, |x, scale| rounded(float(x) * scale).wrapping_add(zero_point));
            }
            Stage::MultiplyF32(scale) => scale.apply(tile, |x, scale| word(float(x) * scale)),
            Stage::ActivationF32(activation) => activation.apply(tile),
            Stage::BinaryF32(binary) => binary.apply(tile),
            &Stage::QuantizeZeroFirst { scale, zero_point } => {
                let zero_point = zero_point as f32;
                scale.apply(tile, |x, scale| rounded(float(x) * scale + zero_point));
            }
            Stage::Table(table) => table.apply(tile.acc.as_flattened_mut()),
            Stage::Weighted(weighted) => weighted.apply(tile),
        }
    }
}

/// What is done with every accumulator of a product.
pub struct Finish<'a> {
    stages: &'a [Stage<'a>],
    store: Store<'a>,
    /// The same, if there is a quicker way to it.
    layer: Option<Layer<'a>>,
}

impl<'a> Finish<'a> {
    /// The stages in order, then the store. What the last stage gives has to be what the store takes.
    pub fn new(stages: &'a [Stage<'a>], store: Store<'a>) -> Self {
        Self { stages, layer: Layer::new(stages, &store), store }
    }

    /// Where the sums go, if they are the result.
    pub(crate) fn sums(&self) -> Option<&Output<'a, i32>> {
        match (self.stages, &self.store) {
            ([], Store::I32(out)) => Some(out),
            _ => None,
        }
    }

    pub(crate) fn stages(&self) -> &'a [Stage<'a>] {
        self.stages
    }

    pub(crate) fn store(&self) -> &Store<'a> {
        &self.store
    }
}

/// A tile's place in the result, and what the offsets of the operands add to its accumulators.
pub(crate) struct Region<'a> {
    pub rows: Range<usize>,
    pub cols: Range<usize>,
    pub depth: usize,
    /// The sum of each of the region's rows of the LHS; empty if the RHS has no offset.
    pub row_sums: &'a [i32],
    /// The sum of each of the panel's columns of the RHS; empty if the LHS has no offset.
    pub col_sums: &'a [i32],
    /// As these, of the elements before they were requantized, if they are compensated.
    pub row_originals: &'a [i32],
    pub col_originals: &'a [i32],
    pub row_offsets: LineOffsets<'a>,
    pub col_offsets: LineOffsets<'a>,
    /// If either operand was requantized.
    pub rescale: Option<&'a Rescale>,
}

impl Region<'_> {
    /// The offsets of all rows and of all columns, if they are known to be the same.
    #[inline(always)]
    pub(crate) fn uniform(&self) -> Option<(i32, i32)> {
        Some((self.row_offsets.uniform()?, self.col_offsets.uniform()?))
    }

    /// The sums of the panel's columns; 0 if nobody needs them.
    #[inline(always)]
    fn panel_sums<const W: usize>(&self) -> [i32; W] {
        self.col_sums.first_chunk().copied().unwrap_or([0; W])
    }

    /// The sum of the region's row `i`, to each of whose numbers `a` is added.
    #[inline(always)]
    fn row_sum(&self, i: usize, a: i32) -> i32 {
        let sum = self.row_sums.get(i).copied().unwrap_or(0);
        sum.wrapping_add(a.wrapping_mul(self.depth as i32))
    }

    /// What uniform offsets add to the sums of row `i`.
    #[inline(always)]
    fn of_row(&self, i: usize, (a, b): (i32, i32)) -> i32 {
        self.row_sum(i, a).wrapping_mul(b)
    }

    /// What they add to those of each column.
    #[inline(always)]
    fn of_cols<const W: usize>(&self, (a, _): (i32, i32)) -> [i32; W] {
        let mut terms = self.panel_sums();
        terms.iter_mut().for_each(|sum| *sum = i32::wrapping_mul(*sum, a));
        terms
    }
}

/// A tile on its way through the stages.
struct Tile<'t, const W: usize> {
    region: &'t Region<'t>,
    /// The rows of the region; what lies beyond its columns is anything.
    acc: &'t mut [[i32; W]],
    /// As many words each, for the parameters of a stage.
    room: [&'t mut [[i32; W]]; 2],
    /// Those of the kernel.
    vectors: Vectors,
}

impl<const W: usize> Tile<'_, W> {
    /// Turns each accumulator into `of` it.
    #[inline(always)]
    fn each(&mut self, of: impl Fn(i32) -> i32) {
        self.acc.as_flattened_mut().iter_mut().for_each(|x| *x = of(*x));
    }

    /// A residual's elements, as integers or the bits of floats, one for each accumulator.
    #[inline(always)]
    fn read(&mut self, residual: &Residual) -> &mut [i32] {
        let [room, _] = &mut self.room;
        for (to, row) in room.iter_mut().zip(self.region.rows.clone()) {
            residual.read(row, self.region.cols.clone(), to);
        }
        room[..self.acc.len()].as_flattened_mut()
    }

    /// Turns each accumulator into `of` it and what was read.
    #[inline(always)]
    fn each_with_read(&mut self, of: impl Fn(i32, i32) -> i32) {
        let [room, _] = &self.room;
        for (x, r) in self.acc.as_flattened_mut().iter_mut().zip(room.as_flattened()) {
            *x = of(*x, *r);
        }
    }
}

/// What is added to the numbers of each line as the kernels read them: `offset` less `shift`, what reading them as another
/// encoding has added already.
#[derive(Clone, Copy)]
pub(crate) struct LineOffsets<'a> {
    pub offset: Offset<'a>,
    pub shift: i32,
}

impl LineOffsets<'_> {
    #[inline(always)]
    pub(crate) fn of(&self, line: usize) -> i32 {
        match self.offset {
            Offset::Uniform(offset) => offset.wrapping_sub(self.shift),
            Offset::PerLine(offsets) => offsets[line].wrapping_sub(self.shift),
        }
    }

    /// The offset of all lines, if it is known to be the same.
    #[inline(always)]
    pub(crate) fn uniform(&self) -> Option<i32> {
        match self.offset {
            Offset::Uniform(offset) => Some(offset.wrapping_sub(self.shift)),
            Offset::PerLine(_) => None,
        }
    }
}

/// Turns a tile of accumulators, `width` to a row, into a part of the result. It works in `room`, of twice the size.
///
/// # Safety
/// The CPU has the features that the function was compiled for. Nobody else uses this part of the result.
pub(crate) type FinishFn = unsafe fn(finish: &Finish, region: &Region, acc: &mut [i32], room: &mut [i32]);

/// # Safety
/// Nobody else uses this part of the result.
#[inline(always)]
pub(crate) unsafe fn finish<const W: usize>(
    finish: &Finish,
    region: &Region,
    acc: &mut [i32],
    room: &mut [i32],
    vectors: Vectors,
) {
    let rows = region.rows.len();
    let acc = &mut acc.as_chunks_mut::<W>().0[..rows];
    let mut offsets = (0, 0);
    match (region.rescale, region.uniform(), &finish.layer) {
        (Some(rescale), ..) => rescale.apply(region, acc),
        // The layer adds them.
        (None, Some(uniform), Some(_)) => offsets = uniform,
        _ => add_offsets(region, acc),
    }
    if let Some(layer) = &finish.layer {
        // SAFETY: this function's own promise.
        return unsafe { layer.finish(&finish.store, region, offsets, acc) };
    }
    if let ([Stage::QuantizeDown(stage)], Store::U8(out, Cast::Saturating)) = (finish.stages, &finish.store)
        && let Some(of) = stage.uniform()
    {
        // EightBitIntGemm's pipeline, in one go.
        // SAFETY: this function's own promise.
        return unsafe { each(out, region, acc, |x| of(x).clamp(0, 255) as u8) };
    }
    let (p, q) = room.as_chunks_mut::<W>().0.split_at_mut(rows);
    let mut tile = Tile { region, acc, room: [p, q], vectors };
    // No large closures here or in what is called: they would be compiled once, without the kernel's instructions.
    for stage in finish.stages {
        stage.apply(&mut tile);
    }
    // SAFETY: this function's own promise.
    unsafe { finish.store.write(region, tile.acc) }
}

/// Turns Σ l·r into Σ (l + a)(r + b) = Σ l·r + b·(Σ l + depth·a) + a·Σ r.
#[inline(always)]
fn add_offsets<const W: usize>(region: &Region, acc: &mut [[i32; W]]) {
    if let Some(offsets) = region.uniform() {
        if offsets == (0, 0) {
            return;
        }
        let of_cols = region.of_cols::<W>(offsets);
        for (i, acc) in acc.iter_mut().enumerate() {
            let of_row = region.of_row(i, offsets);
            acc.iter_mut().zip(&of_cols).for_each(|(x, of_col)| *x = x.wrapping_add(*of_col).wrapping_add(of_row));
        }
        return;
    }
    let col_sums = region.panel_sums::<W>();
    let mut offsets = [0; W];
    offsets.iter_mut().zip(region.cols.clone()).for_each(|(b, col)| *b = region.col_offsets.of(col));
    for (i, (acc, row)) in acc.iter_mut().zip(region.rows.clone()).enumerate() {
        let a = region.row_offsets.of(row);
        let row_sum = region.row_sum(i, a);
        for ((x, b), sum) in acc.iter_mut().zip(&offsets).zip(&col_sums) {
            *x = x.wrapping_add(b.wrapping_mul(row_sum)).wrapping_add(sum.wrapping_mul(a));
        }
    }
}

/// Writes sums as they are, uniform offsets added. Of a small product this is much of the work, so it is a function of its
/// own, small enough for the registers.
///
/// # Safety
/// As for [`FinishFn`].
pub(crate) type WriteSumsFn = unsafe fn(out: &Output<i32>, region: &Region, offsets: (i32, i32), acc: &[i32]);

/// # Safety
/// Nobody else uses this part of the result.
#[inline(always)]
pub(crate) unsafe fn write_sums<const W: usize>(out: &Output<i32>, region: &Region, offsets: (i32, i32), acc: &[i32]) {
    let of_cols = region.of_cols::<W>(offsets);
    for (i, row) in region.rows.clone().enumerate() {
        let of_row = region.of_row(i, offsets);
        let mut sums = acc.as_chunks::<W>().0[i];
        sums.iter_mut().zip(&of_cols).for_each(|(x, of_col)| *x = x.wrapping_add(*of_col).wrapping_add(of_row));
        // SAFETY: this function's own promise.
        let to = unsafe { out.row(row, region.cols.clone()) };
        if let Some(whole) = to.first_chunk_mut() {
            *whole = sums;
            continue;
        }
        let whole = to.len() / 8 * 8;
        for (to, sums) in to.as_chunks_mut::<8>().0.iter_mut().zip(sums.as_chunks().0) {
            *to = *sums;
        }
        to[whole..].iter_mut().zip(&sums[whole..]).for_each(|(to, sum)| *to = *sum);
    }
}

#[cfg(test)]
mod tests;
