//! A difference as a document: the two runs, a table for each operation and measure, the omissions, the rule.

use std::collections::BTreeSet;

use crate::chart::judged_charts;
use crate::columns::ANSWERED;
use crate::document::{
    Block, Column, Document, Figure, FigureTarget, Meaning, PageParts, Reader, Row, Table, Text,
};
use crate::figures::{
    agreeing, count, list, nanoseconds, nanoseconds_spread, percent, rate, rate_spread,
};
use crate::grid::ALWAYS;
use crate::header::to_the_second;
use crate::html::charts::{key, rounds_of};
use crate::limits::NOT_SHOWN;
use crate::model::{
    Change, ChangeVerdict, Diff, DiffCell, DiffFigure, DiffMeasure, DiffSide, NotCompared,
    Operation, Point, Verdict,
};
use crate::points::{Labels, label};
use crate::sentences::{rounds_for_verdict, smallest_p};
use crate::text::{capital, width};

/// The most names of cells in one sentence; further cells are counted.
const NAMED: usize = 6;

/// The name of the data that the page of a difference contains.
pub(super) const DATA: &str = "diff.json.gz";

/// The most charts that a page shows without its script.
const STILLS: usize = 24;

/// The columns behind the names: the head, the importance, and the meaning of each text. Without room the spreads go
/// first, then the interval. The columns without a meaning have that of the change.
const COLUMNS: [(&str, u8, Option<Meaning>); 9] = [
    ("old", ALWAYS, Some(Meaning::Plain)),
    ("±", 20, Some(Meaning::Faint)),
    ("new", ALWAYS, Some(Meaning::Main)),
    ("±", 21, Some(Meaning::Faint)),
    ("change", ALWAYS, None),
    ("", 90, None),
    ("95 % interval", 40, Some(Meaning::Faint)),
    ("p", 60, Some(Meaning::Faint)),
    ("n", 50, Some(Meaning::Faint)),
];

/// The column of the words for the change.
const WORD: usize = 5;

/// The whole difference. A page has sections and charts; elsewhere everything stands below the other.
pub(super) fn document(diff: &Diff, reader: Reader) -> Document {
    let mut document = Document { title: "What changed".to_owned(), ..Document::default() };
    document.blocks.extend(warning(diff).map(Block::Warning));
    document.facts(header(diff));
    let tables = tables(diff);
    let rule = rule(diff).into_iter().map(Text::from);
    if reader != Reader::Page {
        document.blocks.extend(tables.into_iter().map(Block::Table));
        let rule = rule.map(|text| text.means(Meaning::Faint));
        document.list(left_out(diff).into_iter().map(Text::from).chain(rule));
        return document;
    }
    document.title = format!("What changed from {} to {}", diff.old.path, diff.new.path);
    document.page_section("answer", "Answer", "The answer");
    document.paragraph(in_short(diff));
    document.figure(figure_of(diff));
    if !tables.is_empty() {
        document.page_section("tables", "Tables", "Tables");
    }
    for table in tables {
        document.push(Block::Part(capital(&table.caption), None));
        document.push(Block::Table(Table { names: "target".into(), ..table }));
    }
    document.page_section("not-shown", "Limits", NOT_SHOWN);
    let sentences = left_out(diff).into_iter().map(Text::from).chain(rule);
    document.list(sentences.map(|text| Text::from(capital(&text.words()))));
    let json = serde_json::to_string(diff).expect("numbers and texts, and memory takes them");
    document.page = PageParts {
        larder: env!("CARGO_PKG_VERSION").to_owned(),
        legend: "Targets in the charts",
        targets: figure_targets(diff),
        data: Some((DATA, json)),
    };
    document
}

/// The charts, and those of them that are shown without a script: first those with a change.
fn figure_of(diff: &Diff) -> Figure {
    let judged = judged_charts(diff);
    let ids = |told: bool| {
        judged.iter().filter(move |(_, is_told)| *is_told == told).map(|(chart, _)| &chart.id)
    };
    let stills: BTreeSet<String> = ids(true).chain(ids(false)).take(STILLS).cloned().collect();
    let charts: Vec<_> = judged.into_iter().map(|(chart, _)| chart).collect();
    let key = if charts.is_empty() { String::new() } else { key(&charts) };
    Figure { charts, key, is_main: true, stills: Some(stills) }
}

/// The verdicts in a sentence, and a sentence for each reason why they do not say all.
fn in_short(diff: &Diff) -> Vec<String> {
    let mut sentences = vec![verdicts(diff)];
    if !diff.not_compared.is_empty() {
        let number = diff.not_compared.len();
        let were = agreeing(number, "was", "were");
        let cells = count(number, "cell");
        sentences.push(format!("{cells} {were} not compared: the limits below say why."));
    }
    let may_be_worse = diff.not_compared.iter().filter(|left| left.may_be_worse);
    let may_be_worse: Vec<&DiffCell> = may_be_worse.map(|NotCompared { cell, .. }| cell).collect();
    if !may_be_worse.is_empty() {
        let names = named(may_be_worse);
        sentences.push(capital(&format!(
            "{names} may be worse: the new run has no result there, or fewer hits."
        )));
    }
    sentences.extend(diff.too_few_rounds().map(|few| format!("{}.", capital(&few))));
    sentences
}

fn verdicts(diff: &Diff) -> String {
    if diff.changes.is_empty() {
        return "The two runs have no figure that can be compared.".to_owned();
    }
    let number = |verdict: ChangeVerdict| {
        diff.changes.iter().filter(|change| change.verdict == verdict).count()
    };
    let [better, worse, open] =
        [ChangeVerdict::Better, ChangeVerdict::Worse, ChangeVerdict::Indistinguishable].map(number);
    let are = |number| agreeing(number, "is", "are");
    format!(
        "Of {}, {better} {} better, {worse} {} worse, and {open} cannot be told apart.",
        count(diff.changes.len(), "compared figure"),
        are(better),
        are(worse),
    )
}

/// The targets, with the rounds behind their figures.
fn figure_targets(diff: &Diff) -> Vec<FigureTarget> {
    let of = |(url, name): (&str, &str)| {
        let mine = diff.changes.iter().filter(|change| change.cell.target == url);
        let rounds = mine.flat_map(|change| [change.old.rounds, change.new.rounds]);
        FigureTarget { name: name.to_owned(), rounds: rounds_of(rounds) }
    };
    diff.targets().into_iter().map(of).collect()
}

/// The tables, in the order of reports.
fn tables(diff: &Diff) -> Vec<Table> {
    let swept = diff.swept();
    let labels = Labels::of(diff.changes.iter().map(|change| &change.cell.point));
    let place = |point: &Point| labels.long(point, &swept);
    let mut tables = Vec::new();
    for operation in Operation::ALL {
        for measure in DiffMeasure::ALL {
            let changes = diff.changes_of(operation, measure);
            if !changes.is_empty() {
                tables.push(table(operation, measure, &changes, &place));
            }
        }
    }
    // All tables begin their figures at the same place, behind the indented names.
    let names = tables.iter().flat_map(|table| &table.rows).map(|row| width(&row.name.words()) + 2);
    let widest = names.max().unwrap_or(0);
    for table in &mut tables {
        table.names_width = widest;
    }
    tables
}

fn table(
    operation: Operation,
    measure: DiffMeasure,
    changes: &[&Change],
    place: &dyn Fn(&Point) -> String,
) -> Table {
    let caption = format!("{operation} {}", caption(measure));
    let mut before = None;
    let rows = changes.iter().map(|change| {
        let point = &change.cell.point;
        let begins_place = before.replace(point) != Some(point);
        Row { place: place(point), begins_place, ..row(change) }
    });
    let columns = COLUMNS.iter().enumerate().map(|(at, (head, importance, _))| Column {
        importance: *importance,
        words: at == WORD,
        ..Column::of_figures(*head)
    });
    Table {
        names: Text::from(caption.as_str()).means(Meaning::Main),
        caption,
        columns: columns.collect(),
        rows: rows.collect(),
        has_places: true,
        is_ruled: true,
        ..Table::default()
    }
}

/// The name of a measure.
pub(crate) fn caption(measure: DiffMeasure) -> &'static str {
    match measure {
        DiffMeasure::OpsPerS => "rate",
        DiffMeasure::AnsweredPerS => ANSWERED,
        DiffMeasure::P50Ns => "p50",
        DiffMeasure::P99Ns => "p99",
        DiffMeasure::HitRatio => "hits",
    }
}

fn row(change: &Change) -> Row {
    let Change { cell, measure, old, new, .. } = change;
    let n = if old.rounds == new.rounds {
        old.rounds.to_string()
    } else {
        format!("{}+{}", old.rounds, new.rounds)
    };
    let p = if change.p < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", change.p) };
    let (value, word) = changed(change);
    let texts = [
        figure(*measure, old),
        spread(*measure, old),
        figure(*measure, new),
        spread(*measure, new),
        value,
        word,
        change.ci95.map(interval).unwrap_or_default(),
        p,
        n,
    ];
    let verdict = match change.verdict {
        ChangeVerdict::Better => Meaning::Good,
        ChangeVerdict::Worse => Meaning::Bad,
        ChangeVerdict::Indistinguishable => Meaning::Faint,
    };
    let cell_of = |(text, (_, _, meaning)): (String, (_, _, Option<Meaning>))| {
        Text::from(text).means(meaning.unwrap_or(verdict))
    };
    Row {
        name: cell.name.as_str().into(),
        cells: texts.into_iter().zip(COLUMNS).map(cell_of).collect(),
        ..Row::default()
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
fn header(diff: &Diff) -> Vec<(&'static str, String)> {
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
fn warning(diff: &Diff) -> Option<String> {
    let mixed = diff.told_mixed()?;
    Some(format!(
        "these runs differ in more than the figures, and each difference may cause a change: {mixed}"
    ))
}

/// The facts outside the tables, in sentences.
fn left_out(diff: &Diff) -> Vec<String> {
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

fn named<'a>(cells: impl IntoIterator<Item = &'a DiffCell>) -> String {
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
    /// The changes of one measure of an operation.
    pub(crate) fn changes_of(&self, operation: Operation, measure: DiffMeasure) -> Vec<&Change> {
        let here =
            |change: &&Change| change.cell.operation == operation && change.measure == measure;
        self.changes.iter().filter(here).collect()
    }

    /// The targets of all common cells with their labels, in the order of the changes.
    pub(crate) fn targets(&self) -> Vec<(&str, &str)> {
        let compared = self.changes.iter().map(|change| &change.cell);
        let mut targets: Vec<(&str, &str)> = Vec::new();
        for cell in compared.chain(self.not_compared.iter().map(|left| &left.cell)) {
            if !targets.iter().any(|(url, _)| *url == cell.target) {
                targets.push((&cell.target, &cell.name));
            }
        }
        targets
    }

    /// The names of the coordinates that differ among the compared cells.
    pub(crate) fn swept(&self) -> Vec<&str> {
        let points = || self.changes.iter().map(|change| &change.cell.point);
        let mut names: Vec<&str> =
            points().flat_map(|point| point.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        let first = points().next();
        names.retain(|name| {
            points().any(|point| point.get(*name) != first.and_then(|p| p.get(*name)))
        });
        names
    }

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
fn rule(diff: &Diff) -> Vec<String> {
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
