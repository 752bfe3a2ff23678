//! Elements of several types, read as words and written from them.

use crate::elements::{CHUNK, Elements, ElementsMut};
use crate::matrix::{Encoding, Runs};

/// What words are read from.
pub(crate) trait Read: Sync + Copy {
    /// Where its bytes lie.
    fn runs(&self) -> Runs;

    /// Bytes that an element takes.
    fn element(&self) -> usize;

    /// Reads so many elements, from index `i` on. Always inlined.
    fn read(&self, i: usize, words: &mut [i32]);

    /// As [`Elements::fetch_ahead`]. Always inlined.
    fn fetch_ahead(&self, i: usize);

    /// As [`Elements::fetch`], of as many elements as go together. Always inlined.
    fn fetch(&self, i: usize);
}

/// What words are written to.
pub(crate) trait Write: Sync {
    /// The same elements once more.
    fn again(&self) -> Self;

    /// As [`ElementsMut::near`].
    fn near(&self) -> Self;

    /// As [`ElementsMut::past_caches`].
    fn past_caches(self, from: &Runs) -> Self;

    /// Bytes that an element takes.
    fn element(&self) -> usize;

    /// Whether they are written past the caches.
    fn is_far(&self) -> bool;

    /// Writes so many elements, from index `i` on; of integers the low bits. Always inlined.
    ///
    /// # Safety
    /// No other thread uses them meanwhile.
    unsafe fn write(&self, i: usize, words: &[i32]);
}

/// Integers of some type to read.
#[derive(Clone, Copy)]
pub(crate) enum Integers<'a> {
    U8(Elements<'a, u8>),
    I8(Elements<'a, i8>),
    I16(Elements<'a, i16>),
    I32(Elements<'a, i32>),
}

impl<'a> Integers<'a> {
    /// Where their bytes lie.
    pub(crate) fn runs(&self) -> Runs {
        match self {
            Self::U8(elements) => elements.runs(),
            Self::I8(elements) => elements.runs(),
            Self::I16(elements) => elements.runs(),
            Self::I32(elements) => elements.runs(),
        }
    }

    /// Those of 8 bits, as bytes, and how they are encoded.
    pub(super) fn bytes(&self) -> Option<(Elements<'a, u8>, Encoding)> {
        match self {
            Self::U8(elements) => Some((*elements, Encoding::U8)),
            Self::I8(elements) => Some((elements.bytes(), Encoding::S8)),
            Self::I16(_) | Self::I32(_) => None,
        }
    }
}

impl Read for Integers<'_> {
    fn runs(&self) -> Runs {
        Integers::runs(self)
    }

    fn element(&self) -> usize {
        match self {
            Self::U8(_) | Self::I8(_) => 1,
            Self::I16(_) => 2,
            Self::I32(_) => 4,
        }
    }

    #[inline(always)]
    fn read(&self, i: usize, words: &mut [i32]) {
        match self {
            Self::U8(elements) => elements.read(i, words, i32::from),
            Self::I8(elements) => elements.read(i, words, i32::from),
            Self::I16(elements) => elements.read(i, words, i32::from),
            Self::I32(elements) => elements.read(i, words, |x| x),
        }
    }

    #[inline(always)]
    fn fetch_ahead(&self, i: usize) {
        match self {
            Self::U8(elements) => elements.fetch_ahead(i),
            Self::I8(elements) => elements.fetch_ahead(i),
            Self::I16(elements) => elements.fetch_ahead(i),
            Self::I32(elements) => elements.fetch_ahead(i),
        }
    }

    #[inline(always)]
    fn fetch(&self, i: usize) {
        match self {
            Self::U8(elements) => elements.fetch(i, CHUNK),
            Self::I8(elements) => elements.fetch(i, CHUNK),
            Self::I16(elements) => elements.fetch(i, CHUNK),
            Self::I32(elements) => elements.fetch(i, CHUNK),
        }
    }
}

impl Read for Elements<'_, f32> {
    fn runs(&self) -> Runs {
        Elements::runs(self)
    }

    fn element(&self) -> usize {
        4
    }

    #[inline(always)]
    fn read(&self, i: usize, words: &mut [i32]) {
        Elements::read(self, i, words, |x| x.to_bits() as i32);
    }

    #[inline(always)]
    fn fetch_ahead(&self, i: usize) {
        Elements::fetch_ahead(self, i);
    }

    #[inline(always)]
    fn fetch(&self, i: usize) {
        Elements::fetch(self, i, CHUNK);
    }
}

/// Integers of some type to write.
pub(crate) enum IntegersMut<'a> {
    U8(ElementsMut<'a, u8>),
    I8(ElementsMut<'a, i8>),
    I16(ElementsMut<'a, i16>),
}

impl<'a> From<ElementsMut<'a, u8>> for IntegersMut<'a> {
    fn from(elements: ElementsMut<'a, u8>) -> Self {
        Self::U8(elements)
    }
}

impl<'a> From<ElementsMut<'a, i8>> for IntegersMut<'a> {
    fn from(elements: ElementsMut<'a, i8>) -> Self {
        Self::I8(elements)
    }
}

impl<'a> From<ElementsMut<'a, i16>> for IntegersMut<'a> {
    fn from(elements: ElementsMut<'a, i16>) -> Self {
        Self::I16(elements)
    }
}

impl<'a> IntegersMut<'a> {
    /// Where their bytes lie.
    pub(crate) fn runs(&self) -> Runs {
        match self {
            Self::U8(elements) => elements.runs(),
            Self::I8(elements) => elements.runs(),
            Self::I16(elements) => elements.runs(),
        }
    }

    /// Those of 8 bits, as bytes.
    pub(super) fn bytes(&self) -> Option<ElementsMut<'a, u8>> {
        match self {
            Self::U8(elements) => Some(elements.again()),
            Self::I8(elements) => Some(elements.bytes()),
            Self::I16(_) => None,
        }
    }
}

impl Write for IntegersMut<'_> {
    #[inline(always)]
    fn again(&self) -> Self {
        match self {
            Self::U8(elements) => Self::U8(elements.again()),
            Self::I8(elements) => Self::I8(elements.again()),
            Self::I16(elements) => Self::I16(elements.again()),
        }
    }

    #[inline(always)]
    fn near(&self) -> Self {
        match self {
            Self::U8(elements) => Self::U8(elements.near()),
            Self::I8(elements) => Self::I8(elements.near()),
            Self::I16(elements) => Self::I16(elements.near()),
        }
    }

    fn past_caches(self, from: &Runs) -> Self {
        match self {
            Self::U8(elements) => Self::U8(elements.past_caches(from)),
            Self::I8(elements) => Self::I8(elements.past_caches(from)),
            Self::I16(elements) => Self::I16(elements.past_caches(from)),
        }
    }

    fn element(&self) -> usize {
        match self {
            Self::U8(_) | Self::I8(_) => 1,
            Self::I16(_) => 2,
        }
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        match self {
            Self::U8(elements) => elements.is_far(),
            Self::I8(elements) => elements.is_far(),
            Self::I16(elements) => elements.is_far(),
        }
    }

    #[inline(always)]
    unsafe fn write(&self, i: usize, words: &[i32]) {
        // SAFETY: this function's own promise, for each.
        unsafe {
            match self {
                Self::U8(elements) => elements.write(i, words, |x| x as u8),
                Self::I8(elements) => elements.write(i, words, |x| x as i8),
                Self::I16(elements) => elements.write(i, words, |x| x as i16),
            }
        }
    }
}

impl Write for ElementsMut<'_, f32> {
    #[inline(always)]
    fn again(&self) -> Self {
        ElementsMut::again(self)
    }

    #[inline(always)]
    fn near(&self) -> Self {
        ElementsMut::near(self)
    }

    fn past_caches(self, from: &Runs) -> Self {
        ElementsMut::past_caches(self, from)
    }

    fn element(&self) -> usize {
        4
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        ElementsMut::is_far(self)
    }

    #[inline(always)]
    unsafe fn write(&self, i: usize, words: &[i32]) {
        // SAFETY: this function's own promise.
        unsafe { ElementsMut::write(self, i, words, |x| f32::from_bits(x as u32)) }
    }
}

impl Write for ElementsMut<'_, u8> {
    #[inline(always)]
    fn again(&self) -> Self {
        ElementsMut::again(self)
    }

    #[inline(always)]
    fn near(&self) -> Self {
        ElementsMut::near(self)
    }

    fn past_caches(self, from: &Runs) -> Self {
        ElementsMut::past_caches(self, from)
    }

    fn element(&self) -> usize {
        1
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        ElementsMut::is_far(self)
    }

    #[inline(always)]
    unsafe fn write(&self, i: usize, words: &[i32]) {
        // SAFETY: this function's own promise.
        unsafe { ElementsMut::write(self, i, words, |x| x as u8) }
    }
}
