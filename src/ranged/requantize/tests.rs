use super::*;
use crate::kernel::Kernel;

fn interval(min: f32, max: f32) -> Interval {
    Interval { min, max }
}

fn run<T: Code + Default>(requantize: &Requantize, kernel: &'static Kernel, threads: usize, sums: &[i32]) -> Vec<T>
where
    for<'a> IntegersMut<'a>: From<ElementsMut<'a, T>>,
{
    let mut codes = vec![T::default(); sums.len()];
    // SAFETY: both have as many elements.
    let (from, to) = unsafe {
        (Elements::from_raw(sums.as_ptr(), sums.len()), ElementsMut::from_raw(codes.as_mut_ptr(), sums.len()))
    };
    requantize.run(&Context::new(kernel, threads), from, to);
    codes
}

#[test]
fn by_hand() {
    // 1 is code 2¹⁶ of the sums, and code 1 of the result, in which 28 stands for 0.
    let (from, to) = (interval(-32768.0, 32768.0), interval(-28.0, 227.0));
    let sums = [0, 1 << 16, -5 << 16, 3 << 15, 1 << 15, -1 << 15, i32::MIN, i32::MAX];
    let codes = |way| {
        let requantize = Requantize::new(way, from, to, 255.0).unwrap();
        assert_eq!(requantize.result(), to);
        run::<u8>(&requantize, Kernel::chosen().unwrap(), 1, &sums)
    };
    assert_eq!(codes(WayDown::Exact), [28, 29, 23, 30, 28, 28, 0, 255]);
    for way in [WayDown::Nnlib, WayDown::Tensorflow] {
        assert_eq!(codes(way), [28, 29, 23, 30, 29, 28, 0, 255], "{way:?}");
    }
}

#[test]
fn every_kernel_agrees_and_every_number_of_threads() {
    let sums: Vec<i32> = (0..200_001i32).map(|i| i.wrapping_mul(i).wrapping_mul(77_777) >> (i % 20)).collect();
    let scalar = Kernel::all().find(|kernel| kernel.name == "scalar").unwrap();
    let context = |kernel, threads| Context::new(kernel, threads);
    for way in [WayDown::Exact, WayDown::Nnlib, WayDown::Tensorflow] {
        let requantize = Requantize::new(way, interval(-70.0, 70.0), interval(-0.3, 0.02), 255.0).unwrap();
        let want = run::<i8>(&requantize, scalar, 1, &sums);
        for (kernel, threads) in Kernel::available().flat_map(|kernel| [(kernel, 1), (kernel, 3)]) {
            assert!(run::<i8>(&requantize, kernel, threads, &sums) == want, "{way:?} {} {threads}", kernel.name);
        }
    }
    for (kernel, len) in Kernel::available().flat_map(|kernel| [1, 2, 17, 1000, 200_001].map(|len| (kernel, len))) {
        // SAFETY: there are at least as many.
        let elements = unsafe { Elements::from_raw(sums.as_ptr(), len) };
        let [least, greatest] = extremes(&context(kernel, 2), &Sums(elements), len).unwrap();
        let part = &sums[..len];
        assert_eq!((Some(&least), Some(&greatest)), (part.iter().min(), part.iter().max()), "{}", kernel.name);
    }
}

/// As the specification writes it, with gains from small ones to nearly 1, of which some have ties.
#[test]
fn codes_in_the_way_of_nnlib_are_of_fixed_point() {
    let sums: Vec<i32> = (0..20_000i32).map(|i| i.wrapping_mul(i).wrapping_mul(77_777) >> (i % 20)).collect();
    for (from, to) in [(70.0, 0.2), (1.0, 1e-6), (1.0, 1.0 / 65536.0), (100.0, 3.0), (1.0, 6.3e-8)] {
        let requantize =
            Requantize::new(WayDown::Nnlib, interval(-from, from), interval(-to, to * 0.9), 255.0).unwrap();
        let level = requantize.result().step(255.0);
        let gain = (step(interval(-from, from)) / level * 2147483648.0).round() as i64;
        assert!(gain < 1 << 31, "else it is computed in f64");
        let zero = (-f64::from(requantize.result().min) / level).round() as i64 - 128;
        let code = |x: &i32| (((i64::from(*x) * gain + (1 << 30)) >> 31) + zero).clamp(-128, 127) as i8;
        let want: Vec<i8> = sums.iter().map(code).collect();
        for kernel in Kernel::available() {
            assert!(run::<i8>(&requantize, kernel, 1, &sums) == want, "{from:?} {to} {}", kernel.name);
        }
    }
}

/// Whether they are confined as integers or not.
#[test]
fn exact_codes_are_the_nearest() {
    let sums: Vec<i32> = (0..20_000i32).map(|i| i.wrapping_mul(i).wrapping_mul(77_777) >> (i % 20)).collect();
    for (from, to) in [(70.0, 0.2), (1.0, 1e-9), (1.0, 6e-8), (1.0, 5.9e-8), (1.0, 1.0), (1e-9, 1.0)] {
        for skew in [0.0, 0.25 * from] {
            let from = interval(-from, from + skew);
            let requantize = Requantize::new(WayDown::Exact, from, interval(-to, to), 255.0).unwrap();
            let level = requantize.result().step(255.0);
            let (gain, zero) = (step(from) / level, (-f64::from(requantize.result().min) / level).round());
            let code =
                |x: &i32| (((f64::from(*x) + offset(from)) * gain).round_ties_even() + zero).clamp(0.0, 255.0) as u8;
            let want: Vec<u8> = sums.iter().map(code).collect();
            for kernel in Kernel::available() {
                assert!(run::<u8>(&requantize, kernel, 1, &sums) == want, "{from:?} {to} {}", kernel.name);
            }
        }
    }
}

#[test]
fn intervals_that_do_not_fit_are_refused() {
    let is_refused = |way, from, to| Requantize::new(way, from, to, 255.0).is_err();
    let one = interval(-1.0, 1.0);
    for way in [WayDown::Exact, WayDown::Nnlib, WayDown::Tensorflow] {
        for bad in [interval(1.0, 1.0), interval(f32::NAN, 1.0), interval(0.5, -0.5)] {
            assert!(is_refused(way, bad, one) && is_refused(way, one, bad));
        }
        assert!(is_refused(way, one, interval(0.5, 1.0)) && is_refused(way, one, interval(-1.0, -0.5)));
        assert!(!is_refused(way, one, Interval::ZERO) && !is_refused(way, Interval::ZERO, one));
    }
    assert!(
        is_refused(WayDown::Nnlib, interval(-1.0, 2.0), one) && !is_refused(WayDown::Exact, interval(-1.0, 2.0), one)
    );
    let far = interval(-1e11, 1e11);
    assert!(is_refused(WayDown::Tensorflow, far, one) && !is_refused(WayDown::Exact, far, one));
}
