//! Times that criterion measures in turns with those of something else, to which they are compared.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId};
use std::time::{Duration, Instant};

/// Medians of what was measured.
pub struct Beside {
    /// What a call takes.
    pub seconds: f64,
    /// How many times as long the other takes, sample by sample.
    pub ratio: f64,
}

/// Runs the two in turns, sample by sample: A B A B. None if this bench was not asked for.
pub fn beside(
    group: &mut BenchmarkGroup<WallTime>,
    id: BenchmarkId,
    mut call: impl FnMut(),
    mut other: impl FnMut(),
) -> Option<Beside> {
    let (mut seconds, mut ratios) = (Vec::new(), Vec::new());
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|calls| {
            let others = time(calls, &mut other);
            let ours = time(calls, &mut call);
            seconds.push(ours.as_secs_f64() / calls as f64);
            ratios.push(others.as_secs_f64() / ours.as_secs_f64());
            ours
        });
    });
    Some(Beside { seconds: median(&mut seconds)?, ratio: median(&mut ratios)? })
}

fn time(calls: u64, call: &mut impl FnMut()) -> Duration {
    let begin = Instant::now();
    (0..calls).for_each(|_| call());
    begin.elapsed()
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
