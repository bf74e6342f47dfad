//! A sweep at a glance: points against targets, each figure with a bar to scale, and the leader at each point.

use maud::{Markup, html};

use super::marks;
use super::podium::{is_decided, no_result};
use super::view::View;
use crate::chart::palette::COLOURS;
use crate::columns::{self, ANSWERED, RESPONSE_P99};
use crate::figures;
use crate::model::{ReasonKind, Run};
use crate::ranking::{Group, Row, Standing, pair};
use crate::sentences::{no_verdict, rounds_for_verdict, rounds_needed};

/// With more targets than this the shares stand below the figures.
const INLINE: usize = 6;

/// The ranking figures of one operation: rates, or in an open loop the response p99.
pub(super) fn table(view: &View<'_>, groups: &[Group<'_>]) -> Markup {
    let operation = groups[0].operation;
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let measure = match (groups.iter().any(Group::is_paced), rows().any(|row| row.misses)) {
        (true, _) => RESPONSE_P99,
        (false, true) => ANSWERED,
        (false, false) => "rate",
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label={ (operation) ", " (measure) " by point and target" } {
            table.matrix.grid.dense[view.run.targets.len() > INLINE] {
                thead { tr {
                    th.corner scope="col" { (view.swept.join(", ")) }
                    @for (number, target) in view.run.targets.iter().enumerate() {
                        th scope="col" { (marks::of_target(Some(number))) " " (target.name) }
                    }
                    th.words scope="col" { "leader" }
                } }
                tbody { @for group in groups { @let decided = is_decided(view.run, group); tr {
                    th scope="row" {
                        a href={ "#" (view.group_anchor(operation, group.point)) } { (view.short_label(group.point)) }
                    }
                    @for (number, target) in view.run.targets.iter().enumerate() {
                        (cell(number, group.rows.iter().find(|row| row.cell.target == target.url), target.reason.as_deref(), decided))
                    }
                    td.words { (lead(view.run, group)) }
                } } }
            }
        }
        (key(view.run, groups, measure))
    }
}

/// The meaning of the bars and signs that occur.
fn key(run: &Run, groups: &[Group<'_>], measure: &str) -> Markup {
    let has = |is: fn(&Row<'_>) -> bool| groups.iter().any(|group| group.rows.iter().any(is));
    html! {
        p.key {
            "Figure: " (measure) @if measure == RESPONSE_P99 { ", the median of the rounds" } ". "
            "Length of the bar: its share of the best at that point, in the colour of the target. "
            @if groups.iter().any(|group| is_decided(run, group)) { "▸: leads there, or cannot be told apart from the leader. " }
            @if has(|row| row.unlike().is_some()) { "Hits beside a figure: too few hits to compare its speed. " }
            @if groups.iter().any(|group| group.rows.iter().any(Row::is_withheld)) { "Hatched and crossed out: no result." }
        }
    }
}

fn cell(number: usize, row: Option<&Row<'_>>, why_target: Option<&str>, decided: bool) -> Markup {
    let Some(row) = row else {
        return html! { td.empty title=(why_target.unwrap_or("not measured")) {
            (if why_target.is_some() { "did not run" } else { "not measured" })
        } };
    };
    let figure = columns::measure(row).unwrap_or_default();
    match &row.standing {
        Standing::Ranked { to_best } => html! {
            td class=[(row.leads && decided).then_some("leads")] {
                (figure) " " small { (columns::to_best(row).unwrap_or_default()) } (bar(number, *to_best, ""))
            }
        },
        Standing::Unlike { hits, reason } => html! {
            td.unlike title=(reason) { (figure) " " small { "hits " (figures::percent(*hits)) } }
        },
        Standing::Withheld(why) => html! {
            td.withheld title=(no_result(row, why)) { s { (figure) } " " small { "no result" } (bar(number, 1.0, "withheld")) }
        },
        Standing::Empty(reason) => html! { td.empty title=(reason) { (in_a_word(row)) } },
    }
}

/// A bar as long as a share of its cell.
fn bar(number: usize, share: f64, manner: &str) -> Markup {
    let width = format!("{:.1}%", (share * 100.0).clamp(0.5, 100.0));
    html! {
        svg class={ "to-scale s" (number % COLOURS) " " (manner) } width="100%" height="5" aria-hidden="true" {
            rect.ground width="100%" height="5" {}
            rect.whole width=(width) height="5" fill="currentColor" {}
            @if manner == "withheld" { line.hatch x1="0" x2=(width) y1="2.5" y2="2.5" stroke-width="5" {} }
        }
    }
}

/// The leader at a point, or the reason why there is none.
fn lead(run: &Run, group: &Group<'_>) -> String {
    let mut ranked = group.ranked();
    let (Some(best), second) = (ranked.next(), ranked.next()) else {
        return "no result".to_owned();
    };
    let Some(second) = second else {
        let rest = group.rows.iter().any(|row| row.unlike().is_some());
        return if rest { "not compared: hits differ" } else { "the only result" }.to_owned();
    };
    if !is_compared(run, group, best, second) {
        return "not compared".to_owned();
    }
    if !is_decided(run, group) {
        return undecided(run, group);
    }
    let leaders: Vec<&str> =
        group.rows.iter().filter(|row| row.leads).map(|row| row.name).collect();
    match leaders.as_slice() {
        [one] => format!("{one} leads"),
        some => format!("{} cannot be told apart", figures::list(some)),
    }
}

fn is_compared(run: &Run, group: &Group<'_>, one: &Row<'_>, other: &Row<'_>) -> bool {
    pair(run, group.operation, group.point, &one.cell.target, &other.cell.target).is_some()
}

/// The sentence on too few rounds for a verdict, and the needed number.
fn undecided(run: &Run, group: &Group<'_>) -> String {
    let told = no_verdict(run);
    let fewest = || group.ranked().map(|row| row.cell.rounds as usize).min().unwrap_or(0);
    let rounds = told.as_ref().map_or_else(fewest, |told| told.rounds);
    let needed =
        told.map_or_else(|| rounds_for_verdict(rounds, run.comparisons.len()), |told| told.needed);
    rounds_needed(rounds, needed)
}

/// The reason for an empty cell, short enough for a column; the whole reason stands in the table of its point.
fn in_a_word(row: &Row<'_>) -> &'static str {
    match row.cell.reason_kind {
        Some(ReasonKind::Unavailable) => "did not run",
        Some(ReasonKind::Oversize) => "too large",
        Some(ReasonKind::Unsupported) => "unsupported",
        Some(ReasonKind::Lost) => "lost",
        Some(ReasonKind::Full) => "full",
        Some(ReasonKind::Interrupted) => "interrupted",
        Some(ReasonKind::NothingSucceeded) => "all failed",
        None if row.target.is_some_and(|target| target.reason.is_some()) => "did not run",
        None => "no figure",
    }
}
