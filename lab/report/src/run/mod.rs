//! A run as a document: the figures, the conclusions, the checks, the limits.
//!
//! The terminal has one table for each operation, with what fits in its width. Markdown has a table for each point with
//! every column, and the targets and the machine folded at its end. The page is in `html`.

mod article;
mod details;
mod operations;

pub(crate) use article::matrices_of;

use crate::connections::{CONNECTIONS, columns, connections, meaning};
use crate::document::{
    Block, Column, Document, Item, Meaning, Reader, Row, Span, Table, Text, hidden_columns,
};
use crate::figures::list;
use crate::findings::{RuleFindings, findings, tally};
use crate::format::Format;
use crate::header::{CUSTOM, header, warning};
use crate::hit_ratio::{HIT_RATIOS, HitTable, NO_RATIO, READING, hit_tables, ratio, reasons};
use crate::limits::{NOT_SHOWN, not_shown};
use crate::model::{Run, Severity};
use crate::searches::{SEARCHES, search_lines};
use crate::sentences::{FIGURES_SAY, sentences};
use crate::style::Style;
use crate::tiers::{TIERS, tier_lines};

/// The format `table`.
pub(crate) const TABLE: Format =
    Format { name: "table", render: |run, style| for_terminal(run, style).to_terminal(style) };

/// The format `markdown`, for a pull request.
pub(crate) const MARKDOWN: Format =
    Format { name: "markdown", render: |run, _| for_markdown(run).to_markdown(2) };

/// The report for a terminal of this width.
fn for_terminal(run: &Run, style: Style) -> Document {
    let mut document = Document::default();
    document.blocks.extend(warning(run).map(|text| Block::Warning(text.to_owned())));
    document.facts(header(run));
    operations::for_terminal(&mut document, run, style);
    article::push(&mut document, run, Reader::Terminal);
    hit_ratios(&mut document, run, Reader::Terminal);
    connections_for_terminal(&mut document, run, style);
    sections(&mut document, run);
    let said = sentences(run);
    if !said.is_empty() {
        document.section(FIGURES_SAY);
        document.sayings(said.into_iter().map(|said| (said.subject, said.text)));
    }
    document.section(&format!("Checks: {}", tally(run)));
    document.list(findings(run).iter().map(finding_for_terminal));
    document.section(NOT_SHOWN);
    document.paragraph([Text::from(not_shown(run).join(" ")).means(Meaning::Faint)]);
    document
}

/// The report with every column.
fn for_markdown(run: &Run) -> Document {
    let mut document = Document { title: title(run), ..Document::default() };
    document.blocks.extend(warning(run).map(|text| Block::Warning(text.to_owned())));
    operations::for_markdown(&mut document, run);
    article::push(&mut document, run, Reader::Markdown);
    operations::legend_for_markdown(&mut document, run);
    hit_ratios(&mut document, run, Reader::Markdown);
    connections_for_markdown(&mut document, run);
    sections(&mut document, run);
    document.section(FIGURES_SAY);
    document.sayings(sentences(run).into_iter().map(|said| (said.subject, said.text)));
    document.section(&format!("Checks: {}", tally(run)));
    document.list(findings(run).iter().flat_map(finding_for_markdown));
    document.section(NOT_SHOWN);
    document.paragraph([not_shown(run).join(" ")]);
    document.push(details::details(run));
    document
}

fn title(run: &Run) -> String {
    if run.scenario != CUSTOM {
        return format!("Comparison of caches: {}", run.scenario);
    }
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    format!("Comparison of {}", list(&names))
}

/// The highest rates within a bound, and the tiers that answered, where there are any.
fn sections(document: &mut Document, run: &Run) {
    let searches = search_lines(run);
    if !searches.is_empty() {
        document.section(SEARCHES);
        document.sayings(searches.into_iter().map(|line| (line.subject, line.text)));
    }
    let tiers = tier_lines(run);
    if !tiers.is_empty() {
        document.section(TIERS);
        document.sayings(tiers.into_iter().map(|line| (line.subject, line.text)));
    }
}

/// A table for each curve, and below it the reasons for missing ratios.
fn hit_ratios(document: &mut Document, run: &Run, reader: Reader) {
    let tables = hit_tables(run);
    if tables.is_empty() {
        return;
    }
    document.section(HIT_RATIOS);
    for table in &tables {
        let is_terminal = reader == Reader::Terminal;
        if is_terminal {
            document.push(Block::Place(table.place.clone()));
        }
        let names = if is_terminal { Text::default() } else { table.place.as_str().into() };
        document.push(Block::Table(hit_table(table, names)));
        let reasons = reasons(table).into_iter();
        document.remarks(reasons.map(|reason| Text::from(reason).means(Meaning::Doubt)));
    }
    document.push(Block::Note(READING.into()));
}

fn hit_table(table: &HitTable, names: Text) -> Table {
    let rows = table.rows.iter().map(|row| {
        let is_model = row.target.is_none();
        let meaning = if is_model { Meaning::Faint } else { Meaning::Plain };
        let cell = |figure: &Result<f64, String>| match figure {
            Ok(figure) => Text::from(ratio(*figure)).means(meaning),
            Err(_) => Text::from(NO_RATIO).means(Meaning::Faint),
        };
        let name = row.name.clone();
        let name = if is_model { Span::Emphasis(name) } else { Span::Plain(name) };
        let cells = row.figures.iter().map(cell).collect();
        Row { name: Text::of(vec![name]).means(meaning), cells, ..Row::default() }
    });
    let columns = table.columns.iter().map(|capacity| Column::of_figures(capacity.as_str()));
    Table { names, columns: columns.collect(), rows: rows.collect(), ..Table::default() }
}

/// A row for each target at each place, the meaning of the columns, and the columns without room.
fn connections_for_terminal(document: &mut Document, run: &Run, style: Style) {
    let Some(table) = connection_table(run, Reader::Terminal) else { return };
    let hidden = hidden_columns(&table, style, 2);
    let all = connections(run).map(|places| columns(&places)).unwrap_or_default();
    let shown = all.iter().enumerate().filter(|(at, _)| !hidden.contains(at));
    let shown: Vec<_> = shown.map(|(_, column)| *column).collect();
    let names: Vec<&str> = hidden.iter().map(|at| table.columns[*at].name.as_str()).collect();
    let told = format!("no room in {} characters for {}", style.width, list(&names));
    document.section(CONNECTIONS);
    document.push(Block::Table(table));
    document.push(Block::Note(meaning(&shown).into()));
    if !hidden.is_empty() {
        document.push(Block::Note(format!("{told}: report.html has them").into()));
    }
}

/// The same with the places in the first column, and all columns.
fn connections_for_markdown(document: &mut Document, run: &Run) {
    let Some(mut table) = connection_table(run, Reader::Markdown) else { return };
    let all = connections(run).map(|places| columns(&places)).unwrap_or_default();
    let names = std::mem::replace(&mut table.names, "at".into());
    let names = Column { words: true, ..Column::of_figures(names.words()) };
    table.columns.insert(0, names);
    for row in &mut table.rows {
        let place = std::mem::take(&mut row.place);
        row.cells.insert(0, std::mem::replace(&mut row.name, place.into()));
    }
    document.section(CONNECTIONS);
    document.push(Block::Table(table));
    document.push(Block::Note(meaning(&all).into()));
}

fn connection_table(run: &Run, reader: Reader) -> Option<Table> {
    let places = connections(run)?;
    let columns = columns(&places);
    let mut rows = Vec::new();
    for place in &places {
        for (number, row) in place.rows.iter().enumerate() {
            let cell = |column: &&'static crate::connections::ConnectionColumn| {
                let text = column.text(row);
                let is_fault = ["starved", "lost", "to come"].contains(&column.head[1]);
                let is_bad = is_fault && !["", "0"].contains(&text.as_str());
                Text::from(text).means(if is_bad { Meaning::Bad } else { Meaning::Plain })
            };
            let cells = columns.iter().map(cell).collect();
            rows.push(Row {
                place: place.label.clone(),
                begins_place: number == 0,
                name: row.name.into(),
                cells,
                ..Row::default()
            });
        }
    }
    let column = |column: &&'static crate::connections::ConnectionColumn| Column {
        name: column.name(),
        heads: Some(column.head),
        importance: column.importance,
        words: false,
    };
    Some(Table {
        names: if reader == Reader::Terminal { Text::default() } else { "target".into() },
        columns: columns.iter().map(column).collect(),
        rows,
        has_places: true,
        ..Table::default()
    })
}

fn finding_for_terminal(finding: &RuleFindings<'_>) -> Item {
    let (mark, meaning) = match finding.severity {
        Severity::Error => ("✗", Meaning::Bad),
        Severity::Warn => ("!", Meaning::Doubt),
        Severity::Note => ("·", Meaning::Main),
    };
    let rule = format!("{mark} {} {}", finding.severity.as_str(), finding.id);
    Item {
        text: Text::from(rule).means(meaning),
        details: finding.lines.iter().map(|line| Text::from(line.as_str())).collect(),
        advice: finding.advice.iter().map(|advice| (*advice).to_owned()).collect(),
    }
}

/// An item for each finding of a rule; the advice belongs to the last.
fn finding_for_markdown(finding: &RuleFindings<'_>) -> Vec<Item> {
    let item = |line: &String| {
        let severity = Span::Plain(format!("{} ", finding.severity.as_str()));
        let id = Span::Strong(finding.id.to_owned());
        Item::from(Text::of(vec![severity, id, Span::Plain(format!(" {line}"))]))
    };
    let mut items: Vec<Item> = finding.lines.iter().map(item).collect();
    if let Some(last) = items.last_mut() {
        last.advice = finding.advice.iter().map(|advice| (*advice).to_owned()).collect();
    }
    items
}
