//! Sums of so few columns that one register of each 16 rows holds all: as wide as there are columns, so that they go to their place by
//! themselves, and lines are read where they lie.

use super::registers::{GROUP, PANEL_STEP, Place, signs};
use super::session::{HEIGHT, Registers, STEP, configure};
use crate::kernel::Tile;
use crate::kernel::relay::{Terms, WIDTH};
use crate::matrix::Lines;
use crate::output::Sums;
use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::{MaybeUninit, offset_of};
use std::ops::Range;

/// The most columns.
const COLS: usize = 8;

/// Of longer lines the processor loads what follows by itself if they are read one after the other, as others do.
const LONG: usize = 512;

/// Whether it is faster than others (timed on Emerald Rapids).
pub(super) fn pays(rows: usize, cols: usize, depth: usize) -> bool {
    const ROWS: usize = 64;
    /// Beside a single column, whose rows are read where they lie in less time if they are longer than a step.
    const MANY: usize = 512;
    match cols {
        1 => rows >= MANY && depth <= STEP,
        _ => cols <= COLS && rows >= ROWS && depth <= LONG,
    }
}

/// Whether a tile is multiplied so.
#[inline(always)]
pub(super) fn takes(tile: &Tile) -> bool {
    let lhs = &tile.lhs;
    let are_plain = lhs.runs() == 1 && lhs.left_out() == [0, 0];
    tile.cols <= COLS && lhs.count() >= HEIGHT && lhs.len() <= LONG && are_plain
}

/// Registers of rows that are multiplied together by what is loaded of the panel.
const TOGETHER: usize = 4;

/// The ends of so many lines, and what follows of a step: anything, which is multiplied by zeros.
#[repr(C, align(64))]
struct Ends(MaybeUninit<[[u8; STEP]; TOGETHER * HEIGHT]>);

/// As a [`SumsFn`](crate::kernel::SumsFn), of a tile that is [taken](takes).
///
/// # Safety
/// As for that.
#[inline(never)]
pub(super) unsafe fn multiply(tile: &Tile, sums: &Sums) {
    // SAFETY: this function's own promise.
    unsafe {
        match signs::of([tile.lhs_encoding, tile.rhs_encoding]) {
            signs::OF_NEITHER => multiply_in::<{ signs::OF_NEITHER }>(tile, sums),
            signs::OF_PANEL => multiply_in::<{ signs::OF_PANEL }>(tile, sums),
            signs::OF_LINES => multiply_in::<{ signs::OF_LINES }>(tile, sums),
            _ => multiply_in::<{ signs::OF_BOTH }>(tile, sums),
        }
    }
}

/// # Safety
/// As above.
unsafe fn multiply_in<const SIGNS: usize>(tile: &Tile, sums: &Sums) {
    assert!(takes(tile));
    let (lhs, cols) = (tile.lhs, tile.cols);
    let count = lhs.count();
    // Packed lines may be longer than the panel, of which groups are whole.
    let len = lhs.len().min(tile.rhs.len() / WIDTH);
    let (steps, rest) = (len / STEP, len % STEP);
    let groups = rest.div_ceil(4);
    assert!((steps * STEP + groups * 4) * WIDTH <= tile.rhs.len());
    let [step, end] = [STEP, if rest > 0 { 4 * groups } else { STEP }];
    let of_cols = sums.of_cols::<WIDTH>();
    let from = if sums.offsets.0 != 0 { of_cols.as_ptr() } else { std::ptr::null() };
    let to = Place::of_rows(sums.place(count));
    let (first, pitch, _) = lhs.places();
    let mut room = Ends(MaybeUninit::uninit());
    let terms = (sums.offsets.1 != 0).then(|| sums.terms(count));
    let mut apart = [[0; COLS]; TOGETHER * HEIGHT];
    let mut row = 0;
    // SAFETY: this function's own promise, which a session is a part of; lines and the panel reach as far as they are read, and the
    // result has these rows and columns, as `place` asserts.
    unsafe {
        configure(Registers { lines: HEIGHT, step, end, cols });
        while row < count {
            let together = if count - row >= TOGETHER * HEIGHT { TOGETHER } else { 1 };
            // What is computed twice is the same.
            let start = row.min(count - together * HEIGHT);
            let rows = start..start + together * HEIGHT;
            let line = first.wrapping_add(start * pitch);
            // Bytes that follow a line's end are multiplied by zeros, but there have to be some.
            let reads_on = rest.is_multiple_of(4) || lhs.are_joined() && rows.end < count;
            let (ends, end_pitch) = match reads_on {
                _ if rest == 0 => (std::ptr::null(), 0),
                true => (line.wrapping_add(steps * STEP), pitch),
                false => (copied(&lhs.part(rows.clone()), steps * STEP..len, &mut room), STEP),
            };
            let of_tile = Place { at: apart.as_mut_ptr().cast(), pitch: size_of::<[i32; COLS]>() };
            let place = if terms.is_some() { of_tile } else { to.below(start) };
            let strip = Strip { lines: line, pitch, steps, ends, end_pitch, panel: tile.rhs.as_ptr(), from };
            match together {
                TOGETHER => strip.multiply::<SIGNS, TOGETHER>(place),
                _ => strip.multiply::<SIGNS, 1>(place),
            }
            if let Some(terms) = &terms {
                add(&apart, terms, rows.clone(), to, cols);
            }
            row = rows.end;
        }
    }
}

/// Brings a tile's sums of these rows to their place, with what each row adds.
///
/// # Safety
/// As for [`multiply`].
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn add(tile: &[[i32; COLS]], terms: &Terms, rows: Range<usize>, to: Place, cols: usize) {
    let (mask, mut of_rows) = (u8::MAX >> (COLS - cols), [0; TOGETHER * HEIGHT]);
    let of_rows = &mut of_rows[..rows.len()];
    terms.write(rows.start, of_rows);
    for ((sums, term), row) in tile.iter().zip(of_rows).zip(rows) {
        // SAFETY: this function's own promise, and the reference covers what is read.
        unsafe {
            let sums = _mm256_loadu_si256(sums.as_ptr().cast());
            _mm256_mask_storeu_epi32(to.row(row), mask, _mm256_add_epi32(sums, _mm256_set1_epi32(*term)));
        }
    }
}

/// Copies those bytes of lines to where there are others after them.
fn copied(lines: &Lines, bytes: Range<usize>, Ends(ends): &mut Ends) -> *const u8 {
    let to = ends.as_mut_ptr().cast::<u8>();
    for (row, line) in lines.iter().enumerate().take(TOGETHER * HEIGHT) {
        let from = &line[bytes.clone()];
        // SAFETY: there is room for a step of so many lines.
        unsafe { to.wrapping_add(row * STEP).copy_from_nonoverlapping(from.as_ptr(), from.len()) }
    }
    to
}

/// What the assembly reads.
#[repr(C)]
struct Strip {
    /// Where lines begin, and how far they are apart; and how many whole steps they have.
    lines: *const u8,
    pitch: usize,
    steps: usize,
    /// The same of their ends; null if there are none.
    ends: *const u8,
    end_pitch: usize,
    panel: *const u8,
    /// What columns add, or null.
    from: *const i32,
}

#[rustfmt::skip]
macro_rules! step {
    ($lines:literal, $panel:literal) => {
        concat!(
            "tileloadd ", $panel, ", [{panel} + {group}]\n",
            "tileloadd ", $lines, ", [{a} + {pitch}]\n",
            dot!("tmm0", $lines, $panel),
            ".if {TOGETHER} > 1\n",
            "tileloadd ", $lines, ", [{b} + {pitch}]\n",
            dot!("tmm1", $lines, $panel),
            "tileloadd ", $lines, ", [{c} + {pitch}]\n",
            dot!("tmm2", $lines, $panel),
            "tileloadd ", $lines, ", [{d} + {pitch}]\n",
            dot!("tmm3", $lines, $panel),
            ".endif\n",
        )
    };
}

/// Where the lines of other registers begin.
#[rustfmt::skip]
macro_rules! find_others {
    () => {
        concat!(
            ".if {TOGETHER} > 1\n",
            "mov {d}, {pitch}\n",
            "shl {d}, 4\n",
            "lea {b}, [{a} + {d}]\n", "lea {c}, [{b} + {d}]\n", "add {d}, {c}\n",
            ".endif\n",
        )
    };
}

impl Strip {
    /// Multiplies so many registers of 16 lines each, 4 or 1.
    ///
    /// # Safety
    /// As for [`multiply`](fn@multiply), of what this says.
    #[inline(always)]
    unsafe fn multiply<const SIGNS: usize, const TOGETHER: usize>(&self, to: Place) {
        // SAFETY: this function's own promise.
        unsafe {
            asm!(
                "mov {a}, [{strip} + {FROM}]",
                "test {a}, {a}",
                "jz 2f",
                "xor {b:e}, {b:e}",
                "tileloadd tmm0, [{a} + {b}]",
                ".if {TOGETHER} > 1",
                "tileloadd tmm1, [{a} + {b}]", "tileloadd tmm2, [{a} + {b}]", "tileloadd tmm3, [{a} + {b}]",
                ".endif",
                "jmp 3f",
                "2:",
                "tilezero tmm0",
                ".if {TOGETHER} > 1", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3", ".endif",
                "3:",
                "mov {steps}, [{strip} + {STEPS}]",
                "mov {pitch}, [{strip} + {PITCH}]",
                "mov {panel}, [{strip} + {PANEL}]",
                "mov {a}, [{strip} + {LINES}]",
                "test {steps}, {steps}",
                "jz 5f",
                find_others!(),
                "4:",
                step!("tmm4", "tmm6"),
                "add {a}, {STEP}",
                ".if {TOGETHER} > 1", "add {b}, {STEP}", "add {c}, {STEP}", "add {d}, {STEP}", ".endif",
                "add {panel}, {STEP_OF_PANEL}",
                "dec {steps}",
                "jnz 4b",
                "5:",
                "mov {a}, [{strip} + {ENDS}]",
                "test {a}, {a}",
                "jz 6f",
                "mov {pitch}, [{strip} + {END_PITCH}]",
                find_others!(),
                step!("tmm5", "tmm7"),
                "6:",
                "tilestored [{to} + {to_pitch}], tmm0",
                ".if {TOGETHER} > 1",
                "mov {a}, {to_pitch}",
                "shl {a}, 4",
                "add {to}, {a}", "tilestored [{to} + {to_pitch}], tmm1",
                "add {to}, {a}", "tilestored [{to} + {to_pitch}], tmm2",
                "add {to}, {a}", "tilestored [{to} + {to_pitch}], tmm3",
                ".endif",
                strip = in(reg) self, a = out(reg) _, b = out(reg) _, c = out(reg) _, d = out(reg) _,
                pitch = out(reg) _, panel = out(reg) _, steps = out(reg) _, group = in(reg) GROUP,
                to = inout(reg) to.at => _, to_pitch = in(reg) to.pitch,
                LINES = const offset_of!(Strip, lines), PITCH = const offset_of!(Strip, pitch),
                STEPS = const offset_of!(Strip, steps), ENDS = const offset_of!(Strip, ends),
                END_PITCH = const offset_of!(Strip, end_pitch), PANEL = const offset_of!(Strip, panel),
                FROM = const offset_of!(Strip, from), STEP_OF_PANEL = const PANEL_STEP,
                STEP = const STEP, TOGETHER = const TOGETHER, SIGNS = const SIGNS,
                OF_NEITHER = const signs::OF_NEITHER, OF_PANEL = const signs::OF_PANEL,
                OF_LINES = const signs::OF_LINES, OF_BOTH = const signs::OF_BOTH,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::tests::{always, noise};
    use crate::matrix::{Encoding, Offset, Operand, Order, Output};
    use crate::output::{Finish, Store};
    use crate::{Context, Factor, gemm, reference};

    /// Bytes after which there is no memory.
    struct Fenced {
        pages: *mut u8,
        inside: usize,
        len: usize,
    }

    impl Fenced {
        const PAGE: usize = 1 << 16;

        fn new(bytes: &[u8]) -> Self {
            let inside = bytes.len().next_multiple_of(Self::PAGE);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: asks for new memory, and opens what it is given.
            unsafe {
                let pages = libc::mmap(std::ptr::null_mut(), inside + Self::PAGE, libc::PROT_NONE, flags, -1, 0);
                assert_ne!(pages, libc::MAP_FAILED);
                assert_eq!(libc::mprotect(pages, inside, libc::PROT_READ | libc::PROT_WRITE), 0);
                let pages = pages.cast::<u8>();
                pages.add(inside - bytes.len()).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                Self { pages, inside, len: bytes.len() }
            }
        }

        fn bytes(&self) -> &[u8] {
            // SAFETY: `new` wrote them.
            unsafe { std::slice::from_raw_parts(self.pages.add(self.inside - self.len), self.len) }
        }
    }

    impl Drop for Fenced {
        fn drop(&mut self) {
            // SAFETY: `new` mapped them.
            unsafe { libc::munmap(self.pages.cast(), self.inside + Self::PAGE) };
        }
    }

    #[test]
    fn lines_are_read_to_their_end_and_no_further() {
        let Some(kernel) = always() else { return };
        let context = &Context::new(kernel, 1);
        let shapes = [(16, 1, 0, 0), (64, 2, 0, 3), (80, 8, 3, 0), (97, 5, 1, -9), (131, 3, 0, 0)];
        for ((rows, cols, gap, offset), depth) in
            shapes.into_iter().flat_map(|shape| (1..=70).chain([127, 190, 511]).map(move |depth| (shape, depth)))
        {
            let [lhs, rhs] = [rows, cols].map(|lines| noise(depth as u64, false, lines * (depth + gap) - gap));
            let [lhs, rhs] = [lhs, rhs].map(|bytes| Fenced::new(&bytes));
            let [a, b] = [(&lhs, rows), (&rhs, cols)].map(|(bytes, lines)| {
                Operand::new(bytes.bytes(), (lines, depth), depth + gap, Order::DepthContiguous, Encoding::U8)
            });
            let mut sums = vec![0; rows * cols];
            let finish = Finish::new(&[], Store::I32(Output::new(&mut sums, (rows, cols), cols)));
            let factors = [Factor::new(a, Offset::Uniform(5)), Factor::new(b, Offset::Uniform(offset))];
            gemm(context, &factors[0], &factors[1], &finish).unwrap();
            let number = |bytes: &Fenced, line: usize, d: usize| i64::from(bytes.bytes()[line * (depth + gap) + d]);
            let want = reference::product(
                (rows, cols, depth),
                |i, d| number(&lhs, i, d) + 5,
                |d, j| number(&rhs, j, d) + i64::from(offset),
            );
            assert_eq!(sums, want, "{rows} x {cols} x {depth}");
        }
    }
}
