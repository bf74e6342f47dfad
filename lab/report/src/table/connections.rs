//! Connections, in the terminal's report.

use crate::connections::{CONNECTIONS, columns, connections, meaning};
use crate::figures::list;
use crate::grid::{Grid, GridColumn, Piece};
use crate::model::Run;
use crate::page::Page;
use crate::style::{BAD, FAINT, PLACE, PLAIN, Style};

/// Writes a row for each target at each place, and the meaning of the columns.
pub(super) fn write(page: &mut Page, run: &Run, style: Style) {
    let Some(places) = connections(run) else { return };
    let columns = columns(&places);
    let of = |importance| GridColumn { importance, left: false };
    let mut grid = Grid::new(columns.iter().map(|column| of(column.importance)).collect(), 0);
    for line in 0..2 {
        // A heading above several columns stands above the first of them.
        let mut above = "";
        let heads = columns.iter().map(|column| {
            let head = column.head[line];
            let shown = if line == 0 && head == above { "" } else { head };
            above = head;
            Piece::new(shown, FAINT)
        });
        grid.push(std::iter::once(Piece::plain("")).chain(heads).collect());
    }
    for row in places.iter().flat_map(|place| &place.rows) {
        let figures = columns.iter().map(|column| {
            let text = column.text(row);
            let is_fault = ["starved", "lost", "to come"].contains(&column.head[1]);
            let look = if is_fault && !["", "0"].contains(&text.as_str()) { BAD } else { PLAIN };
            Piece::new(text, look)
        });
        grid.push(
            std::iter::once(Piece::plain(format!("  {}", row.name))).chain(figures).collect(),
        );
    }
    let laid = grid.lay_out(Style { width: style.width.saturating_sub(2), ..style });
    let mut lines = laid.lines.iter();
    page.heading(CONNECTIONS);
    for line in lines.by_ref().take(2) {
        page.raw(&format!("  {line}"));
    }
    for place in &places {
        page.paragraph(2, PLACE, &place.label);
        for line in lines.by_ref().take(place.rows.len()) {
            page.raw(&format!("  {line}"));
        }
    }
    let shown: Vec<_> = (1..)
        .zip(&columns)
        .filter(|(at, _)| !laid.hidden.contains(at))
        .map(|(_, it)| *it)
        .collect();
    page.paragraph(2, FAINT, &meaning(&shown));
    let hidden: Vec<String> = laid.hidden.iter().map(|at| columns[*at - 1].name()).collect();
    if !hidden.is_empty() {
        let names: Vec<&str> = hidden.iter().map(String::as_str).collect();
        let told = format!("no room in {} characters for {}", style.width, list(&names));
        page.paragraph(2, FAINT, &format!("{told}: report.html has them"));
    }
}
