//! Every kernel against the definition, over shapes, windows, encodings, strides and offsets.

use super::*;
use crate::conv::{Conv, Images};
use crate::kernel::Kernel;
use crate::kernel::tests::noise;
use crate::matrix::{Encoding, Order, Output};
use crate::output::{Cast, Rounding, Scale, Stage, Store, Values};
use crate::packed::{Bits, Packed, Packing, Purpose, ResultOrder, Side};
use crate::range::ElementRange;
use proptest::prelude::*;
use std::sync::LazyLock;

/// All that this CPU runs, with 1 and with 3 threads.
static CONTEXTS: LazyLock<Vec<Context>> = LazyLock::new(|| {
    Kernel::available().flat_map(|kernel| [1, 3].map(|threads| Context::new(kernel, threads))).collect()
});

#[derive(Clone, Copy, Debug)]
struct Case {
    filter: Filter,
    images: Images,
    /// Bytes between two pixels, and between two runs of weights.
    gaps: [usize; 2],
    order: Order,
    is_packed: bool,
    offset: i32,
    /// The weights' offset, and how it grows from channel to channel.
    weights_offset: (i32, i32),
    seed: u64,
    extreme: bool,
}

/// The bytes of a case.
struct Data {
    image: Vec<u8>,
    weights: Vec<u8>,
    offsets: Vec<i32>,
}

impl Case {
    fn plan(&self) -> Plan {
        Plan::new(self.filter, self.images).unwrap()
    }

    fn pixels(&self) -> usize {
        self.images.pixels().unwrap()
    }

    /// Of weights: how many, and of how many bytes.
    fn runs(&self) -> (usize, usize) {
        let (channels, taps) = (self.filter.channels[1], self.filter.taps());
        if self.order == Order::DepthContiguous { (channels, taps) } else { (taps, channels) }
    }

    fn data(&self) -> Data {
        let [channels, results] = self.filter.channels;
        let (runs, len) = self.runs();
        let (offset, slope) = self.weights_offset;
        Data {
            image: noise(self.seed, self.extreme, self.pixels() * (channels + self.gaps[0])),
            weights: noise(!self.seed, self.extreme, runs * (len + self.gaps[1])),
            offsets: (0..results as i32).map(|channel| offset + slope * channel).collect(),
        }
    }

    /// One sum.
    fn sum(&self, data: &Data, (image, y, x): (usize, usize, usize), channel: usize) -> i32 {
        let Filter { axes: [down, across], channels: [channels, results], encodings, .. } = self.filter;
        let [height, width] = self.images.size;
        let (_, len) = self.runs();
        let mut sum = 0i64;
        for (row, col) in (0..down.taps).flat_map(|row| (0..across.taps).map(move |col| (row, col))) {
            let at = |axis: Axis, position: usize, tap: usize, pixels: usize| {
                let at = (position * axis.stride + tap * axis.dilation) as i64 - axis.padding[0] as i64;
                (0..pixels as i64).contains(&at).then_some(at as usize)
            };
            let (Some(y), Some(x)) = (at(down, y, row, height), at(across, x, col, width)) else { continue };
            let pixel = (image * height + y) * width + x;
            let number =
                encodings[0].decode(data.image[pixel * (channels + self.gaps[0]) + channel * channels / results]);
            let tap = row * across.taps + col;
            let (run, at) = if self.order == Order::DepthContiguous { (channel, tap) } else { (tap, channel) };
            let weight = encodings[1].decode(data.weights[run * (len + self.gaps[1]) + at]);
            let weight = i64::from(weight) + i64::from(data.offsets[channel]);
            sum = sum.wrapping_add((i64::from(number) + i64::from(self.offset)).wrapping_mul(weight));
        }
        sum as i32
    }

    fn defined(&self, data: &Data) -> Vec<i32> {
        let Images { count, size: [height, width] } = self.plan().results();
        let at = |position: usize| (position / width / height, position / width % height, position % width);
        let sums = |position| (0..self.filter.channels[1]).map(move |channel| self.sum(data, at(position), channel));
        (0..count * height * width).flat_map(sums).collect()
    }

    fn run(&self, context: &Context, data: &Data, stages: &[Stage], store: Store) {
        let Filter { channels: [channels, results], encodings, .. } = self.filter;
        // No byte behind the last pixel or the last run may be touched.
        let image = &data.image[..(self.pixels() * (channels + self.gaps[0])).saturating_sub(self.gaps[0])];
        let shape = (self.pixels(), channels);
        let image = Operand::new(image, shape, channels + self.gaps[0], Order::DepthContiguous, encodings[0]);
        let (runs, len) = self.runs();
        let weights = &data.weights[..(runs * (len + self.gaps[1])).saturating_sub(self.gaps[1])];
        let shape = (results, self.filter.taps());
        let weights = Operand::new(weights, shape, len + self.gaps[1], self.order, encodings[1]);
        let offset = match self.weights_offset {
            (offset, 0) => Offset::Uniform(offset),
            _ => Offset::PerLine(&data.offsets),
        };
        let purpose = Purpose { side: Side::Rhs, result: ResultOrder::RowMajor, other: encodings[0] };
        let packing = Packing { offset, purpose, bits: Bits::ALL, segments: None, are_patches: false };
        let packed = Packed::new(context.kernel, &weights, &packing, None).unwrap();
        let weights = if self.is_packed { Factor::packed(&packed, offset) } else { Factor::new(weights, offset) };
        let plan = self.plan();
        let conv = Conv::new(&plan, image, (self.offset, ElementRange::all(encodings[0])), &weights).unwrap();
        let finish = Finish::new(stages, store);
        let mut workspace = vec![0xa5; conv.workspace_len(context).unwrap()];
        conv.run(context, &finish, self.is_packed.then_some(&mut workspace)).unwrap();
    }

    fn check(&self) {
        let data = self.data();
        let want = self.defined(&data);
        let shape = (self.plan().positions(), self.filter.channels[1]);
        for context in CONTEXTS.iter() {
            let mut got = vec![7; want.len()];
            self.run(context, &data, &[], Store::I32(Output::new(&mut got, shape, shape.1)));
            assert_eq!(got, want, "{} {} {self:?}", context.kernel.name, context.threads());
            // To 8 bits, per channel, into a wider matrix.
            let multipliers: Vec<i32> = (0..shape.1 as i32).map(|i| (1 << 30) + i * 1_000_003).collect();
            let scale = Scale::new(Values::PerCol(&multipliers), Values::Uniform(-7), 3, Rounding::Twice).unwrap();
            let stages = [Stage::Scale(scale)];
            let mut bytes = vec![7; want.len() + 2 * shape.0];
            let out = Output::new(&mut bytes, shape, shape.1 + 2);
            self.run(context, &data, &stages, Store::I8(out, Cast::Saturating));
            for (row, want) in bytes.chunks(shape.1 + 2).zip(want.chunks(shape.1.max(1))) {
                for ((&got, &sum), &multiplier) in row.iter().zip(want).zip(&multipliers) {
                    let want = Rounding::Twice.scaled(sum, multiplier, -7).wrapping_add(3).clamp(-128, 127) as i8;
                    assert_eq!(got, want, "{} {} {self:?}", context.kernel.name, context.threads());
                }
                assert_eq!(row[shape.1..], [7, 7]);
            }
        }
    }
}

fn axis() -> impl Strategy<Value = Axis> {
    let taps = prop_oneof![3 => Just(3usize), 1 => Just(5), 2 => 1usize..8];
    let gap = prop_oneof![3 => Just(1usize), 1 => 1usize..4];
    (taps, gap.clone(), gap, [0usize..9, 0usize..9]).prop_map(|(taps, stride, dilation, padding)| Axis {
        taps,
        stride,
        dilation,
        padding,
    })
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::U8), Just(Encoding::S8)]
}

fn case() -> impl Strategy<Value = Case> {
    let channels = prop_oneof![1usize..20, Just(32usize), 33usize..50];
    let multiplier = prop_oneof![3 => Just(1usize), 1 => 2usize..20];
    // The last does not fit into 16 bits.
    let weights_offset = prop_oneof![8 => -300i32..300, 1 => Just(40_000)];
    (
        (0usize..3, [0usize..14, 0usize..14], [axis(), axis()], channels, multiplier),
        ([encoding(), encoding()], [0usize..3, 0usize..3], any::<bool>(), any::<bool>()),
        (0i32..256, any::<i32>(), (weights_offset, 0i32..2)),
        (any::<u64>(), any::<bool>()),
    )
        .prop_map(|((count, size, axes, channels, multiplier), layout, offsets, (seed, extreme))| {
            let (encodings, gaps, along, is_packed) = layout;
            let (zero, any, weights_offset) = offsets;
            let filter = Filter { axes, channels: [channels, channels * multiplier], groups: channels, encodings };
            let images = Images { count, size };
            let is_padded = Plan::new(filter, images).unwrap().is_padded();
            let zero = zero + ElementRange::all(encodings[0]).least;
            let offset = if is_padded { -zero } else { any };
            let order = if along { Order::DepthContiguous } else { Order::LineContiguous };
            Case { filter, images, gaps, order, is_packed, offset, weights_offset, seed, extreme }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_agrees_with_seven_loops(case in case()) {
        case.check();
    }
}

/// A filter of `taps` in both directions on a square image, with half as much padding on each side.
fn square(size: usize, taps: usize, stride: usize, channels: usize) -> Case {
    let axis = Axis { taps, stride, dilation: 1, padding: [taps / 2; 2] };
    Case {
        filter: Filter {
            axes: [axis; 2],
            channels: [channels; 2],
            groups: channels,
            encodings: [Encoding::U8, Encoding::S8],
        },
        images: Images { count: 1, size: [size; 2] },
        gaps: [0; 2],
        order: Order::LineContiguous,
        is_packed: false,
        offset: -128,
        weights_offset: (0, 0),
        seed: 5,
        extreme: true,
    }
}

#[test]
fn every_kernel_agrees_on_rows_longer_than_a_strip() {
    // The last has windows that take more than a strip is wont to.
    for (width, taps, stride) in [(150, 3, 1), (150, 3, 2), (140, 5, 1), (90, 7, 3), (130, 1, 1), (40, 33, 7)] {
        let mut case = square(width, taps, stride, 9);
        case.images.size[0] = 5;
        case.check();
    }
}

#[test]
fn every_kernel_agrees_on_images_of_one_channel() {
    for (width, multiplier, gap) in [(40, 8, 0), (17, 16, 0), (33, 75, 0), (40, 8, 1), (15, 8, 0)] {
        for (taps, stride) in [(3, 1), (3, 2), (5, 1), (2, 2)] {
            let mut case = square(width, taps, stride, 1);
            case.filter.channels[1] = multiplier;
            case.gaps[0] = gap;
            case.images.count = 2;
            case.check();
        }
    }
}

#[test]
fn every_kernel_agrees_on_panels_of_every_width() {
    for channels in [32, 40, 48, 56, 64, 75, 96] {
        for (encoding, weights_offset) in
            [(Encoding::S8, 0), (Encoding::U8, -128), (Encoding::U8, -127), (Encoding::S8, 1), (Encoding::S8, -1)]
        {
            let mut case = square(3, 3, 1, channels);
            case.filter.encodings = [encoding.other(), encoding];
            case.offset = encoding.other().shift_to(Encoding::S8);
            case.weights_offset.0 = weights_offset;
            case.check();
        }
    }
}

/// What is added to weights may be split into two signed bytes, or not any more.
#[test]
fn every_kernel_agrees_on_weights_and_offsets_beyond_a_byte() {
    let offsets =
        [(Encoding::U8, [0, -1, -255, -384, -385, 126, 127]), (Encoding::S8, [2, -2, 127, -256, -257, 254, 255])];
    for (encoding, offset) in offsets.into_iter().flat_map(|(encoding, all)| all.map(|offset| (encoding, offset))) {
        for (size, taps, stride, channels) in
            [(3, 3, 1, 40), (6, 3, 1, 21), (5, 3, 2, 70), (4, 4, 1, 32), (5, 5, 1, 16)]
        {
            let mut case = square(size, taps, stride, channels);
            // Four rows of three taps fill a group.
            case.filter.axes[1].taps = if taps == 4 { 3 } else { taps };
            case.filter.encodings[1] = encoding;
            case.weights_offset.0 = offset;
            case.check();
        }
    }
}

#[test]
fn every_kernel_agrees_on_the_greatest_sums() {
    for (byte, encoding) in [(0, Encoding::U8), (255, Encoding::U8), (128, Encoding::S8), (127, Encoding::S8)] {
        let mut case = Case { offset: 0, ..square(9, 5, 1, 20) };
        case.filter.encodings = [encoding; 2];
        let data = Data { image: vec![byte; 81 * 20], weights: vec![byte; 25 * 20], offsets: vec![0; 20] };
        let want = case.defined(&data);
        for context in CONTEXTS.iter() {
            let mut got = vec![7; want.len()];
            case.run(context, &data, &[], Store::I32(Output::new(&mut got, (81, 20), 20)));
            assert_eq!(got, want, "{} {byte}", context.kernel.name);
        }
    }
}
