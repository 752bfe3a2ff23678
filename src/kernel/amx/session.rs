//! Whether AMX may be used, and how a thread gets its registers ready.

use crate::kernel::session::Session;
use once_cell::sync::Lazy;
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::cell::Cell;

/// Rows of a register, and bytes of a row.
pub(super) const HEIGHT: usize = 16;
pub(super) const STEP: usize = 64;

/// The registers that hold lines, after those of sums, and the first of two that hold parts of a panel.
const FIRST_OF_LINES: usize = 4;
const SECOND_OF_LINES: usize = 5;
const FIRST_OF_PANEL: usize = 6;

pub(super) static SESSION: Session = Session { begin, end };

/// What LDTILECFG reads.
#[repr(C, align(64))]
pub(super) struct Config {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_of_row: [u16; 16],
    rows: [u8; 16],
}

impl Config {
    /// No registers at all.
    pub(super) const NONE: Self =
        Self { palette: 0, start_row: 0, reserved: [0; 14], bytes_of_row: [0; 16], rows: [0; 16] };

    /// With so much in each: 16 lines, whole steps and 16 columns let all eight registers be as large as they can be.
    pub(super) fn of(Registers { lines, step, end, cols }: Registers) -> Self {
        let mut config = Self { palette: 1, ..Self::NONE };
        let width = cols * size_of::<i32>();
        for register in 0..8 {
            let (rows, bytes) = match register {
                ..FIRST_OF_LINES => (lines, width),
                FIRST_OF_LINES => (lines, step),
                SECOND_OF_LINES => (lines, end),
                FIRST_OF_PANEL => (step / 4, width),
                _ => (end / 4, width),
            };
            (config.rows[register], config.bytes_of_row[register]) = (rows as u8, bytes as u16);
        }
        config
    }
}

/// What registers are ready for: so many lines, of which two hold steps of so many bytes, and so many columns. (Of most products both are
/// of the same size, and there are 16 columns.)
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Registers {
    pub lines: usize,
    pub step: usize,
    pub end: usize,
    pub cols: usize,
}

impl Registers {
    const NONE: Self = Self { lines: 0, step: 0, end: 0, cols: 0 };

    /// Those of 16 columns.
    pub(super) fn new(lines: usize, step: usize) -> Self {
        Self { lines, step, end: step, cols: HEIGHT }
    }
}

#[cfg(test)]
impl Config {
    /// Whether the processor would take it.
    pub(super) fn is_valid(&self) -> bool {
        let fits = |i: usize| usize::from(self.rows[i]) <= HEIGHT && usize::from(self.bytes_of_row[i]) <= STEP;
        self.palette == 1 && self.start_row == 0 && self.reserved == [0; 14] && (0..8).all(fits)
    }

    /// Rows of a register, and bytes of a row.
    pub(super) fn shape(&self, register: usize) -> (usize, usize) {
        (self.rows[register].into(), self.bytes_of_row[register].into())
    }
}

thread_local! {
    /// What this thread's registers are ready for.
    static READY_FOR: Cell<Registers> = const { Cell::new(Registers::NONE) };
}

/// Gets the registers ready for so much, 1 to [`HEIGHT`] lines and columns, and steps of whole groups and at most [`STEP`] bytes, unless they
/// are: that takes some 200 steps of the processor.
///
/// # Safety
/// The CPU has AMX, and this thread has begun a session.
#[inline]
pub(super) unsafe fn configure(registers: Registers) {
    if READY_FOR.replace(registers) != registers {
        let config = &Config::of(registers);
        // SAFETY: this function's own promise. By the calling convention no caller relies on what it finds in the registers of AMX.
        unsafe { asm!("ldtilecfg [{}]", in(reg) config, options(nostack, readonly)) }
    }
}

/// Early, so that the processor does something else in the meantime.
unsafe fn begin(lines: usize) {
    // SAFETY: this function's own promise.
    unsafe { configure(Registers::new(lines.clamp(1, HEIGHT), STEP)) }
}

unsafe fn end() {
    READY_FOR.set(Registers::NONE);
    // SAFETY: as above.
    unsafe { asm!("tilerelease", options(nostack, nomem)) }
}

/// Whether the processor has it, with registers of this size, and the system lets this process use it. Asked once, for to ask is
/// to change the process: from then on the system demands room for these registers, some 11 KB, on alternate stacks for signals.
pub(super) fn is_permitted() -> bool {
    static PERMITTED: Lazy<bool> = Lazy::new(ask);
    *PERMITTED
}

#[cfg(not(test))]
fn ask() -> bool {
    has_amx() && permit()
}

/// Tests may have it done by a program, whether the processor has it or not: without a permit, the system raises the same signal.
#[cfg(test)]
fn ask() -> bool {
    match std::env::var_os("QGEMM_TESTS_EMULATE_AMX") {
        Some(_) => super::emulated::install(),
        None => has_amx() && permit(),
    }
}

pub(super) fn has_amx() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    const TILE_AND_INT8: u32 = 0b11 << 24;
    const TILE_STATE: u64 = 0b11 << 17;
    const PALETTES: u32 = 0x1D;
    if __cpuid(0).eax < PALETTES
        || __cpuid(1).ecx & OSXSAVE == 0
        || __cpuid_count(7, 0).edx & TILE_AND_INT8 != TILE_AND_INT8
    {
        return false;
    }
    // SAFETY: the processor says that it has XGETBV.
    let state = unsafe { enabled_state() };
    let (largest, first) = (__cpuid(PALETTES).eax, __cpuid_count(PALETTES, 1));
    let registers = (first.ebx >> 16, first.ecx & 0xFFFF, first.ebx & 0xFFFF);
    state & TILE_STATE == TILE_STATE && largest >= 1 && registers == (8, HEIGHT as u32, STEP as u32)
}

#[target_feature(enable = "xsave")]
fn enabled_state() -> u64 {
    // SAFETY: register 0 is there wherever the instruction is.
    unsafe { _xgetbv(0) }
}

/// Linux gives the room for these registers only to processes that ask.
#[cfg(target_os = "linux")]
fn permit() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: this call takes two numbers.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn permit() -> bool {
    false
}
