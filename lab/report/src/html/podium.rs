//! The targets of one operation at one point as bars: the ranked targets by length. Below them, apart and never left
//! out, stand the unranked targets: with fewer hits, with figures that are no result, or without figures.

use maud::{Markup, html};

use super::marks;
use super::view::View;
use crate::chart::palette::COLOURS;
use crate::columns::{self, ANSWERED, RESPONSE_P99};
use crate::figures;
use crate::model::{Run, Verdict};
use crate::ranking::{Group, Row, Standing, pair};
use crate::sentences::no_verdict;

/// The columns after the name and the bar.
struct Columns {
    /// The quantity of a bar.
    measure: &'static str,
    /// Whether a target missed or could have: hits are shown.
    hits: bool,
    /// Whether a target missed: hits are then a figure apart from the answered requests.
    misses: bool,
    /// The highest hit ratio of the ranked targets.
    most_hits: f64,
    /// Whether a leader can be named.
    decided: bool,
}

/// All targets of a group, as far as a report shows them.
pub(super) fn podium(view: &View<'_>, group: &Group<'_>) -> Markup {
    let rows: Vec<&Row<'_>> = group.shown(&view.swept).collect();
    let misses = rows.iter().any(|row| row.misses);
    let measure = match (group.is_paced(), misses) {
        (true, _) => RESPONSE_P99,
        (false, true) => ANSWERED,
        (false, false) => "rate",
    };
    let hits = rows.iter().any(|row| row.rate().is_some() && row.cell.found_ratio().is_some());
    let columns = Columns {
        measure,
        hits,
        misses: misses && !group.is_paced(),
        most_hits: group.ranked().filter_map(|row| row.cell.found_ratio()).fold(0.0, f64::max),
        decided: is_decided(view.run, group),
    };
    let longest = longest(group);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ (measure) ", " (group.operation) } {
            table.podium {
                thead { tr {
                    th scope="col" { "target" }
                    th.bar scope="col" { span.unseen { (measure) " to scale" } }
                    th.figure scope="col" { (measure) }
                    th.figure.wide scope="col" { "95 % interval" }
                    th.figure scope="col" { "vs best" }
                    @if columns.misses { th.figure.wide scope="col" { "hits/s" } }
                    @if columns.hits { th.figure scope="col" { "hits" } }
                } }
                @for of_kind in rows.chunk_by(|a, b| kind(a) == kind(b)) {
                    tbody { @for row in of_kind { (line(view, row, &columns, longest)) } }
                }
            }
        }
        (key(group, &columns))
    }
}

/// The groups of bars: the ranked targets, and each way to stand outside the ranking.
fn kind(row: &Row<'_>) -> u8 {
    match row.standing {
        Standing::Ranked { .. } => 0,
        Standing::Unlike { .. } => 1,
        Standing::Withheld(_) => 2,
        Standing::Empty(_) => 3,
    }
}

fn line(view: &View<'_>, row: &Row<'_>, columns: &Columns, longest: f64) -> Markup {
    let name = named(view, row);
    // Columns that a narrow screen hides are not counted.
    let width = 3 + usize::from(columns.hits);
    let after = |text: &str| html! { tr.why { td {} td colspan=(width) { (text) } } };
    match &row.standing {
        Standing::Ranked { .. } => html! {
            tr class=[(row.leads && columns.decided).then_some("leads")] {
                th scope="row" { (name) }
                td.bar { (bar(view, row, longest, "")) }
                (figures_of(row, columns, &columns::to_best(row).unwrap_or_default()))
            }
        },
        Standing::Unlike { reason, .. } => html! {
            tr.unlike {
                th scope="row" { (name) }
                td.bar { (bar(view, row, longest, "unlike")) }
                (figures_of(row, columns, ""))
            }
            (after(&not_compared(row, reason, columns.most_hits)))
        },
        Standing::Withheld(why) => html! {
            tr.withheld {
                th scope="row" { (name) }
                td.bar { (bar(view, row, longest, "withheld")) }
                (figures_of(row, columns, ""))
            }
            (after(&no_result(row, why)))
        },
        Standing::Empty(reason) => html! {
            tr.empty { th scope="row" { (name) } td.reason colspan=(width) { (reason) } }
        },
    }
}

fn figures_of(row: &Row<'_>, columns: &Columns, to_best: &str) -> Markup {
    html! {
        td.figure { (columns::measure(row).unwrap_or_default()) }
        td.figure.wide { (spread(row).unwrap_or_default()) }
        td.figure.share { (to_best) }
        @if columns.misses { td.figure.wide { (row.cell.hits_per_s.map(figures::rate).unwrap_or_default()) } }
        @if columns.hits { td.figure { (row.cell.found_ratio().map(figures::percent).unwrap_or_default()) } }
    }
}

/// The spread of the figure over the rounds.
fn spread(row: &Row<'_>) -> Option<String> {
    match row.ranking_p99() {
        Some(p99) => {
            let ci95 = row.cell.latency_ns_ci95.as_ref()?.p99;
            Some(figures::nanoseconds_spread(p99, ci95))
        }
        None => Some(figures::rate_spread(row.rate()?, row.rate_ci95()?)),
    }
}

/// The reason why the figures of a row are no result, with the finding of a check.
pub(super) fn no_result(row: &Row<'_>, why: &str) -> String {
    match row.evidence {
        Some(evidence) => format!("no result: {evidence} ({why})"),
        None => format!("no result: {why}"),
    }
}

/// Whether the rounds of a group can tell a leader; `false` for a single target.
pub(super) fn is_decided(run: &Run, group: &Group<'_>) -> bool {
    let ranked: Vec<&Row<'_>> = group.ranked().take(2).collect();
    let [best, second] = ranked.as_slice() else { return false };
    let pair = pair(run, group.operation, group.point, &best.cell.target, &second.cell.target);
    no_verdict(run).is_none() && pair.is_some_and(|pair| pair.verdict != Verdict::Undecided)
}

/// The reason why the speed of a row is not compared: `hits 8.9 %, 20.3 k/s: not compared in speed with targets that
/// hit 100 %`.
fn not_compared(row: &Row<'_>, reason: &str, most: f64) -> String {
    let (found, others) =
        if row.cell.operation.reads() { ("hits", "hit") } else { ("found", "found") };
    let Some(ratio) = row.cell.found_ratio() else { return reason.to_owned() };
    let per_s = row.cell.hits_per_s.map(|rate| format!(", {}", figures::rate(rate)));
    format!(
        "{found} {}{}: not compared in speed with targets that {others} {}, because a miss is other work",
        figures::percent(ratio),
        per_s.unwrap_or_default(),
        figures::percent(most)
    )
}

/// The meaning of the lengths and signs of the bars that occur.
fn key(group: &Group<'_>, columns: &Columns) -> Markup {
    let has = |wanted: u8| group.rows.iter().any(|row| kind(row) == wanted);
    let better = if group.is_paced() { "the shorter the better" } else { "the longer the better" };
    html! {
        p.key {
            "Length: " @if group.is_paced() { (columns.measure) ", the median of the rounds" }
            @else if columns.misses { "requests answered a second; the full part is hits" }
            @else { "operations a second" }
            ", " (better) ". "
            @if group.ranked().any(|row| row.rate_ci95().is_some()) { "Thin line: 95 % interval. " }
            "Colour: the target" @if columns.decided && group.rows.iter().any(|row| row.leads) { "; bold: leads, or shares the lead" } ". "
            @if group.rows.iter().any(|row| row.ties_best) { "~: cannot be told apart from the fastest. " }
            @if has(2) { "Hatched and crossed out: no result." }
        }
    }
}

/// The range of the bars' scale: up to the best figure or the farthest end of an interval. Figures that are no result
/// are cut off there.
fn longest(group: &Group<'_>) -> f64 {
    let ends = |row: &Row<'_>| {
        let (figure, ci95) = drawn(row);
        [figure, ci95.map(|[_, high]| high)]
    };
    let results = group.rows.iter().filter(|row| kind(row) < 2);
    let longest = results.flat_map(ends).flatten().fold(0.0, f64::max);
    let any = || group.rows.iter().filter_map(|row| drawn(row).0).fold(0.0, f64::max);
    if longest > 0.0 { longest } else { any() }
}

/// The figure of a bar, and its interval.
fn drawn(row: &Row<'_>) -> (Option<f64>, Option<[f64; 2]>) {
    match row.ranking_p99() {
        Some(p99) => (Some(p99), row.cell.latency_ns_ci95.as_ref().map(|ci95| ci95.p99)),
        None => (row.rate(), row.rate_ci95()),
    }
}

/// A bar in the colour of its target, and a line over it from one end of its interval to the other. Where operations
/// missed, only the part of the hits is full.
fn bar(view: &View<'_>, row: &Row<'_>, longest: f64, manner: &str) -> Markup {
    let width = |figure: f64| format!("{:.2}%", (figure / longest * 100.0).clamp(0.15, 100.0));
    let (figure, ci95) = drawn(row);
    let figure = figure.unwrap_or_default();
    let hits = row.cell.hits_per_s.filter(|_| row.misses && row.ranking_p99().is_none());
    let colour = view.number(&row.cell.target).unwrap_or(0) % COLOURS;
    html! {
        svg class={ "s" (colour) " " (manner) } width="100%" height="16" aria-hidden="true" {
            rect.whole.part[hits.is_some()] x="0" y="2" height="12" width=(width(figure)) fill="currentColor" {}
            @if manner == "withheld" { line.hatch x1="0" x2=(width(figure)) y1="8" y2="8" stroke-width="12" {} }
            @else if let Some(hits) = hits.filter(|hits| *hits > 0.0) {
                rect x="0" y="2" height="12" width=(width(hits)) fill="currentColor" {}
            }
            @if let (Some([low, high]), false) = (ci95, manner == "withheld") {
                line.whisker x1=(width(low)) x2=(width(high)) y1="8" y2="8" {}
            }
        }
    }
}

/// The name of a target, with its mark.
pub(super) fn named(view: &View<'_>, row: &Row<'_>) -> Markup {
    html! { span.named { (marks::of_target(view.number(&row.cell.target))) b { (row.name) } } }
}
