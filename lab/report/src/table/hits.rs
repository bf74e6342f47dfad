//! Hit ratios by capacity, in the terminal's report.

use crate::grid::{ALWAYS, Grid, GridColumn, Piece};
use crate::hit_ratio::{HIT_RATIOS, HitTable, NO_RATIO, READING, hit_tables, ratio, reasons};
use crate::model::Run;
use crate::page::Page;
use crate::style::{DOUBT, FAINT, PLAIN, STRONG, Style};

/// Writes a table for each curve, and below it the reasons for missing ratios.
pub(super) fn write(page: &mut Page, run: &Run, style: Style) {
    let tables = hit_tables(run);
    if tables.is_empty() {
        return;
    }
    page.heading(HIT_RATIOS);
    for table in &tables {
        if !table.place.is_empty() {
            page.paragraph(2, STRONG, &table.place);
        }
        let laid = grid(table).lay_out(Style { width: style.width.saturating_sub(2), ..style });
        for line in &laid.lines {
            page.raw(&format!("  {line}"));
        }
        for reason in reasons(table) {
            page.paragraph(4, DOUBT, &reason);
        }
    }
    page.paragraph(2, FAINT, READING);
}

fn grid(table: &HitTable) -> Grid {
    let columns = table.columns.iter().map(|_| GridColumn { importance: ALWAYS, left: false });
    let mut grid = Grid::new(columns.collect(), 0);
    let heads = table.columns.iter().map(|capacity| Piece::new(capacity.as_str(), FAINT));
    grid.push(std::iter::once(Piece::plain("")).chain(heads).collect());
    for row in &table.rows {
        let look = if row.target.is_some() { PLAIN } else { FAINT };
        let figures = row.figures.iter().map(|figure| match figure {
            Ok(figure) => Piece::new(ratio(*figure), look),
            Err(_) => Piece::new(NO_RATIO, FAINT),
        });
        grid.push(std::iter::once(Piece::new(row.name.as_str(), look)).chain(figures).collect());
    }
    grid
}
