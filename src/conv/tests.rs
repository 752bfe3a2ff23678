//! Convolutions on every kernel against their definition, seven loops.

use super::*;
use crate::kernel::Kernel;
use crate::kernel::tests::{always, narrow, noise, odd};
use crate::matrix::{Encoding, Order, Output};
use crate::output::{Cast, Element, Residual, Rounding, Scale, Stage, Store, Values};
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Side};
use crate::source::Sides;
use proptest::prelude::*;
use std::sync::LazyLock;

/// All that this CPU runs, with 1 and with 3 threads.
static CONTEXTS: LazyLock<Vec<Context>> = LazyLock::new(|| {
    let kernels = Kernel::available().chain(narrow()).chain(always()).chain(odd());
    kernels.flat_map(|kernel| [1, 3].map(|threads| Context::new(kernel, threads))).collect()
});

#[derive(Clone, Copy, Debug)]
struct Case {
    filter: Filter,
    images: Images,
    /// Bytes between pixels.
    gap: usize,
    offset: i32,
    /// That of the weights, and how it grows from channel to channel.
    weights_offset: i32,
    slope: i32,
    seed: u64,
    extreme: bool,
    /// Bits of packed weights, and which context's kernel packs them; 0 for weights that are not packed.
    bits: usize,
    packer: usize,
}

/// An image, an operand of one line for each pixel.
struct Problem {
    case: Case,
    plan: Plan,
    image: Vec<u8>,
    weights: Vec<u8>,
    weights_offsets: Vec<i32>,
}

impl Problem {
    fn new(mut case: Case) -> Self {
        let plan = Plan::new(case.filter, case.images).unwrap();
        let [channels, results] = case.filter.channels;
        let depth = case.filter.depth().unwrap();
        let image = noise(case.seed, case.extreme, case.images.pixels().unwrap() * (channels + case.gap));
        let mut weights = noise(case.seed ^ 0x5555, case.extreme, results * depth);
        if case.bits > 0 {
            crate::packed::tests::confine(&mut weights, Bits::new(case.bits).unwrap(), case.filter.encodings[1]);
        }
        if plan.is_padded() {
            let all = ElementRange::all(case.filter.encodings[0]);
            case.offset = -case.offset.rem_euclid(256) - all.least;
        }
        let weights_offsets = (0..results).map(|o| case.weights_offset + o as i32 * case.slope).collect();
        Self { case, plan, image, weights, weights_offsets }
    }

    /// The seven loops.
    fn sums(&self) -> Vec<i32> {
        let Filter { axes: [vertical, horizontal], channels: [channels, results], groups, encodings } =
            self.case.filter;
        let Images { count, size: [height, width] } = self.case.images;
        let out = self.plan.results().size;
        let (of_group, depth) = (channels / groups, self.case.filter.depth().unwrap());
        let mut sums = Vec::new();
        for (n, y, x, o) in (0..count).flat_map(|n| {
            (0..out[0]).flat_map(move |y| (0..out[1]).flat_map(move |x| (0..results).map(move |o| (n, y, x, o))))
        }) {
            let mut sum = 0i32;
            for ky in 0..vertical.taps {
                for kx in 0..horizontal.taps {
                    let row = (y * vertical.stride + ky * vertical.dilation).wrapping_sub(vertical.padding[0]);
                    let col = (x * horizontal.stride + kx * horizontal.dilation).wrapping_sub(horizontal.padding[0]);
                    if row >= height || col >= width {
                        continue;
                    }
                    let pixel = &self.image[((n * height + row) * width + col) * (channels + self.case.gap)..];
                    for c in 0..of_group {
                        let element = encodings[0].decode(pixel[o / (results / groups) * of_group + c]);
                        let weight = self.weights[o * depth + (ky * horizontal.taps + kx) * of_group + c];
                        let weight = encodings[1].decode(weight).wrapping_add(self.weights_offsets[o]);
                        sum = sum.wrapping_add(element.wrapping_add(self.case.offset).wrapping_mul(weight));
                    }
                }
            }
            sums.push(sum);
        }
        sums
    }

    fn weights(&self) -> Operand<'_> {
        let depth = self.case.filter.depth().unwrap();
        let shape = (self.case.filter.channels[1], depth);
        Operand::new(&self.weights, shape, depth, Order::DepthContiguous, self.case.filter.encodings[1])
    }

    fn offset(&self) -> Offset<'_> {
        match self.case.slope {
            0 => Offset::Uniform(self.case.weights_offset),
            _ => Offset::PerLine(&self.weights_offsets),
        }
    }

    fn packed(&self, kernel: &'static Kernel) -> Option<Packed> {
        let other = self.case.filter.encodings[0];
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other };
        let packing = Packing {
            offset: self.offset(),
            purpose,
            bits: Bits::new(self.case.bits)?,
            segments: None,
            are_patches: self.case.filter.takes_patches(),
        };
        Some(Packed::new(kernel, &self.weights(), &packing, None).unwrap())
    }

    /// Convolves in a context, with weights packed by a kernel; in the caller's memory, if there is any.
    fn convolve(&self, context: &Context, packer: &'static Kernel, finish: &Finish, workspace: bool) {
        let channels = self.case.filter.channels[0];
        let shape = (self.case.images.pixels().unwrap(), channels);
        let stride = channels + self.case.gap;
        let image = Operand::new(&self.image, shape, stride, Order::DepthContiguous, self.case.filter.encodings[0]);
        let packed = self.packed(packer);
        let weights = match &packed {
            Some(packed) => Factor::packed(packed, self.offset()),
            None => Factor::new(self.weights(), self.offset()),
        };
        let range = ElementRange::of(&image);
        let conv = Conv::new(&self.plan, image, (self.case.offset, range), &weights).unwrap();
        let mut memory = vec![0; if workspace { conv.workspace_len(context).unwrap() } else { 0 }];
        conv.run(context, finish, workspace.then_some(&mut memory[..])).unwrap();
    }
}

fn axis() -> impl Strategy<Value = Axis> {
    let padding = [prop_oneof![2 => 0usize..3, 1 => 0usize..9], prop_oneof![2 => 0usize..3, 1 => 0usize..9]];
    let steps = (prop_oneof![Just(1usize), 1usize..4], prop_oneof![3 => Just(1usize), 1 => 2usize..4]);
    (1usize..5, steps, padding, any::<bool>()).prop_map(|(taps, (stride, dilation), padding, is_padded)| Axis {
        taps,
        stride,
        dilation,
        padding: if is_padded { padding } else { [0, 0] },
    })
}

fn pointwise() -> impl Strategy<Value = Axis> {
    Just(Axis { taps: 1, stride: 1, dilation: 1, padding: [0, 0] })
}

fn case() -> impl Strategy<Value = Case> {
    let encoding = || prop_oneof![Just(Encoding::U8), Just(Encoding::S8)];
    let channels = prop_oneof![
        4 => (Just(1usize), 0usize..20, 0usize..20),
        1 => (Just(1usize), 20usize..70, 1usize..70),
        3 => (2usize..6, 1usize..5, 1usize..20),
        1 => (2usize..5, 1usize..3, Just(32usize)),
    ];
    let axes = prop_oneof![4 => [axis().boxed(), axis().boxed()], 1 => [pointwise().boxed(), pointwise().boxed()]];
    let filter = (axes, channels, [encoding(), encoding()]).prop_map(|(axes, (groups, input, output), encodings)| {
        Filter { axes, channels: [groups * input, groups * output], groups, encodings }
    });
    let images = (0usize..4, [0usize..10, 0usize..10]).prop_map(|(count, size)| Images { count, size });
    // With these two what lies beside an image is 0, to the one or the other kernel.
    let offset = prop_oneof![3 => -300i32..300, 1 => Just(0), 1 => Just(128)];
    let offsets = (offset, -200i32..200, prop_oneof![Just(0i32), -9i32..9]);
    let packing = (prop_oneof![Just(0usize), 1usize..9, Just(8usize)], 0usize..100);
    (filter, images, prop_oneof![Just(0usize), 1usize..9], offsets, any::<u64>(), any::<bool>(), packing).prop_map(
        |(filter, images, gap, (offset, weights_offset, slope), seed, extreme, (bits, packer))| Case {
            filter,
            images,
            gap,
            offset,
            weights_offset,
            slope,
            seed,
            extreme,
            bits,
            packer,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_kernel_agrees_with_the_seven_loops(case in case()) {
        let problem = Problem::new(case);
        let want = problem.sums();
        let packers: Vec<_> = Kernel::available().chain(odd()).collect();
        let shape = (problem.plan.positions(), case.filter.channels[1]);
        for (i, context) in CONTEXTS.iter().enumerate() {
            let packer = if case.packer % 3 == 0 { packers[case.packer % packers.len()] } else { context.kernel };
            let mut got = vec![7; want.len() + 1];
            let store = Store::I32(Output::new(&mut got, shape, shape.1));
            problem.convolve(context, packer, &Finish::new(&[], store), i % 2 == 0);
            prop_assert_eq!(got.pop(), Some(7));
            prop_assert_eq!(&got, &want, "{} with {} threads, {:?}", context.kernel.name, context.threads(), shape);
        }
    }

    #[test]
    fn stages_know_the_channels_of_all_groups(case in case()) {
        let problem = Problem::new(case);
        let (sums, kernel) = (problem.sums(), Kernel::chosen().unwrap());
        let shape = (problem.plan.positions(), case.filter.channels[1]);
        let biases: Vec<i32> = (0..shape.1 as i32).map(|o| o * 77 - 300).collect();
        let residual = noise(case.seed ^ 0x777, false, sums.len());
        let want: Vec<i16> = (sums.iter().zip(&residual).enumerate())
            .map(|(i, (sum, r))| sum.wrapping_add(biases[i % shape.1]).wrapping_add(i32::from(*r)) as i16)
            .collect();
        let stages = [
            Stage::Bias(Values::PerCol(&biases)),
            Stage::Residual {
                // SAFETY: as many elements as the result has.
                residual: unsafe { Residual::from_raw(residual.as_ptr(), Element::U8, shape, (shape.1, 1)) }.unwrap(),
                zero_point: 0,
                multiplier: 1 << 30,
                exponent: 1,
                rounding: Rounding::Once,
            },
        ];
        for threads in [1, 2] {
            let mut got = vec![7; want.len()];
            let store = Store::I16(Output::new(&mut got, shape, shape.1), Cast::Truncating);
            problem.convolve(&Context::new(kernel, threads), kernel, &Finish::new(&stages, store), false);
            prop_assert_eq!(&got, &want);
        }
    }
}

/// Layers that are large enough to be cut into blocks, and shared among threads. The second one's runs do not end with groups; the
/// fourth one's groups of channels begin within panels, and weights have one offset. The next ones have few channels: half panels, and
/// runs of few groups.
#[test]
fn every_kernel_agrees_on_layers_of_many_blocks() {
    // With the second offset what lies beside an image is 0.
    let offsets = [5, 128];
    let axis = |taps, stride| Axis { taps, stride, dilation: 1, padding: [taps / 2; 2] };
    let [one, two] = [axis(3, 1), axis(3, 2)];
    let layers = [
        (2, [64, 96], 1, [20, 21], [one, one]),
        (1, [31, 96], 1, [20, 21], [one, one]),
        (1, [32, 64], 1, [20, 21], [one, one]),
        (3, [48, 120], 0, [20, 21], [one, one]),
        (1, [16, 16], 0, [20, 21], [one, one]),
        (1, [20, 40], 0, [20, 21], [one, one]),
        (1, [4, 48], 0, [20, 21], [one, one]),
        // Rows that are one strip of some kernel, or several which may begin among each other.
        (1, [96, 40], 1, [20, 20], [one, one]),
        (1, [80, 96], 0, [12, 33], [one, one]),
        (1, [64, 72], 1, [12, 55], [one, one]),
        (2, [256, 64], 0, [7, 56], [one, one]),
        // Rows that lie below each other where more of their patches would, and others that do not.
        (1, [32, 64], 1, [25, 51], [two, two]),
        (1, [64, 40], 0, [13, 77], [one, two]),
        (1, [32, 96], 0, [31, 26], [two, one]),
        // One row of the filter.
        (1, [32, 64], 0, [11, 45], [axis(1, 1), one]),
    ];
    for ((groups, channels, slope, size, axes), offset) in
        layers.into_iter().flat_map(|layer| offsets.map(|offset| (layer, offset)))
    {
        let filter = Filter { axes, channels, groups, encodings: [Encoding::S8, Encoding::U8] };
        let problem = Problem::new(Case {
            filter,
            images: Images { count: 2, size },
            gap: 0,
            offset,
            weights_offset: -100,
            slope,
            seed: 99,
            extreme: false,
            bits: 8,
            packer: 1,
        });
        let want = problem.sums();
        let shape = (problem.plan.positions(), channels[1]);
        let multipliers: Vec<i32> = (0..shape.1 as i32).map(|o| (1 << 30) + o * 7_654_321).collect();
        // Most are bytes then, and some less or more.
        let most = want.iter().map(|sum| sum.unsigned_abs()).max().unwrap();
        let down = most.ilog2() as i32 - 7;
        let scale = Scale::new(Values::PerCol(&multipliers), Values::Uniform(-down), 103, Rounding::Once).unwrap();
        let scaled = |(i, sum): (usize, &i32)| {
            let product = i64::from(*sum) * i64::from(multipliers[i % shape.1]);
            (((product + (1 << (30 + down))) >> (31 + down)) + 103).clamp(0, 255) as u8
        };
        let want_bytes: Vec<u8> = want.iter().enumerate().map(scaled).collect();
        assert!(want_bytes.iter().any(|&byte| byte > 20 && byte < 235));
        let scales: Vec<f32> = (0..shape.1).map(|o| 0.01 + o as f32 * 0.001).collect();
        let want_floats: Vec<f32> =
            want.iter().zip(scales.iter().cycle()).map(|(sum, scale)| *sum as f32 * scale).collect();
        for context in CONTEXTS.iter().filter(|context| context.kernel.name != "scalar") {
            let who = format!("{} with {} threads, {groups} groups, {offset}", context.kernel.name, context.threads());
            let mut got = vec![7; want.len()];
            let store = Store::I32(Output::new(&mut got, shape, shape.1));
            problem.convolve(context, context.kernel, &Finish::new(&[], store), false);
            assert!(got == want, "{who}");
            let mut bytes = vec![7; want.len()];
            let store = Store::U8(Output::new(&mut bytes, shape, shape.1), Cast::Saturating);
            problem.convolve(context, context.kernel, &Finish::new(&[Stage::Scale(scale)], store), false);
            assert!(bytes == want_bytes, "{who}, bytes");
            let mut floats = vec![7.0; want.len()];
            let store = Store::F32(Output::new(&mut floats, shape, shape.1));
            let stages = [Stage::Dequantize(Values::PerCol(&scales))];
            problem.convolve(context, context.kernel, &Finish::new(&stages, store), false);
            assert!(floats == want_floats, "{who}, floats");
        }
    }
}

/// After a ReLU the zero point is the least number of a type. Kernels that may read any as 0 do so, signed images, too, and leave it out.
#[test]
fn what_lies_above_and_below_an_image_is_left_out_where_it_can_be_0() {
    let axis = Axis { taps: 3, stride: 1, dilation: 1, padding: [1, 1] };
    for (encoding, offset) in [(Encoding::U8, 0), (Encoding::S8, 128)] {
        let filter = Filter { axes: [axis; 2], channels: [4, 40], groups: 1, encodings: [encoding, Encoding::S8] };
        let problem = Problem::new(Case {
            filter,
            images: Images { count: 2, size: [5, 20] },
            gap: 0,
            offset: 0,
            weights_offset: 0,
            slope: 0,
            seed: 1,
            extreme: false,
            bits: 8,
            packer: 0,
        });
        assert_eq!(problem.case.offset, offset, "minus the least number");
        let image = Operand::new(&problem.image, (200, 4), 4, Order::DepthContiguous, encoding);
        for kernel in Kernel::available().filter(|kernel| ["avx2", "avx512bw", "avx512vnni"].contains(&kernel.name)) {
            let packed = problem.packed(kernel).unwrap();
            let weights = Factor::packed(&packed, Offset::Uniform(0));
            let conv = Conv::new(&problem.plan, image, (offset, ElementRange::all(encoding)), &weights).unwrap();
            let [lhs, rhs] = Sides::new(kernel, &conv.lhs(0), &weights).sources;
            let windows = lhs.windows(&rhs).unwrap();
            let bytes = vec![0; windows.bytes(200)];
            let left_out = |row: usize| {
                let lines = windows.lines(&bytes, 0, row * 20..(row + 1) * 20);
                lines.left_out().map(|bytes| bytes / lines.len())
            };
            let all: Vec<_> = (0..10).map(left_out).collect();
            let of_image = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1]];
            assert_eq!(all, [of_image, of_image].concat(), "{} {encoding:?}", kernel.name);
        }
    }
}

#[test]
fn beside_padding_the_zero_point_has_to_be_an_element() {
    let axis = |padding| Axis { taps: 3, stride: 2, dilation: 1, padding };
    let plan = |padding| {
        let encodings = [Encoding::S8, Encoding::U8];
        let filter = Filter { axes: [axis([0, 0]), axis(padding)], channels: [1, 1], groups: 1, encodings };
        Plan::new(filter, Images { count: 1, size: [4, 4] }).unwrap()
    };
    let (image, weights) = ([0; 16], [0; 9]);
    let is_taken = |padding, offset| {
        let image = Operand::new(&image, (16, 1), 1, Order::DepthContiguous, Encoding::S8);
        let weights = Operand::new(&weights, (1, 9), 9, Order::DepthContiguous, Encoding::U8);
        let weights = Factor::new(weights, Offset::Uniform(0));
        Conv::new(&plan(padding), image, (offset, ElementRange::all(Encoding::S8)), &weights).is_ok()
    };
    assert!(is_taken([1, 0], 128) && is_taken([1, 0], -127));
    assert!(!is_taken([1, 0], 129) && !is_taken([1, 0], -128) && !is_taken([0, 1], i32::MIN));
    // No tap lies there; then any offset will do, as in products.
    assert!(!is_taken([0, 1], 1000) && is_taken([0, 0], 1000));
}
