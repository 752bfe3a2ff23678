use super::*;
use crate::kernel::Kernel;
use proptest::prelude::*;

/// Tells apart which is which.
struct Difference;

impl Zip for Difference {
    type A = u8;
    type B = i16;
    type To = i32;

    #[inline(always)]
    fn of(&self, a: u8, b: i16) -> i32 {
        1000 * i32::from(a) - i32::from(b)
    }
}

fn dimension(size: usize, a: usize, b: usize, to: usize) -> Dimension {
    Dimension { size, steps: [a, b, to] }
}

/// Every place, by its definition: the sum of all steps taken.
fn places(dimensions: &[Dimension]) -> Vec<[usize; 3]> {
    let mut places = vec![[0; 3]];
    for Dimension { size, steps } in dimensions {
        let next = |at: &[usize; 3]| {
            let at = *at;
            (0..*size).map(move |i| [0, 1, 2].map(|tensor| at[tensor] + i * steps[tensor]))
        };
        places = places.iter().flat_map(next).collect();
    }
    places
}

/// Joins numbers that look random, with each kernel, and compares.
fn check(dimensions: &[Dimension], threads: usize) {
    let grid = Grid::new(dimensions).unwrap();
    let places = places(dimensions);
    assert_eq!(grid.len(), Some(places.len()));
    for tensor in 0..3 {
        let extent = places.iter().map(|at| at[tensor] + 1).max().unwrap_or(0);
        assert_eq!(grid.extent(tensor), Some(extent), "{dimensions:?}");
    }
    let [a_len, b_len, to_len] = [0, 1, 2].map(|tensor| grid.extent(tensor).unwrap());
    let a: Vec<u8> = (0..a_len).map(|i| (i * i % 251) as u8).collect();
    let b: Vec<i16> = (0..b_len).map(|i| (i * 7919 % 997) as i16 - 500).collect();
    let mut want = vec![i32::MIN; to_len + 1];
    for [at_a, at_b, at] in places {
        want[at] = Difference.of(a[at_a], b[at_b]);
    }
    for kernel in Kernel::available() {
        let mut got = vec![i32::MIN; to_len + 1];
        // SAFETY: each has as many elements as the grid says.
        let tensors = unsafe {
            Tensors {
                a: Elements::from_raw(a.as_ptr(), a_len),
                b: Elements::from_raw(b.as_ptr(), b_len),
                to: ElementsMut::from_raw(got.as_mut_ptr(), to_len),
            }
        };
        zip(&Context::new(kernel, threads), &Difference, &grid, &tensors);
        assert!(got == want, "{} {threads} {dimensions:?}", kernel.name);
    }
}

#[test]
fn every_kernel_agrees_with_the_definition_in_any_shape() {
    check(&[], 1);
    for size in [0, 1, 15, 16, 17, 63, 64, 65, 200] {
        check(&[dimension(size, 1, 1, 1)], 1);
        check(&[dimension(3, 0, size, size), dimension(size, 1, 1, 1)], 1);
        check(&[dimension(size, 0, 1, 1)], 1);
        check(&[dimension(2, 1, 2, size), dimension(size, 2, 0, 1)], 1);
        check(&[dimension(size, 3, 2, 4), dimension(3, 1, 0, 1)], 1);
    }
    // Column-major, and backward.
    check(&[dimension(70, 1, 1, 1), dimension(9, 70, 0, 70)], 1);
    check(&[dimension(3, 1, 0, 1), dimension(4, 3, 0, 3), dimension(5, 0, 1, 12), dimension(2, 12, 0, 60)], 1);
    // Pieces of threads that begin anywhere.
    check(&[dimension(613, 401, 0, 401), dimension(401, 1, 1, 1)], 3);
    check(&[dimension(300_001, 1, 0, 1)], 2);
}

#[test]
fn dimensions_are_joined_where_all_tensors_pass_through() {
    let joined = |dimensions: &[Dimension]| Grid::new(dimensions).unwrap().dimensions().to_vec();
    assert_eq!(joined(&[dimension(3, 20, 20, 20), dimension(20, 1, 1, 1)]), [dimension(60, 1, 1, 1)]);
    let rows = [dimension(3, 20, 0, 20), dimension(20, 1, 1, 1)];
    assert_eq!(joined(&rows), rows);
    assert_eq!(Grid::new(&rows), Ok(Grid::rows(3, 20)));
    assert_eq!(joined(&[dimension(1, 9, 9, 9), dimension(5, 2, 2, 2)]), [dimension(5, 2, 2, 2)]);
}

#[test]
fn results_in_the_same_place_are_refused() {
    let is_refused = |dimensions: &[Dimension]| matches!(Grid::new(dimensions), Err(Error::Stride { .. }));
    assert!(is_refused(&[dimension(2, 1, 1, 0)]));
    assert!(is_refused(&[dimension(3, 4, 4, 3), dimension(4, 1, 1, 1)]));
    assert!(is_refused(&[dimension(3, 4, 4, 1), dimension(4, 1, 1, 1)]));
    assert!(!is_refused(&[dimension(1, 4, 4, 0), dimension(4, 1, 1, 1)]));
    assert!(!is_refused(&[dimension(3, 0, 0, 4), dimension(4, 0, 0, 1)]));
    let huge = Grid::new(&[dimension(usize::MAX / 2, 0, 0, 3)]);
    assert_eq!(huge, Err(Error::TooLarge { argument: "c" }));
    assert_eq!(Grid::rows(usize::MAX, 2).len(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn every_kernel_agrees_with_the_definition_in_random_shapes(
        sizes in prop::collection::vec(1usize..12, 0..5),
        broadcast in prop::collection::vec(0usize..4, 5),
        gap in 0usize..3,
    ) {
        let (mut dimensions, mut steps) = (Vec::new(), [1, 1, 1 + gap]);
        for (i, &size) in sizes.iter().enumerate() {
            let a = if broadcast[i] == 1 { 0 } else { steps[0] };
            let b = if broadcast[i] == 2 { 0 } else { steps[1] };
            dimensions.push(dimension(size, a, b, steps[2]));
            steps = steps.map(|step| step * size);
        }
        check(&dimensions, 1);
    }
}
