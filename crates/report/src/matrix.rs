//! The matrix that Perl's `cmpthese` prints: each target against each other, slowest first.
//!
//! `cmpthese` computes its rates in CPU time of the client, without saying so, and so can call the slower cache the
//! faster one. Here the rates are by wall clock; a second matrix by CPU follows only where it would tell another
//! story, and says what it is.

use std::ops::Range;

use crate::figures;
use crate::findings::said_of;
use crate::format::Format;
use crate::grid::{ALWAYS, Column, Grid, Piece};
use crate::model::{Run, Verdict};
use crate::page::Page;
use crate::points::label;
use crate::ranking::{Group, Row, Standing, groups, pair};
use crate::style::{BAD, DOUBT, FAINT, STRONG, Style};

/// Stands for a difference that is none.
const TIE: &str = "~";

/// A target and its rate by one clock.
struct Rated<'a> {
    row: &'a Row<'a>,
    rate: f64,
}

/// The format `matrix`.
pub(crate) const FORMAT: Format = Format { name: "matrix", render };

/// A matrix for each operation and point, at most as wide as the terminal.
fn render(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    let swept = run.swept();
    for (index, group) in groups(run).iter().enumerate() {
        if index > 0 {
            page.blank();
        }
        let place = label(group.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {place}") };
        page.paragraph(0, STRONG, &format!("{}{place}, by wall clock", group.operation));
        let by_wall = rated(group, Row::rate);
        write_matrix(&mut page, style, &by_wall, |a, b| is_tie(run, group, a, b));
        write_others(&mut page, group, &swept);

        let by_cpu = rated(group, per_cpu_second);
        if by_cpu.len() == by_wall.len() && order(&by_cpu) != order(&by_wall) {
            page.blank();
            page.paragraph(
                0,
                DOUBT,
                &format!(
                    "{}{place}, by CPU time of the client, whose order differs: who waits for a server or a disk \
                     spends no CPU, and is not faster for it",
                    group.operation
                ),
            );
            write_matrix(&mut page, style, &by_cpu, |_, _| false);
        }
    }
    if !swept.is_empty() {
        write_absent(&mut page, run);
    }
    page.into_text()
}

/// Operations for each second of client CPU; `None` where that is not known.
#[expect(clippy::cast_precision_loss, reason = "a rate of three figures")]
fn per_cpu_second(row: &Row<'_>) -> Option<f64> {
    let seconds = row.cell.client_cpu_s.filter(|seconds| *seconds > 0.0)?;
    Some(row.cell.counts.ops as f64 / seconds)
}

/// The ranked targets of a group with their rates, slowest first.
fn rated<'a>(group: &'a Group<'a>, rate: impl Fn(&Row<'a>) -> Option<f64>) -> Vec<Rated<'a>> {
    let mut rated: Vec<Rated<'a>> =
        group.ranked().filter_map(|row| Some(Rated { row, rate: rate(row)? })).collect();
    rated.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    rated
}

fn order<'a>(rated: &[Rated<'a>]) -> Vec<&'a str> {
    rated.iter().map(|rated| rated.row.cell.target.as_str()).collect()
}

fn is_tie(run: &Run, group: &Group<'_>, a: &Row<'_>, b: &Row<'_>) -> bool {
    pair(run, group.operation, group.point, &a.cell.target, &b.cell.target)
        .is_some_and(|pair| pair.verdict == Verdict::Indistinguishable)
}

/// The matrix, in blocks of as many columns as fit beside the names and rates.
fn write_matrix(
    page: &mut Page,
    style: Style,
    rated: &[Rated<'_>],
    tied: impl Fn(&Row<'_>, &Row<'_>) -> bool,
) {
    let texts: Vec<Vec<String>> = rated
        .iter()
        .map(|row| rated.iter().map(|column| difference(row, column, &tied)).collect())
        .collect();
    let mut from = 0;
    while from < rated.len() {
        let block =
            |to: usize| grid(rated, &texts, from..to).lay_out(Style { width: usize::MAX, ..style });
        let fitting = (from + 1..=rated.len()).rev().find(|to| block(*to).width <= style.width);
        let to = fitting.unwrap_or(from + 1);
        if from > 0 {
            page.blank();
        }
        for line in block(to).lines {
            page.raw(&line);
        }
        from = to;
    }
    if texts.iter().flatten().any(|text| text == TIE) {
        page.paragraph(0, FAINT, &format!("{TIE} cannot be told apart"));
    }
}

/// The rows of a matrix with the columns of a block of targets.
fn grid(rated: &[Rated<'_>], texts: &[Vec<String>], block: Range<usize>) -> Grid {
    let mut grid = Grid::new(vec![Column { importance: ALWAYS, left: false }; block.len() + 1], 0);
    let heads = rated[block.clone()].iter().map(|column| Piece::new(column.row.name, FAINT));
    let rate = Piece::new("rate", FAINT);
    grid.push([Piece::plain(""), rate].into_iter().chain(heads).collect());
    for (row, texts) in rated.iter().zip(texts) {
        let differences = texts[block.clone()].iter().map(Piece::plain);
        let lead = [Piece::plain(row.row.name), Piece::new(figures::rate(row.rate), STRONG)];
        grid.push(lead.into_iter().chain(differences).collect());
    }
    grid
}

/// How much faster the row is than the column, in percent of the column.
fn difference(
    row: &Rated<'_>,
    column: &Rated<'_>,
    tied: &impl Fn(&Row<'_>, &Row<'_>) -> bool,
) -> String {
    if std::ptr::eq(row.row, column.row) {
        "--".to_owned()
    } else if tied(row.row, column.row) {
        TIE.to_owned()
    } else {
        format!("{:.0}%", (row.rate / column.rate - 1.0) * 100.0)
    }
}

/// The targets that stand in no matrix of this group, and why.
fn write_others(page: &mut Page, group: &Group<'_>, swept: &[&str]) {
    for row in group.shown(swept) {
        match &row.standing {
            Standing::Ranked { .. } => {}
            Standing::Withheld(why) => {
                page.paragraph(
                    0,
                    BAD,
                    &said_of(&format!("✗ {}", row.name), &format!("no result: {why}")),
                );
            }
            Standing::Empty(reason) => {
                page.paragraph(0, DOUBT, &said_of(row.name, reason));
            }
        }
    }
}

/// The targets that never ran, once for the whole sweep.
fn write_absent(page: &mut Page, run: &Run) {
    let absent = run.targets.iter().filter_map(|target| Some((target, target.reason.as_ref()?)));
    for (index, (target, reason)) in absent.enumerate() {
        if index == 0 {
            page.blank();
        }
        page.paragraph(0, DOUBT, &said_of(&target.name, &format!("did not run: {reason}")));
    }
}
