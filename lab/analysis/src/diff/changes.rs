//! The change in the figures of a cell, and its certainty.

use larder_report::{
    Cell, Change, ChangeVerdict, DiffCell, DiffFigure, DiffMeasure, Latency, Run, Sample, Verdict,
    figures, is_shown,
};

use crate::statistics::{Difference, holm, mann_whitney, median, median_ci95};

/// The reason why two cells are not compared, or not in all figures.
pub(super) struct Reason {
    pub(super) text: String,
    /// Whether the cell may have become worse although it is not compared.
    pub(super) may_be_worse: bool,
}

/// The reason why two cells are not compared; `None` where they are.
pub(super) fn reason(old_run: &Run, old: &Cell, new_run: &Run, new: &Cell) -> Option<Reason> {
    let of_old = no_result("old", old_run, old).map(|text| (text, false));
    let of_new = || no_result("new", new_run, new).map(|text| (text, true));
    let (before, after) = (old.workers, new.workers);
    let workers = || {
        let text = format!("workers: {before} in old and {after} in new");
        (before != after).then_some((text, false))
    };
    let (text, may_be_worse) = of_old.or_else(of_new).or_else(workers)?;
    Some(Reason { text, may_be_worse })
}

/// The reason why a cell of one side has no result.
fn no_result(side: &str, run: &Run, cell: &Cell) -> Option<String> {
    if let Some(reason) = &cell.reason {
        return Some(format!("no figures in {side}: {reason}"));
    }
    if cell.ops_per_s.is_none() {
        return Some(format!("no figures in {side}"));
    }
    let check = run.checks.iter().find(|check| check.disqualifies(cell))?;
    Some(format!("no result in {side}: {}", check.id))
}

/// Changes before the correction for their number.
pub(super) struct Changes {
    seed: u64,
    found: Vec<Change>,
}

impl Changes {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, found: Vec::new() }
    }

    /// Compares a cell with its older one. Where its hit ratio changed, its times are those of other work: then only
    /// the hits are compared, and the reason is returned.
    pub(super) fn push(&mut self, place: &DiffCell, old: &Cell, new: &Cell) -> Option<Reason> {
        self.found.extend(hits(place, old, new));
        if !old.finds_as_often_as(new) {
            let found = |cell: &Cell| figures::percent(cell.found_ratio().unwrap_or_default());
            let what = if old.operation.reads() { "hits" } else { "found keys" };
            let text = format!(
                "rate and latency: {what} {} in old and {} in new, and a miss is other work than a hit",
                found(old),
                found(new)
            );
            return Some(Reason { text, may_be_worse: new.found_ratio() < old.found_ratio() });
        }
        let latency =
            |measure, quantile, of| latency(place, old, new, measure, quantile, of, self.seed);
        let found = [
            self.rate(place, old, new),
            latency(DiffMeasure::P50Ns, 0.5, |latency| latency.p50),
            latency(DiffMeasure::P99Ns, 0.99, |latency| latency.p99),
        ];
        self.found.extend(found.into_iter().flatten());
        None
    }

    fn rate(&self, place: &DiffCell, old: &Cell, new: &Cell) -> Option<Change> {
        let missed = |cell: &Cell| cell.counts.misses > 0;
        let answers = |cell: &Cell| each(cell, |sample| sample.answered_per_s(cell.operation));
        let rates = |cell: &Cell| each(cell, |sample| Some(sample.ops_per_s));
        if missed(old) || missed(new) {
            let (before, after) = (answers(old), answers(new));
            return changed(place, DiffMeasure::AnsweredPerS, &before, &after, self.seed);
        }
        changed(place, DiffMeasure::OpsPerS, &rates(old), &rates(new), self.seed)
    }

    /// The changes with their verdicts. The changes of one measure are a family: a reader of its column picks the
    /// outstanding ones.
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

/// A figure of each complete round.
fn each(cell: &Cell, figure: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
    let whole = cell.samples.iter().filter(|sample| sample.complete);
    whole.filter_map(figure).collect()
}

/// A percentile: the median of the rounds' percentiles, so that figure, interval and test are of the same quantity.
/// `None` where too few operations lie beyond it.
fn latency(
    place: &DiffCell,
    old: &Cell,
    new: &Cell,
    measure: DiffMeasure,
    quantile: f64,
    of: fn(&Latency) -> u64,
    seed: u64,
) -> Option<Change> {
    if !is_shown(old, quantile) || !is_shown(new, quantile) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of an operation")]
    let rounds = |cell: &Cell| each(cell, |sample| Some(of(sample.latency_ns.as_ref()?) as f64));
    changed(place, measure, &rounds(old), &rounds(new), seed)
}

/// The change in the median of the rounds.
fn changed(
    place: &DiffCell,
    measure: DiffMeasure,
    before: &[f64],
    after: &[f64],
    seed: u64,
) -> Option<Change> {
    let difference = Difference::between(after, before, seed)?;
    let figure = |rounds: &[f64]| {
        let value = median(rounds)?;
        Some(DiffFigure { value, ci95: median_ci95(rounds, seed), rounds: rounds.len() })
    };
    Some(Change {
        cell: place.clone(),
        measure,
        old: figure(before)?,
        new: figure(after)?,
        ratio: Some(difference.ratio),
        ci95: difference.ci95,
        p: difference.p,
        verdict: ChangeVerdict::Indistinguishable,
    })
}

/// The change in the hit ratio, where there is one.
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

/// The verdict on a change with a corrected p. A percentile moves in steps of the clock and the histogram, so ranks
/// alone would report a step within its interval.
fn verdict(change: &Change) -> ChangeVerdict {
    let Some(ratio) = change.ratio else { return of_nothing(change) };
    let (is_more, size) = (ratio > 1.0, ratio.max(ratio.recip()) - 1.0);
    let is_latency = matches!(change.measure, DiffMeasure::P50Ns | DiffMeasure::P99Ns);
    let within = |[low, high]: [f64; 2]| low <= 1.0 && 1.0 <= high;
    let enough = match change.measure {
        // Hits are counted, not timed: the layout of a binary does not change them.
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

/// The verdict on a change from zero, which has no ratio: reads of the cell hit for the first time.
fn of_nothing(change: &Change) -> ChangeVerdict {
    if change.p < Verdict::SIGNIFICANCE {
        ChangeVerdict::Better
    } else {
        ChangeVerdict::Indistinguishable
    }
}
