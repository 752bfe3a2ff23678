//! What a kernel could do at most: the multiplications of its instructions on registers alone, measured in the same run.

use qgemm::Kernel;
use std::time::Instant;

/// GOPS that a kernel cannot exceed, if its instructions are known here.
pub struct Limit(Option<f64>);

impl Limit {
    /// Takes some milliseconds.
    pub fn of(kernel: &Kernel) -> Self {
        Self(sequence(kernel).map(|(turn, macs)| {
            const TURNS: u64 = 20_000;
            let seconds = (0..60).map(|_| {
                let begin = Instant::now();
                turn(TURNS);
                begin.elapsed().as_secs_f64()
            });
            2e-9 * (macs * STEPS * TURNS) as f64 / seconds.fold(f64::INFINITY, f64::min)
        }))
    }

    /// What share of it so many GOPS are.
    pub fn share(&self, gops: f64) -> String {
        self.0.map_or("limit unknown".into(), |limit| format!("{:3.0} % of {limit:.0}", 100.0 * gops / limit))
    }
}

/// In each turn.
const STEPS: u64 = 20;

/// So many turns of the instructions of a kernel, and the multiplications of one step.
#[cfg(target_arch = "x86_64")]
fn sequence(kernel: &Kernel) -> Option<(fn(u64), u64)> {
    // SAFETY: whoever has a kernel has a processor that runs it.
    unsafe {
        Some(match kernel.name {
            "amx" => (|turns| x86_64::dpbusd_tiles(turns), 16 * 16 * 64),
            "avx512vnni" => (|turns| x86_64::dpbusd_zmm(turns), 64),
            "avxvnni" => (|turns| x86_64::dpbusd_ymm(turns), 32),
            "avx512bw" => (|turns| x86_64::maddwd_zmm(turns), 32),
            "avx2" => (|turns| x86_64::maddwd_ymm(turns), 16),
            _ => return None,
        })
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn sequence(_kernel: &Kernel) -> Option<(fn(u64), u64)> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;

    macro_rules! dpbusd {
        ($register:literal, $sum:literal) => {
            concat!("vpdpbusd ", $register, $sum, ", ", $register, "14, ", $register, "15")
        };
    }

    // Processors with AVX-VNNI have no other form of it.
    macro_rules! dpbusd_vex {
        ($register:literal, $sum:literal) => {
            concat!("{{vex}} ", dpbusd!($register, $sum))
        };
    }

    macro_rules! maddwd {
        ($register:literal, $sum:literal) => {
            concat!(
                concat!("vpmaddwd ", $register, "13, ", $register, "14, ", $register, "15\n"),
                concat!("vpaddd ", $register, $sum, ", ", $register, $sum, ", ", $register, "13")
            )
        };
    }

    // Ten sums: two instructions a cycle of latency five.
    macro_rules! turns {
        ($name:ident, $feature:literal, $step:ident, $register:literal) => {
            #[target_feature(enable = $feature)]
            pub fn $name(turns: u64) {
                // SAFETY: nothing is written but registers that are named here.
                unsafe {
                    asm!(
                        "2:",
                        $step!($register, "0"), $step!($register, "1"), $step!($register, "2"), $step!($register, "3"),
                        $step!($register, "4"), $step!($register, "5"), $step!($register, "6"), $step!($register, "7"),
                        $step!($register, "8"), $step!($register, "9"),
                        $step!($register, "0"), $step!($register, "1"), $step!($register, "2"), $step!($register, "3"),
                        $step!($register, "4"), $step!($register, "5"), $step!($register, "6"), $step!($register, "7"),
                        $step!($register, "8"), $step!($register, "9"),
                        "dec {turns}",
                        "jnz 2b",
                        "vzeroupper",
                        turns = inout(reg) turns => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                        out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                        out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                        options(nomem, nostack),
                    );
                }
            }
        };
    }

    /// Four sums of 16 x 16, of registers that hold zeros.
    ///
    /// # Safety
    /// The processor has AMX, and the system lets this process use it.
    pub unsafe fn dpbusd_tiles(turns: u64) {
        #[repr(C, align(64))]
        struct Config([u8; 16], [u16; 16], [u8; 16]);
        let mut config = Config([0; 16], [0; 16], [0; 16]);
        config.0[0] = 1;
        config.1[..8].fill(64);
        config.2[..8].fill(16);
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                "ldtilecfg [{config}]",
                "2:",
                ".rept 5",
                "tdpbusd tmm0, tmm4, tmm6", "tdpbusd tmm1, tmm4, tmm7",
                "tdpbusd tmm2, tmm5, tmm6", "tdpbusd tmm3, tmm5, tmm7",
                ".endr",
                "dec {turns}",
                "jnz 2b",
                "tilerelease",
                config = in(reg) &config, turns = inout(reg) turns => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(readonly, nostack),
            );
        }
    }

    turns! { dpbusd_zmm, "avx512vnni", dpbusd, "zmm" }
    turns! { maddwd_zmm, "avx512bw", maddwd, "zmm" }
    turns! { dpbusd_ymm, "avxvnni", dpbusd_vex, "ymm" }
    turns! { maddwd_ymm, "avx2", maddwd, "ymm" }
}
