//! Every kernel against the definition, over shapes, orders, encodings, strides and offsets.

use super::*;
use crate::gemm::{Route, gemm_by};
use crate::matrix::{Offset, Operand, Order, Output};
use crate::output::{Cast, Finish, QuantizeDown, Rounding, Scale, Stage, Store, Values};
use crate::packed::tests::confine;
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Side};
use crate::{Context, Factor, gemm, reference};
use proptest::prelude::*;
use std::sync::LazyLock;

mod narrow;

/// Kernels of awkward shapes, which put the edges of the other modules to the test on any CPU.
mod odd {
    use crate::kernel::Tile;
    use crate::matrix::Encoding;
    use crate::pack::groups;

    pub(super) mod pairs_3x5 {
        kernel! {
            name: "odd-pairs-3x5", features: [], groups: Pairs, rows: 3, width: 5,
            tile: crate::kernel::scalar::tile::<5>, shuffle: crate::pack::portable,
        }
    }
    pub(super) mod quads_2x7 {
        kernel! {
            name: "odd-quads-2x7", features: [], groups: FreeQuads, rows: 2, width: 7,
            tile: super::bytes::<7, 4, false>, shuffle: crate::pack::portable,
        }
    }
    pub(super) mod quads_5x24 {
        kernel! {
            name: "odd-quads-5x24", features: [], groups: Quads, rows: 5, width: 24,
            tile: super::bytes::<24, 4, false>, shuffle: crate::pack::portable,
        }
    }

    pub(super) mod like_quads_3x9 {
        kernel! {
            name: "odd-like-quads-3x9", features: [], groups: LikeQuads, rows: 3, width: 9,
            tile: super::bytes::<9, 4, true>, shuffle: crate::pack::portable,
        }
    }
    pub(super) mod like_octets_5x12 {
        kernel! {
            name: "odd-like-octets-5x12", features: [], groups: LikeOctets, rows: 5, width: 12,
            tile: super::bytes::<12, 8, true>, shuffle: crate::pack::portable,
        }
    }

    /// What the dot-product instructions do, one number at a time, and without branches: most of a test's time is spent here.
    fn bytes<const W: usize, const G: usize, const LIKE: bool>(tile: &Tile, acc: &mut [i32]) {
        let rhs_encoding = if LIKE { tile.lhs_encoding } else { tile.lhs_encoding.other() };
        assert!(tile.cols <= W && tile.lhs.count() > 0);
        // Signed bytes are 128 more once their highest bit is the other one.
        let sign = |encoding| if encoding == Encoding::S8 { 128 } else { 0 };
        let number = |byte: u8, sign: u8| i32::from(byte ^ sign).wrapping_sub(sign.into());
        let (flip, of_lhs, of_rhs) =
            (if tile.is_turned { 128 } else { 0 }, sign(tile.lhs_encoding), sign(rhs_encoding));
        for (acc, line) in acc.as_chunks_mut::<W>().0.iter_mut().zip(tile.lhs.iter()) {
            let mut sums = [0i32; W];
            for (group, line) in groups::<W, G>(tile.rhs).iter().zip(line.chunks(G)) {
                let mut of_line = [0; G];
                for (to, a) in of_line.iter_mut().zip(line) {
                    *to = number(a ^ flip, of_lhs);
                }
                for (sum, of_panel) in sums.iter_mut().zip(group) {
                    for (a, &b) in of_line.iter().zip(of_panel) {
                        *sum = sum.wrapping_add(a.wrapping_mul(number(b, of_rhs)));
                    }
                }
            }
            for (acc, sum) in acc.iter_mut().zip(sums) {
                *acc = if tile.fresh { sum } else { acc.wrapping_add(sum) };
            }
        }
    }
}

/// Those of them that are to be tested.
pub(crate) fn odd() -> impl Iterator<Item = &'static Kernel> {
    let all = [
        &odd::pairs_3x5::KERNEL,
        &odd::quads_2x7::KERNEL,
        &odd::quads_5x24::KERNEL,
        &odd::like_quads_3x9::KERNEL,
        &odd::like_octets_5x12::KERNEL,
    ];
    all.into_iter().filter(is_tested)
}

/// Whether a kernel is to be tested: all are, or those that `QGEMM_TESTS_KERNELS` names. On an emulated processor only those need to be
/// that real ones do not run.
pub(super) fn is_tested(kernel: &&'static Kernel) -> bool {
    static NAMES: LazyLock<Option<String>> = LazyLock::new(|| {
        let names = std::env::var("QGEMM_TESTS_KERNELS").ok()?;
        // Or tests would pass that test nothing.
        let is_known = |name: &str| Kernel::all().any(|kernel| kernel.name == name);
        assert!(names.split(' ').all(is_known), "a kernel that is not there: {names}");
        Some(names)
    });
    NAMES.as_ref().is_none_or(|names| names.split(' ').any(|name| name == kernel.name))
}

/// A kernel that leaves no product to another, if this CPU runs it.
pub(crate) fn always() -> Option<&'static Kernel> {
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    return Some(&super::amx::ALWAYS).filter(|kernel| (kernel.is_supported)());
    #[cfg(not(all(target_arch = "x86_64", not(only_avx2))))]
    None
}

/// The narrow kernels that this CPU runs.
pub(crate) fn narrow() -> impl Iterator<Item = &'static Kernel> {
    Kernel::available().filter_map(|kernel| kernel.narrow)
}

/// How many threads a kernel is tested with.
const THREADS: [usize; 2] = [1, 3];

/// All that this CPU runs.
static CONTEXTS: LazyLock<Vec<Context>> = LazyLock::new(|| {
    let kernels = Kernel::available().chain(narrow()).chain(always()).chain(odd());
    kernels.flat_map(|kernel| THREADS.map(|threads| Context::new(kernel, threads))).collect()
});

/// Those of them that processors have instructions for.
fn contexts_of_processors() -> &'static [Context] {
    &CONTEXTS[..CONTEXTS.len() - THREADS.len() * odd().count()]
}

/// One side of a product.
#[derive(Clone, Copy, Debug)]
struct SideCase {
    order: Order,
    encoding: Encoding,
    /// Bytes between the end of a run and the start of the next.
    gap: usize,
    offset: i32,
    /// How the offset grows from line to line; 0 for one that is the same for all.
    slope: i32,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    shape: (usize, usize, usize),
    lhs: SideCase,
    rhs: SideCase,
    gap: usize,
    seed: u64,
    /// All bytes at an end of their range, where saturating instructions go wrong.
    extreme: bool,
    /// What the sides are packed for, if they are; it need not be this product.
    pack_lhs: Option<Purpose>,
    pack_rhs: Option<Purpose>,
    /// How many bits each number of a side that is packed has.
    bits: usize,
    /// Whether those of an RHS that is not packed have as many.
    is_small: bool,
    /// Which context's kernel packs them, if not that of the product.
    packer: Option<usize>,
}

pub(crate) fn noise(seed: u64, extreme: bool, len: usize) -> Vec<u8> {
    let mut x = seed | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 24) as u8
    };
    (0..len).map(|_| if extreme { [0, 127, 128, 255][usize::from(next() % 4)] } else { next() }).collect()
}

impl SideCase {
    fn runs(&self, lines: usize, depth: usize) -> (usize, usize) {
        if self.order == Order::DepthContiguous { (lines, depth) } else { (depth, lines) }
    }

    fn data(&self, lines: usize, depth: usize, seed: u64, extreme: bool) -> Vec<u8> {
        let (runs, len) = self.runs(lines, depth);
        noise(seed, extreme, runs * (len + self.gap))
    }

    fn offset_of(&self, line: usize) -> i32 {
        self.offset.wrapping_add(self.slope.wrapping_mul(line as i32))
    }

    fn operand<'a>(&self, data: &'a [u8], lines: usize, depth: usize) -> Operand<'a> {
        let stride = self.runs(lines, depth).1 + self.gap;
        Operand::new(data, (lines, depth), stride, self.order, self.encoding)
    }

    fn offsets<'a>(&self, offsets: &'a [i32]) -> Offset<'a> {
        if self.slope == 0 { Offset::Uniform(self.offset) } else { Offset::PerLine(offsets) }
    }

    fn number(&self, data: &[u8], lines: usize, depth: usize, line: usize, d: usize) -> i64 {
        let stride = self.runs(lines, depth).1 + self.gap;
        let at = if self.order == Order::DepthContiguous { line * stride + d } else { d * stride + line };
        i64::from(self.encoding.decode(data[at])) + i64::from(self.offset_of(line))
    }
}

/// What the definition gives, wrapped to 32 bits.
fn expected(case: &Case, lhs: &[u8], rhs: &[u8]) -> Vec<i32> {
    let (rows, cols, depth) = case.shape;
    reference::product(
        case.shape,
        |i, d| case.lhs.number(lhs, rows, depth, i, d),
        |d, j| case.rhs.number(rhs, cols, depth, j, d),
    )
}

/// Multiplies into a result with gaps between its rows; the gaps must come back as they were.
fn product<T: Copy + PartialEq + std::fmt::Debug>(
    context: &Context,
    case: &Case,
    factors: (&Factor, &Factor),
    canary: T,
    store: for<'a> fn(Output<'a, T>) -> Store<'a>,
    stages: &[Stage],
) -> Vec<T> {
    let (rows, cols, _) = case.shape;
    let stride = cols + case.gap;
    let by = |compute: &dyn Fn(&Finish) -> bool| {
        let mut c = vec![canary; rows * stride];
        let store = store(Output::new(&mut c, (rows, cols), stride));
        if !compute(&Finish::new(stages, store)) {
            return None;
        }
        let gaps = c.chunks(stride).flat_map(|row| &row[cols..]);
        assert!(gaps.copied().all(|x| x == canary), "{}: wrote between rows", context.kernel.name);
        Some(c.chunks(stride).flat_map(|row| &row[..cols]).copied().collect::<Vec<T>>())
    };
    let result = by(&|finish| gemm(context, factors.0, factors.1, finish).is_ok()).expect("a product");
    for way in 0..6 {
        if let Some(same) = by(&|finish| gemm_by(way, context, factors.0, factors.1, finish)) {
            assert_eq!(same, result, "{}: way {way} of {case:?}", context.kernel.name);
        }
    }
    result
}

#[expect(clippy::redundant_closure, reason = "a variant's own name is not general enough over lifetimes")]
fn check(contexts: &[Context], case: &Case) {
    let (rows, cols, depth) = case.shape;
    let bits = Bits::new(case.bits).unwrap();
    let mut lhs = case.lhs.data(rows, depth, case.seed, case.extreme);
    let mut rhs = case.rhs.data(cols, depth, case.seed ^ 0x9e37_79b9, case.extreme);
    for (side, data, has_bits) in [
        (&case.lhs, &mut lhs, case.pack_lhs.is_some()),
        (&case.rhs, &mut rhs, case.pack_rhs.is_some() || case.is_small),
    ] {
        if has_bits {
            confine(data, bits, side.encoding);
        }
    }
    let want = expected(case, &lhs, &rhs);
    let down = Stage::QuantizeDown(QuantizeDown {
        offset: Values::Uniform(case.seed as i32),
        multiplier: Values::Uniform(3),
        shift: Values::Uniform(12),
    });
    let want_u8: Vec<u8> = want.iter().map(|&x| scaled_down(x, case.seed as i32)).collect();
    let each_offset = |side: &SideCase, lines| (0..lines).map(|line| side.offset_of(line)).collect::<Vec<_>>();
    let (lhs_offsets, rhs_offsets) = (each_offset(&case.lhs, rows), each_offset(&case.rhs, cols));
    let operands = (case.lhs.operand(&lhs, rows, depth), case.rhs.operand(&rhs, cols, depth));
    let offsets = (case.lhs.offsets(&lhs_offsets), case.rhs.offsets(&rhs_offsets));
    let factors = (&Factor::new(operands.0, offsets.0), &Factor::new(operands.1, offsets.1));
    for (i, context) in contexts.iter().enumerate() {
        let who = format!("{} with {} threads: {case:?}", context.kernel.name, context.threads());
        let packer = contexts[case.packer.unwrap_or(i) % contexts.len()].kernel;
        let packed = |operand, purpose| {
            let packing = Packing { offset: Offset::Uniform(0), purpose, bits, segments: None, are_patches: false };
            Packed::new(packer, operand, &packing, None).unwrap()
        };
        let lhs = case.pack_lhs.map(|purpose| packed(&operands.0, purpose));
        let rhs = case.pack_rhs.map(|purpose| packed(&operands.1, purpose));
        let packed = (
            &lhs.as_ref().map_or(*factors.0, |lhs| Factor::packed(lhs, offsets.0)),
            &rhs.as_ref().map_or(*factors.1, |rhs| Factor::packed(rhs, offsets.1)),
        );
        let from_packed = product(context, case, packed, 0x5a5a_5a5a, |out| Store::I32(out), &[]);
        assert!(from_packed == want, "{who}, packed on {}: {:?}", packer.name, first_difference(&from_packed, &want));
        let as_i32 = product(context, case, factors, 0x5a5a_5a5a, |out| Store::I32(out), &[]);
        assert!(as_i32 == want, "{who}: {:?}", first_difference(&as_i32, &want));
        let as_u8 = product(context, case, factors, 0x5a, |out| Store::U8(out, Cast::Saturating), &[down]);
        assert!(as_u8 == want_u8, "{who}, u8: {:?}", first_difference(&as_u8, &want_u8));
    }
}

/// gemmlowp's way down to 8 bits, by its definition.
fn scaled_down(x: i32, offset: i32) -> u8 {
    let product = i64::from(x.wrapping_add(offset).wrapping_mul(3));
    (((product.abs() + (1 << 11)) >> 12) * product.signum()).clamp(0, 255) as u8
}

fn first_difference<T: Copy + PartialEq>(got: &[T], want: &[T]) -> Option<(usize, T, T)> {
    (0..got.len()).find(|&i| got[i] != want[i]).map(|i| (i, got[i], want[i]))
}

/// Lengths around every edge of tiles, panels and vectors.
fn lines() -> impl Strategy<Value = usize> {
    prop_oneof![5 => 1usize..20, 2 => 28usize..36, 2 => 60usize..70, 1 => 120usize..135]
}

/// Depths around every edge of groups, transposed blocks and slices.
fn depth() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0usize..70, 2 => 120usize..140, 1 => 1015usize..1035]
}

fn side() -> impl Strategy<Value = SideCase> {
    let order = prop_oneof![Just(Order::DepthContiguous), Just(Order::LineContiguous)];
    let encoding = prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    let offset = prop_oneof![
        2 => Just(0), 4 => -255i32..=255, 1 => any::<i32>(),
        1 => prop_oneof![Just(i32::MIN), Just(i32::MAX), Just(-128), Just(128)],
    ];
    let slope = prop_oneof![2 => Just(0), 1 => any::<i32>()];
    let gap = prop_oneof![Just(0usize), 1usize..9];
    (order, encoding, gap, offset, slope).prop_map(|(order, encoding, gap, offset, slope)| SideCase {
        order,
        encoding,
        gap,
        offset,
        slope,
    })
}

fn purpose(side: Side) -> impl Strategy<Value = Option<Purpose>> {
    let result = prop_oneof![4 => Just(ResultOrder::RowMajor), 1 => Just(ResultOrder::ColMajor)];
    let other = prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    proptest::option::of((result, other).prop_map(move |(result, other)| Purpose { side, result, other }))
}

fn case() -> impl Strategy<Value = Case> {
    let gap = prop_oneof![Just(0usize), 1usize..9];
    let packing = (
        purpose(Side::Lhs),
        purpose(Side::Rhs),
        (1usize..9, any::<bool>()),
        prop_oneof![4 => Just(None), 1 => (0usize..99).prop_map(Some)],
    );
    ((lines(), lines(), depth()), side(), side(), gap, any::<u64>(), proptest::bool::weighted(0.2), packing).prop_map(
        |(shape, lhs, rhs, gap, seed, extreme, (pack_lhs, pack_rhs, (bits, is_small), packer))| Case {
            shape,
            lhs,
            rhs,
            gap,
            seed,
            extreme,
            pack_lhs,
            pack_rhs,
            bits,
            is_small,
            packer,
        },
    )
}

/// A few lines on either side, and up to a little more than few; the other side as it lies, now and then of more lines than any
/// kernel takes together.
fn few_lines() -> impl Strategy<Value = Case> {
    let many = prop_oneof![3 => 1usize..200, 1 => 200usize..700];
    let shape = (1usize..21, many, 0usize..300, any::<bool>());
    (shape, case()).prop_map(|((few, many, depth, are_columns), case)| Case {
        shape: if are_columns { (many, few, depth) } else { (few, many, depth) },
        pack_lhs: None,
        pack_rhs: None,
        ..case
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_agrees_with_the_definition(case in case()) {
        check(&CONTEXTS, &case);
    }

    #[test]
    fn every_kernel_agrees_on_products_of_few_lines(case in few_lines()) {
        check(&CONTEXTS, &case);
    }
}

/// Less than a group, and a little more: what is padded, and what ends within a group.
#[test]
fn every_kernel_agrees_on_products_of_little_depth() {
    let (along, across) = (Order::DepthContiguous, Order::LineContiguous);
    let sides = [(along, along), (along, across), (across, along), (across, across)];
    let ways = [(0, 8, false), (0, 7, false), (3, 8, true), (3, 7, true)];
    for (depth, (lhs, rhs), (gap, bits, is_packed)) in
        (1..10).flat_map(|depth| sides.into_iter().flat_map(move |sides| ways.map(|way| (depth, sides, way))))
    {
        let side = |order, encoding| SideCase { order, encoding, gap, offset: 5, slope: 0 };
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: Encoding::U8 };
        let case = Case {
            shape: (25, 44, depth),
            lhs: side(lhs, Encoding::U8),
            rhs: side(rhs, Encoding::S8),
            gap: 0,
            seed: depth as u64,
            extreme: false,
            pack_lhs: None,
            pack_rhs: is_packed.then_some(purpose),
            bits,
            is_small: true,
            packer: None,
        };
        check(&CONTEXTS, &case);
    }
}

#[test]
fn a_product_cut_into_blocks_and_slices_agrees_with_the_definition() {
    let plain = |order| SideCase { order, encoding: Encoding::U8, gap: 3, offset: -77, slope: 0 };
    for (shape, lhs, rhs) in [
        ((300, 260, 300), Order::DepthContiguous, Order::LineContiguous),
        ((61, 67, 9000), Order::LineContiguous, Order::DepthContiguous),
        ((700, 5, 1500), Order::DepthContiguous, Order::DepthContiguous),
        ((3, 1300, 700), Order::LineContiguous, Order::LineContiguous),
        // More panels than pass a row of tiles together.
        ((40, 1100, 70), Order::DepthContiguous, Order::DepthContiguous),
    ] {
        for (is_packed, bits) in [(false, 8), (true, 8), (false, 7), (true, 4), (true, 7)] {
            let result = ResultOrder::RowMajor;
            let purpose = |side| is_packed.then_some(Purpose { side, result, other: Encoding::U8 });
            let case = Case {
                shape,
                lhs: plain(lhs),
                rhs: plain(rhs),
                gap: 1,
                seed: 7,
                extreme: false,
                pack_lhs: purpose(Side::Lhs),
                pack_rhs: purpose(Side::Rhs),
                bits,
                is_small: true,
                packer: None,
            };
            check(&CONTEXTS, &case);
        }
    }
}

/// Operands of 8 bits that are not packed.
fn as_given(shape: (usize, usize, usize), lhs: SideCase, rhs: SideCase) -> Case {
    let (pack_lhs, pack_rhs, packer) = (None, None, None);
    Case { shape, lhs, rhs, gap: 1, seed: 11, extreme: false, pack_lhs, pack_rhs, bits: 8, is_small: false, packer }
}

/// One that it does not hold is fetched long before it is read: in one piece, or run by run where much lies between them.
#[cfg(target_arch = "x86_64")]
#[test]
fn few_lines_agree_whether_the_second_cache_holds_the_operand_or_not() {
    let l2 = crate::caches::Caches::get().l2;
    // Without an offset there is one line less: the sums of the operand's are not needed.
    for (rows, offset, encodings) in [
        (1, 0, [Encoding::U8, Encoding::S8]),
        (1, -77, [Encoding::U8, Encoding::S8]),
        (2, -77, [Encoding::S8, Encoding::U8]),
        (4, 0, [Encoding::U8, Encoding::U8]),
        (6, -77, [Encoding::S8, Encoding::S8]),
    ] {
        for order in [Order::DepthContiguous, Order::LineContiguous] {
            for (cols, depth) in [(477, 90), (l2 / 170 + 67, 170), (300, l2 / 300 + 13)] {
                for gap in [0, cols.max(depth) / 4] {
                    let side = |order, encoding| SideCase { order, encoding, gap, offset, slope: 0 };
                    let (lhs, rhs) = (side(Order::DepthContiguous, encodings[0]), side(order, encodings[1]));
                    check(contexts_of_processors(), &as_given((rows, cols, depth), lhs, rhs));
                }
            }
        }
    }
}

/// Kernels that take several panels at once may take those of 64 columns together, if there are no more and the first cache does
/// not hold the lines.
#[test]
fn products_of_64_columns_agree_however_long_their_lines_are() {
    use Encoding::{S8, U8};
    let cases = [
        (260, 129, [U8, S8], 0),
        (300, 128, [S8, S8], -77),
        (131, 256, [U8, U8], -77),
        (70, 500, [S8, U8], 0),
        (52, 640, [U8, S8], -77),
        (53, 641, [U8, S8], 0),
        (280, 127, [S8, S8], 0),
    ];
    for (i, (rows, depth, encodings, offset)) in cases.into_iter().enumerate() {
        for (j, (gap, is_packed)) in [(0, false), (5, false), (0, true), (64, true)].into_iter().enumerate() {
            let order = if (i + j) % 2 == 0 { Order::DepthContiguous } else { Order::LineContiguous };
            let lhs = SideCase { order: Order::DepthContiguous, encoding: encodings[0], gap, offset, slope: 0 };
            let rhs = SideCase { order, encoding: encodings[1], gap, offset: 0, slope: 0 };
            let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: encodings[0] };
            let pack_rhs = is_packed.then_some(purpose);
            check(contexts_of_processors(), &Case { gap, pack_rhs, ..as_given((rows, 64, depth), lhs, rhs) });
        }
    }
}

/// They compete for the first cache, so that fewer are multiplied together.
#[test]
fn lines_a_memory_page_apart_are_multiplied_as_any_others() {
    for (encodings, depth) in [
        ([Encoding::U8, Encoding::S8], 40),
        ([Encoding::S8, Encoding::S8], 13),
        ([Encoding::S8, Encoding::U8], 4096),
        ([Encoding::U8, Encoding::U8], 70),
    ] {
        let [lhs, rhs] = encodings.map(|encoding| SideCase {
            order: Order::DepthContiguous,
            encoding,
            gap: 4096 - depth,
            offset: 3,
            slope: 0,
        });
        check(&CONTEXTS, &Case { gap: 0, ..as_given((14, 257, depth), lhs, rhs) });
    }
}

/// Sums of many such rows may go to their place beside other multiplications.
#[test]
fn results_half_a_memory_page_apart_are_as_any_others() {
    use Encoding::{S8, U8};
    const PITCH: usize = 2048 / size_of::<i32>();
    for (rows, cols, depth, [lhs, rhs], offset) in [
        (400, 96, 64, [U8, S8], 0),
        (401, 70, 100, [S8, U8], -77),
        (390, 33, 2000, [S8, S8], 0),
        (385, 65, 1984, [U8, U8], -77),
        (800, 32, 200, [U8, S8], 0),
    ] {
        let side = |encoding, offset| SideCase { order: Order::DepthContiguous, encoding, gap: 0, offset, slope: 0 };
        let case = as_given((rows, cols, depth), side(lhs, offset), side(rhs, 0));
        check(contexts_of_processors(), &Case { gap: PITCH - cols, ..case });
    }
}

/// Tiles of one height follow each other, of lines that do so, too, and may be read beyond their ends then, or do not.
#[test]
fn many_rows_of_little_depth_are_as_any_others() {
    use Encoding::{S8, U8};
    for (rows, cols, depth, [lhs, rhs], offset) in [
        (500, 32, 27, [U8, S8], 0),
        (481, 33, 27, [U8, U8], -77),
        (480, 16, 5, [S8, S8], 9),
        (723, 40, 30, [S8, U8], 3),
        (241, 24, 64, [U8, S8], 5),
        (2000, 16, 7, [U8, S8], 11),
    ] {
        let side = |encoding, offset, gap| SideCase { order: Order::DepthContiguous, encoding, gap, offset, slope: 0 };
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: lhs };
        for gap in [0, 3] {
            let case = as_given((rows, cols, depth), side(lhs, offset, gap), side(rhs, -offset, 0));
            check(contexts_of_processors(), &case);
            check(contexts_of_processors(), &Case { pack_rhs: Some(purpose), ..case });
        }
    }
}

/// Some kernels multiply tiles of four rows by halves of three panels at a time.
#[test]
fn four_rows_by_three_panels_are_as_any_others() {
    use Encoding::{S8, U8};
    for (rows, cols, depth, [lhs, rhs], offset) in [
        (4, 48, 4, [U8, S8], 0),
        (4, 47, 64, [S8, S8], 5),
        (4, 96, 68, [U8, U8], -77),
        (4, 120, 256, [U8, S8], 3),
        (4, 48, 66, [U8, S8], 3),
        (7, 64, 100, [S8, U8], -77),
        (8, 200, 256, [U8, S8], 9),
        (8, 1000, 128, [S8, S8], 0),
        (16, 112, 20, [U8, U8], 1),
    ] {
        let side = |encoding, offset| SideCase { order: Order::DepthContiguous, encoding, gap: 0, offset, slope: 0 };
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: lhs };
        let case = as_given((rows, cols, depth), side(lhs, offset), side(rhs, -offset));
        check(contexts_of_processors(), &Case { pack_rhs: Some(purpose), ..case });
    }
}

/// Some kernels pack some columns of a small product, contiguous at each depth, and multiply by them before the next.
#[test]
fn columns_that_are_packed_by_parts_are_as_any_others() {
    use Encoding::{S8, U8};
    for (rows, cols, depth, [lhs, rhs], offsets) in [
        (8, 256, 256, [U8, S8], [0, 0]),
        (9, 300, 70, [S8, S8], [5, 0]),
        (12, 250, 130, [U8, U8], [-77, 3]),
        (20, 97, 300, [U8, S8], [0, 11]),
        (33, 130, 200, [S8, U8], [9, -9]),
    ] {
        let [lhs, rhs] = [(lhs, offsets[0]), (rhs, offsets[1])].map(|(encoding, offset)| SideCase {
            order: Order::LineContiguous,
            encoding,
            gap: 0,
            offset,
            slope: 0,
        });
        let lhs = SideCase { order: Order::DepthContiguous, ..lhs };
        check(contexts_of_processors(), &as_given((rows, cols, depth), lhs, rhs));
    }
}

/// A layer of several tiles, scaled so that most numbers are bytes: its shape, both sides, the rounding, and the bytes that are allowed.
type Layer = ((usize, usize, usize), [SideCase; 2], Rounding, (i32, i32), u64);

fn layer() -> impl Strategy<Value = Layer> {
    let depth = prop_oneof![
        2 => 1usize..70, 2 => 120usize..260, 1 => 500usize..530, 1 => 1700usize..1740,
        2 => (1usize..29).prop_map(|steps| 64 * steps),
    ];
    let shape = (30usize..100, prop_oneof![Just(32usize), Just(64), Just(96), 33usize..130], depth);
    let side = |order: Order| {
        let encoding = prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
        let offset = prop_oneof![Just(0), -128i32..=128];
        (encoding, 0usize..2, offset).prop_map(move |(encoding, gap, offset)| SideCase {
            order,
            encoding,
            gap,
            offset,
            slope: 0,
        })
    };
    let sides = [side(Order::DepthContiguous), side(Order::LineContiguous)];
    let rounding = prop_oneof![Just(Rounding::Twice), Just(Rounding::TwiceUp), Just(Rounding::Once)];
    let allowed = prop_oneof![Just((0, 255)), Just((-128, 127)), Just((3, 200)), Just((-5, 100))];
    (shape, sides, rounding, allowed, any::<u64>())
}

fn check_layer(((rows, cols, depth), [lhs, rhs], rounding, (least, greatest), seed): Layer) {
    let case = Case { seed, gap: (seed % 3) as usize, ..as_given((rows, cols, depth), lhs, rhs) };
    let data = [lhs.data(rows, depth, seed, false), rhs.data(cols, depth, seed ^ 0x9e37_79b9, false)];
    let (multiplier, exponent) = ((1 << 30) + (seed as i32 >> 2 & 0xFF_FFFF), -(6 + depth.ilog2() as i32 / 2));
    let stages = [
        Stage::Scale(Scale::new(Values::Uniform(multiplier), Values::Uniform(exponent), 9, rounding).unwrap()),
        Stage::Clamp { min: least, max: greatest },
    ];
    let scaled = |x: &i32| rounding.scaled(*x, multiplier, exponent).wrapping_add(9).clamp(least, greatest) as u8;
    let want: Vec<u8> = expected(&case, &data[0], &data[1]).iter().map(scaled).collect();
    let operands = (lhs.operand(&data[0], rows, depth), rhs.operand(&data[1], cols, depth));
    let factors = (&Factor::new(operands.0, lhs.offsets(&[])), &Factor::new(operands.1, rhs.offsets(&[])));
    for context in contexts_of_processors() {
        let got = match least {
            0.. => product(context, &case, factors, 0x5a, |out| Store::U8(out, Cast::Saturating), &stages),
            _ => {
                let got = product(context, &case, factors, 0x5a, |out| Store::I8(out, Cast::Saturating), &stages);
                got.into_iter().map(|x| x as u8).collect()
            }
        };
        assert!(got == want, "{}: {:?}", context.kernel.name, first_difference(&got, &want));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_agrees_on_layers_of_several_tiles(layer in layer()) {
        check_layer(layer);
    }
}

/// Of a prepared product elements are not known before: if they are small a narrow kernel multiplies them, if not, not.
#[test]
fn a_prepared_product_is_right_whatever_its_elements_turn_out_to_be() {
    let (rows, cols, depth) = (63, 80, 70);
    let (lhs, large) = (noise(1, false, rows * depth), noise(2, false, cols * depth));
    for context in contexts_of_processors() {
        for encoding in [Encoding::U8, Encoding::S8] {
            let halved = |byte: u8| match encoding {
                Encoding::U8 => byte / 2,
                Encoding::S8 => (byte as i8 / 2) as u8,
            };
            let small: Vec<u8> = large.iter().map(|&byte| halved(byte)).collect();
            let factor = |data, lines, encoding| {
                let operand = Operand::new(data, (lines, depth), depth, Order::DepthContiguous, encoding);
                Factor::new(operand, Offset::Uniform(0))
            };
            let lhs_factor = factor(&lhs, rows, Encoding::U8);
            let mut result = vec![0; rows * cols];
            let store = Store::I32(Output::new(&mut result, (rows, cols), cols));
            let route = Route::new(context, &lhs_factor, &factor(&large, cols, encoding), None, &store).unwrap();
            for rhs in [&small, &large, &small] {
                let mut result = vec![0; rows * cols];
                let finish = Finish::new(&[], Store::I32(Output::new(&mut result, (rows, cols), cols)));
                route.run(context, &lhs_factor, &factor(rhs, cols, encoding), &finish, None).unwrap();
                let number = |encoding: Encoding, byte: u8| i64::from(encoding.decode(byte));
                let want = reference::product(
                    (rows, cols, depth),
                    |i, d| number(Encoding::U8, lhs[i * depth + d]),
                    |d, j| number(encoding, rhs[j * depth + d]),
                );
                assert_eq!(result, want, "{}", context.kernel.name);
            }
        }
    }
}

#[test]
fn an_unknown_or_unsupported_kernel_is_named() {
    let error = Kernel::named("sse9").err().unwrap().to_string();
    assert!(error.contains("\"sse9\"") && error.contains("scalar"), "{error}");
    for kernel in Kernel::all() {
        match Kernel::named(kernel.name) {
            Ok(found) => assert_eq!(found.name, kernel.name),
            Err(error) => assert!(error.to_string().contains(kernel.name), "{error}"),
        }
    }
    assert_eq!(Kernel::named("scalar").map(|kernel| kernel.name), Ok("scalar"));
}
