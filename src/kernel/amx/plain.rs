//! Plain floats: what tiles that are multiplied become most often.

use super::PANELS;
use super::ahead;
use super::beside::Outcome;
use super::quarters::{self, InPairs, Made, Maker};
use super::registers::Place;
use super::session::HEIGHT;
use super::walk::{Copied, Way};
use crate::kernel::Tile;
use crate::kernel::dequantize::{FloatClamp, FloatColumns};
use crate::kernel::relay::{Terms, WIDTH};
use crate::kernel::results::Results;
use crate::output::PlainFloats;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Room for what the columns of some panels have of their own.
pub(super) type Columns = [MaybeUninit<FloatColumns<WIDTH>>; PANELS];

/// Those of so many rows, of which none differs in how often it has what columns add.
pub(super) struct Plain<'a> {
    floats: &'a PlainFloats<'a>,
    terms: Terms<'a>,
    /// Where the first row begins.
    to: Place,
    have_added: bool,
    /// What the columns of the panels at hand have of their own, from this panel on.
    columns: &'a mut Columns,
    first: usize,
}

/// A tile: its rows' first, its panel of those at hand, how many columns it has, and where it goes.
pub(super) struct Open {
    row: usize,
    panel: usize,
    cols: usize,
    to: Place,
}

impl<'a> Plain<'a> {
    /// None if rows differ.
    pub(super) fn new(floats: &'a PlainFloats<'a>, rows: usize, columns: &'a mut Columns) -> Option<Self> {
        floats.times().is_none().then(|| Self {
            floats,
            terms: floats.terms(rows),
            to: Place::of_rows(Results::<WIDTH>::place(floats, rows)),
            have_added: floats.have_added(),
            columns,
            first: 0,
        })
    }

    /// # Safety
    /// As for [`Outcome::finish`].
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn make<const TERMS: bool, const FACTORS: bool, const CLAMPED: bool>(
        &self,
        open: &Open,
        done: usize,
        sums: &[[i32; WIDTH]],
        terms: &[i32],
    ) {
        let first = open.row + done;
        let factors = self.floats.factors().map_or(&[][..], |factors| &factors[first..first + sums.len()]);
        let mask = u32::MAX >> (WIDTH - open.cols);
        let masks = [mask as u16, (mask >> HEIGHT) as u16];
        // SAFETY: whoever opened the tile wrote what its columns have.
        let maker = unsafe { self.maker::<TERMS, FACTORS, CLAMPED>(open) };
        for (i, (sums, &term)) in sums.iter().zip(terms).enumerate() {
            let to = open.to.row(done + i).cast::<f32>();
            let floats = maker.floats(sums, term, if FACTORS { factors[i] } else { 1.0 });
            for (v, (x, mask)) in floats.into_iter().zip(masks).enumerate() {
                // SAFETY: this function's own promise.
                unsafe { _mm512_mask_storeu_ps(to.wrapping_add(HEIGHT * v), mask, x) }
            }
        }
    }

    /// # Safety
    /// What the columns of the tile have was written.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn maker<const TERMS: bool, const FACTORS: bool, const CLAMPED: bool>(
        &self,
        open: &Open,
    ) -> Floats<TERMS, FACTORS, CLAMPED> {
        // SAFETY: this function's own promise.
        let columns = unsafe { self.columns[open.panel].assume_init_ref() };
        let floats = |from: &[f32; WIDTH]| {
            let [first, second] = [from[..HEIGHT].as_ptr(), from[HEIGHT..].as_ptr()];
            // SAFETY: the references cover what is read.
            unsafe { [_mm512_loadu_ps(first), _mm512_loadu_ps(second)] }
        };
        let FloatClamp { min, max } =
            self.floats.clamp().unwrap_or(FloatClamp { min: f32::NEG_INFINITY, max: f32::INFINITY });
        Floats {
            scales: floats(&columns.scales),
            biases: floats(&columns.biases),
            min: _mm512_set1_ps(min),
            max: _mm512_set1_ps(max),
        }
    }
}

/// What makes floats of a panel's rows, which add something to sums or not, have a factor each or not, and are confined or not.
struct Floats<const TERMS: bool, const FACTORS: bool, const CLAMPED: bool> {
    scales: [__m512; 2],
    biases: [__m512; 2],
    min: __m512,
    max: __m512,
}

impl<const TERMS: bool, const FACTORS: bool, const CLAMPED: bool> Floats<TERMS, FACTORS, CLAMPED> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn floats(&self, sums: &[i32; WIDTH], term: i32, factor: f32) -> [__m512; 2] {
        let (first, second) = (sums[..HEIGHT].as_ptr(), sums[HEIGHT..].as_ptr());
        // SAFETY: the references cover what is read.
        let [first, second] = unsafe { [_mm512_loadu_si512(first.cast()), _mm512_loadu_si512(second.cast())] };
        [self.half(first, term, factor, 0), self.half(second, term, factor, 1)]
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn half(&self, mut sums: __m512i, term: i32, factor: f32, half: usize) -> __m512 {
        if TERMS {
            sums = _mm512_add_epi32(sums, _mm512_set1_epi32(term));
        }
        let mut x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), self.scales[half]);
        if FACTORS {
            x = _mm512_mul_ps(x, _mm512_set1_ps(factor));
        }
        x = _mm512_add_ps(x, self.biases[half]);
        if CLAMPED {
            // Which of two zeros, and that NaN stays, is what the order of operands says.
            x = _mm512_min_ps(self.max, _mm512_max_ps(self.min, x));
        }
        x
    }
}

impl Outcome for Plain<'_> {
    type Open = Open;
    const IS_SLICED: bool = false;
    const IS_BEFORE: bool = false;

    #[inline(always)]
    unsafe fn multiply_first(&mut self, tile: &Tile, way: Way, copied: &mut Option<&mut Copied>) -> (usize, usize) {
        let most = quarters::most(tile, way);
        if most.0 > 0 && most.1 > 0 {
            // SAFETY: this function's own promise.
            unsafe { self.multiply_by_quarters(tile, way, copied.as_deref_mut(), most) }
        }
        most
    }

    #[inline(always)]
    fn begin(&mut self, panels: Range<usize>) {
        self.first = panels.start;
        for (to, panel) in self.columns.iter_mut().zip(panels) {
            to.write(self.floats.columns(panel));
        }
    }

    #[inline(always)]
    unsafe fn width(&self, panel: usize) -> usize {
        WIDTH.min(self.floats.cols() - panel * WIDTH)
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        self.terms.write(rows.start, terms);
    }

    #[inline(always)]
    fn added(&self, panel: usize) -> Option<Place> {
        // What columns have of their own begins with it.
        let at = || self.columns[panel - self.first].as_ptr().cast_mut().cast();
        self.have_added.then(|| Place { at: at(), pitch: 0 })
    }

    #[inline(always)]
    fn place(&self, row: usize, panel: usize) -> Option<Place> {
        Some(self.to.below(row).beside(panel))
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Open {
        let to = self.to.below(rows.start).beside(panel);
        // SAFETY: this function's own promise.
        Open { row: rows.start, panel: panel - self.first, cols: unsafe { self.width(panel) }, to }
    }

    #[inline(always)]
    unsafe fn finish(&self, open: &mut Open, done: usize, sums: &[[i32; WIDTH]], terms: &[i32]) {
        // SAFETY: this function's own promise.
        unsafe {
            match self.kind() {
                (false, false, false) => self.make::<false, false, false>(open, done, sums, terms),
                (false, false, true) => self.make::<false, false, true>(open, done, sums, terms),
                (false, true, false) => self.make::<false, true, false>(open, done, sums, terms),
                (false, true, true) => self.make::<false, true, true>(open, done, sums, terms),
                (true, false, false) => self.make::<true, false, false>(open, done, sums, terms),
                (true, false, true) => self.make::<true, false, true>(open, done, sums, terms),
                (true, true, false) => self.make::<true, true, false>(open, done, sums, terms),
                (true, true, true) => self.make::<true, true, true>(open, done, sums, terms),
            }
        }
    }
}

/// Those of windows or not, whose places are fetched before or not, made as [`Floats`] says.
struct ByQuarters<
    'p,
    'a,
    const WINDOWS: bool,
    const FETCHED: bool,
    const TERMS: bool,
    const FACTORS: bool,
    const CLAMPED: bool,
>(&'p mut Plain<'a>);

impl Plain<'_> {
    /// Whether rows add something to sums, have a factor each, and are confined.
    #[inline(always)]
    fn kind(&self) -> (bool, bool, bool) {
        (self.terms.times != 0, self.floats.factors().is_some(), self.floats.clamp().is_some())
    }

    /// Multiplies so many strips by so many panels, a quarter of a step after another.
    ///
    /// # Safety
    /// As for [`multiply`](super::beside::multiply).
    unsafe fn multiply_by_quarters(
        &mut self,
        tile: &Tile,
        way: Way,
        copied: Option<&mut Copied>,
        most: (usize, usize),
    ) {
        let is_fetched = ahead::pays_beside_quarters(&tile.lhs, self.to.pitch);
        // SAFETY: this function's own promise.
        unsafe {
            match (tile.lhs.runs() > 1, is_fetched) {
                (true, _) => self.multiply_so::<true, false>(tile, way, copied, most),
                (false, false) => self.multiply_so::<false, false>(tile, way, copied, most),
                (false, true) => self.multiply_so::<false, true>(tile, way, copied, most),
            }
        }
    }

    /// # Safety
    /// As above.
    unsafe fn multiply_so<const WINDOWS: bool, const FETCHED: bool>(
        &mut self,
        tile: &Tile,
        way: Way,
        copied: Option<&mut Copied>,
        most: (usize, usize),
    ) {
        macro_rules! by {
            ($terms:literal, $factors:literal, $clamped:literal) => {{
                let mut floats = ByQuarters::<WINDOWS, FETCHED, $terms, $factors, $clamped>(self);
                quarters::multiply(tile, way, copied, &mut floats, most)
            }};
        }
        // SAFETY: this function's own promise.
        unsafe {
            match self.kind() {
                (false, false, false) => by!(false, false, false),
                (false, false, true) => by!(false, false, true),
                (false, true, false) => by!(false, true, false),
                (false, true, true) => by!(false, true, true),
                (true, false, false) => by!(true, false, false),
                (true, false, true) => by!(true, false, true),
                (true, true, false) => by!(true, true, false),
                (true, true, true) => by!(true, true, true),
            }
        }
    }
}

impl<const WINDOWS: bool, const FETCHED: bool, const TERMS: bool, const FACTORS: bool, const CLAMPED: bool> InPairs
    for ByQuarters<'_, '_, WINDOWS, FETCHED, TERMS, FACTORS, CLAMPED>
{
    const WINDOWS: bool = WINDOWS;
    const TERMS: bool = TERMS;
    const BEGINS: bool = true;
    type Tile = Open;
    type Pairs<'p>
        = Made<'p, OfRows<'p, TERMS, FACTORS, CLAMPED>, WINDOWS>
    where
        Self: 'p;

    #[inline(always)]
    fn begin(&mut self, panels: Range<usize>) {
        self.0.begin(panels);
    }

    #[inline(always)]
    fn fill_terms(&self, rows: Range<usize>, terms: &mut [i32]) {
        Outcome::fill_terms(&*self.0, rows.clone(), &mut terms[..rows.len()]);
    }

    #[inline(always)]
    fn added(&self, panel: usize) -> Option<Place> {
        self.0.added(panel)
    }

    #[inline(always)]
    fn fetched(&self, row: usize, panel: usize) -> Option<Place> {
        FETCHED.then(|| self.0.to.below(row).beside(panel))
    }

    #[inline(always)]
    unsafe fn open(&self, rows: Range<usize>, panel: usize) -> Open {
        // SAFETY: this function's own promise.
        unsafe { self.0.open(rows, panel) }
    }

    #[inline(always)]
    unsafe fn pairs<'p>(
        &'p self,
        open: &'p Open,
        sums: &'p [[i32; WIDTH]],
        places: &'p [u32],
        terms: &'p [i32],
        parts: usize,
    ) -> Self::Pairs<'p> {
        let factors = match self.0.floats.factors() {
            Some(factors) if FACTORS => &factors[open.row..open.row + places.len()],
            _ => &[],
        };
        // SAFETY: this function's own promise; what the columns of panels at hand have was written.
        unsafe {
            let maker = self.0.maker(open);
            Made::new(OfRows { maker, terms, factors }, open.to, sums, places, parts)
        }
    }
}

/// Makes floats of rows that may have terms and factors.
struct OfRows<'p, const TERMS: bool, const FACTORS: bool, const CLAMPED: bool> {
    maker: Floats<TERMS, FACTORS, CLAMPED>,
    terms: &'p [i32],
    factors: &'p [f32],
}

impl<const TERMS: bool, const FACTORS: bool, const CLAMPED: bool> Maker for OfRows<'_, TERMS, FACTORS, CLAMPED> {
    #[inline(always)]
    unsafe fn row(&self, sums: &[i32; WIDTH], row: usize) -> [__m512i; 2] {
        let term = if TERMS { self.terms[row] } else { 0 };
        let factor = if FACTORS { self.factors[row] } else { 1.0 };
        // SAFETY: the CPU runs this kernel.
        unsafe { self.maker.floats(sums, term, factor).map(|floats| _mm512_castps_si512(floats)) }
    }
}
