//! The kernels, one for each instruction set, and the choice among them.
//!
//! A kernel is a value in a table. It can be had only from [`Kernel::available`] or [`Kernel::chosen`], so whoever
//! holds one knows that the processor runs it: that is the whole safety argument for calling its functions.

use crate::blocks::Shape;
use crate::error::Error;
use crate::matrix::{Encoding, Lines, Operand, Order};
use crate::output::{FinishFn, FloatParts, ResultKind, Sums};
use crate::pack::{Groups, PackLhsFn, PackPatchesFn, PackRhsFn, SumLinesFn, Ways};
use crate::planes::ExpandFn;
use crate::reading::Reading;
use crate::segment::AddSegmentFn;
use crate::span::Spans;
use once_cell::sync::Lazy;
use session::Session;

pub(crate) use dequantize::{FloatBlock, FloatClamp, FloatColumns, FloatRows, whole_row};
#[cfg(target_arch = "x86_64")]
pub(crate) use few_lines::SLICE;
pub(crate) use few_lines::{FewLines, Product as FewProduct};
pub(crate) use lanes::{Factor, multiply_high};
pub(crate) use lookup::{LookUpLoop, TOGETHER};
pub(crate) use naturals::Terms as NaturalTerms;
pub(crate) use panel::PanelFns;
pub(crate) use relay::RelayFns;
pub(crate) use requantize::{Columns, Last, Rows, Rule, Wide, Words};
pub(crate) use taps::{Group, Taps, TapsLoop, TapsWays};
use tile::Takes;
#[cfg(target_arch = "x86_64")]
pub(crate) use tile::tiles;
pub(crate) use tile::{FAR_PANELS, Tile, height, tiles_of};
pub(crate) use tiny::TinyWay;
pub(crate) use vectors::{Loop, Vectors};
pub(crate) use weighted::{BLOCK, LOW, Weighted, WeightedLoop};

/// Everything the rest of the library knows of an instruction set.
pub struct Kernel {
    /// What `QGEMM_ISA` calls it.
    pub name: &'static str,
    pub(crate) c_name: &'static std::ffi::CStr,
    pub(crate) groups: Groups,
    /// How many lines of the LHS a tile takes at most.
    pub(crate) rows: usize,
    /// How many lines of the RHS a panel holds.
    pub(crate) width: usize,
    pub(crate) pack_lhs: Ways<PackLhsFn>,
    pub(crate) pack_patches: PackPatchesFn,
    pub(crate) pack_rhs: Ways<PackRhsFn>,
    /// Whether an RHS that is packed where it lies is fetched ahead, from however far.
    pub(crate) fetches_rhs: bool,
    pub(crate) sum_lines: SumLinesFn,
    pub(crate) expand: ExpandFn,
    tile: TileFn,
    /// Whether that takes however many lines, tile by tile.
    takes_lines: bool,
    pub(crate) few_lines: FewLines,
    pub(crate) add_segment: AddSegmentFn,
    pub(crate) finish: FinishFn,
    pub(crate) vectors: Vectors,
    /// How depthwise convolutions multiply.
    pub(crate) taps: TapsWays,
    /// A faster kernel of the same instruction set, which sums small numbers in 16 bits. It is in no list: a product
    /// chooses it for its operands.
    pub(crate) narrow: Option<&'static Kernel>,
    /// How tiny products are multiplied, if not as others are.
    pub(crate) tiny: Option<TinyWay>,
    /// A faster kernel for large products, in no list either. It reads what is packed for this one, and what is packed for it,
    /// this one does.
    large: Option<Large>,
    /// What its tiles take place in, if they do.
    session: Option<&'static Session>,
    /// How it multiplies all lines at once whose sums are the result, if it does.
    sums: Option<SumsFn>,
    /// Whether it makes sums of so many rows, columns and such a depth as fast as of few lines, if it has a way for few columns.
    narrow_sums: Option<fn(rows: usize, cols: usize, depth: usize) -> bool>,
    /// The same of a small product only, of lines that are one run and are multiplied in tiles as high as the tile says.
    small_sums: Option<SumsFn>,
    /// Whether that is for strips of larger products, too.
    takes_strips: bool,
    /// The same as either, if sums become floats.
    floats: Option<FloatsFn>,
    /// How tiles become bytes by panels that are ready, if it has a way of its own.
    pub(crate) panels: Option<&'static PanelFns>,
    /// How it multiplies tiles while those before become bytes, by such panels, if it does.
    pub(crate) relay: Option<&'static RelayFns>,
    is_supported: fn() -> bool,
}

/// A kernel for products of so many rows and multiplications, or more.
#[derive(Clone, Copy)]
struct Large {
    kernel: &'static Kernel,
    rows: usize,
    macs: f64,
    /// Whether it is faster for such a shape and such results, too.
    pays: fn(rows: usize, cols: usize, depth: usize, results: ResultKind) -> bool,
}

/// Multiplies a tile's lines of the LHS by a panel of the RHS: `acc[i * width + j]` becomes, or grows by,
/// Σ lhs(i, d) · rhs(j, d); or that goes to its place in the result, and what becomes of `acc` is nobody's business.
///
/// # Safety
/// The CPU has the features that the function was compiled for. Nobody else uses the tile's part of the result. This thread has
/// begun the kernel's [session](Kernel::begin), if it has any.
pub(crate) type TileFn = unsafe fn(tile: &Tile, acc: &mut [i32]);

/// Multiplies a tile of however many lines, of runs of 4 bytes at least, by all panels of the columns, fresh, and brings the sums to
/// their place.
///
/// # Safety
/// As for a [`TileFn`].
pub(crate) type SumsFn = unsafe fn(tile: &Tile, sums: &Sums);

/// The same, but that the sums become floats.
///
/// # Safety
/// As for a [`TileFn`].
pub(crate) type FloatsFn = unsafe fn(tile: &Tile, floats: &FloatParts);

/// The most lines any kernel takes from the LHS, and the most a panel has.
pub(crate) const MAX_ROWS: usize = 32;
pub(crate) const MAX_WIDTH: usize = 32;

/// What may be added to bytes so that 16 bits hold each sum, and 32 bits that of two products.
pub(crate) const SMALL_OFFSETS: std::ops::RangeInclusive<i32> = -(1 << 14)..=1 << 14;

/// Best first. This is the only list of kernels. With `--cfg only_avx2` it lacks those that need more, which take most of the
/// time to compile: for sanitizers, where they are not run.
static KERNELS: &[&Kernel] = &[
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    &amx::KERNEL,
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    &avx512vnni::KERNEL,
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    &avxvnni::KERNEL,
    #[cfg(all(target_arch = "x86_64", not(only_avx2)))]
    &avx512bw::KERNEL,
    #[cfg(target_arch = "x86_64")]
    &avx2::KERNEL,
    #[cfg(target_arch = "aarch64")]
    &i8mm::KERNEL,
    #[cfg(target_arch = "aarch64")]
    &dotprod::KERNEL,
    #[cfg(target_arch = "aarch64")]
    &neon::KERNEL,
    &scalar::KERNEL,
];

impl Kernel {
    /// As a [`TileFn`], of however many lines.
    ///
    /// # Safety
    /// As for that.
    #[inline(always)]
    pub(crate) unsafe fn multiply(&self, tile: &mut Tile, acc: &mut [i32]) {
        let count = tile.lhs.count();
        if self.takes_lines || count <= tile.height {
            // SAFETY: this function's own promise.
            return unsafe { (self.tile)(tile, acc) };
        }
        // In its place, for to copy all of it takes as long as a small tile does.
        let (lines, sums) = (tile.lhs, tile.sums.take());
        for rows in tiles_of(count, tile.height) {
            tile.lhs = lines.part(rows.clone());
            tile.sums = sums.as_ref().map(|sums| sums.part(rows.start));
            // SAFETY: as above.
            unsafe { (self.tile)(tile, &mut acc[rows.start * self.width..rows.end * self.width]) }
        }
        (tile.lhs, tile.sums) = (lines, sums);
    }

    /// Whether it multiplies however many lines at once, and has no use for accumulators if fresh sums are the result.
    pub(crate) fn takes_lines(&self) -> bool {
        self.takes_lines
    }

    /// The kernels of this architecture, best first, whether this processor runs them or not.
    pub(crate) fn all() -> impl Iterator<Item = &'static Kernel> {
        KERNELS.iter().copied()
    }

    /// Whether so many rows become bytes while others are multiplied, if they may: tiles of fewer have too few multiplications.
    #[inline(always)]
    pub(crate) fn relays(&self, rows: usize) -> bool {
        /// Timed with AVX-512 VNNI.
        const LEAST: usize = 5;
        rows >= LEAST || self.takes_panels()
    }

    /// Whether a product had better be multiplied by all its panels, one row of tiles after the other.
    #[inline(always)]
    pub(crate) fn takes_panels(&self) -> bool {
        self.groups == Groups::AnyQuads
    }

    /// How many multiplications of other kernels are as much worth a second thread as so many of this one, which may multiply
    /// six times as fast (measured: 256 x 256 x 256 gains, 32 x 512 x 512 does not).
    #[inline(always)]
    pub(crate) fn work(&self, macs: f64) -> f64 {
        if self.takes_panels() { macs / 8.0 } else { macs }
    }

    /// The kernel for products of so many multiplications, however few rows they have, if it is another.
    #[inline(always)]
    pub(crate) fn large(&self, macs: f64) -> Option<&'static Self> {
        self.large.filter(|large| macs >= large.macs).map(|large| large.kernel)
    }

    /// The kernel for a product of so many rows, columns and multiplications, of such a depth, and with such results.
    #[inline(always)]
    pub(crate) fn of(
        &'static self,
        rows: usize,
        cols: usize,
        depth: usize,
        macs: f64,
        results: ResultKind,
    ) -> &'static Self {
        let pays = |large: &Large| rows >= large.rows && macs >= large.macs && (large.pays)(rows, cols, depth, results);
        match &self.large {
            Some(large) if pays(large) => large.kernel,
            _ => self,
        }
    }

    /// Whether most products with so many lines of such a depth are left to a kernel that reads any encoding.
    pub(crate) fn packs_for_any(&self, lines: usize, depth: usize) -> bool {
        const ROWS: f64 = 16.0;
        /// Whose results caches may not hold, if they have many columns.
        const MANY_ROWS: usize = 4096;
        let macs = ROWS * lines as f64 * depth as f64;
        let is_any = |large: &Large| large.kernel.groups == Groups::AnyQuads;
        let pays =
            |large: &Large| ResultKind::ALL.into_iter().any(|results| (large.pays)(MANY_ROWS, lines, depth, results));
        self.large.is_some_and(|large| macs >= large.macs && is_any(&large) && pays(&large))
    }

    /// How it multiplies such lines of a product of one slice, all at once, if the sums are the result.
    #[inline(always)]
    pub(crate) fn sums(&self, lines: &Lines) -> Option<SumsFn> {
        let of_strips = self.small_sums.filter(|_| self.takes_strips);
        self.sums.or(of_strips).filter(|_| self.takes_all(lines))
    }

    /// Whether it makes sums of so few columns beside these lines, which it reads where they lie, as fast as of few lines.
    #[inline(always)]
    pub(crate) fn sums_narrow(&self, Shape { rows, cols, depth, results }: Shape, lines: &Operand) -> bool {
        let may_be = matches!(results, ResultKind::Sums) && lines.order == Order::DepthContiguous;
        may_be && self.narrow_sums.is_some_and(|pays| pays(rows, cols, depth))
    }

    /// Whether it does so whatever the lines are, windows among them.
    #[inline(always)]
    pub(crate) fn sums_windows(&self) -> bool {
        self.sums.is_some()
    }

    /// Whether it multiplies all of such lines at once.
    #[inline(always)]
    fn takes_all(&self, lines: &Lines) -> bool {
        lines.len() >= 4 && (self.sums_windows() || lines.runs() == 1 && lines.left_out() == [0, 0])
    }

    /// How many panels of such a depth it had better multiply together that way, in strips as many as stay near. Windows may leave some
    /// of a panel out.
    #[inline(always)]
    pub(crate) fn panels_at_once(&self, depth: usize, by_windows: bool) -> usize {
        /// Half of the fastest cache.
        const NEAR: usize = 16 << 10;
        match (self.sums_windows(), self.takes_strips && !by_windows) {
            (true, _) => 2,
            (false, true) => (NEAR / (depth * self.width)).max(1),
            (false, false) => 1,
        }
    }

    /// The same of a small product, of lines that are one run of so many bytes.
    #[inline(always)]
    pub(crate) fn sums_of_small(&self, run: usize, spans: Spans) -> Option<SumsFn> {
        self.sums.filter(|_| run >= 4).or(self.small_sums(run, spans))
    }

    /// The same, if it has a way only for that: by some columns that are packed before the next.
    #[inline(always)]
    pub(crate) fn small_sums(&self, run: usize, spans: Spans) -> Option<SumsFn> {
        self.small_sums.filter(|_| run >= 4 && self.are_in_registers(spans))
    }

    /// Whether sums are in registers, as they are not where sums of 16 bits hold windows of many numbers.
    #[inline(always)]
    fn are_in_registers(&self, spans: Spans) -> bool {
        self.groups != Groups::Quads || matches!(spans, Spans::Uniform(1))
    }

    /// How many plain floats at least it had better make of sums that are in registers, rather than of a tiny product's, if it does.
    #[inline(always)]
    pub(crate) fn floats_in_registers(&self) -> Option<usize> {
        /// With AVX-512 VNNI 61 x 73 x 8 takes 0.6 of the time so, and 24 x 24 x 24 0.9.
        const MANY: usize = 512;
        /// With AVX2 64 x 64 x 16 takes 0.82 to 0.93, and 24 x 24 x 24 would take 1.6 times as long.
        const MANY_OF_STRIPS: usize = 4096;
        self.floats.map(|_| if self.takes_strips { MANY_OF_STRIPS } else { MANY })
    }

    /// As [`Kernel::sums`], if they become such floats: plain ones, unless it takes all panels.
    #[inline(always)]
    pub(crate) fn floats(&self, lines: &Lines, spans: Spans, parts: &FloatParts) -> Option<FloatsFn> {
        let suits = self.takes_all(lines) && self.are_in_registers(spans);
        self.floats.filter(|_| suits && (self.takes_panels() || parts.are_plain()))
    }

    /// The kernels that this processor runs, best first.
    pub fn available() -> impl Iterator<Item = &'static Kernel> {
        let available = Self::all().filter(|kernel| (kernel.is_supported)());
        #[cfg(test)]
        let available = available.filter(tests::is_tested);
        available
    }

    /// The best of them, or the one that the environment variable `QGEMM_ISA` names; decided once for the process.
    ///
    /// # Errors
    /// If `QGEMM_ISA` names no kernel, or one that this processor does not run.
    pub fn chosen() -> Result<&'static Kernel, Error> {
        static CHOSEN: Lazy<Result<&'static Kernel, Error>> =
            Lazy::new(|| match std::env::var_os("QGEMM_ISA").filter(|name| !name.is_empty()) {
                None => Ok(Kernel::available().next().unwrap_or(&scalar::KERNEL)),
                Some(name) => Kernel::named(&name.to_string_lossy()),
            });
        *CHOSEN
    }

    /// Packs and sums a whole RHS, as a product with an LHS of this encoding would: for benches.
    #[doc(hidden)]
    pub fn pack_whole_rhs(&self, rhs: &Operand, lhs: Encoding, bytes: &mut Vec<u8>, sums: &mut Vec<i32>) {
        let room = self.room_for_panels(rhs.lines, rhs.depth);
        bytes.resize(room.bytes, 0);
        sums.resize(room.sums, 0);
        let reading = Reading::plain(rhs.encoding, self.groups.rhs_encoding(lhs, rhs.encoding));
        self.pack_panels(rhs, &reading, 0..rhs.lines, bytes, sums);
    }

    /// Packs and sums a whole LHS, even if the kernel would read it in place: for benches.
    #[doc(hidden)]
    pub fn pack_whole_lhs(&self, lhs: &Operand, bytes: &mut Vec<u8>, sums: &mut Vec<i32>) {
        let room = self.room_for_lines(lhs.lines, lhs.depth);
        bytes.resize(room.bytes, 0);
        sums.resize(room.sums, 0);
        self.pack_lines(lhs, &Reading::plain(lhs.encoding, lhs.encoding), 0..lhs.lines, bytes, sums);
    }

    /// The kernel for small numbers, if there is one: for benches.
    #[doc(hidden)]
    pub fn narrow(&self) -> Option<&'static Kernel> {
        self.narrow
    }

    fn named(name: &str) -> Result<&'static Kernel, Error> {
        // No other kernel is asked: that may change the process.
        match Self::all().find(|kernel| kernel.name == name) {
            Some(kernel) if (kernel.is_supported)() => Ok(kernel),
            Some(kernel) => Err(Error::UnsupportedIsa { name: kernel.name }),
            // Leaked, once: the message has to last as long as the process.
            None => Err(Error::UnknownIsa { name: name.to_owned().leak() }),
        }
    }
}

/// A name for C; `name` ends with a NUL.
const fn c_name(name: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("the name ends with its only NUL"),
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! cpu_has {
    ($feature:tt) => {
        std::arch::is_x86_feature_detected!($feature)
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! cpu_has {
    ($feature:tt) => {
        std::arch::is_aarch64_feature_detected!($feature)
    };
}

/// Declares a module's `KERNEL`: the tile function given, the packing code compiled once more for the same features, so that
/// detection and compilation cannot name different lists, and what is shared by kernels with the same vectors. A tile function
/// that itself brings sums to their place says so: `writes: sums`; and what one [`Takes`] at once. What shuffles more lines at once than
/// `shuffle` does, and faster, is `wide`.
macro_rules! kernel {
    (
        name: $name:literal, features: [$($feature:tt),*],
        groups: $groups:ident, rows: $rows:literal, width: $width:literal,
        tile: $tile:expr $(, writes: $writes:ident)? $(, takes: $takes:ident)?, shuffle: $($shuffle:ident)::+ $(, wide: $($wide:ident)::+)?
        $(, narrow: $narrow:expr)? $(, tiny: $tiny:expr)? $(,)?
    ) => {
        kernel! {
            name: $name, features: [$($feature),*], groups: $groups, rows: $rows, width: $width,
            tile: $tile $(, writes: $writes)? $(, takes: $takes)?, shuffle: $($shuffle)::+ $(, wide: $($wide)::+)?, few_lines: crate::kernel::few_lines::portable
            $(, narrow: $narrow)? $(, tiny: $tiny)?
        }
    };
    (
        name: $name:literal, features: [$($feature:tt),*],
        groups: $groups:ident, rows: $rows:literal, width: $width:literal,
        tile: $tile:expr $(, writes: $writes:ident)? $(, takes: $takes:ident)?, shuffle: $($shuffle:ident)::+ $(, wide: $($wide:ident)::+)?,
        few_lines: $($few_lines:ident)::+ $(, narrow: $narrow:expr)? $(, tiny: $tiny:expr)? $(, sums: $sums:expr)? $(, small_sums: $small_sums:expr)? $(, strips: $strips:expr)? $(, floats: $floats:expr)? $(, relay: $relay:ident)? $(,)?
    ) => {
        pub(crate) static KERNEL: $crate::kernel::Kernel = ROW;

        /// The same as a value, of which others may be made.
        pub(super) const ROW: $crate::kernel::Kernel = {
            use $crate::kernel::{self, FewLines, FewProduct, Kernel, Takes, Tile, TinyWay};
            use $crate::conv::Patches;
            use $crate::matrix::{Chunks, Encoding, Lines, Operand};
            use $crate::output::{Far, Sums};
            use $crate::pack::{self, Groups};
            use $crate::reading::Reading;

            const GROUPS: Groups = Groups::$groups;
            const WIDENED: bool = GROUPS.lhs_size() == 2;
            /// Whether the tile function itself brings sums to their place.
            const WRITES: bool = !([$(stringify!($writes))?] as [&str; _]).is_empty();
            /// Whether more lines are shuffled at once.
            const WIDE: bool = !([$(stringify!($($wide)::+))?] as [&str; _]).is_empty();
            const TAKES: Takes = [$(Takes::$takes,)? Takes::Runs][0];

            $(#[target_feature(enable = $feature)])*
            fn pack_lhs<const WAY: usize>(
                src: &Operand,
                reading: &Reading,
                first: usize,
                pitch: usize,
                lines: &mut [u8],
                sums: &mut [i32],
            ) {
                // Closures have the features of the function around them.
                let shuffle = pack::Turn {
                    turn: |rows: [&_; _]| $($shuffle)::+::turn(rows),
                    sum_bytes: |whole: &[_], last: &_, added| $($shuffle)::+::sum_bytes(whole, last, added),
                    sum_four: |lines: [&[_]; _], added| $($shuffle)::+::sum_four(lines, added),
                };
                pack::pack_lhs::<WIDENED, WAY>(src, reading, first, pitch, lines, sums, shuffle)
            }
            $(#[target_feature(enable = $feature)])*
            fn pack_patches(
                src: &Patches,
                reading: &Reading,
                first: usize,
                pitch: usize,
                lines: &mut [u8],
                sums: &mut [i32],
            ) {
                let sum_bytes = |whole: &[_], last: &_, added| $($shuffle)::+::sum_bytes(whole, last, added);
                pack::pack_patches::<WIDENED>(src, reading, first, pitch, lines, sums, sum_bytes)
            }
            $(#[target_feature(enable = $feature)])*
            fn pack_rhs<const WAY: usize>(src: &Operand, reading: &Reading, first: usize, panels: &mut [u8], sums: &mut [i32]) {
                let shuffle = pack::Shuffle {
                    transpose: |lines: [&_; _], added, to: &mut [_], pitch| {
                        $($shuffle)::+::transpose(lines, added, to, pitch)
                    },
                    interleave: |depths: [&_; _], added, to: &mut [_]| {
                        $($shuffle)::+::interleave(depths, added, to)
                    },
                    interleave_two: |depths: [&_; _], added, to: [&mut [_]; 2]| {
                        $($shuffle)::+::interleave_two(depths, added, to)
                    },
                    #[allow(unused, reason = "not all have it")]
                    interleave_panels: |depths: [&[u8]; GROUPS.len()], added: u8, to: &mut [_], pitch: usize| {
                        $($($wide)::+::interleave_panels(depths, added, to, pitch))?
                    },
                    #[allow(unused, reason = "not all have it")]
                    fetch: |runs: [&[u8]; GROUPS.len()], ahead: usize| { $($($wide)::+::fetch(runs, ahead))? },
                    #[allow(unused, reason = "not all have it")]
                    interleave_stretch: |rows: Chunks<{ pack::FOUR_PANELS }>, added: u8, panels: [&mut [_]; 4]| {
                        $($($wide)::+::interleave_stretch(rows, added, panels))?
                    },
                    #[allow(unused, reason = "not all have it")]
                    interleave_runs: |runs: Lines, added: u8, to: &mut [_], pitch: usize| {
                        $($($wide)::+::interleave_runs(runs, added, to, pitch))?
                    },
                    #[allow(unused, reason = "not all have it")]
                    transpose_sixteen: |lines: [&[u8; pack::DEPTHS]; pack::CHUNK], ahead: usize, added: u8, to: &mut [_], pitch: usize| {
                        $($($wide)::+::transpose_sixteen(lines, ahead, added, to, pitch))?
                    },
                    #[allow(unused, reason = "not all have it")]
                    transpose_some: |lines: &[&[u8]], added: u8, to: &mut [_], pitch: usize| {
                        $($($wide)::+::transpose_some(lines, added, to, pitch))?
                    },
                    add_sums: |groups: &[_], encoding, sums: &mut [_; $width]| {
                        $($shuffle)::+::add_sums(groups, encoding, sums)
                    },
                };
                pack::pack_rhs::<$width, { GROUPS.len() }, WAY, WIDE>(src, reading, first, panels, sums, shuffle)
            }
            $(#[target_feature(enable = $feature)])*
            fn sum_lines(lines: &Lines, encoding: Encoding, sums: &mut [i32]) {
                let sum_bytes = |whole: &[_], last: &_, added| $($shuffle)::+::sum_bytes(whole, last, added);
                let sum_four = |lines: [&[_]; _], added| $($shuffle)::+::sum_four(lines, added);
                #[allow(unused, reason = "not all have it")]
                let sum_sixteen = |lines: &Lines, encoding, sums: &mut [_]| {
                    $($($wide)::+::sum_sixteen(lines, encoding, sums))?
                };
                pack::sum_lines::<WIDENED, WIDE>(lines, encoding, sums, sum_bytes, sum_four, sum_sixteen)
            }
            // Not an `unsafe` call: the compiler checks that the list covers the tile's features.
            $(#[target_feature(enable = $feature)])*
            fn multiply(tile: &Tile, acc: &mut [i32]) {
                // (Rows of 16 sums take no less time so.)
                if const { $width > 16 && !matches!(TAKES, Takes::Lines) }
                    && let Some(Sums { out, row, cols, .. }) = &tile.sums
                    && let Some(far) = Far::of(out)
                {
                    far.fetch(*row..row + tile.lhs.count(), cols);
                }
                if !matches!(TAKES, Takes::Runs) || tile.lhs.runs() == 1 {
                    $tile(tile, acc);
                } else {
                    for run in 0..tile.lhs.runs() {
                        $tile(&tile.run::<$width>(run, GROUPS), acc);
                    }
                }
                if !WRITES && let Some(sums) = &tile.sums {
                    // SAFETY: the promise of a `TileFn`.
                    unsafe { sums.write::<$width>(tile.lhs.count(), acc) }
                }
            }
            $(#[target_feature(enable = $feature)])*
            fn multiply_few(product: &FewProduct, lines: std::ops::Range<usize>, sums: &mut [i32]) {
                $($few_lines)::+::multiply(product, lines, sums)
            }
            const { assert!($rows <= kernel::MAX_ROWS && $width <= kernel::MAX_WIDTH) }
            let tiny: Option<TinyWay> = [$($tiny)?].as_slice().first().copied();
            // Where sums of tiny products go is found without divisions.
            assert!(tiny.is_none() || ($width as usize).is_power_of_two());
            let vectors = kernel::Vectors::of(&[$($feature),*]);
            let shared = vectors.shared::<$width>();
            Kernel {
                name: $name,
                c_name: kernel::c_name(concat!($name, "\0")),
                groups: GROUPS,
                rows: $rows,
                width: $width,
                pack_lhs: [
                    pack_lhs::<{ pack::ALONG_DEPTH }>,
                    pack_lhs::<{ pack::SHORT_RUNS }>,
                    pack_lhs::<{ pack::LONG_RUNS }>,
                ],
                pack_patches,
                pack_rhs: [
                    pack_rhs::<{ pack::ALONG_DEPTH }>,
                    pack_rhs::<{ pack::SHORT_RUNS }>,
                    pack_rhs::<{ pack::LONG_RUNS }>,
                ],
                fetches_rhs: WIDE,
                sum_lines,
                expand: shared.expand,
                tile: multiply,
                takes_lines: matches!(TAKES, Takes::Lines),
                few_lines: FewLines {
                    multiply: multiply_few,
                    depths: $($few_lines)::+::DEPTHS,
                    lines: $($few_lines)::+::LINES,
                    is_fetched: true,
                    packed: $($few_lines)::+::PACKED,
                    narrow: $($few_lines)::+::NARROW,
                },
                add_segment: shared.add_segment,
                finish: shared.finish,
                vectors,
                taps: kernel::TapsWays::of(&[$($feature),*]),
                narrow: [$($narrow)?].as_slice().first().copied(),
                tiny,
                large: None,
                session: None,
                sums: [$($sums as kernel::SumsFn)?].as_slice().first().copied(),
                narrow_sums: None,
                small_sums: [$($small_sums as kernel::SumsFn)? $($strips as kernel::SumsFn)?].as_slice().first().copied(),
                takes_strips: !([$(stringify!($strips))?] as [&str; _]).is_empty(),
                floats: [$($floats as kernel::FloatsFn)?].as_slice().first().copied(),
                panels: shared.panels,
                relay: [$(&$relay::RELAY)?].as_slice().first().copied(),
                is_supported: || true $(&& cpu_has!($feature))*,
            }
        };
    };
}

#[macro_use]
mod tile;
#[macro_use]
mod few_lines;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod narrow;

#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_few;
#[cfg(target_arch = "x86_64")]
mod avx2_narrow;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512bw;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512bw_few;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512bw_narrow;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512vnni;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512vnni_few;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512vnni_relay;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512vnni_sums;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avx512vnni_walk;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avxvnni;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod avxvnni_few;
mod dequantize;
#[cfg(target_arch = "aarch64")]
mod dotprod;
#[cfg(target_arch = "aarch64")]
mod i8mm;
mod lanes;
mod lookup;
mod naturals;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "aarch64")]
mod neon_narrow;
#[cfg(target_arch = "aarch64")]
mod neon_octets;
#[cfg(target_arch = "aarch64")]
mod neon_quads;
pub(crate) mod panel;
pub(crate) mod relay;
mod requantize;
#[cfg(target_arch = "x86_64")]
mod results;
mod scalar;
mod session;
mod shared;
#[cfg(target_arch = "x86_64")]
mod shuffle_pairs;
#[cfg(target_arch = "x86_64")]
mod shuffle_quads;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod shuffle_quads512;
pub(crate) mod stream;
mod taps;
#[cfg(target_arch = "x86_64")]
mod tile256;
pub(crate) mod tiny;
#[cfg(target_arch = "aarch64")]
mod vector128;
#[cfg(target_arch = "x86_64")]
mod vector256;
#[cfg(all(target_arch = "x86_64", not(only_avx2)))]
mod vector512;
mod vectors;
mod weighted;

#[cfg(test)]
pub(crate) mod tests;
