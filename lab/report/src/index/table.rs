//! A set in the terminal: a line for each scenario.

use super::{Tally, answer, fired, took};
use crate::figures::seconds;
use crate::findings::said_of;
use crate::grid::{ALWAYS, Grid, GridColumn, Piece};
use crate::model::{Entry, Index, Run, Severity};
use crate::page::Page;
use crate::style::{BAD, BEST, DOUBT, FAINT, PLAIN, STRONG, Style};

/// The heads of the columns behind the names.
pub(super) const HEADS: [&str; 6] =
    ["hold", "do not", "cannot be told", "errors", "warnings", "time"];

/// The whole text.
pub(super) fn render(index: &Index, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(0, STRONG, &index.name);
    page.paragraph(2, PLAIN, &index.summary);
    for sentence in answer(index) {
        page.paragraph(2, PLAIN, &sentence);
    }
    page.blank();
    let column = |importance| GridColumn { importance, left: false };
    let columns = [ALWAYS, ALWAYS, ALWAYS, 2, 1, 3];
    let mut grid = Grid::new(columns.map(column).to_vec(), 0);
    let heads = HEADS.map(|head| Piece::new(head, FAINT));
    grid.push(std::iter::once(Piece::plain("")).chain(heads).collect());
    for entry in &index.scenarios {
        grid.push(std::iter::once(Piece::new(&*entry.name, STRONG)).chain(pieces(entry)).collect());
    }
    let runs: Vec<&Run> = index.runs().collect();
    let all = figures(&runs).into_iter().chain([took(index)]);
    let all = all.map(Piece::plain);
    grid.push(std::iter::once(Piece::new("all", FAINT)).chain(all).collect());
    for line in grid.lay_out(Style { width: style.width.saturating_sub(2), ..style }).lines {
        page.raw(&format!("  {line}"));
    }
    for entry in &index.scenarios {
        if let Some(reason) = &entry.reason {
            page.paragraph(4, DOUBT, &said_of(&entry.name, reason));
        }
    }
    page.into_text()
}

/// The figures of a scenario; empty if it did not run.
fn pieces(entry: &Entry) -> Vec<Piece> {
    let Some(run) = &entry.run else { return HEADS.map(|_| Piece::plain("")).to_vec() };
    let looks = [BEST, BAD, DOUBT, BAD, DOUBT];
    // A zero gets no colour.
    let piece = |(text, look): (String, _)| {
        Piece::new(&*text, if text == "0" || text == "–" { FAINT } else { look })
    };
    let figures = figures(&[run]).into_iter().zip(looks).map(piece);
    figures.chain([Piece::plain(time(run))]).collect()
}

/// The texts of all columns but the last. Runs without an article have no conclusions.
pub(super) fn figures(runs: &[&Run]) -> [String; 5] {
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
