//! Which of two targets is faster, wherever two have been measured at the same thing.

use std::collections::BTreeMap;

use larder_report::{Cell, Comparison, Operation, Point, Run, Sample};

use crate::statistics::{Difference, holm};

/// Every pair of targets at one point for one operation, but those that keep nothing, those in whose place a stand-in
/// answered, and those whose figures are no result.
/// One family for Holm's correction: a reader picks the verdicts that stand out from the whole run.
pub(super) fn comparisons(run: &Run) -> Vec<Comparison> {
    let mut groups: BTreeMap<(&Point, Operation, u32), Vec<&Cell>> = BTreeMap::new();
    for cell in &run.cells {
        let keeps = run
            .target(&cell.target)
            .is_some_and(|target| target.stores == Some(true) && target.stand_in().is_none());
        let sound = !run.checks.iter().any(|check| check.disqualifies(cell));
        if cell.ops_per_s.is_some() && keeps && sound {
            groups.entry((&cell.point, cell.operation, cell.workers)).or_default().push(cell);
        }
    }
    let mut found = Vec::new();
    for ((point, operation, _), cells) in groups {
        for (i, a) in cells.iter().enumerate() {
            for b in &cells[i + 1..] {
                let (of_a, of_b) = (speeds(a.samples.iter()), speeds(b.samples.iter()));
                if let Some(difference) = Difference::by_rounds(&of_a, &of_b, run.seed) {
                    found.push((
                        a.target.clone(),
                        b.target.clone(),
                        point.clone(),
                        operation,
                        difference,
                    ));
                }
            }
        }
    }
    let raw: Vec<f64> = found.iter().map(|(.., difference)| difference.p).collect();
    found
        .into_iter()
        .zip(holm(&raw))
        .map(|((a, b, point, operation, difference), p)| Comparison {
            a,
            b,
            point,
            operation,
            ratio: difference.ratio,
            ci95: difference.ci95,
            p,
            verdict: difference.verdict(p),
        })
        .collect()
}

/// The rates of the rounds that were carried out to their end, or what stands for them in an open loop, each with its round.
pub(super) fn speeds<'s>(samples: impl Iterator<Item = &'s Sample>) -> Vec<(u32, f64)> {
    let whole = samples.filter(|sample| sample.complete);
    whole.filter_map(|sample| Some((sample.round, sample.speed()?))).collect()
}
