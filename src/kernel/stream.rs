//! Writing past the caches what is too much for them: what it replaces is not fetched first.

/// Fewer bytes than this are never written so.
pub(crate) const LEAST: usize = 1 << 20;

/// The stores write so many bytes, at addresses that are multiples of it.
const UNIT: usize = 16;

/// Whether this processor can.
#[inline]
pub(crate) fn is_possible() -> bool {
    #[cfg(target_arch = "x86_64")]
    return cpu_has!("avx");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether so many values may be written so to this place.
#[inline(always)]
pub(crate) fn suits<T>(to: *mut T, count: usize) -> bool {
    (count * size_of::<T>()).is_multiple_of(UNIT) && to.addr().is_multiple_of(UNIT)
}

/// Copies plain numbers. Other threads see them for certain only after [`settle`].
///
/// # Safety
/// - So many can be read there, and written to this place, which they [`suits`].
/// - It [`is_possible`].
#[inline(always)]
pub(crate) unsafe fn copy<T: Copy>(to: *mut T, from: *const T, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..count * size_of::<T>()).step_by(UNIT) {
        // SAFETY: among the numbers.
        let unit = unsafe { from.byte_add(at).cast::<std::arch::x86_64::__m128i>().read_unaligned() };
        // Not `_mm_stream_si128`, which is the instruction without AVX here: old processors halt between the two.
        // SAFETY: this function's own promises.
        unsafe {
            std::arch::asm!(
                "vmovntdq [{to}], {unit}",
                to = in(reg) to.wrapping_byte_add(at),
                unit = in(xmm_reg) unit,
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: this function's own promises.
    unsafe {
        to.copy_from_nonoverlapping(from, count)
    }
}

/// Asks for the cache line of this address, to write there. Anything may lie there, or nothing.
#[inline(always)]
pub(crate) fn prefetch_to_write(address: usize) {
    // Not the intrinsic, which the compiler takes for one to read unless it is told of a feature that all such processors have.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it never faults, and does nothing on processors that do not have it.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, nomem));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for the cache line of this address, of which nothing needs to be known, unless the processor cannot be asked.
#[inline(always)]
pub(crate) fn fetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has it, and it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast())
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// To be called by a thread that wrote its part of so many bytes, before others may read them.
#[inline]
pub(crate) fn settle(bytes: usize) {
    if bytes < LEAST {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has it.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    }
}
