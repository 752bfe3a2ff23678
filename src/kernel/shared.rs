//! What kernels with the same vectors share: it is compiled for vectors and widths, for the compiler takes long for it.

use super::Vectors;
use super::panel::PanelFns;
use super::vectors::Kind;
use crate::output::{self, Finish, FinishFn, Region};
use crate::planes::{self, ExpandFn, Planes};
use crate::segment::{self, AddSegmentFn, Segment};

/// Functions of all kernels with the same vectors and panels of the same width.
pub(super) struct Shared {
    pub expand: ExpandFn,
    pub add_segment: AddSegmentFn,
    pub finish: FinishFn,
    pub panels: Option<&'static PanelFns>,
}

impl Vectors {
    /// To be evaluated by the compiler: then nothing is compiled for other vectors.
    pub(super) const fn shared<const W: usize>(self) -> Shared {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => avx2::shared::<W>(),
            #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
            Kind::Avx512 => avx512::shared::<W>(),
            _ => common::shared::<W>(),
        }
    }

    /// What turns tiles of this width, vectors of 256 bits, into parts of a result. Of rows so short the compiler makes
    /// vectors of whole columns for AVX-512, gathered and scattered.
    pub(crate) const fn finish<const W: usize>(self) -> FinishFn {
        match self.0 {
            // Those with wider vectors have these, too.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => avx2::finish::<W>,
            _ => common::finish::<W>,
        }
    }
}

macro_rules! shared {
    ($vectors:ident, $kind:ident, features: [$($feature:literal),*] $(, panels: $panels:expr, of $width:literal)?) => {
        mod $vectors {
            use super::*;

            pub(super) const fn shared<const W: usize>() -> Shared {
                let panels: &[&PanelFns] = &[$(&$panels)?];
                let is_so_wide = false $(|| W == $width)?;
                let panels = if is_so_wide { panels.first().copied() } else { None };
                Shared { expand, add_segment: add_segment::<W>, finish: finish::<W>, panels }
            }

            $(#[target_feature(enable = $feature)])*
            fn expand(planes: &Planes, from: &[u8], to: &mut [u8]) {
                planes::expand(planes, from, to)
            }

            $(#[target_feature(enable = $feature)])*
            fn add_segment<const W: usize>(segment: &Segment, acc: &[i32], floats: &mut [i32]) {
                segment::add::<W>(segment, acc, floats)
            }

            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn finish<const W: usize>(
                finish: &Finish,
                region: &Region,
                acc: &mut [i32],
                room: &mut [i32],
            ) {
                // SAFETY: this function's own promise.
                unsafe { output::finish::<W>(finish, region, acc, room, Vectors(Kind::$kind)) }
            }
        }
    };
}

shared! { common, Common, features: [] }
// Those that `Vectors` is made of.
#[cfg(target_arch = "x86_64")]
shared! { avx2, Avx2, features: ["avx2", "fma"], panels: crate::kernel::requantize::avx2::PANEL_FNS, of 16 }
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
shared! { avx512, Avx512, features: ["avx512f", "avx512bw", "avx512dq", "avx512vl"], panels: crate::kernel::requantize::avx512::PANEL_FNS, of 32 }
