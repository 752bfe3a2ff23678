//! From accumulators to the result: a pipeline of stages, then a store.
//!
//! A pipeline starts with sums, 32-bit integers. A stage takes and gives integers or floats; floats lie in the
//! accumulators by their bits. A tile passes through the stages one after the other, each a plain loop over its rows.

use crate::blocks::Shape;
use crate::kernel::panel::BytesFn;
use crate::kernel::{Kernel, Loop, Rule, Vectors};
use crate::matrix::Output;

mod activation;
mod binary;
mod compensation;
mod far;
mod floats;
mod layer;
mod logistic;
mod panels;
mod quantize_down;
mod region;
mod relay;
mod rescale;
mod residual;
mod scale;
mod stage;
mod store;
mod sums;
mod table;
mod tanh;
mod tile;
mod turned;
mod values;
mod weighted;

pub use activation::Activation;
pub use binary::{Binary, Operation};
pub(crate) use far::Far;
pub(crate) use floats::FloatParts;
#[cfg(target_arch = "x86_64")]
pub(crate) use floats::PlainFloats;
pub use logistic::Logistic;
pub(crate) use panels::KeptPanels;
pub use quantize_down::QuantizeDown;
pub(crate) use region::{LineOffsets, Region};
pub(crate) use relay::{Panels, Relay};
pub(crate) use rescale::Rescale;
pub use residual::{Element, Residual};
pub use scale::{Rounding, Scale};
pub(crate) use scale::{scaled_once, scaled_twice, scaled_twice_up};
pub use stage::Stage;
pub(crate) use store::ResultKind;
pub use store::{Cast, Store};
pub(crate) use sums::Sums;
pub use table::Table;
pub use tanh::Tanh;
pub use values::Values;
pub use weighted::Weighted;

use floats::Floats;
use layer::Layer;
use rescale::Rescaling;
use tile::Tile;

/// What is done with every accumulator of a product.
pub struct Finish<'a> {
    stages: &'a [Stage<'a>],
    store: Store<'a>,
    /// The same, if there is a quicker way to it.
    quick: Option<Quick<'a>>,
    /// What is known of it for all columns.
    kept: Option<&'a KeptPanels>,
}

/// The ways in one go, which add uniform offsets, too.
#[derive(Clone, Copy)]
pub(crate) enum Quick<'a> {
    Layer(Layer<'a>),
    Floats(Floats<'a>),
}

impl<'a> Quick<'a> {
    /// None if there is no quicker way from such stages to such a store.
    pub(crate) fn new(stages: &[Stage<'a>], store: &Store) -> Option<Self> {
        let layer = Layer::new(stages, store).map(Self::Layer);
        layer.or_else(|| Floats::new(stages, store).map(Self::Floats))
    }
}

impl<'a> Finish<'a> {
    /// The stages in order, then the store. What the last stage gives has to be what the store takes.
    pub fn new(stages: &'a [Stage<'a>], store: Store<'a>) -> Self {
        let quick = Quick::new(stages, &store);
        Self { stages, store, quick, kept: None }
    }

    /// As [`Finish::new`], if the quicker way is known, and perhaps the panels: those of these stages and of such a store.
    pub(crate) fn by(
        stages: &'a [Stage<'a>],
        store: Store<'a>,
        quick: Option<Quick<'a>>,
        kept: Option<&'a KeptPanels>,
    ) -> Self {
        Self { stages, store, quick, kept }
    }

    /// Where the sums go, if they are the result.
    pub(crate) fn sums(&self) -> Option<&Output<'a, i32>> {
        match (self.stages, &self.store) {
            ([], Store::I32(out)) => Some(out),
            _ => None,
        }
    }

    /// How rows of sums of any number of columns become bytes in one go, with what uniform offsets add to them, if they do.
    #[inline(always)]
    pub(crate) fn bytes<'f>(&'f self, kernel: &Kernel, offsets: (i32, i32)) -> Option<BytesOf<'f, 'a>> {
        let (ways, layer) = panels::ways(kernel, self.quick.as_ref())?;
        Some(BytesOf { make: ways.bytes, kept: self.kept(offsets), layer, store: &self.store, offsets })
    }

    /// Whether sums become floats of 32 bits in one go, if no more than offsets forbids it.
    #[inline(always)]
    pub(crate) fn makes_plain_floats(&self) -> bool {
        matches!((&self.quick, &self.store), (Some(Quick::Floats(_)), Store::F32(_)))
    }

    /// Whether its bytes may be those of a relay, and that pays.
    #[inline(always)]
    pub(crate) fn relays(&self, kernel: &Kernel, shape: Shape) -> bool {
        let ways = panels::ways(kernel, self.quick.as_ref());
        ways.is_some_and(|(_, layer)| !matches!(layer.rule(), Rule::Down)) && Relay::pays(kernel, shape)
    }

    /// How many integers a tile of so many accumulators, in so many rows, may have to be finished in, if nothing is rescaled.
    #[inline]
    pub(crate) fn room(&self, acc: usize, rows: usize) -> usize {
        match (&self.quick, self.sums()) {
            (Some(_), _) => rows,
            (None, Some(_)) => 0,
            (None, None) => 2 * acc,
        }
    }

    /// The panels that are kept, if they are for these offsets.
    #[inline(always)]
    pub(crate) fn kept(&self, offsets: (i32, i32)) -> Option<&'a KeptPanels> {
        self.kept.filter(|kept| kept.offsets() == offsets)
    }

    pub(crate) fn stages(&self) -> &'a [Stage<'a>] {
        self.stages
    }

    pub(crate) fn store(&self) -> &Store<'a> {
        &self.store
    }
}

/// A layer whose rows of sums become bytes in one go.
pub(crate) struct BytesOf<'f, 'a> {
    make: BytesFn,
    kept: Option<&'a KeptPanels>,
    layer: &'f Layer<'a>,
    store: &'f Store<'a>,
    offsets: (i32, i32),
}

impl BytesOf<'_, '_> {
    /// Whether panels are kept for that.
    #[inline(always)]
    pub(crate) fn are_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether it is EightBitIntGemm's pipeline.
    #[inline(always)]
    pub(crate) fn is_down(&self) -> bool {
        matches!(self.layer.rule(), Rule::Down)
    }

    /// Turns rows of sums, `pitch` apart, into those of a region of whole panels, to which nothing but offsets is to be added. Of the
    /// last row, too, there are as many sums as panels have columns. What is added to rows is computed in `room`, of a number for each.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(crate) unsafe fn make(&self, region: &Region, sums: &[i32], pitch: usize, room: &mut [i32]) {
        let Self { make, kept, layer, store, offsets } = *self;
        let panels = kept.map_or(&[][..], |kept| kept.of(&region.cols));
        // SAFETY: this function's own promise; whoever has a kernel has a CPU that runs it.
        unsafe { layer.finish_wide((make, panels), store, region, offsets, (sums, pitch), room) }
    }
}

/// Turns a tile of accumulators, `width` to a row, into a part of the result. It works in `room`, of twice the size, or of
/// [`Finish::room`].
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
    match (region.rescale, region.uniform(), &finish.quick) {
        // Quicker ways add them.
        (_, _, Some(Quick::Floats(floats))) if Floats::take(region) => {
            // SAFETY: this function's own promise.
            return unsafe { floats.finish(&finish.store, region, acc, &mut room[..rows], vectors) };
        }
        (None, Some(uniform), Some(Quick::Layer(_))) => offsets = uniform,
        (Some(rescale), ..) => vectors.run(Rescaling { rescale, region, acc, vectors }),
        _ => add_offsets(region, acc),
    }
    match &finish.quick {
        Some(Quick::Layer(layer)) => {
            // SAFETY: as above.
            return unsafe { layer.finish(&finish.store, region, offsets, acc, room, vectors) };
        }
        Some(Quick::Floats(floats)) => {
            let region = Region::complete(region.rows.clone(), region.cols.clone());
            // SAFETY: as above.
            return unsafe { floats.finish(&finish.store, &region, acc, &mut room[..rows], vectors) };
        }
        None => {}
    }
    if !finish.stages.is_empty() {
        let (p, q) = room[..2 * rows * W].split_at_mut(rows * W);
        let tile = Tile { region, width: W, acc: acc.as_flattened_mut(), room: [p, q], vectors };
        vectors.run(Passing { stages: finish.stages, tile });
    }
    // SAFETY: this function's own promise.
    unsafe { finish.store.write(region, acc) }
}

/// A tile and the stages it passes through. They take much of the compiler's time, so they are no part of functions that are
/// compiled for each width.
struct Passing<'a> {
    stages: &'a [Stage<'a>],
    tile: Tile<'a>,
}

impl Loop for Passing<'_> {
    type Result = ();

    #[inline(always)]
    fn run(mut self) {
        // No large closures here or in what is called: they would be compiled once, without the kernel's instructions.
        for stage in self.stages {
            stage.apply(&mut self.tile);
        }
    }
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
            // Of what it knows of, the compiler would make vectors of whole columns, gathered and scattered.
            let of_row = std::hint::black_box(region.of_row(i, offsets));
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

#[cfg(test)]
mod tests;
