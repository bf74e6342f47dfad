//! What a run says of one target with one capacity.

use std::collections::BTreeSet;

use larder_report::{
    CAPACITY, Cell, Operation, PointValue, Row, Run, Standing, Target, groups, held_above, is_shown,
};
use serde::{Deserialize, Serialize};

use super::Wishes;

/// A target with a capacity, and its figures. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The URL of the target.
    pub target: String,
    /// Its name in reports.
    pub name: String,
    /// The places from which its entries can be reached: `process`, `host` or `network`.
    pub reach: String,
    /// The capacity that it was given, in bytes.
    pub capacity_bytes: u64,
    /// The room that it took, in bytes: its capacity, or what it was seen to hold beyond it.
    #[serde(default)]
    pub size_bytes: u64,
    /// The rounds behind its figures: one where a first look has ruled it out.
    pub rounds: u32,
    /// The share of the reads that hit, 0 to 1.
    pub hit_ratio: f64,
    /// The least and the greatest hit ratio of a round.
    pub hit_ratio_of_rounds: [f64; 2],
    /// The longest time of 99 % of the hits; `None` with too few hits.
    pub p99_ns: Option<f64>,
    /// Its 95 % interval; `None` with fewer than six rounds.
    pub p99_ns_ci95: Option<[f64; 2]>,
    /// The time of a request, hit or miss, with the set that follows a miss.
    pub request_ns: f64,
    /// Its 95 % interval; `None` with fewer than six rounds.
    pub request_ns_ci95: Option<[f64; 2]>,
    /// The time of a request with what a miss costs beyond the cache; `None` without such a cost.
    pub with_misses_ns: Option<f64>,
    /// Its 95 % interval, which is that of `request_ns`; `None` with fewer than six rounds.
    pub with_misses_ns_ci95: Option<[f64; 2]>,
}

/// A target with a capacity, whose figures a check has found to be no result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Struck {
    /// Its name in reports.
    pub(super) name: String,
    /// The URL of the target.
    pub(super) target: String,
    /// The places from which its entries can be reached.
    pub(super) reach: String,
    /// The capacity that it was given, in bytes.
    pub(super) capacity_bytes: u64,
    /// The reason, in a few words: the names of checks.
    pub(super) why: String,
}

/// What a run says of its targets at their capacities, by target and rising capacity.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) candidates: Vec<Candidate>,
    pub(super) struck: Vec<Struck>,
}

/// The capacity of a cell, in bytes.
fn capacity_of(cell: &Cell) -> Option<u64> {
    match cell.point.get(CAPACITY)? {
        PointValue::Number(bytes) => Some(*bytes),
        PointValue::Text(_) => None,
    }
}

impl Candidate {
    /// The figures of a cell; `None` where it has none.
    fn new(run: &Run, target: &Target, cell: &Cell, wishes: &Wishes) -> Option<Self> {
        let capacity_bytes = capacity_of(cell)?;
        let held = held_above(run, cell).map_or(0, |above| above.held_bytes);
        let hit_ratio = cell.hit_ratio()?;
        let rounds = cell.samples.iter().filter(|sample| sample.complete);
        let ratios = rounds.filter_map(|sample| {
            let answered = sample.counts.hits + sample.counts.misses;
            (answered > 0).then(|| ratio(sample.counts.hits, answered))
        });
        let [least, most] =
            ratios.fold([hit_ratio; 2], |[least, most], ratio| [least.min(ratio), most.max(ratio)]);
        let time = |per_second: f64| f64::from(cell.workers) * 1e9 / per_second;
        let request_ns = cell.answered_per_s.filter(|rate| *rate > 0.0).map(time)?;
        let latency = cell.latency_ns.filter(|_| is_shown(cell, 0.99));
        let candidate = Self {
            target: target.url.clone(),
            name: target.name.clone(),
            reach: target.reach.clone().unwrap_or_default(),
            capacity_bytes,
            size_bytes: capacity_bytes.max(held),
            rounds: cell.rounds,
            hit_ratio,
            hit_ratio_of_rounds: [least, most],
            p99_ns: latency.map(|latency| as_f64(latency.p99)),
            p99_ns_ci95: cell.latency_ns_ci95.filter(|_| latency.is_some()).map(|it| it.p99),
            request_ns,
            request_ns_ci95: cell.answered_per_s_ci95.map(|[low, high]| [time(high), time(low)]),
            with_misses_ns: None,
            with_misses_ns_ci95: None,
        };
        Some(candidate.with_cost(wishes.cost_of_miss_ns))
    }

    /// Whether any read hit. One that answers nothing is never worth its room.
    pub(super) fn hits(&self) -> bool {
        self.hit_ratio > 0.0
    }

    /// The same candidate where a miss costs this much beyond the cache, in nanoseconds.
    pub(super) fn with_cost(&self, cost: Option<f64>) -> Self {
        let with_misses = |time: f64| cost.map(|cost| time + (1.0 - self.hit_ratio) * cost);
        let interval = self
            .request_ns_ci95
            .and_then(|[low, high]| Some([with_misses(low)?, with_misses(high)?]));
        Self {
            with_misses_ns: with_misses(self.request_ns),
            with_misses_ns_ci95: interval,
            ..self.clone()
        }
    }
}

/// All candidates of a run. The ranking of the reports decides which figures are results, so that both agree.
pub(super) fn measured(run: &Run, wishes: &Wishes) -> Measured {
    let groups = groups(run);
    let rows: Vec<&Row<'_>> = groups
        .iter()
        .filter(|group| group.operation == Operation::GetOrSet)
        .flat_map(|group| &group.rows)
        .collect();
    let mut measured = Measured::default();
    for target in run.targets.iter().filter(|target| target.stores == Some(true)) {
        let mut own: Vec<&Row<'_>> =
            rows.iter().copied().filter(|row| row.cell.target == target.url).collect();
        own.sort_by_key(|row| capacity_of(row.cell));
        for row in own {
            match why_struck(run, row) {
                Some(why) => measured.struck.extend(struck(target, row.cell, why)),
                None if row.cell.reason.is_some() => {}
                None => measured.candidates.extend(Candidate::new(run, target, row.cell, wishes)),
            }
        }
    }
    measured
}

/// The reason why figures are no result, in a few words. A cell without a hit has no rate, and so no place in a ranking.
fn why_struck(run: &Run, row: &Row<'_>) -> Option<String> {
    if let Standing::Withheld(why) = &row.standing {
        return Some(why.clone());
    }
    let against = run.checks.iter().filter(|check| check.disqualifies(row.cell));
    let ids: BTreeSet<&str> = against.map(|check| check.id.as_str()).collect();
    (!ids.is_empty()).then(|| ids.into_iter().collect::<Vec<_>>().join(", "))
}

fn struck(target: &Target, cell: &Cell, why: String) -> Option<Struck> {
    Some(Struck {
        name: target.name.clone(),
        target: target.url.clone(),
        reach: target.reach.clone().unwrap_or_default(),
        capacity_bytes: capacity_of(cell)?,
        why,
    })
}

/// A part of a whole, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss, reason = "a time for people")]
fn as_f64(ns: u64) -> f64 {
    ns as f64
}
