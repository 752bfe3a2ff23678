//! Rows of sums of several panels, which become bytes in one go, against the stages' definitions.

use super::*;

/// Sums beyond those of the columns, in each row.
const BEYOND: usize = MAX_WIDTH + 3;

/// Makes bytes of rows of sums, somewhere in a result that is otherwise full of `canary`, if the kernel has a way for it; by panels that
/// are kept, if they are all columns and the kernel keeps such.
fn made<T: Copy>(
    kernel: &Kernel,
    stages: &[Stage],
    (rows, cols): (Range<usize>, Range<usize>),
    (sums, offsets): (&[i32], (i32, i32)),
    canary: T,
    store: for<'a> fn(Output<'a, T>) -> Store<'a>,
) -> Option<Vec<T>> {
    let mut result = vec![canary; ROWS * COLS];
    let pitch = cols.len() + BEYOND;
    let mut acc = vec![i32::MAX; rows.len() * pitch];
    for (acc, sums) in acc.chunks_mut(pitch).zip(sums.chunks(cols.len())) {
        acc[..cols.len()].copy_from_slice(sums);
    }
    let line_sums: Vec<i32> = (0..ROWS.max(COLS)).map(line_sum).collect();
    let uniform = |offset| LineOffsets { offset: Offset::Uniform(offset), shift: 0 };
    let store = store(Output::new(&mut result, (ROWS, COLS), COLS));
    let quick = Quick::new(stages, &store);
    let kept = match cols.len() {
        COLS => KeptPanels::new(kernel, quick.as_ref(), &store, offsets, &line_sums),
        _ => None,
    };
    let region = Region {
        depth: DEPTH,
        row_sums: &line_sums,
        col_sums: &line_sums,
        row_offsets: uniform(offsets.0),
        col_offsets: uniform(offsets.1),
        ..Region::complete(rows, cols)
    };
    let finish = Finish::by(stages, store, quick, kept.as_ref());
    // SAFETY: the kernel is available, and the result ours.
    unsafe { finish.bytes(kernel, offsets)?.make(&region, &acc, pitch, &mut [7; ROWS]) }
    Some(result)
}

/// Checks both kinds of bytes on every kernel.
fn check(
    cases: &[Case],
    place: (Range<usize>, Range<usize>),
    (sums, offsets): (&[i32], (i32, i32)),
) -> Result<(), TestCaseError> {
    let mut stages = Vec::new();
    cases.iter().for_each(|case| case.push(&mut stages));
    let of = |i: usize| {
        let (row, col) = (i / COLS, i % COLS);
        let sum = sum_at(&place, (sums, offsets), row, col);
        sum.map(|sum| cases.iter().fold(sum, |x, case| case.of(x, row, col)))
    };
    let places: Vec<_> = (0..ROWS * COLS).map(of).collect();
    for kernel in Kernel::available().chain(odd()) {
        macro_rules! check {
            ($canary:expr, $store:expr, $of:expr) => {
                if let Some(got) = made(kernel, &stages, place.clone(), (sums, offsets), $canary, $store) {
                    let want: Vec<_> = places.iter().map(|x| x.map_or($canary, $of)).collect();
                    let wrong = (0..got.len()).find(|&i| got[i] != want[i]);
                    let wrong = wrong.map(|i| (i / COLS, i % COLS, got[i], want[i]));
                    prop_assert!(wrong.is_none(), "{}: row, column, got, want: {wrong:?}", kernel.name);
                }
            };
        }
        check!(77u8, |out| Store::U8(out, Cast::Saturating), |x| x.clamp(0, 255) as u8);
        check!(77i8, |out| Store::I8(out, Cast::Saturating), |x| x.clamp(-128, 127) as i8);
    }
    Ok(())
}

/// Some columns, or all.
fn cols() -> impl Strategy<Value = Range<usize>> {
    prop_oneof![(0usize..7, 1usize..=COLS - 7).prop_map(|(first, count)| first..first + count), Just(0..COLS),]
}

#[test]
fn kernels_with_panels_have_a_way() {
    for kernel in Kernel::available() {
        let (mut bytes, scale) =
            ([0; COLS], Scale::new(Values::Uniform(1 << 30), Values::Uniform(-7), 0, Rounding::Twice));
        let (stages, out) = ([Stage::Scale(scale.unwrap())], Output::new(&mut bytes, (1, COLS), COLS));
        let finish = Finish::new(&stages, Store::U8(out, Cast::Saturating));
        assert_eq!(finish.bytes(kernel, (0, 0)).is_some(), kernel.panels.is_some(), "{}", kernel.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn layers_do_what_their_stages_say(
        cases in layer(),
        (first_row, rows, cols) in (0usize..5, 1usize..8, cols()),
        sums in vec(number(), 8 * COLS),
        offsets in offsets(),
    ) {
        check(&cases, (first_row..first_row + rows, cols), (&sums, offsets))?;
    }

    #[test]
    fn usual_layers_do_what_their_stages_say(
        cases in usual_layer(),
        (first_row, rows, cols) in (0usize..5, 1usize..8, cols()),
        sums in vec(-70_000i32..70_000, 8 * COLS),
        offsets in prop_oneof![Just((0, 0)), (-255i32..=255, -255i32..=255)],
    ) {
        check(&cases, (first_row..first_row + rows, cols), (&sums, offsets))?;
    }
}
