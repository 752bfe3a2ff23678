//! Products as BLAS has them, under the arguments of oneDNN's `dnnl_gemm_u8s8s32` and its like.

use super::matrix::size;
use super::verbose::{self, Words};
use super::{Failure, Status, guard, shared::context};
use crate::error::Error;
use crate::matrix::{Encoding, Offset, Operand, Order, Output, slice};
use crate::output::{Element, Finish, Residual, Rounding, Stage, Store, Values, Weighted};
use crate::source::Factor;
use smallvec::{SmallVec, smallvec};
use std::ffi::c_char;

/// Multiplies a matrix of unsigned bytes by one of signed bytes: dnnl_gemm_u8s8s32 of oneDNN, but exact on every processor.
///
///     c(i,j) = alpha * sum over l of (a(i,l) - ao) * (b(l,j) - bo) + beta * c(i,j) + offset(i,j)
///
/// Everything is row-major: the rows of a matrix begin lda, ldb or ldc elements one after the other. Where alpha is 1 and
/// beta is 0 or 1, the arithmetic is on int32_t and wraps around. Else it is in double: the sum over l, which still wraps
/// around at 32 bits, times alpha, and that plus beta * c(i,j), and that plus the offset, is rounded to the nearest integer,
/// ties to even, and confined to int32_t. Where beta is 0, c is not read.
///
/// It runs on the threads that qgemm_set_max_num_threads() is about. a, b and c do not overlap, nor co and c.
///
/// @param transa   'N' or 'n': a is m x k; 'T' or 't': it lies as its transpose, k x m
/// @param transb   'N' or 'n': b is k x n; 'T' or 't': it lies as its transpose, n x k
/// @param offsetc  'F' or 'f': offset(i,j) is co[0]; 'C' or 'c': it is co[i]; 'R' or 'r': it is co[j]
/// @param m        rows of c, at least 0
/// @param n        columns of c, at least 0
/// @param k        how many products are summed, at least 0
/// @param alpha    finite
/// @param a        left-hand matrix
/// @param lda      at least the length of a's rows as they lie: k, or m if transposed
/// @param ao       the zero point of a
/// @param b        right-hand matrix
/// @param ldb      at least the length of b's rows as they lie: n, or k if transposed
/// @param bo       the zero point of b
/// @param beta     finite
/// @param c        the result, and what is added to
/// @param ldc      at least n
/// @param co       1, m or n offsets, as offsetc says; NULL for 0
/// @return QGEMM_STATUS_OK, or why nothing was written: OPTION (transa, transb, offsetc), SHAPE, STRIDE, NULL_POINTER,
///         ALIGNMENT, TOO_LARGE, PARAMETER (alpha, beta), OVERLAP, OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in
///         qgemm_last_error()
///
/// # Safety
/// All matrices and co reach as far as the sizes and strides say, and nobody writes to them, or reads c, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_gemm_u8s8s32(
    transa: c_char,
    transb: c_char,
    offsetc: c_char,
    m: i64,
    n: i64,
    k: i64,
    alpha: f32,
    a: *const u8,
    lda: i64,
    ao: u8,
    b: *const i8,
    ldb: i64,
    bo: i8,
    beta: f32,
    c: *mut i32,
    ldc: i64,
    co: *const i32,
) -> Status {
    let a = Side { name: "a", data: a, encoding: Encoding::U8, zero_point: ao.into(), trans: transa, ld: lda };
    let b = Side { name: "b", data: b.cast(), encoding: Encoding::S8, zero_point: bo.into(), trans: transb, ld: ldb };
    let product = Product { function: "gemm_u8s8s32", a, b, sizes: [m, n, k], alpha, beta, c, ldc, offsetc, co };
    // SAFETY: this function's own promise.
    guard(|| unsafe { product.compute() })
}

/// As qgemm_gemm_u8s8s32(), both matrices of signed bytes: dnnl_gemm_s8s8s32 of oneDNN.
///
/// @param transa   as in qgemm_gemm_u8s8s32()
/// @param transb   as in qgemm_gemm_u8s8s32()
/// @param offsetc  as in qgemm_gemm_u8s8s32()
/// @param m        as in qgemm_gemm_u8s8s32()
/// @param n        as in qgemm_gemm_u8s8s32()
/// @param k        as in qgemm_gemm_u8s8s32()
/// @param alpha    as in qgemm_gemm_u8s8s32()
/// @param a        left-hand matrix
/// @param lda      as in qgemm_gemm_u8s8s32()
/// @param ao       the zero point of a
/// @param b        right-hand matrix
/// @param ldb      as in qgemm_gemm_u8s8s32()
/// @param bo       the zero point of b
/// @param beta     as in qgemm_gemm_u8s8s32()
/// @param c        as in qgemm_gemm_u8s8s32()
/// @param ldc      as in qgemm_gemm_u8s8s32()
/// @param co       as in qgemm_gemm_u8s8s32()
/// @return as qgemm_gemm_u8s8s32()
///
/// # Safety
/// As for qgemm_gemm_u8s8s32().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_gemm_s8s8s32(
    transa: c_char,
    transb: c_char,
    offsetc: c_char,
    m: i64,
    n: i64,
    k: i64,
    alpha: f32,
    a: *const i8,
    lda: i64,
    ao: i8,
    b: *const i8,
    ldb: i64,
    bo: i8,
    beta: f32,
    c: *mut i32,
    ldc: i64,
    co: *const i32,
) -> Status {
    let a = Side { name: "a", data: a.cast(), encoding: Encoding::S8, zero_point: ao.into(), trans: transa, ld: lda };
    let b = Side { name: "b", data: b.cast(), encoding: Encoding::S8, zero_point: bo.into(), trans: transb, ld: ldb };
    let product = Product { function: "gemm_s8s8s32", a, b, sizes: [m, n, k], alpha, beta, c, ldc, offsetc, co };
    // SAFETY: this function's own promise.
    guard(|| unsafe { product.compute() })
}

/// As qgemm_gemm_u8s8s32(), both matrices of unsigned bytes.
///
/// @param transa   as in qgemm_gemm_u8s8s32()
/// @param transb   as in qgemm_gemm_u8s8s32()
/// @param offsetc  as in qgemm_gemm_u8s8s32()
/// @param m        as in qgemm_gemm_u8s8s32()
/// @param n        as in qgemm_gemm_u8s8s32()
/// @param k        as in qgemm_gemm_u8s8s32()
/// @param alpha    as in qgemm_gemm_u8s8s32()
/// @param a        left-hand matrix
/// @param lda      as in qgemm_gemm_u8s8s32()
/// @param ao       the zero point of a
/// @param b        right-hand matrix
/// @param ldb      as in qgemm_gemm_u8s8s32()
/// @param bo       the zero point of b
/// @param beta     as in qgemm_gemm_u8s8s32()
/// @param c        as in qgemm_gemm_u8s8s32()
/// @param ldc      as in qgemm_gemm_u8s8s32()
/// @param co       as in qgemm_gemm_u8s8s32()
/// @return as qgemm_gemm_u8s8s32()
///
/// # Safety
/// As for qgemm_gemm_u8s8s32().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_gemm_u8u8s32(
    transa: c_char,
    transb: c_char,
    offsetc: c_char,
    m: i64,
    n: i64,
    k: i64,
    alpha: f32,
    a: *const u8,
    lda: i64,
    ao: u8,
    b: *const u8,
    ldb: i64,
    bo: u8,
    beta: f32,
    c: *mut i32,
    ldc: i64,
    co: *const i32,
) -> Status {
    let a = Side { name: "a", data: a, encoding: Encoding::U8, zero_point: ao.into(), trans: transa, ld: lda };
    let b = Side { name: "b", data: b, encoding: Encoding::U8, zero_point: bo.into(), trans: transb, ld: ldb };
    let product = Product { function: "gemm_u8u8s32", a, b, sizes: [m, n, k], alpha, beta, c, ldc, offsetc, co };
    // SAFETY: this function's own promise.
    guard(|| unsafe { product.compute() })
}

/// One of the matrices that are multiplied.
struct Side {
    name: &'static str,
    data: *const u8,
    encoding: Encoding,
    zero_point: i32,
    trans: c_char,
    ld: i64,
}

/// A call's arguments, as C passed them.
struct Product {
    function: &'static str,
    a: Side,
    b: Side,
    /// m, n and k.
    sizes: [i64; 3],
    alpha: f32,
    beta: f32,
    c: *mut i32,
    ldc: i64,
    offsetc: c_char,
    co: *const i32,
}

impl Product {
    /// # Safety
    /// As for `qgemm_gemm_u8s8s32`.
    unsafe fn compute(&self) -> Result<(), Failure> {
        let [m, n, k] = self.sizes;
        let (m, n, k) = (size("m", m)?, size("n", n)?, size("k", k)?);
        for (argument, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !value.is_finite() {
                return Err(Error::Parameter { argument, value: value.into(), expected: "finite" }.into());
            }
        }
        // SAFETY: this function's own promise, for each.
        let (lhs, rhs, c, offset) = unsafe {
            let lhs = self.a.operand((m, k), ["transa", "lda"], [Order::DepthContiguous, Order::LineContiguous])?;
            let rhs = self.b.operand((n, k), ["transb", "ldb"], [Order::LineContiguous, Order::DepthContiguous])?;
            (lhs, rhs, self.result(m, n)?, self.offset(m, n)?)
        };
        let runs = c.runs();
        let offsets = offset.runs().into_iter().map(|runs| ("co", runs));
        for (input, other) in [("a", lhs.runs()), ("b", rhs.runs())].into_iter().chain(offsets) {
            if runs.overlap(&other) {
                return Err(Error::Overlap { output: "c", input }.into());
            }
        }
        let stride = stride(("ldc", self.ldc), (m, n))?;
        // SAFETY: the elements of `c`, each of which is read before it is written.
        let before = unsafe { Residual::from_raw(self.c.cast(), Element::I32, (m, n), (stride, 1)) };
        let before = before.ok_or(Error::TooLarge { argument: "c" })?;
        let stages = self.stages(before, offset);
        let [lhs, rhs] = [(lhs, &self.a), (rhs, &self.b)]
            .map(|(operand, side)| Factor::new(operand, Offset::Uniform(-side.zero_point)));
        let names = stages.iter().map(Stage::name);
        let words = || Words { function: self.function, lhs, rhs, result: ("s32", "row"), stages: names };
        let context = context()?;
        let finish = Finish::new(&stages, Store::I32(c));
        Ok(verbose::told(words, context, || crate::gemm(context, &lhs, &rhs, &finish))?)
    }

    /// What is done with the sums.
    fn stages<'a>(&self, before: Residual<'a>, offset: Values<'a, i32>) -> SmallVec<[Stage<'a>; 2]> {
        let &Self { alpha, beta, .. } = self;
        if alpha != 1.0 || beta != 0.0 && beta != 1.0 {
            let before = (beta != 0.0).then_some(before);
            return smallvec![Stage::Weighted(Weighted { alpha, beta, before, offset })];
        }
        let mut stages = SmallVec::new();
        if beta == 1.0 {
            // Times 2³⁰ and over 2³⁰: as it is.
            let (multiplier, exponent, rounding) = (1 << 30, 1, Rounding::Once);
            stages.push(Stage::Residual { residual: before, zero_point: 0, multiplier, exponent, rounding });
        }
        if !matches!(offset, Values::Uniform(0)) {
            stages.push(Stage::Bias(offset));
        }
        stages
    }

    /// # Safety
    /// `c` reaches as far as sizes and stride say, and nobody else uses it for `'a`.
    unsafe fn result<'a>(&self, m: usize, n: usize) -> Result<Output<'a, i32>, Error> {
        let stride = stride(("ldc", self.ldc), (m, n))?;
        check_pointer("c", self.c, m > 0 && n > 0)?;
        // SAFETY: this function's own promise; `stride` keeps the rows apart.
        unsafe { Output::from_raw(self.c, (m, n), stride) }.ok_or(Error::TooLarge { argument: "c" })
    }

    /// # Safety
    /// `co` has as many values as `offsetc` says, unchanged for `'a`.
    unsafe fn offset<'a>(&self, m: usize, n: usize) -> Result<Values<'a, i32>, Error> {
        let letter = letter("offsetc", self.offsetc, [b'F', b'C', b'R'])?;
        let count = match letter {
            b'F' => 1,
            b'C' => m,
            _ => n,
        };
        if self.co.is_null() {
            return Ok(Values::Uniform(0));
        }
        check_pointer("co", self.co, count > 0)?;
        // SAFETY: this function's own promise.
        let values = unsafe { slice(self.co, count) }.ok_or(Error::TooLarge { argument: "co" })?;
        Ok(match letter {
            b'F' => Values::Uniform(values[0]),
            b'C' => Values::PerRow(values),
            _ => Values::PerCol(values),
        })
    }
}

impl Side {
    /// The matrix as lines × depth, which lie in the first of these orders, or in the second if it is transposed.
    ///
    /// # Safety
    /// The data reaches as far as sizes and stride say, and is unchanged for `'a`.
    unsafe fn operand<'a>(
        &self,
        (lines, depth): (usize, usize),
        [trans, ld]: [&'static str; 2],
        [plain, transposed]: [Order; 2],
    ) -> Result<Operand<'a>, Error> {
        let order = if letter(trans, self.trans, [b'N', b'T'])? == b'N' { plain } else { transposed };
        let runs = if order == Order::DepthContiguous { (lines, depth) } else { (depth, lines) };
        let stride = stride((ld, self.ld), runs)?;
        check_pointer(self.name, self.data, lines > 0 && depth > 0)?;
        // SAFETY: this function's own promise.
        unsafe { Operand::from_raw(self.data, (lines, depth), stride, order, self.encoding) }
            .ok_or(Error::TooLarge { argument: self.name })
    }
}

/// One of these letters, large or small.
fn letter<const N: usize>(argument: &'static str, value: c_char, known: [u8; N]) -> Result<u8, Error> {
    let large = (value as u8).to_ascii_uppercase();
    if known.contains(&large) { Ok(large) } else { Err(Error::Option { argument, value: (value as u8).into() }) }
}

/// The stride of `runs` rows of `len` elements, which does not matter if there is nothing to step over.
fn stride((argument, value): (&'static str, i64), (runs, len): (usize, usize)) -> Result<usize, Error> {
    match usize::try_from(value) {
        _ if runs <= 1 || len == 0 => Ok(len),
        Ok(stride) if stride >= len => Ok(stride),
        _ => Err(Error::Stride { argument, value, least: len }),
    }
}

/// Null is right only where there are no elements.
fn check_pointer<T>(argument: &'static str, data: *const T, has_elements: bool) -> Result<(), Error> {
    match data {
        _ if !has_elements => Ok(()),
        _ if data.is_null() => Err(Error::Null { argument }),
        _ if !data.is_aligned() => Err(Error::Alignment { argument, unit: align_of::<T>() }),
        _ => Ok(()),
    }
}
