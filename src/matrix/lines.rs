//! Parts of an operand as kernels and packing read them.

use std::marker::PhantomData;
use std::ops::Range;

/// Lines as kernels read them: as many bytes of each, `pitch` bytes from the start of one to that of the next. Windows on images
/// have several runs of so many bytes, `step` bytes from the start of one to that of the next; whole runs may be left out at either end,
/// and of windows below each other some lines between are not meant.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'a> {
    start: *const u8,
    pitch: usize,
    count: usize,
    len: usize,
    runs: usize,
    step: usize,
    left_out: [usize; 2],
    gaps: Option<Gaps>,
    lifetime: PhantomData<&'a [u8]>,
}

/// Of every so many lines only the first are meant; those between are readable, too.
#[derive(Clone, Copy)]
pub(crate) struct Gaps {
    pub meant: usize,
    pub of: usize,
}

/// How far the runs of windows lie apart, and how many a window has.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    pub runs: usize,
    pub step: usize,
}

impl<'a> Lines<'a> {
    pub(crate) const NONE: Self = Self {
        start: std::ptr::dangling(),
        pitch: 0,
        count: 0,
        len: 0,
        runs: 1,
        step: 0,
        left_out: [0; 2],
        gaps: None,
        lifetime: PhantomData,
    };

    /// The same stretch of every `pitch` bytes, `count` times.
    #[inline]
    pub(crate) fn packed(bytes: &'a [u8], count: usize, pitch: usize, stretch: Range<usize>) -> Self {
        assert!(count == 0 || stretch.start <= stretch.end && (count - 1) * pitch + stretch.end <= bytes.len());
        // SAFETY: the assertion holds all lines within `bytes`, which are borrowed.
        unsafe { Self::from_raw(bytes.as_ptr().wrapping_add(stretch.start), (count, pitch), stretch.len()) }
    }

    /// So many lines, so far apart, of one run of `len` bytes each.
    ///
    /// # Safety
    /// Every line is readable and unchanged for `'a`.
    #[inline(always)]
    pub(super) unsafe fn from_raw(start: *const u8, (count, pitch): (usize, usize), len: usize) -> Self {
        Self { start, pitch, count, len, ..Self::NONE }
    }

    /// Windows: the first begins where `bytes` do, and each of its runs has so many bytes.
    pub(crate) fn windows(bytes: &'a [u8], (count, pitch): (usize, usize), len: usize, steps: Steps) -> Self {
        let Steps { runs, step } = steps;
        assert!(count == 0 || (count - 1) * pitch + (runs - 1) * step + len <= bytes.len());
        Self { start: bytes.as_ptr(), pitch, count, len, runs, step, ..Self::NONE }
    }

    /// The same, not all of which are meant; the last one is.
    pub(crate) fn with_gaps(self, gaps: Gaps) -> Self {
        assert!(0 < gaps.meant && gaps.meant <= gaps.of && self.count % gaps.of == gaps.meant % gaps.of);
        Self { gaps: Some(gaps), ..self }
    }

    /// Which are meant, if not all.
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    #[inline(always)]
    pub(crate) fn gaps(&self) -> Option<Gaps> {
        self.gaps
    }

    /// How many are meant.
    #[inline(always)]
    pub(crate) fn meant(&self) -> usize {
        self.gaps.map_or(self.count, |gaps| self.count.div_ceil(gaps.of) * gaps.meant)
    }

    /// Some runs of all of each, the others of which are 0.
    #[inline]
    pub(crate) fn runs_of(&self, runs: Range<usize>) -> Self {
        assert!(runs.start < runs.end && runs.end <= self.runs && self.left_out == [0; 2]);
        let left_out = [runs.start, self.runs - runs.end].map(|runs| runs * self.len);
        Self { start: self.start.wrapping_add(runs.start * self.step), runs: runs.len(), left_out, ..*self }
    }

    /// Bytes of each that are left out before its first run and after its last one.
    #[inline(always)]
    pub(crate) fn left_out(&self) -> [usize; 2] {
        self.left_out
    }

    /// How many there are.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// How many had better be read together, so many at most: those that begin at the same place of memory pages, which are
    /// what a way of the first cache holds, push each other out of its 8 ways, one of which others need.
    #[inline(always)]
    pub(crate) fn together(&self, most: usize) -> usize {
        const PAGE: usize = 4096;
        const WAYS: usize = 8;
        if self.pitch.is_multiple_of(PAGE) && most > WAYS { WAYS - 1 } else { most }
    }

    /// How many bytes a run has.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A stretch of the first run of each.
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    #[inline(always)]
    pub(crate) fn stretch(&self, stretch: Range<usize>) -> Self {
        assert!(stretch.start <= stretch.end && stretch.end <= self.len);
        Self { start: self.start.wrapping_add(stretch.start), len: stretch.len(), runs: 1, step: 0, ..*self }
    }

    /// How many runs each has.
    #[inline(always)]
    pub(crate) fn runs(&self) -> usize {
        self.runs
    }

    /// Whether each but the last is followed by the next one, byte by byte.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn are_joined(&self) -> bool {
        self.pitch == self.len && self.runs == 1
    }

    /// Where the first begins, how far the next line lies, and how far the next run.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn places(&self) -> (*const u8, usize, usize) {
        (self.start, self.pitch, self.step)
    }

    /// One run of each.
    #[inline(always)]
    pub(crate) fn run(&self, run: usize) -> Self {
        assert!(run < self.runs);
        Self { start: self.start.wrapping_add(run * self.step), runs: 1, step: 0, ..*self }
    }

    /// The first run of a line.
    #[inline(always)]
    pub(crate) fn get(&self, line: usize) -> &'a [u8] {
        assert!(line < self.count);
        // SAFETY: whoever made this had bytes, or an operand, in which all runs of so many lines are readable.
        unsafe { std::slice::from_raw_parts(self.start.add(line * self.pitch), self.len) }
    }

    /// The first so many groups of each of the first lines.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[inline(always)]
    pub(crate) fn groups<const ROWS: usize, const G: usize>(&self, count: usize) -> [&'a [[u8; G]]; ROWS] {
        // Not `from_fn`, whose closure kernels would call.
        let mut lines: [&[[u8; G]]; ROWS] = [&[]; ROWS];
        for (i, line) in lines.iter_mut().enumerate() {
            *line = &self.get(i).as_chunks().0[..count];
        }
        lines
    }

    #[inline(always)]
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.count).map(move |line| self.get(line))
    }

    /// The first runs of those that follow each other, `R` together; fewer at the end are left out.
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    #[inline(always)]
    pub(crate) fn in_groups<const R: usize>(self) -> impl Iterator<Item = [&'a [u8]; R]> {
        (0..self.count / R).map(move |group| {
            let mut together: [&[u8]; R] = [&[]; R];
            for (i, line) in together.iter_mut().enumerate() {
                // SAFETY: whoever made this had bytes, or an operand, in which all runs of so many lines are readable.
                *line = unsafe { std::slice::from_raw_parts(self.start.add((group * R + i) * self.pitch), self.len) };
            }
            together
        })
    }

    /// Some of them, all of which are meant.
    #[inline(always)]
    pub(crate) fn part(&self, lines: Range<usize>) -> Self {
        assert!(lines.start <= lines.end && lines.end <= self.count);
        // Of no lines it does not matter where they begin.
        let start = self.start.wrapping_add(lines.start.wrapping_mul(self.pitch));
        Self { start, count: lines.len(), gaps: None, ..*self }
    }
}

/// So many bytes of each of some contiguous runs.
#[derive(Clone, Copy)]
pub(crate) struct Chunks<'a, const N: usize> {
    pub(super) start: *const u8,
    pub(super) stride: usize,
    pub(super) count: usize,
    pub(super) lifetime: PhantomData<&'a [u8]>,
}

impl<'a, const N: usize> Chunks<'a, N> {
    /// The same bytes again and again.
    #[inline(always)]
    pub(crate) fn repeated(bytes: &'a [u8; N], count: usize) -> Self {
        Self { start: bytes.as_ptr(), stride: 0, count, lifetime: PhantomData }
    }

    /// Those that follow each other, `R` together; fewer at the end are left out.
    #[inline(always)]
    pub(crate) fn in_groups<const R: usize>(self) -> impl Iterator<Item = [&'a [u8; N]; R]> {
        (0..self.count / R).map(move |group| {
            let mut together = [&[0; N]; R];
            for (i, bytes) in together.iter_mut().enumerate() {
                // SAFETY: whoever made the view promised that this run, one of those counted, is readable.
                *bytes = unsafe { &*self.start.add((group * R + i) * self.stride).cast() };
            }
            together
        })
    }

    /// The first of each, the second of each, and so on, as long as all have one.
    #[inline(always)]
    pub(crate) fn side_by_side<const R: usize>(all: &[Self; R]) -> impl Iterator<Item = [&'a [u8; N]; R]> {
        let count = all.iter().map(|chunks| chunks.count).min().unwrap_or(0);
        (0..count).map(move |i| {
            let mut side_by_side = [&[0; N]; R];
            for (bytes, chunks) in side_by_side.iter_mut().zip(all) {
                // SAFETY: whoever made the view promised that this run, one of those counted, is readable.
                *bytes = unsafe { &*chunks.start.add(i * chunks.stride).cast() };
            }
            side_by_side
        })
    }
}
