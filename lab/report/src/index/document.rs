//! A set as a document: its answer and a table of its scenarios. The terminal has no more; a file also has every
//! conclusion and a section for each scenario.

use super::{
    Conclusion, Tally, address, answer, by_verdict, fired, found, not_shown, one_machine, question,
    title, took,
};
use crate::article::{self, conclusions};
use crate::document::{Block, Column, Document, Item, Meaning, Reader, Row, Span, Table, Text};
use crate::figures::seconds;
use crate::findings::{findings, said_of};
use crate::grid::ALWAYS;
use crate::header::{machine, to_the_second};
use crate::limits::NOT_SHOWN;
use crate::model::{Entry, Index, Run, Severity};

/// The columns behind the names: the head, the importance, and the meaning of a figure that is not 0.
const COLUMNS: [(&str, u8, Meaning); 6] = [
    ("hold", ALWAYS, Meaning::Good),
    ("do not", ALWAYS, Meaning::Bad),
    ("cannot be told", ALWAYS, Meaning::Doubt),
    ("errors", 2, Meaning::Bad),
    ("warnings", 1, Meaning::Doubt),
    ("time", 3, Meaning::Plain),
];

/// The whole set.
pub(super) fn document(index: &Index, reader: Reader) -> Document {
    let mut document = Document { title: index.name.clone(), ..Document::default() };
    if reader == Reader::Terminal {
        document.section(&index.name);
    }
    document.paragraph(Some(&*index.summary).filter(|summary| !summary.is_empty()));
    document.paragraph(answer(index));
    document.push(Block::Table(table(index, reader)));
    if reader == Reader::Terminal {
        document.remarks(index.scenarios.iter().filter_map(|entry| {
            let text = said_of(&entry.name, entry.reason.as_ref()?);
            Some(Text::from(text).means(Meaning::Doubt))
        }));
        return document;
    }
    document.paragraph(one_machine(index).map(|it| format!("Machine: {}", machine(it))));
    let runs: Vec<&Run> = index.runs().collect();
    for (heading, asked) in by_verdict(&runs) {
        document.section(heading);
        document.list(asked.iter().map(conclusion));
    }
    for entry in &index.scenarios {
        scenario(&mut document, index, entry);
    }
    document.section(NOT_SHOWN);
    document.list(not_shown(index));
    document
}

fn table(index: &Index, reader: Reader) -> Table {
    let column = |(head, importance, _): (&str, u8, Meaning)| Column {
        importance,
        ..Column::of_figures(head)
    };
    let runs: Vec<&Run> = index.runs().collect();
    let all = figures(&runs).into_iter().chain([took(index)]).map(Text::from);
    let name = Text::from("all").means(Meaning::Faint);
    let all = Row { name, cells: all.collect(), ..Row::default() };
    Table {
        names: if reader == Reader::Terminal { Text::default() } else { "scenario".into() },
        columns: COLUMNS.map(column).into(),
        rows: index.scenarios.iter().map(row).chain([all]).collect(),
        ..Table::default()
    }
}

/// The figures of a scenario; empty if it did not run.
fn row(entry: &Entry) -> Row {
    let name = entry.name.clone();
    let (span, cells) = match &entry.run {
        Some(run) => (Span::Link(name, address(entry, "report.md")), cells(run)),
        None => (Span::Plain(name), COLUMNS.map(|_| Text::default()).into()),
    };
    Row { name: Text::of(vec![span]).means(Meaning::Main), cells, ..Row::default() }
}

fn cells(run: &Run) -> Vec<Text> {
    let texts = figures(&[run]).into_iter().chain([time(run)]);
    // A zero gets no colour.
    let cell = |(text, (.., meaning)): (String, (&str, u8, Meaning))| {
        let is_nothing = text == "0" || text == "–";
        Text::from(text).means(if is_nothing { Meaning::Faint } else { meaning })
    };
    texts.zip(COLUMNS).map(cell).collect()
}

/// The texts of all columns but the last. Runs without an article have no conclusions.
fn figures(runs: &[&Run]) -> [String; 5] {
    let tally = Tally::of(runs.iter().copied());
    let sum = |severity| runs.iter().map(|run| fired(run, severity)).sum::<usize>();
    let claims =
        |number: usize| if tally.all() == 0 { "–".to_owned() } else { number.to_string() };
    [
        claims(tally.holds),
        claims(tally.fails),
        claims(tally.open),
        sum(Severity::Error).to_string(),
        sum(Severity::Warn).to_string(),
    ]
}

/// The time of a run, with a remark if it was interrupted.
pub(crate) fn time(run: &Run) -> String {
    let interrupted = if run.interrupted { ", interrupted" } else { "" };
    format!("{}{interrupted}", seconds(run.duration_s))
}

/// The verdict and the sentence, the form that decides, the checks, and a reason without a verdict.
fn conclusion(asked: &Conclusion<'_>) -> Item {
    let said = &asked.said;
    let see = said.fired.join(", ");
    let see = if see.is_empty() { see } else { format!(" → {see}") };
    let text = Text::of(vec![
        Span::Plain(format!("{} ", said.mark)),
        Span::Strong(said.verdict.to_owned()),
        Span::Plain(format!(": {} ({}){see}", asked.says(), asked.told_by())),
    ]);
    let details = said.claim.reason.iter().map(|why| Text::from(why.as_str())).collect();
    Item { text, details, advice: Vec::new() }
}

/// A scenario: its question, its facts, what was found, and the figures that are no results.
fn scenario(document: &mut Document, index: &Index, entry: &Entry) {
    document.section(&title(entry));
    let Some(run) = &entry.run else {
        let reason = entry.reason.as_deref().unwrap_or_default();
        return document.paragraph([format!("Did not run: {reason}")]);
    };
    document.paragraph(question(run));
    let mut facts: Vec<(&str, Text)> =
        vec![("ran", format!("{}, {}", to_the_second(&run.started), time(run)).into())];
    if one_machine(index).is_none() {
        facts.push(("machine", machine(&run.environment).into()));
    }
    let article = run.article.iter().flat_map(article::facts).skip(1);
    facts.extend(article.map(|(label, text)| (label, text.into())));
    let report = address(entry, "report.html");
    facts.push(("report", Text::of(vec![Span::Link(report.clone(), report)])));
    document.facts(facts);
    match run.article.as_ref().filter(|article| !article.claims.is_empty()) {
        Some(article) => document.paragraph([conclusions(article)]),
        None => document.list(found(run)),
    }
    let error = |id: &str, line: &str| {
        let id = Span::Strong(id.to_owned());
        Text::of(vec![Span::Plain("error ".into()), id, Span::Plain(format!(" {line}"))])
    };
    let errors = findings(run).into_iter().filter(|finding| finding.severity == Severity::Error);
    let errors: Vec<Text> = errors
        .flat_map(|finding| {
            finding.lines.iter().map(|line| error(finding.id, line)).collect::<Vec<_>>()
        })
        .collect();
    document.list(errors);
}
