//! GMAC/s of convolution layers by way of `qgemm_conv_run`: all signednesses, weights packed, a bias and a scale for each channel;
//! their share of what the kernel's instructions do in registers; and, to see what gathering is worth, the same as a product of
//! patches that are there already, and of such that are copied out first (im2col). One thread; QGEMM_ISA chooses the kernel.

#[path = "limit/fastest.rs"]
mod fastest;
#[allow(dead_code, reason = "other benches use the rest")]
#[path = "call/raw.rs"]
mod raw;
#[path = "limit/registers.rs"]
mod registers;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastest::fastest;
use qgemm::*;
use registers::Limit;
use std::ptr::{null, null_mut};
use std::time::Duration;

/// A square layer: pixels, channels, taps, stride, channels of the result. Padded so that pixels over stride come out.
#[derive(Clone, Copy)]
struct Layer(usize, usize, usize, usize, usize);

const LAYERS: [Layer; 8] = [
    Layer(56, 64, 3, 1, 64),
    Layer(28, 128, 3, 1, 128),
    Layer(14, 256, 3, 1, 256),
    Layer(7, 512, 3, 1, 512),
    Layer(224, 3, 7, 2, 64),
    Layer(56, 256, 1, 1, 64),
    Layer(112, 32, 3, 2, 64),
    Layer(112, 16, 3, 1, 16),
];

const ZERO_POINT: i32 = 7;

impl Layer {
    fn out(&self) -> usize {
        self.0.div_ceil(self.3)
    }

    fn depth(&self) -> usize {
        self.2 * self.2 * self.1
    }

    fn macs(&self) -> usize {
        self.out() * self.out() * self.4 * self.depth()
    }

    /// Before an image, and after it.
    fn padding(&self) -> [usize; 2] {
        let all = ((self.out() - 1) * self.3 + self.2).saturating_sub(self.0);
        [all / 2, all - all / 2]
    }

    fn desc(&self, input_type: u32, weights_type: u32) -> ConvDesc {
        let (taps, stride, [before, after]) =
            (self.2 as i64, self.3 as i64, self.padding().map(|pixels| pixels as i64));
        ConvDesc {
            struct_size: size_of::<ConvDesc>(),
            input_channels: self.1 as i64,
            output_channels: self.4 as i64,
            filter_height: taps,
            filter_width: taps,
            stride_height: stride,
            stride_width: stride,
            dilation_height: 1,
            dilation_width: 1,
            pad_top: before,
            pad_left: before,
            pad_bottom: after,
            pad_right: after,
            groups: 1,
            input_type,
            weights_type,
        }
    }

    fn plan(&self, desc: &ConvDesc) -> *mut ConvPlanHandle {
        let side = self.0 as i64;
        let images = ConvImages { struct_size: size_of::<ConvImages>(), batch: 1, height: side, width: side };
        let mut plan = null_mut();
        // SAFETY: the structs have their size.
        assert_eq!(unsafe { qgemm_conv_plan_create(desc, &images, &mut plan) }, Status::Ok);
        plan
    }

    /// Copies the patches of an image, row by row of the filter.
    fn copy_patches(&self, image: &[u8], patches: &mut [u8]) {
        let Layer(side, channels, taps, stride, _) = *self;
        let before = self.padding()[0];
        let rows = patches.chunks_exact_mut(taps * channels);
        for (i, row) in rows.enumerate() {
            let (place, tap) = (i / taps, i % taps);
            let y = (place / self.out() * stride + tap).wrapping_sub(before);
            let left = (place % self.out() * stride) as isize - before as isize;
            let (from, to) = (left.max(0) as usize, (left + taps as isize).min(side as isize).max(0) as usize);
            if y >= side || from >= to {
                row.fill(ZERO_POINT as u8);
                continue;
            }
            let skip = (from as isize - left) as usize * channels;
            let (first, rest) = row.split_at_mut(skip);
            let (middle, last) = rest.split_at_mut((to - from) * channels);
            first.fill(ZERO_POINT as u8);
            middle.copy_from_slice(&image[(y * side + from) * channels..(y * side + to) * channels]);
            last.fill(ZERO_POINT as u8);
        }
    }
}

fn stage(kind: u32, u: StageParameters) -> RawStage {
    RawStage { kind, reserved: 0, u }
}

fn stages(biases: &[i32], multipliers: &[i32]) -> [RawStage; 3] {
    let per_col =
        |values: &[i32]| I32Values { data: values.as_ptr(), len: values.len() as i64, value: 0, axis: QGEMM_PER_COL };
    let scale = StageScale {
        multiplier: per_col(multipliers),
        exponent: raw::uniform(-9),
        offset_after: 128,
        rounding: QGEMM_ROUND_TWICE,
    };
    [
        stage(QGEMM_STAGE_BIAS, StageParameters { bias: StageBias { bias: per_col(biases) } }),
        stage(QGEMM_STAGE_SCALE, StageParameters { scale }),
        stage(QGEMM_STAGE_CAST_SATURATING, StageParameters { reserved: [0; 16] }),
    ]
}

fn noise(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(0x9e37_79b9).wrapping_mul(i | 1) >> 13) as u8).collect()
}

fn conv(c: &mut Criterion) {
    let limit = Limit::of(Kernel::chosen().expect("a kernel"));
    for layer in LAYERS {
        let Layer(side, channels, taps, stride, results) = layer;
        let name = format!("{side}x{side}x{channels} {taps}x{taps}s{stride} to {results}");
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(layer.macs() as u64));
        group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(300)).sample_size(15);
        let positions = layer.out() * layer.out();
        let (image, weights) = (noise(side * side * channels), noise(results * layer.depth()));
        let mut patches = vec![0; positions * layer.depth()];
        let (biases, multipliers) = (vec![5; results], vec![1_518_500_250; results]);
        let stages = stages(&biases, &multipliers);
        let mut output = vec![0; positions * results];
        let types = [(QGEMM_TYPE_U8, "u8"), (QGEMM_TYPE_S8, "s8")];
        for ((input_type, input), (weights_type, weight)) in
            types.into_iter().flat_map(|input| types.map(|weights| (input, weights)))
        {
            let desc = layer.desc(input_type, weights_type);
            let plan = layer.plan(&desc);
            let given = RawOperand {
                rows: 0,
                cols: 0,
                r#type: weights_type,
                order: QGEMM_COL_MAJOR,
                offset: raw::uniform(0),
                ..raw::operand(&weights, 0, 0)
            };
            let mut packed = null_mut();
            // SAFETY: there are as many weights as the filter has.
            assert_eq!(unsafe { qgemm_conv_pack(&desc, &given, null(), &mut packed) }, Status::Ok);
            let ready = raw::packed(packed);
            let as_matrix = |data: &[u8], rows, cols| RawOperand {
                r#type: input_type,
                offset: raw::uniform(-ZERO_POINT),
                ..raw::operand(data, rows, cols)
            };
            let image_matrix = as_matrix(&image, side * side, channels);
            let result = raw::result(&mut output, input_type, positions, results);
            let convolve = || {
                // SAFETY: all have the sizes that they say.
                let status = unsafe {
                    qgemm_conv_run(null(), plan, &image_matrix, &ready, &result, stages.as_ptr(), stages.len(), null())
                };
                assert_eq!(status, Status::Ok);
            };
            let multiply = |patches: &[u8]| {
                let lhs = as_matrix(patches, positions, layer.depth());
                let (stages, count) = (stages.as_ptr(), stages.len());
                // SAFETY: as above.
                let status = unsafe { qgemm_gemm(null(), &lhs, &ready, &result, stages, count, null()) };
                assert_eq!(status, Status::Ok);
            };
            let mut report = |way: &str, call: &mut dyn FnMut()| {
                let id = BenchmarkId::new(format!("{input} x {weight}"), way);
                if let Some(seconds) = fastest(&mut group, id, call) {
                    let gmacs = 1e-9 * layer.macs() as f64 / seconds;
                    println!("{gmacs:33.1} GMAC/s at best, {} GOPS", limit.share(2.0 * gmacs));
                }
            };
            layer.copy_patches(&image, &mut patches);
            report("conv", &mut || convolve());
            report("product", &mut || multiply(&patches));
            report("im2col", &mut || {
                layer.copy_patches(&image, &mut patches);
                multiply(&patches);
            });
            // SAFETY: neither is used any more.
            unsafe { qgemm_packed_free(packed) };
            // SAFETY: as above.
            unsafe { qgemm_conv_plan_free(plan) };
        }
    }
}

criterion_group!(benches, conv);
criterion_main!(benches);
