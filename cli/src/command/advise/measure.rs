//! The measurements of an advice: a first look at all candidates, and a comparison of those that may win.

use larder_analysis::advice::{Model, Wishes, contenders};
use larder_bench::{Event, Observer, Outcome, Permissions, Plan, Scenario, Sizes, compare};
use larder_store::ByteSize;
use larder_workload::{Capacity, Count, OnMiss, Sweep, WorkloadSpec};

use super::floors::Floors;
use super::results::Results;
use super::{Arguments, sizes};
use crate::catalog::CATALOG;
use crate::exit::Usage;
use crate::interrupt::Interrupts;
use crate::progress::Progress;

/// Rounds, of which six are the fewest that give intervals.
const ROUNDS: Count = Count(6);

/// What was measured.
pub(super) struct Measured {
    pub(super) results: Results,
    pub(super) is_interrupted: bool,
}

/// Looks at all candidates in one round, and compares those that may win for longer. There is no second comparison where one round
/// is asked for, or no candidate has a figure.
pub(super) fn measure(
    arguments: &Arguments,
    targets: &[String],
    model: &Model,
    wishes: &Wishes,
    interrupts: &Interrupts,
) -> anyhow::Result<Measured> {
    let plan_at = |targets: &[String], sizes: &[u64], rounds: Count| {
        plan(arguments, targets, sizes, rounds, model.most_hits())
    };
    let sizes = sizes::worth_measuring(&model.curve, wishes);
    let floors = Floors::find(
        sizes.iter().copied().max().unwrap_or(1),
        wishes.memory_bytes,
        |sizes| plan_at(targets, sizes, Count(1)),
        permissions(arguments),
        interrupts,
    )?;
    let measure_at = |targets: &[String], sizes: &[u64], rounds: Count| {
        let mut plan = plan_at(targets, sizes, rounds)?;
        floors.leave_out_larger(&mut plan);
        carry_out(arguments, &plan, interrupts)
    };
    let look = measure_at(targets, &floors.with_common(&sizes), Count(1))?;
    let mut is_interrupted = look.run.interrupted;
    let rounds = arguments.rounds.unwrap_or(ROUNDS);
    let left = contenders(&look.run, wishes);
    let mut comparison = None;
    if rounds.0 > 1 && !left.targets.is_empty() && !is_interrupted {
        let compared = measure_at(&left.targets, &left.capacities_bytes, rounds)?;
        is_interrupted = compared.run.interrupted;
        comparison = Some(compared);
    }
    interrupts.writing();
    Ok(Measured { results: Results { look, comparison }, is_interrupted })
}

/// A comparison of targets at each capacity, which replays the trace and stores what it misses. The limit of hits is that of the
/// model, which has read the trace already.
fn plan(
    arguments: &Arguments,
    targets: &[String],
    sizes: &[u64],
    rounds: Count,
    hit_limit: Option<f64>,
) -> anyhow::Result<Plan> {
    let trace = format!("trace:{}", arguments.trace);
    let sizes = sizes.iter().map(|bytes| Capacity::Bytes(ByteSize(*bytes)));
    let workload = WorkloadSpec {
        key_pattern: Some(trace.parse().map_err(Usage)?),
        data_size: arguments.data_size.clone().map(Sweep::from),
        on_miss: Some(OnMiss::Fill),
        capacity: Some(sizes.collect()),
        requests: arguments.requests,
        rounds: Some(rounds),
        ..WorkloadSpec::default()
    };
    let scenario = Scenario {
        name: "advise".into(),
        targets: targets.to_vec(),
        workload,
        sizes: Sizes::Advised { is_limited: arguments.memory.is_some() },
        hit_limit,
        ..Scenario::default()
    };
    Ok(Plan::new(&scenario, !arguments.targets.is_empty(), &CATALOG)?)
}

fn permissions(arguments: &Arguments) -> Permissions {
    Permissions { yes: arguments.yes, ..Permissions::default() }
}

fn carry_out(
    arguments: &Arguments,
    plan: &Plan,
    interrupts: &Interrupts,
) -> anyhow::Result<Outcome> {
    let permissions = permissions(arguments);
    let progress = WithoutVerdicts(Progress::new(arguments.quiet));
    let argv = super::super::masked_argv();
    let outcome = compare(plan, &CATALOG, argv, permissions, &progress, &interrupts.stop);
    drop(progress);
    Ok(outcome?)
}

/// The progress of a comparison that is no end in itself: an advice chooses without verdicts on pairs of targets, so it needs no more
/// rounds for them.
struct WithoutVerdicts(Progress);

impl Observer for WithoutVerdicts {
    fn notice(&self, event: Event<'_>) {
        if !matches!(event, Event::FewRounds { .. }) {
            self.0.notice(event);
        }
    }
}
