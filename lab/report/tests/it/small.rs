//! Runs built in code, each as small as its purpose allows.

use std::collections::BTreeMap;

use larder_report::{
    Cell, Comparison, Counts, Environment, Finding, Floor, Latency, Operation, Point, PointValue,
    Run, SCHEMA_VERSION, Severity, Style, Target, Verdict,
};

/// A terminal of a hundred characters without colours.
pub(crate) const PLAIN: Style = Style { colour: false, width: 100 };

/// A run without targets and cells.
pub(crate) fn run() -> Run {
    Run {
        schema: SCHEMA_VERSION,
        larder: "0.1.0".into(),
        argv: vec!["larder".into(), "compare".into()],
        scenario: "small".into(),
        seed: 1,
        started: "2026-11-21T20:41:07Z".into(),
        duration_s: 12.0,
        interrupted: false,
        workload: BTreeMap::from([("keys".into(), "1000".into())]),
        notes: Vec::new(),
        environment: Environment { cores: 2, build: "release".into(), ..Environment::default() },
        ..Run::default()
    }
}

/// A run of gets: each target with its rate.
pub(crate) fn gets(rates: &[(&str, f64)]) -> Run {
    let mut run = run();
    for (name, rate) in rates {
        run.targets.push(target(name));
        run.cells.push(cell(name, Operation::Get, Some(*rate)));
    }
    run
}

/// A target whose URL is its name.
pub(crate) fn target(name: &str) -> Target {
    Target {
        url: name.into(),
        name: name.into(),
        engine: "moka".into(),
        durability: Some("volatile".into()),
        reach: Some("process".into()),
        ownership: Some("embedded".into()),
        stores: Some(true),
        ..Target::default()
    }
}

/// Ten rounds at this rate, all reads hits; without a rate, an empty cell.
pub(crate) fn cell(target: &str, operation: Operation, rate: Option<f64>) -> Cell {
    let ops = if rate.is_some() { 10_000 } else { 0 };
    let hits = if operation.reads() { ops } else { 0 };
    Cell {
        target: target.into(),
        point: Point::new(),
        operation,
        workers: 1,
        rounds: if rate.is_some() { 10 } else { 0 },
        counts: Counts { ops, hits, distinct_keys: 1000, top_key_ops: 1, ..Counts::default() },
        working_set_bytes: 1_056_000,
        wall_s: rate.map(|rate| 1e4 / rate),
        ops_per_s: rate,
        ops_per_s_ci95: rate.map(|rate| [rate * 0.99, rate * 1.01]),
        client_cpu_s: rate.map(|rate| 9e3 / rate),
        bytes: ops * 1024,
        latency_ns: rate.map(|rate| latency(1e9 / rate)),
        ..Cell::default()
    }
}

/// Latencies around this mean.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made up")]
fn latency(mean: f64) -> Latency {
    let times = |factor: f64| (mean * factor) as u64;
    Latency {
        min: times(0.5),
        mean,
        p50: times(0.9),
        p90: times(1.5),
        p99: times(2.0),
        p999: times(8.0),
        max: times(40.0),
    }
}

/// The same cell at a size of values.
pub(crate) fn at(cell: Cell, bytes: u64) -> Cell {
    Cell { point: size(bytes), ..cell }
}

/// A point of a sweep over sizes of values.
pub(crate) fn size(bytes: u64) -> Point {
    Point::from([("data_size".into(), PointValue::Number(bytes))])
}

/// The gets of `a` are this many times those of `b`, with a sure verdict.
pub(crate) fn faster(a: &str, b: &str, ratio: f64) -> Comparison {
    Comparison {
        a: a.into(),
        b: b.into(),
        point: Point::new(),
        operation: Operation::Get,
        ratio,
        ci95: Some([ratio * 0.98, ratio * 1.02]),
        p: 0.0001,
        verdict: Verdict::Faster,
    }
}

/// The gets of `a` and `b` cannot be told apart.
pub(crate) fn tied(a: &str, b: &str) -> Comparison {
    Comparison { p: 0.6, verdict: Verdict::Indistinguishable, ..faster(a, b, 1.01) }
}

/// A check against all cells of a target, or against the whole run.
pub(crate) fn check(id: &str, severity: Severity, target: Option<&str>, text: &str) -> Finding {
    Finding {
        id: id.into(),
        severity,
        target: target.map(Into::into),
        point: None,
        operation: None,
        stored: false,
        text: text.into(),
        advice: format!("mend {id}"),
    }
}

/// The cost of a get without a cache.
pub(crate) fn floor(ns_per_op: f64) -> Floor {
    Floor {
        point: Point::new(),
        operation: Operation::Get,
        language: None,
        ns_per_op,
        cpu_ns_per_op: Some(ns_per_op - 1.0),
        rss_bytes: None,
    }
}

/// Checks that a text has these lines in this order, whatever stands between them. Blanks around a line do not matter.
#[track_caller]
pub(crate) fn assert_lines(text: &str, wanted: &[&str]) {
    let mut lines = text.lines();
    for line in wanted {
        let is_there = lines.any(|it| it.trim() == *line);
        assert!(is_there, "no line `{line}` at its place in\n{text}");
    }
}

/// The text between two marks.
pub(crate) fn section<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no `{from}` in {text}"));
    let length = text[start..].find(to).unwrap_or_else(|| panic!("no `{to}` in {text}"));
    text[start..start + length].trim_end()
}
