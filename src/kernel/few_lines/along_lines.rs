//! How a few lines are multiplied by others that are contiguous at each depth, in vectors of any kind.

/// Defines a module's `along_lines`, in terms of what [`few_lines`] defines, and of the module's own `spread`, `store`, `resume` (sums
/// that were stored), `settled` (sums that are computed before what follows, if registers hold no more), `columns` (groups of as many
/// lines, given at each depth) and `in_order` (their sums as the lines are).
macro_rules! along_lines {
    (features: [$($feature:tt),*], lanes: $lanes:literal, group: $group:literal, columns: $columns:literal, runs: $runs:literal,
     strips: [$($strip:literal)*] $(,)?) => {
        /// Bytes of each run in a strip.
        const STRIP: usize = 1024;
        /// Bytes of a run that are read between its being prefetched and its being read.
        const AHEAD: usize = 512;

        /// Runs pass by, several depths at a time, over sums that rest in memory.
        $(#[target_feature(enable = $feature)])*
        fn along_lines<const UNSIGNED: bool>(
            product: &$crate::kernel::FewProduct,
            lines: std::ops::Range<usize>,
            sums: &mut [i32],
        ) {
            let $crate::kernel::FewProduct { operand, .. } = product;
            let pitch = sums.len() / product.count;
            sums.fill(0);
            const MOST: usize = [$($strip),*].len();
            for depth in (0..operand.depth).step_by($runs) {
                let mut runs: [&[u8]; $runs] = [&[]; _];
                for x in 0..runs.len() {
                    // Numbers beyond the depth are zero: any run will do.
                    runs[x] = operand.run((depth + x).min(operand.depth - 1));
                }
                // In strips that stay in the fastest cache while they meet all of the few lines.
                let chunks = lines.len().div_ceil($columns);
                for strip in (0..chunks).step_by(STRIP / $columns) {
                    let strip = strip..chunks.min(strip + STRIP / $columns);
                    for rows in $crate::kernel::tiles(product.count, MOST) {
                        let place = (rows.start, depth);
                        let sums = (&mut sums[rows.start * pitch..], pitch);
                        match rows.len() {
                            $($strip => multiply_strip::<$strip, UNSIGNED>(product, place, &runs, (lines.clone(), strip.clone()), sums),)*
                            _ => unreachable!("1 to MOST lines"),
                        }
                    }
                }
            }
            $crate::kernel::few_lines::put_in_order(sums, pitch, lines.len(), |sums: &mut [_; $columns]| in_order(sums));
        }

        $(#[target_feature(enable = $feature)])*
        fn multiply_strip<const ROWS: usize, const UNSIGNED: bool>(
            product: &$crate::kernel::FewProduct,
            (row, depth): (usize, usize),
            runs: &[&[u8]; $runs],
            (lines, strip): (std::ops::Range<usize>, std::ops::Range<usize>),
            (sums, pitch): (&mut [i32], usize),
        ) {
            const GROUPS: usize = $runs / $group;
            let whole = lines.len() / $columns;
            let pitch = pitch / $columns;
            let mut lhs: [[Vector; GROUPS]; ROWS] = [[zero(); GROUPS]; ROWS];
            for i in 0..ROWS {
                let groups: &[_; GROUPS] = product.line(row + i)[depth / $group..].first_chunk().expect("lines are padded");
                for g in 0..GROUPS {
                    lhs[i][g] = spread(groups[g]);
                }
            }
            let sums = sums.as_chunks_mut().0.as_chunks_mut().0;
            let mut chunks: [&[[u8; $columns]]; $runs] = [&[]; _];
            for x in 0..chunks.len() {
                chunks[x] = &runs[x][lines.start..].as_chunks().0[..whole];
            }
            for v in strip.start..strip.end.min(whole) {
                // Of each cache line once: what comes next in these runs, and before they end the beginnings of those that follow.
                if row == 0 && (v * LINES).is_multiple_of(64) {
                    let later = v + AHEAD / LINES;
                    let next = if later < whole { later * LINES } else { (later - whole) * LINES + product.operand.pitch() * $runs };
                    for x in 0..chunks.len() {
                        prefetch(chunks[x].as_ptr().cast::<u8>().wrapping_add(next));
                    }
                }
                let mut depths: [&[u8; $columns]; $runs] = [&[0; _]; _];
                for x in 0..depths.len() {
                    // SAFETY: every run was cut to `whole` chunks.
                    depths[x] = unsafe { chunks[x].get_unchecked(v) };
                }
                patch::<ROWS, UNSIGNED>(&lhs, depths, sums, (v, pitch));
            }
            if strip.end > whole {
                // Lines before are read again, and their sums not used.
                let from = lines.end - $columns;
                let mut depths: [&[u8; $columns]; $runs] = [&[0; _]; _];
                for x in 0..depths.len() {
                    depths[x] = runs[x][from..].first_chunk().expect("an operand of as many lines");
                }
                patch::<ROWS, UNSIGNED>(&lhs, depths, sums, (whole, pitch));
            }
        }

        #[inline]
        $(#[target_feature(enable = $feature)])*
        fn patch<const ROWS: usize, const UNSIGNED: bool>(
            lhs: &[[Vector; $runs / $group]; ROWS],
            depths: [&[u8; $columns]; $runs],
            sums: &mut [[[i32; $lanes]; VECTORS]],
            (at, pitch): (usize, usize),
        ) {
            let mut c: [[Vector; VECTORS]; ROWS] = [[zero(); VECTORS]; ROWS];
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    c[i][v] = resume(&sums[at + i * pitch][v]);
                }
            }
            for (g, depths) in depths.as_chunks::<$group>().0.iter().enumerate() {
                let b: [Vector; VECTORS] = columns::<UNSIGNED>(*depths);
                for i in 0..ROWS {
                    for v in 0..VECTORS {
                        c[i][v] = settled(dot::<UNSIGNED>(c[i][v], lhs[i][g], b[v]));
                    }
                }
            }
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    store(&mut sums[at + i * pitch][v], c[i][v], true);
                }
            }
        }
    };
}
