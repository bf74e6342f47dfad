//! Hit ratios by capacity: targets against capacities, and the models below them.

use maud::{Markup, html};

use crate::hit_ratio::{HIT_RATIOS, HitTable, NO_RATIO, READING, hit_tables, reasons};
use crate::html::marks;
use crate::model::Run;

/// A table for each curve.
pub(super) fn section(run: &Run) -> Markup {
    let tables = hit_tables(run);
    html! {
        @if !tables.is_empty() {
            h3 #hits { (HIT_RATIOS) }
            @for table in &tables { (of_curve(table)) }
            p.prose { (READING) }
        }
    }
}

fn of_curve(table: &HitTable) -> Markup {
    let reasons = reasons(table);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ (HIT_RATIOS) " " (table.place) } {
            table.plain {
                thead { tr {
                    th scope="col" { (table.place) }
                    @for capacity in &table.columns { th.number scope="col" { (capacity) } }
                } }
                tbody { @for row in &table.rows { tr {
                    th scope="row" {
                        @if row.target.is_some() { (marks::of_target(row.target)) " " (row.name) } @else { em { (row.name) } }
                    }
                    @for figure in &row.figures {
                        @match figure {
                            Ok(ratio) => td.number { (ratio) },
                            Err(reason) => td.number.unknown title=(reason) { (NO_RATIO) },
                        }
                    }
                } } }
            }
        }
        @if !reasons.is_empty() { ul.prose { @for reason in reasons { li { (reason) } } } }
    }
}
