//! The last step of a pipeline: a cast, and the write into the result.

use super::Region;
use crate::half::{to_bf16, to_f16};
use crate::matrix::{Output, Runs};
use std::ffi::c_void;

/// How numbers of 32 bits become narrower ones. As wide as a register: where a byte was just written, and is then moved as a part
/// of more, the processor waits.
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// Those out of range become the nearest in range.
    Saturating,
    /// The low bits are kept.
    Truncating,
}

/// Where the results go, and as what.
pub enum Store<'a> {
    /// Integers as they are.
    I32(Output<'a, i32>),
    /// Integers, cast to u8.
    U8(Output<'a, u8>, Cast),
    /// Integers, cast to i8.
    I8(Output<'a, i8>, Cast),
    /// Integers, cast to i16.
    I16(Output<'a, i16>, Cast),
    /// Floats: the last stages have to give floats.
    F32(Output<'a, f32>),
    /// Floats, rounded to bf16, ties to even.
    Bf16(Output<'a, u16>),
    /// Floats, rounded to IEEE's binary16, ties to even.
    F16(Output<'a, u16>),
}

/// What a store takes, as far as it matters to who multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// Integers of 32 bits.
    Sums,
    /// Smaller ones.
    Bytes,
    Floats,
}

impl ResultKind {
    pub(crate) const ALL: [Self; 3] = [Self::Sums, Self::Bytes, Self::Floats];
}

impl Store<'_> {
    #[inline(always)]
    pub(crate) fn kind(&self) -> ResultKind {
        match self {
            Store::I32(_) => ResultKind::Sums,
            Store::U8(..) | Store::I8(..) | Store::I16(..) => ResultKind::Bytes,
            Store::F32(_) | Store::Bf16(_) | Store::F16(_) => ResultKind::Floats,
        }
    }

    /// The same at another address.
    ///
    /// # Safety
    /// As for [`Output::from_raw`]; `data` is aligned, and the result does not reach beyond the address space from there.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, data: *mut c_void) -> Self {
        // SAFETY: this function's own promise, for each.
        unsafe {
            match self {
                Store::I32(out) => Store::I32(out.at(data.cast())),
                Store::U8(out, cast) => Store::U8(out.at(data.cast()), *cast),
                Store::I8(out, cast) => Store::I8(out.at(data.cast()), *cast),
                Store::I16(out, cast) => Store::I16(out.at(data.cast()), *cast),
                Store::F32(out) => Store::F32(out.at(data.cast())),
                Store::Bf16(out) => Store::Bf16(out.at(data.cast())),
                Store::F16(out) => Store::F16(out.at(data.cast())),
            }
        }
    }

    /// Rows and columns of the result.
    pub(crate) fn shape(&self) -> (usize, usize) {
        match self {
            Store::I32(out) => (out.rows, out.cols),
            Store::U8(out, _) => (out.rows, out.cols),
            Store::I8(out, _) => (out.rows, out.cols),
            Store::I16(out, _) => (out.rows, out.cols),
            Store::F32(out) => (out.rows, out.cols),
            Store::Bf16(out) | Store::F16(out) => (out.rows, out.cols),
        }
    }

    /// Bytes that an element takes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Store::U8(..) | Store::I8(..) => 1,
            Store::I16(..) | Store::Bf16(_) | Store::F16(_) => 2,
            Store::I32(_) | Store::F32(_) => 4,
        }
    }

    /// Where the result's bytes lie.
    #[inline]
    pub(crate) fn runs(&self) -> Runs {
        match self {
            Store::I32(out) => out.runs(),
            Store::U8(out, _) => out.runs(),
            Store::I8(out, _) => out.runs(),
            Store::I16(out, _) => out.runs(),
            Store::F32(out) => out.runs(),
            Store::Bf16(out) | Store::F16(out) => out.runs(),
        }
    }

    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(super) unsafe fn write<const W: usize>(&self, region: &Region, acc: &[[i32; W]]) {
        use Cast::*;
        // SAFETY: this function's own promise, for each.
        unsafe {
            match self {
                Store::I32(out) => each(out, region, acc, |x| x),
                Store::U8(out, Saturating) => each(out, region, acc, |x| x.clamp(0, 255) as u8),
                Store::U8(out, Truncating) => each(out, region, acc, |x| x as u8),
                Store::I8(out, Saturating) => each(out, region, acc, |x| x.clamp(-128, 127) as i8),
                Store::I8(out, Truncating) => each(out, region, acc, |x| x as i8),
                Store::I16(out, Saturating) => each(out, region, acc, |x| x.clamp(-32768, 32767) as i16),
                Store::I16(out, Truncating) => each(out, region, acc, |x| x as i16),
                Store::F32(out) => each(out, region, acc, |x| f32::from_bits(x as u32)),
                Store::Bf16(out) => each(out, region, acc, |x| to_bf16(f32::from_bits(x as u32))),
                Store::F16(out) => each(out, region, acc, |x| to_f16(f32::from_bits(x as u32))),
            }
        }
    }
}

/// Writes `of` each accumulator to its place. A loop over slices becomes vectors; one over arrays is unrolled first, and
/// then seldom does.
///
/// # Safety
/// Nobody else uses this part of the result.
#[inline(always)]
pub(super) unsafe fn each<const W: usize, T>(
    out: &Output<T>,
    region: &Region,
    acc: &[[i32; W]],
    of: impl Fn(i32) -> T,
) {
    // SAFETY: this function's own promise.
    let rows = unsafe { out.block(region.rows.clone(), region.cols.clone()) };
    for (to, acc) in rows.zip(acc) {
        to.iter_mut().zip(acc).for_each(|(to, &x)| *to = of(x));
    }
}
