//! Counters and resources of a target before and after a phase.

use larder_report::{TierCounts, Wire};
use larder_store::{Ownership, Stats, TierStats};

use super::executor::Executor;
use crate::target::Target;
use crate::usage::{Servers, Snapshot};

/// A reading of the counters and resources.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) stats: Option<Stats>,
    pub(super) connections: Option<u64>,
    pub(super) wire_requests: Option<u64>,
    pub(super) tiers: Vec<TierStats>,
    pub(super) server_cpu_ns: Option<u64>,
    /// The time for which the servers, and the relays before them, have waited for a processor.
    pub(super) server_wait_ns: Option<u64>,
    /// The memory of the process that measures, with the store's own mappings.
    pub(super) memory_bytes: Option<u64>,
    pub(super) server_rss_bytes: Option<u64>,
    pub(super) major_faults: u64,
    /// The traffic between client and servers; `None` without a wire, or where the kernel does not tell.
    wire: Option<Snapshot>,
}

impl Meter {
    pub(super) fn read(target: &Target, executor: &Executor<'_>) -> Self {
        let servers = Servers::read(&target.info.server_pids);
        // The operations notice a server that has gone; here it only makes counters unknown.
        let mut stats = if target.is_silent() { None } else { target.store.stats().ok() };
        if let Some(stats) = &mut stats {
            stats.evictions = executor.evictions(stats);
        }
        Self {
            connections: executor.connections(stats.as_ref()),
            wire_requests: executor.wire_requests(stats.as_ref()),
            stats,
            tiers: executor.tiers(),
            server_cpu_ns: servers.as_ref().map(|servers| servers.cpu_ns),
            memory_bytes: executor
                .memory_bytes(!target.info.data_paths.is_empty())
                .map(|bytes| bytes + stats.and_then(|stats| stats.mapped_bytes).unwrap_or(0)),
            server_wait_ns: servers.as_ref().and_then(|servers| servers.waited_ns),
            server_rss_bytes: servers.map(|servers| servers.rss_bytes),
            major_faults: executor.major_faults(),
            wire: target.account.look_at_wire(executor.guest_pid()),
        }
    }
}

/// The counters of each tier of a stack between two readings.
pub(super) fn tiers_between(before: &Meter, after: &Meter) -> Vec<TierCounts> {
    let counts = |(now, then): (&TierStats, &TierStats)| {
        let TierStats { name, hits, misses, dropped, errors, not_asked, fills, puts, refused } =
            now.since(then);
        TierCounts { name, hits, misses, dropped, errors, not_asked, fills, puts, refused }
    };
    after.tiers.iter().zip(&before.tiers).map(counts).collect()
}

/// The traffic of client and servers between two readings, where all of it is known.
pub(super) fn wire_between(target: &Target, before: &Meter, after: &Meter) -> Option<Wire> {
    let (now, then) = (after.wire.as_ref()?, before.wire.as_ref()?);
    let opened = after.connections.zip(before.connections);
    let wire = now.since(then, opened.map(|(now, then)| now.saturating_sub(then)));
    if wire.is_none() {
        target.account.lose_wire();
    }
    wire
}

pub(super) fn evicted(before: &Meter, after: &Meter) -> Option<u64> {
    let (now, then) = (after.stats?.evictions?, before.stats?.evictions?);
    Some(now.saturating_sub(then))
}

/// The most that a store held around a phase, and, where the store knows, at any moment of the turn until the phase's
/// end.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PeakUsage {
    pub(super) bytes: Option<u64>,
    pub(super) items: Option<u64>,
    /// The memory that the store had taken for them.
    pub(super) allocated_bytes: Option<u64>,
}

impl PeakUsage {
    /// From the readings around a phase. On an external server, entries of other clients are no matter of the plan.
    pub(super) fn between(target: &Target, before: &Meter, after: &Meter) -> Self {
        if target.info.ownership == Ownership::External {
            return Self::default();
        }
        let told = || [&before.stats, &after.stats].into_iter().flatten();
        let bytes = |stats: &Stats| stats.bytes.into_iter().chain(stats.bytes_peak).max();
        Self {
            bytes: told().filter_map(bytes).max(),
            items: told().filter_map(|stats| stats.items).max(),
            allocated_bytes: told().filter_map(|stats| stats.allocated_bytes).max(),
        }
    }
}

/// The memory that a target takes: the memory of its servers, or the growth of this process since the turn began. For
/// a stack in both places it is the sum. Servers elsewhere do not tell.
///
/// The figure includes the memory of the harness for the turn; the floor's figure is only that memory.
pub(super) fn resident(target: &Target, started: &Meter, now: &Meter) -> Option<u64> {
    let grown =
        || now.memory_bytes.zip(started.memory_bytes).and_then(|(now, then)| grown_by(now, then));
    match target.info.server_pids.as_slice() {
        [] if target.planned.is_external() => None,
        [] => grown(),
        _ if target.planned.has_tier_here => Some(now.server_rss_bytes? + grown()?),
        _ => now.server_rss_bytes,
    }
}

/// The growth of memory; `None` where it did not grow, which is not 0.
fn grown_by(now: u64, then: u64) -> Option<u64> {
    now.checked_sub(then).filter(|growth| *growth > 0)
}
