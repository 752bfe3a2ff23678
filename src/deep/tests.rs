//! Deep products, whether that is the best way to compute them or not.

use super::*;
use crate::gemm::gemm_by;
use crate::kernel::Kernel;
use crate::kernel::tests::noise;
use crate::matrix::{Encoding, Offset, Output};
use crate::output::Store;
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Side};
use proptest::prelude::*;

const BLOCKS: usize = 2;
const DEEP: usize = 4;

#[derive(Clone, Debug)]
struct Case {
    shape: (usize, usize, usize),
    /// Of both sides: whether the depth is contiguous, and the encoding.
    are_along: [bool; 2],
    encodings: [Encoding; 2],
    offsets: [i32; 2],
    is_packed: bool,
    threads: usize,
    seed: u64,
}

fn cases(
    shape: impl Strategy<Value = (usize, usize, usize)>,
    is_packed: impl Strategy<Value = bool>,
) -> impl Strategy<Value = Case> {
    let encoding = || prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    let sides = ([any::<bool>(), any::<bool>()], [encoding(), encoding()], [-128i32..128, -128i32..128]);
    (shape, sides, is_packed, 1usize..4, any::<u64>()).prop_map(
        |(shape, (are_along, encodings, offsets), is_packed, threads, seed)| Case {
            shape,
            are_along,
            encodings,
            offsets,
            is_packed,
            threads,
            seed,
        },
    )
}

/// What blocks give, which other tests hold against the definition, slices give.
fn check(case: &Case) {
    let (rows, cols, depth) = case.shape;
    let data = [rows, cols].map(|lines| noise(case.seed ^ lines as u64, false, lines * depth));
    let operand = |side: usize, lines| {
        let (order, stride) = match case.are_along[side] {
            true => (Order::DepthContiguous, depth),
            false => (Order::LineContiguous, lines),
        };
        Operand::new(&data[side], (lines, depth), stride, order, case.encodings[side])
    };
    let (lhs, rhs) = (operand(LHS, rows), operand(RHS, cols));
    let [left, right] = case.offsets.map(Offset::Uniform);
    for kernel in Kernel::available() {
        let context = &Context::new(kernel, case.threads);
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: case.encodings[LHS] };
        let packing = Packing {
            offset: Offset::Uniform(0),
            purpose,
            bits: Bits::new(8).unwrap(),
            segments: None,
            are_patches: false,
        };
        let packed = Packed::new(kernel, &rhs, &packing, None).unwrap();
        let rhs = if case.is_packed { Factor::packed(&packed, right) } else { Factor::new(rhs, right) };
        let by = |way| {
            let mut sums = vec![0; rows * cols];
            let finish = Finish::new(&[], Store::I32(Output::new(&mut sums, (rows, cols), cols)));
            gemm_by(way, context, &Factor::new(lhs, left), &rhs, &finish).then_some(sums)
        };
        let (want, got) = (by(BLOCKS), by(DEEP));
        assert!(want.is_some() && got.as_ref().is_none_or(|_| got == want), "{}: {case:?}", kernel.name);
        // Packed for products of small numbers, it is left to others.
        let is_left = case.is_packed && packed.spans().is_some();
        assert!(got.is_some() || is_left, "{}: {case:?}", kernel.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn slices_add_up_to_what_blocks_give(
        case in cases(
            (
                1usize..50,
                prop_oneof![1usize..80, 97usize..140],
                prop_oneof![500usize..2600, 1792usize..2600],
            ),
            any::<bool>(),
        )
    ) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(8) })]
    #[test]
    fn rows_of_blocks_are_what_blocks_give(
        case in cases((BLOCK_ROWS + 1..BLOCK_ROWS + 50, 1usize..140, 1000usize..2600), Just(true))
    ) {
        check(&case);
    }

    #[test]
    fn columns_of_blocks_are_what_blocks_give(
        case in cases(
            (1usize..20, 1usize..100, 500usize..1200)
                .prop_map(|(rows, cols, depth)| (rows, Caches::get().l2 / 8 / SLICE + cols, depth)),
            any::<bool>(),
        )
    ) {
        check(&case);
    }
}

/// With a last slice of no whole group.
#[test]
fn runs_that_are_packed_together_are_what_blocks_give() {
    let shape = (17, FAR / 3072, 3075);
    assert!(shape.0 <= ROWS_BESIDE_RUNS && shape.1 * shape.2 > FAR, "they are packed so");
    check(&Case {
        shape,
        are_along: [true, false],
        encodings: [Encoding::U8, Encoding::U8],
        offsets: [-7, 5],
        is_packed: false,
        threads: 2,
        seed: 3,
    });
}

#[test]
fn what_is_far_is_multiplied_so() {
    let l2 = Caches::get().l2;
    let (data, few, many) = (vec![0; 1 << 10], 64, l2 / 64);
    for kernel in Kernel::available() {
        let context = &Context::new(kernel, 2);
        let pays = |rows, cols, depth, order| {
            // All lines are the same.
            let operand = |lines, order| {
                // SAFETY: none of it is read.
                unsafe { Operand::from_raw(data.as_ptr(), (lines, depth), 0, order, Encoding::U8) }.unwrap()
            };
            let factor = |lines, order| Factor::new(operand(lines, order), Offset::Uniform(0));
            let (lhs, rhs) = (factor(rows, Order::DepthContiguous), factor(cols, order));
            Deep::new(context, &lhs, &rhs, Shape::of_sums(rows, cols, depth), 2).is_some_and(|deep| deep.pays())
        };
        for order in [Order::DepthContiguous, Order::LineContiguous] {
            assert!(pays(few, few, many, order), "{}", kernel.name);
            assert!(!pays(few, few, many / 4, order), "{}: both sides stay near", kernel.name);
            assert!(!pays(4, 4 * few, 16 * many, order), "{}: the RHS is read where it lies", kernel.name);
            let is_narrow = order == Order::LineContiguous && ["avx512vnni", "amx"].contains(&kernel.name);
            assert_eq!(pays(4, few, 16 * many, order), is_narrow, "{}: columns are too few for that", kernel.name);
        }
        assert!(!pays(few, 8 * few, many, Order::DepthContiguous), "{}: many columns", kernel.name);
        assert!(!pays(8 * few, few, many, Order::LineContiguous), "{}: many rows", kernel.name);
    }
}
