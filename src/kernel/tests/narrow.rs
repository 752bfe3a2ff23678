//! Tiles of narrow kernels against the definition, with numbers as large as each span allows.

use crate::kernel::tests::{narrow, noise};
use crate::kernel::{Kernel, Tile};
use crate::matrix::{Encoding, Lines};
use crate::range::ElementRange;
use crate::reference;
use crate::span::{STRETCH, Spans, room, span};
use proptest::prelude::*;

/// How numbers are chosen between the ends of their range.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Least,
    Greatest,
    Ends,
    Any,
}

#[derive(Clone, Debug)]
struct Case {
    depth: usize,
    lhs_encoding: Encoding,
    /// One for all, or one for each stretch.
    spans: Vec<u8>,
    /// The greatest number of the LHS, of 255, for each stretch; the RHS has what is left.
    greatest: Vec<u8>,
    choices: [Choice; 2],
    /// Whether the lines of the LHS go on with zeros up to a whole group.
    padded: bool,
    fresh: bool,
    seed: u64,
}

impl Case {
    fn spans(&self) -> Spans<'_> {
        if let [span] = self.spans[..] { Spans::Uniform(span) } else { Spans::PerStretch(&self.spans) }
    }

    /// The range of a side's numbers in the stretch of depth `d`.
    fn reaches(&self, kernel: &Kernel, d: usize) -> [ElementRange; 2] {
        let stretch = d / (4 * STRETCH);
        let up_to = |encoding, greatest: i32| match encoding {
            Encoding::U8 => ElementRange { least: 0, greatest },
            Encoding::S8 => ElementRange { least: -(greatest + 1) / 2, greatest: greatest / 2 },
        };
        let lhs = up_to(self.lhs_encoding, i32::from(self.greatest[stretch % self.greatest.len()]));
        let rhs_encoding = kernel.groups.rhs_encoding(self.lhs_encoding, Encoding::S8);
        let candidates = (0..=255).rev().map(|greatest| up_to(rhs_encoding, greatest));
        let room = room(kernel.groups, rhs_encoding);
        let fits = |rhs: &ElementRange| span(lhs, *rhs, room) >= self.spans().of(stretch);
        [lhs, candidates.into_iter().find(fits).expect("0 fits")]
    }

    /// A line of one side.
    fn line(&self, side: usize, reaches: &[[ElementRange; 2]], seed: u64) -> Vec<u8> {
        let random = noise(self.seed ^ seed.wrapping_mul(0x9e37_79b9), false, reaches.len());
        let number = |(&x, reach): (&u8, &[ElementRange; 2])| {
            let ElementRange { least, greatest } = reach[side];
            (match self.choices[side] {
                Choice::Least => least,
                Choice::Greatest => greatest,
                Choice::Ends => [least, 0, greatest, greatest][usize::from(x % 4)],
                Choice::Any => least + i32::from(x) * (greatest - least) / 255,
            }) as u8
        };
        random.iter().zip(reaches).map(number).collect()
    }

    fn check(&self) {
        for kernel in narrow() {
            let group = kernel.groups.len();
            let reaches: Vec<_> = (0..self.depth).map(|d| self.reaches(kernel, d)).collect();
            let lines = |side, count: usize| {
                (0..count as u64).map(|i| self.line(side, &reaches, 2 * i + side as u64 + 1)).collect::<Vec<_>>()
            };
            let (lhs, rhs) = (lines(0, kernel.rows), lines(1, kernel.width));
            let mut panel = vec![0; kernel.width * kernel.pad(self.depth)];
            for (j, line) in rhs.iter().enumerate() {
                for (d, &b) in line.iter().enumerate() {
                    panel[(d / group * kernel.width + j) * group + d % group] = b;
                }
            }
            let (a, b) = (self.lhs_encoding, kernel.groups.rhs_encoding(self.lhs_encoding, Encoding::S8));
            let sums = reference::product(
                (kernel.rows, kernel.width, self.depth),
                |i, d| i64::from(a.decode(lhs[i][d])),
                |d, j| i64::from(b.decode(rhs[j][d])),
            );
            let mut lines = lhs.clone();
            if self.padded {
                lines.iter_mut().for_each(|line| line.resize(kernel.pad(self.depth), 0));
            }
            let (len, lines) = (lines[0].len(), lines.concat());
            for rows in 1..=kernel.rows {
                let cols = 1 + (self.seed as usize + rows * 7) % kernel.width;
                // What lies beyond the panel may be asked for, whatever it is.
                let is_far = self.seed & 1 == 0;
                let mut tile = Tile {
                    lhs: Lines::packed(&lines, rows, len, 0..len),
                    height: kernel.rows,
                    lhs_encoding: a,
                    rhs_encoding: b,
                    is_turned: false,
                    rhs: &panel,
                    cols,
                    reach: if is_far { usize::MAX } else { 0 },
                    is_far,
                    fresh: self.fresh,
                    spans: self.spans(),
                    sums: None,
                };
                let mut acc = vec![0x7fff_fff0; rows * kernel.width];
                // SAFETY: whoever has a kernel has a CPU that runs it.
                unsafe { kernel.multiply(&mut tile, &mut acc) }
                let start = if self.fresh { 0 } else { 0x7fff_fff0 };
                for (i, (acc, sums)) in acc.chunks(kernel.width).zip(sums.chunks(kernel.width)).enumerate() {
                    let expected: Vec<i32> = sums[..cols].iter().map(|&sum| sum.wrapping_add(start)).collect();
                    assert_eq!(acc[..cols], expected, "{}, row {i} of {rows}: {self:?}", kernel.name);
                }
            }
        }
    }
}

const SPANS: [u8; 6] = [0, 1, 2, 4, 8, 16];

fn case() -> impl Strategy<Value = Case> {
    let span = || proptest::sample::select(&SPANS[..]);
    let spans = prop_oneof![proptest::collection::vec(span(), 1), proptest::collection::vec(span(), 5)];
    let choice = || proptest::sample::select(&[Choice::Least, Choice::Greatest, Choice::Ends, Choice::Any][..]);
    let greatest = proptest::collection::vec(prop_oneof![Just(255), Just(127), any::<u8>()], 5);
    let encoding = prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    (0usize..=300, encoding, spans, greatest, [choice(), choice()], any::<bool>(), any::<bool>(), any::<u64>())
        .prop_map(|(depth, lhs_encoding, spans, greatest, choices, padded, fresh, seed)| Case {
            depth,
            lhs_encoding,
            spans,
            greatest,
            choices,
            padded,
            fresh,
            seed,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_agrees_with_the_definition_in_16_bits(case in case()) {
        case.check();
    }
}

#[test]
fn tiles_of_every_depth_agree_with_the_definition() {
    for depth in 0..=300 {
        for (i, &span) in SPANS.iter().enumerate() {
            for lhs_encoding in [Encoding::U8, Encoding::S8] {
                let mixed = (0..5).map(|s| SPANS[(i + s) % 6]).collect();
                let case = Case {
                    depth,
                    lhs_encoding,
                    spans: if depth % 2 == 0 { vec![span] } else { mixed },
                    greatest: vec![255],
                    choices: [Choice::Greatest, [Choice::Ends, Choice::Greatest, Choice::Least][depth % 3]],
                    padded: false,
                    fresh: depth % 5 != 0,
                    seed: (depth * 6 + i) as u64,
                };
                case.check();
            }
        }
    }
}
