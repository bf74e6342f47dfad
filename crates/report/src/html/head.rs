//! The head of the page: what was compared, when, on which machine, and the run at a glance.

use maud::{Markup, html};

use super::marks;
use super::text::grouped;
use super::view::View;
use crate::figures::{list, seconds};
use crate::findings::tally;
use crate::header::{CUSTOM, machine, to_the_second, warning};
use crate::model::{Run, Target};
use crate::verified::{Verified, verified};

/// More names than this do not fit a title.
const NAMES_IN_TITLE: usize = 4;

/// What the page is called.
pub(super) fn title(run: &Run) -> String {
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
            p.when { "larder " (run.larder) " · " (stamp(&run.started)) }
            h1 { (title(run)) }
            @if let Some(warning) = warning(run) { p.alarm role="note" { (warning) } }
            @if run.interrupted { p.alarm role="note" { "This run was interrupted before its end." } }
            ul.targets aria-label="Targets" {
                @for (number, target) in run.targets.iter().enumerate() { (of_target(number, target)) }
            }
            p.machine { (machine(&run.environment)) }
            dl.tiles { @for (label, figure, detail) in tiles(view) {
                div { dt { (label) } dd { strong { (figure) } @if !detail.is_empty() { span { (detail) } } } }
            } }
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

/// What a reader asks of a run first: a label, a figure, a detail.
fn tiles(view: &View<'_>) -> Vec<(&'static str, String, String)> {
    let run = view.run;
    let ran = run.targets.iter().filter(|target| target.reason.is_none()).count();
    let did_run = if ran < run.targets.len() { format!("{ran} ran") } else { String::new() };
    let mut tiles = vec![("Targets", run.targets.len().to_string(), did_run)];
    if view.is_sweep() {
        tiles.push(("Points", view.points.len().to_string(), span(view)));
    }
    let operations: Vec<&str> = view.by_operation().map(|of| of[0].operation.as_str()).collect();
    tiles.push(("Operations", operations.join(", "), String::new()));
    let rounds = view.rounds();
    let rounds = rounds.split_once(" round").map_or(rounds.as_str(), |(number, _)| number);
    tiles.push(("Rounds", rounds.to_owned(), format!("in {}", seconds(run.duration_s))));
    tiles.extend(verified_tile(run));
    let worst = if run.checks.is_empty() { String::new() } else { tally(run) };
    tiles.push(("Checks fired", run.checks.len().to_string(), worst));
    tiles
}

/// What was swept, from the first point to the last.
fn span(view: &View<'_>) -> String {
    match (view.swept.as_slice(), view.points.as_slice()) {
        ([name], [first, .., last]) => {
            format!("{name} {} to {}", view.short_label(first), view.short_label(last))
        }
        (names, _) => list(names),
    }
}

/// How many values were verified.
fn verified_tile(run: &Run) -> Option<(&'static str, String, String)> {
    let Verified { right, wrong, .. } = verified(run);
    (right + wrong > 0).then(|| {
        let wrong =
            if wrong == 0 { "none wrong".to_owned() } else { format!("{} wrong", grouped(wrong)) };
        ("Values verified", grouped(right), wrong)
    })
}
