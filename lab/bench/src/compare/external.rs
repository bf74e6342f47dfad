//! Servers that Larder did not start: entries of other clients there must not be lost, unless the user agrees.
//!
//! Before a target is tried, the plan's entries must fit into the free room. That room is never known for sure: other
//! clients store as well, and memory set aside for one size is of no use to another. So evictions are also read around
//! each turn, and a target whose servers have evicted is measured no more.

use larder_host::disk;
use larder_store::{ByteSize, Medium, Ownership, Stats};

use super::Permissions;
use crate::error::{Result, usage};
use crate::plan::Plan;
use crate::target::Target;

/// The share of a server's memory that a plan may take without `--yes`.
const SHARE: f64 = 0.1;
/// The most bytes that a plan may put without `--yes` on a server that does not tell how much it has and drops nothing.
const MOST: ByteSize = ByteSize(256 << 20);
/// The most bytes of an entry beside its key and value: headers, hash table, allocator.
const ENTRY: u64 = 100;

/// Refuses to fill a server that Larder did not start. A plan may take a tenth of the server's capacity, and no more
/// than the server has free. Where a server may evict and does not report its free room, a plan may take nothing.
pub(super) fn check(plan: &Plan, target: &Target, permissions: Permissions) -> Result<()> {
    if target.info.ownership != Ownership::External || permissions.yes {
        return Ok(());
    }
    // A server that cannot be asked reports nothing.
    let told = target.store.external_stats().unwrap_or_else(|_| vec![Stats::default()]);
    let plan = Wanted::of(plan, target);
    let mut servers = told.into_iter();
    let text =
        servers.find_map(|stats| refusal(plan, &known(target, stats), drops(target, &stats)));
    text.map_or(Ok(()), |text| Err(usage(format!("{}: {text}", target.planned.name))))
}

/// The bytes that a plan stores.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// Keys and values of the largest point.
    largest: u64,
    /// The bytes of all points together, with room to spare. A server that sets memory aside for the sizes of its
    /// entries gives nothing back between two points.
    together: u64,
}

impl Wanted {
    fn of(plan: &Plan, target: &Target) -> Self {
        let mut sets: Vec<(u64, u64)> = plan
            .points_of(&target.planned)
            .map(|point| (point.working_set_bytes, point.items))
            .collect();
        sets.sort_unstable();
        sets.dedup();
        // Twice, because no server packs entries without gaps, nor do keys spread evenly over its nodes.
        let room = |(bytes, items): &(u64, u64)| 2 * bytes + ENTRY * items;
        Self {
            largest: sets.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0),
            together: sets.iter().map(room).sum(),
        }
    }
}

/// The reason why external servers must not take the entries of a plan.
fn refusal(plan: Wanted, stats: &Stats, drops: bool) -> Option<String> {
    let wanted = ByteSize(plan.largest);
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    if let Some(capacity) = stats.capacity_bytes
        && plan.largest as f64 > capacity as f64 * SHARE
    {
        let capacity = ByteSize(capacity);
        return Some(format!(
            "this plan would fill {wanted} of a server with {capacity} that Larder did not start, more than a tenth; use \
             fewer --keys or a smaller --data-size, or --yes to allow it"
        ));
    }
    let hidden = stats.capacity_bytes.is_none() && !drops;
    if hidden && wanted > MOST {
        return Some(format!(
            "this plan would put {wanted} on a server that Larder did not start and that does not tell its limit, \
             more than {MOST}; use fewer --keys or a smaller --data-size, or --yes to allow it"
        ));
    }
    match stats.free_bytes {
        Some(free) if plan.together > free => {
            let (room, free) = (ByteSize(plan.together), ByteSize(free));
            let fate = if drops { "evict" } else { "leave no room for" };
            Some(format!(
                "this plan may take {room}, and {free} are free on a server that Larder did not start: it may {fate} \
                 entries of other clients; use fewer --keys or a smaller --data-size, or --yes to allow it"
            ))
        }
        None if drops => Some(format!(
            "this plan would put {wanted} on a server that Larder did not start, that drops entries to make room and \
             does not tell how much is free; --yes allows it to evict entries of other clients"
        )),
        _ => None,
    }
}

/// Whether servers may drop entries to make room, as far as is known.
fn drops(target: &Target, stats: &Stats) -> bool {
    let is_in_memory = || target.planned.media.contains(&Medium::Memory);
    let tells_nothing = stats.hits.is_none() && stats.items.is_none();
    target.capabilities.evicts || stats.evictions.is_some() || (tells_nothing && is_in_memory())
}

/// The limits and counters that servers report. For a database on this machine, whose program works in its folder, the
/// free room of the folder's disk is added.
fn known(target: &Target, mut stats: Stats) -> Stats {
    let keeps_files = target.planned.media.iter().all(|medium| *medium == Medium::Files);
    if stats.free_bytes.is_none() && keeps_files {
        let folder = |pid: &u32| format!("/proc/{pid}/cwd");
        let disk = |pid: &u32| disk::file_system(folder(pid).as_ref()).ok()?.free_bytes;
        stats.free_bytes = target.info.server_pids.iter().filter_map(disk).min();
    }
    stats
}

/// Checks a target whose turn is over, and whose keys were deleted. Stops the target where external servers have
/// evicted since the check before, unless the user allows that.
pub(super) fn watch(target: &mut Target, round: u32) {
    let Some(now) = target.evicted_externally() else { return };
    let Some(before) = target.evicted.seen.replace(now) else { return };
    let grown = now.saturating_sub(before);
    target.evicted.grown += grown;
    if grown > 0 && !target.evicted.is_allowed {
        let when = if round == 0 { "the warm-up".to_owned() } else { format!("round {round}") };
        target.stop(format!(
            "evictions grew by {grown} in {when}: entries of other clients may be among them; stopped (--yes continues)"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn stats(capacity_bytes: Option<u64>, free_bytes: Option<u64>) -> Stats {
        let mut stats = Stats::default();
        (stats.capacity_bytes, stats.free_bytes) = (capacity_bytes, free_bytes);
        stats
    }

    #[test]
    fn an_external_server_is_not_filled_without_permission() {
        for (set, stats, drops, words) in [
            (6, stats(Some(64 * MIB), Some(64 * MIB)), true, None),
            (7, stats(Some(64 * MIB), Some(64 * MIB)), true, Some("7 MiB of a server with 64 MiB")),
            (1, stats(Some(64 * MIB), Some(MIB)), true, Some("2 MiB, and 1 MiB are free")),
            (
                1,
                stats(Some(64 * MIB), Some(0)),
                true,
                Some("it may evict entries of other clients"),
            ),
            (1, stats(Some(64 * MIB), Some(0)), false, Some("it may leave no room for entries")),
            (1, stats(Some(64 * MIB), None), true, Some("does not tell how much is free")),
            (1, stats(Some(64 * MIB), None), false, None),
            (256, stats(None, None), false, None),
            (257, stats(None, None), false, Some("more than 256 MiB; use fewer --keys")),
            (257, stats(None, Some(900 * MIB)), false, Some("put 257 MiB on a server")),
            (200, stats(None, Some(300 * MIB)), false, Some("400 MiB, and 300 MiB are free")),
        ] {
            let wanted = Wanted { largest: set * MIB, together: 2 * set * MIB };
            let text = refusal(wanted, &stats, drops);
            let is_right = match (&text, words) {
                (Some(text), Some(words)) => text.contains(words) && text.contains("--yes"),
                (None, None) => true,
                _ => false,
            };
            assert!(is_right, "{set}: {text:?}");
        }
    }
}
