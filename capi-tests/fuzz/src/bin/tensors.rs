//! The functions that quantize tensors, with any descriptors. Whatever they say, the calls return, touch no memory but what they
//! describe, and leave what they write as it was if they fail; if they succeed, two threads give the same bytes, and so do calls for
//! each channel by itself.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::{Block, floats, number, product, real, size_of_type, tag, two_threads, words};
use std::ffi::c_void;
use std::ptr::null;

/// Elements at most.
const MOST_ELEMENTS: i128 = 1 << 13;

/// What a tensor's values become.
#[derive(Clone, Copy, PartialEq)]
enum Function {
    Quantize,
    Dequantize,
    Requantize,
    MinMax,
    Choose,
}

struct Channels {
    function: Function,
    shape: [i64; 3],
    /// Types of integers, from and to.
    types: [u32; 2],
    rounding: u32,
    limits: [i32; 2],
    from: Block,
    /// What is read for each channel: scales, zero points of either side, multipliers, exponents.
    scales: Block,
    from_zeros: Block,
    to_zeros: Block,
    multipliers: Block,
    exponents: Block,
    /// What is written: elements, or two values for each channel.
    written: [Block; 2],
}

impl Channels {
    /// None if it is large.
    fn arbitrary(u: &mut Unstructured) -> Result<Option<Self>> {
        use Function::*;
        let function = *u.choose(&[Quantize, Dequantize, Requantize, MinMax, Choose])?;
        let shape = [number(u, &[1..=3, 0..=9])?, number(u, &[1..=1, 1..=9, 0..=70])?, number(u, &[0..=5, 1..=300])?];
        let shape = shape.map(i64::from);
        let count = product(&shape);
        if count.is_none_or(|count| count > MOST_ELEMENTS) || i128::from(shape[1]) > MOST_ELEMENTS {
            return Ok(None);
        }
        let types = [number(u, &[1..=4])? as u32, number(u, &[1..=4])? as u32];
        let of_type = |r#type| count.map(|count| count * size_of_type(r#type));
        let from = match function {
            Dequantize => Block::new(u, of_type(types[1]))?,
            Requantize => Block::new(u, of_type(types[0]))?,
            _ => floats(u, count)?,
        };
        let written = match function {
            Quantize | Requantize => [Block::new(u, of_type(types[1]))?, Block(None)],
            Dequantize => [Block::new(u, of_type(QGEMM_TYPE_F32))?, Block(None)],
            MinMax | Choose => {
                let values = Some(4 * i128::from(shape[1]));
                [Block::new(u, values)?, Block::new(u, values)?]
            }
        };
        let zero = |u: &mut Unstructured| number(u, &[0..=0, -128..=127, 0..=127]);
        let limits = if u.ratio(2, 3)? { [0, 0] } else { [number(u, &[-128..=10])?, number(u, &[10..=255])?] };
        Ok(Some(Self {
            function,
            shape,
            types,
            rounding: tag(u, if function == Requantize { 4 } else { 2 })?,
            limits,
            from,
            scales: words(u, shape[1], real)?,
            from_zeros: words(u, shape[1], zero)?,
            to_zeros: words(u, shape[1], zero)?,
            multipliers: words(u, shape[1], |u| number(u, &[0..=i32::MAX]))?,
            exponents: words(u, shape[1], |u| number(u, &[-31..=30]))?,
            written,
        }))
    }

    /// Runs it into copies of what is written, and gives these.
    fn run(&self, context: *const ContextHandle) -> (Status, [Block; 2]) {
        let after = self.written.clone();
        let status = self.run_part(context, self.shape, (0, 0), &after);
        (status, after)
    }

    /// The same for each run of elements of a channel by itself.
    fn one_by_one(&self) -> [Block; 2] {
        let after = self.written.clone();
        let [outer, channels, inner] = self.shape;
        for (o, channel) in (0..outer).flat_map(|o| (0..channels).map(move |channel| (o, channel))) {
            let first = (o * channels + channel) * inner;
            assert_eq!(self.run_part(null(), [1, 1, inner], (first as usize, channel as usize), &after), Status::Ok);
        }
        after
    }

    /// Runs it for a part of this shape, from the element `first` and the channel `channel` on.
    fn run_part(
        &self,
        context: *const ContextHandle,
        [outer, channels, inner]: [i64; 3],
        (first, channel): (usize, usize),
        after: &[Block; 2],
    ) -> Status {
        let shape = RawChannels { outer, channels, inner };
        let [least, greatest] = self.limits;
        let of_channel = |block: &Block| match block.pointer::<i32>() {
            values if values.is_null() => values,
            values => values.wrapping_add(channel),
        };
        let element = |block: &Block, r#type| -> *mut c_void {
            let bytes = block.pointer::<u8>();
            let bytes = if bytes.is_null() { bytes } else { bytes.wrapping_add(first * size_of_type(r#type) as usize) };
            bytes.cast_mut().cast()
        };
        let (scales, to_zeros) = (of_channel(&self.scales).cast::<f32>(), of_channel(&self.to_zeros));
        let quantization = RawQuantization {
            struct_size: size_of::<RawQuantization>(),
            r#type: self.types[1],
            rounding: self.rounding,
            scales,
            zero_points: to_zeros,
            least,
            greatest,
        };
        let real = |block: &Block| element(block, QGEMM_TYPE_F32).cast::<f32>();
        let values: [*mut i32; 2] = [&after[0], &after[1]].map(|block| of_channel(block).cast_mut());
        // SAFETY: every pointer is null or points at as many values as there are elements or channels.
        unsafe {
            match self.function {
                Function::Quantize => {
                    let to = element(&after[0], self.types[1]);
                    qgemm_quantize_f32(context, real(&self.from), to, &shape, &quantization)
                }
                Function::Dequantize => {
                    let from = element(&self.from, self.types[1]);
                    qgemm_dequantize(context, from, real(&after[0]), &shape, &quantization)
                }
                Function::Requantize => {
                    let requantization = RawRequantization {
                        struct_size: size_of::<RawRequantization>(),
                        from_type: self.types[0],
                        to_type: self.types[1],
                        arithmetic: self.rounding,
                        reserved: 0,
                        from_zero_points: of_channel(&self.from_zeros),
                        to_zero_points: to_zeros,
                        multipliers: of_channel(&self.multipliers),
                        exponents: of_channel(&self.exponents),
                        scales,
                        least,
                        greatest,
                    };
                    let (from, to) = (element(&self.from, self.types[0]), element(&after[0], self.types[1]));
                    qgemm_requantize(context, from, to, &shape, &requantization)
                }
                Function::MinMax => {
                    let [min, max] = values.map(|values| values.cast());
                    qgemm_min_max_f32(context, real(&self.from), &shape, min, max)
                }
                Function::Choose => {
                    let (from, [scales, zero_points]) = (real(&self.from), values);
                    let (scheme, r#type) = (self.rounding, self.types[1]);
                    let scales = scales.cast();
                    qgemm_choose_quantization_of(
                        context,
                        from,
                        &shape,
                        scheme,
                        r#type,
                        least,
                        greatest,
                        scales,
                        zero_points,
                    )
                }
            }
        }
    }

    fn check(&self) {
        let (status, alone) = self.run(null());
        assert_ne!(status, Status::Internal);
        let bytes = |blocks: &[Block; 2]| blocks.clone().map(|Block(bytes)| bytes);
        if status != Status::Ok {
            return assert_eq!(bytes(&alone), bytes(&self.written), "{status:?} has changed what is written");
        }
        let (status, shared) = self.run(two_threads());
        assert_eq!((status, bytes(&shared)), (Status::Ok, bytes(&alone)), "two threads");
        // What is found for a channel depends on all its elements.
        let is_found = matches!(self.function, Function::MinMax | Function::Choose);
        if !self.shape.contains(&0) && (!is_found || self.shape[0] == 1) {
            assert_eq!(bytes(&self.one_by_one()), bytes(&alone), "one by one");
        }
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(Some(call)) = Channels::arbitrary(&mut Unstructured::new(bytes)) else { return Corpus::Reject };
    call.check();
    Corpus::Keep
});
