//! ORDER: rates that rose or fell over the run; in an open loop the p99.

use std::collections::BTreeMap;

use larder_report::figures::{count, percent, probability};
use larder_report::{Cell, Operation, Point, Run, Severity, Trend, Verdict};

use super::{About, Check, Needs, Report, measured, noise};

/// A smaller change over the whole run cannot turn a comparison.
const MATTERS: f64 = 0.05;

pub(super) struct Order;

impl Check for Order {
    fn about(&self) -> &'static About {
        &About {
            id: "ORDER",
            severities: &[Severity::Warn],
            sees: "rates (in an open loop, the p99) that rose or fell by more than 5 % over the run: the machine or \
                   the store changed between early and late measurements",
            seen_in: "A002, A003, A004 and probably the others: the systems were measured one after the other, so \
                      every drift became a difference between systems",
            advice: "give the machine time to settle, or the stores a --warmup, and run again; targets are still \
                     compared, because each has its turn in every round",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let mut places: BTreeMap<(&Point, Operation), Vec<&Cell>> = BTreeMap::new();
        for cell in measured(run).filter(|cell| cell.trend.is_some()) {
            places.entry((&cell.point, cell.operation)).or_default().push(cell);
        }
        let is_disturbed = noise::is_disturbed(run);
        for ((point, operation), cells) in places {
            let drifting: Vec<(&Cell, Trend)> =
                cells.iter().filter_map(|cell| Some((*cell, drift(cell)?))).collect();
            let alike = drifting
                .iter()
                .all(|(_, trend)| (trend.change > 1.0) == (drifting[0].1.change > 1.0));
            // Where all of several targets drift, their common cause is the machine.
            if drifting.len() > 1 && drifting.len() == cells.len() && alike {
                report.place(Severity::Warn, point, operation, together(&drifting));
                continue;
            }
            for (cell, trend) in &drifting {
                let text = format!(
                    "{} over {}{}",
                    evidence(cell, trend),
                    count(cell.rounds as usize, "round"),
                    reason(drifting.len(), cells.len(), is_disturbed)
                );
                report.cell(Severity::Warn, cell, text);
            }
        }
    }
}

/// The trend of a cell, where it is significant and large enough to matter.
fn drift(cell: &Cell) -> Option<Trend> {
    let by = |trend: &Trend| trend.change.max(trend.change.recip()) - 1.0;
    cell.trend.filter(|trend| trend.p < Verdict::SIGNIFICANCE && by(trend) > MATTERS)
}

/// The possible cause, where `drifting` of `all` targets drifted. On a disturbed machine no drift is surely the
/// store's: a disturbance affects some targets more than others.
fn reason(drifting: usize, all: usize, is_disturbed: bool) -> String {
    const STORE: &str = "a store that fills, warms up or wears";
    let others = match (drifting, all) {
        (_, 1) => String::new(),
        (1, _) if is_disturbed => "; no other target drifted".to_owned(),
        (1, _) => format!("; no other target drifted, so the cause is {STORE}"),
        (drifting, all) => format!("; {} more of the {all} targets drifted", drifting - 1),
    };
    if is_disturbed {
        format!("{others}; the cause may be the machine, which NOISE found disturbed, or {STORE}")
    } else {
        others
    }
}

fn together(drifting: &[(&Cell, Trend)]) -> String {
    let what = figure(drifting[0].0);
    let changes = || drifting.iter().map(|(cell, trend)| change(cell, trend));
    let (least, most) = (changes().fold(f64::INFINITY, f64::min), changes().fold(0.0, f64::max));
    let rounds = count(drifting[0].0.rounds as usize, "round");
    let p = drifting.iter().map(|(_, trend)| trend.p).fold(0.0, f64::max);
    let (how, least, most) = if most > 1.0 {
        ("rose", least - 1.0, most - 1.0)
    } else {
        ("fell", 1.0 - most, 1.0 - least)
    };
    let targets = drifting.len();
    format!(
        "the {what}s of all {targets} targets {how}, by {} to {} over {rounds} ({} or less): the cause is the machine, \
         which affects all targets alike",
        percent(least),
        percent(most),
        probability(p)
    )
}

/// The figure that rose or fell in a cell.
fn figure(cell: &Cell) -> &'static str {
    if cell.is_paced() { "p99" } else { "rate" }
}

/// The last figure over the first. A trend is one of speed, so a p99 falls where the speed rises.
fn change(cell: &Cell, trend: &Trend) -> f64 {
    if cell.is_paced() { trend.change.recip() } else { trend.change }
}

/// The figures of a trend.
fn evidence(cell: &Cell, trend: &Trend) -> String {
    let (what, change) = (figure(cell), change(cell, trend));
    let (how, by) = if change > 1.0 { ("rose", change - 1.0) } else { ("fell", 1.0 - change) };
    let tau = if cell.is_paced() { -trend.tau } else { trend.tau };
    let (by, p) = (percent(by), probability(trend.p));
    format!("its {what} {how} by {by} (Kendall's tau {tau:.2}, {p})")
}

#[cfg(test)]
mod tests {
    use larder_report::{MachineUsage, Usage, UsageOf};

    use super::*;

    /// The findings about two targets, one of which slows down over ten rounds, while other processes use `others` of a
    /// machine with two processors.
    fn said(others: f64) -> Vec<String> {
        let cell = |url: &str, change: f64, p: f64| {
            let mut cell = Cell {
                target: url.into(),
                operation: Operation::Get,
                rounds: 10,
                trend: Some(Trend { tau: -0.9, p, change }),
                ..Cell::default()
            };
            cell.counts.ops = 1000;
            cell
        };
        let series = |share: f64| (0..11).map(|at| Some(f64::from(at) * share)).collect();
        let machine = MachineUsage {
            processors: 2,
            others_s: series(others),
            idle_s: series(1.9 - others),
            stolen_s: series(0.0),
            throttled_s: series(0.0),
            swapped_in_bytes: vec![Some(0); 11],
            ..MachineUsage::default()
        };
        let usage = Usage {
            of: UsageOf::Machine,
            at_s: (0..11).map(f64::from).collect(),
            machine: Some(machine),
            ..Usage::default()
        };
        let cells = vec![cell("a:", 0.5, 0.0001), cell("b:", 1.0, 0.9)];
        let run = Run { cells, usage: vec![usage], ..Run::default() };
        let all = super::super::run_all(&run).into_iter();
        all.filter(|found| found.id == "ORDER").map(|found| found.text).collect()
    }

    #[test]
    fn a_drift_on_a_machine_that_others_disturbed_may_be_the_machines() {
        let quiet = said(0.05);
        assert!(quiet[0].ends_with("so the cause is a store that fills, warms up or wears"));
        let disturbed = said(1.8);
        let may = "; no other target drifted; the cause may be the machine, which NOISE found disturbed, or a store ";
        assert!(disturbed[0].contains(may), "{disturbed:?}");
    }
}
