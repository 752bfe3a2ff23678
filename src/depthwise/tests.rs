//! Every kernel against the definition, over shapes, windows, encodings, strides and offsets.

use super::*;
use crate::kernel::tests::noise;
use crate::kernel::Kernel;
use crate::matrix::{Encoding, Order, Output};
use crate::output::{Cast, Rounding, Scale, Stage, Store, Values};
use proptest::prelude::*;
use std::sync::LazyLock;

/// All that this CPU runs, with 1 and with 3 threads.
static CONTEXTS: LazyLock<Vec<Context>> =
    LazyLock::new(|| Kernel::available().flat_map(|kernel| [1, 3].map(|threads| Context::new(kernel, threads))).collect());

#[derive(Clone, Copy, Debug)]
struct Case {
    geometry: Geometry,
    /// Of the image and of the weights.
    encodings: [Encoding; 2],
    /// Bytes between two pixels, and between two runs of weights.
    gaps: [usize; 2],
    order: Order,
    /// What is padded with, and whether it is the image's zero point.
    padding: i16,
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
    fn results(&self) -> usize {
        self.geometry.channels * self.geometry.multiplier
    }

    fn taps(&self) -> usize {
        self.geometry.down.taps * self.geometry.across.taps
    }

    fn runs(&self) -> (usize, usize) {
        let (channels, taps) = (self.results(), self.taps());
        if self.order == Order::DepthContiguous { (channels, taps) } else { (taps, channels) }
    }

    fn data(&self) -> Data {
        let Geometry { batch, down, across, channels, .. } = self.geometry;
        let (runs, len) = self.runs();
        let (offset, slope) = self.weights_offset;
        Data {
            image: noise(self.seed, self.extreme, batch * down.input * across.input * (channels + self.gaps[0])),
            weights: noise(!self.seed, self.extreme, runs * (len + self.gaps[1])),
            offsets: (0..self.results() as i32).map(|channel| offset + slope * channel).collect(),
        }
    }

    /// Seven loops, in any order.
    fn defined(&self, data: &Data) -> Vec<i32> {
        let Geometry { batch, down, across, channels, multiplier } = self.geometry;
        let (_, run) = self.runs();
        let mut sums = Vec::new();
        for (image, y, x) in
            (0..batch).flat_map(|n| (0..down.output).flat_map(move |y| (0..across.output).map(move |x| (n, y, x))))
        {
            for channel in 0..channels * multiplier {
                let mut sum = 0i64;
                for (row, col) in (0..down.taps).flat_map(|row| (0..across.taps).map(move |col| (row, col))) {
                    let at = |axis: Axis, position: usize, tap: usize| {
                        let at = (position * axis.stride + tap * axis.dilation) as i64 - axis.padding as i64;
                        (0..axis.input as i64).contains(&at).then_some(at as usize)
                    };
                    let number = match (at(down, y, row), at(across, x, col)) {
                        (Some(y), Some(x)) => {
                            let pixel = (image * down.input + y) * across.input + x;
                            let byte = data.image[pixel * (channels + self.gaps[0]) + channel / multiplier];
                            self.encodings[0].decode(byte)
                        }
                        _ => self.padding.into(),
                    };
                    let tap = row * across.taps + col;
                    let (run_of, at) = if self.order == Order::DepthContiguous { (channel, tap) } else { (tap, channel) };
                    let weight = self.encodings[1].decode(data.weights[run_of * (run + self.gaps[1]) + at]);
                    let weight = i64::from(weight) + i64::from(data.offsets[channel]);
                    sum = sum.wrapping_add((i64::from(number) + i64::from(self.offset)).wrapping_mul(weight));
                }
                sums.push(sum as i32);
            }
        }
        sums
    }

    fn run(&self, context: &Context, data: &Data, stages: &[Stage], store: Store) {
        let Geometry { batch, down, across, channels, .. } = self.geometry;
        let ((runs, len), pixels) = (self.runs(), batch * down.input * across.input);
        // No byte behind the last pixel or the last run may be touched.
        let image = &data.image[..(pixels * (channels + self.gaps[0])).saturating_sub(self.gaps[0])];
        let image =
            Operand::new(image, (pixels, channels), channels + self.gaps[0], Order::DepthContiguous, self.encodings[0]);
        let weights = &data.weights[..(runs * (len + self.gaps[1])).saturating_sub(self.gaps[1])];
        let shape = (self.results(), self.taps());
        let weights = Operand::new(weights, shape, len + self.gaps[1], self.order, self.encodings[1]);
        let layout = Layout { taps: (down.taps, across.taps), channels: self.results() };
        let mut buffer = crate::buffer::Buffer::empty();
        buffer.reserve(layout.len()).unwrap();
        buffer.as_mut_slice().fill(0xa5);
        let offset = match self.weights_offset {
            (offset, 0) => Offset::Uniform(offset),
            _ => Offset::PerLine(&data.offsets),
        };
        let weights = pack(layout, &weights, offset, buffer.as_mut_slice()).unwrap();
        let finish = Finish::new(stages, store);
        depthwise(context, &self.geometry, &image, self.offset, self.padding, &weights, &finish).unwrap();
    }

    fn check(&self) {
        let data = self.data();
        let want = self.defined(&data);
        let shape = (self.geometry.positions(), self.results());
        for context in CONTEXTS.iter() {
            let mut got = vec![7; want.len()];
            self.run(context, &data, &[], Store::I32(Output::new(&mut got, shape, shape.1)));
            assert_eq!(got, want, "{} {} {self:?}", context.kernel.name, context.threads());
            // To 8 bits, per channel, into a wider matrix.
            let multipliers: Vec<i32> = (0..shape.1 as i32).map(|i| (1 << 30) + i * 1_000_003).collect();
            let scale = Scale::new(Values::PerCol(&multipliers), Values::Uniform(-7), 3, Rounding::Twice);
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
    (0usize..14, taps, gap.clone(), gap, 0usize..9, 0usize..9).prop_map(
        |(input, taps, stride, dilation, padding, after)| {
            let reach = (taps - 1) * dilation + 1;
            let output = (input + padding + after).checked_sub(reach).map_or(0, |left| left / stride + 1);
            Axis { input, output, taps, stride, dilation, padding }
        },
    )
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::U8), Just(Encoding::S8)]
}

fn case() -> impl Strategy<Value = Case> {
    let channels = prop_oneof![1usize..20, Just(32usize), 33usize..50];
    let multiplier = prop_oneof![3 => Just(1usize), 1 => 2usize..20];
    let offset = prop_oneof![Just(0), -255i32..256, any::<i32>()];
    (
        (0usize..3, axis(), axis(), channels, multiplier),
        ([encoding(), encoding()], [0usize..3, 0usize..3], any::<bool>()),
        (-255i16..256, offset, (-300i32..300, 0i32..2)),
        (any::<u64>(), any::<bool>()),
    )
        .prop_map(|((batch, down, across, channels, multiplier), (encodings, gaps, along), offsets, (seed, extreme))| {
            let (padding, offset, weights_offset) = offsets;
            let geometry = Geometry { batch, down, across, channels, multiplier };
            let order = if along { Order::DepthContiguous } else { Order::LineContiguous };
            Case { geometry, encodings, gaps, order, padding, offset, weights_offset, seed, extreme }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 4, ..ProptestConfig::default() })]
    #[test]
    fn every_kernel_agrees_with_seven_loops(case in case()) {
        case.check();
    }
}

/// Windows of `taps` on an image with as many positions, one pixel of padding on each side.
fn square(size: usize, taps: usize, stride: usize, channels: usize) -> Case {
    let padding = taps / 2;
    let output = (size + 2 * padding - taps) / stride + 1;
    let axis = Axis { input: size, output, taps, stride, dilation: 1, padding };
    Case {
        geometry: Geometry { batch: 1, down: axis, across: axis, channels, multiplier: 1 },
        encodings: [Encoding::U8, Encoding::S8],
        gaps: [0; 2],
        order: Order::LineContiguous,
        padding: 128,
        offset: -128,
        weights_offset: (0, 0),
        seed: 5,
        extreme: true,
    }
}

#[test]
fn every_kernel_agrees_on_rows_longer_than_a_strip() {
    for (size, taps, stride) in [(150, 3, 1), (150, 3, 2), (140, 5, 1), (90, 7, 3), (130, 1, 1)] {
        square(size, taps, stride, 9).check();
    }
    // A window that takes more than a strip is wont to.
    square(40, 33, 7, 17).check();
}

#[test]
fn every_kernel_agrees_on_the_greatest_sums() {
    for (byte, encoding) in [(0, Encoding::U8), (255, Encoding::U8), (128, Encoding::S8), (127, Encoding::S8)] {
        let case = Case { encodings: [encoding; 2], offset: 0, padding: 0, ..square(9, 5, 1, 20) };
        let data = Data { image: vec![byte; 81 * 20], weights: vec![byte; 25 * 20], offsets: vec![0; 20] };
        let want = case.defined(&data);
        for context in CONTEXTS.iter() {
            let mut got = vec![7; want.len()];
            case.run(context, &data, &[], Store::I32(Output::new(&mut got, (81, 20), 20)));
            assert_eq!(got, want, "{} {byte}", context.kernel.name);
        }
    }
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let layout = Layout { taps: (1, 1), channels: 1 };
    let mut buffer = crate::buffer::Buffer::empty();
    buffer.reserve(layout.len()).unwrap();
    let mut fits = |byte: u8, offset| {
        let weights = [byte];
        let weights = Operand::new(&weights, (1, 1), 1, Order::DepthContiguous, Encoding::U8);
        pack(layout, &weights, Offset::Uniform(offset), buffer.as_mut_slice()).is_some()
    };
    assert!(fits(255, 32767 - 255) && fits(0, -32768) && fits(1, -32769));
    assert!(!fits(255, 32768 - 255) && !fits(0, -32769) && !fits(1, i32::MAX));
}
