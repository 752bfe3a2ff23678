//! Weights that are small enough, or not, or in places, times an LHS that drives sums as far as they go.

use crate::gemm::{gemm_in, workspace_len};
use crate::kernel::tests::noise;
use crate::matrix::{Encoding, Offset, Operand, Order, Output};
use crate::output::{Finish, Store};
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Segments, Side};
use crate::{Context, Factor, Kernel, gemm, reference};
#[cfg(target_arch = "x86_64")]
use crate::{blocks::Shape, plain::Plain};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Case {
    shape: (usize, usize, usize),
    order: Order,
    encodings: [Encoding; 2],
    /// Weights lie so far around what is so much above their zero point, as a rule.
    amplitude: u8,
    above: i32,
    zero_point: i32,
    /// One of so many weights is any byte at all.
    strays: u64,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let encoding = || prop_oneof![2 => Just(Encoding::U8), 1 => Just(Encoding::S8)];
    let order = prop_oneof![Just(Order::DepthContiguous), Just(Order::LineContiguous)];
    let shape = (prop_oneof![1usize..10, 16usize..40], 1usize..70, 1usize..300);
    let strays = prop_oneof![Just(u64::MAX), 2u64..2000];
    let above = prop_oneof![3 => Just(0), 1 => -64i32..64];
    (shape, order, [encoding(), encoding()], (1u8..64, above), 40i32..200, strays, any::<u64>()).prop_map(
        |(shape, order, encodings, (amplitude, above), zero_point, strays, seed)| Case {
            shape,
            order,
            encodings,
            amplitude,
            above,
            zero_point: if encodings[1] == Encoding::S8 { 0 } else { zero_point },
            strays,
            seed,
        },
    )
}

impl Case {
    fn weights(&self) -> Vec<u8> {
        let (_, cols, depth) = self.shape;
        let bytes = noise(self.seed, false, cols * depth);
        let chance = noise(!self.seed, false, 2 * cols * depth);
        let of = |(i, &byte): (usize, &u8)| {
            let drawn = u64::from(chance[2 * i]) << 8 | u64::from(chance[2 * i + 1]);
            let near = byte % (2 * self.amplitude + 1);
            if drawn % self.strays == 0 {
                byte
            } else {
                near.wrapping_sub(self.amplitude).wrapping_add((self.zero_point + self.above) as u8)
            }
        };
        bytes.iter().enumerate().map(of).collect()
    }

    fn operand<'a>(&self, weights: &'a [u8]) -> Operand<'a> {
        let (_, cols, depth) = self.shape;
        let stride = if self.order == Order::DepthContiguous { depth } else { cols };
        Operand::new(weights, (cols, depth), stride, self.order, self.encodings[1])
    }

    fn pack(&self, kernel: &'static Kernel, weights: &[u8]) -> Packed {
        let operand = self.operand(weights);
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: self.encodings[0] };
        let packing = Packing {
            offset: Offset::Uniform(-self.zero_point),
            purpose,
            bits: Bits::ALL,
            segments: None,
            are_patches: false,
        };
        Packed::new(kernel, &operand, &packing, None).unwrap()
    }
}

fn check(case: &Case) {
    let (rows, cols, depth) = case.shape;
    // Only extremes, in long runs: what is farthest for weights above their zero point, or for those below.
    let lhs: Vec<u8> = noise(case.seed ^ 1, true, rows * depth.div_ceil(40)).iter().flat_map(|&b| [b; 40]).collect();
    let lhs = &lhs[..rows * depth];
    let weights = case.weights();
    let weight = |j: usize, d: usize| {
        let at = if case.order == Order::DepthContiguous { j * depth + d } else { d * cols + j };
        i64::from(case.encodings[1].decode(weights[at]) - case.zero_point)
    };
    let number = |i: usize, d: usize| i64::from(case.encodings[0].decode(lhs[i * depth + d]));
    let want = reference::product(case.shape, number, |d, j| weight(j, d));
    for kernel in Kernel::available() {
        let packed = case.pack(kernel, &weights);
        let lhs = Operand::new(lhs, (rows, depth), depth, Order::DepthContiguous, case.encodings[0]);
        let lhs = Factor::new(lhs, Offset::Uniform(0));
        let offset = Offset::Uniform(-case.zero_point);
        let context = Context::new(kernel, 1);
        for (rhs, how) in
            [(Factor::packed(&packed, offset), "packed"), (Factor::new(case.operand(&weights), offset), "as given")]
        {
            let mut got = vec![0; rows * cols];
            let finish = Finish::new(&[], Store::I32(Output::new(&mut got, (rows, cols), cols)));
            let mut workspace = vec![0; workspace_len(&context, &lhs, &rhs).unwrap()];
            gemm_in(&context, &lhs, &rhs, &finish, Some(&mut workspace)).unwrap();
            let first = (0..got.len()).find(|&i| got[i] != want[i]).map(|i| (i / cols, i % cols, got[i], want[i]));
            let spans = packed.spans();
            assert!(first.is_none(), "{}, {how}: {first:?}: {case:?}: {spans:?}", kernel.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_agrees_on_weights_that_are_mostly_small(case in case()) {
        check(&case);
    }
}

#[test]
fn small_weights_are_packed_for_narrow_kernels_and_others_are_not() {
    // Beside strays on both sides, numbers are near to 0 in signed panels only.
    let case = |kernel: &Kernel, amplitude, strays, encoding| Case {
        shape: (7, 40, 1000),
        order: Order::DepthContiguous,
        encodings: [kernel.groups.lhs_encoding(Encoding::S8).unwrap_or(Encoding::U8), encoding],
        amplitude,
        above: 0,
        zero_point: if encoding == Encoding::U8 { 84 } else { 0 },
        strays,
        seed: 3,
    };
    for kernel in Kernel::available() {
        let spans = |case: &Case| {
            check(case);
            case.pack(kernel, &case.weights()).spans().map(<[u8]>::to_vec)
        };
        let all_small = case(kernel, 8, u64::MAX, Encoding::U8);
        let (few_strays, hostile) = (case(kernel, 8, 600, Encoding::S8), case(kernel, 60, 3, Encoding::S8));
        assert_eq!(spans(&all_small).is_some(), kernel.narrow.is_some(), "{}", kernel.name);
        assert_eq!(spans(&hostile), None, "{}", kernel.name);
        let Some(spans) = spans(&few_strays) else {
            assert!(kernel.narrow.is_none(), "{}", kernel.name);
            continue;
        };
        // In groups of eight a stretch is but eight products for each accumulator: one stray among them still fits.
        let one_fits = kernel.narrow.is_some_and(|narrow| narrow.groups.len() == 8);
        assert!(
            spans.iter().any(|&span| span >= 4) && (one_fits || spans.iter().any(|&span| span <= 2)),
            "{}: {spans:?}",
            kernel.name
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn small_weights_as_given_are_multiplied_by_narrow_kernels() {
    let case = |amplitude, strays, encodings, zero_point| Case {
        shape: (16, 32, 64),
        order: Order::LineContiguous,
        encodings,
        amplitude,
        above: 0,
        zero_point,
        strays,
        seed: 5,
    };
    let (rows, cols, depth) = (16, 32, 64);
    let lhs = vec![0; rows * depth];
    for kernel in Kernel::available() {
        for (encodings, zero_point) in [
            ([Encoding::U8, Encoding::S8], 0),
            ([Encoding::U8, Encoding::U8], 84),
            ([Encoding::S8, Encoding::S8], 0),
            ([Encoding::S8, Encoding::U8], 160),
        ] {
            for (amplitude, strays, are_small) in [(63, u64::MAX, true), (20, u64::MAX, true), (60, 7, false)] {
                let case = case(amplitude, strays, encodings, zero_point);
                check(&case);
                let weights = case.weights();
                let rhs = Factor::new(case.operand(&weights), Offset::Uniform(-zero_point));
                assert!(rhs.might_be_small());
                let found = rhs.found_small(kernel.vectors);
                assert_eq!(found.is_some(), are_small, "{case:?}");
                let lhs = Operand::new(&lhs, (rows, depth), depth, Order::DepthContiguous, encodings[0]);
                let lhs = Factor::new(lhs, Offset::Uniform(0));
                let shape = Shape::of_sums(rows, cols, depth);
                let by = |rhs| Plain::new(kernel, &lhs, rhs, shape).expect("plain operands").kernel.name;
                assert_eq!(by(&rhs), shape.kernel(kernel).name);
                if let (Some(found), Some(narrow)) = (found, kernel.narrow) {
                    assert_eq!(by(&found), narrow.name);
                }
            }
        }
    }
}

/// Beside numbers of 8 bits two products of such numbers just fit into 16 bits.
#[cfg(target_arch = "x86_64")]
#[test]
fn weights_of_7_bits_are_packed_for_narrow_kernels_wherever_their_zero_point_is() {
    for encodings in
        [Encoding::U8, Encoding::S8].map(|lhs| [Encoding::U8, Encoding::S8].map(|rhs| [lhs, rhs])).as_flattened()
    {
        for above in [-64, -3, 0, 1, 40] {
            let zero_point = if encodings[1] == Encoding::U8 { 64 } else { 0 } - above;
            let (shape, order) = ((7, 40, 1000), Order::DepthContiguous);
            let case = Case {
                shape,
                order,
                encodings: *encodings,
                amplitude: 63,
                above,
                zero_point,
                strays: u64::MAX,
                seed: 4,
            };
            check(&case);
            for kernel in Kernel::available() {
                let packed = case.pack(kernel, &case.weights());
                assert_eq!(packed.spans().is_some(), kernel.narrow.is_some(), "{}: {case:?}", kernel.name);
            }
        }
    }
}

/// Segments of the other side begin anywhere, and so would windows.
#[test]
fn spans_are_of_no_use_beside_segments() {
    const SEGMENT: usize = 28;
    let (rows, cols, depth) = (3, 16, 8 * SEGMENT);
    // Only where a window of 8 groups ends and the next begins.
    let line: Vec<u8> = (0..depth).map(|d| if (28..36).contains(&d) { 60 } else { 0 }).collect();
    let weights = line.repeat(cols);
    let (lhs, scales) = (vec![255; rows * depth], vec![1.0; rows * depth.div_ceil(SEGMENT)]);
    let of = |data, lines, encoding| Operand::new(data, (lines, depth), depth, Order::DepthContiguous, encoding);
    for kernel in Kernel::available() {
        let pack = |operand, side, other, segments| {
            let purpose = Purpose { side, result: ResultOrder::RowMajor, other };
            let packing =
                Packing { offset: Offset::Uniform(0), purpose, bits: Bits::ALL, segments, are_patches: false };
            Packed::new(kernel, &operand, &packing, None).unwrap()
        };
        let segments = Segments { size: SEGMENT, scales: &scales, zero_points: None };
        let lhs = pack(of(&lhs, rows, Encoding::U8), Side::Lhs, Encoding::S8, Some(segments));
        let rhs = pack(of(&weights, cols, Encoding::S8), Side::Rhs, Encoding::U8, None);
        assert_eq!(rhs.spans().is_some(), kernel.narrow.is_some(), "{}", kernel.name);
        let mut got = vec![0.0; rows * cols];
        let finish = Finish::new(&[], Store::F32(Output::new(&mut got, (rows, cols), cols)));
        let [lhs, rhs] = [&lhs, &rhs].map(|packed| Factor::packed(packed, Offset::Uniform(0)));
        gemm(&Context::new(kernel, 1), &lhs, &rhs, &finish).unwrap();
        assert!(got.iter().all(|&x| x == (8 * 60 * 255) as f32), "{}: {got:?}", kernel.name);
    }
}
