//! Read-back: what a store acknowledged must be there, whole.

use std::sync::atomic::{AtomicBool, Ordering};

use larder_store::{Result, Session};

use super::draw::KeyState;
use crate::patience::patiently;
use crate::workload::{Finding, KeySpace, Values};

/// At most so many keys are read back, spread evenly over all.
const MOST_KEYS: u32 = 20_000;
/// And at most so many bytes of values.
const MOST_BYTES: u64 = 256 << 20;

/// What a read-back found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// Keys read whose set had been acknowledged.
    pub keys: u64,
    /// Of them: not there.
    pub absent: u64,
    /// Of them: not what was stored.
    pub wrong: u64,
    /// Of those: with the right beginning, cut short.
    pub truncated: u64,
    /// Of `wrong`: whole, and older than what was acknowledged.
    pub stale: u64,
}

/// Reads back acknowledged keys, every one or an even sample; as many as there is time for until `stop`.
pub(crate) fn read_back(
    keys: &KeySpace,
    values: &Values,
    state: &KeyState,
    session: &mut dyn Session,
    stop: &AtomicBool,
) -> Result<ReadBack> {
    let mut found = ReadBack::default();
    let (mut key, mut value) = (Vec::new(), Vec::new());
    for (index, version) in samples(keys, values, state) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        key.clear();
        keys.write(index, &mut key);
        found.keys += 1;
        if patiently(|| session.get(&key, &mut value))?.is_some() {
            let finding = values.verify(index, version, || state.newest(index), &value);
            found.wrong += u64::from(finding != Finding::Right);
            found.truncated += u64::from(finding == Finding::Truncated);
            found.stale += u64::from(finding == Finding::Stale);
        } else {
            found.absent += 1;
        }
    }
    Ok(found)
}

/// The acknowledged keys that are read back, each with its version.
pub(crate) fn samples(
    keys: &KeySpace,
    values: &Values,
    state: &KeyState,
) -> impl Iterator<Item = (u32, u32)> {
    let sampled = (0..keys.count()).step_by(step(keys, values));
    sampled.filter_map(|index| Some((index, state.acked(index)?)))
}

/// Every how many keys one is read back, so that keys and bytes stay within their bounds.
fn step(keys: &KeySpace, values: &Values) -> usize {
    let sample = keys.count().min(1000);
    let bytes: u64 = (0..sample).map(|index| values.len_of(index) as u64).sum();
    let all_bytes = bytes / u64::from(sample.max(1)) * u64::from(keys.count());
    let steps = u64::from(keys.count().div_ceil(MOST_KEYS)).max(all_bytes.div_ceil(MOST_BYTES));
    usize::try_from(steps.max(1)).unwrap_or(usize::MAX)
}
