//! Checks: rules that look for ways in which a figure misleads.
//!
//! A check is a function of a [`Run`], so that a test can make it fire on any run, and has its own file. A new check is
//! a file and a line in [`CHECKS`]. Only the findings in the finished run count. Checks that can judge a part of a run
//! also look at it while it goes on, so that a faulty run shows early.

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
mod over_limit;
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
mod unfair;
mod version_parity;

use larder_report::figures::count;
pub use noise::ID as NOISE;
pub use stand_in::ID as STAND_IN;
pub use version_parity::grouped;

use larder_report::{
    CAPACITY, Cell, Counts, Finding, Operation, Point, ReasonKind, Run, Severity, Target,
};

/// A rule that looks for one way in which a figure misleads.
pub trait Check: Sync {
    /// Its description and its use.
    fn about(&self) -> &'static About;

    /// Looks at a run and reports its findings.
    fn look(&self, run: &Run, report: &mut Report<'_>);
}

/// A check as documentation shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its stable name.
    pub id: &'static str,
    /// The severities of its findings, worst first; a check has several where the severity depends on the evidence.
    pub severities: &'static [Severity],
    /// The fault that it detects, in one sentence.
    pub sees: &'static str,
    /// The articles and tools with this fault.
    pub seen_in: &'static str,
    /// The fix, in one sentence.
    pub advice: &'static str,
    /// The part of a run that it needs before it can judge.
    pub needs: Needs,
    /// Whether the fault follows from the plan, so that the check fires in every run of the plan or in none. Otherwise
    /// it depends on speed, on the machine's other work, or on the installed software.
    pub repeats: bool,
}

/// The part of a run that a check needs before it can judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Some rounds: the check counts events in them. Its findings hold so far; a share of the operations may become
    /// smaller in later rounds.
    SomeRounds,
    /// The whole run: it weighs the rounds against each other, or asks how the run ended.
    WholeRun,
}

/// Every check, in the order of the documentation.
pub const CHECKS: &[&dyn Check] = &[
    &never_hits::NeverHits,
    &over_limit::OverLimit,
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
    &unfair::Unfair,
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

/// Looks at the rounds so far of an unfinished run, with every check that can judge them.
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

/// Collects the findings of a check.
#[derive(Debug)]
pub struct Report<'a> {
    about: &'static About,
    /// Whether the run is unfinished: results that are computed at its end are missing.
    is_early: bool,
    findings: &'a mut Vec<Finding>,
}

impl Report<'_> {
    /// Adds a finding about one cell.
    fn cell(&mut self, severity: Severity, cell: &Cell, text: String) {
        let (point, operation) = (Some(cell.point.clone()), Some(cell.operation));
        self.add(severity, Some(cell.target.clone()), point, operation, text);
    }

    /// Adds a finding about the values that a cell stored; it also applies to the reads of these values.
    fn stored(&mut self, severity: Severity, cell: &Cell, text: String) {
        self.cell(severity, cell, text);
        if let Some(finding) = self.findings.last_mut() {
            finding.stored = true;
        }
    }

    /// Adds a finding about the run as a whole.
    fn run(&mut self, severity: Severity, text: String) {
        self.add(severity, None, None, None, text);
    }

    /// Adds a finding about one target, everywhere.
    fn target(&mut self, severity: Severity, target: &Target, text: String) {
        self.add(severity, Some(target.url.clone()), None, None, text);
    }

    /// Adds a finding about all targets at one point, for one operation.
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
    // Cells without any success stay: the checks explain them.
    let kept = |kind| matches!(kind, None | Some(ReasonKind::NothingSucceeded));
    run.cells.iter().filter(move |cell| kept(cell.reason_kind) && cell.counts.ops > 0)
}

/// Reports the cells with values that are wrong in one way: their number among all compared values, and an example.
/// `what` describes the fault.
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
            let text = format!(
                "{wrong} of {} looked up {what} ({share:.2} %){example}",
                count(read, "value")
            );
            report.stored(Severity::Error, cell, text);
        }
    }
}

/// The first wrong value of a kind, as the end of a sentence; empty where no example is known.
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

/// The cells of the same target at the same point, including this cell.
fn at_point_of<'a>(run: &'a Run, cell: &Cell) -> impl Iterator<Item = &'a Cell> {
    run.cells.iter().filter(move |other| other.target == cell.target && other.point == cell.point)
}

/// Whether the store evicted nothing at this point, in this operation or an earlier one. `false` where the store does
/// not report evictions.
fn keeps_all(run: &Run, cell: &Cell) -> bool {
    at_point_of(run, cell).all(|other| other.counts.evictions == Some(0))
}

/// Whether entries were evicted at the point of a cell, or the working set does not fit: CAPACITY reports both.
fn lacks_room(run: &Run, cell: &Cell) -> bool {
    is_too_small(run, cell) || at_point_of(run, cell).any(|other| other.counts.evictions > Some(0))
}

/// The share of the reads that returned a value; other checks report wrong values.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn found(cell: &Cell) -> Option<f64> {
    let found = cell.counts.hits + cell.counts.wrong;
    let answered = found + cell.counts.misses;
    (answered > 0).then(|| found as f64 / answered as f64)
}

/// Whether a capacity was asked for: then the store drops entries as configured.
fn is_bounded(cell: &Cell) -> bool {
    cell.point.contains_key(CAPACITY)
}

/// The pairs of targets that keep their values and have figures for such an operation, each pair once.
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
