//! Scale and zero point of each channel, from its elements.

use super::{Channels, min_max};
use crate::context::Context;
use crate::elements::{Elements, ElementsMut};
use crate::quantize::Scheme;
use crate::range::ElementRange;

/// Where scales and zero points go, one for each channel.
pub(crate) struct Chosen<'a> {
    pub scales: ElementsMut<'a, f32>,
    pub zero_points: ElementsMut<'a, i32>,
}

/// Chooses them for integers of a range.
pub(crate) fn choose(
    context: &Context,
    scheme: Scheme,
    ElementRange { least, greatest }: ElementRange,
    channels: Channels,
    from: Elements<f32>,
    to: Chosen,
) {
    min_max(context, from, channels, |channel, ends| {
        let found = scheme.of(ends, (least, greatest));
        // SAFETY: each channel is found once.
        unsafe { to.scales.set(channel, [found.scale]) };
        // SAFETY: as above.
        unsafe { to.zero_points.set(channel, [found.zero_point]) };
    });
}
