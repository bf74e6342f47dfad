//! How the figures of a cell changed, and how sure that is.

use larder_report::{
    Cell, Change, ChangeVerdict, DiffCell, DiffFigure, DiffMeasure, Latency, LatencyIntervals, Run,
    Sample, Verdict, tells,
};

use crate::statistics::{Difference, holm, mann_whitney};

/// Why two cells are not compared; `None` where they are.
pub(super) fn reason(old: (&Run, &Cell), new: (&Run, &Cell)) -> Option<String> {
    for (side, (run, cell)) in [("old", old), ("new", new)] {
        if let Some(reason) = &cell.reason {
            return Some(format!("no figures in {side}: {reason}"));
        }
        if cell.ops_per_s.is_none() {
            return Some(format!("no figures in {side}"));
        }
        if let Some(check) = run.checks.iter().find(|check| check.disqualifies(cell)) {
            return Some(format!("no result in {side}: {}", check.id));
        }
    }
    let (old, new) = (old.1.workers, new.1.workers);
    (old != new).then(|| format!("{old} worked at once in old and {new} in new"))
}

/// Changes before they are corrected for being many.
pub(super) struct Changes {
    seed: u64,
    found: Vec<Change>,
}

impl Changes {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, found: Vec::new() }
    }

    /// Compares a cell with what it was.
    pub(super) fn push(&mut self, place: &DiffCell, old: &Cell, new: &Cell) {
        let found = [
            self.rate(place, old, new),
            latency(place, (old, new), DiffMeasure::P50Ns, 0.5, |latency| latency.p50, |of| of.p50),
            latency(
                place,
                (old, new),
                DiffMeasure::P99Ns,
                0.99,
                |latency| latency.p99,
                |of| of.p99,
            ),
            hits(place, old, new),
        ];
        self.found.extend(found.into_iter().flatten());
    }

    fn rate(&self, place: &DiffCell, old: &Cell, new: &Cell) -> Option<Change> {
        let rates = |cell: &Cell| each(cell, |sample| Some(sample.ops_per_s));
        let (before, after) = (rates(old), rates(new));
        let difference = Difference::between(&after, &before, self.seed)?;
        let figure = |cell: &Cell, rates: &[f64]| {
            Some(DiffFigure {
                value: cell.ops_per_s?,
                ci95: cell.ops_per_s_ci95,
                rounds: rates.len(),
            })
        };
        Some(Change {
            cell: place.clone(),
            measure: DiffMeasure::OpsPerS,
            old: figure(old, &before)?,
            new: figure(new, &after)?,
            ratio: Some(difference.ratio),
            ci95: difference.ci95,
            p: difference.p,
            verdict: ChangeVerdict::Indistinguishable,
        })
    }

    /// The changes with their verdicts. The changes of one measure are a family: whoever reads down its column picks those
    /// that stand out.
    pub(super) fn judged(mut self) -> Vec<Change> {
        for measure in DiffMeasure::ALL {
            let of_measure = |change: &&mut Change| change.measure == measure;
            let mut family: Vec<&mut Change> = self.found.iter_mut().filter(of_measure).collect();
            let raw: Vec<f64> = family.iter().map(|change| change.p).collect();
            for (change, p) in family.iter_mut().zip(holm(&raw)) {
                change.p = p;
                change.verdict = verdict(change);
            }
        }
        self.found
    }
}

/// A figure of each round that was carried out to its end.
fn each(cell: &Cell, figure: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
    let whole = cell.samples.iter().filter(|sample| sample.complete);
    whole.filter_map(figure).collect()
}

/// A percentile of all rounds, as every report has it. Its rounds' own percentiles tell whether it changed; how far, its two
/// intervals tell together. None where too few operations lie beyond it to say anything of it.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of an operation")]
fn latency(
    place: &DiffCell,
    (old, new): (&Cell, &Cell),
    measure: DiffMeasure,
    quantile: f64,
    of: fn(&Latency) -> u64,
    interval: fn(&LatencyIntervals) -> [f64; 2],
) -> Option<Change> {
    if !tells(old, quantile) || !tells(new, quantile) {
        return None;
    }
    let rounds = |cell: &Cell| each(cell, |sample| Some(of(sample.latency_ns.as_ref()?) as f64));
    let (before, after) = (rounds(old), rounds(new));
    let figure = |cell: &Cell, rounds: usize| {
        let value = of(cell.latency_ns.as_ref()?) as f64;
        Some(DiffFigure { value, ci95: cell.latency_ns_ci95.as_ref().map(interval), rounds })
    };
    let (old, new) = (figure(old, before.len())?, figure(new, after.len())?);
    Some(Change {
        cell: place.clone(),
        measure,
        ratio: (old.value > 0.0).then(|| new.value / old.value),
        ci95: ratio_ci95(&new, &old),
        p: mann_whitney(&after, &before),
        old,
        new,
        verdict: ChangeVerdict::Indistinguishable,
    })
}

/// The 95 % interval of the ratio of two figures that were found independently, of their own intervals: the distances to their
/// ends, as logarithms, add up by their squares (Zou and Donner, "Construction of confidence limits about effect measures",
/// 2008).
fn ratio_ci95(new: &DiffFigure, old: &DiffFigure) -> Option<[f64; 2]> {
    let (new_ends, old_ends) = (new.ci95?, old.ci95?);
    let all = [new.value, old.value, new_ends[0], new_ends[1], old_ends[0], old_ends[1]];
    if all.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let log = (new.value / old.value).ln();
    let (below_new, above_new) = ((new.value / new_ends[0]).ln(), (new_ends[1] / new.value).ln());
    let (below_old, above_old) = ((old.value / old_ends[0]).ln(), (old_ends[1] / old.value).ln());
    let (below, above) = (below_new.hypot(above_old), above_new.hypot(below_old));
    Some([(log - below).exp(), (log + above).exp()])
}

/// The hit ratio, where it is another one.
fn hits(place: &DiffCell, old: &Cell, new: &Cell) -> Option<Change> {
    let (before, after) = (old.hit_ratio()?, new.hit_ratio()?);
    if before.total_cmp(&after).is_eq() {
        return None;
    }
    let rounds = |cell: &Cell| each(cell, of_round);
    let (of_old, of_new) = (rounds(old), rounds(new));
    let figure = |value, rounds: &[f64]| DiffFigure { value, ci95: None, rounds: rounds.len() };
    Some(Change {
        cell: place.clone(),
        measure: DiffMeasure::HitRatio,
        old: figure(before, &of_old),
        new: figure(after, &of_new),
        ratio: (before > 0.0).then(|| after / before),
        ci95: None,
        p: mann_whitney(&of_new, &of_old),
        verdict: ChangeVerdict::Indistinguishable,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn of_round(sample: &Sample) -> Option<f64> {
    let answered = sample.counts.hits + sample.counts.misses;
    (answered > 0).then(|| sample.counts.hits as f64 / answered as f64)
}

/// What can be said of a change whose p is corrected. A percentile moves in steps of the clock and the histogram, so that
/// ranks alone would tell a step that is within its interval.
fn verdict(change: &Change) -> ChangeVerdict {
    let Some(ratio) = change.ratio else { return of_nothing(change) };
    let (is_more, size) = (ratio > 1.0, ratio.max(ratio.recip()) - 1.0);
    let is_latency = matches!(change.measure, DiffMeasure::P50Ns | DiffMeasure::P99Ns);
    let within = |[low, high]: [f64; 2]| low <= 1.0 && 1.0 <= high;
    let enough = match change.measure {
        // A share of hits is counted, not timed: the layout of a binary does not move it.
        DiffMeasure::HitRatio => true,
        _ => size > Verdict::MIN_DIFFERENCE,
    };
    if change.p >= Verdict::SIGNIFICANCE || !enough || is_latency && change.ci95.is_some_and(within)
    {
        ChangeVerdict::Indistinguishable
    } else if is_more == change.measure.rises_for_the_better() {
        ChangeVerdict::Better
    } else {
        ChangeVerdict::Worse
    }
}

/// A change from nothing, which has no ratio: a cell whose reads never hit now hits.
fn of_nothing(change: &Change) -> ChangeVerdict {
    if change.p < Verdict::SIGNIFICANCE {
        ChangeVerdict::Better
    } else {
        ChangeVerdict::Indistinguishable
    }
}
