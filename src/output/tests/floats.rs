//! Products that end with floats, on every kernel.

use super::*;

/// A stage that may be missing.
fn maybe<T: std::fmt::Debug>(stage: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(stage)
}

proptest! {
    #[test]
    #[expect(clippy::redundant_closure, reason = "a variant's own name is not general enough over lifetimes")]
    fn floats_are_what_the_stages_say(
        (scale, factor, bias) in (parameter(scale()), maybe(parameter(scale())), maybe(parameter(-1e3f32..1e3))),
        clamp in maybe((-1e3f32..1e3, -1e3f32..1e3)),
        (first_row, rows, first_col, cols) in (0usize..5, 1usize..=MAX_ROWS, 0usize..7, 1usize..=MAX_WIDTH),
        sums in vec(number(), MAX_ROWS * MAX_WIDTH),
        offsets in offsets(),
    ) {
        let mut stages = vec![Stage::Dequantize(scale.values())];
        stages.extend(factor.as_ref().map(|factor| Stage::MultiplyF32(factor.values())));
        stages.extend(bias.as_ref().map(|bias| Stage::BiasF32(bias.values())));
        stages.extend(clamp.map(|(min, max)| Stage::ClampF32 { min, max }));
        let of = |x: i32, row: usize, col: usize| {
            let mut x = x as f32 * scale.at(row, col);
            if let Some(factor) = &factor {
                x *= factor.at(row, col);
            }
            if let Some(bias) = &bias {
                x += bias.at(row, col);
            }
            match clamp {
                Some((min, _)) if x < min && min <= clamp.unwrap().1 => min,
                Some((min, max)) if x > max || min > max && !x.is_nan() => max,
                _ => x,
            }
        };
        for kernel in Kernel::available().chain(ODD_KERNELS) {
            let tile = (
                first_row..first_row + rows.min(kernel.rows),
                first_col..first_col + cols.min(kernel.width),
            );
            let want = |canary: f32| {
                let at = |i| sum_at(&tile, (&sums, offsets), i / COLS, i % COLS).map(|sum| of(sum, i / COLS, i % COLS));
                (0..ROWS * COLS).map(move |i| at(i).unwrap_or(canary)).collect::<Vec<_>>()
            };
            let same = |got: f32, want: f32| got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            let got = finished(kernel, &stages, tile.clone(), (&sums, offsets), 77f32, |out| Store::F32(out));
            let wrong = got.iter().zip(want(77.0)).position(|(got, want)| !same(*got, want));
            prop_assert!(wrong.is_none(), "{}, f32: place {wrong:?}", kernel.name);
            let got = finished(kernel, &stages, tile.clone(), (&sums, offsets), to_bf16(77.0), |out| Store::Bf16(out));
            let wrong = got.iter().zip(want(77.0)).position(|(got, want)| *got != to_bf16(want));
            prop_assert!(wrong.is_none(), "{}, bf16: place {wrong:?}", kernel.name);
            let got = finished(kernel, &stages, tile.clone(), (&sums, offsets), to_f16(77.0), |out| Store::F16(out));
            let wrong = got.iter().zip(want(77.0)).position(|(got, want)| *got != to_f16(want));
            prop_assert!(wrong.is_none(), "{}, f16: place {wrong:?}", kernel.name);
        }
    }
}
