//! Where a filter lies on images of one size.

use super::{Filter, Reach};
use crate::error::Error;

/// A filter on images of one size. It knows pixels by their numbers, not by their addresses.
pub(crate) struct Plan {
    filter: Filter,
    images: Images,
    /// Vertical and horizontal: together they say where each tap of each position lies, so that no table needs an entry for each.
    reaches: [Vec<Reach>; 2],
    /// Products that each result is the sum of.
    depth: usize,
    /// Whether any tap lies beside an image.
    is_padded: bool,
}

/// A position of the filter.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub image: usize,
    pub y: usize,
    pub x: usize,
}

/// How many images, and how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Images {
    pub count: usize,
    /// Height and width, in pixels.
    pub size: [usize; 2],
}

impl Images {
    /// All pixels. None if they cannot be counted.
    pub(crate) fn pixels(&self) -> Option<usize> {
        self.count.checked_mul(self.size[0])?.checked_mul(self.size[1])
    }
}

impl Plan {
    /// # Errors
    /// [`Error::TooLarge`], [`Error::OutOfMemory`].
    pub(crate) fn new(filter: Filter, images: Images) -> Result<Self, Error> {
        let [height, width] = images.size;
        // All that is counted later.
        let positions = |axis: usize| filter.axes[axis].positions(images.size[axis]).unwrap_or(usize::MAX);
        let results = Images { count: images.count, size: [positions(0), positions(1)] };
        let is_countable = images.pixels().is_some_and(|pixels| pixels <= isize::MAX as usize)
            && results.pixels().is_some_and(|positions| positions <= isize::MAX as usize);
        let Some(depth) = filter.depth().filter(|_| is_countable) else {
            return Err(Error::TooLarge { argument: "images" });
        };
        let reaches = [filter.axes[0].reaches(height)?, filter.axes[1].reaches(width)?];
        let is_padded = |axis: usize| {
            let taps = filter.axes[axis].taps;
            reaches[axis].iter().any(|reach| reach.is_padded(taps))
        };
        let is_padded = results.pixels() != Some(0) && (is_padded(0) || is_padded(1));
        Ok(Self { filter, images, reaches, depth, is_padded })
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(crate) fn images(&self) -> &Images {
        &self.images
    }

    /// The images that the convolution gives.
    pub(crate) fn results(&self) -> Images {
        Images { count: self.images.count, size: [self.reaches[0].len(), self.reaches[1].len()] }
    }

    /// How many positions the filter has on all images.
    pub(crate) fn positions(&self) -> usize {
        let Images { count, size: [height, width] } = self.results();
        count * height * width
    }

    /// The position of this number.
    pub(crate) fn place(&self, position: usize) -> Place {
        let [height, width] = self.results().size;
        let (row, x) = (position / width, position % width);
        Place { image: row / height, y: row % height, x }
    }

    /// Goes on by so many positions, no more than are left in a row.
    #[inline(always)]
    pub(crate) fn advance(&self, place: &mut Place, positions: usize) {
        let [rows, cols] = self.reaches();
        place.x += positions;
        if place.x == cols.len() {
            place.x = 0;
            place.y += 1;
        }
        if place.y == rows.len() {
            place.y = 0;
            place.image += 1;
        }
    }

    /// Where the filter lies at each of its positions, vertically and horizontally.
    pub(crate) fn reaches(&self) -> [&[Reach]; 2] {
        [&self.reaches[0], &self.reaches[1]]
    }

    /// Whether any tap lies beside an image.
    pub(crate) fn is_padded(&self) -> bool {
        self.is_padded
    }

    /// How many products a result is the sum of.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }
}
