//! Operands that are packed once, for many products.

use super::matrix::{QGEMM_TYPE_S8, QGEMM_TYPE_U8, RawOperand, check_pointer, major};
use super::versioned::{self, Versioned};
use super::{Failure, Status, Within, guard, matrix};
use crate::buffer::ALIGN;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Offset, Operand, Runs, bytes_of, extent, slice};
use crate::packed::{Bits, Lent, Packed, Packing, Purpose, ResultOrder, Segments, Side};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::NonNull;

/// Side of a product: the left-hand matrix.
pub const QGEMM_LHS: u32 = 1;
/// Side of a product: the right-hand matrix.
pub const QGEMM_RHS: u32 = 2;

/// The caller's memory for packed operands, and files of them that are mapped, must begin at a multiple of this.
pub const QGEMM_PACKED_ALIGNMENT: usize = 64;
const _: () = assert!(QGEMM_PACKED_ALIGNMENT == ALIGN);

/// An operand as the kernels read it, packed once for many products: made by qgemm_pack() or qgemm_packed_load(), named
/// in qgemm_operand's field packed, freed by qgemm_packed_free().
///
/// It keeps what it needs: the matrix that it was packed from may change or go. It never changes itself, so any number
/// of threads and products may use it at once. Results are the same, byte for byte, as with the matrix itself. Offsets
/// are not part of it: every product brings its own.
///
/// It is one piece of memory, the packed form, which holds no addresses: qgemm_packed_bytes() gives it, to be written to
/// a file, and qgemm_packed_load() takes it back, from memory or a mapped file, without a copy. It is of use wherever
/// the kernel reads the same layout, the byte order is the same, and the version of the format; elsewhere it is refused
/// with QGEMM_STATUS_PACKED_LAYOUT. The portable form of qgemm_packed_save_portable() is the same on all machines, and
/// smaller; to load it is to pack it again, for the kernel at work.
///
/// Both forms begin with the byte 0x89 and "QGEMM", say which version of the format they have, which is 3, and carry
/// checksums, so that whatever is truncated or damaged is refused with QGEMM_STATUS_PACKED_DAMAGED. Checksums are no
/// signatures: who forges a file chooses what numbers are multiplied, but never makes libqgemm touch other memory. A
/// later libqgemm may have another version of the format, and then refuses this one: keep the matrix too.
pub struct PackedHandle(Packed);

impl PackedHandle {
    pub(super) fn get(&self) -> &Packed {
        &self.0
    }
}

/// What an operand is to be packed for. Begin with QGEMM_PACK_OPTIONS_INIT, and set at least side.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PackOptions {
    /// sizeof(qgemm_pack_options).
    pub struct_size: usize,
    /// QGEMM_LHS or QGEMM_RHS: where the operand will stand. No other is possible.
    pub side: u32,
    /// QGEMM_ROW_MAJOR or QGEMM_COL_MAJOR: the order of the results to come. The other one is possible too, but slower.
    pub result_order: u32,
    /// QGEMM_TYPE_U8 or QGEMM_TYPE_S8: the type of the other operand to come; 0 for QGEMM_TYPE_U8. The other one is possible
    /// too, but slower.
    pub other_type: u32,
    /// How many bits each element takes, 1 to 7; 0 or 8 for all that it has. Then every element of type QGEMM_TYPE_U8 has to
    /// be 0 to 2^bits - 1, and of QGEMM_TYPE_S8 -2^(bits-1) to 2^(bits-1) - 1. The results are those of the same elements
    /// packed in 8 bits.
    pub bits: u32,
    /// Memory to pack into, at a multiple of QGEMM_PACKED_ALIGNMENT; NULL for memory of the library's.
    pub memory: *mut c_void,
    /// Bytes of memory, at least what qgemm_pack_size() says; 0 if memory is NULL.
    pub memory_size: usize,
    /// How many elements along k share a scale, at least 1: the first so many, the next so many, and at the end what is left.
    /// 0 for no groups. See qgemm_gemm() for what a product with groups is.
    pub group_size: usize,
    /// If there are groups, a scale for each of them, of each row of lhs or column of rhs: scales[line * groups + group], where
    /// groups is k / group_size, rounded up. Else NULL.
    pub scales: *const f32,
    /// As many zero points, in the same order; NULL for 0 everywhere.
    pub zero_points: *const i32,
}

// SAFETY: repr(C), the size first, then integers and a pointer.
unsafe impl Versioned for PackOptions {
    const FIRST_SIZE: usize = offset_of!(Self, group_size);
}

/// How much memory a packed operand takes at most: for callers who bring their own, and to know before.
///
/// The answer depends on the kernel, the numbers of rows and columns, whether there is an offset for each of them, and
/// the options. It is more than the elements take, by a few percent if there are many, or by twice as much where a kernel
/// wants one side as numbers of 16 bits. Where the elements decide how they are packed, it may turn out to take a little
/// less, as qgemm_packed_bytes() says. Elements of fewer bits take just these, and groups 8 bytes each on top, or 12 if
/// they have zero points; the elements of a group are filled up to a multiple of 8.
///
/// @param operand  as in qgemm_pack(); the elements are not read
/// @param options  as in qgemm_pack(); memory and memory_size do not matter
/// @param size     receives the number of bytes
/// @return QGEMM_STATUS_OK, or why size was not written: as qgemm_pack(); details in qgemm_last_error()
///
/// # Safety
/// As for qgemm_pack().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_pack_size(
    operand: *const RawOperand,
    options: *const PackOptions,
    size: *mut usize,
) -> Status {
    guard(|| {
        check_pointer("size", size)?;
        // SAFETY: this function's own promise.
        let request = unsafe { Request::read(operand, options)? };
        let needed = request.size(Kernel::chosen()?)?;
        // SAFETY: neither null nor misaligned.
        unsafe { size.write(needed) };
        Ok(())
    })
}

/// Packs an operand: a matrix of weights, as a rule, that will be multiplied by many others.
///
/// lhs is m x k, rhs is k x n; either may be packed, or both. The operand's offset is not packed: products are told
/// theirs as ever. But for QGEMM_CHECK_OVERFLOW the largest sum that the elements can give is found here once for all,
/// exactly for the offset that is given here; for other offsets, later, it is estimated, from above. Also found are the
/// least and the greatest element, for QGEMM_CHECK_RANGE and for products that small numbers make faster.
///
/// The packed operand lies in the caller's memory if options names any, which then begins with it and must stay as it is
/// until qgemm_packed_free(), else in memory of the library's. Packing runs on the calling thread.
///
/// From 2 MiB on, the library asks the system for huge pages. In small ones, as memory of the caller's may lie in, products
/// of some rows took up to 1.4 times as long.
///
/// @param operand  the matrix to pack; its field packed NULL. It may have no rows or no columns
/// @param options  what it will be used for, and where it is to be
/// @param packed   receives the packed operand
/// @return QGEMM_STATUS_OK, or why neither packed nor memory was written: NULL_POINTER, ALIGNMENT (also of memory),
///         STRUCT_SIZE, SHAPE, STRIDE, TYPE, VECTOR_LENGTH, PARAMETER (least or greatest is none, or a scale is not finite),
///         OPTION, TOO_LARGE, WORKSPACE (memory_size is too small), OVERLAP (of memory with what is read), RANGE (an element
///         does not fit the bits in options), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in
///         qgemm_last_error()
///
/// # Safety
/// The elements, the offsets, the scales and the zero points reach as far as sizes and stride say, and nobody writes to them
/// during the call. Nobody else uses the memory in options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_pack(
    operand: *const RawOperand,
    options: *const PackOptions,
    packed: *mut *mut PackedHandle,
) -> Status {
    guard(|| {
        check_pointer("packed", packed)?;
        // SAFETY: this function's own promise.
        let request = unsafe { Request::read(operand, options)? };
        // SAFETY: as above.
        let made = unsafe { request.pack()? };
        // SAFETY: neither null nor misaligned.
        unsafe { packed.write(made) };
        Ok(())
    })
}

/// Frees a packed operand. The caller's memory, if it lies there, is the caller's again.
///
/// @param packed  what qgemm_pack() or qgemm_packed_load() made, or NULL, which does nothing
///
/// # Safety
/// No call that was given it is under way, and none is given it again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_packed_free(packed: *mut PackedHandle) {
    guard(|| {
        if !packed.is_null() {
            // SAFETY: it was made by `handle`, and nobody uses it any more.
            drop(unsafe { Box::from_raw(packed) });
        }
        Ok(())
    });
}

/// The packed form of an operand: what to write to a file, for qgemm_packed_load() on machines with the same kernel.
///
/// Nothing is copied: these are the bytes that products read. They begin at a multiple of QGEMM_PACKED_ALIGNMENT.
///
/// @param packed  the operand
/// @param bytes   receives where they are; valid until qgemm_packed_free()
/// @param size    receives how many they are
/// @return QGEMM_STATUS_OK, or why neither was written: NULL_POINTER, ALIGNMENT; details in qgemm_last_error()
///
/// # Safety
/// packed was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_packed_bytes(
    packed: *const PackedHandle,
    bytes: *mut *const c_void,
    size: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise.
        let blob = unsafe { operand_of(packed)? }.blob();
        check_pointer("bytes", bytes)?;
        check_pointer("size", size)?;
        // SAFETY: neither null nor misaligned.
        unsafe { bytes.write(blob.as_ptr().cast()) };
        // SAFETY: as above.
        unsafe { size.write(blob.len()) };
        Ok(())
    })
}

/// How many bytes the portable form of an operand takes: those of the elements, and a few more.
///
/// @param packed  the operand
/// @param size    receives the number of bytes
/// @return QGEMM_STATUS_OK, or why size was not written: NULL_POINTER, ALIGNMENT; details in qgemm_last_error()
///
/// # Safety
/// packed was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_packed_portable_size(packed: *const PackedHandle, size: *mut usize) -> Status {
    guard(|| {
        // SAFETY: this function's own promise.
        let needed = unsafe { operand_of(packed)? }.portable_size();
        check_pointer("size", size)?;
        // SAFETY: neither null nor misaligned.
        unsafe { size.write(needed) };
        Ok(())
    })
}

/// Writes the portable form of an operand, which any machine can load with qgemm_packed_load(). It is the same whichever
/// kernel packed the operand: the elements as they were, and what they were packed for.
///
/// @param packed  the operand
/// @param bytes   where to write it, at any address
/// @param size    how many bytes there are, at least what qgemm_packed_portable_size() says; no more than that are
///                written
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, TOO_LARGE, WORKSPACE (size is too small), OVERLAP
///         (bytes overlaps the packed operand); details in qgemm_last_error()
///
/// # Safety
/// packed was not freed, and nobody else uses the bytes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_packed_save_portable(
    packed: *const PackedHandle,
    bytes: *mut c_void,
    size: usize,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise.
        let packed = unsafe { operand_of(packed)? };
        let bytes = bytes.cast::<u8>();
        check_bytes("bytes", bytes, size)?;
        let needed = packed.portable_size();
        if size < needed {
            return Err(Error::Room { argument: "size", size, least: needed }.into());
        }
        if Runs::new(bytes.addr(), 1, needed, 0).overlap(&bytes_of(packed.blob())) {
            return Err(Error::Overlap { output: "bytes", input: "packed" }.into());
        }
        // SAFETY: this function's own promise; no part of the operand is among them.
        packed.save_portable(unsafe { std::slice::from_raw_parts_mut(bytes, needed) });
        Ok(())
    })
}

/// Makes a packed operand of what qgemm_packed_bytes() or qgemm_packed_save_portable() gave, in this process or another.
///
/// The packed form is used where it lies, and must stay there, as it is, until qgemm_packed_free(); it has to begin at a
/// multiple of QGEMM_PACKED_ALIGNMENT, as a mapped file does. The portable form may begin anywhere; it is packed into
/// memory of the library's, for what it was packed for before it was saved, and is not needed any more after the call.
///
/// The bytes need not be trusted: all of them are read and compared with their checksums, and whatever they hold, no
/// product reads or writes beside them. They have no more at their end than what was saved.
///
/// @param bytes   either form
/// @param size    how many bytes it has: no fewer, and no more
/// @param packed  receives the packed operand
/// @return QGEMM_STATUS_OK, or why packed was not written: NULL_POINTER, ALIGNMENT, TOO_LARGE, PACKED_DAMAGED (the bytes
///         are not what was saved, or too few, or too many), PACKED_LAYOUT (they are sound, but for other kernels,
///         another byte order or another version of the format), OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in
///         qgemm_last_error()
///
/// # Safety
/// The bytes can be read. Nobody writes to them during the call, nor, if they are of the packed form, before
/// qgemm_packed_free(); nor does a file shrink that is mapped there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_packed_load(
    bytes: *const c_void,
    size: usize,
    packed: *mut *mut PackedHandle,
) -> Status {
    guard(|| {
        check_pointer("packed", packed)?;
        let data = check_bytes("bytes", bytes.cast_mut().cast::<u8>(), size)?;
        let kernel = Kernel::chosen()?;
        // SAFETY: this function's own promise.
        let made = Packed::load(unsafe { Lent::new(data, size) }, kernel)?;
        // SAFETY: neither null nor misaligned.
        unsafe { packed.write(handle(made)) };
        Ok(())
    })
}

pub(super) fn handle(packed: Packed) -> *mut PackedHandle {
    Box::into_raw(Box::new(PackedHandle(packed)))
}

/// # Safety
/// `packed` is null, or what `handle` made and nobody frees for `'a`.
unsafe fn operand_of<'a>(packed: *const PackedHandle) -> Result<&'a Packed, Error> {
    // SAFETY: this function's own promise.
    let handle = unsafe { packed.as_ref() };
    handle.map(PackedHandle::get).ok_or(Error::Missing { argument: "packed" })
}

pub(super) fn check_bytes(argument: &'static str, bytes: *mut u8, size: usize) -> Result<NonNull<u8>, Error> {
    let bytes = NonNull::new(bytes).ok_or(Error::Missing { argument })?;
    extent(bytes.as_ptr(), 1, size, 0).ok_or(Error::TooLarge { argument })?;
    Ok(bytes)
}

/// What is to be packed, and what for.
pub(super) struct Request<'a> {
    pub operand: Operand<'a>,
    pub packing: Packing<'a>,
    pub options: PackOptions,
}

impl Request<'_> {
    /// # Safety
    /// The pointers are null or point at as many bytes as their structs say; the operand's data and offset reach as far as
    /// they say, and are unchanged as long as the request is used.
    unsafe fn read(operand: *const RawOperand, options: *const PackOptions) -> Result<Self, Failure> {
        // SAFETY: this function's own promise.
        let (raw, options) = unsafe { (versioned::read("operand", operand)?, versioned::read("options", options)?) };
        let purpose = options.purpose().within("options")?;
        if !raw.packed.is_null() {
            return Err(Error::Given { argument: "packed" }).within("operand");
        }
        // SAFETY: this function's own promise.
        let operand = unsafe { raw.view(purpose.side) }.within("operand")?;
        raw.range(operand.encoding).within("operand")?;
        // SAFETY: as above.
        let offset = unsafe { raw.offset(purpose.side, operand.lines) }.within("operand")?;
        let bits = options.bits().within("options")?;
        // SAFETY: as above.
        let segments = unsafe { options.segments(operand.lines, operand.depth) }.within("options")?;
        Ok(Self { operand, packing: Packing { offset, purpose, bits, segments, are_patches: false }, options })
    }

    pub(super) fn size(&self, kernel: &'static Kernel) -> Result<usize, Error> {
        Packed::size(kernel, (self.operand.lines, self.operand.depth), &self.packing)
    }

    /// Packs it for the kernel at work, into the caller's memory if there is any.
    ///
    /// # Safety
    /// As for [`Request::memory`].
    pub(super) unsafe fn pack(&self) -> Result<*mut PackedHandle, Failure> {
        let kernel = Kernel::chosen()?;
        // SAFETY: this function's own promise.
        let memory = unsafe { self.memory(self.size(kernel)?)? };
        Ok(handle(Packed::new(kernel, &self.operand, &self.packing, memory)?))
    }

    /// The caller's memory, if there is any, for an operand of this size.
    ///
    /// # Safety
    /// Nobody else uses it as long as the operand lives.
    pub(super) unsafe fn memory(&self, size: usize) -> Result<Option<Lent>, Failure> {
        let PackOptions { memory, memory_size, .. } = self.options;
        if memory.is_null() && memory_size == 0 {
            return Ok(None);
        }
        let data = check_bytes("memory", memory.cast(), memory_size).within("options")?;
        if !memory.addr().is_multiple_of(ALIGN) {
            return Err(Error::Alignment { argument: "memory", unit: ALIGN }).within("options");
        }
        if memory_size < size {
            return Err(Error::Room { argument: "memory_size", size: memory_size, least: size }).within("options");
        }
        let written = Runs::new(memory.addr(), 1, size, 0);
        let offsets = match self.packing.offset {
            Offset::PerLine(offsets) => bytes_of(offsets),
            Offset::Uniform(_) => bytes_of::<i32>(&[]),
        };
        let segments = self.packing.segments.as_ref();
        let scales = bytes_of(segments.map_or(&[][..], |segments| segments.scales));
        let zero_points = bytes_of(segments.and_then(|segments| segments.zero_points).unwrap_or_default());
        if [self.operand.runs(), offsets, scales, zero_points].iter().any(|read| written.overlap(read)) {
            return Err(Error::Overlap { output: "options->memory", input: "operand" }.into());
        }
        // SAFETY: this function's own promise.
        Ok(Some(unsafe { Lent::new(data, memory_size) }))
    }
}

impl PackOptions {
    /// # Safety
    /// If there are groups, scales and zero points are as many as they have to be, and unchanged for `'a`.
    unsafe fn segments<'a>(&self, lines: usize, depth: usize) -> Result<Option<Segments<'a>>, Error> {
        let Self { group_size: size, scales, zero_points, .. } = *self;
        if size == 0 {
            return self.check_no_scales().map(|()| None);
        }
        let count = lines.checked_mul(depth.div_ceil(size)).ok_or(Error::TooLarge { argument: "scales" })?;
        if count > 0 {
            check_pointer("scales", scales)?;
            if !zero_points.is_null() {
                check_pointer("zero_points", zero_points)?;
            }
        }
        // SAFETY: this function's own promise.
        let scales = unsafe { slice(scales, count) }.ok_or(Error::TooLarge { argument: "scales" })?;
        if let Some(&scale) = scales.iter().find(|scale| !scale.is_finite()) {
            return Err(Error::Parameter { argument: "scales", value: scale.into(), expected: "finite numbers" });
        }
        let zero_points = match zero_points.is_null() {
            true => None,
            // SAFETY: as above.
            false => Some(unsafe { slice(zero_points, count) }.ok_or(Error::TooLarge { argument: "zero_points" })?),
        };
        Ok(Some(Segments { size, scales, zero_points }))
    }

    /// Where scales and zero points are found, none may be given.
    pub(super) fn check_no_scales(&self) -> Result<(), Error> {
        match (self.scales.is_null(), self.zero_points.is_null()) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::Given { argument: "scales" }),
            (true, false) => Err(Error::Given { argument: "zero_points" }),
        }
    }

    pub(super) fn bits(&self) -> Result<Bits, Error> {
        match self.bits {
            0 => Ok(Bits::ALL),
            value => Bits::new(value as usize).ok_or(Error::Option { argument: "bits", value }),
        }
    }

    pub(super) fn purpose(&self) -> Result<Purpose, Error> {
        let side = match self.side {
            QGEMM_LHS => Side::Lhs,
            QGEMM_RHS => Side::Rhs,
            value => return Err(Error::Option { argument: "side", value }),
        };
        let result = match major("result_order", self.result_order)? {
            matrix::Major::Row => ResultOrder::RowMajor,
            matrix::Major::Col => ResultOrder::ColMajor,
        };
        let other = match self.other_type {
            0 | QGEMM_TYPE_U8 => Encoding::U8,
            QGEMM_TYPE_S8 => Encoding::S8,
            value => {
                let expected = "0, QGEMM_TYPE_U8 or QGEMM_TYPE_S8";
                return Err(Error::Type { argument: "other_type", value, expected });
            }
        };
        Ok(Purpose { side, result, other })
    }
}
