//! Scratch memory that starts on a cache line and reports failure instead of aborting.

use crate::error::Error;
use std::alloc::{Layout, LayoutError, alloc, dealloc};
use std::ptr::NonNull;

/// The widest load of any kernel, and the size of a cache line.
pub(crate) const ALIGN: usize = 64;

/// Bytes of a huge page, on most processors. Memory of so many begins on one, and the system is asked for such pages: to find out where
/// thousands of small ones lie takes up to a third of the time of products with large weights.
const HUGE: usize = 2 << 20;

/// Initialized bytes, aligned to [`ALIGN`]; what they hold is whatever their last user left.
pub(crate) struct Buffer {
    data: NonNull<u8>,
    len: usize,
}

// SAFETY: a buffer owns its memory.
unsafe impl Send for Buffer {}
// SAFETY: shared, it is only read.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub(crate) const fn empty() -> Self {
        Self { data: NonNull::dangling(), len: 0 }
    }

    /// Makes room for at least `len` bytes, whose values are unspecified.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, len: usize) -> Result<(), Error> {
        if len <= self.len { Ok(()) } else { self.grow(len) }
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Result<(), Error> {
        let out_of_memory = Error::OutOfMemory { bytes: len };
        let layout = layout(len).map_err(|_| out_of_memory)?;
        // Freed first, so that the old and the new memory never count together.
        *self = Self::empty();
        // SAFETY: the layout's size is not 0, because `len` exceeds another length.
        let data = NonNull::new(unsafe { alloc(layout) }).ok_or(out_of_memory)?;
        if len >= HUGE {
            ask_for_huge_pages(data, len);
        }
        // SAFETY: so many bytes were allocated.
        unsafe { data.write_bytes(0, len) }
        *self = Self { data, len };
        Ok(())
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: an empty buffer's pointer is not null, any other owns `len` initialized bytes.
        unsafe { std::slice::from_raw_parts(self.aligned(), self.len) }
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and the buffer is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.aligned(), self.len) }
    }

    /// The start of the bytes; dangling, but aligned, when there are none.
    #[inline]
    fn aligned(&self) -> *mut u8 {
        if self.len == 0 { std::ptr::without_provenance_mut(ALIGN) } else { self.data.as_ptr() }
    }
}

/// How so many bytes are allocated.
fn layout(len: usize) -> Result<Layout, LayoutError> {
    Layout::from_size_align(len, if len < HUGE { ALIGN } else { HUGE })
}

/// For memory that nobody has used yet.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(data: NonNull<u8>, len: usize) {
    // SAFETY: the memory was allocated, and what it holds stays the same. Not all systems know this advice, which is no failure.
    unsafe { libc::madvise(data.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: NonNull<u8>, _: usize) {}

/// Cuts a buffer into pieces that each start on a cache line.
pub(crate) struct Carver<'a> {
    rest: &'a mut [u8],
}

impl<'a> Carver<'a> {
    /// `bytes` start on a cache line.
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        debug_assert!(bytes.as_ptr().addr().is_multiple_of(ALIGN));
        Self { rest: bytes }
    }

    /// How many bytes of a buffer a piece of `len` takes.
    pub(crate) const fn cost(len: usize) -> usize {
        len.next_multiple_of(ALIGN)
    }

    #[inline]
    pub(crate) fn bytes(&mut self, len: usize) -> &'a mut [u8] {
        let (piece, rest) = std::mem::take(&mut self.rest).split_at_mut(Self::cost(len));
        self.rest = rest;
        &mut piece[..len]
    }

    #[inline]
    pub(crate) fn ints(&mut self, len: usize) -> &'a mut [i32] {
        let data = self.bytes(len * size_of::<i32>()).as_mut_ptr().cast::<i32>();
        assert!(data.is_aligned());
        // SAFETY: any four bytes are an i32, they are aligned, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(data, len) }
    }
}

/// The bytes of numbers.
#[inline]
pub(crate) fn bytes_of_ints(ints: &[i32]) -> &[u8] {
    // SAFETY: they are as many bytes, each of which may be anything.
    unsafe { std::slice::from_raw_parts(ints.as_ptr().cast(), size_of_val(ints)) }
}

/// The same, to be written.
#[inline]
pub(crate) fn bytes_of_ints_mut(ints: &mut [i32]) -> &mut [u8] {
    // SAFETY: as above; and any four bytes are an i32.
    unsafe { std::slice::from_raw_parts_mut(ints.as_mut_ptr().cast(), size_of_val(ints)) }
}

/// The numbers in bytes that begin on a cache line.
#[inline]
pub(crate) fn ints(bytes: &[u8]) -> &[i32] {
    let data = bytes.as_ptr().cast::<i32>();
    assert!(data.is_aligned());
    // SAFETY: any four bytes are an i32, and they are aligned.
    unsafe { std::slice::from_raw_parts(data, bytes.len() / size_of::<i32>()) }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.len > 0 {
            let layout = layout(self.len).expect("it was allocated so");
            // SAFETY: allocated by `reserve` with this very layout.
            unsafe { dealloc(self.data.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_grows_aligned_and_refuses_the_impossible() {
        let mut buffer = Buffer::empty();
        assert_eq!(buffer.as_mut_slice().len(), 0);
        buffer.reserve(100).unwrap();
        assert_eq!(buffer.as_mut_slice().as_ptr().addr() % ALIGN, 0);
        buffer.as_mut_slice()[99] = 7;
        buffer.reserve(50).unwrap();
        assert_eq!((buffer.as_mut_slice().len(), buffer.as_mut_slice()[99]), (100, 7));
        buffer.reserve(HUGE).unwrap();
        assert_eq!(buffer.as_mut_slice().as_ptr().addr() % HUGE, 0);
        assert!(buffer.as_slice().iter().all(|&byte| byte == 0));
        for impossible in [1 << 60, usize::MAX] {
            // Else the compiler may do without memory that nobody uses, and find no lack of it.
            let buffer = std::hint::black_box(&mut buffer);
            assert!(matches!(buffer.reserve(impossible), Err(Error::OutOfMemory { .. })));
            buffer.reserve(10).unwrap();
        }
    }

    /// Where the system has such pages. (Emulators of other processors say nothing of them.)
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn huge_pages_are_asked_for() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            return;
        }
        let mut buffer = Buffer::empty();
        buffer.reserve(2 * HUGE + 1).unwrap();
        let address = buffer.as_slice().as_ptr().addr();
        let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
        // Each begins with its addresses, and ends with its flags.
        let mut is_here = false;
        let flags = mappings.lines().find_map(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let hex = |text| usize::from_str_radix(text, 16).ok();
            if let Some((start, end)) = range.and_then(|(start, end)| hex(start).zip(hex(end))) {
                is_here = (start..end).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| is_here)
        });
        let flags = flags.expect("the mapping of the buffer");
        assert!(flags.split_whitespace().any(|flag| flag == "hg"), "{flags}");
    }
}
