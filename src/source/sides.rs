//! Which kernel reads both sides of a product, and as what.

use super::factor::Item;
use super::{Factor, Input, Source};
use crate::kernel::Kernel;
use crate::matrix::Encoding;
use crate::output::Rescale;
use crate::pack::Groups;
use crate::packed::{Bits, Form, Line, Packed, Side};
use crate::reading::Reading;
use crate::span;
use std::cmp::Ordering;

/// Both sides of a product, and the kernel that reads them.
pub(crate) struct Sides<'a> {
    pub kernel: &'static Kernel,
    /// The LHS and the RHS.
    pub sources: [Source<'a>; 2],
    pub rescale: Option<Rescale>,
    /// How many groups accumulators of 16 bits may take of these numbers.
    pub span: u8,
}

/// Shorter spans are not worth a narrow kernel: with NEON the exact one does as well.
const LEAST_SPAN: u8 = if cfg!(target_arch = "x86_64") { 1 } else { 2 };

/// A narrow kernel, and how it reads two sides neither of which is packed.
pub(crate) struct Narrow {
    pub kernel: &'static Kernel,
    pub readings: [Reading; 2],
    pub span: u8,
}

impl Narrow {
    /// That of `kernel`. None if there is none, or nothing is known of the numbers by which they are small enough.
    #[inline]
    pub(crate) fn new(kernel: &Kernel, lhs: &Factor, rhs: &Factor) -> Option<Self> {
        let kernel = kernel.narrow.filter(|_| lhs.may_be_small() || rhs.may_be_small())?;
        let to = kernel.groups.read_as(lhs.read_as(), rhs.read_as(), (rhs.lines(), rhs.depth()));
        let readings = [lhs.reading(to), rhs.centred(kernel.groups.rhs_encoding(to, rhs.free()))];
        let room = span::room(kernel.groups, readings[1].to);
        let span = span::span(lhs.numbers(&readings[0]), rhs.numbers(&readings[1]), room);
        (span >= LEAST_SPAN).then_some(Self { kernel, readings, span })
    }
}

impl<'a> Sides<'a> {
    /// For `kernel`, or its narrow one if the numbers are small, as they are known to be in weights that are packed for that,
    /// unless more is packed for the former.
    pub(crate) fn new(kernel: &'static Kernel, lhs: &Factor<'a>, rhs: &Factor<'a>) -> Self {
        let sides = Self::of(kernel, false, lhs, rhs);
        let may_be_small = || [lhs, rhs].iter().any(|factor| factor.may_be_small());
        let Some(narrow) = kernel.narrow.filter(|_| may_be_small()) else { return sides };
        let narrow = Self::of(narrow, true, lhs, rhs);
        match narrow.ready().cmp(&sides.ready()) {
            Ordering::Greater => narrow,
            Ordering::Equal if narrow.span >= LEAST_SPAN || narrow.sources[1].spans.is_some() => narrow,
            _ => sides,
        }
    }

    /// An RHS that is packed already decides what the LHS is read as, otherwise the LHS decides.
    fn of(kernel: &'static Kernel, is_narrow: bool, lhs: &Factor<'a>, rhs: &Factor<'a>) -> Self {
        let ready = |factor: &Factor<'a>, form| match factor.item {
            Item::Packed(packed)
                if packed.form() == form
                    && packed.is_for(kernel)
                    && packed.is_start(factor.first())
                    && factor.requantization.is_none() =>
            {
                Some(packed)
            }
            _ => None,
        };
        // Beside an LHS with segments panels are read from any depth on, which planes are not.
        let panels = ready(rhs, Form::Panels).filter(|panels| lhs.segment().is_none() || panels.line().is_plain());
        let lhs_encoding = match lhs.item {
            // Those that are packed are not to be packed anew.
            Item::Packed(_) => lhs_encoding(kernel.groups, panels, lhs.read_as(), None),
            Item::Patches(_) if panels.is_none() => kernel.groups.patches_as(lhs.lhs_as(kernel.groups), rhs.read_as()),
            _ => {
                let own = lhs.lhs_as(kernel.groups);
                lhs_encoding(kernel.groups, panels, own, Some((rhs.read_as(), (rhs.lines(), rhs.depth()))))
            }
        };
        let rhs_encoding = match panels {
            Some(panels) if !panels.is_of_both() => panels.stored(),
            _ => kernel.groups.rhs_encoding(lhs_encoding, rhs.free()),
        };
        let rhs_reading = match panels {
            Some(panels) => Reading { to: rhs_encoding, ..panels.reading() },
            None if is_narrow => rhs.centred(rhs_encoding),
            None => rhs.reading(rhs_encoding),
        };
        let readings = [lhs.reading(lhs_encoding), rhs_reading];
        let [lhs_numbers, rhs_numbers] = [(lhs, 0), (rhs, 1)].map(|(factor, side)| factor.numbers(&readings[side]));
        let rescale = Rescale::new(&readings[0], &readings[1]);
        let offsets = [lhs.line_offsets(&readings[0]), rhs.line_offsets(&readings[1])];
        let is_added_to = [0, 1].map(|side| {
            let reading = &readings[side];
            offsets[side].uniform() != Some(0) || rescale.is_some() && reading.shift != 0 || reading.is_compensated()
        });
        let segment = lhs.segment().or(rhs.segment());
        let segments = [lhs, rhs].map(|factor| match factor.item {
            Item::Packed(packed) if packed.segment().is_some() => Some(packed),
            _ => None,
        });
        let is_added_to =
            [0, 1].map(|side| is_added_to[side] || segments[side].is_some_and(|packed| packed.has_zero_points()));
        // Beside an RHS with segments their sums are needed, but those of whole lines are packed.
        let lines = ready(lhs, Form::Lines).filter(|lines| {
            // Of lines that the kernel turns, nobody needs the sums.
            let is_turned = readings[0].is_turn() && kernel.groups == Groups::FreeQuads && !is_added_to[1];
            (lines.stored() == lhs_encoding || is_turned) && lines.line().is_plain() && rhs.segment().is_none()
        });
        let source = |side, factor: &Factor<'a>, ready: Option<&'a Packed>, reading, offset, is_summed| {
            let (depth, own) = (factor.depth(), factor.segment().unwrap_or(0));
            let line = ready.map_or(Line { depth, bits: Bits::ALL, segment: own }, Packed::line);
            Source {
                kernel,
                side,
                input: match (factor.item, ready) {
                    (_, Some(packed)) => Input::Ready(packed.prepared()),
                    (Item::Operand(operand), _) => Input::Operand(operand),
                    (Item::Patches(patches), _) => Input::Patches(patches),
                    (Item::Packed(packed), None) => Input::Otherwise(packed),
                },
                line,
                pitch: line.bytes(line.len(kernel.groups)),
                pieces: segment.map_or(1, |segment| depth.div_ceil(segment)),
                planes: ready.and_then(Packed::planes),
                segments: segments[if side == Side::Lhs { 0 } else { 1 }],
                segment,
                reading,
                // Segments begin anywhere, but spans are of windows that begin with stretches.
                spans: ready.and_then(Packed::spans).filter(|_| segment.is_none()),
                offset,
                is_summed,
            }
        };
        let sources = [
            source(Side::Lhs, lhs, lines, readings[0], offsets[0], is_added_to[1]),
            source(Side::Rhs, rhs, panels, readings[1], offsets[1], is_added_to[0]),
        ];
        Self {
            kernel,
            sources,
            rescale,
            span: span::span(lhs_numbers, rhs_numbers, span::room(kernel.groups, rhs_encoding)),
        }
    }

    /// How many of the sides are packed as the kernel reads them.
    fn ready(&self) -> usize {
        self.sources.iter().filter(|source| matches!(source.input, Input::Ready(_))).count()
    }
}

/// What an LHS of this encoding is read as, beside such panels if they are packed already, or an RHS of so many lines ×
/// depth that may be packed to suit it.
pub(crate) fn lhs_encoding(
    groups: Groups,
    panels: Option<&Packed>,
    lhs: Encoding,
    rhs: Option<(Encoding, (usize, usize))>,
) -> Encoding {
    match (panels, rhs) {
        (Some(panels), _) if panels.is_of_both() => lhs,
        (Some(panels), _) => groups.lhs_encoding(panels.stored()).unwrap_or(lhs),
        (None, Some((rhs, shape))) => groups.read_as(lhs, rhs, shape),
        (None, None) => lhs,
    }
}
