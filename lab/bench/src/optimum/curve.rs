//! The hit ratios of both models at each capacity of a run.

use larder_insight::{Optimum, lru_hits};
use larder_report::{HitCurve, HitRatios, Operation, Point};

use super::accesses::Accesses;
use crate::plan::{Plan, PlannedPhase, PlannedPoint};

/// The most operations of a round that the models follow: keys and futures take 10 bytes an operation.
const MOST_OPS: u64 = 100_000_000;
/// The models follow this many operations of all rounds together. In longer runs some rounds, at least one, stand for
/// all.
const ENOUGH_OPS: u64 = 50_000_000;

/// The hit ratios at capacities in which not everything fits, for every point at which misses are filled. `bounds`
/// returns the capacities of a point.
pub(crate) fn curves(
    plan: &Plan,
    rounds: u32,
    bounds: impl Fn(&PlannedPoint) -> Vec<u64>,
) -> Vec<HitCurve> {
    let mut curves: Vec<(HitCurve, &PlannedPoint)> = Vec::new();
    for planned in &plan.points {
        if filling_phase(planned).is_none() {
            continue;
        }
        let point = planned.without_capacity();
        let at = curves.iter().position(|(curve, _)| curve.point == point);
        let at = at.unwrap_or_else(|| {
            curves.push((empty(planned, point), planned));
            curves.len() - 1
        });
        let capacities = &mut curves[at].0.capacities;
        let unknown = |capacity_bytes| HitRatios { capacity_bytes, lru: 0.0, optimal: 0.0 };
        capacities.extend(bounds(planned).into_iter().map(unknown));
    }
    for (curve, planned) in &mut curves {
        curve.capacities.sort_by_key(|ratios| ratios.capacity_bytes);
        curve.capacities.dedup_by_key(|ratios| ratios.capacity_bytes);
        follow(curve, planned, plan, rounds);
    }
    let curves = curves.into_iter().map(|(curve, _)| curve);
    curves.filter(|curve| !curve.capacities.is_empty()).collect()
}

fn empty(planned: &PlannedPoint, point: Point) -> HitCurve {
    HitCurve {
        point,
        operation: Operation::GetOrSet,
        working_set_bytes: planned.working_set_bytes,
        rounds: 0,
        capacities: Vec::new(),
    }
}

/// The phase whose hits the models give, with its number. It is the only phase of a turn that begins with an empty
/// store, and has few enough operations to follow.
fn filling_phase(point: &PlannedPoint) -> Option<(usize, &PlannedPhase)> {
    let [phase] = &point.phases[..] else { return None };
    let is_followed = phase.measured
        && phase.fills_what_it_misses()
        && phase.requests.is_some_and(|requests| requests <= MOST_OPS);
    is_followed.then_some((0, phase))
}

/// Follows the operations of each round and takes the mean; a trace is the same in all rounds.
#[expect(clippy::cast_precision_loss, reason = "ratios for people")]
fn follow(curve: &mut HitCurve, planned: &PlannedPoint, plan: &Plan, rounds: u32) {
    let Some((number, phase)) = filling_phase(planned).filter(|_| !curve.capacities.is_empty())
    else {
        return;
    };
    let affordable = ENOUGH_OPS / phase.requests.unwrap_or(1).max(1);
    let own = |round: &u32| plan.carries_out(*round);
    let done = (1..=rounds).filter(own).count() as u64;
    let rounds = if phase.is_replayed() { 1 } else { done.min(affordable).max(1) };
    for round in (1..).filter(own).take(usize::try_from(rounds).unwrap_or(1)) {
        let accesses = Accesses::of(planned, number, phase, plan.seed, round);
        let optimum = Optimum::of(&accesses);
        let share = 1.0 / (accesses.reads().max(1) as f64 * rounds as f64);
        curve.rounds += 1;
        for ratios in &mut curve.capacities {
            let capacity = ratios.capacity_bytes;
            ratios.lru += lru_hits(&accesses, capacity) as f64 * share;
            ratios.optimal += optimum.hits(capacity) as f64 * share;
        }
    }
}
