//! Rows of sums of any number of columns, which become bytes: so few that to get a panel of columns ready takes as long as its sums do.

use super::{Columns, Last, Rule};
use crate::kernel::panel::Panel;
use crate::matrix::Output;
use std::ops::Range;
#[cfg(target_arch = "x86_64")]
use {
    super::{Rows, Words},
    crate::matrix::Block,
};

/// Defines a module's `bytes`, a [`BytesFn`](crate::kernel::panel::BytesFn), in terms of its `requantize` of a tile, and of these:
/// `ready`, how a panel's sums are scaled in floats, with what comes before and after that, if its columns' biases, sums, factors and
/// exponents suit, each in `halves`; `kept`, the same of a panel that is kept; the bytes of two rows with their terms, `sure` ones if no
/// number is in doubt, and `exact` ones; and how these are `put`.
#[cfg(target_arch = "x86_64")]
macro_rules! wide_bytes {
    (features: $features:literal, ready: $ready:expr, kept: $kept:expr $(,)?) => {
        /// As a [`BytesFn`](crate::kernel::panel::BytesFn).
        ///
        /// # Safety
        /// As for that.
        #[target_feature(enable = $features)]
        pub(in crate::kernel) unsafe fn bytes(wide: &Wide) {
            let has_signs = near::has_signs(wide.rule, &wide.last);
            // SAFETY: this function's own promise.
            unsafe {
                let done = match (wide.rule, has_signs, wide.terms.is_empty()) {
                    (Rule::Float | Rule::Down, ..) => 0,
                    (_, true, true) => by_panels::<true, false>(wide),
                    (_, true, false) => by_panels::<true, true>(wide),
                    (_, false, true) => by_panels::<false, false>(wide),
                    (_, false, false) => by_panels::<false, true>(wide),
                };
                for first in (done..wide.cols.len()).step_by(WIDTH) {
                    let (columns, rows, to) = wide.panel::<WIDTH>(first);
                    requantize(wide.rule, &columns, wide.last, rows, to);
                }
            }
        }

        /// In floats, as far as there are whole panels whose scales suit. Tells how many columns they are.
        ///
        /// # Safety
        /// As for [`bytes`].
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn by_panels<const HAVE_SIGNS: bool, const HAVE_TERMS: bool>(wide: &Wide) -> usize {
            if !wide.panels.is_empty() {
                let kept = |_: &Places<WIDTH>, first: usize| Some($kept(wide, &wide.panels[first / WIDTH]));
                // SAFETY: this function's own promise.
                return unsafe { nearly_all::<HAVE_SIGNS, HAVE_TERMS>(wide, kept) };
            }
            // Not a function, which would not be inlined.
            let ready = |places: &Places<WIDTH>, first: usize| {
                // SAFETY: there is such a panel.
                let halves = |source: &Source<WIDTH>| halves(unsafe { source.at(first) });
                let Places { bias, col_sums, factor, exponent, .. } = places;
                $ready(wide, halves(bias), halves(col_sums), halves(factor), halves(exponent))
            };
            // SAFETY: as above.
            unsafe { nearly_all::<HAVE_SIGNS, HAVE_TERMS>(wide, ready) }
        }

        /// As [`by_panels`], if `ready` tells how that which begins with a column is.
        ///
        /// # Safety
        /// As for [`bytes`].
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn nearly_all<const HAVE_SIGNS: bool, const HAVE_TERMS: bool>(
            wide: &Wide,
            ready: impl Fn(&Places<WIDTH>, usize) -> Option<Ready>,
        ) -> usize {
            let mut room = Default::default();
            let places = wide.places::<WIDTH>(&mut room);
            let last = wide.rows.len().saturating_sub(1);
            let mut first = 0;
            while first + WIDTH <= wide.cols.len()
                && let Some(ready) = ready(&places, first)
            {
                let mut row = 0;
                while row < wide.rows.len() {
                    // One way for all, so that it is inlined: the last of an odd number is its own pair.
                    let next = last.min(row + 1);
                    let term = |row: usize| if HAVE_TERMS { wide.terms[row] } else { 0 };
                    // SAFETY: there are such rows and such a panel; and this function's own promise.
                    unsafe {
                        let sums = [places.sums(row, first), places.sums(next, first)];
                        match sure::<HAVE_SIGNS, HAVE_TERMS>(sums, [term(row), term(next)], &ready) {
                            Some(bytes) => put(&places, bytes, [row, next], first),
                            None => put_doubtful(wide, &places, [row, next], first),
                        }
                    }
                    row += 2;
                }
                first += WIDTH;
            }
            first
        }

        /// The bytes of rows of which a number was too close to a tie.
        ///
        /// # Safety
        /// As for [`Places::to`].
        #[cold]
        #[inline(never)]
        #[target_feature(enable = $features)]
        unsafe fn put_doubtful(wide: &Wide, places: &Places<WIDTH>, rows: [usize; 2], first: usize) {
            let term = |row: usize| wide.terms.get(row).copied().unwrap_or(0);
            // SAFETY: this function's own promise.
            unsafe {
                let sums = [places.sums(rows[0], first), places.sums(rows[1], first)];
                let bytes = exact(wide, &wide.columns.from(first), sums, [term(rows[0]), term(rows[1])]);
                put(places, bytes, rows, first);
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use wide_bytes;

/// What becomes which bytes, and how.
pub(crate) struct Wide<'a> {
    pub rule: Rule,
    pub columns: Columns<'a>,
    /// Those of all columns, if they are kept.
    pub panels: &'a [Panel],
    pub last: Last,
    /// Rows of sums, `pitch` from one row's first to the next one's. Of the last row, too, there are as many as whole panels have.
    pub sums: &'a [i32],
    pub pitch: usize,
    /// What is added to those of each row; nothing, if there are none.
    pub terms: &'a [i32],
    pub out: &'a Output<'a, u8>,
    pub rows: Range<usize>,
    pub cols: Range<usize>,
}

#[cfg(target_arch = "x86_64")]
impl Wide<'_> {
    /// The panel of `W` columns that begins with this one, or what there is of it, as a tile's.
    ///
    /// # Safety
    /// Nobody else uses this part of the result.
    #[inline(always)]
    pub(super) unsafe fn panel<const W: usize>(&self, first: usize) -> (Columns<'_>, Rows<'_, W>, Block<'_, u8>) {
        let cols = self.cols.start + first..self.cols.end.min(self.cols.start + first + W);
        let rows = Rows::new(&self.sums[first..], self.pitch, self.rows.len(), self.terms, cols.len());
        // SAFETY: this function's own promise.
        (self.columns.from(first), rows, unsafe { self.out.block(self.rows.clone(), cols) })
    }

    /// Where whole panels of `W` columns are read and written, of rules in fixed point. What is the same for all columns is
    /// repeated in `room`.
    #[inline(always)]
    pub(super) fn places<'p, const W: usize>(&'p self, room: &'p mut [[i32; W]; 4]) -> Places<'p, W> {
        let Self { columns, sums, pitch, terms, out, rows, cols, .. } = self;
        let whole = cols.len() / W * W;
        assert!(rows.is_empty() || (rows.len() - 1) * pitch + whole <= sums.len());
        assert!(rows.end <= out.rows && cols.end <= out.cols && (terms.is_empty() || terms.len() >= rows.len()));
        let [for_bias, for_sums, for_factor, for_exponent] = room;
        let (to, stride) = out.place();
        Places {
            bias: Source::new(columns.bias, whole, for_bias),
            col_sums: Source::new(columns.sums, whole, for_sums),
            factor: Source::new(columns.factor, whole, for_factor),
            exponent: Source::new(columns.exponent, whole, for_exponent),
            sums: sums.as_ptr(),
            pitch: *pitch,
            to: to.wrapping_add(rows.start.wrapping_mul(stride).wrapping_add(cols.start)),
            stride,
        }
    }
}

/// Where whole panels of `W` columns of a [`Wide`] are read and written.
#[cfg(target_arch = "x86_64")]
pub(super) struct Places<'a, const W: usize> {
    pub bias: Source<'a, W>,
    pub col_sums: Source<'a, W>,
    pub factor: Source<'a, W>,
    pub exponent: Source<'a, W>,
    sums: *const i32,
    pitch: usize,
    to: *mut u8,
    stride: usize,
}

#[cfg(target_arch = "x86_64")]
impl<'a, const W: usize> Places<'a, W> {
    /// The sums of a row that a whole panel from this column on has.
    ///
    /// # Safety
    /// There are such a row and such a panel.
    #[inline(always)]
    pub(super) unsafe fn sums(&self, row: usize, first: usize) -> &'a [i32; W] {
        // SAFETY: this function's own promise, and what `Wide::places` asserts.
        unsafe { &*self.sums.add(row * self.pitch + first).cast() }
    }

    /// Where their bytes go.
    ///
    /// # Safety
    /// As above; and nobody else uses this part of the result.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the caller keeps them apart")]
    pub(super) unsafe fn to(&self, row: usize, first: usize) -> &mut [u8; W] {
        // SAFETY: as above.
        unsafe { &mut *self.to.wrapping_add(row * self.stride + first).cast() }
    }
}

/// Numbers of all columns.
#[cfg(target_arch = "x86_64")]
pub(super) struct Source<'a, const W: usize> {
    data: &'a [i32],
    /// All bits or none: if all columns have the same, those of each panel are the first.
    mask: usize,
}

#[cfg(target_arch = "x86_64")]
impl<'a, const W: usize> Source<'a, W> {
    #[inline(always)]
    fn new(words: Words<'a>, cols: usize, room: &'a mut [i32; W]) -> Self {
        match words {
            Words::Ints(data) => {
                assert!(data.len() >= cols);
                Self { data, mask: usize::MAX }
            }
            Words::Same(x) => {
                *room = [x; W];
                Self { data: room, mask: 0 }
            }
            Words::Floats(_) => unreachable!("fixed point has none"),
        }
    }

    /// Those of a whole panel.
    ///
    /// # Safety
    /// There is one that begins there.
    #[inline(always)]
    pub(super) unsafe fn at(&self, first: usize) -> &'a [i32; W] {
        // SAFETY: this function's own promise: either there are so many columns, as was asserted, or it is the first.
        unsafe { &*self.data.as_ptr().add(first & self.mask).cast() }
    }
}
