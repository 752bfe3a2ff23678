//! Panels of which each run of the depth begins a group, as windows on images have them.

use super::Groups;

impl Groups {
    /// Copies a panel of `width` lines so that each of its runs, of `run` numbers, begins a group. The rest of a run's last group
    /// is zero.
    pub(crate) fn space(self, panel: &[u8], width: usize, run: usize, to: &mut [u8]) {
        match self.len() {
            2 => space::<2>(panel, width, run, to),
            4 => space::<4>(panel, width, run, to),
            _ => space::<8>(panel, width, run, to),
        }
    }
}

fn space<const G: usize>(panel: &[u8], width: usize, run: usize, to: &mut [u8]) {
    let groups = panel.as_chunks::<G>().0;
    let group = |i: usize| groups.get(i * width..(i + 1) * width);
    for (i, to) in to.as_chunks_mut::<G>().0.chunks_exact_mut(width).enumerate() {
        let (runs, within) = (i / run.div_ceil(G), i % run.div_ceil(G) * G);
        let (first, below) = ((runs * run + within) / G, (runs * run + within) % G);
        // What counts lies in one group or in two.
        let counts = u64::MAX >> (64 - 8 * G.min(run - within));
        let low = group(first).expect("a panel of whole runs");
        match group(first + 1).filter(|_| below > 0) {
            None => {
                for (to, &low) in to.iter_mut().zip(low) {
                    *to = bytes(number(low) >> (8 * below) & counts);
                }
            }
            Some(high) => {
                for ((to, &low), &high) in to.iter_mut().zip(low).zip(high) {
                    *to = bytes((number(low) >> (8 * below) | number(high) << (8 * (G - below))) & counts);
                }
            }
        }
    }
}

/// A group as a number, its first byte lowest.
fn number<const G: usize>(group: [u8; G]) -> u64 {
    group.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn bytes<const G: usize>(number: u64) -> [u8; G] {
    *number.to_le_bytes().first_chunk().expect("no group has more than eight bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_run_begins_a_group(
            groups in prop::sample::select(vec![Groups::Pairs, Groups::Quads, Groups::LikeOctets]),
            (width, run, runs) in (1usize..9, 1usize..30, 1usize..6), seed: u64,
        ) {
            let (g, depth) = (groups.len(), run * runs);
            let panel = crate::kernel::tests::noise(seed, false, groups.pad(depth) * width);
            let mut spaced = vec![1; runs * groups.pad(run) * width];
            groups.space(&panel, width, run, &mut spaced);
            let at = |panel: &[u8], depth: usize, lane: usize| panel[(depth / g * width + lane) * g + depth % g];
            for (depth, lane) in (0..runs * groups.pad(run)).flat_map(|depth| (0..width).map(move |lane| (depth, lane))) {
                let (of_run, within) = (depth / groups.pad(run), depth % groups.pad(run));
                let expected = if within < run { at(&panel, of_run * run + within, lane) } else { 0 };
                prop_assert_eq!(at(&spaced, depth, lane), expected);
            }
        }
    }
}
