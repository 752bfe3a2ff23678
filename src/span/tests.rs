//! Spans against accumulators of 16 bits that saturate, one number at a time.

use super::*;
use crate::kernel::tests::narrow;
use crate::pack::Groups;
use proptest::prelude::*;

/// What 16 bits keep of the sum of two products, as `vpmaddubsw` computes it.
fn add_saturating(x: i32, y: i32) -> i32 {
    (x + y).clamp(i32::from(i16::MIN), i32::from(i16::MAX))
}

/// Whether the sum of these pairs of products saturates on its way.
fn saturates(pairs: impl IntoIterator<Item = [i32; 2]>) -> bool {
    let (mut sum, mut exact) = (0, 0);
    for [x, y] in pairs {
        sum = add_saturating(sum, add_saturating(x, y));
        exact += x + y;
    }
    sum != exact
}

/// The greatest span whose windows do not saturate for the products farthest from 0 on either side.
fn span_by_definition(lhs: ElementRange, rhs: ElementRange) -> u8 {
    let ends = |reach: ElementRange| [reach.least, reach.greatest];
    let saturates_at =
        |span: u8| ends(lhs).iter().any(|a| ends(rhs).iter().any(|b| saturates((0..span).map(|_| [a * b, a * b]))));
    [1, 2, 4, 8, 16].into_iter().take_while(|&span| !saturates_at(span)).last().unwrap_or(0)
}

#[test]
fn a_span_is_the_longest_that_never_saturates_for_all_bit_depths() {
    let unsigned = |bits: u32| ElementRange { least: 0, greatest: (1 << bits) - 1 };
    let centred = |bits: u32| ElementRange { least: -(1 << (bits - 1)), greatest: (1 << (bits - 1)) - 1 };
    for (lhs_bits, rhs_bits) in (1..=8).flat_map(|lhs| (1..=8).map(move |rhs| (lhs, rhs))) {
        for (lhs, rhs) in [(unsigned(lhs_bits), centred(rhs_bits)), (centred(lhs_bits), unsigned(rhs_bits))] {
            assert_eq!(span(lhs, rhs), span_by_definition(lhs, rhs), "{lhs:?} {rhs:?}");
        }
    }
}

#[test]
fn spans_of_known_ranges() {
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

/// The span of one stretch of a panel: each lane, on its own, with the LHS that takes it farthest up, or down.
fn proof_by_definition(numbers: impl Fn(usize, usize) -> i32, width: usize, groups: usize, lhs: ElementRange) -> u8 {
    let product = |b: i32, up: bool| {
        let products = [0, lhs.least * b, lhs.greatest * b].into_iter();
        if up { products.max().unwrap() } else { products.min().unwrap() }
    };
    let saturates_at = |span: usize| {
        (0..width).any(|line| {
            (0..groups).step_by(span).any(|from| {
                let window = from..(from + span).min(groups);
                [0, 2].iter().any(|lane| {
                    let pair = |g: usize, up| [0, 1].map(|i| product(numbers(line, 4 * g + lane + i), up));
                    [false, true].iter().any(|&up| saturates(window.clone().map(|g| pair(g, up))))
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
        prop_assert_eq!(span(lhs, rhs), span_by_definition(lhs, rhs));
    }

    #[test]
    fn a_proof_is_the_longest_span_that_never_saturates(
        (stored, lhs) in encoding().prop_flat_map(|stored| (Just(stored), reach(stored))),
        depth in 0usize..200, panels in 1usize..3, shift in 0u32..8, outliers in 0u64..4, seed in any::<u64>(),
    ) {
        for kernel in narrow() {
            prop_assert_eq!(kernel.groups, Groups::Quads);
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
                let from = i % stretches * STRETCH;
                let groups = (kernel.pad(depth) / 4 - from).min(STRETCH);
                let panel = &bytes[i / stretches * kernel.width * kernel.pad(depth)..];
                let number = |line, d| stored.decode(panel[((from + d / 4) * kernel.width + line) * 4 + d % 4]);
                prop_assert_eq!(span, proof_by_definition(number, kernel.width, groups, lhs), "{}", kernel.name);
            }
        }
    }
}
