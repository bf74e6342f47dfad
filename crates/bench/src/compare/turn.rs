//! One target's turn at one point in one round: empty, the phases with read-back, empty.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_report::{Counts, Operation, Sample};
use larder_store::{Error, Result, Session, Stats};

use super::book::Entry;
use crate::measure::{
    KeyState, Packed, PhasePlan, PhaseResult, ReadBack, disk_bytes, figures, major_faults,
    own_rss_bytes, read_back, run_phase, seconds, server_cpu_ns, server_rss_bytes, trim_memory,
};
use crate::plan::{PlannedPhase, PlannedPoint};
use crate::target::Target;

/// How much of each phase is done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Amount {
    /// All of it.
    Whole,
    /// As much as fits into this time, at most all.
    Time(Duration),
    /// At most so many operations.
    Operations(u64),
}

/// A turn to be carried out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) point: &'a PlannedPoint,
    pub(super) round: u32,
    /// Its place in the order of the round, from 1.
    pub(super) position: usize,
    pub(super) seed: u64,
    pub(super) amount: Amount,
    /// Started with the run.
    pub(super) clock: Instant,
    pub(super) stop: &'a AtomicBool,
}

/// What a target has used up to a moment.
struct Meter {
    stats: Option<Stats>,
    server_cpu_ns: Option<u64>,
    major_faults: u64,
}

impl Turn<'_> {
    /// Carries the turn out. Each measured operation is handed to `keep`; a target that fails for good is lost.
    pub(super) fn run(&self, target: &mut Target, keep: &mut dyn FnMut(Entry)) {
        if target.refusal(self.point).is_some() {
            return;
        }
        let result = self.phases(target, keep);
        // Even after a failure nothing of ours stays on a server that is not ours.
        let emptied = target.empty(&self.point.keys);
        if let Err(error) = result.and(emptied) {
            target.lose(&error);
        }
    }

    fn phases(&self, target: &Target, keep: &mut dyn FnMut(Entry)) -> Result<()> {
        let point = self.point;
        target.empty(&point.keys)?;
        trim_memory();
        let rss_before = own_rss_bytes();
        let state = KeyState::new(point.keys.count(), self.round);
        let turn_started = Meter::read(target);
        let mut sessions = target.sessions(point.threads)?;
        let mut loaded = ReadBack::default();
        for (number, phase) in point.phases.iter().enumerate() {
            let before = Meter::read(target);
            let at_s = self.clock.elapsed().as_secs_f64();
            let plan = self.phase_plan(phase, number);
            let replays = !target.capabilities.stores;
            let result = run_phase(
                &plan,
                &point.keys,
                &point.values,
                &state,
                &mut sessions,
                replays,
                self.stop,
            );
            let after = Meter::read(target);
            let usage = Usage {
                rss_bytes: match target.info.server_pids.as_slice() {
                    [] if target.planned.is_external() => None,
                    [] => {
                        own_rss_bytes().zip(rss_before).map(|(now, then)| now.saturating_sub(then))
                    }
                    pids => server_rss_bytes(pids),
                },
                disk_bytes: disk_bytes(&target.info.data_paths),
            };
            let mut read = if writes(phase) && !replays {
                self.read_back(phase, &state, &mut sessions, &result)?
            } else {
                ReadBack::default()
            };
            if phase.measured {
                // What was found after the load belongs to the first figures that stand on it.
                read.add(std::mem::take(&mut loaded));
                let evictions = evicted(&turn_started, &after);
                self.keep(phase, &result, at_s, &before, &after, usage, (read, evictions), keep);
            } else {
                loaded = read;
            }
            if result.gave_up {
                return Err(given_up(target, &result));
            }
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    fn phase_plan<'p>(&'p self, phase: &'p PlannedPhase, number: usize) -> PhasePlan<'p> {
        let fewer = |limit: u64| Some(phase.requests.map_or(limit, |requests| requests.min(limit)));
        let (requests, time_limit) = match self.amount {
            // A load is done whole, or the phases behind it would read what is not there.
            _ if !phase.measured => (phase.requests, phase.time_limit),
            Amount::Whole => (phase.requests, phase.time_limit),
            Amount::Time(time) => (phase.requests, Some(time)),
            Amount::Operations(limit) => (fewer(limit), None),
        };
        PhasePlan {
            work: self.point.work(phase),
            operations: &phase.operations,
            requests,
            time_limit,
            set_options: self.point.set_options,
            touch_ttl: self.point.set_options.ttl,
            multiget: if phase.operations.contains(&Operation::GetMany) {
                self.point.multiget
            } else {
                1
            },
            pin: self.point.pin,
            // The same draws for every target of a round, other ones in the next.
            seed: self.seed
                ^ u64::from(self.round).rotate_left(32)
                ^ (number as u64).rotate_left(48),
            order: self.point.order(),
        }
    }

    /// What was acknowledged must be there, unless the workload itself may have taken it away again.
    fn read_back(
        &self,
        phase: &PlannedPhase,
        state: &KeyState,
        sessions: &mut [Box<dyn Session>],
        result: &PhaseResult,
    ) -> Result<ReadBack> {
        let expires = self.point.set_options.ttl.is_some();
        let races = self.point.work(phase).races(self.point.threads);
        if result.gave_up || expires || races || matches!(self.amount, Amount::Operations(_)) {
            return Ok(ReadBack::default());
        }
        let session = sessions.first_mut().expect("a plan has at least one thread");
        read_back(&self.point.keys, &self.point.values, state, session.as_mut())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one sample, put together here only"
    )]
    fn keep(
        &self,
        phase: &PlannedPhase,
        result: &PhaseResult,
        at_s: f64,
        before: &Meter,
        after: &Meter,
        usage: Usage,
        (read, evictions): (ReadBack, Option<u64>),
        keep: &mut dyn FnMut(Entry),
    ) {
        let stopped = self.stop.load(Ordering::Relaxed);
        let grown = |of: fn(&Stats) -> Option<u64>| {
            let (now, then) = (of(after.stats.as_ref()?)?, of(before.stats.as_ref()?)?);
            Some(now.saturating_sub(then))
        };
        let all: u64 = result.tallies.iter().map(|(_, tally)| tally.counts.ops).sum();
        for (operation, tally) in result.tallies.iter() {
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            let share = if all > 0 { tally.counts.ops as f64 / all as f64 } else { 0.0 };
            let wrote = matches!(operation, Operation::Set | Operation::GetOrSet);
            let read =
                if wrote || phase.operations.len() == 1 { read } else { ReadBack::default() };
            let counts = Counts {
                connections: grown(|stats| stats.connections),
                evictions,
                distinct_keys: result.distinct_keys,
                top_key_ops: result.top_key_ops,
                read_back: read.keys,
                read_back_absent: read.absent,
                read_back_wrong: read.wrong,
                ..tally.counts
            };
            #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
            let ops_per_s =
                if result.wall_s > 0.0 { tally.succeeded as f64 / result.wall_s } else { 0.0 };
            let server_cpu_ns = after
                .server_cpu_ns
                .zip(before.server_cpu_ns)
                .map(|(now, then)| now.saturating_sub(then));
            keep(Entry {
                operation,
                sample: Sample {
                    round: self.round,
                    position: u32::try_from(self.position).unwrap_or(u32::MAX),
                    at_s,
                    counts,
                    wall_s: result.wall_s,
                    ops_per_s,
                    client_cpu_s: Some(result.client_cpu_s * share),
                    server_cpu_s: server_cpu_ns.map(|ns| seconds(ns) * share),
                    rss_bytes: usage.rss_bytes,
                    disk_bytes: usage.disk_bytes,
                    major_faults: after.major_faults - before.major_faults,
                    latency_ns: figures(&tally.latency),
                    errors_by_kind: tally.errors_by_kind.clone(),
                },
                latency: Packed::new(&tally.latency),
                bytes: tally.bytes,
                share,
                predicted_hit_ratio: phase.predicted_hit_ratio,
                whole: !stopped && !result.gave_up,
            });
        }
    }
}

/// What a target takes at the end of a phase.
#[derive(Clone, Copy)]
struct Usage {
    rss_bytes: Option<u64>,
    disk_bytes: Option<u64>,
}

impl Meter {
    fn read(target: &Target) -> Self {
        Self {
            // A server that has gone is noticed by the operations; here it only makes counters unknown.
            stats: target.store.stats().ok(),
            server_cpu_ns: server_cpu_ns(&target.info.server_pids),
            major_faults: major_faults(),
        }
    }
}

fn evicted(before: &Meter, after: &Meter) -> Option<u64> {
    let (now, then) = (after.stats?.evictions?, before.stats?.evictions?);
    Some(now.saturating_sub(then))
}

fn writes(phase: &PlannedPhase) -> bool {
    phase
        .operations
        .iter()
        .any(|operation| matches!(operation, Operation::Set | Operation::GetOrSet))
}

/// The error that a phase ended with, with how often it happened.
fn given_up(target: &Target, result: &PhaseResult) -> Error {
    let engine = target.planned.engine.scheme;
    let first = result.tallies.iter().find_map(|(_, tally)| tally.first_error.clone());
    let first = first.unwrap_or_default();
    // The error made of it names the engine again.
    let first = first.strip_prefix(&format!("{engine}: ")).unwrap_or(&first);
    let failures: u64 = result
        .tallies
        .iter()
        .map(|(_, tally)| tally.counts.errors + tally.counts.failed_fills)
        .sum();
    Error::Unavailable {
        engine,
        what: format!("{first} ({failures} operations failed)"),
        source: None,
    }
}
