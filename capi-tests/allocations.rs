//! Products allocate nothing, once the first few have: on one thread, on several, which may have gone to sleep, or on
//! the host's.
//!
//! No test harness: it might allocate meanwhile.

use qgemm::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, LazyLock, Mutex};
use std::thread;
use std::time::Duration;

/// The system's allocator, which counts on all threads how often it is asked.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: does what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: this function's own promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: this function's own promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: this function's own promise.
        unsafe { System.realloc(data, layout, size) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: this function's own promise.
        unsafe { System.dealloc(data, layout) }
    }
}

/// How long helpers do not linger.
const PAUSE: Duration = Duration::from_millis(2);

/// Makes calls until the first few are over, and then some more, which must not allocate. Some follow each other at
/// once; before others the helpers fall asleep.
fn check(what: &str, call: impl Fn()) {
    let some_calls = || {
        (0..20).for_each(|_| call());
        for _ in 0..5 {
            thread::sleep(PAUSE);
            call();
        }
    };
    some_calls();
    let before = ALLOCATIONS.load(Relaxed);
    some_calls();
    let allocations = ALLOCATIONS.load(Relaxed) - before;
    assert_eq!(allocations, 0, "{what} allocates");
}

/// m, n, k: two that several threads share always, one if they are awake, one never. The largest come first: then it does
/// not matter to the others' memory how many threads share them.
const SHAPES: [(usize, usize, usize); 4] = [(300, 250, 200), (20, 30, 20_000), (100, 100, 100), (5, 6, 7)];

/// Large enough for each matrix of any of them
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0u32..600_000).map(|i| (i.wrapping_mul(i) % 251) as u8).collect());

fn c_calls() {
    let mut bytes = vec![0u8; 75_000];
    let mut floats = vec![0f32; 75_000];
    for threads in [1, 2, 4] {
        assert_eq!(qgemm_set_max_num_threads(threads), Status::Ok);
        for ((m, n, k), transposition) in SHAPES.into_iter().flat_map(|shape| [0, 1].map(|t| (shape, t))) {
            let (a, c, c_f32) = (BYTES.as_ptr(), bytes.as_mut_ptr(), floats.as_mut_ptr());
            let [m, n, k] = [m, n, k].map(|size| size as i32);
            let (lda, ldb, ldc) = if transposition == 0 { (m, k, m) } else { (k, n, n) };
            let t = transposition;
            // SAFETY: the matrices lie within what they point into.
            let u8_call = || unsafe {
                qgemm_eight_bit_int_gemm_u8(t, t, t, m, n, k, a, -9, lda, a, -7, ldb, c, 5, 3, 20, ldc, QGEMM_A8B8)
            };
            // SAFETY: the matrices lie within what they point into.
            let f32_call = || unsafe {
                qgemm_eight_bit_int_gemm_f32(t, t, t, m, n, k, a, -9, lda, a, -7, ldb, c_f32, 0.5, ldc, QGEMM_A8B8)
            };
            let what = format!("{m} x {n} x {k}, transposition {t}, {threads} threads");
            check(&format!("{what}, to u8"), || assert_eq!(u8_call(), Status::Ok));
            check(&format!("{what}, to f32"), || assert_eq!(f32_call(), Status::Ok));
        }
    }
    check("an error", || assert_eq!(qgemm_set_max_num_threads(-1), Status::Threads));
}

fn operand(rows: usize, cols: usize) -> RawOperand {
    RawOperand {
        struct_size: size_of::<RawOperand>(),
        data: null(),
        packed: null(),
        rows: rows as i64,
        cols: cols as i64,
        stride: 0,
        r#type: QGEMM_TYPE_U8,
        order: QGEMM_ROW_MAJOR,
        offset: I32Values { data: null(), len: 0, value: 3, axis: QGEMM_UNIFORM },
        least: 0,
        greatest: 0,
    }
}

/// Weights of 4 bits, in groups with scales or not, packed for this order of the result or for the other one.
fn narrow_products() {
    let codes: Vec<u8> = BYTES.iter().map(|byte| byte & 15).collect();
    let scales = vec![0.5; codes.len()];
    let mut result = vec![0u32; 75_000];
    for (rows, cols, depth) in SHAPES {
        for (group_size, result_order) in [(0, 0), (0, 1), (40, 0), (40, 1)] {
            let weights = RawOperand { data: codes.as_ptr().cast(), ..operand(depth, cols) };
            let options = PackOptions {
                struct_size: size_of::<PackOptions>(),
                side: QGEMM_RHS,
                result_order,
                other_type: 0,
                bits: 4,
                memory: null_mut(),
                memory_size: 0,
                group_size,
                scales: if group_size == 0 { null() } else { scales.as_ptr() },
                zero_points: null(),
            };
            let mut packed = null_mut();
            // SAFETY: there are more codes and scales than the sizes say.
            assert_eq!(unsafe { qgemm_pack(&weights, &options, &mut packed) }, Status::Ok);
            let lhs = RawOperand { data: BYTES.as_ptr().cast(), ..operand(rows, depth) };
            let rhs = RawOperand { packed, ..operand(0, 0) };
            let to = RawResult {
                struct_size: size_of::<RawResult>(),
                data: result.as_mut_ptr().cast(),
                rows: rows as i64,
                cols: cols as i64,
                stride: 0,
                r#type: if group_size == 0 { QGEMM_TYPE_S32 } else { QGEMM_TYPE_F32 },
                order: QGEMM_ROW_MAJOR,
            };
            check(&format!("{rows} x {cols} x {depth}, 4 bits, groups of {group_size}"), || {
                // SAFETY: the matrices lie within what they point into.
                assert_eq!(unsafe { qgemm_gemm(null(), &lhs, &rhs, &to, null(), 0, null()) }, Status::Ok);
            });
            let mut prepared = null_mut();
            // SAFETY: as above, and all of it stays.
            let made = unsafe { qgemm_gemm_prepare(null(), &lhs, &rhs, &to, null(), 0, null(), &mut prepared) };
            assert_eq!(made, Status::Ok);
            check(&format!("prepared {rows} x {cols} x {depth}, 4 bits, groups of {group_size}"), || {
                // SAFETY: as above.
                assert_eq!(unsafe { qgemm_prepared_run(prepared, null(), null(), null_mut()) }, Status::Ok);
            });
            // SAFETY: it is not used any more.
            unsafe { qgemm_prepared_free(prepared) };
            // SAFETY: it is not used any more.
            unsafe { qgemm_packed_free(packed) };
        }
    }
}

/// Floats that become bytes, row by row and all together, and bytes that are looked up.
fn tensors() {
    let floats: Vec<f32> = BYTES.iter().map(|&byte| byte.into()).collect();
    let mut bytes = vec![0u8; floats.len()];
    let (mut scales, mut offsets) = (vec![0.0; 1000], vec![0; 1000]);
    let to = bytes.as_mut_ptr().cast();
    for (order, side) in [(QGEMM_ROW_MAJOR, QGEMM_LHS), (QGEMM_ROW_MAJOR, QGEMM_RHS)] {
        let (struct_size, data) = (size_of::<RawFloats>(), floats.as_ptr());
        let floats = RawFloats { struct_size, data, rows: 600, cols: 1000, stride: 0, order, side };
        let lines = RawLineQuantization {
            struct_size: size_of::<RawLineQuantization>(),
            r#type: QGEMM_TYPE_U8,
            scheme: QGEMM_SCHEME_AFFINE,
            rounding: QGEMM_QUANTIZE_MULTIPLY,
            reserved: 0,
            least: 0,
            greatest: 0,
            scales: scales.as_mut_ptr(),
            offsets: offsets.as_mut_ptr(),
        };
        check("quantizing lines", || {
            // SAFETY: there are as many floats, bytes, scales and offsets.
            assert_eq!(unsafe { qgemm_quantize_lines_f32(null(), &floats, &lines, to) }, Status::Ok);
        });
    }
    let channels = RawChannels { outer: 600, channels: 1000, inner: 1 };
    let (scales, zero_points) = (scales.as_mut_ptr(), offsets.as_mut_ptr());
    check("choosing quantizations", || {
        let (scheme, r#type) = (QGEMM_SCHEME_SYMMETRIC, QGEMM_TYPE_S16);
        // SAFETY: there are as many floats, scales and zero points.
        let status = unsafe {
            qgemm_choose_quantization_of(null(), floats.as_ptr(), &channels, scheme, r#type, 0, 0, scales, zero_points)
        };
        assert_eq!(status, Status::Ok);
    });
    check("looking up", || {
        // SAFETY: there are as many bytes, and more than a table has.
        let status = unsafe { qgemm_table_apply(null(), BYTES.as_ptr(), to, to, bytes.len() as i64) };
        assert_eq!(status, Status::Ok);
    });
}

/// In one group, in several that begin a panel or not, one tap that takes every pixel, and depthwise.
fn convolutions() {
    let mut result = vec![0u32; 75_000];
    for (taps, groups, channels) in [(3, 1, 20), (3, 2, 64), (3, 4, 20), (1, 1, 64), (3, 20, 20)] {
        let padding = taps / 2;
        let desc = ConvDesc {
            struct_size: size_of::<ConvDesc>(),
            input_channels: channels,
            output_channels: channels,
            filter_height: taps,
            filter_width: taps,
            stride_height: 0,
            stride_width: 0,
            dilation_height: 0,
            dilation_width: 0,
            pad_top: padding,
            pad_left: padding,
            pad_bottom: padding,
            pad_right: padding,
            groups,
            input_type: QGEMM_TYPE_U8,
            weights_type: QGEMM_TYPE_U8,
        };
        let images = ConvImages { struct_size: size_of::<ConvImages>(), batch: 1, height: 30, width: 30 };
        let (mut plan, mut packed) = (null_mut(), null_mut());
        // SAFETY: the structs have their size.
        assert_eq!(unsafe { qgemm_conv_plan_create(&desc, &images, &mut plan) }, Status::Ok);
        let offset = I32Values { data: null(), len: 0, value: -3, axis: QGEMM_UNIFORM };
        let image = RawOperand { data: BYTES.as_ptr().cast(), offset, ..operand(0, 0) };
        // SAFETY: there are more bytes than the sizes say.
        assert_eq!(unsafe { qgemm_conv_pack(&desc, &image, null(), &mut packed) }, Status::Ok);
        let weights = RawOperand { packed, ..operand(0, 0) };
        let to = RawResult {
            struct_size: size_of::<RawResult>(),
            data: result.as_mut_ptr().cast(),
            rows: 0,
            cols: 0,
            stride: 0,
            r#type: QGEMM_TYPE_S32,
            order: QGEMM_ROW_MAJOR,
        };
        check(&format!("{taps} x {taps} taps, {groups} groups of {channels} channels"), || {
            // SAFETY: the matrices lie within what they point into.
            let status = unsafe { qgemm_conv_run(null(), plan, &image, &weights, &to, null(), 0, null()) };
            assert_eq!(status, Status::Ok);
        });
        let mut prepared = null_mut();
        // SAFETY: as above, and all of it stays.
        let made = unsafe { qgemm_conv_prepare(null(), plan, &image, &weights, &to, null(), 0, null(), &mut prepared) };
        assert_eq!(made, Status::Ok);
        check(&format!("the same, prepared, {taps} x {taps} taps, {groups} groups of {channels} channels"), || {
            // SAFETY: as above.
            assert_eq!(unsafe { qgemm_prepared_run(prepared, null(), null(), null_mut()) }, Status::Ok);
        });
        // SAFETY: it is not used any more.
        unsafe { qgemm_prepared_free(prepared) };
        // SAFETY: it is not used any more.
        unsafe { qgemm_packed_free(packed) };
        // SAFETY: as above.
        unsafe { qgemm_conv_plan_free(plan) };
    }
}

fn contexts() {
    let mut sums = vec![0; 75_000];
    for kernel in Kernel::available() {
        // SAFETY: the team keeps to what is demanded.
        let on_host = unsafe { Context::on_host(kernel, TEAM_SIZE, parallel_for, std::ptr::null_mut()) };
        for (threads, context) in [("its own", Context::new(kernel, 3)), ("the host's", on_host)] {
            for (rows, cols, depth) in SHAPES {
                let operand = |lines| {
                    let bytes = &BYTES[..lines * depth];
                    let operand = Operand::new(bytes, (lines, depth), depth, Order::DepthContiguous, Encoding::S8);
                    Factor::new(operand, Offset::Uniform(3))
                };
                let store = Store::I32(Output::new(&mut sums[..rows * cols], (rows, cols), cols));
                let finish = Finish::new(&[], store);
                check(&format!("{rows} x {cols} x {depth}, {}, {threads} threads", kernel.name), || {
                    gemm(&context, &operand(rows), &operand(cols), &finish).unwrap();
                });
            }
        }
    }
    assert!(TEAM.loops.load(Relaxed) > 0, "the host's threads had nothing to do");
}

/// The host's threads: the one that calls, and others that run each of its loops with it.
struct Team {
    begin: Barrier,
    end: Barrier,
    call: Mutex<Option<Call>>,
    loops: AtomicUsize,
}

type Task = unsafe extern "C" fn(*mut c_void, usize);

#[derive(Clone, Copy)]
struct Call(Task, *mut c_void);

// SAFETY: any thread may make the call: that is what it is for.
unsafe impl Send for Call {}

const TEAM_SIZE: usize = 3;

static TEAM: LazyLock<Team> = LazyLock::new(|| {
    (1..TEAM_SIZE).for_each(|me| {
        _ = thread::spawn(move || {
            loop {
                TEAM.work(me)
            }
        })
    });
    let barrier = || Barrier::new(TEAM_SIZE);
    Team { begin: barrier(), end: barrier(), call: Mutex::new(None), loops: AtomicUsize::new(0) }
});

impl Team {
    fn work(&self, me: usize) {
        self.begin.wait();
        let call = *self.call.lock().unwrap();
        if let Some(Call(task, argument)) = call {
            // SAFETY: `parallel_for` returns only after the last call.
            unsafe { task(argument, me) };
        }
        self.end.wait();
    }
}

unsafe extern "C-unwind" fn parallel_for(_user: *mut c_void, _tasks: usize, task: Task, argument: *mut c_void) {
    *TEAM.call.lock().unwrap() = Some(Call(task, argument));
    TEAM.loops.fetch_add(1, Relaxed);
    TEAM.work(0);
}

fn main() {
    c_calls();
    narrow_products();
    tensors();
    convolutions();
    contexts();
    println!("products allocate nothing");
}
