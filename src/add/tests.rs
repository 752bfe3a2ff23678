use super::*;
use crate::elements::{Elements, ElementsMut};
use crate::kernel::Kernel;
use crate::reference::{nearest_away, nearest_up};

fn sum(way: Way, element: Element, scales: [f32; 3], zero_points: [i32; 3]) -> Sum {
    let (least, greatest) = match element {
        Element::U8 => (0, 255),
        Element::I8 => (-128, 127),
        _ => (-32768, 32767),
    };
    let tensors = [0, 1, 2].map(|i| Scaled { scale: scales[i], zero_point: zero_points[i] });
    Sum { way, element, tensors, subtract: false, least, greatest }
}

const WAYS: [Way; 5] = [Way::Tflite, Way::TfliteSingle, Way::Xnnpack, Way::Qnnpack, Way::F32];

#[test]
fn by_hand() {
    let add = sum(Way::Tflite, Element::U8, [1.0, 0.5, 2.0], [1, 2, 3]).prepared().unwrap();
    // 1/2, 1/4, and 2 / 2²⁰ / 2.
    assert_eq!((add.multipliers, add.shifts), ([1 << 30; 3], [0, 1, 19]));
    let add = sum(Way::Xnnpack, Element::U8, [1.0, 0.5, 2.0], [1, 2, 3]).prepared().unwrap();
    assert_eq!((add.multipliers, add.shifts), ([1 << 20, 1 << 19, -(1 << 21)], [0, 0, 21]));
    let qnnpack = Sum { subtract: true, ..sum(Way::Qnnpack, Element::I8, [1.0, 0.5, 2.0], [-1, 2, 3]) };
    let add = qnnpack.prepared().unwrap();
    assert_eq!((add.multipliers, add.shifts), ([1 << 21, -(1 << 20), 1 << 22], [0, 0, 22]));
    let add = sum(Way::F32, Element::I16, [1.0, 0.5, 2.0], [1, 2, 3]).prepared().unwrap();
    assert_eq!(add.multipliers.map(|bits| f32::from_bits(bits as u32)), [0.5, 0.25, 0.0]);
}

#[test]
fn each_way_has_its_range() {
    let is_accepted = |way, element, scales| sum(way, element, scales, [0; 3]).prepared().is_ok();
    let below = |x: f32| x.next_down();
    for way in WAYS {
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY, below(f32::MIN_POSITIVE)] {
            for scales in [[bad, 1.0, 1.0], [1.0, bad, 1.0], [1.0, 1.0, bad]] {
                assert!(!is_accepted(way, Element::U8, scales), "{way:?} {scales:?}");
            }
        }
    }
    for way in [Way::Tflite, Way::TfliteSingle] {
        for (element, least) in [(Element::U8, 2f32.powi(-19)), (Element::I16, 2f32.powi(-14))] {
            assert!(
                !is_accepted(way, element, [1.0, 0.3, least]) && !is_accepted(way, element, [0.3, 1.0, below(least)])
            );
            assert!(is_accepted(way, element, [1.0, 0.3, least.next_up()]));
        }
    }
    for (way, least) in [(Way::Xnnpack, 2f32.powi(-10)), (Way::Qnnpack, 2f32.powi(-14))] {
        assert!(
            is_accepted(way, Element::U8, [1.0, least, 1.0])
                && !is_accepted(way, Element::U8, [1.0, below(least), 1.0])
        );
        assert!(is_accepted(way, Element::U8, [below(256.0), 1.0, 1.0]));
        assert!(!is_accepted(way, Element::U8, [256.0, 1.0, 1.0]) && !is_accepted(way, Element::U8, [1.0, 256.0, 1.0]));
    }
    let least = 2f32.powi(-10);
    assert!(is_accepted(Way::Qnnpack, Element::U8, [least, below(least), 1.0]));
    assert!(!is_accepted(Way::Qnnpack, Element::U8, [below(least), below(least), 1.0]));
    let most = 2f32.powi(64);
    assert!(
        is_accepted(Way::F32, Element::U8, [below(most), 1.0, 1.0])
            && !is_accepted(Way::F32, Element::U8, [1.0, most, 1.0])
    );
}

/// TFLite's definition, in integers that do not overflow.
fn tflite(add: &Add, left: i32, a: i32, b: i32) -> i32 {
    let times = |x: i128, i: usize| {
        let product = x * i128::from(add.multipliers[i]);
        match add.way {
            Way::Tflite => nearest_away(nearest_up(product, 31), add.shifts[i] as u32),
            _ => nearest_up(product, 31 + add.shifts[i] as u32),
        }
    };
    let term = |code: i32, i| times(i128::from(code - add.zero_points[i]) << left, i);
    let code = times(term(a, 0) + term(b, 1), 2) + i128::from(add.zero_points[2]);
    code.clamp(add.least.into(), add.greatest.into()) as i32
}

fn run<T: Code>(add: &Add, kernel: &'static Kernel, a: &[T], b: &[T]) -> Vec<T> {
    let mut to = a.to_vec();
    // SAFETY: all have as many elements.
    let tensors = unsafe {
        Tensors {
            a: Elements::from_raw(a.as_ptr(), a.len()),
            b: Elements::from_raw(b.as_ptr(), b.len()),
            to: ElementsMut::from_raw(to.as_mut_ptr(), to.len()),
        }
    };
    add.run(&Context::new(kernel, 1), &Grid::flat(a.len()), &tensors);
    to
}

#[test]
fn every_kernel_agrees_with_tflites_definition_where_numbers_are_greatest() {
    let (ends, words) = ([-128i8, -127, -1, 0, 1, 127], [-32768i16, -32767, -1, 0, 1, 32767]);
    for way in [Way::Tflite, Way::TfliteSingle] {
        // Results that are far from their ends, and right at them; shifts from 0 to 31.
        for (b_scale, c_scale) in [(1.0, 1.0), (1.0, 0.5), (0.999, 0.001), (3e-9, 1e-3), (1e-30, 70.0), (0.7, 2e9)] {
            for subtract in [false, true] {
                let bytes = Sum { subtract, ..sum(way, Element::I8, [1.0, b_scale, c_scale], [-128, 127, -3]) };
                let (bytes, words_sum) = (
                    bytes.prepared().unwrap(),
                    Sum { subtract, ..sum(way, Element::I16, [1.0, b_scale, c_scale], [0; 3]) }.prepared().unwrap(),
                );
                for kernel in Kernel::available() {
                    for (i, j) in (0..6).flat_map(|i| (0..6).map(move |j| (i, j))) {
                        let found = run(&bytes, kernel, &[ends[i]; 65], &[ends[j]; 65]);
                        let want = tflite(&bytes, 20, ends[i].into(), ends[j].into());
                        assert!(found.iter().all(|&x| i32::from(x) == want), "{bytes:?} {} {}", ends[i], ends[j]);
                        let found = run(&words_sum, kernel, &[words[i]; 65], &[words[j]; 65]);
                        let want = tflite(&words_sum, 15, words[i].into(), words[j].into());
                        assert!(found.iter().all(|&x| i32::from(x) == want), "{words_sum:?} {} {}", words[i], words[j]);
                    }
                }
            }
        }
    }
}

/// XNNPACK's.
fn xnnpack(add: &Add, a: i32, b: i32) -> i32 {
    let [a_multiplier, b_multiplier, bias] = add.multipliers.map(i128::from);
    let sum = i128::from(a) * a_multiplier + i128::from(b) * b_multiplier + bias;
    let code = ((sum + (1 << (add.shifts[2] - 1))) >> add.shifts[2]) + i128::from(add.zero_points[2]);
    code.clamp(add.least.into(), add.greatest.into()) as i32
}

/// QNNPACK's.
fn qnnpack(add: &Add, a: i32, b: i32) -> i32 {
    let [a_multiplier, b_multiplier, bias] = add.multipliers.map(i128::from);
    let sum = i128::from(a) * a_multiplier + i128::from(b) * b_multiplier + bias;
    let code = nearest_away(sum, add.shifts[2] as u32) + i128::from(add.zero_points[2]);
    code.clamp(add.least.into(), add.greatest.into()) as i32
}

/// In f32.
fn in_f32(add: &Add, a: i32, b: i32) -> i32 {
    let term = |code: i32, i: usize| (code - add.zero_points[i]) as f32 * f32::from_bits(add.multipliers[i] as u32);
    let code = (term(a, 0) + term(b, 1)).round_ties_even() as i64 + i64::from(add.zero_points[2]);
    code.clamp(add.least.into(), add.greatest.into()) as i32
}

fn defined(add: &Add, a: i32, b: i32) -> i32 {
    match add.way {
        Way::Xnnpack => xnnpack(add, a, b),
        Way::Qnnpack => qnnpack(add, a, b),
        Way::F32 => in_f32(add, a, b),
        _ => tflite(add, 20, a, b),
    }
}

/// Where a shorter formula is known, and where ties are so many that none is.
#[test]
fn every_kernel_agrees_on_all_pairs_of_bytes() {
    let scales =
        [[0.37, 0.11, 0.43], [0.02, 0.9, 0.5], [1.0, 1.0, 2.0], [0.25, 1.0, 0.5], [0.05, 0.1, 0.06], [1.0, 0.3, 9e-6]];
    let mut forms = vec![];
    for ((way, scales), subtract) in [Way::Tflite, Way::TfliteSingle, Way::Xnnpack, Way::Qnnpack, Way::F32]
        .iter()
        .flat_map(|way| scales.map(|scales| (*way, scales)))
        .zip([false, true, true].into_iter().cycle())
        // Which have no such ratios.
        .filter(|((way, scales), _)| !matches!(way, Way::Xnnpack | Way::Qnnpack) || scales[2] > 1e-3)
    {
        for kernel in Kernel::available() {
            let signed = Sum { subtract, ..sum(way, Element::I8, scales, [-3, 17, 5]) }.prepared().unwrap();
            let unsigned =
                Sum { subtract, least: 9, ..sum(way, Element::U8, scales, [125, 145, 133]) }.prepared().unwrap();
            let (signed, unsigned) = (signed.shortened(kernel.vectors), unsigned.shortened(kernel.vectors));
            forms.push((way, signed.form));
            for a in 0..=255 {
                let (a, b): ([u8; 256], [u8; 256]) = ([a; 256], std::array::from_fn(|b| b as u8));
                let found = run(&unsigned, kernel, &a, &b);
                let want = b.map(|b| defined(&unsigned, a[0].into(), b.into()) as u8);
                assert_eq!(found, want, "{} {unsigned:?} {}", kernel.name, a[0]);
                let found = run(&signed, kernel, &a.map(|x| x as i8), &b.map(|x| x as i8));
                let want = b.map(|b| defined(&signed, (a[0] as i8).into(), (b as i8).into()) as i8);
                assert_eq!(found, want, "{} {signed:?} {}", kernel.name, a[0]);
            }
        }
    }
    let has = |way, some: &[u32]| forms.iter().any(|(of, form)| *of == way && some.contains(form));
    assert!(has(Way::Tflite, &[4]) && has(Way::Tflite, &[1, 2, 3]) && has(Way::Tflite, &[0]), "{forms:?}");
    assert!(has(Way::TfliteSingle, &[4]) && has(Way::TfliteSingle, &[0]), "{forms:?}");
    // Without such instructions these have none.
    if Kernel::available().any(|kernel| kernel.vectors.have_products()) {
        assert!(has(Way::Xnnpack, &[4]), "{forms:?}");
        assert!(has(Way::Qnnpack, &[4]) && has(Way::Qnnpack, &[3]), "{forms:?}");
        assert!(has(Way::F32, &[4]) && has(Way::F32, &[0]), "{forms:?}");
    }
}

/// Single elements, too few for vectors, and too many.
#[test]
fn a_shorter_formula_does_for_any_number_of_elements() {
    for kernel in Kernel::available() {
        let add = sum(Way::Tflite, Element::I8, [0.37, 0.11, 0.43], [-3, 17, 5]).prepared().unwrap();
        let add = add.shortened(kernel.vectors);
        assert_eq!(add.form, 4);
        let codes: Vec<i8> = (0..300).map(|i: i32| i.wrapping_mul(91) as i8).collect();
        for len in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 145] {
            let (a, b) = (&codes[..len], &codes[150..][..len]);
            let want: Vec<i8> = a.iter().zip(b).map(|(&a, &b)| tflite(&add, 20, a.into(), b.into()) as i8).collect();
            assert_eq!(run(&add, kernel, a, b), want, "{} {len}", kernel.name);
        }
    }
}
