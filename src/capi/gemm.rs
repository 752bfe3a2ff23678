//! The product.

use super::bit_depth::RawBitDepth;
use super::context::{CallContext, ContextHandle};
use super::matrix::{
    Frame, Major, QGEMM_TYPE_BF16, QGEMM_TYPE_F16, QGEMM_TYPE_F32, QGEMM_TYPE_S8, QGEMM_TYPE_S16, QGEMM_TYPE_S32,
    QGEMM_TYPE_U8, RawOperand, RawResult,
};
use super::pipeline::{Gives, Stages};
use super::stage::RawStage;
use super::verbose::{self, Words};
use super::versioned::{self, Versioned};
use super::{Failure, Status, Within, guard};
use crate::bit_depth::BitDepths;
use crate::error::Error;
use crate::matrix::{Runs, bytes_of, extent};
use crate::output::{Finish, Stage, Store};
use crate::packed::Side;
use crate::range::{ElementRange, Stray};
use crate::source::Factor;
use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

/// Flag of a product: fail with QGEMM_STATUS_OVERFLOW where a sum could leave 32 bits, instead of wrapping around. Judged
/// before anything is computed, by the depth, the types or the ranges that were promised, the offsets and, where an
/// operand is packed, its values.
pub const QGEMM_CHECK_OVERFLOW: u32 = 1;

/// Flag of a product: fail with QGEMM_STATUS_RANGE where an element is less than its operand's least or greater than its
/// greatest. All elements are looked at, those of packed operands having been so when they were packed, before anything
/// is computed.
pub const QGEMM_CHECK_RANGE: u32 = 2;

/// What a product may be told beside its matrices.
///
/// Set all of it to zero with QGEMM_GEMM_OPTIONS_INIT first, then what matters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GemmOptions {
    /// sizeof(qgemm_gemm_options).
    pub struct_size: usize,
    /// 0, or QGEMM_CHECK_OVERFLOW, QGEMM_CHECK_RANGE or both, added up.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
    /// Memory for this call to work in, used by nobody else meanwhile; NULL for the context's own.
    pub workspace: *mut c_void,
    /// Bytes of workspace, at least what qgemm_gemm_workspace_size() says; with a bit_depth, what
    /// qgemm_gemm_workspace_size_with() says.
    pub workspace_size: usize,
    /// How many bits of the elements count; NULL for all 8, exactly.
    pub bit_depth: *const RawBitDepth,
}

// SAFETY: repr(C), the size first, then integers and pointers.
unsafe impl Versioned for GemmOptions {
    const FIRST_SIZE: usize = offset_of!(Self, bit_depth);
}

/// Multiplies two matrices and passes every sum through a pipeline of stages: gemmlowp's GemmWithOutputPipeline and
/// GemmWithOutputPipelinePC.
///
///     sum(i,j)    = sum over l of (lhs(i,l) + lhs_offset(i)) * (rhs(l,j) + rhs_offset(j))
///     result(i,j) = the last stage of ... of the first stage of sum(i,j)
///
/// If one of the operands was packed with groups of elements along k, that have scales, and zero points perhaps, the sums are
/// floats, and begin the pipeline as such: the first stage has to take floats, and with no stage the result is one of floats.
/// With those of rhs,
///
///     part(i,j,g) = sum over l in g of (lhs(i,l) + lhs_offset(i)) * (rhs(l,j) + rhs_offset(j) - zero_point(j,g))
///     sum(i,j)    = sum over g, from the first on, of (float)part(i,j,g) * scale(j,g)
///
/// where each conversion, each multiplication and each addition rounds to 32 bits, and the sum begins with 0; with those of
/// lhs alike. What follows is then true of the parts.
///
/// Sums wrap around at 32 bits, which cannot happen up to a depth of 33025 if the offsets are minus zero points of the
/// operands' types; QGEMM_CHECK_OVERFLOW makes it an error. If there is nothing to sum, k being 0, the sums are 0 and pass
/// through the stages. The bytes of the result do not depend on the kernel, the number of threads, the storage orders or
/// whether an operand is packed. With options->bit_depth sums are approximate: see there.
///
/// The result may not overlap an operand or a parameter, nor a residual unless in the very same place.
///
/// @param context      the threads and the memory to use; NULL for those that qgemm_set_max_num_threads() is about
/// @param lhs          left-hand matrix, m x k
/// @param rhs          right-hand matrix, k x n
/// @param result       where the result goes, m x n
/// @param stages       stage_count stages; may be NULL if there are none
/// @param stage_count  how many, any number
/// @param options      NULL for none
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER, ALIGNMENT, STRUCT_SIZE, OPTION (what is not known or
///         reserved), SHAPE (negative, or not that of the other matrices), STRIDE, TYPE, TOO_LARGE, VECTOR_LENGTH,
///         STAGE_ORDER, SHIFT_RANGE, PARAMETER, BIT_DEPTH, OVERLAP, PACKED_LAYOUT (packed as the other side), OPTION (groups
///         with scales on both sides, or with a bit_depth), OVERFLOW and RANGE (if asked for), WORKSPACE (too small),
///         OUT_OF_MEMORY, UNSUPPORTED (QGEMM_ISA); details in qgemm_last_error()
///
/// # Safety
/// All matrices and parameters reach as far as their sizes and strides say, and nobody writes to them, or reads the
/// result, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_gemm(
    context: *const ContextHandle,
    lhs: *const RawOperand,
    rhs: *const RawOperand,
    result: *const RawResult,
    stages: *const RawStage,
    stage_count: usize,
    options: *const GemmOptions,
) -> Status {
    guard(|| {
        let (mut given, mut depths) = (GemmOptions::NONE, None);
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            given.read(options, &mut depths)?;
            let mut call = Call::new(["lhs", "rhs"]);
            call.read(lhs, rhs, result)?;
            call.requantize(&depths)?;
            let mut pipeline = Stages::new(call.sums());
            pipeline.read(stages, stage_count, &call.frame)?;
            let store = call.store(pipeline.gives)?;
            call.check_overlap(&store, &pipeline.stages)?;
            let [lhs, rhs] = call.sides();
            call.check_numbers(given.flags, || lhs.bound(rhs))?;
            let finish = Finish::new(&pipeline.stages, store);
            let context = CallContext::new(context)?;
            let workspace = given.workspace()?;
            if let Some(workspace) = &workspace {
                call.check_apart(&bytes_of(workspace), &finish)?;
            }
            verbose::told(
                || call.words(pipeline.names()),
                &context,
                || crate::gemm::gemm_in(&context, lhs, rhs, &finish, workspace),
            )?;
            Ok(())
        }
    })
}

/// How much memory a product needs to work in: for callers who bring their own.
///
/// The answer holds for these shapes, types, orders and promised ranges, and offsets 0 or not, as long as the context stays
/// the same and has the same number of threads, and for products with all 8 bits: for others see
/// qgemm_gemm_workspace_size_with().
///
/// @param context  as in qgemm_gemm()
/// @param lhs      as in qgemm_gemm(); the elements are not read
/// @param rhs      as in qgemm_gemm(); the elements are not read
/// @param result   as in qgemm_gemm(); nothing is written
/// @param size     receives the number of bytes
/// @return QGEMM_STATUS_OK, or why size was not written; details in qgemm_last_error()
///
/// # Safety
/// As for qgemm_gemm().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_gemm_workspace_size(
    context: *const ContextHandle,
    lhs: *const RawOperand,
    rhs: *const RawOperand,
    result: *const RawResult,
    size: *mut usize,
) -> Status {
    // SAFETY: this function's own promise.
    unsafe { qgemm_gemm_workspace_size_with(context, lhs, rhs, result, ptr::null(), size) }
}

/// As qgemm_gemm_workspace_size(), for a product with options: with a bit_depth it may take more.
///
/// @param context  as in qgemm_gemm()
/// @param lhs      as in qgemm_gemm(); the elements are not read
/// @param rhs      as in qgemm_gemm(); the elements are not read
/// @param result   as in qgemm_gemm(); nothing is written
/// @param options  as in qgemm_gemm(); workspace and workspace_size do not matter
/// @param size     receives the number of bytes
/// @return QGEMM_STATUS_OK, or why size was not written; details in qgemm_last_error()
///
/// # Safety
/// As for qgemm_gemm().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_gemm_workspace_size_with(
    context: *const ContextHandle,
    lhs: *const RawOperand,
    rhs: *const RawOperand,
    result: *const RawResult,
    options: *const GemmOptions,
    size: *mut usize,
) -> Status {
    guard(|| {
        super::matrix::check_pointer("size", size)?;
        let (mut given, mut depths) = (GemmOptions::NONE, None);
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            given.read(options, &mut depths)?;
            let mut call = Call::new(["lhs", "rhs"]);
            call.read(lhs, rhs, result)?;
            call.requantize(&depths)?;
            let [lhs, rhs] = call.sides();
            *size = crate::gemm::workspace_len(&*CallContext::new(context)?, lhs, rhs)?;
            Ok(())
        }
    })
}

impl GemmOptions {
    /// As if NULL were passed.
    pub(super) const NONE: Self = Self {
        struct_size: size_of::<Self>(),
        flags: 0,
        reserved: 0,
        workspace: ptr::null_mut(),
        workspace_size: 0,
        bit_depth: ptr::null(),
    };

    /// Reads the options, if there are any, and the bit depths in them.
    ///
    /// # Safety
    /// `options` is null or points at as many bytes as it says, and so does its bit depth.
    pub(super) unsafe fn read(
        &mut self,
        options: *const GemmOptions,
        depths: &mut Option<BitDepths>,
    ) -> Result<(), Failure> {
        if options.is_null() {
            return Ok(());
        }
        // SAFETY: this function's own promise.
        *self = unsafe { versioned::read("options", options)? };
        if self.reserved != 0 {
            return Err(Error::Reserved { argument: "reserved" }).within("options");
        }
        if self.flags & !(QGEMM_CHECK_OVERFLOW | QGEMM_CHECK_RANGE) != 0 {
            return Err(Error::Option { argument: "flags", value: self.flags }).within("options");
        }
        // SAFETY: as above.
        *depths = unsafe { RawBitDepth::read("options->bit_depth", self.bit_depth)? };
        Ok(())
    }

    /// # Safety
    /// The workspace has as many bytes as it says, for this call alone.
    pub(super) unsafe fn workspace<'a>(&self) -> Result<Option<&'a mut [u8]>, Failure> {
        let (data, size) = (self.workspace.cast::<u8>(), self.workspace_size);
        if data.is_null() {
            return Ok(None);
        }
        if extent(data, 1, size, 0).is_none() {
            return Err(Error::TooLarge { argument: "workspace" }).within("options");
        }
        // SAFETY: this function's own promise.
        Ok(Some(unsafe { std::slice::from_raw_parts_mut(data, size) }))
    }
}

/// Two sizes have to be the same.
pub(super) fn agree(argument: &'static str, value: usize, other: &'static str, expected: usize) -> Result<(), Error> {
    if value == expected { Ok(()) } else { Err(Error::Mismatch { argument, value, other, expected }) }
}

/// The matrices of a call, whose shapes agree.
pub(super) struct Call<'a> {
    pub lhs: Factor<'a>,
    pub rhs: Factor<'a>,
    /// What the caller knows them as.
    pub names: [&'static str; 2],
    pub result: RawResult,
    pub frame: Frame,
}

impl<'a> Call<'a> {
    /// Without operands and a result: [`Call::read`] brings them.
    pub(super) fn new(names: [&'static str; 2]) -> Self {
        let frame = Frame { rows: 0, cols: 0, major: Major::Row };
        Self { lhs: Factor::EMPTY, rhs: Factor::EMPTY, names, result: RawResult::EMPTY, frame }
    }

    /// Fills it in where it is, for the reason that [`versioned::read_in`] has.
    ///
    /// # Safety
    /// As for `qgemm_gemm`.
    pub(super) unsafe fn read(
        &mut self,
        lhs: *const RawOperand,
        rhs: *const RawOperand,
        result: *const RawResult,
    ) -> Result<(), Failure> {
        let mut room = MaybeUninit::uninit();
        // SAFETY: this function's own promise, for each.
        unsafe {
            versioned::read_in("lhs", lhs, &mut room)?.factor(Side::Lhs, &mut self.lhs).within("lhs")?;
            versioned::read_in("rhs", rhs, &mut room)?.factor(Side::Rhs, &mut self.rhs).within("rhs")?;
            self.result = *versioned::read_in("result", result, &mut MaybeUninit::uninit())?;
        }
        let Self { lhs, rhs, result, .. } = self;
        let (rows, cols) = result.shape().within("result")?;
        agree("rhs->rows", rhs.depth(), "lhs->cols", lhs.depth())?;
        agree("result->rows", rows, "lhs->rows", lhs.lines())?;
        agree("result->cols", cols, "rhs->cols", rhs.lines())?;
        if lhs.segment().is_some() && rhs.segment().is_some() {
            return Err(Error::ScaledTwice { other: "the other side may not" }.into());
        }
        self.frame = Frame { rows, cols, major: result.major().within("result")? };
        Ok(())
    }

    /// What comes into the first stage.
    pub(super) fn sums(&self) -> Gives {
        match self.lhs.segment().or(self.rhs.segment()) {
            Some(_) => Gives::Floats,
            None => Gives::Integers,
        }
    }

    /// Takes fewer bits of the elements, if any depths are given: of the caller's sides, whichever way it is computed.
    pub(super) fn requantize(&mut self, depths: &Option<BitDepths>) -> Result<(), Error> {
        let Some(depths) = depths else { return Ok(()) };
        if self.sums() == Gives::Floats {
            return Err(Error::ScaledTwice { other: "options->bit_depth may not be given" });
        }
        [self.lhs, self.rhs] = depths.apply(self.lhs, self.rhs);
        Ok(())
    }

    /// What the flags ask for: that no sum can leave 32 bits, which `bound` tells, and that no element strays.
    pub(super) fn check_numbers(&self, flags: u32, bound: impl FnOnce() -> u128) -> Result<(), Error> {
        self.check_overflow(flags, bound)?;
        if flags & QGEMM_CHECK_RANGE != 0 { check_ranges(self.names, [&self.lhs, &self.rhs]) } else { Ok(()) }
    }

    /// The first of these.
    pub(super) fn check_overflow(&self, flags: u32, bound: impl FnOnce() -> u128) -> Result<(), Error> {
        if flags & QGEMM_CHECK_OVERFLOW != 0 && self.has_results() {
            let bound = bound();
            if bound > i32::MAX as u128 {
                return Err(Error::Overflow { bound });
            }
        }
        Ok(())
    }

    fn has_results(&self) -> bool {
        self.frame.rows > 0 && self.frame.cols > 0
    }

    fn sides(&self) -> [&Factor<'a>; 2] {
        self.frame.sides(&self.lhs, &self.rhs)
    }

    pub(super) fn words<S>(&self, stages: S) -> Words<'a, S> {
        let r#type = match self.result.r#type {
            QGEMM_TYPE_U8 => "u8",
            QGEMM_TYPE_S8 => "s8",
            QGEMM_TYPE_S16 => "s16",
            QGEMM_TYPE_F32 => "f32",
            QGEMM_TYPE_BF16 => "bf16",
            QGEMM_TYPE_F16 => "f16",
            _ => "s32",
        };
        let order = if self.frame.major == Major::Row { "row" } else { "col" };
        Words { function: "gemm", lhs: self.lhs, rhs: self.rhs, result: (r#type, order), stages }
    }

    /// Inlined, for the reason that [`versioned::read_in`] has.
    ///
    /// # Safety
    /// As for `qgemm_gemm`.
    #[inline(always)]
    pub(super) unsafe fn store(&self, gives: Gives) -> Result<Store<'a>, Failure> {
        let result = &self.result;
        let problem = match (result.r#type, gives) {
            (QGEMM_TYPE_U8 | QGEMM_TYPE_S8 | QGEMM_TYPE_S16, Gives::Narrow(_))
            | (QGEMM_TYPE_S32, Gives::Integers)
            | (QGEMM_TYPE_F32 | QGEMM_TYPE_BF16 | QGEMM_TYPE_F16, Gives::Floats) => None,
            (QGEMM_TYPE_U8 | QGEMM_TYPE_S8 | QGEMM_TYPE_S16, _) => {
                Some("the result has 8 or 16 bits, so the last stage has to be a cast")
            }
            (QGEMM_TYPE_S32, Gives::Narrow(_)) => Some("the result has 32 bits, so there may be no cast"),
            (QGEMM_TYPE_S32, _) => Some("the result is of integers, but the last stage gives floats"),
            (QGEMM_TYPE_F32 | QGEMM_TYPE_BF16 | QGEMM_TYPE_F16, _) => {
                Some("the result is of floats, but the last stage gives integers")
            }
            (value, _) => {
                let expected = "one of QGEMM_TYPE_U8 to QGEMM_TYPE_F16";
                return Err(Error::Type { argument: "type", value, expected }).within("result");
            }
        };
        if let Some(problem) = problem {
            return Err(Error::StageOrder { problem }.into());
        }
        // SAFETY: this function's own promise.
        unsafe {
            match (result.r#type, gives) {
                (QGEMM_TYPE_U8, Gives::Narrow(cast)) => result.view().map(|out| Store::U8(out, cast)),
                (QGEMM_TYPE_S8, Gives::Narrow(cast)) => result.view().map(|out| Store::I8(out, cast)),
                (QGEMM_TYPE_S16, Gives::Narrow(cast)) => result.view().map(|out| Store::I16(out, cast)),
                (QGEMM_TYPE_F32, _) => result.view().map(Store::F32),
                (QGEMM_TYPE_BF16, _) => result.view().map(Store::Bf16),
                (QGEMM_TYPE_F16, _) => result.view().map(Store::F16),
                _ => result.view().map(Store::I32),
            }
        }
        .within("result")
    }

    pub(super) fn check_apart(&self, workspace: &Runs, finish: &Finish) -> Result<(), Failure> {
        Ok(check_apart(workspace, self.names, [&self.lhs, &self.rhs], finish)?)
    }

    pub(super) fn check_overlap(&self, store: &Store, stages: &[Stage]) -> Result<(), Failure> {
        let [lhs, rhs] = self.names;
        Ok(check_overlap("result", store, [(lhs, &self.lhs), (rhs, &self.rhs)], stages)?)
    }
}

/// No element may be outside of the range that was promised.
pub(super) fn check_ranges(names: [&'static str; 2], sides: [&Factor; 2]) -> Result<(), Error> {
    for ((operand, factor), side) in names.into_iter().zip(sides).zip([Side::Lhs, Side::Rhs]) {
        if let Some(Stray { line, depth, value }) = factor.stray()? {
            let (row, col) = if side == Side::Lhs { (line, depth) } else { (depth, line) };
            let ElementRange { least, greatest } = factor.promised();
            return Err(Error::Range { operand, row, col, value, least, greatest });
        }
    }
    Ok(())
}

/// The workspace may not be memory that is in use.
pub(super) fn check_apart(
    workspace: &Runs,
    names: [&'static str; 2],
    [lhs, rhs]: [&Factor; 2],
    finish: &Finish,
) -> Result<(), Error> {
    let uses = [
        ("result", workspace.overlap(&finish.store().runs())),
        (names[0], lhs.meets(workspace)),
        (names[1], rhs.meets(workspace)),
        ("what a stage reads", finish.stages().iter().any(|stage| stage.reads(workspace))),
    ];
    match uses.iter().find(|(_, is_used)| *is_used) {
        Some(&(input, _)) => Err(Error::Overlap { output: "options->workspace", input }),
        None => Ok(()),
    }
}

/// The result may not be written over what is still to be read; over a residual only in the very same place.
#[inline]
pub(super) fn check_overlap(
    output: &'static str,
    store: &Store,
    sides: [(&'static str, &Factor); 2],
    stages: &[Stage],
) -> Result<(), Error> {
    let runs = store.runs();
    for (input, factor) in sides {
        if factor.meets(&runs) {
            return Err(Error::Overlap { output, input });
        }
    }
    for stage in stages {
        if stage.has_parameters_in(&runs) {
            return Err(Error::Overlap { output, input: "a parameter of a stage" });
        }
        if let Some(residual) = stage.residual()
            && !residual.lies_in(&runs, store.size())
            && runs.overlap(&residual.runs())
        {
            return Err(Error::Overlap { output, input: "the residual of a stage" });
        }
    }
    Ok(())
}
