//! Products and convolutions that are checked and prepared once, and run often.

use super::context::{CallContext, ContextHandle};
use super::conv::{conv, run_options};
use super::conv_plan::{ConvPlanHandle, plan_of};
use super::gemm::{Call, GemmOptions, QGEMM_CHECK_RANGE, check_apart, check_overlap, check_ranges};
use super::matrix::{RawOperand, RawResult, check_pointer};
use super::pipeline::Stages;
use super::stage::RawStage;
use super::verbose::{self, Words};
use super::versioned;
use super::{Failure, Status, guard};
use crate::conv::Plan;
use crate::error::Error;
use crate::matrix::{Operand, Runs, bytes_of};
use crate::output::{Finish, KeptPanels, Quick, Store};
use crate::small::Ready;
use crate::source::Factor;
use crate::{conv, gemm};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

/// A product or a convolution with all that is known of it before its elements are: checked and prepared once, by
/// qgemm_gemm_prepare() or qgemm_conv_prepare(), run as often as there are elements, by qgemm_prepared_run(), and freed by
/// qgemm_prepared_free(). For small ones that takes half the time of a call of qgemm_gemm() or qgemm_conv_run(), or less.
///
/// It never changes: any number of threads may run it at once, unless it was given a workspace.
pub struct PreparedHandle(PreparedCall<'static>);

/// Prepares a product: qgemm_gemm() with all of its arguments but the elements.
///
/// What the arguments point at has to stay where and as it is until the prepared call is freed, the structs themselves excepted:
/// the context, packed operands, and the values of offsets and stages. Tensors that stages read (residuals and the like) have to
/// stay where they are, and are read by each run.
///
/// @param context      as in qgemm_gemm(); freed after the prepared call
/// @param lhs          as in qgemm_gemm(). Its data is used by runs that are given none; it may be NULL
/// @param rhs          as in qgemm_gemm(); its data likewise
/// @param result       as in qgemm_gemm(); its data likewise
/// @param stages       as in qgemm_gemm()
/// @param stage_count  as in qgemm_gemm()
/// @param options      as in qgemm_gemm(). Whether sums overflow is judged here, whether elements are in range by each run. If there is
///                     a workspace, each run uses it, so that no two may be under way at once
/// @param prepared     receives the prepared call
/// @return QGEMM_STATUS_OK, or why prepared was not written: as qgemm_gemm(), but for OVERLAP and RANGE; details in qgemm_last_error()
///
/// # Safety
/// As for qgemm_gemm(), for the time that is said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_gemm_prepare(
    context: *const ContextHandle,
    lhs: *const RawOperand,
    rhs: *const RawOperand,
    result: *const RawResult,
    stages: *const RawStage,
    stage_count: usize,
    options: *const GemmOptions,
    prepared: *mut *mut PreparedHandle,
) -> Status {
    guard(|| {
        check_pointer("prepared", prepared)?;
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let (mut given, mut depths) = (GemmOptions::NONE, None);
            given.read(options, &mut depths)?;
            let mut call = Call::new(["lhs", "rhs"]);
            let (mut lhs, mut rhs, mut result) = matrices(("lhs", lhs), ("rhs", rhs), result)?;
            let data = Data::take(&mut lhs, &mut rhs, &mut result);
            call.read(&lhs, &rhs, &result)?;
            call.requantize(&depths)?;
            let pipeline = Pipeline::read(&call, stages, stage_count)?;
            let [left, right] = call.frame.sides(&call.lhs, &call.rhs);
            call.check_overflow(given.flags, || left.bound(right))?;
            let context = CallContext::new(context)?;
            check_workspace(&given, || gemm::workspace_len(&context, left, right))?;
            let route = Box::new(gemm::Route::new(&context, left, right, pipeline.quick.as_ref(), &pipeline.store)?);
            let is_simple = given.workspace.is_null() && given.flags & QGEMM_CHECK_RANGE == 0;
            let simple = if is_simple { Simple::new(&route, &call, &pipeline.store, left, right) } else { None };
            let work = Work::Product(route, simple);
            prepared.write(PreparedCall::new(context, call, data, pipeline, work, given).handle());
            Ok(())
        }
    })
}

/// Prepares a convolution: qgemm_conv_run() with all of its arguments but the elements.
///
/// What the arguments point at has to stay as qgemm_gemm_prepare() says, and so does the plan. Weights had better be packed by
/// qgemm_conv_pack(), those of a depthwise convolution, too: they are made ready here, so that no run has to.
///
/// @param context      as in qgemm_conv_run(); freed after the prepared call
/// @param plan         as in qgemm_conv_run(); freed after the prepared call
/// @param image        as in qgemm_conv_run(). Its data is used by runs that are given none; it may be NULL
/// @param weights      as in qgemm_conv_run(); their data likewise
/// @param result       as in qgemm_conv_run(); its data likewise
/// @param stages       as in qgemm_conv_run()
/// @param stage_count  as in qgemm_conv_run()
/// @param options      as in qgemm_conv_run(), and as qgemm_gemm_prepare() says
/// @param prepared     receives the prepared call
/// @return QGEMM_STATUS_OK, or why prepared was not written: as qgemm_conv_run(), but for OVERLAP and RANGE; details in
///         qgemm_last_error()
///
/// # Safety
/// As for qgemm_conv_run(), for the time that is said at qgemm_gemm_prepare().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_conv_prepare(
    context: *const ContextHandle,
    plan: *const ConvPlanHandle,
    image: *const RawOperand,
    weights: *const RawOperand,
    result: *const RawResult,
    stages: *const RawStage,
    stage_count: usize,
    options: *const GemmOptions,
    prepared: *mut *mut PreparedHandle,
) -> Status {
    guard(|| {
        check_pointer("prepared", prepared)?;
        // SAFETY: this function's own promise, for all that follows.
        unsafe {
            let given = run_options(options)?;
            let (plan, mut call) = (plan_of(plan)?, Call::new(["image", "weights"]));
            let (mut image, mut weights, mut result) = matrices(("image", image), ("weights", weights), result)?;
            let data = Data::take(&mut image, &mut weights, &mut result);
            call.read_conv(plan, &image, &weights, &result)?;
            let conv = conv(plan, &call.lhs, &call.rhs)?;
            let pipeline = Pipeline::read(&call, stages, stage_count)?;
            call.check_overflow(given.flags, || conv.bound())?;
            let context = CallContext::new(context)?;
            check_workspace(&given, || conv.workspace_len(&context))?;
            let work = Work::Conv(plan, conv.route(&context, pipeline.quick.as_ref(), &pipeline.store)?);
            prepared.write(PreparedCall::new(context, call, data, pipeline, work, given).handle());
            Ok(())
        }
    })
}

/// Runs a prepared call: computes what qgemm_gemm() or qgemm_conv_run() would of the arguments that it was made with and these elements.
///
/// @param prepared  the prepared call
/// @param lhs       the elements of lhs, or of the image; NULL for those that it was prepared with, or if they are packed
/// @param rhs       the elements of rhs, or the weights; NULL likewise
/// @param result    where the result goes; NULL for the place that it was prepared with
/// @return QGEMM_STATUS_OK, or why nothing was written: NULL_POINTER (there are no elements, here or there), OPTION (elements beside
///         packed ones), ALIGNMENT (of result), TOO_LARGE, OVERLAP, RANGE (if asked for), WORKSPACE (the number of threads has
///         changed), OUT_OF_MEMORY; details in qgemm_last_error()
///
/// # Safety
/// prepared was not freed. The elements reach as far as its sizes and strides say, and nobody writes to them, or reads the
/// result, during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_prepared_run(
    prepared: *const PreparedHandle,
    lhs: *const c_void,
    rhs: *const c_void,
    result: *mut c_void,
) -> Status {
    guard(|| {
        // SAFETY: this function's own promise, for both.
        unsafe {
            let PreparedHandle(call) = prepared.as_ref().ok_or(Error::Missing { argument: "prepared" })?;
            call.run(lhs, rhs, result)
        }
    })
}

/// Frees a prepared call.
///
/// @param prepared  what qgemm_gemm_prepare() or qgemm_conv_prepare() made, or NULL, which does nothing
///
/// # Safety
/// No run of it is under way, and none is begun again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qgemm_prepared_free(prepared: *mut PreparedHandle) {
    guard(|| {
        if !prepared.is_null() {
            // SAFETY: it was made by `Box::into_raw`, and nobody uses it any more.
            drop(unsafe { Box::from_raw(prepared) });
        }
        Ok(())
    });
}

/// A call of which the elements are still to come.
struct PreparedCall<'a> {
    context: CallContext<'a>,
    /// With addresses that mean nothing.
    call: Call<'a>,
    data: Data,
    pipeline: Pipeline<'a>,
    work: Work<'a>,
    options: GemmOptions,
    /// From where to where what every run reads lies.
    parameters: Vec<Range<usize>>,
}

// SAFETY: what it points at is only read, but for results and a workspace, which whoever runs it keeps apart.
unsafe impl Send for PreparedCall<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for PreparedCall<'_> {}

/// What is done with sums, and where the results go, at an address that means nothing.
struct Pipeline<'a> {
    stages: Stages<'a>,
    store: Store<'a>,
    quick: Option<Quick<'a>>,
}

/// What is computed.
enum Work<'a> {
    Product(Box<gemm::Route>, Option<Simple<'a>>),
    Conv(&'a Plan, conv::Route),
}

/// A small product beside a packed RHS, of which nothing but addresses is to be checked.
struct Simple<'a> {
    /// With elements at an address that means nothing.
    lhs: Operand<'a>,
    ready: Ready<'a>,
    /// How far, in bytes, the LHS and the result reach.
    extents: [usize; 2],
}

impl<'a> Simple<'a> {
    fn new(route: &gemm::Route, call: &Call<'a>, store: &Store, left: &Factor<'a>, right: &Factor<'a>) -> Option<Self> {
        let is_lhs = ptr::eq(left, &raw const call.lhs);
        let lhs = *left.operand().filter(|_| is_lhs)?;
        let extents = [lhs.runs(), store.runs()].map(|runs| runs.extent());
        Some(Self { lhs, ready: route.ready(left, right)?, extents })
    }
}

/// Where the elements lie that the caller named beforehand; null if it did not.
struct Data {
    lhs: *const c_void,
    rhs: *const c_void,
    result: *mut c_void,
}

/// An address at which elements of every type may lie, to be checked like one.
const SOMEWHERE: usize = 64;

impl Data {
    /// Takes them out of the matrices, which need not have any.
    fn take(lhs: &mut RawOperand, rhs: &mut RawOperand, result: &mut RawResult) -> Self {
        let data = Self { lhs: lhs.data, rhs: rhs.data, result: result.data };
        for operand in [lhs, rhs] {
            // Beside packed elements there may be no others, which is still to be checked.
            if operand.packed.is_null() {
                operand.data = ptr::without_provenance(SOMEWHERE);
            }
        }
        result.data = ptr::without_provenance_mut(SOMEWHERE);
        data
    }
}

/// Copies of what the caller passed.
///
/// # Safety
/// Each is null or points at as many bytes as it says.
unsafe fn matrices(
    lhs: (&'static str, *const RawOperand),
    rhs: (&'static str, *const RawOperand),
    result: *const RawResult,
) -> Result<(RawOperand, RawOperand, RawResult), Error> {
    // SAFETY: this function's own promise, for each.
    unsafe { Ok((versioned::read(lhs.0, lhs.1)?, versioned::read(rhs.0, rhs.1)?, versioned::read("result", result)?)) }
}

/// A workspace has to have as many bytes as products may need.
fn check_workspace(options: &GemmOptions, least: impl FnOnce() -> Result<usize, Error>) -> Result<(), Error> {
    let size = options.workspace_size;
    match options.workspace.is_null() {
        true => Ok(()),
        false => least().and_then(|least| if size < least { Err(Error::Workspace { size, least }) } else { Ok(()) }),
    }
}

impl<'a> Pipeline<'a> {
    /// # Safety
    /// There are `count` stages, and what they point at stays as it is for `'a`.
    unsafe fn read(call: &Call<'a>, stages: *const RawStage, count: usize) -> Result<Self, Failure> {
        let mut read = Stages::new(call.sums());
        // SAFETY: this function's own promise, for both.
        let store = unsafe {
            read.read(stages, count, &call.frame)?;
            call.store(read.gives)?
        };
        let quick = Quick::new(&read.stages, &store);
        Ok(Self { stages: read, store, quick })
    }
}

impl Work<'_> {
    #[inline(always)]
    fn panels(&self) -> Option<&KeptPanels> {
        match self {
            Work::Product(route, _) => route.panels(),
            Work::Conv(_, route) => route.panels(),
        }
    }
}

impl PreparedCall<'static> {
    fn handle(self) -> *mut PreparedHandle {
        Box::into_raw(Box::new(PreparedHandle(self)))
    }
}

impl<'a> PreparedCall<'a> {
    fn new(
        context: CallContext<'a>,
        call: Call<'a>,
        data: Data,
        pipeline: Pipeline<'a>,
        work: Work<'a>,
        options: GemmOptions,
    ) -> Self {
        let of_sides = [&call.lhs, &call.rhs].into_iter().flat_map(|factor| [packed(factor), factor.offset_runs()]);
        let mut parameters: Vec<_> = of_sides.flatten().map(|runs| runs.range()).collect();
        for stage in &pipeline.stages.stages {
            stage.any_parameter(|values| {
                parameters.push(values.range());
                false
            });
            parameters.extend(stage.residual().map(|residual| residual.runs().range()));
        }
        Self { context, call, data, pipeline, work, options, parameters }
    }

    /// The result may not be written over what is still to be read. Most often nothing is near it, which is soon seen.
    #[inline(always)]
    fn check_overlap(&self, store: &Store, sides: [&Factor; 2]) -> Result<(), Error> {
        let result = store.runs().range();
        // Packed sides are among the parameters.
        let is_side_near = |side: &&Factor| packed(side).is_none() && overlap(&side.runs().range(), &result);
        if sides.iter().any(is_side_near) || self.is_near_parameters(&result) {
            return check_overlap(
                "result",
                store,
                [0, 1].map(|i| (self.call.names[i], sides[i])),
                &self.pipeline.stages.stages,
            );
        }
        Ok(())
    }

    /// Whether the result may be near anything that is read, besides what is not packed.
    #[inline(always)]
    fn is_near_parameters(&self, result: &Range<usize>) -> bool {
        self.parameters.iter().any(|range| overlap(range, result))
    }

    /// # Safety
    /// As for `qgemm_prepared_run`.
    #[inline(always)]
    unsafe fn run(&self, lhs: *const c_void, rhs: *const c_void, result: *mut c_void) -> Result<(), Failure> {
        // SAFETY: this function's own promise, for both.
        unsafe {
            match self.run_simply(lhs, rhs, result) {
                Some(()) => Ok(()),
                None => self.run_any(lhs, rhs, result),
            }
        }
    }

    /// As [`PreparedCall::run_any`], in less time. None if it is no simple product, if there is something to be told of it, or if
    /// anything may be wrong, which that finds out: then nothing was written.
    ///
    /// # Safety
    /// As for `qgemm_prepared_run`.
    #[inline(always)]
    unsafe fn run_simply(&self, lhs: *const c_void, rhs: *const c_void, result: *mut c_void) -> Option<()> {
        let Self { data, context, pipeline, work, .. } = self;
        let Work::Product(route, Some(Simple { lhs: operand, ready, extents: [left, there] })) = work else {
            return None;
        };
        let lhs = if lhs.is_null() { data.lhs } else { lhs };
        let result = if result.is_null() { data.result } else { result };
        let is_aligned = result.addr() & (pipeline.store.size() - 1) == 0;
        if lhs.is_null() || !rhs.is_null() || result.is_null() || !is_aligned || verbose::is_on() {
            return None;
        }
        let read = lhs.addr()..lhs.addr().checked_add(*left)?;
        let written = result.addr()..result.addr().checked_add(*there)?;
        if overlap(&read, &written) || self.is_near_parameters(&written) {
            return None;
        }
        // SAFETY: this function's own promise, for both, and both were just found to fit.
        let (operand, store) = unsafe { (operand.at(lhs.cast()), pipeline.store.at(result)) };
        let finish = Finish::by(&pipeline.stages.stages, store, pipeline.quick, work.panels());
        route.run_ready(context, &operand, ready, &finish).ok()
    }

    /// Any call, of which all is checked that depends on addresses and elements.
    ///
    /// # Safety
    /// As for `qgemm_prepared_run`.
    #[inline(never)]
    unsafe fn run_any(&self, lhs: *const c_void, rhs: *const c_void, result: *mut c_void) -> Result<(), Failure> {
        let Self { call, data, context, pipeline, .. } = self;
        let names = call.names;
        let mut room = [MaybeUninit::uninit(); 2];
        let [lhs_room, rhs_room] = &mut room;
        // SAFETY: this function's own promise, for each.
        let (sides, store, workspace) = unsafe {
            let lhs = place(names[0], &call.lhs, if lhs.is_null() { data.lhs } else { lhs }, lhs_room)?;
            let rhs = place(names[1], &call.rhs, if rhs.is_null() { data.rhs } else { rhs }, rhs_room)?;
            let store = place_result(&pipeline.store, if result.is_null() { data.result } else { result })?;
            ([lhs, rhs], store, self.options.workspace()?)
        };
        self.check_overlap(&store, sides)?;
        if self.options.flags & QGEMM_CHECK_RANGE != 0 {
            check_ranges(names, sides)?;
        }
        let finish = Finish::by(&pipeline.stages.stages, store, pipeline.quick, self.work.panels());
        if let Some(workspace) = &workspace {
            check_apart(&bytes_of(workspace), names, sides, &finish)?;
        }
        match &self.work {
            Work::Product(route, _) => {
                let [left, right] = call.frame.sides(sides[0], sides[1]);
                let run = || route.run(context, left, right, &finish, workspace);
                verbose::told(|| call.words(pipeline.stages.names()), context, run)?;
            }
            Work::Conv(plan, route) => {
                let conv = conv(plan, sides[0], sides[1])?;
                let words = || Words { function: "conv", lhs: conv.lhs(0), ..call.words(pipeline.stages.names()) };
                verbose::told(words, context, || conv.run_by(route, context, &finish, workspace))?;
            }
        }
        Ok(())
    }
}

/// Whether they have anything in common.
#[inline(always)]
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Where a side lies, if it is packed.
#[inline(always)]
fn packed(factor: &Factor) -> Option<Runs> {
    factor.order().is_none().then(|| factor.runs())
}

/// A side with its elements, if need be in `room`.
///
/// # Safety
/// They reach as far as its sizes and strides say, and stay as they are while it is used.
#[inline(always)]
unsafe fn place<'r, 'a>(
    argument: &'static str,
    factor: &'r Factor<'a>,
    data: *const c_void,
    room: &'r mut MaybeUninit<Factor<'a>>,
) -> Result<&'r Factor<'a>, Error> {
    let has_elements = factor.lines() > 0 && factor.depth() > 0;
    match (factor.order(), data.is_null()) {
        (None, true) => Ok(factor),
        (None, false) => Err(Error::Given { argument }),
        (Some(_), _) if !has_elements => Ok(factor),
        (Some(_), true) => Err(Error::Missing { argument }),
        (Some(_), false) => {
            let there = room.write(*factor);
            // SAFETY: this function's own promise.
            let is_possible = unsafe { there.move_to(data.cast()) };
            if is_possible { Ok(there) } else { Err(Error::TooLarge { argument }) }
        }
    }
}

/// The same for the result.
///
/// # Safety
/// Its elements reach as far as its sizes and strides say, and nobody else uses them as long as it is used.
#[inline(always)]
unsafe fn place_result<'a>(store: &Store<'a>, data: *mut c_void) -> Result<Store<'a>, Error> {
    let argument = "result";
    let (rows, cols) = store.shape();
    let data = if rows == 0 || cols == 0 { ptr::without_provenance_mut(SOMEWHERE) } else { data };
    if data.is_null() {
        return Err(Error::Missing { argument });
    }
    let unit = store.size();
    if data.addr() & (unit - 1) != 0 {
        return Err(Error::Alignment { argument, unit });
    }
    data.addr().checked_add(store.runs().extent()).ok_or(Error::TooLarge { argument })?;
    // SAFETY: this function's own promise, and it was just found to fit.
    Ok(unsafe { store.at(data) })
}
