//! Connections: a row for each target at each place.

use maud::{Markup, html};

use crate::connections::{CONNECTIONS, columns, connections, meaning};
use crate::html::marks;
use crate::model::Run;

/// The table; empty where each thread had one connection, and no others were open.
pub(super) fn of_connections(run: &Run) -> Markup {
    let Some(places) = connections(run) else { return html! {} };
    let columns = columns(&places);
    html! {
        h3 #connections { (CONNECTIONS) }
        div.scroll tabindex="0" role="region" aria-label=(CONNECTIONS) {
            table.plain {
                thead { tr {
                    th scope="col" { "target" }
                    @for column in &columns { th.number scope="col" { (column.name()) } }
                } }
                @for place in &places { tbody {
                    tr { th scope="rowgroup" colspan=(columns.len() + 1) { (place.label) } }
                    @for row in &place.rows { tr {
                        th scope="row" { (marks::of_target(Some(row.target))) " " (row.name) }
                        @for column in &columns { td.number { (column.text(row)) } }
                    } }
                } }
            }
        }
        p.key { (meaning(&columns)) }
    }
}
