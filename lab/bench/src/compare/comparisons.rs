//! The faster of two targets, for every point and operation at which two were measured.

use std::collections::BTreeMap;

use larder_report::{
    Cell, Comparison, Operation, Point, Run, Sample, Unlike, Verdict, figures, smallest_p,
};

use larder_analysis::statistics::{Difference, holm};

/// Two cells that were compared, before the correction for many comparisons.
struct Compared<'r> {
    a: &'r Cell,
    b: &'r Cell,
    difference: Difference,
    /// The smallest p that the rounds of the two cells could have reached.
    smallest_p: f64,
}

/// Compares every pair of targets at one point for one operation. Targets that keep nothing, targets for which a
/// stand-in answered, and figures that are no result are left out. Pairs with unlike work come second, with the
/// reason. All comparisons are one family for Holm's correction: a reader picks the verdicts that stand out from the
/// whole run.
pub(super) fn comparisons(run: &Run) -> (Vec<Comparison>, Vec<Unlike>) {
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
    let mut unlike = Vec::new();
    for cells in groups.into_values() {
        for (i, a) in cells.iter().enumerate() {
            for b in &cells[i + 1..] {
                if a.finds_as_often_as(b) {
                    found.extend(compared(a, b, run.seed));
                } else {
                    unlike.push(not_alike(a, b));
                }
            }
        }
    }
    (judged(&found), unlike)
}

fn compared<'r>(a: &'r Cell, b: &'r Cell, seed: u64) -> Option<Compared<'r>> {
    let (of_a, of_b) = (speeds(a), speeds(b));
    let difference = Difference::by_rounds(&of_a, &of_b, seed)?;
    Some(Compared { a, b, difference, smallest_p: smallest_p(of_a.len(), of_b.len()) })
}

fn not_alike(a: &Cell, b: &Cell) -> Unlike {
    let ratio = |cell: &Cell| figures::percent(cell.found_ratio().unwrap_or_default());
    let what = if a.operation.reads() { "hit ratios" } else { "shares of existing keys" };
    Unlike {
        a: a.target.clone(),
        b: b.target.clone(),
        point: a.point.clone(),
        operation: a.operation,
        reason: format!("{what} differ ({} and {})", ratio(a), ratio(b)),
    }
}

/// The comparisons with their verdicts.
fn judged(found: &[Compared<'_>]) -> Vec<Comparison> {
    let raw: Vec<f64> = found.iter().map(|compared| compared.difference.p).collect();
    let verdict = |compared: &Compared<'_>, p: f64| match compared.difference.verdict(p) {
        Verdict::Indistinguishable if !can_decide(compared.smallest_p, &raw) => Verdict::Undecided,
        verdict => verdict,
    };
    found
        .iter()
        .zip(holm(&raw))
        .map(|(compared, p)| Comparison {
            a: compared.a.target.clone(),
            b: compared.b.target.clone(),
            point: compared.a.point.clone(),
            operation: compared.a.operation,
            ratio: compared.difference.ratio,
            ci95: compared.difference.ci95,
            p,
            verdict: verdict(compared, p),
        })
        .collect()
}

/// Whether the rounds of a pair could have shown any difference. For the clearest difference possible, Holm's
/// correction would have multiplied p by the number of the comparisons that are no clearer.
#[expect(clippy::cast_precision_loss, reason = "a number of comparisons")]
fn can_decide(smallest_p: f64, raw: &[f64]) -> bool {
    let no_clearer = raw.iter().filter(|p| **p >= smallest_p * (1.0 - 1e-9)).count();
    smallest_p * (no_clearer.max(1) as f64) < Verdict::SIGNIFICANCE
}

/// The rates of a cell's complete rounds, each with its round; in an open loop, the figures that stand for the rates.
fn speeds(cell: &Cell) -> Vec<(u32, f64)> {
    whole_rounds(cell.operation, cell.samples.iter())
}

/// As [`speeds`], for samples that are not in a cell yet.
pub(super) fn whole_rounds<'s>(
    operation: Operation,
    samples: impl Iterator<Item = &'s Sample>,
) -> Vec<(u32, f64)> {
    let whole = samples.filter(|sample| sample.complete);
    whole.filter_map(|sample| Some((sample.round, sample.speed(operation)?))).collect()
}

#[cfg(test)]
mod tests {
    use larder_report::{Counts, Target};

    use super::*;

    /// A run of gets: each target with its rates, and how many of a thousand reads hit.
    fn run(targets: &[(&str, &[f64], u64)]) -> Run {
        let target = |name: &str| Target {
            url: name.into(),
            name: name.into(),
            stores: Some(true),
            ..Target::default()
        };
        Run {
            targets: targets.iter().map(|(name, ..)| target(name)).collect(),
            cells: targets.iter().map(|(name, rates, hits)| cell(name, rates, *hits)).collect(),
            ..Run::default()
        }
    }

    fn cell(target: &str, rates: &[f64], hits: u64) -> Cell {
        let counts = Counts { ops: 1000, hits, misses: 1000 - hits, ..Counts::default() };
        let sample = |(round, rate): (u32, &f64)| Sample {
            round,
            complete: true,
            counts,
            wall_s: 1000.0 / rate,
            ops_per_s: *rate,
            ..Sample::default()
        };
        Cell {
            target: target.into(),
            operation: Operation::Get,
            workers: 1,
            counts,
            ops_per_s: Some(rates[0]),
            samples: (1..).zip(rates).map(sample).collect(),
            ..Cell::default()
        }
    }

    #[test]
    fn targets_with_unlike_hit_ratios_are_not_compared() {
        let rates = [10.0; 10];
        let run = run(&[("all", &rates, 1000), ("half", &rates, 500), ("near", &rates, 995)]);
        let (compared, unlike) = comparisons(&run);
        let pairs: Vec<_> = compared.iter().map(|of| (of.a.as_str(), of.b.as_str())).collect();
        assert_eq!(pairs, [("all", "near")]);
        assert_eq!(unlike.len(), 2);
        assert_eq!(unlike[0].reason, "hit ratios differ (100 % and 50 %)");
    }

    #[test]
    fn answers_are_compared_and_not_hits() {
        let (slow, fast): (Vec<f64>, Vec<f64>) =
            (1..=10).map(|n| (f64::from(n), 100.0 + f64::from(n))).unzip();
        let mut run = run(&[("slow", &slow, 500), ("fast", &fast, 500)]);
        for sample in &mut run.cells[0].samples {
            sample.ops_per_s = 1e6;
        }
        assert_eq!(comparisons(&run).0[0].verdict, Verdict::Slower, "by hits it would be faster");
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "a few rounds")]
    fn rounds_that_could_tell_nothing_decide_nothing() {
        let verdict = |rounds: usize, apart: f64| {
            let near: Vec<f64> = (0..rounds).map(|n| 100.0 + n as f64).collect();
            let far: Vec<f64> = near.iter().map(|rate| rate + apart).collect();
            comparisons(&run(&[("near", &near, 1000), ("far", &far, 1000)])).0[0].verdict
        };
        assert_eq!(verdict(3, 1e6), Verdict::Undecided);
        assert_eq!(verdict(4, 1e6), Verdict::Undecided, "2 of 70 orders");
        assert_eq!(verdict(6, 1e6), Verdict::Slower, "2 of 924");
        assert_eq!(verdict(6, 0.0), Verdict::Indistinguishable);
    }
}
