//! The facts of a trace that a reader asks for first: labels with texts.

use super::amounts::{amount, amount_of, bytes_of, estimate, float};
use crate::figures::{agreeing, bytes, count, list, noun_after, percent, rate, seconds};
use crate::model::{OperationCount, TimesBack, TraceInfo, Traffic};

/// The most kinds of operations in the line about them.
const KINDS: usize = 5;

/// All facts, in the order of reports.
pub(crate) fn facts(info: &TraceInfo) -> Vec<(&'static str, String)> {
    let mut facts = vec![("trace", trace(info))];
    facts.extend(info.trace.format.clone().map(|format| ("format", format)));
    if !info.trace.notes.is_empty() {
        facts.push(("taken", info.trace.notes.join("; ")));
    }
    facts.push(("operations", operations(info)));
    if let Some(lasts_s) = info.lasts_s {
        let mean = rate(float(info.rows) / lasts_s.max(f64::MIN_POSITIVE));
        facts.push(("time", format!("{}, {mean} on average", seconds(lasts_s))));
    }
    facts.extend(info.times_back.map(|back| ("times go back", times_back(info, back))));
    facts.push(("mix", mix(&info.operations, info.rows)));
    facts.push(("keys", keys(info)));
    if let Some(ratio) = info.recorded_hit_ratio {
        let of = if info.traffic.is_some() { ", of the recorded keys" } else { "" };
        let text = format!("{} of the reads with an answer{of}", percent(ratio));
        facts.push(("recorded hits", text));
    }
    facts.extend(info.traffic.map(|traffic| ("all traffic", all_keys(&traffic))));
    facts.push(("followed", followed(info)));
    facts
}

fn trace(info: &TraceInfo) -> String {
    let trace = &info.trace;
    let mut told = vec![trace.path.clone()];
    if trace.is_beginning {
        told.push("its beginning only".to_owned());
    }
    told.extend(trace.upstream.iter().map(|upstream| format!("recorded on {upstream}")));
    if let Some(sample) = trace.sample {
        told.push(format!("{} of the keys were recorded", percent(sample)));
    }
    if trace.dropped_rows > 0 {
        let were = agreeing(trace.dropped_rows, "was", "were");
        told.push(format!("{} {were} not recorded", operations_of(trace.dropped_rows)));
    }
    if trace.torn_bytes > 0 {
        told.push(format!("its end is torn: {} are left out", bytes(trace.torn_bytes)));
    }
    told.join("; ")
}

fn times_back(info: &TraceInfo, back: TimesBack) -> String {
    let steps = if back.steps == 1 {
        "once".to_owned()
    } else {
        format!("{} times", amount_of(back.steps))
    };
    let most = seconds(back.most_s);
    let has_ttls = info.with_ttl.is_some_and(|share| share > 0.0);
    let untold = match (info.course.is_none(), has_ttls) {
        (true, true) => {
            ", to before the first: no course over time is told, and TTLs may end at wrong times"
        }
        (true, false) => ", to before the first: no course over time is told",
        (false, _) => "",
    };
    format!("{steps}, by {most} at most{untold}")
}

fn operations(info: &TraceInfo) -> String {
    let mut text = amount_of(info.rows);
    if info.requests < info.rows && info.requests > 0 {
        let each = float(info.rows) / float(info.requests);
        text.extend([format!(
            " in {} {}, {} keys each",
            amount_of(info.requests),
            noun_after(info.requests, "request"),
            amount(each)
        )]);
    }
    if info.connections > 1 {
        text.extend([format!(
            " on {}",
            count(usize::try_from(info.connections).unwrap_or(usize::MAX), "connection")
        )]);
    }
    text
}

/// `get 95.2 %, set 4.8 %`.
pub(crate) fn mix(operations: &[OperationCount], rows: u64) -> String {
    let share = |operation: &OperationCount| {
        format!("{} {}", operation.operation, percent(float(operation.count) / float(rows.max(1))))
    };
    let mut told: Vec<String> = operations.iter().take(KINDS).map(share).collect();
    if operations.len() > KINDS {
        told.push(format!("and {}", count(operations.len() - KINDS, "other")));
    }
    told.join(", ")
}

/// The traffic on all keys, recorded or not.
fn all_keys(traffic: &Traffic) -> String {
    let hits = traffic
        .hit_ratio()
        .map(|ratio| format!("; {} of the reads with an answer hit, of all keys", percent(ratio)));
    format!("{}{}", operations_of(traffic.operations), hits.unwrap_or_default())
}

/// `1 operation`, `14.3 k operations`.
fn operations_of(number: u64) -> String {
    format!("{} {}", amount_of(number), noun_after(number, "operation"))
}

fn keys(info: &TraceInfo) -> String {
    let mut text = format!("{} different", estimate(&info.keys, amount));
    if let Some(bytes) = &info.bytes {
        text.extend([format!(", {} with their values", estimate(bytes, bytes_of))]);
    }
    text
}

/// How much of the trace the figures about keys come from.
fn followed(info: &TraceInfo) -> String {
    let sampling = &info.sampling;
    if info.is_exact() {
        return "every operation: all figures are exact".to_owned();
    }
    let over = sampling.time.map_or_else(
        || "all of the time".to_owned(),
        |time| format!("{} of the time", percent(time)),
    );
    let of_keys = format!(
        "{} of the keys over {over}, with {}",
        percent(sampling.keys),
        operations_of(sampling.uses)
    );
    let more = info.curves.iter().flat_map(|curve| &curve.capacities);
    let most = more.map(|at| at.keys).fold(0.0, f64::max);
    let parts = [
        Some(of_keys),
        (most > sampling.keys).then(|| {
            format!("for small caches up to {} of the keys, a part of the time", percent(most))
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    list(&parts)
}
