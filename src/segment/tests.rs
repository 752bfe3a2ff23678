//! Products with segments on every kernel, against their definition.

use crate::kernel::Kernel;
use crate::kernel::tests::{always, narrow, noise, odd};
use crate::matrix::{Encoding, Offset, Operand, Order, Output};
use crate::output::{Finish, Stage, Store, Values};
use crate::packed::tests::confine;
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Segments, Side};
use crate::{Context, Factor, gemm};
use proptest::prelude::*;
use std::sync::LazyLock;

/// All that this CPU runs, with 1 and with 3 threads.
static CONTEXTS: LazyLock<Vec<Context>> = LazyLock::new(|| {
    let kernels = Kernel::available().chain(narrow()).chain(always()).chain(odd());
    kernels.flat_map(|kernel| [1, 3].map(|threads| Context::new(kernel, threads))).collect()
});

#[derive(Clone, Debug)]
struct Case {
    /// Rows, columns, depth.
    shape: (usize, usize, usize),
    /// The side that has segments.
    side: Side,
    size: usize,
    bits: Bits,
    has_zero_points: bool,
    /// Whether the other side is packed too, in so many bits.
    other_bits: Option<Bits>,
    encodings: [Encoding; 2],
    orders: [Order; 2],
    /// What the two are packed for; their sides do not matter.
    purposes: [Purpose; 2],
    /// Uniform, or how the offsets grow from line to line.
    offsets: [(i32, i32); 2],
    /// Which context packs, if not that of the product.
    packer: Option<usize>,
    seed: u64,
}

/// A side as lines × depth.
struct Plain {
    data: Vec<u8>,
    offsets: Vec<i32>,
    lines: usize,
    depth: usize,
    order: Order,
    encoding: Encoding,
}

impl Plain {
    fn operand(&self) -> Operand<'_> {
        let stride = if self.order == Order::DepthContiguous { self.depth } else { self.lines };
        Operand::new(&self.data, (self.lines, self.depth), stride, self.order, self.encoding)
    }

    fn offset(&self, slope: i32) -> Offset<'_> {
        if slope == 0 { Offset::Uniform(self.offsets[0]) } else { Offset::PerLine(&self.offsets) }
    }

    fn number(&self, line: usize, d: usize) -> i64 {
        let depth_first = self.order == Order::DepthContiguous;
        let at = if depth_first { line * self.depth + d } else { d * self.lines + line };
        i64::from(self.encoding.decode(self.data[at])) + i64::from(self.offsets[line])
    }
}

impl Case {
    fn side(&self, side: usize) -> Plain {
        let (lines, depth) = ([self.shape.0, self.shape.1][side], self.shape.2);
        let mut data = noise(self.seed ^ side as u64, false, lines * depth);
        let encoding = self.encodings[side];
        match (side == self.scaled(), self.other_bits) {
            (true, _) => confine(&mut data, self.bits, encoding),
            (false, Some(bits)) => confine(&mut data, bits, encoding),
            (false, None) => {}
        }
        let (first, slope) = self.offsets[side];
        let offsets = (0..lines as i32).map(|line| first.wrapping_add(slope.wrapping_mul(line))).collect();
        Plain { data, offsets, lines, depth, order: self.orders[side], encoding }
    }

    fn scaled(&self) -> usize {
        if self.side == Side::Lhs { 0 } else { 1 }
    }
}

/// The definition, step by step in floats of 32 bits.
fn expected(case: &Case, [lhs, rhs]: &[Plain; 2], scales: &[f32], zero_points: &[i32]) -> Vec<f32> {
    let (rows, cols, depth) = case.shape;
    let segments = depth.div_ceil(case.size);
    let result = |i: usize, j: usize| {
        let line = if case.side == Side::Lhs { i } else { j };
        let mut sum = 0f32;
        for segment in 0..segments {
            let at = line * segments + segment;
            let zero_point = if case.has_zero_points { i64::from(zero_points[at]) } else { 0 };
            let [zero_of_lhs, zero_of_rhs] = if case.side == Side::Lhs { [zero_point, 0] } else { [0, zero_point] };
            let depths = segment * case.size..depth.min((segment + 1) * case.size);
            let part = depths
                .map(|d| (lhs.number(i, d) - zero_of_lhs).wrapping_mul(rhs.number(j, d) - zero_of_rhs))
                .fold(0, i64::wrapping_add);
            sum += part as i32 as f32 * scales[at];
        }
        sum
    };
    (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).map(|(i, j)| result(i, j)).collect()
}

fn check(contexts: &[Context], case: &Case) {
    let (rows, cols, depth) = case.shape;
    let sides = [case.side(0), case.side(1)];
    let count = sides[case.scaled()].lines * depth.div_ceil(case.size);
    let scales: Vec<f32> = noise(case.seed, false, count).iter().map(|&b| f32::from(b) * 0.013 - 1.1).collect();
    let zero_points: Vec<i32> = noise(!case.seed, false, count).iter().map(|&b| i32::from(b) * 3 - 300).collect();
    let want = expected(case, &sides, &scales, &zero_points);
    let raised: Vec<f32> = want.iter().map(|x| x + 0.5).collect();
    for (i, context) in contexts.iter().enumerate() {
        let who = format!("{} with {} threads: {case:?}", context.kernel.name, context.threads());
        let packer = contexts[case.packer.unwrap_or(i) % contexts.len()].kernel;
        let segments =
            Segments { size: case.size, scales: &scales, zero_points: case.has_zero_points.then_some(&zero_points) };
        let packed: Vec<_> = (0..2)
            .map(|side| {
                let is_scaled = side == case.scaled();
                let bits = if is_scaled { Some(case.bits) } else { case.other_bits }?;
                let purpose = Purpose { side: [Side::Lhs, Side::Rhs][side], ..case.purposes[side] };
                let segments = is_scaled.then_some(segments);
                let packing = Packing { offset: Offset::Uniform(0), purpose, bits, segments, are_patches: false };
                Some(Packed::new(packer, &sides[side].operand(), &packing, None).unwrap())
            })
            .collect();
        let factor = |side: usize| {
            let offset = sides[side].offset(case.offsets[side].1);
            match &packed[side] {
                Some(packed) => Factor::packed(packed, offset),
                None => Factor::new(sides[side].operand(), offset),
            }
        };
        let add_half = [Stage::BiasF32(Values::Uniform(0.5))];
        for (stages, want) in [(&[][..], &want), (&add_half[..], &raised)] {
            let mut found = vec![f32::NAN; rows * cols];
            let store = Store::F32(Output::new(&mut found, (rows, cols), cols));
            gemm(context, &factor(0), &factor(1), &Finish::new(stages, store)).unwrap();
            let differs = (0..found.len()).find(|&at| found[at].to_bits() != want[at].to_bits());
            assert_eq!(differs.map(|at| (at, found[at], want[at])), None, "{who}, packed on {}", packer.name);
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    let encoding = || prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    let order = || prop_oneof![Just(Order::DepthContiguous), Just(Order::LineContiguous)];
    let bits = || (1usize..9).prop_map(|bits| Bits::new(bits).unwrap());
    let purpose = move || {
        let result = prop_oneof![Just(ResultOrder::RowMajor), Just(ResultOrder::ColMajor)];
        (result, encoding()).prop_map(|(result, other)| Purpose { side: Side::Lhs, result, other })
    };
    let offset = || {
        let first = prop_oneof![2 => Just(0), 3 => -255i32..=255, 1 => any::<i32>()];
        (first, prop_oneof![2 => Just(0), 1 => -9i32..9])
    };
    let lines = || prop_oneof![5 => 1usize..20, 1 => 60usize..70];
    let depth = prop_oneof![6 => 0usize..100, 1 => 300usize..340];
    let size = prop_oneof![3 => 1usize..20, 2 => Just(32usize), 2 => 20usize..200, 1 => Just(1000usize)];
    let scaled = (prop_oneof![Just(Side::Lhs), Just(Side::Rhs)], size, bits(), any::<bool>());
    let other = (proptest::option::of(bits()), proptest::option::weighted(0.2, 0usize..99), any::<u64>());
    let sides = ([encoding(), encoding()], [order(), order()], [purpose(), purpose()], [offset(), offset()]);
    ((lines(), lines(), depth), scaled, other, sides).prop_map(
        |(
            shape,
            (side, size, bits, has_zero_points),
            (other_bits, packer, seed),
            (encodings, orders, purposes, offsets),
        )| {
            Case {
                shape,
                side,
                size,
                bits,
                has_zero_points,
                other_bits,
                encodings,
                orders,
                purposes,
                offsets,
                packer,
                seed,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_adds_segments_as_the_definition_does(case in case()) {
        check(&CONTEXTS, &case);
    }
}

#[test]
fn a_product_of_many_blocks_adds_segments_as_the_definition_does() {
    for (side, shape) in [(Side::Rhs, (70, 300, 2100)), (Side::Lhs, (70, 300, 2100)), (Side::Rhs, (1, 1100, 1000))] {
        let result = if side == Side::Rhs { ResultOrder::RowMajor } else { ResultOrder::ColMajor };
        let purpose = Purpose { side, result, other: Encoding::U8 };
        check(
            &CONTEXTS,
            &Case {
                shape,
                side,
                size: 96,
                bits: Bits::new(4).unwrap(),
                has_zero_points: true,
                other_bits: None,
                encodings: [Encoding::U8; 2],
                orders: [Order::DepthContiguous; 2],
                purposes: [purpose; 2],
                offsets: [(-7, 0), (3, 0)],
                packer: None,
                seed: 5,
            },
        );
    }
}
