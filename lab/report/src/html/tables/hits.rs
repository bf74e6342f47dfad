//! Hit ratios by capacity: targets against capacities, and the models below them, each with a bar to scale.

use maud::{Markup, html};

use crate::chart::palette::COLOURS;
use crate::hit_ratio::{
    HIT_RATIOS, HitRow, HitTable, NO_RATIO, READING, hit_tables, ratio, reasons,
};
use crate::html::marks;
use crate::model::Run;

/// A table for each curve; `None` where no capacities were compared. A chart above them already explains the models.
pub(in crate::html) fn hit_curves(run: &Run, has_chart: bool) -> Option<Markup> {
    let tables = hit_tables(run);
    (!tables.is_empty()).then(|| {
        html! {
            @for table in &tables { (of_curve(table)) }
            p.key { "Length of a bar: the share of the reads that hit. Bold: the highest that keeps to the capacity." @if !has_chart { " " (READING) } }
        }
    })
}

fn of_curve(table: &HitTable) -> Markup {
    let reasons = reasons(table);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ (HIT_RATIOS) " " (table.place) } {
            table.plain.grid {
                thead { tr {
                    th scope="col" { (table.place) }
                    @for capacity in &table.columns { th.number scope="col" { (capacity) } }
                } }
                tbody { @for row in &table.rows { tr {
                    th scope="row" {
                        @if row.target.is_some() { (marks::of_target(row.target)) " " (row.name) } @else { em { (row.name) } }
                    }
                    @for (column, figure) in row.figures.iter().enumerate() {
                        @match figure {
                            Ok(figure) => td.number.leads[is_highest(table, row, column)] { (ratio(*figure)) (bar(row.target, *figure)) },
                            Err(reason) => td.number.unknown title=(reason) { (NO_RATIO) },
                        }
                    }
                } } }
            }
        }
        @if !reasons.is_empty() { ul.prose { @for reason in reasons { li { (reason) } } } }
    }
}

/// Whether no target that kept to this capacity hits more often, as the figures are shown.
fn is_highest(table: &HitTable, row: &HitRow, column: usize) -> bool {
    let of = |row: &HitRow| row.figures[column].as_ref().copied().unwrap_or(0.0);
    let counts = |row: &&HitRow| row.target.is_some() && row.kept[column];
    let best = table.rows.iter().filter(counts).map(of).fold(0.0, f64::max);
    counts(&row) && ratio(of(row)) == ratio(best)
}

/// A bar as long as the ratio; without a colour for a model.
fn bar(target: Option<usize>, ratio: f64) -> Markup {
    let colour =
        target.map_or_else(|| "model".to_owned(), |number| format!("s{}", number % COLOURS));
    html! {
        svg class={ "to-scale " (colour) } width="100%" height="5" aria-hidden="true" {
            rect.ground width="100%" height="5" {}
            rect.whole width={ (format!("{:.1}%", ratio * 100.0)) } height="5" fill="currentColor" {}
        }
    }
}
