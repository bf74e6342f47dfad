//! The capabilities of a stack: those of its lowest tier, as far as the tiers above can keep them.

use std::time::Duration;

use larder_store::{Capabilities, Error, Result};

use crate::SCHEME;
use crate::config::Config;
use crate::tags::{MAX_COUNTER_KEY_LEN, PLAIN_LEN};

/// The capabilities that the stack can keep, from those of its tiers, the nearest first.
///
/// Conditions, counting and limits are the lowest tier's, because that tier decides. A fact that an answer of L1 must
/// contain is known only where every tier reports it. There are no versions, because the version of a value in L1 is
/// L1's own and not the lowest tier's. The rest of a TTL is known only where `cap`, each tier's share of the bound,
/// does not shorten it. Above a tier that does not report the rest of a TTL, an entry may outlive its TTL by `cap`. So
/// no finer step than that is honoured.
pub(crate) fn combined(tiers: &[Capabilities], cap: Option<Duration>) -> Capabilities {
    let all = |can: fn(&Capabilities) -> bool| tiers.iter().all(can);
    let lowest = tiers.last().copied().unwrap_or_default();
    let steps = tiers.iter().map(|tier| tier.ttl_resolution).max().unwrap_or_default();
    let mute = tiers.iter().skip(1).filter(|tier| hides_ttl(tier));
    let late: Duration = mute.filter_map(|_| cap).sum();
    // A read of a lower tier fills the tiers above.
    let fills = tiers.iter().rev().skip(1).map(|tier| tier.writes_wait);
    let reads = tiers.iter().map(|tier| tier.reads_wait);
    let reads_wait = reads.chain(fills).max().unwrap_or_default();
    Capabilities {
        ttl: all(|tier| tier.ttl),
        ttl_resolution: steps + late,
        ttl_left: cap.is_none() && all(|tier| tier.ttl_left),
        flags: all(|tier| tier.flags),
        version: false,
        // No tier has an index of tags, and a prefix finds there only the entries that it happens to hold.
        groups: false,
        // A stack asks its tiers one after the other, and waits for each answer.
        pipeline: false,
        namespaces: all(|tier| tier.namespaces),
        // A child would not see what its parent writes above, and a lock of a stack may be held by a thread that it lacks.
        forks: false,
        clear: all(|tier| tier.clear),
        reads_wait,
        writes_wait: tiers.iter().map(|tier| tier.writes_wait).max().unwrap_or_default(),
        ..lowest
    }
}

/// What is left of a stack's capabilities where values have versions of their tags behind them.
pub(crate) fn with_tags(stack: Capabilities) -> Capabilities {
    let max_value_len = stack.max_value_len.map(|len| len.saturating_sub(PLAIN_LEN));
    Capabilities { append: false, incr: false, max_value_len, ..stack }
}

/// The time for which each tier above the lowest may keep a value: so long that no value is seen for longer than
/// `bound` after it is gone below.
///
/// Above a tier that does not report the age of its entries, the time begins again. An entry of a middle tier that has
/// almost expired is kept above for the whole time. So the tiers between which that happens share the bound.
pub(crate) fn share(tiers: &[Capabilities], bound: Option<Duration>) -> Option<Duration> {
    let between = tiers.get(1..tiers.len().saturating_sub(1)).unwrap_or_default();
    let mute = between.iter().filter(|tier| hides_ttl(tier)).count();
    Some(bound? / u32::try_from(1 + mute).ok()?)
}

/// Refuses a stack in which an entry could outlive its TTL or the bound, or with a tier that keeps nothing.
pub(crate) fn check(tiers: &[(&str, Capabilities)], config: &Config) -> Result<()> {
    let cap = config.l1_ttl.0;
    let refuse = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
    if tiers.len() < 2 {
        return refuse("a stack has at least two tiers".into());
    }
    if let Some((name, _)) = tiers.iter().find(|(_, tier)| !tier.stores) {
        return refuse(format!("{name} keeps nothing and cannot be a tier; leave it out"));
    }
    let above = &tiers[..tiers.len().saturating_sub(1)];
    if cap.is_some()
        && let Some((name, _)) = above.iter().find(|(_, tier)| !tier.ttl)
    {
        return refuse(format!(
            "{name} has no TTL, so it cannot keep to `l1_ttl`; write `|?l1_ttl=off` if no other process writes below"
        ));
    }
    let tells_end = |tier: &Capabilities| tier.ttl && tier.ttl_left;
    if !config.grace.0.is_zero()
        && let Some((name, _)) = tiers.iter().find(|(_, tier)| !tells_end(tier))
    {
        return refuse(format!(
            "{name} does not tell how long an entry lives, so `grace` cannot tell when its TTL is over; leave `grace` out, or write \
             `redis:?ttl_left=on` for a Redis"
        ));
    }
    if let (true, Some((name, lowest))) = (config.tags, tiers.last()) {
        if !lowest.add {
            return refuse(format!(
                "{name} has no `add`, by which one of many processes makes the counter of a tag; leave `tags` out"
            ));
        }
        if let Some(limit) = lowest.max_key_len.filter(|limit| *limit < MAX_COUNTER_KEY_LEN) {
            return refuse(format!(
                "{name} has keys of {limit} bytes < {MAX_COUNTER_KEY_LEN} of the counter of a tag; leave `tags` out"
            ));
        }
    }
    if cap.is_none()
        && let Some((name, _)) = tiers.iter().skip(1).find(|(_, tier)| hides_ttl(tier))
    {
        return refuse(format!(
            "{name} does not tell how long an entry lives, so a copy above could outlive it; write `|?l1_ttl=10s`"
        ));
    }
    Ok(())
}

/// Whether the tier's entries expire, but it does not report when.
fn hides_ttl(tier: &Capabilities) -> bool {
    tier.ttl && !tier.ttl_left
}

#[cfg(test)]
mod tests {
    use larder_store::Waits;

    use super::*;
    use crate::config::Cap;

    const FULL: Capabilities = Capabilities {
        batch: true,
        batch_write: true,
        groups: true,
        leases: true,
        tokens: true,
        pipeline: true,
        namespaces: true,
        forks: true,
        evicts: true,
        reach: larder_store::Reach::Network,
        max_key_len: Some(250),
        max_value_len: Some(1 << 20),
        ..Capabilities::OF_RECORDS
    };
    const CAP: Option<Duration> = Some(Duration::from_secs(10));

    #[test]
    fn an_ability_that_a_tier_above_lacks_is_not_promised() {
        let mute = Capabilities { ttl_left: false, flags: false, max_value_len: Some(9), ..FULL };
        let stack = combined(&[mute, FULL], None);
        assert_eq!((stack.flags, stack.ttl_left, stack.version), (false, false, false));
        let whole = combined(&[FULL, FULL], None);
        assert!(!whole.groups && !whole.pipeline);
        assert_eq!((stack.max_value_len, stack.touch), (Some(1 << 20), true));
        assert!(combined(&[FULL, FULL], None).ttl_left);
        assert!(!combined(&[FULL, FULL], CAP).ttl_left, "L1 tells only what is left of its own");
        let step = Duration::from_millis(1);
        for (tiers, resolution) in [
            (&[FULL, FULL][..], step),
            (&[mute, FULL], step),
            (&[FULL, mute], step + Duration::from_secs(10)),
            (&[FULL, mute, FULL], step + Duration::from_secs(5)),
            (&[FULL, mute, mute], step + Duration::from_secs(10)),
        ] {
            assert_eq!(combined(tiers, share(tiers, CAP)).ttl_resolution, resolution);
        }
    }

    #[test]
    fn a_stack_waits_as_long_as_its_slowest_tier_and_a_read_for_the_fills_too() {
        let of = |reads_wait, writes_wait| Capabilities { reads_wait, writes_wait, ..FULL };
        let (memory, lmdb) = (of(Waits::Lock, Waits::Lock), of(Waits::Seldom, Waits::Disk));
        for (tiers, reads_wait, writes_wait) in [
            ([memory, memory], Waits::Lock, Waits::Lock),
            ([memory, lmdb], Waits::Seldom, Waits::Disk),
            ([lmdb, memory], Waits::Disk, Waits::Disk),
            ([memory, FULL], Waits::Network, Waits::Network),
        ] {
            let stack = combined(&tiers, None);
            assert_eq!((stack.reads_wait, stack.writes_wait), (reads_wait, writes_wait));
        }
    }

    #[test]
    fn tiers_that_hide_how_old_an_entry_is_share_the_bound() {
        let mute = Capabilities { ttl_left: false, ..FULL };
        for (tiers, seconds) in [
            (&[FULL, FULL][..], 12),
            (&[mute, mute], 12),
            (&[mute, FULL, mute], 12),
            (&[FULL, mute, FULL], 6),
            (&[FULL, mute, mute, FULL], 4),
        ] {
            let share = share(tiers, Some(Duration::from_secs(12)));
            assert_eq!(share, Some(Duration::from_secs(seconds)), "{tiers:?}");
        }
        assert_eq!(share(&[FULL, mute, FULL], None), None);
    }

    #[test]
    fn tags_need_a_lowest_tier_that_makes_counters() {
        let config = Config { tags: true, ..Config::default() };
        for (far, needle) in [
            (FULL, None),
            (Capabilities { incr: false, version: false, ..FULL }, None),
            (Capabilities { add: false, ..FULL }, Some("b: has no `add`")),
            (Capabilities { max_key_len: Some(35), ..FULL }, Some("b: has keys of 35 bytes < 36")),
        ] {
            let checked = check(&[("a:", FULL), ("b:", far)], &config);
            let text = checked.err().map(|error| error.to_string());
            assert_eq!(text.is_some(), needle.is_some(), "{text:?}");
            assert!(text.unwrap_or_default().contains(needle.unwrap_or_default()));
        }
        let able = with_tags(combined(&[FULL, FULL], CAP));
        assert!(!able.append && !able.incr && able.leases && able.touch);
        assert_eq!(able.max_value_len, Some((1 << 20) - 3));
    }

    #[test]
    fn a_stack_in_which_entries_could_outlive_themselves_is_refused() {
        let mute = Capabilities { ttl_left: false, ..FULL };
        let timeless = Capabilities { ttl: false, ..mute };
        for (tiers, cap, needle) in [
            ([FULL, FULL], CAP, None),
            ([FULL, FULL], None, None),
            ([FULL, mute], CAP, None),
            ([FULL, mute], None, Some("b: does not tell how long")),
            ([timeless, FULL], CAP, Some("a: has no TTL")),
            ([timeless, FULL], None, None),
            ([FULL, timeless], None, None),
            ([FULL, Capabilities::default()], CAP, Some("b: keeps nothing")),
        ] {
            let config = Config { l1_ttl: Cap(cap), ..Config::default() };
            let checked = check(&[("a:", tiers[0]), ("b:", tiers[1])], &config);
            let text = checked.err().map(|error| error.to_string());
            assert_eq!(text.is_some(), needle.is_some(), "{text:?}");
            assert!(text.unwrap_or_default().contains(needle.unwrap_or_default()));
        }
    }
}
