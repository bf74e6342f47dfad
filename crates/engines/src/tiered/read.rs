//! The order of reads and fills: from the nearest tier on, and what a tier answers goes into those above it.

use std::mem::{replace, take};
use std::time::{Duration, Instant};

use larder_store::{Capabilities, Meta, Remaining, Result};

use super::tier::{Tier, TierSession};

/// How long after the answer from below a fill may be done: its TTL is shorter by that, so that nothing outlives itself.
/// One that takes longer is taken back.
const LATEST_FILL: Duration = Duration::from_millis(10);

/// Looks a key up. An error of a tier above the lowest is a miss of that tier; one of the lowest is the stack's.
pub(super) fn get(
    tiers: &mut [TierSession],
    capabilities: &Capabilities,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<Option<Meta>> {
    for level in 0..tiers.len() {
        let (above, from_here) = tiers.split_at_mut(level);
        let [asked, below @ ..] = from_here else { break };
        let found = if asked.tier.is_believed() { asked.session.get(key, value) } else { Ok(None) };
        match found {
            Ok(Some(meta)) => {
                asked.counters.hits.add(1);
                fill(above, &asked.tier, key, value, meta);
                return Ok(Some(told(meta, capabilities)));
            }
            Err(error) if below.is_empty() => return Err(error),
            Ok(None) | Err(_) => asked.counters.misses.add(1),
        }
    }
    value.clear();
    Ok(None)
}

/// What a batch needs, kept for its memory.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Which keys nobody has answered yet.
    missing: Vec<usize>,
    /// Which of those the tier that is asked has answered.
    answered: Vec<bool>,
    /// Those keys; empty between two batches.
    keys: Vec<&'static [u8]>,
}

/// Looks many keys up: each tier is asked once, for what those above it did not answer.
pub(super) fn get_many(
    tiers: &mut [TierSession],
    capabilities: &Capabilities,
    batch: &mut Batch,
    keys: &[&[u8]],
    hit: &mut dyn FnMut(usize, &[u8], Meta),
) -> Result<()> {
    batch.missing.clear();
    batch.missing.extend(0..keys.len());
    for level in 0..tiers.len() {
        if batch.missing.is_empty() {
            break;
        }
        let (above, from_here) = tiers.split_at_mut(level);
        let [asked, below @ ..] = from_here else { break };
        let Batch { missing, answered, .. } = batch;
        answered.clear();
        answered.resize(missing.len(), false);
        let mut asked_keys = emptied(take(&mut batch.keys));
        asked_keys.extend(missing.iter().map(|i| keys[*i]));
        let TierSession { tier, counters, session } = asked;
        let mut found = |at: usize, value: &[u8], meta: Meta| {
            if replace(&mut answered[at], true) {
                return;
            }
            counters.hits.add(1);
            let i = missing[at];
            fill(above, tier, keys[i], value, meta);
            hit(i, value, told(meta, capabilities));
        };
        let result =
            if tier.is_believed() { session.get_many(&asked_keys, &mut found) } else { Ok(()) };
        batch.keys = emptied(asked_keys);
        if below.is_empty() {
            result?;
        }
        let mut answers = answered.iter();
        missing.retain(|_| !answers.next().copied().unwrap_or(false));
        counters.misses.add(missing.len() as u64);
    }
    Ok(())
}

/// Fills the tiers above the one that answered, the lowest of them first.
fn fill(above: &mut [TierSession], from: &Tier, key: &[u8], value: &[u8], meta: Meta) {
    let answered = matches!(meta.ttl, Remaining::For(_)).then(Instant::now);
    for tier in above.iter_mut().rev() {
        // Both tiers count in steps, and may tell or keep up to one step more than there is.
        let steps = from.capabilities.ttl_resolution + tier.tier.capabilities.ttl_resolution;
        let left = match meta.ttl {
            Remaining::For(left) => Some(left.saturating_sub(steps + LATEST_FILL)),
            // Not known is as for ever: `capabilities::check` has seen to it that there is a bound above.
            Remaining::Forever | Remaining::Unknown => None,
        };
        let Some(options) = tier.tier.options(left, meta.flags) else { continue };
        tier.fill(key, value, options);
        let is_late = answered.is_some_and(|answered| answered.elapsed() > LATEST_FILL);
        if is_late && options.ttl == left {
            tier.drop_key(key);
        }
    }
}

/// What the stack tells of an entry: only what it can tell whichever tier answers.
fn told(meta: Meta, capabilities: &Capabilities) -> Meta {
    Meta {
        flags: if capabilities.flags { meta.flags } else { 0 },
        version: None,
        ttl: if capabilities.ttl_left { meta.ttl } else { Remaining::Unknown },
    }
}

/// The memory of a list of keys, for keys of another lifetime.
fn emptied<'b>(mut keys: Vec<&[u8]>) -> Vec<&'b [u8]> {
    keys.clear();
    // Collecting in place: the list is empty and of the same layout, so its memory goes over.
    keys.into_iter().map(|_| &[][..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_list_goes_over() {
        let key = vec![1];
        let mut keys: Vec<&[u8]> = Vec::with_capacity(100);
        keys.push(&key);
        let kept: Vec<&'static [u8]> = emptied(keys);
        assert!(kept.is_empty() && kept.capacity() == 100, "{}", kept.capacity());
    }
}
