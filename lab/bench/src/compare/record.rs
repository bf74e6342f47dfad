//! From the samples to the published result: the run as `run.json` has it.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_report::figures::count;
use larder_report::{
    Cell, Counts, Environment, Floor, HitCurve, Operation, Point, ReasonKind, Run, SCHEMA_VERSION,
    Target as TargetRecord, TierCounts, Usage,
};

use super::comparisons::comparisons;
use super::merge::add_observed;
use super::samples::{Entry, Samples};
use super::search::searches;
use super::shares::shortened;
use super::{CellHistograms, TargetSlot, Times};
use super::{collector, counters, driven, paced, steady, stopping, ttl};
use crate::article;
use crate::measure::{add_examples, curve, figures, merged, up_to};
use crate::optimum::curves;
use crate::plan::{Plan, PlannedPoint};
use larder_analysis::check;
use larder_analysis::statistics::{median, median_ci95, percentiles_ci95};

/// Makes a run of the samples, once the machine and the floors are known.
pub(super) struct Recorder<'a> {
    pub(super) plan: &'a Plan,
    pub(super) environment: Environment,
    pub(super) floors: Vec<Floor>,
}

impl Recorder<'_> {
    /// The run and its histograms, without the command line and the time, which only the caller knows.
    pub(super) fn record(
        &self,
        slots: &[TargetSlot],
        samples: &Samples,
        usage: Vec<Usage>,
        interrupted: bool,
    ) -> (Run, Vec<CellHistograms>) {
        let mut cells = Vec::new();
        let mut histograms = Vec::new();
        for (at, point) in self.plan.points.iter().enumerate() {
            for operation in point.measured_operations() {
                for (slot, of) in measured(slots, point) {
                    let entries = samples.entries(slot, at, operation);
                    let place = (of.planned().url.to_string(), &point.point, operation);
                    histograms.extend(logged(&place, entries));
                    let mut cell = cell(of, point, operation, entries, self.rounds(samples, at));
                    distribute(&mut cell, entries, self.plan.seed);
                    self.leave_out_floor(&mut cell, of);
                    cells.push(cell);
                }
            }
        }
        steady::examine(&mut cells);
        let mut run = Run { usage, ..self.run(slots, cells, interrupted) };
        run.hit_curves = self.hit_curves(slots, samples);
        run.searches = searches(self.plan, slots, samples);
        run.notes.extend(collector::note(&run));
        run.notes.extend(ttl::notes(self.plan, slots));
        run.notes.extend(counters::notes(self.plan, slots));
        run.checks = check::run_all(&run);
        (run.comparisons, run.not_compared) = comparisons(&run);
        run.rounds_ended = stopping::reached(self.plan, &run);
        run.article = article::judge(self.plan, &run);
        (run, histograms)
    }

    /// Subtracts the floor's memory from the memory of the process in which a target works, whether this one or a
    /// guest's. Threads and programs have buffers of their own, whatever they work on.
    fn leave_out_floor(&self, cell: &mut Cell, slot: &TargetSlot) {
        let TargetSlot::Open(target) = slot else { return };
        let is_here = target.info.server_pids.is_empty() || target.planned.has_tier_here;
        let is_here = is_here && target.capabilities.stores;
        let of_cell = |floor: &&Floor| {
            (&floor.point, floor.operation, floor.language.as_deref())
                == (&cell.point, cell.operation, target.language())
        };
        let floor = self.floors.iter().filter(|_| is_here).find(of_cell);
        let Some(own) = floor.and_then(|floor| floor.rss_bytes) else { return };
        cell.rss_bytes = cell.rss_bytes.and_then(|all| beyond(all, own));
        for sample in &mut cell.samples {
            sample.rss_bytes = sample.rss_bytes.and_then(|all| beyond(all, own));
        }
    }

    /// The record of one point while the run goes on: enough for checks that can judge some rounds, without figures
    /// that take long to compute.
    pub(super) fn so_far(&self, slots: &[TargetSlot], samples: &Samples, at: usize) -> Run {
        let point = &self.plan.points[at];
        let mut cells = Vec::new();
        for operation in point.measured_operations() {
            for (slot, of) in measured(slots, point) {
                let entries = samples.entries(slot, at, operation);
                cells.push(cell(of, point, operation, entries, self.rounds(samples, at)));
            }
        }
        self.run(slots, cells, false)
    }

    /// The hits that were possible at the capacities that were asked for, or at the capacities of targets that are
    /// smaller than the working set.
    fn hit_curves(&self, slots: &[TargetSlot], samples: &Samples) -> Vec<HitCurve> {
        let rounds = samples.last_round();
        curves(self.plan, rounds, |point| {
            let own = measured(slots, point).filter_map(|(_, slot)| slot.capacity_bytes());
            match point.capacity {
                Some(capacity) => vec![capacity],
                None => own.filter(|bytes| *bytes < point.working_set_bytes).collect(),
            }
        })
    }

    /// The number of rounds that a target must have carried out at a point for a whole result.
    fn rounds(&self, samples: &Samples, at: usize) -> u32 {
        let open = self.plan.until.is_some() || self.plan.max_time.is_some();
        if open { samples.begun(at) } else { self.plan.own_rounds() }
    }

    fn run(&self, slots: &[TargetSlot], cells: Vec<Cell>, interrupted: bool) -> Run {
        let plan = self.plan;
        Run {
            schema: SCHEMA_VERSION,
            larder: env!("CARGO_PKG_VERSION").into(),
            scenario: plan.scenario.clone(),
            summary: Some(plan.summary.clone()).filter(|summary| !summary.is_empty()),
            seed: plan.seed,
            interrupted,
            workload: plan.workload.clone(),
            notes: plan.notes.clone(),
            environment: self.environment.clone(),
            targets: targets(slots),
            cells,
            floors: self.floors.clone(),
            slice: plan.slice.clone(),
            ..Run::default()
        }
    }
}

/// The memory of a target beyond that of the floor; `None` where the floor's is the larger part.
fn beyond(all: u64, floor: u64) -> Option<u64> {
    all.checked_sub(floor).filter(|rest| *rest > floor)
}

/// The targets that a point is measured on, each with its number.
fn measured<'a>(
    slots: &'a [TargetSlot],
    point: &'a PlannedPoint,
) -> impl Iterator<Item = (usize, &'a TargetSlot)> {
    slots.iter().enumerate().filter(|(_, slot)| point.is_for(slot.planned()))
}

/// Each target once, also where it was opened with several capacities. Its record is that of the first capacity that
/// could be opened; settings that differ have the values of all.
fn targets(slots: &[TargetSlot]) -> Vec<TargetRecord> {
    let mut records: Vec<TargetRecord> = Vec::new();
    for slot in slots {
        let other = target(slot);
        let Some(record) = records.iter_mut().find(|record| record.url == other.url) else {
            records.push(other);
            continue;
        };
        if record.reason.is_some() {
            *record = other;
        } else if other.reason.is_none() {
            add_observed(record, &other);
            if record.capacity_bytes != other.capacity_bytes {
                record.capacity_bytes = None;
            }
            for (name, text) in other.settings {
                let all = record.settings.entry(name).or_default();
                if !all.split(", ").any(|known| known == text) {
                    *all = if all.is_empty() { text } else { format!("{all}, {text}") };
                }
            }
        }
    }
    records
}

/// A time in seconds; `None` for a time of zero.
fn seconds(time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| shortened(time.as_secs_f64()))
}

fn target(slot: &TargetSlot) -> TargetRecord {
    let planned = slot.planned();
    let base = TargetRecord {
        url: planned.url.to_string(),
        name: planned.name.clone(),
        engine: planned.engine.scheme.into(),
        ..TargetRecord::default()
    };
    match slot {
        TargetSlot::Closed(_, reason) => TargetRecord { reason: Some(reason.clone()), ..base },
        TargetSlot::Open(target) => TargetRecord {
            version: target.info.version.clone(),
            language: target.language().map(str::to_owned),
            durability: Some(target.info.durability.as_str().into()),
            reach: Some(target.capabilities.reach.as_str().into()),
            ownership: Some(target.info.ownership.as_str().into()),
            file_system: target.info.file_system.as_ref().map(ToString::to_string),
            file_system_kind: target.info.file_system.as_ref().map(|system| system.kind.clone()),
            stores: Some(target.capabilities.stores),
            capacity_bytes: target.capacity_bytes,
            external_evictions: target.evicted.seen.map(|_| target.evicted.grown),
            other_turns_server_cpu_s: seconds(target.beside.cpu),
            other_turns_wall_s: seconds(target.beside.turns),
            own_turns_wall_s: seconds(target.beside.own_turns),
            eviction_allowed: target.evicted.is_allowed && target.evicted.seen.is_some(),
            settings: target.info.settings.clone(),
            limits: target.probed.limits,
            ttl: target.ttl.clone(),
            ..base
        },
    }
}

/// A cell without the figures that take all rounds together: its intervals and its latencies.
fn cell(
    slot: &TargetSlot,
    point: &PlannedPoint,
    operation: Operation,
    entries: &[Entry],
    planned: u32,
) -> Cell {
    let (reason_kind, reason) = reason(slot, point, operation, entries, planned).unzip();
    let cell = Cell {
        target: slot.planned().url.to_string(),
        point: point.point.clone(),
        operation,
        workers: slot.workers(point),
        reason,
        reason_kind,
        working_set_bytes: point.working_set_bytes,
        capacity_bytes: slot.capacity_bytes().filter(|_| point.capacity.is_some()),
        ..Cell::default()
    };
    totalled(cell, entries)
}

/// A cell with the totals of its rounds; where the cell has a reason, it has no figures.
pub(super) fn totalled(cell: Cell, entries: &[Entry]) -> Cell {
    let rounds = rounds(entries, cell.reason.is_some());
    let mut counts: Option<Counts> = None;
    for entry in &rounds {
        match &mut counts {
            None => counts = Some(entry.sample.counts),
            Some(counts) => counts.add(&entry.sample.counts),
        }
    }
    let measured = !rounds.is_empty() && cell.reason.is_none();
    let sum = |of: fn(&Entry) -> Option<f64>| {
        let all: Option<f64> = rounds.iter().map(|entry| of(entry)).sum();
        all.filter(|_| measured)
    };
    let most = |of: fn(&Entry) -> Option<u64>| rounds.iter().filter_map(|entry| of(entry)).max();
    Cell {
        rounds: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
        counts: counts.unwrap_or_default(),
        predicted_hit_ratio: entries.first().and_then(|entry| entry.predicted_hit_ratio),
        hit_limit: entries.first().and_then(|entry| entry.hit_limit),
        wall_s: sum(|entry| Some(entry.sample.wall_s)),
        ops_per_s: median(&rates_of(&rounds)).filter(|rate| measured && *rate > 0.0),
        answered_per_s: median(&answers_of(&cell, &rounds)).filter(|_| measured),
        hits_per_s: median(&hits_of(&cell, &rounds)).filter(|_| measured),
        client_cpu_s: sum(|entry| entry.sample.client_cpu_s),
        client_system_s: sum(|entry| entry.sample.client_system_s),
        collector: collector::of_cell(&rounds).filter(|_| measured),
        server_cpu_s: sum(|entry| entry.sample.server_cpu_s),
        rss_bytes: most(|entry| entry.sample.rss_bytes).filter(|_| measured),
        disk_bytes: most(|entry| entry.sample.disk_bytes).filter(|_| measured),
        held_bytes_peak: most(|entry| entry.sample.held_bytes_peak).filter(|_| measured),
        held_items_peak: most(|entry| entry.sample.held_items_peak).filter(|_| measured),
        allocated_bytes_peak: most(|entry| entry.sample.allocated_bytes_peak).filter(|_| measured),
        bytes: rounds.iter().map(|entry| entry.bytes).sum(),
        driven: driven::of_cell(&rounds).filter(|_| measured),
        idle: driven::idle_of_cell(&rounds).filter(|_| measured),
        comers: driven::comers_of_cell(&rounds).filter(|_| measured),
        tiers: tiers(&rounds),
        wrong_examples: wrong_examples(&rounds),
        samples: entries.iter().map(|entry| entry.sample.clone()).collect(),
        ..cell
    }
}

/// The counters of the tiers of a stack in all these rounds.
fn tiers(rounds: &[&Entry]) -> Vec<TierCounts> {
    let mut tiers = Vec::new();
    for entry in rounds {
        TierCounts::add_all(&mut tiers, &entry.sample.tiers);
    }
    tiers
}

/// The first wrong value of each kind.
fn wrong_examples(rounds: &[&Entry]) -> BTreeMap<String, String> {
    let mut examples = BTreeMap::new();
    for entry in rounds {
        add_examples(&mut examples, &entry.sample.wrong_examples);
    }
    examples
}

/// Gives a cell its intervals and its latencies, where it has figures.
pub(super) fn distribute(cell: &mut Cell, entries: &[Entry], seed: u64) {
    let rounds = rounds(entries, cell.reason.is_some());
    if rounds.is_empty() || cell.reason.is_some() {
        return;
    }
    cell.ops_per_s_ci95 = cell.ops_per_s.and_then(|_| median_ci95(&rates_of(&rounds), seed));
    cell.answered_per_s_ci95 =
        cell.answered_per_s.and_then(|_| median_ci95(&answers_of(cell, &rounds), seed));
    let each: Vec<_> = rounds.iter().map(|entry| entry.latency.unpack()).collect();
    let merged = merged(&each);
    cell.latency_count = Some(merged.len()).filter(|timed| *timed > 0);
    cell.latency_ns = figures(&merged);
    cell.latency_ns_ci95 = percentiles_ci95(&each, seed);
    cell.latency_curve = curve(&merged);
    cell.latency_to = up_to(&merged);
    cell.paced = paced::of_cell(&rounds);
    cell.corrected_ns = paced::corrected(cell, &rounds, &merged);
}

/// The rounds behind the figures of a cell. Incomplete rounds are ignored, unless there are no complete ones. A cell
/// without figures counts every round.
fn rounds(entries: &[Entry], reasoned: bool) -> Vec<&Entry> {
    let whole: Vec<&Entry> = entries.iter().filter(|entry| entry.sample.complete).collect();
    if whole.is_empty() || reasoned { entries.iter().collect() } else { whole }
}

fn rates_of(rounds: &[&Entry]) -> Vec<f64> {
    rounds.iter().map(|entry| entry.sample.ops_per_s).collect()
}

/// Answered requests a second; empty where the operation cannot miss.
fn answers_of(cell: &Cell, rounds: &[&Entry]) -> Vec<f64> {
    rounds.iter().filter_map(|entry| entry.sample.answered_per_s(cell.operation)).collect()
}

fn hits_of(cell: &Cell, rounds: &[&Entry]) -> Vec<f64> {
    rounds.iter().filter_map(|entry| entry.sample.hits_per_s(cell.operation)).collect()
}

/// The reason why a cell is empty, or its figures are not to be trusted.
fn reason(
    slot: &TargetSlot,
    point: &PlannedPoint,
    operation: Operation,
    entries: &[Entry],
    planned: u32,
) -> Option<(ReasonKind, String)> {
    let target = match slot.at(point) {
        Ok(target) => target,
        Err(refusal) => return Some(refusal),
    };
    let measured = point.phases.iter().filter(|phase| phase.measured);
    let mut own = measured.filter(|phase| phase.operations.contains(&operation));
    if let Some(lack) = own.find_map(|phase| target.lack(phase)) {
        return Some((ReasonKind::Unsupported, lack.into()));
    }
    if let Some(lost) = &target.lost {
        let whole = entries.iter().filter(|entry| entry.sample.complete).count();
        // The results of some rounds are not comparable with the other targets' results of all rounds.
        if whole < planned as usize {
            let when = match whole {
                0 => "in the first round".to_owned(),
                whole => format!("after {whole} of {}", count(planned, "round")),
            };
            return Some((ReasonKind::Lost, format!("lost {when}: {}", lost.reason)));
        }
    }
    if entries.is_empty() {
        return Some((ReasonKind::Interrupted, "interrupted before its first round".into()));
    }
    nothing_succeeded(entries)
}

/// The reason why there are no figures although there are rounds; `None` where an operation
/// succeeded.
pub(super) fn nothing_succeeded(entries: &[Entry]) -> Option<(ReasonKind, String)> {
    if entries.iter().any(|entry| entry.sample.ops_per_s > 0.0) {
        return None;
    }
    let mut counts = Counts::default();
    for entry in entries {
        counts.add(&entry.sample.counts);
    }
    let Counts { ops, misses, wrong, errors, .. } = counts;
    let text = if ops == 0 {
        "no operation was carried out".into()
    } else {
        format!(
            "of {} none succeeded: {misses} missed, {wrong} wrong, {errors} failed",
            count(ops, "operation")
        )
    };
    Some((ReasonKind::NothingSucceeded, text))
}

/// The times of a cell that are kept, a histogram a round.
pub(super) fn logged(
    (target, point, operation): &(String, &Point, Operation),
    entries: &[Entry],
) -> Vec<CellHistograms> {
    let of = |entry: &Entry, times: Times| {
        let (paced, comers) = (entry.paced.as_ref(), entry.comers.as_ref());
        let recorded = match times {
            Times::Latency => entry.latency.clone(),
            Times::Service => paced?.service.clone(),
            Times::Lag => paced?.lag.clone(),
            Times::Connect => comers?.connect.clone(),
            Times::FirstAnswer => comers?.first_answer.clone(),
        };
        Some((entry.sample.at_s, entry.sample.wall_s, recorded))
    };
    let kept = Times::ALL.into_iter().filter_map(|times| {
        let rounds: Vec<_> = entries.iter().filter_map(|entry| of(entry, times)).collect();
        (!rounds.is_empty()).then(|| CellHistograms {
            target: target.clone(),
            point: (*point).clone(),
            operation: *operation,
            rounds,
            times,
        })
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_where_the_floor_is_the_smaller_part() {
        let of_100 = |floor| beyond(100, floor);
        assert_eq!([0, 49, 50, 101].map(of_100), [Some(100), Some(51), None, None]);
    }
}
