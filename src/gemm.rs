//! The product, computed in the way that suits its shape.

use crate::blocks::Shape;
use crate::context::Context;
use crate::deep::{self, Deep};
use crate::error::Error;
use crate::few::Few;
use crate::kernel::Kernel;
use crate::matrix::{Offset, Operand, Order};
use crate::output::{Finish, KeptPanels, Quick, ResultKind, Store};
use crate::product::Product;
use crate::reading::Reading;
use crate::scratch::Scratch;
use crate::small::{Ready, Small};
use crate::source::{Factor, Narrow, lhs_encoding};
use crate::swapped::Swapped;
use crate::tiny::{self, Tiny};

/// Multiplications that are worth a second thread in any case, and if it lingers or such products come one after the other:
/// a thread that sleeps takes some 20 us to come, one that lingers none.
const WORTH_WAKING: f64 = 4e6;
const WORTH_SHARING: f64 = 4e5;
/// And so many more for each accumulator of a tile: the fastest kernels have the most.
const WORTH_SHARING_PER_ACCUMULATOR: f64 = 1e3;
/// As much as so many multiplications takes a byte that is a result, or is read along the depth, where it lies, beside few lines; but such a
/// line no more than that. (With AVX-512 VNNI 1619 x 2 x 186 takes 0.5 to 0.7 of the time on two threads, 1000 x 100 x 4 into bytes 0.7.)
const WORK_OF_BYTE: f64 = 8.0;
const WORK_OF_LINE: f64 = 1e3;

/// Rows beside which it pays to look at all elements of the RHS, and multiplications.
const ROWS_WORTH_LOOKING: usize = 16;
const MACS_WORTH_LOOKING: f64 = 2e4;
/// Of less depth than a group of theirs has narrow kernels take longer (timed with AVX2: two to three times as long).
const DEPTH_WORTH_LOOKING: usize = 4;
/// The same of a prepared product, of which another way may have been chosen without that. (With AVX2 128 x 128 x 128 of small weights takes
/// 0.8 of the time so, 64 x 64 x 64 as long.)
const MACS_WORTH_LOOKING_LATE: f64 = 3e5;

/// Beside so few lines not even a small operand is worth packing (counted with AVX2), unless `should_pack` says so.
const VERY_FEW: usize = 4;

/// Multiplies `lhs` by `rhs` and finishes every sum.
///
/// Sums wrap around at 32 bits. The bytes of the result do not depend on the kernel or the number of threads.
///
/// # Errors
/// [`Error::OutOfMemory`], and then the result is untouched.
///
/// # Panics
/// If the shapes of the operands and of the result do not agree.
pub fn gemm(context: &Context, lhs: &Factor, rhs: &Factor, finish: &Finish) -> Result<(), Error> {
    gemm_in(context, lhs, rhs, finish, None)
}

/// As [`gemm`], in memory of the caller's if there is any, of at least [`workspace_len`] bytes.
pub(crate) fn gemm_in(
    context: &Context,
    lhs: &Factor,
    rhs: &Factor,
    finish: &Finish,
    workspace: Option<&mut [u8]>,
) -> Result<(), Error> {
    let Some(shape) = shape(lhs, rhs, finish.store().kind())? else { return Ok(()) };
    let (rows, cols) = finish.store().shape();
    let fits = if rhs.is_part() { rhs.first() + shape.cols <= cols } else { shape.cols == cols };
    assert!(shape.rows == rows && fits, "the result has another shape");
    if workspace.is_none()
        && tiny::pays(context.kernel, finish, rhs, shape)
        && let Some(tiny) = Tiny::new(context.kernel, lhs, rhs, shape, false)
    {
        return tiny.run(context, finish);
    }
    gemm_by_walk(context, lhs, rhs, shape, finish, workspace)
}

/// As [`gemm_in`], of this shape. (Apart, so that a tiny product pays for no room of this.)
#[inline(never)]
fn gemm_by_walk(
    context: &Context,
    lhs: &Factor,
    rhs: &Factor,
    shape: Shape,
    finish: &Finish,
    workspace: Option<&mut [u8]>,
) -> Result<(), Error> {
    let threads = threads(context, lhs, rhs, shape);
    let found = found_small(context, rhs, shape);
    let rhs = found.as_ref().unwrap_or(rhs);
    if workspace.is_none()
        && threads == 1
        && tiny::pays(context.kernel, finish, rhs, shape)
        && let Some(tiny) = Tiny::new(context.kernel, lhs, rhs, shape, are_large(lhs, rhs))
    {
        return tiny.run(context, finish);
    }
    with_walk(context, lhs, rhs, shape, threads, |walk| walk.run(context, finish, workspace))
}

/// Whether to look at the elements of an RHS pays: a narrow kernel gains a fifth where they are small. (NEON's does not.)
#[inline(always)]
fn may_be_small(context: &Context, rhs: &Factor, shape: Shape) -> bool {
    cfg!(target_arch = "x86_64")
        && context.kernel.narrow.is_some()
        && shape.rows >= ROWS_WORTH_LOOKING
        && shape.cols >= context.kernel.width
        && shape.depth >= DEPTH_WORTH_LOOKING
        && shape.macs() > MACS_WORTH_LOOKING
        && rhs.might_be_small()
}

/// The RHS, if that look pays and finds its elements small.
#[inline(always)]
fn found_small<'a>(context: &Context, rhs: &Factor<'a>, shape: Shape) -> Option<Factor<'a>> {
    if may_be_small(context, rhs, shape) { rhs.found_small(context.kernel.vectors) } else { None }
}

/// Whether, after that look, neither side's elements are small.
#[inline(always)]
fn are_large(lhs: &Factor, rhs: &Factor) -> bool {
    !lhs.may_be_small() && !rhs.may_be_small()
}

/// On how many threads computing it pays.
#[inline(always)]
fn threads(context: &Context, lhs: &Factor, rhs: &Factor, shape: Shape) -> usize {
    let is_shared = work(context, shape) >= WORTH_WAKING
        || is_worth_sharing(context, lhs, rhs, shape) && context.threads.are_worth_it();
    if is_shared { context.threads() } else { 1 }
}

/// How many multiplications of other kernels are as much worth a second thread as those of a product.
#[inline(always)]
fn work(context: &Context, shape: Shape) -> f64 {
    let macs = shape.macs();
    shape.kernel(context.kernel).work(macs)
}

/// Whether it is worth a second thread that lingers: what takes time besides multiplications counts, too.
#[inline(always)]
fn is_worth_sharing(context: &Context, lhs: &Factor, rhs: &Factor, shape: Shape) -> bool {
    let Shape { rows, cols, depth, results } = shape;
    let (few, lines, many) = if cols < rows { (cols, rows, lhs) } else { (rows, cols, rhs) };
    let lies_along_depth = || many.operand().is_some_and(|many| many.order == Order::DepthContiguous);
    let reading = match few <= VERY_FEW && lies_along_depth() {
        true => lines as f64 * WORK_OF_LINE.min(WORK_OF_BYTE * depth as f64),
        false => 0.0,
    };
    let bytes = if results == ResultKind::Bytes { WORK_OF_BYTE * rows as f64 * cols as f64 } else { 0.0 };
    let worth = WORTH_SHARING + WORTH_SHARING_PER_ACCUMULATOR * context.kernel.tile_len() as f64;
    work(context, shape) + reading + bytes >= worth
}

/// What is found out of a product before its elements are there.
pub(crate) struct Route {
    small: Option<(Small, Shape)>,
    /// Whether it is never worth a second thread.
    is_alone: bool,
    /// If tiles are finished so, and the RHS is packed.
    panels: Option<KeptPanels>,
}

impl Route {
    /// That of such operands, whatever their elements, and of such a result, wherever it lies.
    pub(crate) fn new(
        context: &Context,
        lhs: &Factor,
        rhs: &Factor,
        quick: Option<&Quick>,
        store: &Store,
    ) -> Result<Self, Error> {
        let Some(shape) = shape(lhs, rhs, store.kind())? else {
            return Ok(Self { small: None, is_alone: true, panels: None });
        };
        let is_small = Tiny::new(context.kernel, lhs, rhs, shape, are_large(lhs, rhs)).is_none()
            && with_walk(context, lhs, rhs, shape, 1, |walk| matches!(walk, Walk::Small(..)));
        let small = if is_small { Small::new(context.kernel, lhs, rhs, shape) } else { None };
        let is_alone = work(context, shape) < WORTH_WAKING && !is_worth_sharing(context, lhs, rhs, shape);
        let kernel = shape.kernel(context.kernel);
        let panels = kept_panels(kernel, lhs, rhs, quick, store);
        Ok(Self { small: small.map(|small| (small, shape)), is_alone, panels })
    }

    /// All but the elements of the LHS, of the operands that it was made for: of a small product beside packed panels that is never
    /// worth a second thread.
    pub(crate) fn ready<'a>(&self, lhs: &Factor<'a>, rhs: &Factor<'a>) -> Option<Ready<'a>> {
        self.small.as_ref().filter(|_| self.is_alone).and_then(|(small, _)| small.ready(lhs, rhs))
    }

    /// As [`Route::run`], of the operands that were made ready, but for the elements of the LHS, and without a workspace.
    #[inline(always)]
    pub(crate) fn run_ready(
        &self,
        context: &Context,
        lhs: &Operand,
        ready: &Ready,
        finish: &Finish,
    ) -> Result<(), Error> {
        let Some((small, shape)) = &self.small else { panic!("only small products are made ready") };
        assert!(finish.store().shape() == (shape.rows, shape.cols), "the result has another shape");
        context.lend(small.scratch_len(Some(finish)), |scratch| small.run_ready(lhs, ready, finish, scratch))
    }

    /// What it keeps for every run's [`Finish`].
    #[inline(always)]
    pub(crate) fn panels(&self) -> Option<&KeptPanels> {
        self.panels.as_ref()
    }

    /// As [`gemm_in`], of operands that differ in their elements at most from those it was made for.
    #[inline(always)]
    pub(crate) fn run(
        &self,
        context: &Context,
        lhs: &Factor,
        rhs: &Factor,
        finish: &Finish,
        workspace: Option<&mut [u8]>,
    ) -> Result<(), Error> {
        match &self.small {
            Some((small, shape)) if self.is_alone || threads(context, lhs, rhs, *shape) == 1 => {
                assert!(finish.store().shape() == (shape.rows, shape.cols), "the result has another shape");
                // What the elements are was not known before.
                let found = match shape.macs() > MACS_WORTH_LOOKING_LATE {
                    true => found_small(context, rhs, *shape),
                    false => None,
                };
                match found {
                    Some(rhs) => with_walk(context, lhs, &rhs, *shape, 1, |walk| walk.run(context, finish, workspace)),
                    None => Walk::Small(small, lhs, rhs).run(context, finish, workspace),
                }
            }
            _ => gemm_in(context, lhs, rhs, finish, workspace),
        }
    }
}

/// None if the RHS is not packed, or tiles are finished in other ways.
fn kept_panels(
    kernel: &'static Kernel,
    lhs: &Factor,
    rhs: &Factor,
    quick: Option<&Quick>,
    store: &Store,
) -> Option<KeptPanels> {
    let packed = rhs.panels()?;
    let kernel = packed.reader(kernel)?;
    let to = lhs_encoding(kernel.groups, Some(packed), lhs.lhs_as(kernel.groups), None);
    let lhs_offset = lhs.line_offsets(&Reading::plain(lhs.encoding(), to)).uniform()?;
    let rhs_offset = rhs.line_offsets(&packed.reading()).uniform()?;
    KeptPanels::new(kernel, quick, store, (lhs_offset, rhs_offset), packed.prepared().sums)
}

/// How many bytes of the caller's a product may need, whatever its results are.
pub(crate) fn workspace_len(context: &Context, lhs: &Factor, rhs: &Factor) -> Result<usize, Error> {
    let lens = ResultKind::ALL.map(|results| workspace_len_for(context, lhs, rhs, results));
    lens.into_iter().try_fold(0, |most, len| Ok(most.max(len?)))
}

/// The same for such results.
fn workspace_len_for(context: &Context, lhs: &Factor, rhs: &Factor, results: ResultKind) -> Result<usize, Error> {
    let Some(shape) = shape(lhs, rhs, results)? else { return Ok(0) };
    // Whether threads are worth it is decided anew by each call.
    let len = |rhs: &Factor| {
        let len = |threads| with_walk(context, lhs, rhs, shape, threads, |walk| walk.scratch_len(None));
        len(1).max(len(context.threads()))
    };
    let of_small = match may_be_small(context, rhs, shape) {
        true => rhs.small_kinds().iter().map(len).max().unwrap_or(0),
        false => 0,
    };
    Ok(Scratch::callers_len(len(rhs).max(of_small)))
}

/// The ways to compute a product, lent by whoever made them: to move them would take longer than some products do.
#[derive(Clone, Copy)]
enum Walk<'w> {
    Small(&'w Small, &'w Factor<'w>, &'w Factor<'w>),
    Few(&'w Few<'w>),
    Swapped(&'w Swapped<'w>),
    Deep(&'w Deep<'w>),
    Blocks(&'w Product<'w>),
}

/// Calls `then` with the way that suits the product best.
#[inline(always)]
fn with_walk<R>(
    context: &Context,
    lhs: &Factor,
    rhs: &Factor,
    shape: Shape,
    threads: usize,
    then: impl FnOnce(Walk) -> R,
) -> R {
    if shape.depth >= deep::LEAST_DEPTH
        && let Some(deep) = &Deep::new(context, lhs, rhs, shape, threads)
        && deep.pays()
    {
        return then(Walk::Deep(deep));
    }
    if Swapped::pays(shape)
        && let Some(swapped) = &Swapped::new(context, lhs, rhs, shape, threads)
    {
        return then(Walk::Swapped(swapped));
    }
    let lines = shape.rows.min(shape.cols);
    let should_pack = |rhs| shape.rows == lines && context.kernel.few_lines.should_pack(lines, rhs);
    // To pack a single column, and to sum rows beside it, takes as long as it gains.
    let pays_narrow = || shape.cols > 1 || rhs.panels().is_some() && matches!(rhs.offset(), Offset::Uniform(0));
    let sums_narrow =
        || lhs.operand().is_some_and(|lhs| shape.kernel(context.kernel).sums_narrow(shape, lhs)) && pays_narrow();
    let are_few = lines <= VERY_FEW && !sums_narrow() && !rhs.operand().is_some_and(should_pack);
    if are_few && let Some(few) = &Few::new(context, lhs, rhs, shape, threads) {
        return then(Walk::Few(few));
    }
    if threads == 1
        && let Some(small) = &Small::new(context.kernel, lhs, rhs, shape)
    {
        return then(Walk::Small(small, lhs, rhs));
    }
    // What is to be packed, but is too much for a small product, is packed and multiplied slice by slice.
    if shape.rows == lines
        && rhs.operand().is_some_and(|rhs| context.kernel.few_lines.is_narrow(rhs))
        && let Some(deep) = &Deep::new(context, lhs, rhs, shape, threads)
        && deep.pays()
    {
        return then(Walk::Deep(deep));
    }
    // Beside so many lines an RHS had better be packed for a narrow kernel.
    let is_narrow = || lines >= ROWS_WORTH_LOOKING && Narrow::new(shape.kernel(context.kernel), lhs, rhs).is_some();
    if !are_few
        && !is_narrow()
        && let Some(few) = &Few::new(context, lhs, rhs, shape, threads)
    {
        return then(Walk::Few(few));
    }
    then(Walk::Blocks(&Product::new(context, lhs, rhs, shape, threads)))
}

impl Walk<'_> {
    /// With this finish, or with any.
    #[inline(always)]
    fn scratch_len(self, finish: Option<&Finish>) -> usize {
        match self {
            Walk::Small(small, ..) => small.scratch_len(finish),
            Walk::Few(few) => few.scratch_len(),
            Walk::Swapped(swapped) => swapped.scratch_len(),
            Walk::Deep(deep) => deep.scratch_len(),
            Walk::Blocks(product) => product.scratch_len(),
        }
    }

    #[inline(always)]
    fn run(self, context: &Context, finish: &Finish, workspace: Option<&mut [u8]>) -> Result<(), Error> {
        // A workspace has to hold what any finish takes, as its callers are told.
        let len = self.scratch_len(if workspace.is_some() { None } else { Some(finish) });
        let run = |scratch: &mut [u8]| match self {
            Walk::Small(small, lhs, rhs) => small.run(lhs, rhs, finish, scratch),
            Walk::Few(few) => few.run(finish, scratch),
            Walk::Swapped(swapped) => swapped.run(finish, scratch),
            Walk::Deep(deep) => deep.run(finish, scratch),
            Walk::Blocks(product) => product.run(finish, scratch),
        };
        match workspace {
            Some(workspace) => Scratch::callers(workspace, len).map(|mut scratch| run(scratch.as_mut_slice())),
            None => context.lend(len, run),
        }
    }
}

/// Computes a product in one of the six ways, whether it is the best one or not. False if it cannot be computed so.
#[cfg(test)]
pub(crate) fn gemm_by(way: usize, context: &Context, lhs: &Factor, rhs: &Factor, finish: &Finish) -> bool {
    let Some(shape) = shape(lhs, rhs, finish.store().kind()).unwrap() else { return false };
    let threads = context.threads();
    let run = |walk: Walk| walk.run(context, finish, None).unwrap();
    match way {
        0 => Small::new(context.kernel, lhs, rhs, shape).map(|small| run(Walk::Small(&small, lhs, rhs))).is_some(),
        1 => Few::new(context, lhs, rhs, shape, threads).map(|few| run(Walk::Few(&few))).is_some(),
        3 => Swapped::new(context, lhs, rhs, shape, threads).map(|swapped| run(Walk::Swapped(&swapped))).is_some(),
        4 => Deep::new(context, lhs, rhs, shape, threads).map(|deep| run(Walk::Deep(&deep))).is_some(),
        5 => Tiny::new(context.kernel, lhs, rhs, shape, true).map(|tiny| tiny.run(context, finish).unwrap()).is_some(),
        _ => {
            run(Walk::Blocks(&Product::new(context, lhs, rhs, shape, threads)));
            true
        }
    }
}

/// The shape of a product that has results.
#[inline(always)]
fn shape(lhs: &Factor, rhs: &Factor, results: ResultKind) -> Result<Option<Shape>, Error> {
    assert_eq!(lhs.depth(), rhs.depth(), "the operands differ in depth");
    let shape = Shape { rows: lhs.lines(), cols: rhs.lines(), depth: lhs.depth(), results };
    match shape.rows == 0 || shape.cols == 0 {
        true => Ok(None),
        false if shape.is_packable() => Ok(Some(shape)),
        false => Err(Error::OutOfMemory { bytes: usize::MAX }),
    }
}
