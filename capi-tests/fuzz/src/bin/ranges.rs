//! Tensors that are known by their ranges, and tables of 256 entries, with any arguments. Whatever they say, the calls return, touch
//! no memory but what they describe, and leave what they write as it was if they fail; if they succeed, two threads give the same
//! bytes, and so do the elements cut in two, where no range is found.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::{Block, number, real, size_of_type, tag, two_threads};
use std::ffi::c_void;
use std::ptr::null;

/// Elements at most.
const MOST_ELEMENTS: i64 = 1 << 13;

/// A range, most of the time around 0.
fn range(u: &mut Unstructured) -> Result<RealRange> {
    let (a, b) = (real(u)?, real(u)?);
    Ok(match u.int_in_range(0..=9)? {
        0..=5 => RealRange { min: -a, max: b },
        6 => RealRange { min: 0.0, max: b },
        7 => RealRange { min: -a, max: 0.0 },
        8 => RealRange { min: a.min(b), max: a.max(b) },
        _ => RealRange { min: b, max: -a },
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Function {
    Range,
    Requantize,
    QuantizeDown,
    AddTo32,
    AddBiasTo32,
    AddTo8,
    Table,
}

/// A number to which nothing was written.
const UNTOUCHED: f32 = 1234.5;

struct Call {
    function: Function,
    mode: u32,
    r#type: u32,
    flags: u32,
    rows: i64,
    size: i64,
    a: Block,
    a_range: RealRange,
    b: Block,
    b_range: RealRange,
    guess: Option<RealRange>,
    table: Block,
    c: Block,
}

/// What a call has written: elements, a range, and a count.
#[derive(Debug, PartialEq)]
struct Written(Option<Box<[u8]>>, [u32; 2], i32);

impl Call {
    fn arbitrary(u: &mut Unstructured) -> Result<Option<Self>> {
        use Function::*;
        let function = *u.choose(&[Range, Requantize, QuantizeDown, AddTo32, AddBiasTo32, AddTo8, Table])?;
        let size = i64::from(number(u, &[0..=40, 0..=400])?);
        let rows = if function == AddBiasTo32 { number(u, &[1..=5])?.into() } else { 1 };
        if size.max(1).saturating_mul(rows.max(1)) > MOST_ELEMENTS {
            return Ok(None);
        }
        let r#type = number(u, &[1..=3])? as u32;
        let (from, to) = match function {
            Range => (4, 0),
            Requantize | QuantizeDown => (4, size_of_type(r#type)),
            AddTo32 | AddBiasTo32 => (1, 4),
            AddTo8 | Table => (1, 1),
        };
        let elements = |count: i64, element| (count >= 0).then(|| i128::from(count) * element);
        let all = if rows < 0 || size < 0 { -1 } else { rows * size };
        let mut a = Block::new(u, elements(all, from))?;
        if from == 4 && u.ratio(3, 4)? {
            let shift = u.int_in_range(0..=31)?;
            for word in a.0.iter_mut().flat_map(|bytes| bytes.as_chunks_mut().0) {
                *word = (i32::from_ne_bytes(*word) >> shift).to_ne_bytes();
            }
        }
        let guess = if u.ratio(1, 2)? { Some(range(u)?) } else { None };
        Ok(Some(Self {
            function,
            mode: tag(u, 4)?,
            r#type,
            flags: tag(u, 3)?,
            rows,
            size,
            a,
            a_range: range(u)?,
            b: Block::new(u, elements(size, 1))?,
            b_range: range(u)?,
            guess,
            table: Block::new(u, Some(256))?,
            c: Block::new(u, elements(all, to))?,
        }))
    }

    fn run(&self, context: *const ContextHandle) -> (Status, Written) {
        let after = self.c.clone();
        let (mut found, mut passes) = (RealRange { min: UNTOUCHED, max: UNTOUCHED }, 77);
        let status = self.run_part(context, (0, self.size), &after, &mut found, &mut passes);
        (status, Written(after.0, [found.min, found.max].map(f32::to_bits), passes))
    }

    /// The elements from `first` on.
    fn run_part(
        &self,
        context: *const ContextHandle,
        (first, size): (usize, i64),
        after: &Block,
        found: &mut RealRange,
        passes: &mut i32,
    ) -> Status {
        fn part<T>(block: &Block, first: usize) -> *const T {
            let elements = block.pointer::<T>();
            if elements.is_null() { elements } else { elements.wrapping_add(first) }
        }
        let Self { mode, r#type, flags, rows, a_range, b_range, .. } = *self;
        let (sums, a, b) = (part::<i32>(&self.a, first), part::<u8>(&self.a, first), part::<u8>(&self.b, first));
        let codes: *mut c_void = match r#type {
            QGEMM_TYPE_S16 => part::<i16>(after, first).cast_mut().cast(),
            _ => part::<u8>(after, first).cast_mut().cast(),
        };
        let (c8, c32) = (part::<u8>(after, first).cast_mut(), part::<i32>(after, first).cast_mut());
        // SAFETY: every pointer is null or points at so many elements.
        unsafe {
            match self.function {
                Function::Range => qgemm_requantization_range_s32(context, sums, size, a_range, found),
                Function::Requantize => {
                    qgemm_requantize_s32(context, mode, sums, size, a_range, b_range, r#type, codes, found)
                }
                Function::QuantizeDown => {
                    qgemm_quantize_down_and_shrink_range(context, mode, sums, size, a_range, r#type, codes, found)
                }
                Function::AddTo32 => qgemm_add_8p8to32(context, mode, a, a_range, b, b_range, size, c32, found),
                Function::AddBiasTo32 => {
                    qgemm_bias_add_8p8to32(context, mode, a, a_range, b, b_range, rows, size, c32, found)
                }
                Function::AddTo8 => {
                    let guess = self.guess.as_ref().map_or(null(), |guess| guess);
                    qgemm_add_8p8to8(context, mode, a, a_range, b, b_range, size, guess, flags, c8, found, passes)
                }
                Function::Table => {
                    let table = self.table.pointer();
                    qgemm_table_apply(context, table, a.cast(), c8.cast(), size)
                }
            }
        }
    }

    /// Whether each element is what it is for itself.
    fn is_elementwise(&self) -> bool {
        matches!(self.function, Function::Requantize | Function::AddTo32 | Function::Table)
    }

    /// The same, cut in two.
    fn cut(&self) -> Written {
        let (after, mut found, mut passes) = (self.c.clone(), RealRange { min: UNTOUCHED, max: UNTOUCHED }, 77);
        let half = self.size / 2;
        for (first, size) in [(0, half), (half, self.size - half)] {
            let status = self.run_part(null(), (first as usize, size), &after, &mut found, &mut passes);
            assert_eq!(status, Status::Ok);
        }
        Written(after.0, [found.min, found.max].map(f32::to_bits), passes)
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(Some(call)) = Call::arbitrary(&mut Unstructured::new(bytes)) else { return Corpus::Reject };
    let (status, alone) = call.run(null());
    assert_ne!(status, Status::Internal);
    if status != Status::Ok {
        let before = Written(call.c.0.clone(), [UNTOUCHED.to_bits(); 2], 77);
        assert_eq!(alone, before, "{status:?} has changed what is written");
        return Corpus::Keep;
    }
    let (status, shared) = call.run(two_threads());
    assert_eq!((status, &shared), (Status::Ok, &alone), "two threads");
    if call.is_elementwise() {
        assert_eq!(call.cut(), alone, "cut in two");
    }
    Corpus::Keep
});
