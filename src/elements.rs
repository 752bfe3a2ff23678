//! Elements of the caller's memory that loops map one by one.
//!
//! What is written may lie in the very place of what is read, so neither is ever a slice: a loop copies a few elements to
//! itself, makes others of them, and copies those out.

use crate::buffer::ALIGN;
use crate::caches::Caches;
use crate::context::Context;
use crate::kernel::{Loop, stream};
use crate::matrix::Runs;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Contiguous elements to read.
pub(crate) struct Elements<'a, T> {
    data: *const T,
    len: usize,
    lifetime: PhantomData<&'a [T]>,
}

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<'_, T> {}

// SAFETY: they are only read, and what `from_raw` was promised holds for all threads.
unsafe impl<T: Sync> Send for Elements<'_, T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Sync> Sync for Elements<'_, T> {}

impl<T: Copy> Elements<'_, T> {
    /// # Safety
    /// `len` elements can be read for `'a`, and nobody writes to them but whoever maps them, to the same place.
    pub(crate) unsafe fn from_raw(data: *const T, len: usize) -> Self {
        Self { data, len, lifetime: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where their bytes lie.
    pub(crate) fn runs(&self) -> Runs {
        Runs::new(self.data.addr(), 1, self.len * size_of::<T>(), 0)
    }

    /// Some of them.
    #[inline(always)]
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len);
        Self { data: self.data.wrapping_add(range.start), len: range.len(), ..*self }
    }

    /// `N` elements, from index `i` on.
    #[inline(always)]
    pub(crate) fn chunk<const N: usize>(&self, i: usize) -> [T; N] {
        assert!(i <= self.len && self.len - i >= N);
        // SAFETY: within the elements, which can be read.
        unsafe { self.data.add(i).cast::<[T; N]>().read_unaligned() }
    }

    /// The element of index `i`.
    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> T {
        self.chunk::<1>(i)[0]
    }

    /// Asks for the cache lines of so many elements, from index `i` on, whether they are there or not.
    #[inline(always)]
    pub(crate) fn fetch(&self, i: usize, count: usize) {
        for at in (0..count * size_of::<T>()).step_by(ALIGN) {
            stream::fetch(self.data.wrapping_add(i).wrapping_byte_add(at));
        }
    }

    /// Asks for the cache lines of as many elements as go together, [`AHEAD`] of index `i`.
    #[inline(always)]
    pub(crate) fn fetch_ahead(&self, i: usize) {
        self.fetch(i + AHEAD / size_of::<T>(), CHUNK);
    }

    /// Makes words of elements, from index `i` on. A loop over slices becomes vectors, which one over arrays seldom does.
    #[inline(always)]
    pub(crate) fn read<W>(&self, i: usize, words: &mut [W], of: impl Fn(T) -> W) {
        assert!(i <= self.len && self.len - i >= words.len());
        for (step, word) in words.iter_mut().enumerate() {
            // SAFETY: within the elements, which can be read.
            *word = of(unsafe { self.data.add(i + step).read_unaligned() });
        }
    }
}

impl<'a, T: Copy> From<&'a mut [T]> for ElementsMut<'a, T> {
    fn from(slice: &'a mut [T]) -> Self {
        // SAFETY: as the reference promises.
        unsafe { Self::from_raw(slice.as_mut_ptr(), slice.len()) }
    }
}

impl<'a> Elements<'a, i8> {
    /// Their bytes.
    pub(crate) fn bytes(&self) -> Elements<'a, u8> {
        Elements { data: self.data.cast(), len: self.len, lifetime: PhantomData }
    }
}

/// Runs of contiguous elements to read, `stride` elements from the start of one to the next.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a, T> {
    data: *const T,
    runs: usize,
    len: usize,
    stride: usize,
    lifetime: PhantomData<&'a [T]>,
}

// SAFETY: they are only read, and what `from_raw` was promised holds for all threads.
unsafe impl<T: Sync> Sync for Strided<'_, T> {}

impl<'a, T: Copy> Strided<'a, T> {
    /// # Safety
    /// The `len` elements of each run can be read for `'a`, and nobody writes to them.
    pub(crate) unsafe fn from_raw(data: *const T, (runs, len): (usize, usize), stride: usize) -> Self {
        Self { data, runs, len, stride, lifetime: PhantomData }
    }

    /// Elements from the start of a run to that of the next.
    #[inline(always)]
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Some of the runs.
    pub(crate) fn part(&self, runs: Range<usize>) -> Self {
        assert!(runs.start <= runs.end && runs.end <= self.runs);
        Self { data: self.data.wrapping_add(runs.start * self.stride), runs: runs.len(), ..*self }
    }

    /// The elements of a run.
    #[inline(always)]
    pub(crate) fn run(&self, index: usize) -> Elements<'a, T> {
        assert!(index < self.runs);
        // SAFETY: what this was made of was promised the same.
        unsafe { Elements::from_raw(self.data.wrapping_add(index * self.stride), self.len) }
    }
}

/// Contiguous elements to write.
pub(crate) struct ElementsMut<'a, T> {
    data: *mut T,
    len: usize,
    /// Whether they are written past the caches.
    is_far: bool,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: threads share them only to call `set`, whose callers keep their parts apart.
unsafe impl<T: Send> Sync for ElementsMut<'_, T> {}

impl<T: Copy> ElementsMut<'_, T> {
    /// # Safety
    /// `len` elements can be written for `'a`, and read if anybody asks for them, and nobody else uses them.
    pub(crate) unsafe fn from_raw(data: *mut T, len: usize) -> Self {
        Self { data, len, is_far: false, lifetime: PhantomData }
    }

    /// The same, written past the caches if they and what they are made of are too many for these and lie apart: their beginning
    /// would have left the last cache before their end is there. It pays where little else than memory is waited for.
    pub(crate) fn past_caches(self, from: &Runs) -> Self {
        let bytes = self.len * size_of::<T>();
        let is_much = bytes >= stream::LEAST && bytes + from.bytes() >= Caches::l3();
        if is_much && !self.runs().overlap(from) { self.far() } else { self }
    }

    /// The same, written past the caches if the processor can.
    pub(crate) fn far(self) -> Self {
        Self { is_far: stream::is_possible(), ..self }
    }

    /// The same, written to the caches.
    #[inline(always)]
    pub(crate) fn near(&self) -> Self {
        Self { is_far: false, ..*self }
    }

    /// Whether they are written past the caches.
    pub(crate) fn is_far(&self) -> bool {
        self.is_far
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where their bytes lie.
    pub(crate) fn runs(&self) -> Runs {
        Runs::new(self.data.addr(), 1, self.len * size_of::<T>(), 0)
    }

    /// Some of them.
    #[inline(always)]
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len);
        Self { data: self.data.wrapping_add(range.start), len: range.len(), ..*self }
    }

    /// The same once more: who has both keeps their parts apart, as threads do.
    #[inline(always)]
    pub(crate) fn again(&self) -> Self {
        Self { ..*self }
    }

    /// All of them.
    ///
    /// # Safety
    /// Nobody else uses them as long as the slice lives.
    #[expect(clippy::mut_from_ref, reason = "whoever calls it keeps the parts apart")]
    pub(crate) unsafe fn as_mut_slice(&self) -> &mut [T] {
        // SAFETY: they can be read and written; and this function's own promise.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }

    /// The element of index `i`.
    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> T {
        assert!(i < self.len);
        // SAFETY: within the elements, which `from_raw` was promised can be read as well.
        unsafe { self.data.add(i).read_unaligned() }
    }

    /// Writes `N` elements, from index `i` on.
    ///
    /// # Safety
    /// No other thread uses them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn set<const N: usize>(&self, i: usize, chunk: [T; N]) {
        assert!(i <= self.len && self.len - i >= N);
        // SAFETY: within the elements, which can be written; and this function's own promise.
        unsafe { self.data.add(i).cast::<[T; N]>().write_unaligned(chunk) }
    }

    /// As [`ElementsMut::set`], past the caches if these elements are to be written so.
    ///
    /// # Safety
    /// No other thread uses them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn put<const N: usize>(&self, i: usize, chunk: [T; N]) {
        assert!(i <= self.len && self.len - i >= N);
        let to = self.data.wrapping_add(i);
        if self.is_far && stream::suits(to, N) {
            // SAFETY: they can be written; this function's own promise; and only where this is possible is anything far.
            unsafe { stream::copy(to, chunk.as_ptr(), N) }
        } else {
            // SAFETY: this function's own promise.
            unsafe { self.set(i, chunk) }
        }
    }

    /// Makes elements of words, from index `i` on, and writes them past the caches if they are to be written so.
    ///
    /// # Safety
    /// No other thread uses them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn write<W: Copy>(&self, i: usize, words: &[W], of: impl Fn(W) -> T) {
        assert!(i <= self.len && self.len - i >= words.len());
        // SAFETY: within the elements.
        let to = unsafe { self.data.add(i) };
        if self.is_far && words.len() == CHUNK && stream::suits(to, CHUNK) {
            let mut room = MaybeUninit::<[T; CHUNK]>::uninit();
            // SAFETY: there is room for as many.
            unsafe { fill(room.as_mut_ptr().cast(), words, of) }
            // SAFETY: as for `put`; and all of them were just made.
            unsafe { stream::copy(to, room.as_ptr().cast(), CHUNK) }
        } else {
            // SAFETY: they can be written; and this function's own promise.
            unsafe { fill(to, words, of) }
        }
    }
}

/// Makes elements of words.
///
/// # Safety
/// As many can be written there.
#[inline(always)]
unsafe fn fill<T, W: Copy>(to: *mut T, words: &[W], of: impl Fn(W) -> T) {
    for (step, word) in words.iter().enumerate() {
        // SAFETY: among those that can be written.
        unsafe { to.add(step).write_unaligned(of(*word)) }
    }
}

impl<'a> ElementsMut<'a, i8> {
    /// Their bytes.
    pub(crate) fn bytes(&self) -> ElementsMut<'a, u8> {
        ElementsMut { data: self.data.cast(), len: self.len, is_far: self.is_far, lifetime: PhantomData }
    }
}

/// Elements that are mapped together: enough for the vectors of any kernel, and few enough to stay in registers.
pub(crate) const CHUNK: usize = 64;

/// How many bytes ahead elements are asked for that come from memory.
const AHEAD: usize = 4096;

/// What becomes of elements, one by one.
pub(crate) trait Map: Sync {
    type From: Copy + Sync;
    type To: Copy + Send + Sync;

    /// Always inlined; see [`Loop::run`].
    fn of(&self, x: Self::From) -> Self::To;
}

/// Maps all elements, on as many threads as pays.
///
/// # Panics
/// If there are more of one than of the other.
pub(crate) fn map<M: Map>(context: &Context, map: &M, from: Elements<M::From>, to: ElementsMut<M::To>) {
    assert_eq!(from.len(), to.len(), "as many elements come out as go in");
    let bytes = size_of::<M::From>() + size_of::<M::To>();
    let to = to.past_caches(&from.runs());
    context.in_pieces(from.len(), bytes, |range| context.kernel.vectors.run(Piece { map, from, to: &to, range }));
}

/// What one thread maps.
struct Piece<'a, M: Map> {
    map: &'a M,
    from: Elements<'a, M::From>,
    to: &'a ElementsMut<'a, M::To>,
    range: Range<usize>,
}

impl<M: Map> Loop for Piece<'_, M> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Self { map, from, to, range } = self;
        let (from, to) = (from.part(range.clone()), to.part(range));
        let count = from.len / CHUNK;
        // With lengths that the loop knows nothing is checked in it.
        let (chunks, chunks_to) = (from.part(0..count * CHUNK), to.part(0..count * CHUNK));
        for i in (0..count).map(|i| i * CHUNK) {
            if to.is_far {
                chunks.fetch_ahead(i);
            }
            chunk::<_, CHUNK>(map, &chunks, &chunks_to, i);
        }
        for i in count * CHUNK..from.len {
            chunk::<_, 1>(map, &from, &to, i);
        }
    }
}

#[inline(always)]
fn chunk<M: Map, const N: usize>(map: &M, from: &Elements<M::From>, to: &ElementsMut<M::To>, i: usize) {
    let from = from.chunk::<N>(i);
    let mut mapped = [map.of(from[0]); N];
    for (to, from) in mapped.iter_mut().zip(from) {
        *to = map.of(from);
    }
    // SAFETY: the pieces of different threads are apart.
    unsafe { to.put(i, mapped) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    struct Half;

    impl Map for Half {
        type From = i32;
        type To = u8;

        #[inline(always)]
        fn of(&self, x: i32) -> u8 {
            (x / 2).clamp(0, 255) as u8
        }
    }

    #[test]
    fn every_kernel_agrees_and_every_number_of_threads() {
        let numbers: Vec<i32> = (0..300_000).map(|i| i % 700 - 100).collect();
        for kernel in Kernel::available() {
            for (threads, len) in [(1, 0), (1, 1), (1, 63), (1, 64), (1, 1000), (2, 299_993), (3, 300_000)] {
                let want: Vec<u8> = numbers[..len].iter().map(|&x| Half.of(x)).collect();
                let mut got = vec![7; len + 1];
                let context = Context::new(kernel, threads);
                // SAFETY: both have `len` elements.
                let (from, to) = unsafe {
                    (Elements::from_raw(numbers.as_ptr(), len), ElementsMut::from_raw(got.as_mut_ptr(), len))
                };
                map(&context, &Half, from, to);
                assert_eq!(got.pop(), Some(7));
                assert_eq!(got, want, "{} {threads} {len}", kernel.name);
                let (mut far, skipped) = (vec![7; len + 34], threads - 1);
                // SAFETY: there are as many elements from there on.
                let to = unsafe { ElementsMut::from_raw(far.as_mut_ptr().add(skipped), len) };
                map(&context, &Half, from, to.far());
                assert_eq!(far[skipped..skipped + len], want, "{} {threads} {len}, far", kernel.name);
                assert!(far[..skipped].iter().chain(&far[skipped + len..]).all(|&x| x == 7));
            }
        }
    }

    #[test]
    fn results_that_are_too_many_for_the_caches_and_lie_apart_are_far() {
        // Nobody touches them.
        let len = Caches::l3();
        let (mut some, other) = (Vec::<u8>::with_capacity(len), Vec::<u8>::with_capacity(1));
        let data = some.as_mut_ptr();
        // SAFETY: there is room for as many.
        let to = |len| unsafe { ElementsMut::from_raw(data, len) };
        let is_far = |to: ElementsMut<u8>, from: &Runs| to.past_caches(from).is_far;
        let from = Runs::new(other.as_ptr().addr(), 1, 1, 0);
        assert_eq!(is_far(to(len), &from), stream::is_possible());
        assert!(!is_far(to(len / 4), &from));
        let much = Runs::new(other.as_ptr().addr(), 1, len, 0);
        assert_eq!(is_far(to(len / 4), &much), stream::is_possible());
        let same = to(len).runs();
        assert!(!is_far(to(len), &same));
    }

    struct Next;

    impl Map for Next {
        type From = i32;
        type To = i32;

        #[inline(always)]
        fn of(&self, x: i32) -> i32 {
            x.wrapping_add(1)
        }
    }

    #[test]
    fn elements_may_become_others_where_they_lie() {
        let mut numbers: Vec<i32> = (0..100_001).collect();
        let (data, len) = (numbers.as_mut_ptr(), numbers.len());
        // SAFETY: the vector has `len` elements.
        let (from, to) = unsafe { (Elements::from_raw(data, len), ElementsMut::from_raw(data, len)) };
        map(&Context::new(Kernel::chosen().unwrap(), 2), &Next, from, to);
        assert!(numbers.iter().zip(1..).all(|(&x, want)| x == want));
    }
}
