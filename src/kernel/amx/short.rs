//! Short lines: all their steps are found once, and the first of the next panel, or strip, is loaded before a tile's sums are stored.

use super::registers::{NONE, Step};
use std::mem::MaybeUninit;

/// Of so many steps lines are short; and windows, all of which are loaded from where they lie.
pub(super) const MOST_SHORT: usize = 27;
pub(super) const MOST_OF_WINDOWS: usize = 75;

/// The steps of short lines by a panel, and the first one by the next, or of the next strip.
pub(super) struct ShortSteps {
    steps: [MaybeUninit<Step>; MOST_OF_WINDOWS + 1],
    count: usize,
    /// Where the first panel begins, and what the last step meets of the last panel, which may lie elsewhere.
    panels: *const u8,
    last: *const u8,
    /// Whether all lines lie where they lay, and nothing is to be copied.
    are_in_place: bool,
}

impl ShortSteps {
    /// To be found.
    pub(super) fn none() -> Self {
        let (panels, last) = (std::ptr::null(), std::ptr::null());
        Self { steps: [MaybeUninit::uninit(); _], count: 0, panels, last, are_in_place: false }
    }

    /// Begins with none, of panels that begin there, the last one's last step there; and whether all lines lie where they lay.
    pub(super) fn begin(&mut self, (panels, last): (*const u8, *const u8), are_in_place: bool) {
        (self.count, self.panels, self.last, self.are_in_place) = (0, panels, last, are_in_place);
    }

    /// Adds the next.
    #[inline(always)]
    pub(super) fn push(&mut self, step: Step) {
        self.steps[self.count].write(step);
        self.count += 1;
        // In place of the one after the last, for now.
        self.steps[self.count].write(step);
    }

    fn all(&mut self) -> &mut [Step] {
        let steps = &mut self.steps[..self.count + 1];
        // SAFETY: whoever made this wrote so many.
        unsafe { &mut *(steps as *mut [MaybeUninit<Step>] as *mut [Step]) }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn first(&mut self) -> Step {
        self.all()[0]
    }

    /// Those after the first, and the one after them, if so many panels are left, with this one, and then another strip, so many bytes
    /// further down, or none.
    #[inline(always)]
    pub(super) fn following(
        &mut self,
        panels: usize,
        of_panel: usize,
        down: Option<[usize; 2]>,
    ) -> impl Iterator<Item = Step> {
        let (last, count, first_panel) = (self.last, self.count, self.panels);
        let down = down.filter(|_| self.are_in_place);
        let steps = self.all();
        let first = steps[0];
        steps[count] = match (panels, down) {
            (1, None) => Step { how: first.how | NONE, ..first },
            (1, Some(down)) => Step { panel: first_panel, ..first.below(down) },
            (2, _) if count == 1 => Step { panel: last, ..first },
            _ => Step { panel: first.panel.wrapping_add(of_panel), ..first },
        };
        if panels == 1 && count > 1 {
            steps[count - 1].panel = last;
        }
        steps[1..].iter().copied()
    }

    /// Goes on to the next panel.
    #[inline(always)]
    pub(super) fn go_on(&mut self, of_panel: usize) {
        let count = self.count;
        self.all()[..count].iter_mut().for_each(|step| step.panel = step.panel.wrapping_add(of_panel));
    }

    /// Goes on to the next strip, if its first step was the last to be loaded.
    #[inline(always)]
    pub(super) fn go_down(&mut self, of_step: usize, down: [usize; 2]) -> bool {
        let (panels, count) = (self.panels, self.count);
        if !self.are_in_place {
            return false;
        }
        for (at, step) in self.all()[..count].iter_mut().enumerate() {
            *step = Step { panel: panels.wrapping_add(at * of_step), ..step.below(down) };
        }
        true
    }
}
