//! Adding another quantized tensor of the result's shape: the shortcut of a residual network.

use super::values::Word;
use crate::half::{from_bf16, from_f16};
use crate::matrix::{Runs, extent};
use std::marker::PhantomData;
use std::ops::Range;

/// What the elements of a residual are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 0 to 255.
    U8,
    /// -128 to 127.
    I8,
    /// -32768 to 32767.
    I16,
    /// Any 32-bit integer.
    I32,
    /// A float.
    F32,
    /// The upper half of a float.
    Bf16,
    /// A float of 16 bits, IEEE's binary16.
    F16,
}

impl Element {
    /// Bytes that one takes, and the unit of its alignment.
    pub const fn size(self) -> usize {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::I16 | Element::Bf16 | Element::F16 => 2,
            Element::I32 | Element::F32 => 4,
        }
    }

    /// Whether they have no zero point.
    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Element::F32 | Element::Bf16 | Element::F16)
    }
}

/// A view of the caller's memory with an element for each of the result's.
#[derive(Clone, Copy, Debug)]
pub struct Residual<'a> {
    data: *const u8,
    element: Element,
    /// Elements from one row to the next, and from one column to the next.
    steps: (usize, usize),
    shape: (usize, usize),
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a residual is only read, and what it points at is shared for its lifetime.
unsafe impl Send for Residual<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Residual<'_> {}

impl Residual<'_> {
    /// A view of rows × columns elements at `data`; element (i, j) lies `i * steps.0 + j * steps.1` elements on, and one of
    /// the steps is 1. None if the view reaches beyond the address space.
    ///
    /// # Safety
    /// Every element lies within one allocated object, is aligned, and is readable and unchanged for `'a`, but for the
    /// very product that reads it: that may write its result over the residual if their elements lie in the same places.
    pub unsafe fn from_raw(
        data: *const u8,
        element: Element,
        shape: (usize, usize),
        steps: (usize, usize),
    ) -> Option<Self> {
        debug_assert!(steps.0 == 1 || steps.1 == 1);
        let (runs, len, stride) = if steps.1 == 1 { (shape.0, shape.1, steps.0) } else { (shape.1, shape.0, steps.1) };
        extent::<[u8; 4]>(data.cast(), runs, len, stride)?;
        Some(Self { data, element, steps, shape, lifetime: PhantomData })
    }

    /// As [`Residual::from_raw`], of a single row or column or element, which stands for all: the steps are (0, 1), (1, 0)
    /// or (0, 0).
    ///
    /// # Safety
    /// As for [`Residual::from_raw`].
    pub unsafe fn spread(
        data: *const u8,
        element: Element,
        shape: (usize, usize),
        steps: (usize, usize),
    ) -> Option<Self> {
        debug_assert!(matches!(steps, (0, 1) | (1, 0) | (0, 0)));
        let residual = Self { data, element, steps, shape, lifetime: PhantomData };
        extent::<[u8; 4]>(data.cast(), 1, residual.elements(), 0)?;
        Some(residual)
    }

    /// How many elements a residual has that is spread.
    fn elements(&self) -> usize {
        let ((rows, cols), (row_step, col_step)) = (self.shape, self.steps);
        if rows == 0 || cols == 0 { 0 } else { 1 + (rows - 1) * row_step + (cols - 1) * col_step }
    }

    pub(super) fn element(&self) -> Element {
        self.element
    }

    /// Whether its elements lie in the very places of the result's: then each is read before it is written.
    pub(crate) fn lies_in(&self, result: &Runs, result_element: usize) -> bool {
        self.element.size() == result_element && self.steps.1 == 1 && self.runs() == *result
    }

    /// Where the elements' bytes lie.
    pub(crate) fn runs(&self) -> Runs {
        let size = self.element.size();
        let ((rows, cols), (row_step, col_step)) = (self.shape, self.steps);
        match col_step {
            _ if row_step == 0 || col_step == 0 => Runs::new(self.data.addr(), 1, self.elements() * size, 0),
            1 => Runs::new(self.data.addr(), rows, cols * size, row_step * size),
            _ => Runs::new(self.data.addr(), cols, rows * size, col_step * size),
        }
    }

    /// Reads a stretch of a row, as integers or the bits of floats.
    #[inline(always)]
    pub(super) fn read(&self, row: usize, cols: Range<usize>, to: &mut [i32]) {
        // SAFETY: the element says what lies there, for each.
        unsafe {
            match self.element {
                Element::U8 => self.read_as::<u8>(row, cols, to, i32::from),
                Element::I8 => self.read_as::<i8>(row, cols, to, i32::from),
                Element::I16 => self.read_as::<i16>(row, cols, to, i32::from),
                Element::I32 | Element::F32 => self.read_as::<i32>(row, cols, to, |x| x),
                Element::Bf16 => self.read_as::<u16>(row, cols, to, |x| from_bf16(x).to_word()),
                Element::F16 => self.read_as::<u16>(row, cols, to, |x| from_f16(x).to_word()),
            }
        }
    }

    /// # Safety
    /// The elements are of type `T`.
    #[inline(always)]
    unsafe fn read_as<T: Copy>(&self, row: usize, cols: Range<usize>, to: &mut [i32], of: impl Fn(T) -> i32) {
        assert!(row < self.shape.0 && cols.end <= self.shape.1);
        let from = self.data.cast::<T>().wrapping_add(row * self.steps.0);
        let to = &mut to[..cols.len()];
        if self.steps.1 == 1 {
            for (to, col) in to.iter_mut().zip(cols) {
                // SAFETY: within the shape, so readable by the promise made to `from_raw`.
                *to = of(unsafe { from.wrapping_add(col).read() });
            }
        } else if self.steps.1 == 0 {
            // SAFETY: as above; a part of a row is never empty.
            to.fill(of(unsafe { from.read() }));
        } else {
            for (to, col) in to.iter_mut().zip(cols) {
                // SAFETY: as above.
                *to = of(unsafe { from.wrapping_add(col * self.steps.1).read() });
            }
        }
    }
}
