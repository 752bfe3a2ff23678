//! The last step of all ways: integers become codes.

use crate::code::Code;
use std::marker::PhantomData;

/// A zero point, and what codes are confined to.
#[derive(Clone, Copy)]
pub(super) struct Codes<T> {
    zero_point: i32,
    least: i32,
    greatest: i32,
    codes: PhantomData<T>,
}

impl<T: Code> Codes<T> {
    pub(super) fn new(zero_point: i32, least: i32, greatest: i32) -> Self {
        Self { zero_point, least, greatest, codes: PhantomData }
    }

    /// Always inlined; see [`crate::kernel::Loop::run`].
    #[inline(always)]
    pub(super) fn of<const N: usize>(&self, numbers: [i32; N]) -> [T; N] {
        let mut codes = [T::of(0); N];
        if T::GREATEST > 255 {
            for i in 0..N {
                let code = numbers[i].wrapping_add(self.zero_point);
                codes[i] = T::of(code.max(self.least).min(self.greatest));
            }
            return codes;
        }
        // First of 16 bits, then of 8: as vectors are packed. What saturates is far from all codes.
        let mut words = [0i16; N];
        for i in 0..N {
            words[i] = numbers[i].clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        }
        let (zero_point, least, greatest) = (self.zero_point as i16, T::of(self.least), T::of(self.greatest));
        for i in 0..N {
            let code = words[i].saturating_add(zero_point).max(T::LEAST as i16).min(T::GREATEST as i16);
            codes[i] = T::of(code.into()).max(least).min(greatest);
        }
        codes
    }
}
