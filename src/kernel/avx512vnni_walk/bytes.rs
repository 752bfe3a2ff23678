//! The assembly of what makes bytes of a row of sums, 32 of them.

/// They become bytes step by step, so that none waits for the one before beside multiplications that could begin: 65536ths of what they
/// are to be, with their offset and half a number, of which the upper words count. What is out of range becomes the least integer, which
/// is in doubt. `zmm31` has the least of all lower words, which tell how far numbers are from ties; `zmm28`, where lines are spread, is
/// free within a step.
///
/// With each step is given how far the panel and the bytes are from where they are said to be, which bytes there are, and what comes
/// after the last step.
#[rustfmt::skip]
macro_rules! step {
    ("0", $panel:literal, $at:literal, $mask:literal, $next:literal) => { concat!(
        "vcvtdq2ps zmm29, [{sums}]\n",
        "vcvtdq2ps zmm30, [{sums} + 64]\n",
        "sub {sums}, -128\n",
    ) };
    ("1", $panel:literal, $at:literal, $mask:literal, $next:literal) => { scale!("zmm29", $panel, "") };
    ("2", $panel:literal, $at:literal, $mask:literal, $next:literal) => { scale!("zmm30", $panel, " + 64") };
    ("3", $panel:literal, $at:literal, $mask:literal, $next:literal) => { "vcvtps2dq zmm29, zmm29\n" };
    ("4", $panel:literal, $at:literal, $mask:literal, $next:literal) => { "vcvtps2dq zmm30, zmm30\n" };
    ("5", $panel:literal, $at:literal, $mask:literal, $next:literal) => { concat!(
        "vpminuw zmm31, zmm31, zmm29\n",
        "vpminuw zmm31, zmm31, zmm30\n",
        "vmovdqa64 zmm28, [rip + {KNOWN} + {UPPER}]\n",
        "vpermt2w zmm29, zmm28, zmm30\n",
    ) };
    ("6", $panel:literal, $at:literal, $mask:literal, $next:literal) => { concat!(
        ".if {ENDS} == {UNSIGNED_BYTES}\n",
        "vpackuswb zmm29, zmm29, zmm29\n",
        ".elseif {ENDS} == {SIGNED_BYTES}\n",
        "vpacksswb zmm29, zmm29, zmm29\n",
        ".else\n",
        "vpmaxsw zmm29, zmm29, [{panel} + {LEAST}", $panel, "]\n",
        "vpminsw zmm29, zmm29, [{panel} + {GREATEST}", $panel, "]\n",
        ".endif\n",
    ) };
    ("7", $panel:literal, $at:literal, $mask:literal, $next:literal) => { concat!(
        ".if {ENDS} == {SOME_BYTES}\n",
        "vpmovwb [{bytes}", $at, "]{{", $mask, "}}, zmm29\n",
        ".else\n",
        "vmovdqa64 zmm28, [rip + {KNOWN} + {EVEN}]\n",
        "vpermq zmm29, zmm28, zmm29\n",
        "vmovdqu8 [{bytes}", $at, "]{{", $mask, "}}, ymm29\n",
        ".endif\n",
        $next,
    ) };
}

/// Sums, as floats, become 65536ths.
#[rustfmt::skip]
macro_rules! scale {
    ($sums:literal, $panel:literal, $at:literal) => {
        concat!(
            ".if {SIGNS}\n",
            "vpsrad zmm28, ", $sums, ", 31\n",
            "vpandd zmm28, zmm28, [{panel} + {DIFFERENCE}", $panel, $at, "]\n",
            "vpxord zmm28, zmm28, [{panel} + {ABOVE}", $panel, $at, "]\n",
            ".else\n",
            "vmovdqa64 zmm28, [{panel} + {ABOVE}", $panel, $at, "]\n",
            ".endif\n",
            "vfmadd132ps ", $sums, ", zmm28, [{panel} + {SCALE}", $panel, $at, "]\n",
        )
    };
}
