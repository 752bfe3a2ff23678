//! One dimension of a filter on its way over images.

use crate::error::Error;

/// How a filter lies along one dimension, and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    /// How many elements the filter has.
    pub taps: usize,
    /// Pixels from one position of the filter to the next.
    pub stride: usize,
    /// Pixels from one tap to the next.
    pub dilation: usize,
    /// Pixels of padding before an image and after it.
    pub padding: [usize; 2],
}

/// Where the filter lies at one position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reach {
    /// The pixel under the first tap; before the image, if it is negative.
    pub start: i32,
    /// The first tap that lies on the image, and the first after it that does not. As many, if there are none.
    pub first: u32,
    pub end: u32,
}

/// Pixels are counted in 32 bits.
const MOST: usize = i32::MAX as usize;

impl Axis {
    /// How many positions the filter has on so many pixels: 0, if it is longer than they are with their padding. None if that cannot
    /// be counted in 32 bits.
    pub(crate) fn positions(&self, pixels: usize) -> Option<usize> {
        let [before, after] = self.padding;
        let padded = pixels.checked_add(before)?.checked_add(after).filter(|&padded| padded <= MOST)?;
        let last = (self.taps - 1).checked_mul(self.dilation).filter(|&last| last < MOST)?;
        Some(padded.checked_sub(last + 1).map_or(0, |left| left / self.stride + 1))
    }

    /// Where the filter lies at each of its positions.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub(super) fn reaches(&self, pixels: usize) -> Result<Vec<Reach>, Error> {
        let positions = self.positions(pixels).ok_or(Error::TooLarge { argument: "images" })?;
        let mut reaches = Vec::new();
        let bytes = positions.saturating_mul(size_of::<Reach>());
        reaches.try_reserve_exact(positions).map_err(|_| Error::OutOfMemory { bytes })?;
        reaches.extend((0..positions).map(|position| self.reach(position, pixels)));
        Ok(reaches)
    }

    /// The pixel under a tap, of so many; None beside them.
    #[inline(always)]
    pub(super) fn pixel(&self, position: usize, tap: usize, pixels: usize) -> Option<usize> {
        // Before the image that wraps around to more than there are.
        let pixel = (position * self.stride + tap * self.dilation).wrapping_sub(self.padding[0]);
        (pixel < pixels).then_some(pixel)
    }

    fn reach(&self, position: usize, pixels: usize) -> Reach {
        let at = position * self.stride;
        // Taps that lie before a pixel of the padded image.
        let before = |pixel: usize| pixel.saturating_sub(at).div_ceil(self.dilation).min(self.taps) as u32;
        let (first, end) = (before(self.padding[0]), before(self.padding[0] + pixels));
        Reach { start: at as i32 - self.padding[0] as i32, first, end }
    }
}

impl Reach {
    /// Whether some of so many taps lie beside the image.
    pub(super) fn is_padded(&self, taps: usize) -> bool {
        self.first > 0 || self.end < taps as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn taps_lie_where_the_definition_says(
            taps in 1usize..6, stride in 1usize..5, dilation in 1usize..5, padding in [0usize..9, 0usize..9], pixels in 0usize..9,
        ) {
            let axis = Axis { taps, stride, dilation, padding };
            let reaches = axis.reaches(pixels).unwrap();
            let fits = |position: usize| {
                position * stride + dilation * (taps - 1) < padding[0] + pixels + padding[1]
            };
            prop_assert_eq!(reaches.len(), (0..).take_while(|&position| fits(position)).count());
            for (position, reach) in reaches.iter().enumerate() {
                for tap in 0..taps {
                    let pixel = (position * stride + tap * dilation) as i64 - padding[0] as i64;
                    prop_assert_eq!(i64::from(reach.start) + (tap * dilation) as i64, pixel);
                    let is_inside = (0..pixels as i64).contains(&pixel);
                    prop_assert_eq!((reach.first..reach.end).contains(&(tap as u32)), is_inside, "{:?} {}", reach, tap);
                    prop_assert_eq!(axis.pixel(position, tap, pixels), is_inside.then_some(pixel as usize));
                }
            }
        }
    }

    #[test]
    fn what_32_bits_do_not_count_is_refused() {
        let axis = Axis { taps: 2, stride: 1, dilation: 1, padding: [0, 0] };
        assert_eq!(axis.positions(MOST), Some(MOST - 1));
        assert_eq!(axis.positions(MOST + 1), None);
        assert_eq!(Axis { padding: [usize::MAX, 1], ..axis }.positions(5), None);
        assert_eq!(Axis { padding: [MOST, 1], ..axis }.positions(0), None);
        assert_eq!(Axis { dilation: usize::MAX, taps: 3, ..axis }.positions(5), None);
        assert_eq!(Axis { dilation: MOST, ..axis }.positions(5), None);
        assert_eq!(Axis { dilation: MOST - 1, ..axis }.positions(5), Some(0));
    }
}
