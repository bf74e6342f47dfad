//! Ranks cells against each other: those of one operation at one point, fastest first.
//!
//! A figure with a check of severity *error* against it is shown but never ranked, and a cell without a figure keeps
//! its reason. Targets that hit less often than the best of their group are shown behind it and never ranked by speed.
//! A miss is other work than a hit. Every report reads this ranking, so that all reports agree.

use std::cmp::Ordering;

use crate::figures;
use crate::model::{Cell, Comparison, Operation, Point, Run, Target, Verdict};
use crate::points::points;
use crate::sentences::{PAIRED_FROM, no_verdict};
use crate::ties;

/// The cells of one operation at one point.
#[derive(Debug)]
pub struct Group<'a> {
    /// The operation.
    pub operation: Operation,
    /// The place in the sweep.
    pub point: &'a Point,
    /// The ranked rows, fastest first; then those that hit less often, then the withheld ones, then the empty ones.
    pub rows: Vec<Row<'a>>,
}

/// One target within a [`Group`].
#[derive(Debug)]
pub struct Row<'a> {
    /// The label that reports show.
    pub name: &'a str,
    /// The target; `None` where the run does not list it.
    pub target: Option<&'a Target>,
    /// Its figures.
    pub cell: &'a Cell,
    /// Its place.
    pub standing: Standing<'a>,
    /// The finding of the worst check that disqualifies its figures; `None` without such a check.
    pub evidence: Option<&'a str>,
    /// Whether it is the best of the ranking, or cannot be told apart from the best.
    pub leads: bool,
    /// Whether it is not the best of the ranking but cannot be told apart from it, in a run that can tell targets
    /// apart.
    pub ties_best: bool,
    /// Whether its operation missed anywhere in the run, so that requests answered and hits are two figures.
    pub misses: bool,
    /// The letters that it shares with targets that cannot be told apart from it. Empty without such targets, and where
    /// the run has too few rounds to tell any targets apart.
    pub ties: String,
}

/// The place of a cell in its group.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing<'a> {
    /// In the ranking.
    Ranked {
        /// Its rate over the best rate of the group; in an open loop the best response p99 over its own.
        to_best: f64,
    },
    /// Its figures are a result, but of other work than those of the ranked cells: it hit less often.
    Unlike {
        /// Its hit ratio, 0 to 1; of a delete or a touch the share of the keys that were there.
        hits: f64,
        /// The reason, in a few words.
        reason: String,
    },
    /// Its figures are no result; the reason, in a few words.
    Withheld(String),
    /// It has no figures; the reason.
    Empty(&'a str),
}

/// Two targets compared, from the view of the first.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// Rate of the first over rate of the second; in an open loop, response p99 of the second over that of the first.
    pub ratio: f64,
    /// Its 95 % interval; `None` with fewer than six rounds.
    pub ci95: Option<[f64; 2]>,
    /// Probability of such a difference between equal targets.
    pub p: f64,
    /// The verdict on the first against the second.
    pub verdict: Verdict,
    /// The ratio of the shown medians, where `ratio` is the median of the rounds' ratios.
    pub of_medians: Option<f64>,
}

/// Every group of a run: operations in their order, points in theirs.
pub fn groups(run: &Run) -> Vec<Group<'_>> {
    let mut operations: Vec<Operation> = run.cells.iter().map(|cell| cell.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    let points = points(run);
    let decides = no_verdict(run).is_none();
    let places = operations.iter().flat_map(|operation| points.iter().map(|p| (*operation, *p)));
    let mut missing = operations.clone();
    missing.retain(|of| run.cells.iter().any(|cell| cell.operation == *of && misses(cell)));
    places
        .map(|(operation, point)| Group {
            operation,
            point,
            rows: rows(run, operation, point, decides)
                .into_iter()
                .map(|row| Row { misses: missing.contains(&operation), ..row })
                .collect(),
        })
        .filter(|group| !group.rows.is_empty())
        .collect()
}

/// The comparison of two targets, from the view of `a`; `None` where the run does not compare them.
pub fn pair(run: &Run, operation: Operation, point: &Point, a: &str, b: &str) -> Option<Pair> {
    let here = |c: &&Comparison| c.operation == operation && c.point == *point;
    run.comparisons.iter().filter(here).find_map(|comparison| {
        let seen = Pair {
            ratio: comparison.ratio,
            ci95: comparison.ci95,
            p: comparison.p,
            verdict: comparison.verdict,
            of_medians: of_medians(run, comparison),
        };
        match (comparison.a.as_str(), comparison.b.as_str()) {
            (first, second) if (first, second) == (a, b) => Some(seen),
            (first, second) if (first, second) == (b, a) => Some(seen.turned()),
            _ => None,
        }
    })
}

/// The ratio of the medians of two targets that were compared round by round; `None` where `ratio` is already that.
fn of_medians(run: &Run, comparison: &Comparison) -> Option<f64> {
    let cell = |url: &str| {
        let mut of = run.cells.iter().filter(|cell| cell.target == url);
        of.find(|cell| cell.operation == comparison.operation && cell.point == comparison.point)
    };
    let (a, b) = (cell(&comparison.a)?, cell(&comparison.b)?);
    let fewest = a.rounds.min(b.rounds) as usize;
    let ratio = || Some(a.speed()? / b.speed()?);
    (fewest >= PAIRED_FROM).then(ratio).flatten()
}

/// The label of a target, or its URL where the run does not list it.
pub(crate) fn name<'a>(run: &'a Run, url: &'a str) -> &'a str {
    run.target(url).map_or(url, |target| target.name.as_str())
}

impl Pair {
    /// The same comparison, from the view of the second target.
    #[must_use]
    pub fn turned(self) -> Self {
        Self {
            ratio: self.ratio.recip(),
            ci95: self.ci95.map(|[low, high]| [high.recip(), low.recip()]),
            p: self.p,
            of_medians: self.of_medians.map(f64::recip),
            verdict: match self.verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                neither => neither,
            },
        }
    }
}

impl Pair {
    /// The ratio of the medians, where a reader would notice its difference from `ratio`.
    pub(crate) fn other_ratio_of_medians(&self) -> Option<f64> {
        const SEEN: f64 = 0.01;
        self.of_medians.filter(|medians| (medians / self.ratio - 1.0).abs() > SEEN)
    }
}

impl<'a> Group<'a> {
    /// Whether operations arrived at planned times, so that latencies are ranked instead of rates.
    pub fn is_paced(&self) -> bool {
        self.ranked().any(|row| row.cell.is_paced())
    }

    /// The rows that are in the ranking, fastest first.
    pub fn ranked(&self) -> impl Iterator<Item = &Row<'a>> {
        self.rows.iter().filter(|row| row.to_best().is_some())
    }

    /// The rows that a report shows. A sweep omits targets that never ran, because one sentence names them for the
    /// whole run.
    pub fn shown(&self, swept: &[&str]) -> impl Iterator<Item = &Row<'a>> {
        self.rows.iter().filter(|row| swept.is_empty() || row.ran())
    }
}

impl Row<'_> {
    /// Its rate over the best rate of its group, in an open loop the best p99 over its own; `None` where it is not
    /// ranked.
    pub fn to_best(&self) -> Option<f64> {
        match self.standing {
            Standing::Ranked { to_best } => Some(to_best),
            Standing::Unlike { .. } | Standing::Withheld(_) | Standing::Empty(_) => None,
        }
    }

    /// The reason why it is not compared with the ranked rows, where it hit less often.
    pub fn unlike(&self) -> Option<&str> {
        match &self.standing {
            Standing::Unlike { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// The reason why its figures are no result, with the finding of a check: `SILENT-DROP: 921 of 18000 …`. `None`
    /// where they are a result.
    pub fn withheld(&self) -> Option<String> {
        match (&self.standing, self.evidence) {
            (Standing::Withheld(why), Some(evidence)) => Some(format!("{why}: {evidence}")),
            (Standing::Withheld(why), None) => Some(why.clone()),
            _ => None,
        }
    }

    /// Whether its figures are shown but are no result.
    pub fn is_withheld(&self) -> bool {
        matches!(self.standing, Standing::Withheld(_))
    }

    /// Whether its target ran at all.
    fn ran(&self) -> bool {
        self.rate().is_some() || self.target.is_none_or(|target| target.reason.is_none())
    }

    /// Its rate by wall clock, of answered operations for operations that can miss; `None` where the cell is empty.
    pub fn rate(&self) -> Option<f64> {
        rate(self.cell)
    }

    /// The 95 % interval of its rate.
    pub fn rate_ci95(&self) -> Option<[f64; 2]> {
        self.cell.rate_ci95()
    }

    /// The p99 of its latency from the planned start, the median of the rounds, in nanoseconds: its ranking figure in
    /// an open loop. `None` in a closed loop.
    pub fn ranking_p99(&self) -> Option<f64> {
        self.speed().filter(|_| self.cell.is_paced()).map(f64::recip).map(|seconds| seconds * 1e9)
    }

    /// The figure that ranks it: its rate, or in an open loop the inverse of its p99.
    fn speed(&self) -> Option<f64> {
        self.rate().and(self.cell.speed())
    }
}

/// A valid rate: neither zero, which means that no operation succeeded, nor infinite.
fn rate(cell: &Cell) -> Option<f64> {
    cell.rate().filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// Whether some of its operations missed.
fn misses(cell: &Cell) -> bool {
    cell.counts.misses > 0
}

fn rows<'a>(run: &'a Run, operation: Operation, point: &'a Point, decides: bool) -> Vec<Row<'a>> {
    let cells = run.cells.iter().filter(|c| c.operation == operation && c.point == *point);
    let mut rows: Vec<Row<'_>> = cells
        .map(|cell| {
            let target = run.target(&cell.target);
            let name = name(run, &cell.target);
            Row {
                name,
                target,
                cell,
                standing: standing(run, cell),
                evidence: evidence(run, cell),
                leads: false,
                ties_best: false,
                misses: false,
                ties: String::new(),
            }
        })
        .collect();
    set_apart(&mut rows);
    rows.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| better_first(a, b)));

    let ranked = rows.iter().filter(|row| row.to_best().is_some()).count();
    let best = rows.first().and_then(Row::speed).unwrap_or(1.0);
    let verdict = |a: usize, b: usize| {
        let pair = pair(run, operation, point, &rows[a].cell.target, &rows[b].cell.target);
        pair.map(|pair| pair.verdict)
    };
    let tied = |a: usize, b: usize| verdict(a, b) == Some(Verdict::Indistinguishable);
    // Round by round the target with the lower median may win: then neither has won.
    let leads = |place| place == 0 || tied(0, place) || verdict(0, place) == Some(Verdict::Slower);
    let places: Vec<(bool, bool)> =
        (0..ranked).map(|place| (leads(place), decides && place > 0 && tied(0, place))).collect();
    // A letter means that a comparison was made and could not tell. Pairs without a comparison, or without a possible
    // verdict, share no letter.
    let letters = ties::letters(ranked, |a, b| !decides || !tied(a, b));
    for (row, (letters, (leads, ties_best))) in rows.iter_mut().zip(letters.into_iter().zip(places))
    {
        row.standing = Standing::Ranked { to_best: row.speed().unwrap_or(0.0) / best };
        row.ties = letters;
        row.leads = leads;
        row.ties_best = ties_best;
    }
    rows
}

/// Sets the rows apart that hit less often than the best of a group.
fn set_apart(rows: &mut [Row<'_>]) {
    let ranked = rows.iter().filter(|row| row.to_best().is_some());
    let most = ranked.max_by(|a, b| {
        a.cell.found_ratio().partial_cmp(&b.cell.found_ratio()).unwrap_or(Ordering::Equal)
    });
    let Some(best) = most.map(|row| row.cell) else { return };
    for row in rows.iter_mut().filter(|row| row.to_best().is_some()) {
        if let (false, Some(hits)) = (row.cell.finds_as_often_as(best), row.cell.found_ratio()) {
            let found = if row.cell.operation.reads() { "hits" } else { "found keys" };
            let most = figures::percent(best.found_ratio().unwrap_or_default());
            let reason = format!(
                "{found} {}, the best {most}: a miss is other work than a hit, so speed is not compared",
                figures::percent(hits)
            );
            row.standing = Standing::Unlike { hits, reason };
        }
    }
}

/// The ranked rows come before those that hit less often, these before the withheld, and those before the empty.
fn place(row: &Row<'_>) -> u8 {
    match row.standing {
        Standing::Ranked { .. } => 0,
        Standing::Unlike { .. } => 1,
        Standing::Withheld(_) => 2,
        Standing::Empty(_) => 3,
    }
}

fn better_first(a: &Row<'_>, b: &Row<'_>) -> Ordering {
    match (&a.standing, &b.standing) {
        (Standing::Ranked { .. }, Standing::Ranked { .. }) => {
            b.speed().partial_cmp(&a.speed()).unwrap_or(Ordering::Equal)
        }
        (Standing::Unlike { hits: a, .. }, Standing::Unlike { hits: b, .. }) => b.total_cmp(a),
        _ => Ordering::Equal,
    }
}

fn standing<'a>(run: &'a Run, cell: &'a Cell) -> Standing<'a> {
    if rate(cell).is_none() {
        return Standing::Empty(why_empty(run, cell));
    }
    let target = run.target(&cell.target);
    if target.and_then(|target| target.stores) == Some(false) {
        return Standing::Withheld(
            "keeps nothing: its time is the cost of the measuring".to_owned(),
        );
    }
    if let Some(what) = target.and_then(Target::stand_in) {
        return Standing::Withheld(what.to_owned());
    }
    match (&cell.reason, against(run, cell)) {
        (None, None) => Standing::Ranked { to_best: 1.0 },
        (None, Some(checks)) => Standing::Withheld(checks),
        (Some(reason), None) => Standing::Withheld(reason.clone()),
        (Some(reason), Some(checks)) => Standing::Withheld(format!("{checks}; {reason}")),
    }
}

fn evidence<'a>(run: &'a Run, cell: &Cell) -> Option<&'a str> {
    run.checks.iter().find(|check| check.disqualifies(cell)).map(|check| check.text.as_str())
}

/// The names of the checks that disqualify the figures of a cell; `None` without such checks.
fn against(run: &Run, cell: &Cell) -> Option<String> {
    let disqualify = run.checks.iter().filter(|check| check.disqualifies(cell));
    let mut ids: Vec<&str> = disqualify.map(|check| check.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    (!ids.is_empty()).then(|| ids.join(", "))
}

fn why_empty<'a>(run: &'a Run, cell: &'a Cell) -> &'a str {
    let of_target = || run.target(&cell.target).and_then(|target| target.reason.as_deref());
    if let Some(reason) = cell.reason.as_deref().or_else(of_target) {
        return reason;
    }
    let counts = &cell.counts;
    if counts.ops > 0 && counts.errors >= counts.ops {
        "every operation failed"
    } else if counts.ops > 0 && counts.errors + counts.wrong >= counts.ops {
        "no read returned the right value"
    } else if cell.operation.reads() && counts.misses > 0 && counts.hits == 0 {
        "every read missed"
    } else if run.interrupted {
        "not measured before the interruption"
    } else {
        "not measured"
    }
}
