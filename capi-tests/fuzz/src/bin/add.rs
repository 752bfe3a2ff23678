//! qgemm_add_nd with any parameters, sizes and strides. Whatever they say, the call returns, touches no memory but what they
//! describe, and leaves the result as it was if it fails; if it succeeds, the elements are those that qgemm_add gives side by side,
//! and two threads give the same bytes.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::*;
use qgemm_fuzz::{Block, number, product, real, size_of_type, tag, two_threads};
use std::ptr::null;

/// Dimensions at most, one too many among them.
const MOST_DIMENSIONS: usize = 9;
/// Elements of a result at most.
const MOST_ELEMENTS: i128 = 1 << 12;

/// Calls with the same parameters.
const CALLS: usize = 4;

/// A tensor as a caller describes it.
struct Tensor {
    strides: Option<[i64; MOST_DIMENSIONS]>,
    block: Block,
}

impl Tensor {
    fn arbitrary(u: &mut Unstructured, sizes: &[i64], element: i128, may_be_broadcast: bool) -> Result<Self> {
        let mut strides = [0; MOST_DIMENSIONS];
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        if u.ratio(1, 3)? {
            for i in 1..order.len() {
                order.swap(i, u.int_in_range(0..=i)?);
            }
        }
        let mut next = 1_i64;
        for &dimension in order.iter().rev() {
            let stride = next.saturating_add(if u.ratio(1, 4)? { u.int_in_range(0..=5)? } else { 0 });
            let is_broadcast = may_be_broadcast && u.ratio(1, 5)?;
            strides[dimension] = if is_broadcast { 0 } else { stride };
            if !is_broadcast {
                next = stride.saturating_mul(sizes[dimension].max(1));
            }
            if u.ratio(1, 60)? {
                strides[dimension] = number(u, &[0..=9, 0..=60])?.into();
            }
        }
        let strides = (!u.ratio(1, 4)?).then_some(strides);
        let reach = reach(sizes, strides.as_ref());
        Ok(Self { strides, block: Block::new(u, reach.map(|elements| elements * element))? })
    }

    fn strides(&self) -> *const i64 {
        self.strides.as_ref().map_or(null(), |strides| strides.as_ptr())
    }

    /// How many elements before the one at these indices.
    fn at(&self, sizes: &[i64], indices: &[i64]) -> usize {
        match &self.strides {
            Some(strides) => indices.iter().zip(strides).map(|(i, stride)| i * stride).sum::<i64>() as usize,
            None => indices.iter().zip(sizes).fold(0, |at, (i, size)| at * size + i) as usize,
        }
    }
}

/// Elements from the first to the last. None if no call may take that.
fn reach(sizes: &[i64], strides: Option<&[i64; MOST_DIMENSIONS]>) -> Option<i128> {
    if sizes.iter().any(|&size| size < 0) {
        return None;
    }
    if sizes.contains(&0) {
        return Some(0);
    }
    match strides {
        None => product(sizes),
        Some(strides) => {
            let used = || sizes.iter().zip(strides).filter(|(size, _)| **size > 1);
            if used().any(|(_, &stride)| stride < 0) {
                return None;
            }
            Some(1 + used().map(|(&size, &stride)| i128::from(size - 1) * i128::from(stride)).sum::<i128>())
        }
    }
}

struct Call {
    parameters: AddParameters,
    rank: i32,
    sizes: Vec<i64>,
    element: usize,
    a: Tensor,
    b: Tensor,
    c: Tensor,
}

/// What qgemm_add_prepare finds, or something else. None if it refuses.
fn parameters(u: &mut Unstructured) -> Result<Option<AddParameters>> {
    let r#type = number(u, &[1..=3])? as u32;
    let mode = tag(u, 4)?;
    let code = |u: &mut Unstructured| number(u, &[0..=0, -128..=127, 0..=255]);
    let [c_least, c_greatest] = if u.ratio(1, 2)? { [0, 0] } else { [code(u)?, code(u)?] };
    let options = AddOptions {
        struct_size: size_of::<AddOptions>(),
        r#type,
        mode,
        a_scale: real(u)?,
        a_zero_point: code(u)?,
        b_scale: real(u)?,
        b_zero_point: code(u)?,
        c_scale: real(u)?,
        c_zero_point: code(u)?,
        c_least,
        c_greatest,
        flags: tag(u, 1)?,
        reserved: 0,
    };
    let (zero_points, multipliers, shifts) = ([0; 3], [0; 3], [0; 3]);
    let mut parameters =
        AddParameters { r#type, mode, zero_points, multipliers, shifts, least: 0, greatest: 0, form: 0 };
    // SAFETY: both are where they should be.
    let status = unsafe { qgemm_add_prepare(&options, &mut parameters) };
    assert_ne!(status, Status::Internal);
    // What a caller has changed is checked again, or gives some sum.
    if u.ratio(1, 10)? {
        let i = u.int_in_range(0..=2)?;
        match u.int_in_range(0..=5)? {
            0 => parameters.zero_points[i] = u.arbitrary()?,
            1 => parameters.multipliers[i] = u.arbitrary()?,
            2 => parameters.shifts[i] = number(u, &[-40..=40])?,
            3 => parameters.least = u.arbitrary()?,
            4 => parameters.greatest = u.arbitrary()?,
            _ => parameters.form = tag(u, 3)?,
        }
    } else if status != Status::Ok {
        return Ok(None);
    }
    Ok(Some(parameters))
}

impl Call {
    /// None if it is large.
    fn arbitrary(u: &mut Unstructured, parameters: AddParameters) -> Result<Option<Self>> {
        let rank = number(u, &[0..=3, 0..=8])?;
        let sizes = (0..rank.clamp(0, MOST_DIMENSIONS as i32)).map(|_| Ok(number(u, &[1..=4, 0..=70])?.into()));
        let sizes: Vec<i64> = sizes.collect::<Result<_>>()?;
        if product(&sizes).is_none_or(|count| count > MOST_ELEMENTS) {
            return Ok(None);
        }
        let element = size_of_type(parameters.r#type);
        let [a, b] = [Tensor::arbitrary(u, &sizes, element, true)?, Tensor::arbitrary(u, &sizes, element, true)?];
        let c = Tensor::arbitrary(u, &sizes, element, false)?;
        Ok(Some(Self { parameters, rank, sizes, element: element as usize, a, b, c }))
    }

    /// Adds into a result that begins as `c`, and gives what became of it.
    fn run(&self, context: *const ContextHandle) -> (Status, Block) {
        let after = self.c.block.clone();
        let (sizes, to) = (self.sizes.as_ptr(), after.pointer::<u8>().cast_mut().cast());
        let (a, b, c) = (self.a.strides(), self.b.strides(), self.c.strides());
        let (from_a, from_b) = (self.a.block.pointer(), self.b.block.pointer());
        // SAFETY: every pointer is null or points at as much as sizes and strides say.
        let status = unsafe { qgemm_add_nd(context, &self.parameters, self.rank, sizes, from_a, a, from_b, b, to, c) };
        (status, after)
    }

    /// What becomes of it if the elements are laid side by side, and added so.
    fn side_by_side(&self) -> Block {
        let mut after = self.c.block.clone();
        if self.sizes.contains(&0) {
            return after;
        }
        let gathered = |tensor: &Tensor| -> Vec<u8> {
            let bytes = tensor.block.0.as_deref().unwrap_or_default();
            self.places(tensor).flat_map(|place| &bytes[place..place + self.element]).copied().collect()
        };
        let [a, b] = [&self.a, &self.b].map(gathered);
        let mut c = vec![0; a.len()];
        let count = (a.len() / self.element) as i64;
        let (from_a, from_b) = (a.as_ptr().cast(), b.as_ptr().cast());
        // SAFETY: all have so many elements.
        let status = unsafe { qgemm_add(null(), &self.parameters, from_a, from_b, count, c.as_mut_ptr().cast()) };
        assert_eq!(status, Status::Ok);
        let bytes = after.0.as_deref_mut().unwrap_or_default();
        for (place, sum) in self.places(&self.c).zip(c.chunks(self.element)) {
            bytes[place..place + self.element].copy_from_slice(sum);
        }
        after
    }

    fn check(&self) {
        let (status, alone) = self.run(null());
        assert_ne!(status, Status::Internal);
        if status != Status::Ok {
            return assert_eq!(alone.0, self.c.block.0, "{status:?} has changed the result");
        }
        assert_eq!(alone.0, self.side_by_side().0, "side by side");
        let (status, shared) = self.run(two_threads());
        assert_eq!((status, shared.0), (Status::Ok, alone.0), "two threads");
    }

    /// Where each element begins, row-major.
    fn places<'a>(&'a self, tensor: &'a Tensor) -> impl Iterator<Item = usize> + 'a {
        (0..self.sizes.iter().product()).map(move |mut number: i64| {
            let mut indices = vec![0; self.sizes.len()];
            for (index, size) in indices.iter_mut().zip(&self.sizes).rev() {
                (*index, number) = (number % size, number / size);
            }
            self.element * tensor.at(&self.sizes, &indices)
        })
    }
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let u = &mut Unstructured::new(bytes);
    let Ok(Some(parameters)) = parameters(u) else { return Corpus::Reject };
    // To find them takes long.
    for _ in 0..CALLS {
        let Ok(Some(call)) = Call::arbitrary(u, parameters) else { return Corpus::Reject };
        call.check();
    }
    Corpus::Keep
});
