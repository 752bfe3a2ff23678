//! Where results go: rows of elements that a view keeps apart, and parts of them that are lent one by one.

use super::{Runs, extent};
use std::marker::PhantomData;
use std::ops::Range;

/// Where the result goes: row-major, `stride` elements from one row to the next.
pub struct Output<'a, T> {
    data: *mut T,
    stride: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: threads share an output only to call `block`, whose callers keep their parts apart.
unsafe impl<T: Send> Sync for Output<'_, T> {}

impl<'a, T> Output<'a, T> {
    /// A view of `rows` × `cols` elements at `data`. None if it reaches beyond the address space.
    ///
    /// # Safety
    /// Every row of the view is writable and used by nobody else for `'a`; where there are several, `stride >= cols`.
    #[inline]
    pub unsafe fn from_raw(data: *mut T, (rows, cols): (usize, usize), stride: usize) -> Option<Self> {
        debug_assert!(rows <= 1 || stride >= cols);
        extent::<T>(data, rows, cols, stride)?;
        Some(Self { data, stride, rows, cols, lifetime: PhantomData })
    }

    /// The same view of other elements.
    ///
    /// # Safety
    /// As for [`Output::from_raw`], and it does not reach beyond the address space.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, data: *mut T) -> Self {
        Self { data, ..*self }
    }

    /// As [`Output::from_raw`], of a slice.
    ///
    /// # Panics
    /// If the view reaches beyond `data` or its rows overlap.
    pub fn new(data: &'a mut [T], (rows, cols): (usize, usize), stride: usize) -> Self {
        assert!(rows <= 1 || stride >= cols, "rows overlap");
        // SAFETY: the assertions hold every row within `data`, apart from the others.
        let view = unsafe {
            Self::from_raw(data.as_mut_ptr(), (rows, cols), stride).expect("the view fits the address space")
        };
        assert!(view.runs().extent() <= size_of_val(data), "the view reaches beyond its data");
        view
    }

    /// The elements `cols` of each of `rows`.
    ///
    /// # Safety
    /// No other part of the same elements is alive, nor are two of what this gives, or clones of it, of the same row.
    #[inline(always)]
    pub(crate) unsafe fn block(&self, rows: Range<usize>, cols: Range<usize>) -> Block<'_, T> {
        assert!(rows.end <= self.rows && cols.start <= cols.end && cols.end <= self.cols);
        let &Self { data, stride, .. } = self;
        let data = data.wrapping_add(rows.start.wrapping_mul(stride).wrapping_add(cols.start));
        Block { data, stride, rows: rows.len(), cols: cols.len(), lifetime: PhantomData }
    }

    /// A column without gaps as a row.
    pub(crate) fn turned(&self) -> Option<Self> {
        let is_solid = self.cols == 1 && (self.rows == 1 || self.stride == 1);
        is_solid.then_some(Self { stride: self.rows, rows: 1, cols: self.rows, ..*self })
    }

    /// Where it begins, and how many elements its rows are apart.
    pub(crate) fn place(&self) -> (*mut T, usize) {
        (self.data, self.stride)
    }

    /// The same view, of elements of one byte, as bytes.
    pub(crate) fn bytes(&self) -> Output<'a, u8> {
        const { assert!(size_of::<T>() == 1) }
        Output { data: self.data.cast(), stride: self.stride, rows: self.rows, cols: self.cols, lifetime: PhantomData }
    }

    /// Where the view's bytes lie.
    #[inline]
    pub(crate) fn runs(&self) -> Runs {
        Runs {
            start: self.data.addr(),
            count: self.rows,
            // Without elements they may be any number.
            len: self.cols.wrapping_mul(size_of::<T>()),
            stride: self.stride.wrapping_mul(size_of::<T>()),
        }
    }
}

/// Rows of a part of an output, one after the other.
#[derive(Clone)]
pub(crate) struct Block<'a, T> {
    data: *mut T,
    stride: usize,
    /// How many are left.
    rows: usize,
    cols: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

impl<'a, T> Block<'a, T> {
    /// Whether so many rows of so many columns are left.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn is_of(&self, rows: usize, cols: usize) -> bool {
        (self.rows, self.cols) == (rows, cols)
    }

    /// The elements of the next rows, if they are `N` and nothing lies between them.
    #[inline(always)]
    pub(crate) fn solid<const N: usize>(&mut self, rows: usize) -> Option<&'a mut [T; N]> {
        let are_solid = self.stride == self.cols && rows * self.cols == N && rows <= self.rows;
        if are_solid { self.take(rows, N).first_chunk_mut() } else { None }
    }

    /// The next rows, if as many are left, and this is how many columns they have.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn whole<const ROWS: usize, const COLS: usize>(&mut self) -> Option<[&'a mut [T; COLS]; ROWS]> {
        // SAFETY: so it is then.
        if self.cols != COLS || self.rows < ROWS { None } else { Some(unsafe { self.take_whole() }) }
    }

    /// The next rows.
    ///
    /// # Safety
    /// As many are left, and this is how many columns they have.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) unsafe fn take_whole<const ROWS: usize, const COLS: usize>(&mut self) -> [&'a mut [T; COLS]; ROWS] {
        debug_assert!(self.cols == COLS && self.rows >= ROWS);
        std::array::from_fn(|_| self.take(1, COLS).first_chunk_mut().expect("as many columns"))
    }

    /// All rows, so many at a time, as long as as many are left; none if this is not how many columns they have.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn wholes<const ROWS: usize, const COLS: usize>(
        mut self,
    ) -> impl Iterator<Item = [&'a mut [T; COLS]; ROWS]> {
        let count = if self.cols == COLS { self.rows / ROWS } else { 0 };
        (0..count).map(move |_| {
            std::array::from_fn(|_| Self::take(&mut self, 1, COLS).first_chunk_mut().expect("as many columns"))
        })
    }

    /// Goes on behind so many rows, which are left.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn skip_rows(&mut self, rows: usize) {
        assert!(rows <= self.rows);
        self.take(rows, 0);
    }

    /// As many elements, from the next row on, that lie side by side; `rows` of those that are left begin there.
    #[inline(always)]
    fn take(&mut self, rows: usize, elements: usize) -> &'a mut [T] {
        let data = self.data;
        self.data = data.wrapping_add(rows.wrapping_mul(self.stride));
        self.rows -= rows;
        // SAFETY: within rows, which are writable by the promise made to `from_raw`; disjoint by that made to `block`.
        unsafe { std::slice::from_raw_parts_mut(data, elements) }
    }
}

impl<'a, T> Iterator for Block<'a, T> {
    type Item = &'a mut [T];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a mut [T]> {
        if self.rows == 0 { None } else { Some(self.take(1, self.cols)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_gaps_are_lent_together_and_others_one_by_one() {
        let mut data = [0u8; 5 * 6];
        let output = Output::new(&mut data, (5, 6), 6);
        // SAFETY: nothing else uses the elements, nor is any row lent twice.
        let mut whole = unsafe { output.block(1..5, 0..6) };
        assert!(whole.solid::<12>(1).is_none() && whole.solid::<30>(5).is_none());
        whole.solid::<12>(2).unwrap().fill(1);
        whole.next().unwrap().fill(2);
        assert!(whole.solid::<12>(2).is_none());
        whole.next().unwrap().fill(3);
        assert!(whole.next().is_none());
        // SAFETY: as above.
        let mut part = unsafe { output.block(0..1, 2..4) };
        assert!(part.solid::<2>(1).is_none());
        part.next().unwrap().fill(4);
        let rows: Vec<&[u8]> = data.chunks(6).collect();
        assert_eq!(rows, [&[0, 0, 4, 4, 0, 0], &[1; 6], &[1; 6], &[2; 6], &[3; 6]]);
    }
}
