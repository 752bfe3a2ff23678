//! The mirror of gemmlowp's `EightBitIntGemm`.

use super::verbose::{self, Words};
use super::{Status, guard, shared::context, size};
use crate::bit_depth::BitDepths;
use crate::error::Error;
use crate::matrix::{Encoding, Offset, Operand, Order, Output, Runs};
use crate::output::{Cast, Finish, QuantizeDown, Stage, Store, Values};
use crate::source::Factor;
use std::sync::LazyLock;

/// Bit depth setting: both operands with all their 8 bits, exact.
pub const QGEMM_A8B8: u32 = 0;
/// Bit depth setting: a with 7 bits, b with 5, rounded as qgemm_bit_depth says, with all its defaults; so products with
/// 2 * m * n < 100 * (m + n) stay exact.
///
/// The name says it the other way round: gemmlowp once computed b by a, and when it turned that around it did not rename
/// the setting. Since 2017 gemmlowp computes A5B7 as A8B8. To have that here, pass QGEMM_A8B8; or, where the program
/// cannot be changed, set the environment variable QGEMM_A5B7 to "exact" before its first product.
pub const QGEMM_A5B7: u32 = 1;

/// Multiplies two matrices of bytes and scales the result down to bytes: gemmlowp's EightBitIntGemm, to the byte if
/// bit_depth is QGEMM_A8B8.
///
///     acc(i,j) = sum over l of (a(i,l) + a_offset) * (b(l,j) + b_offset)
///     c(i,j)   = clamp((acc(i,j) + c_offset) * c_mult_int / 2^c_shift, 0, 255)
///
/// a is m x k, b is k x n, c is m x n. All arithmetic is on int32_t and wraps around, up to and including the product by
/// c_mult_int; the division rounds to nearest, ties away from zero.
///
/// "Transposed" is only a storage order, as in gemmlowp: 0 means column-major (the elements of a column are contiguous,
/// and lda elements lie between the starts of two columns), anything else row-major (and lda lies between rows). A stride
/// is ignored where there is only one such column or row. Strides of a and b may be shorter than a column or row, so that
/// these overlap; a and b may overlap each other. Nothing but the m x n elements of c is written, nothing but the
/// elements of a and b read.
///
/// If m, n or k is 0, c is left as it is, also where k alone is 0, as in gemmlowp. A pointer may be null if its matrix
/// has no elements. May be called by several threads at once.
///
/// @param transpose_a  storage order of a: 0 column-major, else row-major
/// @param transpose_b  storage order of b
/// @param transpose_c  storage order of c
/// @param m            rows of a and c, at least 0
/// @param n            columns of b and c, at least 0
/// @param k            columns of a and rows of b, at least 0; beyond 33025 the sum may wrap around
/// @param a            left-hand matrix
/// @param a_offset     added to every element of a: minus its zero point
/// @param lda          elements from one column (row) of a to the next, at least 0
/// @param b            right-hand matrix
/// @param b_offset     added to every element of b: minus its zero point
/// @param ldb          elements from one column (row) of b to the next, at least 0
/// @param c            the result
/// @param c_offset     added to every sum
/// @param c_mult_int   what that is multiplied by
/// @param c_shift      what power of two that is divided by: 0 to 31
/// @param ldc          elements from one column (row) of c to the next, at least the length of one
/// @param bit_depth    QGEMM_A8B8 or QGEMM_A5B7
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, SHAPE, STRIDE, SHIFT_RANGE, BIT_DEPTH, TOO_LARGE,
///         OVERLAP (c overlaps a or b), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// a, b and c reach as far as the sizes and strides say, and nobody writes to them, or reads c, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_eight_bit_int_gemm_u8(
    transpose_a: i32,
    transpose_b: i32,
    transpose_c: i32,
    m: i32,
    n: i32,
    k: i32,
    a: *const u8,
    a_offset: i32,
    lda: i32,
    b: *const u8,
    b_offset: i32,
    ldb: i32,
    c: *mut u8,
    c_offset: i32,
    c_mult_int: i32,
    c_shift: i32,
    ldc: i32,
    bit_depth: u32,
) -> Status {
    guard(|| {
        let sizes = Sizes::new(m, n, k)?;
        let shift = u32::try_from(c_shift).ok().filter(|&shift| shift <= 31);
        shift.ok_or(Error::Shift { argument: "c_shift", value: c_shift.into() })?;
        let stage = Stage::QuantizeDown(QuantizeDown {
            offset: Values::Uniform(c_offset),
            multiplier: Values::Uniform(c_mult_int),
            shift: Values::Uniform(c_shift),
        });
        let depths = bit_depths(bit_depth)?;
        // SAFETY: this function's own promise.
        let a = unsafe { sizes.a(a, transpose_a, lda)? };
        // SAFETY: as above.
        let b = unsafe { sizes.b(b, transpose_b, ldb)? };
        // SAFETY: as above.
        let c = unsafe { sizes.c(c, transpose_c, ldc)? };
        let store = Store::U8(c, Cast::Saturating);
        check_overlap(&store.runs(), &a, &b)?;
        if k == 0 {
            return Ok(());
        }
        let sides = factors((a, a_offset), (b, b_offset), depths);
        Ok(multiply(sides, transpose_c, &Finish::new(&[stage], store))?)
    })
}

/// Multiplies two matrices of bytes into one of floats: gemmlowp's EightBitIntGemm for float results.
///
///     acc(i,j) = sum over l of (a(i,l) + a_offset) * (b(l,j) + b_offset)
///     c(i,j)   = (float)acc(i,j) * c_scale
///
/// As qgemm_eight_bit_int_gemm_u8() in all else. Two roundings, each to nearest even: of the sum to float, of the product
/// by the scale. The scale is what gemmlowp calls c_offset. If k is 0, the sums are 0 and c is written.
///
/// @param transpose_a  storage order of a: 0 column-major, else row-major
/// @param transpose_b  storage order of b
/// @param transpose_c  storage order of c
/// @param m            rows of a and c, at least 0
/// @param n            columns of b and c, at least 0
/// @param k            columns of a and rows of b, at least 0; beyond 33025 the sum may wrap around
/// @param a            left-hand matrix
/// @param a_offset     added to every element of a: minus its zero point
/// @param lda          elements from one column (row) of a to the next, at least 0
/// @param b            right-hand matrix
/// @param b_offset     added to every element of b: minus its zero point
/// @param ldb          elements from one column (row) of b to the next, at least 0
/// @param c            the result, at an address that is a multiple of 4
/// @param c_scale      what every sum is multiplied by
/// @param ldc          elements from one column (row) of c to the next, at least the length of one
/// @param bit_depth    QGEMM_A8B8 or QGEMM_A5B7
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, SHAPE, STRIDE, BIT_DEPTH, TOO_LARGE,
///         OVERLAP (c overlaps a or b), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// a, b and c reach as far as the sizes and strides say, and nobody writes to them, or reads c, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_eight_bit_int_gemm_f32(
    transpose_a: i32,
    transpose_b: i32,
    transpose_c: i32,
    m: i32,
    n: i32,
    k: i32,
    a: *const u8,
    a_offset: i32,
    lda: i32,
    b: *const u8,
    b_offset: i32,
    ldb: i32,
    c: *mut f32,
    c_scale: f32,
    ldc: i32,
    bit_depth: u32,
) -> Status {
    guard(|| {
        let sizes = Sizes::new(m, n, k)?;
        let depths = bit_depths(bit_depth)?;
        // SAFETY: this function's own promise.
        let a = unsafe { sizes.a(a, transpose_a, lda)? };
        // SAFETY: as above.
        let b = unsafe { sizes.b(b, transpose_b, ldb)? };
        // SAFETY: as above.
        let c = unsafe { sizes.c(c, transpose_c, ldc)? };
        let store = Store::F32(c);
        check_overlap(&store.runs(), &a, &b)?;
        let stage = Stage::Dequantize(Values::Uniform(c_scale));
        let sides = factors((a, a_offset), (b, b_offset), depths);
        Ok(multiply(sides, transpose_c, &Finish::new(&[stage], store))?)
    })
}

/// Both sides, with their offsets and as many bits as count.
fn factors<'a>(a: (Operand<'a>, i32), b: (Operand<'a>, i32), depths: Option<BitDepths>) -> [Factor<'a>; 2] {
    let [a, b] = [a, b].map(|(operand, offset)| Factor::new(operand, Offset::Uniform(offset)));
    depths.map_or([a, b], |depths| depths.apply(a, b))
}

/// `a` is the LHS and `b` the RHS of a row-major result. A column-major one is the row-major transpose, and
/// (A B)ᵀ = Bᵀ Aᵀ: as lines × depth the operands stay what they are and change sides.
fn multiply([a, b]: [Factor; 2], transpose_c: i32, finish: &Finish) -> Result<(), Error> {
    let (order, lhs, rhs) = if transpose_c != 0 { ("row", a, b) } else { ("col", b, a) };
    let (function, r#type) = match finish.store() {
        Store::F32(_) => ("eight_bit_int_gemm_f32", "f32"),
        _ => ("eight_bit_int_gemm_u8", "u8"),
    };
    let stages = finish.stages().iter().map(Stage::name);
    let words = || Words { function, lhs: a, rhs: b, result: (r#type, order), stages };
    let context = context()?;
    verbose::told(words, context, || crate::gemm(context, &lhs, &rhs, finish))
}

/// Asked once: whether A5B7 is to be what gemmlowp makes of it today.
static IS_A5B7_EXACT: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("QGEMM_A5B7").is_some_and(|how| how == "exact"));

/// None for all 8 of both sides.
fn bit_depths(setting: u32) -> Result<Option<BitDepths>, Error> {
    match setting {
        QGEMM_A8B8 => Ok(None),
        QGEMM_A5B7 => Ok((!*IS_A5B7_EXACT).then(|| BitDepths::new(7, 5))),
        value => {
            let expected = "QGEMM_A8B8 (0) or QGEMM_A5B7 (1)";
            Err(Error::BitDepth { argument: "bit_depth", value: value.into(), expected })
        }
    }
}

fn check_overlap(c: &Runs, a: &Operand, b: &Operand) -> Result<(), Error> {
    for (input, operand) in [("a", a), ("b", b)] {
        if c.overlap(&operand.runs()) {
            return Err(Error::Overlap { output: "c", input });
        }
    }
    Ok(())
}

/// m, n and k, and the views that they make of the caller's pointers.
struct Sizes {
    m: usize,
    n: usize,
    k: usize,
}

impl Sizes {
    fn new(m: i32, n: i32, k: i32) -> Result<Self, Error> {
        Ok(Self { m: size("m", m)?, n: size("n", n)?, k: size("k", k)? })
    }

    /// # Safety
    /// `data` reaches as far as sizes and stride say, and is unchanged for `'a`.
    unsafe fn a<'a>(&self, data: *const u8, transposed: i32, lda: i32) -> Result<Operand<'a>, Error> {
        let (order, runs) = match transposed {
            0 => (Order::LineContiguous, (self.k, self.m)),
            _ => (Order::DepthContiguous, (self.m, self.k)),
        };
        let stride = stride(("a", data.is_null()), ("lda", lda), runs, 0)?;
        // SAFETY: this function's own promise.
        unsafe { Operand::from_raw(data, (self.m, self.k), stride, order, Encoding::U8) }
            .ok_or(Error::TooLarge { argument: "a" })
    }

    /// # Safety
    /// As for `a`.
    unsafe fn b<'a>(&self, data: *const u8, transposed: i32, ldb: i32) -> Result<Operand<'a>, Error> {
        let (order, runs) = match transposed {
            0 => (Order::DepthContiguous, (self.n, self.k)),
            _ => (Order::LineContiguous, (self.k, self.n)),
        };
        let stride = stride(("b", data.is_null()), ("ldb", ldb), runs, 0)?;
        // SAFETY: this function's own promise.
        unsafe { Operand::from_raw(data, (self.n, self.k), stride, order, Encoding::U8) }
            .ok_or(Error::TooLarge { argument: "b" })
    }

    /// The result, or its transpose: whichever is row-major.
    ///
    /// # Safety
    /// `data` reaches as far as sizes and stride say, and nobody else uses it for `'a`.
    unsafe fn c<'a, T>(&self, data: *mut T, transposed: i32, ldc: i32) -> Result<Output<'a, T>, Error> {
        let (rows, cols) = if transposed == 0 { (self.n, self.m) } else { (self.m, self.n) };
        let stride = stride(("c", data.is_null()), ("ldc", ldc), (rows, cols), cols)?;
        if rows > 0 && cols > 0 && !data.is_aligned() {
            return Err(Error::Alignment { argument: "c", unit: align_of::<T>() });
        }
        // SAFETY: this function's own promise; `stride` keeps the rows apart.
        unsafe { Output::from_raw(data, (rows, cols), stride) }.ok_or(Error::TooLarge { argument: "c" })
    }
}

/// Checks the pointer and the stride of `runs` contiguous runs of `len` elements, and gives the stride: 0 where there is
/// nothing to step over.
fn stride(
    (data, is_null): (&'static str, bool),
    (argument, value): (&'static str, i32),
    (runs, len): (usize, usize),
    least: usize,
) -> Result<usize, Error> {
    if runs == 0 || len == 0 {
        return Ok(0);
    }
    if is_null {
        return Err(Error::Null { argument: data });
    }
    match usize::try_from(value) {
        _ if runs == 1 => Ok(0),
        Ok(stride) if stride >= least => Ok(stride),
        _ => Err(Error::Stride { argument, value: value.into(), least }),
    }
}
