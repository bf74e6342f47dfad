//! The matrix of Perl's `cmpthese`: each target against each other, slowest first.
//!
//! `cmpthese` silently computes its rates in CPU time of the client, and so can call the slower cache the faster one.
//! Here the rates are by wall clock. A second matrix by CPU time stands beside it where that is known, and is marked
//! where its order differs.

use std::ops::Range;

use anstyle::Style as Look;

use crate::article::heading;
use crate::columns::TIED as TIE;
use crate::figures;
use crate::findings::said_of;
use crate::format::Format;
use crate::grid::{ALWAYS, Grid, GridColumn, Piece};
use crate::model::{Run, Verdict};
use crate::page::Page;
use crate::points::label;
use crate::ranking::{Group, Row, Standing, groups, pair};
use crate::sentences::{no_verdict, rounds_needed};
use crate::style::{BAD, DOUBT, FAINT, STRONG, Style};
use crate::table::write_matrices;
use crate::text::width;

/// The characters between two matrices side by side.
const BETWEEN: usize = 4;

/// A target and its rate by one clock.
#[derive(Debug)]
pub(crate) struct Rated<'a> {
    pub(crate) name: &'a str,
    pub(crate) rate: f64,
}

/// The format `matrix`.
pub(crate) const FORMAT: Format = Format { name: "matrix", render };

/// Two matrices for each operation and point, at most as wide as the terminal; then those of an article with matrices.
fn render(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    let swept = run.swept();
    for (index, group) in groups(run).iter().enumerate() {
        if index > 0 {
            page.blank();
        }
        let place = label(group.point, &swept);
        let place = if place.is_empty() { place } else { format!(", {place}") };
        let place = format!("{}{place}", group.operation);
        write_clocks(&mut page, run, group, &place, style);
        write_others(&mut page, group, &swept);
    }
    if !swept.is_empty() {
        write_absent(&mut page, run);
    }
    if let Some(article) = run.article.as_ref().filter(|article| article.matrix) {
        page.heading(&heading(article));
        write_matrices(&mut page, article, style);
    }
    page.into_text()
}

/// The matrix by wall clock and beside it the matrix by CPU time, where the CPU time of every target is known.
fn write_clocks(page: &mut Page, run: &Run, group: &Group<'_>, place: &str, style: Style) {
    let (by_wall, wall) = rated(group, Row::rate);
    let tied = |a: usize, b: usize| is_tie(run, group, by_wall[a], by_wall[b]);
    let (by_cpu, cpu) = rated(group, per_cpu_second);
    let known = !by_cpu.is_empty() && by_cpu.len() >= by_wall.len();
    let differs = known && order(&by_cpu) != order(&by_wall);
    let look = if differs { DOUBT } else { FAINT };
    let mut blocks =
        vec![CaptionedMatrix::new(format!("{place}, by wall clock"), STRONG, &wall, &tied)];
    if known {
        let caption = format!("{place}, by CPU time of the client");
        blocks.push(CaptionedMatrix::new(caption, look, &cpu, &|_, _| false));
    }
    write_beside(page, 0, style, &blocks);
    if blocks[0].texts.iter().flatten().any(|text| text == TIE) {
        let why = no_verdict(run).map_or_else(
            || "cannot be told apart".to_owned(),
            |few| rounds_needed(few.rounds, few.needed),
        );
        page.paragraph(0, FAINT, &format!("{TIE} {why}"));
    }
    if differs {
        page.paragraph(
            0,
            DOUBT,
            "By CPU time the order differs: a client that waits for a server or a disk uses no CPU, and is not faster \
             for it.",
        );
    }
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

/// A matrix and its caption.
pub(crate) struct CaptionedMatrix<'a> {
    pub(crate) caption: String,
    pub(crate) look: Look,
    pub(crate) rated: &'a [Rated<'a>],
    pub(crate) texts: Vec<Vec<String>>,
}

impl<'a> CaptionedMatrix<'a> {
    fn new(
        caption: String,
        look: Look,
        rated: &'a [Rated<'a>],
        tied: &dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let all = 0..rated.len();
        let row = |row| all.clone().map(|column| difference(rated, row, column, tied)).collect();
        Self { caption, look, rated, texts: all.clone().map(row).collect() }
    }

    /// Its lines, each with its number of visible characters; the caption is the first.
    fn lines(&self, style: Style) -> Vec<(String, usize)> {
        let whole = |colour| {
            let style = Style { colour, width: usize::MAX };
            grid(self.rated, &self.texts, 0..self.rated.len()).lay_out(style).lines
        };
        let caption = (style.paint(self.look, &self.caption), width(&self.caption));
        let shown = whole(false).into_iter().map(|line| width(&line));
        std::iter::once(caption).chain(whole(style.colour).into_iter().zip(shown)).collect()
    }
}

/// Writes matrices side by side where they fit, otherwise one below the other.
pub(crate) fn write_beside(
    page: &mut Page,
    indent: usize,
    style: Style,
    blocks: &[CaptionedMatrix<'_>],
) {
    let all: Vec<Vec<(String, usize)>> = blocks.iter().map(|block| block.lines(style)).collect();
    let widest = |lines: &Vec<(String, usize)>| lines.iter().map(|(_, n)| *n).max().unwrap_or(0);
    let widths: Vec<usize> = all.iter().map(widest).collect();
    let gaps = blocks.len().saturating_sub(1) * BETWEEN;
    if indent + widths.iter().sum::<usize>() + gaps > style.text_width() {
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 {
                page.blank();
            }
            page.paragraph(indent, block.look, &block.caption);
            write_columns(page, indent, style, block);
        }
        return;
    }
    let height = all.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..height {
        let mut text = " ".repeat(indent);
        for (lines, widest) in all.iter().zip(&widths) {
            let (line, shown) = lines.get(row).map_or(("", 0), |(line, n)| (line.as_str(), *n));
            text.push_str(line);
            text.push_str(&" ".repeat(widest - shown + BETWEEN));
        }
        page.raw(&text);
    }
}

/// Writes the matrix in blocks of as many columns as fit beside the names and rates.
fn write_columns(page: &mut Page, indent: usize, style: Style, of: &CaptionedMatrix<'_>) {
    let (room, n) = (style.text_width().saturating_sub(indent), of.rated.len());
    let mut from = 0;
    while from < n {
        let block = |to: usize| {
            grid(of.rated, &of.texts, from..to).lay_out(Style { width: usize::MAX, ..style })
        };
        let fitting = (from + 1..=n).rev().find(|to| block(*to).width <= room);
        let to = fitting.unwrap_or(from + 1);
        if from > 0 {
            page.blank();
        }
        for line in block(to).lines {
            page.raw(&format!("{:indent$}{line}", ""));
        }
        from = to;
    }
}

/// The rows of a matrix with the columns of a block of targets.
fn grid(rated: &[Rated<'_>], texts: &[Vec<String>], block: Range<usize>) -> Grid {
    let mut grid =
        Grid::new(vec![GridColumn { importance: ALWAYS, left: false }; block.len() + 1], 0);
    let heads = rated[block.clone()].iter().map(|column| Piece::new(column.name, FAINT));
    let rate = Piece::new("rate", FAINT);
    grid.push([Piece::plain(""), rate].into_iter().chain(heads).collect());
    for (row, texts) in rated.iter().zip(texts) {
        let differences = texts[block.clone()].iter().map(Piece::plain);
        let lead = [Piece::plain(row.name), Piece::new(figures::rate(row.rate), STRONG)];
        grid.push(lead.into_iter().chain(differences).collect());
    }
    grid
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

/// The targets in no matrix of this group, with the reasons.
fn write_others(page: &mut Page, group: &Group<'_>, swept: &[&str]) {
    for row in group.shown(swept) {
        match &row.standing {
            Standing::Ranked { .. } => {}
            Standing::Unlike { reason, .. } => {
                page.paragraph(0, DOUBT, &said_of(row.name, reason));
            }
            Standing::Withheld(_) => {
                let why = format!("no result: {}", row.withheld().unwrap_or_default());
                page.paragraph(0, BAD, &said_of(&format!("✗ {}", row.name), &why));
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
