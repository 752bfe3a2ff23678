//! QGEMM_VERBOSE: a line for each product.

use crate::context::Context;
use crate::error::Error;
use crate::matrix::{Encoding, Order};
use crate::packed::Side;
use crate::source::Factor;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::LazyLock;
use std::time::Instant;

/// Asked once. The first to ask prints what the columns are.
static IS_ON: LazyLock<bool> = LazyLock::new(|| {
    let is_on = std::env::var_os("QGEMM_VERBOSE").is_some_and(|level| !level.is_empty() && level != "0");
    if is_on {
        print("qgemm_verbose,function,kernel,threads,m,n,k,lhs,rhs,result,stages,microseconds\n");
    }
    is_on
});

/// Whether anything is printed.
#[inline(always)]
pub(super) fn is_on() -> bool {
    *IS_ON
}

/// A product in the caller's words.
pub(super) struct Words<'a, S> {
    pub function: &'static str,
    pub lhs: Factor<'a>,
    pub rhs: Factor<'a>,
    /// Type and order.
    pub result: (&'static str, &'static str),
    pub stages: S,
}

/// Computes a product, and prints a line about it if QGEMM_VERBOSE asks for that. Inlined, so that without it no words are
/// made.
#[inline(always)]
pub(super) fn told<'w, S: IntoIterator<Item = &'static str>>(
    words: impl FnOnce() -> Words<'w, S>,
    context: &Context,
    compute: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    if is_on() { tell(words(), context, compute) } else { compute() }
}

#[cold]
fn tell<S: IntoIterator<Item = &'static str>>(
    words: Words<S>,
    context: &Context,
    compute: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let begin = Instant::now();
    compute()?;
    let time = begin.elapsed().as_secs_f64() * 1e6;
    let Words { function, lhs, rhs, result, stages } = words;
    let mut line = format!("qgemm_verbose,{function},{},{}", context.kernel.name, context.threads());
    // Writing to a String cannot fail.
    let _ = write!(line, ",{},{},{}", lhs.lines(), rhs.lines(), lhs.depth());
    let _ = write!(line, ",{},{},{}:{},", operand(&lhs, Side::Lhs), operand(&rhs, Side::Rhs), result.0, result.1);
    for (i, stage) in stages.into_iter().enumerate() {
        line += if i == 0 { "" } else { "+" };
        line += stage;
    }
    let _ = writeln!(line, ",{time:.3}");
    print(&line);
    Ok(())
}

/// A closed stdout is nobody's error.
fn print(line: &str) {
    let _ = std::io::stdout().write_all(line.as_bytes());
}

fn operand(factor: &Factor, side: Side) -> String {
    let r#type = if factor.encoding() == Encoding::U8 { "u8" } else { "s8" };
    let order = match factor.order() {
        None => "packed",
        Some(order) if (order == Order::DepthContiguous) == (side == Side::Lhs) => "row",
        Some(_) => "col",
    };
    match factor.bits() {
        8 => format!("{type}:{order}"),
        bits => format!("{type}:{order}:{bits}"),
    }
}
