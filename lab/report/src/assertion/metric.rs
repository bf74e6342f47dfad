//! The figures that can be asserted, each with its function on a cell.

use super::limit::Kind;
use crate::columns::nanoseconds_per_operation;
use crate::figures;
use crate::model::{Cell, LIKE_HITS, Latency, LatencyIntervals, Target};
use crate::shown_percentiles::{WITHHELD_MEANS, is_shown};

/// A figure of a cell.
#[derive(Clone, Copy)]
pub(super) struct Metric {
    /// The name in assertions.
    pub(super) name: &'static str,
    /// The kind of figure.
    pub(super) kind: Kind,
    /// The quantile, for a percentile.
    pub(super) quantile: Option<f64>,
    of: fn(&Cell, Option<&Target>) -> Result<Measured, String>,
}

/// A figure with its interval, where that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) ci95: Option<[f64; 2]>,
}

/// Every figure that can be asserted, in the order of the documentation.
pub(super) const METRICS: [Metric; 20] = [
    latencies("p50", 0.5, |cell, _| percentile(cell, 0.5, |of| of.p50, |of| of.p50)),
    latencies("p90", 0.9, |cell, _| percentile(cell, 0.9, |of| of.p90, |of| of.p90)),
    latencies("p99", 0.99, |cell, _| percentile(cell, 0.99, |of| of.p99, |of| of.p99)),
    latencies("p99.9", 0.999, |cell, _| percentile(cell, 0.999, |of| of.p999, |of| of.p999)),
    time("max", |cell, _| Ok(exact(real(latency(cell)?.max)))),
    time("mean", |cell, _| Ok(exact(latency(cell)?.mean))),
    metric("rate", Kind::Rate, rate),
    metric("answered", Kind::Rate, answered),
    metric("hits_per_s", Kind::Rate, hits_per_s),
    metric("hit_ratio", Kind::Share, hit_ratio),
    count("errors", |cell, _| Ok(exact(real(cell.counts.errors)))),
    count("misses", |cell, _| Ok(exact(real(cell.counts.misses)))),
    count("wrong", |cell, _| Ok(exact(real(cell.counts.wrong)))),
    count("lost", |cell, _| Ok(exact(real(cell.counts.lost)))),
    count("starved", |cell, _| {
        let driven = cell.driven.ok_or("each thread had one connection; give --connections")?;
        Ok(exact(f64::from(driven.starved)))
    }),
    time("cpu", |cell, target| {
        let client = cpu(cell, cell.client_cpu_s, "the client")?;
        // A target without a server uses no server CPU time.
        let is_embedded =
            target.is_some_and(|target| target.ownership.as_deref() == Some("embedded"));
        if is_embedded && cell.server_cpu_s.is_none() {
            return Ok(exact(client));
        }
        Ok(exact(client + cpu(cell, cell.server_cpu_s, "the servers")?))
    }),
    time("client_cpu", |cell, _| Ok(exact(cpu(cell, cell.client_cpu_s, "the client")?))),
    time("server_cpu", |cell, _| Ok(exact(cpu(cell, cell.server_cpu_s, "the servers")?))),
    metric("rss", Kind::Size, |cell, _| size(cell.rss_bytes, "memory")),
    metric("disk", Kind::Size, |cell, _| size(cell.disk_bytes, "disk")),
];

type Of = fn(&Cell, Option<&Target>) -> Result<Measured, String>;

const fn metric(name: &'static str, kind: Kind, of: Of) -> Metric {
    Metric { name, kind, quantile: None, of }
}

const fn time(name: &'static str, of: Of) -> Metric {
    metric(name, Kind::Time, of)
}

const fn latencies(name: &'static str, quantile: f64, of: Of) -> Metric {
    Metric { quantile: Some(quantile), ..time(name, of) }
}

const fn count(name: &'static str, of: Of) -> Metric {
    metric(name, Kind::Count, of)
}

impl Metric {
    pub(super) fn find(name: &str) -> Option<Self> {
        METRICS.into_iter().find(|metric| metric.name == name)
    }

    /// The figure of a cell, or the reason why it has none.
    pub(super) fn of(&self, cell: &Cell, target: Option<&Target>) -> Result<Measured, String> {
        (self.of)(cell, target)
    }

    /// The reason why the figure of a cell is only a lower bound; `None` where it is exact. Latencies of an open loop
    /// are cut off where time ended a round: operations that had not begun by then would have taken longer.
    pub(super) fn cut_off(&self, cell: &Cell) -> Option<String> {
        let of_latencies = self.quantile.is_some() || ["max", "mean"].contains(&self.name);
        let late = cell.kept_up() == Some(false);
        // A few operations may be due just as time ends. A maximum and a mean tolerate only as few as p99.9.
        let beyond = cell.unbegun_share().map(|share| (self.quantile.unwrap_or(0.999), share));
        let lies_there = beyond.is_some_and(|(quantile, share)| share > 1.0 - quantile);
        (of_latencies && (late || lies_there)).then(|| {
            let not_started = cell.paced.as_ref().map_or(0, |paced| paced.not_started);
            let done = figures::percent(cell.kept_up_share().unwrap_or_default());
            let due = figures::rate(cell.paced.as_ref().map_or(0.0, |paced| paced.offered_per_s));
            format!(
                "the target did {done} of {due} in time, and {not_started} operations had not begun when the time was \
                 over; take a lower rate"
            )
        })
    }

    /// A figure as text.
    pub(super) fn shown(&self, value: f64) -> String {
        match self.kind {
            Kind::Time => figures::nanoseconds(value),
            Kind::Rate => figures::rate(value),
            Kind::Share => figures::percent(value),
            Kind::Count => format!("{value:.0}"),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "bytes that were bytes before"
            )]
            Kind::Size => figures::bytes(value as u64),
        }
    }

    /// A figure as text, with its interval.
    pub(super) fn as_text(&self, Measured { value, ci95 }: Measured) -> String {
        let Some(ci95) = ci95 else { return self.shown(value) };
        let [low, high] = ci95.map(|end| self.shown(end));
        format!("{} (95 % interval {low} to {high})", self.shown(value))
    }
}

/// Two metrics are the same when their names are.
impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn exact(value: f64) -> Measured {
    Measured { value, ci95: None }
}

#[expect(clippy::cast_precision_loss, reason = "a figure to be compared with one of few digits")]
fn real(number: u64) -> f64 {
    number as f64
}

/// Operations a second. Where many of them missed there are two figures, and the assertion must name one.
fn rate(cell: &Cell, target: Option<&Target>) -> Result<Measured, String> {
    if let Some(found) = cell.found_ratio().filter(|found| *found < 1.0 - LIKE_HITS) {
        let missed = figures::percent(1.0 - found);
        let hits = if cell.operation.reads() { " or hits_per_s" } else { "" };
        return Err(format!(
            "{missed} of the operations missed: assert answered{hits} instead of rate"
        ));
    }
    answered(cell, target)
}

fn answered(cell: &Cell, _: Option<&Target>) -> Result<Measured, String> {
    let value = cell.rate().ok_or("the cell has no rate")?;
    Ok(Measured { value, ci95: cell.rate_ci95() })
}

fn hits_per_s(cell: &Cell, _: Option<&Target>) -> Result<Measured, String> {
    if !cell.operation.reads() {
        return Err(format!("{} does not read", cell.operation));
    }
    Ok(exact(cell.hits_per_s.ok_or("the cell has no rate of hits")?))
}

fn hit_ratio(cell: &Cell, _: Option<&Target>) -> Result<Measured, String> {
    if !cell.operation.reads() {
        return Err(format!("{} does not read", cell.operation));
    }
    let value = cell.hit_ratio().ok_or("no read was answered")?;
    Ok(exact(value))
}

fn latency(cell: &Cell) -> Result<&Latency, String> {
    cell.latency_ns.as_ref().ok_or_else(|| "the cell has no latencies".to_owned())
}

fn percentile(
    cell: &Cell,
    quantile: f64,
    of: fn(&Latency) -> u64,
    interval: fn(&LatencyIntervals) -> [f64; 2],
) -> Result<Measured, String> {
    let value = real(of(latency(cell)?));
    if !is_shown(cell, quantile) {
        return Err(WITHHELD_MEANS.to_owned());
    }
    Ok(Measured { value, ci95: cell.latency_ns_ci95.as_ref().map(interval) })
}

fn cpu(cell: &Cell, seconds: Option<f64>, whose: &str) -> Result<f64, String> {
    let told = nanoseconds_per_operation(cell, seconds);
    told.ok_or_else(|| format!("the CPU time of {whose} is not known"))
}

fn size(bytes: Option<u64>, what: &str) -> Result<Measured, String> {
    let bytes = bytes.ok_or_else(|| format!("the use of {what} is not known"))?;
    Ok(exact(real(bytes)))
}
