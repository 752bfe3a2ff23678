//! AMX where the processor lacks it, for tests: the signal that its instructions raise has them done here. What runs besides is the
//! library's own code, instruction by instruction.

use super::session::{Config, HEIGHT, Registers, STEP, has_amx};
use std::arch::x86_64::__cpuid_count;
use std::cell::UnsafeCell;
use std::sync::Once;

type Register = [[u8; STEP]; HEIGHT];

/// What a thread has of AMX.
struct State {
    config: Config,
    registers: [Register; 8],
}

thread_local! {
    static STATE: UnsafeCell<State> = const { UnsafeCell::new(State::NONE) };
}

/// From now on. True, for then there is AMX.
pub(super) fn install() -> bool {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the structure may be all zeros, and the handler is one of a signal with information.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut()), 0);
        }
    });
    true
}

/// Does the instruction at hand, and goes on behind it.
extern "C" fn on_signal(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system calls it with the context of an instruction, which is followed by others; and nobody else uses this
    // thread's state.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let place = &mut registers[libc::REG_RIP as usize];
        let instruction = Instruction::read(*place as *const u8, &|register| general(context, register));
        *place += instruction.len as i64;
        STATE.with(|state| {
            let state = &mut *state.get();
            if has_amx() {
                // What sets this raises no signal there.
                state.config = config((*context.cast::<libc::ucontext_t>()).uc_mcontext.fpregs.cast());
            }
            state.perform(&instruction);
        });
    }
}

/// What a processor with AMX saved of its registers' shapes, in XSAVE's standard format.
///
/// # Safety
/// It is what a signal's context holds.
unsafe fn config(saved: *const u8) -> Config {
    const COMPONENT: u32 = 17;
    const PRESENT: usize = 512;
    // SAFETY: this function's own promise.
    unsafe {
        if saved.add(PRESENT).cast::<u64>().read_unaligned() >> COMPONENT & 1 == 0 {
            return Config::NONE;
        }
        saved.add(__cpuid_count(0xD, COMPONENT).ebx as usize).cast::<Config>().read()
    }
}

/// A general register, as instructions number them.
///
/// # Safety
/// It is a context.
unsafe fn general(context: *mut libc::c_void, register: u8) -> u64 {
    use libc::*;
    const ORDER: [c_int; 16] = [
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R9, REG_R10, REG_R11,
        REG_R12, REG_R13, REG_R14, REG_R15,
    ];
    // SAFETY: this function's own promise.
    unsafe { (*context.cast::<ucontext_t>()).uc_mcontext.gregs[ORDER[usize::from(register)] as usize] as u64 }
}

/// An instruction of three operands, or of one and memory.
struct Instruction {
    len: usize,
    prefix: u8,
    code: u8,
    operands: [usize; 3],
    /// Where its memory begins, and how far rows are apart.
    memory: Option<(u64, u64)>,
}

impl Instruction {
    /// # Safety
    /// An instruction lies there.
    unsafe fn read(at: *const u8, general: &dyn Fn(u8) -> u64) -> Self {
        // SAFETY: this function's own promise; the longest one has as many bytes.
        let bytes: [u8; 11] = unsafe { at.cast::<[u8; 11]>().read() };
        let [first, extended, vector, code, form, index, ..] = bytes;
        assert!(first == 0xC4 && extended & 31 == 2 && vector & 0x84 == 0, "no instruction of AMX: {bytes:02x?}");
        let extend = |bit: u8, low: u8| low & 7 | (!extended >> bit & 1) << 3;
        let operands = [form >> 3 & 7, form & 7, !vector >> 3 & 15].map(usize::from);
        let (mut len, mut memory) = (5, None);
        if form >> 6 < 3 {
            let mut stride = 0;
            let base = if form & 7 == 4 {
                len = 6;
                let register = extend(6, index >> 3);
                if register != 4 {
                    stride = general(register) << (index >> 6);
                }
                extend(5, index)
            } else {
                extend(5, form)
            };
            let displacement = match form >> 6 {
                0 => {
                    assert!(base & 7 != 5, "no base: {bytes:02x?}");
                    0
                }
                1 => i64::from(bytes[len] as i8),
                _ => i64::from(i32::from_le_bytes(*bytes[len..].first_chunk().expect("four bytes"))),
            };
            len += [0, 1, 4][usize::from(form >> 6)];
            memory = Some((general(base).wrapping_add_signed(displacement), stride));
        }
        Self { len, prefix: vector & 3, code, operands, memory }
    }
}

impl State {
    const NONE: Self = Self { config: Config::NONE, registers: [[[0; STEP]; HEIGHT]; 8] };

    /// # Safety
    /// The memory of the instruction is there.
    unsafe fn perform(&mut self, instruction: &Instruction) {
        let [to, lhs, rhs] = instruction.operands;
        match (instruction.code, instruction.prefix, instruction.memory) {
            (0x49, 0, Some((place, _))) => {
                // SAFETY: this function's own promise.
                let config = unsafe { (place as *const Config).read() };
                assert!(config.is_valid());
                *self = Self { config, ..Self::NONE };
            }
            (0x49, 0, None) => self.config = Config::NONE,
            (0x49, 3, None) => {
                self.shape(to);
                self.registers[to] = [[0; STEP]; HEIGHT];
            }
            // Both ways to load.
            (0x4B, 1 | 3, Some((place, stride))) => {
                let (rows, bytes) = self.shape(to);
                self.registers[to] = [[0; STEP]; HEIGHT];
                for (i, row) in self.registers[to][..rows].iter_mut().enumerate() {
                    let from = place.wrapping_add(stride.wrapping_mul(i as u64)) as *const u8;
                    // SAFETY: as above.
                    unsafe { row.as_mut_ptr().copy_from(from, bytes) }
                }
            }
            (0x4B, 2, Some((place, stride))) => {
                let (rows, bytes) = self.shape(to);
                for (i, row) in self.registers[to][..rows].iter().enumerate() {
                    let to = place.wrapping_add(stride.wrapping_mul(i as u64)) as *mut u8;
                    // SAFETY: as above.
                    unsafe { to.copy_from(row.as_ptr(), bytes) }
                }
            }
            (0x5E, signs, None) => {
                let (rows, bytes) = self.shape(lhs);
                assert!(to != lhs && lhs != rhs && rhs != to);
                let (_, width) = self.shape(to);
                assert_eq!([to, rhs].map(|i| self.shape(i)), [(rows, width), (bytes / 4, width)]);
                let (a, b) = (self.registers[lhs], self.registers[rhs]);
                let number =
                    |byte: u8, is_signed: bool| if is_signed { i32::from(byte as i8) } else { i32::from(byte) };
                for (row, a) in self.registers[to][..rows].iter_mut().zip(&a) {
                    for (j, sum) in row[..width].as_chunks_mut().0.iter_mut().enumerate() {
                        let products = (0..bytes).map(|k| {
                            number(a[k], signs & 2 != 0) * number(b[k / 4][4 * j + k % 4], matches!(signs, 1 | 3))
                        });
                        *sum = products.fold(i32::from_le_bytes(*sum), i32::wrapping_add).to_le_bytes();
                    }
                }
            }
            _ => panic!("another instruction of AMX: {:02x}", instruction.code),
        }
    }

    /// Rows of a register, and bytes of a row.
    fn shape(&self, register: usize) -> (usize, usize) {
        let (rows, bytes) = self.config.shape(register);
        assert!(rows > 0, "no session has begun");
        (rows, bytes)
    }
}

/// What assemblers make of a session, for processors on which it raises no signal.
#[test]
fn a_session_is_done_instruction_by_instruction() {
    const LDTILECFG_RAX: &[u8] = &[0xC4, 0xE2, 0x78, 0x49, 0x00];
    const TILEZERO_0: &[u8] = &[0xC4, 0xE2, 0x7B, 0x49, 0xC0];
    const TILELOADD_0_RCX_RDX: &[u8] = &[0xC4, 0xE2, 0x7B, 0x4B, 0x04, 0x11];
    const TILELOADD_4_RCX_RDX: &[u8] = &[0xC4, 0xE2, 0x7B, 0x4B, 0x24, 0x11];
    const TILELOADDT1_6_R9_R12_64: &[u8] = &[0xC4, 0x82, 0x79, 0x4B, 0x74, 0x21, 0x40];
    const TDPBUSD_0_4_6: &[u8] = &[0xC4, 0xE2, 0x49, 0x5E, 0xC4];
    const TILESTORED_RCX_RDX_256_0: &[u8] = &[0xC4, 0xE2, 0x7A, 0x4B, 0x84, 0x11, 0, 1, 0, 0];
    const TILERELEASE: &[u8] = &[0xC4, 0xE2, 0x78, 0x49, 0xC0];

    const ROWS: usize = 11;
    let lhs: Register = std::array::from_fn(|i| std::array::from_fn(|k| (i * 37 + k * 11) as u8));
    let rhs: Register = std::array::from_fn(|i| std::array::from_fn(|k| (i * 5 + k * 101 + 3) as u8));
    let mut sums = [[0i32; 16]; HEIGHT];
    let (lhs_at, rhs_at, sums_at) = (lhs.as_ptr() as u64, rhs.as_ptr() as u64, sums.as_mut_ptr() as u64);
    let (mut state, config) = (State::NONE, Config::of(Registers::new(ROWS, STEP)));
    for (code, rcx) in [
        (LDTILECFG_RAX, 0),
        (TILELOADD_0_RCX_RDX, lhs_at),
        (TILEZERO_0, 0),
        (TILELOADD_4_RCX_RDX, lhs_at),
        (TILELOADDT1_6_R9_R12_64, 0),
        (TDPBUSD_0_4_6, 0),
        (TILESTORED_RCX_RDX_256_0, sums_at - 256),
        (TILERELEASE, 0),
    ] {
        let mut bytes = [0x90; 11];
        bytes[..code.len()].copy_from_slice(code);
        let general = |register| match register {
            0 => &raw const config as u64,
            1 => rcx,
            2 | 12 => STEP as u64,
            9 => rhs_at - 64,
            _ => unreachable!("no register that is named"),
        };
        // SAFETY: an instruction lies there, and its memory is what the registers say.
        unsafe {
            let instruction = Instruction::read(bytes.as_ptr(), &general);
            assert_eq!(instruction.len, code.len());
            state.perform(&instruction);
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        if i >= ROWS {
            assert_eq!(sums, &[0; 16], "row {i} is not there");
            continue;
        }
        for (j, &sum) in sums.iter().enumerate() {
            let product = |k: usize| i32::from(lhs[i][k]) * i32::from(rhs[k / 4][4 * j + k % 4] as i8);
            assert_eq!(sum, (0..STEP).map(product).sum::<i32>(), "row {i}, column {j}");
        }
    }
    assert_eq!(state.config.shape(0), (0, 0));
}
