//! Tables: functions of bytes, by their 256 values.

use crate::context::Context;
use crate::elements::{Elements, ElementsMut};
use crate::kernel::{LookUpLoop, TOGETHER};
use crate::matrix::Encoding;
use crate::quantize::Quantization;
use crate::range::ElementRange;
use std::ops::Range;

mod function;

pub use function::Function;

/// The value of each byte.
pub(crate) type Table = [u8; 256];

/// Bytes and the real numbers that they stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Code {
    pub encoding: Encoding,
    pub quantization: Quantization,
}

impl Code {
    /// (x - zero point) · scale, which is exact.
    fn real(&self, byte: u8) -> f64 {
        f64::from(self.encoding.decode(byte) - self.quantization.zero_point) * f64::from(self.quantization.scale)
    }

    /// y / scale, rounded to f64, and then to the nearest integer, ties to even; the zero point added; confined. NaN is the
    /// zero point.
    fn byte(&self, y: f64) -> u8 {
        let Quantization { scale, zero_point } = self.quantization;
        let ElementRange { least, greatest } = ElementRange::all(self.encoding);
        // `as` makes 0 of NaN.
        let nearest = (y / f64::from(scale)).round_ties_even().clamp(-1e6, 1e6) as i32;
        (nearest + zero_point).clamp(least, greatest) as u8
    }
}

/// The table of a function of real numbers.
pub(crate) fn build(from: &Code, to: &Code, mut of: impl FnMut(f64) -> f64) -> Table {
    let mut table = [0; 256];
    for (entry, byte) in table.iter_mut().zip(0..=255) {
        *entry = to.byte(of(from.real(byte)));
    }
    table
}

/// Looks up each byte, on as many threads as pays.
///
/// # Panics
/// If there are more of one than of the other.
pub(crate) fn apply(context: &Context, table: &Table, from: Elements<u8>, to: ElementsMut<u8>) {
    assert_eq!(from.len(), to.len(), "as many bytes come out as go in");
    let to = &to.past_caches(&from.runs());
    context.in_pieces(from.len(), 2, |range| context.kernel.vectors.run_look_up(table, Piece { from, to, range }));
}

/// What one thread looks up.
struct Piece<'a> {
    from: Elements<'a, u8>,
    to: &'a ElementsMut<'a, u8>,
    range: Range<usize>,
}

impl LookUpLoop for Piece<'_> {
    #[inline(always)]
    fn run(self, look_up: impl Fn(&mut [u8])) {
        let Self { from, to, range } = self;
        let mut i = range.start;
        while range.end - i >= TOGETHER {
            let mut bytes: [u8; TOGETHER] = from.chunk(i);
            look_up(&mut bytes);
            // SAFETY: the pieces of different threads are apart.
            unsafe { to.put(i, bytes) };
            i += TOGETHER;
        }
        let rest = &mut [0; TOGETHER][..range.end - i];
        from.read(i, rest, |byte| byte);
        look_up(rest);
        // SAFETY: as above.
        unsafe { to.write(i, rest, |byte| byte) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    fn code(encoding: Encoding, scale: f32, zero_point: i32) -> Code {
        Code { encoding, quantization: Quantization { scale, zero_point } }
    }

    #[test]
    fn every_kernel_agrees_and_every_number_of_threads() {
        let table: Table = std::array::from_fn(|i| (i * 37 + 11) as u8);
        let bytes: Vec<u8> = (0..600_000usize).map(|i| (i.wrapping_mul(i) >> 7) as u8 ^ i as u8).collect();
        for kernel in Kernel::available() {
            for (threads, len) in [(1, 0), (1, 256), (1, 1), (1, 127), (1, 129), (1, 511), (1, 1100), (3, 600_000)] {
                let mut got = bytes[..len].to_vec();
                let data = got.as_mut_ptr();
                // SAFETY: the vector has `len` elements.
                let (from, to) = unsafe { (Elements::from_raw(data, len), ElementsMut::from_raw(data, len)) };
                apply(&Context::new(kernel, threads), &table, from, to);
                let is_right = got.iter().zip(&bytes).all(|(&got, &byte)| got == table[usize::from(byte)]);
                assert!(is_right, "{} {threads} {len}", kernel.name);
                let mut far = vec![7; len];
                // SAFETY: there are `len` elements.
                let from = unsafe { Elements::from_raw(bytes.as_ptr(), len) };
                // SAFETY: as above.
                let to = unsafe { ElementsMut::from_raw(far.as_mut_ptr(), len) };
                apply(&Context::new(kernel, threads), &table, from, to.far());
                assert_eq!(far, got, "{} {threads} {len}, far", kernel.name);
            }
        }
    }

    #[test]
    fn entries_are_rounded_to_even_and_confined() {
        let (u8s, s8s) = (code(Encoding::U8, 0.5, 10), code(Encoding::S8, 1.0, -3));
        let same = build(&u8s, &s8s, |x| x);
        // (10 + n) stands for n / 2, whose ties go to even.
        assert_eq!([11, 12, 13, 15, 9, 7].map(|byte: usize| same[byte] as i8), [-3, -2, -1, -1, -3, -5]);
        assert_eq!(build(&s8s, &u8s, |_| f64::NAN), [10; 256]);
        assert_eq!(build(&s8s, &u8s, |_| f64::INFINITY), [255; 256]);
        assert_eq!(build(&s8s, &s8s, |_| -1e300), [0x80; 256]);
        // The entry of a byte, not of a number: that of -1 is the last.
        assert_eq!(build(&s8s, &s8s, |x| x)[255], 255);
    }
}
