//! The entries of a phase: the results of its operations, each by itself, and the results of a read-back.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_report::{COMERS_FAILED, Counts, Latency, Operation, Sample};
use larder_store::Durability;

use super::meter::{Meter, PeakUsage, resident, tiers_between, wire_between};
use super::samples::Entry;
use super::shares::{part, scaled, shortened};
use super::{driven, paced};
use crate::measure::{
    Comers, Idle, Packed, PhaseResult, ReadBack, Tally, add_examples, figures, seconds,
};
use crate::plan::{Load, PlannedPhase};
use crate::target::Target;
use crate::usage::disk_bytes;

/// A phase that was measured, and its result.
pub(super) struct Measured<'a> {
    pub(super) phase: &'a PlannedPhase,
    pub(super) result: &'a PhaseResult,
    /// The greatest hit ratio that the target can have; `None` where it is not known.
    pub(super) hit_limit: Option<f64>,
    /// The connections that the threads drove.
    pub(super) load: Option<Load>,
    /// Connections beside them that were idle, and those that came and went.
    pub(super) idle: Option<Idle>,
    pub(super) comers: Option<Comers>,
    pub(super) before: Meter,
    pub(super) after: Meter,
    /// Whether every key that was set must be there: no TTL can have ended it, and its set was acknowledged.
    pub(super) must_be_there: bool,
    /// Whether no clock was put forward or back since the turn began.
    pub(super) ttls_hold: bool,
    /// The round, and the place of the turn in its order, each from 1.
    pub(super) round: u32,
    pub(super) position: usize,
    /// Whether the run was stopped before the phase was over.
    pub(super) stopped: bool,
    /// When the phase ended, from the beginning of the run.
    pub(super) ended: Duration,
}

impl Measured<'_> {
    /// Adds an entry for each operation of the phase; `started` was read when the turn began.
    pub(super) fn add_to(&self, entries: &mut Vec<Entry>, target: &Target, started: &Meter) {
        let Measured { phase, result, before, after, .. } = self;
        let alone = phase.operations.len() == 1;
        let wire = wire_between(target, before, after);
        let held = PeakUsage::between(target, before, after);
        let n_reading = phase.operations.iter().filter(|operation| operation.reads()).count();
        let all_ops = result.tallies.failures().0;
        // Evictions make room for new values: in a mix they count for the first operation that may store.
        let mut stores = phase.operations.iter().copied().filter(|operation| operation.may_store());
        let evicts = stores.next().or(phase.operations.first().copied());
        let phase_s = result.wall.as_secs_f64();
        let server_cpu = after.server_cpu_ns.zip(before.server_cpu_ns);
        let server_cpu_ns = server_cpu.map(|(now, then)| now.saturating_sub(then));
        let busy_ns: u64 = result.tallies.iter().map(|(_, tally)| tally.busy_ns).sum();
        for (operation, tally) in result.tallies.iter() {
            let paced = paced::sample(tally, result.offered, part(tally.counts.ops, all_ops));
            // In a mix, an operation has the part of the time that was spent in it. In an open loop it has all of the
            // time, because much of that is spent in no operation.
            let wall_s = match paced {
                Some(_) => phase_s,
                None => phase_s * part(tally.busy_ns, busy_ns),
            };
            let counts = self.counts(tally, evicts == Some(operation), all_ops);
            #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
            let ops_per_s = if wall_s > 0.0 { tally.succeeded as f64 / wall_s } else { 0.0 };
            let server_wait = after.server_wait_ns.zip(before.server_wait_ns);
            entries.push(Entry {
                operation,
                sample: Sample {
                    round: self.round,
                    position: u32::try_from(self.position).unwrap_or(u32::MAX),
                    complete: !self.stopped && !result.gave_up,
                    at_s: shortened(self.ended.as_secs_f64() - phase_s),
                    counts,
                    wall_s: shortened(wall_s),
                    ops_per_s: shortened(ops_per_s),
                    // The CPU time of each operation of a mix is not known.
                    client_cpu_s: alone.then_some(result.client_cpu_s),
                    client_system_s: result.client_system_s.filter(|_| alone).map(shortened),
                    client_busy: result.client_busy.map(shortened),
                    client_wait_s: result.client_wait_s.filter(|_| alone),
                    // In a mix, it is not known which operation's garbage was collected.
                    collector: result.collector.filter(|_| alone),
                    server_cpu_s: server_cpu_ns.filter(|_| alone).map(seconds),
                    server_wait_s: server_wait
                        .filter(|_| alone)
                        .map(|(now, then)| shortened(seconds(now.saturating_sub(then)))),
                    rss_bytes: resident(target, started, after),
                    disk_bytes: disk_bytes(&target.info.data_paths),
                    held_bytes_peak: held.bytes,
                    held_items_peak: held.items,
                    allocated_bytes_peak: held.allocated_bytes,
                    barrier_s: unacknowledged(target, operation)
                        .then_some(result.barrier)
                        .flatten()
                        .map(|barrier| shortened(barrier.as_secs_f64())),
                    major_faults: after.major_faults.saturating_sub(before.major_faults),
                    wire: wire.filter(|_| alone),
                    // In a mix, the operation that reads has asked the tiers; with several such operations, the part
                    // of each is not known.
                    tiers: if alone || operation.reads() && n_reading == 1 {
                        tiers_between(before, after)
                    } else {
                        Vec::new()
                    },
                    latency_ns: figures(&tally.latency)
                        .map(|latency| Latency { mean: shortened(latency.mean), ..latency }),
                    stalls: Some(tally.stalls),
                    paced,
                    driven: driven::sample(result, self.load, server_cpu_ns),
                    idle: self.idle.map(driven::idle),
                    comers: self.comers.as_ref().map(|comers| driven::comers(comers, phase_s)),
                    timeline: Some(tally.timeline(result.wall)),
                    errors_by_kind: tally.errors_by_kind.clone(),
                    first_error: tally.first_error.clone(),
                    wrong_examples: self.examples(tally),
                },
                latency: Packed::new(&tally.latency),
                paced: paced::pack(tally),
                comers: self.comers.as_ref().map(driven::pack),
                bytes: tally.bytes,
                predicted_hit_ratio: phase.predicted_hit_ratio.filter(|_| operation.reads()),
                hit_limit: self.hit_limit.filter(|_| operation.reads()),
            });
        }
    }
}

impl Measured<'_> {
    /// The counts of an operation, of all operations of the phase. What the target counts by itself goes to the operations by
    /// their share, and its evictions to the one that `evicts`.
    fn counts(&self, tally: &Tally, evicts: bool, all_ops: u64) -> Counts {
        let Measured { phase, result, before, after, .. } = self;
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let evictions = |meter: &Meter| meter.stats.as_ref()?.evictions;
        let share = part(tally.counts.ops, all_ops);
        Counts {
            // In a mix, an operation's part of the connections is its part of the operations.
            connections: grown(after.connections, before.connections)
                .map(|connections| scaled(connections, share)),
            // In a mix, the number of requests of each operation is not known.
            wire_requests: grown(after.wire_requests, before.wire_requests)
                .filter(|_| phase.operations.len() == 1),
            evictions: grown(evictions(after), evictions(before))
                .map(|evictions| if evicts { evictions } else { 0 }),
            distinct_keys: result.distinct_keys.min(tally.counts.ops),
            top_key_ops: scaled(result.top_key_ops, share),
            stored_misses: if self.must_be_there && self.ttls_hold {
                tally.counts.stored_misses
            } else {
                0
            },
            outlived: if self.ttls_hold { tally.counts.outlived } else { 0 },
            ..tally.counts
        }
    }

    /// The first wrong value of each kind, and the first error of a connection that came and went.
    fn examples(&self, tally: &Tally) -> BTreeMap<String, String> {
        let mut examples = tally.wrong_examples.clone();
        let comers = self.comers.as_ref().and_then(|comers| comers.first_error.clone());
        examples.extend(comers.map(|error| (COMERS_FAILED.to_owned(), error)));
        examples
    }
}

/// Whether an operation writes, and the target does not wait for the results of its writes.
fn unacknowledged(target: &Target, operation: Operation) -> bool {
    use Operation::{Delete, GetOrSet, Set, Touch};
    target.info.durability == Durability::Unacknowledged
        && matches!(operation, Set | GetOrSet | Delete | Touch)
}

/// Adds the result of a read-back to the operation that wrote, or to the first operation that stands on a load. All
/// evictions of the turn go with it, because they may explain absent keys.
pub(super) fn note_read_back(entries: &mut [Entry], read: &ReadBack, evictions: Option<u64>) {
    if let Some(sample) = writer(entries) {
        sample.counts.evictions = evictions;
        note(sample, read);
    }
}

/// Adds deleted keys that were found to the operation that deleted them.
pub(super) fn note_deletes(entries: &mut [Entry], read: &ReadBack) {
    let at = entries.iter().rposition(|entry| entry.operation == Operation::Delete);
    let sample = match at {
        Some(at) => Some(&mut entries[at].sample),
        None => writer(entries),
    };
    if let Some(sample) = sample {
        note(sample, read);
    }
}

fn note(sample: &mut Sample, read: &ReadBack) {
    read.count(&mut sample.counts);
    add_examples(&mut sample.wrong_examples, &read.examples);
}

/// The sample of the operation that stored the entries, or of the first operation that stands on a load.
pub(super) fn writer(entries: &mut [Entry]) -> Option<&mut Sample> {
    let at = entries.iter().rposition(|entry| entry.operation.may_store()).unwrap_or(0);
    entries.get_mut(at).map(|entry| &mut entry.sample)
}
