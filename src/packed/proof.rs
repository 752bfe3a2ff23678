//! Whether weights of 8 bits are small enough for sums of 16 bits: a proof by their values, stretch by stretch.
//!
//! A narrow kernel multiplies any numbers exactly, but pays where two of their products may not fit 16 bits. So an operand
//! is packed for it if that is faster as a whole.

use super::label::{Centre, Label};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::matrix::Operand;
use crate::range::ElementRange;
use crate::reading::Reading;
use crate::span;

/// What a depth with a span of 0, 1, 2, 4, 8 or 16 groups costs a narrow kernel, as measured with AVX2: percent of what
/// it costs the exact one. With NEON spans of 1 are of no use.
const COSTS: [usize; 6] =
    if cfg!(target_arch = "x86_64") { [135, 75, 69, 62, 56, 53] } else { [135, 135, 76, 67, 61, 58] };

/// A narrow kernel is chosen if all stretches together cost it no more than so many percent.
const WORTH: usize = 95;

/// What is to become 0 for `narrow`, and for each of its panels the spans of its stretches, if it is worth packing for. The numbers are
/// within `range`.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(super) fn of(
    narrow: &Kernel,
    operand: &Operand,
    label: &Label,
    range: ElementRange,
) -> Result<Option<(Centre, Vec<u8>)>, Error> {
    let stored = label.stored(narrow, range);
    for &centre in label.centres(narrow, range) {
        let reading = Label { centre, ..*label }.reading(narrow, stored, range);
        if let Some(spans) = spans(narrow, operand, label, &reading)? {
            return Ok(Some((centre, spans)));
        }
    }
    Ok(None)
}

/// Those with one centre. `reading` is what would be packed by.
fn spans(narrow: &Kernel, operand: &Operand, label: &Label, reading: &Reading) -> Result<Option<Vec<u8>>, Error> {
    let per_panel = operand.depth.div_ceil(span::DEPTHS);
    let panels = operand.lines.div_ceil(narrow.width);
    let mut spans = Vec::new();
    let len = panels * per_panel;
    if len == 0 {
        return Ok(None);
    }
    spans.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes: len })?;
    spans.resize(len, 0);
    let lhs = ElementRange::all(label.purpose.other);
    let mut room = Buffer::empty();
    room.reserve(narrow.room_for_panels(1, operand.depth).bytes)?;
    let cost_of = |span: u8| COSTS[span.checked_ilog2().map_or(0, |log| log as usize + 1)];
    // Of each depth of each panel, for the last stretch may be short.
    let all = panels * operand.depth;
    let (mut cost, mut rest) = (0, all);
    for (panel, spans) in spans.chunks_exact_mut(per_panel).enumerate() {
        let first = panel * narrow.width;
        let lines = first..operand.lines.min(first + narrow.width);
        narrow.pack_panels(operand, reading, lines, room.as_mut_slice(), &mut []);
        span::prove(narrow, room.as_slice(), reading.to, operand.depth, lhs, spans);
        for (from, &span) in (0..operand.depth).step_by(span::DEPTHS).zip(spans.iter()) {
            cost += cost_of(span) * span::DEPTHS.min(operand.depth - from);
        }
        rest -= operand.depth;
        // However little the rest costs.
        if cost + COSTS[COSTS.len() - 1] * rest > WORTH * all {
            return Ok(None);
        }
    }
    Ok(Some(spans))
}

#[cfg(test)]
mod tests;
