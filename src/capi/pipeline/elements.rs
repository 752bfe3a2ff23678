//! Other tensors that stages read, checked.

use super::super::matrix::{
    Frame, Major, QGEMM_PER_COL, QGEMM_PER_ROW, QGEMM_TYPE_BF16, QGEMM_TYPE_F16, QGEMM_TYPE_F32, QGEMM_TYPE_S8,
    QGEMM_TYPE_S16, QGEMM_TYPE_S32, QGEMM_TYPE_U8, QGEMM_UNIFORM, major, stride,
};
use crate::error::Error;
use crate::output::{Element, Residual};
use std::ffi::c_void;

pub(super) fn element(r#type: u32) -> Result<Element, Error> {
    match r#type {
        QGEMM_TYPE_U8 => Ok(Element::U8),
        QGEMM_TYPE_S8 => Ok(Element::I8),
        QGEMM_TYPE_S16 => Ok(Element::I16),
        QGEMM_TYPE_S32 => Ok(Element::I32),
        QGEMM_TYPE_F32 => Ok(Element::F32),
        QGEMM_TYPE_BF16 => Ok(Element::Bf16),
        QGEMM_TYPE_F16 => Ok(Element::F16),
        value => Err(Error::Type { argument: "type", value, expected: "one of QGEMM_TYPE_U8 to _F16" }),
    }
}

fn check_elements(data: *const c_void, element: Element, frame: &Frame) -> Result<(), Error> {
    if frame.rows > 0 && frame.cols > 0 {
        if data.is_null() {
            return Err(Error::Null { argument: "data" });
        }
        if !data.addr().is_multiple_of(element.size()) {
            return Err(Error::Alignment { argument: "data", unit: element.size() });
        }
    }
    Ok(())
}

/// # Safety
/// `data` reaches as far as the result's shape and `step` say, unchanged for `'a`.
pub(super) unsafe fn residual<'a>(
    data: *const c_void,
    element: Element,
    order: u32,
    step: i64,
    frame: &Frame,
) -> Result<Residual<'a>, Error> {
    let major = major("order", order)?;
    let runs = if major == Major::Row { (frame.rows, frame.cols) } else { (frame.cols, frame.rows) };
    let stride = stride(step, runs, 1)?;
    check_elements(data, element, frame)?;
    let steps = if major == frame.major { (stride, 1) } else { (1, stride) };
    // SAFETY: this function's own promise.
    unsafe { Residual::from_raw(data.cast(), element, frame.computed(), steps) }
        .ok_or(Error::TooLarge { argument: "data" })
}

/// # Safety
/// `data` has as many elements as there are rows or columns, or one, unchanged for `'a`.
pub(super) unsafe fn spread<'a>(
    data: *const c_void,
    element: Element,
    axis: u32,
    frame: &Frame,
) -> Result<Residual<'a>, Error> {
    let (row_step, col_step) = match axis {
        QGEMM_UNIFORM => (0, 0),
        QGEMM_PER_ROW => (1, 0),
        QGEMM_PER_COL => (0, 1),
        value => return Err(Error::Option { argument: "u.binary_f32.axis", value }),
    };
    check_elements(data, element, frame)?;
    // The rows of the transpose are the columns.
    let steps = if frame.major == Major::Row { (row_step, col_step) } else { (col_step, row_step) };
    // SAFETY: this function's own promise.
    unsafe { Residual::spread(data.cast(), element, frame.computed(), steps) }
        .ok_or(Error::TooLarge { argument: "data" })
}

pub(super) fn check_zero_point(argument: &'static str, value: i32, element: Element) -> Result<(), Error> {
    if element.is_float() && value != 0 {
        return Err(Error::Parameter { argument, value: value.into(), expected: "0 for floats" });
    }
    Ok(())
}
