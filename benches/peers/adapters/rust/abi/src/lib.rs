//! qbench.h in Rust: an adapter implements `Contender` and exports what `library` returns.

use std::ffi::{CStr, c_char, c_void};

pub const QB_ABI: i32 = 2;

/// What one variant of one library computes.
#[repr(C)]
pub struct Variant {
    name: *const c_char,
    a: u8,
    b: u8,
    out: u8,
    prepacked: u8,
    zp_a: u8,
    zp_b: u8,
}

// SAFETY: the name is a static string.
unsafe impl Sync for Variant {}

impl Variant {
    /// `types` are those of A, B and C, in the letters of qbench.h.
    pub const fn new(name: &'static CStr, types: &[u8; 3]) -> Self {
        Self { name: name.as_ptr(), a: types[0], b: types[1], out: types[2], prepacked: 0, zp_a: 0, zp_b: 0 }
    }

    pub const fn prepacked(self) -> Self {
        Self { prepacked: 1, ..self }
    }

    pub const fn zero_point_a(self) -> Self {
        Self { zp_a: 1, ..self }
    }

    pub const fn zero_points(self) -> Self {
        Self { zp_a: 1, zp_b: 1, ..self }
    }

    pub fn name(&self) -> &'static CStr {
        // SAFETY: `new` took it from a static string.
        unsafe { CStr::from_ptr(self.name) }
    }

    pub fn types(&self) -> [u8; 3] {
        [self.a, self.b, self.out]
    }

    pub fn is_prepacked(&self) -> bool {
        self.prepacked == 1
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Case {
    m: i32,
    n: i32,
    k: i32,
    threads: i32,
    a: *const c_void,
    b: *const c_void,
    bt: *const c_void,
    c: *mut c_void,
    za: i32,
    zb: i32,
    zc: i32,
    scale: f32,
}

/// A type that a matrix can have.
pub trait Element: Copy {
    /// Its letter in qbench.h.
    const LETTER: u8;
}
impl Element for u8 {
    const LETTER: u8 = b'u';
}
impl Element for i8 {
    const LETTER: u8 = b's';
}
impl Element for i32 {
    const LETTER: u8 = b'i';
}
impl Element for f32 {
    const LETTER: u8 = b'f';
}

/// One case and the variant that is to solve it. A is m x k, B is k x n, C is m x n, all row-major.
pub struct Problem {
    case: Case,
    variant: &'static Variant,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub threads: usize,
    pub za: i32,
    pub zb: i32,
    pub zc: i32,
    pub scale: f32,
}

impl Problem {
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    pub fn b<T: Element>(&self) -> &[T] {
        assert_eq!(self.variant.b, T::LETTER);
        // SAFETY: the harness passes k * n elements of the variant's type, which outlive the contender.
        unsafe { std::slice::from_raw_parts(self.case.b.cast(), self.k * self.n) }
    }

    /// A, B and C.
    pub fn matrices<A: Element, B: Element, C: Element>(&mut self) -> (&[A], &[B], &mut [C]) {
        assert_eq!(self.variant.types(), [A::LETTER, B::LETTER, C::LETTER]);
        // SAFETY: the harness passes m * k elements of the variant's type, which outlive the contender.
        let a = unsafe { std::slice::from_raw_parts(self.case.a.cast(), self.m * self.k) };
        // SAFETY: the harness passes m * n elements of the variant's type, which overlap no operand.
        let c = unsafe { std::slice::from_raw_parts_mut(self.case.c.cast(), self.m * self.n) };
        (a, self.b(), c)
    }

    /// The bytes of B, of whatever type.
    pub fn b_bytes(&self) -> &[u8] {
        let size = if self.variant.b == f32::LETTER { 4 } else { 1 };
        // SAFETY: the harness passes k * n elements of the variant's type, which outlive the contender.
        unsafe { std::slice::from_raw_parts(self.case.b.cast(), self.k * self.n * size) }
    }

    /// For libraries that take pointers.
    pub fn a_pointer(&self) -> *const c_void {
        self.case.a
    }

    pub fn b_pointer(&self) -> *const c_void {
        self.case.b
    }

    pub fn c_pointer(&self) -> *mut c_void {
        self.case.c
    }
}

/// One variant on one problem.
pub trait Contender: Sized {
    const VARIANTS: &'static [Variant];

    /// Packs what the variant packs beforehand. `None`: this case is not supported.
    fn new(variant: usize, problem: Problem) -> Option<Self>;

    /// One whole product; C is complete on return.
    fn run(&mut self);
}

/// What `qb_get` returns.
#[repr(C)]
pub struct Library {
    abi: i32,
    library: *const c_char,
    version: *const c_char,
    kernel: *const c_char,
    nvariants: i32,
    variants: *const Variant,
    create: unsafe extern "C" fn(i32, *const Case) -> *mut c_void,
    run: unsafe extern "C" fn(*mut c_void),
    destroy: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: the pointers are to static strings and variants.
unsafe impl Sync for Library {}
// SAFETY: the pointers are to static strings and variants.
unsafe impl Send for Library {}

pub const fn library<C: Contender>(name: &'static CStr, version: &'static CStr, kernel: &'static CStr) -> Library {
    Library {
        abi: QB_ABI,
        library: name.as_ptr(),
        version: version.as_ptr(),
        kernel: kernel.as_ptr(),
        nvariants: C::VARIANTS.len() as i32,
        variants: C::VARIANTS.as_ptr(),
        create: create::<C>,
        run: run::<C>,
        destroy: destroy::<C>,
    }
}

/// # Safety
///
/// `case` points to a case of the variant.
unsafe extern "C" fn create<C: Contender>(variant: i32, case: *const Case) -> *mut c_void {
    // SAFETY: the caller passes a valid pointer.
    let case = unsafe { *case };
    let problem = Problem {
        case,
        variant: &C::VARIANTS[variant as usize],
        m: case.m as usize,
        n: case.n as usize,
        k: case.k as usize,
        threads: case.threads as usize,
        za: case.za,
        zb: case.zb,
        zc: case.zc,
        scale: case.scale,
    };
    match C::new(variant as usize, problem) {
        Some(contender) => Box::into_raw(Box::new(contender)).cast(),
        None => std::ptr::null_mut(),
    }
}

/// # Safety
///
/// `contender` came from `create::<C>`.
unsafe extern "C" fn run<C: Contender>(contender: *mut c_void) {
    // SAFETY: the caller passes what `create` returned.
    unsafe { &mut *contender.cast::<C>() }.run();
}

/// # Safety
///
/// `contender` came from `create::<C>` and is not used again.
unsafe extern "C" fn destroy<C: Contender>(contender: *mut c_void) {
    // SAFETY: the caller passes what `create` returned.
    drop(unsafe { Box::from_raw(contender.cast::<C>()) });
}
