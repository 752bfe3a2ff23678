//! ONNX Runtime's MLAS through models of one node. $QB_ORT is the path of libonnxruntime.so.*; the declarations
//! come from the ort-sys crate. A few microseconds of ONNX Runtime's own are in every call.

mod onnx;

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use ort_sys::{
    GraphOptimizationLevel, ONNXTensorElementDataType as ElementType, OrtAllocatorType, OrtApi, OrtApiBase, OrtEnv,
    OrtIoBinding, OrtLoggingLevel, OrtMemType, OrtMemoryInfo, OrtSession, OrtStatusPtr, OrtValue,
};
use qb_abi::{Contender, Library, Problem, Variant};

struct Runtime {
    api: &'static OrtApi,
    environment: *mut OrtEnv,
    version: &'static CStr,
}

// SAFETY: ONNX Runtime's environment may be used from any thread.
unsafe impl Sync for Runtime {}
// SAFETY: ONNX Runtime's environment may be used from any thread.
unsafe impl Send for Runtime {}

static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

fn runtime() -> Option<&'static Runtime> {
    RUNTIME.get_or_init(Runtime::load).as_ref()
}

impl Runtime {
    fn load() -> Option<Self> {
        let path = std::env::var_os("QB_ORT")?;
        // SAFETY: onnxruntime's initializers have no demands.
        let library = unsafe { libloading::Library::new(path) };
        let library = library.inspect_err(|error| eprintln!("# onnxruntime: {error}")).ok()?;
        let library = Box::leak(Box::new(library));
        type GetApiBase = unsafe extern "system" fn() -> *const OrtApiBase;
        // SAFETY: this is the function's type in onnxruntime_c_api.h.
        let get_api_base = unsafe { library.get::<GetApiBase>(b"OrtGetApiBase\0") }.ok()?;
        // SAFETY: the function has no demands, and what it returns is static.
        let base = unsafe { get_api_base().as_ref() }?;
        // SAFETY: what GetApi returns is null or static.
        let api = unsafe { (base.GetApi)(17).as_ref() }?;
        // SAFETY: the version is a static string.
        let version = unsafe { CStr::from_ptr((base.GetVersionString)()) };
        let mut environment = null_mut();
        let level = OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR;
        // SAFETY: the name is a C string and the result goes to a pointer.
        let status = unsafe { (api.CreateEnv)(level, c"peers".as_ptr(), &mut environment) };
        let runtime = Self { api, environment, version };
        runtime.checked(status).inspect_err(|error| eprintln!("# onnxruntime: {error}")).ok()?;
        Some(runtime)
    }

    fn checked(&self, status: OrtStatusPtr) -> Result<(), String> {
        if status.0.is_null() {
            return Ok(());
        }
        // SAFETY: a status that is not null has a message, a C string.
        let message = unsafe { CStr::from_ptr((self.api.GetErrorMessage)(status.0)) };
        Err(message.to_string_lossy().into_owned())
    }

    fn session(&self, model: &[u8], threads: usize) -> Result<*mut OrtSession, String> {
        let (mut options, mut session) = (null_mut(), null_mut());
        let level = GraphOptimizationLevel::ORT_ENABLE_BASIC;
        // SAFETY: the result goes to a pointer.
        self.checked(unsafe { (self.api.CreateSessionOptions)(&mut options) })?;
        // SAFETY: the options were just created.
        self.checked(unsafe { (self.api.SetIntraOpNumThreads)(options, threads as i32) })?;
        // SAFETY: the options were just created.
        self.checked(unsafe { (self.api.SetSessionGraphOptimizationLevel)(options, level) })?;
        let (bytes, len): (*const c_void, _) = (model.as_ptr().cast(), model.len());
        let create = self.api.CreateSessionFromArray;
        // SAFETY: the model is as long as is said, and copied.
        let status = unsafe { create(self.environment, bytes, len, options, &mut session) };
        self.checked(status)?;
        Ok(session)
    }
}

struct Product {
    runtime: &'static Runtime,
    session: *mut OrtSession,
    binding: *mut OrtIoBinding,
}

impl Product {
    fn made(problem: &Problem) -> Result<Self, String> {
        let runtime = runtime().ok_or("not loaded")?;
        let session = runtime.session(&onnx::model(problem), problem.threads)?;
        let mut product = Self { runtime, session, binding: null_mut() };
        // SAFETY: the session was just created.
        let status = unsafe { (runtime.api.CreateIoBinding)(session, &mut product.binding) };
        runtime.checked(status)?;
        product.bind(problem)?;
        Ok(product)
    }

    /// Lets the model read and write the harness's matrices in place.
    fn bind(&self, problem: &Problem) -> Result<(), String> {
        let Self { runtime, binding, .. } = *self;
        let &Problem { m, n, k, .. } = problem;
        let [a, b, c] = problem.variant().types();
        let mut memory = null_mut();
        let (arena, default) = (OrtAllocatorType::OrtArenaAllocator, OrtMemType::OrtMemTypeDefault);
        // SAFETY: the result goes to a pointer.
        let status = unsafe { (runtime.api.CreateCpuMemoryInfo)(arena, default, &mut memory) };
        runtime.checked(status)?;
        let a = tensor(runtime, memory, problem.a_pointer(), [m, k], a)?;
        // SAFETY: the names are the model's and the tensor was just created.
        runtime.checked(unsafe { (runtime.api.BindInput)(binding, c"A".as_ptr(), a) })?;
        if !problem.variant().is_prepacked() {
            let b = tensor(runtime, memory, problem.b_pointer(), [k, n], b)?;
            // SAFETY: the names are the model's and the tensor was just created.
            runtime.checked(unsafe { (runtime.api.BindInput)(binding, c"B".as_ptr(), b) })?;
        }
        let c = tensor(runtime, memory, problem.c_pointer(), [m, n], c)?;
        // SAFETY: the names are the model's and the tensor was just created.
        runtime.checked(unsafe { (runtime.api.BindOutput)(binding, c"C".as_ptr(), c) })
    }
}

/// A matrix of the harness as ONNX Runtime sees it.
fn tensor(
    runtime: &Runtime,
    memory: *mut OrtMemoryInfo,
    elements: *const c_void,
    dims: [usize; 2],
    letter: u8,
) -> Result<*mut OrtValue, String> {
    let (size, element_type) = match letter {
        b'u' => (1, ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8),
        b's' => (1, ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8),
        b'i' => (4, ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32),
        _ => (4, ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT),
    };
    let bytes = dims[0] * dims[1] * size;
    let dims = dims.map(|d| d as i64);
    let mut value = null_mut();
    // SAFETY: the matrix has as many bytes as is said and outlives the product; only C is written.
    let status = unsafe {
        (runtime.api.CreateTensorWithDataAsOrtValue)(
            memory,
            elements.cast_mut(),
            bytes,
            dims.as_ptr(),
            dims.len(),
            element_type,
            &mut value,
        )
    };
    runtime.checked(status)?;
    Ok(value)
}

impl Drop for Product {
    fn drop(&mut self) {
        if !self.binding.is_null() {
            // SAFETY: the binding is ours and not used again.
            unsafe { (self.runtime.api.ReleaseIoBinding)(self.binding) };
        }
        // SAFETY: the session is ours and not used again.
        unsafe { (self.runtime.api.ReleaseSession)(self.session) };
    }
}

impl Contender for Product {
    /// "kn": B is an input of the model; otherwise a constant, which MLAS packs beforehand.
    const VARIANTS: &'static [Variant] = &[
        Variant::new(c"MatMulInteger_u8s8s32", b"usi").prepacked().zero_points(),
        Variant::new(c"MatMulInteger_u8u8s32", b"uui").prepacked().zero_points(),
        Variant::new(c"MatMulInteger_u8s8s32_kn", b"usi").zero_points(),
        Variant::new(c"MatMulInteger_u8u8s32_kn", b"uui").zero_points(),
        Variant::new(c"QLinearMatMul_u8s8u8", b"usu").prepacked().zero_points(),
        Variant::new(c"QLinearMatMul_u8u8u8", b"uuu").prepacked().zero_points(),
        Variant::new(c"QLinearMatMul_u8s8u8_kn", b"usu").zero_points(),
        Variant::new(c"QLinearMatMul_u8u8u8_kn", b"uuu").zero_points(),
        Variant::new(c"MatMulIntegerToFloat_u8u8f32", b"uuf").prepacked().zero_points(),
        Variant::new(c"MatMulIntegerToFloat_u8u8f32_kn", b"uuf").zero_points(),
        Variant::new(c"MatMul_f32", b"fff").prepacked(),
    ];

    fn new(_variant: usize, problem: Problem) -> Option<Self> {
        Self::made(&problem).inspect_err(|error| eprintln!("# onnxruntime: {error}")).ok()
    }

    fn run(&mut self) {
        // SAFETY: session and binding are ours, and the bound matrices live.
        let status = unsafe { (self.runtime.api.RunWithBinding)(self.session, null(), self.binding) };
        self.runtime.checked(status).expect("a bound model runs");
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn qb_get() -> *const Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let Some(runtime) = runtime() else {
        return null();
    };
    LIBRARY.get_or_init(|| qb_abi::library::<Product>(c"onnxruntime", runtime.version, c""))
}
