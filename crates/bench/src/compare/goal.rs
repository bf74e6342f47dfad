//! When a point of the sweep has had its rounds: after so many, once its figures are exact enough, or when the time is over.
//! The figure of a cell is what ranks it: its rate, or in an open loop its p99, because there the rate is the one asked for.
//!
//! A point goes on or ends as a whole. Were a target left out as soon as its own interval is narrow enough, the others would
//! be measured at other times than it, and drift would come between them.
//!
//! Rounds end by how wide the intervals are, never by what a comparison says: who looks at p after every round and stops at
//! the first small one finds differences between equals. An interval that is looked at again and again until it is narrow is
//! too narrow as well, if by less, so it is looked at seldom: see [`is_looked_at`].

use std::time::Instant;

use larder_report::{Cell, Operation, Run, Sample, figures};
use larder_store::Span;

use super::Slot;
use super::book::{Book, Entry};
use crate::plan::Plan;
use crate::statistics::{median, median_ci95};
use crate::workload::{Until, half_width};

/// The cells named that did not get where they should.
const NAMED: usize = 5;

/// What decides whether a point has another round.
#[derive(Debug)]
pub(super) struct Goal<'a> {
    plan: &'a Plan,
    /// When the rounds began.
    began: Instant,
    points: Vec<State>,
}

/// How far a point is.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    over: bool,
    /// The cell whose interval was too wide when it was last looked at. It is asked first, so that as a rule one interval a
    /// round is worked out, not all.
    widest: Option<(usize, Operation)>,
}

impl<'a> Goal<'a> {
    /// For rounds that begin now.
    pub(super) fn new(plan: &'a Plan) -> Self {
        let points = vec![State::default(); plan.points.len()];
        Self { plan, began: Instant::now(), points }
    }

    /// Whether a point has this round, from 1.
    pub(super) fn goes_on(&mut self, round: u32, at: usize, slots: &[Slot], book: &Book) -> bool {
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
                !is_looked_at(self.plan.rounds, round - 1) || !self.is_there(until, at, slots, book)
            }
            (_, None) => false,
        };
        self.points[at].over = !goes_on;
        goes_on
    }

    /// Whether every cell of a point that has figures is as exact as it should be.
    fn is_there(&mut self, until: Until, at: usize, slots: &[Slot], book: &Book) -> bool {
        let seed = self.plan.seed;
        let wide = |(slot, operation): &(usize, Operation)| {
            is_wide(until, book.entries(*slot, at, *operation), seed)
        };
        let widest = self.points[at].widest.filter(wide).or_else(|| {
            let point = &self.plan.points[at];
            let open = (0..slots.len()).filter(|slot| slots[*slot].is_measured(point));
            let operations = point.measured_operations();
            let mut cells = open.flat_map(|slot| operations.iter().map(move |of| (slot, *of)));
            cells.find(wide)
        });
        self.points[at].widest = widest;
        widest.is_none()
    }
}

/// Whether the intervals are looked at after so many rounds: after the fewest there are, and then each time that there are two
/// fifths more of them. After 10, 14, 20, 28 and 40 that is.
fn is_looked_at(fewest: u32, rounds: u32) -> bool {
    let mut look = fewest.max(1);
    while look < rounds {
        look += look.saturating_mul(2).div_ceil(5);
    }
    look == rounds
}

/// Whether the interval that these rounds give is too wide, or there is none yet.
fn is_wide(until: Until, entries: &[Entry], seed: u64) -> bool {
    let known = exactness(entries.iter().map(|entry| &entry.sample), seed);
    known.is_some_and(|known| known > until.0)
}

/// By how much what ranks a cell is known, as a share of it: infinitely little where it has no interval. `None` where it has no
/// figure.
fn exactness<'s>(samples: impl Iterator<Item = &'s Sample>, seed: u64) -> Option<f64> {
    let speeds: Vec<f64> =
        samples.filter(|sample| sample.complete).filter_map(Sample::speed).collect();
    let speed = median(&speeds).filter(|speed| *speed > 0.0)?;
    Some(median_ci95(&speeds, seed).map_or(f64::INFINITY, |ci95| half_width(speed, ci95)))
}

/// What became of the rounds, where they could end before or after their number: in a sentence with the cells that did not
/// get where they should.
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
            format!("rounds: --max-time {limit} was over after {had} of {all}")
        });
    };
    let wide: Vec<(f64, &Cell)> =
        measured().filter_map(|cell| too_wide(until, cell, run.seed)).collect();
    let what = match (measured().any(Cell::is_paced), measured().all(Cell::is_paced)) {
        (false, _) => "rate",
        (_, true) => "p99 from the planned start",
        _ => "rate, or p99 where operations came when they were due,",
    };
    let begin = format!("rounds: until every {what} is known to ±{until}: {had} rounds");
    if wide.is_empty() {
        return Some(begin);
    }
    let why = if run.interrupted {
        "before it was stopped".to_owned()
    } else if most >= plan.most_rounds() {
        format!("in {most} rounds")
    } else {
        format!("in {limit}")
    };
    let cells = figures::count(wide.len(), "cell");
    let names = named(run, wide);
    Some(format!("{begin}; {cells} of {} did not get there {why}: {names}", measured().count()))
}

/// By how much a cell is known, where that is not enough; infinitely little where it has no interval.
fn too_wide(until: Until, cell: &Cell, seed: u64) -> Option<(f64, &Cell)> {
    let known = exactness(cell.samples.iter(), seed)?;
    (known > until.0).then_some((known, cell))
}

/// The widest of them, by their names.
fn named(run: &Run, mut wide: Vec<(f64, &Cell)>) -> String {
    wide.sort_by(|a, b| b.0.total_cmp(&a.0));
    let swept = run.swept();
    let name = |(known, cell): &(f64, &Cell)| {
        let target = run.target(&cell.target).map_or(&*cell.target, |target| &target.name);
        let place = larder_report::label(&cell.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {place}") };
        let known = if known.is_finite() {
            format!("±{}", figures::percent(*known))
        } else {
            "too few rounds for an interval".to_owned()
        };
        format!("{} of {target}{place} ({known})", cell.operation)
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
        assert!(exactness(samples.iter(), 1).unwrap() > 0.1);
        assert!(exactness(closed.iter(), 1).unwrap() < 1e-9);
        assert_eq!(exactness(samples[..2].iter(), 1), Some(f64::INFINITY));
        assert_eq!(exactness([].iter(), 1), None);
    }
}
