//! Tiny products, each of which is found out to be one.

use super::*;
use crate::gemm::gemm_by;
use crate::kernel::MAX_WIDTH;
use crate::kernel::tests::noise;
use crate::matrix::{Encoding, Offset, Operand, Order, Output};
use crate::output::{Cast, QuantizeDown, Stage, Store, Values};
use crate::reference;
use proptest::prelude::*;

const BLOCKS: usize = 2;
const TINY: usize = 5;

/// To bytes.
const DOWN: Stage = Stage::QuantizeDown(QuantizeDown {
    offset: Values::Uniform(-5),
    multiplier: Values::Uniform(3),
    shift: Values::Uniform(12),
});

#[derive(Clone, Debug)]
struct Case {
    shape: (usize, usize, usize),
    sides: [SideCase; 2],
    /// Elements between the rows of the result.
    gap: usize,
    is_extreme: bool,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct SideCase {
    is_along: bool,
    encoding: Encoding,
    offset: i32,
    /// Bytes between runs.
    gap: usize,
}

fn side_case() -> impl Strategy<Value = SideCase> {
    let (least, most) = (*SMALL_OFFSETS.start(), *SMALL_OFFSETS.end());
    let offset = prop_oneof![
        4 => -255..=255i32,
        2 => proptest::sample::select(vec![0, -128, least, most]),
        1 => proptest::sample::select(vec![least - 1, most + 1, i32::MIN, i32::MAX]),
    ];
    let encoding = prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    (any::<bool>(), encoding, offset, 0usize..3).prop_map(|(is_along, encoding, offset, gap)| SideCase {
        is_along,
        encoding,
        offset,
        gap,
    })
}

fn case() -> impl Strategy<Value = Case> {
    let few = || 1..=2 * MAX_WIDTH + 1;
    let shape = prop_oneof![
        4 => (few(), few(), 0..=DEPTH + 1),
        2 => (1..=ROWS + 1, few(), 0..=DEPTH + 1),
        1 => (few(), 1..=COLUMNS + 1, 0..=DEPTH + 1),
        1 => (1..=ROWS + 1, 1..=ROWS + 1, 0..=DEPTH + 1),
    ];
    (shape, [side_case(), side_case()], 0usize..3, any::<bool>(), any::<u64>())
        .prop_map(|(shape, sides, gap, is_extreme, seed)| Case { shape, sides, gap, is_extreme, seed })
}

/// No byte lies beyond a side's last.
fn check(case: &Case) {
    let (rows, cols, depth) = case.shape;
    let data = [0, 1].map(|side| {
        let (SideCase { is_along, gap, .. }, lines) = (case.sides[side], [rows, cols][side]);
        let (runs, len) = if is_along { (lines, depth) } else { (depth, lines) };
        let stride = len + gap;
        let all = noise(case.seed ^ side as u64, case.is_extreme, runs * stride);
        (all[..(runs * stride).saturating_sub(gap)].to_vec().into_boxed_slice(), stride)
    });
    let number = |side: usize, line: usize, d: usize| {
        let (SideCase { is_along, encoding, offset, .. }, (data, stride)) = (case.sides[side], &data[side]);
        let byte = data[if is_along { line * stride + d } else { d * stride + line }];
        i64::from(encoding.decode(byte)) + i64::from(offset)
    };
    let want = reference::product(case.shape, |i, d| number(0, i, d), |d, j| number(1, j, d));
    let factor = |side: usize, lines| {
        let (SideCase { is_along, encoding, offset, .. }, (data, stride)) = (case.sides[side], &data[side]);
        let order = if is_along { Order::DepthContiguous } else { Order::LineContiguous };
        Factor::new(Operand::new(data, (lines, depth), *stride, order, encoding), Offset::Uniform(offset))
    };
    let (lhs, rhs) = (factor(0, rows), factor(1, cols));
    for kernel in Kernel::available() {
        let context = &Context::new(kernel, 1);
        let stride = cols + case.gap;
        let mut sums = vec![0x5a5a_5a5a; rows * stride];
        let finish = Finish::new(&[], Store::I32(Output::new(&mut sums, (rows, cols), stride)));
        let is_computed = gemm_by(TINY, context, &lhs, &rhs, &finish);
        let is_tiny = kernel
            .tiny
            .is_some_and(|way| rows * cols * depth <= most_macs(&way, rows, rhs.operand().expect("it has one"), true))
            && rows <= ROWS
            && cols <= COLUMNS
            && depth <= if cols <= ROWS { DEPTH } else { DEPTH_OF_MANY_COLUMNS }
            && case.sides.iter().all(|side| SMALL_OFFSETS.contains(&side.offset));
        assert_eq!(is_computed, is_tiny, "{}: {case:?}", kernel.name);
        if !is_computed {
            continue;
        }
        for (row, got) in sums.chunks(stride).enumerate() {
            assert_eq!(got[..cols], want[row * cols..][..cols], "{}, row {row}: {case:?}", kernel.name);
            assert!(got[cols..].iter().all(|&x| x == 0x5a5a_5a5a), "{} wrote between rows: {case:?}", kernel.name);
        }
        let bytes = |way| {
            let mut bytes = vec![0x5a; rows * stride];
            let store = Store::U8(Output::new(&mut bytes, (rows, cols), stride), Cast::Saturating);
            assert!(gemm_by(way, context, &lhs, &rhs, &Finish::new(&[DOWN], store)));
            bytes
        };
        assert_eq!(bytes(TINY), bytes(BLOCKS), "{}: {case:?}", kernel.name);
        // As beside kernels of other widths, which may be had elsewhere.
        for log_width in [4, 5] {
            let width = 1 << log_width;
            let mut acc = vec![0x5a5a_5a5a; cols.div_ceil(width) * rows * width];
            let tiny = Tiny::new(kernel, &lhs, &rhs, Shape::of_sums(rows, cols, depth), true).expect("it was one");
            let to = Place::panels(acc.as_mut_ptr(), rows, log_width);
            // SAFETY: whoever has a kernel has a CPU that runs it, and these are places for all sums.
            unsafe { tiny.multiply(&mut [0; ROOM], to) }
            for (i, got) in acc.chunks(width).enumerate() {
                let (row, left) = (i % rows, i / rows * width);
                let end = cols.min(left + width);
                assert_eq!(got[..end - left], want[row * cols + left..row * cols + end], "{width} wide: {case:?}");
                assert!(got[end - left..].iter().all(|&x| x == 0x5a5a_5a5a), "wrote between panels: {case:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn every_kernel_agrees_on_tiny_products(case in case()) {
        check(&case);
    }
}
