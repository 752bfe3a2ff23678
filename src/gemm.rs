//! The product, computed in the way that suits its shape.

use crate::blocks::Shape;
use crate::context::Context;
use crate::error::Error;
use crate::few::Few;
use crate::output::Finish;
use crate::product::Product;
use crate::scratch::Scratch;
use crate::small::Small;
use crate::source::Factor;

/// Multiplications that are worth a second thread in any case, and if it lingers or such products come one after the other:
/// a thread that sleeps takes some 20 us to come, one that lingers none.
const WORTH_WAKING: f64 = 4e6;
const WORTH_SHARING: f64 = 4e5;

/// Beside so few lines not even a small operand is worth packing (counted with AVX2).
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
    let Some(shape) = shape(lhs, rhs)? else { return Ok(()) };
    let (rows, cols) = finish.store().shape();
    let fits = if rhs.is_part() { rhs.first() + shape.cols <= cols } else { shape.cols == cols };
    assert!(shape.rows == rows && fits, "the result has another shape");
    let macs = shape.macs();
    let is_shared = macs >= WORTH_WAKING || macs >= WORTH_SHARING && context.threads.are_worth_it();
    let threads = if is_shared { context.threads() } else { 1 };
    Walk::new(context, lhs, rhs, shape, threads).run(context, finish, workspace)
}

/// How many bytes of the caller's a product may need.
pub(crate) fn workspace_len(context: &Context, lhs: &Factor, rhs: &Factor) -> Result<usize, Error> {
    let Some(shape) = shape(lhs, rhs)? else { return Ok(0) };
    // Whether threads are worth it is decided anew by each call.
    let len = |threads| Walk::new(context, lhs, rhs, shape, threads).scratch_len();
    Ok(Scratch::callers_len(len(1).max(len(context.threads()))))
}

/// The ways to compute a product.
#[expect(clippy::large_enum_variant, reason = "it lies on the stack of one call")]
enum Walk<'a> {
    Small(Small<'a>),
    Few(Few<'a>),
    Blocks(Product<'a>),
}

impl<'a> Walk<'a> {
    fn new(context: &'a Context, lhs: &'a Factor<'a>, rhs: &'a Factor<'a>, shape: Shape, threads: usize) -> Self {
        let small = || Small::new(context.kernel, lhs, rhs, shape).map(Walk::Small);
        let few = || Few::new(context, lhs, rhs, shape, threads).map(Walk::Few);
        let walk = if shape.rows.min(shape.cols) <= VERY_FEW { few().or_else(small) } else { small().or_else(few) };
        walk.unwrap_or_else(|| Walk::Blocks(Product::new(context, lhs, rhs, shape, threads)))
    }

    fn scratch_len(&self) -> usize {
        match self {
            Walk::Small(small) => small.scratch_len(),
            Walk::Few(few) => few.scratch_len(),
            Walk::Blocks(product) => product.scratch_len(),
        }
    }

    fn run(&self, context: &Context, finish: &Finish, workspace: Option<&mut [u8]>) -> Result<(), Error> {
        let len = self.scratch_len();
        let mut scratch = match workspace {
            Some(workspace) => Scratch::callers(workspace, len)?,
            None => context.scratch(len)?,
        };
        match self {
            Walk::Small(small) => small.run(finish, scratch.as_mut_slice()),
            Walk::Few(few) => few.run(finish, scratch.as_mut_slice()),
            Walk::Blocks(product) => product.run(finish, scratch.as_mut_slice()),
        }
        Ok(())
    }
}

/// Computes a product in one of the three ways, whether it is the best one or not. False if it cannot be computed so.
#[cfg(test)]
pub(crate) fn gemm_by(way: usize, context: &Context, lhs: &Factor, rhs: &Factor, finish: &Finish) -> bool {
    let Some(shape) = shape(lhs, rhs).unwrap() else { return false };
    let threads = context.threads();
    let walk = match way {
        0 => Small::new(context.kernel, lhs, rhs, shape).map(Walk::Small),
        1 => Few::new(context, lhs, rhs, shape, threads).map(Walk::Few),
        _ => Some(Walk::Blocks(Product::new(context, lhs, rhs, shape, threads))),
    };
    walk.map(|walk| walk.run(context, finish, None).unwrap()).is_some()
}

/// The shape of a product that has results.
fn shape(lhs: &Factor, rhs: &Factor) -> Result<Option<Shape>, Error> {
    assert_eq!(lhs.depth(), rhs.depth(), "the operands differ in depth");
    let shape = Shape { rows: lhs.lines(), cols: rhs.lines(), depth: lhs.depth() };
    match shape.rows == 0 || shape.cols == 0 {
        true => Ok(None),
        false if shape.is_packable() => Ok(Some(shape)),
        false => Err(Error::OutOfMemory { bytes: usize::MAX }),
    }
}
