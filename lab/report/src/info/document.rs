//! What a trace tells as a document: facts, sentences, tables, assumptions; on a page also charts.

use super::assumed::{ASSUMED, assumed};
use super::facts::facts;
use super::sentences::sentences;
use super::tables::{self, InfoTable, tables};
use crate::chart::{Chart, Family, Shape, info_charts};
use crate::document::{Block, Document, Figure, FigureTarget, Meaning, PageParts, Reader, Text};
use crate::model::{CurvePolicy, MeasuredIn, TraceInfo};
use crate::text::capital;

/// The name of the data that every such page contains.
pub(super) const DATA: &str = "trace-info.json.gz";

/// All of it.
pub(super) fn document(info: &TraceInfo, reader: Reader) -> Document {
    if reader == Reader::Page {
        return page(info);
    }
    let mut document =
        Document { title: format!("What {} asks", info.trace.path), ..Document::default() };
    head(&mut document, info, Some("In short"));
    for table in tables(info) {
        document.section(&table.table.caption);
        push(&mut document, table);
    }
    document.section(ASSUMED);
    document.list(assumed(info).into_iter().map(|text| Text::from(text).means(Meaning::Faint)));
    document
}

/// The facts and the sentences.
fn head(document: &mut Document, info: &TraceInfo, heading: Option<&str>) {
    document.facts(facts(info));
    let said = sentences(info);
    if let Some(heading) = heading.filter(|_| !said.is_empty()) {
        document.section(heading);
    }
    document.sayings(said.into_iter().map(|said| (said.subject, capital(&said.text))));
}

/// A table, and below it the meaning of its columns.
fn push(document: &mut Document, InfoTable { table, note, .. }: InfoTable) {
    document.push(Block::Table(table));
    if !note.is_empty() {
        document.push(Block::Note(note.into()));
    }
}

/// The page: the curves and their tables first, then the traffic itself.
fn page(info: &TraceInfo) -> Document {
    let name = info.trace.path.rsplit('/').next().unwrap_or_default();
    let title = format!("What {name} asks of a cache");
    let mut page =
        Page { document: Document { title, ..Document::default() }, charts: info_charts(info) };
    if info.trace.dropped_rows > 0 {
        let warning = "The recording lacks operations: writing fell behind.";
        page.document.push(Block::Warning(warning.to_owned()));
    }
    head(&mut page.document, info, None);
    page.caches(info);
    page.traffic(info);
    page.keys(info);
    page.sizes(info);
    let mut document = page.document;
    document.page_section("not-shown", "Assumed", ASSUMED);
    document.list(assumed(info).into_iter().map(Text::from));
    let online = CurvePolicy::ALL.iter().filter(|policy| **policy != CurvePolicy::Optimal);
    let target =
        |policy: &CurvePolicy| FigureTarget { name: policy.name().into(), rounds: String::new() };
    let json = serde_json::to_string(info).expect("numbers and texts, and memory takes it");
    document.page = PageParts {
        larder: info.larder.clone(),
        legend: "Caches in the chart",
        targets: online.map(target).collect(),
        data: Some((DATA, json)),
    };
    document
}

/// The page so far, and the charts of its sections.
struct Page {
    document: Document,
    charts: Vec<Chart>,
}

impl Page {
    fn caches(&mut self, info: &TraceInfo) {
        if info.curves.is_empty() {
            return;
        }
        self.document.page_section("answer", "Caches", "Which cache, how large");
        self.figure(Family::CacheHits);
        let curves = [MeasuredIn::Bytes, MeasuredIn::Entries];
        let curves = curves.into_iter().filter_map(|measure| info.curve(measure));
        curves.for_each(|curve| self.table(Some(tables::ratios(info, curve))));
        self.table(tables::misses(info));
    }

    fn traffic(&mut self, info: &TraceInfo) {
        self.document.page_section("traffic", "Traffic", "The traffic");
        self.table(tables::operations(info));
        self.figure(Family::Course);
    }

    fn keys(&mut self, info: &TraceInfo) {
        if info.popularity.is_none() && info.working_set.is_none() {
            return;
        }
        self.document.page_section("keys", "Keys", "The keys");
        self.figure(Family::WorkingSet);
        self.figure(Family::Popularity);
        // The heading of the chart is that of the table too.
        if let Some(popularity) = tables::popularity(info) {
            push(&mut self.document, popularity);
        }
        self.table(tables::hottest(info));
        self.figure(Family::Reuse);
        self.table(tables::reuse(info));
    }

    fn sizes(&mut self, info: &TraceInfo) {
        if info.distributions.is_empty() {
            return;
        }
        self.document.page_section("sizes", "Sizes", "Sizes, TTLs and latencies");
        self.table(tables::distributions(info));
        self.figure(Family::Sizes);
        self.figure(Family::Ttls);
    }

    /// A table below a heading of its own.
    fn table(&mut self, table: Option<InfoTable>) {
        if let Some(table) = table {
            self.document.push(Block::Part(table.table.caption.clone(), Some(table.id)));
            push(&mut self.document, table);
        }
    }

    /// The charts of a family.
    fn figure(&mut self, family: Family) {
        let same = |chart: &&Chart| chart.family == family;
        let charts: Vec<Chart> = self.charts.iter().filter(same).cloned().collect();
        let key = charts.first().map_or("", key).to_owned();
        let is_main = family == Family::CacheHits;
        self.document.figure(Figure { charts, key, is_main, stills: None });
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
