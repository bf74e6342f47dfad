//! When the rounds of a point end: after a number of rounds, once its figures are exact enough, or when the time is
//! over. The figure of a cell is what ranks it: its rate, or in an open loop its p99, because there the rate is given.
//! The ratio of two targets is a figure too, and the most important figure to a reader: see [`Until::of_ratio`].
//! Two targets are never compared over fewer rounds than [`MIN_COMPARED_ROUNDS`], however narrow their intervals are.
//!
//! A point goes on or ends as a whole. If each target ended when its own interval is narrow enough, the others would
//! be measured at other times, and drift would come between them.
//!
//! Rounds end by the width of the intervals, never by the result of a comparison. A rule that stops at the first small
//! p finds differences between equals. An interval that is checked again and again until it is narrow is too narrow as
//! well, but by less. So intervals are checked seldom: see [`is_looked_at`].

use std::time::Instant;

use larder_report::{Cell, Operation, Run, Sample, figures};
use larder_store::Span;

use super::TargetSlot;
use super::comparisons::whole_rounds;
use super::samples::Samples;
use crate::plan::{Plan, PlannedPoint};
use larder_analysis::statistics::{Difference, half_width, median, median_ci95};
use larder_workload::Until;

/// The least number of rounds where targets are compared. A comparison pairs the rounds of two targets; with this many
/// pairs it finds a difference of 10 %, although each target has a bad round now and then.
const MIN_COMPARED_ROUNDS: u32 = 28;

/// The most figures that are named as not exact enough.
const NAMED: usize = 5;

/// The rule that decides whether a point has another round.
#[derive(Debug)]
pub(super) struct StoppingRule<'a> {
    plan: &'a Plan,
    /// When the rounds began.
    began: Instant,
    points: Vec<State>,
}

/// The state of a point.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    over: bool,
    /// The figure whose interval was too wide at the last check. It is checked first: while it is still too wide, no
    /// other interval is computed.
    wide: Option<Figure>,
}

/// A figure that has an interval at a point. Targets are given by their slots.
#[derive(Debug, Clone, Copy)]
enum Figure {
    Cell(usize, Operation),
    Ratio(usize, usize, Operation),
}

impl<'a> StoppingRule<'a> {
    /// A rule for rounds that begin now.
    pub(super) fn new(plan: &'a Plan) -> Self {
        let points = vec![State::default(); plan.points.len()];
        Self { plan, began: Instant::now(), points }
    }

    /// Whether a point has this round, from 1.
    pub(super) fn goes_on(
        &mut self,
        round: u32,
        at: usize,
        slots: &[TargetSlot],
        samples: &Samples,
    ) -> bool {
        if self.points[at].over {
            return false;
        }
        let late = self.plan.max_time.is_some_and(|time| self.began.elapsed() >= time);
        let goes_on = match (round, self.plan.until) {
            // A point without a round has no figures at all.
            (0 | 1, _) => true,
            _ if late => false,
            (round, _) if round <= self.plan.rounds => true,
            (round, Some(until)) => {
                !is_looked_at(self.plan.rounds, round - 1)
                    || !self.is_exact_enough(until, round - 1, at, slots, samples)
            }
            (_, None) => false,
        };
        self.points[at].over = !goes_on;
        goes_on
    }

    /// Whether every figure of a point, of one target or of two, has an interval that is narrow enough.
    fn is_exact_enough(
        &mut self,
        until: Until,
        round: u32,
        at: usize,
        slots: &[TargetSlot],
        samples: &Samples,
    ) -> bool {
        let seed = self.plan.seed;
        let samples = |slot, of| samples.entries(slot, at, of).iter().map(|entry| &entry.sample);
        let few = round < MIN_COMPARED_ROUNDS;
        let is_wide = |figure: &Figure| match *figure {
            Figure::Cell(slot, of) => {
                width(of, samples(slot, of), seed).is_some_and(|width| width > until.0)
            }
            Figure::Ratio(a, b, of) => {
                let rounds = |slot| whole_rounds(of, samples(slot, of));
                let (a, b) = (rounds(a), rounds(b));
                let difference = Difference::by_rounds(&a, &b, seed);
                let is_wide = |of: Difference| half_width(of.ratio, of.ci95) > until.of_ratio();
                difference.is_some_and(|of| few || is_wide(of))
            }
        };
        let wide = self.points[at].wide.filter(is_wide).or_else(|| {
            let point = &self.plan.points[at];
            figures(point, slots).into_iter().find(is_wide)
        });
        self.points[at].wide = wide;
        wide.is_none()
    }
}

/// The figures that have an interval at a point, the quickest to compute first.
fn figures(point: &PlannedPoint, slots: &[TargetSlot]) -> Vec<Figure> {
    let operations = point.measured_operations();
    let measured: Vec<usize> =
        (0..slots.len()).filter(|slot| slots[*slot].is_measured(point)).collect();
    let of_one = operations.iter().flat_map(|of| measured.iter().map(|a| Figure::Cell(*a, *of)));
    let kept: Vec<usize> = measured.iter().copied().filter(|slot| slots[*slot].stores()).collect();
    let of_two = operations.iter().flat_map(|of| {
        let pairs =
            kept.iter().enumerate().flat_map(|(i, a)| kept[i + 1..].iter().map(move |b| (*a, *b)));
        pairs.map(|(a, b)| Figure::Ratio(a, b, *of))
    });
    of_one.chain(of_two).collect()
}

/// Whether the intervals are checked after this many rounds: after the fewest rounds, and then whenever there are two
/// fifths more. With 10 rounds at least, that is after 10, 14, 20, 28 and 40.
fn is_looked_at(fewest: u32, rounds: u32) -> bool {
    let mut look = fewest.max(1);
    while look < rounds {
        look += look.saturating_mul(2).div_ceil(5);
    }
    look == rounds
}

/// Half the width of the interval of the figure that ranks a cell, as a share of the figure: infinite where it has no
/// interval. `None` where the cell has no figure.
fn width<'s>(
    operation: Operation,
    samples: impl Iterator<Item = &'s Sample>,
    seed: u64,
) -> Option<f64> {
    let rounds = whole_rounds(operation, samples);
    let speeds: Vec<f64> = rounds.into_iter().map(|(_, speed)| speed).collect();
    let speed = median(&speeds).filter(|speed| *speed > 0.0)?;
    Some(half_width(speed, median_ci95(&speeds, seed)))
}

/// The sentence of the report that tells why the rounds ended, with the figures that are not exact enough. `None` where
/// their number was fixed.
pub(super) fn reached(plan: &Plan, run: &Run) -> Option<String> {
    let measured = || run.cells.iter().filter(|cell| cell.ops_per_s.is_some());
    let rounds = measured().map(|cell| cell.rounds);
    let (least, most) = (rounds.clone().min()?, rounds.max()?);
    let had = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    let limit = plan.max_time.map(|time| Span(time).to_string()).unwrap_or_default();
    let Some(until) = plan.until else {
        let cut = plan.max_time.is_some() && least < plan.rounds && !run.interrupted;
        return cut.then(|| {
            let all = figures::count(plan.rounds as usize, "round");
            format!("--max-time {limit} was over after {had} of {all}")
        });
    };
    let what = match (measured().any(Cell::is_paced), measured().all(Cell::is_paced)) {
        (false, _) => "rate",
        (_, true) => "p99 of the response time",
        _ => "rate, or p99 in an open loop,",
    };
    let ratios = if run.comparisons.is_empty() {
        String::new()
    } else {
        format!(" and every ratio of two to ±{}", figures::percent(until.of_ratio()))
    };
    let begin = format!(
        "until every {what} is known to ±{until}{ratios}: {had} {}",
        figures::noun_after(most, "round")
    );
    let wide = wide(until, run);
    if wide.is_empty() {
        return Some(begin);
    }
    let why = if run.interrupted {
        "before the run was stopped".to_owned()
    } else if most >= plan.most_rounds() {
        format!("in {}", figures::count(most, "round"))
    } else {
        format!("in {limit}")
    };
    let all = measured().count() + run.comparisons.len();
    Some(format!("{begin}; {} of {all} did not reach that {why}: {}", wide.len(), named(wide)))
}

/// The figures that are not exact enough: half the width of each one's interval, and its name.
fn wide(until: Until, run: &Run) -> Vec<(f64, String)> {
    let swept = run.swept();
    let target = |id: &str| run.target(id).map_or_else(|| id.to_owned(), |of| of.name.clone());
    let place = |point| match larder_report::label(point, &swept) {
        label if label.is_empty() => label,
        label => format!(", {label}"),
    };
    let cells = run.cells.iter().filter(|cell| cell.ops_per_s.is_some()).filter_map(|cell| {
        let width = width(cell.operation, cell.samples.iter(), run.seed)?;
        let name =
            || format!("{} of {}{}", cell.operation, target(&cell.target), place(&cell.point));
        (width > until.0).then(|| (width, name()))
    });
    let ratios = run.comparisons.iter().filter_map(|of| {
        let width = half_width(of.ratio, of.ci95);
        let name = || {
            let (a, b) = (target(&of.a), target(&of.b));
            format!("{} of {a} over {b}{}", of.operation, place(&of.point))
        };
        (width > until.of_ratio()).then(|| (width, name()))
    });
    cells.chain(ratios).collect()
}

/// Names the figures that are least exact.
fn named(mut wide: Vec<(f64, String)>) -> String {
    wide.sort_by(|a, b| b.0.total_cmp(&a.0));
    let name = |(width, name): &(f64, String)| {
        if width.is_finite() {
            format!("{name} (±{})", figures::percent(*width))
        } else {
            format!("{name} (too few rounds for an interval)")
        }
    };
    let mut names: Vec<String> = wide.iter().take(NAMED).map(name).collect();
    if wide.len() > NAMED {
        names.push(format!("{} more", wide.len() - NAMED));
    }
    figures::list(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_report::{Latency, PacedSample};

    #[test]
    fn intervals_are_looked_at_seldom() {
        let looks: Vec<u32> = (1..=60).filter(|rounds| is_looked_at(10, *rounds)).collect();
        assert_eq!(looks, [10, 14, 20, 28, 40, 56]);
        assert!(is_looked_at(1, 1) && is_looked_at(0, 1));
    }

    #[test]
    fn an_open_loop_is_known_by_its_p99_because_its_rate_cannot_vary() {
        let sample = |(round, p99): (u32, u64)| Sample {
            round,
            complete: true,
            ops_per_s: 1000.0,
            latency_ns: Some(Latency { p99, ..Latency::default() }),
            paced: Some(PacedSample::default()),
            ..Sample::default()
        };
        let samples: Vec<Sample> =
            (1..).zip([100, 900, 200, 800, 300, 700, 500, 600]).map(sample).collect();
        let closed: Vec<Sample> =
            samples.iter().map(|sample| Sample { paced: None, ..sample.clone() }).collect();
        assert!(width(Operation::Set, samples.iter(), 1).unwrap() > 0.1);
        assert!(width(Operation::Set, closed.iter(), 1).unwrap() < 1e-9);
        assert_eq!(width(Operation::Set, samples[..2].iter(), 1), Some(f64::INFINITY));
        assert_eq!(width(Operation::Set, [].iter(), 1), None);
    }
}
