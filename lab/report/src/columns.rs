//! The columns of the table, one line each: heading, importance, text.

use crate::figures;
use crate::grid::ALWAYS;
use crate::model::{Cell, Latency};
use crate::ranking::Row;
use crate::shown_percentiles::{WITHHELD, is_shown, shown_percentile};

/// One column of figures. The name of the target stands before all columns.
pub(crate) struct Column {
    /// Its heading, in two lines.
    pub(crate) head: [&'static str; 2],
    /// Its name in a sentence.
    pub(crate) name: &'static str,
    /// Where a table is too wide, the column with the lowest importance goes first.
    pub(crate) importance: u8,
    /// Its text for a row with figures; `None` for an empty cell.
    pub(crate) text: fn(&Row<'_>) -> Option<String>,
    /// The text in place of an empty cell, once another row has a figure.
    pub(crate) otherwise: &'static str,
    /// Whether its texts are words, which stand to the left.
    pub(crate) words: bool,
}

/// The name of the rate of an operation that missed: requests answered a second, hits and misses.
pub(crate) const ANSWERED: &str = "answered/s";

/// The note below a table with the column [`ANSWERED`].
pub(crate) const ANSWERED_MEANS: &str =
    "answered/s: requests answered a second, hits and misses; hits/s: the requests that hit";

/// The names of the columns with a fact of the target instead of a figure of the cell.
pub(crate) const FACTS: [&str; 2] = ["durability", "reach"];

/// The name of the column that draws the share of the best, for terminals only.
pub(crate) const BAR: &str = "bar";

/// Marks the absence of a difference.
pub(crate) const TIED: &str = "~";

/// From left to right: the answer, its doubts, its spread, its costs, and the promises of the target.
pub(crate) const COLUMNS: [Column; 22] = [
    figures("rate", ["", "rate"], ALWAYS, |row| {
        row.rate().filter(|_| !row.misses).map(figures::rate)
    }),
    figures(ANSWERED, ["", ANSWERED], ALWAYS, |row| {
        row.rate().filter(|_| row.misses).map(figures::rate)
    }),
    figures("offered", ["", "offered"], 95, |row| {
        Some(figures::rate(row.cell.paced.as_ref()?.offered_per_s))
    }),
    figures("±", ["", "±"], 88, spread),
    figures("vs best", ["vs", "best"], 97, to_best),
    words("tie", ["", "tie"], 92, |row| (!row.ties.is_empty()).then(|| row.ties.clone())),
    words(BAR, ["", ""], 10, |row| row.to_best().map(bar)),
    figures("hits", ["", "hits"], 96, |row| row.cell.hit_ratio().map(figures::percent)),
    figures("hits/s", ["", "hits/s"], 93, |row| {
        row.cell.hits_per_s.filter(|_| row.misses).map(figures::rate)
    }),
    faults("wrong", ["", "wrong"], 99, |row| part(row.cell, row.cell.counts.wrong)),
    faults("errors", ["", "errors"], 98, |row| part(row.cell, row.cell.counts.errors)),
    figures("p50", ["latency", "p50"], 75, |row| latency(row, 0.5, |latency| latency.p50)),
    figures("p99", ["", "p99"], 85, |row| latency(row, 0.99, |latency| latency.p99)),
    figures("p99.9", ["", "p99.9"], 40, |row| latency(row, 0.999, |latency| latency.p999)),
    figures("max", ["", "max"], 30, |row| latency(row, 1.0, |latency| latency.max)),
    figures("service p99.9", ["service", "p99.9"], 83, begun),
    figures("client CPU/op", ["client", "CPU/op"], 60, |row| each(row.cell, row.cell.client_cpu_s)),
    figures("server CPU/op", ["server", "CPU/op"], 65, |row| each(row.cell, row.cell.server_cpu_s)),
    figures("memory", ["", "memory"], 50, |row| row.cell.rss_bytes.map(figures::bytes)),
    figures("disk", ["", "disk"], 45, |row| row.cell.disk_bytes.map(figures::bytes)),
    words(FACTS[0], ["", FACTS[0]], 94, |row| row.target?.durability.clone()),
    words(FACTS[1], ["", FACTS[1]], 80, |row| row.target?.reach.clone()),
];

type Text = fn(&Row<'_>) -> Option<String>;

const fn figures(
    name: &'static str,
    head: [&'static str; 2],
    importance: u8,
    text: Text,
) -> Column {
    Column { head, name, importance, text, otherwise: "", words: false }
}

const fn faults(name: &'static str, head: [&'static str; 2], importance: u8, text: Text) -> Column {
    Column { head, name, importance, text, otherwise: "0 %", words: false }
}

const fn words(name: &'static str, head: [&'static str; 2], importance: u8, text: Text) -> Column {
    Column { head, name, importance, text, otherwise: "", words: true }
}

/// Seconds of a whole cell, as nanoseconds of one operation.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
pub(crate) fn nanoseconds_per_operation(cell: &Cell, seconds: Option<f64>) -> Option<f64> {
    (cell.counts.ops > 0).then_some(seconds? / cell.counts.ops as f64 * 1e9)
}

fn each(cell: &Cell, seconds: Option<f64>) -> Option<String> {
    nanoseconds_per_operation(cell, seconds).map(figures::nanoseconds)
}

/// Its share of the best rate. A target that cannot be told apart from the best is not second: its apparent distance is
/// what chance gives to equals.
pub(crate) fn to_best(row: &Row<'_>) -> Option<String> {
    row.to_best().map(|share| if row.ties_best { TIED.to_owned() } else { figures::share(share) })
}

/// The figure that ranks the row: its rate, or in an open loop the response p99.
pub(crate) fn measure(row: &Row<'_>) -> Option<String> {
    row.ranking_p99().map(figures::nanoseconds).or_else(|| row.rate().map(figures::rate))
}

/// The name of [`measure`] in an open loop.
pub(crate) const RESPONSE_P99: &str = "response p99";

fn spread(row: &Row<'_>) -> Option<String> {
    Some(figures::rate_spread(row.rate()?, row.rate_ci95()?))
}

/// Some of the operations, as a share of all; `None` for none of them.
#[expect(clippy::cast_precision_loss, reason = "a few figures are shown")]
fn part(cell: &Cell, some: u64) -> Option<String> {
    (some > 0).then(|| figures::percent(some as f64 / cell.counts.ops.max(some) as f64))
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn latency(row: &Row<'_>, quantile: f64, figure: fn(&Latency) -> u64) -> Option<String> {
    row.cell.latency_ns.as_ref()?;
    let figure = shown_percentile(row.cell, quantile, figure);
    Some(figure.map_or_else(|| WITHHELD.to_owned(), |figure| figures::nanoseconds(figure as f64)))
}

/// The slowest operations, from the instant at which they really began.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn begun(row: &Row<'_>) -> Option<String> {
    let service = row.cell.paced.as_ref()?.service_ns?;
    let told = is_shown(row.cell, 0.999).then(|| figures::nanoseconds(service.p999 as f64));
    Some(told.unwrap_or_else(|| WITHHELD.to_owned()))
}

/// A share as a bar of up to ten characters, to an eighth of a character.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share lies between 0 and 1"
)]
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    // A share above zero is never shown as zero.
    let eighths = ((share.clamp(0.0, 1.0) * 80.0).round() as usize).max(1);
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}
