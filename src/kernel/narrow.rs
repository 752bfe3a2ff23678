//! Tiles that sum small numbers in 16 bits.
//!
//! A *window*, as many groups as are known to fit, is summed with `vpmaddubsw` and `vpaddw`; then neighbouring sums are
//! added in 32 bits. Where nothing is known, numbers of the LHS are cut into halves of 4 bits, whose products are small:
//! that is faster than to widen both sides.

use crate::span::STRETCH;

/// A stretch of one line.
pub(super) type Stretch = [[u8; 4]; STRETCH];

/// The low halves of a line's numbers, 0 to 15, and the high ones, which keep the sign. Zero from the line's end on.
#[inline(always)]
pub(super) fn halves<const SIGNED: bool>(line: &[u8]) -> [Stretch; 2] {
    let padded;
    let numbers = match line.first_chunk() {
        Some(whole) => whole,
        None => {
            padded = padded_with_zeros(line);
            &padded
        }
    };
    let mut halves = [[[0; 4]; STRETCH]; 2];
    for (low, &x) in halves[0].as_flattened_mut().iter_mut().zip(numbers) {
        *low = x & 15;
    }
    for (high, &x) in halves[1].as_flattened_mut().iter_mut().zip(numbers) {
        *high = if SIGNED { (x as i8 >> 4) as u8 } else { x >> 4 };
    }
    halves
}

/// Not inlined, or whole stretches would be copied this way too.
#[inline(never)]
fn padded_with_zeros(line: &[u8]) -> [u8; 4 * STRETCH] {
    let mut padded = [0; 4 * STRETCH];
    padded[..line.len()].copy_from_slice(line);
    padded
}

/// Defines `tile` in terms of a module's own `Vector`, `zero`, `load` (a group of as many lines as a vector has lanes),
/// `spread` (a group of one line), `products` (in 16 bits), `widen` (to 32 bits), `store`,
/// `resume`, `plus` and `put`; and `add_windows`, which adds groups, the first at `from` of the LHS, in windows of `span`, each `weight`
/// times.
#[cfg(not(only_avx2))]
macro_rules! narrow_tile {
    (features: [$($feature:tt),*], lanes: $lanes:literal,
     rows: $rows:tt, vectors: $vectors:tt of $width:literal $(,)?) => {
        tile_of_each_shape! { features: [$($feature),*], lanes: $lanes, rows: $rows, vectors: $vectors }

        use $crate::kernel::narrow::{Stretch, halves};
        use $crate::span::{STRETCH, Spans};

        /// Groups of a panel, in vectors.
        type Groups<'a> = &'a [[[u8; $lanes * 4]; $width / $lanes]];

        $(#[target_feature(enable = $feature)])*
        fn multiply<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
            tile: &$crate::kernel::Tile,
            acc: &mut [i32],
        ) {
            let rhs: Groups = $crate::pack::groups(tile.rhs);
            // Panels may be longer than lines.
            let rhs = &rhs[..tile.lhs.len().div_ceil(4).min(rhs.len())];
            let whole = (tile.lhs.len() / 4).min(rhs.len());
            let lhs: [&[[u8; 4]]; ROWS] = tile.lhs.groups(whole);
            let mut sums: [[Vector; VECTORS]; ROWS] = [[zero(); VECTORS]; ROWS];
            let mut fresh = tile.fresh;
            let (stretches, len) = match tile.spans {
                Spans::Uniform(_) => (1, rhs.len()),
                Spans::PerStretch(_) => (rhs.len().div_ceil(STRETCH), STRETCH),
            };
            for s in 0..stretches {
                let stretch = s * len..((s + 1) * len).min(rhs.len());
                let span = usize::from(tile.spans.of(s));
                let fast = if span == 0 { stretch.start } else { stretch.end.min(whole) };
                let groups = &rhs[stretch.start..fast];
                if span == 1 {
                    add_singles::<ROWS, VECTORS, SIGNED>(&mut sums, &lhs, groups, stretch.start);
                } else {
                    add_windows::<ROWS, VECTORS, SIGNED>(&mut sums, &lhs, groups, stretch.start, span, 1);
                }
                if span > 0 && fast < stretch.end {
                    // The depth ends within a group, and nothing of a line lies beyond its end.
                    let mut last = [[[0; 4]]; ROWS];
                    for (last, line) in last.iter_mut().zip(tile.lhs.iter()) {
                        *last = [$crate::kernel::tile::last_group(line)];
                    }
                    let mut lhs: [&[[u8; 4]]; ROWS] = [&[]; ROWS];
                    for i in 0..ROWS {
                        lhs[i] = &last[i];
                    }
                    add_singles::<ROWS, VECTORS, SIGNED>(&mut sums, &lhs, &rhs[fast..stretch.end], 0);
                } else if fast < stretch.end {
                    add_halves::<ROWS, VECTORS, SIGNED>(tile, fast..stretch.end, fresh, acc);
                    fresh = false;
                }
            }
            deliver!(tile, sums, fresh, acc, [[$lanes; VECTORS] of $width; ROWS]);
        }

        /// Adds groups of which each is a window: their sums of 16 bits go to those of 32 at once, which so have the registers.
        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn add_singles<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
            sums: &mut [[Vector; VECTORS]; ROWS],
            lhs: &[&[[u8; 4]]; ROWS],
            rhs: Groups,
            from: usize,
        ) {
            let mut c = *sums;
            for (g, b) in (from..).zip(rhs) {
                let mut panel: [Vector; VECTORS] = [zero(); VECTORS];
                for (panel, b) in panel.iter_mut().zip(b) {
                    *panel = load(b);
                }
                for (c, a) in c.iter_mut().zip(lhs) {
                    // SAFETY: the lines have as many groups as the panel.
                    let a = spread(unsafe { *a.get_unchecked(g) });
                    for (c, &b) in c.iter_mut().zip(&panel) {
                        *c = widen(*c, products::<SIGNED>(a, b), 1);
                    }
                }
            }
            *sums = c;
        }

        /// Adds groups exactly, whatever their numbers are.
        #[inline(never)]
        $(#[target_feature(enable = $feature)])*
        fn add_halves<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
            tile: &$crate::kernel::Tile,
            groups: std::ops::Range<usize>,
            fresh: bool,
            acc: &mut [i32],
        ) {
            let mut sums: [[Vector; VECTORS]; ROWS] = [[zero(); VECTORS]; ROWS];
            let rhs: Groups = &$crate::pack::groups(tile.rhs)[groups.clone()];
            for (s, rhs) in rhs.chunks(STRETCH).enumerate() {
                let from = (groups.start + s * STRETCH) * 4;
                let mut low: [Stretch; ROWS] = [[[0; 4]; STRETCH]; ROWS];
                let mut high = low;
                for i in 0..ROWS {
                    let line = &tile.lhs.get(i)[from..];
                    [low[i], high[i]] = halves::<SIGNED>(&line[..line.len().min(rhs.len() * 4)]);
                }
                // Products of at most 15 · 255 or 15 · 128.
                let span = if SIGNED { 4 } else { 8 };
                for (half, weight) in [(&low, 1), (&high, 16)] {
                    let mut lhs: [&[[u8; 4]]; ROWS] = [&[]; ROWS];
                    for i in 0..ROWS {
                        lhs[i] = &half[i];
                    }
                    add_windows::<ROWS, VECTORS, SIGNED>(&mut sums, &lhs, rhs, 0, span, weight);
                }
            }
            add_sums(&sums, fresh, acc);
        }

        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn add_sums<const ROWS: usize, const VECTORS: usize>(
            sums: &[[Vector; VECTORS]; ROWS],
            fresh: bool,
            acc: &mut [i32],
        ) {
            for (acc, sums) in acc.as_chunks_mut::<$width>().0[..ROWS].iter_mut().zip(sums) {
                for (acc, &sum) in acc.as_chunks_mut::<$lanes>().0.iter_mut().zip(sums) {
                    store(acc, sum, fresh);
                }
            }
        }
    };
}

/// Defines `add_windows` as the compiler makes it, in terms of these and of `add` (in 16 bits).
#[cfg(not(only_avx2))]
macro_rules! narrow_windows {
    (features: [$($feature:tt),*], lanes: $lanes:literal, width: $width:literal $(,)?) => {
        /// Adds groups, the first at `from` of the LHS, in windows of `span`, each `weight` times.
        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn add_windows<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
            sums: &mut [[Vector; VECTORS]; ROWS],
            lhs: &[&[[u8; 4]]; ROWS],
            rhs: Groups,
            mut from: usize,
            span: usize,
            weight: i16,
        ) {
            for window in rhs.chunks(span.max(1)) {
                let (first, rest) = window.split_first().expect("no chunk is empty");
                let mut c: [[Vector; VECTORS]; ROWS] = [[zero(); VECTORS]; ROWS];
                add_group::<ROWS, VECTORS, SIGNED, true>(&mut c, lhs, from, first);
                for (g, b) in (from + 1..).zip(rest) {
                    add_group::<ROWS, VECTORS, SIGNED, false>(&mut c, lhs, g, b);
                }
                from += window.len();
                for (sums, c) in sums.iter_mut().zip(c) {
                    for (sum, c) in sums.iter_mut().zip(c) {
                        *sum = widen(*sum, c, weight);
                    }
                }
            }
        }

        /// Adds one group, or begins with it.
        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn add_group<const ROWS: usize, const VECTORS: usize, const SIGNED: bool, const FIRST: bool>(
            c: &mut [[Vector; VECTORS]; ROWS],
            lhs: &[&[[u8; 4]]; ROWS],
            g: usize,
            b: &[[u8; $lanes * 4]; $width / $lanes],
        ) {
            let mut panel: [Vector; VECTORS] = [zero(); VECTORS];
            for (panel, b) in panel.iter_mut().zip(b) {
                *panel = load(b);
            }
            for (c, a) in c.iter_mut().zip(lhs) {
                // SAFETY: the lines have as many groups as the panel.
                let a = spread(unsafe { *a.get_unchecked(g) });
                for (c, &b) in c.iter_mut().zip(&panel) {
                    let products = products::<SIGNED>(a, b);
                    *c = if FIRST { products } else { add(*c, products) };
                }
            }
        }
    };
}
