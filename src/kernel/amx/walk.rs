//! Lines by panels in tiles of 32 × 32 sums: four registers of 16 × 16, beside two of lines and two of a panel.
//!
//! The four begin with what is added to the sums, and go where they belong: nothing waits for them that could be done before.

use super::cut::Cut;
use super::near;
use super::registers::{Form, GROUP, Multiply, PANEL_STEP, Place, Shape, Step};
use super::session::{HEIGHT, Registers, STEP, configure};
use super::short::{MOST_OF_WINDOWS, MOST_SHORT, ShortSteps};
use crate::kernel::Tile;
use crate::kernel::relay::WIDTH;
use crate::matrix::Lines;
use std::arch::x86_64::*;
use std::mem::{MaybeUninit, offset_of};
use std::ops::{Range, RangeInclusive};

/// Rows of a tile.
pub(super) const ROWS: usize = 2 * HEIGHT;

/// In how many parts lines are multiplied at least, if they are long enough, and something else done beside each: so small ones that
/// the processor, which looks some hundred instructions ahead, does both at the same time.
const PARTS: usize = 8;

/// Rows of sums, if they were written.
#[repr(C, align(64))]
pub(super) struct Rows(MaybeUninit<[[i32; WIDTH]; ROWS]>);

impl Rows {
    pub(super) const NONE: Self = Self(MaybeUninit::uninit());

    pub(super) fn place(&mut self) -> Place {
        Place { at: self.0.as_mut_ptr().cast(), pitch: size_of::<[i32; WIDTH]>() }
    }

    /// The first of them.
    ///
    /// # Safety
    /// As many were written.
    #[inline(always)]
    pub(super) unsafe fn first(&self, count: usize) -> &[[i32; WIDTH]] {
        assert!(count <= ROWS);
        // SAFETY: this function's own promise, and the assertion.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), count) }
    }
}

/// Bytes of panels of which the first cache holds two, and leaves room.
const SHORT: usize = 20 << 10;

/// Bytes of lines, or of a result, of which the first cache holds all.
pub(super) const FIRST_CACHE: usize = 32 << 10;

/// Of lines that do not begin on cache lines, so many steps are copied to where they do, which takes less time than to load them
/// from two each; but not beside so few panels.
const COPIED: usize = 16;
const FEW_PANELS: usize = 3;

/// The first steps of lines. An odd number of steps apart, lest all lie at the same place of caches' pages.
#[repr(C, align(64))]
pub(super) struct Copied(MaybeUninit<[[[u8; STEP]; COPIED + 1]; ROWS]>);

/// Strips of more steps than the first cache holds beside a panel are multiplied slice by slice, of so many steps at most, by so
/// many panels at most, whose sums rest meanwhile; but not of so many that panels come from afar, to be read in pieces.
const SLICED: RangeInclusive<usize> = 28..=48;
const SLICE: usize = 12;
const RESTING: usize = 8;

/// What strips take besides, if they do: room for copies, and for the sums of panels that rest. It is so large that to have it takes
/// as long as small products.
pub(super) struct Room<'a> {
    pub copied: Option<&'a mut Copied>,
    pub resting: &'a mut [Rows],
}

/// How lines are multiplied.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// How many panels there are, and their bytes.
    pub panels: usize,
    pub of_panel: usize,
    /// Whether lines begin where cache lines do.
    is_even: bool,
    is_copied: bool,
    pub is_sliced: bool,
    /// Whether tiles are those of two panels and of one register of rows.
    is_broad: bool,
}

impl Way {
    /// By one panel of so many bytes.
    pub(super) fn alone(of_panel: usize) -> Self {
        Self { panels: 1, of_panel, is_even: true, is_copied: false, is_sliced: false, is_broad: false }
    }

    /// Windows, by so many panels.
    pub(super) fn of_windows(tile: &Tile, panels: usize) -> Self {
        Self { panels, ..Self::alone(tile.of_panel::<WIDTH>(panels)) }
    }

    /// By so many panels, in slices if it may be.
    #[inline(always)]
    fn new(tile: &Tile, panels: usize, may_be_sliced: bool) -> Self {
        let (lines, of_panel) = (&tile.lhs, tile.of_panel::<WIDTH>(panels));
        let (first, pitch, _) = lines.places();
        let is_even = (first.addr() | pitch).is_multiple_of(STEP);
        let is_run = lines.runs() == 1 && panels > FEW_PANELS;
        // Lines that lie at the same places of caches' pages push each other out of the first cache in any case.
        let is_deep = SLICED.contains(&(lines.len() / STEP)) && !pitch.is_multiple_of(2048);
        let is_sliced = may_be_sliced && is_run && is_deep && lines.count() > ROWS;
        Self { panels, of_panel, is_even, is_copied: is_run && !is_even, is_sliced, is_broad: false }
    }

    /// The same by two whole panels at once, if there are no more, both stay in the first cache, and lines do not: so these are loaded
    /// once, and rows of the result are written from end to end.
    pub(super) fn broad(self, tile: &Tile) -> Option<Self> {
        let lines = &tile.lhs;
        let are_whole = self.panels == 2 && tile.cols == 2 * WIDTH;
        let are_near = (2 * PANEL_STEP..=SHORT).contains(&self.of_panel);
        let are_far = lines.runs() == 1 && lines.count().saturating_mul(lines.len()) > FIRST_CACHE;
        let is_broad = are_whole && are_near && are_far && lines.count() >= HEIGHT && !self.is_sliced;
        is_broad.then_some(Self { is_broad, ..self })
    }

    /// These panels in groups that stay near.
    pub(super) fn groups(self, panels: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let most = near(self.of_panel).min(if self.is_sliced { RESTING } else { usize::MAX });
        panels.clone().step_by(most).map(move |first| first..panels.end.min(first + most))
    }

    /// Of how many steps lines are, if they are short, and how many of the first panels they can meet as [`ShortSteps`]: those that
    /// have all columns, and bytes for whole steps, all but the last one. No steps of windows reach beyond their runs.
    pub(super) fn short(self, tile: &Tile) -> (usize, usize) {
        let (len, runs) = (tile.lhs.len(), tile.lhs.runs());
        let steps = runs * len.min(self.of_panel / WIDTH).div_ceil(STEP);
        let most = if runs > 1 { MOST_OF_WINDOWS } else { MOST_SHORT };
        if self.is_sliced || !(1..=most).contains(&steps) {
            return (0, 0);
        }
        if runs > 1 {
            let are_alike = tile.lhs.count() >= HEIGHT && len.is_multiple_of(step_of(len));
            return if are_alike { (steps, self.panels.min(tile.cols / WIDTH)) } else { (0, 0) };
        }
        let have_bytes = tile.rhs.len().checked_sub(steps * PANEL_STEP).map_or(0, |rest| 1 + rest / self.of_panel);
        (steps, self.panels.min(tile.cols / WIDTH).min(have_bytes + 1))
    }
}

/// Bytes of a step of runs of so many bytes: as many steps as whole ones would be, but all alike, if they can be. So none reaches beyond
/// a run, and nothing has to be copied.
fn step_of(len: usize) -> usize {
    let steps = len.div_ceil(STEP);
    if steps > 0 && len.is_multiple_of(4 * steps) { len / steps } else { STEP }
}

/// Calls `then` with how the lines of a tile are multiplied by so many panels, in slices if they may be, and with the room that it
/// takes.
#[inline(always)]
pub(super) fn with_room(tile: &Tile, panels: usize, may_be_sliced: bool, then: impl FnOnce(Way, Room)) {
    #[inline(never)]
    fn apart(way: Way, then: impl FnOnce(Way, Room)) {
        let (mut copied, mut resting) = (Copied(MaybeUninit::uninit()), [Rows::NONE; RESTING]);
        then(way, Room { copied: way.is_copied.then_some(&mut copied), resting: &mut resting });
    }
    let way = Way::new(tile, panels, may_be_sliced);
    match way.is_copied || way.is_sliced {
        true => apart(way, then),
        false => then(way, Room { copied: None, resting: &mut [] }),
    }
}

impl Copied {
    /// How far lines are apart.
    const PITCH: usize = (COPIED + 1) * STEP;

    /// Where this step of the first line lies.
    fn place(&mut self, step: usize) -> *mut u8 {
        self.0.as_mut_ptr().cast::<u8>().wrapping_add(step * STEP)
    }
}

/// Copies bytes of each line, a step at most, and zeros to the end of the step, to places so far apart.
///
/// # Safety
/// There is room for as many steps as there are lines, on cache lines.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy(lines: Lines, bytes: Range<usize>, (to, pitch): (*mut u8, usize)) {
    let mask = u64::MAX >> (STEP - bytes.len());
    for (row, line) in lines.iter().enumerate() {
        let bytes = &line[bytes.clone()];
        // SAFETY: the bytes of the mask are those of the slice; and this function's own promise.
        unsafe {
            let bytes = _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast());
            _mm512_store_si512(to.wrapping_add(row * pitch).cast(), bytes);
        }
    }
}

/// At most [`ROWS`] lines, which are multiplied by one panel after the other.
pub(super) struct Strip<'a> {
    lines: Lines<'a>,
    /// How many lines the second register's are below the first one's.
    below: usize,
    /// Of a register of lines.
    rows: usize,
    /// Bytes of a run of a line, and of the panel that it meets.
    len: usize,
    of_run: usize,
    pub of_panel: usize,
    /// Bytes of a step; whole steps of a run, how many of them are multiplied together, and how many are copied.
    step: usize,
    steps: usize,
    together: usize,
    copied: usize,
    room: Option<&'a mut Copied>,
    /// In how many slices, of so many steps, the last one of fewer; and in how many parts this one is multiplied, at least.
    pub slices: usize,
    of_slice: usize,
    pub parts: usize,
    /// Whether something else is done before a part, or after it.
    pub is_before: bool,
    shape: Shape,
    /// What multiplies by panels of no more than half their width, and by others.
    ways: [Multiply; 2],
    plan: Plan,
    /// Not cleared, which would take longer than small products: what they hold besides is multiplied by zeros, or for nothing.
    copies: MaybeUninit<Copies>,
}

/// Steps that are multiplied together.
#[derive(Clone, Copy)]
struct Part {
    /// Whether lines are read where they are copied, and how far they are apart.
    is_copied: bool,
    pitch: usize,
    /// How far it is to the second register's, or panel's, first.
    second: usize,
    /// How many steps come before, and how many these are.
    before: usize,
    steps: usize,
}

/// The parts of a run, or of a slice of it, which every panel meets: to find them anew for each took as many instructions as rows that
/// are finished beside a part.
struct Plan {
    parts: [MaybeUninit<Part>; MOST_PARTS],
    count: usize,
    /// Of which slice, and of how many lines; none yet.
    of: Option<(usize, usize)>,
}

/// Fewer steps than twice [`PARTS`] are multiplied one by one.
const MOST_PARTS: usize = 2 * PARTS - 1;

/// What would reach beyond lines or panels if it were read where it lies: the ends of lines, and zeros; and the last bytes of the last
/// panel.
#[repr(C, align(64))]
struct Copies {
    lines: [[u8; STEP]; ROWS],
    panel: [u8; PANEL_STEP],
}

impl<'a> Strip<'a> {
    /// Those of a tile, of which the lines are still to be [set](Self::set), and copied if there is room. For fewer lines than a
    /// register can have rows, registers have fewer.
    ///
    /// # Safety
    /// The CPU has AMX, and this thread has begun a session, in which no other strip is used from now on.
    pub(super) unsafe fn new(tile: &Tile<'a>, way: Way, room: Option<&'a mut Copied>) -> Self {
        let Way { panels, of_panel, .. } = way;
        let (len, runs) = (tile.lhs.len(), tile.lhs.runs());
        let of_run = if runs == 1 { of_panel } else { len / 4 * GROUP };
        // Packed lines may be longer than the panel.
        let len = len.min(of_run / WIDTH);
        assert!(runs * of_run <= of_panel && (runs == 1 || len.is_multiple_of(4)));
        // Two panels stay in the first cache beside a strip if they are short.
        let is_streamed = panels == 1 || panels == 2 && 2 * of_panel <= SHORT && way.is_even;
        let form = if way.is_broad { Form::Broad } else { Form::Flat };
        let shape = Shape::new([tile.lhs_encoding, tile.rhs_encoding], form, is_streamed);
        let rows = tile.lhs.count().clamp(1, HEIGHT);
        let step = if runs == 1 { STEP } else { step_of(len) };
        let steps = len / step;
        // To divide takes as long as much else here.
        let slices = if way.is_sliced { steps.div_ceil(SLICE) } else { 1 };
        let of_slice = if way.is_sliced { steps.div_ceil(slices) } else { steps };
        let last = steps - (slices - 1) * of_slice;
        let together = (runs * last / PARTS).max(1);
        // SAFETY: this function's own promise.
        unsafe { configure(Registers::new(rows, step)) }
        Self {
            lines: Lines::NONE,
            below: 0,
            rows,
            len,
            of_run,
            of_panel,
            step,
            steps,
            together,
            copied: if room.is_some() { steps.min(COPIED) } else { 0 },
            room,
            slices,
            of_slice,
            parts: runs * if together == 1 { last } else { last.div_ceil(together) }.max(1),
            is_before: false,
            shape,
            ways: shape.ways(),
            plan: Plan { parts: [MaybeUninit::uninit(); _], count: 0, of: None },
            copies: MaybeUninit::uninit(),
        }
    }

    /// Goes to these lines: as many as a register has rows, or more if it has as many as it can have.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn set(&mut self, lines: Lines<'a>) {
        assert!(lines.count() >= self.rows && lines.count() <= if self.rows < HEIGHT { self.rows } else { ROWS });
        (self.lines, self.below) = (lines, lines.count().saturating_sub(HEIGHT));
        match self.shape.form {
            Form::Broad => assert!(lines.count() == HEIGHT),
            _ => self.shape.form = if lines.count() > HEIGHT { Form::Tall } else { Form::Flat },
        }
        self.ways = self.shape.ways();
        if lines.runs() > 1 {
            return;
        }
        for step in 0..self.copied {
            let room = self.room.as_mut().expect("room for steps that are copied");
            // SAFETY: there is room for all lines, here and below.
            unsafe { copy(lines, step * STEP..(step + 1) * STEP, (room.place(step), Copied::PITCH)) }
        }
        if !self.len.is_multiple_of(STEP) {
            // SAFETY: as above.
            unsafe { copy(lines, self.steps * STEP..self.len, self.ends()) }
        }
    }

    /// Bytes of a panel that a step meets.
    pub(super) fn of_step(&self) -> usize {
        self.step * WIDTH
    }

    /// Goes to those of a cut.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn set_cut(&mut self, lines: Lines<'a>, Cut { first, second, .. }: Cut) {
        if lines.runs() == 1 {
            return self.set(lines.part(first..first + ROWS));
        }
        // Those of the second register lie behind, or among, those of the first.
        assert!(self.shape.form != Form::Broad && first <= second && second + HEIGHT <= lines.count());
        (self.lines, self.below) = (lines.part(first..lines.count()), second - first);
        self.shape.form = Form::Tall;
    }

    /// Where the ends of lines are copied to, and how far they are apart.
    fn ends(&mut self) -> (*mut u8, usize) {
        (self.copies.as_mut_ptr().cast::<u8>().wrapping_add(offset_of!(Copies, lines)), STEP)
    }

    /// Finds the steps of these lines, 32 of one run, or those of a cut of several, that meet so many whole panels, with which as many bytes
    /// follow as are given. No more than [`MOST_SHORT`], or [`MOST_OF_WINDOWS`].
    #[inline(never)]
    pub(super) fn find_steps(&mut self, panels: &[u8], count_of_panels: usize, to: &mut ShortSteps) {
        if self.lines.runs() > 1 {
            return self.find_steps_of_runs(panels, count_of_panels, to);
        }
        let count = self.len.div_ceil(STEP);
        assert!(self.lines.count() == ROWS && (1..=MOST_SHORT).contains(&count));
        let before_last = count_of_panels.saturating_sub(2) * self.of_panel + count * PANEL_STEP;
        assert!(count_of_panels == 1 || before_last <= panels.len());
        let last = &panels[(count_of_panels - 1) * self.of_panel..][(count - 1) * PANEL_STEP..];
        let last = self.last(last);
        let panels = if count == 1 && count_of_panels == 1 { last } else { panels.as_ptr() };
        let (first, copied) = (self.lines.places().0, self.copies());
        let how = self.shape.how();
        let is_copied = self.copied > 0 || count > self.steps;
        to.begin((panels, last), !is_copied);
        for at in 0..count {
            let (line, pitch) = match self.pitch(at + 1) {
                _ if at == self.steps => (self.ends().0.cast_const(), STEP),
                (true, pitch) => (copied.wrapping_add(at * STEP), pitch),
                (false, pitch) => (first.wrapping_add(at * STEP), pitch),
            };
            let lines = [line, line.wrapping_add(HEIGHT * pitch)];
            to.push(Step { lines, pitch, panel: panels.wrapping_add(at * PANEL_STEP), how });
        }
    }

    /// The same of several runs.
    fn find_steps_of_runs(&mut self, panels: &[u8], count_of_panels: usize, to: &mut ShortSteps) {
        let (first, pitch, run_step) = self.lines.places();
        let (runs, of_step) = (self.lines.runs(), self.of_step());
        assert!(
            self.lines.count() >= HEIGHT && self.rows == HEIGHT && (1..=MOST_OF_WINDOWS).contains(&(runs * self.steps))
        );
        let end = (count_of_panels - 1) * self.of_panel + runs * self.of_run;
        assert!(self.steps * self.step == self.len && end <= panels.len());
        let last_step = (runs - 1) * self.of_run + (self.steps - 1) * of_step;
        let last = &panels[(count_of_panels - 1) * self.of_panel..][last_step..];
        to.begin((panels.as_ptr(), last.as_ptr()), true);
        let below = self.below * pitch;
        for run in 0..runs {
            for at in 0..self.steps {
                let line = first.wrapping_add(run * run_step + at * self.step);
                let panel = panels.as_ptr().wrapping_add(run * self.of_run + at * of_step);
                to.push(Step { lines: [line, line.wrapping_add(below)], pitch, panel, how: self.shape.how() });
            }
        }
    }

    /// Whether steps up to this one are read where they are copied, and how far lines are apart there.
    #[inline(always)]
    fn pitch(&self, end: usize) -> (bool, usize) {
        let is_copied = end <= self.copied;
        (is_copied, if is_copied { Copied::PITCH } else { self.lines.places().1 })
    }

    /// Where copies begin, if there are any.
    #[inline(always)]
    fn copies(&mut self) -> *const u8 {
        self.room.as_mut().map_or(std::ptr::null(), |room| room.place(0).cast_const())
    }

    /// Has sums begin with those of columns, or zeros.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply).
    #[inline(always)]
    pub(super) unsafe fn begin(&self, of_cols: Option<Place>) {
        // SAFETY: this function's own promise.
        unsafe { self.shape.begin(of_cols.map(|sums| [sums; 2])) }
    }

    /// Brings sums of two registers of rows to their place.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply).
    #[inline(always)]
    pub(super) unsafe fn end(&self, to: Place) {
        // SAFETY: this function's own promise.
        unsafe { self.shape.end([to, to.below(HEIGHT)]) }
    }

    /// Finds the parts of this slice.
    #[inline(never)]
    fn find_parts(&mut self, slice: usize) {
        let count_of_lines = self.lines.count();
        // The second register begins within the first, or after it: what is computed twice is the same.
        let below = count_of_lines.saturating_sub(HEIGHT);
        let start = slice * self.of_slice;
        let end = if slice + 1 == self.slices { self.steps } else { start + self.of_slice };
        let (mut before, mut count) = (start, 0);
        while before < end {
            let steps = self.together.min(end - before);
            let (is_copied, pitch) = self.pitch(before + steps);
            let second = if self.shape.form == Form::Broad { self.of_panel } else { below * pitch };
            self.plan.parts[count].write(Part { is_copied, pitch, second, before, steps });
            count += 1;
            before += steps;
        }
        self.plan.count = count;
        self.plan.of = Some((slice, count_of_lines));
    }

    /// Multiplies a slice of the lines, or the only one, by a panel of so many columns, with which as many bytes follow as are given,
    /// and does something else `beside` each part. The sums begin with what lies at one place, or zeros, and go to
    /// another. If tiles are broad, both panels are given, and the second one's places lie beside those.
    ///
    /// # Safety
    /// The CPU has AMX, and this thread has begun a session. There are sums for all lines at both places, and nobody else uses the
    /// latter.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) unsafe fn multiply(
        &mut self,
        slice: usize,
        panel: &[u8],
        cols: usize,
        from: Option<Place>,
        to: Place,
        mut beside: impl FnMut(),
    ) {
        let (shape, runs, of_step) = (self.shape, self.lines.runs(), self.step);
        let is_broad = shape.form == Form::Broad;
        assert!(runs * self.of_run <= panel.len() && (!is_broad || 2 * self.of_panel <= panel.len()));
        let multiply = self.ways[usize::from(cols > WIDTH / 2)];
        let ((first, _, step), copied) = (self.lines.places(), self.copies());
        let second = self.lines.count().saturating_sub(HEIGHT);
        let is_last = slice + 1 == self.slices;
        let of_panel = self.of_panel;
        let both = |place: Place| [place, if is_broad { place.beside(1) } else { place.below(second) }];
        // SAFETY: this function's own promise. Lines and panels reach as far as they are read.
        unsafe {
            shape.begin(from.map(both));
            for run in 0..runs {
                if self.plan.of != Some((slice, self.lines.count())) {
                    self.find_parts(slice);
                }
                let panel = &panel[run * self.of_run..];
                let first = first.wrapping_add(run * step);
                for part in &self.plan.parts[..self.plan.count] {
                    let Part { is_copied, pitch, second, before, steps } = part.assume_init();
                    let line = if is_copied { copied } else { first }.wrapping_add(before * of_step);
                    let panel = panel.as_ptr().wrapping_add(before * of_step * WIDTH);
                    if self.is_before {
                        beside();
                    }
                    multiply(line, second, pitch, panel, (steps, of_step));
                    if !self.is_before {
                        beside();
                    }
                }
                if is_last && self.steps * of_step < self.len {
                    if runs > 1 {
                        copy(self.lines.run(run), self.steps * STEP..self.len, self.ends());
                    }
                    let rest = &panel[self.steps * PANEL_STEP..];
                    let (ends, pitch) = self.ends();
                    // Of two panels the first ends where bytes of the other follow.
                    let (first, second) = match is_broad {
                        true => (rest.as_ptr(), self.last(&rest[of_panel..]).addr().wrapping_sub(rest.as_ptr().addr())),
                        false => (self.last(rest), second * pitch),
                    };
                    multiply(ends.cast_const(), second, pitch, first, (1, of_step));
                }
            }
            shape.end(both(to));
        }
    }

    /// The bytes of a panel that are multiplied by zeros after the end of lines may be those of the next; but there have to be some.
    fn last(&mut self, panel: &[u8]) -> *const u8 {
        if panel.len() >= PANEL_STEP {
            return panel.as_ptr();
        }
        let copy = self.copies.as_mut_ptr().cast::<u8>().wrapping_add(offset_of!(Copies, panel));
        // SAFETY: there is room for a whole step.
        unsafe { copy.copy_from_nonoverlapping(panel.as_ptr(), panel.len()) }
        copy
    }
}
