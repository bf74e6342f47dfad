//! The time of an operation over a wire with a delay.

use std::time::{Duration, Instant};

use crate::{PATIENCE, within};

/// Runs `delayed` five times, and each run must take at least `least`. A busy machine makes a run longer and never
/// shorter, so there is no upper bound. `direct` is the same operation without the delay, which must be faster: where
/// it is not, the time of `delayed` proves nothing.
pub fn takes_at_least(
    least: Duration,
    what: &str,
    mut direct: impl FnMut(),
    mut delayed: impl FnMut(),
) {
    let is_told_apart = within(PATIENCE, || time(&mut direct) < least);
    assert!(is_told_apart, "{what}: it takes {least:?} without a delay, too");
    for _ in 0..5 {
        let took = time(&mut delayed);
        assert!(took >= least, "{what}: {took:?}, and the least is {least:?}");
    }
}

fn time(act: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}
