//! Functions of bytes, by their 256 values.

use super::channels::check_scale;
use super::context::{CallContext, ContextHandle};
use super::elements::{check_apart, elements, elements_mut};
use super::function::*;
use super::integers::check_integer;
use super::matrix::{QGEMM_TYPE_S8, QGEMM_TYPE_U8, check_pointer};
use super::{Failure, Status, Within, guard};
use crate::error::Error;
use crate::matrix::{Encoding, Runs};
use crate::quantize::Quantization;
use crate::range::ElementRange;
use crate::table::{self, Code, Function, Table};
use std::ffi::c_void;

/// How many entries a table has: entry b is for the element whose byte is b, so that of -1, as of 255, is the last.
pub const QGEMM_TABLE_SIZE: usize = 256;
const _: () = assert!(QGEMM_TABLE_SIZE == size_of::<Table>());

/// Bytes and the real numbers that they stand for: (q - zero_point) * scale. This struct stays as it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawCode {
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8.
    pub r#type: u32,
    /// Finite, and at least FLT_MIN.
    pub scale: f32,
    /// Among the numbers of the type.
    pub zero_point: i32,
}

/// A function that a table is made of: of x, and of whatever user points at.
pub type RealFunction = Option<unsafe extern "C" fn(x: f32, user: *mut c_void) -> f32>;

/// Makes the table of any function: of each byte the real number x, rounded to float; f(x, user); and the byte that stands for that.
/// That is the integer nearest to f(x) / scale, in double, ties to even, plus the zero point, confined to the type. NaN becomes the
/// zero point.
///
/// @param f      the function; called 256 times, on this thread, for the bytes from 0 to 255. It has to return
/// @param user   passed on to f
/// @param from   what the bytes stand for
/// @param to     what the entries stand for
/// @param table  receives QGEMM_TABLE_SIZE entries, bytes of to->type
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE, PARAMETER (a scale or a zero point)
///
/// # Safety
/// f may be called with user. The table may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_table_build(
    f: RealFunction,
    user: *mut c_void,
    from: *const RawCode,
    to: *const RawCode,
    table: *mut u8,
) -> Status {
    guard(|| {
        let f = f.ok_or(Error::Missing { argument: "f" })?;
        // SAFETY: this function's own promise.
        unsafe { build(from, to, table, |x| f(x as f32, user).into()) }
    })
}

/// Makes the table of a well-known function, as qgemm_table_build() does, but all in double: the value is off by less than 1e-13 of
/// itself, or of 1 where that is more, before it is rounded. It is the same on every machine.
///
/// @param function  QGEMM_FUNCTION_RELU to QGEMM_FUNCTION_CLIP
/// @param alpha     finite; some functions have such a parameter, the others do not look at it
/// @param beta      as alpha
/// @param from      what the bytes stand for
/// @param to        what the entries stand for
/// @param table     receives QGEMM_TABLE_SIZE entries, bytes of to->type
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, TYPE, OPTION (an unknown function), PARAMETER (a
///         scale, a zero point, alpha or beta)
///
/// # Safety
/// The table may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_table_build_function(
    function: u32,
    alpha: f32,
    beta: f32,
    from: *const RawCode,
    to: *const RawCode,
    table: *mut u8,
) -> Status {
    guard(|| {
        let function = checked_function(function, alpha, beta)?;
        // SAFETY: this function's own promise.
        unsafe { build(from, to, table, |x| function.of(x)) }
    })
}

/// Looks up bytes in a table: to[i] = table[from[i]].
///
/// @param context  the threads to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param table    QGEMM_TABLE_SIZE entries
/// @param from     the bytes, of either type; NULL if there are none
/// @param to       receives as many; in the very place of from, or apart from it
/// @param count    how many, at least 0
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, SHAPE (count is negative), TOO_LARGE, OVERLAP, UNSUPPORTED
///         (QGEMM_ISA)
///
/// # Safety
/// The table has its entries, and from and to as many bytes as count says. Nobody writes to what is read, or uses what is written,
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_table_apply(
    context: *const ContextHandle,
    table: *const u8,
    from: *const c_void,
    to: *mut c_void,
    count: i64,
) -> Status {
    guard(|| {
        check_pointer("table", table)?;
        let count = super::matrix::size("count", count)?;
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let from = elements("from", from.cast::<u8>(), count)?;
            let to = elements_mut("to", to.cast::<u8>(), count)?;
            if from.runs() != to.runs() {
                check_apart(&to.runs(), &[("from", from.runs())])?;
            }
            check_apart(&to.runs(), &[("table", Runs::new(table.addr(), 1, QGEMM_TABLE_SIZE, 0))])?;
            let table = table.cast::<Table>().read();
            table::apply(&*CallContext::new(context)?, &table, from, to);
        }
        Ok(())
    })
}

/// # Safety
/// `table` is null or has room for a table; `from` and `to` are null or can be read.
unsafe fn build(
    from: *const RawCode,
    to: *const RawCode,
    table: *mut u8,
    of: impl FnMut(f64) -> f64,
) -> Result<(), Failure> {
    // SAFETY: this function's own promise.
    let (from, to) = unsafe { (code("from", from)?, code("to", to)?) };
    check_pointer("table", table)?;
    let built = table::build(&from, &to, of);
    // SAFETY: as above.
    unsafe { table.cast::<Table>().write(built) };
    Ok(())
}

/// # Safety
/// `raw` is null or can be read.
unsafe fn code(argument: &'static str, raw: *const RawCode) -> Result<Code, Failure> {
    check_pointer(argument, raw)?;
    // SAFETY: neither null nor misaligned.
    let RawCode { r#type, scale, zero_point } = unsafe { raw.read() };
    let encoding = match r#type {
        QGEMM_TYPE_U8 => Encoding::U8,
        QGEMM_TYPE_S8 => Encoding::S8,
        value => {
            let expected = "QGEMM_TYPE_U8 or QGEMM_TYPE_S8";
            return Err(Error::Type { argument: "type", value, expected }).within(argument);
        }
    };
    check_scale("scale", scale).within(argument)?;
    check_integer("zero_point", zero_point, ElementRange::all(encoding)).within(argument)?;
    Ok(Code { encoding, quantization: Quantization { scale, zero_point } })
}

fn checked_function(function: u32, alpha: f32, beta: f32) -> Result<Function, Error> {
    for (argument, value) in [("alpha", alpha), ("beta", beta)] {
        if !value.is_finite() {
            return Err(Error::Parameter { argument, value: value.into(), expected: "finite" });
        }
    }
    let (alpha, beta) = (f64::from(alpha), f64::from(beta));
    Ok(match function {
        QGEMM_FUNCTION_RELU => Function::Relu { alpha },
        QGEMM_FUNCTION_TANH => Function::Tanh,
        QGEMM_FUNCTION_LOGISTIC => Function::Logistic,
        QGEMM_FUNCTION_GELU_ERF => Function::GeluErf,
        QGEMM_FUNCTION_GELU_TANH => Function::GeluTanh,
        QGEMM_FUNCTION_SWISH => Function::Swish { alpha },
        QGEMM_FUNCTION_HARDSWISH => Function::Hardswish { alpha, beta },
        QGEMM_FUNCTION_HARDSIGMOID => Function::Hardsigmoid { alpha, beta },
        QGEMM_FUNCTION_ELU => Function::Elu { alpha },
        QGEMM_FUNCTION_EXP => Function::Exp,
        QGEMM_FUNCTION_MISH => Function::Mish,
        QGEMM_FUNCTION_LINEAR => Function::Linear { alpha, beta },
        QGEMM_FUNCTION_CLIP => Function::Clip { alpha, beta },
        value => return Err(Error::Option { argument: "function", value }),
    })
}
