//! Hit ratios by capacity, in the terminal's report.

use crate::findings::said_of;
use crate::grid::{ALWAYS, Column, Grid, Piece};
use crate::hit_ratio::{HIT_RATIOS, HitRow, HitTable, READING, hit_tables};
use crate::model::Run;
use crate::page::Page;
use crate::style::{DOUBT, FAINT, PLAIN, STRONG, Style};

/// A table for each curve, and below it why a target has no ratio.
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
    let columns = table.columns.iter().map(|_| Column { importance: ALWAYS, left: false });
    let mut grid = Grid::new(columns.collect(), 0);
    let heads = table.columns.iter().map(|capacity| Piece::new(capacity.as_str(), FAINT));
    grid.push(std::iter::once(Piece::plain("")).chain(heads).collect());
    for row in &table.rows {
        let look = if row.target.is_some() { PLAIN } else { FAINT };
        let figures = row.figures.iter().map(|figure| match figure {
            Ok(ratio) => Piece::new(ratio.as_str(), look),
            Err(_) => Piece::new("–", FAINT),
        });
        grid.push(std::iter::once(Piece::new(row.name.as_str(), look)).chain(figures).collect());
    }
    grid
}

/// Why there is no ratio: a line for each target, with the capacities of each reason.
fn reasons(table: &HitTable) -> Vec<String> {
    table.rows.iter().filter_map(|row| reasons_of(row, &table.columns)).collect()
}

fn reasons_of(HitRow { name, figures, .. }: &HitRow, capacities: &[String]) -> Option<String> {
    let mut of_reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (figure, capacity) in figures.iter().zip(capacities) {
        let Err(reason) = figure else { continue };
        // Some reasons name the target by themselves.
        let reason = reason.strip_prefix(name.as_str()).unwrap_or(reason).trim_start_matches(':');
        let reason = reason.trim_start();
        match of_reasons.iter_mut().find(|(known, _)| *known == reason) {
            _ if reason.is_empty() => {}
            Some((_, at)) => at.push(capacity),
            None => of_reasons.push((reason, vec![capacity])),
        }
    }
    let said = |(reason, at): &(&str, Vec<&str>)| {
        // At all capacities it is no matter of one.
        let is_of_all = at.len() == capacities.len();
        if is_of_all { (*reason).to_owned() } else { format!("at {}: {reason}", at.join(", ")) }
    };
    let all: Vec<String> = of_reasons.iter().map(said).collect();
    (!all.is_empty()).then(|| said_of(name, &all.join("; ")))
}
