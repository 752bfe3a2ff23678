//! Loading packed operands that are not what was saved. What is loaded in spite of that multiplies, can be saved, and
//! does not make anybody touch other memory.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use qgemm::*;
use qgemm_fuzz::pack_options;
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr::{NonNull, null, null_mut};

const HEADER: usize = 128;

/// Something to load, and for whom.
#[derive(Debug)]
struct Input {
    bytes: Vec<u8>,
    /// Whether it begins on a cache line.
    is_aligned: bool,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut bytes = if u.ratio(4, 5)? { saved(u)? } else { u.arbitrary()? };
        for _ in 0..u.int_in_range(0..=4)? {
            change(u, &mut bytes)?;
        }
        if u.ratio(9, 10)? {
            seal(&mut bytes);
        }
        Ok(Self { bytes, is_aligned: u.ratio(9, 10)? })
    }
}

/// What a real operand is saved as, in either form.
fn saved(u: &mut Unstructured) -> Result<Vec<u8>> {
    let (rows, cols) = (u.int_in_range(0..=20)?, u.int_in_range(0..=40)?);
    let data: Vec<u8> = (0..rows * cols).map(|i| (i * i % 251) as u8).collect();
    let offsets = [-3; 40];
    let side = *u.choose(&[QGEMM_LHS, QGEMM_RHS])?;
    let axis = if side == QGEMM_LHS { QGEMM_PER_ROW } else { QGEMM_PER_COL };
    let axis = *u.choose(&[QGEMM_UNIFORM, axis])?;
    let operand = RawOperand {
        data: data.as_ptr().cast(),
        rows: rows.into(),
        cols: cols.into(),
        r#type: *u.choose(&[QGEMM_TYPE_U8, QGEMM_TYPE_S8])?,
        order: u.int_in_range(0..=1)?,
        offset: I32Values { data: offsets.as_ptr(), len: 40, value: 7, axis },
        ..NOTHING
    };
    let options =
        PackOptions { result_order: u.int_in_range(0..=1)?, other_type: u.int_in_range(0..=2)?, ..pack_options(side) };
    let mut packed = null_mut();
    // SAFETY: the operand has as many elements and offsets as it says.
    assert_eq!(unsafe { qgemm_pack(&operand, &options, &mut packed) }, Status::Ok);
    let packed = Handle(packed);
    Ok(if u.arbitrary()? { packed.blob().to_vec() } else { packed.portable() })
}

/// Overwrites a few bytes, of the header as a rule, or takes some away, or adds some.
fn change(u: &mut Unstructured, bytes: &mut Vec<u8>) -> Result<()> {
    match u.int_in_range(0..=9)? {
        0 => bytes.truncate(u.choose_index(bytes.len() + 1)?),
        1 => bytes.extend(u.bytes(u.len().min(3))?),
        choice if !bytes.is_empty() => {
            let end = if choice < 8 { bytes.len().min(HEADER) } else { bytes.len() };
            let at = u.choose_index(end)?;
            let number: u64 = if u.arbitrary()? { u.int_in_range(0..=40)? } else { u.arbitrary()? };
            let len = *u.choose(&[1, 4, 8])?.min(&(bytes.len() - at));
            bytes[at..at + len].copy_from_slice(&number.to_le_bytes()[..len]);
        }
        _ => {}
    }
    Ok(())
}

/// Makes the checksums right, which nobody would ever guess.
fn seal(bytes: &mut [u8]) {
    if let Some((header, content)) = bytes.split_first_chunk_mut::<HEADER>() {
        header[120..124].copy_from_slice(&crc32(content).to_le_bytes());
        let checksum = crc32(&header[..124]);
        header[124..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// By definition.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32, _| crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), bit))
}

/// A copy of bytes that ends with its allocation.
struct Copy {
    memory: NonNull<u8>,
    layout: Layout,
    start: usize,
}

impl Copy {
    fn of(bytes: &[u8], is_aligned: bool) -> Self {
        let start = if is_aligned { 0 } else { 8 };
        let layout = Layout::from_size_align((start + bytes.len()).max(1), 64).expect("a small size");
        // SAFETY: the size is not 0.
        let memory = NonNull::new(unsafe { alloc(layout) }).expect("a little memory");
        // SAFETY: there are so many bytes from `start` on.
        unsafe { memory.as_ptr().add(start).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Self { memory, layout, start }
    }

    fn pointer(&self) -> *const c_void {
        self.memory.as_ptr().wrapping_add(self.start).cast()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: `of` allocated it so.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) }
    }
}

/// A packed operand that is freed in the end.
struct Handle(*mut PackedHandle);

impl Handle {
    fn blob(&self) -> &[u8] {
        let (mut bytes, mut size) = (null(), 0);
        // SAFETY: the operand is not freed yet.
        assert_eq!(unsafe { qgemm_packed_bytes(self.0, &mut bytes, &mut size) }, Status::Ok);
        // SAFETY: these are the operand's bytes.
        unsafe { std::slice::from_raw_parts(bytes.cast(), size) }
    }

    fn portable_size(&self) -> usize {
        let mut size = 0;
        // SAFETY: the operand is not freed yet.
        assert_eq!(unsafe { qgemm_packed_portable_size(self.0, &mut size) }, Status::Ok);
        size
    }

    fn portable(&self) -> Vec<u8> {
        let size = self.portable_size();
        let mut bytes = vec![0; size];
        // SAFETY: as above, and there are so many bytes.
        assert_eq!(unsafe { qgemm_packed_save_portable(self.0, bytes.as_mut_ptr().cast(), size) }, Status::Ok);
        bytes
    }

    /// Multiplies it by a matrix of as many lines as are given, with everything that could go wrong being looked for; by
    /// none if no memory could hold one, for an operand without lines may have any depth.
    fn multiply(&self, lines: usize) {
        // The header that the library made of it, not the one that was loaded.
        let header = self.portable();
        let number = |at: usize| u64::from_le_bytes(*header[at..].first_chunk().expect("a whole header")) as usize;
        let (is_lhs, is_col_major) = (header[17] == 1, header[18] == 1);
        let (own, depth) = (number(32), number(40));
        let lines = if depth > 1 << 24 { 0 } else { lines };
        let data = vec![0x81_u8; lines * depth];
        let (rows, cols) = if is_lhs { (depth, lines) } else { (lines, depth) };
        let other = RawOperand {
            data: data.as_ptr().cast(),
            rows: rows as i64,
            cols: cols as i64,
            r#type: QGEMM_TYPE_U8,
            offset: uniform(-5),
            ..NOTHING
        };
        let packed = RawOperand { packed: self.0, offset: uniform(9), ..NOTHING };
        let (lhs, rhs) = if is_lhs { (packed, other) } else { (other, packed) };
        let (rows, cols) = if is_lhs { (own, lines) } else { (lines, own) };
        let mut sums = vec![0; rows * cols];
        let mut multiply = |r#type| {
            let result = RawResult {
                struct_size: size_of::<RawResult>(),
                data: sums.as_mut_ptr().cast(),
                rows: rows as i64,
                cols: cols as i64,
                stride: 0,
                r#type,
                order: is_col_major.into(),
            };
            // SAFETY: the matrices have as many elements as they say, of 32 bits those of the result.
            unsafe { qgemm_gemm(null(), &lhs, &rhs, &result, null(), 0, null()) }
        };
        match multiply(QGEMM_TYPE_S32) {
            // A change of the header made groups with scales of it, whose sums are floats.
            Status::StageOrder => assert_eq!(multiply(QGEMM_TYPE_F32), Status::Ok),
            status => assert_eq!(status, Status::Ok),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: nobody has a copy.
        unsafe { qgemm_packed_free(self.0) }
    }
}

const NOTHING: RawOperand = RawOperand {
    struct_size: size_of::<RawOperand>(),
    data: null(),
    packed: null(),
    rows: 0,
    cols: 0,
    stride: 0,
    r#type: 0,
    order: 0,
    offset: uniform(0),
    least: 0,
    greatest: 0,
};

const fn uniform(value: i32) -> I32Values {
    I32Values { data: null(), len: 0, value, axis: QGEMM_UNIFORM }
}

fuzz_target!(|input: Input| {
    let copy = Copy::of(&input.bytes, input.is_aligned);
    let mut packed = null_mut();
    // SAFETY: there are so many bytes, and they outlive what is made of them.
    match unsafe { qgemm_packed_load(copy.pointer(), input.bytes.len(), &mut packed) } {
        Status::Ok => {}
        Status::Alignment if !input.is_aligned => return,
        Status::PackedDamaged | Status::PackedLayout => return,
        status => panic!("{status:?} for {input:?}"),
    }
    let packed = Handle(packed);
    // Lines without numbers, of which there may be any number, take a byte each.
    if packed.portable_size() > 1 << 24 {
        return;
    }
    packed.multiply(3);
    let portable = packed.portable();
    let again = Copy::of(&portable, true);
    let mut reloaded = null_mut();
    // SAFETY: as above.
    assert_eq!(unsafe { qgemm_packed_load(again.pointer(), portable.len(), &mut reloaded) }, Status::Ok);
    let reloaded = Handle(reloaded);
    assert_eq!(reloaded.portable(), portable);
    reloaded.multiply(9);
});
