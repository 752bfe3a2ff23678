//! Stages as a caller describes them, whether or not that makes sense.

use crate::{Block, number, reach, size_of_type};
use arbitrary::{Result, Unstructured};
use qgemm::*;
use std::ffi::c_void;

/// A number of a short list, whose last this is.
pub fn tag(u: &mut Unstructured, last: i32) -> Result<u32> {
    Ok(number(u, &[0..=last])? as u32)
}

/// A parameter and its values. Floats are made of the same words.
pub fn values(u: &mut Unstructured, blocks: &mut Vec<Block>, usual: i32) -> Result<I32Values> {
    let len = i64::from(u.int_in_range(-1..=60)?);
    let mut block = Block::new(u, Some(i128::from(len.max(0)) * 4))?;
    for word in block.0.iter_mut().flat_map(|bytes| bytes.as_chunks_mut().0) {
        *word = (i32::from_ne_bytes(*word) % usual).to_ne_bytes();
    }
    let values =
        I32Values { data: block.pointer(), len, value: number(u, &[1 - usual..=usual - 1])?, axis: tag(u, 2)? };
    blocks.push(block);
    Ok(values)
}

fn floats(u: &mut Unstructured, blocks: &mut Vec<Block>) -> Result<F32Values> {
    let I32Values { data, len, axis, .. } = values(u, blocks, 0x7f00_0000)?;
    Ok(F32Values { data: data.cast(), len, value: u.arbitrary()?, axis })
}

/// A stage of results of this shape, and the blocks that it points at.
pub fn stage(u: &mut Unstructured, blocks: &mut Vec<Block>, (rows, cols): (i64, i64)) -> Result<RawStage> {
    let kind = tag(u, 20)?;
    let mut stage = RawStage { kind, reserved: number(u, &[0..=0])? as u32, u: StageParameters { reserved: [0; 16] } };
    let mut any = || number(u, &[-300..=300]);
    let [a, b, c, d] = [any()?, any()?, any()?, any()?];
    match kind {
        QGEMM_STAGE_BIAS => stage.u.bias = StageBias { bias: values(u, blocks, i32::MAX)? },
        QGEMM_STAGE_QUANTIZE_DOWN => {
            let (offset, multiplier) = (values(u, blocks, 1000)?, values(u, blocks, 1000)?);
            stage.u.quantize_down = StageQuantizeDown { offset, multiplier, shift: values(u, blocks, 1)? };
        }
        QGEMM_STAGE_SCALE => {
            let (multiplier, exponent) = (values(u, blocks, i32::MAX)?, values(u, blocks, 31)?);
            stage.u.scale = StageScale { multiplier, exponent, offset_after: a, rounding: tag(u, 2)? };
        }
        QGEMM_STAGE_CLAMP => stage.u.clamp = StageClamp { min: a, max: b },
        QGEMM_STAGE_TANH => stage.u.tanh = StageTanh { zero: a, amplitude: b },
        QGEMM_STAGE_LOGISTIC => {
            stage.u.logistic = StageLogistic { zero: a, amplitude: b, result_zero: c, result_amplitude: d };
        }
        QGEMM_STAGE_SCALE_F32 => {
            stage.u.scale_f32 = StageScaleF32 { scale: floats(u, blocks)?, offset_after: a };
        }
        QGEMM_STAGE_RESIDUAL | QGEMM_STAGE_RESIDUAL_F32 => {
            let (r#type, order) = (tag(u, 7)?, tag(u, 1)?);
            let stride = i64::from(number(u, &[0..=50])?);
            let block = Block::new(u, reach(rows, cols, stride, order, size_of_type(r#type)))?;
            let data: *const c_void = block.pointer();
            blocks.push(block);
            if kind == QGEMM_STAGE_RESIDUAL {
                let (exponent, rounding) = (number(u, &[-31..=30])?, tag(u, 2)?);
                let (zero_point, multiplier) = (a, u.arbitrary()?);
                stage.u.residual =
                    StageResidual { data, stride, r#type, order, zero_point, multiplier, exponent, rounding };
            } else {
                let (zero_point, scale) = (number(u, &[0..=0, -9..=9])?, u.arbitrary()?);
                stage.u.residual_f32 = StageResidualF32 { data, stride, r#type, order, zero_point, scale };
            }
        }
        QGEMM_STAGE_DEQUANTIZE => stage.u.dequantize = StageDequantize { scale: floats(u, blocks)? },
        QGEMM_STAGE_BIAS_F32 => stage.u.bias_f32 = StageBiasF32 { bias: floats(u, blocks)? },
        QGEMM_STAGE_CLAMP_F32 => stage.u.clamp_f32 = StageClampF32 { min: u.arbitrary()?, max: u.arbitrary()? },
        QGEMM_STAGE_QUANTIZE => {
            stage.u.quantize = StageQuantize { scale: floats(u, blocks)?, zero_point: a };
        }
        QGEMM_STAGE_MULTIPLY_F32 => stage.u.multiply_f32 = StageMultiplyF32 { scale: floats(u, blocks)? },
        QGEMM_STAGE_ACTIVATION_F32 => {
            let (alpha, beta) = (u.arbitrary()?, u.arbitrary()?);
            stage.u.activation_f32 = StageActivationF32 { function: tag(u, 13)?, alpha, beta };
        }
        QGEMM_STAGE_BINARY_F32 => {
            let (r#type, order, axis) = (tag(u, 7)?, tag(u, 1)?, tag(u, 3)?);
            let (stride, size) = (i64::from(number(u, &[0..=50])?), size_of_type(r#type));
            let line = |len: i64| (len >= 0).then(|| i128::from(len) * size);
            let room = match axis {
                QGEMM_UNIFORM => Some(size),
                QGEMM_PER_ROW => line(rows),
                QGEMM_PER_COL => line(cols),
                _ => reach(rows, cols, stride, order, size),
            };
            let block = Block::new(u, room)?;
            let data = block.pointer();
            blocks.push(block);
            let (zero_point, scale, operation) = (number(u, &[0..=0, -9..=9])?, u.arbitrary()?, tag(u, 6)?);
            stage.u.binary_f32 = StageBinaryF32 { data, stride, r#type, order, zero_point, scale, operation, axis };
        }
        QGEMM_STAGE_QUANTIZE_ZERO_FIRST => {
            stage.u.quantize_zero_first = StageQuantizeZeroFirst { scale: floats(u, blocks)?, zero_point: a };
        }
        QGEMM_STAGE_TABLE => {
            let block = Block::new(u, Some(256))?;
            let entries = block.pointer();
            blocks.push(block);
            stage.u.table = StageTable { entries, from_type: tag(u, 2)?, to_type: tag(u, 2)? };
        }
        _ => {}
    }
    Ok(stage)
}
