//! Checks: rules that look for ways in which a figure misleads.
//!
//! A check is a function of a [`Run`], so that it can be made to fire on any run, and a file of its own. A new one is a
//! file and a line in [`CHECKS`]. What counts is what they find in the finished run; those that can judge a part of it are
//! asked while it goes on too, so that nobody waits an hour for figures that are no result.

mod ack_parity;
mod capacity;
mod client_cost;
mod clipped;
mod cpu_wall;
mod damaged;
mod err_as_op;
mod excluded_time;
mod fs_kind;
mod gen_bound;
mod hidden_codec;
mod hidden_work;
mod never_hits;
mod noise;
mod not_emptied;
mod one_key;
mod order;
mod other_key;
mod oversize;
mod reach_parity;
mod reconnect;
mod silent_drop;
mod stale;
mod stand_in;
mod tier_dead;
mod too_short;
mod truncated;
mod ttl_truth;
mod unacked;
mod version_parity;

pub use noise::ID as NOISE;
pub use stand_in::ID as STAND_IN;
pub use version_parity::grouped;

use larder_report::{
    CAPACITY, Cell, Check as Finding, Counts, Operation, Point, ReasonKind, Run, Severity, Target,
};

/// A rule that looks for one way in which a figure misleads.
pub trait Check: Sync {
    /// Its description and its use.
    fn about(&self) -> &'static About;

    /// Looks at a run and reports what it finds.
    fn look(&self, run: &Run, report: &mut Report<'_>);
}

/// A check as documentation shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its stable name.
    pub id: &'static str,
    /// The severities of its findings, worst first: one that depends on what it sees has several.
    pub severities: &'static [Severity],
    /// The fault that it sees, in one sentence.
    pub sees: &'static str,
    /// Where the mistake was made.
    pub seen_in: &'static str,
    /// How it is mended, in one sentence.
    pub advice: &'static str,
    /// How much it must have seen before it can judge.
    pub needs: Needs,
    /// Whether what it sees follows from the plan: then it fires in every run of the plan, or in none. Otherwise it hangs
    /// on how fast things were, on what else the machine did, or on what is installed there.
    pub repeats: bool,
}

/// How much of a run a check must have seen before it can judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Some rounds: it counts what happened in them. What it finds holds so far; where it is a share of the operations,
    /// the rounds to come may make it smaller.
    SomeRounds,
    /// The whole run: it weighs the rounds against each other, or asks how the run ended.
    WholeRun,
}

/// Every check, in the order of the documentation.
pub const CHECKS: &[&dyn Check] = &[
    &never_hits::NeverHits,
    &silent_drop::SilentDrop,
    &truncated::Truncated,
    &other_key::OtherKey,
    &damaged::Damaged,
    &stale::Stale,
    &not_emptied::NotEmptied,
    &ttl_truth::TtlTruth,
    &err_as_op::ErrAsOp,
    &oversize::Oversize,
    &capacity::Capacity,
    &cpu_wall::CpuWall,
    &client_cost::ClientCost,
    &unacked::Unacked,
    &excluded_time::ExcludedTime,
    &gen_bound::GenBound,
    &clipped::Clipped,
    &reconnect::Reconnect,
    &tier_dead::TierDead,
    &hidden_work::HiddenWork,
    &noise::Noise,
    &one_key::OneKey,
    &hidden_codec::HiddenCodec,
    &order::Order,
    &too_short::TooShort,
    &fs_kind::FsKind,
    &stand_in::StandIn,
    &version_parity::VersionParity,
    &ack_parity::AckParity,
    &reach_parity::ReachParity,
];

/// Whether there is a check of this name.
pub fn is_known(id: &str) -> bool {
    CHECKS.iter().any(|check| check.about().id == id)
}

/// Looks with every check; the worst findings come first.
pub fn run_all(run: &Run) -> Vec<Finding> {
    look(CHECKS.iter(), run, false)
}

/// Looks at the rounds so far of a run that is still going, with every check that can judge them.
pub fn run_early(run: &Run) -> Vec<Finding> {
    let early = CHECKS.iter().filter(|check| check.about().needs == Needs::SomeRounds);
    look(early, run, true)
}

fn look<'a>(
    checks: impl Iterator<Item = &'a &'a dyn Check>,
    run: &Run,
    is_early: bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in checks {
        check.look(run, &mut Report { about: check.about(), is_early, findings: &mut findings });
    }
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// Takes down what a check finds.
#[derive(Debug)]
pub struct Report<'a> {
    about: &'static About,
    /// The run is still going: what is worked out at its end is not there yet.
    is_early: bool,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    /// Something about one cell.
    fn cell(&mut self, severity: Severity, cell: &Cell, text: String) {
        let (point, operation) = (Some(cell.point.clone()), Some(cell.operation));
        self.add(severity, Some(cell.target.clone()), point, operation, text);
    }

    /// Something about what a cell has stored: whatever reads there stands on it.
    fn stored(&mut self, severity: Severity, cell: &Cell, text: String) {
        self.cell(severity, cell, text);
        if let Some(finding) = self.findings.last_mut() {
            finding.stored = true;
        }
    }

    /// Something about the run as a whole.
    fn run(&mut self, severity: Severity, text: String) {
        self.add(severity, None, None, None, text);
    }

    /// Something about one target, everywhere.
    fn target(&mut self, severity: Severity, target: &Target, text: String) {
        self.add(severity, Some(target.url.clone()), None, None, text);
    }

    /// Something about all targets at one point, for one operation.
    fn place(&mut self, severity: Severity, point: &Point, operation: Operation, text: String) {
        self.add(severity, None, Some(point.clone()), Some(operation), text);
    }

    fn add(
        &mut self,
        severity: Severity,
        target: Option<String>,
        point: Option<Point>,
        operation: Option<Operation>,
        text: String,
    ) {
        let About { id, severities, advice, .. } = *self.about;
        debug_assert!(severities.contains(&severity), "{id} says nothing of {severity:?}");
        let (id, advice) = (id.into(), advice.into());
        let stored = false;
        self.findings.push(Finding {
            id,
            severity,
            target,
            point,
            operation,
            stored,
            text,
            advice,
        });
    }
}

/// The cells that have figures.
fn measured(run: &Run) -> impl Iterator<Item = &Cell> {
    // That nothing succeeded is for the checks to explain.
    let kept = |kind| matches!(kind, None | Some(ReasonKind::NothingSucceeded));
    run.cells.iter().filter(move |cell| kept(cell.reason_kind) && cell.counts.ops > 0)
}

/// Reports the cells in which values came back that are wrong in one way: how many of all that were compared, with an example.
/// `what` says of them what is wrong.
fn wrong_values(
    run: &Run,
    report: &mut Report<'_>,
    kind: &str,
    number: fn(&Counts) -> u64,
    what: &str,
) {
    for cell in measured(run) {
        let (wrong, read) = (number(&cell.counts), cell.counts.compared());
        if wrong > 0 {
            let share = percent(wrong, read);
            let example = example(cell, kind);
            let text = format!("{wrong} of {read} values looked up {what} ({share:.2} %){example}");
            report.stored(Severity::Error, cell, text);
        }
    }
}

/// The first wrong value of a kind, as the end of a sentence; empty where none is known.
fn example(cell: &Cell, kind: &str) -> String {
    cell.wrong_examples
        .get(kind)
        .map_or_else(String::new, |example| format!("; such as: {example}"))
}

/// Whether a target has no room for all of the working set of a cell.
fn is_too_small(run: &Run, cell: &Cell) -> bool {
    let own = run.target(&cell.target).and_then(|target| target.capacity_bytes);
    let capacity = cell.capacity_bytes.or(own);
    capacity.is_some_and(|capacity| cell.working_set_bytes > capacity)
}

/// The cells of the same target at the same point, itself among them.
fn at_point_of<'a>(run: &'a Run, cell: &Cell) -> impl Iterator<Item = &'a Cell> {
    run.cells.iter().filter(move |other| other.target == cell.target && other.point == cell.point)
}

/// Whether nothing had to go for what else was stored at this point, in this operation or one before it. That is not known of
/// one that does not tell.
fn keeps_all(run: &Run, cell: &Cell) -> bool {
    at_point_of(run, cell).all(|other| other.counts.evictions == Some(0))
}

/// Whether entries had to go to make room at the point of a cell, or would have to: CAPACITY says so.
fn lacks_room(run: &Run, cell: &Cell) -> bool {
    is_too_small(run, cell) || at_point_of(run, cell).any(|other| other.counts.evictions > Some(0))
}

/// Whether a capacity was asked for: what a store drops then it drops as told.
fn is_bounded(cell: &Cell) -> bool {
    cell.point.contains_key(CAPACITY)
}

/// The targets that keep what is set and have figures for such an operation, each pair once.
fn pairs(
    run: &Run,
    operation: impl Fn(Operation) -> bool,
) -> impl Iterator<Item = (&Target, &Target)> {
    let has_figures = |target: &&Target| {
        let of = |cell: &Cell| cell.target == target.url && operation(cell.operation);
        let figures = |cell: &Cell| cell.ops_per_s.is_some() && cell.reason.is_none();
        target.stores == Some(true) && run.cells.iter().any(|cell| of(cell) && figures(cell))
    };
    let targets: Vec<&Target> = run.targets.iter().filter(has_figures).collect();
    let pair = |i: usize| (i + 1..targets.len()).map(move |j| (i, j));
    let places: Vec<(usize, usize)> = (0..targets.len()).flat_map(pair).collect();
    places.into_iter().map(move |(i, j)| (targets[i], targets[j]))
}

/// `part` of `whole` in percent.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}
