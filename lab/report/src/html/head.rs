//! The head of the page: the targets, the time, the machine, and the run at a glance.

use maud::{Markup, html};

use super::marks;
use super::text::grouped;
use super::view::View;
use crate::figures::{list, seconds};
use crate::findings::tally;
use crate::header::{CUSTOM, machine, n_rounds, to_the_second, warning};
use crate::model::{Run, Severity, Target};
use crate::verified::{Verified, keeps, verified};

/// The most names that fit a title.
const NAMES_IN_TITLE: usize = 4;

/// The title of the page.
pub(super) fn title(run: &Run) -> String {
    if let Some(advised) = &run.advised {
        return advised.question.clone();
    }
    if run.scenario != CUSTOM {
        return format!("Comparison of caches: {}", run.scenario);
    }
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    if names.len() > NAMES_IN_TITLE {
        return format!("Comparison of {} caches", names.len());
    }
    format!("Comparison of {}", list(&names))
}

pub(super) fn section(view: &View<'_>) -> Markup {
    let run = view.run;
    html! {
        header.masthead {
            div.titled {
                h1 { (title(run)) }
                p.when { "larder " (run.larder) " · " (stamp(&run.started)) }
            }
            @if let Some(advised) = &run.advised { p.answered { (advised.answer) } }
            @if let Some(warning) = warning(run) { p.alarm role="note" { (warning) } }
            @if run.interrupted { p.alarm role="note" { "This run was interrupted before its end." } }
            ul.targets aria-label="Targets" {
                @for (number, target) in run.targets.iter().enumerate() { (of_target(number, target)) }
            }
            dl.tiles {
                @for (label, figure, detail) in tiles(view) {
                    div { dt { (label) } dd { strong { (figure) } @if !detail.is_empty() { " " span { (detail) } } } }
                }
                (values(run))
                (checks(run))
            }
            p.machine { (machine(&run.environment)) }
        }
    }
}

fn of_target(number: usize, target: &Target) -> Markup {
    html! {
        li.out[target.reason.is_some()] {
            a href={ "#" (View::target_anchor(number)) } {
                (marks::of_target(Some(number))) span.name { (target.name) }
            }
            @if target.reason.is_some() {
                " " small { "did not run" }
            } @else if target.stores == Some(false) {
                " " small { "keeps nothing" }
            } @else if let Some(version) = &target.version {
                " " small { (version) }
            }
        }
    }
}

/// A time stamp without its letters and its fraction.
pub(super) fn stamp(started: &str) -> Markup {
    let text = to_the_second(started);
    let text = text.replacen('T', " ", 1).replace('Z', " UTC");
    html! { time datetime=(started) { (text) } }
}

/// The facts of a run that a reader asks for first: a label, a figure, a detail.
fn tiles(view: &View<'_>) -> Vec<(&'static str, String, String)> {
    let run = view.run;
    let mut tiles = Vec::new();
    if view.is_sweep() {
        tiles.push(("Points", view.points.len().to_string(), span(view)));
    }
    let operations: Vec<&str> = view.by_operation().map(|of| of[0].operation.as_str()).collect();
    tiles.push(("Operations", operations.join(", "), String::new()));
    let rounds = match n_rounds(run) {
        (least, most) if least == most => most.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    tiles.push(("Rounds", rounds, format!("in {}", seconds(run.duration_s))));
    tiles
}

/// The swept parameters, from the first point to the last.
fn span(view: &View<'_>) -> String {
    match (view.swept.as_slice(), view.points.as_slice()) {
        ([name], [first, .., last]) => {
            format!("{name} {} to {}", view.short_label(first), view.short_label(last))
        }
        (names, _) => list(names),
    }
}

/// The fate of the expected values: first the right values, then each kind of failure that occurred.
fn values(run: &Run) -> Markup {
    let Verified { right, wrong, lost, missed } = verified(run);
    let surprise = if misses_surprise(run) { "doubtful" } else { "expected" };
    let faults = [(lost, "lost", "bad"), (missed, "missed", surprise), (wrong, "wrong", "bad")];
    let none: Vec<&str> =
        faults.iter().filter(|(count, ..)| *count == 0).map(|(_, name, _)| *name).collect();
    html! {
        @if right + wrong + lost + missed > 0 {
            div title=(VALUES_MEAN) {
                dt { "Values" }
                dd {
                    strong {
                        (grouped(right)) " right"
                        @for (count, name, class) in faults.iter().filter(|(count, ..)| *count > 0) {
                            ", " span.(*class) { (grouped(*count)) " " (name) }
                        }
                    }
                    @if !none.is_empty() { " " span { "none " (or(&none)) } }
                }
            }
        }
    }
}

/// Whether more than one in a hundred reads missed although the plan predicted a hit.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn misses_surprise(run: &Run) -> bool {
    let reads = run.cells.iter().filter(|cell| keeps(run, cell) && cell.operation.reads());
    let (mut surprising, mut all) = (0.0, 0.0);
    for cell in reads {
        let missed = cell.counts.unplanned_misses() as f64;
        let answered = cell.counts.hits as f64 + missed;
        let expected = answered * (1.0 - cell.predicted_hit_ratio.unwrap_or(0.0));
        surprising += (missed - expected).max(0.0);
        all += answered;
    }
    surprising > all * 0.01
}

/// `lost, missed or wrong`.
fn or(names: &[&str]) -> String {
    list(names).replace(" and ", " or ")
}

/// The way in which the figures of [`values`] are counted.
const VALUES_MEAN: &str = "right: answers as stored, also in the read-back; lost: acknowledged values that the \
                           read-back did not find and no eviction explains; missed: reads that found nothing, except \
                           of keys that the plan had deleted; wrong: reads that returned anything else";

fn checks(run: &Run) -> Markup {
    let worst = run.checks.iter().map(|check| check.severity).min();
    let class = match worst {
        Some(Severity::Error) => "bad",
        Some(Severity::Warn) => "doubtful",
        _ => "",
    };
    html! { div { dt { "Checks" } dd { strong { a href="#checks" class=(class) { (tally(run)) } } } } }
}
