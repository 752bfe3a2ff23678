use super::*;
use crate::elements::ElementsMut;
use crate::kernel::Kernel;

fn interval(min: f32, max: f32) -> Interval {
    Interval { min, max }
}

const NONE: Fixed = Fixed { min: false, max: false };
const BOTH: Fixed = Fixed { min: true, max: true };

fn run(add: &AddTo8, kernel: &'static Kernel, threads: usize, a: &[u8], b: &[u8]) -> (Vec<u8>, Interval, usize) {
    try_run(add, kernel, threads, a, b).unwrap()
}

fn try_run(
    add: &AddTo8,
    kernel: &'static Kernel,
    threads: usize,
    a: &[u8],
    b: &[u8],
) -> Result<(Vec<u8>, Interval, usize), Error> {
    let mut codes = vec![7; a.len()];
    // SAFETY: all have as many elements.
    let tensors = unsafe {
        Tensors {
            a: Elements::from_raw(a.as_ptr(), a.len()),
            b: Elements::from_raw(b.as_ptr(), b.len()),
            to: ElementsMut::from_raw(codes.as_mut_ptr(), codes.len()),
        }
    };
    let (result, passes) = add.run(&Context::new(kernel, threads), &tensors)?;
    Ok((codes, result, passes))
}

#[test]
fn by_hand() {
    let kernel = Kernel::chosen().unwrap();
    let (a, b) = (interval(0.0, 255.0), interval(0.0, 510.0));
    let exact = |guess, fixed, a_codes: &[u8], b_codes: &[u8]| {
        run(&AddTo8::new(Way8::Exact, a, b, guess, fixed).unwrap(), kernel, 1, a_codes, b_codes)
    };
    // Just what is needed.
    assert_eq!(exact(None, NONE, &[1, 55], &[2, 100]), (vec![5, 255], interval(0.0, 255.0), 2));
    let wide = interval(0.0, 510.0);
    assert_eq!(exact(Some(wide), NONE, &[1, 56], &[2, 100]), (vec![2, 128], wide, 1));
    // 3 / 2 and 1 / 2 are ties.
    assert_eq!(exact(Some(wide), NONE, &[3, 1], &[0, 0]), (vec![2, 0], wide, 1));
    let narrow = interval(0.0, 51.0);
    assert_eq!(exact(Some(narrow), NONE, &[1, 55], &[2, 100]), (vec![5, 255], interval(0.0, 255.0), 2));
    assert_eq!(exact(Some(narrow), BOTH, &[1, 55], &[2, 100]), (vec![25, 255], narrow, 1));
    assert_eq!(exact(None, NONE, &[0, 0], &[0, 0]), (vec![0, 0], Interval::ZERO, 2));
    assert_eq!(exact(Some(narrow), NONE, &[], &[]), (vec![], narrow, 0));
}

#[test]
fn every_kernel_agrees_and_every_number_of_threads() {
    let a: Vec<u8> = (0..200_001u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
    let b: Vec<u8> = a.iter().rev().map(|x| x.wrapping_mul(37)).collect();
    let scalar = Kernel::all().find(|kernel| kernel.name == "scalar").unwrap();
    for way in [Way8::Exact, Way8::NnlibFlat, Way8::NnlibSpec] {
        for (guess, fixed) in [(None, NONE), (Some(interval(-0.5, 5.0)), NONE), (Some(interval(-1.0, 9.0)), BOTH)] {
            let add = AddTo8::new(way, interval(-1.25, 3.5), interval(-0.75, 0.625), guess, fixed).unwrap();
            for len in [1, 16, 63, 200_001] {
                let want = run(&add, scalar, 1, &a[..len], &b[..len]);
                for (kernel, threads) in Kernel::available().flat_map(|kernel| [(kernel, 1), (kernel, 3)]) {
                    assert!(run(&add, kernel, threads, &a[..len], &b[..len]) == want, "{way:?} {} {len}", kernel.name);
                }
            }
        }
    }
}

/// So many that a shorter formula is tried, which ties rule out.
#[test]
fn many_codes_are_what_few_are() {
    let codes = |step: usize| (0..1 << 19).map(|i| (i / step) as u8).collect::<Vec<u8>>();
    let (a, b) = (codes(256), codes(1));
    let scalar = Kernel::all().find(|kernel| kernel.name == "scalar").unwrap();
    let mut are_short = vec![];
    for (of_a, of_b, guess) in [
        (interval(-3.0, 2.0), interval(-1.0, 5.0), interval(-4.0, 7.0)),
        (interval(-3.0, 2.0), interval(-1.0, 5.0), interval(-0.7, 0.2)),
        (interval(1.0, 1.5), interval(-7.0, 5.0), interval(-4.0, 3.0)),
        (interval(0.0, 255.0), interval(0.0, 510.0), interval(0.0, 510.0)),
    ] {
        let add = AddTo8::new(Way8::Exact, of_a, of_b, Some(guess), BOTH).unwrap();
        let pieces = a.chunks(4096).zip(b.chunks(4096));
        let want: Vec<u8> = pieces.flat_map(|(a, b)| run(&add, scalar, 1, a, b).0).collect();
        for kernel in Kernel::available() {
            assert!(run(&add, kernel, 1, &a, &b).0 == want, "{guess:?} {}", kernel.name);
            let exact = Exact::new(&add, guess.nudged(255.0, BOTH)).unwrap();
            are_short.push(linear::gives(kernel.vectors, &exact.weighted().unwrap(), &Write(&exact)));
        }
    }
    assert!(are_short[0] && are_short.contains(&false));
}

/// Quotients of quotients are those of products, so that nnlib's formula always has a shorter one.
#[test]
fn many_codes_of_nnlibs_are_what_few_are() {
    let codes = |step: usize| (0..1 << 19).map(|i| (i / step) as u8).collect::<Vec<u8>>();
    let (a, b) = (codes(256), codes(1));
    let scalar = Kernel::all().find(|kernel| kernel.name == "scalar").unwrap();
    for width in [0.2f32, 0.4, 1.1, 2.9, 11.0, 300.0] {
        let guess = interval(-0.4 * width, 0.6 * width);
        let add = AddTo8::new(Way8::NnlibFlat, interval(-3.0, 2.0), interval(-1.0, 5.0), Some(guess), NONE).unwrap();
        let pieces = a.chunks(4096).zip(b.chunks(4096));
        let fixed = AddTo8 { fixed: BOTH, ..add };
        let want: Vec<u8> = pieces.flat_map(|(a, b)| run(&fixed, scalar, 1, a, b).0).collect();
        for kernel in Kernel::available() {
            assert!(run(&fixed, kernel, 1, &a, &b).0 == want, "{width} {}", kernel.name);
            let flat = Flat::new(&fixed, Flat::first(&fixed).unwrap().unwrap()).unwrap();
            assert!(linear::gives(kernel.vectors, &flat.weighted().unwrap(), &Write(&flat)), "{width} {}", kernel.name);
        }
    }
}

/// So many that keys are looked at: random pairs, none at the ends, and steps whose sums are often the same.
#[test]
fn extremes_of_many_are_those_of_the_sums() {
    let mut state = 1u32;
    let mut random = |most: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) % most) as u8
    };
    let len = 1 << 16;
    for (most, of_a, of_b) in [
        (256, interval(-3.0, 2.0), interval(-1.0, 5.0)),
        (200, interval(-3.0, 2.0), interval(-1.0, 5.00001)),
        (100, interval(-3.0, 2.0), interval(-2.0, 3.0)),
        (7, interval(-0.1, 1.0), interval(-0.2, 2.0)),
        (9, interval(-1.0, 1.0), interval(-1e-5, 1e-5)),
        (9, interval(-1.0, 1.0), interval(-1e-9, 1e-9)),
        (9, Interval::ZERO, Interval::ZERO),
    ] {
        let (a, b): (Vec<u8>, Vec<u8>) = (0..len).map(|_| (40 + random(most) / 2, random(most))).unzip();
        let add = AddTo8::new(Way8::Exact, of_a, of_b, None, NONE).unwrap();
        let adder = Exact::new(&add, Interval::ZERO).unwrap();
        let sums = a.iter().zip(&b).map(|(&a, &b)| adder.sum(a, b));
        let want = [sums.clone().fold(f64::INFINITY, f64::min), sums.fold(0.0, f64::max)];
        // SAFETY: both have as many elements.
        let (a, b) = unsafe { (Elements::from_raw(a.as_ptr(), len), Elements::from_raw(b.as_ptr(), len)) };
        for kernel in Kernel::available() {
            let found = Look { adder: &adder, a, b }.extremes(&Context::new(kernel, 2));
            assert_eq!(found, Some(want), "{most} {of_a:?} {of_b:?} {}", kernel.name);
        }
    }
}

#[test]
fn keys_tell_a_single_sum() {
    let steps = [0.7, 0.3];
    let keys = Keys::of(steps).unwrap();
    // The greater step has the greatest weight.
    let key = |a: u8, b: u8| (i32::from(a) << 22) + i32::from(b) * ((1 << 22) as f64 * 3.0 / 7.0).round() as i32;
    let sum = |a: u8, b: u8| f64::from(a) * steps[0] + f64::from(b) * steps[1];
    assert_eq!(keys.sums([key(0, 1), key(255, 254)], sum), Some([sum(0, 1), sum(255, 254)]));
    // 3 · 0.7 is 7 · 0.3.
    assert_eq!(keys.sums([key(3, 0), key(255, 255)], |a, b| [a, b]), None);
    assert_eq!(keys.sums([key(0, 1), key(0, 7)], |a, b| [a, b]), None);
    assert!(Keys::of([1.0, 1e-9]).is_none() && Keys::of([0.0; 2]).is_none());
}

#[test]
fn what_cannot_be_added_is_refused() {
    let one = interval(-1.0, 1.0);
    for way in [Way8::Exact, Way8::NnlibFlat, Way8::NnlibSpec] {
        let is_refused = |a, b, guess, fixed| AddTo8::new(way, a, b, guess, fixed).is_err();
        for bad in [interval(1.0, 1.0), interval(f32::NAN, 1.0), interval(2.0, 1.0), interval(-3e38, 3e38)] {
            assert!(is_refused(bad, one, None, NONE) && is_refused(one, bad, None, NONE));
            assert!(is_refused(one, one, Some(bad), NONE));
        }
        for guess in [Interval::ZERO, interval(0.5, 1.0), interval(-1.0, -0.5)] {
            assert!(is_refused(one, one, Some(guess), NONE));
        }
        assert!(is_refused(one, one, None, BOTH));
        assert!(is_refused(interval(0.0, 3e38), interval(0.0, 3e38), None, NONE));
        assert_eq!(is_refused(interval(1.0, 2.0), one, None, NONE), way != Way8::Exact);
    }
}

#[test]
fn what_floats_do_not_hold_is_refused_by_nnlibs_former_way() {
    let passes = |a, b, guess| {
        let add = AddTo8::new(Way8::NnlibSpec, a, b, guess, NONE).unwrap();
        try_run(&add, Kernel::chosen().unwrap(), 1, &[200], &[100]).map(|(_, _, passes)| passes).ok()
    };
    let one = interval(-1.0, 1.0);
    assert_eq!(passes(one, one, Some(interval(-1e33, 0.0))), Some(2));
    assert_eq!(passes(one, one, Some(interval(-1e35, 0.0))), None);
    let small = interval(-1e-36, 1e-36);
    assert_eq!(passes(small, small, Some(one)), None);
    let large = interval(-2e36, 1.0);
    assert_eq!(passes(large, large, None), None);
    assert_eq!(passes(Interval::ZERO, Interval::ZERO, None), None);
}
