//! The assembly of what makes bytes of a row of sums.

/// A row before becomes bytes, step by step, so that none waits for the one before beside multiplications that could begin: 65536ths
/// of what it is to be, of which the upper words count. `zmm31` has the least of all lower words, which tell how far numbers are from
/// ties.
#[rustfmt::skip]
macro_rules! step {
    ("0") => { concat!(
        "vcvtdq2ps zmm27, [{sums}]\n",
        "vcvtdq2ps zmm28, [{sums} + 64]\n",
        "sub {sums}, -128\n",
    ) };
    ("1") => { concat!(
        "vpandd zmm29, zmm27, dword ptr [{panel} + {SIGNS}]{{1to16}}\n",
        "vpandd zmm30, zmm28, dword ptr [{panel} + {SIGNS}]{{1to16}}\n",
    ) };
    ("2") => { concat!(
        "vpxord zmm29, zmm29, [{panel} + {NUDGE}]\n",
        "vpxord zmm30, zmm30, [{panel} + {NUDGE} + 64]\n",
    ) };
    ("3") => { concat!(
        "vfmadd132ps zmm27, zmm29, [{panel} + {SCALE}]\n",
        "vfmadd132ps zmm28, zmm30, [{panel} + {SCALE} + 64]\n",
    ) };
    // The lesser of floats, as of integers. What is less than all integers becomes the least.
    ("4") => { concat!(
        "vpminsd zmm27, zmm27, dword ptr [rip + {KNOWN} + {MOST}]{{1to16}}\n",
        "vpminsd zmm28, zmm28, dword ptr [rip + {KNOWN} + {MOST}]{{1to16}}\n",
    ) };
    ("5") => { concat!(
        "vcvtps2dq zmm29, zmm27\n",
        "vcvtps2dq zmm30, zmm28\n",
        "vmovdqa64 zmm27, [rip + {KNOWN} + {ORDER}]\n",
    ) };
    ("6") => { concat!(
        "vpaddd zmm29, zmm29, dword ptr [rip + {KNOWN} + {HALF}]{{1to16}}\n",
        "vpaddd zmm30, zmm30, dword ptr [rip + {KNOWN} + {HALF}]{{1to16}}\n",
    ) };
    ("7") => { concat!(
        "vpminuw zmm31, zmm31, zmm29\n",
        "vpermi2w zmm27, zmm29, zmm30\n",
    ) };
    ("8") => { concat!(
        "vpminuw zmm31, zmm31, zmm30\n",
        "vpmaxsw zmm27, zmm27, [{panel} + {LEAST}]\n",
    ) };
    ("9") => { "vpminsw zmm27, zmm27, [{panel} + {GREATEST}]\n" };
    ("10") => { "vpaddw zmm27, zmm27, [{panel} + {OFFSET}]\n" };
    ("11") => { concat!(
        "vpmovwb [{bytes}]{{k2}}, zmm27\n",
        "add {bytes}, [{walk} + {STRIDE}]\n",
    ) };
}

/// All steps of a row beside no group.
#[rustfmt::skip]
macro_rules! finish {
    () => {
        concat!(
            step!("0"), step!("1"), step!("2"), step!("3"), step!("4"), step!("5"),
            step!("6"), step!("7"), step!("8"), step!("9"), step!("10"), step!("11"),
        )
    };
}
