//! Times that criterion measures, of which the fastest is wanted.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId};
use std::time::Instant;

/// The seconds of a call in the fastest sample; None if this bench was not asked for.
pub fn fastest(group: &mut BenchmarkGroup<WallTime>, id: BenchmarkId, mut call: impl FnMut()) -> Option<f64> {
    let mut fastest: Option<f64> = None;
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|calls| {
            let begin = Instant::now();
            (0..calls).for_each(|_| call());
            let time = begin.elapsed();
            let seconds = time.as_secs_f64() / calls as f64;
            fastest = Some(fastest.map_or(seconds, |fastest| fastest.min(seconds)));
            time
        });
    });
    fastest
}
