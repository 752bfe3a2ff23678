//! Convolution: a product whose LHS has a line for each position of the filter, the patch of an image that lies under it.
//!
//! No patch is ever copied but into the order in which a kernel reads it. As a rule not even that: rows of the image are packed once,
//! and kernels read patches there; where the filter has one tap and takes every pixel, the images are the LHS. Beside an image its zero point lies, so that the sums of weights,
//! times the zero point, are the same for all positions.

use crate::buffer::Buffer;
use crate::context::Context;
use crate::error::Error;
use crate::gemm::{self, gemm_in, workspace_len};
use crate::matrix::{Offset, Operand};
use crate::output::{Finish, KeptPanels, Quick, Store};
use crate::range::ElementRange;
use crate::scratch::Scratch;
use crate::source::Factor;

mod axis;
mod depthwise;
mod filter;
mod patches;
mod plan;
mod saved;
#[cfg(test)]
mod tests;
mod windows;

pub(crate) use axis::{Axis, Reach};
use depthwise::Depthwise;
pub(crate) use filter::Filter;
pub(crate) use patches::Patches;
pub(crate) use plan::{Images, Place, Plan};
pub(crate) use saved::LEN as SAVED_LEN;
pub(crate) use windows::Windows;

/// One convolution.
pub(crate) struct Conv<'a> {
    plan: &'a Plan,
    /// Pixels × channels.
    image: Operand<'a>,
    offset: i32,
    /// What no element of an image is outside of, nor what lies beside it.
    range: ElementRange,
    weights: &'a Factor<'a>,
}

/// What is found out of a convolution before its image is there.
pub(crate) enum Route {
    /// It is depthwise, and its weights were packed: here they are as they are multiplied.
    Depthwise(Buffer),
    /// It is one product.
    Product(Box<gemm::Route>),
    /// Nothing.
    Any,
}

impl Route {
    /// As [`gemm::Route::panels`].
    #[inline(always)]
    pub(crate) fn panels(&self) -> Option<&KeptPanels> {
        if let Self::Product(route) = self { route.panels() } else { None }
    }
}

impl<'a> Conv<'a> {
    /// Of images as pixels × channels, to whose elements `offset` is added and that are all in `range`, with weights of which
    /// each line has, tap by tap, the channels of a group.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is padding, but no element that `offset` makes 0.
    ///
    /// # Panics
    /// If the shapes are not those of the plan.
    #[inline(always)]
    pub(crate) fn new(
        plan: &'a Plan,
        image: Operand<'a>,
        (offset, mut range): (i32, ElementRange),
        weights: &'a Factor<'a>,
    ) -> Result<Self, Error> {
        let [channels, results] = plan.filter().channels;
        assert_eq!(
            (Some(image.lines), image.depth),
            (plan.images().pixels(), channels),
            "the images have another shape"
        );
        assert_eq!((weights.lines(), weights.depth()), (results, plan.depth()), "other weights");
        if plan.is_padded() {
            let (zero, all) = (offset.wrapping_neg(), ElementRange::all(image.encoding));
            if !(all.least..=all.greatest).contains(&zero) {
                let expected = "minus a number of the image's type, which is what lies beside it";
                return Err(Error::Parameter { argument: "offset.value", value: offset.into(), expected });
            }
            range = ElementRange { least: range.least.min(zero), greatest: range.greatest.max(zero) };
        }
        Ok(Self { plan, image, offset, range, weights })
    }

    /// Computes all results: their rows are positions of the filter, image by image, and their columns channels.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Workspace`], and then nothing was written.
    pub(crate) fn run(&self, context: &Context, finish: &Finish, workspace: Option<&mut [u8]>) -> Result<(), Error> {
        match self.depthwise(context) {
            Some(depthwise) => depthwise.run_in(context, finish, workspace),
            None => self.multiply(context, None, finish, workspace),
        }
    }

    /// What is found out of convolutions like this one before their images are there.
    pub(crate) fn route(&self, context: &Context, quick: Option<&Quick>, store: &Store) -> Result<Route, Error> {
        match self.depthwise(context) {
            Some(depthwise) => Ok(depthwise.make_ready(context.kernel)?.map_or(Route::Any, Route::Depthwise)),
            None if self.groups() == 1 => gemm::Route::new(context, &self.lhs(0), self.weights, quick, store)
                .map(|route| Route::Product(Box::new(route))),
            None => Ok(Route::Any),
        }
    }

    /// As [`Conv::run`], of a convolution that differs in its elements at most from the one whose route it is.
    pub(crate) fn run_by(
        &self,
        route: &Route,
        context: &Context,
        finish: &Finish,
        workspace: Option<&mut [u8]>,
    ) -> Result<(), Error> {
        match (route, self.depthwise(context)) {
            (Route::Depthwise(ready), Some(depthwise)) => depthwise.with(ready).run_in(context, finish, workspace),
            (Route::Product(route), None) => self.multiply(context, Some(route), finish, workspace),
            _ => self.run(context, finish, workspace),
        }
    }

    /// As [`Conv::run`], group by group.
    fn multiply(
        &self,
        context: &Context,
        route: Option<&gemm::Route>,
        finish: &Finish,
        workspace: Option<&mut [u8]>,
    ) -> Result<(), Error> {
        if self.groups() == 1 {
            let lhs = &self.lhs(0);
            return match route {
                Some(route) => route.run(context, lhs, self.weights, finish, workspace),
                None => gemm_in(context, lhs, self.weights, finish, workspace),
            };
        }
        // Before anything is written, for one group may take more than another.
        let least = self.groups_len(context)?;
        let mut scratch = match workspace {
            Some(workspace) if workspace.len() < least => {
                return Err(Error::Workspace { size: workspace.len(), least });
            }
            Some(workspace) => Scratch::Callers(workspace),
            None => context.scratch(least)?,
        };
        (0..self.groups()).try_for_each(|group| {
            gemm_in(context, &self.lhs(group), &self.rhs(group), finish, Some(scratch.as_mut_slice()))
        })
    }

    /// How many bytes of the caller's that may take.
    pub(crate) fn workspace_len(&self, context: &Context) -> Result<usize, Error> {
        match self.depthwise(context) {
            // Whether threads are worth it is decided anew by each call.
            Some(depthwise) => Ok(Scratch::callers_len(depthwise.scratch_len(context.threads()))),
            None => self.groups_len(context),
        }
    }

    /// How many bytes a group's product may take: the first, whose weights begin a panel, or any other, and if theirs do not
    /// always, those of the second do not.
    fn groups_len(&self, context: &Context) -> Result<usize, Error> {
        let len = |group| workspace_len(context, &self.lhs(group), &self.rhs(group));
        (0..self.groups().min(2)).try_fold(0, |most, group| Ok(most.max(len(group)?)))
    }

    /// How many groups have results.
    fn groups(&self) -> usize {
        let has_results = self.plan.positions() > 0 && self.plan.filter().channels[1] > 0;
        if has_results { self.plan.filter().groups } else { 0 }
    }

    #[inline(always)]
    fn depthwise(&self, context: &Context) -> Option<Depthwise<'a>> {
        if !self.plan.filter().is_depthwise() {
            return None;
        }
        Depthwise::new(context.kernel, self.plan, self.image, self.offset, *self.weights)
    }

    /// What the magnitude of a sum cannot exceed.
    pub(crate) fn bound(&self) -> u128 {
        self.lhs(0).bound(self.weights)
    }

    /// The left side of a group's product.
    pub(crate) fn lhs(&self, group: usize) -> Factor<'a> {
        let [channels, _] = self.plan.filter().channels_of_group();
        let pixels = self.image.part(0..self.image.lines, group * channels..(group + 1) * channels);
        let offset = Offset::Uniform(self.offset);
        let lhs = match self.plan.filter().is_pointwise() {
            true => Factor::new(pixels, offset),
            false => {
                let absent = self.offset.wrapping_neg() as u8;
                Factor::patches(Patches { plan: self.plan, pixels, absent }, offset)
            }
        };
        lhs.within(self.range.least, self.range.greatest)
    }

    /// The right side of a group's product.
    fn rhs(&self, group: usize) -> Factor<'a> {
        let [_, results] = self.plan.filter().channels_of_group();
        self.weights.part(group * results..(group + 1) * results)
    }
}
