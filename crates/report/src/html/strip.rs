//! Who leads along a sweep, seen at a glance: the coordinate with the most values from left to right, a row for each
//! choice of the others, and one cell for each stretch with the same leaders.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::marks;
use super::view::View;
use crate::chart::palette::COLOURS;
use crate::columns::P99_FROM_PLAN;
use crate::model::{Point, PointValue};
use crate::points::{coordinate, label};
use crate::ranking::{Group, Row, pair};

/// One operation's groups, laid out.
struct Grid<'g, 'a> {
    along: &'a str,
    others: Vec<&'a str>,
    columns: Vec<&'a PointValue>,
    /// A row's label, and its group at each column.
    rows: Vec<(String, Vec<Option<&'g Group<'a>>>)>,
}

/// The leaders of one operation; empty where the points have no coordinate in common.
pub(super) fn table<'a>(view: &View<'a>, groups: &[Group<'a>]) -> Markup {
    let Some(grid) = Grid::new(view, groups) else { return html! {} };
    html! {
        @if groups.iter().any(Group::is_paced) {
            p.measure { "Who leads by " (P99_FROM_PLAN) ", the median of the rounds." }
        }
        div.scroll tabindex="0" role="region" aria-label={ "Who leads, " (groups[0].operation) } {
            table.strip.rows[!grid.others.is_empty()] {
                thead { tr {
                    @if !grid.others.is_empty() { th scope="col" { (grid.others.join(", ")) " by " (grid.along) } }
                    @for value in &grid.columns { th scope="col" { (coordinate(grid.along, value)) } }
                } }
                tbody { @for (label, row) in &grid.rows { tr {
                    @if !grid.others.is_empty() { th scope="row" { (label) } }
                    @for stretch in row.chunk_by(|a, b| company(*a) == company(*b)) { (cell(view, stretch)) }
                } } }
            }
        }
    }
}

impl<'g, 'a> Grid<'g, 'a> {
    fn new(view: &View<'a>, groups: &'g [Group<'a>]) -> Option<Self> {
        let values = |name: &str| -> BTreeSet<&'a PointValue> {
            groups.iter().filter_map(|group| group.point.get(name)).collect()
        };
        let along = view.swept.iter().copied().rev().max_by_key(|name| values(name).len())?;
        let others: Vec<&str> = view.swept.iter().copied().filter(|name| *name != along).collect();
        let mut columns: Vec<&PointValue> = Vec::new();
        let mut labels: Vec<String> = Vec::new();
        for group in groups {
            let value = group.point.get(along)?;
            if !columns.contains(&value) {
                columns.push(value);
            }
            let label = label(group.point, &others);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let at = |row: &str, column: &PointValue| {
            let here =
                |point: &Point| point.get(along) == Some(column) && label(point, &others) == row;
            groups.iter().find(|group| here(group.point))
        };
        let rows = labels
            .iter()
            .map(|row| (row.clone(), columns.iter().map(|column| at(row, column)).collect()))
            .collect();
        Some(Self { along, others, columns, rows })
    }
}

/// Who leads a group, whatever the order, and whether that was tested.
fn company(group: Option<&Group<'_>>) -> (BTreeSet<String>, bool) {
    let Some(group) = group else { return (BTreeSet::new(), false) };
    (leaders(group).map(|row| row.cell.target.clone()).collect(), group.ranked().count() > 1)
}

fn leaders<'g, 'a>(group: &'g Group<'a>) -> impl Iterator<Item = &'g Row<'a>> {
    group.rows.iter().filter(|row| row.leads)
}

fn cell(view: &View<'_>, stretch: &[Option<&Group<'_>>]) -> Markup {
    let leads: Vec<&Row<'_>> = stretch[0].iter().flat_map(|group| leaders(group)).collect();
    let remark = match (leads.as_slice(), stretch[0]) {
        ([], _) | (_, None) => Some("no result"),
        ([_], Some(group)) => alone(view, group),
        _ => Some("cannot be told apart"),
    };
    html! {
        td colspan=(stretch.len()) {
            @if leads.is_empty() { svg.stripe width="100%" height="4" aria-hidden="true" { rect.nobody width="100%" height="4" {} } }
            @for row in &leads { div title=(row.name) { (stripe(view, row)) (named(view, row)) } " " }
            @if let Some(remark) = remark { small { (remark) } }
        }
    }
}

/// What qualifies a lead of one.
fn alone(view: &View<'_>, group: &Group<'_>) -> Option<&'static str> {
    let mut ranked = group.ranked();
    let (best, second) = (ranked.next()?, ranked.next());
    let Some(second) = second else { return Some("has the only result") };
    let pair = pair(view.run, group.operation, group.point, &best.cell.target, &second.cell.target);
    pair.is_none().then_some("fastest, but not compared")
}

/// A line in the colour of one who leads, over its mark and name.
fn stripe(view: &View<'_>, row: &Row<'_>) -> Markup {
    let colour = view.number(&row.cell.target).unwrap_or(0) % COLOURS;
    html! {
        svg.stripe width="100%" height="4" aria-hidden="true" {
            rect class={ "s" (colour) } width="100%" height="4" {}
        }
    }
}

/// The name of a target, with its mark.
pub(super) fn named(view: &View<'_>, row: &Row<'_>) -> Markup {
    html! { span.named { (marks::of_target(view.number(&row.cell.target))) b { (row.name) } } }
}
