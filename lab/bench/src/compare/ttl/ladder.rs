//! Keys with ever longer TTLs: whenever the keys are asked for, one rung has more than half of its time behind it, but
//! not all.

use std::time::Duration;

/// Keys of each rung.
pub(super) const KEYS_OF_RUNG: usize = 4;
/// Each rung is a quarter longer than the one below, or a step of the clock.
const QUARTER: u32 = 4;
/// The longest rung: no trial is expected to ask later.
const LONGEST: Duration = Duration::from_secs(30);

/// Keys that were set with one TTL.
pub(super) struct Rung {
    pub(super) ttl: Duration,
    pub(super) keys: Vec<Vec<u8>>,
}

/// The TTLs of the ladder: from twice the short one up, each a whole number of steps of the clock.
pub(super) fn rungs(short: Duration, step: Duration) -> Vec<Duration> {
    let step = step.max(Duration::from_millis(1));
    let mut rungs = Vec::new();
    let mut ttl = short * 2;
    while ttl <= LONGEST {
        rungs.push(ttl);
        let longer = ttl + (ttl / QUARTER).max(step);
        let steps = longer.as_nanos() / step.as_nanos();
        ttl = step * u32::try_from(steps).unwrap_or(u32::MAX);
    }
    rungs
}
