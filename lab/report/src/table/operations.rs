//! The tables of figures: one for each operation, its rows by point and then by rate.

use anstyle::Style as Look;

use crate::columns::{ANSWERED, ANSWERED_MEANS, BAR, COLUMNS, Column, FACTS, TIED};
use crate::figures::{agreeing, list};
use crate::grid::{self, Grid, Laid, Piece};
use crate::header::told_of_all;
use crate::model::{Operation, Run};
use crate::page::Page;
use crate::points::label;
use crate::ranking::{Group, Row, Standing, groups};
use crate::shown_percentiles::{WITHHELD, WITHHELD_MEANS};
use crate::style::{BAD, BEST, DOUBT, FAINT, PLACE, PLAIN, STRONG, Style};
use crate::text::width;

/// Marks a row that is no result.
const MARK: &str = "✗ ";

/// A printed line: a row of the grid, or a text that runs across it.
enum PrintedLine<'a> {
    /// The next row of the grid.
    Row,
    /// The next row of the grid, with a rule below it: the lower line of the heads.
    Heads,
    /// The next row of the grid, which holds only a name; a reason stands beside it.
    Empty(&'a str),
    /// The reason why the row above is no result.
    Withheld(String),
    /// The reason why the row above is not compared with the ranked rows.
    Unlike(&'a str),
    /// The place of the next rows in the sweep.
    Place(String),
}

/// Rows for the grid and lines for the page, side by side.
struct Table<'a> {
    columns: Vec<&'static Column>,
    grid: Grid,
    lines: Vec<PrintedLine<'a>>,
}

/// Writes the tables, then the meaning of their marks and the columns that did not fit.
pub(super) fn write(page: &mut Page, run: &Run, style: Style) {
    let groups = groups(run);
    // All tables begin their figures at the same place.
    let names = groups.iter().flat_map(|group| &group.rows).map(|row| width(row.name)).max();
    let mut left_out: Vec<&'static Column> = Vec::new();
    for of_operation in groups.chunk_by(|a, b| a.operation == b.operation) {
        let table = table(run, of_operation, names.unwrap_or(0) + width(MARK));
        let laid = table.grid.lay_out(style);
        left_out.extend(laid.hidden.iter().map(|column| table.columns[*column - 1]));
        page.blank();
        write_lines(page, &laid, table.lines, style);
    }
    write_legend(page, &groups, &left_out, style);
}

fn table<'a>(run: &Run, groups: &'a [Group<'_>], names: usize) -> Table<'a> {
    let columns = shown_columns(run, groups);
    let widths = columns
        .iter()
        .map(|column| grid::GridColumn {
            importance: importance(column, groups),
            left: column.words,
        })
        .collect();
    let mut table = Table { columns, grid: Grid::new(widths, names), lines: Vec::new() };
    let swept = run.swept();
    table.push_heads(groups[0].operation);
    for group in groups {
        if !swept.is_empty() {
            table.lines.push(PrintedLine::Place(label(group.point, &swept)));
        }
        for row in group.shown(&swept) {
            table.push_row(row);
        }
    }
    table
}

/// The importance of a column. In an open loop the slowest operations have two times, from the planned start and from
/// the real one. Each says little without the other.
fn importance(column: &Column, groups: &[Group<'_>]) -> u8 {
    const OF_BOTH: u8 = 84;
    let is_paced =
        || groups.iter().flat_map(|group| &group.rows).any(|row| row.cell.paced.is_some());
    if column.name == "p99.9" && is_paced() { OF_BOTH } else { column.importance }
}

/// The columns with information: not empty in every row, and no fact that the header already gives for all.
fn shown_columns(run: &Run, groups: &[Group<'_>]) -> Vec<&'static Column> {
    let has_figures = |row: &&Row<'_>| row.rate().is_some();
    let rows: Vec<&Row<'_>> = groups.iter().flat_map(|g| &g.rows).filter(has_figures).collect();
    let says_something = |column: &&Column| {
        let told = FACTS.contains(&column.name) && told_of_all(run, column.name).is_some();
        !told && rows.iter().any(|row| (column.text)(row).is_some())
    };
    COLUMNS.iter().filter(says_something).collect()
}

impl<'a> Table<'a> {
    fn push_heads(&mut self, operation: Operation) {
        for (line, name) in ["", operation.as_str()].into_iter().enumerate() {
            let heads = self.columns.iter().map(|column| Piece::new(column.head[line], FAINT));
            let row = std::iter::once(Piece::new(name, STRONG)).chain(heads).collect();
            self.grid.push(row);
        }
        self.lines.extend([PrintedLine::Row, PrintedLine::Heads]);
    }

    fn push_row(&mut self, row: &'a Row<'_>) {
        let name = match &row.standing {
            Standing::Withheld(_) => Piece::new(format!("{MARK}{}", row.name), BAD),
            _ => Piece::plain(format!("{:1$}{2}", "", width(MARK), row.name)),
        };
        if let Standing::Empty(reason) = row.standing {
            self.grid.push(vec![name]);
            self.lines.push(PrintedLine::Empty(reason));
            return;
        }
        let figures = self.columns.iter().map(|column| match (column.text)(row) {
            Some(text) => Piece::new(text, look(column, row)),
            None => Piece::new(column.otherwise, FAINT),
        });
        self.grid.push(std::iter::once(name).chain(figures).collect());
        self.lines.push(PrintedLine::Row);
        self.lines.extend(row.withheld().map(PrintedLine::Withheld));
        self.lines.extend(row.unlike().map(PrintedLine::Unlike));
    }
}

fn look(column: &Column, row: &Row<'_>) -> Look {
    match (column.name, &row.standing) {
        ("wrong" | "errors", _) => BAD,
        (_, Standing::Withheld(_)) | ("±", _) => FAINT,
        ("rate" | ANSWERED | "vs best" | BAR, _) if row.leads => BEST,
        ("rate" | ANSWERED, _) => STRONG,
        (BAR | "tie", _) => PLACE,
        _ => PLAIN,
    }
}

fn write_lines(page: &mut Page, laid: &Laid, lines: Vec<PrintedLine<'_>>, style: Style) {
    let mut rows = laid.lines.iter();
    let mut row = || rows.next().map_or("", String::as_str);
    for line in lines {
        match line {
            PrintedLine::Place(place) => page.paragraph(0, PLACE, &place),
            PrintedLine::Unlike(reason) => page.paragraph(4, DOUBT, reason),
            PrintedLine::Withheld(why) => page.paragraph(4, BAD, &format!("no result: {why}")),
            PrintedLine::Empty(reason) => {
                page.entry(0, row(), laid.indent - 2, PLAIN, DOUBT, reason);
            }
            PrintedLine::Heads => {
                page.raw(row());
                page.raw(&style.paint(FAINT, &"─".repeat(laid.width)));
            }
            PrintedLine::Row => {
                // The upper line of the heads may have nothing to say.
                let row = row();
                if !row.is_empty() {
                    page.raw(row);
                }
            }
        }
    }
}

fn write_legend(page: &mut Page, groups: &[Group<'_>], left_out: &[&Column], style: Style) {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let mut legend = Vec::new();
    if rows().any(|row| !row.ties.is_empty()) {
        legend.push("tie: targets that share a letter cannot be told apart".to_owned());
    }
    if rows().any(|row| row.ties_best) {
        legend.push(format!("{TIED} cannot be told apart from the fastest"));
    }
    if rows().any(|row| row.misses && row.rate().is_some()) {
        legend.push(ANSWERED_MEANS.to_owned());
    }
    let is_shown = |column: &&Column| !left_out.iter().any(|left| left.name == column.name);
    let untold = |row: &Row<'_>| {
        let mut shown = COLUMNS.iter().filter(is_shown);
        row.rate().is_some() && shown.any(|column| (column.text)(row).as_deref() == Some(WITHHELD))
    };
    if rows().any(untold) {
        legend.push(format!("{WITHHELD} {WITHHELD_MEANS}"));
    }
    if rows().any(Row::is_withheld) {
        legend.push(format!("{MARK}is no result and stands outside the ranking"));
    }
    let mut of_keys: Vec<&str> = Vec::new();
    for operation in groups.iter().map(|group| group.operation) {
        if operation.is_of_many_keys() && !of_keys.contains(&operation.as_str()) {
            of_keys.push(operation.as_str());
        }
    }
    match of_keys[..] {
        [] => {}
        [one] => legend.push(format!("{one} counts keys")),
        _ => legend.push(format!("{} count keys", of_keys.join(", "))),
    }
    // In the order of the table, each once; a bar is not a figure.
    let names: Vec<&str> = COLUMNS
        .iter()
        .map(|column| column.name)
        .filter(|name| *name != BAR && left_out.iter().any(|column| column.name == *name))
        .collect();
    if !names.is_empty() {
        legend.push(format!(
            "no room in {} characters for {}: run.json has {}",
            style.width,
            list(&names),
            agreeing(names.len(), "it", "them")
        ));
    }
    if !legend.is_empty() {
        page.blank();
    }
    for line in legend {
        page.paragraph(0, FAINT, &line);
    }
}
