//! What a trace tells, as one page: the curves and what they say, then the traffic itself.
//!
//! The page is made of the parts of a report: its style, its charts with their script, its day and night. Sentences,
//! tables and still pictures work without a script.

use maud::{Markup, html};
use serde_json::json;

use super::assets::REPORT;
use super::charts::{lines_placeholder, panel};
use super::data::packed;
use super::text::unbroken;
use super::{contents, marks, page};
use crate::chart::{Chart, Family, Shape, info_charts, palette};
use crate::info::assumed::{ASSUMED, assumed};
use crate::info::facts::facts;
use crate::info::sentences::sentences;
use crate::info::tables::{self, ANSWERS, InfoTable};
use crate::model::{CurvePolicy, MeasuredIn, TraceInfo};
use crate::text::capital;

/// The sections that a reader can jump to.
const SECTIONS: [(&str, &str); 6] = [
    ("answer", "Caches"),
    ("traffic", "Traffic"),
    ("keys", "Keys"),
    ("sizes", "Sizes"),
    ("not-shown", "Assumed"),
    ("data", "Data"),
];

/// The name of the data that every such page contains.
const DATA: &str = "trace-info.json.gz";

/// Whether a text is a page of what a trace tells.
pub fn is_info_page(text: &str) -> bool {
    text.contains("<meta name=\"generator\" content=\"larder ")
        && text.contains(&format!("download=\"{DATA}\""))
}

/// The whole page.
pub(crate) fn render(info: &TraceInfo) -> String {
    let charts = info_charts(info);
    let view = InfoView { info, charts: &charts };
    let sections = SECTIONS.iter().filter(|(anchor, _)| view.has(anchor)).copied();
    let body = html! {
        (masthead(info))
        (in_short(info))
        (contents(sections))
        main {
            div.pictured {
                @if !charts.is_empty() { (legend()) }
                (view.caches())
                (view.traffic())
                (view.keys())
                (view.sizes())
                @if !charts.is_empty() { data #drawn hidden value=(packed(&drawn(&charts))) {} }
            }
            (assumed_section(info))
            (data_section(info))
        }
    };
    page(&title(info), &info.larder, &REPORT, &body)
}

fn title(info: &TraceInfo) -> String {
    let name = info.trace.path.rsplit('/').next().unwrap_or_default();
    format!("What {name} asks of a cache")
}

fn masthead(info: &TraceInfo) -> Markup {
    let facts = facts(info);
    html! {
        header.masthead {
            div.titled {
                h1 { (title(info)) }
                p.when { "larder " (info.larder) }
            }
            @if info.trace.dropped_rows > 0 {
                p.alarm role="note" { "The recording lacks operations: writing fell behind." }
            }
            dl.tiles { @for (label, text) in &facts {
                div { dt { (capital(label)) } dd { strong { (text) } } }
            } }
        }
    }
}

fn in_short(info: &TraceInfo) -> Markup {
    html! {
        dl.sayings.columned { @for said in sentences(info) {
            div { dt { (capital(said.subject)) } dd { (unbroken(&capital(&said.text))) } }
        } }
    }
}

/// Buttons that show and hide a simulated cache.
fn legend() -> Markup {
    let online = CurvePolicy::ALL.iter().filter(|policy| **policy != CurvePolicy::Optimal);
    html! {
        div.controls.live role="group" aria-label="Caches in the chart" {
            div.legend role="group" aria-label="Caches in the chart" {
                @for (number, policy) in online.enumerate() { span.entry {
                    button.toggle type="button" aria-pressed="true" data-target=(number) {
                        (marks::of_target(Some(number))) span.name { (policy.name()) }
                    }
                    button.only type="button" data-only=(number) aria-label={ "only " (policy.name()) } { "only" }
                } }
                button.everything type="button" aria-disabled="true" { "all" }
            }
            div.switches {}
        }
    }
}

/// The data that the script draws from.
fn drawn(charts: &[Chart]) -> String {
    let online = CurvePolicy::ALL.iter().filter(|policy| **policy != CurvePolicy::Optimal);
    let look = |(number, policy): (usize, &CurvePolicy)| {
        json!({
            "name": policy.name(),
            "colour": number % palette::COLOURS,
            "mark": palette::mark(number).path(),
            "dash": palette::dash(number),
            "rounds": "",
        })
    };
    let mut families: Vec<Family> = charts.iter().map(|chart| chart.family).collect();
    families.dedup();
    let placed = charts.iter().map(|chart| {
        let mut placed = json!(chart);
        placed["points"] = json!([0]);
        placed
    });
    let all = json!({
        "targets": online.enumerate().map(look).collect::<Vec<_>>(),
        "families": families.iter().map(|family| family.manner()).collect::<Vec<_>>(),
        "dashes": palette::MODEL_DASHES,
        "charts": placed.collect::<Vec<_>>(),
        "latencies": [],
    });
    all.to_string()
}

/// The trace and its charts.
struct InfoView<'a> {
    info: &'a TraceInfo,
    charts: &'a [Chart],
}

impl InfoView<'_> {
    /// Whether the page has a section.
    fn has(&self, anchor: &str) -> bool {
        match anchor {
            "answer" => !self.info.curves.is_empty(),
            "keys" => self.info.popularity.is_some() || self.info.working_set.is_some(),
            "sizes" => !self.info.distributions.is_empty(),
            _ => true,
        }
    }

    /// The charts of a family as a panel.
    fn panel(&self, family: Family, is_main: bool) -> Markup {
        let same = |chart: &&Chart| chart.family == family;
        let charts: Vec<Chart> = self.charts.iter().filter(same).cloned().collect();
        let Some(first) = charts.first() else { return html! {} };
        let placeholder = lines_placeholder(first);
        panel(&charts, is_main, key(first), &placeholder, None)
    }

    fn caches(&self) -> Markup {
        let curves = [MeasuredIn::Bytes, MeasuredIn::Entries];
        let curves = curves.into_iter().filter_map(|measure| self.info.curve(measure));
        html! {
            @if self.has("answer") {
                section #answer {
                    h2 { "Which cache, how large" }
                    (self.panel(Family::CacheHits, true))
                    @for curve in curves { (table(&tables::ratios(self.info, curve))) }
                    @if let Some(misses) = tables::misses(self.info) { (table(&misses)) }
                }
            }
        }
    }

    fn traffic(&self) -> Markup {
        html! {
            section #traffic {
                h2 { "The traffic" }
                @if let Some(operations) = tables::operations(self.info) { (table(&operations)) }
                (self.panel(Family::Course, false))
            }
        }
    }

    fn keys(&self) -> Markup {
        html! {
            @if self.has("keys") {
                section #keys {
                    h2 { "The keys" }
                    (self.panel(Family::WorkingSet, false))
                    (self.panel(Family::Popularity, false))
                    @if let Some(popularity) = tables::popularity(self.info) { (body_of(&popularity)) }
                    @if let Some(hottest) = tables::hottest(self.info) { (table(&hottest)) }
                    (self.panel(Family::Reuse, false))
                    @if let Some(reuse) = tables::reuse(self.info) { (table(&reuse)) }
                }
            }
        }
    }

    fn sizes(&self) -> Markup {
        html! {
            @if self.has("sizes") {
                section #sizes {
                    h2 { "Sizes, TTLs and latencies" }
                    @if let Some(distributions) = tables::distributions(self.info) { (table(&distributions)) }
                    (self.panel(Family::Sizes, false))
                    (self.panel(Family::Ttls, false))
                }
            }
        }
    }
}

/// The meaning of colours and signs.
fn key(chart: &Chart) -> &'static str {
    let has_intervals = chart.series.iter().any(|series| !series.low.is_empty());
    match (chart.shape, has_intervals) {
        (Shape::Lines, true) => {
            "Colour and mark: the policy. Thin stroke: the 95 % interval. Dashed and without marks: the optimal choice."
        }
        (Shape::Lines, false) if chart.family == Family::CacheHits => {
            "Colour and mark: the policy. Dashed and without marks: the optimal choice."
        }
        (Shape::Lines, false) => "Dashed: a law, not the trace.",
        _ => "Drag along a curve to look closer; double-click to see the whole curve again.",
    }
}

fn table(table: &InfoTable) -> Markup {
    html! { h3 id=(table.id) { (table.caption) } (body_of(table)) }
}

/// A table below a heading of its own.
fn body_of(table: &InfoTable) -> Markup {
    let is_words = |column: usize| {
        table.is_list() || table.heads.get(column + 1).is_some_and(|head| head == ANSWERS)
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(table.caption) {
            table.plain {
                thead { tr { @for (column, head) in table.heads.iter().enumerate() {
                    th.number[column > 0 && !is_words(column - 1)] scope="col" { (head) }
                } } }
                tbody { @for (name, texts) in &table.rows { tr {
                    th scope="row" { (name) }
                    @for (column, text) in texts.iter().enumerate() {
                        td.number[!is_words(column)] { (text) }
                    }
                } } }
            }
        }
        @if !table.note.is_empty() { p.key { (table.note) } }
    }
}

fn assumed_section(info: &TraceInfo) -> Markup {
    html! {
        section #not-shown {
            h2 { (ASSUMED) }
            ul.prose { @for sentence in assumed(info) { li { (sentence) } } }
        }
    }
}

fn data_section(info: &TraceInfo) -> Markup {
    let json = serde_json::to_string(info).expect("numbers and texts, and memory takes them");
    html! {
        section #data {
            h2 { "Data" }
            p.prose { "This page is made from one file, which the page contains." }
            ul.downloads { li {
                a #run-json download=(DATA) href={ "data:application/gzip;base64," (packed(&json)) } { (DATA) }
                " all figures, for other programs"
            } }
        }
    }
}
