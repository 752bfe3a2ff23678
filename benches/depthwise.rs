//! GMAC/s of depthwise convolutions by way of `qgemm_conv_run`: layers of MobileNets, and those of the person detector in
//! capi-tests/data; a bias and a scale for each channel, weights as they lie. One thread; QGEMM_ISA chooses the kernel.

#[path = "limit/fastest.rs"]
mod fastest;
#[allow(dead_code, reason = "other benches use the rest")]
#[path = "call/raw.rs"]
mod raw;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fastest::fastest;
use qgemm::*;
use std::ptr::{null, null_mut};
use std::time::Duration;

/// Size of a square image, channels, multiplier, size of the filter, stride.
const LAYERS: [[usize; 5]; 13] = [
    [112, 64, 1, 3, 1],
    [14, 512, 1, 3, 1],
    [28, 120, 1, 5, 1],
    [96, 1, 8, 3, 2],
    [48, 8, 1, 3, 1],
    [48, 16, 1, 3, 2],
    [24, 32, 1, 3, 1],
    [24, 32, 1, 3, 2],
    [12, 64, 1, 3, 1],
    [12, 64, 1, 3, 2],
    [6, 128, 1, 3, 1],
    [6, 128, 1, 3, 2],
    [3, 256, 1, 3, 1],
];

fn per_col(values: &[i32]) -> I32Values {
    I32Values { data: values.as_ptr(), len: values.len() as i64, value: 0, axis: QGEMM_PER_COL }
}

fn stage(kind: u32, u: StageParameters) -> RawStage {
    RawStage { kind, reserved: 0, u }
}

/// As a quantized layer has them: a bias and a scale for each channel, then a cast.
fn stages(biases: &[i32], multipliers: &[i32]) -> [RawStage; 3] {
    let scale = StageScale {
        multiplier: per_col(multipliers),
        exponent: raw::uniform(-7),
        offset_after: 3,
        rounding: QGEMM_ROUND_TWICE,
    };
    [
        stage(QGEMM_STAGE_BIAS, StageParameters { bias: StageBias { bias: per_col(biases) } }),
        stage(QGEMM_STAGE_SCALE, StageParameters { scale }),
        stage(QGEMM_STAGE_CAST_SATURATING, StageParameters { reserved: [0; 16] }),
    ]
}

fn plan(
    [size, channels, multiplier, filter, stride]: [usize; 5],
    input_type: u32,
    weights_type: u32,
) -> *mut ConvPlanHandle {
    let [padding, filter, stride] = [filter / 2, filter, stride].map(|x| x as i64);
    let desc = ConvDesc {
        struct_size: size_of::<ConvDesc>(),
        input_channels: channels as i64,
        output_channels: (channels * multiplier) as i64,
        filter_height: filter,
        filter_width: filter,
        stride_height: stride,
        stride_width: stride,
        dilation_height: 1,
        dilation_width: 1,
        pad_top: padding,
        pad_left: padding,
        pad_bottom: padding,
        pad_right: padding,
        groups: channels as i64,
        input_type,
        weights_type,
    };
    let images = ConvImages { struct_size: size_of::<ConvImages>(), batch: 1, height: size as i64, width: size as i64 };
    let mut plan = null_mut();
    // SAFETY: the structs have the sizes that they say.
    assert_eq!(unsafe { qgemm_conv_plan_create(&desc, &images, &mut plan) }, Status::Ok);
    plan
}

fn depthwise(c: &mut Criterion) {
    for layer in LAYERS {
        let [size, channels, multiplier, filter, stride] = layer;
        let mut group = c.benchmark_group(format!("{size}x{size}x{channels}x{multiplier} {filter}x{filter} /{stride}"));
        let (results, positions) = (channels * multiplier, size.div_ceil(stride).pow(2));
        let macs = positions * results * filter * filter;
        group.throughput(Throughput::Elements(macs as u64));
        group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(200)).sample_size(20);
        let pixels: Vec<u8> = (0..size * size * channels).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        let weights: Vec<u8> = (0..filter * filter * results).map(|i| (i.wrapping_mul(i) >> 2) as u8).collect();
        let (biases, multipliers) = (vec![5; results], vec![1_518_500_250; results]);
        let stages = stages(&biases, &multipliers);
        let mut output = vec![0u32; (positions * results).div_ceil(4)];
        let types = [QGEMM_TYPE_U8, QGEMM_TYPE_S8];
        for (input, of_weights) in types.into_iter().flat_map(|input| types.map(|of_weights| (input, of_weights))) {
            let plan = plan(layer, input, of_weights);
            let image =
                RawOperand { r#type: input, offset: raw::uniform(-3), ..raw::operand(&pixels, size * size, channels) };
            let weights = RawOperand { r#type: of_weights, ..raw::operand(&weights, filter * filter, results) };
            let result = raw::result(&mut output, input, positions, results);
            let name = |r#type| if r#type == QGEMM_TYPE_U8 { "u8" } else { "s8" };
            let id = BenchmarkId::new(name(input), name(of_weights));
            let seconds = fastest(&mut group, id, || {
                // SAFETY: all have the sizes that they say.
                let status = unsafe {
                    qgemm_conv_run(null(), plan, &image, &weights, &result, stages.as_ptr(), stages.len(), null())
                };
                assert_eq!(status, Status::Ok);
            });
            if let Some(seconds) = seconds {
                println!("{:33.1} GMAC/s at best, {:.1} us", 1e-9 * macs as f64 / seconds, seconds * 1e6);
            }
            // SAFETY: it is not used any more.
            unsafe { qgemm_conv_plan_free(plan) };
        }
    }
}

criterion_group!(benches, depthwise);
criterion_main!(benches);
