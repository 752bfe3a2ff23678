//! Contiguous integers that C passes, of a type that it names.

use super::elements::{check_apart, elements, elements_mut};
use super::matrix::{QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_S32, QGEMM_TYPE_U8};
use crate::error::Error;
use crate::matrix::Runs;
use crate::range::ElementRange;
use crate::tensor::{Integers, IntegersMut};
use std::ffi::c_void;

/// Any integer.
pub(super) const ANY: ElementRange = ElementRange { least: i32::MIN, greatest: i32::MAX };

/// The integers of a type of at most 16 bits; of another, any.
pub(super) fn limits(r#type: u32) -> ElementRange {
    match r#type {
        QGEMM_TYPE_U8 => ElementRange { least: 0, greatest: 255 },
        QGEMM_TYPE_S8 => ElementRange { least: -128, greatest: 127 },
        QGEMM_TYPE_S16 => ElementRange { least: -32768, greatest: 32767 },
        _ => ANY,
    }
}

/// The integers that may come of quantizing.
pub(super) fn range_of(argument: &'static str, r#type: u32, least: i32, greatest: i32) -> Result<ElementRange, Error> {
    let all = limits(r#type);
    if all == ANY {
        let expected = "QGEMM_TYPE_U8, _S8 or _S16";
        return Err(Error::Type { argument, value: r#type, expected });
    }
    if (least, greatest) == (0, 0) {
        return Ok(all);
    }
    for (argument, value) in [("least", least), ("greatest", greatest)] {
        if !(all.least..=all.greatest).contains(&value) {
            return Err(Error::Parameter { argument, value: value.into(), expected: "among the integers of the type" });
        }
    }
    if greatest <= least {
        return Err(Error::Parameter { argument: "greatest", value: greatest.into(), expected: "more than least is" });
    }
    Ok(ElementRange { least, greatest })
}

pub(super) fn check_integer(argument: &'static str, value: i32, limits: ElementRange) -> Result<(), Error> {
    match (limits.least..=limits.greatest).contains(&value) {
        true => Ok(()),
        false => Err(Error::Parameter { argument, value: value.into(), expected: "among the integers of the type" }),
    }
}

/// # Safety
/// As for `elements`.
pub(super) unsafe fn integers<'a>(
    argument: &'static str,
    type_argument: &'static str,
    data: *const c_void,
    r#type: u32,
    count: usize,
) -> Result<Integers<'a>, Error> {
    // SAFETY: this function's own promise, for each.
    unsafe {
        match r#type {
            QGEMM_TYPE_U8 => elements(argument, data.cast(), count).map(Integers::U8),
            QGEMM_TYPE_S8 => elements(argument, data.cast(), count).map(Integers::I8),
            QGEMM_TYPE_S16 => elements(argument, data.cast(), count).map(Integers::I16),
            QGEMM_TYPE_S32 => elements(argument, data.cast(), count).map(Integers::I32),
            value => Err(Error::Type { argument: type_argument, value, expected: "QGEMM_TYPE_U8, _S8, _S16 or _S32" }),
        }
    }
}

/// # Safety
/// As for `elements_mut`.
pub(super) unsafe fn integers_mut<'a>(
    argument: &'static str,
    type_argument: &'static str,
    data: *mut c_void,
    r#type: u32,
    count: usize,
) -> Result<IntegersMut<'a>, Error> {
    // SAFETY: this function's own promise, for each.
    unsafe {
        match r#type {
            QGEMM_TYPE_U8 => elements_mut(argument, data.cast(), count).map(IntegersMut::U8),
            QGEMM_TYPE_S8 => elements_mut(argument, data.cast(), count).map(IntegersMut::I8),
            QGEMM_TYPE_S16 => elements_mut(argument, data.cast(), count).map(IntegersMut::I16),
            value => Err(Error::Type { argument: type_argument, value, expected: "QGEMM_TYPE_U8, _S8 or _S16" }),
        }
    }
}

/// What is written may be what is read only if each element takes the place of the one that it comes of.
pub(super) fn check_in_place(written: &Runs, from: &Integers) -> Result<(), Error> {
    if *written == from.runs() { Ok(()) } else { check_apart(written, &[("from", from.runs())]) }
}
