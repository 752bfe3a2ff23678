use super::*;
use crate::elements::{Elements, ElementsMut};
use crate::kernel::Kernel;

const WAYS: [Way32; 5] =
    [Way32::Nnlib, Way32::NnlibBias, Way32::TensorflowHelper, Way32::TensorflowOperation, Way32::Exact];

fn interval(min: f32, max: f32) -> Interval {
    Interval { min, max }
}

fn run(add: &AddTo32, kernel: &'static Kernel, threads: usize, a: &[u8], b: &[u8]) -> Vec<i32> {
    let mut sums = vec![7; a.len()];
    // SAFETY: all have as many elements.
    let tensors = unsafe {
        Tensors {
            a: Elements::from_raw(a.as_ptr(), a.len()),
            b: Elements::from_raw(b.as_ptr(), b.len()),
            to: ElementsMut::from_raw(sums.as_mut_ptr(), sums.len()),
        }
    };
    add.run(&Context::new(kernel, threads), &Grid::flat(a.len()), &tensors);
    sums
}

#[test]
fn by_hand() {
    // 255 steps of 1, from -100 on, and 255 of 2.
    let (a, b) = (interval(-100.0, 155.0), interval(0.0, 510.0));
    let sum = |way| run(&AddTo32::new(way, a, b).unwrap(), Kernel::chosen().unwrap(), 1, &[100, 103, 0], &[0, 10, 255]);
    assert_eq!(sum(Way32::Nnlib), [0, 3 * 0x3fc0 + 10 * 0x7f80, -100 * 0x3fc0 + 255 * 0x7f80]);
    // 510 · 2¹⁷ is code 2³¹, so 1 is 16384 / 510.
    let rounded = |x: f64| (x * 16384.0 / 510.0).round() as i32;
    for way in [Way32::Exact, Way32::NnlibBias] {
        assert_eq!(sum(way), [0, rounded(23.0), rounded(410.0)], "{way:?}");
    }
    let nothing = AddTo32::new(Way32::TensorflowHelper, Interval::ZERO, Interval::ZERO).unwrap();
    assert_eq!(nothing.result(), Interval { min: -0.0, max: 0.0 });
    assert_eq!(run(&nothing, Kernel::chosen().unwrap(), 1, &[1, 255], &[3, 0]), [0, 0]);
}

#[test]
fn every_kernel_agrees_and_every_number_of_threads() {
    let a: Vec<u8> = (0..200_001u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
    let b: Vec<u8> = a.iter().rev().map(|x| x.wrapping_mul(37)).collect();
    for way in WAYS {
        let add = AddTo32::new(way, interval(-1.25, 3.5), interval(-0.75, 0.625)).unwrap();
        let want = run(&add, Kernel::all().find(|kernel| kernel.name == "scalar").unwrap(), 1, &a, &b);
        for (kernel, threads) in Kernel::available().flat_map(|kernel| [(kernel, 1), (kernel, 3)]) {
            assert!(run(&add, kernel, threads, &a, &b) == want, "{way:?} {} {threads}", kernel.name);
        }
    }
}

/// So many that integers are tried for f64, which ties rule out.
#[test]
fn many_sums_are_what_few_are() {
    let codes = |step: usize| (0..1 << 19).map(|i| (i / step) as u8).collect::<Vec<u8>>();
    let (a, b) = (codes(256), codes(1));
    let scalar = Kernel::all().find(|kernel| kernel.name == "scalar").unwrap();
    for (of_a, of_b) in [
        (interval(-3.0, 2.0), interval(-1.0, 5.0)),
        (interval(1.0, 1.5), interval(-7.0, 5.0)),
        (interval(-100.0, 155.0), interval(0.0, 255.0)),
        (interval(0.0, 255.0), interval(0.0, 65536.0)),
        (interval(1e6, 1e6 + 1.0), interval(-1e-6, 1.0)),
    ] {
        let add = AddTo32::new(Way32::Exact, of_a, of_b).unwrap();
        let pieces = a.chunks(4096).zip(b.chunks(4096));
        let want: Vec<i32> = pieces.flat_map(|(a, b)| run(&add, scalar, 1, a, b)).collect();
        for kernel in Kernel::available() {
            assert!(run(&add, kernel, 1, &a, &b) == want, "{of_a:?} {of_b:?} {}", kernel.name);
        }
    }
}

#[test]
fn integers_are_compared_with_f64() {
    for kernel in Kernel::available() {
        let are_same = |ratios, zeros| {
            let exact = Exact { ratios, zeros };
            let fixed = Fixed::of(&exact);
            kernel.vectors.run(Comparison { exact: &exact, fixed: &fixed })
        };
        assert!(are_same([12.345678, 64.123457], [100.0, 3.0]), "{}", kernel.name);
        // 0.5 is rounded to 0.
        assert!(!are_same([0.5, 1.0], [0.0, 0.0]) && !are_same([1e6, 1.0], [0.0, 0.0]), "{}", kernel.name);
    }
}

/// As few elements as are added by tables.
#[test]
fn lines_give_what_tables_do() {
    let codes = |step: usize| (0..65536).map(|i| (i / step) as u8).collect::<Vec<u8>>();
    let (a, b) = (codes(256), codes(1));
    let mut are_lines = 0;
    for i in 1..40u8 {
        let x = f32::from(i);
        let (of_a, of_b) = (interval(-x * 0.37, 1.0 + x / 7.0), interval(0.01 * x - 0.2, 0.5 + 3.0 / x));
        for way in [Way32::TensorflowHelper, Way32::TensorflowOperation] {
            let add = AddTo32::new(way, of_a, of_b).unwrap();
            let kernel = Kernel::chosen().unwrap();
            let pieces = a.chunks(512).zip(b.chunks(512));
            let want: Vec<i32> = pieces.flat_map(|(a, b)| run(&add, kernel, 1, a, b)).collect();
            for kernel in Kernel::available() {
                assert!(run(&add, kernel, 1, &a, &b) == want, "{way:?} {of_a:?} {of_b:?} {}", kernel.name);
            }
            let table: [i32; 256] = std::array::from_fn(|b| want[b]);
            let slope = match way {
                Way32::TensorflowHelper => Codes::I32.slope(add.result()) / Codes::U8.slope(of_b),
                _ => f64::from(want[1] - want[0]),
            };
            are_lines += usize::from(Line::of(&table, slope).is_some());
        }
    }
    assert!(are_lines > 60, "{are_lines} of 78");
}

#[test]
fn only_what_grows_evenly_is_a_line() {
    for (slope, base) in [(0.0, 7.0), (128.7, -16384.0), (0.3, 0.0), (-77.25, 5.5), (4e6, -1e9)] {
        let mut table: [i32; 256] = std::array::from_fn(|x| (x as f64 * slope + base + 0.123).floor() as i32);
        let line = Line::of(&table, slope).unwrap();
        assert!((0..=255).all(|x| line.at(x) == table[usize::from(x)]), "{slope}");
        table[100] += 2;
        assert!(Line::of(&table, slope).is_none(), "{slope}");
    }
}

#[test]
fn intervals_that_have_no_sum_are_refused() {
    for way in WAYS {
        for bad in [interval(1.0, 1.0), interval(f32::NAN, 1.0), interval(2.0, 1.0), interval(0.0, f32::INFINITY)] {
            assert!(
                AddTo32::new(way, bad, interval(0.0, 1.0)).is_err()
                    && AddTo32::new(way, interval(0.0, 1.0), bad).is_err()
            );
        }
        let has_zero = matches!(way, Way32::Nnlib | Way32::NnlibBias);
        // Not around 0, or so narrow that nnlib does not find the code of 0.
        for other in [interval(1.0, 2.0), interval(-1e-39, 1e-39)] {
            assert_eq!(AddTo32::new(way, other, interval(0.0, 1.0)).is_err(), has_zero);
            assert_eq!(AddTo32::new(way, interval(0.0, 1.0), other).is_err(), has_zero);
        }
        let narrow = AddTo32::new(way, interval(-1e-36, 0.0), interval(0.0, 1.0)).unwrap();
        assert_eq!(run(&narrow, Kernel::chosen().unwrap(), 1, &[255, 0], &[0, 0]), [0, 0], "{way:?}");
        assert!(AddTo32::new(way, interval(0.0, 3e38), interval(0.0, 1.0)).is_err());
        assert!(AddTo32::new(way, interval(0.0, 1e33), interval(0.0, 1.0)).is_ok());
    }
}
