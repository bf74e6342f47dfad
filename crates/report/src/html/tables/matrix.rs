//! Points against targets: one figure a cell, so that a sweep is seen as a whole.

use maud::{Markup, html};

use crate::columns::{self, P99_FROM_PLAN};
use crate::figures;
use crate::html::marks;
use crate::html::view::View;
use crate::model::ReasonKind;
use crate::ranking::{Group, Row, Standing};

/// What ranks, of one operation: rates, or in an open loop the p99 from plan.
pub(super) fn table(view: &View<'_>, groups: &[Group<'_>]) -> Markup {
    let operation = groups[0].operation;
    let is_paced = groups.iter().any(Group::is_paced);
    let measure = if is_paced { P99_FROM_PLAN } else { "rates" };
    html! {
        @if is_paced { p.measure { "The " (P99_FROM_PLAN) ", the median of the rounds." } }
        div.scroll tabindex="0" role="region" aria-label={ (operation) ", " (measure) " by point and target" } {
            table.matrix {
                thead { tr {
                    th.corner scope="col" { (view.swept.join(", ")) }
                    @for (number, target) in view.run.targets.iter().enumerate() {
                        th scope="col" { (marks::of_target(Some(number))) " " (target.name) }
                    }
                } }
                tbody { @for group in groups { tr {
                    th scope="row" {
                        a href={ "#" (view.group_anchor(operation, group.point)) } { (view.short_label(group.point)) }
                    }
                    @for target in &view.run.targets {
                        (cell(group.rows.iter().find(|row| row.cell.target == target.url), target.reason.as_deref()))
                    }
                } } }
            }
        }
    }
}

fn cell(row: Option<&Row<'_>>, why_target: Option<&str>) -> Markup {
    let Some(row) = row else {
        return html! { td.empty title=(why_target.unwrap_or("not measured")) {
            (if why_target.is_some() { "did not run" } else { "not measured" })
        } };
    };
    let figure = columns::measure(row).unwrap_or_default();
    match &row.standing {
        Standing::Ranked { to_best } => html! {
            td class={ "heat" (heat(*to_best)) @if row.leads { " leads" } } { (figure) small { (columns::to_best(row).unwrap_or_default()) } }
        },
        Standing::Unlike { hits, reason } => html! {
            td.unlike title=(reason) { (figure) small { "hits " (figures::percent(*hits)) } }
        },
        Standing::Withheld(why) => html! {
            td.withheld title={ "no result: " (why) } { s { (figure) } small { "no result" } }
        },
        Standing::Empty(reason) => html! { td.empty title=(reason) { (in_a_word(row)) } },
    }
}

/// How strongly a cell is tinted, by orders of magnitude behind the best.
fn heat(to_best: f64) -> u8 {
    match to_best {
        share if share > 0.9 => 4,
        share if share > 0.5 => 3,
        share if share > 0.2 => 2,
        share if share > 0.05 => 1,
        _ => 0,
    }
}

/// Why a cell is empty, as short as a column; the whole reason stands in the table of its point.
fn in_a_word(row: &Row<'_>) -> &'static str {
    match row.cell.reason_kind {
        Some(ReasonKind::Unavailable) => "did not run",
        Some(ReasonKind::Oversize) => "too large",
        Some(ReasonKind::Unsupported) => "unsupported",
        Some(ReasonKind::Lost) => "lost",
        Some(ReasonKind::Full) => "full",
        Some(ReasonKind::Interrupted) => "interrupted",
        Some(ReasonKind::NothingSucceeded) => "none succeeded",
        None if row.target.is_some_and(|target| target.reason.is_some()) => "did not run",
        None => "no figure",
    }
}
