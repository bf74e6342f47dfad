//! The checks that fired, worst first, each with the places in the tables where it holds.

use maud::{Markup, html};

use super::marks;
use super::view::View;
use crate::findings::{Finding, findings, tally};
use crate::model::{Run, Severity};

/// More places than this are folded away.
const PLACES_SHOWN: usize = 8;

pub(super) fn section(view: &View<'_>) -> Markup {
    let findings = findings(view.run);
    html! {
        section #checks {
            h2 { "Checks " small { (tally(view.run)) } }
            p.prose { (meaning(view.run, &findings)) }
            @for finding in &findings { (article(view, finding)) }
        }
    }
}

fn meaning(run: &Run, findings: &[Finding<'_>]) -> String {
    let text = match findings.first().map(|finding| finding.severity) {
        None => return none_found(run),
        Some(Severity::Error) => {
            "A figure with an error is no result: it is shown and not ranked. A warning says \
                                  that a figure means something else than it seems to."
        }
        Some(_) => {
            "A warning says that a figure means something else than it seems to; a note, what to know before \
                    comparing."
        }
    };
    text.to_owned()
}

/// Who looked, because a later version knows more ways, and at what.
fn none_found(run: &Run) -> String {
    let figures = if run.interrupted {
        "the figures that were measured before the interruption"
    } else {
        "every figure"
    };
    format!(
        "Larder {} looked at {figures} for the ways it knows in which one may mislead, and found none.",
        run.larder
    )
}

fn article(view: &View<'_>, finding: &Finding<'_>) -> Markup {
    let severity = finding.severity;
    html! {
        article.finding.(severity.as_str()) id=(View::finding_anchor(severity, finding.id)) {
            h3 {
                span class={ "severity " (severity.as_str()) } { (marks::of_severity(severity)) " " (word(severity)) }
                " " code { (finding.id) }
            }
            @for line in &finding.lines { p { (line) } }
            @for advice in &finding.advice { p.advice { span aria-hidden="true" { "→ " } (advice) } }
            (places(view, finding))
        }
    }
}

/// The severity as a word of the page.
pub(super) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Note => "note",
    }
}

/// Links to the rows that a finding is about.
fn places(view: &View<'_>, finding: &Finding<'_>) -> Markup {
    let mine = view
        .run
        .checks
        .iter()
        .filter(|check| check.id == finding.id && check.severity == finding.severity);
    let mut places: Vec<(String, String)> = Vec::new();
    for place in mine.filter_map(|check| view.checked_place(check)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let links = html! {
        @for (anchor, text) in &places { " " a href={ "#" (anchor) } { (text) } }
    };
    html! {
        @if places.len() > PLACES_SHOWN {
            details.places { summary { (places.len()) " places in the tables" } p { (links) } }
        } @else if !places.is_empty() {
            p.places { "In the tables:" (links) }
        }
    }
}
