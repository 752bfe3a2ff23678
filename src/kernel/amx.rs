//! AMX: registers of 16 × 64 bytes, and an instruction that multiplies two of them, of any signs, eight times as fast as
//! AVX-512 VNNI multiplies.
//!
//! The kernel is that of AVX-512 VNNI, whose packed operands it shares. Products large enough to pay for getting the registers ready
//! are left to [`TILES`].

use super::panel::PanelFns;
use super::relay::{Bytes, Open, RelayFns, Rows as Few, Strip as Job, TOGETHER, WIDTH};
use super::requantize::avx512::{bytes, finish_panel, panel};
use super::{FewLines, Kernel, Large, Tile, avx512vnni};
use crate::matrix::Gaps;
use crate::output::{Far, FloatParts, ResultKind, Sums};
use crate::pack::Groups;
use ahead::Ahead;
use plain::Plain;
use registers::Place;
use session::{HEIGHT, STEP};
use short::ShortSteps;
use std::mem::MaybeUninit;
use std::ops::Range;
use walk::{ROWS, Room, Rows, Strip, Way, with_room};

#[macro_use]
mod registers;
mod ahead;
mod beside;
mod bytes;
mod cut;
#[cfg(test)]
mod emulated;
mod floats;
mod narrow;
mod plain;
mod quarters;
mod session;
mod short;
mod sums;
mod walk;

pub(super) static KERNEL: Kernel = Kernel {
    name: "amx",
    c_name: c"amx",
    large: Some(Large { kernel: &TILES, rows: 3, macs: 131_072.0, pays }),
    // Processors that have it follow runs by themselves, and faster.
    few_lines: FewLines { is_fetched: false, ..avx512vnni::ROW.few_lines },
    is_supported,
    ..avx512vnni::ROW
};

/// The same for products of any size.
#[cfg(test)]
pub(super) static ALWAYS: Kernel = Kernel {
    name: "amx-always",
    large: Some(Large { kernel: &TILES, rows: 0, macs: 0.0, pays: |_, _, _, _| true }),
    is_supported,
    ..avx512vnni::ROW
};

/// The kernel for large products.
pub(super) static TILES: Kernel = Kernel {
    groups: Groups::AnyQuads,
    rows: ROWS,
    tile,
    sums: Some(sums),
    narrow_sums: Some(narrow::pays),
    floats: Some(floats),
    panels: Some(&PANEL_FNS),
    relay: Some(&RELAY),
    session: Some(&session::SESSION),
    is_supported,
    ..avx512vnni::ROW
};

static PANEL_FNS: PanelFns = PanelFns { write: panel, finish: finish_panel, bytes };

static RELAY: RelayFns =
    RelayFns { together: TOGETHER, halves: 0, least_of_halves: 0, takes_gaps: true, multiply, finish };

/// Whether so much of its registers is used that it is faster than AVX-512 VNNI: a step that is not full, or panels that are not, take as
/// long as others do. (Timed on Granite Rapids and Emerald Rapids.)
fn pays(rows: usize, cols: usize, depth: usize, results: ResultKind) -> bool {
    /// Columns of which rows of a result that caches do not hold had better be written 32 at once.
    const MANY: usize = 1024;
    const FEW: usize = 256;
    if matches!(results, ResultKind::Sums) && narrow::pays(rows, cols, depth) {
        return true;
    }
    let are_far = || cols >= MANY && Far::is(rows.saturating_mul(cols * size_of::<i32>()));
    // Numbers of whole panels.
    let most = match results {
        ResultKind::Bytes if cols <= FEW => 28,
        ResultKind::Bytes if rows < ROWS => 36,
        ResultKind::Bytes => 24,
        ResultKind::Sums if are_far() => 12,
        ResultKind::Sums if cols <= FEW => 40,
        ResultKind::Sums => 48,
        ResultKind::Floats if are_far() => 16,
        ResultKind::Floats => 56,
    };
    depth * cols > most * cols.next_multiple_of(WIDTH)
}

fn is_supported() -> bool {
    (avx512vnni::ROW.is_supported)() && cpu_has!("avx512vbmi") && session::is_permitted()
}

/// As a [`TileFn`](super::TileFn).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn tile(tile: &Tile, acc: &mut [i32]) {
    let count = tile.lhs.count();
    // SAFETY: this function's own promise, which a session is a part of.
    let mut strip = unsafe { Strip::new(tile, Way::alone(tile.rhs.len()), None) };
    strip.set(tile.lhs);
    let sums = Place { at: acc[..count * WIDTH].as_mut_ptr(), pitch: size_of::<[i32; WIDTH]>() };
    let from = if tile.fresh { None } else { Some(sums) };
    // SAFETY: this function's own promise, and there is room for all sums.
    unsafe {
        strip.multiply(0, tile.rhs, tile.cols, from, sums, || {});
        if let Some(sums) = &tile.sums {
            sums.write::<WIDTH>(count, acc);
        }
    }
}

/// Panels beside which all rows pass before the next, at most, and their bytes: a good third of the second cache of processors that
/// have AMX.
const PANELS: usize = 32;
const NEAR: usize = 768 << 10;

/// Of short lines: steps of all panels together that pay for getting ready for a strip.
const LEAST: usize = 4;

/// Bytes of a row of a panel's sums.
const OF_PANEL: usize = size_of::<[i32; WIDTH]>();

/// How many panels of so many bytes stay near.
fn near(of_panel: usize) -> usize {
    (NEAR / of_panel.max(1)).clamp(1, PANELS)
}

/// As a [`SumsFn`](super::SumsFn), of all panels of the columns.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn sums(tile: &Tile, sums: &Sums) {
    let panels = sums.cols.len().div_ceil(WIDTH);
    let pitch = sums.out.place().1 * size_of::<i32>();
    if narrow::takes(tile) {
        // SAFETY: this function's own promise.
        return unsafe { narrow::multiply(tile, sums) };
    }
    if sums.offsets.1 != 0 {
        // SAFETY: this function's own promise.
        return unsafe { beside::multiply(tile, panels, sums.part(0)) };
    }
    let is_fetched = ahead::pays(&tile.lhs, pitch);
    // SAFETY: this function's own promise.
    with_room(tile, panels, true, |way, room| unsafe {
        match (way.is_sliced, way.broad(tile)) {
            (true, _) => sums_in::<true, false>(way, room, tile, sums),
            (false, Some(way)) => sums_of_two(way, tile, sums, is_fetched),
            (false, _) if is_fetched => sums_in::<false, true>(way, room, tile, sums),
            (false, _) => sums_in::<false, false>(way, room, tile, sums),
        }
    });
}

/// In this way, with room for it, if nothing is added for each row: sums go to their place by themselves, which is fetched before if
/// it is so said.
///
/// # Safety
/// As for a [`SumsFn`](super::SumsFn).
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn sums_in<const SLICED: bool, const FETCHED: bool>(
    way: Way,
    Room { copied, resting }: Room,
    tile: &Tile,
    sums: &Sums,
) {
    let (count, of_panel) = (tile.lhs.count(), way.of_panel);
    let result = Place::of_rows(sums.place(count));
    // SAFETY: this function's own promise, which a session is a part of.
    let mut strip = unsafe { Strip::new(tile, way, copied) };
    let share = ROWS.div_ceil(strip.parts);
    let mut room = Rows::NONE;
    let has_added = sums.offsets.0 != 0;
    let mut of_cols = [const { MaybeUninit::<[i32; WIDTH]>::uninit() }; PANELS];
    let (steps, short_panels) = way.short(tile);
    let short_end = if steps * short_panels >= LEAST { short_panels } else { 0 };
    for some in way.groups(0..way.panels) {
        // Not one by one: what was just stored is not yet there to be loaded.
        if has_added {
            for (of_cols, panel) in of_cols.iter_mut().zip(some.clone()) {
                of_cols.write(sums.panel::<WIDTH>(panel).of_cols());
            }
        }
        for rows in strips(count, ROWS) {
            strip.set(tile.lhs.part(rows.clone()));
            let short = if rows.len() == ROWS { short_end.saturating_sub(some.start).min(some.len()) } else { 0 };
            if short > 0 {
                let to = result.below(rows.start).beside(some.start);
                let of_cols = has_added.then_some(&of_cols[..short]);
                // SAFETY: this function's own promise; the result has these rows and columns, as `place` asserts; and what columns
                // add was written above.
                unsafe { short_strip::<FETCHED>(&mut strip, &tile.rhs[some.start * of_panel..], short, of_cols, to) }
            }
            for slice in 0..if SLICED { strip.slices } else { 1 } {
                for panel in some.start + short..some.end {
                    let part = sums.panel::<WIDTH>(panel);
                    let (cols, index) = (part.cols.len(), panel - some.start);
                    let is_last = !SLICED || slice + 1 == strip.slices;
                    // Not those beyond which something lies.
                    let is_direct = is_last && cols == WIDTH;
                    let from = match slice {
                        // SAFETY: it was written above.
                        0 => has_added.then(|| Place::same(unsafe { of_cols[index].assume_init_ref() })),
                        _ => Some(resting[index].place()),
                    };
                    let to = match is_direct {
                        true => result.below(rows.start).beside(panel),
                        false if is_last => room.place(),
                        false => resting[index].place(),
                    };
                    let rhs = &tile.rhs[panel * of_panel..];
                    // SAFETY: this function's own promise; the result has these rows and columns, as `place` asserts.
                    unsafe {
                        if FETCHED && is_direct {
                            let mut ahead = Ahead::<{ OF_PANEL / STEP }>::new(to, rows.len());
                            strip.multiply(slice, rhs, cols, from, to, || ahead.fetch(share));
                        } else {
                            strip.multiply(slice, rhs, cols, from, to, || {});
                        }
                        if is_last && !is_direct {
                            let part = part.part(rows.start);
                            for (to, sums) in part.rows(rows.len()).zip(room.first(rows.len())) {
                                to.copy_from_slice(&sums[..cols]);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Multiplies 32 short lines by so many whole panels. Each panel's first step is loaded before the sums of the one before go to their
/// place, which takes long.
///
/// # Safety
/// As for [`Strip::multiply`], of all sums, the first of which go there; what columns add was written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn short_strip<const FETCHED: bool>(
    strip: &mut Strip,
    panels: &[u8],
    count: usize,
    of_cols: Option<&[MaybeUninit<[i32; WIDTH]>]>,
    mut to: Place,
) {
    let of_panel = strip.of_panel;
    let mut steps = ShortSteps::none();
    strip.find_steps(panels, count, &mut steps);
    let share = ROWS.div_ceil(strip.parts);
    // SAFETY: this function's own promise.
    unsafe {
        steps.first().load();
        for panel in 0..count {
            let mut ahead = Ahead::<{ OF_PANEL / STEP }>::new(to, if FETCHED { ROWS } else { 0 });
            strip.begin(of_cols.map(|of_cols| Place::same(of_cols[panel].assume_init_ref())));
            for next in steps.following(count - panel, of_panel, None) {
                next.multiply();
                if FETCHED {
                    ahead.fetch(share);
                }
            }
            strip.end(to);
            steps.go_on(of_panel);
            to = to.beside(1);
        }
    }
}

/// The same by two panels at once.
///
/// # Safety
/// As for a [`SumsFn`](super::SumsFn), and the way is broad.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn sums_of_two(way: Way, tile: &Tile, sums: &Sums, is_fetched: bool) {
    let count = tile.lhs.count();
    let result = Place::of_rows(sums.place(count));
    // SAFETY: this function's own promise, which a session is a part of.
    let mut strip = unsafe { Strip::new(tile, way, None) };
    let share = HEIGHT.div_ceil(strip.parts);
    let of_cols = (sums.offsets.0 != 0).then(|| sums.of_cols::<{ 2 * WIDTH }>());
    let from = of_cols.as_ref().map(|sums| Place { at: sums.as_ptr().cast_mut(), pitch: 0 });
    for rows in strips(count, HEIGHT) {
        strip.set(tile.lhs.part(rows.clone()));
        let to = result.below(rows.start);
        let mut ahead = Ahead::<{ 2 * OF_PANEL / STEP }>::new(to, if is_fetched { HEIGHT } else { 0 });
        // SAFETY: this function's own promise; the result has these rows and columns, as `place` asserts.
        unsafe { strip.multiply(0, tile.rhs, WIDTH, from, to, || ahead.fetch(share)) }
    }
}

/// Rows in strips of so many, a register's or two's. The last has as many as a register if there are: what is computed twice is the
/// same.
fn strips(count: usize, of: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(of).map(move |start| {
        let end = count.min(start + of);
        let start = if end - start < HEIGHT { end.saturating_sub(HEIGHT) } else { start };
        start..end
    })
}

/// Nothing stays open: a tile's rows become bytes while the next is multiplied, but the last one's do so at once.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn multiply(job: &Job, _open: &mut Open, _room: &mut [Few; 2]) {
    let has_terms = job.terms.times != 0 || !job.terms.bias.is_empty();
    let bytes = &bytes::Bytes { job, has_terms };
    // SAFETY: this function's own promise.
    unsafe {
        match job.tile.lhs.gaps() {
            Some(gaps) => windows(gaps, bytes),
            None => beside::multiply(&job.tile, job.panels.len(), *bytes),
        }
    }
}

/// Those of windows with gaps: by whole panels together, by others row by row.
///
/// # Safety
/// As for [`RelayFns::multiply`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn windows(gaps: Gaps, bytes: &bytes::Bytes) {
    let bytes::Bytes { job, has_terms } = *bytes;
    let Job { tile, panels, result, out, .. } = job;
    let (lines, of_panel) = (&tile.lhs, tile.of_panel::<WIDTH>(panels.len()));
    let way = Way::of_windows(tile, panels.len());
    let most = bytes.most_by_quarters(tile, way);
    // SAFETY: this function's own promise.
    unsafe { bytes.multiply_by_quarters(tile, way, None, most) }
    if most.1 == panels.len() {
        return;
    }
    for (row, first) in (0..lines.count()).step_by(gaps.of).enumerate() {
        let start = row * gaps.meant;
        let job = Job {
            tile: Tile {
                lhs: lines.part(first..first + gaps.meant),
                rhs: &tile.rhs[most.1 * of_panel..],
                cols: tile.cols - most.1 * WIDTH,
                ..tile.clone()
            },
            panels: panels.start + most.1..panels.end,
            terms: job.terms.from(start),
            row: job.row + start,
            col: job.col + most.1 * WIDTH,
            result: *result,
            out,
        };
        // SAFETY: as above.
        unsafe { beside::multiply(&job.tile, job.panels.len(), bytes::Bytes { job: &job, has_terms }) }
    }
}

/// As a [`FloatsFn`](super::FloatsFn), of all panels of the columns.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn floats(tile: &Tile, parts: &FloatParts) {
    // SAFETY: this function's own promise.
    unsafe {
        let panels = tile.cols.div_ceil(WIDTH);
        let (floats, mut columns) = (parts.plain(), [const { MaybeUninit::uninit() }; PANELS]);
        match floats.as_ref().and_then(|floats| Plain::new(floats, tile.lhs.count(), &mut columns)) {
            Some(plain) => beside::multiply(tile, panels, plain),
            None => beside::multiply(tile, panels, parts),
        }
    }
}

unsafe fn finish(_: &Bytes, open: &Open, _: &[Few; 2]) {
    debug_assert!(open.count == 0, "nothing stays open");
}
