//! The parts of a difference in every format for people: the header, the tables, the omissions, the rule.

use crate::columns::ANSWERED;
use crate::figures::{count, list, nanoseconds, nanoseconds_spread, percent, rate, rate_spread};
use crate::header::to_the_second;
use crate::model::{
    Change, ChangeVerdict, Diff, DiffCell, DiffFigure, DiffMeasure, DiffSide, Operation, Verdict,
};
use crate::points::label;
use crate::sentences::{rounds_for_verdict, smallest_p};

/// The most names of cells in one sentence; further cells are counted.
const NAMED: usize = 6;

/// The heads of the columns behind the names.
pub(super) const HEADS: [&str; 9] =
    ["old", "±", "new", "±", "change", "", "95 % interval", "p", "n"];

/// One table: an operation by one measure.
pub(super) struct Block {
    pub(super) operation: Operation,
    pub(super) measure: &'static str,
    pub(super) rows: Vec<ChangeRow>,
}

/// A line of a table.
pub(super) struct ChangeRow {
    /// The place in the sweep; empty without a sweep.
    pub(super) place: String,
    pub(super) name: String,
    /// The texts in the columns of [`HEADS`].
    pub(super) columns: [String; 9],
    pub(super) verdict: ChangeVerdict,
}

/// The tables, in the order of reports.
pub(super) fn blocks(diff: &Diff) -> Vec<Block> {
    let swept = swept(diff);
    let mut blocks = Vec::new();
    for operation in Operation::ALL {
        for measure in DiffMeasure::ALL {
            let here =
                |change: &&Change| change.cell.operation == operation && change.measure == measure;
            let changes: Vec<&Change> = diff.changes.iter().filter(here).collect();
            if !changes.is_empty() {
                let rows = changes.iter().map(|change| row(change, &swept)).collect();

                blocks.push(Block { operation, measure: caption(measure), rows });
            }
        }
    }
    blocks
}

/// The names of the coordinates that differ among the common cells.
fn swept(diff: &Diff) -> Vec<&str> {
    let points = || diff.changes.iter().map(|change| &change.cell.point);
    let mut names: Vec<&str> =
        points().flat_map(|point| point.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let first = points().next();
    names.retain(|name| points().any(|point| point.get(*name) != first.and_then(|p| p.get(*name))));
    names
}

fn caption(measure: DiffMeasure) -> &'static str {
    match measure {
        DiffMeasure::OpsPerS => "rate",
        DiffMeasure::AnsweredPerS => ANSWERED,
        DiffMeasure::P50Ns => "p50",
        DiffMeasure::P99Ns => "p99",
        DiffMeasure::HitRatio => "hits",
    }
}

fn row(change: &Change, swept: &[&str]) -> ChangeRow {
    let Change { cell, measure, old, new, .. } = change;
    let n = if old.rounds == new.rounds {
        old.rounds.to_string()
    } else {
        format!("{}+{}", old.rounds, new.rounds)
    };
    let p = if change.p < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", change.p) };
    let (value, word) = changed(change);
    ChangeRow {
        place: label(&cell.point, swept),
        name: cell.name.clone(),
        columns: [
            figure(*measure, old),
            spread(*measure, old),
            figure(*measure, new),
            spread(*measure, new),
            value,
            word,
            change.ci95.map(interval).unwrap_or_default(),
            p,
            n,
        ],
        verdict: change.verdict,
    }
}

fn figure(measure: DiffMeasure, figure: &DiffFigure) -> String {
    match measure {
        DiffMeasure::OpsPerS | DiffMeasure::AnsweredPerS => rate(figure.value),
        DiffMeasure::P50Ns | DiffMeasure::P99Ns => nanoseconds(figure.value),
        DiffMeasure::HitRatio => percent(figure.value),
    }
}

fn spread(measure: DiffMeasure, figure: &DiffFigure) -> String {
    let Some(ci95) = figure.ci95 else { return String::new() };
    match measure {
        DiffMeasure::P50Ns | DiffMeasure::P99Ns => nanoseconds_spread(figure.value, ci95),
        _ => rate_spread(figure.value, ci95),
    }
}

/// The change and its direction for the reader; `~` where no change can be told.
fn changed(change: &Change) -> (String, String) {
    let word = match (change.verdict, change.measure) {
        (ChangeVerdict::Indistinguishable, _) => return ("~".to_owned(), String::new()),
        (ChangeVerdict::Better, DiffMeasure::HitRatio) => "more",
        (ChangeVerdict::Worse, DiffMeasure::HitRatio) => "fewer",
        (ChangeVerdict::Better, _) => "faster",
        (ChangeVerdict::Worse, _) => "slower",
    };
    let value = match (change.measure, change.ratio) {
        (DiffMeasure::HitRatio, _) => {
            format!("{} points", signed((change.new.value - change.old.value) * 100.0))
        }
        (_, Some(ratio)) => by(ratio),
        (_, None) => String::new(),
    };
    (value, word.to_owned())
}

/// The difference between a ratio and 1, in percent.
fn by(ratio: f64) -> String {
    format!("{} %", signed((ratio - 1.0) * 100.0))
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("[{} – {}]", by(low), by(high))
}

/// A value with its sign, and as many decimals as a comparison needs.
fn signed(value: f64) -> String {
    let size = value.abs();
    let decimals = usize::from(size < 99.95);
    let text = format!("{size:.decimals$}");
    let is_zero = text.chars().all(|c| "0.".contains(c));
    let sign = if is_zero {
        "±"
    } else if value < 0.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{text}")
}

/// The header above the tables: labels and texts.
pub(super) fn header(diff: &Diff) -> Vec<(&'static str, String)> {
    let mut lines = vec![("old", side(&diff.old)), ("new", side(&diff.new))];
    let mut rest = Vec::new();
    for (name, value) in &diff.common {
        match name.as_str() {
            "machine" => lines.push(("machine", value.clone())),
            _ => rest.push(format!("{name} {value}")),
        }
    }
    if !rest.is_empty() {
        lines.push(("both", rest.join(", ")));
    }
    lines
}

fn side(side: &DiffSide) -> String {
    let DiffSide { path, larder, scenario, seed, started, interrupted } = side;
    let interrupted = if *interrupted { ", interrupted" } else { "" };
    let started = to_the_second(started);
    format!("{path}: {scenario}{interrupted}; larder {larder}, seed {seed}, {started}")
}

/// The reason why the changes may not be what they seem.
pub(super) fn warning(diff: &Diff) -> Option<String> {
    let mixed = diff.told_mixed()?;
    Some(format!(
        "these runs differ in more than the figures, and each difference may cause a change: {mixed}"
    ))
}

/// The facts outside the tables, in sentences.
pub(super) fn left_out(diff: &Diff) -> Vec<String> {
    let mut lines = Vec::new();
    for (cells, side) in [(&diff.only_old, "old"), (&diff.only_new, "new")] {
        if !cells.is_empty() {
            let (number, names) = (count(cells.len(), "cell"), named(cells));
            lines.push(format!("only in {side}: {number}: {names}"));
        }
    }
    for left in &diff.not_compared {
        lines.push(format!("not compared: {}: {}", place(&left.cell), left.reason));
    }
    lines.extend(diff.notes.iter().cloned());
    lines
}

/// A cell in words.
fn place(cell: &DiffCell) -> String {
    let names: Vec<&str> = cell.point.keys().map(String::as_str).collect();
    let at = label(&cell.point, &names);
    let at = if at.is_empty() { at } else { format!(" at {at}") };
    format!("{} of {}{at}", cell.operation, cell.name)
}

fn named(cells: &[DiffCell]) -> String {
    let mut names: Vec<String> = Vec::new();
    for cell in cells {
        let name = format!("{} of {}", cell.operation, cell.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    list(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

impl Diff {
    /// The sentence that so few rounds can tell no change of a rate, however clear; `None` where they could.
    pub fn too_few_rounds(&self) -> Option<String> {
        let rates = || self.changes.iter().filter(|change| change.measure.is_a_rate());
        let number = rates().count();
        let rounds = || rates().map(|change| (change.old.rounds, change.new.rounds));
        let smallest = rounds().map(|(old, new)| smallest_p(old, new)).min_by(f64::total_cmp)?;
        #[expect(clippy::cast_precision_loss, reason = "a number of cells")]
        let least = smallest * number as f64;
        let most = rounds().map(|(old, new)| old.min(new)).max().unwrap_or(0);
        (least >= Verdict::SIGNIFICANCE).then(|| {
            format!(
                "so few rounds can tell no change, however clear: {} of each run are needed for {}",
                count(rounds_for_verdict(most, number), "round"),
                count(number, "rate"),
            )
        })
    }
}

/// The rule for telling a change, and whether so few rounds can tell one.
pub(super) fn rule(diff: &Diff) -> Vec<String> {
    let rates = || diff.changes.iter().filter(|change| change.measure.is_a_rate());
    let number = rates().count();
    let mut lines = vec![format!(
        "a change is told where p < {}, after Holm's correction over all changes of a measure (rates: {number}), and where \
         it is more than {:.0} %; ~ stands where the runs cannot be told apart; an interval belongs to one \
         change and is uncorrected; a percentile is the median of the rounds' percentiles",
        Verdict::SIGNIFICANCE,
        Verdict::MIN_DIFFERENCE * 100.0
    )];
    lines.extend(diff.too_few_rounds());
    lines
}
