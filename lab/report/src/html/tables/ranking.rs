//! The ranking of one operation at one point. Writes of different durability stand in separate classes, because they
//! are not the same work.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::columns::{COLUMNS, LATENCY, PageColumn, RESPONSE, rate};
use crate::columns;
use crate::figures;
use crate::html::checks::word;
use crate::html::marks;
use crate::html::podium::no_result;
use crate::html::view::View;
use crate::model::{Finding, Operation, Severity};
use crate::ranking::{Group, Row, Standing};

/// The degrees of durability, from least to most.
const CLASSES: [(&str, &str); 5] = [
    ("unacknowledged", "the client waits for no answer"),
    ("volatile", "lost when the process that holds it ends"),
    ("os-cache", "survives the process, not the operating system"),
    ("fsync-batch", "survives a loss of power, but for a stated window"),
    ("fsync-each", "survives a loss of power"),
];

/// The columns of a group's table beyond the figures.
struct TableForm<'a> {
    columns: Vec<&'static PageColumn>,
    /// The classes of durability that stand apart; empty where all stand together.
    classes: Vec<&'a str>,
    ties: bool,
    checks: bool,
    /// Whether operations arrived at planned times.
    paced: bool,
    /// The name of the rate: where operations missed, it counts requests answered.
    rate: &'static str,
}

/// A group as a table.
pub(super) fn table(view: &View<'_>, group: &Group<'_>) -> Markup {
    let rows: Vec<&Row<'_>> = group.shown(&view.swept).collect();
    let shape = TableForm {
        columns: COLUMNS.iter().filter(|column| column.concerns(&rows)).collect(),
        classes: classes(group.operation, &rows),
        ties: rows.iter().any(|row| !row.ties.is_empty() || row.is_withheld()),
        checks: rows.iter().any(|row| !against(view, row).is_empty()),
        paced: rows.iter().any(|row| row.cell.is_paced()),
        rate: if rows.iter().any(|row| row.misses) { columns::ANSWERED } else { "per second" },
    };
    let label = view.label(group.point);
    let place = if label.is_empty() { label } else { format!(", {label}") };
    html! {
        div.scroll tabindex="0" role="region" aria-label={ (group.operation) (place) } {
            table.ranking {
                (heads(&shape))
                @for class in &shape.classes { tbody {
                    tr.class { th colspan=(shape.width()) scope="rowgroup" {
                        span.stuck { (badge(Some(class))) " " (meaning(class)) }
                    } }
                    @for row in rows.iter().filter(|row| durability(row) == *class) { (line(view, row, &shape)) }
                } }
                @if shape.classes.is_empty() {
                    tbody { @for row in &rows { (line(view, row, &shape)) } }
                }
            }
        }
    }
}

impl TableForm<'_> {
    /// The columns of the rate.
    fn of_rate(&self) -> usize {
        2 + usize::from(self.paced) + usize::from(self.ties)
    }

    /// All columns.
    fn width(&self) -> usize {
        let facts = usize::from(self.classes.is_empty()) + usize::from(self.checks);
        1 + self.of_rate() + self.columns.len() + facts
    }
}

/// The leader, for the line of a closed table.
pub(super) fn in_brief(view: &View<'_>, group: &Group<'_>) -> Markup {
    html! {
        span.brief { @for row in group.rows.iter().filter(|row| row.leads) {
            " " span.named { (marks::of_target(view.number(&row.cell.target))) span { (row.name) } }
            " " (columns::measure(row).unwrap_or_default())
        } }
    }
}

/// The classes of durability from least to most, where writes of several classes are compared.
fn classes<'a>(operation: Operation, rows: &[&Row<'a>]) -> Vec<&'a str> {
    let mut classes: Vec<&str> = rows.iter().map(|row| durability(row)).collect();
    classes.sort_by_key(|class| (rank(class), *class));
    classes.dedup();
    let writes = !operation.reads() || operation == Operation::GetOrSet;
    if writes && classes.len() > 1 { classes } else { Vec::new() }
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
        .map_or("the durability of a write is not known", |(_, meaning)| meaning)
}

/// The class of durability: its name, and a pip for each rank.
pub(in crate::html) fn badge(class: Option<&str>) -> Markup {
    let Some(class) = class else { return html! { span.unknown { "not known" } } };
    let pips = (rank(class) < CLASSES.len()).then(|| rank(class));
    html! {
        span.durability {
            @if let Some(pips) = pips {
                svg.pips aria-hidden="true" { use href={ "#pips-" (pips) } {} }
            }
            (class)
        }
    }
}

/// The pips of each class, drawn once.
pub(in crate::html) fn pips() -> Markup {
    html! {
        @for rank in 0..CLASSES.len() {
            symbol id={ "pips-" (rank) } viewBox="0 0 38 8" {
                @for at in 0..CLASSES.len() { circle.on[at <= rank] cx=(4 + at * 7) cy="4" r="2.6" {} }
            }
        }
    }
}

fn heads(shape: &TableForm<'_>) -> Markup {
    let families = || shape.columns.chunk_by(|a, b| a.family == b.family);
    html! {
        thead {
            tr {
                th.corner rowspan="2" scope="col" { "target" }
                th.first colspan=(shape.of_rate()) scope="colgroup" { "rate" }
                @for family in families() {
                    th.first colspan=(family.len()) scope="colgroup" {
                        (if shape.paced && family[0].family == LATENCY { RESPONSE } else { family[0].family })
                    }
                }
                @if shape.classes.is_empty() { th.first.words rowspan="2" scope="col" { "durability" } }
                @if shape.checks { th.first.words rowspan="2" scope="col" { "checks" } }
            }
            tr {
                th.first scope="col" { (shape.rate) }
                @if shape.paced { th scope="col" { "offered" } }
                th scope="col" { "vs best" @if shape.paced { " p99" } }
                @if shape.ties { th scope="col" { "tie" } }
                @for family in families() { @for (at, column) in family.iter().enumerate() {
                    th.first[at == 0] scope="col" { (column.head) }
                } }
            }
        }
    }
}

fn line(view: &View<'_>, row: &Row<'_>, shape: &TableForm<'_>) -> Markup {
    html! {
        tr id=[view.row_anchor(row.cell)] class=[those(&[("leads", row.leads), ("withheld", row.is_withheld())])] {
            th scope="row" { (marks::of_target(view.number(&row.cell.target))) " " (row.name) }
            @if let Standing::Empty(reason) = row.standing {
                td.first.reason colspan=(shape.of_rate() + shape.columns.len()) { span.stuck { (reason) } }
            } @else {
                (figures(row, shape))
            }
            @if shape.classes.is_empty() {
                td.first.words { (badge(row.target.and_then(|target| target.durability.as_deref()))) }
            }
            @if shape.checks { td.first.words.checks { (checks(view, row)) } }
        }
    }
}

fn figures(row: &Row<'_>, shape: &TableForm<'_>) -> Markup {
    html! {
        td.first.rate { @if let Some(rate) = rate(row) { (rate.markup()) } }
        @if shape.paced { td { (row.cell.paced.as_ref().map(|paced| figures::rate(paced.offered_per_s)).unwrap_or_default()) } }
        @let beside = shape.of_rate() - 1 - usize::from(shape.paced);
        @if let Standing::Withheld(why) = &row.standing {
            td.why colspan=(beside) title=(no_result(row, why)) { "no result: " (why) }
        } @else if let Standing::Unlike { reason, .. } = &row.standing {
            td.apart colspan=(beside) title=(reason) { "not compared: hits differ" }
        } @else {
            td { (columns::to_best(row).unwrap_or_default()) }
            @if shape.ties { td.tie { (row.ties) } }
        }
        @for family in shape.columns.chunk_by(|a, b| a.family == b.family) {
            @for (at, column) in family.iter().enumerate() {
                @match (column.figure)(row) {
                    Ok(figure) => { td class=[those(&[("first", at == 0), ("fault", figure.fault)])] { (figure.markup()) } }
                    Err(why) => { td class=[those(&[("first", at == 0), ("unknown", true)])] { (why) } }
                }
            }
        }
    }
}

/// The classes that apply; most rows and cells have no class, and a page has thousands.
fn those(classes: &[(&str, bool)]) -> Option<String> {
    let those: Vec<&str> =
        classes.iter().filter(|(_, holds)| *holds).map(|(class, _)| *class).collect();
    (!those.is_empty()).then(|| those.join(" "))
}

/// The checks against this very row: all that name its cell, and those above a note that name its target.
fn against<'a>(view: &View<'a>, row: &Row<'_>) -> BTreeSet<(Severity, &'a str)> {
    let concerns = |check: &&Finding| {
        check.target.as_deref() == Some(&row.cell.target)
            && check.point.as_ref().is_none_or(|point| *point == row.cell.point)
            && check.operation.is_none_or(|operation| operation == row.cell.operation)
            && (check.severity != Severity::Note || check.operation.is_some())
    };
    view.run
        .checks
        .iter()
        .filter(concerns)
        .map(|check| (check.severity, check.id.as_str()))
        .collect()
}

fn checks(view: &View<'_>, row: &Row<'_>) -> Markup {
    html! {
        @for (severity, id) in against(view, row) {
            " " a href={ "#" (View::finding_anchor(severity, id)) } {
                (marks::of_severity(severity)) span.unseen { (word(severity)) " " } (id)
            }
        }
    }
}
