//! The structs of a C call, plain: what differs is set by whoever makes it.

use qgemm::*;
use std::ptr::{null, null_mut};

/// A row-major matrix of unsigned bytes, without offset.
pub fn operand(data: &[u8], rows: usize, cols: usize) -> RawOperand {
    RawOperand {
        struct_size: size_of::<RawOperand>(),
        data: data.as_ptr().cast(),
        packed: null(),
        rows: rows as i64,
        cols: cols as i64,
        stride: 0,
        r#type: QGEMM_TYPE_U8,
        order: QGEMM_ROW_MAJOR,
        offset: uniform(0),
        least: 0,
        greatest: 0,
    }
}

/// What was packed, of whatever type.
pub fn packed(packed: *const PackedHandle) -> RawOperand {
    RawOperand { data: null(), packed, r#type: 0, ..operand(&[], 0, 0) }
}

pub fn uniform(value: i32) -> I32Values {
    I32Values { data: null(), len: 0, value, axis: QGEMM_UNIFORM }
}

/// For row-major results, in 8 bits.
pub fn pack_options(side: u32) -> PackOptions {
    PackOptions {
        struct_size: size_of::<PackOptions>(),
        side,
        result_order: QGEMM_ROW_MAJOR,
        other_type: QGEMM_TYPE_U8,
        bits: 8,
        memory: null_mut(),
        memory_size: 0,
        group_size: 0,
        scales: null(),
        zero_points: null(),
    }
}

/// Row-major, in as many bytes as its type needs.
pub fn result(data: &mut [u32], r#type: u32, rows: usize, cols: usize) -> RawResult {
    RawResult {
        struct_size: size_of::<RawResult>(),
        data: data.as_mut_ptr().cast(),
        rows: rows as i64,
        cols: cols as i64,
        stride: 0,
        r#type,
        order: QGEMM_ROW_MAJOR,
    }
}
