//! The assembly of a tile of two panels, of half as many rows: they read lines and results in longer runs, and the lines half as often.

/// The same for each row that there is, with what is given: its number, the registers of its sums, and where its line is.
macro_rules! rows_of_two {
    ($each:ident $(, $with:ident)?) => {
        concat!(
            $each!($($with,)? "0", "zmm0", "zmm1", "zmm2", "zmm3", "{a}"),
            $each!($($with,)? "1", "zmm4", "zmm5", "zmm6", "zmm7", "{a} + {pitch}"),
            $each!($($with,)? "2", "zmm8", "zmm9", "zmm10", "zmm11", "{a} + 2*{pitch}"),
            $each!($($with,)? "3", "zmm12", "zmm13", "zmm14", "zmm15", "{b}"),
            $each!($($with,)? "4", "zmm16", "zmm17", "zmm18", "zmm19", "{b} + {pitch}"),
            $each!($($with,)? "5", "zmm20", "zmm21", "zmm22", "zmm23", "{b} + 2*{pitch}"),
        )
    };
}

#[rustfmt::skip]
macro_rules! begin_row_of_two {
    ($row:literal, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpaddd ", $first, ", zmm24, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            "vpaddd ", $second, ", zmm25, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            "vpaddd ", $third, ", zmm26, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            "vpaddd ", $fourth, ", zmm27, dword ptr [{a} + 4*", $row, "]{{1to16}}\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! fetch_row_of_two {
    ($row:literal, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "prefetchw [{count}]\n",
            "prefetchw [{count} + 64]\n",
            "prefetchw [{count} + 128]\n",
            "prefetchw [{count} + 192]\n",
            "prefetchw [{count} + 255]\n",
            "add {count}, {stride}\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! begin_times_of_two {
    ($row:literal, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            "vpmulld ", $first, ", zmm24, dword ptr [{b} + 4*", $row, "]{{1to16}}\n",
            "vpmulld ", $second, ", zmm25, dword ptr [{b} + 4*", $row, "]{{1to16}}\n",
            "vpmulld ", $third, ", zmm26, dword ptr [{b} + 4*", $row, "]{{1to16}}\n",
            "vpmulld ", $fourth, ", zmm27, dword ptr [{b} + 4*", $row, "]{{1to16}}\n",
            ".endif\n",
        )
    };
}

macro_rules! begin_sums_of_two {
    () => {
        begin_result!(rows_of_two, begin_row_of_two, begin_times_of_two)
    };
}

macro_rules! begin_rows_of_two {
    () => {
        rows_of_two!(begin_row_of_two)
    };
}

/// All rows' sums, which begin with what their row and their columns, those of either panel, add.
#[rustfmt::skip]
macro_rules! begin_two {
    ($of_cols:literal, $of_others:literal, $begin:ident) => {
        concat!(
            "vmovdqu64 zmm24, [", $of_cols, "]\n",
            "vmovdqu64 zmm25, [", $of_cols, " + 64]\n",
            "vmovdqu64 zmm26, [", $of_others, "]\n",
            "vmovdqu64 zmm27, [", $of_others, " + 64]\n",
            "mov {a}, [{walk} + {OF_ROWS}]\n",
            $begin!(),
            "mov {c}, [{walk} + {DISTANCE}]\n",
            go!(lines_of_two),
        )
    };
}

#[rustfmt::skip]
macro_rules! lines_of_two {
    () => {
        concat!("lea {b}, [{a} + 2*{pitch}]\n", "add {b}, {pitch}\n")
    };
}

/// A group of a line times those of the panels. `vpdpbusd` takes the unsigned bytes first.
#[rustfmt::skip]
macro_rules! multiply_two {
    ($first:literal, $second:literal, $third:literal, $fourth:literal, [$line:literal $(, $row:literal)?]) => {
        concat!(
            "vpbroadcastd zmm28, dword ptr [", $line, $($row,)? "]\n",
            ".if {LHS} == {TURNED}\n",
            "vpxord zmm28, zmm28, dword ptr [rip + {KNOWN} + {TURN}]{{1to16}}\n",
            ".endif\n",
            ".if {LHS} == {SIGNED}\n",
            "vpdpbusd ", $first, ", zmm24, zmm28\n",
            "vpdpbusd ", $second, ", zmm25, zmm28\n",
            "vpdpbusd ", $third, ", zmm26, zmm28\n",
            "vpdpbusd ", $fourth, ", zmm27, zmm28\n",
            ".else\n",
            "vpdpbusd ", $first, ", zmm28, zmm24\n",
            "vpdpbusd ", $second, ", zmm28, zmm25\n",
            "vpdpbusd ", $third, ", zmm28, zmm26\n",
            "vpdpbusd ", $fourth, ", zmm28, zmm27\n",
            ".endif\n",
        )
    };
}

#[rustfmt::skip]
macro_rules! dot_two {
    ($row:tt, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            multiply_two!($first, $second, $third, $fourth, [$line]),
            ".endif\n",
        )
    };
}

/// As [`dot_two`], with steps of what makes bytes of the left half of a row before.
macro_rules! dot_left {
    ($row:tt, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(dot_two!($row, $first, $second, $third, $fourth, $line), half!($row, left))
    };
}

macro_rules! dot_right {
    ($row:tt, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(dot_two!($row, $first, $second, $third, $fourth, $line), half!($row, right))
    };
}

/// The same, of both halves.
macro_rules! dot_both {
    ($row:tt, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(dot_two!($row, $first, $second, $third, $fourth, $line), both!($row))
    };
}

/// Eight steps beside six rows.
#[rustfmt::skip]
macro_rules! half {
    ("0", $half:ident) => { $half!("0") };
    ("1", $half:ident) => { $half!("1") };
    ("2", $half:ident) => { $half!("2") };
    ("3", $half:ident) => { concat!($half!("3"), $half!("4")) };
    ("4", $half:ident) => { $half!("5") };
    ("5", $half:ident) => { concat!($half!("6"), $half!("7")) };
}

#[rustfmt::skip]
macro_rules! both {
    ("0") => { concat!(left!("0"), left!("1")) };
    ("1") => { concat!(left!("2"), left!("3"), left!("4")) };
    ("2") => { concat!(left!("5"), left!("6"), left!("7")) };
    ("3") => { concat!(right!("0"), right!("1")) };
    ("4") => { concat!(right!("2"), right!("3"), right!("4")) };
    ("5") => { concat!(right!("5"), right!("6"), right!("7")) };
}

macro_rules! left {
    ($step:tt) => {
        step!($step, "", "", "k3", "")
    };
}

macro_rules! right {
    ($step:tt) => {
        step!($step, " + {PANEL}", " + 32", "k2", "add {bytes}, [{walk} + {STRIDE}]\n")
    };
}

/// All steps of a row.
#[rustfmt::skip]
macro_rules! finish_two {
    () => {
        concat!(
            left!("0"), left!("1"), left!("2"), left!("3"), left!("4"), left!("5"), left!("6"), left!("7"),
            right!("0"), right!("1"), right!("2"), right!("3"), right!("4"), right!("5"), right!("6"), right!("7"),
        )
    };
}

/// The next group of each panel.
#[rustfmt::skip]
macro_rules! panels {
    () => {
        concat!(
            "vmovdqu64 zmm24, [{rhs}]\n",
            "vmovdqu64 zmm25, [{rhs} + 64]\n",
            "vmovdqu64 zmm26, [{rhs} + {c}]\n",
            "vmovdqu64 zmm27, [{rhs} + {c} + 64]\n",
        )
    };
}

/// A group of all lines.
#[rustfmt::skip]
macro_rules! group_of_two {
    ($dot:ident) => {
        concat!(
            panels!(),
            rows_of_two!($dot),
            "add {a}, 4\n", "add {b}, 4\n",
            "sub {rhs}, -128\n",
        )
    };
}

/// To the room from where the next tile takes them.
#[rustfmt::skip]
macro_rules! put_two {
    ($row:literal, $first:literal, $second:literal, $third:literal, $fourth:literal) => {
        concat!(
            "vmovdqu64 [{sums} + 256*", $row, "], ", $first, "\n",
            "vmovdqu64 [{sums} + 256*", $row, " + 64], ", $second, "\n",
            "vmovdqu64 [{sums} + 256*", $row, " + 128], ", $third, "\n",
            "vmovdqu64 [{sums} + 256*", $row, " + 192], ", $fourth, "\n",
        )
    };
}

/// To their row of the result.
#[rustfmt::skip]
macro_rules! put_out_two {
    ($row:literal, $first:literal, $second:literal, $third:literal, $fourth:literal) => {
        concat!(
            ".if {FLOATS}\n",
            become_floats!($row, [$first, "0"], [$second, "64"], [$third, "{NEXT}"], [$fourth, "{NEXT} + 64"]),
            ".endif\n",
            "vmovdqu64 [{to}], ", $first, "\n",
            "vmovdqu64 [{to} + 64], ", $second, "\n",
            "vmovdqu32 [{to} + 128]{{k2}}, ", $third, "\n",
            "vmovdqu32 [{to} + 192]{{k3}}, ", $fourth, "\n",
            "add {to}, {stride}\n",
        )
    };
}

/// The last group of a line, and where the sums are put.
#[rustfmt::skip]
macro_rules! end_whole_of_two {
    ($put:ident, $row:tt, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            multiply_two!($first, $second, $third, $fourth, [$line]),
            $put!($row, $first, $second, $third, $fourth),
            ".endif\n",
        )
    };
}

/// The same if it is cut.
#[rustfmt::skip]
macro_rules! end_cut_of_two {
    ($put:ident, $row:tt, $first:literal, $second:literal, $third:literal, $fourth:literal, $line:literal) => {
        concat!(
            ".if {ROWS} > ", $row, "\n",
            multiply_two!($first, $second, $third, $fourth, ["{count} + 4*", $row]),
            $put!($row, $first, $second, $third, $fourth),
            ".endif\n",
        )
    };
}

/// The end of all lines, in whichever of two ways.
#[rustfmt::skip]
macro_rules! ends_of_two {
    ($put:ident) => {
        concat!(
            ".if {ROWS} > 0\n",
            panels!(),
            "mov {count}, [{walk} + {END}]\n",
            "cmp {count}, {END_CUT}\n",
            "je 40f\n",
            rows_of_two!(end_whole_of_two, $put),
            "jmp 60f\n",
            "40:\n",
            "mov {count}, [{walk} + {LAST}]\n",
            rows_of_two!(end_cut_of_two, $put),
            "60:\n",
            ".endif\n",
        )
    };
}
