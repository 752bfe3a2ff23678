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

#[test]
fn intervals_that_have_no_sum_are_refused() {
    for way in WAYS {
        for bad in [interval(1.0, 1.0), interval(f32::NAN, 1.0), interval(2.0, 1.0), interval(0.0, f32::INFINITY)] {
            assert!(
                AddTo32::new(way, bad, interval(0.0, 1.0)).is_err()
                    && AddTo32::new(way, interval(0.0, 1.0), bad).is_err()
            );
        }
        let is_around_zero = matches!(way, Way32::Nnlib | Way32::NnlibBias);
        assert_eq!(AddTo32::new(way, interval(1.0, 2.0), interval(0.0, 1.0)).is_err(), is_around_zero);
        assert!(AddTo32::new(way, interval(0.0, 3e38), interval(0.0, 1.0)).is_err());
        assert!(AddTo32::new(way, interval(0.0, 1e33), interval(0.0, 1.0)).is_ok());
    }
}
