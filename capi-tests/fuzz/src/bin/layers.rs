//! qgemm_fully_connected and the BLAS-like products with any arguments. Whatever they say, the calls return, touch no memory but what
//! they describe, and leave the result as it was if they fail; if they succeed, a layer is the product that the header says it is,
//! and the sums of the others are those of the definition.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::{Block, number, options, reach, size_of_type, tag, two_threads, words};
use std::ffi::c_char;
use std::ptr::null;

/// In one call, at most.
const MOST_MULTIPLICATIONS: i128 = 1 << 16;

/// Three sizes whose product is not large. None if it is.
fn sizes(u: &mut Unstructured) -> Result<Option<[i64; 3]>> {
    let [m, n, k] = [number(u, &[0..=9, 1..=40])?, number(u, &[0..=9, 1..=40])?, number(u, &[0..=300])?];
    let sizes = [m, n, k].map(i64::from);
    let product = sizes.iter().map(|&size| i128::from(size.max(1))).product::<i128>();
    Ok((product <= MOST_MULTIPLICATIONS).then_some(sizes))
}

/// Where rows of this length begin: so many elements apart, most of the time.
fn stride(u: &mut Unstructured, len: i64) -> Result<i64> {
    Ok(if u.ratio(2, 3)? { len } else { number(u, &[0..=0, 0..=50, 300..=340])?.into() })
}

struct Connected {
    layer: Layer,
    batch: i64,
    input: Block,
    input_stride: i64,
    output: Block,
    output_stride: i64,
    /// Kept for the layer's pointers into them.
    _blocks: [Block; 4],
}

impl Connected {
    fn arbitrary(u: &mut Unstructured) -> Result<Option<Self>> {
        let Some([batch, units, depth]) = sizes(u)? else { return Ok(None) };
        let [weights_type, input_type] = [number(u, &[1..=2])? as u32, number(u, &[1..=2])? as u32];
        let output_type = number(u, &[1..=3])? as u32;
        let code = |u: &mut Unstructured| number(u, &[0..=0, -128..=127, 0..=255]);
        let strides = [stride(u, depth)?, stride(u, depth)?, stride(u, units)?];
        let [weights_stride, input_stride, output_stride] = strides;
        let weights = Block::new(u, reach(units, depth, weights_stride, QGEMM_ROW_MAJOR, 1))?;
        let multiplier_count = if u.ratio(1, 2)? { 1 } else { units };
        let bias = words(u, units, |u| Ok(u.arbitrary::<i32>()? >> 8))?;
        let multipliers = words(u, multiplier_count, |u| number(u, &[1 << 30..=i32::MAX]))?;
        let exponents = words(u, multiplier_count, |u| number(u, &[-20..=-4, -31..=30]))?;
        let [output_min, output_max] = if u.ratio(1, 2)? { [0, 127] } else { [code(u)?, code(u)?] };
        let layer = Layer {
            struct_size: size_of::<Layer>(),
            weights: weights.pointer(),
            packed: null(),
            units,
            depth,
            weights_stride,
            weights_type,
            input_type,
            output_type,
            rounding: tag(u, 2)?,
            weights_zero_point: code(u)?,
            input_zero_point: code(u)?,
            output_zero_point: code(u)?,
            output_min,
            output_max,
            reserved: 0,
            bias: if u.ratio(1, 4)? { null() } else { bias.pointer() },
            multipliers: multipliers.pointer(),
            exponents: exponents.pointer(),
            multiplier_count,
        };
        let input = Block::new(u, reach(batch, depth, input_stride, QGEMM_ROW_MAJOR, 1))?;
        let room = reach(batch, units, output_stride, QGEMM_ROW_MAJOR, size_of_type(output_type));
        let (output, blocks) = (Block::new(u, room)?, [weights, bias, multipliers, exponents]);
        Ok(Some(Self { layer, batch, input, input_stride, output, output_stride, _blocks: blocks }))
    }

    fn run(&self, context: *const ContextHandle) -> (Status, Block) {
        let after = self.output.clone();
        let (input, output) = (self.input.pointer(), after.pointer::<u8>().cast_mut().cast());
        let (batch, from, to) = (self.batch, self.input_stride, self.output_stride);
        // SAFETY: every pointer is null or points at as much as the layer and the strides say.
        let status = unsafe { qgemm_fully_connected(context, &self.layer, batch, input, from, output, to) };
        (status, after)
    }

    /// What the product gives that the layer is.
    fn product(&self) -> (Status, Block) {
        let Layer { units, depth, bias, multipliers, exponents, multiplier_count, .. } = self.layer;
        let uniform = |value| I32Values { data: null(), len: 0, value, axis: QGEMM_UNIFORM };
        let per_unit = |data: *const i32, len| I32Values { data, len, value: 0, axis: QGEMM_PER_COL };
        let of_units = |data: *const i32| match multiplier_count {
            // SAFETY: there is one.
            1 => uniform(unsafe { *data }),
            len => per_unit(data, len),
        };
        let operand = |data, (rows, cols), stride, r#type, order, zero_point: i32| RawOperand {
            struct_size: size_of::<RawOperand>(),
            data,
            packed: null(),
            rows,
            cols,
            stride,
            r#type,
            order,
            offset: uniform(zero_point.wrapping_neg()),
            least: 0,
            greatest: 0,
        };
        let Layer { input_type, weights_type, input_zero_point, weights_zero_point, .. } = self.layer;
        let (batch, from) = (self.batch, self.input_stride);
        let input = self.input.pointer();
        let lhs = operand(input, (batch, depth), from, input_type, QGEMM_ROW_MAJOR, input_zero_point);
        let (weights, stride) = (self.layer.weights, self.layer.weights_stride);
        let rhs = operand(weights, (depth, units), stride, weights_type, QGEMM_COL_MAJOR, weights_zero_point);
        let bias = if bias.is_null() { uniform(0) } else { per_unit(bias, units) };
        let (multiplier, exponent) = (of_units(multipliers), of_units(exponents));
        let Layer { output_zero_point: offset_after, rounding, output_min: min, output_max: max, .. } = self.layer;
        let stage = |kind, u| RawStage { kind, reserved: 0, u };
        let scale = StageScale { multiplier, exponent, offset_after, rounding };
        let stages = [
            stage(QGEMM_STAGE_BIAS, StageParameters { bias: StageBias { bias } }),
            stage(QGEMM_STAGE_SCALE, StageParameters { scale }),
            stage(QGEMM_STAGE_CLAMP, StageParameters { clamp: StageClamp { min, max } }),
            stage(QGEMM_STAGE_CAST_SATURATING, StageParameters { reserved: [0; 16] }),
        ];
        let after = self.output.clone();
        let result = RawResult {
            struct_size: size_of::<RawResult>(),
            data: after.pointer::<u8>().cast_mut().cast(),
            rows: batch,
            cols: units,
            stride: self.output_stride,
            r#type: self.layer.output_type,
            order: QGEMM_ROW_MAJOR,
        };
        // SAFETY: as for `run`.
        let status = unsafe { qgemm_gemm(null(), &lhs, &rhs, &result, stages.as_ptr(), stages.len(), &options(0)) };
        (status, after)
    }

    fn check(&self) {
        let (status, alone) = self.run(null());
        assert_ne!(status, Status::Internal);
        if status != Status::Ok {
            return assert_eq!(alone.0, self.output.0, "{status:?} has changed the result");
        }
        let (status, shared) = self.run(two_threads());
        assert_eq!((status, shared.0), (Status::Ok, alone.0.clone()), "two threads");
        if self.layer.multiplier_count > 0 {
            let (status, product) = self.product();
            assert_eq!((status, product.0), (Status::Ok, alone.0), "the product that it is");
        }
    }
}

/// A product with the arguments of BLAS.
struct Blas {
    /// Whether the elements are signed.
    signed: [bool; 2],
    transposed: [bool; 2],
    offsetc: c_char,
    sizes: [i64; 3],
    alpha: f32,
    beta: f32,
    zero_points: [u8; 2],
    strides: [i64; 3],
    a: Block,
    b: Block,
    c: Block,
    co: Block,
}

impl Blas {
    fn arbitrary(u: &mut Unstructured) -> Result<Option<Self>> {
        let Some([m, n, k]) = sizes(u)? else { return Ok(None) };
        let transposed = [u.arbitrary()?, u.arbitrary()?];
        let a = if transposed[0] { [k, m] } else { [m, k] };
        let b = if transposed[1] { [n, k] } else { [k, n] };
        let offsetc = *u.choose(b"FfCcRrFCRx")? as c_char;
        let offsets = match offsetc.cast_unsigned() {
            b'C' | b'c' => m,
            b'R' | b'r' => n,
            _ => 1,
        };
        let strides = [stride(u, a[1])?, stride(u, b[1])?, stride(u, n)?];
        // With a leading dimension of 0 nothing but an empty matrix is right.
        let room = |[rows, cols]: [i64; 2], stride: i64, size| match stride {
            0 => None,
            _ => reach(rows, cols, stride, QGEMM_ROW_MAJOR, size),
        };
        let factor = |u: &mut Unstructured| {
            Ok(match u.int_in_range(0..=5)? {
                0..=2 => 1.0,
                3 => 0.0,
                4 => u.int_in_range(-400..=400)? as f32 / 64.0,
                _ => f32::from_bits(u.arbitrary()?),
            })
        };
        Ok(Some(Self {
            signed: *u.choose(&[[false, true], [false, false], [true, true]])?,
            transposed,
            offsetc,
            sizes: [m, n, k],
            alpha: factor(u)?,
            beta: factor(u)?,
            zero_points: u.arbitrary()?,
            strides,
            a: Block::new(u, room(a, strides[0], 1))?,
            b: Block::new(u, room(b, strides[1], 1))?,
            c: Block::new(u, room([m, n], strides[2], 4))?,
            co: words(u, offsets, |u| u.arbitrary::<i32>())?,
        }))
    }

    fn run(&self) -> (Status, Block) {
        let after = self.c.clone();
        let [transa, transb] = self.transposed.map(|is| if is { b'T' } else { b'N' } as c_char);
        let ([m, n, k], [lda, ldb, ldc], [ao, bo]) = (self.sizes, self.strides, self.zero_points);
        let (alpha, beta, offsetc, co) = (self.alpha, self.beta, self.offsetc, self.co.pointer());
        let (a, b, c) = (self.a.pointer::<u8>(), self.b.pointer::<u8>(), after.pointer::<i32>().cast_mut());
        let [signed_ao, signed_bo] = [ao, bo].map(u8::cast_signed);
        let (signed_a, signed_b) = (a.cast(), b.cast());
        // SAFETY: every pointer is null or points at as much as the arguments say.
        let status = unsafe {
            match self.signed {
                [false, true] => qgemm_gemm_u8s8s32(
                    transa, transb, offsetc, m, n, k, alpha, a, lda, ao, signed_b, ldb, signed_bo, beta, c, ldc, co,
                ),
                [false, false] => qgemm_gemm_u8u8s32(
                    transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co,
                ),
                _ => qgemm_gemm_s8s8s32(
                    transa, transb, offsetc, m, n, k, alpha, signed_a, lda, signed_ao, signed_b, ldb, signed_bo, beta,
                    c, ldc, co,
                ),
            }
        };
        (status, after)
    }

    /// An element of a side, minus its zero point.
    fn element(&self, side: usize, row: i64, col: i64) -> i32 {
        let (row, col) = if self.transposed[side] { (col, row) } else { (row, col) };
        let bytes = [&self.a, &self.b][side].0.as_deref().unwrap();
        let [element, zero_point] = [bytes[(row * self.strides[side] + col) as usize], self.zero_points[side]];
        match self.signed[side] {
            true => i32::from(element.cast_signed()) - i32::from(zero_point.cast_signed()),
            false => i32::from(element) - i32::from(zero_point),
        }
    }

    /// What the header says an element of the result is.
    fn sum(&self, row: i64, col: i64, before: i32) -> i32 {
        let products = (0..self.sizes[2]).map(|l| self.element(0, row, l).wrapping_mul(self.element(1, l, col)));
        let sum = products.fold(0_i32, i32::wrapping_add);
        let at = match self.offsetc.cast_unsigned() {
            b'C' | b'c' => row,
            b'R' | b'r' => col,
            _ => 0,
        };
        let offsets = self.co.0.as_ref().map(|bytes| bytes.as_chunks::<4>().0);
        let offset = offsets.map_or(0, |words| i32::from_ne_bytes(words[at as usize]));
        let is_whole = self.alpha == 1.0 && [0.0, 1.0].contains(&self.beta);
        match (is_whole, self.beta == 0.0) {
            (true, true) => sum.wrapping_add(offset),
            (true, false) => sum.wrapping_add(before).wrapping_add(offset),
            _ => {
                let before = if self.beta == 0.0 { 0.0 } else { f64::from(self.beta) * f64::from(before) };
                (f64::from(self.alpha) * f64::from(sum) + before + f64::from(offset)).round_ties_even() as i32
            }
        }
    }

    fn check(&self) {
        let (status, after) = self.run();
        assert_ne!(status, Status::Internal);
        let mut expected = self.c.0.clone();
        if let (Status::Ok, Some(bytes)) = (status, &mut expected) {
            let [m, n, _] = self.sizes;
            for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
                let word = &mut bytes.as_chunks_mut::<4>().0[(row * self.strides[2] + col) as usize];
                *word = self.sum(row, col, i32::from_ne_bytes(*word)).to_ne_bytes();
            }
        }
        assert_eq!(after.0, expected, "{status:?}");
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let u = &mut Unstructured::new(bytes);
    if u.ratio(1, 2).unwrap_or(false) {
        let Ok(Some(layer)) = Connected::arbitrary(u) else { return Corpus::Reject };
        layer.check();
    } else {
        let Ok(Some(product)) = Blas::arbitrary(u) else { return Corpus::Reject };
        product.check();
    }
    Corpus::Keep
});
