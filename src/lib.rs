//! libqgemm: exact, fast quantized matrix multiplication behind a C ABI.
//!
//! One idea: **pack, multiply, finish**. Whatever a caller may vary (transposition, storage order, signedness, zero
//! points) is dissolved at the door or while packing, so that kernels are small, exact and few.
//!
//! The words: a *line* is a row of the LHS or a column of the RHS; the *depth* is the summed dimension; a *group* is
//! what one instruction sums of a line; a *panel* is so many lines of the RHS in kernel order; a *tile* is what one
//! kernel call computes; a *block* is what one thread does at a time; a *stage* is a step from accumulators to the
//! result, and the *store* is the last; a *segment* is a stretch of depth with scales of its own (a group, in C).
//!
//! A good place to start reading is [`gemm()`]; a C call enters in `capi/`.

// What is used nowhere the check for x86 finds.
#![cfg_attr(
    any(not(target_arch = "x86_64"), only_avx2),
    allow(dead_code, reason = "much is for kernels that are not compiled")
)]

mod add;
mod bit_depth;
mod blocks;
mod buffer;
mod caches;
mod capi;
mod code;
mod context;
mod conv;
mod deep;
mod desks;
mod elements;
mod error;
mod few;
mod fixed_point;
mod float_environment;
mod gemm;
mod grid;
mod half;
mod interval;
mod kernel;
mod matrix;
mod output;
mod pack;
mod packed;
mod plain;
mod planes;
mod prepare;
mod product;
mod quantize;
mod range;
mod ranged;
mod reading;
mod real;
#[cfg(test)]
mod reference;
mod scratch;
mod segment;
mod small;
mod source;
mod span;
mod swapped;
mod table;
mod tensor;
mod threads;
mod tiny;

pub use bit_depth::{BitDepths, RoundingMode};
pub use capi::*;
pub use context::Context;
pub use error::Error;
pub use gemm::gemm;
pub use kernel::Kernel;
pub use matrix::{Encoding, Offset, Operand, Order, Output};
pub use output::{
    Activation, Binary, Cast, Element, Finish, Logistic, Operation, QuantizeDown, Residual, Rounding, Scale, Stage,
    Store, Table, Tanh, Values,
};
pub use quantize::{Derivation, Multiplier, Quantization, Scheme};
pub use source::Factor;
pub use tensor::ToInteger;
