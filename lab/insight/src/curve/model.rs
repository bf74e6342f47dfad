//! The caches that are simulated, and how each goes through a sample.

use std::ops::Range;

use larder_report::CurvePolicy;

use crate::curve::{CacheSize, float};
use crate::policy::belady::Future;
use crate::policy::{Fifo, Lru, Policy, S3Fifo, Sieve, WTinyLfu};
use crate::sample::Window;
use crate::sequence::{Sequence, times};
use crate::simulate::Cache;
use crate::step::{Kept, Step};

/// The policies that forget what is older than their entries, and so soon are as if they had run for ever.
pub(crate) const FORGETFUL: [CurvePolicy; 2] = [CurvePolicy::Lru, CurvePolicy::Fifo];

/// The older windows that SIEVE goes through again before the next.
const OLDER_WINDOWS: usize = 3;

/// The outcome of one window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tally {
    /// Reads of the sample that missed, once the cache was warm.
    pub(crate) misses: u64,
    /// Reads of the whole trace meanwhile.
    pub(crate) reads: f64,
    /// The steps that do not count, because the cache was not warm.
    pub(crate) unused: usize,
}

/// Follows a cache through the windows of a sample.
///
/// A cache comes to a window with what it had at the end of the window before. Its misses count once as much was stored
/// as fits, so that little is left of that older time. In the first window the real cache was empty too.
pub(crate) fn follow(policy: CurvePolicy, sequence: &Sequence, size: CacheSize) -> Vec<Tally> {
    match policy {
        CurvePolicy::Lru => online::<Lru>(sequence, size, 0),
        CurvePolicy::Fifo => online::<Fifo>(sequence, size, 0),
        CurvePolicy::Sieve => online::<Sieve>(sequence, size, OLDER_WINDOWS),
        CurvePolicy::S3Fifo => online::<S3Fifo>(sequence, size, 0),
        CurvePolicy::WTinyLfu => online::<WTinyLfu>(sequence, size, 0),
        CurvePolicy::Optimal => optimal(sequence, size),
    }
}

/// Between windows, a policy with a long memory goes through some older ones again, which do not count. They stand for the
/// windows that were left out: SIEVE still gets better after it has replaced its entries a thousand times.
fn online<P: Policy>(sequence: &Sequence, size: CacheSize, older: usize) -> Vec<Tally> {
    let mut cache =
        Cache::<P>::new(size.capacity, size.measure, sequence.n_keys(), sequence.expires);
    let mut tallies = Vec::with_capacity(sequence.windows.len());
    let older = older.min(sequence.left_out);
    for (number, window) in sequence.windows.iter().enumerate() {
        for again in 1..=older {
            let before = (number * again).div_ceil(older + 1);
            if before < number {
                for step in sequence.steps_of(&sequence.windows[before]) {
                    cache.misses(step);
                }
            }
        }
        let steps = sequence.steps_of(window);
        let mut warming = 0;
        if number > 0 {
            cache.inserted = 0;
            while warming < steps.len() && cache.inserted < size.capacity {
                cache.misses(&steps[warming]);
                warming += 1;
            }
        }
        tallies.push(count(&mut cache, steps, window, warming));
    }
    tallies
}

/// Follows the steps of a window behind those that warmed the cache.
fn count<P: Policy>(
    cache: &mut Cache<P>,
    steps: &[Step],
    window: &Window,
    warming: usize,
) -> Tally {
    let misses = steps[warming..].iter().map(|step| cache.misses(step)).sum();
    Tally { misses, reads: reads_of(window, steps, warming..steps.len()), unused: warming }
}

/// The optimal choice in each window by itself. It needs a past and a future, so only the middle half of a window counts.
fn optimal(sequence: &Sequence, size: CacheSize) -> Vec<Tally> {
    let has_all = sequence.windows.len() == 1;
    let of_window = |(number, window): (usize, &Window)| {
        let steps = sequence.steps_of(window);
        let begin = if number == 0 { 0 } else { steps.len() / 4 };
        let end = if has_all { steps.len() } else { steps.len() - steps.len() / 4 };
        let counted = begin..end;
        let mut misses = 0;
        let told = |at: usize, hit: bool| {
            misses += if !hit && counted.contains(&at) { steps[at].times() } else { 0 };
        };
        let kept = Kept { steps, n_keys: sequence.n_keys() };
        Future::of(&kept).follow(&kept, size.capacity, size.measure, told);
        let unused = steps.len() - counted.len();
        Tally { misses, reads: reads_of(window, steps, counted), unused }
    };
    sequence.windows.iter().enumerate().map(of_window).collect()
}

/// The reads of the whole trace during some steps of a window, which are a sample of them.
fn reads_of(window: &Window, steps: &[Step], counted: Range<usize>) -> f64 {
    let reads = float(window.reads.end - window.reads.start);
    if counted == (0..steps.len()) {
        return reads;
    }
    let (counted, all) = (times(&steps[counted], |_| true), times(steps, |_| true));
    reads * (float(counted) / float(all.max(1)))
}
