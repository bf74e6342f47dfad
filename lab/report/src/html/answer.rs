//! The answer: the leader, as a picture and in sentences, and the doubts about it.
//!
//! At one point it is the bars; of a sweep, the chart over the swept parameter; of several capacities, the hit ratios.

use maud::{Markup, html};

use super::checks;
use super::grid;
use super::podium::podium;
use super::tables::hit_curves;
use super::text::sentence;
use super::view::View;
use crate::figures;
use crate::hit_ratio::HIT_RATIOS;
use crate::ranking::Group;
use crate::sentences::{Role, Sentence, in_short as in_short_sentences, sentences};
use crate::text::capital;

/// More sentences about single points than this are folded.
const SENTENCES_SHOWN: usize = 6;

/// The section, with the picture of a sweep in it.
pub(super) fn section(view: &View<'_>, picture: &Markup) -> Markup {
    let sentences = sentences(view.run);
    let (answers, remarks): (Vec<&Sentence>, Vec<&Sentence>) =
        sentences.iter().partition(|said| said.role == Role::Answer);
    html! {
        section #answer {
            h2 { @if view.run.advised.is_some() { "The comparison" } @else { "The answer" } }
            @if view.is_sweep() { (of_a_sweep(view, &answers, picture)) }
            @else { (at_one_point(view, &answers)) }
            (remarks_of(view, &remarks))
        }
    }
}

/// The leader of each operation and the doubts about it, in a few lines before everything else. An advice has said already
/// which cache to take.
pub(super) fn in_short(view: &View<'_>) -> Markup {
    html! {
        div.in-short role="group" aria-label="In short" {
            @if view.run.advised.is_none() { @for (operation, text) in in_short_sentences(view.run) {
                p { b.of { (operation) } " " (sentence(view.run, &text)) }
            } }
            (checks::doubts_in_short(view.run))
        }
    }
}

/// The sentences about an operation, split into the sentences about all points and the other sentences.
fn of_operation<'s>(
    said: &[&'s Sentence],
    groups: &[Group<'_>],
) -> (Vec<&'s Sentence>, Vec<&'s Sentence>) {
    let mine = said.iter().copied().filter(|said| said.operation == Some(groups[0].operation));
    mine.partition(|said| said.point.is_none())
}

fn heading(groups: &[Group<'_>]) -> Markup {
    let operation = groups[0].operation;
    html! { h3 { (operation) @if operation.is_of_many_keys() { " " small { "counted in keys" } } } }
}

fn at_one_point(view: &View<'_>, said: &[&Sentence]) -> Markup {
    html! {
        div.verdicts { @for groups in view.by_operation() {
            @let (_, mine) = of_operation(said, groups);
            div.verdict {
                (heading(groups))
                (podium(view, &groups[0]))
                ul.sayings { @for said in &mine { li { (sentence(view.run, &said.text)) } } }
            }
        } }
        @if let Some(curves) = hit_curves(view.run, false) { h3 #hits { (HIT_RATIOS) } (curves) }
        (checks::summary(view))
    }
}

/// For several capacities the hit ratios come first: rates of targets with different hit ratios say little.
fn of_a_sweep(view: &View<'_>, said: &[&Sentence], picture: &Markup) -> Markup {
    let curves = hit_curves(view.run, !picture.0.is_empty());
    let leads = html! {
        div.leads { @for groups in view.by_operation() {
            @for lead in of_operation(said, groups).0 {
                p.lead { span.of { (lead.subject) } " " (sentence(view.run, &lead.text)) }
            }
        } }
    };
    html! {
        @if let Some(curves) = &curves {
            (picture)
            h3 #hits { (HIT_RATIOS) }
            (curves)
            (checks::summary(view))
            (leads)
        } @else {
            (picture)
            (checks::summary(view))
        }
        @for groups in view.by_operation() { (over_the_sweep(view, groups, said)) }
    }
}

fn over_the_sweep(view: &View<'_>, groups: &[Group<'_>], said: &[&Sentence]) -> Markup {
    let (_, at_points) = of_operation(said, groups);
    let list = html! {
        dl.sayings.columned { @for of_point in at_points.chunk_by(|a, b| a.point == b.point) {
            div {
                @let point = of_point[0].point.as_ref().map(|point| view.short_label(point));
                dt { (point.unwrap_or_default()) }
                @for said in of_point { dd { (sentence(view.run, &said.text)) } }
            }
        } }
    };
    html! {
        div.verdict {
            (heading(groups))
            (grid::table(view, groups))
            @if at_points.len() <= SENTENCES_SHOWN { (list) }
            @else { details { summary { "Point by point: " (figures::count(at_points.len(), "sentence")) } (list) } }
        }
    }
}

/// The warnings beside the answers.
fn remarks_of(view: &View<'_>, remarks: &[&Sentence]) -> Markup {
    html! {
        @if !remarks.is_empty() {
            dl.sayings.columned.remarks { @for of_subject in remarks.chunk_by(|a, b| a.subject == b.subject) {
                div {
                    dt { (capital(&of_subject[0].subject)) }
                    @for said in of_subject { dd { (sentence(view.run, &said.text)) } }
                }
            } }
        }
    }
}
