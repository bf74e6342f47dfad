//! An estimate of the time and room of a plan, for `--dry-run`: each target is opened and works for a moment.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use larder_store::{ByteSize, Catalog};

use super::feasible::{self, Footprint, footprint};
use super::few_rounds::few_rounds;
use super::search;
use super::turn::{Amount, Pacing, Turn};
use super::{Permissions, TargetSlot, provision};
use crate::error::Result;
use crate::memory;
use crate::observer::Observer;
use crate::plan::{Plan, PlannedPhase, PlannedPoint, PlannedTarget};
use crate::target::Target;

/// The time of a trial, for each phase.
const TRIAL: Duration = Duration::from_millis(200);

/// The estimate of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The target's name.
    pub target: String,
    /// Time of all its rounds; `None` where nothing was tried, because the server is external.
    pub time: Option<Duration>,
    /// Memory at most, in bytes.
    pub memory_bytes: u64,
    /// Disk at most, in bytes.
    pub disk_bytes: u64,
    /// The reason why the target cannot run, or not at every point.
    pub reason: Option<String>,
}

/// Opens each target, tries a little, and estimates the time and room of the whole plan. Leaves nothing behind; a
/// server that Larder did not start gets only the keys of the probe. The second result warns where the rounds are too
/// few for a verdict.
pub fn estimate(
    plan: &Plan,
    catalog: &Catalog,
    permissions: Permissions,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<(Vec<Estimate>, Option<String>)> {
    memory::begin(plan)?;
    let slots = provision(plan, catalog, permissions, observer, stop)?;
    feasible::check(plan, &slots, permissions)?;
    let few = few_rounds(plan, &slots);
    let estimates = slots.into_iter().map(|slot| match slot {
        TargetSlot::Open(mut target) => of_target(plan, &mut target, stop),
        TargetSlot::Closed(planned, reason) => Estimate {
            target: named(&planned),
            time: None,
            memory_bytes: 0,
            disk_bytes: 0,
            reason: Some(reason),
        },
    });
    Ok((estimates.collect(), few))
}

fn of_target(plan: &Plan, target: &mut Target, stop: &AtomicBool) -> Estimate {
    let Footprint { memory, disk } = footprint(plan, target);
    let mut reason = None;
    let mut time = Some(Duration::ZERO);
    let planned = target.planned.clone();
    for (number, point) in (0..).zip(plan.points_of(&planned)) {
        if let Some((_, refusal)) = target.refusal(point) {
            reason = Some(refusal);
        } else if target.planned.is_external() {
            time = None;
        } else {
            let turn = trial(plan, point, number, target, stop);
            time = time.map(|time| time + turn * plan.own_rounds());
            // Only a trial shows that a target has no room.
            reason = reason.or_else(|| target.refusal(point).map(|(_, refusal)| refusal));
        }
    }
    Estimate {
        target: named(&target.planned),
        time,
        memory_bytes: memory,
        disk_bytes: disk,
        reason: target.lost.as_ref().map(|lost| lost.reason.clone()).or(reason),
    }
}

/// The name of a target, with its capacity where it is opened with several capacities.
fn named(planned: &PlannedTarget) -> String {
    match planned.capacity {
        Some(capacity) => format!("{} at {}", planned.name, ByteSize(capacity)),
        None => planned.name.clone(),
    }
}

/// The time of a whole turn, from a short one.
fn trial(
    plan: &Plan,
    point: &PlannedPoint,
    number: u32,
    target: &mut Target,
    stop: &AtomicBool,
) -> Duration {
    let turn = Turn {
        point,
        round: 1,
        number,
        position: 1,
        seed: plan.seed,
        amount: Amount::Trial(TRIAL),
        pacing: Pacing::Closed,
        clock: Instant::now(),
        stop,
    };
    let mut entries = Vec::new();
    turn.run(target, &mut |entry| entries.push(entry));
    let measured: f64 = entries.iter().map(|entry| entry.sample.wall_s).sum();
    let mut seconds = 0.0;
    for phase in point.phases.iter().filter(|phase| phase.measured) {
        // Operations that are mixed or joined share the requests.
        let own = || entries.iter().filter(|entry| phase.operations.contains(&entry.operation));
        let wall_s: f64 = own().map(|entry| entry.sample.wall_s).sum();
        let ops: u64 = own().map(|entry| entry.sample.counts.ops).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let each_s = wall_s / ops.max(1) as f64;
        // In an open loop, a target is not done before the last operation is due.
        let due_s = point.pace.as_ref().map_or(0.0, |pace| pace.lasts(phase.requests));
        seconds += whole(phase, each_s).max(due_s);
    }
    // Work around the measured loop (emptying, loading, reading back) takes its time once a turn.
    let around = (turn.clock.elapsed().as_secs_f64() - measured).max(0.0);
    let searched = point.search().map_or(0.0, |bound| search::lasts(bound, &entries, around));
    Duration::from_secs_f64(seconds + around + searched)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn whole(phase: &PlannedPhase, each_s: f64) -> f64 {
    match (phase.requests, phase.time_limit) {
        (Some(requests), _) => requests as f64 * each_s,
        (None, Some(limit)) => limit.as_secs_f64(),
        (None, None) => 0.0,
    }
}
