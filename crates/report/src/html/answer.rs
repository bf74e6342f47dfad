//! The answer: who leads, seen at a glance and said in sentences.

use maud::{Markup, html};

use super::strip;
use super::text::{capital, sentence};
use super::view::View;
use crate::chart::palette::COLOURS;
use crate::columns::{self, P99_FROM_PLAN};
use crate::figures;
use crate::ranking::{Group, Row};
use crate::sentences::{Role, Sentence, sentences};

/// More sentences about single points than this are folded away.
const SENTENCES_SHOWN: usize = 6;

pub(super) fn section(view: &View<'_>) -> Markup {
    let sentences = sentences(view.run);
    let (answers, remarks): (Vec<&Sentence>, Vec<&Sentence>) =
        sentences.iter().partition(|said| said.role == Role::Answer);
    html! {
        section #answer {
            h2 { "The answer" }
            @for groups in view.by_operation() {
                @let operation = groups[0].operation;
                @let mine: Vec<&Sentence> =
                    answers.iter().filter(|said| said.operation == Some(operation)).copied().collect();
                div.verdict {
                    h3 { (operation) @if operation.is_of_many_keys() { " " small { "counted in keys" } } }
                    @if view.is_sweep() { (over_the_sweep(view, groups, &mine)) }
                    @else { (at_one_point(view, &groups[0], &mine)) }
                }
            }
            @if !remarks.is_empty() {
                dl.sayings.remarks { @for of_subject in remarks.chunk_by(|a, b| a.subject == b.subject) {
                    div {
                        dt { (capital(&of_subject[0].subject)) }
                        @for said in of_subject { dd { (sentence(view.run, &said.text)) } }
                    }
                } }
            }
        }
    }
}

fn over_the_sweep(view: &View<'_>, groups: &[Group<'_>], said: &[&Sentence]) -> Markup {
    let (at_points, leads): (Vec<&Sentence>, Vec<&Sentence>) =
        said.iter().partition(|said| said.point.is_some());
    let list = html! {
        dl.sayings { @for of_point in at_points.chunk_by(|a, b| a.point == b.point) {
            div {
                @let point = of_point[0].point.as_ref().map(|point| view.short_label(point));
                dt { (point.unwrap_or_default()) }
                @for said in of_point { dd { (sentence(view.run, &said.text)) } }
            }
        } }
    };
    html! {
        @for lead in &leads { p.lead { (sentence(view.run, &lead.text)) } }
        (strip::table(view, groups))
        @if at_points.len() <= SENTENCES_SHOWN { (list) }
        @else { details { summary { "Point by point: " (figures::count(at_points.len(), "sentence")) } (list) } }
    }
}

fn at_one_point(view: &View<'_>, group: &Group<'_>, said: &[&Sentence]) -> Markup {
    html! {
        @if group.ranked().next().is_some() { (podium(view, group)) }
        ul.sayings { @for said in said { li { (sentence(view.run, &said.text)) } } }
    }
}

/// The ranking as bars, each with its interval: of what ranks, the rate, or in an open loop the p99 from plan.
fn podium(view: &View<'_>, group: &Group<'_>) -> Markup {
    let longest = longest(group);
    let measure = if group.is_paced() { P99_FROM_PLAN } else { "rate" };
    html! {
        @if group.is_paced() {
            p.measure { "The " (P99_FROM_PLAN) ", the median of the rounds: the shorter the better." }
        }
        div.scroll tabindex="0" role="region" aria-label={ (measure) ", " (group.operation) } {
            table.podium {
                thead.unseen { tr { th { "target" } th { (measure) " to scale" } th { (measure) } th { "vs best" } } }
                tbody { @for row in group.ranked() { tr.leads[row.leads] {
                    th scope="row" { (strip::named(view, row)) }
                    td.bar { (bar(view, row, longest)) }
                    td.figure { (columns::measure(row).unwrap_or_default()) }
                    td.figure { (columns::to_best(row).unwrap_or_default()) }
                } } }
            }
        }
    }
}

/// What the scale of the bars must hold: the best, and whichever interval reaches beyond it.
fn longest(group: &Group<'_>) -> f64 {
    let ends = |row: &Row<'_>| {
        let (figure, ci95) = drawn(row);
        [figure, ci95.map(|[_, high]| high)]
    };
    group.ranked().flat_map(ends).flatten().fold(0.0, f64::max)
}

/// What a bar shows, and its interval.
fn drawn(row: &Row<'_>) -> (Option<f64>, Option<[f64; 2]>) {
    match row.ranking_p99() {
        Some(p99) => (Some(p99), row.cell.latency_ns_ci95.as_ref().map(|ci95| ci95.p99)),
        None => (row.rate(), row.rate_ci95()),
    }
}

/// A bar in the colour of its target, and a line over it from one end of its interval to the other.
fn bar(view: &View<'_>, row: &Row<'_>, longest: f64) -> Markup {
    let width = |figure: f64| format!("{:.2}%", (figure / longest * 100.0).clamp(0.15, 100.0));
    let (figure, ci95) = drawn(row);
    let colour = view.number(&row.cell.target).unwrap_or(0) % COLOURS;
    html! {
        svg class={ "s" (colour) } width="100%" height="16" aria-hidden="true" {
            rect x="0" y="2" height="12" width=(width(figure.unwrap_or_default())) fill="currentColor" {}
            @if let Some([low, high]) = ci95 {
                line.whisker x1=(width(low)) x2=(width(high)) y1="8" y2="8" {}
            }
        }
    }
}
