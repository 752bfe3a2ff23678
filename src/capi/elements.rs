//! Contiguous elements that C passes.

use super::matrix::check_pointer;
use crate::elements::{Elements, ElementsMut};
use crate::error::Error;
use crate::matrix::{Runs, extent};

/// Where elements are, and what the argument is called.
#[derive(Clone, Copy)]
pub(super) struct Place<T> {
    argument: &'static str,
    data: *mut T,
    len: usize,
}

impl<T: Copy> Place<T> {
    /// # Errors
    /// If there are elements and the pointer is null, misaligned, or too near to the end of all addresses.
    pub(super) fn new(argument: &'static str, data: *const T, len: usize) -> Result<Self, Error> {
        if len > 0 {
            if data.is_null() {
                return Err(Error::Null { argument });
            }
            if !data.is_aligned() {
                return Err(Error::Alignment { argument, unit: align_of::<T>() });
            }
        }
        extent(data, 1, len, 0).ok_or(Error::TooLarge { argument })?;
        Ok(Self { argument, data: data.cast_mut(), len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn runs(&self) -> Runs {
        Runs::new(self.data.addr(), 1, self.len * size_of::<T>(), 0)
    }

    /// # Errors
    /// If what is written here is still to be read there; `in_place` says that each element is read before one is written
    /// to the very same place.
    pub(super) fn check_apart<U: Copy>(&self, input: &Place<U>, in_place: bool) -> Result<(), Error> {
        let is_same = size_of::<T>() == size_of::<U>() && self.data.addr() == input.data.addr();
        if self.runs().overlap(&input.runs()) && !(in_place && is_same) {
            return Err(Error::Overlap { output: self.argument, input: input.argument });
        }
        Ok(())
    }

    /// # Safety
    /// The elements can be read for `'a`, and nobody writes to them but whoever maps them, to the same place.
    pub(super) unsafe fn read<'a>(&self) -> Elements<'a, T> {
        // SAFETY: this function's own promise.
        unsafe { Elements::from_raw(self.data, self.len) }
    }

    /// # Safety
    /// The elements can be written for `'a`, and nobody else uses them.
    pub(super) unsafe fn write<'a>(&self) -> ElementsMut<'a, T> {
        // SAFETY: this function's own promise.
        unsafe { ElementsMut::from_raw(self.data, self.len) }
    }
}

/// # Safety
/// `data` has `count` elements for `'a`, and nobody writes to them but the call, to the same place.
pub(super) unsafe fn elements<'a, T: Copy>(
    argument: &'static str,
    data: *const T,
    count: usize,
) -> Result<Elements<'a, T>, Error> {
    check_elements(argument, data, count)?;
    // SAFETY: this function's own promise.
    Ok(unsafe { Elements::from_raw(data, count) })
}

/// # Safety
/// `data` has `count` elements for `'a`, and nobody else uses them.
pub(super) unsafe fn elements_mut<'a, T: Copy>(
    argument: &'static str,
    data: *mut T,
    count: usize,
) -> Result<ElementsMut<'a, T>, Error> {
    check_elements(argument, data, count)?;
    // SAFETY: this function's own promise.
    Ok(unsafe { ElementsMut::from_raw(data, count) })
}

fn check_elements<T>(argument: &'static str, data: *const T, count: usize) -> Result<(), Error> {
    if count > 0 {
        check_pointer(argument, data)?;
    }
    extent(data, 1, count, 0).map(drop).ok_or(Error::TooLarge { argument })
}

/// What is written may not be among what is read.
pub(super) fn check_apart(written: &Runs, read: &[(&'static str, Runs)]) -> Result<(), Error> {
    match read.iter().find(|(_, runs)| written.overlap(runs)) {
        Some(&(input, _)) => Err(Error::Overlap { output: "what is written", input }),
        None => Ok(()),
    }
}
