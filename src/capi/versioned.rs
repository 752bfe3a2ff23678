//! Structs that C passes by pointer and that later versions of libqgemm may lengthen.
//!
//! Each begins with `size_t struct_size`, which the caller sets to its `sizeof`, and so says how much of the struct it
//! knows. An older caller's struct is shorter: what it lacks counts as 0, which is the default of every field that is
//! ever added. A newer caller's is longer: it is taken if all that we do not know is 0, so that nothing is ignored that
//! the caller asked for.
//!
//! To add such a struct: derive `Clone, Copy`, `#[repr(C)]`, `struct_size: usize` first, `unsafe impl Versioned`, and an
//! initializer for C in cbindgen.toml. The functions that take it call [`read`], and from then on see only the copy.

use crate::error::Error;
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;

/// A struct that begins with its size.
///
/// # Safety
/// - It is `#[repr(C)]` and its first field is `struct_size: usize`.
/// - Any bytes make a valid value: integers, floats, raw pointers, `Option`s of function pointers, arrays and `repr(C)`
///   structs of them.
pub(super) unsafe trait Versioned: Copy {
    /// Its size in the first version that had it. Once released it never changes: later fields only add to
    /// `size_of::<Self>()`.
    const FIRST_SIZE: usize;
}

/// Longer structs than this are not of any version to come: most likely the size was never set.
const MOST: usize = 4096;

/// What a caller of any version passed, as this version knows it.
///
/// # Safety
/// `from` is null, or as many bytes can be read there as the struct says in its first field.
pub(super) unsafe fn read<T: Versioned>(argument: &'static str, from: *const T) -> Result<T, Error> {
    let mut room = MaybeUninit::uninit();
    // SAFETY: this function's own promise.
    unsafe { read_in(argument, from, &mut room) }.copied()
}

/// As [`read`], but where it lies, or in `room` if the caller's version has another size. A `Result` of a large struct takes
/// longer: the compiler moves it byte by byte where an error has other fields, and the processor waits for the bytes.
///
/// # Safety
/// As for [`read`], and nobody writes there for `'r`.
#[inline(always)]
pub(super) unsafe fn read_in<'r, T: Versioned>(
    argument: &'static str,
    from: *const T,
    room: &'r mut MaybeUninit<T>,
) -> Result<&'r T, Error> {
    const {
        assert!(T::FIRST_SIZE >= size_of::<usize>() && T::FIRST_SIZE <= size_of::<T>() && size_of::<T>() <= MOST);
        assert!(T::FIRST_SIZE.is_multiple_of(align_of::<T>()));
    }
    if from.is_null() {
        return Err(Error::Missing { argument });
    }
    if !from.is_aligned() {
        return Err(Error::Alignment { argument, unit: align_of::<T>() });
    }
    // SAFETY: at least the first field can be read.
    let size = unsafe { from.cast::<usize>().read() };
    // Compilers make no other sizes. In between, half a field might be copied.
    if !(T::FIRST_SIZE..=MOST).contains(&size) || !size.is_multiple_of(align_of::<T>()) {
        return Err(Error::StructSize { argument, value: size, least: T::FIRST_SIZE });
    }
    if size == size_of::<T>() {
        // SAFETY: so many bytes can be read, and make a valid value.
        return Ok(unsafe { &*from });
    }
    // SAFETY: this function's own promise.
    unsafe { read_other(argument, from, size, room) }
}

/// As [`read_in`], of a struct of another version, which has `size` bytes.
///
/// # Safety
/// So many bytes can be read.
#[cold]
unsafe fn read_other<'r, T: Versioned>(
    argument: &'static str,
    from: *const T,
    size: usize,
    room: &'r mut MaybeUninit<T>,
) -> Result<&'r T, Error> {
    let bytes = from.cast::<u8>();
    let known = size.min(size_of::<T>());
    // SAFETY: `size` bytes can be read, of which this is the part from `known` on.
    let unknown = unsafe { slice::from_raw_parts(bytes.add(known), size - known) };
    if unknown.iter().any(|&byte| byte != 0) {
        return Err(Error::StructTail { argument, known });
    }
    *room = MaybeUninit::zeroed();
    // SAFETY: `known` bytes can be read, and fit. The size comes first: the copy has its own, for it may be read once more.
    unsafe {
        ptr::copy_nonoverlapping(bytes, room.as_mut_ptr().cast(), known);
        room.as_mut_ptr().cast::<usize>().write(size_of::<T>());
    }
    // SAFETY: any bytes make a valid value.
    Ok(unsafe { room.assume_init_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The third version of a struct: `b` came with the second, `c` and `d` with the third.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Options {
        struct_size: usize,
        a: u64,
        b: u64,
        c: u32,
        d: u32,
    }

    // SAFETY: repr(C), the size first, all integers.
    unsafe impl Versioned for Options {
        const FIRST_SIZE: usize = 16;
    }

    /// What is read from a struct of so many words, all beyond the size being `filler`.
    fn read_words(size: usize, filler: u64) -> Result<Options, Error> {
        let mut words = [filler; 1 + MOST / 8];
        words[0] = size as u64;
        // SAFETY: as many words as any size that is accepted.
        unsafe { read("options", words.as_ptr().cast::<Options>()) }
    }

    #[test]
    fn what_an_older_caller_lacks_is_0() {
        let filler = 0x0000_0007_0000_0007;
        let read = |size| read_words(size, filler).unwrap();
        assert_eq!(read(16), Options { struct_size: 32, a: filler, b: 0, c: 0, d: 0 });
        assert_eq!(read(24), Options { struct_size: 32, a: filler, b: filler, c: 0, d: 0 });
        assert_eq!(read(32), Options { struct_size: 32, a: filler, b: filler, c: 7, d: 7 });
    }

    #[test]
    fn what_was_read_is_of_this_version() {
        for size in [16, 24, 32, 40, MOST] {
            // Whatever lies behind the copy is not read.
            let both = [read_words(size, 0).unwrap(), Options { struct_size: 1, a: 1, b: 1, c: 1, d: 1 }];
            // SAFETY: a whole struct can be read.
            assert_eq!(unsafe { read("options", &raw const both[0]) }, Ok(both[0]), "{size}");
        }
    }

    #[test]
    fn what_a_newer_caller_adds_must_be_0() {
        for size in [40, 48, MOST] {
            assert_eq!(read_words(size, 0), Ok(Options { struct_size: 32, a: 0, b: 0, c: 0, d: 0 }));
            let mut bytes = [0u64; MOST / 8];
            bytes[0] = size as u64;
            for odd in 4..size / 8 {
                bytes[odd] = 1 << 63;
                // SAFETY: `size` bytes can be read.
                let read = unsafe { read("options", bytes.as_ptr().cast::<Options>()) };
                assert_eq!(read, Err(Error::StructTail { argument: "options", known: 32 }));
                bytes[odd] = 0;
            }
        }
    }

    #[test]
    fn other_sizes_and_addresses_are_refused() {
        for size in [0, 1, 8, 15, 17, 20, 31, 33, MOST + 8, usize::MAX, usize::MAX - 7, isize::MAX as usize] {
            let expected = Error::StructSize { argument: "options", value: size, least: 16 };
            assert_eq!(read_words(size, 0), Err(expected), "{size}");
        }
        // SAFETY: null is refused.
        let null = unsafe { read("options", ptr::null::<Options>()) };
        assert_eq!(null, Err(Error::Missing { argument: "options" }));
        let words = [32u64; 5];
        for offset in 1..8 {
            // SAFETY: there is room for a struct; its address is refused.
            let misaligned = unsafe { read("options", words.as_ptr().byte_add(offset).cast::<Options>()) };
            assert_eq!(misaligned, Err(Error::Alignment { argument: "options", unit: 8 }));
        }
    }
}
