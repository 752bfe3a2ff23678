//! EightBitIntGemm with any arguments. A call that is right computes what its definition says; one that is wrong says
//! what is wrong with it; neither changes another byte. Of what A5B7 approximates only that is looked for.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use qgemm::{Status, qgemm_eight_bit_int_gemm_f32, qgemm_eight_bit_int_gemm_u8};
use qgemm_fuzz::{Matrix, Memory, Place, check_status, number, stride};

/// In one call, at most: the definition takes its time.
const MOST_MULTIPLICATIONS: i128 = 1 << 18;

/// The arguments, and what lies in memory. Triples are of a, b and c.
#[derive(Debug)]
struct Call {
    m: i32,
    n: i32,
    k: i32,
    transposed: [i32; 3],
    places: [Option<Place>; 3],
    strides: [i32; 3],
    offsets: [i32; 3],
    scaling: Scaling,
    bit_depth: u32,
    seed: u32,
}

#[derive(Clone, Copy, Debug)]
enum Scaling {
    U8 { mult_int: i32, shift: i32 },
    F32 { scale: f32 },
}

impl<'a> Arbitrary<'a> for Call {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut three = |usual| Ok([number(u, usual)?, number(u, usual)?, number(u, usual)?]);
        let [m, n, k] = three(&[1..=9, 1..=40, 0..=100])?;
        let mut call = Self {
            m,
            n,
            k,
            transposed: three(&[0..=1])?,
            strides: [0; 3],
            offsets: three(&[-255..=0, -999..=999])?,
            places: [Place::arbitrary(u, 0)?, Place::arbitrary(u, 1)?, Place::arbitrary(u, 2)?],
            scaling: match u.arbitrary()? {
                true => Scaling::U8 { mult_int: number(u, &[0..=9, -999..=999])?, shift: number(u, &[0..=31])? },
                false => Scaling::F32 { scale: u.arbitrary()? },
            },
            bit_depth: number(u, &[0..=1])? as u32,
            seed: u.arbitrary()?,
        };
        for (i, matrix) in call.matrices().iter().enumerate() {
            call.strides[i] = stride(u, matrix.len as i32)?;
        }
        // Now and then one lies in the block of another.
        let [a, b, c] = call.matrices();
        match u.int_in_range(0..=9)? {
            6 => call.places[1] = b.place_beside(u, &a)?,
            7 => call.places[2] = c.place_beside(u, &a)?,
            8..=9 => call.places[2] = c.place_beside(u, &b)?,
            _ => (),
        }
        Ok(call)
    }
}

impl Call {
    fn matrices(&self) -> [Matrix; 3] {
        let &Self { m, n, k, .. } = self;
        let c_size = if matches!(self.scaling, Scaling::U8 { .. }) { 1 } else { 4 };
        [self.matrix(0, m, k, 1), self.matrix(1, k, n, 1), self.matrix(2, m, n, c_size)]
    }

    fn matrix(&self, which: usize, rows: i32, cols: i32, element_size: usize) -> Matrix {
        let (runs, len) = if self.transposed[which] != 0 { (rows, cols) } else { (cols, rows) };
        let (place, stride) = (self.places[which], self.strides[which].into());
        Matrix { place, runs: runs.into(), len: len.into(), stride, element_size }
    }

    /// What is wrong, overlaps aside.
    fn faults(&self) -> Vec<Status> {
        let [a, b, c] = self.matrices();
        let is_negative = self.m < 0 || self.n < 0 || self.k < 0;
        let is_shifted_too_far = matches!(self.scaling, Scaling::U8 { shift, .. } if !(0..=31).contains(&shift));
        let mut faults = [a.faults(0), b.faults(0), c.faults(c.len)].concat();
        faults.extend(is_negative.then_some(Status::Shape));
        faults.extend(is_shifted_too_far.then_some(Status::ShiftRange));
        faults.extend((self.bit_depth > 1).then_some(Status::BitDepth));
        faults
    }

    fn multiplications(&self) -> i128 {
        i128::from(self.m) * i128::from(self.n) * i128::from(self.k)
    }

    /// Whether A5B7 multiplies fewer bits: where gemmlowp found that worth its while.
    fn is_approximate(&self) -> bool {
        let [m, n] = [self.m, self.n].map(i128::from);
        self.bit_depth == 1 && m * n >= (m + n) * 50
    }

    fn run(&self, memory: &mut Memory) -> Status {
        let &Self { m, n, k, bit_depth, .. } = self;
        let [a, b, c] = self.places.map(|place| memory.pointer(place));
        let ([ta, tb, tc], [lda, ldb, ldc]) = (self.transposed, self.strides);
        let [a_offset, b_offset, c_offset] = self.offsets;
        match self.scaling {
            // SAFETY: the memory holds the matrices, or the call is wrong and will not touch it.
            Scaling::U8 { mult_int, shift } => unsafe {
                qgemm_eight_bit_int_gemm_u8(
                    ta, tb, tc, m, n, k, a, a_offset, lda, b, b_offset, ldb, c, c_offset, mult_int, shift, ldc,
                    bit_depth,
                )
            },
            // SAFETY: as above.
            Scaling::F32 { scale } => unsafe {
                let c = c.cast();
                qgemm_eight_bit_int_gemm_f32(
                    ta, tb, tc, m, n, k, a, a_offset, lda, b, b_offset, ldb, c, scale, ldc, bit_depth,
                )
            },
        }
    }

    /// Writes what the definition says.
    fn define(&self, memory: &mut Memory) {
        let matrices = self.matrices();
        if matrices[2].is_empty() || self.k == 0 && matches!(self.scaling, Scaling::U8 { .. }) {
            return;
        }
        let runs = |which: usize, row, col| if self.transposed[which] != 0 { (row, col) } else { (col, row) };
        for (i, j) in (0..self.m.into()).flat_map(|i| (0..self.n.into()).map(move |j| (i, j))) {
            let mut number = |which: usize, row, col| {
                let (run, index) = runs(which, row, col);
                i32::from(memory.element(&matrices[which], run, index)[0]).wrapping_add(self.offsets[which])
            };
            let products = (0..self.k.into()).map(|l| number(0, i, l).wrapping_mul(number(1, l, j)));
            let sum = products.fold(0, i32::wrapping_add);
            let (run, index) = runs(2, i, j);
            let element = memory.element(&matrices[2], run, index);
            match self.scaling {
                Scaling::U8 { mult_int, shift } => {
                    element[0] = scaled_down(sum.wrapping_add(self.offsets[2]).wrapping_mul(mult_int), shift);
                }
                Scaling::F32 { scale } => element.copy_from_slice(&(sum as f32 * scale).to_ne_bytes()),
            }
        }
    }
}

/// Copies the elements of a matrix.
fn copy(matrix: &Matrix, from: &mut Memory, to: &mut Memory) {
    for (run, index) in (0..matrix.runs).flat_map(|run| (0..matrix.len).map(move |index| (run, index))) {
        to.element(matrix, run, index).copy_from_slice(from.element(matrix, run, index));
    }
}

/// x / 2^shift, to nearest, ties away from zero, as a byte holds it.
fn scaled_down(x: i32, shift: i32) -> u8 {
    let half = 1 << shift >> 1;
    let magnitude = (i64::from(x).abs() + half) >> shift;
    (magnitude * i64::from(x.signum())).clamp(0, 255) as u8
}

fuzz_target!(|call: Call| -> Corpus {
    let [a, b, c] = call.matrices();
    let mut memory = Memory::new(3, &[a, b, c], call.seed);
    let mut faults = call.faults();
    if faults.is_empty() {
        if !memory.holds(&[a, b, c]) || call.multiplications() > MOST_MULTIPLICATIONS {
            return Corpus::Reject;
        }
        faults.extend((c.overlaps(&a) || c.overlaps(&b)).then_some(Status::Overlap));
    }
    let mut expected = memory.clone();
    if faults.is_empty() {
        call.define(&mut expected);
    }
    check_status(call.run(&mut memory), &faults, &call);
    if faults.is_empty() && call.is_approximate() {
        copy(&c, &mut memory, &mut expected);
    }
    if let Some(difference) = memory.first_difference(&expected) {
        panic!("block, index, found, expected: {difference:?} after {call:#?}");
    }
    Corpus::Keep
});
