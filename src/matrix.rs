//! Views of the caller's matrices: the only place where a caller's pointer becomes a slice.

mod lines;
mod output;

pub(crate) use lines::{Chunks, Gaps, Lines, Steps};
pub(crate) use output::Block;
pub use output::Output;
use std::marker::PhantomData;
use std::ops::Range;

/// How a byte stands for a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// 0 to 255.
    U8,
    /// -128 to 127, two's complement.
    S8,
}

impl Encoding {
    /// The number that the byte `b` stands for.
    #[inline(always)]
    pub(crate) fn decode(self, b: u8) -> i32 {
        match self {
            Encoding::U8 => i32::from(b),
            Encoding::S8 => i32::from(b as i8),
        }
    }

    /// The encoding that it is not.
    pub(crate) fn other(self) -> Self {
        match self {
            Encoding::U8 => Encoding::S8,
            Encoding::S8 => Encoding::U8,
        }
    }

    /// What a byte is XORed with to stand for its number, less [`Encoding::shift_to`], in `to`.
    #[inline(always)]
    pub(crate) fn flip_to(self, to: Encoding) -> u8 {
        if self == to { 0 } else { 0x80 }
    }

    /// What flipping the top bit adds to a number when `self` is read as `to`.
    pub(crate) fn shift_to(self, to: Encoding) -> i32 {
        match (self, to) {
            (Encoding::U8, Encoding::S8) => -128,
            (Encoding::S8, Encoding::U8) => 128,
            _ => 0,
        }
    }
}

/// Which dimension of an operand runs contiguously in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The depth, within a line: a row-major LHS or a column-major RHS.
    DepthContiguous,
    /// The lines, at one depth: a column-major LHS or a row-major RHS.
    LineContiguous,
}

/// One side of a product, seen as lines × depth: a line is a row of the LHS or a column of the RHS.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    data: *const u8,
    stride: usize,
    pub(crate) lines: usize,
    pub(crate) depth: usize,
    pub(crate) order: Order,
    pub(crate) encoding: Encoding,
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: an operand is only read, and what it points at is shared for its lifetime.
unsafe impl Send for Operand<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Operand<'_> {}

impl<'a> Operand<'a> {
    /// That of no elements.
    pub(crate) const EMPTY: Self = Self {
        data: std::ptr::dangling(),
        stride: 0,
        lines: 0,
        depth: 0,
        order: Order::DepthContiguous,
        encoding: Encoding::U8,
        lifetime: PhantomData,
    };

    /// A view of `lines` × `depth` bytes at `data`; `stride` bytes lie between the starts of two contiguous runs,
    /// which may overlap. None if the view reaches beyond the address space.
    ///
    /// # Safety
    /// Every contiguous run of the view is readable and unchanged for `'a`.
    #[inline(always)]
    pub unsafe fn from_raw(
        data: *const u8,
        (lines, depth): (usize, usize),
        stride: usize,
        order: Order,
        encoding: Encoding,
    ) -> Option<Self> {
        // A single line without gaps lies along the depth as well, which is quicker to read.
        let is_vector = order == Order::LineContiguous && lines == 1 && stride == 1;
        let (order, stride) = if is_vector { (Order::DepthContiguous, depth) } else { (order, stride) };
        let (runs, len) = match order {
            Order::DepthContiguous => (lines, depth),
            Order::LineContiguous => (depth, lines),
        };
        // A null pointer will do for no elements, but not for a slice of none.
        let data = if runs == 0 || len == 0 { std::ptr::dangling() } else { data };
        extent::<u8>(data, runs, len, stride)?;
        Some(Self { data, stride, lines, depth, order, encoding, lifetime: PhantomData })
    }

    /// The same view of other elements.
    ///
    /// # Safety
    /// As for [`Operand::from_raw`], and it does not reach beyond the address space.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, data: *const u8) -> Self {
        Self { data, ..*self }
    }

    /// As [`Operand::from_raw`], of a slice.
    ///
    /// # Panics
    /// If the view reaches beyond `data`.
    pub fn new(
        data: &'a [u8],
        (lines, depth): (usize, usize),
        stride: usize,
        order: Order,
        encoding: Encoding,
    ) -> Self {
        // SAFETY: the assertion below holds every run within `data`.
        let view = unsafe {
            Self::from_raw(data.as_ptr(), (lines, depth), stride, order, encoding)
                .expect("the view fits the address space")
        };
        assert!(view.runs().extent() <= data.len(), "the view reaches beyond its data");
        view
    }

    /// The contiguous run `index`: a whole line, or all lines at one depth.
    #[inline(always)]
    pub(crate) fn run(&self, index: usize) -> &'a [u8] {
        let runs = self.runs();
        assert!(index < runs.count);
        // SAFETY: whoever made the view promised that this run is readable.
        unsafe { std::slice::from_raw_parts(self.data.add(index * self.stride), runs.len) }
    }

    /// All contiguous runs, each from the byte `at` on.
    #[inline(always)]
    pub(crate) fn tails(&self, at: usize) -> Lines<'a> {
        let runs = self.runs();
        assert!(at <= runs.len);
        // SAFETY: whoever made the view promised that these runs are readable.
        unsafe { Lines::from_raw(self.data.wrapping_add(at), (runs.count, self.stride), runs.len - at) }
    }

    /// These contiguous runs, one after the other, if nothing lies between them.
    #[inline(always)]
    pub(crate) fn solid(&self, some: Range<usize>) -> Option<&'a [u8]> {
        let runs = self.runs();
        if runs.len != self.stride {
            return None;
        }
        assert!(some.start <= some.end && some.end <= runs.count);
        // SAFETY: whoever made the view promised that these runs are readable, and one ends where the next begins.
        Some(unsafe { std::slice::from_raw_parts(self.data.add(some.start * runs.len), some.len() * runs.len) })
    }

    /// What is left of the contiguous run `index` from the byte `at` on, and those that follow if nothing lies between runs.
    #[inline(always)]
    pub(crate) fn rest(&self, index: usize, at: usize) -> &'a [u8] {
        let runs = self.runs();
        assert!(index < runs.count && at <= runs.len);
        let following = if runs.len == self.stride { (runs.count - 1 - index) * runs.len } else { 0 };
        // SAFETY: whoever made the view promised that these runs are readable, and one ends where the next begins.
        unsafe { std::slice::from_raw_parts(self.data.add(index * self.stride + at), runs.len - at + following) }
    }

    /// A part of each of `N` contiguous runs from `index` on.
    #[inline(always)]
    pub(crate) fn parts<const N: usize>(&self, index: usize, part: Range<usize>) -> [&'a [u8]; N] {
        let runs = self.runs();
        assert!(N <= runs.count && index <= runs.count - N && part.start <= part.end && part.end <= runs.len);
        let mut parts: [&[u8]; N] = [&[]; N];
        for (i, to) in parts.iter_mut().enumerate() {
            // SAFETY: whoever made the view promised that this run is readable.
            *to = unsafe {
                std::slice::from_raw_parts(self.data.add((index + i) * self.stride + part.start), part.len())
            };
        }
        parts
    }

    /// `N` bytes of the contiguous run `index`, from the byte `at` on.
    #[inline(always)]
    pub(crate) fn chunk<const N: usize>(&self, index: usize, at: usize) -> &'a [u8; N] {
        let runs = self.runs();
        assert!(index < runs.count && at <= runs.len && runs.len - at >= N);
        // SAFETY: whoever made the view promised that this run is readable.
        unsafe { &*self.data.add(index * self.stride + at).cast::<[u8; N]>() }
    }

    /// `N` bytes of each of these contiguous runs, from the byte `at` on.
    #[inline(always)]
    pub(crate) fn chunks<const N: usize>(&self, indices: Range<usize>, at: usize) -> Chunks<'a, N> {
        let runs = self.runs();
        assert!(indices.start <= indices.end && indices.end <= runs.count && at <= runs.len && runs.len - at >= N);
        // Of no chunks it does not matter where they begin.
        let start = self.data.wrapping_add(indices.start.wrapping_mul(self.stride).wrapping_add(at));
        Chunks { start, stride: self.stride, count: indices.len(), lifetime: PhantomData }
    }

    /// Whether each contiguous run ends where the next begins.
    pub(crate) fn is_without_gaps(&self) -> bool {
        self.stride == self.runs().len
    }

    /// So many contiguous runs from `index` on: one, or such as lie without gaps.
    #[inline(always)]
    pub(crate) fn adjacent(&self, index: usize, count: usize) -> &'a [u8] {
        let runs = self.runs();
        assert!(count <= runs.count && index <= runs.count - count && (count == 1 || runs.stride == runs.len));
        // SAFETY: whoever made the view promised that these runs are readable, and each ends where the next begins.
        unsafe { std::slice::from_raw_parts(self.data.add(index * self.stride), count * runs.len) }
    }

    /// Bytes from one contiguous run to the next: kernels for x86 fetch ahead by it, and packing for them.
    #[inline(always)]
    pub(crate) fn pitch(&self) -> usize {
        self.stride
    }

    /// Some of the lines over a stretch of the depth.
    pub(crate) fn part(&self, lines: Range<usize>, depth: Range<usize>) -> Self {
        assert!(lines.start <= lines.end && lines.end <= self.lines);
        assert!(depth.start <= depth.end && depth.end <= self.depth);
        let (run, at) = match self.order {
            Order::DepthContiguous => (lines.start, depth.start),
            Order::LineContiguous => (depth.start, lines.start),
        };
        // Of a part without elements it does not matter where it begins.
        let data = self.data.wrapping_add(run.wrapping_mul(self.stride).wrapping_add(at));
        Self { data, lines: lines.len(), depth: depth.len(), ..*self }
    }

    /// Its lines, whose depth is contiguous.
    pub(crate) fn lines(&self) -> Lines<'a> {
        assert_eq!(self.order, Order::DepthContiguous);
        // SAFETY: whoever made the view promised that every line is readable.
        unsafe { Lines::from_raw(self.data, (self.lines, self.stride), self.depth) }
    }

    /// Copies the bytes of one line.
    pub(crate) fn copy_line(&self, line: usize, to: &mut [u8]) {
        match self.order {
            Order::DepthContiguous => to.copy_from_slice(self.run(line)),
            Order::LineContiguous => (0..self.depth).zip(to).for_each(|(d, to)| *to = self.run(d)[line]),
        }
    }

    /// Where the view's bytes lie.
    #[inline]
    pub(crate) fn runs(&self) -> Runs {
        let (count, len) = match self.order {
            Order::DepthContiguous => (self.lines, self.depth),
            Order::LineContiguous => (self.depth, self.lines),
        };
        Runs { start: self.data.addr(), count, len, stride: self.stride }
    }
}

/// What is added to the elements of an operand before they are multiplied: minus its zero point, as a rule.
#[derive(Clone, Copy, Debug)]
pub enum Offset<'a> {
    /// The same to all.
    Uniform(i32),
    /// To each line its own.
    PerLine(&'a [i32]),
}

/// The `count` values at `data`. None if they reach beyond the address space.
///
/// # Safety
/// If there are any, `data` is aligned, and they are readable and unchanged for `'a`.
#[inline]
pub(crate) unsafe fn slice<'a, T>(data: *const T, count: usize) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    extent(data, 1, count, 0)?;
    // SAFETY: this function's own promise.
    Some(unsafe { std::slice::from_raw_parts(data, count) })
}

/// Where the bytes of values lie.
pub(crate) fn bytes_of<T>(values: &[T]) -> Runs {
    Runs::new(values.as_ptr().addr(), 1, size_of_val(values), 0)
}

/// How far, in bytes, `runs` runs of `len` elements reach; a stride between fewer than two runs counts for nothing.
#[inline(always)]
pub(crate) fn extent<T>(data: *const T, runs: usize, len: usize, stride: usize) -> Option<usize> {
    if runs == 0 || len == 0 {
        return Some(0);
    }
    (runs - 1)
        .checked_mul(stride)
        .and_then(|x| x.checked_add(len))
        .and_then(|x| x.checked_mul(size_of::<T>()))
        .filter(|&x| isize::try_from(x).is_ok() && data.addr().checked_add(x).is_some())
}

/// The bytes of a strided matrix: `count` runs of `len` bytes, `stride` bytes from the start of one to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Runs {
    start: usize,
    pub count: usize,
    len: usize,
    stride: usize,
}

impl Runs {
    pub(crate) fn new(start: usize, count: usize, len: usize, stride: usize) -> Self {
        Self { start, count, len, stride }
    }

    /// How many bytes belong to them.
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.len
    }

    /// How far the last one reaches from the start of the first.
    #[inline]
    pub(crate) fn extent(&self) -> usize {
        if self.count == 0 || self.len == 0 {
            return 0;
        }
        (self.count - 1) * self.stride + self.len
    }

    #[inline]
    fn end(&self) -> usize {
        self.start + self.extent()
    }

    /// The addresses of some bytes of one of them.
    #[inline(always)]
    pub(crate) fn part(&self, run: usize, bytes: Range<usize>) -> Range<usize> {
        let start = self.start.wrapping_add(run.wrapping_mul(self.stride));
        start.wrapping_add(bytes.start)..start.wrapping_add(bytes.end)
    }

    /// From the first to the last, gaps included.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.end()
    }

    /// Whether any byte belongs to both. The gaps between runs belong to neither, so two matrices may lie side by side
    /// in one larger one.
    #[inline]
    pub(crate) fn overlap(&self, other: &Runs) -> bool {
        self.start < other.end() && other.start < self.end() && self.share_a_byte(other)
    }

    /// The same, run by run.
    #[cold]
    fn share_a_byte(&self, other: &Runs) -> bool {
        if self.extent() == 0 || other.extent() == 0 {
            return false;
        }
        (0..self.count).any(|i| other.meets(self.start + i * self.stride, self.len))
    }

    /// Whether any run meets the `len` bytes from `start` on.
    fn meets(&self, start: usize, len: usize) -> bool {
        let end = start + len;
        if self.stride == 0 {
            return self.start < end && start < self.start + self.len;
        }
        // The first run that ends after `start`; if that one begins too late, so do all others.
        let first = match (start + 1).checked_sub(self.start + self.len) {
            Some(beyond) => beyond.div_ceil(self.stride),
            None => 0,
        };
        first < self.count && self.start + first * self.stride < end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_overlap_when_they_share_a_byte(
            a in (0usize..60, 0usize..5, 0usize..9, 0usize..12),
            b in (0usize..60, 0usize..5, 0usize..9, 0usize..12),
        ) {
            let runs = |(start, count, len, stride)| Runs { start: 1000 + start, count, len, stride };
            let bytes = |r: Runs| -> Vec<usize> {
                (0..r.count).flat_map(|i| (0..r.len).map(move |j| r.start + i * r.stride + j)).collect()
            };
            let (a, b) = (runs(a), runs(b));
            let shared = bytes(a).iter().any(|x| bytes(b).contains(x));
            prop_assert_eq!(a.overlap(&b), shared, "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn a_view_beyond_the_address_space_is_refused() {
        let huge = 1 << 33;
        for (runs, len, stride) in [(huge, 1, huge), (2, 1, usize::MAX), (1, usize::MAX, 0)] {
            assert_eq!(extent::<f32>(std::ptr::null(), runs, len, stride), None);
        }
        assert_eq!(extent::<f32>(std::ptr::null(), 0, huge, usize::MAX), Some(0));
        assert_eq!(extent::<f32>(std::ptr::null(), 1, 8, usize::MAX), Some(32));
    }
}
