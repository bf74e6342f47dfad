//! The index of a set as one page, `index.html`: the common answer of its reports, and a link to each.
//!
//! The page is made of the same parts as a report. No part of it needs a script.

use maud::{Markup, PreEscaped, html};

use super::article::class;
use super::assets::INDEX;
use super::environment::{facts, machine};
use super::view::View;
use super::{contents, head, marks, not_shown_section, page};
use crate::article;
use crate::chart::{Ground, charts, svg};
use crate::figures::count;
use crate::findings::findings;
use crate::header::{machine as in_a_line, warning};
use crate::index::{
    Conclusion, Tally, address, answer, by_verdict, error_ids, fired, found, not_shown,
    one_machine, question, time, title, took,
};
use crate::model::{Entry, Index, Run, Severity};
use crate::text::capital;

/// The whole page.
pub(crate) fn render(index: &Index) -> String {
    let ends = [("environment", "Environment"), ("not-shown", "Limits")];
    let anchors: Vec<String> = index.scenarios.iter().map(anchor).collect();
    let names = index.scenarios.iter().map(|entry| entry.name.as_str());
    let scenarios = anchors.iter().map(String::as_str).zip(names);
    let conclusions = has_conclusions(index).then_some(("conclusions", "Conclusions"));
    let begins = std::iter::once(("answer", "Answer")).chain(conclusions);
    let sections = begins.chain(scenarios).chain(ends);
    let body = html! {
        (masthead(index))
        (contents(sections))
        main {
            (answer_section(index))
            (conclusions_section(index))
            @for (number, entry) in index.scenarios.iter().enumerate() { (scenario(index, number, entry)) }
            (environment(index))
            (not_shown_section(&not_shown(index)))
        }
    };
    page(&format!("Comparisons of caches: {}", index.name), &index.larder, &INDEX, &body)
}

/// The anchor of a scenario on the page. The prefix keeps it apart from other anchors.
fn anchor(entry: &Entry) -> String {
    format!("scenario-{}", entry.name)
}

fn masthead(index: &Index) -> Markup {
    let started = index.runs().next().map(|run| run.started.as_str());
    html! {
        header.masthead {
            p.when { "larder " (index.larder) @if let Some(started) = started { " · " (head::stamp(started)) } }
            h1 { "Comparisons of caches: " (index.name) }
            @if !index.summary.is_empty() { p.summary { (capital(&index.summary)) } }
            @if let Some(warning) = index.runs().find_map(warning) { p.alarm role="note" { (warning) } }
            @if index.runs().any(|run| run.interrupted) {
                p.alarm role="note" { "This set was interrupted before its end." }
            }
            @if let Some(machine) = one_machine(index) { p.machine { (in_a_line(machine)) } }
            dl.tiles { @for (label, figure, detail) in tiles(index) {
                div { dt { (label) } dd { strong { (figure) } @if !detail.is_empty() { span { (detail) } } } }
            } }
        }
    }
}

/// The facts of a set that readers ask for first: a label, a figure, a detail.
fn tiles(index: &Index) -> Vec<(&'static str, String, String)> {
    let (all, ran) = (index.scenarios.len(), index.runs().count());
    let did_run = if ran < all { format!("{ran} ran") } else { String::new() };
    let mut tiles = vec![("Scenarios", all.to_string(), did_run)];
    let tally = Tally::of(index.runs());
    if tally.all() > 0 {
        let turned =
            if tally.turned > 0 { format!("{} turned round", tally.turned) } else { String::new() };
        let all = format!("of {}", count(tally.all(), "conclusion"));
        tiles.push(("Hold here", tally.holds.to_string(), all));
        tiles.push(("Do not hold", tally.fails.to_string(), turned));
        tiles.push(("Cannot be told", tally.open.to_string(), String::new()));
    }
    let sum = |severity| index.runs().map(|run| fired(run, severity)).sum::<usize>();
    tiles.push((
        "Errors by checks",
        sum(Severity::Error).to_string(),
        count(sum(Severity::Warn), "warning"),
    ));
    tiles.push(("Time", took(index), String::new()));
    tiles
}

fn answer_section(index: &Index) -> Markup {
    html! {
        section #answer {
            h2 { "The answer" }
            @for said in answer(index) { p.lead { (said) } }
            div.scroll tabindex="0" role="region" aria-label="Scenarios" {
                table.plain.overview {
                    thead { tr {
                        th scope="col" { "scenario" } th.number scope="col" { "hold" }
                        th.number scope="col" { "do not" } th.number scope="col" { "cannot be told" }
                        th.to-scale scope="col" { "conclusions" } th scope="col" { "no results, by" }
                        th.number scope="col" { "time" }
                    } }
                    tbody { @for entry in &index.scenarios { (row(entry)) } }
                }
            }
        }
    }
}

fn row(entry: &Entry) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ "#" (anchor(entry)) } { (entry.name) } }
            @if let Some(run) = &entry.run {
                @let tally = Tally::of([run]);
                @if tally.all() > 0 {
                    td.number.holds[tally.holds > 0] { (tally.holds) }
                    td.number.fails[tally.fails > 0] { (tally.fails) }
                    td.number { (tally.open) }
                    td.to-scale { (share_bar(tally)) }
                } @else { td colspan="4" { span.unknown { "no article" } } }
                td.by { @for id in error_ids(run) { code { (id) } " " } }
                td.number { (time(run)) }
            } @else {
                td.reason colspan="6" { "did not run: " (entry.reason.as_deref().unwrap_or_default()) }
            }
        }
    }
}

/// The shares of conclusions that hold, do not hold, and stay open, to scale. The numbers stand beside the bar.
#[expect(clippy::cast_precision_loss, reason = "a handful of conclusions")]
fn share_bar(tally: Tally) -> Markup {
    let per_cent = |number: usize| number as f64 / tally.all() as f64 * 100.0;
    let parts = [("holds", tally.holds), ("fails", tally.fails), ("open", tally.open)];
    let mut at = 0.0;
    let mut placed = Vec::new();
    for (class, number) in parts.into_iter().filter(|(_, number)| *number > 0) {
        placed.push((class, format!("{at:.2}%"), format!("{:.2}%", per_cent(number))));
        at += per_cent(number);
    }
    html! {
        svg.shares width="100%" height="12" aria-hidden="true" {
            @for (class, x, width) in placed { rect.(class) x=(x) width=(width) height="12" {} }
        }
    }
}

fn scenario(index: &Index, number: usize, entry: &Entry) -> Markup {
    html! {
        section id=(anchor(entry)) {
            h2 { (title(entry)) }
            @if let Some(run) = &entry.run { (of_run(index, number, entry, run)) }
            @else { p.alarm { "Did not run: " (entry.reason.as_deref().unwrap_or_default()) } }
        }
    }
}

fn of_run(index: &Index, number: usize, entry: &Entry, run: &Run) -> Markup {
    let report = address(entry, "report.html");
    html! {
        @if let Some(question) = question(run) { p.lead { (capital(question)) } }
        p.full { a href=(report) { "The whole report" } " " span.unknown { (entry.name) " · " (head::stamp(&run.started)) " · " (time(run)) } }
        (facts(&about(index, run)))
        @if let Some(article) = run.article.as_ref().filter(|article| !article.claims.is_empty()) {
            p.lead { (article::conclusions(article)) }
        } @else {
            ul.sayings { @for said in found(run) { li { (capital(&said)) } } }
        }
        (errors(&report, run))
        (headline(number, run))
    }
}

/// The form in which the article is repeated, and the machine if the runs had different machines.
fn about(index: &Index, run: &Run) -> Vec<(String, String)> {
    let article = run.article.iter().flat_map(article::facts).skip(1);
    let machine = one_machine(index).is_none().then(|| in_a_line(&run.environment));
    let machine = machine.map(|machine| ("machine here", machine));
    article.chain(machine).map(|(label, text)| (capital(label), text)).collect()
}

/// Every conclusion once, by its verdict.
fn conclusions_section(index: &Index) -> Markup {
    let ran: Vec<(&Entry, &Run)> =
        index.scenarios.iter().filter_map(|entry| Some((entry, entry.run.as_ref()?))).collect();
    let runs: Vec<&Run> = ran.iter().map(|(_, run)| *run).collect();
    html! {
        @if has_conclusions(index) {
            section #conclusions {
                h2 { "The conclusions" }
                @for (heading, all) in by_verdict(&runs) {
                    h3 { (heading) }
                    @for asked in &all {
                        @let (entry, run) = ran[asked.run];
                        (conclusion(&address(entry, "report.html"), run, asked))
                    }
                }
            }
        }
    }
}

/// Whether at least one run repeats an article with conclusions.
fn has_conclusions(index: &Index) -> bool {
    let mut articles = index.runs().filter_map(|run| run.article.as_ref());
    articles.any(|article| !article.claims.is_empty())
}

/// A published conclusion and its verdict, then its figures.
fn conclusion(report: &str, run: &Run, asked: &Conclusion<'_>) -> Markup {
    let said = &asked.said;
    html! {
        details.claim.(class(said.claim.verdict)) {
            summary {
                span.said { span aria-hidden="true" { (said.mark) } " " (said.verdict) } " "
                (asked.says()) " " span.unknown { "(" (asked.told_by()) ")" }
                @for id in &said.fired { " " (check(report, run, id)) }
            }
            @for evidence in &said.evidence { p.evidence { (evidence) } }
            @if !said.silent.is_empty() {
                p.explained { @for id in &said.silent { code { (id) } " " } "did not fire in this run" }
            }
        }
    }
}

/// A check that fired, with a link to its finding.
fn check(report: &str, run: &Run, id: &str) -> Markup {
    let severity = run.checks.iter().find(|check| check.id == id).map(|check| check.severity);
    let address =
        severity.map(|severity| format!("{report}#{}", View::finding_anchor(severity, id)));
    html! { a.explains href=[address] { code { (id) } } }
}

/// The figures that are no results.
fn errors(report: &str, run: &Run) -> Markup {
    let errors = findings(run).into_iter().filter(|finding| finding.severity == Severity::Error);
    let errors: Vec<_> = errors.collect();
    html! {
        @if !errors.is_empty() {
            h3 { "Figures that are no results" }
            ul.sayings { @for finding in &errors { @for line in &finding.lines { li {
                (marks::of_severity(Severity::Error)) " "
                a href={ (report) "#" (View::finding_anchor(Severity::Error, finding.id)) } { code { (finding.id) } }
                " " (line)
            } } } }
        }
    }
}

/// The first chart of the report, without motion. Its identifier gets the run's number, because identifiers in a
/// picture belong to the whole page.
fn headline(number: usize, run: &Run) -> Markup {
    let chart = charts(run).into_iter().next().map(|mut chart| {
        chart.id = format!("chart-{number}-{}", chart.id);
        chart
    });
    html! {
        @if let Some(chart) = chart {
            div.scroll tabindex="0" role="region" aria-label=(chart.title) {
                div.still.headline { (PreEscaped(svg(&chart, Ground::Page))) }
            }
        }
    }
}

fn environment(index: &Index) -> Markup {
    html! {
        section #environment {
            h2 { "Environment" }
            @if let Some(environment) = one_machine(index) { (facts(&machine(environment))) }
            @else { p.prose { "The runs were on several machines: each report names its own." } }
        }
    }
}
