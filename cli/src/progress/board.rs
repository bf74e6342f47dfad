//! The state of a comparison while it runs: the observer's events, kept as the view shows them.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_bench::{Event, Plan, PlannedPoint};
use larder_report::{Finding, Operation, Point, Sample, Severity, label};
use larder_workload::Until;

use super::pace::Pace;

/// Everything that a view shows.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// The work before the rounds, and between them.
    pub(super) stage: String,
    /// The targets, in the order they were given.
    pub(super) rows: Vec<Row>,
    /// The measured operations of each target, in their order.
    pub(super) operations: Vec<Operation>,
    /// Every point of the sweep.
    points: Vec<Point>,
    /// The point of the last turn.
    at: usize,
    /// The target whose turn it is.
    pub(super) current: Option<usize>,
    /// The current round, and the number of rounds; with `until`, the least number.
    pub(super) round: (u32, u32),
    /// The turns that are over, and the number of turns; with `until`, the least number.
    pub(super) turns: (u64, u64),
    /// The requested precision of the rates, where it decides the number of rounds.
    pub(super) until: Option<Until>,
    /// The time since the start by which the last round begins.
    end: Option<Duration>,
    /// The durations of turns.
    pub(super) pace: Pace,
    /// The checks that fired, except notes; the worst first.
    pub(super) fired: Vec<Fired>,
}

/// A target.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) name: String,
    /// The reason why it has no more turns.
    out: Option<String>,
    /// The reason why it cannot do the work at a point.
    refused: BTreeMap<usize, String>,
    /// Its rounds, by point and operation.
    rounds: BTreeMap<(usize, Operation), Vec<Round>>,
}

/// The figures of a round of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) ops_per_s: f64,
    /// Hits over reads, where some of them missed.
    pub(super) hit_ratio: Option<f64>,
}

/// The finding of a check.
#[derive(Debug)]
pub(super) struct Fired {
    pub(super) severity: Severity,
    pub(super) id: String,
    /// The number of findings.
    pub(super) times: usize,
    /// The last finding: its place and its text.
    pub(super) last: String,
}

impl Board {
    /// Applies an observer's event; `now` is the time since the start.
    pub(super) fn note(&mut self, event: Event<'_>, now: Duration) {
        match event {
            Event::Opening { target } => {
                // A target that is opened with several capacities is still one target.
                if self.row(target).is_none() {
                    self.rows.push(Row { name: target.to_owned(), ..Row::default() });
                }
                self.stage = format!("opening {target}");
            }
            Event::Probing { target } => self.stage = format!("probing the limits of {target}"),
            Event::Unavailable { target, reason } => self.out(target, "cannot run", reason),
            Event::FewRounds { text } => self.note_plan(Severity::Warn, "ROUNDS", text),
            Event::FewerKeys { text } => self.note_plan(Severity::Note, "KEYS", text),
            Event::Fitting => self.stage = "timing a short trial".into(),
            Event::Floor => self.stage = "measuring the floor".into(),
            Event::WarmUp => self.stage = "warming up".into(),
            Event::Started { plan } => self.start(plan, now),
            Event::Turn { round, rounds, target, point } => {
                self.round = (round, rounds);
                self.at = self.points.iter().position(|known| known == point).unwrap_or(0);
                self.current = self.row(target);
                if let Some(row) = self.current {
                    self.pace.begin(row, self.at, now);
                }
            }
            Event::Refused { target, reason } => {
                if let Some(row) = self.row(target) {
                    self.rows[row].refused.insert(self.at, format!("cannot run: {reason}"));
                }
            }
            Event::Measured { target, operation, sample, .. } => {
                if let Some(row) = self.row(target) {
                    let rounds = &mut self.rows[row].rounds;
                    rounds
                        .entry((self.at, operation))
                        .or_default()
                        .push(Round::of(operation, sample));
                }
            }
            Event::Lost { target, reason } => self.out(target, "lost", reason),
            Event::Fired { target, check } => self.fire(target, check),
            Event::TurnEnded { done } => {
                self.turns.0 = done;
                self.current = None;
                self.pace.end(now);
            }
            Event::Ended => self.stage = "closing the targets".into(),
            Event::NotClosed { target, reason } => {
                self.note_plan(Severity::Warn, "CLOSE", &format!("{target}: {reason}"));
            }
            _ => {}
        }
    }

    /// Adds a message about the plan itself.
    fn note_plan(&mut self, severity: Severity, id: &str, text: &str) {
        self.fired.push(Fired { severity, id: id.into(), times: 1, last: text.to_owned() });
    }

    fn start(&mut self, plan: &Plan, now: Duration) {
        self.stage.clear();
        self.until = plan.until;
        self.end = plan.max_time.map(|time| now + time);
        self.turns = (0, plan.turns());
        self.round = (1, plan.rounds);
        self.points = plan.points.iter().map(|point| point.point.clone()).collect();
        let operations = plan.points.iter().map(PlannedPoint::measured_operations);
        self.operations = operations.max_by_key(Vec::len).unwrap_or_default();
        let runs = self.rows.iter().map(|row| row.out.is_none());
        self.pace = Pace::new(plan.own_rounds(), self.points.len(), runs);
    }

    /// The estimated time left; with `until`, an upper bound. `None` without an estimate.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        let end = self.end.map(|end| end.saturating_sub(now));
        match (self.until, end) {
            (Some(_), end) => end,
            (None, Some(end)) => self.pace.left(now).map(|left| left.min(end)),
            (None, None) => self.pace.left(now),
        }
    }

    fn row(&self, target: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.name == target)
    }

    fn out(&mut self, target: &str, how: &str, reason: &str) {
        if let Some(row) = self.row(target) {
            self.rows[row].out = Some(format!("{how}: {reason}"));
            self.pace.drop(row);
        }
    }

    fn fire(&mut self, target: Option<&str>, check: &Finding) {
        let last = finding(target, check, &self.points);
        let known = |fired: &&mut Fired| (fired.severity, &fired.id) == (check.severity, &check.id);
        match self.fired.iter_mut().find(known) {
            _ if check.severity == Severity::Note => {}
            Some(fired) => (fired.times, fired.last) = (fired.times + 1, last),
            None => {
                let (severity, id) = (check.severity, check.id.clone());
                self.fired.push(Fired { severity, id, times: 1, last });
                self.fired.sort_by_key(|fired| fired.severity);
            }
        }
    }

    /// The place of the last turn, in words; empty where there is only one point.
    pub(super) fn place(&self) -> String {
        let point = self.points.get(self.at);
        point.map_or_else(String::new, |point| label(point, &swept(&self.points)))
    }

    /// The reason why a target has no rounds at the point of the last turn.
    pub(super) fn reason<'r>(&self, row: &'r Row) -> Option<&'r str> {
        row.out.as_ref().or_else(|| row.refused.get(&self.at)).map(String::as_str)
    }

    /// The rounds of a target so far, at the point of the last turn.
    pub(super) fn rounds<'r>(&self, row: &'r Row, operation: Operation) -> &'r [Round] {
        row.rounds.get(&(self.at, operation)).map_or(&[], Vec::as_slice)
    }
}

impl Round {
    fn of(operation: Operation, sample: &Sample) -> Self {
        let (hits, misses) = (sample.counts.hits, sample.counts.misses);
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let ratio = hits as f64 / (hits + misses) as f64;
        let hit_ratio = (operation.reads() && misses > 0).then_some(ratio);
        Self { ops_per_s: sample.ops_per_s, hit_ratio }
    }
}

/// The finding of a check and its place: `lmdb:, get, data_size 4 KiB: 0 hits of 2000 reads: only misses timed`.
pub(super) fn finding(target: Option<&str>, check: &Finding, points: &[Point]) -> String {
    let point = check.point.as_ref().map(|point| label(point, &swept(points)));
    let operation = check.operation.map(|operation| operation.to_string());
    let place = [target.map(str::to_owned), operation, point];
    let place: Vec<String> = place.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let place = place.join(", ");
    // The names of many targets end with a colon.
    let colon = if place.is_empty() || place.ends_with(':') { "" } else { ":" };
    let space = if place.is_empty() { "" } else { " " };
    format!("{place}{colon}{space}{}", check.text)
}

/// The names of the coordinates that take more than one value.
fn swept(points: &[Point]) -> Vec<&str> {
    let Some((first, others)) = points.split_first() else { return Vec::new() };
    let varies = |name: &&String| others.iter().any(|other| other.get(*name) != first.get(*name));
    first.keys().filter(varies).map(String::as_str).collect()
}
