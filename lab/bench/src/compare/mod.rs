//! A plan carried out: provision, probe, floor, rounds interleaved over the targets, record.

mod collector;
mod comparisons;
mod connections;
mod counters;
mod deferred_work;
mod driven;
mod early;
mod emptied;
mod entries;
mod estimate;
mod executor;
mod external;
mod feasible;
mod few_rounds;
mod floor;
mod log_path;
mod merge;
mod meter;
mod paced;
mod record;
mod rounds;
mod samples;
mod search;
mod shares;
mod shrink_to_time;
mod steady;
mod stopping;
mod ttl;
mod turn;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use larder_report::{Operation, Point, ReasonKind, Run};
use larder_store::{Catalog, Error, Ownership};

pub use estimate::{Estimate, estimate};
pub use feasible::refuse_too_large;
pub(crate) use log_path::{LATENCIES, log_path};
pub use merge::{Sliced, is_of_one_plan, merge};
pub use shrink_to_time::fit;

use crate::error::Result;
use crate::measure::Packed;
use crate::memory;
use crate::observer::{Event, Observer, Silent};
use crate::plan::{Plan, PlannedPoint, PlannedTarget};
use crate::target::{Beside, Target, is_too_small, too_small};
use crate::usage::{Account, Sampler, sum_by_target};
use early::EarlyChecks;
use few_rounds::few_rounds;
use floor::measure_floors;
use record::Recorder;
use rounds::Rounds;
use samples::Samples;
use stopping::StoppingRule;
use ttl::Trials;
use turn::Amount;

/// The outcome of a comparison.
#[derive(Debug)]
pub struct Outcome {
    /// The results.
    pub run: Run,
    /// The latencies behind the results, a histogram for each cell and round.
    pub histograms: Vec<CellHistograms>,
    /// Whether a target that was typed could not run, or was lost on the way.
    pub failed: bool,
}

/// The latencies of one cell, round by round, in nanoseconds.
#[derive(Debug)]
pub struct CellHistograms {
    /// The `url` of its target.
    pub target: String,
    /// The point of the sweep.
    pub point: Point,
    /// The operation that was carried out.
    pub operation: Operation,
    /// Start in seconds from the start of the run, length in seconds, latencies.
    pub rounds: Vec<(f64, f64, Packed)>,
    /// The times of an operation that the histograms hold.
    pub times: Times,
}

/// The instant from which the time of an operation is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// The time for a caller: in an open loop, from the instant at which the operation was due.
    Latency,
    /// The service time: in an open loop, from the instant at which the operation really began.
    Service,
    /// Not a time of the operation: until a connection that came and went was there.
    Connect,
    /// Not a time of the operation: until the first answer to such a connection.
    FirstAnswer,
    /// Not a time of the operation: in an open loop, how late an operation began that only the schedule kept waiting.
    Lag,
}

impl Times {
    /// All times; a closed loop in which no connections come and go has the first only.
    pub const ALL: [Self; 5] =
        [Self::Latency, Self::Service, Self::Lag, Self::Connect, Self::FirstAnswer];
}

/// The permissions that the user has given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Permissions {
    /// Allows a run to fill a good part of a server that Larder did not start, or nearly all memory or disk.
    pub yes: bool,
    /// Allows a run to need more memory than there is: the scenario repeats an article in its machine's memory, and a
    /// control group limits the run to that.
    pub within_limit: bool,
}

/// A target of a plan, open or not.
#[derive(Debug)]
pub(crate) enum TargetSlot {
    Open(Box<Target>),
    /// A target that cannot run, and why.
    Closed(Box<PlannedTarget>, String),
}

impl TargetSlot {
    pub(crate) fn planned(&self) -> &PlannedTarget {
        match self {
            Self::Open(target) => &target.planned,
            Self::Closed(planned, _) => planned,
        }
    }

    /// The number of threads or processes that work on the target at once at a point.
    pub(crate) fn workers(&self, point: &PlannedPoint) -> u32 {
        if self.planned().is_guest() { point.guest_processes() } else { point.threads }
    }

    /// The target, where a point can be measured on it; otherwise the reason.
    fn at(&self, point: &PlannedPoint) -> std::result::Result<&Target, (ReasonKind, String)> {
        match self {
            Self::Open(target) => target.refusal(point).map_or(Ok(&**target), Err),
            Self::Closed(_, reason) => Err((ReasonKind::Unavailable, reason.clone())),
        }
    }

    fn account(&self) -> Option<Arc<Account>> {
        match self {
            Self::Open(target) => Some(Arc::clone(&target.account)),
            Self::Closed(..) => None,
        }
    }

    /// The capacity of the target by its own account, in bytes.
    fn capacity_bytes(&self) -> Option<u64> {
        match self {
            Self::Open(target) => target.capacity_bytes,
            Self::Closed(..) => None,
        }
    }

    /// Whether the target has rounds at a point, as far as is known.
    fn is_measured(&self, point: &PlannedPoint) -> bool {
        match self {
            Self::Open(target) => {
                point.is_for(&target.planned)
                    && target.lost.is_none()
                    && target.refusal(point).is_none()
            }
            Self::Closed(..) => false,
        }
    }

    /// Whether the target keeps its entries, so that it is compared with others.
    fn stores(&self) -> bool {
        matches!(self, Self::Open(target) if target.capabilities.stores)
    }

    fn open(&self) -> Option<&Target> {
        match self {
            Self::Open(target) => Some(target),
            Self::Closed(..) => None,
        }
    }

    fn open_mut(&mut self) -> Option<&mut Target> {
        match self {
            Self::Open(target) if target.lost.is_none() => Some(target),
            _ => None,
        }
    }
}

/// Carries out a plan. `argv` is recorded, so its passwords must be masked. `stop` ends the run early, with the
/// measurements until then.
pub fn compare(
    plan: &Plan,
    catalog: &Catalog,
    argv: Vec<String>,
    permissions: Permissions,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Outcome> {
    memory::begin(plan)?;
    let started = jiff::Timestamp::now();
    let clock = Instant::now();
    let environment = crate::environment();
    let mut slots = provision(plan, catalog, permissions, observer, stop)?;
    feasible::check(plan, &slots, permissions)?;
    if let Some(text) = few_rounds(plan, &slots) {
        observer.notice(Event::FewRounds { text: &text });
    }
    observer.notice(Event::Floor);
    let mut trials = Trials::begin(plan, &mut slots, stop);
    let floors = trials.age_during(|| measure_floors(plan, catalog, stop));
    trials.end(&mut slots, stop);
    let recorder = Recorder { plan, environment, floors };
    let measured = Rounds {
        plan,
        numbers: 1..=plan.most_rounds(),
        amount: Amount::Whole,
        clock,
        observer,
        stop,
    };
    if let Some(time) = plan.warmup {
        observer.notice(Event::WarmUp);
        let (amount, observer) = (Amount::For(time), &Silent);
        let warmup = Rounds { numbers: 0..=0, amount, observer, ..measured };
        warmup.run(
            &mut slots,
            &mut Samples::new(),
            &mut StoppingRule::new(plan),
            &mut |_, _, _| (),
        );
        tell_lost(&slots, observer);
        // Work that a start leaves behind is over by now, or shows again in the rounds.
        for target in slots.iter_mut().filter_map(TargetSlot::open_mut) {
            target.beside = Beside::default();
        }
    }
    observer.notice(Event::Started { plan });
    let (mut samples, mut early) = (Samples::new(), EarlyChecks::new(observer));
    let sampler = Sampler::start(slots.iter().map(TargetSlot::account).collect(), clock);
    measured.run(
        &mut slots,
        &mut samples,
        &mut StoppingRule::new(plan),
        &mut |at, slots, samples| {
            early.check_point(&recorder, at, slots, samples);
        },
    );
    let usage = sampler.map(Sampler::stop).unwrap_or_default();
    let usage = sum_by_target(usage, |slot| place_of(&slots, slot));
    observer.notice(Event::Ended);
    tidy_up(plan, &mut slots);
    let interrupted = stop.load(Ordering::Relaxed);
    let failed = slots.iter().any(|slot| match slot {
        TargetSlot::Open(target) => {
            let is_out = target.lost.is_some() || target.left_out_of(plan).is_some();
            target.planned.typed && is_out
        }
        // A target that cannot be as small as it should is no failure while it opens with another capacity.
        TargetSlot::Closed(planned, _) => planned.typed && !opens_elsewhere(&slots, planned),
    });
    let outcome = recorder.record(&slots, &samples, usage, interrupted);
    let run = Run {
        argv,
        started: started.to_string(),
        duration_s: clock.elapsed().as_secs_f64(),
        ..outcome.0
    };
    close(&slots, observer);
    Ok(Outcome { run, histograms: outcome.1, failed })
}

/// Closes the targets in order, except those that were lost before.
fn close(slots: &[TargetSlot], observer: &dyn Observer) {
    let open = slots.iter().filter_map(TargetSlot::open);
    for target in open.filter(|target| target.lost.is_none()) {
        if let Err(error) = target.store.close() {
            let (target, reason) = (target.planned.name.as_str(), &error.to_string());
            observer.notice(Event::NotClosed { target, reason });
        }
    }
}

/// The place of a slot's target in the run, which has each target once.
fn place_of(slots: &[TargetSlot], slot: u32) -> u32 {
    let names: BTreeSet<&str> =
        slots.iter().take(slot as usize + 1).map(|slot| slot.planned().name.as_str()).collect();
    // The slots of a target, one for each capacity, follow each other.
    u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
}

/// Whether a target is open with another capacity.
fn opens_elsewhere(slots: &[TargetSlot], planned: &PlannedTarget) -> bool {
    let is_it = |target: &Target| target.planned.name == planned.name;
    slots.iter().any(|slot| matches!(slot, TargetSlot::Open(target) if is_it(target)))
}

/// Tries again to remove the run's entries from external servers that were lost, because a server may be back. A
/// server that is gone keeps them: a cache until their TTL is over, a database until a store is opened there again.
fn tidy_up(plan: &Plan, slots: &mut [TargetSlot]) {
    for slot in slots {
        if let TargetSlot::Open(target) = slot
            && target.lost.is_some()
            && target.info.ownership == Ownership::External
        {
            target.tidy_up(plan);
        }
    }
}

/// Tells the observer which targets the warm-up has lost; the warm-up tells it nothing else.
fn tell_lost(slots: &[TargetSlot], observer: &dyn Observer) {
    for slot in slots {
        if let TargetSlot::Open(target) = slot
            && let Some(lost) = &target.lost
        {
            let target = &target.planned.name;
            observer.notice(Event::Lost { target, reason: &lost.reason });
        }
    }
}

/// Opens and probes every target that can be opened. A target that is missing here gets a reason. A target that is
/// written wrongly is an error, because it cannot run anywhere; so is a command of which no target can run.
fn provision(
    plan: &Plan,
    catalog: &Catalog,
    permissions: Permissions,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Vec<TargetSlot>> {
    connections::allow_files(plan)?;
    let mut slots = Vec::with_capacity(plan.targets.len());
    for planned in &plan.targets {
        if stop.load(Ordering::Relaxed) {
            let reason = "interrupted before it was opened";
            slots.push(TargetSlot::Closed(Box::new(planned.clone()), reason.into()));
            continue;
        }
        observer.notice(Event::Opening { target: &planned.name });
        memory::begin_turn();
        let opened = Target::open(planned, plan, catalog).and_then(|mut target| {
            // Nothing is tried on an external server before it is known to have room.
            let allowed = external::check(plan, &target, permissions);
            target.evicted.is_allowed = permissions.yes;
            if allowed.is_ok() {
                observer.notice(Event::Probing { target: &planned.name });
                target.probe(plan, stop)?;
                target.rest();
            }
            Ok((target, allowed))
        });
        match opened {
            Ok((target, allowed)) => {
                allowed?;
                if let Some(reason) = target.left_out_of(plan) {
                    observer.notice(Event::Unavailable { target: &planned.name, reason });
                }
                slots.push(TargetSlot::Open(Box::new(target)));
            }
            Err(
                error @ (Error::Full { .. }
                | Error::InvalidOptions { .. }
                | Error::SizeTooSmall { .. }
                | Error::Unavailable { .. }),
            ) if is_too_small(planned, plan, catalog) => {
                let reason = too_small(planned, &error, plan);
                slots.push(TargetSlot::Closed(Box::new(planned.clone()), reason));
            }
            Err(error) if error.is_usage() => return Err(error.into()),
            Err(error) => {
                let reason = memory::reason(&error, &[]);
                slots.push(TargetSlot::Closed(Box::new(planned.clone()), reason));
            }
        }
    }
    // Only now, because a run without any target ends with one line about all of them.
    let closed = slots.iter().filter_map(|slot| match slot {
        TargetSlot::Open(_) => None,
        TargetSlot::Closed(planned, reason) => Some((planned, reason)),
    });
    let is_any_open = slots.iter().any(|slot| slot.open().is_some());
    // A scenario names targets that a machine may lack, and a capacity may be too small for a target.
    let must_run = plan.targets.iter().all(|target| target.typed && target.capacity.is_none());
    if must_run && !is_any_open && !stop.load(Ordering::Relaxed) {
        let told = closed.map(|(planned, reason)| format!("{} cannot run: {reason}", planned.name));
        return Err(crate::Error::NoTarget(told.collect::<Vec<_>>().join("; and ")));
    }
    for (planned, reason) in closed.filter(|(planned, _)| planned.capacity.is_none()) {
        observer.notice(Event::Unavailable { target: &planned.name, reason });
    }
    connections::check(plan, &slots)?;
    Ok(slots)
}
