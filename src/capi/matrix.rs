//! Descriptors of matrices and of parameters.

use super::packed::PackedHandle;
use super::versioned::Versioned;
use crate::error::Error;
use crate::matrix::{Encoding, Offset, Operand, Order, Output, slice};
use crate::output::Values;
use crate::packed::{Packed, Side};
use crate::range::ElementRange;
use crate::source::Factor;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

/// Element type: 0 to 255.
pub const QGEMM_TYPE_U8: u32 = 1;
/// Element type: -128 to 127, two's complement.
pub const QGEMM_TYPE_S8: u32 = 2;
/// Element type: -32768 to 32767, two's complement.
pub const QGEMM_TYPE_S16: u32 = 3;
/// Element type: a 32-bit integer, two's complement.
pub const QGEMM_TYPE_S32: u32 = 4;
/// Element type: a float of 32 bits.
pub const QGEMM_TYPE_F32: u32 = 5;
/// Element type: bf16, the upper 16 bits of a float of 32.
pub const QGEMM_TYPE_BF16: u32 = 6;
/// Element type: a float of 16 bits, IEEE's binary16.
pub const QGEMM_TYPE_F16: u32 = 7;

/// Storage order: the elements of a row are contiguous.
pub const QGEMM_ROW_MAJOR: u32 = 0;
/// Storage order: the elements of a column are contiguous.
pub const QGEMM_COL_MAJOR: u32 = 1;

/// Axis of a parameter: one value for all.
pub const QGEMM_UNIFORM: u32 = 0;
/// Axis of a parameter: data[i] for row i. gemmlowp's VectorShape Col.
pub const QGEMM_PER_ROW: u32 = 1;
/// Axis of a parameter: data[j] for column j. gemmlowp's VectorShape Row.
pub const QGEMM_PER_COL: u32 = 2;
/// Axis of a tensor that a stage reads, and of nothing else: an element for each of the result's.
pub const QGEMM_PER_ELEMENT: u32 = 3;

/// An integer parameter: one value, or one for each row or each column. All zeros are the value 0 for all.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct I32Values {
    /// The values, one for each row or column. Read only if axis is not QGEMM_UNIFORM.
    pub data: *const i32,
    /// How many values data has: at least as many as there are rows or columns; what lies beyond those is not read.
    pub len: i64,
    /// The value if axis is QGEMM_UNIFORM.
    pub value: i32,
    /// QGEMM_UNIFORM, QGEMM_PER_ROW or QGEMM_PER_COL.
    pub axis: u32,
}

/// A parameter of floats: one value, or one for each row or each column. All zeros are the value 0 for all.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct F32Values {
    /// The values, one for each row or column. Read only if axis is not QGEMM_UNIFORM.
    pub data: *const f32,
    /// How many values data has: at least as many as there are rows or columns; what lies beyond those is not read.
    pub len: i64,
    /// The value if axis is QGEMM_UNIFORM.
    pub value: f32,
    /// QGEMM_UNIFORM, QGEMM_PER_ROW or QGEMM_PER_COL.
    pub axis: u32,
}

/// One side of a product: lhs is m x k, rhs is k x n.
///
/// Set all of it to zero with QGEMM_OPERAND_INIT first, then what matters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawOperand {
    /// sizeof(qgemm_operand).
    pub struct_size: usize,
    /// The elements. May be NULL if there are none.
    pub data: *const c_void,
    /// The elements in packed form, and data NULL; or NULL. Rows, cols and type may then be 0, or have to be what was packed;
    /// stride and order do not matter.
    pub packed: *const PackedHandle,
    /// How many rows, at least 0.
    pub rows: i64,
    /// How many columns, at least 0.
    pub cols: i64,
    /// Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next; 0 for no gaps.
    /// Less than the length of a row is allowed: rows then overlap.
    pub stride: i64,
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8.
    pub r#type: u32,
    /// QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR.
    pub order: u32,
    /// Added to every element before it is multiplied: minus the zero point. Of lhs uniform or per row, of rhs uniform or
    /// per column.
    pub offset: I32Values,
    /// What no element is less than, if the caller promises that. If it and greatest are 0, nothing is promised.
    ///
    /// Products may count on what is promised, to be faster. Where an element breaks the promise, results may then be
    /// wrong, but nothing worse happens; QGEMM_CHECK_RANGE makes it an error. Of a packed operand the range is known:
    /// qgemm_pack() looks at the elements, and ignores the promise.
    pub least: i32,
    /// What no element is greater than: not less than least, and both among the numbers of the type.
    pub greatest: i32,
}

/// The result of a product, m x n.
///
/// Set all of it to zero with QGEMM_RESULT_INIT first, then what matters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawResult {
    /// sizeof(qgemm_result).
    pub struct_size: usize,
    /// Where the elements go, aligned as their type has to be. May be NULL if there are none.
    pub data: *mut c_void,
    /// How many rows: as many as lhs.
    pub rows: i64,
    /// How many columns: as many as rhs.
    pub cols: i64,
    /// Elements from the start of one row (column, if order is QGEMM_COL_MAJOR) to the start of the next, at least the
    /// length of one; 0 for no gaps.
    pub stride: i64,
    /// QGEMM_TYPE_U8, _S8, _S16, _S32, _F32, _BF16 or _F16.
    pub r#type: u32,
    /// QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR.
    pub order: u32,
}

#[inline]
pub(super) fn encoding(r#type: u32) -> Result<Encoding, Error> {
    encoding_of("type", r#type)
}

#[inline]
pub(super) fn encoding_of(argument: &'static str, r#type: u32) -> Result<Encoding, Error> {
    match r#type {
        QGEMM_TYPE_U8 => Ok(Encoding::U8),
        QGEMM_TYPE_S8 => Ok(Encoding::S8),
        value => Err(Error::Type { argument, value, expected: "QGEMM_TYPE_U8 or QGEMM_TYPE_S8" }),
    }
}

/// How the caller's rows and columns lie in memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Major {
    Row,
    Col,
}

#[inline]
pub(super) fn major(argument: &'static str, order: u32) -> Result<Major, Error> {
    match order {
        QGEMM_ROW_MAJOR => Ok(Major::Row),
        QGEMM_COL_MAJOR => Ok(Major::Col),
        value => Err(Error::Option { argument, value }),
    }
}

#[inline]
pub(super) fn size(argument: &'static str, value: i64) -> Result<usize, Error> {
    usize::try_from(value).map_err(|_| Error::Size { argument, value })
}

/// The stride of `runs` runs of `len` elements: 0 stands for no gaps, and where there is nothing to step over it does not
/// matter.
#[inline]
pub(super) fn stride(value: i64, (runs, len): (usize, usize), least: usize) -> Result<usize, Error> {
    if runs <= 1 || len == 0 {
        return Ok(len);
    }
    match usize::try_from(value) {
        Ok(0) => Ok(len),
        Ok(stride) if stride >= least => Ok(stride),
        _ => Err(Error::Stride { argument: "stride", value, least }),
    }
}

// SAFETY: repr(C), the size first, then integers, pointers and such structs.
unsafe impl Versioned for RawOperand {
    const FIRST_SIZE: usize = offset_of!(Self, least);
}

// SAFETY: as for an operand.
unsafe impl Versioned for RawResult {
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl RawOperand {
    /// The operand, its offset and its range. They are written to their place, for the reason that
    /// [`read_in`](super::versioned::read_in) has.
    ///
    /// # Safety
    /// Data and offset reach as far as they say, and are unchanged for `'a`.
    pub(super) unsafe fn factor<'a>(&self, side: Side, to: &mut Factor<'a>) -> Result<(), Error> {
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            if let Some(packed) = self.packed.as_ref().map(PackedHandle::get) {
                self.check_packed(side, packed)?;
                *to = Factor::packed(packed, self.offset(side, packed.lines())?);
            } else {
                let view = self.view(side)?;
                *to = Factor::new(view, self.offset(side, view.lines)?);
            }
        }
        to.promise(self.range(to.encoding())?);
        Ok(())
    }

    /// Beside a packed operand nothing else may be given, or the same.
    fn check_packed(&self, side: Side, packed: &Packed) -> Result<(), Error> {
        if !self.data.is_null() {
            return Err(Error::Given { argument: "data" });
        }
        if packed.purpose().side != side {
            return Err(Error::PackedSide { side: packed.purpose().side });
        }
        let (lines, depth) = (packed.lines(), packed.depth());
        let (rows, cols) = if side == Side::Lhs { (lines, depth) } else { (depth, lines) };
        for (argument, value, packed) in [("rows", self.rows, rows), ("cols", self.cols, cols)] {
            let value = size(argument, value)?;
            if value != 0 && value != packed {
                return Err(Error::Mismatch { argument, value, other: "what was packed", expected: packed });
            }
        }
        if self.r#type != 0 && encoding(self.r#type)? != packed.encoding() {
            let expected = "0 or the type that was packed";
            return Err(Error::Type { argument: "type", value: self.r#type, expected });
        }
        Ok(())
    }

    /// What is promised of the elements.
    #[inline(always)]
    pub(super) fn range(&self, encoding: Encoding) -> Result<ElementRange, Error> {
        let &Self { least, greatest, .. } = self;
        let all = ElementRange::all(encoding);
        if (least, greatest) == (0, 0) {
            return Ok(all);
        }
        for (argument, value) in [("least", least), ("greatest", greatest)] {
            if !(all.least..=all.greatest).contains(&value) {
                let expected = if encoding == Encoding::U8 { "0 to 255" } else { "-128 to 127" };
                return Err(Error::Parameter { argument, value: value.into(), expected });
            }
        }
        if greatest < least {
            let expected = "at least what least is";
            return Err(Error::Parameter { argument: "greatest", value: greatest.into(), expected });
        }
        Ok(ElementRange { least, greatest })
    }

    /// # Safety
    /// `data` reaches as far as sizes and stride say, and is unchanged for `'a`.
    #[inline(always)]
    pub(super) unsafe fn view<'a>(&self, side: Side) -> Result<Operand<'a>, Error> {
        let encoding = encoding(self.r#type)?;
        let (rows, cols) = (size("rows", self.rows)?, size("cols", self.cols)?);
        let major = major("order", self.order)?;
        let runs = if major == Major::Row { (rows, cols) } else { (cols, rows) };
        let stride = stride(self.stride, runs, 1)?;
        if self.data.is_null() && rows > 0 && cols > 0 {
            return Err(Error::Null { argument: "data" });
        }
        let (lines, depth) = if side == Side::Lhs { (rows, cols) } else { (cols, rows) };
        let order =
            if (side == Side::Lhs) == (major == Major::Row) { Order::DepthContiguous } else { Order::LineContiguous };
        // SAFETY: this function's own promise.
        unsafe { Operand::from_raw(self.data.cast(), (lines, depth), stride, order, encoding) }
            .ok_or(Error::TooLarge { argument: "data" })
    }

    /// # Safety
    /// The offset's data has as many values as it says, unchanged for `'a`.
    #[inline(always)]
    pub(super) unsafe fn offset<'a>(&self, side: Side, lines: usize) -> Result<Offset<'a>, Error> {
        let wanted = match side {
            Side::Lhs => QGEMM_PER_ROW,
            Side::Rhs => QGEMM_PER_COL,
        };
        match self.offset.axis {
            QGEMM_UNIFORM => Ok(Offset::Uniform(self.offset.value)),
            axis if axis == wanted => {
                // SAFETY: this function's own promise.
                unsafe { vector("offset", self.offset.data, self.offset.len, lines) }.map(Offset::PerLine)
            }
            value => Err(Error::Option { argument: "offset.axis", value }),
        }
    }
}

impl RawResult {
    /// None at all.
    pub(super) const EMPTY: Self = Self {
        struct_size: size_of::<Self>(),
        data: ptr::null_mut(),
        rows: 0,
        cols: 0,
        stride: 0,
        r#type: QGEMM_TYPE_S32,
        order: QGEMM_ROW_MAJOR,
    };

    #[inline]
    pub(super) fn major(&self) -> Result<Major, Error> {
        major("order", self.order)
    }

    /// Rows and columns.
    #[inline]
    pub(super) fn shape(&self) -> Result<(usize, usize), Error> {
        Ok((size("rows", self.rows)?, size("cols", self.cols)?))
    }

    /// The result, or its transpose: whichever is row-major.
    ///
    /// # Safety
    /// `data` reaches as far as sizes and stride say, and nobody else uses it for `'a`.
    #[inline(always)]
    pub(super) unsafe fn view<'a, T>(&self) -> Result<Output<'a, T>, Error> {
        let (rows, cols) = match (self.major()?, self.shape()?) {
            (Major::Row, shape) => shape,
            (Major::Col, (rows, cols)) => (cols, rows),
        };
        let stride = stride(self.stride, (rows, cols), cols)?;
        let data = self.data.cast::<T>();
        if rows > 0 && cols > 0 {
            if data.is_null() {
                return Err(Error::Null { argument: "data" });
            }
            check_pointer("data", data)?;
        }
        // SAFETY: this function's own promise; `stride` keeps the rows apart.
        unsafe { Output::from_raw(data, (rows, cols), stride) }.ok_or(Error::TooLarge { argument: "data" })
    }
}

#[inline]
pub(super) fn check_pointer<T>(argument: &'static str, data: *const T) -> Result<(), Error> {
    match data {
        _ if data.is_null() => Err(Error::Missing { argument }),
        _ if !data.is_aligned() => Err(Error::Alignment { argument, unit: align_of::<T>() }),
        _ => Ok(()),
    }
}

/// The first `count` of the `len` values at `data`.
///
/// # Safety
/// `data` has `len` values, unchanged for `'a`.
#[inline]
pub(super) unsafe fn vector<'a, T>(
    argument: &'static str,
    data: *const T,
    len: i64,
    count: usize,
) -> Result<&'a [T], Error> {
    if usize::try_from(len).is_ok_and(|len| len >= count) {
        if count > 0 {
            check_pointer(argument, data)?;
        }
        // SAFETY: this function's own promise.
        unsafe { slice(data, count) }.ok_or(Error::TooLarge { argument })
    } else {
        Err(Error::VectorLength { argument, len, least: count })
    }
}

/// The shape of the caller's result, and whether the library computes its transpose.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub rows: usize,
    pub cols: usize,
    pub major: Major,
}

impl Frame {
    /// Rows and columns of what the library computes.
    pub(super) fn computed(&self) -> (usize, usize) {
        if self.major == Major::Row { (self.rows, self.cols) } else { (self.cols, self.rows) }
    }

    /// The sides of the row-major result that is computed. A column-major one is the row-major transpose, and
    /// (A B)ᵀ = Bᵀ Aᵀ: as lines × depth the operands stay what they are and change sides.
    pub(super) fn sides<'f, 'a>(&self, lhs: &'f Factor<'a>, rhs: &'f Factor<'a>) -> [&'f Factor<'a>; 2] {
        if self.major == Major::Row { [lhs, rhs] } else { [rhs, lhs] }
    }

    /// # Safety
    /// `data` has `len` values, unchanged for `'a`.
    #[inline(always)]
    unsafe fn values<'a, T: Copy>(
        &self,
        argument: &'static str,
        (data, len, value, axis): (*const T, i64, T, u32),
    ) -> Result<Values<'a, T>, Error> {
        let count = match axis {
            QGEMM_UNIFORM => return Ok(Values::Uniform(value)),
            QGEMM_PER_ROW => self.rows,
            QGEMM_PER_COL => self.cols,
            value => return Err(Error::Option { argument, value }),
        };
        // SAFETY: this function's own promise.
        let values = unsafe { vector(argument, data, len, count)? };
        // The rows of the transpose are the columns.
        Ok(match (axis == QGEMM_PER_ROW) == (self.major == Major::Row) {
            true => Values::PerRow(values),
            false => Values::PerCol(values),
        })
    }

    /// # Safety
    /// The data of `raw` has as many values as it says, unchanged for `'a`.
    #[inline(always)]
    pub(super) unsafe fn integers<'a>(
        &self,
        argument: &'static str,
        raw: &I32Values,
    ) -> Result<Values<'a, i32>, Error> {
        // SAFETY: this function's own promise.
        unsafe { self.values(argument, (raw.data, raw.len, raw.value, raw.axis)) }
    }

    /// # Safety
    /// As for `integers`.
    pub(super) unsafe fn floats<'a>(&self, argument: &'static str, raw: &F32Values) -> Result<Values<'a, f32>, Error> {
        // SAFETY: this function's own promise.
        let values = unsafe { self.values(argument, (raw.data, raw.len, raw.value, raw.axis))? };
        match values.except(f32::is_finite) {
            None => Ok(values),
            Some(x) => Err(Error::Parameter { argument, value: x.into(), expected: "a finite number" }),
        }
    }
}
