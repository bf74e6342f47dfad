//! The ranking of one operation at one point. Where what is written survives different things, writes stand in classes
//! of durability: those are not the same work.

use maud::{Markup, html};

use super::columns::{COLUMNS, Column, rate};
use crate::figures;
use crate::html::checks::word;
use crate::html::marks;
use crate::html::view::View;
use crate::model::{Check, Operation, Severity};
use crate::ranking::{Group, Row, Standing};

/// What an acknowledged write survives, from least to most.
const CLASSES: [(&str, &str); 5] = [
    ("unacknowledged", "nobody waits for an answer"),
    ("volatile", "lost when the process that holds it ends"),
    ("os-cache", "survives the process, not the operating system"),
    ("fsync-batch", "survives a loss of power, but for a stated window"),
    ("fsync-each", "survives a loss of power"),
];

/// A group as a table.
pub(super) fn table(view: &View<'_>, group: &Group<'_>) -> Markup {
    let rows: Vec<&Row<'_>> = group.rows.iter().collect();
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.concerns(&rows)).collect();
    let label = view.label(group.point);
    let place = if label.is_empty() { label } else { format!(", {label}") };
    let width = columns.len() + 6;
    html! {
        div.scroll tabindex="0" role="region" aria-label={ (group.operation) (place) } {
            table.ranking {
                (heads(&columns))
                @if classes(group).len() > 1 {
                    @for class in classes(group) { tbody {
                        tr.class { th colspan=(width) scope="rowgroup" { span.stuck { (badge(Some(class))) " " (meaning(class)) } } }
                        @for row in rows.iter().filter(|row| durability(row) == class) { (line(view, row, &columns)) }
                    } }
                } @else {
                    tbody { @for row in &rows { (line(view, row, &columns)) } }
                }
            }
        }
    }
}

/// Who leads, for the line that a closed table leaves.
pub(super) fn in_brief(view: &View<'_>, group: &Group<'_>) -> Markup {
    html! {
        span.brief { @for row in group.rows.iter().filter(|row| row.leads) {
            " " span.named { (marks::of_target(view.number(&row.cell.target))) (row.name) }
            " " (figures::rate(row.rate().unwrap_or_default()))
        } }
    }
}

/// The classes of durability in a group, from least to most; only one where nothing is written.
fn classes<'a>(group: &Group<'a>) -> Vec<&'a str> {
    let writes = group.operation != Operation::Get && group.operation != Operation::GetMany;
    let mut classes: Vec<&str> = group.rows.iter().map(durability).collect();
    classes.sort_by_key(|class| (rank(class), *class));
    classes.dedup();
    classes.truncate(if writes { classes.len() } else { 1 });
    classes
}

fn durability<'a>(row: &Row<'a>) -> &'a str {
    row.target.and_then(|target| target.durability.as_deref()).unwrap_or("not known")
}

fn rank(class: &str) -> usize {
    CLASSES.iter().position(|(name, _)| *name == class).unwrap_or(CLASSES.len())
}

fn meaning(class: &str) -> &'static str {
    CLASSES
        .get(rank(class))
        .map_or("what a write survives was not found out", |(_, meaning)| meaning)
}

/// The class of durability: its name, and as many pips as it has rank.
pub(in crate::html) fn badge(class: Option<&str>) -> Markup {
    let Some(class) = class else { return html! { span.unknown { "not known" } } };
    let pips = (rank(class) < CLASSES.len()).then(|| rank(class));
    html! {
        span.durability {
            @if let Some(pips) = pips {
                svg.pips viewBox="0 0 38 8" aria-hidden="true" { @for at in 0..CLASSES.len() {
                    circle.on[at <= pips] cx=(4 + at * 7) cy="4" r="2.6" {}
                } }
            }
            (class)
        }
    }
}

fn heads(columns: &[&Column]) -> Markup {
    html! {
        thead {
            tr {
                th.corner rowspan="2" scope="col" { "target" }
                th.first colspan="3" scope="colgroup" { "rate" }
                @for family in columns.chunk_by(|a, b| a.family == b.family) {
                    th.first colspan=(family.len()) scope="colgroup" { (family[0].family) }
                }
                th.first.words rowspan="2" scope="col" { "durability" }
                th.first.words rowspan="2" scope="col" { "checks" }
            }
            tr {
                th.first scope="col" { "per second" }
                th scope="col" { "vs best" }
                th scope="col" { "tie" }
                @for family in columns.chunk_by(|a, b| a.family == b.family) {
                    @for (at, column) in family.iter().enumerate() {
                        th.first[at == 0] scope="col" { (column.head) }
                    }
                }
            }
        }
    }
}

fn line(view: &View<'_>, row: &Row<'_>, columns: &[&Column]) -> Markup {
    html! {
        tr id=[view.row_anchor(row.cell)] .leads[row.leads] .withheld[row.is_withheld()] {
            th scope="row" { (marks::of_target(view.number(&row.cell.target))) " " (row.name) }
            @if let Standing::Empty(reason) = row.standing {
                td.first.reason colspan=(columns.len() + 3) { span.stuck { (reason) } }
            } @else {
                (figures(row, columns))
            }
            td.first.words { (badge(row.target.and_then(|target| target.durability.as_deref()))) }
            td.first.words.checks { (checks(view, row)) }
        }
    }
}

fn figures(row: &Row<'_>, columns: &[&Column]) -> Markup {
    html! {
        td.first.rate { @if let Some(rate) = rate(row) { (rate.markup()) } }
        @match &row.standing {
            Standing::Withheld(why) => { td.why colspan="2" { "no result: " (why) } }
            _ => {
                td { (figures::share(row.to_best().unwrap_or_default())) }
                td.tie { (row.ties) }
            }
        }
        @for family in columns.chunk_by(|a, b| a.family == b.family) {
            @for (at, column) in family.iter().enumerate() {
                @match (column.figure)(row) {
                    Ok(figure) => { td.first[at == 0] .fault[figure.fault] { (figure.markup()) } }
                    Err(why) => { td.first[at == 0] .unknown { (why) } }
                }
            }
        }
    }
}

/// What fired against this very row: all that names its cell, and what is worse than a note of its whole target.
fn checks(view: &View<'_>, row: &Row<'_>) -> Markup {
    let concerns = |check: &&Check| {
        check.target.as_deref() == Some(&row.cell.target)
            && check.point.as_ref().is_none_or(|point| *point == row.cell.point)
            && check.operation.is_none_or(|operation| operation == row.cell.operation)
            && (check.severity != Severity::Note || check.operation.is_some())
    };
    let mut found: Vec<(Severity, &str)> = view
        .run
        .checks
        .iter()
        .filter(concerns)
        .map(|check| (check.severity, check.id.as_str()))
        .collect();
    found.sort_unstable();
    found.dedup();
    html! {
        @for (severity, id) in found {
            " " a href={ "#" (View::finding_anchor(severity, id)) } {
                (marks::of_severity(severity)) span.unseen { (word(severity)) " " } (id)
            }
        }
    }
}
