//! The matrix of Perl's `cmpthese`: each target against each other, slowest first.
//!
//! `cmpthese` silently computes its rates in CPU time of the client, and so can call the slower cache the faster one.
//! Here the rates are by wall clock. A second matrix by CPU time stands beside it where that is known, and is marked
//! where its order differs.

use crate::article::heading;
use crate::columns::TIED as TIE;
use crate::document::{Block, Document, Meaning, Reader, Table, Text};
use crate::figures;
use crate::findings::said_of;
use crate::format::Format;
use crate::model::{Run, Verdict};
use crate::points::label;
use crate::ranking::{Group, Row, Standing, groups, pair};
use crate::run::matrices_of;
use crate::sentences::{no_verdict, rounds_needed};

/// The remark where the two clocks disagree.
const DIFFERS: &str = "By CPU time the order differs: a client that waits for a server or a disk uses no CPU, and is not faster for it.";

/// A target and its rate by one clock.
#[derive(Debug)]
pub(crate) struct Rated<'a> {
    pub(crate) name: &'a str,
    pub(crate) rate: f64,
}

/// The format `matrix`.
pub(crate) const FORMAT: Format =
    Format { name: "matrix", render: |run, style| document(run).to_terminal(style) };

/// Two matrices for each operation and point; then those of an article with matrices.
fn document(run: &Run) -> Document {
    let mut document = Document::default();
    let swept = run.swept();
    for group in &groups(run) {
        let place = label(group.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {place}") };
        push_clocks(&mut document, run, group, &format!("{}{place}", group.operation));
        document.paragraph(group.shown(&swept).filter_map(other));
    }
    if !swept.is_empty() {
        // The targets that never ran, once for the whole sweep.
        let absent = run.targets.iter().filter_map(|it| Some((it, it.reason.as_ref()?)));
        document.list(absent.map(|(target, reason)| {
            let text = said_of(&target.name, &format!("did not run: {reason}"));
            Text::from(text).means(Meaning::Doubt)
        }));
    }
    if let Some(article) = run.article.as_ref().filter(|article| article.matrix) {
        document.section(&heading(article));
        matrices_of(&mut document, article, Reader::Terminal);
    }
    document
}

/// The matrix by wall clock and beside it the matrix by CPU time, where the CPU time of every target is known.
fn push_clocks(document: &mut Document, run: &Run, group: &Group<'_>, place: &str) {
    let (by_wall, wall) = rated(group, Row::rate);
    let tied = |a: usize, b: usize| is_tie(run, group, by_wall[a], by_wall[b]);
    let (by_cpu, cpu) = rated(group, per_cpu_second);
    let known = !by_cpu.is_empty() && by_cpu.len() >= by_wall.len();
    let differs = known && order(&by_cpu) != order(&by_wall);
    let caption = format!("{place}, by wall clock");
    let mut tables = vec![matrix((&caption, Meaning::Main), &wall, &tied)];
    let has_ties = tables[0].rows.iter().flat_map(|row| &row.cells).any(|text| text.words() == TIE);
    if known {
        let caption = format!("{place}, by CPU time of the client");
        let meaning = if differs { Meaning::Doubt } else { Meaning::Faint };
        tables.push(matrix((&caption, meaning), &cpu, &|_, _| false));
    }
    document.push(Block::Beside(tables));
    if has_ties {
        let why = no_verdict(run).map_or_else(
            || "cannot be told apart".to_owned(),
            |few| rounds_needed(few.rounds, few.needed),
        );
        document.paragraph([Text::from(format!("{TIE} {why}")).means(Meaning::Faint)]);
    }
    document.paragraph(differs.then(|| Text::from(DIFFERS).means(Meaning::Doubt)));
}

fn matrix(
    caption: (&str, Meaning),
    rated: &[Rated<'_>],
    tied: &dyn Fn(usize, usize) -> bool,
) -> Table {
    let all = 0..rated.len();
    let row = |row| all.clone().map(|column| difference(rated, row, column, tied)).collect();
    let rates = rated.iter().map(|rated| (rated.name, figures::rate(rated.rate)));
    Table::matrix(caption, rates, all.clone().map(row).collect())
}

/// Operations for each second of client CPU; `None` where the CPU time is unknown.
#[expect(clippy::cast_precision_loss, reason = "a rate of three figures")]
fn per_cpu_second(row: &Row<'_>) -> Option<f64> {
    let seconds = row.cell.client_cpu_s.filter(|seconds| *seconds > 0.0)?;
    Some(row.cell.counts.ops as f64 / seconds)
}

/// The ranked targets of a group with their rates, slowest first.
fn rated<'a>(
    group: &'a Group<'a>,
    rate: impl Fn(&Row<'a>) -> Option<f64>,
) -> (Vec<&'a Row<'a>>, Vec<Rated<'a>>) {
    let mut rated: Vec<(&Row<'a>, Rated<'a>)> = group
        .ranked()
        .filter_map(|row| Some((row, Rated { name: row.name, rate: rate(row)? })))
        .collect();
    rated.sort_by(|(_, a), (_, b)| a.rate.total_cmp(&b.rate));
    rated.into_iter().unzip()
}

fn order<'a>(rows: &[&'a Row<'a>]) -> Vec<&'a str> {
    rows.iter().map(|row| row.cell.target.as_str()).collect()
}

fn is_tie(run: &Run, group: &Group<'_>, a: &Row<'_>, b: &Row<'_>) -> bool {
    pair(run, group.operation, group.point, &a.cell.target, &b.cell.target)
        .is_some_and(|pair| matches!(pair.verdict, Verdict::Indistinguishable | Verdict::Undecided))
}

/// The lead of the row over the column, in percent of the column.
pub(crate) fn difference(
    rated: &[Rated<'_>],
    row: usize,
    column: usize,
    tied: &dyn Fn(usize, usize) -> bool,
) -> String {
    if row == column {
        "--".to_owned()
    } else if tied(row, column) {
        TIE.to_owned()
    } else {
        format!("{:.0}%", (rated[row].rate / rated[column].rate - 1.0) * 100.0)
    }
}

/// The reason why a target is in no matrix of its group; `None` for a ranked one.
fn other(row: &Row<'_>) -> Option<Text> {
    let doubt = |reason: &str| Text::from(said_of(row.name, reason)).means(Meaning::Doubt);
    match &row.standing {
        Standing::Ranked { .. } => None,
        Standing::Unlike { reason, .. } => Some(doubt(reason)),
        Standing::Empty(reason) => Some(doubt(reason)),
        Standing::Withheld(_) => {
            let why = format!("no result: {}", row.withheld().unwrap_or_default());
            Some(Text::from(said_of(&format!("✗ {}", row.name), &why)).means(Meaning::Bad))
        }
    }
}
