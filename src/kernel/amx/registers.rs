//! What is done with the registers of AMX: four of sums begin, are multiplied, and go where they belong.

use super::session::STEP;
use crate::kernel::relay::WIDTH;
use crate::matrix::Encoding;
use std::arch::asm;

/// Bytes of a panel that are multiplied together, and of a group of all its lines.
pub(super) const PANEL_STEP: usize = STEP * WIDTH;
pub(super) const GROUP: usize = 4 * WIDTH;

/// Where rows of sums lie, so many bytes apart; or one that counts for all.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub at: *mut i32,
    pub pitch: usize,
}

impl Place {
    /// That of rows so many numbers apart.
    pub(super) fn of_rows((at, stride): (*mut i32, usize)) -> Self {
        Self { at, pitch: stride * size_of::<i32>() }
    }

    /// The same sums for all rows.
    pub(super) fn same(sums: &[i32; WIDTH]) -> Self {
        Self { at: sums.as_ptr().cast_mut(), pitch: 0 }
    }

    pub(super) fn row(self, row: usize) -> *mut i32 {
        self.at.wrapping_byte_add(row * self.pitch)
    }

    /// So many rows further on.
    pub(super) fn below(self, rows: usize) -> Self {
        Self { at: self.row(rows), ..self }
    }

    /// So many panels further on, which lie beside each other.
    pub(super) fn beside(self, panels: usize) -> Self {
        Self { at: self.at.wrapping_add(panels * WIDTH), ..self }
    }
}

/// Which sides are signed. (Numbers, for the assembly, and from 0 on.)
pub(super) mod signs {
    use crate::matrix::Encoding;

    pub(in crate::kernel::amx) const OF_NEITHER: usize = 0;
    pub(in crate::kernel::amx) const OF_PANEL: usize = 1;
    pub(in crate::kernel::amx) const OF_LINES: usize = 2;
    pub(in crate::kernel::amx) const OF_BOTH: usize = 3;

    pub(in crate::kernel::amx) fn of(lines_and_panel: [Encoding; 2]) -> usize {
        match lines_and_panel {
            [Encoding::U8, Encoding::U8] => OF_NEITHER,
            [Encoding::U8, Encoding::S8] => OF_PANEL,
            [Encoding::S8, Encoding::U8] => OF_LINES,
            [Encoding::S8, Encoding::S8] => OF_BOTH,
        }
    }
}

/// How many sums a tile has.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Form {
    /// Those of one register of rows and of one panel.
    Flat,
    /// Two registers of rows.
    Tall,
    /// Two panels.
    Broad,
}

/// The same as numbers, for the assembly.
const FLAT: usize = Form::Flat as usize;
const TALL: usize = Form::Tall as usize;
const BROAD: usize = Form::Broad as usize;

/// How tiles are multiplied.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    signs: usize,
    pub form: Form,
    /// Whether the lines come from far, and a panel stays near, or the other way round.
    is_streamed: bool,
}

/// The instruction for two registers whose bytes have these signs.
#[rustfmt::skip]
macro_rules! dot {
    ($sums:literal, $lines:literal, $panel:literal) => {
        concat!(
            ".if {SIGNS} == {OF_NEITHER}\n", "tdpbuud ", $sums, ", ", $lines, ", ", $panel, "\n", ".endif\n",
            ".if {SIGNS} == {OF_PANEL}\n", "tdpbusd ", $sums, ", ", $lines, ", ", $panel, "\n", ".endif\n",
            ".if {SIGNS} == {OF_LINES}\n", "tdpbsud ", $sums, ", ", $lines, ", ", $panel, "\n", ".endif\n",
            ".if {SIGNS} == {OF_BOTH}\n", "tdpbssd ", $sums, ", ", $lines, ", ", $panel, "\n", ".endif\n",
        )
    };
}

/// Loads what is used once in a way that leaves the first cache to what stays.
#[rustfmt::skip]
macro_rules! load {
    ($register:literal, $from:literal, once if $streamed:literal) => {
        concat!(
            ".if {STREAMED} == ", $streamed, "\n", "tileloaddt1 ", $register, ", ", $from, "\n",
            ".else\n", "tileloadd ", $register, ", ", $from, "\n", ".endif\n",
        )
    };
}

/// Multiplies a step, where a second panel's, if there is one, lies as given. Each register is loaded anew, `then`, by [`load!`] or
/// [`omit!`], as soon as it was used: who loads all that a step takes, and multiplies then, waits for the one and for the other.
#[rustfmt::skip]
macro_rules! multiply_step {
    (of $beside:literal then $load:ident) => {
        concat!(
            dot!("tmm0", "tmm4", "tmm6"),
            ".if {FORM} == {BROAD}\n", load!("tmm6", $beside, once if "0"), ".endif\n",
            ".if {WIDE}\n", dot!("tmm1", "tmm4", "tmm7"), ".endif\n",
            ".if {FORM} == {BROAD}\n",
            $load!("tmm7", "[{panel} + {group} + 64]", once if "0"),
            dot!("tmm2", "tmm4", "tmm5"),
            $load!("tmm5", "[{second} + {group}]", once if "0"),
            dot!("tmm3", "tmm4", "tmm6"),
            ".endif\n",
            $load!("tmm4", "[{first} + {pitch}]", once if "1"),
            ".if {FORM} == {TALL}\n", dot!("tmm2", "tmm5", "tmm6"), ".endif\n",
            $load!("tmm6", "[{panel} + {group}]", once if "0"),
            ".if {FORM} == {TALL} && {WIDE}\n", dot!("tmm3", "tmm5", "tmm7"), ".endif\n",
            ".if {FORM} == {TALL}\n", $load!("tmm5", "[{second} + {pitch}]", once if "1"), ".endif\n",
            ".if {FORM} != {BROAD} && {WIDE}\n",
            $load!("tmm7", "[{panel} + {group} + 64]", once if "0"),
            ".endif\n",
        )
    };
}

/// As [`dot!`], for signs that are known when it runs.
#[rustfmt::skip]
macro_rules! dot_by_signs {
    ($sums:literal, $lines:literal, $panel:literal) => {
        concat!(
            "cmp {how:l}, {OF_PANEL}\n", "jb 2f\n", "je 3f\n", "cmp {how:l}, {OF_LINES}\n", "je 4f\n",
            "tdpbssd ", $sums, ", ", $lines, ", ", $panel, "\n", "jmp 5f\n",
            "2:\n", "tdpbuud ", $sums, ", ", $lines, ", ", $panel, "\n", "jmp 5f\n",
            "3:\n", "tdpbusd ", $sums, ", ", $lines, ", ", $panel, "\n", "jmp 5f\n",
            "4:\n", "tdpbsud ", $sums, ", ", $lines, ", ", $panel, "\n",
            "5:\n",
        )
    };
}

/// As [`load!`], once if bit 31 is set, or if it is not; and not at all if bit 30 is.
#[rustfmt::skip]
macro_rules! load_by_use {
    ($register:literal, $from:literal, once if $is_once:literal) => {
        concat!(
            "bt {how:e}, 30\n", "jc 3f\n",
            "test {how:e}, {how:e}\n", $is_once, " 2f\n",
            "tileloadd ", $register, ", ", $from, "\n", "jmp 3f\n",
            "2:\n", "tileloaddt1 ", $register, ", ", $from, "\n",
            "3:\n",
        )
    };
}

/// In place of [`load!`], where no step follows.
macro_rules! omit {
    ($($what:tt)*) => {
        ""
    };
}

/// What the registers hold stays there from one function to the next: the compiler uses none of them.
impl Shape {
    /// For lines and panels of these encodings.
    pub(super) fn new(encodings: [Encoding; 2], form: Form, is_streamed: bool) -> Self {
        Self { signs: signs::of(encodings), form, is_streamed }
    }

    /// Has sums begin with what lies there, or zeros; those of the second registers, if there are any, at the second place.
    ///
    /// # Safety
    /// As for [`Strip::multiply`](super::walk::Strip::multiply).
    #[inline(always)]
    pub(super) unsafe fn begin(self, from: Option<[Place; 2]>) {
        // SAFETY: this function's own promise.
        unsafe {
            let Some([from, second]) = from else {
                asm!(
                    "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _, options(nostack, nomem),
                );
                return;
            };
            asm!(
                "tileloadd tmm0, [{at} + {pitch}]", "tileloadd tmm1, [{at} + {pitch} + 64]",
                at = in(reg) from.at, pitch = in(reg) from.pitch,
                out("tmm0") _, out("tmm1") _, options(nostack, readonly),
            );
            if self.form != Form::Flat {
                asm!(
                    "tileloadd tmm2, [{at} + {pitch}]", "tileloadd tmm3, [{at} + {pitch} + 64]",
                    at = in(reg) second.at, pitch = in(reg) second.pitch,
                    out("tmm2") _, out("tmm3") _, options(nostack, readonly),
                );
            }
        }
    }

    /// Brings them to their places.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub(super) unsafe fn end(self, [to, second]: [Place; 2]) {
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                "tilestored [{at} + {pitch}], tmm0", "tilestored [{at} + {pitch} + 64], tmm1",
                at = in(reg) to.at, pitch = in(reg) to.pitch, options(nostack),
            );
            if self.form != Form::Flat {
                asm!(
                    "tilestored [{at} + {pitch}], tmm2", "tilestored [{at} + {pitch} + 64], tmm3",
                    at = in(reg) second.at, pitch = in(reg) second.pitch, options(nostack),
                );
            }
        }
    }

    /// The same for [`Step`]: signs, and a bit if lines are streamed.
    pub(super) fn how(self) -> u32 {
        self.signs as u32 | u32::from(self.is_streamed) << 31
    }

    /// What multiplies so, by one register of columns and by two.
    #[inline(always)]
    pub(super) fn ways(self) -> [Multiply; 2] {
        const fn ways<const SIGNS: usize>() -> [[Multiply; 2]; 4] {
            [
                [multiply::<SIGNS, FLAT, 0, 0>, multiply::<SIGNS, FLAT, 1, 0>],
                [multiply::<SIGNS, TALL, 0, 0>, multiply::<SIGNS, TALL, 1, 0>],
                [multiply::<SIGNS, TALL, 0, 0>, multiply::<SIGNS, TALL, 1, 1>],
                [multiply::<SIGNS, BROAD, 1, 1>, multiply::<SIGNS, BROAD, 1, 1>],
            ]
        }
        static WAYS: [[[Multiply; 2]; 4]; 4] = [
            ways::<{ signs::OF_NEITHER }>(),
            ways::<{ signs::OF_PANEL }>(),
            ways::<{ signs::OF_LINES }>(),
            ways::<{ signs::OF_BOTH }>(),
        ];
        let form = match self.form {
            Form::Flat => 0,
            Form::Tall => 1 + usize::from(self.is_streamed),
            Form::Broad => 3,
        };
        WAYS[self.signs][form]
    }
}

/// Multiplies 16 lines, so many bytes apart, and as many from so many bytes further on, by so many steps of a panel, at least one, of so
/// many bytes of a line. Or, if they are broad, 16 lines by a panel and by the one so many bytes further on, in whole steps.
///
/// # Safety
/// As for [`Strip::multiply`](super::walk::Strip::multiply); and lines and panel reach so far.
pub(super) type Multiply = unsafe fn(*const u8, second: usize, pitch: usize, panel: *const u8, steps: (usize, usize));

/// # Safety
/// As for a [`Multiply`].
unsafe fn multiply<const SIGNS: usize, const FORM: usize, const WIDE: usize, const STREAMED: usize>(
    first: *const u8,
    second: usize,
    pitch: usize,
    panel: *const u8,
    (steps, step): (usize, usize),
) {
    // SAFETY: this function's own promise.
    unsafe {
        asm!(
            load!("tmm4", "[{first} + {pitch}]", once if "1"),
            load!("tmm6", "[{panel} + {group}]", once if "0"),
            ".if {FORM} == {TALL}", "add {second}, {first}", ".endif",
            ".if {FORM} == {BROAD}", "add {second}, {panel}", ".endif",
            ".if {WIDE}", load!("tmm7", "[{panel} + {group} + 64]", once if "0"), ".endif",
            ".if {FORM} == {TALL}", load!("tmm5", "[{second} + {pitch}]", once if "1"), ".endif",
            ".if {FORM} == {BROAD}", load!("tmm5", "[{second} + {group}]", once if "0"), ".endif",
            "dec {steps}",
            "jz 3f",
            "2:",
            "add {panel}, {panel_step}",
            "add {first}, {step}",
            ".if {FORM} == {BROAD}", "add {second}, {panel_step}", ".else", "add {second}, {step}", ".endif",
            multiply_step!(of "[{second} + {group} + 64 - {PANEL_STEP}]" then load),
            "dec {steps}",
            "jnz 2b",
            "3:",
            multiply_step!(of "[{second} + {group} + 64]" then omit),
            panel = inout(reg) panel => _, first = inout(reg) first => _, second = inout(reg) second => _,
            steps = inout(reg) steps => _, pitch = in(reg) pitch, group = in(reg) GROUP,
            step = in(reg) step, panel_step = in(reg) step * WIDTH,
            SIGNS = const SIGNS, FORM = const FORM, WIDE = const WIDE, STREAMED = const STREAMED,
            TALL = const TALL, BROAD = const BROAD, PANEL_STEP = const PANEL_STEP,
            OF_NEITHER = const signs::OF_NEITHER, OF_PANEL = const signs::OF_PANEL,
            OF_LINES = const signs::OF_LINES, OF_BOTH = const signs::OF_BOTH,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly),
        );
    }
}

/// Where a step of 32 lines, 16 from each of two on, so many bytes apart, meets a whole panel; and [`how`](Shape::how).
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub lines: [*const u8; 2],
    pub pitch: usize,
    pub panel: *const u8,
    pub how: u32,
}

/// In place of a step that does not follow, with another's `how`.
pub(super) const NONE: u32 = 1 << 30;

impl Step {
    /// In how many parts it is multiplied, between which something else can be done.
    pub(super) const PARTS: usize = 4;

    /// The same of lines so many bytes further on.
    #[inline(always)]
    pub(super) fn below(self, bytes: [usize; 2]) -> Self {
        let [first, second] = self.lines;
        Self { lines: [first.wrapping_add(bytes[0]), second.wrapping_add(bytes[1])], ..self }
    }

    /// Loads what it takes.
    ///
    /// # Safety
    /// As for a [`Multiply`].
    #[inline(always)]
    pub(super) unsafe fn load(self) {
        let Self { lines: [first, second], pitch, panel, how } = self;
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                load_by_use!("tmm4", "[{first} + {pitch}]", once if "js"),
                load_by_use!("tmm6", "[{panel} + {group}]", once if "jns"),
                load_by_use!("tmm7", "[{panel} + {group} + 64]", once if "jns"),
                load_by_use!("tmm5", "[{second} + {pitch}]", once if "js"),
                first = in(reg) first, second = in(reg) second, pitch = in(reg) pitch, panel = in(reg) panel,
                group = in(reg) GROUP, how = in(reg) how,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _, options(nostack, readonly),
            );
        }
    }

    /// Multiplies the step that was loaded before, and loads this one.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub(super) unsafe fn multiply(self) {
        // SAFETY: this function's own promise.
        unsafe {
            self.follow::<0>();
            self.follow::<1>();
            self.follow::<2>();
            self.follow::<3>();
        }
    }

    /// Multiplies a part of the step that was loaded before, and loads what was used for the last time anew, for this one.
    ///
    /// # Safety
    /// As above; and the parts before were multiplied.
    #[inline(always)]
    pub(super) unsafe fn follow<const PART: usize>(self) {
        const { assert!(PART < Self::PARTS) }
        let Self { lines: [first, second], pitch, panel, how } = self;
        // SAFETY: this function's own promise.
        unsafe {
            match PART {
                0 => asm!(
                    dot_by_signs!("tmm0", "tmm4", "tmm6"),
                    how = in(reg) how, OF_PANEL = const signs::OF_PANEL, OF_LINES = const signs::OF_LINES,
                    out("tmm0") _, options(nostack, nomem),
                ),
                1 => asm!(
                    dot_by_signs!("tmm1", "tmm4", "tmm7"),
                    load_by_use!("tmm4", "[{first} + {pitch}]", once if "js"),
                    first = in(reg) first, pitch = in(reg) pitch,
                    how = in(reg) how, OF_PANEL = const signs::OF_PANEL, OF_LINES = const signs::OF_LINES,
                    out("tmm1") _, out("tmm4") _, options(nostack, readonly),
                ),
                2 => asm!(
                    dot_by_signs!("tmm2", "tmm5", "tmm6"),
                    load_by_use!("tmm6", "[{panel} + {group}]", once if "jns"),
                    panel = in(reg) panel, group = in(reg) GROUP,
                    how = in(reg) how, OF_PANEL = const signs::OF_PANEL, OF_LINES = const signs::OF_LINES,
                    out("tmm2") _, out("tmm6") _, options(nostack, readonly),
                ),
                _ => asm!(
                    dot_by_signs!("tmm3", "tmm5", "tmm7"),
                    load_by_use!("tmm5", "[{second} + {pitch}]", once if "js"),
                    load_by_use!("tmm7", "[{panel} + {group} + 64]", once if "jns"),
                    second = in(reg) second, pitch = in(reg) pitch, panel = in(reg) panel, group = in(reg) GROUP,
                    how = in(reg) how, OF_PANEL = const signs::OF_PANEL, OF_LINES = const signs::OF_LINES,
                    out("tmm3") _, out("tmm5") _, out("tmm7") _, options(nostack, readonly),
                ),
            }
        }
    }
}
