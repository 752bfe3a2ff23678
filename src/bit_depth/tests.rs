//! Requantized products against the definition: on every kernel, with threads, in any order, packed before or not.

use super::*;
use crate::kernel::MAX_ROWS;
use crate::kernel::tests::{always, noise, odd};
use crate::matrix::{Offset, Operand, Order, Output};
use crate::output::{Finish, Store};
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder};
use crate::reference::{self, requantized_product};
use crate::{Context, Kernel, gemm};
use proptest::prelude::*;
use std::sync::LazyLock;

static CONTEXTS: LazyLock<Vec<Context>> = LazyLock::new(|| {
    let kernels = Kernel::available().chain(always()).chain(odd());
    kernels.flat_map(|kernel| [1, 3].map(|threads| Context::new(kernel, threads))).collect()
});

#[derive(Clone, Copy, Debug)]
struct SideCase {
    order: Order,
    encoding: Encoding,
    offset: i32,
    slope: i32,
    is_packed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    shape: (usize, usize, usize),
    sides: [SideCase; 2],
    depths: BitDepths,
    /// Whether the user's RHS is what the kernels have as LHS, as for a column-major result.
    is_swapped: bool,
    seed: u64,
    extreme: bool,
}

fn mode() -> impl Strategy<Value = RoundingMode> {
    prop_oneof![
        Just(RoundingMode::Nearest),
        Just(RoundingMode::Xorshift),
        Just(RoundingMode::AddMod),
        Just(RoundingMode::Compensated)
    ]
}

fn side() -> impl Strategy<Value = SideCase> {
    let order = prop_oneof![Just(Order::DepthContiguous), Just(Order::LineContiguous)];
    let encoding = prop_oneof![3 => Just(Encoding::U8), 1 => Just(Encoding::S8)];
    let offset = prop_oneof![1 => Just(0), 4 => -255i32..=255, 1 => any::<i32>()];
    let slope = prop_oneof![2 => Just(0), 1 => -300i32..300, 1 => any::<i32>()];
    (order, encoding, offset, slope, proptest::bool::weighted(0.2))
        .prop_map(|(order, encoding, offset, slope, is_packed)| SideCase { order, encoding, offset, slope, is_packed })
}

fn case() -> impl Strategy<Value = Case> {
    let lines = || prop_oneof![20 => 1usize..30, 2 => 60usize..70, 1 => 250usize..270];
    let depth = prop_oneof![6 => 0usize..80, 2 => 240usize..270, 1 => 500usize..520];
    let depths = (1u32..=8, 1u32..=8, mode(), mode(), 0usize..300)
        .prop_map(|(lhs, rhs, below, from, threshold)| BitDepths { lhs, rhs, below, from, threshold, always: true });
    ((lines(), lines(), depth), [side(), side()], depths, any::<bool>(), any::<u64>(), any::<bool>()).prop_map(
        |(shape, sides, depths, is_swapped, seed, extreme)| Case { shape, sides, depths, is_swapped, seed, extreme },
    )
}

fn check(case: &Case) {
    let (rows, cols, depth) = case.shape;
    let lines = [rows, cols];
    let data = [0, 1].map(|side| noise(case.seed ^ (side as u64 * 0x9e37_79b9), case.extreme, lines[side] * depth));
    let offset = |side: usize, line: usize| {
        let SideCase { offset, slope, .. } = case.sides[side];
        offset.wrapping_add(slope.wrapping_mul(line as i32))
    };
    let offsets = [0, 1].map(|side| (0..lines[side]).map(|line| offset(side, line)).collect::<Vec<_>>());
    let element = |side: usize, line: usize, d: usize| {
        let SideCase { order, encoding, .. } = case.sides[side];
        let at = if order == Order::DepthContiguous { line * depth + d } else { d * lines[side] + line };
        encoding.decode(data[side][at])
    };
    let unsigned = |side: usize, line, d| match case.sides[side].encoding {
        Encoding::U8 => (element(side, line, d), offsets[side][line]),
        // The same value, seen as 0 to 255 with a zero point that is 128 higher.
        Encoding::S8 => (element(side, line, d) + 128, offsets[side][line].wrapping_sub(128)),
    };
    let mode = if depth < case.depths.threshold { case.depths.below } else { case.depths.from };
    let want = requantized_product(
        case.shape,
        (case.depths.lhs, case.depths.rhs),
        mode,
        |i, d| unsigned(0, i, d),
        |j, d| unsigned(1, j, d),
    );
    for context in &*CONTEXTS {
        let operands = [0, 1].map(|side| {
            let SideCase { order, encoding, .. } = case.sides[side];
            let stride = if order == Order::DepthContiguous { depth } else { lines[side] };
            Operand::new(&data[side], (lines[side], depth), stride, order, encoding)
        });
        let packed = [(0, Side::Lhs), (1, Side::Rhs)].map(|(i, side)| {
            let purpose = Purpose { side, result: ResultOrder::RowMajor, other: Encoding::U8 };
            let packing =
                Packing { offset: Offset::Uniform(0), purpose, bits: Bits::ALL, segments: None, are_patches: false };
            let pack = || Packed::new(context.kernel, &operands[i], &packing, None).unwrap();
            case.sides[i].is_packed.then(pack)
        });
        let [lhs, rhs] = [0, 1].map(|side| {
            let offset = match case.sides[side] {
                SideCase { slope: 0, offset, .. } => Offset::Uniform(offset),
                _ => Offset::PerLine(&offsets[side]),
            };
            let packed = packed[side].as_ref();
            packed.map_or(Factor::new(operands[side], offset), |packed| Factor::packed(packed, offset))
        });
        let [lhs, rhs] = case.depths.apply(lhs, rhs);
        let mut got = vec![0x5a5a_5a5a; rows * cols];
        if case.is_swapped {
            let mut transposed = got.clone();
            let store = Store::I32(Output::new(&mut transposed, (cols, rows), rows));
            gemm(context, &rhs, &lhs, &Finish::new(&[], store)).unwrap();
            (0..rows * cols).for_each(|at| got[at] = transposed[at % cols * rows + at / cols]);
        } else {
            gemm(context, &lhs, &rhs, &Finish::new(&[], Store::I32(Output::new(&mut got, (rows, cols), cols))))
                .unwrap();
        }
        let first = (0..got.len()).find(|&i| got[i] != want[i]).map(|i| (i / cols, i % cols, got[i], want[i]));
        assert!(first.is_none(), "{} with {} threads: {first:?}: {case:?}", context.kernel.name, context.threads());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_agrees_with_the_definition_of_requantized_products(case in case()) {
        check(&case);
    }
}

#[test]
fn every_kernel_agrees_on_every_pair_of_depths() {
    let side = |order, offset| SideCase { order, encoding: Encoding::U8, offset, slope: 0, is_packed: false };
    let sides = [side(Order::DepthContiguous, -84), side(Order::LineContiguous, -3)];
    for (lhs, rhs) in (1..=8).flat_map(|lhs| (1..=8).map(move |rhs| (lhs, rhs))) {
        for (below, extreme) in [
            (RoundingMode::Nearest, true),
            (RoundingMode::AddMod, false),
            (RoundingMode::Xorshift, false),
            (RoundingMode::Compensated, false),
        ] {
            let depths = BitDepths { below, threshold: usize::MAX, always: true, ..BitDepths::new(lhs, rhs) };
            check(&Case { shape: (7, 18, 140), sides, depths, is_swapped: false, seed: 5, extreme });
            if (lhs, rhs) == (7, 5) {
                // More rows than are scaled back together.
                check(&Case { shape: (2 * MAX_ROWS + 7, 18, 40), sides, depths, is_swapped: false, seed: 6, extreme });
            }
        }
    }
}

/// Numbers within ranges that the kernels are told of.
fn check_promised(shape: (usize, usize, usize), ranges: [(Encoding, i32, i32); 2], orders: [Order; 2], seed: u64) {
    let (rows, cols, depth) = shape;
    let lines = [rows, cols];
    let data = [0, 1].map(|side| {
        let (_, least, greatest) = ranges[side];
        let number = |b: &u8| least + i32::from(*b) % (greatest - least + 1);
        let extreme = |b: &u8| if *b < 128 { least } else { greatest };
        let bytes = noise(seed ^ side as u64, false, lines[side] * depth);
        let of = |b: &u8| if seed.is_multiple_of(2) { number(b) } else { extreme(b) } as u8;
        bytes.iter().map(of).collect::<Vec<_>>()
    });
    let at = |side: usize, line: usize, d: usize| match orders[side] {
        Order::DepthContiguous => line * depth + d,
        Order::LineContiguous => d * lines[side] + line,
    };
    let number = |side: usize, line, d| i64::from(ranges[side].0.decode(data[side][at(side, line, d)]));
    let want = reference::product(shape, |i, d| number(0, i, d) - 3, |d, j| number(1, j, d) + 5);
    for context in &*CONTEXTS {
        let [lhs, rhs] = [(0, -3), (1, 5)].map(|(side, offset)| {
            let (encoding, least, greatest) = ranges[side];
            let stride = if orders[side] == Order::DepthContiguous { depth } else { lines[side] };
            let operand = Operand::new(&data[side], (lines[side], depth), stride, orders[side], encoding);
            Factor::new(operand, Offset::Uniform(offset)).within(least, greatest)
        });
        let mut got = vec![0; rows * cols];
        let store = Store::I32(Output::new(&mut got, (rows, cols), cols));
        gemm(context, &lhs, &rhs, &Finish::new(&[], store)).unwrap();
        let first = (0..got.len()).find(|&i| got[i] != want[i]).map(|i| (i / cols, i % cols, got[i], want[i]));
        assert!(first.is_none(), "{}: {first:?}: {shape:?} {ranges:?} {orders:?} {seed}", context.kernel.name);
    }
}

fn promised() -> impl Strategy<Value = (Encoding, i32, i32)> {
    let width = prop_oneof![0i32..=31, 0i32..=127, 0i32..=255];
    (any::<bool>(), width, 0i32..=255).prop_map(|(is_signed, width, from)| {
        let from = from.min(255 - width);
        if is_signed { (Encoding::S8, from - 128, from + width - 128) } else { (Encoding::U8, from, from + width) }
    })
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::DepthContiguous), Just(Order::LineContiguous)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_agrees_on_numbers_within_promised_ranges(
        shape in (1usize..20, 1usize..30, 0usize..200),
        ranges in [promised(), promised()],
        orders in [order(), order()],
        seed in any::<u64>(),
    ) {
        check_promised(shape, ranges, orders, seed);
    }
}

#[test]
fn the_generators_begin_as_gemmlowps_did() {
    let zeros = [0; 12];
    let sequence = |mode| {
        let requantization = Requantization::new(8, mode, Side::Lhs, Encoding::U8);
        // With 255 levels, 0 · 255 + r shows nothing; so ask the lattice.
        let lattice = requantization.lattice.expect("a pseudorandom mode");
        lattice.along_depth(0, 0)[..zeros.len()].to_vec()
    };
    assert_eq!(sequence(RoundingMode::Xorshift), [127, 163, 168, 103, 50, 5, 53, 142, 118, 111, 234, 39]);
    assert_eq!(sequence(RoundingMode::AddMod)[..10], [98, 195, 37, 134, 231, 73, 170, 12, 109, 206]);
}

#[test]
fn both_ways_through_a_lattice_meet() {
    for lattice in [&lattice::ADD_MOD_LHS, &lattice::ADD_MOD_RHS, &lattice::XORSHIFT_LHS, &lattice::XORSHIFT_RHS] {
        for (line, depth) in [(0, 0), (1, 0), (0, 1), (3, 700), (511, 254), (1 << 40, 1 << 50)] {
            for step in 0..300 {
                let there = lattice.along_depth(line + step, depth)[0];
                assert_eq!(lattice.along_lines(line, depth)[step % 255], lattice.along_lines(line + step, depth)[0]);
                assert_eq!(there, lattice.along_lines(line + step, depth)[0], "{line} {depth} {step}");
            }
        }
        let mut all = lattice.along_depth(7, 9)[..255].to_vec();
        all.sort_unstable();
        assert!(all.iter().enumerate().all(|(i, &x)| i == usize::from(x)), "every number once");
    }
}

#[test]
fn requantizing_pays_for_large_and_square_products_only() {
    for ((rows, cols), is_worth) in [
        ((50, 99), false),
        ((99, 99), false),
        ((100, 100), true),
        ((100, 101), true),
        ((1, 100_000), false),
        ((100_000, 1), false),
        ((51, 3000), true),
        ((usize::MAX, usize::MAX), true),
    ] {
        assert_eq!(is_worth_it(rows, cols), is_worth, "{rows} {cols}");
    }
}
