//! One target's turn at one point in one round: empty, the phases with read-back, empty.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_report::Operation;
use larder_report::figures::count;
use larder_store::{Durability, Error, Result};

use super::emptied::Left;
use super::entries::{Measured, note_deletes, note_read_back};
use super::executor::Executor;
use super::meter::{Meter, evicted};
use super::samples::Entry;
use super::shares::{part, whole};
use crate::measure::{
    Arrivals, Clocks, Coming, KeyState, PhasePlan, PhaseResult, ReadBack, nanoseconds,
};
use crate::memory;
use crate::plan::{PlannedPhase, PlannedPoint, phase_seed};
use crate::target::Target;
use crate::usage::trim_memory;

/// The amount of work in each phase.
#[derive(Debug, Clone, Copy)]
pub(super) enum Amount {
    /// All of it.
    Whole,
    /// The phase again and again for this time; a load is done once, and whole.
    For(Duration),
    /// As much as fits into this time, at most all; a load is done whole, or the phases behind it would read nothing.
    AtMost(Duration),
    /// As much as fits into this time, loads too.
    Trial(Duration),
    /// This number of operations of a measured phase, but no more than fit into this time; a load is done
    /// whole.
    Paced { operations: u64, limit: Duration },
}

/// When the operations of the phases that are measured begin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pacing {
    /// As the plan says.
    Planned,
    /// Each operation begins when the one before is over, whatever the plan says.
    Closed,
    /// This number of operations begin a second.
    At(f64),
}

/// A turn to be carried out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) point: &'a PlannedPoint,
    pub(super) round: u32,
    /// Counts every round of every point, so that no two turns share a version.
    pub(super) number: u32,
    /// Its place in the order of the round, from 1.
    pub(super) position: usize,
    pub(super) seed: u64,
    pub(super) amount: Amount,
    pub(super) pacing: Pacing,
    /// The clock was started with the run.
    pub(super) clock: Instant,
    pub(super) stop: &'a AtomicBool,
}

/// More operations a second than any program of another language gets done.
const GUEST_OPS_PER_S: f64 = 1e7;
/// A TTL must be so many times as long as the turn so far, so that no entry expires before it is read back.
const LASTING_TURNS: u32 = 10;
/// The share of a load that may fail while the phases behind it still count as a result.
const TOLERABLE_LOAD_FAILURES: f64 = 0.001;

impl Turn<'_> {
    /// Carries the turn out, and hands each measured operation to `keep`. A target that fails for good is lost. A
    /// target that only has no room for this point leaves it out.
    pub(super) fn run(&self, target: &mut Target, keep: &mut dyn FnMut(Entry)) {
        if target.refusal(self.point).is_some() {
            return;
        }
        let came_back = target.came_back();
        memory::begin_turn();
        target.account.begin();
        let mut entries = Vec::new();
        let mut state = KeyState::new(self.point.keys.count(), self.number);
        let replays_ttls = self.point.replays_ttls() && target.counts_ttls();
        if replays_ttls || gone_after_ns(target, self.point) < u64::MAX {
            state.follow_renewals();
        }
        if self.point.n_counters() > 0 {
            state.follow_numbers(self.point.connect_rate.is_none());
        }
        let result = self.phases(target, &state, &mut entries);
        if matches!(result, Err(Error::Timeout { .. })) && !target.is_silent() {
            target.answers(&self.point.keys);
        }
        // Even after a failure no entry of ours stays on an external server; a silent server is asked once more when
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
        executor.guest_pid().into_iter().for_each(|program| target.account.employ(program));
        let replays = !target.capabilities.stores;
        let (clocks, started) = (Clocks::now(), Meter::read(target, &executor));
        let began = clocks.monotonic;
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
            let Some(result) = executor.run(number, plan, state, replays, self.stop)? else {
                return Ok(());
            };
            match result.tallies.timeouts() {
                1 if result.gave_up => _ = target.answers(&point.keys),
                2.. if result.gave_up => target.note_silence(),
                _ => {}
            }
            let after = Meter::read(target, &executor);
            checkable &= !plan.work.races(executor.at_once());
            if phase.measured {
                // An unacknowledged write may be carried out after another thread has looked for its key.
                let must_be_there = !self.may_have_expired(target, began)
                    && target.info.durability != Durability::Unacknowledged;
                let ttls_hold = clocks.agree();
                let measured = Measured {
                    phase,
                    result: &result,
                    hit_limit: phase.hit_limit.and_then(|limit| {
                        limit.of(executor.at_once() == 1, target.capabilities.add)
                    }),
                    load: point.load,
                    idle: executor.idle(),
                    comers: result.comers.clone(),
                    before,
                    after,
                    must_be_there,
                    ttls_hold,
                    round: self.round,
                    position: self.position,
                    stopped: self.stop.load(Ordering::Relaxed),
                    ended: self.clock.elapsed(),
                };
                measured.add_to(entries, target, &started);
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

    /// The schedule of the operations, the same for every target of a round and another in the next; `None` in a
    /// closed loop.
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
        target: &'p Target,
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
        // A guest's operations are written down first: no more for a trial than a program of any language can carry
        // out.
        let requests = match self.amount {
            Amount::Trial(time) | Amount::AtMost(time)
                if target.guest.is_some() && time_limit == Some(time) =>
            {
                let most = time.as_secs_f64() * GUEST_OPS_PER_S;
                requests.map(|requests| requests.min(whole(most)))
            }
            _ => requests,
        };
        // No operation is drawn for a phase that is left out.
        let requests = if target.lack(phase).is_some() { Some(0) } else { requests };
        let of_many = phase.operations.iter().find(|operation| operation.is_of_many_keys());
        PhasePlan {
            work: &phase.work,
            source: self.point.key_source(&phase.work).for_store(&target.capabilities),
            operations: &phase.operations,
            requests,
            time_limit,
            arrivals: None,
            set_options: target.set_options(self.point),
            touch_ttl: self.point.set_options.ttl,
            gone_after_ns: gone_after_ns(target, self.point),
            ttl_slack_ns: nanoseconds(target.gone_after(Duration::ZERO)),
            sent_only: target.info.durability == Durability::Unacknowledged,
            load_time: self.point.load_time,
            keys_a_request: match of_many {
                Some(Operation::SetMany) => self.point.multiset,
                Some(_) => self.point.multiget,
                None => 1,
            },
            threads: self.point.threads,
            pipeline: self.point.load.map(|load| load.pipeline),
            coming: self
                .point
                .connect_rate
                .filter(|_| phase.measured)
                .map(|per_s| Coming { store: &*target.store, per_s }),
            tagged: target.tags(self.point),
            pin: self.point.pin,
            seed: phase_seed(self.seed, self.round, number),
            order: self.point.order(),
        }
    }

    /// Reads back every write that was acknowledged since the turn began. Nothing is read back where a TTL may pass
    /// before its entry is read, or where the turn was cut short.
    fn read_back(
        &self,
        target: &Target,
        state: &KeyState,
        executor: &mut Executor<'_>,
        began: Instant,
    ) -> Result<ReadBack> {
        if self.may_have_expired(target, began) || self.is_trial() {
            return Ok(ReadBack::default());
        }
        executor.read_back(state, target.set_options(self.point), self.stop)
    }

    /// Whether the TTL of an entry that was set since the turn began may have passed, or may pass while the entry is
    /// looked for. A server whose clock has steps may end a TTL a step early: memcached's `1` ends with its second.
    fn may_have_expired(&self, target: &Target, began: Instant) -> bool {
        let step = target.capabilities.ttl_resolution;
        let ttl = self.point.ttls().min().map(|ttl| ttl.saturating_sub(step));
        ttl.is_some_and(|ttl| ttl < LASTING_TURNS * began.elapsed())
    }

    fn is_trial(&self) -> bool {
        matches!(self.amount, Amount::Trial(_))
    }
}

/// The time after its last renewal when a key is gone for certain; [`u64::MAX`] where the workload has no TTL.
fn gone_after_ns(target: &Target, point: &PlannedPoint) -> u64 {
    let ttl = point.set_options.ttl.filter(|_| target.counts_ttls());
    ttl.map_or(u64::MAX, |ttl| nanoseconds(target.gone_after(ttl)))
}

/// Makes sure that a load has stored its keys.
fn loaded(target: &Target, result: &PhaseResult) -> Result<()> {
    let (ops, failures) = result.tallies.failures();
    if part(failures, ops) > TOLERABLE_LOAD_FAILURES {
        return Err(given_up(target, result));
    }
    Ok(())
}

/// The error with which a phase ended, and how often operations failed.
fn given_up(target: &Target, result: &PhaseResult) -> Error {
    let engine = target.planned.engine.scheme;
    let first = result.tallies.first_error().unwrap_or_default();
    // The new error names the engine again.
    let first = first.strip_prefix(&format!("{engine}: ")).unwrap_or(first);
    // Some servers end a message with a full stop; here the sentence goes on.
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
