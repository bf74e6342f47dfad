//! The figures in full: for each operation the ranking at each point.

mod columns;
mod connections;
mod hits;
mod ranking;

pub(super) use columns::named_in;
pub(super) use hits::hit_curves;
pub(super) use ranking::{badge, pips};

use maud::{Markup, html};

use super::view::View;
use crate::model::Run;
use crate::ranking::{Group, Row};
use crate::searches::{SEARCHES, search_lines};
use crate::shown_percentiles::{WITHHELD, WITHHELD_MEANS, withholds};
use crate::tiers::{TIERS, tier_lines};

pub(super) fn section(view: &View<'_>) -> Markup {
    html! {
        section #tables {
            h2 { "Tables" }
            @for groups in view.by_operation() { (of_operation(view, groups)) }
            (connections::of_connections(view.run))
            (of_searches(view.run))
            (of_tiers(view.run))
            (legend(view))
        }
    }
}

fn of_operation(view: &View<'_>, groups: &[Group<'_>]) -> Markup {
    let operation = groups[0].operation;
    html! {
        h3 id=(View::operation_anchor(operation)) {
            (operation) @if operation.is_of_many_keys() { " " small { "counted in keys" } }
        }
        @if view.is_sweep() {
            div.unfold {
                p { "Each point in full:" }
                button type="button" hidden aria-expanded="false" { "open all" }
                @for group in groups {
                    details.point id=(view.group_anchor(operation, group.point)) {
                        summary { h4 { span.of { (operation) ", " } (view.label(group.point)) } (ranking::in_brief(view, group)) }
                        (ranking::table(view, group))
                    }
                }
            }
        } @else {
            div id=(view.group_anchor(operation, groups[0].point)) { (ranking::table(view, &groups[0])) }
        }
    }
}

/// The highest rates within a bound, where a search looked for them.
fn of_searches(run: &Run) -> Markup {
    let lines = search_lines(run);
    html! {
        @if !lines.is_empty() {
            h3 #searches { (SEARCHES) }
            ul.prose { @for line in lines { li { b { (line.subject) } ": " (line.text) } } }
        }
    }
}

/// The tiers of a stack that answered, where there is a stack.
fn of_tiers(run: &Run) -> Markup {
    let lines = tier_lines(run);
    html! {
        @if !lines.is_empty() {
            h3 #tiers { (TIERS) }
            ul.prose { @for line in lines { li { b { (line.subject) } ": " (line.text) } } }
        }
    }
}

fn legend(view: &View<'_>) -> Markup {
    let rows = || view.groups.iter().flat_map(|group| &group.rows);
    let intervals = rows().any(|row| row.cell.ops_per_s_ci95.is_some());
    html! {
        ul.legend-of-tables {
            @if intervals {
                li { "Below a figure stands its 95 % interval, by bootstrap over the rounds, in the same unit." }
            } @else {
                li { "No figure has an interval: an interval takes at least six rounds." }
            }
            li { "A rate counts the operations that succeeded, per second of wall clock: the median of the rounds." }
            @if rows().any(|row| row.misses) {
                li {
                    b { "answered/s" } ": requests answered a second, hits and misses. " b { "hits/s" } ": the requests that \
                    hit. Where hits differ by more than a point, speed is not compared."
                }
            }
            @if rows().any(|row| row.cell.is_paced()) {
                li {
                    b { "offered" } ": operations came at this rate, whatever the target did. The response time counts from the intended start; the \
                    median of the rounds' p99 ranks. The service time counts from the actual start."
                }
            }
            @if rows().any(|row| !row.ties.is_empty()) {
                li { b { "tie" } ": targets that share a letter cannot be told apart." }
            }
            @if rows().any(|row| row.ties_best) {
                li { b { "~" } ": cannot be told apart from the fastest; the order of such rows means nothing." }
            }
            @if rows().any(|row| withholds(row.cell)) { li { b { (WITHHELD) } ": " (WITHHELD_MEANS) "." } }
            @if rows().any(Row::is_withheld) {
                li { span.withheld { "Crossed out" } ": no result; it is shown, and stands outside the ranking." }
            }
        }
    }
}
