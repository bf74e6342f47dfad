//! The checks that fired, worst first, each with links to its places in the tables.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::marks;
use super::tables::named_in;
use super::text::with_names;
use super::view::View;
use crate::figures::count;
use crate::findings::{RuleFindings, findings, tally};
use crate::model::{Finding, Run, Severity};
use crate::sentences::no_verdict;

/// More places than this are folded.
const PLACES_SHOWN: usize = 8;

pub(super) fn section(view: &View<'_>) -> Markup {
    let findings = findings(view.run);
    html! {
        section #checks {
            h2 { "Checks " small { (tally(view.run)) } }
            p.prose { (meaning(view.run, &findings)) }
            div.findings { @for finding in &findings { (article(view, finding)) } }
        }
    }
}

/// The doubts, for readers of the answer: each error and warning in a line.
pub(super) fn summary(view: &View<'_>) -> Markup {
    let findings = findings(view.run);
    let (notes, doubts): (Vec<&RuleFindings<'_>>, Vec<&RuleFindings<'_>>) =
        findings.iter().partition(|finding| finding.severity == Severity::Note);
    let few = no_verdict(view.run);
    html! {
        div.doubts {
            h3 { "What to doubt " small { a href="#checks" { (tally(view.run)) } } }
            @if doubts.is_empty() && few.is_none() { p { "No error and no warning: the checks found no reason to doubt these figures." } }
            @if let Some(few) = few { p.few { (marks::of_severity(Severity::Warn)) " Too few rounds: " (few.as_text()) "." } }
            ul { @for finding in doubts.iter().chain(&notes) { li.(finding.severity.as_str()) {
                a href={ "#" (View::finding_anchor(finding.severity, finding.id)) } {
                    (marks::of_severity(finding.severity)) span.unseen { (word(finding.severity)) " " } code { (finding.id) }
                }
                " " span.line { (finding.lines.join("; ")) }
            } } }
        }
    }
}

/// The first doubts to check before trusting the answer, in one line; empty without doubts.
pub(super) fn doubts_in_short(run: &Run) -> Markup {
    let findings = findings(run);
    let doubts = findings.iter().filter(|finding| finding.severity != Severity::Note);
    let doubts: Vec<&RuleFindings<'_>> = doubts.collect();
    html! {
        @if !doubts.is_empty() {
            p { b.of { "doubt" } @for finding in &doubts {
                " " a href={ "#" (View::finding_anchor(finding.severity, finding.id)) } {
                    (marks::of_severity(finding.severity)) span.unseen { (word(finding.severity)) " " } code { (finding.id) }
                }
            } }
        }
    }
}

fn meaning(run: &Run, findings: &[RuleFindings<'_>]) -> String {
    let text = match findings.first().map(|finding| finding.severity) {
        None => return none_found(run),
        Some(Severity::Error) => {
            "A figure with an error is no result: it is shown and not ranked. A warning says \
                                  that a figure means something else than it seems to."
        }
        Some(_) => {
            "A warning says that a figure means something else than it seems to; a note gives a fact to know before \
                    comparing."
        }
    };
    text.to_owned()
}

/// Names the version that looked, because later versions know more faults, and the figures that it looked at.
fn none_found(run: &Run) -> String {
    let figures = if run.interrupted {
        "the figures that were measured before the interruption"
    } else {
        "every figure"
    };
    format!(
        "Larder {} looked at {figures} for the known ways in which a figure misleads, and found none.",
        run.larder
    )
}

fn article(view: &View<'_>, finding: &RuleFindings<'_>) -> Markup {
    let severity = finding.severity;
    html! {
        article.finding.(severity.as_str()) id=(View::finding_anchor(severity, finding.id)) {
            h3 {
                span class={ "severity " (severity.as_str()) } { (marks::of_severity(severity)) " " (word(severity)) }
                " " code { (finding.id) }
            }
            @for line in &finding.lines { p { (linked(view, line)) } }
            @for advice in &finding.advice { p.advice { span aria-hidden="true" { "→ " } (advice) } }
            @if is_folded(view, finding) { (every(view, finding)) } @else { (places(view, finding)) }
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

/// The text with a link from each named target to its facts.
fn linked(view: &View<'_>, text: &str) -> Markup {
    with_names(view.run, text, |name| {
        let number = view.run.targets.iter().position(|target| target.name == name);
        html! { a.name href=[number.map(|number| format!("#{}", View::target_anchor(number)))] { (name) } }
    })
}

/// The checks behind a finding.
fn behind<'a>(view: &View<'a>, finding: &RuleFindings<'_>) -> impl Iterator<Item = &'a Finding> {
    let (id, severity) = (finding.id, finding.severity);
    view.run.checks.iter().filter(move |check| check.id == id && check.severity == severity)
}

/// Whether the finding has fewer texts than its checks.
fn is_folded(view: &View<'_>, finding: &RuleFindings<'_>) -> bool {
    let texts: BTreeSet<&str> = behind(view, finding).map(|check| check.text.as_str()).collect();
    texts.len() > finding.lines.len()
}

/// A link to the place of a check, with the column that it concerns.
fn link(anchor: &str, text: &str, column: Option<&str>) -> Markup {
    html! { a href={ "#" (anchor) } data-column=[column] { (text) } }
}

/// Each check behind a folded finding.
fn every(view: &View<'_>, finding: &RuleFindings<'_>) -> Markup {
    html! {
        details.places {
            summary { "All " (count(finding.count, "finding")) }
            ul { @for check in behind(view, finding) { li {
                @if let Some((anchor, place)) = view.checked_place(check) {
                    (link(&anchor, &place, named_in(&check.text))) " "
                }
                (linked(view, &check.text))
            } } }
        }
    }
}

/// Links to the rows of a finding.
fn places(view: &View<'_>, finding: &RuleFindings<'_>) -> Markup {
    let mut places: Vec<((String, String), Option<&str>)> = Vec::new();
    for check in behind(view, finding) {
        let Some(place) = view.checked_place(check) else { continue };
        if !places.iter().any(|(known, _)| *known == place) {
            places.push((place, named_in(&check.text)));
        }
    }
    let links = html! {
        @for ((anchor, text), column) in &places { " " (link(anchor, text, *column)) }
    };
    html! {
        @if places.len() > PLACES_SHOWN {
            details.places { summary { (places.len()) " places in the tables" } p { (links) } }
        } @else if !places.is_empty() {
            p.places { "In the tables:" (links) }
        }
    }
}
