//! Tiles: what is multiplied at a time, how rows are cut into them, and what those of several kernels have in common: a function for each
//! shape, the loop over groups, and the way of sums to where they belong.

use crate::matrix::{Encoding, Lines};
use crate::output::Sums;
use crate::pack::Groups;
use crate::span::Spans;
use std::ops::Range;

/// Of so many bytes of panels few are still in a cache when they are needed again. (Beside a third cache of 32 MiB, 4 MiB took up to a
/// tenth longer where they were asked for ahead, for the processor does so by itself; 12 MiB a quarter less.)
pub(crate) const FAR_PANELS: usize = 8 << 20;

/// What one call of a [`TileFn`](super::TileFn) multiplies.
#[derive(Clone)]
pub(crate) struct Tile<'a> {
    /// Lines, over a stretch of the depth that may end within a group; or windows, whose runs do not.
    pub lhs: Lines<'a>,
    /// How many of them are multiplied at a time, if there are more: 1 to [`Kernel::rows`](super::Kernel::rows).
    pub height: usize,
    pub lhs_encoding: Encoding,
    pub rhs_encoding: Encoding,
    /// Whether that is unsigned, but the bytes are signed, 128 less.
    pub is_turned: bool,
    /// A panel over the same stretch; or several, of which the first begins there, and the last ends there.
    pub rhs: &'a [u8],
    /// How many of the panel's lines count, from the first on.
    pub cols: usize,
    /// How many bytes of panels there are from this one on: what lies further ahead is not to be fetched.
    pub reach: usize,
    /// Whether all panels of the product are so many bytes that they come from memory: [`FAR_PANELS`] or more.
    pub is_far: bool,
    /// Whether the accumulators start from 0 or from what they hold.
    pub fresh: bool,
    /// What accumulators of 16 bits hold; kernels without such accumulators do not care.
    pub spans: Spans<'a>,
    /// Where the sums go, if they are the result and complete.
    pub sums: Option<Sums<'a>>,
}

impl Tile<'_> {
    /// Bytes from one to the next of so many panels of `W` columns, on kernels that read both sides as bytes.
    #[inline(always)]
    pub(super) fn of_panel<const W: usize>(&self, panels: usize) -> usize {
        let [before, after] = self.lhs.left_out();
        (self.rhs.len() + (before + after) * W) / panels
    }

    /// What one run of its windows is multiplied by.
    #[inline(always)]
    pub(super) fn run<const W: usize>(&self, run: usize, groups: Groups) -> Self {
        let len = self.lhs.len() / groups.lhs_size() * W;
        let is_last = run + 1 == self.lhs.runs();
        Self {
            lhs: self.lhs.run(run),
            rhs: &self.rhs[run * len..][..len],
            fresh: self.fresh && run == 0,
            sums: self.sums.clone().filter(|_| is_last),
            ..*self
        }
    }
}

/// What a tile function multiplies at once.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "not all architectures have such kernels")]
pub(super) enum Takes {
    /// Lines, as many as a tile has; of windows one run: between them the sums rest in memory.
    Runs,
    /// Lines or windows, as many as a tile has.
    Windows,
    /// However many of them.
    Lines,
}

/// So many rows in tiles of no more than `most`, as equal as can be: the first few are one row longer.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn tiles(rows: usize, most: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    // To divide takes as long as much else of a small product.
    let (tiles, short, longer) = match rows <= most {
        true => (1, rows, 0),
        false => {
            let tiles = rows.div_ceil(most);
            (tiles, rows / tiles, rows % tiles)
        }
    };
    let mut end = 0;
    (0..tiles).map(move |i| {
        let start = end;
        end += short + usize::from(i < longer);
        start..end
    })
}

/// How high tiles of no more than `most` rows are, as equal as can be: at least one.
#[inline(always)]
pub(crate) fn height(rows: usize, most: usize) -> usize {
    // To divide takes as long as much else of a small product.
    match rows <= most {
        true => rows.max(1),
        false => rows.div_ceil(rows.div_ceil(most)),
    }
}

/// So many rows in tiles of this height; the last may be lower. (Not `step_by`, which divides: that takes as long as much else of a
/// small product.)
#[inline(always)]
pub(crate) fn tiles_of(rows: usize, height: usize) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end;
        end = rows.min(start + height);
        (start < rows).then_some(start..end)
    })
}

/// Defines `tile`, which calls a module's own `multiply` for the number of its rows, of the vectors that its columns
/// take, and for the sign of the LHS.
#[cfg(any(all(target_arch = "x86_64", not(only_avx2)), target_arch = "aarch64"))]
macro_rules! tile_of_each_shape {
    (features: [$($feature:tt),*], lanes: $lanes:literal, rows: [$($rows:literal)*], vectors: [$($vectors:literal)*]) => {
        $(#[target_feature(enable = $feature)])*
        fn tile(tile: &$crate::kernel::Tile, acc: &mut [i32]) {
            use $crate::matrix::Encoding;
            match (tile.lhs.count(), tile.lhs_encoding) {
                $(($rows, Encoding::U8) => of_width::<$rows, false>(tile, acc),
                  ($rows, Encoding::S8) => of_width::<$rows, true>(tile, acc),)*
                _ => unreachable!("a tile has 1 to Kernel::rows lines"),
            }
        }

        /// Lanes beyond the columns that count are left out, a vector at a time.
        $(#[target_feature(enable = $feature)])*
        fn of_width<const ROWS: usize, const SIGNED: bool>(tile: &$crate::kernel::Tile, acc: &mut [i32]) {
            match tile.cols.div_ceil($lanes) {
                $($vectors => multiply::<ROWS, $vectors, SIGNED>(tile, acc),)*
                _ => unreachable!("a tile has 1 to Kernel::width columns"),
            }
        }
    };
}

/// The last bytes of a line that ends within a group, and zeros.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn last_group(line: &[u8]) -> [u8; 4] {
    let rest = line.len() % 4;
    match line.last_chunk() {
        Some(&end) if rest > 0 => (u32::from_le_bytes(end) >> (32 - 8 * rest)).to_le_bytes(),
        _ => {
            let byte = |i: usize| if i < rest { line[i] } else { 0 };
            [byte(0), byte(1), byte(2), 0]
        }
    }
}

/// Defines `tile` in terms of a module's own `Vector`, `zero`, `load` (a group of as many lines as a vector has lanes),
/// `spread` (a group of one line), `xor` (which turns signed bytes to unsigned ones; not all have it), `dot` and `store`, `resume`, `plus`
/// and `put`. The inner loop loads the vectors of a panel's group once and multiplies them by each line's. What lies so many bytes
/// `ahead` is fetched, which may be of the next panel: a panel that comes from beyond the L2 is late otherwise. Where `dot` takes long
/// until its sum may be added to, few rows sum each second group `apart`: they would wait for the group before.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
macro_rules! vector_tile {
    (features: [$($feature:tt),*], lanes: $lanes:literal, group: $group:literal,
     rows: $rows:tt, vectors: $vectors:tt of $width:literal $(, apart: $apart:literal)? $(, ahead: $ahead:literal)?
     $(, turns_by: $xor:ident)? $(,)?) => {
        tile_of_each_shape! { features: [$($feature),*], lanes: $lanes, rows: $rows, vectors: $vectors }

        /// 0 where nothing is fetched.
        const AHEAD: usize = 0 $(+ $ahead)?;
        /// No more rows sum each second group apart.
        const APART: usize = 0 $(+ $apart)?;

        $(#[target_feature(enable = $feature)])*
        fn multiply<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
            tile: &$crate::kernel::Tile,
            acc: &mut [i32],
        ) {
            $(if !SIGNED && tile.is_turned {
                // If the compiler knew it, it would turn each group before it is spread, in more instructions.
                let high_bits = std::hint::black_box(spread([128; 4]));
                return multiply_with::<ROWS, VECTORS, SIGNED>(tile, acc, |a| $xor(spread(a), high_bits));
            })?
            multiply_with::<ROWS, VECTORS, SIGNED>(tile, acc, |a| spread(a));
        }

        /// With what makes a vector of a line's group.
        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn multiply_with<const ROWS: usize, const VECTORS: usize, const SIGNED: bool>(
            tile: &$crate::kernel::Tile,
            acc: &mut [i32],
            spread_group: impl Fn([u8; 4]) -> Vector,
        ) {
            // Beyond all panels there may be a page that nobody knows where to find.
            let ahead = if tile.reach < 2 * AHEAD { 0 } else { AHEAD };
            let mut rest = $crate::pack::groups::<{ $width / $lanes }, { $lanes * $group }>(tile.rhs);
            let whole = (tile.lhs.len() / 4).min(rest.len());
            let mut c: [[Vector; VECTORS]; ROWS] = [[zero(); VECTORS]; ROWS];
            let mut apart = c;
            for run in 0..tile.lhs.runs() {
                let lhs: [&[[u8; 4]]; ROWS] = tile.lhs.run(run).groups(whole);
                let (now, after) = rest.split_at(whole);
                let grow = |c: &mut [[Vector; VECTORS]; ROWS], g: usize, b: &[[u8; $lanes * $group]; $width / $lanes]| {
                    if const { AHEAD > 0 } {
                        for b in b {
                            $crate::kernel::vector256::prefetch(b.as_ptr().wrapping_add(ahead));
                        }
                    }
                    let mut panel: [Vector; VECTORS] = [zero(); VECTORS];
                    for (panel, b) in panel.iter_mut().zip(b) {
                        *panel = load(b);
                    }
                    for (c, a) in c.iter_mut().zip(&lhs) {
                        // SAFETY: every line was cut to `whole` groups.
                        let a = spread_group(unsafe { *a.get_unchecked(g) });
                        for (c, &b) in c.iter_mut().zip(&panel) {
                            *c = dot::<SIGNED>(*c, a, b);
                        }
                    }
                };
                if const { ROWS <= APART } {
                    let (pairs, last) = now.as_chunks::<2>();
                    for (i, [even, odd]) in pairs.iter().enumerate() {
                        grow(&mut c, 2 * i, even);
                        grow(&mut apart, 2 * i + 1, odd);
                    }
                    for b in last {
                        grow(&mut c, whole - 1, b);
                    }
                } else {
                    for (g, b) in now.iter().enumerate() {
                        grow(&mut c, g, b);
                    }
                }
                rest = after;
            }
            if const { ROWS <= APART } {
                for (c, apart) in c.iter_mut().zip(apart) {
                    for (c, apart) in c.iter_mut().zip(apart) {
                        *c = plus(*c, apart);
                    }
                }
            }
            if let Some(b) = rest.first() {
                // The depth ends within a group, and nothing of the line lies beyond its end.
                let mut last = [[0; 4]; ROWS];
                for (last, line) in last.iter_mut().zip(tile.lhs.iter()) {
                    *last = $crate::kernel::tile::last_group(line);
                }
                // A loop as short as the one above, or the compiler would keep the sums in memory.
                for (c, &a) in c.iter_mut().zip(&last) {
                    let a = spread_group(a);
                    for (c, b) in c.iter_mut().zip(b) {
                        *c = dot::<SIGNED>(*c, a, load(b));
                    }
                }
            }
            deliver!(tile, c, tile.fresh, acc, [[$lanes; VECTORS] of $width; ROWS]);
        }
    };
}

/// Brings the sums that a tile has in registers to their place, if they are the result; else adds them to what the
/// accumulators hold, unless they are `fresh`. Not a function: the sums would go there through memory.
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
macro_rules! deliver {
    ($tile:ident, $c:ident, $fresh:expr, $acc:ident, [[$lanes:literal; $vectors:ident] of $width:literal; $rows:ident]) => {
        let acc = &mut $acc.as_chunks_mut::<$width>().0[..$rows];
        let Some(sums) = &$tile.sums else {
            for (acc, c) in acc.iter_mut().zip($c) {
                for (acc, c) in acc.as_chunks_mut::<$lanes>().0.iter_mut().zip(c) {
                    store(acc, c, $fresh);
                }
            }
            return;
        };
        let (of_rows, of_cols) = (sums.of_rows::<$rows>(), sums.of_cols::<$width>());
        let of_cols = of_cols.as_chunks::<$lanes>().0;
        // SAFETY: the promise of a `TileFn`.
        let mut places = unsafe { sums.rows($rows) };
        if $fresh && places.is_of($rows, $vectors * $lanes) {
            // So short that it is unrolled: the sums go straight from registers to their place.
            for i in 0..$rows {
                let to = places.next().expect("as many rows").as_chunks_mut::<$lanes>().0;
                let of_row = spread(of_rows[i].to_ne_bytes());
                for v in 0..$vectors {
                    store(&mut to[v], plus($c[i][v], plus(resume(&of_cols[v]), of_row)), true);
                }
            }
            return;
        }
        for (((to, acc), c), of_row) in places.zip(acc).zip($c).zip(of_rows) {
            let of_row = spread(of_row.to_ne_bytes());
            for v in 0..$vectors {
                let mut sum = plus(c[v], plus(resume(&of_cols[v]), of_row));
                if !$fresh {
                    sum = plus(sum, resume(&acc.as_chunks::<$lanes>().0[v]));
                }
                put(&mut to[v * $lanes..], sum);
            }
        }
    };
}
