//! The tables of what a trace tells, the same in every format.

use super::actions::names;
use super::amounts::{amount, amount_of, bytes_of, capacity, float, points};
use crate::document::{Column, Meaning, Row, Table, Text};
use crate::figures::{nanoseconds, percent, seconds, significant};
use crate::model::{
    CacheCurve, CurvePolicy, Distribution, DistributionOf, Estimate, HitRatioAt, MeasuredIn,
    OperationCount, TraceInfo,
};

/// A table, and what belongs to it.
#[derive(Debug)]
pub(crate) struct InfoTable {
    /// Its name on a page.
    pub(crate) id: &'static str,
    pub(crate) table: Table,
    /// The meaning of its columns; empty where they say enough.
    pub(crate) note: &'static str,
}

/// The head of a column of words.
const ANSWERS: &str = "answers";

/// The quantiles in the table of distributions.
const QUANTILES: [(f64, &str); 7] = [
    (0.0, "min"),
    (0.25, "p25"),
    (0.5, "p50"),
    (0.9, "p90"),
    (0.99, "p99"),
    (0.999, "p99.9"),
    (1.0, "max"),
];

/// The note below hit ratios.
const RATIOS_MEAN: &str = "The share of the reads that hit. ± is the largest half of a 95 % interval in the row, in points.";

/// All tables, in the order of reports.
pub(super) fn tables(info: &TraceInfo) -> Vec<InfoTable> {
    let curves = [MeasuredIn::Bytes, MeasuredIn::Entries];
    let curves = curves.into_iter().filter_map(|measure| info.curve(measure));
    let mut tables: Vec<InfoTable> = curves.map(|curve| ratios(info, curve)).collect();
    tables.extend(operations(info));
    tables.extend(distributions(info));
    tables.extend(misses(info));
    tables.extend(popularity(info));
    tables.extend(hottest(info));
    tables.extend(reuse(info));
    tables
}

fn table(id: &'static str, caption: &str, heads: &[impl AsRef<str>]) -> InfoTable {
    let (names, columns) =
        heads.split_first().map_or(("", heads), |(it, rest)| (it.as_ref(), rest));
    // One column has texts, which may be long.
    let is_list = columns.len() == 1;
    let column = |head: &str| Column {
        importance: importance(head),
        words: is_list || head == ANSWERS,
        ..Column::of_figures(head)
    };
    let table = Table {
        caption: caption.to_owned(),
        names: Text::from(names).means(Meaning::Faint),
        columns: columns.iter().map(|head| column(head.as_ref())).collect(),
        tells_hidden: true,
        ..Table::default()
    };
    InfoTable { id, table, note: "" }
}

/// How much a reader needs a column; the least needed goes first where there is no room.
fn importance(head: &str) -> u8 {
    match head {
        ANSWERS => 5,
        "of all" => 10,
        "FIFO" | "p25" | "p99.9" | "min" => 20,
        "number" => 30,
        "SIEVE" => 40,
        "p10" | "p95" => 50,
        _ => 100,
    }
}

impl InfoTable {
    fn push(&mut self, name: impl Into<String>, texts: Vec<String>) {
        let name = Text::from(name.into()).means(Meaning::Main);
        let cells = texts.into_iter().map(Text::from).collect();
        self.table.rows.push(Row { name, cells, ..Row::default() });
    }
}

/// The hit ratios at each capacity.
pub(super) fn ratios(info: &TraceInfo, curve: &CacheCurve) -> InfoTable {
    let (id, unit, all) = match curve.measure {
        MeasuredIn::Bytes => ("ratios-bytes", "bytes", info.bytes.map(|bytes| bytes.value)),
        MeasuredIn::Entries => ("ratios-entries", "entries", Some(info.keys.value)),
    };
    let has_errors = curve.capacities.iter().any(|at| half_width(at).is_some());
    let mut heads = vec!["capacity", "of all"];
    heads.extend(CurvePolicy::ALL.map(CurvePolicy::name));
    if has_errors {
        heads.push("±");
    }
    let mut ratios = table(id, &format!("Hit ratio by capacity in {unit}"), &heads);
    for at in &curve.capacities {
        let share = all.map_or_else(String::new, |all| percent(float(at.capacity) / all.max(1.0)));
        let mut texts = vec![share];
        texts.extend(CurvePolicy::ALL.iter().map(|policy| {
            at.of(*policy).map_or_else(String::new, |ratio| tenths(ratio.hit_ratio))
        }));
        if has_errors {
            texts.push(half_width(at).map_or_else(String::new, points));
        }
        ratios.push(capacity(curve.measure, at.capacity), texts);
    }
    ratios.note = if has_errors { RATIOS_MEAN } else { "" };
    ratios
}

/// A ratio to a tenth of a percent, so that the ratios of a table can be compared.
fn tenths(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// The largest error of a row.
fn half_width(at: &HitRatioAt) -> Option<f64> {
    let known = at.ratios.iter().filter_map(|ratio| ratio.half_width);
    known.max_by(f64::total_cmp)
}

/// The operations and their answers.
pub(super) fn operations(info: &TraceInfo) -> Option<InfoTable> {
    let answers = |operation: &OperationCount| {
        let share = |count: u64| percent(float(count) / float(operation.count.max(1)));
        let said = operation.results.iter().map(|it| format!("{} {}", it.result, share(it.count)));
        said.collect::<Vec<_>>().join(", ")
    };
    let has_answers = info.operations.iter().any(|operation| !operation.results.is_empty());
    let heads = ["operation", "number", "share", ANSWERS];
    let heads = if has_answers { &heads[..] } else { &heads[..3] };
    let mut operations = table("operations", "Operations", heads);
    for operation in &info.operations {
        let share = percent(float(operation.count) / float(info.rows.max(1)));
        let mut texts = vec![amount_of(operation.count), share];
        texts.extend(has_answers.then(|| answers(operation)));
        operations.push(&*operation.operation, texts);
    }
    (!info.operations.is_empty()).then_some(operations)
}

/// Sizes, TTLs and latencies.
pub(super) fn distributions(info: &TraceInfo) -> Option<InfoTable> {
    let mut heads = vec!["of", "number", "mean"];
    heads.extend(QUANTILES.map(|(_, name)| name));
    let mut all = table("distributions", "Sizes, TTLs and latencies", &heads);
    for distribution in &info.distributions {
        let mut texts =
            vec![amount_of(distribution.count), figure(distribution.of, distribution.mean)];
        texts.extend(QUANTILES.map(|(quantile, _)| at(distribution, quantile)));
        all.push(name(distribution.of), texts);
    }
    (!info.distributions.is_empty()).then_some(all)
}

/// The name of what was counted.
pub(crate) fn name(of: DistributionOf) -> &'static str {
    match of {
        DistributionOf::KeySizes => "key size",
        DistributionOf::ValueSizes => "value size",
        DistributionOf::Ttls => "TTL",
        DistributionOf::Latencies => "latency",
    }
}

fn at(distribution: &Distribution, quantile: f64) -> String {
    distribution.at(quantile).map_or_else(String::new, |it| figure(distribution.of, float(it)))
}

fn figure(of: DistributionOf, value: f64) -> String {
    match of {
        DistributionOf::KeySizes | DistributionOf::ValueSizes => bytes_of(value),
        DistributionOf::Ttls => seconds(value),
        DistributionOf::Latencies => nanoseconds(value),
    }
}

/// Why reads miss in every cache.
pub(super) fn misses(info: &TraceInfo) -> Option<InfoTable> {
    let limit = info.limit.as_ref()?;
    let mut all =
        table("misses", "Reads that miss in every cache that begins empty", &["", "share"]);
    let causes = [
        (Some(limit.first), "before anything was stored under their keys"),
        (limit.absent, "nobody stored a value afterwards (negative look-ups)"),
        (limit.expired, "after the TTL of their entries"),
        (limit.deleted, "after a delete"),
        (limit.before, "hit in the recording, by entries from before it"),
    ];
    let known = causes.into_iter().filter_map(|(share, why)| Some((why, share?)));
    known.for_each(|(why, share)| all.push(why, vec![percent(share)]));
    Some(all)
}

/// The most read keys.
pub(super) fn hottest(info: &TraceInfo) -> Option<InfoTable> {
    let hottest = info.hottest.as_ref()?;
    let mut all = table("hottest", "Most read keys", &["key", "of the reads"]);
    for (key, name) in hottest.keys.iter().zip(names(hottest)) {
        all.push(name, vec![percent(key.reads)]);
    }
    if hottest.error > 0.0 {
        let error = percent(hottest.error);
        all.table.caption =
            format!("Most read keys; shares may be larger by up to {error} of the reads");
    }
    Some(all)
}

/// The spread of the reads over the keys.
pub(super) fn popularity(info: &TraceInfo) -> Option<InfoTable> {
    let popularity = info.popularity.as_ref()?;
    let mut all = table("popularity", "Popularity of the keys", &["", "figure"]);
    let share = |it: &Estimate| match it.ci95 {
        Some([_, high]) => format!("{} ±{} points", percent(it.value), points(high - it.value)),
        None => percent(it.value),
    };
    for (keys, reads) in &popularity.top {
        let name = format!("reads of the {} most read keys", percent(*keys));
        all.push(name, vec![percent(*reads)]);
    }
    if let Some(zipf) = &popularity.zipf {
        let [exponent, fit] = [
            match zipf.exponent.ci95 {
                Some([_, high]) => format!(
                    "{} ±{}",
                    significant(zipf.exponent.value, 3),
                    significant(high - zipf.exponent.value, 2)
                ),
                None => significant(zipf.exponent.value, 3),
            },
            match zipf.least_reads {
                0 | 1 => "all keys".to_owned(),
                least => {
                    format!("{} of the keys, those with {least} reads and more", percent(zipf.keys))
                }
            },
        ];
        all.push("exponent of a Zipf law", vec![exponent]);
        all.push("it was fitted to", vec![fit]);
        let distance = format!("{} of these keys at most", percent(zipf.distance));
        all.push("it is off by (Kolmogorov-Smirnov)", vec![distance]);
        if let Some(r_squared) = zipf.r_squared {
            let text = format!(
                "{r_squared:.3}, which says little: nearly every falling line has a high one"
            );
            all.push("R² of the logarithms", vec![text]);
        }
    }
    all.push("keys read once only", vec![share(&popularity.read_once)]);
    all.push("reads of such keys", vec![percent(popularity.reads_of_once)]);
    if let Some(bytes) = popularity.bytes_of_once {
        all.push("bytes of their entries, of all", vec![percent(bytes)]);
    }
    if popularity.never_read.value > 0.0 {
        all.push("keys written but never read", vec![share(&popularity.never_read)]);
    }
    Some(all)
}

/// The reuse distances.
pub(super) fn reuse(info: &TraceInfo) -> Option<InfoTable> {
    let reuse = info.reuse.as_ref()?;
    let shown = |quantile: &f64| [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99].contains(quantile);
    let of = |list: &[(f64, f64)], text: fn(f64) -> String| -> Vec<String> {
        let shown = list.iter().filter(|(quantile, _)| shown(quantile));
        shown.map(|(_, figure)| text(*figure)).collect()
    };
    let mut heads = vec!["of".to_owned()];
    let quantiles = reuse.keys.iter().map(|(quantile, _)| *quantile).filter(|it| shown(it));
    heads.extend(quantiles.map(|quantile| format!("p{}", quantile * 100.0)));
    let mut all = table("reuse", "What is used between two uses of a key", &heads);
    all.push("different keys", of(&reuse.keys, |it| amount(it.round())));
    if !reuse.bytes.is_empty() {
        all.push("bytes of these entries", of(&reuse.bytes, bytes_of));
    }
    all.note = "Of the reads whose key was used before. An LRU needs this capacity to hit them.";
    Some(all)
}
