//! One target's turn at one point in one round: empty, the phases with read-back, empty.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_report::figures::count;
use larder_report::{Counts, Latency, Operation, Sample};
use larder_store::{Durability, Error, Result, Stats};

use super::emptied::Left;
use super::executor::Executor;
use super::meter::{Held, Meter, evicted, resident, tiers_between, wire_between};
use super::paced;
use super::samples::Entry;
use crate::measure::{
    Arrivals, KeyState, Packed, PhasePlan, PhaseResult, ReadBack, add_examples, figures, seconds,
};
use crate::memory;
use crate::plan::{PlannedPhase, PlannedPoint, phase_seed};
use crate::target::Target;
use crate::usage::{disk_bytes, trim_memory};

/// How much of each phase is done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Amount {
    /// All of it.
    Whole,
    /// Again and again for this time; a load is done once, and whole.
    For(Duration),
    /// As much as fits into this time, at most all; a load is done whole, or the phases behind it would read nothing.
    AtMost(Duration),
    /// As much as fits into this time, loads too.
    Trial(Duration),
    /// Of what is measured so many operations, and no more than fit into this time; a load is done whole.
    Paced { operations: u64, limit: Duration },
}

/// When the operations of the phases that are measured begin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pacing {
    /// As the plan says.
    Planned,
    /// Each when the one before is over, whatever the plan says.
    Closed,
    /// So many a second.
    At(f64),
}

/// A turn to be carried out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) point: &'a PlannedPoint,
    pub(super) round: u32,
    /// Counts every round of every point, so that no two share a version.
    pub(super) number: u32,
    /// Its place in the order of the round, from 1.
    pub(super) position: usize,
    pub(super) seed: u64,
    pub(super) amount: Amount,
    pub(super) pacing: Pacing,
    /// Started with the run.
    pub(super) clock: Instant,
    pub(super) stop: &'a AtomicBool,
}

/// More operations a second than any program of another language gets done.
const GUEST_OPS_PER_S: f64 = 1e7;
/// How many times as long as the turn so far a TTL must be, so that nothing expires before it has been read back.
const LASTING_TURNS: u32 = 10;
/// The share of a load that may fail before what stands on it is no result.
const TOLERABLE_LOAD_FAILURES: f64 = 0.001;

impl Turn<'_> {
    /// Carries the turn out. Each measured operation is handed to `keep`; a target that fails for good is lost,
    /// one that only has no room for this point leaves it out.
    pub(super) fn run(&self, target: &mut Target, keep: &mut dyn FnMut(Entry)) {
        if target.refusal(self.point).is_some() {
            return;
        }
        let came_back = target.came_back();
        memory::begin_turn();
        target.account.begin();
        let mut entries = Vec::new();
        let mut state = KeyState::new(self.point.keys.count(), self.number);
        if gone_after_ns(target, self.point) < u64::MAX {
            state.follow_renewals();
        }
        let result = self.phases(target, &state, &mut entries);
        if matches!(result, Err(Error::Timeout { .. })) && !target.is_silent() {
            target.answers(&self.point.keys);
        }
        // Even after a failure nothing of ours stays on a server that is not ours; one that is silent is asked once more when
        // the run is over.
        let mut emptied = if target.is_silent() {
            Ok(Left::default())
        } else {
            target.empty(&self.point.keys).and_then(|()| target.left(self.point, &state))
        };
        if let Ok(left) = &mut emptied {
            left.add(came_back);
            left.note(&mut entries);
        }
        entries.into_iter().for_each(keep);
        target.rest();
        target.account.end();
        match (result, emptied) {
            (Err(full @ Error::Full { .. }), Ok(_)) => {
                target.leave_out(self.point, &full);
            }
            (result, emptied) => {
                if let Err(error) = result.and(emptied.map(|_| ())) {
                    target.lose(&error);
                }
            }
        }
    }

    fn phases(&self, target: &Target, state: &KeyState, entries: &mut Vec<Entry>) -> Result<()> {
        let point = self.point;
        target.empty(&point.keys)?;
        trim_memory();
        let arrivals = self.arrivals();
        let phases = point.phases.iter().enumerate();
        let plans: Vec<PhasePlan<'_>> = phases
            .map(|(number, phase)| PhasePlan {
                arrivals: arrivals.as_ref().filter(|_| phase.measured),
                ..self.phase_plan(target, phase, number)
            })
            .collect();
        let Some(mut executor) = Executor::start(target, point, &plans, state, self.stop)? else {
            return Ok(());
        };
        executor.program().into_iter().for_each(|program| target.account.employ(program));
        let replays = !target.capabilities.stores;
        let (began, started) = (Instant::now(), Meter::read(target, &executor));
        let mut read = ReadBack::default();
        let mut checkable = !replays;
        for ((number, phase), plan) in point.phases.iter().enumerate().zip(&plans) {
            if checkable && phase.operations == [Operation::Delete] {
                read = self.read_back(target, state, &mut executor, began)?;
                checkable = false;
            }
            if target.lack(phase).is_some() {
                continue;
            }
            let before = Meter::read(target, &executor);
            let Some(result) = executor.run((number, plan), state, replays, self.stop)? else {
                return Ok(());
            };
            match result.tallies.timeouts() {
                1 if result.gave_up => _ = target.answers(&point.keys),
                2.. if result.gave_up => target.note_silence(),
                _ => {}
            }
            let after = Meter::read(target, &executor);
            checkable &= !plan.work.races(executor.len());
            if phase.measured {
                // What nobody waits for may be stored later than another thread looks for it.
                let must_be_there = !self.may_have_expired(began)
                    && target.info.durability != Durability::Unacknowledged;
                let measured = Measured { phase, result: &result, before, after, must_be_there };
                self.keep(target, &measured, &started, entries);
            } else {
                loaded(target, &result)?;
            }
            if result.gave_up {
                return Err(given_up(target, &result));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        if checkable {
            read = self.read_back(target, state, &mut executor, began)?;
        }
        note_read_back(entries, &read, evicted(&started, &Meter::read(target, &executor)));
        if !replays && !self.is_trial() {
            let set_options = target.set_options(point);
            note_deletes(entries, &executor.read_back_deletes(state, set_options, self.stop)?);
        }
        target.account.settle();
        executor.finish()
    }

    /// When operations are due, the same for every target of a round and other ones in the next; `None` in a closed loop.
    fn arrivals(&self) -> Option<Arrivals> {
        let seed = self.seed ^ u64::from(self.round).rotate_left(32);
        match self.pacing {
            Pacing::Planned => self.point.pace.as_ref()?.arrivals(None, seed),
            Pacing::Closed => None,
            Pacing::At(rate) => self.point.pace.as_ref()?.arrivals(Some(rate), seed),
        }
    }

    fn phase_plan<'p>(
        &'p self,
        target: &Target,
        phase: &'p PlannedPhase,
        number: usize,
    ) -> PhasePlan<'p> {
        let (requests, time_limit) = match self.amount {
            Amount::Trial(time) => (phase.requests, Some(time)),
            Amount::AtMost(time) if phase.measured => {
                (phase.requests, Some(phase.time_limit.map_or(time, |limit| limit.min(time))))
            }
            Amount::For(time) if phase.measured => (None, Some(time)),
            Amount::Paced { operations, limit } if phase.measured => {
                (Some(operations), Some(limit))
            }
            _ => (phase.requests, phase.time_limit),
        };
        // What a guest is to do is written down first, so that of a trial no more is than any language gets done.
        let requests = match self.amount {
            Amount::Trial(time) | Amount::AtMost(time)
                if target.guest.is_some() && time_limit == Some(time) =>
            {
                let most = time.as_secs_f64() * GUEST_OPS_PER_S;
                requests.map(|requests| requests.min(whole(most)))
            }
            _ => requests,
        };
        // Of what is left out, nothing is drawn.
        let requests = if target.lack(phase).is_some() { Some(0) } else { requests };
        let batched = phase.operations.iter().any(|operation| operation.is_of_many_keys());
        PhasePlan {
            work: self.point.work(phase),
            operations: &phase.operations,
            requests,
            time_limit,
            arrivals: None,
            set_options: target.set_options(self.point),
            touch_ttl: self.point.set_options.ttl,
            gone_after_ns: gone_after_ns(target, self.point),
            load_time: self.point.load_time,
            multiget: if batched { self.point.multiget } else { 1 },
            tagged: target.tags(self.point),
            pin: self.point.pin,
            seed: phase_seed(self.seed, self.round, number),
            order: self.point.order(),
        }
    }

    /// What was acknowledged since the turn began must be there, unless its TTL may have passed, or may pass while it is
    /// read back, or the turn was cut short.
    fn read_back(
        &self,
        target: &Target,
        state: &KeyState,
        executor: &mut Executor<'_>,
        began: Instant,
    ) -> Result<ReadBack> {
        if self.may_have_expired(began) || self.is_trial() {
            return Ok(ReadBack::default());
        }
        executor.read_back(state, target.set_options(self.point), self.stop)
    }

    /// Whether the TTL of something that was set since the turn began may have passed, or may pass while it is looked for.
    fn may_have_expired(&self, began: Instant) -> bool {
        let ttl = self.point.set_options.ttl;
        ttl.is_some_and(|ttl| ttl < LASTING_TURNS * began.elapsed())
    }

    fn is_trial(&self) -> bool {
        matches!(self.amount, Amount::Trial(_))
    }

    /// Makes an entry of each operation of a phase.
    fn keep(
        &self,
        target: &Target,
        measured: &Measured<'_>,
        started: &Meter,
        entries: &mut Vec<Entry>,
    ) {
        let Measured { phase, result, before, after, .. } = measured;
        let stopped = self.stop.load(Ordering::Relaxed);
        let alone = phase.operations.len() == 1;
        let wire = wire_between(target, before, after);
        let held = Held::between(target, before, after);
        let n_reading = phase.operations.iter().filter(|operation| operation.reads()).count();
        let grown = |of: fn(&Stats) -> Option<u64>| {
            let (now, then) = (of(after.stats.as_ref()?)?, of(before.stats.as_ref()?)?);
            Some(now.saturating_sub(then))
        };
        let all_ops = result.tallies.failures().0;
        // What a store evicts makes room for what is stored: of a mix, that is the first operation that may store.
        let stores =
            |operation: &Operation| matches!(operation, Operation::Set | Operation::GetOrSet);
        let evicts =
            phase.operations.iter().copied().find(stores).or(phase.operations.first().copied());
        let phase_s = result.wall.as_secs_f64();
        let busy_ns: u64 = result.tallies.iter().map(|(_, tally)| tally.busy_ns).sum();
        for (operation, tally) in result.tallies.iter() {
            let paced = paced::sample(tally, result.offered, part(tally.counts.ops, all_ops));
            // Of a mix, an operation has the part of the time that was spent in it; where operations come when they are due,
            // much of the time is spent in none.
            let wall_s = match paced {
                Some(_) => phase_s,
                None => phase_s * part(tally.busy_ns, busy_ns),
            };
            let counts = Counts {
                // Of a mix, an operation has as large a part of them as of the operations.
                connections: after.connections.zip(before.connections).map(|(now, then)| {
                    scaled(now.saturating_sub(then), part(tally.counts.ops, all_ops))
                }),
                // Of a mix, which operation sent how many is not known.
                requests: after
                    .requests
                    .zip(before.requests)
                    .filter(|_| alone)
                    .map(|(now, then)| now.saturating_sub(then)),
                evictions: grown(|stats| stats.evictions)
                    .map(|evictions| if evicts == Some(operation) { evictions } else { 0 }),
                distinct_keys: result.distinct_keys.min(tally.counts.ops),
                top_key_ops: scaled(result.top_key_ops, part(tally.counts.ops, all_ops)),
                stored_misses: if measured.must_be_there { tally.counts.stored_misses } else { 0 },
                ..tally.counts
            };
            #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
            let ops_per_s = if wall_s > 0.0 { tally.succeeded as f64 / wall_s } else { 0.0 };
            let server_cpu = after.server_cpu_ns.zip(before.server_cpu_ns);
            let server_wait = after.server_wait_ns.zip(before.server_wait_ns);
            entries.push(Entry {
                operation,
                sample: Sample {
                    round: self.round,
                    position: u32::try_from(self.position).unwrap_or(u32::MAX),
                    complete: !stopped && !result.gave_up,
                    at_s: shortened(self.clock.elapsed().as_secs_f64() - phase_s),
                    counts,
                    wall_s: shortened(wall_s),
                    ops_per_s: shortened(ops_per_s),
                    // What CPU each operation of a mix took is not known.
                    client_cpu_s: alone.then_some(result.client_cpu_s),
                    client_busy: result.client_busy.map(shortened),
                    client_wait_s: result.client_wait_s.filter(|_| alone),
                    server_cpu_s: server_cpu
                        .filter(|_| alone)
                        .map(|(now, then)| seconds(now.saturating_sub(then))),
                    server_wait_s: server_wait
                        .filter(|_| alone)
                        .map(|(now, then)| shortened(seconds(now.saturating_sub(then)))),
                    rss_bytes: resident(target, started, after),
                    disk_bytes: disk_bytes(&target.info.data_paths),
                    held_bytes_peak: held.bytes,
                    held_items_peak: held.items,
                    barrier_s: unacknowledged(target, operation)
                        .then_some(result.barrier)
                        .flatten()
                        .map(|barrier| shortened(barrier.as_secs_f64())),
                    major_faults: after.major_faults.saturating_sub(before.major_faults),
                    wire: wire.filter(|_| alone),
                    // Of a mix, the one that reads has asked the tiers; with several of these, which asked is not known.
                    tiers: if alone || operation.reads() && n_reading == 1 {
                        tiers_between(before, after)
                    } else {
                        Vec::new()
                    },
                    latency_ns: figures(&tally.latency)
                        .map(|latency| Latency { mean: shortened(latency.mean), ..latency }),
                    stalls: Some(tally.stalls),
                    paced,
                    timeline: Some(tally.timeline(result.wall)),
                    errors_by_kind: tally.errors_by_kind.clone(),
                    first_error: tally.first_error.clone(),
                    wrong_examples: tally.wrong_examples.clone(),
                },
                latency: Packed::new(&tally.latency),
                paced: paced::pack(tally),
                bytes: tally.bytes,
                predicted_hit_ratio: phase.predicted_hit_ratio.filter(|_| operation.reads()),
            });
        }
    }
}

/// Whether an operation writes, and a target does not wait for what its writes come to.
fn unacknowledged(target: &Target, operation: Operation) -> bool {
    use Operation::{Delete, GetOrSet, Set, Touch};
    target.info.durability == Durability::Unacknowledged
        && matches!(operation, Set | GetOrSet | Delete | Touch)
}

/// A figure to seven digits: no measurement has more, and a result holds many thousand of them.
pub(super) fn shortened(figure: f64) -> f64 {
    format!("{figure:.6e}").parse().unwrap_or(figure)
}

/// A phase and what it brought.
struct Measured<'a> {
    phase: &'a PlannedPhase,
    result: &'a PhaseResult,
    before: Meter,
    after: Meter,
    /// What was set is there: no TTL can have ended it, and its set was acknowledged.
    must_be_there: bool,
}

/// So long after it was renewed last a key is gone for certain; [`u64::MAX`] where nothing that is stored has a TTL.
fn gone_after_ns(target: &Target, point: &PlannedPoint) -> u64 {
    let counts = target.capabilities.ttl && target.capabilities.stores;
    let ttl = target.set_options(point).ttl.filter(|_| counts);
    let ns = ttl.map(|ttl| u64::try_from(target.gone_after(ttl).as_nanos()).unwrap_or(u64::MAX));
    ns.unwrap_or(u64::MAX)
}

/// What a read-back found belongs to the operation that wrote, or to the first one that stands on a load; with it go all
/// evictions of the turn, which may explain what is absent.
fn note_read_back(entries: &mut [Entry], read: &ReadBack, evictions: Option<u64>) {
    if let Some(sample) = writer(entries) {
        sample.counts.evictions = evictions;
        note(sample, read);
    }
}

/// What was found of deleted keys belongs to the operation that deleted them.
fn note_deletes(entries: &mut [Entry], read: &ReadBack) {
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

/// The operation that stored what is there, or the first one that stands on a load.
pub(super) fn writer(entries: &mut [Entry]) -> Option<&mut Sample> {
    let wrote = |entry: &Entry| matches!(entry.operation, Operation::Set | Operation::GetOrSet);
    let at = entries.iter().rposition(wrote).unwrap_or(0);
    entries.get_mut(at).map(|entry| &mut entry.sample)
}

/// Makes sure that a load was one.
fn loaded(target: &Target, result: &PhaseResult) -> Result<()> {
    let (ops, failures) = result.tallies.failures();
    if part(failures, ops) > TOLERABLE_LOAD_FAILURES {
        return Err(given_up(target, result));
    }
    Ok(())
}

/// The error that a phase ended with, with how often it happened.
fn given_up(target: &Target, result: &PhaseResult) -> Error {
    let engine = target.planned.engine.scheme;
    let first = result.tallies.first_error().unwrap_or_default();
    // The error made of it names the engine again.
    let first = first.strip_prefix(&format!("{engine}: ")).unwrap_or(first);
    // Some servers end what they say with a full stop; here the sentence goes on.
    let first = first.trim_end_matches('.');
    let failures = result.tallies.failures().1;
    let failed =
        format!("{} failed", count(usize::try_from(failures).unwrap_or(usize::MAX), "operation"));
    let what = format!("{first} ({failed})");
    if result.tallies.only_full() {
        let first = first.strip_prefix("full: ").unwrap_or(first);
        let what = format!("{first} ({failed})");
        return Error::Full { engine, what };
    }
    Error::Unavailable { engine, what, source: None }
}

/// `some` of `all`, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn part(some: u64, all: u64) -> f64 {
    if all > 0 { some as f64 / all as f64 } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "a count times a share")]
fn scaled(count: u64, share: f64) -> u64 {
    whole(count as f64 * share)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count, which is never negative"
)]
fn whole(count: f64) -> u64 {
    count.round() as u64
}
