//! rten-gemm: u8 x s8 into s32 with zero points on both sides, and f32.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use qb_abi::{Contender, Library, Problem, Variant};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_tensor::NdTensorView;

fn matrix<T>(elements: &[T], rows: usize, cols: usize) -> NdTensorView<'_, T, 2> {
    NdTensorView::from_data([rows, cols], elements)
}

struct Quantized {
    problem: Problem,
    executor: GemmExecutor<u8, i8, i32>,
    packed: Option<PackedBMatrix<i8>>,
    a_zero_points: Vec<u8>,
    b_zero_points: Vec<i8>,
}

impl Quantized {
    fn new(problem: Problem) -> Self {
        let executor = GemmExecutor::default();
        let packed =
            problem.variant().is_prepacked().then(|| executor.prepack_b(matrix(problem.b(), problem.k, problem.n)));
        let a_zero_points = vec![problem.za as u8; problem.m];
        let b_zero_points = vec![problem.zb as i8; problem.n];
        Self { problem, executor, packed, a_zero_points, b_zero_points }
    }

    fn run(&mut self) {
        let Problem { m, n, k, .. } = self.problem;
        let (a, b, c) = self.problem.matrices();
        let b = match &self.packed {
            Some(packed) => GemmInputB::Packed(packed),
            None => GemmInputB::Unpacked(matrix(b, k, n)),
        };
        let options = GemmOptions {
            a_quant: Some(QuantParams { zero_point: &self.a_zero_points }),
            b_quant: Some(QuantParams { zero_point: &self.b_zero_points }),
            ..Default::default()
        };
        self.executor.gemm(c, GemmInputA::Unpacked(matrix(a, m, k)), b, options).expect("the shapes fit");
    }
}

struct Float {
    problem: Problem,
    executor: GemmExecutor<f32, f32, f32>,
    packed: Option<PackedBMatrix<f32>>,
}

impl Float {
    fn new(problem: Problem) -> Self {
        let executor = GemmExecutor::default();
        let packed =
            problem.variant().is_prepacked().then(|| executor.prepack_b(matrix(problem.b(), problem.k, problem.n)));
        Self { problem, executor, packed }
    }

    fn run(&mut self) {
        let Problem { m, n, k, .. } = self.problem;
        let (a, b, c) = self.problem.matrices();
        let b = match &self.packed {
            Some(packed) => GemmInputB::Packed(packed),
            None => GemmInputB::Unpacked(matrix(b, k, n)),
        };
        self.executor
            .gemm(c, GemmInputA::Unpacked(matrix(a, m, k)), b, GemmOptions::default())
            .expect("the shapes fit");
    }
}

enum Product {
    Quantized(Quantized),
    Float(Float),
}

impl Contender for Product {
    const VARIANTS: &'static [Variant] = &[
        Variant::new(c"u8s8s32", b"usi").zero_points(),
        // No zero point of B: prepack_b does not know it, and results are wrong if it is not 0.
        Variant::new(c"u8s8s32_pack_zpa", b"usi").prepacked().zero_point_a(),
        Variant::new(c"sgemm", b"fff"),
        Variant::new(c"sgemm_pack", b"fff").prepacked(),
    ];

    fn new(_variant: usize, problem: Problem) -> Option<Self> {
        Some(match problem.variant().types()[0] {
            b'f' => Self::Float(Float::new(problem)),
            _ => Self::Quantized(Quantized::new(problem)),
        })
    }

    fn run(&mut self) {
        match self {
            Self::Quantized(product) => product.run(),
            Self::Float(product) => product.run(),
        }
    }
}

fn kernel_name() -> &'static CStr {
    let name = GemmExecutor::<u8, i8, i32>::default().kernel_name().to_owned();
    Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str())
}

#[unsafe(no_mangle)]
pub extern "C" fn qb_get() -> *const Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    // The version is the one that Cargo.toml pins.
    LIBRARY.get_or_init(|| qb_abi::library::<Product>(c"rten", c"0.27.0", kernel_name()))
}
