//! When a point of the sweep has had its rounds: after so many, once its rates are exact enough, or when the time is over.
//!
//! A point goes on or ends as a whole. Were a target left out as soon as its own interval is narrow enough, the others would
//! be measured at other times than it, and drift would come between them.
//!
//! Rounds end by how wide the intervals are, never by what a comparison says: who looks at p after every round and stops at
//! the first small one finds differences between equals.

use std::time::Instant;

use larder_report::{Cell, Operation, Run, figures};
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
            (_, Some(until)) => !self.is_there(until, at, slots, book),
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

/// Whether the interval that these rounds will be published with is too wide, or there is none yet.
fn is_wide(until: Until, entries: &[Entry], seed: u64) -> bool {
    let whole = entries.iter().filter(|entry| entry.sample.complete);
    let rates: Vec<f64> = whole.map(|entry| entry.sample.ops_per_s).collect();
    let Some(rate) = median(&rates).filter(|rate| *rate > 0.0) else { return false };
    !median_ci95(&rates, seed).is_some_and(|ci95| until.holds(rate, ci95))
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
    let wide: Vec<(f64, &Cell)> = measured().filter_map(|cell| too_wide(until, cell)).collect();
    let begin = format!("rounds: until every rate is known to ±{until}: {had} rounds");
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
fn too_wide(until: Until, cell: &Cell) -> Option<(f64, &Cell)> {
    let rate = cell.ops_per_s?;
    let known = cell.ops_per_s_ci95.map_or(f64::INFINITY, |ci95| half_width(rate, ci95));
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
