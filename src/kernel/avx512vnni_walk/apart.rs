//! The assembly of few rows: each second group is summed apart.

/// The sums of few rows apart from those in [`rows`]: each second group adds to these, for it would wait for the group before.
macro_rules! rows_apart {
    ($each:ident) => {
        concat!(
            $each!("0", "zmm0", "zmm1", "zmm12", "zmm13", "{a}"),
            $each!("1", "zmm2", "zmm3", "zmm14", "zmm15", "{a} + {pitch}"),
            $each!("2", "zmm4", "zmm5", "zmm16", "zmm17", "{a} + 2*{pitch}"),
            $each!("3", "zmm6", "zmm7", "zmm18", "zmm19", "{b}"),
        )
    };
}

#[rustfmt::skip]
macro_rules! begin_apart {
    ($row:literal, $first:literal, $second:literal, $apart:literal, $second_apart:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpxord ", $apart, ", ", $apart, ", ", $apart, "\n",
            "vpxord ", $second_apart, ", ", $second_apart, ", ", $second_apart, "\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! dot_apart {
    ($row:literal, $first:literal, $second:literal, $apart:literal, $second_apart:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            multiply!($apart, $second_apart, [$line, " + 4"] in "zmm26", "zmm28", "zmm29"),
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! join {
    ($row:literal, $first:literal, $second:literal, $apart:literal, $second_apart:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpaddd ", $first, ", ", $first, ", ", $apart, "\n",
            "vpaddd ", $second, ", ", $second, ", ", $second_apart, "\n",
            ".endif\n",
        )
    };
}

/// As many pairs of groups as are in `count`, if the rows are few; one group may be left.
#[rustfmt::skip]
macro_rules! pairs {
    () => {
        concat!(
            ".if {ROWS} <= {FEW}\n",
            "cmp {count}, 2\n",
            "jb 23f\n",
            rows_apart!(begin_apart),
            "22:\n",
            panel!("zmm24", "zmm25", "0"),
            rows!(dot),
            panel!("zmm28", "zmm29", "128"),
            rows_apart!(dot_apart),
            "add {a}, 8\n", "add {b}, 8\n",
            "add {rhs}, 256\n",
            "sub {count}, 2\n",
            "cmp {count}, 2\n",
            "jae 22b\n",
            rows_apart!(join),
            "test {count}, {count}\n",
            "jz 7f\n",
            "23:\n",
            ".endif\n",
        )
    };
}
