//! The columns of a ranking: the figure of each, and the reason where it is missing.

use maud::{Markup, html};

use crate::columns::nanoseconds_per_operation;
use crate::figures;
use crate::html::text::grouped;
use crate::model::{Cell, Latency, LatencyIntervals, Operation};
use crate::ranking::Row;
use crate::shown_percentiles::{WITHHELD, is_shown, shown_percentile};

/// A figure as a cell shows it.
pub(super) struct PageFigure {
    pub(super) text: String,
    /// Its interval, in the same unit.
    pub(super) interval: Option<String>,
    /// Whether it is a fault that must stand out.
    pub(super) fault: bool,
}

/// A column of figures.
pub(super) struct PageColumn {
    /// The heading that several columns share.
    pub(super) family: &'static str,
    pub(super) head: &'static str,
    /// The figure of a row, or the reason why it is missing.
    pub(super) figure: fn(&Row<'_>) -> Result<PageFigure, &'static str>,
}

/// The family of latencies; in an open loop from the instant at which operations were due.
pub(super) const LATENCY: &str = "latency";
/// The family of these columns in an open loop.
pub(super) const RESPONSE: &str = "response time";

const NOT_KNOWN: &str = "not known";

/// From left to right, after the rate: answers, latencies, costs.
pub(super) const COLUMNS: &[PageColumn] = &[
    PageColumn { family: "answers", head: "hits", figure: hits },
    PageColumn { family: "answers", head: "hits/s", figure: hits_per_s },
    PageColumn { family: "answers", head: "misses", figure: misses },
    PageColumn { family: "answers", head: "wrong", figure: wrong },
    PageColumn {
        family: "answers",
        head: "errors",
        figure: |row| Ok(counted(row.cell.counts.errors, true)),
    },
    PageColumn {
        family: LATENCY,
        head: "p50",
        figure: |row| latency(row, 0.5, |l| l.p50, |i| Some(i.p50)),
    },
    PageColumn {
        family: LATENCY,
        head: "p99",
        figure: |row| latency(row, 0.99, |l| l.p99, |i| Some(i.p99)),
    },
    PageColumn {
        family: LATENCY,
        head: "p99.9",
        figure: |row| latency(row, 0.999, |l| l.p999, |i| Some(i.p999)),
    },
    PageColumn {
        family: LATENCY,
        head: "max",
        figure: |row| latency(row, 1.0, |l| l.max, |_| None),
    },
    // The two views of an open loop; the response time is in the columns before.
    PageColumn { family: "service time", head: "service p99.9", figure: begun },
    PageColumn {
        family: "CPU per operation",
        head: "client",
        figure: |row| cpu(row.cell, row.cell.client_cpu_s, NOT_KNOWN),
    },
    PageColumn { family: "CPU per operation", head: "server", figure: server_cpu },
    PageColumn { family: "space", head: "memory", figure: memory },
    PageColumn { family: "space", head: "disk", figure: disk },
];

/// The head of the first column that a text names as a separate word.
pub(in crate::html) fn named_in(text: &str) -> Option<&'static str> {
    let mut words =
        text.split_whitespace().map(|word| word.trim_matches([',', ';', ':', '.', '(', ')']));
    let column = words.find_map(|word| COLUMNS.iter().find(|column| column.head == word))?;
    Some(column.head)
}

impl PageColumn {
    /// Whether it has a figure for any of these rows.
    pub(super) fn concerns(&self, rows: &[&Row<'_>]) -> bool {
        rows.iter().any(|row| row.rate().is_some() && (self.figure)(row).is_ok())
    }
}

impl PageFigure {
    fn plain(text: String) -> Self {
        Self { text, interval: None, fault: false }
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            (self.text)
            @if let Some(interval) = &self.interval { small { (interval) } }
        }
    }
}

/// The rate with its interval.
pub(super) fn rate(row: &Row<'_>) -> Option<PageFigure> {
    let rate = row.rate()?;
    let interval = row.rate_ci95().map(|ci95| figures::rate_bounds(rate, ci95));
    Some(PageFigure { interval, ..PageFigure::plain(figures::rate(rate)) })
}

fn hits(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    row.cell
        .hit_ratio()
        .map(|ratio| PageFigure::plain(figures::percent(ratio)))
        .ok_or("no read answered")
}

/// Where operations missed, fewer hit than were answered.
fn hits_per_s(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    let hits = row.cell.hits_per_s.filter(|_| row.misses).ok_or("no misses")?;
    Ok(PageFigure::plain(figures::rate(hits)))
}

/// A key that a delete, a touch or a count did not find is a miss as well.
fn misses(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    match row.cell.operation {
        Operation::Set | Operation::SetMany => Err("writes only"),
        _ => Ok(counted(row.cell.counts.misses, false)),
    }
}

fn wrong(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    let number = row.cell.counts.wrong;
    let is_verified = row.cell.operation.is_verified();
    if is_verified { Ok(counted(number, true)) } else { Err("reads no value") }
}

fn counted(number: u64, fault: bool) -> PageFigure {
    PageFigure { fault: fault && number > 0, ..PageFigure::plain(grouped(number)) }
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn latency(
    row: &Row<'_>,
    quantile: f64,
    figure: fn(&Latency) -> u64,
    interval: fn(&LatencyIntervals) -> Option<[f64; 2]>,
) -> Result<PageFigure, &'static str> {
    row.cell.latency_ns.as_ref().ok_or(NOT_KNOWN)?;
    let value = shown_percentile(row.cell, quantile, figure).ok_or(WITHHELD)? as f64;
    let ci95 = row.cell.latency_ns_ci95.as_ref().and_then(interval);
    let interval = ci95.map(|ci95| figures::nanoseconds_bounds(value, ci95));
    Ok(PageFigure { interval, ..PageFigure::plain(figures::nanoseconds(value)) })
}

/// The slowest operations of an open loop, from the instant at which they really began.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn begun(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    let service =
        row.cell.paced.as_ref().and_then(|paced| paced.service_ns).ok_or("no rate given")?;
    if !is_shown(row.cell, 0.999) {
        return Err(WITHHELD);
    }
    Ok(PageFigure::plain(figures::nanoseconds(service.p999 as f64)))
}

fn cpu(
    cell: &Cell,
    seconds: Option<f64>,
    otherwise: &'static str,
) -> Result<PageFigure, &'static str> {
    let each = nanoseconds_per_operation(cell, seconds).ok_or(otherwise)?;
    Ok(PageFigure::plain(figures::nanoseconds(each)))
}

fn server_cpu(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    let otherwise = match ownership(row) {
        Some("embedded") => "no server",
        Some("external") => "not our server",
        _ => NOT_KNOWN,
    };
    cpu(row.cell, row.cell.server_cpu_s, otherwise)
}

fn memory(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    // For an embedded engine it is the growth of the process.
    let otherwise = match ownership(row) {
        Some("embedded") => "no growth seen",
        _ => NOT_KNOWN,
    };
    row.cell.rss_bytes.map(|size| PageFigure::plain(figures::bytes(size))).ok_or(otherwise)
}

fn disk(row: &Row<'_>) -> Result<PageFigure, &'static str> {
    let durability = row.target.and_then(|target| target.durability.as_deref());
    let otherwise = if durability == Some("volatile") { "in memory" } else { NOT_KNOWN };
    row.cell.disk_bytes.map(|size| PageFigure::plain(figures::bytes(size))).ok_or(otherwise)
}

fn ownership<'a>(row: &Row<'a>) -> Option<&'a str> {
    row.target.and_then(|target| target.ownership.as_deref())
}
