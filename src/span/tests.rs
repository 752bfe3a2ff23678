//! Spans against accumulators of 16 bits that saturate, one number at a time.

use super::*;
use crate::kernel::tests::narrow;
use crate::pack::Groups;
use proptest::prelude::*;

/// What 16 bits hold, as they are read.
type Sums = std::ops::RangeInclusive<i32>;

const SIGNED: Sums = i16::MIN as i32..=i16::MAX as i32;
const UNSIGNED: Sums = 0..=u16::MAX as i32;

/// What 16 bits keep of the sum of two products, as `vpmaddubsw` computes it.
fn add_saturating(x: i32, y: i32, sums: &Sums) -> i32 {
    (x + y).clamp(*sums.start(), *sums.end())
}

/// Whether the sum of these pairs of products saturates on its way.
fn saturates(pairs: impl IntoIterator<Item = [i32; 2]>, sums: &Sums) -> bool {
    let (mut sum, mut exact) = (0, 0);
    for [x, y] in pairs {
        sum = add_saturating(sum, add_saturating(x, y, sums), sums);
        exact += x + y;
    }
    sum != exact
}

/// The greatest span whose windows do not saturate for the products farthest from 0 on either side.
fn span_by_definition(lhs: ElementRange, rhs: ElementRange, sums: &Sums) -> u8 {
    let ends = |reach: ElementRange| [reach.least, reach.greatest];
    let all_saturate = |span: u8, product: i32| saturates((0..span).map(|_| [product; 2]), sums);
    let saturates_at = |span: u8| ends(lhs).iter().any(|a| ends(rhs).iter().any(|b| all_saturate(span, a * b)));
    [1, 2, 4, 8, 16].into_iter().take_while(|&span| !saturates_at(span)).last().unwrap_or(0)
}

#[test]
fn stretches_of_the_same_span_are_uniform_whatever_remains_at_the_end() {
    for (spans, depth, uniform) in [
        (&[2][..], 64, Some(2)),
        (&[4, 4], 128, Some(4)),
        (&[4, 4], 100, Some(4)),
        (&[1, 1, 16], 129, Some(1)),
        (&[0, 0, 1], 191, Some(0)),
        // Sums of the last one might not fit.
        (&[4, 2], 65, None),
        // A whole stretch would take longer than it has to.
        (&[1, 1, 16], 192, None),
        (&[1, 2, 1], 192, None),
        (&[], 0, None),
    ] {
        let found = match Spans::of_stretches(spans, depth) {
            Spans::Uniform(span) => Some(span),
            Spans::PerStretch(all) => {
                assert_eq!(all, spans);
                None
            }
        };
        assert_eq!(found, uniform, "{spans:?}, {depth}");
    }
}

#[test]
fn a_span_is_the_longest_that_never_saturates_for_all_bit_depths() {
    let unsigned = |bits: u32| ElementRange { least: 0, greatest: (1 << bits) - 1 };
    let centred = |bits: u32| ElementRange { least: -(1 << (bits - 1)), greatest: (1 << (bits - 1)) - 1 };
    for (lhs_bits, rhs_bits) in (1..=8).flat_map(|lhs| (1..=8).map(move |rhs| (lhs, rhs))) {
        for (lhs, rhs) in [(unsigned(lhs_bits), centred(rhs_bits)), (centred(lhs_bits), unsigned(rhs_bits))] {
            assert_eq!(signed(lhs, rhs), span_by_definition(lhs, rhs, &SIGNED), "{lhs:?} {rhs:?}");
        }
        let (lhs, rhs) = (unsigned(lhs_bits), unsigned(rhs_bits));
        let room = room(Groups::LikeOctets, Encoding::U8);
        assert_eq!(span(lhs, rhs, room), span_by_definition(lhs, rhs, &UNSIGNED), "{lhs:?} {rhs:?}");
    }
}

/// The span of numbers whose sums are signed.
fn signed(lhs: ElementRange, rhs: ElementRange) -> u8 {
    span(lhs, rhs, room(Groups::Quads, Encoding::S8))
}

#[test]
fn spans_of_known_ranges() {
    let span = signed;
    let reach = |least, greatest| ElementRange { least, greatest };
    assert_eq!(span(reach(0, 127), reach(-16, 15)), 8, "7 bits and 5: 16 products of at most 2032 are 32512");
    assert_eq!(span(reach(0, 128), reach(-128, 127)), 1, "-32768 is a number of 16 bits");
    assert_eq!(span(reach(-128, 0), reach(0, 128)), 1);
    assert_eq!(span(reach(-128, 0), reach(-128, 127)), 0, "and 32768 is none");
    assert_eq!(span(reach(0, 255), reach(-128, 127)), 0);
    assert_eq!(span(reach(0, 0), reach(-128, 127)), 16);
    // What the halves of numbers rely on.
    assert_eq!(span(reach(0, 15), reach(-128, 127)), 8);
    assert!(span(reach(0, 15), reach(0, 255)) == 4 && span(reach(-8, 7), reach(0, 255)) >= 4);
}

/// The span of one stretch of a panel, of so many pairs of products: each lane, on its own, with the LHS that takes it
/// farthest up, or down.
fn proof_by_definition(
    numbers: impl Fn(usize, usize) -> i32,
    (kernel, pairs): (&Kernel, usize),
    lhs: ElementRange,
    sums: &Sums,
) -> u8 {
    let lanes: &[usize] = if kernel.groups == Groups::LikeOctets { &[0, 1, 2, 3, 4, 5, 6, 7] } else { &[0, 2] };
    let depths = |pair, lane| match kernel.groups {
        Groups::LikeOctets => [0, 8].map(|i| 16 * pair + lane + i),
        _ => [0, 1].map(|i| 4 * pair + lane + i),
    };
    let product = |b: i32, up: bool| {
        let products = [0, lhs.least * b, lhs.greatest * b].into_iter();
        if up { products.max().unwrap() } else { products.min().unwrap() }
    };
    let saturates_at = |span: usize| {
        (0..kernel.width).any(|line| {
            (0..pairs).step_by(span).any(|from| {
                let window = from..(from + span).min(pairs);
                lanes.iter().any(|&lane| {
                    let pair = |p: usize, up| depths(p, lane).map(|d| product(numbers(line, d), up));
                    [false, true].iter().any(|&up| saturates(window.clone().map(|p| pair(p, up)), sums))
                })
            })
        })
    };
    [1, 2, 4, 8, 16].into_iter().take_while(|&span| !saturates_at(span)).last().unwrap_or(0) as u8
}

/// The range of an LHS that meets panels of the encoding `rhs`.
fn reach(rhs: Encoding) -> impl Strategy<Value = ElementRange> {
    let (least, greatest) = if rhs == Encoding::S8 { (0, 255) } else { (-128, 127) };
    (least..=greatest, least..=greatest)
        .prop_map(|(x, y): (i32, i32)| ElementRange { least: x.min(y), greatest: x.max(y) })
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::U8), Just(Encoding::S8)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_span_is_that_of_the_definition(
        (lhs, rhs) in encoding().prop_flat_map(|rhs| (reach(rhs), reach(rhs.other()))),
    ) {
        prop_assert_eq!(signed(lhs, rhs), span_by_definition(lhs, rhs, &SIGNED));
    }

    #[test]
    fn a_proof_is_the_longest_span_that_never_saturates(
        stored in encoding(), ends in any::<[u8; 2]>(),
        depth in 0usize..200, panels in 1usize..3, shift in 0u32..8, outliers in 0u64..4, seed in any::<u64>(),
    ) {
        for kernel in narrow() {
            let encoding = kernel.groups.lhs_encoding(stored).unwrap();
            let ends = ends.map(|end| encoding.decode(end));
            let lhs = ElementRange { least: ends[0].min(ends[1]), greatest: ends[0].max(ends[1]) };
            let sums = if (encoding, stored) == (Encoding::U8, Encoding::U8) { UNSIGNED } else { SIGNED };
            // Small numbers, and a few that may be large.
            let mut bytes = crate::kernel::tests::noise(seed, false, panels * kernel.width * kernel.pad(depth));
            for (i, byte) in bytes.iter_mut().enumerate() {
                if i as u64 * 0x9e37_79b9 % 1009 >= outliers {
                    *byte = if stored == Encoding::S8 { (*byte as i8 >> shift) as u8 } else { *byte >> shift };
                }
            }
            let stretches = depth.div_ceil(64);
            let mut spans = vec![99; panels * stretches];
            prove(kernel, &bytes, stored, depth, lhs, &mut spans);
            for (i, &span) in spans.iter().enumerate() {
                let (padded, group) = (kernel.pad(depth), kernel.groups.len());
                let from = i % stretches * DEPTHS;
                let there = (padded - from).min(DEPTHS);
                let panel = &bytes[i / stretches * kernel.width * padded..];
                let number = |line, d| match from + d {
                    at if d < there => stored.decode(panel[(at / group * kernel.width + line) * group + at % group]),
                    _ => 0,
                };
                let pairs = there.div_ceil(if group == 8 { 16 } else { 4 });
                let proof = proof_by_definition(number, (kernel, pairs), lhs, &sums);
                // Beside a signed LHS, signed numbers are taken to be as far above 0 as below in one lane.
                let is_longest = encoding == Encoding::U8 || stored == Encoding::U8;
                prop_assert!(span == proof || span < proof && !is_longest, "{}: {} {}", kernel.name, span, proof);
            }
        }
    }
}
