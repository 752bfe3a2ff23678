//! The processor's rounding mode and its like, which belong to the host: some programs set them, and Rust counts on the
//! defaults.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::arch::asm;
use std::marker::PhantomData;

/// As long as this lives, floats of this thread are rounded to nearest, ties to even, nothing is flushed to zero, and
/// nothing traps.
pub(crate) struct Standard {
    /// What the thread had, if that was something else.
    before: Option<Word>,
    /// It is of this thread.
    thread: PhantomData<*const ()>,
}

impl Standard {
    #[inline]
    pub(crate) fn enter() -> Self {
        let word = read();
        let is_standard = word & SETTINGS == STANDARD;
        if !is_standard {
            write(STANDARD);
        }
        Self { before: (!is_standard).then_some(word), thread: PhantomData }
    }
}

impl Drop for Standard {
    #[inline]
    fn drop(&mut self) {
        if let Some(word) = self.before {
            write(word);
        }
    }
}

#[cfg(target_arch = "x86_64")]
use x86_64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::asm;

    /// MXCSR.
    pub(super) type Word = u32;
    /// All but the flags of exceptions that have occurred.
    pub(super) const SETTINGS: Word = !0x3f;
    /// Every exception masked.
    pub(super) const STANDARD: Word = 0x1f80;

    #[inline]
    pub(super) fn read() -> Word {
        let mut word = 0;
        // SAFETY: the instruction writes the 4 bytes of `word`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn write(word: Word) {
        // SAFETY: the instruction reads the 4 bytes of `word`, which are what `read` gave or the standard.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &word, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
use aarch64::*;

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::asm;

    /// FPCR.
    pub(super) type Word = u64;
    pub(super) const SETTINGS: Word = !0;
    pub(super) const STANDARD: Word = 0;

    #[inline]
    pub(super) fn read() -> Word {
        let word;
        // SAFETY: the instruction only reads the register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags)) };
        word
    }

    #[inline]
    pub(super) fn write(word: Word) {
        // SAFETY: `word` is what `read` gave or the standard.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use unknown::*;

/// Elsewhere the host's settings are left alone.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unknown {
    pub(super) type Word = u32;
    pub(super) const SETTINGS: Word = 0;
    pub(super) const STANDARD: Word = 0;

    pub(super) fn read() -> Word {
        STANDARD
    }

    pub(super) fn write(_: Word) {}
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[cfg(target_arch = "x86_64")]
    const UPWARD_FLUSHING: Word = STANDARD | 2 << 13 | 1 << 15 | 1 << 6;
    #[cfg(target_arch = "aarch64")]
    const UPWARD_FLUSHING: Word = 1 << 22 | 1 << 24;

    fn third_and_least() -> [u32; 2] {
        [black_box(1.0f32) / black_box(3.0), black_box(f32::MIN_POSITIVE) / black_box(2.0)].map(f32::to_bits)
    }

    #[test]
    fn the_hosts_settings_are_set_aside_and_put_back() {
        let want = third_and_least();
        let before = read();
        write(UPWARD_FLUSHING);
        let other = third_and_least();
        let standard = Standard::enter();
        let got = third_and_least();
        drop(standard);
        let after = read();
        write(before);
        assert_ne!(other, want);
        assert_eq!(got, want);
        assert_eq!(after & SETTINGS, UPWARD_FLUSHING & SETTINGS);
    }
}
